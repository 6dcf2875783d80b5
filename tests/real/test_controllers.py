# SPDX-License-Identifier: Apache-2.0
"""Workloads as users create them, on a real kube-apiserver: kube-controller-manager
creates the pods, muster places them, kubelets run them.

    tests/real/test_controllers.py [TEST...]      MUSTER_KEEP=1 keeps the logs
"""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import harness, muster  # noqa: E402
from lib.check import condition, is_bound  # noqa: E402
from lib.harness import becomes, equal, main, steady, until  # noqa: E402
from lib.objects import pod, pod_group  # noqa: E402
from real.cluster import DEPLOY  # noqa: E402
from real.version import has_native_gangs  # noqa: E402
from real.kubelet import Kubelets, report  # noqa: E402
from real.workloads import job, template, workload  # noqa: E402
from real.world import SOON_S, STILL_S, World, machines  # noqa: E402


def test_deployment_becomes_available_and_is_scaled():
    world.fresh(*machines(3))
    world.create(workload("Deployment", "web", 6))
    with world.told("web"):
        until(lambda: world.status("Deployment", "web").get("availableReplicas") == 6, SOON_S, "6 available")
    world.admin.patch("Deployment", "web", {"spec": {"replicas": 9}})
    with world.told("web"):
        until(lambda: world.status("Deployment", "web").get("availableReplicas") == 9, SOON_S, "9 available")


def test_deployment_is_rolled_over():
    """The pods of the old template are replaced by those of the new one, on nodes without
    spare capacity."""
    world.fresh(*machines(2, cpu="3"))
    world.create(workload("Deployment", "web", 6, strategy={"type": "RollingUpdate", "rollingUpdate": {
        "maxSurge": 0, "maxUnavailable": 2}}))
    until(lambda: world.status("Deployment", "web").get("availableReplicas") == 6, SOON_S, "6 available")
    world.admin.patch("Deployment", "web", {"spec": {"template": {"metadata": {"annotations": {"version": "2"}}}}})

    def rolled():
        web = world.admin.get("Deployment", "web")
        counts = [web["status"].get(f"{kind}eplicas") for kind in ("r", "updatedR", "availableR")]
        return web["status"]["observedGeneration"] == web["metadata"]["generation"] and counts == [6, 6, 6]

    with world.told("web"):
        until(rolled, SOON_S, "6 of the new template available")


def test_deployment_with_a_pod_group_starts_whole():
    """Four of five fit: none starts until a node comes."""
    world.fresh(*machines(2, cpu="2"))
    world.create(pod_group("web", 5), workload("Deployment", "web", 5, template("web", "scheduler-plugins")))
    world.made("web", 5)
    world.waits("web", r"\b4 of 5\b", r"cpu: need 5, have 4\b")
    world.create(*machines(1, first=2, cpu="2"))
    with world.told("web"):
        until(lambda: world.status("Deployment", "web").get("availableReplicas") == 5, SOON_S, "5 available")


def test_pod_of_a_deployment_with_a_pod_group_is_replaced():
    """The replacement joins the running members, and starts alone."""
    world.fresh(*machines(2, cpu="3"))
    world.create(pod_group("web", 5), workload("Deployment", "web", 5, template("web", "scheduler-plugins")))
    with world.told("web"):
        until(lambda: world.running("web") == 5, SOON_S, "5 run")
    before = {p["metadata"]["uid"]: p["spec"]["nodeName"] for p in world.pods("web")}
    world.admin.delete("Pod", world.pods("web")[0]["metadata"]["name"])
    with world.told("web"):
        until(lambda: world.running("web") == 5 and set(before) != {p["metadata"]["uid"] for p in world.pods("web")},
              SOON_S, "5 run again")
    kept = {p["metadata"]["uid"]: p["spec"]["nodeName"] for p in world.pods("web") if p["metadata"]["uid"] in before}
    equal(len(kept), 4, "members that stayed")
    equal({uid: before[uid] for uid in kept}, kept, "where they are")


def test_stateful_set_starts_one_after_the_other():
    world.fresh(*machines(3))
    world.create(workload("StatefulSet", "db", 4, serviceName="db"))
    with world.told("db"):
        until(lambda: world.status("StatefulSet", "db").get("readyReplicas") == 4, SOON_S, "4 ready")
    names = [p["metadata"]["name"] for p in sorted(world.pods("db"), key=lambda p: (
        p["metadata"]["creationTimestamp"], p["metadata"]["name"]))]
    equal(names, [f"db-{i}" for i in range(4)], "in the order of their ordinals")


def test_stateful_set_with_a_pod_group_needs_all_its_pods_at_once():
    """OrderedReady creates one pod and waits for it: such a gang can never reach its quorum,
    and its reason has the missing members.  With Parallel it starts."""
    world.fresh(*machines(3))
    world.create(pod_group("db", 3), workload("StatefulSet", "db", 3, template("db", "scheduler-plugins"),
                                              serviceName="db"))
    world.made("db", 1)
    world.waits("db", r"\b1 of 3\b|1 members?\b|\bhas 1\b")
    world.delete("StatefulSet", "db")
    until(lambda: not world.pods("db"), SOON_S, "no pods of it")
    world.create(workload("StatefulSet", "db", 3, template("db", "scheduler-plugins"), serviceName="db",
                          podManagementPolicy="Parallel"))
    with world.told("db"):
        until(lambda: world.status("StatefulSet", "db").get("readyReplicas") == 3, SOON_S, "3 ready")


def test_daemon_set_has_a_pod_on_each_node():
    """Its pods name their nodes by affinity to the node's name."""
    world.fresh(*machines(4))
    world.create({**workload("DaemonSet", "each", 0), "spec": {"selector": {"matchLabels": {"app": "each"}},
                                                              "template": template("each")}})
    with world.told("each"):
        until(lambda: world.status("DaemonSet", "each").get("numberReady") == 4, SOON_S, "4 ready")
    equal(sorted(p["spec"]["nodeName"] for p in world.pods("each")), [f"n{i:02}" for i in range(4)], "nodes")


def test_job_completes():
    world.fresh(*machines(2, cpu="2"))
    world.create(job("sum", 4))
    world.completes("sum", 4)


def test_job_of_more_members_than_room_completes_in_turns():
    """Each member that ends lets another start: no gang, and capacity for two."""
    world.fresh(*machines(1, cpu="2"))
    world.create(job("turns", 6))
    world.completes("turns", 6)


def test_job_with_a_pod_group_waits_for_the_one_before():
    """Capacity for one gang of four: the second starts completely when the first has ended."""
    world.fresh(*machines(2, cpu="2"))
    world.create(pod_group("one", 4), job("one", 4, seconds="4", pods=template("one", "scheduler-plugins")))
    with world.told("one"):
        until(lambda: world.running("one") == 4, SOON_S, "4 of one run")
    world.create(pod_group("two", 4), job("two", 4, pods=template("two", "scheduler-plugins")))
    world.made("two", 4)
    world.waits("two", r"cpu: need 4, have 0\b")
    world.completes("one", 4)
    world.completes("two", 4)


def test_members_that_ended():
    """Two of four have succeeded: the two running ones are not affected.  One that failed is
    replaced, and two are enough for this group."""
    world.fresh(*machines(2, cpu="2"))
    world.create(pod_group("mixed", 2), job("mixed", 4, seconds=None, pods=template("mixed", "scheduler-plugins")))
    with world.told("mixed"):
        until(lambda: world.running("mixed") == 4, SOON_S, "4 run")
    pods = world.pods("mixed")
    for pod in pods[:2]:
        report(world.admin, pod, "Succeeded")
    until(lambda: world.status("Job", "mixed").get("succeeded") == 2, SOON_S, "2 succeeded")
    steady(lambda: world.running("mixed") == 2, STILL_S, "2 run")
    report(world.admin, pods[2], "Failed")
    with world.told("mixed"):
        until(lambda: world.running("mixed") == 2 and len(world.pods("mixed")) == 5, SOON_S, "the replacement runs")
    for pod in world.pods("mixed"):
        if pod["status"]["phase"] == "Running":
            report(world.admin, pod, "Succeeded")
    world.completes("mixed", 4)


def test_suspended_job_starts_whole_when_it_is_resumed():
    """As Kueue suspends a Job: no pods while it is suspended."""
    world.fresh(*machines(2, cpu="2"))
    world.create(pod_group("held", 4), job("held", 4, pods=template("held", "scheduler-plugins"), suspend=True))
    steady(lambda: not world.pods("held"), STILL_S, "no pods")
    world.admin.patch("Job", "held", {"spec": {"suspend": False}})
    world.completes("held", 4)


def test_gated_pods_of_a_job_start_whole_when_the_gates_are_lifted():
    """As Kueue gates plain pods."""
    world.fresh(*machines(2, cpu="2"))
    gates = [{"name": "kueue.x-k8s.io/admission"}]
    world.create(pod_group("gated", 4), job("gated", 4, pods=template("gated", "scheduler-plugins",
                                                                      schedulingGates=gates)))
    world.made("gated", 4)
    pods = world.pods("gated")
    for pod in pods[:3]:
        world.admin.patch("Pod", pod["metadata"]["name"], {"spec": {"schedulingGates": []}})
    steady(lambda: world.bound("gated") == 0, STILL_S, "0 bound while one is gated")
    becomes(lambda: condition(world.pods("gated")[0])["status"], "False", "PodScheduled")
    world.admin.patch("Pod", pods[3]["metadata"]["name"], {"spec": {"schedulingGates": []}})
    world.completes("gated", 4)


def test_many_jobs_at_once():
    """30 Jobs of 4 with PodGroups, and capacity for 5 of them at a time."""
    world.fresh(*machines(5, cpu="4"))
    start = time.monotonic()
    for i in range(30):
        name = f"job-{i:02}"
        world.create(pod_group(name, 4), job(name, 4, seconds="0.2", pods=template(name, "scheduler-plugins")))
    with world.told("job"):
        until(lambda: sum(j["status"].get("succeeded", 0) for j in world.admin.list("Job")) == 120, 90,
              "120 members succeeded")
    harness.figure(f"30 Jobs of 4 in turns of 5: {time.monotonic() - start:.1f} s")
    equal([p["metadata"]["name"] for p in world.pods("job") if not is_bound(p)], [], "never bound")


def test_nothing_was_forbidden_and_every_kubelet_got_through():
    equal(world.cluster.refusals(), 0, "requests not allowed")
    equal(kubelets.errors, [], "what kubelets couldn't write")


def test_the_deadline_of_a_job_is_the_end_of_its_pods():
    """With the right of deploy/job-deadlines: the pods have no deadline of their own, so the start of who waits is
    promised by that of their Job."""
    world.admin.apply_yaml((DEPLOY / "job-deadlines" / "rbac.yaml").read_text(encoding="utf-8"))
    world.muster.stop()
    world.flags = ("--job-deadlines", "--promise-depth=64", "--reserve-after=0")
    try:
        world.fresh(*machines(1, cpu="2"))
        world.create(job("first", 2, seconds=None, activeDeadlineSeconds=600))
        until(lambda: world.running("first") == 2, SOON_S, "first runs")
        world.create(pod_group("next", 2), *(pod(f"next-{i}", group="next") for i in range(2)))
        world.waits("next", r"starts at \d{4}-[^ ]*Z \(promised\)")
    finally:
        world.muster.stop()
        world.flags = ()


if __name__ == "__main__":
    muster.exit_on_sigterm()
    with World(gates=has_native_gangs(), controllers=True) as world, Kubelets(world.cluster.admin_kubeconfig) as kubelets:
        main(globals())
