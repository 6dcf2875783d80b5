# SPDX-License-Identifier: Apache-2.0
"""Controllers that people use beside muster, unmodified: their own CRDs and webhooks, the
programs of controllers/build.sh, webhooks at https://127.0.0.1 instead of a Service."""
import base64
import contextlib
import json
import os
import pathlib
import re
import socket
import subprocess

from lib import kube, muster

HERE = pathlib.Path(__file__).resolve().parent
SOON_S = 60

kube.KINDS.update({
    "JobSet": ("apis/jobset.x-k8s.io/v1alpha2", "jobsets", True),
    "LeaderWorkerSet": ("apis/leaderworkerset.x-k8s.io/v1", "leaderworkersets", True),
    "MPIJob": ("apis/kubeflow.org/v2beta1", "mpijobs", True),
    "TrainJob": ("apis/trainer.kubeflow.org/v1alpha1", "trainjobs", True),
    "TrainingRuntime": ("apis/trainer.kubeflow.org/v1alpha1", "trainingruntimes", True),
    "RayCluster": ("apis/ray.io/v1", "rayclusters", True),
    "MutatingWebhookConfiguration": ("apis/admissionregistration.k8s.io/v1", "mutatingwebhookconfigurations", False),
    "ResourceFlavor": ("apis/kueue.x-k8s.io/v1beta2", "resourceflavors", False),
    "ClusterQueue": ("apis/kueue.x-k8s.io/v1beta2", "clusterqueues", False),
    "LocalQueue": ("apis/kueue.x-k8s.io/v1beta2", "localqueues", True),
    "Workload.kueue.x-k8s.io": ("apis/kueue.x-k8s.io/v1beta2", "workloads", True),
})

# Where the manifests of each are, and what its pods' webhook looks at: kustomize patches it in.
PARTS = {
    "jobset": ("crd/bases", "webhook", "jobset.sigs.k8s.io/jobset-name"),
    "lws": ("crd/bases", "webhook", "leaderworkerset.sigs.k8s.io/name"),
    "mpi-operator": (".", None, None),
    "trainer": ("crds", "webhook", None),
    "kuberay": ("crd/bases", None, None),
    "kueue": ("crd/bases", "webhook", None),
}
CONFIG = {"jobset": ("config.jobset.x-k8s.io/v1alpha1", "internalCertManagement"),
          "lws": ("config.lws.x-k8s.io/v1alpha1", "internalCertManagement"),
          "trainer": ("config.trainer.kubeflow.org/v1alpha1", "certManagement"),
          "kueue": ("config.kueue.x-k8s.io/v1beta2", "internalCertManagement")}


def build(*parts):
    """The folder with the programs, built when they aren't there."""
    done = subprocess.run([str(HERE / "controllers" / "build.sh"), *parts], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit("operators.py: the controllers did not build")
    return pathlib.Path(done.stdout.strip())


def documents(text):
    """[(kind, name, text)] of a file with several."""
    found = []
    for part in re.split(r"^---\s*$", text, flags=re.M):
        kind = re.search(r"^kind: (\S+)", part, re.M)
        name = re.search(r"^metadata:\n(?:  .*\n)*?  name: (\S+)", part, re.M)
        if kind and name:
            found.append((kind.group(1), name.group(1), part))
    return found


def listens(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


class Operator:
    """A context manager: one controller on a cluster. more: of its configuration file."""

    def __init__(self, part, cluster, folder, flags=(), **more):
        self.part, self.cluster, self.flags, self.more = part, cluster, flags, more
        self.home = build(part) / part
        self.dir = pathlib.Path(folder) / part
        self.client = cluster.admin()
        self.child = None

    def __enter__(self):
        self.dir.mkdir(parents=True)
        crds, webhook, pods = PARTS[self.part]
        self._define(sorted((self.home / "manifests" / crds).glob("*.yaml")))
        port = muster.free_port()
        argv = [str(self.home / self.part), *self.flags]
        if self.part in CONFIG:
            argv.append(f"--config={self._config(port)}")
        if webhook:
            self._make_certificate()
        self.child = muster.Process(self._wrapped(argv), self.dir / "log", env={
            "KUBECONFIG": self.cluster.admin_kubeconfig, "TMPDIR": str(self.dir)})
        try:
            if webhook:
                kube.wait_for(lambda: self._running() and listens(port), f"the webhook of {self.part}", SOON_S)
                self._register(self.home / "manifests" / webhook / "manifests.yaml", port, pods)
            self._running()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.child.stop(5)

    def _running(self):
        if not self.child.running():
            raise RuntimeError(f"{self.part} ended:\n{self.child.log()[-3000:]}")
        return True

    def _define(self, paths):
        found = [document for path in paths for document in documents(path.read_text(encoding="utf-8"))]
        names = [name for kind, name, _ in found if kind == "CustomResourceDefinition"]
        for kind, name, text in found:
            if name in names:
                self._apply(kind, name, text)

        def served():
            for name in names:
                crd = self.client.get("CustomResourceDefinition", name)
                for version in (v["name"] for v in crd["spec"]["versions"] if v["served"]):
                    if self.client.raw("GET", f'/apis/{crd["spec"]["group"]}/{version}/{crd["spec"]["names"]["plural"]}')[0] != 200:
                        return False
            return True

        kube.wait_for(served, f"the kinds of {self.part} to be served", SOON_S)

    def _apply(self, kind, name, text):
        self.client.request("PATCH", self.client.path(kind, None, name, fieldManager="tests", force="true"), text, kube.APPLY)

    def _config(self, port):
        """With certificates of ours: nothing here is reached by a Service."""
        version, certificates = CONFIG[self.part]
        config = {"apiVersion": version, "kind": "Configuration", "leaderElection": {"leaderElect": False},
                  certificates: {"enable": False},
                  "webhook": {"host": "127.0.0.1", "port": port,
                              **({} if self.part == "trainer" else {"certDir": str(self._certificates)})},
                  "metrics": {"bindAddress": f"127.0.0.1:{muster.free_port()}"},
                  "health": {"healthProbeBindAddress": f"127.0.0.1:{muster.free_port()}"}, **self.more}
        path = self.dir / "config.yaml"
        path.write_text(json.dumps(config), encoding="utf-8")
        return path

    @property
    def _certificates(self):
        """Where controller-runtime looks for tls.crt and tls.key by itself: below $TMPDIR."""
        return self.dir / "k8s-webhook-server" / "serving-certs"

    def _wrapped(self, argv):
        """Kueue reads the certificate of its metrics from /etc/kueue alone: a /etc of its own."""
        if self.part != "kueue":
            return argv
        script = (f'mount -t tmpfs none /etc && mkdir -p /etc/kueue/metrics && '
                  f'cp -r {self._certificates} /etc/kueue/metrics/certs && exec "$@"')
        return ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"]), "sh", "-c", script, "sh", *argv]

    def _make_certificate(self):
        self._certificates.mkdir(parents=True)
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=webhook",
                        "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "tls.key", "-out", "tls.crt"],
                       check=True, stderr=subprocess.DEVNULL, cwd=self._certificates)

    def _register(self, path, port, pods):
        bundle = base64.b64encode((self._certificates / "tls.crt").read_bytes()).decode()
        for kind, name, text in documents(path.read_text(encoding="utf-8")):
            text = re.sub(r"    service:\n(?:      (?:name|namespace): .*\n)*      path: (\S+)",
                          rf"    url: https://127.0.0.1:{port}\1\n    caBundle: {bundle}", text)
            if pods:
                text = re.sub(r"^  name: ([mv]pod\.kb\.io)$", rf"  name: \1\n  objectSelector:\n    matchExpressions:\n"
                              rf"    - key: {pods}\n      operator: Exists", text, flags=re.M)
            text = text.replace(f"name: {name}", f"name: {self.part}", 1)
            self._apply(kind, self.part, text)
