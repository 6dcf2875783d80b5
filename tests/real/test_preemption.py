# SPDX-License-Identifier: Apache-2.0
"""--preemption on, on a real kube-apiserver: pods go by its Eviction API, which checks PodDisruptionBudgets that
kube-controller-manager's disruption controller keeps.

    tests/real/test_preemption.py [TEST...]      MUSTER_KEEP=1 keeps the logs
"""
import contextlib
import os
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import kube, muster, successors  # noqa: E402
from lib.check import condition  # noqa: E402
from lib.cluster import run as run_program  # noqa: E402
from lib.harness import Skip, becomes, check, equal, main, until  # noqa: E402
from lib.objects import pod, pod_group  # noqa: E402
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

    def sweep(self):
        for p in self.admin.list("Pod"):
            if p["metadata"].get("finalizers"):
                self.release(p["metadata"]["name"])
        super().sweep()
        self.empty("PodDisruptionBudget")

    def release(self, name):
        self.admin.patch("Pod", name, {"metadata": {"finalizers": None}})

    def runs(self, *made):
        """A cluster of these objects, in which all that is bound runs; the names of those pods."""
        self.fresh(*made)
        names = {o["metadata"]["name"] for o in made if o["kind"] == "Pod" and o["spec"].get("nodeName")}
        until(lambda: self.running() == len(names), SOON_S, "they run")
        self.before = names

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

    def explained(self, gang):
        return run_program("musterctl", "explain", "--socket", self.muster.socket, f"default/{gang}")[1]

    def metric(self, name):
        return sum(value for key, value in kube.metrics(self.muster.listen).items() if key.startswith(name))


def priorities():
    return [{"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value, **policy}
            for name, value, policy in (("p0", 0, {}), ("p5", 5, {}), ("p10", 10, {}), (NEVER, 10, {"preemptionPolicy": "Never"}))]


def budget(name, least, app):
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name, "namespace": "default"},
            "spec": {"selector": {"matchLabels": {"app": app}}, "minAvailable": least}}


def runs_on(node, names, priority=0, held=False, **more):
    made = [pod(name, nodeName=node, priorityClassName=f"p{priority}", **more) for name in names]
    for obj in made if held else ():
        obj["metadata"]["finalizers"] = [HELD]
    return made


def gang(name, priority, size, cpu="1"):
    return [pod_group(name, size),
            *[pod(f"{name}-{i}", cpu=cpu, group=name, priorityClassName=f"p{priority}") for i in range(size)]]


def lone(name, priority, cpu="1", **more):
    return pod(name, cpu=cpu, **{"priorityClassName": f"p{priority}", **more})


def names(prefix, n):
    return [f"{prefix}-{i}" for i in range(n)]


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
    until(lambda: "Preemption would not start it" in world.explained("h"), SOON_S, lambda: world.explained("h"))
    before = world.gone()
    time.sleep(REST_S)
    equal(world.gone(), before)
    world.admin.patch("PodDisruptionBudget", "two-stay", {"spec": {"minAvailable": 0}})
    world.starts("h", 1)
    becomes(world.gone, sorted({*before, *names("a", 3)}), "who went")


def test_the_server_refuses_what_the_plan_counted_on():
    """The disruption controller stands still, and a change of the budget is not in its status yet: each eviction is refused.
    Nobody goes."""
    world.runs(*machines(1, cpu="4"), *runs_on("n00", names("a", 4), labels={"app": "a"}), budget("late", 2, "a"))
    world.allowed("late", 2)
    controllers = world.cluster.running["kube-controller-manager"].pid
    os.kill(controllers, signal.SIGSTOP)
    try:
        world.admin.patch("PodDisruptionBudget", "late", {"spec": {"minAvailable": 1}})
        refused = world.metric("muster_evictions_refused_total")
        world.create(*gang("g", 10, 2))
        until(lambda: world.metric("muster_evictions_refused_total") > refused, SOON_S, lambda: world.explained("g"))
        time.sleep(REST_S)
        equal((world.gone(), world.bound("g-")), ([], 0))
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
