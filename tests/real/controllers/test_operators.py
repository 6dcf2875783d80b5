# SPDX-License-Identifier: Apache-2.0
"""The controllers that people use, unmodified, on a real kube-apiserver: each makes a gang, which
muster starts as a whole; restarts, deletions and what the objects then say.  `make test-controllers`.

    tests/real/controllers/test_operators.py [TEST...]      MUSTER_KEEP=1 keeps the logs
"""
import contextlib
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from lib import check, harness, muster  # noqa: E402
from lib.harness import equal, main, steady, until  # noqa: E402
from lib.objects import pod_group  # noqa: E402
from real.kubelet import RUN_SECONDS, Kubelets, report  # noqa: E402
from real.operators import SOON_S, Operator  # noqa: E402
from real.workloads import template  # noqa: E402
from real.world import STILL_S, World, machines  # noqa: E402

MADE = ("TrainJob", "MPIJob", "RayCluster", "JobSet", "LeaderWorkerSet")
GANG = 100


@contextlib.contextmanager
def operators(*parts):
    """An empty cluster with these controllers: (part, flags, configuration)."""
    folder = muster.scratch("muster-operators-")
    with contextlib.ExitStack() as stack:
        for part, flags, more in parts:
            stack.enter_context(Operator(part, world.cluster, folder, flags, **more))
        try:
            yield
        finally:
            empty()


def empty():
    """Their owners first: they make their pods again."""
    for kind in MADE:
        for obj in world.admin.list_if_served(kind, "default") or ():
            world.delete(kind, obj["metadata"]["name"])
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
        for obj in world.admin.list(kind):
            world.admin.delete(kind, obj["metadata"]["name"])
    world.sweep()


def replicated(name, jobs, pods, pods_each=1):
    """A replicatedJob of a JobSet, each Job with so many pods at once."""
    pods["spec"]["restartPolicy"] = "Never"
    return {"name": name, "replicas": jobs, "template": {"spec": {
        "parallelism": pods_each, "completions": pods_each, "backoffLimit": 0, "template": pods}}}


def jobset(name, *jobs, **spec):
    return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": name, "namespace": "default"},
            "spec": {"replicatedJobs": list(jobs), **spec}}


def lws(name, replicas, size, cpu="1", **spec):
    return {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"replicas": replicas, "leaderWorkerTemplate": {
                "size": size, "restartPolicy": "RecreateGroupOnPodRestart", "workerTemplate": template(name, cpu=cpu)}, **spec}}


def mpi(name, workers, cpu="1"):
    def role(n):
        return {"replicas": n, "template": template(name, cpu=cpu)}

    return {"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "metadata": {"name": name, "namespace": "default"},
            "spec": {"mpiReplicaSpecs": {"Launcher": role(1), "Worker": role(workers)}}}


def kueue_pod(group, index, members):
    made = template(group)
    made["metadata"]["labels"].update({"kueue.x-k8s.io/queue-name": "q", "kueue.x-k8s.io/pod-group-name": group})
    made["metadata"]["annotations"]["kueue.x-k8s.io/pod-group-total-count"] = str(members)
    return {"apiVersion": "v1", "kind": "Pod", "spec": made["spec"],
            "metadata": {"name": f"{group}-{index}", "namespace": "default", **made["metadata"]}}


def mpi_operator():
    return ("mpi-operator", ("-gang-scheduling", "muster", "-kubeConfig", world.cluster.admin_kubeconfig,
                             "-lock-namespace", "default", "-kube-api-qps", "200", "-kube-api-burst", "400"), {})


def runs(prefix, members, since=None):
    """All of it runs; prints how long that took."""
    with world.told(prefix):
        until(lambda: world.running(prefix) == members, SOON_S, f"{members} of {prefix} run")
    if since:
        harness.figure(f"{prefix}: {members} pods run {time.monotonic() - since:.2f} s after the object was made")


def status_is(kind, name, **wanted):
    def wrong():
        status = world.admin.get(kind, name).get("status") or {}
        return {k: status.get(k) for k, v in wanted.items() if status.get(k) != v}

    until(lambda: not wrong(), SOON_S, lambda: f"status of {name}: {wrong()}, not {wanted}")


def bound_uids(prefix):
    return {p["metadata"]["uid"] for p in world.pods(prefix) if check.is_bound(p)}


def is_never_torn(prefix, size, seconds):
    """For so long each gang of so many pods, by its revision and index, has all of them on nodes or none."""
    end = time.monotonic() + seconds
    torn = {}
    while time.monotonic() < end:
        groups = {}
        for p in world.pods(prefix):
            labels = p["metadata"]["labels"]
            key = labels["leaderworkerset.sigs.k8s.io/group-index"], labels["leaderworkerset.sigs.k8s.io/template-revision-hash"]
            if not p["metadata"].get("deletionTimestamp"):
                groups.setdefault(key, []).append(check.is_bound(p))
        for key, bound in groups.items():
            part = len(bound) == size and 0 < sum(bound) < size
            torn[key] = torn.get(key, 0) + 1 if part else 0
        if max(torn.values(), default=0) > 10:  # a binding of each takes some milliseconds
            raise harness.Failed(f"a torn gang of {prefix}: {groups}")
        time.sleep(0.1)


def test_jobset_starts_whole_restarts_and_completes():
    world.fresh(*machines(4, cpu="4"))
    with operators(("jobset", (), {})):
        jobs = [replicated("driver", 1, template("js", "scheduler-plugins"), 2),
                replicated("worker", 2, template("js", "scheduler-plugins"), 2)]
        world.create(pod_group("js", 6), jobset("js", *jobs, failurePolicy={"maxRestarts": 1}))
        runs("js", 6)
        status_is("PodGroup", "js", phase="Running", running=6)
        before = bound_uids("js")
        report(world.admin, world.pods("js-worker")[0], "Failed")
        with world.told("js"):
            until(lambda: world.running("js") == 6 and not before & bound_uids("js"), SOON_S, "six new ones run")
        status_is("PodGroup", "js", phase="Running", running=6)
        for p in world.pods("js"):
            report(world.admin, p, "Succeeded")
        until(lambda: any(c["type"] == "Completed" and c["status"] == "True"
                          for c in world.status("JobSet", "js").get("conditions", [])), SOON_S, "the JobSet is Completed")


def test_jobset_that_does_not_fit_waits_whole_and_says_why():
    world.fresh(*machines(2, cpu="4"))
    with operators(("jobset", (), {})):
        world.create(pod_group("big", 10), jobset("big", replicated("w", 2, template("big", "scheduler-plugins"), 5)))
        world.made("big", 10)
        world.waits("big", r"\b8 of 10\b", r"cpu: need 10, have 8\b")
        world.create(*machines(1, first=2, cpu="4"))
        runs("big", 10)


def test_leader_worker_set_starts_each_group_whole():
    world.fresh(*machines(4, cpu="4"))
    with operators(("lws", (), {})):
        world.create(lws("lw", 2, 4))
        runs("lw", 8)
        victim = next(p for p in world.pods("lw-0") if p["metadata"]["name"] == "lw-0-2")
        before = {p["metadata"]["uid"] for p in world.pods("lw-0")}
        world.admin.delete("Pod", victim["metadata"]["name"])
        with world.told("lw"):
            until(lambda: world.running("lw-0") == 4 and not before & bound_uids("lw-0"), SOON_S, "the group runs anew")


def test_leader_worker_set_is_updated_without_a_torn_gang():
    """controllers.md, fault 1: beside a gang that waits for the room."""
    world.fresh(*machines(4, cpu="4"))
    with operators(("lws", (), {})):
        world.create(lws("ru", 1, 4, cpu="3"))
        runs("ru", 4)
        world.create(pod_group("other", 2), *({"apiVersion": "v1", "kind": "Pod",
                                               "metadata": {"name": f"other-{i}", "namespace": "default", **made["metadata"]},
                                               "spec": made["spec"]}
                                              for i in range(2) for made in [template("other", "scheduler-plugins", cpu="3")]))
        world.waits("other", r"cpu: need")
        changed = template("ru", cpu="3", annotations={"version": "2"})
        world.admin.patch("LeaderWorkerSet", "ru", {"spec": {"leaderWorkerTemplate": {"workerTemplate": changed}}})
        is_never_torn("ru", 4, 15)


def test_leader_worker_set_by_volcano_groups():
    """controllers.md, fault 2: the PodGroup of Volcano has a status."""
    world.fresh(*machines(4, cpu="4"))
    with operators(("lws", (), {"gangSchedulingManagement": {"schedulerProvider": "volcano"}})):
        world.create(lws("vo", 1, 4))
        runs("vo", 4)
        groups = [g["metadata"]["name"] for g in world.admin.list("PodGroup.scheduling.volcano.sh", "default")]
        equal(len(groups), 1, f"groups: {groups}")
        status_is("PodGroup.scheduling.volcano.sh", groups[0], phase="Running", running=4)


def test_mpi_job_starts_whole():
    world.fresh(*machines(4, cpu="4"))
    with operators(mpi_operator()):
        world.create(mpi("pi", 7))
        runs("pi", 8)
        status_is("PodGroup", "pi", phase="Running", running=8)
        world.create(mpi("big", 30))
        world.made("big", 31)
        world.waits("big", r"cpu: need 31, have 8\b")


def test_train_job_starts_whole():
    world.fresh(*machines(4, cpu="4"))
    with operators(("jobset", (), {}), ("trainer", (), {})):
        pods = template("tr")
        world.create({"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainingRuntime",
                      "metadata": {"name": "rt", "namespace": "default"},
                      "spec": {"mlPolicy": {"numNodes": 4}, "podGroupPolicy": {"coscheduling": {"scheduleTimeoutSeconds": 60}},
                               "template": {"spec": {"replicatedJobs": [{"name": "node", "template": {
                                   "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
                                   "spec": {"template": {"metadata": pods["metadata"], "spec": {
                                       **pods["spec"], "containers": [{**pods["spec"]["containers"][0], "name": "node"}]}}}}}]}}}})
        world.create({"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob",
                      "metadata": {"name": "tr", "namespace": "default"},
                      "spec": {"runtimeRef": {"name": "rt", "kind": "TrainingRuntime"}}})
        runs("tr", 4)
        status_is("PodGroup", "tr", phase="Running", running=4)
        world.delete("TrainJob", "tr")
        until(lambda: not world.pods("tr") and not world.admin.list("PodGroup", "default"), SOON_S, "nothing is left of it")
        world.admin.delete("TrainingRuntime", "rt")


def test_ray_cluster_starts_whole():
    world.fresh(*machines(4, cpu="4"))
    with operators(("kuberay", ("--batch-scheduler=scheduler-plugins", "--enable-leader-election=false",
                                f"--metrics-addr=127.0.0.1:{muster.free_port()}",
                                f"--health-probe-bind-address=127.0.0.1:{muster.free_port()}"), {})):
        def pods():
            made = template("ray")
            del made["spec"]["schedulerName"]
            return made

        ray = {"apiVersion": "ray.io/v1", "kind": "RayCluster",
               "metadata": {"name": "ray", "namespace": "default", "labels": {"ray.io/gang-scheduling-enabled": "true"}},
               "spec": {"rayVersion": "2.46.0", "headGroupSpec": {"rayStartParams": {}, "template": pods()},
                        "workerGroupSpecs": [{"groupName": "w", "replicas": 4, "minReplicas": 4, "maxReplicas": 4,
                                              "rayStartParams": {}, "template": pods()}]}}
        world.create(ray)
        runs("ray", 5)
        status_is("PodGroup", "ray", phase="Running", running=5)


def test_kueue_group_of_pods_waits_for_its_quota_and_starts_whole():
    world.fresh(*machines(4, cpu="4"))
    config = {"integrations": {"frameworks": ["pod"]}, "featureGates": {"VisibilityOnDemand": False},
              "managedJobsNamespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}}}
    with operators(("kueue", (), config)):
        flavor = {"name": "any", "resources": [{"name": "cpu", "nominalQuota": "6"}, {"name": "memory", "nominalQuota": "64Gi"}]}
        kueue = {"apiVersion": "kueue.x-k8s.io/v1beta2"}
        world.create({**kueue, "kind": "ResourceFlavor", "metadata": {"name": "any"}, "spec": {}},
                     {**kueue, "kind": "ClusterQueue", "metadata": {"name": "all"}, "spec": {
                         "namespaceSelector": {}, "resourceGroups": [{"coveredResources": ["cpu", "memory"], "flavors": [flavor]}]}},
                     {**kueue, "kind": "LocalQueue", "metadata": {"name": "q", "namespace": "default"},
                      "spec": {"clusterQueue": "all"}})
        try:
            for name in ("ka", "kb"):
                world.create(*(kueue_pod(name, i, 4) for i in range(4)))
                if name == "ka":
                    runs("ka", 4)
            steady(lambda: world.bound("kb") == 0, STILL_S, "the second group has no quota")
            for p in world.pods("ka"):
                report(world.admin, p, "Succeeded")
            runs("kb", 4)
        finally:
            for p in world.pods():
                world.admin.patch("Pod", p["metadata"]["name"], {"metadata": {"finalizers": None}})
            for kind in ("LocalQueue", "ClusterQueue", "ResourceFlavor"):
                world.admin.request("DELETE", world.admin.path(kind, "default"))


def test_gangs_of_a_hundred():
    """The table of docs/controllers.md: from the object to the last pod that runs."""
    world.fresh(*machines(16, cpu="32"))
    with operators(("jobset", (), {}), ("lws", (), {}), mpi_operator()):
        start = time.monotonic()
        world.create(pod_group("h-js", GANG),
                     jobset("h-js", replicated("w", 4, template("h-js", "scheduler-plugins"), GANG // 4)))
        runs("h-js", GANG, start)
        start = time.monotonic()
        world.create(lws("h-lw", 1, GANG))
        runs("h-lw", GANG, start)
        start = time.monotonic()
        world.create(mpi("h-mpi", GANG - 1))
        runs("h-mpi", GANG, start)
        for p in world.pods("h-js"):
            equal(p["metadata"]["annotations"].get(RUN_SECONDS), None, "it runs until it is ended")


def test_nothing_stands_half():
    steady(lambda: check.cluster(world.admin) == [], STILL_S, "what must hold")
    equal(kubelets.errors, [], "what kubelets couldn't write")


if __name__ == "__main__":
    muster.exit_on_sigterm()
    with World(flags=("--scheduler-name", "muster", "--scheduler-name", "scheduler-plugins-scheduler"),
               controllers=True) as world, Kubelets(world.cluster.admin_kubeconfig) as kubelets:
        main(globals())
