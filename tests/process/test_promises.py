# SPDX-License-Identifier: Apache-2.0
"""Promised starts of waiting gangs (docs/promises.md), against muster-apisim: what is told of them, that a gang starts
when it was told, and that the times survive the death of either process or both (BF-13)."""
import calendar
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import kube, objects  # noqa: E402
from lib.cluster import Cluster  # noqa: E402
from lib.harness import check, equal, eventually, main, steady, until  # noqa: E402
from lib.objects import pod_group  # noqa: E402

CORE = ("--promise-depth", "64", "--reserve-after", "0")
FINE = (*CORE, "--promise-grain", "1")
SOON_S = 40.0
TOLD_S = 6.0  # what moved is published in the next tick of 2 s, at most once in 2 s, and written then
TOLD = "muster.dev/promised-start"


def node(name, cpu=1):
    return objects.node(name, cpu=str(cpu), pods="64")


def pod(name, run_s=None, cpu=1, **rest):
    """Ends by its deadline at the latest."""
    made = objects.pod(name, cpu=str(cpu), memory="0", **rest)
    if run_s:
        made["spec"]["activeDeadlineSeconds"] = run_s
    return made


def gang(name, members, run_s):
    return [pod_group(name, members), *(pod(f"{name}-{i}", run_s, group=name) for i in range(members))]


def seconds(text):
    return calendar.timegm(time.strptime(text, "%Y-%m-%dT%H:%M:%SZ"))


def annotation(c, name):
    return c.client.get("Pod", name)["metadata"].get("annotations", {}).get(TOLD)


def start(c, name):
    """Of the ledger: {} without a promise."""
    return c.ask_json("gangs", f"default/{name}")[1]["gangs"][0]["start"] or {}


def told(c, name):
    """The time by which the next instance would know it, once condition and annotation have it."""
    at = annotation(c, name)
    return at if at and f"starts at {at} (promised)" in c.why_pending(name) else None


def events(c, reason):
    return [e for e in c.client.list("Event") if e["reason"] == reason]


def test_what_is_told():
    """A gang waits for another one with a deadline: annotation, condition, events, gangs, explain and metrics agree."""
    with Cluster(node("n0"), node("n1")) as c:
        c.pair(core=CORE)
        c.create(*gang("a", 2, 300))
        until(lambda: c.bound("a-") == 2, SOON_S, "a runs")
        c.create(*gang("b", 2, 60))
        until(lambda: told(c, "b-0"), SOON_S, "b is promised a start")
        row = until(lambda: (lambda r: r if r.get("at") == told(c, "b-0") else None)(start(c, "b")), SOON_S, "the ledger agrees")
        # The deadline of 300 s, a grace of 30 s, a minute until startTime, and the grain of a minute.
        check(200 < seconds(row["at"]) - time.time() < 480, row)
        equal((row["kind"], row["ends"], row["firm"], row["moves"]), ("promised", "hard", True, []))
        equal(sorted(row["nodes"]), ["n0", "n1"])
        equal([w["who"] for w in row["after"]], ["default/a"])
        check("Insufficient cpu" in c.why_pending("b-0"), c.why_pending("b-0"))
        check(annotation(c, "b-1") is None, "one pod has the annotation")
        until(lambda: {e["regarding"]["kind"] for e in events(c, "StartPromised")} == {"Pod", "PodGroup"}, SOON_S, "events")
        code, out, err = c.ask("gangs")
        check(row["at"][11:19] in out, out, err)
        code, out, err = c.ask("explain", "default/b")
        check(f"promised: {row['at']} on n0, n1, when default/a (" in out, out, err)
        until(lambda: c.metric("muster_promises") == 1, SOON_S, "it is counted")
        # It ends early: b starts, and is counted as earlier than told.
        c.delete("Pod", "a-0", "a-1")
        until(lambda: c.bound("b-") == 2, SOON_S, "b runs")
        until(lambda: c.metrics().get('muster_promise_error_seconds_count') == 1, SOON_S, "it is counted")
        until(lambda: c.metric("muster_promises") == 0, SOON_S, "it stands no longer")
        check(c.metric("muster_promise_error_seconds_sum") < -100, "earlier")


def test_starts_when_it_was_told():
    """Nothing ends early: the kubelet ends a at its deadline, within a second or two of what was told."""
    with Cluster(node("n0")) as c:
        c.pair(core=FINE)
        a = pod("a", 12)
        a["metadata"]["annotations"] = {"muster.io/run-seconds": "12"}
        c.create(a)
        until(lambda: c.bound("a") == 1, SOON_S, "a runs")
        c.create(pod("b", 30))
        until(lambda: told(c, "b"), SOON_S, "b is promised a start")
        until(lambda: c.bound("b") == 1, 40, "b runs")
        late = time.time() - seconds(annotation(c, "b"))
        check(late < 15, f"{late:.1f} s late")


def test_backfill_takes_nothing_from_a_promise():
    """b is promised both nodes.  A pod with a short deadline goes before it, one with a long or no deadline does not."""
    with Cluster(node("n0"), node("n1")) as c:
        c.pair(core=CORE)
        c.create(pod("a", 600))
        until(lambda: c.bound("a") == 1, SOON_S, "a runs")
        c.create(*gang("b", 2, 60))
        until(lambda: told(c, "b-0"), SOON_S, "b is promised a start")
        c.create(pod("long", 3600), pod("unknown"))
        until(lambda: told(c, "long"), SOON_S, "long is promised a start")
        steady(lambda: c.bound("long") + c.bound("unknown") == 0, 3, "they wait")

        def promised():
            nodes = c.ask_json("verdict", "--live", "default/unknown")[1]["nodes"]
            equal(nodes[0].get("reasons"), ["Insufficient cpu"])
            check("node(s) with capacity promised to " in nodes[1].get("reasons", [""])[0], nodes)

        eventually(promised)
        before = start(c, "b")["at"]
        c.create(pod("short", 60))
        until(lambda: c.bound("short") == 1, SOON_S, "short runs")
        check(seconds(start(c, "b")["at"]) <= seconds(before), "b is not later")


def test_soft_ends_and_pods_that_last():
    """muster.dev/run-seconds of a pod and of a group's object; a pod that restarts always has no end."""
    with Cluster(node("n0"), node("n1"), node("n2")) as c:
        c.pair(core=CORE)
        for name, selector in (("own", "n0"), ("lasts", "n1")):
            made = pod(name, nodeSelector={"kubernetes.io/hostname": selector})
            made["metadata"]["annotations"] = {"muster.dev/run-seconds": "200"}
            if name == "lasts":
                made["spec"]["restartPolicy"] = "Always"
            c.create(made)
        group = pod_group("g", 1)
        group["metadata"]["annotations"] = {"muster.dev/run-seconds": "200"}
        c.create(group, pod("g-0", group="g", nodeSelector={"kubernetes.io/hostname": "n2"}))
        until(lambda: c.bound() == 3, SOON_S, "they run")
        for i in range(3):
            c.create(pod(f"w{i}", 60, nodeSelector={"kubernetes.io/hostname": f"n{i}"}))
        until(lambda: told(c, "w0") and told(c, "w2"), SOON_S, "both are promised a start")
        steady(lambda: annotation(c, "w1") is None, 4, "no end, no promise")


def test_bf_10_a_higher_gang_evicts_and_outranks_by_name():
    """b of a higher priority evicts a, which runs, and starts at once; c, which was promised a's room, is told who was in the way."""
    high = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 100}
    with Cluster(node("n0"), high) as c:
        c.pair(core=CORE, frontend=("--preemption", "on"))
        c.create(*gang("a", 1, 600))
        until(lambda: c.bound("a-") == 1, SOON_S, "a runs")
        c.create(*gang("c", 1, 60))
        before = until(lambda: told(c, "c-0"), SOON_S, "c is promised a start")
        c.create(pod_group("b", 1), pod("b-0", 5000, group="b", priorityClassName="high"))
        until(lambda: c.bound("b-") == 1, SOON_S, "b runs")
        until(lambda: seconds(told(c, "c-0") or before) > seconds(before) + 3000, SOON_S, lambda: (before, start(c, "c")))
        moves = until(lambda: start(c, "c").get("moves"), SOON_S, "the ledger has the move")
        equal((moves[0]["reason"], moves[0]["who"]), ("Outranked", "default/b"))
        until(lambda: c.pods("a-") == [], SOON_S, "a is gone")


def test_a_node_is_lost_and_its_promise_slips_by_name():
    with Cluster(node("n0"), node("n1")) as c:
        c.pair(core=CORE)
        c.create(pod("a", 200, nodeSelector={"kubernetes.io/hostname": "n0"}),
                 pod("z", 900, nodeSelector={"kubernetes.io/hostname": "n1"}))
        until(lambda: c.bound() == 2, SOON_S, "both run")
        c.create(*gang("b", 1, 60))
        before = until(lambda: told(c, "b-0"), SOON_S, "b is promised a start")
        c.client.patch("Node", "n0", {"spec": {"unschedulable": True}}, namespace=None)
        until(lambda: seconds(told(c, "b-0") or before) > seconds(before) + 300, SOON_S, "it moves later")
        moves = until(lambda: start(c, "b").get("moves"), SOON_S, "the ledger has the move")
        equal([(m["reason"], m["who"]) for m in moves], [("NodeLost", "n0")])
        until(lambda: any("NodeLost n0" in e["note"] for e in events(c, "StartSlipped")), SOON_S, "an event says it")
        until(lambda: c.metrics()['muster_promises_moved_total{direction="later",reason="NodeLost"}'] == 1, SOON_S, "metric")


def test_a_written_annotation_alone_is_not_believed():
    """Who writes it on a pod of his own gets no better time by a restart."""
    with Cluster(node("n0")) as c:
        c.pair(core=CORE)
        c.create(pod("a", 600))
        until(lambda: c.bound("a") == 1, SOON_S, "a runs")
        c.create(pod("first", 60))
        until(lambda: told(c, "first"), SOON_S, "first is promised a start")
        thief = pod("thief", 60)
        thief["metadata"]["annotations"] = {TOLD: "2001-01-01T00:00:00Z"}
        c.core.kill()
        c.create(thief)
        c.core = c.start_core(*CORE)
        thief, first = (until(lambda name=name: told(c, name), SOON_S, f"{name} is promised a start") for name in ("thief", "first"))
        check(seconds(thief) > seconds(first), thief, first)


def test_kept_over_the_death_of_either_and_both():
    """BF-13: ten gangs of two behind each other; core, frontend, then both are killed."""
    with Cluster(node("n0"), node("n1")) as c:
        c.pair(core=CORE)
        c.create(*gang("a", 2, 1000))
        until(lambda: c.bound("a-") == 2, SOON_S, "a runs")
        names = [f"g{i}" for i in range(10)]
        for i, name in enumerate(names):
            c.create(*gang(name, 2, 100 + 10 * i))
        until(lambda: all(told(c, f"{n}-0") for n in names), 60, "ten promises")
        before = {}
        while not before or before != {n: told(c, f"{n}-0") for n in names}:
            before = {n: told(c, f"{n}-0") for n in names}
            time.sleep(TOLD_S)
        check(len(set(before.values())) == 10, before)
        for who in ((True, False), (False, True), (True, True)):
            if who[0]:
                c.core.kill()
            if who[1]:
                c.frontend.kill()
            if who[0]:
                c.core = c.start_core(*CORE)
            if who[1]:
                c.frontend = c.start_frontend()
                c.ready(c.frontend)
            until(lambda: c.metric("muster_promises") == 10, SOON_S, f"ten promises, {who}")
            until(lambda: all(start(c, n).get("at") for n in names), SOON_S, "all are shown")
            after = {n: start(c, n)["at"] for n in names}
            later = {n: (before[n], after[n]) for n in names if seconds(after[n]) > seconds(before[n])}
            equal(later, {}, f"killed: {who}")
            equal(c.metrics()['muster_promises_moved_total{direction="later",reason="Restarted"}'], 0)


if __name__ == "__main__":
    main(globals(), jobs=2)
