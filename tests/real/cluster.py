#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A real control plane on this host: etcd and kube-apiserver 1.36, on free
ports of the loopback, with the files of deploy/ applied.

    tests/real/cluster.py start DIR [--gates] [--controllers] [--devices]     print what is in DIR/env
    tests/real/cluster.py restart-apiserver DIR   kill -9 it and start it again
    tests/real/cluster.py stop DIR

Files in DIR:
    admin.kubeconfig    system:masters
    muster.kubeconfig   the ServiceAccount with the rights of deploy/base/rbac.yaml
    muster.crt, .key    the same user, by a client certificate
    audit.log           requests of that user; stop() sums them up for tests/real/rights.py
    env                 SERVER=, ADMIN_KUBECONFIG=, MUSTER_KUBECONFIG=
    *.log               the programs' output

--gates turns the native gang API on (scheduling.k8s.io PodGroup, Workload).
--devices also gives muster the rights of deploy/devices.
--controllers also runs kube-controller-manager, for Deployments, Jobs,
StatefulSets and the like, ServiceAccounts, and garbage collection after deleted
owners, namespaces and PodGroups."""

import argparse
import contextlib
import http.client
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import kube, muster  # noqa: E402
from real import rights  # noqa: E402
from real.version import gates_of_devices, has_native_gangs, version  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
TESTS, DEPLOY = HERE.parent, HERE.parents[1] / "deploy"
NAMESPACE = "muster-system"
USER = f"system:serviceaccount:{NAMESPACE}:muster"
TLS_NAME = "kubernetes.default.svc"  # the names in the API server's own certificate

# All of the native gang API that 1.36 has: also topology constraints, a priority of
# the group, and the Job controller that makes a group for each Indexed Job.
GATES = ["--feature-gates=" + ",".join(f"{gate}=true" for gate in (
    "GenericWorkload", "GangScheduling", "TopologyAwareWorkloadScheduling", "WorkloadAwarePreemption",
    "WorkloadWithJob"))]
# What muster asks for, without bodies.
AUDIT = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
         "rules": [{"level": "Metadata", "users": [USER]}, {"level": "None"}]}
CONTROLLERS = ("deployment", "replicaset", "statefulset", "daemonset", "job", "garbage-collector", "namespace",
               "serviceaccount")


def build(*parts):
    """The folder with the real programs, built when they aren't there."""
    done = subprocess.run([str(HERE / "build.sh"), *parts], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit("cluster.py: the real API server did not build")
    return pathlib.Path(done.stdout.strip())


def built(part):
    """Where a real program is, None while it isn't built."""
    home = os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))
    path = pathlib.Path(os.environ.get("MUSTER_K8S_CACHE", f"{home}/muster/k8s-{version()}")) / part
    return path if path.exists() else None


class Cluster:
    """A context manager that stops everything on the way out.  With
    keep=True the programs outlive this one; stop them with `stop DIR`."""

    def __init__(self, folder, gates=False, keep=False, controllers=False, more=()):
        """more: controllers beside CONTROLLERS."""
        if gates and not has_native_gangs():
            print(f"skipped: Kubernetes {version()} has no native gang API of this version\n"
                  "0 passed, 0 failed, 1 skipped", flush=True)
            raise SystemExit(0)  # before any test of the script
        self.dir = pathlib.Path(folder).resolve()
        self.gates, self.controllers, self.more = gates, controllers, more
        self.keep = keep
        self.state = {}
        self.running = {}

    # --- life --------------------------------------------------------------

    def start(self):
        programs = build("kube-apiserver", *["kube-controller-manager"] * self.controllers)
        self.dir.mkdir(parents=True, exist_ok=True)
        if (self.dir / "state.json").exists():
            raise SystemExit(f"cluster.py: {self.dir} holds a cluster already; stop it first")
        fast = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        if fast:
            _sweep(pathlib.Path(fast))
        self.state = {"programs": str(programs), "gates": self.gates, "controllers": self.controllers,
                      "data": tempfile.mkdtemp(prefix="muster-etcd-", dir=fast), "pids": {}}
        try:
            self._make_secrets()
            self._start_etcd()
            self._start_apiserver()
            self._prepare()
            if self.controllers:
                self._start_controllers()
        except BaseException:
            self.stop()
            raise
        return self

    def _make_secrets(self):
        subprocess.run(["openssl", "genrsa", "-out", str(self.dir / "sa.key"), "2048"],
                       check=True, stderr=subprocess.DEVNULL)
        tokens = {"admin": os.urandom(16).hex(), "muster": os.urandom(16).hex()}
        accounts = "system:serviceaccounts"
        rows = [f'{tokens["admin"]},admin,1,system:masters',
                f'{tokens["muster"]},{USER},2,"{accounts},{accounts}:{NAMESPACE}"']
        with open(self.dir / "tokens.csv", "w", encoding="utf-8", opener=_private) as file:
            file.write("\n".join(rows) + "\n")
        self.state["tokens"] = tokens
        self._make_client_certificate(USER)
        (self.dir / "audit-policy.json").write_text(json.dumps(AUDIT), encoding="utf-8")

    def _make_client_certificate(self, name):
        """muster.crt and muster.key: the same user by a certificate."""
        def openssl(*arguments):
            subprocess.run(["openssl", *arguments], check=True, stderr=subprocess.DEVNULL, cwd=self.dir)

        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=client-ca",
                "-keyout", "client-ca.key", "-out", "client-ca.crt")
        openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}",
                "-keyout", "muster.key", "-out", "muster.csr")
        openssl("x509", "-req", "-days", "2", "-in", "muster.csr", "-CA", "client-ca.crt", "-CAkey", "client-ca.key",
                "-CAcreateserial", "-out", "muster.crt")

    def _spawn(self, name, argv):
        child = muster.Process(argv, self.dir / f"{name}.log", dies_with_us=not self.keep)
        self.running[name] = child
        self.state["pids"][name] = child.pid
        self._save()
        return child

    def _save(self):
        with open(self.dir / "state.json", "w", encoding="utf-8", opener=_private) as file:
            json.dump(self.state, file)

    def _start_etcd(self):
        client, peer = muster.free_port(), muster.free_port()
        url, peer_url = f"http://127.0.0.1:{client}", f"http://127.0.0.1:{peer}"
        self.state["etcd"] = url
        child = self._spawn("etcd", [
            "etcd", "--data-dir", self.state["data"], "--listen-client-urls", url, "--advertise-client-urls", url,
            "--listen-peer-urls", peer_url, "--initial-advertise-peer-urls", peer_url,
            "--initial-cluster", f"default={peer_url}", "--quota-backend-bytes", str(8 << 30)])

        def healthy():
            _must_run(child)
            connection = http.client.HTTPConnection("127.0.0.1", client, timeout=2)
            with contextlib.suppress(OSError, http.client.HTTPException), contextlib.closing(connection):
                connection.request("GET", "/health")
                return connection.getresponse().status == 200

        kube.wait_for(healthy, "etcd's health", 30)

    def _start_apiserver(self):
        port = self.state.setdefault("port", muster.free_port())
        key = str(self.dir / "sa.key")
        # Without controllers no ServiceAccounts are created; no kubelet sends heartbeats,
        # so the not-ready taint is never removed.
        without = ["TaintNodesByCondition", *["ServiceAccount"] * (not self.state["controllers"])]
        argv = [self.state["programs"] + "/kube-apiserver", f'--etcd-servers={self.state["etcd"]}',
                "--service-cluster-ip-range=10.0.0.0/24", "--bind-address=127.0.0.1",
                "--advertise-address=127.0.0.1", f"--secure-port={port}", f"--cert-dir={self.dir}/certs",
                f"--token-auth-file={self.dir}/tokens.csv", f"--client-ca-file={self.dir}/client-ca.crt",
                "--authorization-mode=RBAC",
                f"--audit-policy-file={self.dir}/audit-policy.json", f"--audit-log-path={self.dir}/audit.log",
                "--service-account-issuer=https://localhost", f"--service-account-signing-key-file={key}",
                f"--service-account-key-file={key}",
                f"--disable-admission-plugins={','.join(without)}", "--endpoint-reconciler-type=none", "--allow-privileged"]
        argv += gates_of_devices()
        if self.state["gates"]:
            argv += [*GATES, "--runtime-config=scheduling.k8s.io/v1alpha2=true"]
        child = self._spawn("kube-apiserver", argv)
        certificate = self.dir / "certs" / "apiserver.crt"

        def made():
            _must_run(child)
            return certificate.exists() and certificate.stat().st_size > 0

        kube.wait_for(made, "the API server's certificate", 30)
        self._write_kubeconfigs(certificate)
        client = self.admin()

        def ready():
            _must_run(child)
            with contextlib.suppress(OSError, http.client.HTTPException):
                return client.raw("GET", "/readyz")[0] == 200

        kube.wait_for(ready, "kube-apiserver's /readyz", 90)

    def _write_kubeconfigs(self, certificate):
        server = f'https://127.0.0.1:{self.state["port"]}'
        for user, token in self.state["tokens"].items():
            kube.write_kubeconfig(str(self.dir / f"{user}.kubeconfig"), server, token, certificate, TLS_NAME, user)
        with open(self.dir / "env", "w", encoding="utf-8") as file:
            file.write(f"SERVER={server}\nADMIN_KUBECONFIG={self.dir}/admin.kubeconfig\n"
                       f"MUSTER_KUBECONFIG={self.dir}/muster.kubeconfig\n")

    def _prepare(self):
        client = self.admin()
        definitions = [*(DEPLOY / "crds").rglob("*_*.yaml"), *(TESTS / "data" / "crds").glob("*.yaml")]
        for path in (DEPLOY / "base" / "namespace.yaml", DEPLOY / "base" / "rbac.yaml", *sorted(definitions)):
            client.apply_yaml(path.read_text(encoding="utf-8"))

        def served():
            with contextlib.suppress(kube.ApiError):
                return client.list("PodGroup") == []

        kube.wait_for(served, "PodGroups to be served", 30)
        # The first object of a new kind waits 2 s in the API server; that is
        # not to be measured as a scheduler's delay.
        probe = {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup", "metadata": {"name": "probe"}}
        client.request("POST", client.path("PodGroup", "default", dryRun="All"), probe)
        kube.wait_for(lambda: any(ns["metadata"]["name"] == "default" for ns in client.list("Namespace")),
                      "the namespace default", 30)

    def _start_controllers(self):
        more = ["podgroup-protection"] * self.gates + list(self.more)
        names = [f"{name}-controller" for name in (*CONTROLLERS, *more)]
        child = self._spawn("kube-controller-manager", [
            self.state["programs"] + "/kube-controller-manager", f"--kubeconfig={self.admin_kubeconfig}",
            "--bind-address=127.0.0.1", f"--secure-port={muster.free_port()}", f"--cert-dir={self.dir}/certs",
            "--leader-elect=false", "--kube-api-qps=1000", "--kube-api-burst=1000",
            f"--controllers={','.join(names)}", *gates_of_devices(), *(GATES if self.gates else [])])
        client = self.admin()

        def at_work():
            _must_run(child)
            return client.list("ServiceAccount", "default")

        kube.wait_for(at_work, "the ServiceAccount of the namespace default", 60)

    def restart_apiserver(self, down_s=0.0):
        """As after a crash: kill -9, a while of nothing, and the same again
        on the same port with the same certificate."""
        _end(self.state["pids"].pop("kube-apiserver", None), str(self.dir), signal.SIGKILL)
        if child := self.running.pop("kube-apiserver", None):
            child.child.wait()
        time.sleep(down_s)
        self._start_apiserver()

    def stop(self):
        """Nothing of it runs after this, also when start() failed half-way."""
        for name in ("kube-controller-manager", "kube-apiserver", "etcd"):
            marker = self.state.get("data", "") if name == "etcd" else str(self.dir)
            _end(self.state.get("pids", {}).get(name), marker, signal.SIGTERM, 3)
            if child := self.running.pop(name, None):
                child.stop(0)
        if folder := os.environ.get("MUSTER_RIGHTS"):
            rights.sum_up(self.dir, folder)
        shutil.rmtree(self.state.get("data", ""), ignore_errors=True)
        with contextlib.suppress(FileNotFoundError):
            (self.dir / "state.json").unlink()

    __enter__ = start

    def __exit__(self, *_):
        self.stop()

    # --- use ---------------------------------------------------------------

    @property
    def admin_kubeconfig(self):
        return str(self.dir / "admin.kubeconfig")

    @property
    def muster_kubeconfig(self):
        return str(self.dir / "muster.kubeconfig")

    def admin(self):
        return kube.Client(self.admin_kubeconfig)

    def refusals(self):
        """How many requests this API server did not allow since it started."""
        metrics = self.admin().raw("GET", "/metrics")[1].decode().splitlines()
        counts = [line for line in metrics if line.startswith("authorization_attempts_total{")]
        if not counts:
            raise RuntimeError("no authorization_attempts_total among the API server's metrics")
        return sum(float(line.split()[-1]) for line in counts if 'result="allowed"' not in line)

    @classmethod
    def of(cls, folder):
        """The cluster of an earlier start."""
        cluster = cls(folder, keep=True)
        try:
            cluster.state = json.loads((cluster.dir / "state.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise SystemExit(f"cluster.py: no cluster in {folder}") from None
        cluster.gates, cluster.controllers = cluster.state["gates"], cluster.state["controllers"]
        return cluster


def _sweep(folder):
    """Data of a cluster whose owner was killed: a minute old, and no
    process refers to it."""
    commands = b"".join(_command_of(pid) for pid, _, name in muster.processes() if name == "etcd")
    for data in folder.glob("muster-etcd-*"):
        with contextlib.suppress(OSError):
            if time.time() - data.stat().st_mtime > 60 and str(data).encode() not in commands:
                shutil.rmtree(data, ignore_errors=True)


def _command_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _private(path, flags):
    return os.open(path, flags, 0o600)


def _must_run(child):
    if not child.running():
        raise RuntimeError(f"{child.name} ended with {child.child.returncode}:\n{child.log()[-3000:]}")


def _end(pid, marker, number, timeout_s=10.0):
    """Signal the process, and SIGKILL it when that does not end it.  Only one
    that names our folder in its command line is ours: pids come back."""
    def ours():
        return marker.encode() in _command_of(pid)

    if not pid or not marker or not ours():
        return
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
        end = time.monotonic() + timeout_s
        while ours() and time.monotonic() < end:
            time.sleep(0.02)
        if ours():
            os.kill(pid, signal.SIGKILL)
        while ours():
            time.sleep(0.02)


def main():
    parser = argparse.ArgumentParser(description="A real control plane for tests.")
    parser.add_argument("action", choices=["start", "stop", "restart-apiserver"])
    parser.add_argument("dir")
    parser.add_argument("--gates", action="store_true", help="serve the native gang API")
    parser.add_argument("--controllers", action="store_true", help="run kube-controller-manager too")
    parser.add_argument("--devices", action="store_true", help="with muster's rights for claims of devices")
    options = parser.parse_args()
    muster.exit_on_sigterm()
    if options.action == "start":
        cluster = Cluster(options.dir, options.gates, keep=True, controllers=options.controllers).start()
        if options.devices:
            cluster.admin().apply_yaml((DEPLOY / "devices" / "rbac.yaml").read_text(encoding="utf-8"))
        print((cluster.dir / "env").read_text(encoding="utf-8"), end="")
    elif options.action == "stop":
        Cluster.of(options.dir).stop()
    else:
        Cluster.of(options.dir).restart_apiserver()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
