# SPDX-License-Identifier: Apache-2.0
"""WorkloadPolicy without a server: what simulate makes of policies, and verdict of their scores.
The scenarios against servers are tests/scenarios/wp.py."""
import json
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import objects  # noqa: E402
from lib.cluster import cpu_of_children_s, run  # noqa: E402
from lib.dialects import POLICY_LABEL, POLICY_LABEL_OF_PROSE, workload_policy  # noqa: E402
from lib.harness import check, equal, main  # noqa: E402

REQUIRED, PREFERRED = {"allocationType": "Required"}, {"allocationType": "Preferred"}
FILL, BALANCE = {"allocationMethod": "Fill"}, {"allocationMethod": "Balance"}
REACHED = "node(s) occupied that scheduled pods reach the replicas configured in the workload-policy"
UNSELECTED = "node(s) didn't match pod workload-policy constraints"
FAILS = 'running PreFilter plugin "LeafNodeWorkloadPolicy": Fail to obtain pod\'s(default/w-0) workload-policy(p): '


def nodes(**values):
    """So many nodes of each value; 0 of NONE have no such label."""
    return [objects.node(f"{value.lower()}{i}", cpu="100", memory="1Ti",
                         labels={} if value == "NONE" else {"workload-test": value})
            for value, n in values.items() for i in range(n)]


AB = nodes(A=2, B=2)


def policy(allocation, *parts, name="p", **more):
    spec = {"selector": {"matchLabels": {"app": "x"}}}
    for part in (*parts, more):
        spec.update(part)
    return workload_policy(name, allocation, **spec)


def pod(name, labels=None, label=POLICY_LABEL, by="p", **rest):
    return objects.pod(name, labels={"app": "x", **({label: by} if by is not None else {}), **(labels or {})}, **rest)


def pods(n, **rest):
    return [pod(f"w-{i}", **rest) for i in range(n)]


def answer(command, *flags, items):
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(items)})
    code, out, err = run("musterctl", command, "-f", "-", *flags, "-o", "json", stdin=text)
    return code, json.loads(out) if out else None, err


def placed(*items):
    """Pods by value, None: those that wait; and why the first of them does."""
    value = {i["metadata"]["name"]: i["metadata"]["labels"].get("workload-test") for i in items if i["kind"] == "Node"}
    _, out, err = answer("simulate", items=items)
    check(out is not None, err)
    counts, why = {}, ""
    for p in out["placements"]:
        key = value[p["node"]] if p["node"] else None
        counts[key] = counts.get(key, 0) + 1
        why = why or p.get("reason", "")
    return counts, why


def expect(items, why="", **counts):
    waiting = counts.pop("waiting", 0)
    got, reason = placed(*items)
    equal(got, {**counts, **({None: waiting} if waiting else {})}, reason)
    check(why in reason, f"not {why!r}: {reason!r}")


# ---- shares ---------------------------------------------------------------

def test_shares_are_filled_and_not_more():
    for method in (FILL, BALANCE, {}):
        expect([*AB, policy({"A": 5, "B": 3}, REQUIRED, method), *pods(8)], A=5, B=3)
        expect([*AB, policy({"A": 5, "B": 3}, REQUIRED, method), *pods(10)], A=5, B=3, waiting=2, why="4 " + REACHED)


def test_balance_keeps_shares_even():
    expect([*AB, policy({"A": 4, "B": 2}, BALANCE), *pods(3)], A=2, B=1)
    expect([*AB, policy({"A": 5, "B": 3}, BALANCE), *pods(4)], A=2, B=2)
    expect([*AB, policy({"A": 6, "B": 3}, BALANCE), *pods(6)], A=4, B=2)


def test_fill_ends_what_it_began():
    got, _ = placed(*AB, policy({"A": 4, "B": 4}, FILL), *pods(3))
    equal(list(got.values()), [3])
    expect([*AB, policy({"A": 2, "B": 4}, REQUIRED, FILL), pod("there", nodeName="b1"), *pods(3)], B=3)


def test_preferred_shares_overflow_evenly():
    """Kosmos gets stuck here: a share that is past its replicas scores beyond 0 to 100."""
    for method in (FILL, BALANCE):
        for n in (9, 10, 30):
            got, why = placed(*AB, policy({"A": 5, "B": 3}, PREFERRED, method), *pods(n))
            check(got.get("A", 0) >= 5 and got.get("B", 0) >= 3 and sum(got.values()) == n and None not in got, got, why)
    expect([*nodes(A=1, B=1), policy({"A": 0, "B": 2}, PREFERRED), *pods(3)], A=1, B=2)


def test_a_policy_goes_before_other_scores():
    """All else speaks for A: an empty node of B that is disliked is better than a full share."""
    soft = {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
        {"weight": 100, "preference": {"matchExpressions": [{"key": "workload-test", "operator": "In", "values": ["A"]}]}}]}}}
    expect([*AB, policy({"A": 2, "B": 6}, PREFERRED, BALANCE), *pods(8, **soft)], A=2, B=6)
    expect([*AB, policy({"A": 2, "B": 2}, PREFERRED, BALANCE), *pods(6, **soft)], A=4, B=2)
    tainted = [objects.node("b0", labels={"workload-test": "B"},
                            taints=[{"key": "k", "value": "v", "effect": "PreferNoSchedule"}])]
    expect([*nodes(A=1), *tainted, policy({"A": 1, "B": 3}, PREFERRED, BALANCE), *pods(4)], A=1, B=3)


def test_nodes_outside_are_never_used():
    for kind, n in ((REQUIRED, {"A": 2, "waiting": 2}), (PREFERRED, {"A": 4})):
        expect([*nodes(A=1, C=1, NONE=1), policy({"A": 2}, kind), *pods(4)], **n)
    _, why = placed(*nodes(A=1, C=1, NONE=1), policy({"A": 0}, REQUIRED), *pods(1))
    for part in ("1 " + REACHED, f"1 {UNSELECTED} (missing required label)", f"1 {UNSELECTED} (not match value)"):
        check(part in why, why)


# ---- counted pods -------------------------------------------------------------

def test_who_counts():
    """Pods that match in that namespace and are not being deleted, placed by any scheduler."""
    leaving = pod("leaving", nodeName="a0")
    leaving["metadata"].update(deletionTimestamp="2026-01-01T00:00:00Z", finalizers=["example.com/x"])
    ended = pod("ended", nodeName="a0")
    ended["status"] = {"phase": "Succeeded"}
    others = [leaving, ended, pod("elsewhere", nodeName="a0", namespace="other"),
              pod("another", nodeName="a0", labels={"app": "z"})]
    expect([*nodes(A=1), policy({"A": 2}, REQUIRED), *others, *pods(3)], A=2, waiting=1)
    counted = [pod("plain", nodeName="a0", by=None), pod("foreign", nodeName="a0", scheduler="other")]
    expect([*nodes(A=1), policy({"A": 3}, REQUIRED), *counted, *pods(3)], A=1, waiting=2)


def test_selectors():
    any_of = {"matchExpressions": [{"key": "app", "operator": "In", "values": ["x", "y"]}]}
    unlike = {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["z"]}, {"key": "app", "operator": "Exists"}]}
    z = pod("z", nodeName="a0", labels={"app": "z"})
    for selector in (any_of, unlike):
        expect([*AB, policy({"A": 5, "B": 3}, REQUIRED, selector=selector), z, *pods(8)], A=5, B=3)
    everybody = policy({"A": 1}, REQUIRED)
    everybody["spec"]["labelSelector"] = {}
    expect([*nodes(A=1), everybody, z, *pods(1)], waiting=1, why=REACHED)
    expect([*nodes(A=1), policy({"A": 2}, selector={"matchLabels": {"app": "y"}}), *pods(2)], waiting=2, why="1 " + UNSELECTED)


def test_two_policies_count_the_same_pods():
    both = [policy({"A": 3, "B": 1}, REQUIRED, name="p"), policy({"A": 1, "B": 3}, REQUIRED, name="q")]
    got, _ = placed(*AB, *both, *pods(4), *[pod(f"v-{i}", by="q") for i in range(4)])
    check(got["A"] <= 3 and got["B"] <= 3 and got["A"] + got["B"] == 6, got)


def test_daemons_are_let_be():
    daemon = pod("d", by="nothing")
    daemon["metadata"]["ownerReferences"] = [{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "u",
                                              "controller": True}]
    expect([*nodes(A=1), daemon], A=1)


# ---- how it is written --------------------------------------------------------

def test_spellings():
    expect([*AB, policy({"A": 5, "B": 3}, REQUIRED), *pods(8, label=POLICY_LABEL_OF_PROSE)], A=5, B=3)
    same = {POLICY_LABEL_OF_PROSE: "p"}
    expect([*AB, policy({"A": 5, "B": 3}, REQUIRED), *pods(8, labels=same)], A=5, B=3)
    for kind in ("required", "REQUIRED", "Require"):
        expect([*AB, policy({"A": 4, "B": 3}, allocationType=kind, scheduleStrategy="fill"), *pods(8)], A=4, B=3, waiting=1)
    got, _ = placed(*AB, policy({"A": 4, "B": 4}, scheduleStrategy="Fill"), *pods(3))
    equal(list(got.values()), [3], "scheduleStrategy")
    expect([*AB, policy({"A": 5, "B": 3}), *pods(10)], A=6, B=4)
    twice = policy({"A": 1}, REQUIRED)
    twice["spec"]["allocationPolicy"].append({"name": "A", "replicas": 2})
    expect([*nodes(A=1), twice, *pods(3)], A=2, waiting=1)


def test_names_that_lead_nowhere():
    expect([*nodes(A=1), *pods(1)], waiting=1, why=FAILS + 'workloadpolicies.kosmos.io "p" not found')
    expect([*nodes(A=1), policy({"A": 1}, namespace="other"), *pods(1)], waiting=1, why='"p" not found')
    expect([*nodes(A=1), *pods(1, by="")], waiting=1, why='workloadpolicies.kosmos.io "" not found')
    expect([*nodes(A=1), policy({"A": 1}), *pods(1, labels={POLICY_LABEL_OF_PROSE: "q"})], waiting=1,
           why=f"label {POLICY_LABEL} names policy p, label {POLICY_LABEL_OF_PROSE} names policy q")


def test_bad_policies_are_named():
    def bad(part, **spec):
        made = policy({"A": 1})
        for key, value in spec.items():
            if value is None:
                del made["spec"][key]
            else:
                made["spec"][key] = value
        code, _, err = answer("simulate", items=[*nodes(A=1), made, *pods(1)])
        equal(code, 2, err)
        check(f"WorkloadPolicy default/p: {part}" in err, f"not {part!r}: {err}")

    bad('spec.allocationType: "sometimes" is not Required or Preferred', allocationType="sometimes")
    bad('spec.allocationMethod: "Half" is not Fill or Balance', allocationMethod="Half")
    bad("spec: allocationMethod is Fill, but scheduleStrategy Balance", allocationMethod="Fill", scheduleStrategy="Balance")
    bad("spec: has no topologyKey", topologyKey=None)
    bad('spec: the topologyKey "a b" is not the key of a label', topologyKey="a b")
    bad("spec: has no labelSelector", labelSelector=None)
    bad("spec: has no allocationPolicy", allocationPolicy=None)
    bad("spec.allocationPolicy[0]: has no replicas", allocationPolicy=[{"name": "A"}])
    bad("spec.allocationPolicy[1]: has no name", allocationPolicy=[{"name": "A", "replicas": 1}, {"replicas": 1}])
    bad("spec.allocationPolicy[0].replicas: -5 is below 0, and counts as 0", allocationPolicy=[{"name": "A", "replicas": -5}])


# ---- with other rules ---------------------------------------------------------

def test_gangs_are_whole():
    """Capacity for 4 in A: none starts, though B has capacity for all and lone pods would start."""
    group = objects.pod_group("g", 8)
    for room, counts in ((4, {"waiting": 8}), (5, {"A": 5, "B": 3})):
        small = [objects.node("a0", cpu=str(room), labels={"workload-test": "A"}), *nodes(B=1)]
        expect([*small, policy({"A": 5, "B": 3}, REQUIRED), group, *pods(8, group="g")], **counts)
    _, why = placed(objects.node("a0", cpu="4", labels={"workload-test": "A"}), *nodes(B=1),
                    policy({"A": 5, "B": 3}, REQUIRED), group, *pods(8, group="g"))
    check("7 of 8 members have room" in why and REACHED in why, why)


def test_gangs_of_two_kinds_share():
    """The members count each other, whatever they request, and members without a policy are placed last."""
    group = objects.pod_group("g", 6)
    members = [pod(f"s-{i}", cpu="2", group="g") for i in range(3)] + [pod(f"l-{i}", cpu="1", group="g") for i in range(3)]
    expect([*AB, policy({"A": 4, "B": 2}, REQUIRED), group, *members], A=4, B=2)
    expect([*AB, policy({"A": 4, "B": 1}, REQUIRED), group, *members], waiting=6)
    free = [pod(f"f-{i}", by=None, group="g", nodeSelector={"workload-test": "A"}, cpu="3") for i in range(3)]
    expect([*AB, policy({"A": 3}, REQUIRED), group, *members[:3], *free], A=6)


def test_gangs_of_one_rack_share():
    """Only the last rack has nodes of both values, so that shares and topology can be met together."""
    def rack(name, *values):
        return [objects.node(f"{name}{i}", cpu="100", labels={"workload-test": v, "rack": name}) for i, v in enumerate(values)]

    group = objects.pod_group("g", 4)
    group["metadata"]["annotations"] = {"muster.dev/required-topology": "rack"}
    shares = policy({"A": 2, "B": 2}, REQUIRED)
    racks = [*rack("r1", "A", "A"), *rack("r2", "B"), *rack("r3", "A", "B")]
    expect([*racks, shares, group, *pods(4, group="g")], A=2, B=2)
    _, out, _ = answer("simulate", items=[*racks, shares, group, *pods(4, group="g")])
    equal({p["node"] for p in out["placements"]}, {"r30", "r31"})
    expect([*racks[:3], shares, group, *pods(4, group="g")], waiting=4)
    expect([*rack("r1", "A", "B"), policy({"A": 2, "B": 1}, REQUIRED), group, *pods(4, group="g")], waiting=4)


def test_one_pod_on_each_node():
    term = {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": "kubernetes.io/hostname"}
    apart = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    shares = policy({"M": 1, "H": 3}, REQUIRED, FILL)
    expect([*nodes(M=1, H=3), shares, *pods(6, **apart)], M=1, H=3, waiting=2)
    expect([*nodes(M=1, H=2), shares, *pods(6, **apart)], M=1, H=2, waiting=3)
    expect([*nodes(A=1, B=1), policy({"A": 1, "B": 3}, REQUIRED), *pods(2, nodeSelector={"workload-test": "A"})], A=1,
           waiting=1, why="1 " + REACHED)


def test_hostnames_are_a_topology_too():
    by_node = policy({"a0": 1, "b0": 4, "b1": 2}, REQUIRED, key="kubernetes.io/hostname")
    expect([*AB, by_node, *pods(9)], A=1, B=6, waiting=2)


def test_random_policies_against_counting():
    """Lone pods one after the other: the place of each follows from the shares alone."""
    dice = random.Random(11)
    for _ in range(25):
        values = "ABCDE"[:dice.randint(1, 5)]
        shares = {v: dice.randint(0, 6) for v in values}
        fill, required, n = dice.random() < 0.5, dice.random() < 0.5, dice.randint(1, 20)
        items = [*nodes(**{v: dice.randint(1, 3) for v in values}),
                 policy(shares, FILL if fill else BALANCE, REQUIRED if required else PREFERRED), *pods(n)]
        got, _ = placed(*items)
        total = sum(shares.values())
        for v in values:
            if n >= total:
                check(got.get(v, 0) >= shares[v] and (not required or got.get(v, 0) == shares[v]), shares, got, n)
            elif required:
                check(got.get(v, 0) <= shares[v], shares, got, n)
        if fill and n < total:
            part = [v for v in values if 0 < got.get(v, 0) < shares[v]]
            check(len(part) <= 1, "one share at a time", shares, got, n)
        equal(got.get(None, 0), max(0, n - total) if required else 0, f"{shares} {got} of {n}")


# ---- scores -----------------------------------------------------------------------

def test_verdict_adds_the_tier():
    """10000 for each tier: 1 + the points of a share that is not reached, 0 of one that is."""
    there = [pod("r0", nodeName="a0"), pod("r1", nodeName="b0"), pod("r2", nodeName="b1")]
    for method, points in ((BALANCE, (66, 33)), (FILL, (33, 66))):
        items = [*nodes(A=1, B=2), policy({"A": 3, "B": 3}, method), *there, *pods(1)]
        _, out, err = answer("verdict", "--pod", "default/w-0", items=items)
        check(out is not None, err)
        tiers = {n["node"]: n["score"] // 10000 for n in out["nodes"]}
        equal(tiers, {"a0": points[0] + 1, "b0": points[1] + 1, "b1": points[1] + 1})
        check(all(0 < n["score"] % 10000 < 1200 for n in out["nodes"]), out)
    _, out, _ = answer("verdict", "--pod", "default/w-0", items=[*nodes(A=1), policy({"A": 1}), there[0], *pods(1)])
    check(out["nodes"][0]["feasible"] and out["nodes"][0]["score"] < 1200, out)


def test_a_thousand_pods_are_quick():
    """1,000 pods over 5,000 nodes and 20 shares, one by one."""
    many = [objects.node(f"n{i}", labels={"workload-test": f"d{i % 20}"}) for i in range(5000)]
    items = [*many, policy({f"d{d}": 50 for d in range(20)}, REQUIRED), *pods(1000)]
    started = cpu_of_children_s()
    got, why = placed(*items)
    equal(got, {f"d{d}": 50 for d in range(20)}, why)
    took = cpu_of_children_s() - started
    check(took < 20, took, "s")


if __name__ == "__main__":
    main(globals())
