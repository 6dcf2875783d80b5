"""What gangs do on a live system: the COS scenarios of the coscheduling plugins
and muster's own promises, against muster-apisim.  Where a scenario says that
nothing happens for a minute, it is watched for a few seconds here."""
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import load, objects  # noqa: E402
from lib.check import condition, is_bound  # noqa: E402
from lib.cluster import Cluster  # noqa: E402
from lib.harness import check, equal, main, steady, until  # noqa: E402
from lib.kube import namespace, priority_class  # noqa: E402
from lib.objects import pod_group  # noqa: E402

STILL_S = 2.0  # "for 60 s"
SOON_S = 10.0  # no scenario may take longer


def node(name, cpu=8, gpu=None, memory="32Gi", **rest):
    if gpu is not None:
        rest["gpu"] = str(gpu)
    return objects.node(name, cpu=str(cpu), memory=str(memory), pods="32", **rest)


def pod(name, cpu=0, memory=0, gpu=None, requests=None, **rest):
    if gpu:
        requests = {"nvidia.com/gpu": str(gpu)}
    return objects.pod(name, cpu=str(cpu), memory=str(memory), requests=requests, **rest)


def pods(c, n, name, **rest):
    """n members of the gang of that name."""
    c.create(*(pod(f"{name}-{i}", group=name, **rest) for i in range(n)))


def settles(c, prefix, n, within_s=SOON_S):
    until(lambda: c.bound(prefix) >= n, within_s, f"{n} of {prefix} bound")
    steady(lambda: c.bound(prefix) == n, 0.5, f"{n} of {prefix} bound")


def still(c, prefix, n=0):
    steady(lambda: c.bound(prefix) == n, STILL_S, f"{n} of {prefix} bound")


def reason(c, name, *parts):
    """The pod's PodScheduled condition is False and its message has these parts."""
    said = {}

    def has():
        said.update(condition(c.client.get("Pod", name)) or {})
        return said.get("status") == "False" and all(p in said.get("message", "") for p in parts)

    try:
        until(has, SOON_S)
    except AssertionError:
        check(False, f"condition of {name}: wanted {parts}, has {said}")
    return said


def events(c, name, kind):
    return [e for e in c.client.list("Event")
            if e.get("regarding", {}).get("name") == name and e["reason"] == kind]


def well(c):
    wrongs = c.wrongs()
    check(not wrongs, wrongs[:5])


def test_cos_1_quorum_of_more_replicas():
    with Cluster(node("n1", 9, memory="8Gi")) as c:
        c.up()
        c.create(pod_group("g", 3, scheduleTimeoutSeconds=10))
        pods(c, 6, "g", cpu=3, memory="500Mi")
        settles(c, "g", 3)
        still(c, "g", 3)
        rest = [p for p in c.pods() if not is_bound(p)]
        equal(len(rest), 3, "pending")
        for p in rest:
            reason(c, p["metadata"]["name"], "0/1 nodes are available", "1 Insufficient cpu")
        well(c)


def test_cos_2_too_big_holds_nothing():
    with Cluster(node("n1", 9, memory="8Gi")) as c:
        c.up()
        c.create(pod_group("g", 4, scheduleTimeoutSeconds=10))
        pods(c, 6, "g", cpu=3, memory="500Mi")
        still(c, "g")
        reason(c, "g-0", "0/1 nodes are available: 1 Insufficient cpu", "default/g", "3 of 4")
        c.create(pod("plain", cpu=9))
        settles(c, "plain", 1)
        still(c, "g")
        well(c)


def test_cos_3_rest_of_a_gang_as_room_allows():
    for cpu, wanted in ((12, 4), (15, 5)):
        with Cluster(node("n1", cpu)) as c:
            c.up()
            c.create(pod_group("g", 4))
            pods(c, 6, "g", cpu=3)
            settles(c, "g", wanted)
            well(c)


def test_cos_4_first_gang_whole_second_not():
    with Cluster(node("n1", memory=300)) as c:
        c.up()
        c.create(pod_group("pg1", 3), pod_group("pg2", 4))
        for i in range(4):
            if i < 3:
                c.create(pod(f"pg1-{i}", group="pg1", memory=50))
            c.create(pod(f"pg2-{i}", group="pg2", memory=100))
        settles(c, "pg1", 3)
        still(c, "pg2")
        reason(c, "pg2-0", "Insufficient memory", "default/pg2")
        well(c)


def test_cos_5_to_8_priority_and_plain_pods():
    with Cluster(priority_class("mid", 100), priority_class("high", 1000)) as c:
        c.up()
        # 6: everything first, the node last
        c.create(pod_group("mid", 3), pod_group("high", 3))
        pods(c, 3, "mid", memory=100, priorityClassName="mid")
        pods(c, 3, "high", memory=50, priorityClassName="high")
        reason(c, "mid-0", "no nodes available to schedule pods")
        c.create(node("n1", memory=300))
        settles(c, "high", 3)
        still(c, "mid")
        # 5: fewer pods than the quorum hold nothing
        for g in ("mid", "high"):
            c.delete("Pod", *(f"{g}-{i}" for i in range(3)))
        c.create(pod_group("few", 4))
        pods(c, 3, "few", memory=50)
        c.create(*(pod(f"plain-{i}", memory=100) for i in range(2)))
        settles(c, "plain", 2)
        still(c, "few")
        well(c)


def test_cos_9_min_resources():
    with Cluster(node("n1", 8)) as c:
        c.up()
        c.create(pod_group("g", 2, minResources={"cpu": "10"}))
        pods(c, 2, "g", cpu=1)
        still(c, "g")
        reason(c, "g-0", "cpu", "10")
        until(lambda: any("cpu" in e["note"] for e in events(c, "g-0", "FailedScheduling")),
              SOON_S, "an event that names cpu")
        c.client.patch("PodGroup", "g", {"spec": {"minResources": {"cpu": "2"}}})
        settles(c, "g", 2, 5)
        well(c)


def test_cos_10_own_usage_counts_as_free():
    with Cluster(node("a", 3), node("b", 3)) as c:
        c.create(pod_group("g", 2, minResources={"cpu": "4"}))
        c.create(pod("g-1", group="g", cpu=2, nodeName="a"))
        c.create(pod("foreign", cpu=1, scheduler="other", nodeName="b"))
        c.up()
        c.create(pod("g-2", group="g", cpu=2))
        settles(c, "g", 2)
        equal(c.client.get("Pod", "g-2")["spec"]["nodeName"], "b", "node of g-2")


def test_cos_12_big_gang_in_front_does_not_block():
    with Cluster(node("n1", 6), node("n2", 2), node("n3", 2), node("n4", 2)) as c:
        c.up()
        c.create(pod_group("pg1", 6))
        pods(c, 6, "pg1", cpu=4)
        reason(c, "pg1-5", "0/4 nodes are available", "Insufficient cpu", "1 of 6")
        c.create(pod_group("pg2", 1))
        pods(c, 1, "pg2", cpu=2)
        settles(c, "pg2", 1)
        still(c, "pg1")
        well(c)


def test_cos_13_fragmented_gpus():
    with Cluster(*(node(f"n{i}", gpu=g) for i, g in enumerate((6, 2, 2, 2)))) as c:
        c.up()
        c.create(pod_group("g", 3, minResources={"nvidia.com/gpu": "12"}))
        pods(c, 3, "g", gpu=4)
        still(c, "g")
        reason(c, "g-0", "Insufficient nvidia.com/gpu", "1 of 3")
        c.create(pod("plain", gpu=6))
        settles(c, "plain", 1)
        still(c, "g")


def test_cos_14_group_arrives_after_its_pods():
    with Cluster(node("n1", 8)) as c:
        c.up()
        pods(c, 3, "late", cpu=1)
        still(c, "late")
        reason(c, "late-0", "default/late")
        c.create(pod_group("late", 3))
        settles(c, "late", 3, 5)
        well(c)


def test_cos_15_member_arrives_late():
    with Cluster(node("n1", 8)) as c:
        c.up()
        c.create(pod_group("g", 3))
        pods(c, 2, "g", cpu=1)
        still(c, "g")
        reason(c, "g-0", "2", "3", "default/g")
        c.create(pod("g-2", group="g", cpu=1))
        settles(c, "g", 3, 5)
        well(c)


def test_cos_16_member_joins_a_running_gang():
    with Cluster(node("n1", 4)) as c:
        c.up()
        c.create(pod_group("g", 3))
        pods(c, 3, "g", cpu=1)
        settles(c, "g", 3)
        c.create(pod("g-3", group="g", cpu=1))
        settles(c, "g", 4)
        c.create(pod("g-4", group="g", cpu=1))
        reason(c, "g-4", "0/1 nodes are available: 1 Insufficient cpu")
        still(c, "g", 4)
        well(c)


def two_interlocked(c, node, priorities):
    """Gangs a and b, created alternately, and a node that takes one of them."""
    def asks(g, i):
        return {"priorityClassName": priorities[g][i]} if priorities else {}

    c.create(pod_group("a", 3), pod_group("b", 3))
    for i in range(3):
        for g in "ab":
            c.create(pod(f"{g}-{i}", group=g, cpu=1, **asks(g, i)))
    c.create(node)
    until(lambda: c.bound("a-") == 3 or c.bound("b-") == 3, SOON_S, "one gang whole")
    steady(lambda: sorted((c.bound("a-"), c.bound("b-"))) == [0, 3], STILL_S, "one whole, one nothing")
    winner, other = ("a", "b") if c.bound("a-") else ("b", "a")
    for i in range(3):
        c.delete("Pod", f"{winner}-{i}")
    settles(c, f"{other}-", 3)
    well(c)


def test_cos_17_alternating_names():
    with Cluster() as c:
        c.up()
        two_interlocked(c, node("n1", 4), None)


def test_cos_17b_mixed_priorities():
    with Cluster(*(priority_class(f"p{n}", n) for n in (100, 500, 1000))) as c:
        c.up()
        two_interlocked(c, node("n1", 4), {"a": ["p1000", "p100", "p100"], "b": ["p500"] * 3})


def test_cos_18_one_short_then_a_node_comes():
    with Cluster(node("n1", 9)) as c:
        c.up()
        c.create(pod_group("g", 10))
        pods(c, 10, "g", cpu=1)
        still(c, "g")
        reason(c, "g-9", "Insufficient cpu", "9 of 10", "need 10, have 9")
        c.create(node("n2", 1))
        settles(c, "g", 10)
        well(c)


def test_cos_19_node_goes_while_the_gang_waits():
    with Cluster(node("a", 2), node("b", 2)) as c:
        c.up()
        c.create(pod_group("g", 4))
        pods(c, 3, "g", cpu=1)
        c.create(pod("g-3", group="g", cpu=1, nodeSelector={"zone": "z"}))
        still(c, "g")
        c.delete("Node", "b")
        still(c, "g")
        c.create(node("c", 3, labels={"zone": "z"}))
        settles(c, "g", 4)
        check("b" not in {p["spec"]["nodeName"] for p in c.pods()}, "a pod on the node that is gone")
        well(c)


def test_cos_20_recreated_with_the_same_names():
    with Cluster(node("n1", 1)) as c:
        c.up()
        for life in range(2):
            c.create(pod_group("g", 2))
            pods(c, 2, "g", cpu=1)
            still(c, "g")
            if life == 0:
                c.delete("PodGroup", "g")
                for i in range(2):
                    c.delete("Pod", f"g-{i}")
        c.create(node("n2", 1))
        settles(c, "g", 2)
        well(c)


def test_cos_21_scheduling_gates():
    gate = {"schedulingGates": [{"name": "example.com/wait"}]}
    with Cluster(node("n1", 8)) as c:
        c.up()
        c.create(pod_group("three", 3), pod_group("two", 2))
        for g in ("three", "two"):
            pods(c, 2, g, cpu=1)
            c.create(pod(f"{g}-2", group=g, cpu=1, **gate))
        settles(c, "two", 2)
        still(c, "three")
        equal(c.bound("two"), 2, "bound of two while one is gated")
        c.client.patch("Pod", "three-2", {"spec": {"schedulingGates": None}})
        settles(c, "three", 3)
        well(c)


def test_cos_22_group_names_and_namespaces():
    with Cluster(node("n1", 9), namespace("one"), namespace("two")) as c:
        c.up()
        for ns in ("one", "two"):
            c.create(pod_group("same", 2, namespace=ns))
            c.create(pod("same-0", group="same", namespace=ns, cpu=1))
        steady(lambda: c.bound("same", "one") + c.bound("same", "two") == 0, STILL_S, "0 bound in both")
        # marks of older generations are refused with a reason, never taken for lone pods
        c.create(pod("old", cpu=1, labels={"pod-group.scheduling.sigs.k8s.io": "g"}))
        reason(c, "old", "pod-group.scheduling.sigs.k8s.io")
        still(c, "old")


def test_cos_24_a_broken_gang_lets_go():
    with Cluster(node("n1", 3)) as c:
        c.up()
        c.create(pod_group("g", 4, scheduleTimeoutSeconds=10))
        pods(c, 3, "g", cpu=1)
        c.create(pod("g-3", group="g", cpu=1, nodeSelector={"no": "node"}))
        still(c, "g")
        c.delete("Pod", "g-1")
        c.create(pod("plain", cpu=3))
        settles(c, "plain", 1)
        still(c, "g")


def test_cos_25_first_bindings_fail():
    for fault in ("bind-500-before", "bind-500-after", "bind-409-before", "bind-409-after"):
        with Cluster(node("n1", 3)) as c:
            c.up()
            c.arm(fault, count=2)
            c.create(pod_group("g", 3))
            pods(c, 3, "g", cpu=1)
            settles(c, "g", 3, 15)
            well(c)


def test_a_gang_is_deleted_while_it_waits():
    with Cluster(node("n1", 2)) as c:
        c.up()
        c.create(pod_group("g", 3))
        pods(c, 3, "g", cpu=1)
        still(c, "g")
        c.delete("PodGroup", "g")
        reason(c, "g-0", "default/g")
        for i in range(3):
            c.delete("Pod", f"g-{i}")
        c.create(pod("plain", cpu=2))
        settles(c, "plain", 1)


def test_events_and_conditions_have_kube_schedulers_words():
    with Cluster(node("n1", 1, labels={"disk": "ssd"}),
                 node("n2", 4, taints=[{"key": "k", "value": "v", "effect": "NoSchedule"}]),
                 node("n3", 4, unschedulable=True), node("n4", 4)) as c:
        c.up()
        c.create(pod("lone", cpu=2, nodeSelector={"disk": "ssd"}))
        said = reason(c, "lone", "0/4 nodes are available: 1 Insufficient cpu, "
                      "1 node(s) didn't match Pod's node affinity/selector, "
                      "1 node(s) had untolerated taint(s), 1 node(s) were unschedulable")
        equal(said["reason"], "Unschedulable", "reason")
        failed = until(lambda: events(c, "lone", "FailedScheduling"), SOON_S, "event")[0]
        equal((failed["type"], failed["regarding"]["kind"], failed["regarding"]["namespace"]),
              ("Warning", "Pod", "default"), "event")
        check(failed["note"].startswith("0/4 nodes are available: "), failed["note"])
        c.create(pod("good", cpu=2))
        settles(c, "good", 1)
        done = until(lambda: events(c, "good", "Scheduled"), SOON_S, "event")[0]
        equal((done["type"], done["note"]), ("Normal", "Successfully assigned default/good to n4"), "event")


def test_pods_of_others_are_left_alone_and_counted():
    with Cluster(node("n1", 4)) as c:
        c.create(pod("theirs", cpu=3, scheduler="default-scheduler", nodeName="n1"))
        c.up()
        c.create(pod("waiting", cpu=1, scheduler="default-scheduler"))
        c.create(pod_group("g", 2))
        pods(c, 2, "g", cpu=1)
        still(c, "g")
        still(c, "waiting")
        c.delete("Pod", "theirs")
        settles(c, "g", 2)
        equal(c.bound("waiting"), 0, "a pod of another scheduler")


def test_preferences_are_followed():
    zone_b = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["b"]}]}
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": zone_b}]}}
    far = node("n2", 4)
    far["metadata"]["labels"]["zone"] = "b"
    with Cluster(node("n1", 64), far) as c:
        c.up()
        c.create(pod("plain"), pod("picky", affinity=affinity))
        settles(c, "p", 2)
        equal({name: c.client.get("Pod", name)["spec"]["nodeName"] for name in ("plain", "picky")},
              {"plain": "n1", "picky": "n2"}, "where they went")


def test_two_gangs_interlock_twenty_times():
    """Each needs more than half of the room: exactly one is whole, always."""
    rng = random.Random(load.seed())
    with Cluster(*(node(f"n{i}", 4) for i in range(5))) as c:
        c.up()
        for turn in range(20):
            sizes = [rng.randint(11, 20) for _ in range(2)]
            names = [f"t{turn}x", f"t{turn}y"]
            made = [pod(f"{g}-{i}", group=g, cpu=1) for g, n in zip(names, sizes) for i in range(n)]
            made += [pod_group(g, n) for g, n in zip(names, sizes)]
            rng.shuffle(made)
            c.create(*made)
            got = until(lambda: [g for g, n in zip(names, sizes) if c.bound(g) == n], SOON_S, f"{names} {sizes}")
            equal(len(got), 1, "whole gangs")
            other = names[1 - names.index(got[0])]
            steady(lambda: c.bound(other) == 0, 0.2, "the other has nothing")
            well(c)
            for o in made:
                c.delete_object(o)


if __name__ == "__main__":
    main(globals(), jobs=4)
