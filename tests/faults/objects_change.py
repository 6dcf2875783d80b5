# SPDX-License-Identifier: Apache-2.0
"""Pods and nodes change under a gang that is planned or half bound; others take its room."""
import time

from lib import check as reading
from lib import objects
from lib.harness import check, until

from .catalog import MOMENTS
from .frame import at


def waiting_one(t, prefix="gang-"):
    return next(p["metadata"]["name"] for p in t.c.pods(prefix) if not reading.is_bound(p))


def bound_one(t, prefix="gang-"):
    return next(p["metadata"]["name"] for p in t.c.pods(prefix) if reading.is_bound(p))


def nodes_are_known(t):
    """Events of nodes come in order: once the last one is seen, all are.  A watch may have been cut before it."""
    def shown():
        return any(n["node"] == "marker" and n["present"] for n in t.ctl("nodes")["nodes"])

    t.c.create(objects.node("marker", cpu="0", memory="0", pods="0"))
    until(shown, 40, "the nodes are known")
    t.client.delete("Node", "marker")


@at("mid-plan", "mid-bind", "mid-relist", why="at idle nothing is planned")
def fault_29_a_member_is_deleted(t):
    """a pod whose Binding is in flight is deleted; the others roll forward, a recreated one joins them"""
    with t.moment_of("gang"):
        name = waiting_one(t)
        t.client.delete("Pod", name)
    until(lambda: t.c.bound("gang-") == 7, 40, "the other seven")
    t.again(name)
    t.settles()
    t.same_daemons()


@at("mid-plan", "mid-bind", "mid-relist", why="at idle nothing is planned")
def fault_29_a_member_is_made_anew_with_a_gate(t):
    """a gated pod of the same name replaces it, the gate is removed later: the old Binding has no effect on the new
    pod"""
    with t.moment_of("gang"):
        name = waiting_one(t)
        t.client.delete("Pod", name)
        t.c.create(objects.pod(name, group="gang", schedulingGates=[{"name": "example.com/wait"}]))
    until(lambda: t.c.bound("gang-") == 7, 40, "the other seven")
    check(not reading.is_bound(t.client.get("Pod", name)), "a gated pod was bound")
    t.client.patch("Pod", name, {"spec": {"schedulingGates": None}})
    t.settles()
    t.same_daemons()


@at("mid-plan", "mid-bind", "mid-relist", why="at idle nothing is planned")
def fault_29_a_member_is_relabelled(t):
    """one pod moves to another group, one gets an unrelated label: their versions change"""
    t.c.create(objects.pod_group("other", 2), objects.pod("other-0", group="other"))
    t.never.add("other")
    with t.moment_of("gang"):
        names = sorted(p["metadata"]["name"] for p in t.c.pods("gang-") if not reading.is_bound(p))
        t.client.patch("Pod", names[0], {"metadata": {"labels": {"example.com/touched": "yes"}}})
        t.client.patch("Pod", names[1], {"metadata": {"labels": {objects.GROUP_LABEL: "other"}}})
    until(lambda: t.c.bound("gang-") >= 7, 40, "those that stay")
    t.never.clear()
    t.never.add("whale")
    t.c.create(objects.pod("gang-8", group="gang"))
    t.settles()
    t.same_daemons()


def fault_29_before_it_is_sent(t):
    """changes between a plan and its first request: stories of the core, and tests of the binder"""
    t.stories("ring")
    t.unit("frontend/bind/test_binder", "binder/a_pod_that_went_or_was_bound_is_refused_unsent", "binder/a_pod_that_changed*",
           "binder/another_pod_of_that_name_is_refused")


@at(*MOMENTS)
def fault_30_nodes_are_closed(t):
    """one node is cordoned, one tainted: no more pods are bound there"""
    with t.moment_of("gang"):
        t.client.patch("Node", "n0", {"spec": {"unschedulable": True}})
        t.client.patch("Node", "n1", {"spec": {"taints": [{"key": "closed", "effect": "NoSchedule"}]}})
        time.sleep(0.3)
    until(lambda: not t.unbound(), 40, "bound")
    nodes_are_known(t)
    t.gang("later", 6)
    t.settles()
    t.same_daemons()
    on = {p["spec"]["nodeName"] for p in t.c.pods("later-")}
    check(on <= {"n2", "n3"}, "pods went to", on)


@at(*MOMENTS, allowed=["overcommitted", "kubeletRejected"], limit_s=150)
def fault_30_a_node_shrinks(t):
    """it shrinks below the usage of its pods, while Bindings are in flight; it grows again, and its failed pods are
    recreated"""
    with t.moment_of("gang"):
        t.client.patch("Node", "n0", {"status": {"allocatable": {"cpu": "500m"}, "capacity": {"cpu": "500m"}}}, sub="status")
        time.sleep(0.3)
    until(lambda: not t.unbound(), 40, "bound")
    nodes_are_known(t)
    before = {p["metadata"]["name"] for p in t.c.pods() if p["spec"].get("nodeName") == "n0"}
    t.gang("later", 6)
    until(lambda: not t.unbound(), 40, "bound elsewhere")
    on_it = [p["metadata"]["name"] for p in t.c.pods("later-") if p["spec"].get("nodeName") == "n0"]
    check(not on_it, "on the node that is too small, beside", before, on_it)
    check(all(float(n["free"].get("cpu", 0)) >= 0 for n in t.ctl("nodes")["nodes"] if "free" in n), "less than no room")
    t.client.patch("Node", "n0", {"status": {"allocatable": {"cpu": "8"}, "capacity": {"cpu": "8"}}}, sub="status")
    t.again(*t.failed())
    t.settles()
    t.same_daemons()


@at(*MOMENTS, limit_s=150)
def fault_30_a_node_is_deleted(t):
    """with bound pods and in-flight ones; its pods are deleted as by the garbage collector, and recreated"""
    with t.moment_of("gang"):
        t.client.delete("Node", "n0")
        time.sleep(0.3)
    until(lambda: not t.unbound(), 40, "bound")
    t.rest()
    nodes_are_known(t)
    lost = [p["metadata"]["name"] for p in t.c.pods() if p["spec"].get("nodeName") == "n0"]
    t.again(*lost)
    until(lambda: not t.unbound(), 40, "bound elsewhere")
    check(not any(p["spec"].get("nodeName") == "n0" for p in t.c.pods()), "a pod went to the node that is gone")
    t.given = {**t.given, "allowed": ["boundToUnknownNode"]}
    t.settles()
    t.same_daemons()


def grab(t, cpu, node):
    """Another scheduler puts a pod there, whatever is reserved."""
    name = f"foreign-{node}"
    t.c.create(objects.pod(name, cpu=cpu, memory="0", scheduler="other"))
    t.client.bind(name, node)


TAKEN = {"allowed": ["overcommitted", "kubeletRejected"], "limit_s": 150}
FULL = [objects.node(f"n{i}", cpu="3") for i in range(4)]


@at(*MOMENTS, nodes=FULL, **TAKEN)
def fault_32_a_kubelet_rejects(t):
    """another scheduler binds first, and the kubelet rejects the later pod (OutOfcpu): the member failed, its
    capacity is free"""
    with t.moment_of("gang"):
        for node in ("n0", "n1", "n2", "n3"):
            grab(t, "2", node)
    if t.moment == "idle":
        t.never.add("gang")
        until(lambda: any("gang default/gang" in str(reading.condition(p)) for p in t.c.pods("gang-")), 20, "it says why")
    else:
        until(lambda: not t.unbound(), 40, "bound")
        until(lambda: t.failed("gang-"), 10, "the kubelet fails a member")
        t.again(*t.failed("gang-"))
        t.never.add("gang")
    for node in ("n0", "n1", "n2", "n3"):
        t.client.delete("Pod", f"foreign-{node}")
    t.never.discard("gang")
    t.history.wrong.clear()  # the foreign pods put those nodes over
    t.settles()
    t.same_daemons()


@at(*MOMENTS, allowed=TAKEN["allowed"], limit_s=150)
def fault_33_another_scheduler(t):
    """it binds its own pods to three nodes where the gang has reservations, and one member of the gang"""
    with t.moment_of("gang"):
        for node in ("n0", "n1", "n2"):
            grab(t, "7", node)
        if t.moment != "idle":
            name = waiting_one(t)
            t.client.bind(name, "n3")
        time.sleep(0.3)
    if t.moment == "idle":
        t.gang("later", 2)
        until(lambda: t.c.bound("later-") == 2, 30, "what has room is bound")
    else:
        until(lambda: not t.unbound() or t.c.bound("gang-") >= 4, 40, "bound")
    for node in ("n0", "n1", "n2"):
        t.client.delete("Pod", f"foreign-{node}")
    t.history.wrong = [w for w in t.history.wrong if "over its" not in w]
    t.again(*t.failed())
    t.settles()
    t.same_daemons()
