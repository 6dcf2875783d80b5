# SPDX-License-Identifier: Apache-2.0
"""WP: WorkloadPolicy, how many pods of a workload go where.

The nodes of value A have the label workload-test=A; pods request nothing by default."""
from lib import dialects
from lib.dialects import POLICY_LABEL, POLICY_LABEL_OF_PROSE
from lib.harness import check, equal

from .frame import given

REACHED = "node(s) occupied that scheduled pods reach the replicas configured in the workload-policy"
R, P = {"allocationType": "Required"}, {"allocationType": "Preferred"}
FILL, BALANCE = {"allocationMethod": "Fill"}, {"allocationMethod": "Balance"}


def nodes(t, **values):
    """So many large and equal nodes of each value."""
    for value, n in values.items():
        for i in range(n):
            t.node(f"{value.lower()}{i}", cpu=64, memory="256Gi", labels={"workload-test": value})


def policy(t, allocation, *more, name="app", **spec):
    for part in more:
        spec.update(part)
    t.create(dialects.workload_policy(name, allocation, t.ns, **spec))


def pods(t, n, name="app", first=0, by="app", label=POLICY_LABEL, **rest):
    """n pods of a workload that the policy covers; `by`: the scheduler that places them."""
    labels = {"app": "app", label: by, **rest.pop("labels", {})}
    t.pods(n, name, first=first, labels=labels, **{"group": None, **rest})


def there(t, name, node, ns=None, labels=None, **rest):
    """A pod that is on a node already and not muster's."""
    t.pod(name, scheduler="other", nodeName=t.full(node), ns=ns, labels=labels or {"app": "app"}, **rest)


def ends(t, bound, waiting=0, prefix="app", **counts):
    """So many pods of each value, and so many wait."""
    t.stays(prefix, bound)
    wanted = {**counts, **({None: waiting} if waiting else {})}
    equal(t.counts(prefix), wanted, "pods by value")


def one_on_each_host(t, hosts):
    nodes(t, member=1, host=hosts)
    policy(t, {"member": 1, "host": 3}, R, FILL)
    term = {"labelSelector": {"matchLabels": {"app": "app"}}, "topologyKey": "kubernetes.io/hostname"}
    pods(t, 6, affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}})


def wp_1(t):
    "member 1, host 3 of six pods that each need a node of their own"
    one_on_each_host(t, 3)
    ends(t, 4, 2, member=1, host=3)


def wp_2(t):
    "with two hosts"
    one_on_each_host(t, 2)
    ends(t, 3, 3, member=1, host=2)


def workload(t, allocation, n, *more, by_value=None, **spec):
    """n pods under that policy, on two nodes for each value or as many as given."""
    nodes(t, **(by_value or {"A": 2, "B": 2}))
    policy(t, allocation, *more, **spec)
    pods(t, n)


def five_and_three(t, n, *more, **spec):
    workload(t, {"A": 5, "B": 3}, n, *more, **spec)


def wp_3(t):
    "A 5, B 3 required, balanced: as written"
    five_and_three(t, 8, R, BALANCE)
    ends(t, 8, A=5, B=3)


def wp_3b(t):
    "filled"
    five_and_three(t, 8, R, FILL)
    ends(t, 8, A=5, B=3)


def wp_4(t):
    "two more than that wait, and an event has the reason"
    five_and_three(t, 10, R, BALANCE)
    ends(t, 8, 2, A=5, B=3)
    waiting = [name for name, node in t.nodes("app").items() if node is None]
    for name in waiting:
        t.reason(name, REACHED)
        t.event(name, REACHED)


def overflow(t, method):
    five_and_three(t, 10, P, method)
    t.stays("app", 10)
    got = t.counts("app")
    check(got.get("A", 0) >= 5 and got.get("B", 0) >= 3, got)


def wp_5(t):
    "two more than preferred, balanced: all are bound"
    overflow(t, BALANCE)


def wp_5b(t):
    "filled"
    overflow(t, FILL)


def wp_6(t):
    "balance of 4 and 2 for three pods: 2 and 1"
    workload(t, {"A": 4, "B": 2}, 3, BALANCE)
    ends(t, 3, A=2, B=1)


def wp_7(t):
    "balance of 5 and 3 for four pods: 2 and 2"
    workload(t, {"A": 5, "B": 3}, 4, BALANCE)
    ends(t, 4, A=2, B=2)


def wp_7b(t):
    "of 6 and 3 for six: 4 and 2"
    workload(t, {"A": 6, "B": 3}, 6, BALANCE)
    ends(t, 6, A=4, B=2)


def wp_8(t):
    "fill of 4 and 4 for three pods: all in one"
    workload(t, {"A": 4, "B": 4}, 3, FILL)
    t.stays("app", 3)
    check(t.counts("app") in ({"A": 3}, {"B": 3}), t.counts("app"))


def wp_9(t):
    "a matching pod that exists already counts"
    nodes(t, A=2, B=2)
    there(t, "old", "a0")
    policy(t, {"A": 2, "B": 4}, R, FILL)
    pods(t, 3)
    ends(t, 3, A=1, B=2)


def beside_an_unlabelled(t, kind):
    t.node("other", cpu=64)
    workload(t, {"A": 2}, 3, kind, by_value={"A": 1})


def wp_10(t):
    "a node without the label is never used: required"
    beside_an_unlabelled(t, R)
    ends(t, 2, 1, A=2)


def wp_10b(t):
    "preferred"
    beside_an_unlabelled(t, P)
    ends(t, 3, A=3)


def wp_11(t):
    "a value that the policy does not list is never used"
    workload(t, {"A": 2}, 3, R, by_value={"A": 1, "C": 1})
    ends(t, 2, 1, A=2)


def wp_12(t):
    "a policy that is created later; until then the event names it"
    nodes(t, A=1)
    pods(t, 2)
    t.waits("app", "workload-policy(app)")
    t.event("app-0", "app", "workload-policy")
    t.still("app")
    policy(t, {"A": 2}, R)
    t.settles("app", 2, 5)


def wp_13(t):
    "pods that the policy's selector does not match"
    nodes(t, A=1)
    policy(t, {"A": 2}, R)
    pods(t, 2, name="odd", labels={"app": "odd"})
    t.blocked("odd", "didn't match pod workload-policy constraints")
    t.event("odd-0", "didn't match pod workload-policy constraints")


@given(kubelet=False)
def wp_14(t):
    "pods of another namespace, that are being deleted or that don't match don't count"
    nodes(t, A=1)
    elsewhere = t.namespace("elsewhere")
    for i in range(2):
        there(t, f"far-{i}", "a0", ns=elsewhere)
    there(t, "going", "a0")
    t.client.delete("Pod", "going", t.ns, grace_s=300)
    check(t.get("going")["metadata"].get("deletionTimestamp"), "the pod is not going")
    there(t, "unlike", "a0", labels={"app": "unlike"})
    policy(t, {"A": 2}, R)
    pods(t, 2)
    ends(t, 2, A=2)


def wp_15(t):
    "more than the policy allows are there already: no more are placed there, none is removed"
    nodes(t, A=2, B=2)
    for i in range(6):
        there(t, f"old-{i}", f"a{i % 2}")
    policy(t, {"A": 5, "B": 3}, R)
    pods(t, 3)
    ends(t, 3, B=3)
    pods(t, 1, name="more")
    t.reason("more-0", REACHED)
    t.still("more")
    t.still("old", 6, 0)


def wp_16(t):
    "the policy is changed: later pods follow it, none moves"
    five_and_three(t, 8, R)
    t.settles("app", 8)
    before = t.nodes("app")
    allocation = [{"name": "A", "replicas": 3}, {"name": "B", "replicas": 5}]
    t.patch("WorkloadPolicy", "app", {"spec": {"allocationPolicy": allocation}})
    pods(t, 2, name="more")
    ends(t, 2, prefix="more", B=2)
    equal(t.nodes("app"), before, "the ones before")


def wp_17(t):
    "a pod is deleted: the next one gets its place"
    five_and_three(t, 8, R)
    t.settles("app", 8)
    pods(t, 1, name="next")
    t.reason("next-0", REACHED)
    t.still("next")
    gone = next(name for name, node in t.nodes("app").items() if node.startswith("a"))
    t.delete_pods(gone)
    ends(t, 1, prefix="next", A=1)


def wp_18(t):
    "policies do not apply to a DaemonSet's pod"
    nodes(t, A=1)
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "app", "uid": "1", "controller": True}
    pods(t, 1, by="nowhere", owner=owner)
    t.settles("app", 1)


def wp_19(t):
    "the label as the prose spells it"
    nodes(t, A=2, B=2)
    policy(t, {"A": 5, "B": 3}, R, BALANCE)
    pods(t, 8, label=POLICY_LABEL_OF_PROSE)
    ends(t, 8, A=5, B=3)


def wp_20(t):
    "scheduleStrategy and a type in small letters"
    five_and_three(t, 8, scheduleStrategy="Fill", allocationType="required")
    ends(t, 8, A=5, B=3)


def wp_21(t):
    "a pod whose selector allows only a full value waits"
    nodes(t, A=1, B=1)
    policy(t, {"A": 1, "B": 3}, R)
    pods(t, 2, nodeSelector={"workload-test": "A"})
    ends(t, 1, 1, A=1)


def wp_22(t):
    "no pods for A, required"
    workload(t, {"A": 0, "B": 2}, 2, R, by_value={"A": 1, "B": 1})
    ends(t, 2, B=2)


def wp_22b(t):
    "preferred: all are bound"
    workload(t, {"A": 0, "B": 2}, 3, P, by_value={"A": 1, "B": 1})
    t.stays("app", 3)


def wp_23(t):
    "a selector by expressions counts only what it selects"
    nodes(t, A=2, B=2)
    for i in range(4):
        there(t, f"unlike-{i}", "a0", labels={"app": "unlike"})
    selector = {"matchExpressions": [{"key": "app", "operator": "In", "values": ["app"]}]}
    policy(t, {"A": 5, "B": 3}, R, selector=selector)
    pods(t, 8)
    ends(t, 8, A=5, B=3)


def wp_24(t):
    "neither type nor method: preferred and balanced"
    five_and_three(t, 8)
    ends(t, 8, A=5, B=3)


def wp_25(t):
    "a gang of 8 under a policy of 5 and 3 waits for capacity in A"
    t.node("a0", cpu=4, labels={"workload-test": "A"})
    t.node("b0", cpu=64, labels={"workload-test": "B"})
    policy(t, {"A": 5, "B": 3}, R)
    t.group("gang", 8)
    pods(t, 8, cpu=1, group="gang")
    t.blocked("app", f"{t.ns}/gang")
    t.node("a1", cpu=4, labels={"workload-test": "A"})
    ends(t, 8, A=5, B=3)
