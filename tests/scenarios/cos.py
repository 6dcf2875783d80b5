# SPDX-License-Identifier: Apache-2.0
"""COS: what the coscheduling plugins did, in all their generations."""
from lib.harness import check, equal

from .frame import given

GATED = {"schedulingGates": [{"name": "example.com/wait"}]}


def cos_1(t):
    "a quorum of 3 of 6 with capacity for 3: exactly 3"
    t.node("n1", 9, "8Gi")
    t.group("g", 3, scheduleTimeoutSeconds=10)
    t.pods(6, "g", cpu=3, memory="500Mi")
    t.stays("g", 3)
    for name, node in t.nodes("g").items():
        if node is None:
            t.reason(name, "0/1 nodes are available", "1 Insufficient cpu")


def cos_2(t):
    "a quorum of 4 with capacity for 3: nothing, and nothing stays reserved"
    t.node("n1", 9, "8Gi")
    t.group("g", 4, scheduleTimeoutSeconds=10)
    t.pods(6, "g", cpu=3, memory="500Mi")
    t.blocked("g", "Insufficient cpu", f"{t.ns}/g", "3 of 4")
    t.leaves("g", cpu=9)


def cos_3(t):
    "a quorum of 4 of 6 with capacity for 4: 4"
    four_of_six(t, 12, 4)


def cos_3b(t):
    "capacity for 5: 5"
    four_of_six(t, 15, 5)


def four_of_six(t, cpu, bound):
    t.node("n1", cpu)
    t.gang("g", 4, 6, cpu=3)
    t.stays("g", bound)


def first_fits(t):
    """The rows of two groups, of which only pg1 fits."""
    t.node("n1", memory=300)
    t.group("pg1", 3)
    t.group("pg2", 4)
    return ([t.a_pod(f"pg1-{i}", group="pg1", memory=50) for i in range(3)],
            [t.a_pod(f"pg2-{i}", group="pg2", memory=100) for i in range(4)])


def only_the_first(t):
    t.settles("pg1", 3)
    t.blocked("pg2", "Insufficient memory", f"{t.ns}/pg2")
    t.still("pg1", 3, 0)


def cos_4(t):
    "two groups created alternately: the one that fits completely, the other nothing"
    t.alternate(*first_fits(t))
    only_the_first(t)


def cos_4b(t):
    "one after the other"
    for row in first_fits(t):
        t.create(*row)
    only_the_first(t)


def cos_5(t):
    "fewer members than the quorum withhold nothing from ordinary pods"
    t.node("n1", memory=300)
    t.gang("few", 4, 3, memory=50)
    t.pods(2, "plain", group=None, memory=100)
    t.settles("plain", 2)
    t.still("few")


def cos_6(t):
    "of two groups the one of higher priority"
    t.group("mid", 3)
    t.group("high", 3)
    t.pods(3, "mid", memory=100, priority=100)
    t.pods(3, "high", memory=50, priority=1000)
    t.waits("", "no nodes available")
    t.node("n1", memory=300)
    t.settles("high", 3)
    t.still("mid")


def cos_7(t):
    "ordinary pods of higher priority before a group"
    t.gang("mid", 3, 3, memory=50, priority=100)
    t.pods(3, "plain", group=None, memory=100, priority=1000)
    t.waits("", "no nodes available")
    t.node("n1", memory=300)
    t.settles("plain", 3)
    t.still("mid")


def three_groups(t, **resources):
    """resources: minResources memory of each group, if any."""
    t.node("n1", memory=300)
    for name, quorum in (("pg1", 3), ("pg2", 4), ("pg3", 4)):
        more = {"minResources": {"memory": str(resources[name])}} if resources else {}
        t.group(name, quorum, **more)
    t.alternate([t.a_pod(f"pg1-{i}", group="pg1", memory=50) for i in range(3)],
                *([t.a_pod(f"{g}-{i}", group=g, memory=100) for i in range(4)] for g in ("pg2", "pg3")))
    t.settles("pg1", 3)
    t.still("", 3)
    t.pod("plain", memory=150)
    t.settles("plain", 1)
    t.still("pg", 3)


def cos_8(t):
    "of three groups the one that fits, and the remaining capacity for an ordinary pod"
    three_groups(t)


def cos_8b(t):
    "with minResources"
    three_groups(t, pg1=150, pg2=400, pg3=400)


def cos_9(t):
    "minResources above the cluster's capacity: nothing and an event that names it; lowered: all"
    t.node("n1", 8)
    t.group("g", 2, minResources={"cpu": "10"})
    t.pods(2, "g", cpu=1)
    t.waits("g", "cpu", "10")
    t.event("g-0", "cpu")
    t.still("g")
    t.patch("PodGroup", "g", {"spec": {"minResources": {"cpu": "2"}}})
    t.settles("g", 2, 5)


def cos_10(t):
    "what a group uses already counts as its own for minResources"
    t.node("a", 3)
    t.node("b", 3)
    t.group("g", 2, minResources={"cpu": "4"})
    t.pod("g-1", group="g", cpu=2, nodeName=t.full("a"))
    t.pod("foreign", cpu=1, scheduler="other", nodeName=t.full("b"))
    t.pod("g-2", group="g", cpu=2)
    t.settles("g", 2)
    equal(t.nodes("g")["g-2"], "b", "node of g-2")


@given(kubelet=False)
def cos_11(t):
    "a member that succeeded does not count for the quorum"
    t.node("n1", 6)
    t.group("g", 6)
    t.pod("done", group="g", cpu=1, nodeName=t.full("n1"))
    t.set_phase("Succeeded", "done")
    t.pods(5, "g", cpu=1)
    t.blocked("g", f"{t.ns}/g")


def cos_12(t):
    "an older group that does not fit does not block a younger one"
    for i, cpu in enumerate((6, 2, 2, 2)):
        t.node(f"n{i}", cpu)
    t.gang("pg1", 6, 6, cpu=4)
    t.waits("pg1", "0/4 nodes are available", "Insufficient cpu", "1 of 6")
    t.gang("pg2", 1, 1, cpu=2)
    t.settles("pg2", 1)
    t.still("pg1")


def cos_13(t):
    "fragmented capacity is not enough, and is left to an ordinary pod"
    for i, gpu in enumerate((6, 2, 2, 2)):
        t.node(f"n{i}", gpu=gpu)
    t.group("g", 3, minResources={"nvidia.com/gpu": "12"})
    t.pods(3, "g", gpu=4)
    t.blocked("g", "Insufficient nvidia.com/gpu", "1 of 3")
    t.leaves("g", gpu=6)


def cos_14(t):
    "pods whose group comes later"
    t.node("n1", 8)
    t.pods(3, "late", cpu=1)
    t.blocked("late", f"{t.ns}/late")
    t.group("late", 3)
    t.settles("late", 3, 5)


def cos_15(t):
    "a member that comes later; until then the reason counts"
    t.node("n1", 8)
    t.gang("g", 3, 2, cpu=1)
    t.blocked("g", f"{t.ns}/g", "2 of 3")
    t.pods(1, "g", first=2, cpu=1)
    t.settles("g", 3, 5)


def joins(t, cpu):
    t.node("n1", cpu)
    t.gang("g", 3, 3, cpu=1)
    t.settles("g", 3)
    t.pod("more", group="g", cpu=1)


def cos_16(t):
    "a member that joins a running group with capacity is bound"
    joins(t, 4)
    t.settles("more", 1)
    t.still("g", 3, 0.3)


def cos_16b(t):
    "without capacity it waits, and the others stay"
    joins(t, 3)
    t.reason("more", "0/1 nodes are available: 1 Insufficient cpu")
    t.still("", 3)


def interlocked(t, priorities):
    """priorities: of the members of a and of b, None without."""
    t.group("a", 3)
    t.group("b", 3)
    t.alternate(*([t.a_pod(f"{g}-{i}", group=g, cpu=1, priority=priorities and priorities[g][i]) for i in range(3)]
                  for g in "ab"))
    t.waits("")
    t.node("n1", 4)
    winner, other = t.one_of("a-", "b-", 3)
    t.delete_pods(*(f"{winner}{i}" for i in range(3)))
    t.settles(other, 3)


def cos_17(t):
    "two groups of the same second, members alternating: one completely, then the other"
    interlocked(t, None)


def cos_17b(t):
    "with mixed priorities"
    interlocked(t, {"a": (1000, 100, 100), "b": (500, 500, 500)})


def cos_18(t):
    "one short of ten: nothing until there is capacity for the tenth"
    t.node("n1", 9)
    t.gang("g", 10, 10, cpu=1)
    t.blocked("g", "Insufficient cpu", "9 of 10")
    t.node("n2", 1)
    t.settles("g", 10)


def cos_19(t):
    "a node that is deleted while the group waits is never used"
    t.node("a", 2)
    t.node("b", 2)
    t.gang("g", 4, 3, cpu=1)
    t.pod("g-3", group="g", cpu=1, nodeSelector={"zone": "z"})
    t.blocked("g")
    t.delete_node("b")
    t.still("g")
    t.node("c", 3, labels={"zone": "z"})
    t.settles("g", 4)
    nodes = {p["spec"]["nodeName"] for p in t.watched.ever.values() if p["spec"].get("nodeName")}
    check(t.full("b") not in nodes, "a pod on the node that is gone:", nodes)


def cos_20(t):
    "a group that is created again under the same names starts from nothing"
    t.node("n1", 1)
    for life in range(2):
        t.gang("g", 2, 2, cpu=1)
        t.blocked("g", "Insufficient cpu")
        if life == 0:
            t.delete("PodGroup", "g")
            t.delete_pods("g-0", "g-1")


def cos_21(t):
    "a gated member: the group waits for it"
    t.node("n1", 8)
    t.gang("g", 3, 2, cpu=1)
    t.pod("g-2", group="g", cpu=1, **GATED)
    t.blocked("g")
    t.patch("Pod", "g-2", {"spec": {"schedulingGates": None}})
    t.settles("g", 3)


def cos_21b(t):
    "a quorum without it: the others start"
    t.node("n1", 8)
    t.gang("g", 2, 2, cpu=1)
    t.pod("g-2", group="g", cpu=1, **GATED)
    t.stays("g", 2)


def as_cos_1(t, dialect):
    t.node("n1", 9, "8Gi")
    t.pods(6, "g", quorum=3, dialect=dialect, cpu=3, memory="500Mi")
    t.stays("g", 3)


def cos_22(t):
    "COS-1 with the object and label of scheduling.sigs.k8s.io"
    t.group("g", 3, "scheduler-plugins-old", scheduleTimeoutSeconds=10)
    as_cos_1(t, "scheduler-plugins-old")


def cos_22b(t):
    "of scheduling.x-k8s.io"
    t.group("g", 3, scheduleTimeoutSeconds=10)
    as_cos_1(t, "scheduler-plugins")


def cos_22c(t):
    "with labels alone"
    as_cos_1(t, "scheduler-plugins-labels")


def cos_22d(t):
    "groups of the same name in two namespaces are two"
    t.node("n1", 9)
    spaces = [t.namespace("one"), t.namespace("two")]
    for ns in spaces:
        t.group("same", 2, ns=ns)
        t.pod("same-0", group="same", ns=ns, cpu=1)
    for ns in spaces:
        t.blocked("same", f"{ns}/same", ns=ns)


@given(kubelet=False)
def cos_23(t):
    "phases and counters of a group, by the phases of its pods"
    elsewhere = t.namespace("elsewhere")
    names = [f"g-{i}" for i in range(3)]
    for ns in (t.ns, elsewhere):
        t.group("g", 3, ns=ns)
    t.has_status("g", phase="Pending")
    t.pods(3, "g", cpu=1)
    t.has_status("g", phase="Scheduling")
    t.node("n1", 8)
    t.settles("g", 3)
    t.set_phase("Running", *names)
    t.has_status("g", phase="Running", running=3, succeeded=0, failed=0)
    t.set_phase("Succeeded", names[0])
    t.has_status("g", phase="Running", running=2, succeeded=1, failed=0)
    t.set_phase("Succeeded", *names[1:])
    t.has_status("g", phase="Finished")
    t.has_status("g", ns=elsewhere, phase="Pending", running=0, succeeded=0, failed=0)


@given(kubelet=False)
def cos_23b(t):
    "a member fails"
    t.node("n1", 8)
    t.gang("g", 3, 3, cpu=1)
    t.settles("g", 3)
    t.set_phase("Running", "g-0", "g-1")
    t.set_phase("Failed", "g-2")
    t.has_status("g", phase="Failed", running=2, succeeded=0, failed=1)


@given(kubelet=False)
def cos_23c(t):
    "pods without its label do not affect a group"
    t.node("n1", 8)
    t.group("g", 3)
    t.pods(3, "g", group=None, cpu=1)
    t.settles("g", 3)
    t.set_phase("Running", *(f"g-{i}" for i in range(3)))
    t.has_status("g", phase="Pending", running=0)


def cos_24(t):
    "a group that can't reach its quorum leaves all capacity to an ordinary pod"
    t.node("n1", 3)
    t.group("g", 4, scheduleTimeoutSeconds=10)
    t.pods(3, "g", cpu=1)
    t.pod("g-3", group="g", cpu=1, nodeSelector={"no": "node"})
    t.blocked("g")
    t.delete_pods("g-1")
    t.leaves("g", cpu=3)


def first_bindings_fail(t, *faults):
    t.node("n1", 3)
    t.group("g", 3)
    for fault in faults:
        t.fail(fault, count=1)
    t.pods(3, "g", cpu=1)
    t.settles("g", 3, 15)
    t.still("g", 3)


@given(faults=True)
def cos_25(t):
    "the first bindings get 500 and 409, without effect: complete in the end"
    first_bindings_fail(t, "bind-500-before", "bind-409-before")


@given(faults=True)
def cos_25b(t):
    "with effect"
    first_bindings_fail(t, "bind-500-after", "bind-409-after")
