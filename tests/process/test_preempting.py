# SPDX-License-Identifier: Apache-2.0
"""--preemption on: gangs evict pods of lower priority, with the shipped programs on apisim.  The scenarios are those of
test_preemption.py, where the same programs only say who would go."""
import datetime
import json
import os
import random
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import muster, objects  # noqa: E402
from lib.check import is_bound  # noqa: E402
from lib.cluster import Cluster, run  # noqa: E402
from lib.harness import becomes, check, equal, full, main, until  # noqa: E402
from process.test_preemption import BUDGETS, CLASSES, budget, group, nodes, pod, preemption  # noqa: E402

REST_S = 4      # how long nothing more may happen
SOON_S = 40     # a search, evictions, bindings
ROUNDS = 200 if full else 20
JOBS = 8        # clusters at a time: they mostly wait


class Preempting(Cluster):
    """A cluster with these objects, and both daemons."""

    def __init__(self, *made, frontend=("--preemption", "on"), core=(), apisim=(), together=False):
        super().__init__(*CLASSES, *made, apisim=(*BUDGETS, *apisim))
        self.flags, self.together = (core, frontend), together

    def __enter__(self):
        super().__enter__()
        self.before = {p["metadata"]["name"] for p in self.pods() if is_bound(p)}
        if self.together:
            self.up(*self.flags[1])
        else:
            self.pair(core=self.flags[0], frontend=self.flags[1])
        return self

    def __exit__(self, kind, *rest):
        if kind is None:
            # of mode `pod`, or less than its quorum has gone yet
            equal([w for w in self.wrongs() if not w.startswith("gang default/v: ")], [])
            equal(self.metric("muster_world_mismatch_total"), 0)
        super().__exit__(kind, *rest)

    def gone(self):
        """Pods that ran before and have gone, or are going."""
        stay = {p["metadata"]["name"] for p in self.pods() if not p["metadata"].get("deletionTimestamp")}
        return sorted(self.before - stay)

    def starts(self, gang, members, timeout_s=SOON_S):
        until(lambda: self.bound(f"{gang}-") == members, timeout_s,
              lambda: f"{self.bound(gang + '-')} of {members}: {self.ask('explain', 'default/' + gang)}")

    def rests(self, gone, seconds=REST_S):
        """These have gone, and no other goes."""
        time.sleep(seconds)
        equal(self.gone(), sorted(gone))

    def nominated(self, gang):
        return [p["status"].get("nominatedNodeName") for p in self.pods(f"{gang}-")]


def seconds(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def full_nodes(n, priority=0, **more):
    return [pod(f"low-{node}-{i}", priority, f"n{node + 1}", **more) for node in range(n) for i in range(4)]


def names(made):
    return sorted(o["metadata"]["name"] for o in made if o["kind"] == "Pod")


TARGETS = (["muster-core"], ["muster-frontend"], ["muster-core", "muster-frontend"])


def killed(n):
    """One round: kill -9 between ticket and binding; in each fourth six lone pods instead of a gang."""
    rng, begun = random.Random(f"15 {n}"), time.monotonic()
    low = full_nodes(2, terminationGracePeriodSeconds=2)
    with Preempting(*nodes(2), *low, apisim=("--grace-ms", "2000"), together=True,
                    frontend=("--preemption", "on", "--evictions-per-second", str(rng.choice([2, 20])))) as c:
        until(lambda: all(p["status"].get("phase") == "Running" for p in c.pods("low-")), 10, "they run")
        c.create(*([pod(f"g-{i}", 10) for i in range(6)] if n % 4 == 3 else group("g", 10, 6, [None] * 6)))
        who, when = TARGETS[n % 3], rng.choice([1, 2, 4, 6])
        until(lambda: len(c.gone()) >= when or c.bound("g-"), SOON_S, "evictions begin", every_s=0.01)
        time.sleep(rng.uniform(0, 1.0))
        there = c.daemons()
        for name in who:
            if name in there:
                os.kill(there[name], signal.SIGKILL)
        c.starts("g", 6, 90)
        time.sleep(1)
        print(f"round {n} ({time.monotonic() - begun:.1f} s): {'+'.join(w[7:] for w in who)} after {when}: {len(c.gone())} went", flush=True)
        return len(c.gone())


def test_whoever_dies():
    """PRE-15: the gang starts, or the pods do, and no more have gone than one plan has.  The longest test, so it begins."""
    with ThreadPoolExecutor(JOBS) as pool:
        went = list(pool.map(killed, range(ROUNDS)))
    equal(went, [6] * ROUNDS)


def answers_are_right(recording):
    """Searched for again, each answer in it is what it was."""
    def checked():
        code, out, _ = run("musterctl", "check-answers", recording, "-o", "json")
        answer = json.loads(out or "{}")
        return answer.get("answers") and (code, answer["replay_equal"], answer["different"], answer["equal"]) == (
            0, True, 0, answer["answers"])

    until(checked, SOON_S, lambda: run("musterctl", "check-answers", recording))


def test_as_many_go_as_have_to():
    """PRE-5, PRE-1: all eight go and the gang starts; a gang of one costs one pod."""
    low, recording = full_nodes(2), os.path.join(muster.scratch(), "recording")
    with Preempting(*nodes(2), *low, *group("g", 10, 8, [None] * 8), core=("--record", recording)) as c:
        c.starts("g", 8)
        becomes(c.gone, names(low), "who went")
        becomes(lambda: c.metrics()['muster_evictions_total{mode="respect"}'], 8, "evictions")
        becomes(lambda: c.metrics()['muster_preemptions_total{result="placed"}'], 1, "preemptions")
        rows = c.metrics()
        equal([rows[f'muster_preemption_victims_{row}'] for row in ('bucket{le="4"}', 'bucket{le="8"}', "sum", "count")], [0, 1, 8, 1])
        equal([rows[f'muster_preemption_gangs_broken_{row}'] for row in ('bucket{le="0"}', "sum", "count")], [1, 0, 1])
        becomes(lambda: len([e for e in c.client.list("Event") if e["reason"] == "Preempted"]), 8, "events", SOON_S)
        event = next(e for e in c.client.list("Event") if e["reason"] == "Preempted")
        check(event["note"].startswith("Preempted by gang default/g (") and "8 pods make room for 8 members" in event["note"], event)
        equal((event["type"], event["action"]), ("Normal", "Preempting"))
        becomes(lambda: [e["regarding"]["kind"] for e in c.client.list("Event") if e["reason"] == "Preempting"], ["PodGroup"],
                "the preemptor's event", SOON_S)
        becomes(lambda: c.nominated("g"), [None] * 8, "nominations", SOON_S)
        answers_are_right(recording)


def test_a_gang_of_one_costs_one_pod():
    """PRE-1."""
    with Preempting(*nodes(1), *full_nodes(1), *group("g", 10, 1, [None])) as c:
        c.starts("g", 1)
        becomes(lambda: len(c.gone()), 1, "how many went")


def test_a_lone_pod_costs_one_pod():
    """PRE-1 and PRE-2: kube-scheduler's condition and events; one that may not preempt waits."""
    low, recording = full_nodes(2, terminationGracePeriodSeconds=2), os.path.join(muster.scratch(), "recording")
    high = [pod("never", 10, preemptionPolicy="Never"), pod("equal", 0), pod("high-0", 10), pod("high-1", 10)]
    with Preempting(*nodes(2), *low, *high, apisim=("--grace-ms", "2000"), core=("--record", recording)) as c:
        until(lambda: set(c.nominated("high")) & {"n1", "n2"} or c.bound("high-"), SOON_S, "a nomination")
        c.starts("high", 2)
        equal(len(c.gone()), 2)
        equal(c.metrics()['muster_preemptions_total{result="placed"}'], 2)
        until(lambda: len([e for e in c.client.list("Event") if e["reason"] == "Preempted"]) == 2, SOON_S, "events")
        notes = {e["note"] for e in c.client.list("Event") if e["reason"] == "Preempted"}
        equal(notes, {f"Preempted by pod {p['metadata']['uid']} on node {p['spec']['nodeName']}" for p in c.pods("high-")})
        c.rests(c.gone(), 2)
        equal(c.bound("never") + c.bound("equal"), 0)
        answers_are_right(recording)


def test_no_pod_goes_in_vain():
    """PRE-5 with a quorum of nine."""
    with Preempting(*nodes(2), *full_nodes(2), *group("g", 10, 9, [None] * 9)) as c:
        until(lambda: (preemption(c, "g") or {}).get("answer") == "impossible", SOON_S, lambda: c.ask("explain", "default/g"))
        c.rests([])


def nobody_goes(mode, **more):
    with Preempting(*nodes(1), *full_nodes(1), *group("g", 10, 1, [None], **more), frontend=("--preemption", mode)) as c:
        c.rests([], 6)
        equal([p["status"].get("nominatedNodeName") for p in c.pods("g-")], [None])


def test_nobody_goes_by_the_policy():
    """PRE-2."""
    nobody_goes("on", preemptionPolicy="Never")


def test_nobody_goes_with_explain():
    """PRE-2."""
    nobody_goes("explain")


def test_nobody_goes_with_off():
    """PRE-2."""
    nobody_goes("off")


def a_gang_loses(n, mode):
    others = [pod(f"high-{node}-{i}", 9, node) for node in ("n1", "n2") for i in range(2)]
    with Preempting(*nodes(2), *group("v", 0, 4, ["n1", "n1", "n2", "n2"], annotations=mode), *others,
                    *group("g", 5, 1, [None])) as c:
        c.starts("g", 1)
        becomes(lambda: len(c.gone()), n, "how many went")
        check(all(name.startswith("v-") for name in c.gone()), c.gone())


def test_a_gang_goes_as_a_whole():
    """PRE-6."""
    a_gang_loses(4, {})


def test_a_gang_of_mode_pod_loses_one():
    """PRE-6."""
    a_gang_loses(1, {"muster.dev/disruption-mode": "pod"})


def test_pods_of_the_lowest_priority_go():
    """PRE-3: one pod of a higher priority, or four of a lower one."""
    low = [pod(f"low-{i}", 0, "n2") for i in range(4)]
    with Preempting(*nodes(2), pod("mid", 5, "n1", cpu="4"), *low, *group("g", 10, 1, [None], cpu="4")) as c:
        c.starts("g", 1)
        becomes(c.gone, names(low), "who went")


def test_one_larger_pod_goes_rather_than_two():
    """PRE-4."""
    large, small = [pod(f"large-{i}", 0, "n1", cpu="2") for i in range(2)], [pod(f"small-{i}", 0, "n2") for i in range(4)]
    with Preempting(*nodes(2), *large, *small, *group("g", 10, 1, [None], cpu="2")) as c:
        c.starts("g", 1)
        until(lambda: len(c.gone()) == 1, SOON_S, c.gone)
        check(c.gone()[0].startswith("large-"), c.gone())


def test_one_of_two_gangs_goes_and_the_leader_goes_elsewhere():
    """PRE-12: the workers need a whole node, the leader what is free on the third."""
    others = [o for name, node in (("v", "n1"), ("w", "n2")) for o in group(name, 0, 4, [node] * 4)]
    with Preempting(*nodes(3), *others, pod("high", 9, "n3"), *group("g", 5, 5, [None] * 4),
                    pod("g-leader", 5, group="g", cpu="3")) as c:
        c.starts("g", 5)
        until(lambda: c.gone() in (names(others)[:4], names(others)[4:]), SOON_S, c.gone)
        equal(c.client.get("Pod", "g-leader")["spec"]["nodeName"], "n3")


def test_members_that_have_succeeded_count():
    """PRE-22: of a gang of quorum four two have ended well, so two of those that run may go, and two stay."""
    members = group("v", 0, 4, ["n1"] * 6, cpu="500m")
    for made in members[1:3]:
        made["metadata"]["annotations"] = {"muster.io/run-seconds": "0.1"}
    with Preempting(*nodes(1), *members, pod("high", 10, "n1")) as c:
        until(lambda: [p["status"].get("phase") for p in c.pods("v-")] == ["Succeeded"] * 2 + ["Running"] * 4, SOON_S, c.pods)
        c.create(*group("g", 10, 2, [None] * 2))
        c.starts("g", 2)
        becomes(lambda: len(c.gone()), 2, "how many went")
        check(all(name in names(members)[2:] for name in c.gone()), c.gone())


def half_seen(mode):
    """Half of a gang runs on a node that this instance does not have."""
    pools = [objects.node(f"n{pool}", cpu="4", labels={"pool": pool}) for pool in "ab"]
    spread = group("v", 0, 8, ["na"] * 4 + ["nb"] * 4, annotations=mode)
    return Preempting(*pools, *spread, *group("g", 10, 2, [None] * 2), frontend=("--preemption", "on", "--node-selector", "pool=a"))


def test_a_gang_that_is_not_seen_whole():
    """PRE-20: it went whole, also where this instance has no nodes."""
    with half_seen({}) as c:
        until(lambda: (preemption(c, "g") or {}).get("answer") == "impossible", SOON_S, lambda: c.ask("explain", "default/g"))
        c.rests([])


def test_members_on_nodes_that_are_seen():
    """PRE-20: in mode `pod` these go."""
    with half_seen({"muster.dev/disruption-mode": "pod"}) as c:
        c.starts("g", 2)
        becomes(lambda: len(c.gone()), 2, "how many went")
        check(all(name in [f"v-{i}" for i in range(4)] for name in c.gone()), c.gone())


def test_a_gang_is_spared_for_lone_pods():
    """PRE-8."""
    with Preempting(objects.node("n1", cpu="5"), *group("v", 0, 2, ["n1"] * 2), *[pod(f"lone-{i}", 0, "n1") for i in range(3)],
                    *group("g", 10, 2, [None] * 2)) as c:
        c.starts("g", 2)
        until(lambda: len(c.gone()) == 2, SOON_S, c.gone)
        check(all(name.startswith("lone-") for name in c.gone()), c.gone())


def a_gang_or_a_pod(priority, gone, n):
    """A gang of that priority on one node, a pod of priority 5 on the other."""
    with Preempting(*nodes(2), *group("v", priority, 8, ["n1"] * 8, cpu="500m"), pod("one", 5, "n2", cpu="4"),
                    *group("g", 10, 1, [None], cpu="4")) as c:
        c.starts("g", 1)
        check(all(name.startswith(gone) for name in c.gone()), c.gone())
        becomes(lambda: len(c.gone()), n, "how many went")


def test_a_gang_of_low_priority_goes_before_a_pod_of_higher():
    """PRE-9."""
    a_gang_or_a_pod(0, "v-", 8)


def test_a_pod_goes_before_a_gang_of_its_priority():
    """PRE-9."""
    a_gang_or_a_pod(5, "one", 1)


def test_surplus_members_go_one_by_one():
    """PRE-7: of one node the lone pod and one member; the gang lives."""
    made = [o for i in (1, 2) for o in (pod(f"lone-{i}", 0, f"n{i}"),)]
    with Preempting(*nodes(2), *group("v", 0, 4, ["n1"] * 3 + ["n2"] * 3), *made, *group("g", 10, 1, [None], cpu="2")) as c:
        c.starts("g", 1)
        becomes(lambda: sorted(name.split("-")[0] for name in c.gone()), ["lone", "v"], "who went")
        equal(c.wrongs(), [])


def test_the_rack_where_fewer_go():
    """PRE-11."""
    racks = [objects.node(f"{rack}{i}", cpu="4", labels={"rack": rack}) for rack in "ab" for i in range(4)]
    low = [pod(f"low-{rack}{i}", 0, f"{rack}{i % 4}") for rack, n in (("a", 10), ("b", 4)) for i in range(n)]
    with Preempting(*racks, *low, *group("g", 10, 16, [None] * 16, annotations={"muster.dev/required-topology": "rack"})) as c:
        c.starts("g", 16)
        becomes(c.gone, [f"low-b{i}" for i in range(4)], "who went")


def test_a_higher_gang_takes_the_nomination_over():
    """PRE-18: no other pod goes for it, and the first gang goes back."""
    low = full_nodes(1)
    for made in low:
        made["metadata"]["finalizers"] = ["example.com/held"]  # they end for as long as the test wants
    with Preempting(*nodes(1), *low, *group("g", 9, 4, [None] * 4)) as c:
        until(lambda: len(c.gone()) == 4, SOON_S, "they go")
        c.create(*group("h", 10, 4, [None] * 4))
        until(lambda: c.metrics()['muster_preemptions_total{result="taken_over"}'] == 1, SOON_S, lambda: c.ask("explain", "default/h"))
        for made in low:
            c.client.patch("Pod", made["metadata"]["name"], {"metadata": {"finalizers": None}})
        c.starts("h", 4)
        equal((c.bound("g-"), c.gone()), (0, names(low)))
        equal(c.metrics()['muster_preemptions_total{result="taken_over"}'], 1)
        becomes(lambda: c.nominated("g"), [None] * 4, "nominations", SOON_S)


def guarded(n):
    return [pod(f"a-{i}", 0, "n1", {"app": "a"}) for i in range(n)] + [pod("high-1", 10, "n1")]


def in_the_way():
    """A budget of one, where two have to go."""
    return [*nodes(1), *guarded(3), budget("one", 1, app="a"), *group("g", 9, 1, [None], cpu="2")]


def test_budgets():
    """PRE-10: no pod goes if a budget of one stands in the way of two."""
    with Preempting(*in_the_way()) as c:
        until(lambda: (preemption(c, "g") or {}).get("answer") == "impossible", SOON_S, lambda: c.ask("explain", "default/g"))
        c.rests([])
        c.client.patch("PodDisruptionBudget", "one", {"status": {"disruptionsAllowed": 2}})
        c.starts("g", 1, 90)
        becomes(lambda: len(c.gone()), 2, "how many went")
        equal(c.client.get("PodDisruptionBudget", "one")["status"]["disruptionsAllowed"], 0)


def test_budgets_as_best_effort():
    """PRE-10: two go, marked as kube's."""
    with Preempting(*in_the_way(), frontend=("--preemption", "on", "--preemption-budgets", "best-effort")) as c:
        c.starts("g", 1)
        becomes(lambda: len(c.gone()), 2, "how many went")
        becomes(lambda: c.metrics()['muster_evictions_total{mode="best-effort"}'], 2, "evictions")


def test_a_budget_that_refuses_after_all():
    """PRE-25: the API server refuses what the plan counted on: no other pod of that plan goes, another plan follows."""
    late = budget("late", 2, app="a")
    late["status"]["observedGeneration"] = -1  # not yet processed: each eviction is refused
    free = [pod(f"b-{i}", 5, "n2") for i in range(4)]
    with Preempting(*nodes(2), *guarded(2), *[pod("c-0", 0, "n1")], *free, late, *group("g", 9, 1, [None], cpu="3")) as c:
        until(lambda: c.metric("muster_evictions_refused_total") >= 1, SOON_S, lambda: c.ask("explain", "default/g"))
        c.starts("g", 1, 120)
        becomes(lambda: len([name for name in c.gone() if name.startswith("b-")]), 3, "how many of b went")
        becomes(lambda: len(c.gone()), 3, "how many went")
        equal(c.client.get("PodDisruptionBudget", "late")["status"]["disruptionsAllowed"], 2)


def test_what_ends_anyway_is_waited_for():
    """PRE-13: a user deletes a pod with a long grace; the gang needs just that."""
    low = full_nodes(1, terminationGracePeriodSeconds=8)
    with Preempting(*nodes(1), *low, apisim=("--grace-ms", "8000")) as c:
        until(lambda: all(p["status"].get("phase") == "Running" for p in c.pods("low-")), 10, "they run")
        c.client.delete("Pod", "low-0-2", grace_s=8)
        c.create(*group("g", 10, 1, [None]))
        until(lambda: c.nominated("g") == ["n1"] or c.bound("g-"), SOON_S, lambda: c.nominated("g"))
        equal(c.gone(), ["low-0-2"])
        c.starts("g", 1)
        equal(c.gone(), ["low-0-2"])


def test_a_victim_that_does_not_go():
    """PRE-14: with a finalizer; after its grace and --preempt-patience other pods go, once, and none by force."""
    stuck = pod("a-stuck", 0, "n1", cpu="4")
    stuck["metadata"]["finalizers"] = ["example.com/held"]
    with Preempting(*nodes(2), stuck, pod("b-other", 5, "n2", cpu="4"), *group("g", 10, 1, [None], cpu="4"),
                    frontend=("--preemption", "on", "--preempt-patience", "3")) as c:
        until(lambda: c.gone() == ["a-stuck"], SOON_S, "the first")
        c.starts("g", 1, 90)
        becomes(c.gone, ["a-stuck", "b-other"], "who went")
        equal(c.client.get("Pod", "a-stuck")["metadata"]["finalizers"], ["example.com/held"])
        becomes(lambda: c.metrics()['muster_preemptions_total{result="stuck"}'], 1, "preemptions")
        becomes(lambda: [e["note"] for e in c.client.list("Event") if e["reason"] == "PreemptionStuck"],
                ["pod default/a-stuck on node n1 was evicted for it and does not go"], "its event", SOON_S)
        c.client.patch("Pod", "a-stuck", {"metadata": {"finalizers": None}})


def test_the_preemptor_is_deleted():
    """PRE-16: at most those that were sent go, and the rest is withdrawn."""
    low = [pod(f"low-{i:02}", 0, "n1", terminationGracePeriodSeconds=30) for i in range(20)]
    with Preempting(objects.node("n1", cpu="20"), *low, *group("g", 10, 20, [None] * 20), apisim=("--grace-ms", "30000"),
                    frontend=("--preemption", "on", "--evictions-per-second", "1")) as c:
        until(lambda: len(c.gone()) >= 3, SOON_S, "the first")
        until(lambda: "n1" in c.nominated("g"), SOON_S, "a nomination that users see")
        c.client.delete("PodGroup", "g")
        c.delete("Pod", *[f"g-{i}" for i in range(20)])
        becomes(lambda: c.metric("muster_nominations"), 0, "nominations", SOON_S)
        time.sleep(1)
        gone = c.gone()
        check(len(gone) < 20, gone)
        c.rests(gone)
        until(lambda: c.metric("muster_evictions_withdrawn_total") >= 20 - len(gone) - 1, SOON_S, c.metrics)
        equal(c.metric("muster_nominations"), 0)


def test_a_gang_that_was_cut_goes_whole():
    """PRE-16 with a gang in the way: when its first members have gone the others are of no use."""
    victims = group("v", 0, 12, ["n1"] * 12, terminationGracePeriodSeconds=30)
    with Preempting(objects.node("n1", cpu="12"), *victims, *group("g", 10, 12, [None] * 12), apisim=("--grace-ms", "30000"),
                    frontend=("--preemption", "on", "--evictions-per-second", "1")) as c:
        until(lambda: len(c.gone()) >= 3, SOON_S, "the first")
        c.client.delete("PodGroup", "g")
        c.delete("Pod", *[f"g-{i}" for i in range(12)])
        becomes(lambda: c.metric("muster_nominations"), 0, "nominations", SOON_S)
        check(len(c.gone()) < 12, c.gone())
        becomes(lambda: len(c.gone()), 12, "members that went", 30)


def test_freed_room_is_the_gangs():
    """PRE-17: pods that are smaller and come later, of lower priority, don't get it."""
    low = full_nodes(1, terminationGracePeriodSeconds=4)
    with Preempting(*nodes(1), *low, *group("g", 10, 4, [None] * 4), apisim=("--grace-ms", "4000")) as c:
        until(lambda: len(c.gone()) == 4, SOON_S, "they go")
        c.create(*[pod(f"small-{i:02}", 5, cpu="500m") for i in range(20)])
        c.starts("g", 4)
        time.sleep(1)
        equal(c.bound("small-"), 0)


def test_room_elsewhere():
    """PRE-21: what was not sent stays."""
    low = [pod(f"low-{i}", 0, "n1", cpu="500m", terminationGracePeriodSeconds=30) for i in range(20)]
    with Preempting(objects.node("n1", cpu="10"), *low, *group("g", 10, 10, [None] * 10), apisim=("--grace-ms", "30000"),
                    frontend=("--preemption", "on", "--evictions-per-second", "1")) as c:
        until(lambda: len(c.gone()) >= 4, SOON_S, "the first")
        c.create(objects.node("n2", cpu="10"))
        c.starts("g", 10)
        gone = c.gone()
        check(len(gone) < 20, gone)
        equal({p["spec"]["nodeName"] for p in c.pods("g-")}, {"n2"})
        c.rests(gone)


def test_a_minimum_of_running_time():
    """PRE-23."""
    with Preempting(*nodes(1), *full_nodes(1), frontend=("--preemption", "on", "--preempt-min-runtime", "12")) as c:
        until(lambda: all(p["status"].get("phase") == "Running" for p in c.pods("low-")), 10, "they run")
        starts = {p["metadata"]["name"]: seconds(p["status"]["startTime"]) for p in c.pods("low-")}
        c.create(*group("g", 10, 1, [None]))
        until(c.gone, 120, lambda: c.ask("explain", "default/g"))
        ran = time.time() - starts[c.gone()[0]]
        check(ran >= 12, ran)
        c.starts("g", 1, 120)
        becomes(lambda: len(c.gone()), 1, "how many went")


def test_without_the_right_it_explains():
    with Preempting(*nodes(1), *full_nodes(1), frontend=()) as c:
        c.frontend.stop()
        c.arm("deny-access", count=1000)
        c.frontend = c.start_frontend("--preemption", "on")
        c.ready(c.frontend)
        c.create(*group("g", 10, 1, [None]))
        until(lambda: (preemption(c, "g") or {}).get("answer") == "proved", SOON_S, lambda: c.ask("explain", "default/g"))
        c.rests([])
        until(lambda: "falls back to explain" in c.frontend.log(), SOON_S, lambda: c.frontend.log())
        equal(c.metric("muster_evictions_granted"), 0)


if __name__ == "__main__":
    main(globals(), jobs=JOBS)
