# SPDX-License-Identifier: Apache-2.0
"""Gangs on a live system, against muster-apisim, in addition to the scenarios of
tests/scenarios."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import objects  # noqa: E402
from lib.check import condition  # noqa: E402
from lib.cluster import Cluster  # noqa: E402
from lib.harness import check, equal, main, steady, until  # noqa: E402
from lib.objects import pod_group  # noqa: E402

SOON_S = 10.0


def node(name, cpu=8, **rest):
    return objects.node(name, cpu=str(cpu), pods="32", **rest)


def pod(name, cpu=0, **rest):
    return objects.pod(name, cpu=str(cpu), memory="0", **rest)


def pods(c, n, name, **rest):
    """n members of the gang of that name."""
    c.create(*(pod(f"{name}-{i}", group=name, **rest) for i in range(n)))


def settles(c, prefix, n, within_s=SOON_S):
    until(lambda: c.bound(prefix) >= n, within_s, f"{n} of {prefix} bound")
    steady(lambda: c.bound(prefix) == n, 0.5, f"{n} of {prefix} bound")


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


def test_a_gang_is_deleted_while_it_waits():
    with Cluster(node("n1", 2)) as c:
        c.up()
        c.create(pod_group("g", 3))
        pods(c, 3, "g", cpu=1)
        c.still("g")
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
        c.still("g")
        c.still("waiting")
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


if __name__ == "__main__":
    main(globals(), jobs=4)
