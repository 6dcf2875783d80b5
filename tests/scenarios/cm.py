# SPDX-License-Identifier: Apache-2.0
"""CM: groups that a ConfigMap describes."""
from .frame import given

CM = "configmap"
TAINT = {"key": "gpu", "effect": "NoSchedule"}
TOLERATION = {"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}


def group(t, name, least, ns=None, **data):
    t.group(name, least, CM, ns, **data)


def pods(t, n, name, **rest):
    t.pods(n, name, dialect=CM, **rest)


def gang(t, name, least, n, **rest):
    group(t, name, least)
    pods(t, n, name, **rest)


def five_with_gpus(t, gpus):
    t.node("n1", gpu=gpus, taints=[TAINT])
    group(t, "g", 5, scheduleTimeoutSeconds=20)
    pods(t, 5, "g", gpu=1, tolerations=[TOLERATION])


def cm_1(t):
    "five GPU pods for four GPUs: nothing, and an event with the reason"
    five_with_gpus(t, 4)
    t.waits("g", "Insufficient nvidia.com/gpu", f"{t.ns}/g", "4 of 5")
    t.event("g-0", f"{t.ns}/g", "4 of 5")
    t.still("g")


def cm_2(t):
    "for five GPUs: all"
    five_with_gpus(t, 5)
    t.settles("g", 5)


def cm_3(t):
    "two pods of a group of three: nothing, and the reason has the counts"
    t.node("n1")
    group(t, "g", 3, scheduleTimeoutSeconds=5)
    pods(t, 2, "g")
    t.blocked("g", "2 of 3")


def cm_4(t):
    "three of three"
    t.node("n1")
    gang(t, "g", 3, 3)
    t.settles("g", 3)


def cm_5(t):
    "pods without the label are ordinary"
    t.node("n1")
    t.pods(2, "g", group=None)
    t.settles("g", 2)


def cm_6(t):
    "a ConfigMap that comes later"
    t.node("n1")
    pods(t, 3, "g")
    t.waits("g", "podgroup configmap not found")
    t.event("g-0", "podgroup configmap not found")
    t.still("g")
    group(t, "g", 3)
    t.settles("g", 3, 5)


def bad_key(t, data, key, right):
    """data: of the ConfigMap; right: the corrected data."""
    t.node("n1")
    t.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "g"}, "data": data})
    pods(t, 2, "g")
    t.waits("g", key)
    t.event("g-0", key)
    t.still("g")
    t.patch("ConfigMap", "g", {"data": right})
    t.settles("g", 2, 5)


def cm_7(t):
    "no minAvailable: an event that names it; corrected, all"
    bad_key(t, {"other": "1"}, "minAvailable", {"minAvailable": "2"})


def cm_7b(t):
    "a minAvailable that is no number"
    bad_key(t, {"minAvailable": "abc"}, "minAvailable", {"minAvailable": "2"})


def cm_7c(t):
    "a timeout that is no number"
    bad_key(t, {"minAvailable": "2", "scheduleTimeoutSeconds": "abc"}, "scheduleTimeoutSeconds",
            {"scheduleTimeoutSeconds": "5"})


def cm_8(t):
    "a minAvailable of 1, 0 or less: each member alone"
    t.node("n1")
    for name, least in (("one", 1), ("zero", 0), ("less", -2)):
        group(t, name, least)
        pods(t, 1, name)
    t.settles("", 3)


def cm_9(t):
    "more pods than minAvailable: all that fit"
    t.node("n1", 6)
    gang(t, "g", 5, 6, cpu=1)
    t.settles("g", 6, 5)


def cm_10(t):
    "a member that joins a running group is bound alone"
    t.node("n1")
    gang(t, "g", 5, 5, cpu=1)
    t.settles("g", 5)
    pods(t, 1, "g", first=5, cpu=1)
    t.settles("g", 6)


def cm_11(t):
    "two groups of the same second, pods alternating: one completely, the other nothing"
    group(t, "a", 3)
    group(t, "b", 3)
    t.alternate(*([t.a_pod(f"{g}-{i}", group=g, dialect=CM, cpu=1) for i in range(3)] for g in "ab"))
    t.waits("")
    t.node("n1", 4)
    t.one_of("a-", "b-", 3)


def cm_12(t):
    "ordinary pods before groups, whatever their priority"
    gang(t, "g", 3, 3, cpu=1, priority=1000)
    t.pod("plain", cpu=1, priority=100)
    t.waits("")
    t.node("n1", 3)
    t.settles("plain", 1)
    t.still("g")


def cm_13(t):
    "of two groups the older, whatever their priority"
    for name, priority in (("old", 100), ("new", 1000)):
        gang(t, name, 3, 3, cpu=1, priority=priority)
        t.waits(name)
        t.next_second()
    t.node("n1", 3)
    t.settles("old", 3)
    t.still("new")


def cm_14(t):
    "ConfigMaps of the same name in two namespaces are two groups"
    t.node("n1", 2)
    spaces = [t.namespace("one"), t.namespace("two")]
    for ns in spaces:
        group(t, "same", 2, ns=ns)
        t.pod("same-0", group="same", dialect=CM, ns=ns, cpu=1)
    for ns in spaces:
        t.blocked("same", "1 of 2", ns=ns)


def cm_15(t):
    "a pod with the label of another scheduler is not muster's"
    t.node("n1")
    group(t, "g", 1)
    t.pod("theirs", group="g", dialect=CM, scheduler="default-scheduler")
    t.pod("ours", group="g", dialect=CM)
    t.settles("ours", 1)
    t.still("theirs")


def cm_16(t):
    "a group that can't reach its quorum does not block a younger one that can"
    t.node("n1", 2)
    gang(t, "a", 3, 3, cpu=1)
    t.waits("a", "2 of 3")
    gang(t, "b", 2, 2, cpu=1)
    t.settles("b", 2)
    t.still("a")


def cm_17(t):
    "minAvailable is lowered while the group waits"
    t.node("n1", 2)
    gang(t, "g", 3, 3, cpu=1)
    t.waits("g", "2 of 3")
    t.patch("ConfigMap", "g", {"data": {"minAvailable": "2"}})
    t.settles("g", 2, 5)
    t.still("g", 2)


def cm_18(t):
    "one of two members withholds nothing from an ordinary pod"
    t.node("n1", 1)
    gang(t, "g", 2, 1, cpu=1)
    t.waits("g", "1 of 2")
    t.leaves("g", cpu=1)


@given(kubelet=False)
def cm_19(t):
    "members that are bound count, running or not"
    t.node("n1")
    gang(t, "g", 5, 5, cpu=1)
    t.settles("g", 5)
    assert all(p["status"]["phase"] == "Pending" for p in t.listed("g"))
    pods(t, 1, "g", first=5, cpu=1)
    t.settles("g", 6)


def cm_20(t):
    "a group that lost a member withholds nothing from an ordinary pod"
    t.node("n1", 2)
    group(t, "g", 3, scheduleTimeoutSeconds=20)
    pods(t, 3, "g", cpu=1)
    t.waits("g", "2 of 3")
    t.delete_pods("g-1")
    t.leaves("g", cpu=2)
