# SPDX-License-Identifier: Apache-2.0
"""Promised starts of waiting gangs (docs/promises.md), against muster-apisim: what is told of them, that a gang starts
when it was told, and that the times survive the death of either process or both (BF-13)."""
import calendar
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import objects  # noqa: E402
from lib.cluster import Cluster  # noqa: E402
from lib.harness import check, equal, eventually, main, steady, until  # noqa: E402
from lib.objects import pod_group  # noqa: E402

CORE = ("--promise-depth", "64", "--reserve-after", "0")
FINE = (*CORE, "--promise-grain", "1")
SOON_S = 40.0
TOLD_S = 6.0  # what moved is published in the next tick of 2 s, at most once in 2 s, and written then
TOLD = "muster.dev/promised-start"
JOBS = ("--crd", "batch/v1/jobs/Job/nostatus")
BY_JOBS = ("--job-deadlines",)


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


def job(name, run_s):
    """A Job that starts now; its controller is the test."""
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": {"activeDeadlineSeconds": run_s} if run_s else {},
            "status": {"startTime": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}}


def of_job(c, name, *pods):
    """Its pods, as the Job of that name that is there now would make them."""
    uid = c.client.get("Job", name)["metadata"]["uid"]
    for made in pods:
        if made["kind"] == "Pod":
            made["metadata"]["ownerReferences"] = [{"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": uid, "controller": True}]
    return pods


def on(i):
    return {"kubernetes.io/hostname": f"n{i}"}


def set_deadline(c, name, run_s):
    """Of a cluster at rest: nothing else brings the next cycle."""
    c.client.patch("Job", name, {"spec": {"activeDeadlineSeconds": run_s}})


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


def test_the_deadline_of_a_job_is_the_end_of_its_pods():
    """They have none of their own.  It is edited: to later by name, to earlier, and away."""
    with Cluster(node("n0"), node("n1"), apisim=JOBS) as c:
        c.pair(core=CORE, frontend=BY_JOBS)
        c.create(job("a", 600))
        end = time.time() + 600
        c.create(*of_job(c, "a", *gang("a", 2, None)))
        until(lambda: c.bound("a-") == 2, SOON_S, "a runs")
        c.create(*gang("b", 2, 60))
        first = seconds(until(lambda: told(c, "b-0"), SOON_S, "b is promised a start"))
        # No grace, and the grain of a minute.
        check(end - 2 < first < end + 65, first - end)
        equal(start(c, "b")["ends"], "hard")
        set_deadline(c, "a", 1800)
        later = seconds(until(lambda: (lambda at: at if at and seconds(at) > first + 1000 else None)(told(c, "b-0")), SOON_S, "it moves later"))
        check(end + 1198 < later < end + 1265, later - end)
        moves = until(lambda: start(c, "b").get("moves"), SOON_S, "the ledger has the move")
        equal((moves[0]["reason"], moves[0]["who"]), ("EndOverrun", "default/a"))
        set_deadline(c, "a", 300)
        until(lambda: seconds(told(c, "b-0") or "2100-01-01T00:00:00Z") < first - 200, SOON_S, "it moves earlier")
        set_deadline(c, "a", None)
        until(lambda: c.metric("muster_promises") == 0, SOON_S, "no end, no promise")
        until(lambda: not told(c, "b-0") and start(c, "b") == {}, SOON_S, "which is told")


def test_a_gang_that_waits_has_the_length_of_its_job():
    """As test_backfill_takes_nothing_from_a_promise, with Jobs: only the short one goes before b."""
    with Cluster(node("n0"), node("n1"), apisim=JOBS) as c:
        c.pair(core=CORE, frontend=BY_JOBS)
        suspended = job("suspended", 60)
        suspended["spec"]["suspend"] = True
        c.create(job("a", 900), job("long", 3600), job("none", None), job("short", 60), suspended)
        c.create(*of_job(c, "a", pod("a")))
        until(lambda: c.bound("a") == 1, SOON_S, "a runs")
        c.create(*gang("b", 2, 60))
        until(lambda: told(c, "b-0"), SOON_S, "b is promised a start")
        for name in ("long", "none", "suspended"):
            c.create(*of_job(c, name, *gang(name, 1, None)))
        until(lambda: told(c, "long-0"), SOON_S, "long is promised a start")
        steady(lambda: c.bound() == 1, 3, "they wait")
        before = start(c, "b")["at"]
        c.create(*of_job(c, "short", *gang("short", 1, None)))
        until(lambda: c.bound("short") == 1, SOON_S, "short runs")
        check(seconds(start(c, "b")["at"]) <= seconds(before), "b is not later")


def test_another_job_of_the_same_name_is_another():
    """A Job is deleted with its pod still there, and made anew with a longer deadline: each pod ends by that of its own."""
    with Cluster(node("n0"), node("n1"), apisim=JOBS) as c:
        c.pair(core=CORE, frontend=BY_JOBS)
        c.create(job("a", 600))
        c.create(*of_job(c, "a", pod("old", nodeSelector=on(0))))
        until(lambda: c.bound("old") == 1, SOON_S, "old runs")
        c.create(pod("w0", 60, nodeSelector=on(0)))
        before = until(lambda: told(c, "w0"), SOON_S, "w0 is promised a start")
        c.delete("Job", "a")
        c.create(job("a", 3000))
        c.create(*of_job(c, "a", pod("new", nodeSelector=on(1))))
        until(lambda: c.bound("new") == 1, SOON_S, "new runs")
        c.create(pod("w1", 60, nodeSelector=on(1)))
        at = until(lambda: told(c, "w1"), SOON_S, "w1 is promised a start")
        check(2990 < seconds(at) - time.time() < 3065, at)
        steady(lambda: annotation(c, "w0") == before, TOLD_S, "that of w0 stands")


def test_jobs_are_not_asked_for_by_default():
    with Cluster(node("n0"), apisim=JOBS) as c:
        c.pair(core=CORE)
        c.create(job("a", 60))
        c.create(*of_job(c, "a", pod("a")))
        until(lambda: c.bound("a") == 1, SOON_S, "a runs")
        mine = {what: n for what, n in c.stats()["requests"].items() if "jobs" in what}
        equal(sum(mine.values()), 2, "those of the test")
        c.create(pod("b", 60))
        until(lambda: "Insufficient cpu" in c.why_pending("b"), SOON_S, "b waits")
        steady(lambda: annotation(c, "b") is None, 4, "no end is known")
        equal({what: n for what, n in c.stats()["requests"].items() if "jobs" in what}, mine)


def test_a_server_without_jobs_is_scheduled_for():
    with Cluster(node("n0")) as c:
        c.pair(core=CORE, frontend=BY_JOBS)
        c.create(pod("a", 60))
        until(lambda: c.bound("a") == 1, SOON_S, "a runs")
        check("the cluster has no jobs.batch" in c.frontend.log(), c.frontend.log()[-2000:])


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
    """BF-13: twenty gangs of two behind each other; core, frontend, then both are killed."""
    with Cluster(node("n0"), node("n1")) as c:
        c.pair(core=CORE)
        c.create(*gang("a", 2, 1000))
        until(lambda: c.bound("a-") == 2, SOON_S, "a runs")
        names = [f"g{i}" for i in range(20)]
        for i, name in enumerate(names):
            c.create(*gang(name, 2, 100 + 10 * i))
        until(lambda: all(told(c, f"{n}-0") for n in names), 60, "twenty promises")
        before = {}
        while not before or before != {n: told(c, f"{n}-0") for n in names}:
            before = {n: told(c, f"{n}-0") for n in names}
            time.sleep(TOLD_S)
        check(len(set(before.values())) == 20, before)
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
            until(lambda: c.metric("muster_promises") == 20, SOON_S, f"twenty promises, {who}")
            until(lambda: all(start(c, n).get("at") for n in names), SOON_S, "all are shown")
            after = {n: start(c, n)["at"] for n in names}
            later = {n: (before[n], after[n]) for n in names if seconds(after[n]) > seconds(before[n])}
            equal(later, {}, f"killed: {who}")
            equal(c.metrics()['muster_promises_moved_total{direction="later",reason="Restarted"}'], 0)


def test_window():
    """A start further ahead than the window is not promised, until an edit brings it inside."""
    with Cluster(node("n0")) as c:
        c.pair(core=(*FINE, "--promise-window", "300"))
        c.create(pod("a", 2000))
        until(lambda: c.bound("a") == 1, SOON_S, "a runs")
        c.create(*gang("b", 1, 100))
        until(lambda: "Insufficient cpu" in (c.why_pending("b-0") or ""), SOON_S, "b waits")
        steady(lambda: not start(c, "b") and annotation(c, "b-0") is None, TOLD_S, "its end is beyond the window")
        c.client.patch("Pod", "a", {"spec": {"activeDeadlineSeconds": 200}})
        at = until(lambda: told(c, "b-0"), SOON_S, "b is promised a start")
        check(seconds(at) <= time.time() + 300, at)


if __name__ == "__main__":
    main(globals(), jobs=2)
