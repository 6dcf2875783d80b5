# SPDX-License-Identifier: Apache-2.0
"""The schedulers that compare.py runs: how each is started, and what a gang is for it.

Each has the settings that it comes with, but for three: no leader election, no limit of its own on requests (5,000 a
second, which none of them reaches), and ports of the loopback."""
import json
import os
import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from lib import dialects, kube, muster, objects  # noqa: E402
from real.cluster import build  # noqa: E402
from real.kube_scheduler import KubeScheduler  # noqa: E402
from real.version import version as kubernetes  # noqa: E402

RATE = 5000  # requests a second that a client may send
NAMESPACE = "default"
AS_IT_COMES = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: %s
leaderElection: {leaderElect: false}
"""


class Missing(Exception):
    """Why a peer can't take part."""


def connection(cluster):
    return f"{{kubeconfig: {cluster.admin_kubeconfig}, qps: {RATE}, burst: {RATE}}}"


class Peer:
    """name: on the command line and in tables.  scheduler: what its pods name.  group: a line about what a gang is."""
    name = scheduler = group = ""

    def __init__(self, folder=None, version=""):
        """folder: of its programs and manifests, from build.sh."""
        self.folder, self.version = folder, version

    def prepare(self, client):
        """What its controllers or its chart would create, once for a cluster."""

    def start(self, cluster, folder):
        """Its processes, as a list."""
        raise NotImplementedError

    def gang(self, name, count):
        """(the group's object or None, pods); pods are named NAME-0 and on."""
        raise NotImplementedError

    def members(self, name, count, labels=None, annotations=None, **spec):
        made = [objects.pod(f"{name}-{i}", scheduler=self.scheduler, labels=labels, **spec) for i in range(count)]
        for pod in made:
            pod["metadata"]["annotations"] = annotations or {}
        return made

    def program(self, name="scheduler"):
        return str(pathlib.Path(self.folder) / name)

    def apply_definitions(self, client, *patterns):
        """CRDs of its module, and wait until they are served."""
        names = []
        for pattern in patterns:
            for path in sorted((pathlib.Path(self.folder) / "manifests").glob(pattern)):
                for text in re.split(r"^---$", path.read_text(encoding="utf-8"), flags=re.M):
                    if "kind: CustomResourceDefinition" in text:
                        names.append(re.search(r"^  name: (\S+)$", text, re.M).group(1))
                        where = client.path("CustomResourceDefinition", None, names[-1], fieldManager="tests", force="true")
                        client.request("PATCH", where, text, kube.APPLY)
        if not names:
            raise Missing(f"no CRDs in {patterns}")

        def served():
            return all(any(c["type"] == "Established" and c["status"] == "True" for c in
                           client.get("CustomResourceDefinition", name)["status"]["conditions"]) for name in names)

        kube.wait_for(served, f"{names} to be established", 60)


def create(client, path, obj):
    """Unless it is there."""
    try:
        client.request("POST", path, obj)
    except kube.ApiError as error:
        if error.status != 409:
            raise


def native_gang(peer, name, count):
    return dialects.native_group(name, count), peer.members(name, count, schedulingGroup={"podGroupName": name})


class MusterPeer(Peer):
    name, scheduler, group = "muster", "muster", "native PodGroup"
    gang = native_gang

    def start(self, cluster, folder):
        return [muster.Muster(cluster.muster_kubeconfig, folder)]


class Kube(Peer):
    name, scheduler, group = "kube-scheduler", "default-scheduler", "native PodGroup (feature gates)"
    gang = native_gang

    def __init__(self):
        super().__init__(build("kube-scheduler"), "v" + kubernetes())

    def start(self, cluster, folder):
        config = AS_IT_COMES % connection(cluster)
        return [KubeScheduler(self.program("kube-scheduler"), cluster.admin_kubeconfig, folder, config,
                              "--feature-gates=GenericWorkload=true,GangScheduling=true")]


class Coscheduling(Peer):
    name, scheduler, group = "coscheduling", "coscheduling", "scheduler-plugins' PodGroup"

    # As manifests/coscheduling/scheduler-config.yaml of its module, which waits 10 s in Permit: a gang of 1,000 takes
    # longer, so this is the plugin's own default.
    CONFIG = AS_IT_COMES + """\
profiles:
- schedulerName: coscheduling
  plugins:
    multiPoint:
      enabled: [{name: Coscheduling}]
    queueSort:
      enabled: [{name: Coscheduling}]
      disabled: [{name: "*"}]
  pluginConfig:
  - name: Coscheduling
    args: {permitWaitingTimeSeconds: 60}
"""

    def start(self, cluster, folder):
        config = self.CONFIG % connection(cluster)
        return [KubeScheduler(self.program(), cluster.admin_kubeconfig, folder, config)]

    def gang(self, name, count):
        return objects.pod_group(name, count), self.members(name, count, {objects.GROUP_LABEL: name})


class Volcano(Peer):
    name, scheduler, group = "volcano", "volcano", "Volcano's PodGroup"
    QUEUES = "/apis/scheduling.volcano.sh/v1beta1/queues"

    def prepare(self, client):
        """Its controller would open the queues."""
        self.apply_definitions(client, "crd/bases/*.yaml")
        for name in ("root", "default"):
            create(client, self.QUEUES, {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue",
                                         "metadata": {"name": name}, "spec": {"weight": 1, "reclaimable": name != "root"}})
            client.request("PATCH", f"{self.QUEUES}/{name}/status", {"status": {"state": "Open"}}, kube.MERGE)

    def start(self, cluster, folder):
        """The configuration is that of its chart."""
        config = pathlib.Path(self.folder) / "manifests/config/volcano-scheduler.conf"
        return [muster.Process([self.program(), f"--kubeconfig={cluster.admin_kubeconfig}", f"--scheduler-conf={config}",
                                "--leader-elect=false", f"--kube-api-qps={RATE}", f"--kube-api-burst={RATE}",
                                "--cache-dumper=false", "--logtostderr"], os.path.join(folder, "volcano.log"),
                               {"DEBUG_SOCKET_DIR": folder})]

    def gang(self, name, count):
        group = dialects.volcano_group(name, count, queue="default", minResources={"cpu": str(count), "memory": f"{count}Gi"})
        return group, self.members(name, count, annotations={"scheduling.k8s.io/group-name": name})


class Kai(Peer):
    name, scheduler, group = "kai", "kai-scheduler", "KAI's PodGroup"
    QUEUES = "/apis/scheduling.run.ai/v2/queues"

    def prepare(self, client):
        """Queues as in its quick start."""
        self.apply_definitions(client, "kai-scheduler/crds/*.yaml")
        for name in ("kai-scheduler", "kai-resource-reservation", "kai-scale-adjust"):
            create(client, "/api/v1/namespaces", kube.namespace(name))
        all_of_it = {"limit": -1, "overQuotaWeight": 1, "quota": 0}
        for name, more in (("default-parent-queue", {}), ("default-queue", {"parentQueue": "default-parent-queue"})):
            spec = {**more, "resources": {resource: all_of_it for resource in ("cpu", "gpu", "memory")}}
            create(client, self.QUEUES, {"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": {"name": name},
                                         "spec": spec})

    def start(self, cluster, folder):
        """Two programs: the scheduler writes BindRequests, the binder binds."""
        environment = {"KUBECONFIG": cluster.admin_kubeconfig}
        flags = {"scheduler": [f"--listen-address=127.0.0.1:{muster.free_port()}", f"--plugin-server-port={muster.free_port()}"],
                 "binder": ["--metrics-bind-address=0", f"--health-probe-bind-address=127.0.0.1:{muster.free_port()}",
                            "--zap-log-level=error"]}
        return [muster.Process([self.program(name), f"--qps={RATE}", f"--burst={RATE}", *flags[name]],
                               os.path.join(folder, f"kai-{name}.log"), environment) for name in ("scheduler", "binder")]

    def gang(self, name, count):
        return (dialects.kai_group(name, count, queue="default-queue"),
                self.members(name, count, {"kai.scheduler/queue": "default-queue"}, {"pod-group-name": name}))


class Yunikorn(Peer):
    name, scheduler, group = "yunikorn", "yunikorn", "task group: it creates a placeholder for each member"

    def prepare(self, client):
        """Queues as in its deployments/, with its limit on requests lifted."""
        queues = textwrap.dedent("""\
            partitions:
              - name: default
                placementrules: [{name: tag, value: namespace, create: true}]
                queues: [{name: root, submitacl: '*'}]
            """)
        create(client, "/api/v1/namespaces", kube.namespace("yunikorn"))
        create(client, client.path("ConfigMap", "yunikorn"), {
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "yunikorn-configs"},
            "data": {"queues.yaml": queues, "kubernetes.qps": str(RATE), "kubernetes.burst": str(RATE),
                     "log.level": "WARN"}})

    def start(self, cluster, folder):
        """Its web server listens at port 9080, and it has no flag for another."""
        return [muster.Process([self.program()], os.path.join(folder, "yunikorn.log"),
                               {"KUBECONFIG": cluster.admin_kubeconfig, "NAMESPACE": "yunikorn"})]

    def gang(self, name, count):
        groups = [{"name": "members", "minMember": count, "minResource": {"cpu": "1", "memory": "1Gi"}}]
        return None, self.members(name, count, {"applicationId": name}, {
            "yunikorn.apache.org/task-group-name": "members", "yunikorn.apache.org/task-groups": json.dumps(groups)})


class YunikornPods(Yunikorn):
    """The same pods as one application without a task group: no gang, so no placeholders."""
    name = "yunikorn-pods"
    group = "none: an application of single pods"

    def gang(self, name, count):
        return None, self.members(name, count, {"applicationId": name})


class Koordinator(Peer):
    name, scheduler, group = "koordinator", "koord-scheduler", "Koordinator's PodGroup"

    def prepare(self, client):
        self.apply_definitions(client, "crd/bases/*.yaml")
        create(client, "/api/v1/namespaces", kube.namespace("koordinator-system"))

    def start(self, cluster, folder):
        """The configuration is that of its module."""
        text = (pathlib.Path(self.folder) / "manifests/manager/scheduler-config.yaml").read_text(encoding="utf-8")
        config = textwrap.dedent(text.partition("koord-scheduler-config: |\n")[2])
        config = config.replace("leaderElect: true", "leaderElect: false", 1)
        config += f"clientConnection: {connection(cluster)}\n"
        return [KubeScheduler(self.program(), cluster.admin_kubeconfig, folder, config, "--port=0")]

    def gang(self, name, count):
        group = {**objects.pod_group(name, count), "apiVersion": "scheduling.sigs.k8s.io/v1alpha1"}
        return group, self.members(name, count, {"pod-group.scheduling.sigs.k8s.io": name})


PEERS = {"muster": MusterPeer, "kube-scheduler": Kube, "coscheduling": Coscheduling, "volcano": Volcano, "kai": Kai,
         "yunikorn": Yunikorn, "yunikorn-pods": YunikornPods, "koordinator": Koordinator}
BUILT = {"coscheduling": "coscheduling", "volcano": "volcano", "kai": "kai", "yunikorn": "yunikorn",
         "yunikorn-pods": "yunikorn", "koordinator": "koordinator"}  # by build.sh, and under which name
