# SPDX-License-Identifier: Apache-2.0
"""--preemption on, on a real kube-apiserver: pods go by its Eviction API, which checks PodDisruptionBudgets that
kube-controller-manager's disruption controller keeps.  PRE-1 to PRE-25 are scenarios that
tests/process/test_preempting.py and test_preempting_beside.py have on apisim, too.  Not here:

    PRE-15  kills each program twice; 200 times, at random moments, on apisim
    PRE-24  a gang of 1,000 on 5,000 nodes: muster-bench preempt, and unit/ctl/preempt/test_blocks

    tests/real/test_preemption.py [TEST...]      MUSTER_KEEP=1 keeps the logs
"""
import contextlib
import datetime
import os
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import kube, muster, successors  # noqa: E402
from lib.check import condition  # noqa: E402
from lib.cluster import run as run_program  # noqa: E402
from lib.harness import Skip, becomes, check, equal, main, until  # noqa: E402
from lib.objects import node, pod, pod_group  # noqa: E402
from lib.successors import Successors  # noqa: E402
from process.test_extender import Asker  # noqa: E402
from real import cluster  # noqa: E402
from real.kube_scheduler import KubeScheduler  # noqa: E402
from real.kubelet import Kubelets  # noqa: E402
from real.test_extender import config_for  # noqa: E402
from real.version import is_at_least  # noqa: E402
from real.world import SOON_S, World, machines  # noqa: E402

cluster.CONTROLLERS += ("disruption",)
RIGHTS = cluster.DEPLOY / "preemption" / "evictions.yaml"
REST_S = 3  # how long nothing more may happen
HELD = "example.com/held"
NEVER = "p10-never"
ANSWERED = 'muster_preemption_tickets_total{event="answered"}'


class Preempting(World):
    """With the right to evict, which muster asks for as it starts."""

    def start_muster(self):
        self.admin.apply_yaml(RIGHTS.read_text(encoding="utf-8"))
        return super().start_muster()

    @contextlib.contextmanager
    def musters(self, *flags):
        """One with each of these flags instead of that of the other tests, which fresh() starts again."""
        self.muster.stop()
        others = [muster.Muster(self.cluster.muster_kubeconfig, os.path.join(self.folder, f"muster-{i}"), *more)
                  for i, more in enumerate(flags)]
        try:
            for self.muster in reversed(others):
                self.muster.wait_ready()
            yield others
        finally:
            for other in others:
                other.stop()

    def sweep(self):
        for p in self.admin.list("Pod"):
            if p["metadata"].get("finalizers"):
                self.release(p["metadata"]["name"])
        super().sweep()
        self.empty("PodDisruptionBudget")

    def release(self, name):
        self.admin.patch("Pod", name, {"metadata": {"finalizers": None}})

    def runs(self, *made):
        """A cluster of these objects, in which all that is bound runs before there is anything to bind."""
        waits = [o for o in made if o["kind"] == "Pod" and not o["spec"].get("nodeName")]
        self.fresh(*(o for o in made if o not in waits))
        self.before = {o["metadata"]["name"] for o in made if o["kind"] == "Pod" and o not in waits}
        until(lambda: self.running() == len(self.before), SOON_S, "they run")
        self.create(*waits)

    def later(self, *made):
        """More of them, which started in a later second than all before."""
        last = max(p["status"]["startTime"] for p in self.pods())
        until(lambda: f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%dT%H:%M:%SZ}" > last, SOON_S, "a second")
        self.create(*made)
        self.before |= {o["metadata"]["name"] for o in made if o["kind"] == "Pod"}
        until(lambda: self.running() == len(self.before), SOON_S, "they run")

    def rests(self):
        """No more go."""
        before = self.gone()
        time.sleep(REST_S)
        equal(self.gone(), before)

    def nominated(self, prefix):
        return [p["status"].get("nominatedNodeName") for p in self.pods(prefix)]

    def gone(self):
        """Pods that ran before and have gone, or are going."""
        return sorted(self.before - {p["metadata"]["name"] for p in self.pods() if not p["metadata"].get("deletionTimestamp")})

    def starts(self, gang, size):
        with self.told(gang):
            until(lambda: self.running(f"{gang}-") == size, SOON_S, lambda: f"{self.running(gang + '-')} of {size} run")

    def starts_alone(self, name):
        with self.told(name):
            until(lambda: self.running(name) == 1, SOON_S, f"{name} runs")

    def allowed(self, name, wanted):
        """The disruption controller's figure."""
        until(lambda: self.admin.get("PodDisruptionBudget", name).get("status", {}).get("disruptionsAllowed") == wanted, SOON_S,
              lambda: self.admin.get("PodDisruptionBudget", name))

    def will_not_start(self, gang):
        until(lambda: "Preemption would not start it" in self.explained(gang), SOON_S, lambda: self.explained(gang))

    def explained(self, gang):
        return run_program("musterctl", "explain", "--socket", self.muster.socket, f"default/{gang}")[1]

    def metric(self, name):
        return sum(value for key, value in kube.metrics(self.muster.listen).items() if key.startswith(name))


def priorities():
    return [{"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value, **policy}
            for name, value, policy in (("p0", 0, {}), ("p5", 5, {}), ("p9", 9, {}), ("p10", 10, {}), (NEVER, 10, {"preemptionPolicy": "Never"}))]


def budget(name, least, app):
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name, "namespace": "default"},
            "spec": {"selector": {"matchLabels": {"app": app}}, "minAvailable": least}}


def runs_on(node, names, priority=0, held=False, **more):
    made = [pod(name, nodeName=node, priorityClassName=f"p{priority}", **more) for name in names]
    for obj in made if held else ():
        obj["metadata"]["finalizers"] = [HELD]
    return made


def gang(name, priority, size, cpu="1", **more):
    return [pod_group(name, size),
            *[pod(f"{name}-{i}", cpu=cpu, group=name, priorityClassName=f"p{priority}", **more) for i in range(size)]]


def group(name, quorum, mode="quorum"):
    """Of a gang that may be evicted so."""
    made = pod_group(name, quorum)
    made["metadata"]["annotations"] = {"muster.dev/disruption-mode": mode}
    return made


def machine(name, cpu="4", **labels):
    return node(name, cpu=cpu, labels=labels)


def lone(name, priority, cpu="1", **more):
    return pod(name, cpu=cpu, **{"priorityClassName": f"p{priority}", **more})


def names(prefix, n, joint="-"):
    return [f"{prefix}{joint}{i}" for i in range(n)]


def test_as_few_as_have_to_go_and_nominations_are_seen():
    """A gang of two, full nodes: two lone pods of the lowest priority go.  They stay for as long as something holds them, and the
    members have the node in status.nominatedNodeName for so long."""
    world.runs(*machines(3, cpu="4"), *runs_on("n00", names("low", 3), held=True), *runs_on("n00", ["high"], 10),
               *runs_on("n01", names("mid", 4), 5), *runs_on("n02", names("top", 4), 10))
    world.create(*gang("g", 10, 2))
    with world.told("g"):
        until(lambda: [p["status"].get("nominatedNodeName") for p in world.pods("g-")] == ["n00"] * 2, SOON_S, "nominations")
        until(lambda: len(world.gone()) == 2, SOON_S, world.gone)
    gone = world.gone()
    check(all(name.startswith("low-") for name in gone), gone)
    for name in gone:
        found = condition(world.admin.get("Pod", name), "DisruptionTarget")
        equal((found["status"], found["reason"]), ("True", "EvictionByEvictionAPI"))
    equal(world.bound("g-"), 0)
    for name in gone:
        world.release(name)
    world.starts("g", 2)
    equal(world.gone(), gone)
    nominated = None if is_at_least(35) else "n00"  # gate ClearingNominatedNodeNameAfterBinding
    becomes(lambda: [(p["spec"]["nodeName"], p["status"].get("nominatedNodeName")) for p in world.pods("g-")],
            [("n00", nominated)] * 2)
    until(lambda: all(world.notes(name, "Preempted") for name in gone), SOON_S, "their events")


def test_a_gang_goes_whole():
    """Of a gang that would be less than its quorum all pods go, those on another node as well."""
    victims = [pod_group("v", 4), *runs_on("n00", ["v-0", "v-1"], group="v"), *runs_on("n01", ["v-2", "v-3"], group="v")]
    world.runs(*machines(2, cpu="4"), *victims, *runs_on("n00", names("a", 2), 5), *runs_on("n01", names("b", 2), 5))
    world.create(*gang("g", 5, 1))
    world.starts("g", 1)
    until(lambda: world.gone() == names("v", 4), SOON_S, world.gone)


def test_a_budget_is_respected():
    """Two of three pods of a budget that allows one would have to go: two others of a higher priority go.  Then there are no
    others: nobody goes, until the budget allows two."""
    world.runs(*machines(2, cpu="4"), *runs_on("n00", names("a", 3), labels={"app": "a"}), *runs_on("n00", ["high-0"], 10),
               *runs_on("n01", names("b", 3), 5), *runs_on("n01", ["high-1"], 10), budget("two-stay", 2, "a"))
    world.allowed("two-stay", 1)
    world.create(*gang("g", 10, 1, cpu="2"))
    world.starts("g", 1)
    becomes(lambda: len(world.gone()), 2, "how many went")
    check(all(name.startswith("b-") for name in world.gone()), world.gone())
    world.create(*gang("h", 10, 1, cpu="3"))
    world.will_not_start("h")
    before = world.gone()
    world.rests()
    world.admin.patch("PodDisruptionBudget", "two-stay", {"spec": {"minAvailable": 0}})
    world.starts("h", 1)
    becomes(world.gone, sorted({*before, *names("a", 3)}), "who went")


def test_the_server_refuses_what_the_plan_counted_on():
    """PRE-25: the disruption controller stands still, and a change of the budget is not in its status yet: each eviction is
    refused.  Nobody of that budget goes; others do, of a higher priority, until there are none."""
    world.runs(*machines(2, cpu="4"), *runs_on("n00", names("a", 4), labels={"app": "a"}), *runs_on("n01", names("b", 2), 5),
               *runs_on("n01", names("top", 2), 10), budget("late", 2, "a"))
    world.allowed("late", 2)
    controllers = world.cluster.running["kube-controller-manager"].pid
    os.kill(controllers, signal.SIGSTOP)
    try:
        world.admin.patch("PodDisruptionBudget", "late", {"spec": {"minAvailable": 1}})
        refused = world.metric("muster_evictions_refused_total")
        world.create(*gang("g", 10, 2))
        until(lambda: world.metric("muster_evictions_refused_total") > refused, SOON_S, lambda: world.explained("g"))
        world.starts("g", 2)
        equal(world.gone(), names("b", 2))
        world.create(*gang("h", 10, 2))
        world.rests()
        equal((world.gone(), world.bound("h-")), (names("b", 2), 0))
    finally:
        os.kill(controllers, signal.SIGCONT)


def test_a_lone_pod_costs_one_pod():
    """PRE-1: the youngest goes, with its condition and kube-scheduler's event.  PRE-2: a pod that may not preempt waits."""
    world.runs(*machines(1, cpu="4"), *runs_on("n00", names("low", 3)))
    older = max(p["status"]["startTime"] for p in world.pods("low-"))
    world.create(lone("low-3", 0))
    until(lambda: world.running("low-") == 4, SOON_S, "the fourth runs")
    world.before.add("low-3")
    started = {p["metadata"]["name"]: p["status"]["startTime"] for p in world.pods("low-")}
    world.create(lone("never", 10, priorityClassName=NEVER))
    world.waits("never", "Insufficient cpu")
    equal(world.gone(), [])
    world.create(lone("high", 10))
    world.starts_alone("high")
    equal(len(world.gone()), 1)
    gone, uid = world.gone()[0], world.admin.get("Pod", "high")["metadata"]["uid"]
    # Starts have whole seconds: of equal ones the last name goes.
    equal(started[gone], max(started.values()))
    check(gone == "low-3" or started["low-3"] == older, gone, started)
    until(lambda: world.notes(gone, "Preempted"), SOON_S, "its event")
    equal(world.notes(gone, "Preempted")[0]["note"], f"Preempted by pod {uid} on node n00")
    equal(world.bound("never"), 0)


def test_a_lone_pod_takes_the_lowest_and_the_fewest():
    """PRE-3: four of priority 0, not one of priority 5.  PRE-4: one of two, not two of four."""
    world.runs(*machines(2, cpu="4"), *runs_on("n00", ["big"], 5, cpu="4"), *runs_on("n01", names("low", 4)))
    world.create(lone("high", 10, "4"))
    world.starts_alone("high")
    equal(world.gone(), names("low", 4))
    world.runs(*machines(2, cpu="4"), *runs_on("n00", names("two", 2), cpu="2"), *runs_on("n01", names("low", 4)))
    world.create(lone("high", 10, "2"))
    world.starts_alone("high")
    equal([name[:4] for name in world.gone()], ["two-"])


def test_a_lone_pod_breaks_a_gang_whole():
    """PRE-6: of a gang that would be less than its quorum all pods go, those on another node as well."""
    victims = [pod_group("v", 4), *runs_on("n00", ["v-0", "v-1"], group="v"), *runs_on("n01", ["v-2", "v-3"], group="v")]
    world.runs(*machines(2, cpu="4"), *victims, *runs_on("n00", names("a", 2), 10), *runs_on("n01", names("b", 2), 10))
    world.create(lone("high", 5))
    world.starts_alone("high")
    until(lambda: world.gone() == names("v", 4), SOON_S, world.gone)


def test_a_lone_pod_respects_a_budget():
    """PRE-10: three of a budget that allows one are spared, and three others go.  Without those nobody goes, until the budget
    allows it."""
    world.runs(*machines(2, cpu="3"), *runs_on("n00", names("a", 3), labels={"app": "a"}), *runs_on("n01", names("b", 3)),
               budget("two-stay", 2, "a"))
    world.allowed("two-stay", 1)
    world.create(lone("first", 10, "2"))
    world.starts_alone("first")
    becomes(lambda: len(world.gone()), 2, "how many went")
    check(all(name.startswith("b-") for name in world.gone()), world.gone())
    before, answered = world.gone(), world.metric(ANSWERED)
    world.create(lone("second", 10, "2", nodeSelector={"kubernetes.io/hostname": "n00"}))
    world.waits("second", "Insufficient cpu")
    until(lambda: world.metric(ANSWERED) > answered, SOON_S, "an answer")
    time.sleep(REST_S)
    equal(world.gone(), before)
    world.admin.patch("PodDisruptionBudget", "two-stay", {"spec": {"minAvailable": 1}})
    world.starts_alone("second")
    becomes(lambda: len([name for name in world.gone() if name.startswith("a-")]), 2, "how many went")


def test_a_lone_pod_waits_for_what_ends():
    """PRE-13: a pod that somebody deleted ends, and takes its time: no other pod goes."""
    world.runs(*machines(1, cpu="4"), *runs_on("n00", ["ends"], held=True), *runs_on("n00", names("low", 3)))
    world.delete("Pod", "ends")
    until(lambda: world.admin.get("Pod", "ends")["metadata"].get("deletionTimestamp"), SOON_S, "it ends")
    world.create(lone("high", 10))
    until(lambda: world.admin.get("Pod", "high")["status"].get("nominatedNodeName") == "n00", SOON_S, "its nomination")
    time.sleep(REST_S)
    equal((world.gone(), world.bound("high")), (["ends"], 0))
    world.release("ends")
    world.starts_alone("high")
    equal(world.gone(), ["ends"])


def test_nobody_goes_unless_on():
    """PRE-2: with `off` and `explain` nobody goes, and the latter names who goes with `on`."""
    made = [*machines(1, cpu="4"), *runs_on("n00", names("low", 4)), *gang("g", 10, 1)]
    with world.musters(("--preemption", "off")):
        world.runs(*made)
        world.waits("g-", "Insufficient cpu")
        equal((world.gone(), world.nominated("g-")), ([], [None]))
    with world.musters(("--preemption", "explain")):
        until(lambda: world.muster.ctl("explain", "default/g", check=False)["preemption"]["answer"] == "proved", SOON_S,
              lambda: world.explained("g"))
        named = world.muster.ctl("explain", "default/g", check=False)["preemption"]["victims"]
        equal((world.gone(), world.nominated("g-")), ([], [None]))
    world.muster = world.start_muster()
    world.starts("g", 1)
    equal([f"default/{name}" for name in world.gone()], named)


def test_all_go_or_none():
    """PRE-5: all eight go for a gang of eight, nobody for one of nine."""
    world.runs(*machines(2, cpu="4"), *runs_on("n00", names("a", 4)), *runs_on("n01", names("b", 4)), *gang("h", 10, 9))
    world.will_not_start("h")
    equal(world.gone(), [])
    world.create(*gang("g", 10, 8))
    world.starts("g", 8)
    equal(world.gone(), names("a", 4) + names("b", 4))


def test_a_gang_of_mode_pod_loses_one():
    """PRE-6, in mode `pod`."""
    victims = [group("v", 4, "pod"), *runs_on("n00", ["v-0", "v-1"], group="v"), *runs_on("n01", ["v-2", "v-3"], group="v")]
    world.runs(*machines(2, cpu="4"), *victims, *runs_on("n00", names("a", 2), 9), *runs_on("n01", names("b", 2), 9))
    world.create(lone("high", 5))
    world.starts_alone("high")
    equal([name[:2] for name in world.gone()], ["v-"])


def test_surplus_members_go_one_by_one():
    """PRE-7: the lone pod and one member, of the node where they started later; the gang lives."""
    world.runs(*machines(2, cpu="4"), pod_group("v", 4), *runs_on("n00", names("v", 3), group="v"), *runs_on("n00", ["lone-0"]))
    world.later(*runs_on("n01", ["v-3", "v-4", "v-5"], group="v"), *runs_on("n01", ["lone-1"]))
    world.create(lone("high", 10, "2"))
    world.starts_alone("high")
    equal(world.gone(), ["lone-1", "v-5"])


def test_a_gang_is_spared_for_lone_pods():
    """PRE-8: though it is younger."""
    world.runs(*machines(1, cpu="5"), *runs_on("n00", names("lone", 3)))
    world.later(pod_group("v", 2), *runs_on("n00", names("v", 2), group="v"))
    world.create(*gang("g", 10, 2))
    world.starts("g", 2)
    equal([name[:5] for name in world.gone()], ["lone-"] * 2)


def test_a_gang_or_a_pod():
    """PRE-9: the gang of a lower priority goes before a pod, and a pod before a gang of its priority."""
    for priority, gone in ((0, names("v", 8)), (5, ["one"])):
        world.runs(*machines(2, cpu="4"), pod_group("v", 8), *runs_on("n00", names("v", 8), priority, group="v", cpu="500m"),
                   *runs_on("n01", ["one"], 5, cpu="4"))
        world.create(lone("high", 10, "4"))
        world.starts_alone("high")
        becomes(world.gone, gone, "who went")


def test_a_budget_is_exceeded_by_best_effort():
    """PRE-10: two go where the budget allows one, by a DELETE and with kube-scheduler's condition."""
    rights = RIGHTS.read_text(encoding="utf-8").replace("#- apiGroups", "- apiGroups").replace("#  ", "  ")
    world.admin.apply_yaml(rights)  # those that its comment has instead
    with world.musters(("--preemption", "on", "--preemption-budgets", "best-effort")):
        world.runs(*machines(1, cpu="4"), *runs_on("n00", names("a", 3), held=True, labels={"app": "a"}),
                   *runs_on("n00", ["top"], 10), budget("two-stay", 2, "a"))
        world.allowed("two-stay", 1)
        world.create(lone("high", 10, "2"))
        becomes(lambda: len(world.gone()), 2, "how many went")
        for name in world.gone():
            equal(condition(world.admin.get("Pod", name), "DisruptionTarget")["reason"], "PreemptionByScheduler")
            world.release(name)
        world.starts_alone("high")
        equal(len(world.gone()), 2)


def test_the_rack_where_fewer_go():
    """PRE-11."""
    racks = [machine(f"{rack}{i}", rack=rack) for rack in "ab" for i in range(4)]
    low = [p for rack, n in (("a", 10), ("b", 4)) for i in range(n) for p in runs_on(f"{rack}{i % 4}", [f"low-{rack}{i}"])]
    members = gang("g", 10, 16)
    for member in members[1:]:
        member["metadata"]["annotations"] = {"muster.dev/required-topology": "rack"}
    world.runs(*racks, *low, *members)
    world.starts("g", 16)
    equal(world.gone(), names("low-b", 4, ""))


def test_one_of_two_gangs_goes_and_the_leader_goes_elsewhere():
    """PRE-12: one node for the workers, and the third has room for the leader."""
    world.runs(*machines(3, cpu="4"), pod_group("v", 4), *runs_on("n00", names("v", 4), group="v"), pod_group("w", 4),
               *runs_on("n01", names("w", 4), group="w"), *runs_on("n02", ["top"], 9))
    world.create(pod_group("g", 5), lone("g-leader", 5, "3", group="g"), *gang("g", 5, 4)[1:])
    world.starts("g", 5)
    check(world.gone() in (names("v", 4), names("w", 4)), world.gone())
    equal(world.admin.get("Pod", "g-leader")["spec"]["nodeName"], "n02")


def test_a_victim_that_does_not_go():
    """PRE-14: its node is dead, so nothing ends it.  After its time others go, once; nothing deletes it by force."""
    with world.musters(("--preemption", "on", "--preempt-patience", "3")):
        world.runs(*machines(2, cpu="4"), *runs_on("n00", ["stuck"], cpu="4", held=True), *runs_on("n01", ["other"], 5, cpu="4"))
        world.create(*gang("g", 10, 1, "4"))
        world.starts("g", 1)
        equal((world.gone(), world.bound("g-")), (["other", "stuck"], 1))
        check(world.admin.get("Pod", "stuck")["metadata"]["deletionTimestamp"])
        becomes(lambda: [e["note"] for e in world.notes("g", "PreemptionStuck")],
                ["pod default/stuck on node n00 was evicted for it and does not go"], "its event")


def test_whoever_dies():
    """PRE-15: six go, whoever dies while they do."""
    with world.musters(("--preemption", "on", "--evictions-per-second", "2")):
        for dies in (["muster-core"], ["muster-frontend"], ["muster-core", "muster-frontend"]):
            world.runs(*machines(2, cpu="4"), *runs_on("n00", names("a", 4), held=True), *runs_on("n01", names("b", 4), held=True))
            world.create(*gang("g", 10, 6))
            until(lambda: 2 <= len(world.gone()), SOON_S, "evictions begin", every_s=0.01)
            for pid in [world.muster.daemon_pid(name) for name in dies]:
                os.kill(pid, signal.SIGKILL)
            becomes(lambda: len(world.gone()), 6, f"how many went, {dies} killed")
            for name in world.gone():
                world.release(name)
            world.starts("g", 6)
            equal(len(world.gone()), 6, dies)


def test_what_was_not_sent_stays():
    """PRE-16: the preemptor is deleted while its evictions are paced.  PRE-21: there is room elsewhere meanwhile."""
    low = runs_on("n00", [f"low-{i:02}" for i in range(20)], cpu="500m")
    with world.musters(("--preemption", "on", "--evictions-per-second", "1")):
        world.runs(machine("n00", "10"), *low)
        world.create(*gang("g", 10, 10))
        until(lambda: len(world.gone()) >= 2, SOON_S, "the first")
        world.delete("PodGroup", "g")
        for name in names("g", 10):
            world.delete("Pod", name)
        becomes(lambda: world.metric("muster_nominations"), 0, "nominations")
        time.sleep(1)  # one in flight
        check(len(world.gone()) < 20, world.gone())
        world.rests()
        # Held, so that n00 is full however late n01 comes.
        world.runs(machine("n00", "10"), *runs_on("n00", names("held", 20), cpu="500m", held=True))
        world.create(*gang("g", 10, 10))
        until(lambda: len(world.gone()) >= 2, SOON_S, "the first")
        world.create(machine("n01", "10"))
        world.starts("g", 10)
        check(len(world.gone()) < 20, world.gone())
        equal({p["spec"]["nodeName"] for p in world.pods("g-")}, {"n01"})
        for name in world.gone():
            world.release(name)


def test_freed_room_is_the_gangs():
    """PRE-17: twenty smaller pods of a lower priority that come meanwhile don't get it."""
    world.runs(*machines(1, cpu="4"), *runs_on("n00", names("low", 4), held=True))
    world.create(*gang("g", 10, 4))
    until(lambda: len(world.gone()) == 4, SOON_S, "they go")
    world.create(*[lone(name, 5, "500m") for name in names("small", 20)])
    world.waits("small-", "Insufficient cpu|n00")
    for name in world.gone():
        world.release(name)
    world.starts("g", 4)
    equal(world.bound("small-"), 0)


def test_a_higher_gang_takes_the_nomination_over():
    """PRE-18: no other pod goes for it, and the first gang goes back to the queue."""
    over = world.metric('muster_preemptions_total{result="taken_over"}')
    world.runs(*machines(1, cpu="4"), *runs_on("n00", names("low", 4), held=True))
    world.create(*gang("g", 9, 4))
    until(lambda: len(world.gone()) == 4, SOON_S, "they go")
    world.create(*gang("h", 10, 4))
    until(lambda: world.metric('muster_preemptions_total{result="taken_over"}') == over + 1, SOON_S, lambda: world.explained("h"))
    for name in world.gone():
        world.release(name)
    world.starts("h", 4)
    equal((world.bound("g-"), world.gone()), (0, names("low", 4)))
    becomes(lambda: world.nominated("g-"), [None] * 4, "nominations")


def test_a_gang_of_two_instances():
    """PRE-20: what neither sees whole is no candidate of either; in mode `pod` each takes on its own nodes."""
    with world.musters(*(("--preemption", "on", "--preempt-victims", "all", "--scheduler-name", f"muster-{pool}",
                          "--node-selector", f"pool={pool}") for pool in "ab")) as instances:
        for mode in ("whole", "pod"):
            members = [p for pool in "ab" for p in runs_on(f"n{pool}", [f"v-{pool}{i}" for i in range(4)], group="v",
                                                           schedulerName=f"muster-{pool}")]
            world.runs(machine("na", pool="a"), machine("nb", pool="b"), group("v", 4, mode), *members)
            world.create(*gang("a", 10, 2, schedulerName="muster-a"), *gang("b", 10, 2, schedulerName="muster-b"))
            if mode == "whole":
                for world.muster in reversed(instances):
                    world.will_not_start("ab"[instances.index(world.muster)])
                equal((world.gone(), world.bound("a-"), world.bound("b-")), ([], 0, 0))
                continue
            for name in "ab":
                world.starts(name, 2)
            equal([name[:3] for name in world.gone()], ["v-a"] * 2 + ["v-b"] * 2)


def test_members_that_have_succeeded_count():
    """PRE-22: of a gang of quorum four two have ended well, so two of those that run may go."""
    members = runs_on("n00", names("v", 6), group="v", cpu="500m")
    for member in members[:2]:
        member["metadata"]["annotations"] = {"muster.io/run-seconds": "0.1"}
    world.fresh(*machines(1, cpu="4"), pod_group("v", 4), *members)
    until(lambda: [p["status"].get("phase") for p in world.pods("v-")] == ["Succeeded"] * 2 + ["Running"] * 4, SOON_S, "two end")
    world.before = set(names("v", 6))
    world.create(*runs_on("n00", ["top"], 10, cpu="2"))
    until(lambda: world.running("top") == 1, SOON_S, "the node is full")
    world.create(*gang("g", 10, 2, "500m"))
    world.starts("g", 2)
    becomes(lambda: len(world.gone()), 2, "how many went")
    check(set(world.gone()) < {f"v-{i}" for i in range(2, 6)}, world.gone())


def test_a_minimum_of_running_time():
    """PRE-23."""
    with world.musters(("--preemption", "on", "--preempt-min-runtime", "4")):
        world.runs(*machines(1, cpu="4"), *runs_on("n00", names("low", 4)))
        world.create(*gang("g", 10, 1))
        until(world.gone, SOON_S, lambda: world.explained("g"))
        went = time.time()
        world.starts("g", 1)
        equal(len(world.gone()), 1)
        begun = min(p["status"]["startTime"] for p in world.pods("low-"))
        check(went - datetime.datetime.fromisoformat(begun.replace("Z", "+00:00")).timestamp() >= 4, begun, went)


def theirs_runs(scheduler=successors.SCHEDULER):
    """A pod of another scheduler on three of five cores; its successors, of two, find room at once."""
    world.runs(*machines(1, cpu="5"), successors.pod("first", "n00", cpu="3", scheduler=scheduler, priorityClassName="p0"))


def lost():
    return world.metric('muster_preemptions_total{result="lost"}')


def test_a_scheduler_that_fills_each_hole():
    """PRE-19 without the extender: the second try is ten seconds after the first, and the reason names who took the room."""
    theirs_runs()
    before = lost()
    with Successors(world.cluster.admin(), priorityClassName="p0") as theirs:
        world.create(*gang("g", 10, 1, "4"))
        until(lambda: lost() == before + 1, SOON_S, lambda: world.explained("g"))
        world.waits("g-0", "Capacity that it was to have was taken by pod default/next-1 of scheduler theirs.")
        until(lambda: lost() == before + 2, SOON_S, lambda: world.explained("g"))
        equal([name for _, name in theirs.went], ["first", "next-1"])
        check(theirs.went[1][0] - theirs.went[0][0] >= 9, theirs.went)
        equal(world.bound("g-"), 0)


def test_a_scheduler_that_asks_the_extender():
    """PRE-19: the gang is bound in one go, and no successor on its room."""
    theirs_runs()
    asker, before = Asker(world.muster), lost()
    with Successors(world.cluster.admin(), lambda waiting, node: node in asker.ask("/filter", waiting, NodeNames=[node])["NodeNames"],
                    priorityClassName="p0") as theirs:
        world.create(*gang("g", 10, 1, "4"))
        world.starts("g", 1)
        time.sleep(REST_S)
        equal(([name for _, name in theirs.went], world.bound("next-"), lost() - before), (["first"], 0, 0))
        check(theirs.refused > 0, "the extender was not asked")


@contextlib.contextmanager
def kube_scheduler(config=None):
    """The real one, which has the successors."""
    program = cluster.built("kube-scheduler")
    if not program:
        raise Skip("kube-scheduler is not built; tests/real/build.sh kube-scheduler does it in some minutes")
    theirs_runs(successors.REAL)
    with KubeScheduler(program, world.cluster.admin_kubeconfig, muster.scratch("muster-theirs-"), config) as running:
        until(running.ready, 60, "kube-scheduler's /readyz")
        with Successors(world.cluster.admin(), real=True, priorityClassName="p0") as theirs:
            yield theirs


def test_kube_scheduler_fills_each_hole():
    """PRE-19 without the extender, with the real kube-scheduler."""
    before = lost()
    with kube_scheduler() as theirs:
        world.create(*gang("g", 10, 1, "4"))
        until(lambda: lost() == before + 1, SOON_S, lambda: world.explained("g"))
        world.waits("g-0", "Capacity that it was to have was taken by pod default/next-1 of scheduler default-scheduler.")
        until(lambda: lost() == before + 2, SOON_S, lambda: world.explained("g"))
        equal([name for _, name in theirs.went], ["first", "next-1"])
        check(theirs.went[1][0] - theirs.went[0][0] >= 9, theirs.went)
        equal(world.bound("g-"), 0)


def test_kube_scheduler_asks_the_extender():
    """PRE-19, with the real kube-scheduler: the gang is bound in one go, and no successor on its room."""
    before = lost()
    with kube_scheduler(config_for(world.cluster.admin_kubeconfig, world.muster.listen)) as theirs:
        world.create(*gang("g", 10, 1, "4"))
        world.starts("g", 1)
        time.sleep(REST_S)
        equal(([name for _, name in theirs.went], world.bound("next-"), lost() - before), (["first"], 0, 0))
        check(theirs.refused > 0, "the extender was not asked")


def test_nothing_was_forbidden_and_every_kubelet_got_through():
    equal(world.cluster.refusals(), 0, "requests not allowed")
    equal(kubelets.errors, [], "what kubelets couldn't write")


if __name__ == "__main__":
    muster.exit_on_sigterm()
    with Preempting(flags=("--preemption", "on", "--preempt-victims", "all", "--extender-keep", "30"), controllers=True) as world, \
            Kubelets(world.cluster.admin_kubeconfig) as kubelets:
        for made in priorities():
            world.admin.create(made)
        main(globals())
