# SPDX-License-Identifier: Apache-2.0
"""Kubernetes' own PodGroup on a real kube-apiserver with its feature gates on
(scheduling.k8s.io/v1alpha2), and kube-controller-manager.

    tests/real/test_native.py [TEST...]      MUSTER_KEEP=1 keeps the logs
"""
import os
import re
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import check, harness, kube, muster  # noqa: E402
from lib.check import is_bound  # noqa: E402
from lib.dialects import native_group  # noqa: E402
from lib.harness import equal, main, steady, until  # noqa: E402
from lib.objects import GROUP_LABEL, node, pod, pod_group  # noqa: E402
from real.kubelet import Kubelets, report  # noqa: E402
from real.workloads import job, template, workload  # noqa: E402
from real.world import NATIVE, SOON_S, STILL_S, World, machines  # noqa: E402

RACK = "example.com/rack"


def members(name, count, first=0, **options):
    return [pod(f"{name}-{i}", schedulingGroup={"podGroupName": name}, **options)
            for i in range(first, first + count)]


def gang(name, count, min_count=None, group=None, **options):
    """A PodGroup, `group` being more of its spec, and its pods."""
    return [native_group(name, min_count or count, **(group or {})), *members(name, count, **options)]


def basic_group(name):
    return {**native_group(name, 1), "spec": {"schedulingPolicy": {"basic": {}}}}


def rack(name, count, **room):
    return [node(f"{name}{i}", labels={RACK: name}, **room) for i in range(count)]


def condition(name):
    found = [c for c in world.status(NATIVE, name).get("conditions") or [] if c["type"] == "PodGroupScheduled"]
    return found[0] if found else {}


def says(name, status, reason, *parts):
    """The group's condition, within a while."""
    def right():
        said = condition(name)
        return (said.get("status"), said.get("reason")) == (status, reason) and \
            all(re.search(p, said.get("message", "")) for p in parts)

    try:
        until(right, SOON_S)
    except harness.Failed:
        harness.check(False, f"condition of {name}: wanted {status} {reason} {parts}, has {condition(name)}")


def racks_of(prefix):
    where = {n["metadata"]["name"]: n["metadata"]["labels"].get(RACK) for n in world.admin.list("Node")}
    return {where[p["spec"]["nodeName"]] for p in world.pods(prefix) if is_bound(p)}


def test_gang_of_100_is_placed_whole():
    world.fresh(*machines(20))
    start = time.monotonic()
    world.create(*gang("train", 100))
    world.settles("train", 100)
    harness.figure(f"native gang of 100: {time.monotonic() - start:.2f} s from the first create to a whole gang")
    says("train", "True", "Scheduled")


def test_gang_that_cannot_fit_says_by_how_much_and_starts_when_a_node_comes():
    world.fresh(*machines(4, cpu="8"))
    world.create(*gang("big", 5, cpu="8"))
    world.waits("big", r"^0/4 nodes are available: 4 Insufficient cpu\.", r"\b4 of 5\b", r"cpu: need 40, have 32\b")
    says("big", "False", "Unschedulable", r"\b4 of 5\b", r"cpu: need 40, have 32\b")
    version = world.admin.get(NATIVE, "big")["metadata"]["resourceVersion"]
    steady(lambda: world.admin.get(NATIVE, "big")["metadata"]["resourceVersion"] == version, STILL_S,
           "what doesn't change is written once")
    world.create(*machines(1, first=4, cpu="8"))
    world.settles("big", 5)
    says("big", "True", "Scheduled")


def test_pod_group_that_comes_last():
    world.fresh(*machines(3))
    world.create(*members("early", 6))
    world.waits("early", "early")
    world.create(native_group("early", 6))
    world.settles("early", 6)
    says("early", "True", "Scheduled")


def test_group_below_its_quorum_waits_and_takes_nothing():
    world.fresh(*machines(1, cpu="3"))
    world.create(native_group("few", 4), *members("few", 3))
    world.waits("few", r"\b3 of 4\b")
    says("few", "False", "Unschedulable", r"\b3 of 4\b")
    world.create(pod("plain", cpu="3"))
    world.settles("plain", 1)


def test_members_beyond_the_quorum_start_as_room_allows():
    world.fresh(*machines(2, cpu="2"))
    world.create(*gang("more", 5, min_count=3))
    world.settles("more", 4)
    says("more", "True", "Scheduled")
    world.create(*machines(1, first=2, cpu="2"))
    world.settles("more", 5)


def test_basic_policy_needs_nobody_else():
    world.fresh(*machines(1, cpu="3"))
    world.create(basic_group("loose"), *members("loose", 4))
    world.settles("loose", 3)
    world.create(*machines(1, first=1))
    world.settles("loose", 4)


def test_topology_constraint_keeps_a_gang_in_one_domain():
    """Rack a has capacity for 6, rack b for 10, together enough for all."""
    world.fresh(*rack("a", 3, cpu="2"), *rack("b", 5, cpu="2"))
    in_one_rack = {"schedulingConstraints": {"topology": [{"key": RACK}]}}
    world.create(*gang("eight", 8, group=in_one_rack))
    world.settles("eight", 8)
    equal(racks_of("eight"), {"b"}, "racks")
    world.create(*gang("seven", 7, group=in_one_rack))
    world.waits("seven", re.escape(RACK))
    says("seven", "False", "Unschedulable", re.escape(RACK), r"\b6 of 7\b|need 7, have 6\b")
    world.create(node("a3", cpu="2", labels={RACK: "a"}))
    world.settles("seven", 7)
    equal(racks_of("seven"), {"a"}, "racks")


def test_member_that_comes_later_goes_to_the_domain_of_the_others():
    world.fresh(*rack("a", 3, cpu="2"), *rack("b", 2, cpu="2"))
    world.create(*gang("near", 5, group={"schedulingConstraints": {"topology": [{"key": RACK}]}}))
    world.settles("near", 5)
    equal(racks_of("near"), {"a"}, "racks")
    world.create(*members("near", 2, first=5))
    world.settles("near", 6)
    equal(racks_of("near"), {"a"}, "racks")


def test_nodes_without_the_label_are_no_domain():
    world.fresh(*machines(4, cpu="4"), *rack("a", 1, cpu="2"))
    world.create(*gang("strict", 3, group={"schedulingConstraints": {"topology": [{"key": RACK}]}}))
    world.waits("strict", re.escape(RACK))


def test_group_of_higher_priority_goes_first():
    """The group's own priority counts; its pods have none."""
    world.fresh()
    for name, value in (("low", 10), ("high", 1000)):
        try:
            world.admin.create(kube.priority_class(name, value))
        except kube.ApiError as error:
            equal(error.status, 409, "PriorityClass " + name)
    world.create(*gang("first", 3, group={"priorityClassName": "low"}))
    time.sleep(1.1)  # creation times count whole seconds
    world.create(*gang("second", 3, group={"priorityClassName": "high"}))
    world.waits("")
    world.create(*machines(1, cpu="3"))
    world.settles("second", 3)
    equal(world.bound("first"), 0, "bound of the group of lower priority")


def test_replacement_of_a_member_starts_by_itself():
    world.fresh(*machines(2, cpu="2"))
    world.create(*gang("kept", 4))
    world.settles("kept", 4)
    world.admin.delete("Pod", "kept-0")
    world.create(*members("kept", 1, first=4))
    world.settles("kept", 4)


def test_group_that_is_made_anew():
    """Deleted while its pods wait it stays, because of its finalizer, until they are gone; a new
    one of its name inherits nothing from the old one."""
    world.fresh(*machines(1, cpu="2"))
    world.create(*gang("again", 3))
    world.waits("again", r"\b2 of 3\b")
    world.admin.delete(NATIVE, "again")
    steady(lambda: world.bound("again") == 0, STILL_S, "0 bound")
    world.admin.delete_all("Pod")
    until(lambda: not world.admin.list(NATIVE), SOON_S, "the group is gone")
    world.create(*gang("again", 2))
    world.settles("again", 2)


def test_groups_of_one_name_in_two_namespaces():
    world.fresh(*machines(2))
    try:
        world.admin.create(kube.namespace("elsewhere"))
    except kube.ApiError as error:
        equal(error.status, 409, "the namespace")
    until(lambda: world.admin.list("ServiceAccount", "elsewhere"), SOON_S, "its ServiceAccount")
    world.create(native_group("twin", 2), native_group("twin", 2, "elsewhere"), *members("twin", 1),
                 *members("twin", 1, first=1, namespace="elsewhere"))
    world.waits("twin", r"\b1 of 2\b")
    for one in world.admin.list("Pod", "elsewhere"):
        world.admin.delete("Pod", one["metadata"]["name"], "elsewhere")
    world.admin.delete(NATIVE, "twin", "elsewhere")


def test_pod_whose_marks_disagree_is_refused_and_both_are_named():
    world.fresh(*machines(2))
    world.create(native_group("one", 1), pod_group("other", 1),
                 pod("torn-0", schedulingGroup={"podGroupName": "one"}, labels={GROUP_LABEL: "other"}))
    world.waits("torn", r"\bone\b", r"\bother\b")


def test_quorum_of_members_that_ended():
    """Two of four succeed; the running ones are not affected, and the group stays scheduled."""
    world.fresh(*machines(2, cpu="2"))
    world.create(*gang("ended", 4))
    with world.told("ended"):
        until(lambda: world.running("ended") == 4, SOON_S, "4 run")
    says("ended", "True", "Scheduled")
    for one in world.pods("ended")[:2]:
        report(world.admin, one, "Succeeded")
    steady(lambda: world.running("ended") == 2 and condition("ended").get("status") == "True", STILL_S,
           "2 run, and the group is scheduled")


def test_indexed_job_is_a_gang_by_itself():
    """The Job controller makes a PodGroup for it, and marks its pods."""
    world.fresh(*machines(2, cpu="2"))
    world.create(job("mpi", 5, completionMode="Indexed"))
    world.made("mpi", 5)
    equal([g["spec"]["schedulingPolicy"]["gang"]["minCount"] for g in world.admin.list(NATIVE)], [5], "minCount")
    world.waits("mpi", r"\b4 of 5\b", r"cpu: need 5, have 4\b")
    world.create(*machines(1, first=2, cpu="2"))
    world.completes("mpi", 5)


def test_deployment_that_names_a_group():
    world.fresh(*machines(2, cpu="2"))
    world.create(native_group("web", 4), workload("Deployment", "web", 4, template("web", "native")))
    with world.told("web"):
        until(lambda: world.status("Deployment", "web").get("availableReplicas") == 4, SOON_S, "4 available")


def test_nothing_was_forbidden_and_every_kubelet_got_through():
    equal(world.cluster.refusals(), 0, "requests not allowed")
    equal(kubelets.errors, [], "what kubelets couldn't write")
    equal(check.cluster(world.admin), [], "what must hold")


if __name__ == "__main__":
    muster.exit_on_sigterm()
    with World(gates=True, controllers=True) as world, Kubelets(world.cluster.admin_kubeconfig) as kubelets:
        main(globals())
