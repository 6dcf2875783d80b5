# SPDX-License-Identifier: Apache-2.0
"""Claims of devices and of volumes on a real kube-apiserver, with the controllers of kube-controller-manager that make, bind and
free them: the scenarios of tests/process/test_claims_live.py (DRA-1 to DRA-20) and test_volumes.py (VOL-1 to VOL-12), which run
on muster-apisim too, and some beside a kube-scheduler that allocates from the same slices.

    tests/real/test_claims.py [TEST...] [--full]     --full: all of them again beside kube-scheduler, and all kills

What the tests stand in for: the drivers, who publish slices and what devices are ready, and the external provisioner."""
import collections
import contextlib
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import cluster, harness, kube, muster, objects  # noqa: E402
from lib.claims import allocated, bound, claim_spec, device_class, devices, gang_with, nodes, pod_with, says  # noqa: E402
from lib.cluster import run  # noqa: E402
from lib.harness import equal, main, until  # noqa: E402
from process import test_claims_live as dra  # noqa: E402
from process import test_volumes as vol  # noqa: E402
from real.cluster import DEPLOY, Cluster, built  # noqa: E402
from real.version import is_at_least  # noqa: E402
from real.kube_scheduler import KubeScheduler  # noqa: E402

CONTROLLERS = ("resourceclaim", "persistentvolume-binder", "persistentvolumeclaim-protection", "persistentvolume-protection",
               "ephemeral-volume")
LEFTOVERS = ("Pod", "PodGroup", "ResourceClaim", "ResourceClaimTemplate", "PersistentVolumeClaim", "PersistentVolume", "ResourceSlice",
             "DeviceClass", "StorageClass", "CSIDriver", "CSIStorageCapacity", "Event", "Node")
SOON_S = 45


class World(cluster.Cluster):
    """lib.claims.World on the real server, which all tests share: each empties it first."""
    kills = (1, 4, 9, 12, 20) if harness.full else (12,)
    lenient = False
    controllers = True

    def __init__(self, *objects, **_):
        super().__init__(*objects)
        self.claims = {}

    def start_apisim(self):
        self.client, self.kubeconfig, self.admin = server.admin(), server.muster_kubeconfig, server.admin_kubeconfig
        until(self.is_empty, SOON_S, "nothing is left of the test before")

    def is_empty(self):
        for kind in LEFTOVERS:
            self.client.request("DELETE", self.client.path(kind, "default", gracePeriodSeconds=0))
        return not any(self.client.list(kind) for kind in LEFTOVERS if kind != "Event")

    def create(self, *objects):
        """A volume once its controller has found it."""
        for obj in objects:
            with contextlib.suppress(Exists) if obj["kind"] == "Namespace" else contextlib.nullcontext():
                self.post(obj)
        for obj in objects:
            if obj["kind"] == "PersistentVolume":
                name = obj["metadata"]["name"]
                until(lambda: self.client.get("PersistentVolume", name)["status"]["phase"] == "Available", SOON_S, name)

    def post(self, obj):
        try:
            self.client.create(obj)
        except kube.ApiError as error:
            if error.reason == "AlreadyExists":
                raise Exists(obj["metadata"]["name"]) from error
            raise

    def stats(self):
        """The real server counts nothing of that; check.cluster() does."""
        return dict.fromkeys(("overcommitted", "boundToUnknownNode", "kubeletRejected"), 0)

    # ---- kube-controller-manager makes and frees claims ----

    def make_claim(self, name, spec):
        """The template comes; that the pod changes lets the controller try again at once."""
        pod = self.client.get("Pod", name)
        template = pod["spec"]["resourceClaims"][0]["resourceClaimTemplateName"]
        with contextlib.suppress(Exists):
            self.post({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate",
                       "metadata": {"name": template, "namespace": "default"}, "spec": {"spec": spec}})
        self.client.patch("Pod", name, {"metadata": {"annotations": {"example.com/again": "yes"}}})

    def claim_name(self, name):
        """Of the controller's for POD-gpu, also when the pod is gone."""
        pod, _, suffix = name.rpartition("-")
        if suffix != "gpu":
            return name
        if name not in self.claims:
            statuses = until(lambda: self.client.get("Pod", pod)["status"]["resourceClaimStatuses"], SOON_S, f"{pod} has a claim")
            self.claims[name] = statuses[0]["resourceClaimName"]
        return self.claims[name]

    def claim(self, name):
        return self.client.get("ResourceClaim", self.claim_name(name))

    def end_pod(self, name):
        self.collect(name, self.claim_name(f"{name}-gpu"))

    def collect(self, pod, claim_name):
        """The controller deletes the claim."""
        self.delete("Pod", pod)
        until(lambda: all(c["metadata"]["name"] != claim_name for c in self.client.list("ResourceClaim")), SOON_S, f"{claim_name} is gone")

    def consumer(self, name, node):
        """A pod of another scheduler, bound there: for one that does not exist the controller frees the claim."""
        pod = self.client.create(objects.pod(f"{name}-user", cpu="10m", scheduler="other", nodeName=node,
                                             resourceClaims=[{"name": "gpu", "resourceClaimName": self.claim_name(name)}]))
        return {"resource": "pods", "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}

    def end_consumer(self, name):
        with kube.may_be_gone():
            self.delete("Pod", f"{name}-user")


class Exists(Exception):
    pass


def scenarios(module):
    """Its tests but for one of a server without the API and one of a fault of muster-apisim; without --full those that show no scenario, and one that another contains."""
    left_out = {"test_nothing_without_the_resources", "test_a_missing_right_is_in_the_log_at_the_start"}
    if not harness.full:
        left_out |= {"test_a_claim_that_is_left_is_given_back", "test_a_selector_that_fails_on_a_device",
                     "test_volumes_that_several_nodes_reach_are_given_once_each", "test_two_volumes_of_one_node_serve_two_members",
                     "test_the_smallest_volume_that_fits_is_taken", "test_a_claim_that_members_share_is_provisioned_once",
                     "test_members_without_claims_wait_for_those_with", "test_off_such_pods_wait"}
    return {name: test for name, test in vars(module).items() if name.startswith("test_") and name not in left_out}


def theirs(name, **options):
    """A pod for kube-scheduler, with a claim from a template of its own."""
    return pod_with(name, scheduler="default-scheduler", **options)


@contextlib.contextmanager
def beside():
    """With kube-scheduler, which has its own pods, and the same slices and volumes."""
    with KubeScheduler(built("kube-scheduler"), server.admin_kubeconfig, folder) as scheduler:
        until(scheduler.ready, 60, "kube-scheduler's /readyz")
        yield


def test_scenarios_beside_kube_scheduler():
    """DRA-1, DRA-10, VOL-1 and VOL-11; with --full all of them."""
    some = (dra.test_a_pod_gets_the_first_device_and_its_claim_is_written_before, dra.test_pods_that_share_a_claim,
            vol.test_vol_1_a_volume_is_provisioned_for_the_node, dra.test_a_volume_that_fails_gives_the_devices_back)
    with beside():
        for scenario in {**scenarios(dra), **scenarios(vol)}.values() if harness.full else some:
            harness.figure(f"beside: {scenario.__name__}")
            scenario()


def test_devices_that_kube_scheduler_has_given_away():
    """DRA-2 and DRA-20 with another scheduler's own allocation: what it has is taken, and free once its pod is gone."""
    with beside(), World(*nodes(1, 4), device_class()) as c:
        c.up(*dra.ON)
        c.create(theirs("other"))
        c.make_claim("other", claim_spec(2))
        bound(c, "other", 1)
        equal(devices(c, "other-gpu"), ["gpu-0", "gpu-1"])
        gang_with(c, "g", 3, claim_spec())
        says(c, "g-0", "2 of 3 members have room")
        equal(len(allocated(c)), 1)
        c.end_pod("other")
        bound(c, "g", 3)
        c.create(theirs("last"))
        c.make_claim("last", claim_spec())
        bound(c, "last", 1)
        equal(len(allocated(c)), 4)


def test_both_allocate_at_once():
    """DRA-9: both schedulers fill the same pools. All pods are bound; a device that is in two claims after all, since kube-scheduler
    does not give way, is one that fsck names."""
    with beside(), World(*nodes(2), device_class()) as c:
        c.up(*dra.ON)
        ours = [pod_with(f"ours-{i}") for i in range(6)]
        c.create(*[p for i in range(6) for p in (theirs(f"theirs-{i}"), ours[i])])
        for i in range(6):
            c.make_claim(f"theirs-{i}", claim_spec())
            c.make_claim(f"ours-{i}", claim_spec())
        bound(c, "ours", 6)
        bound(c, "theirs", 6)
        held = collections.Counter(f"{r['driver']}/{r['pool']}/{r['device']}" for x in c.client.list("ResourceClaim")
                                   for r in x["status"]["allocation"]["devices"]["results"])
        twice = sorted(device for device, n in held.items() if n > 1)
        harness.figure(f"{len(twice)} of {len(held)} devices are in two claims")
        code, out, err = run("musterctl", "fsck", "--socket", c.ctl.socket, "--kubeconfig", c.admin, "--devices", "-o", "json")
        equal((code, sorted(device for device in held if device in out)), (int(bool(twice)), twice), err)


def test_nothing_was_forbidden():
    equal(server.refusals(), 0, "requests not allowed")


if __name__ == "__main__":
    if not is_at_least(34):
        print("skipped: resource.k8s.io/v1 is of Kubernetes 1.34\n0 passed, 0 failed, 1 skipped", flush=True)
        sys.exit(0)
    muster.exit_on_sigterm()
    dra.World = vol.Cluster = World
    if not harness.full:
        vol.PHASES = (("disk", 0.6),)
    folder = muster.scratch("muster-claims-")
    with Cluster(os.path.join(folder, "cluster"), controllers=True, more=CONTROLLERS) as server:
        server.admin().apply_yaml((DEPLOY / "devices" / "rbac.yaml").read_text(encoding="utf-8"))
        server.admin().patch("Namespace", "default", {"metadata": {"labels": {"resource.kubernetes.io/admin-access": "true"}}})
        main({**scenarios(dra), **scenarios(vol), **globals()})
