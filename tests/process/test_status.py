# SPDX-License-Identifier: Apache-2.0
"""The status of groups' objects on a live system, in every API that has one: phases,
counters and conditions, each change written once, and fields that are not changed."""
import os
import re
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import objects  # noqa: E402
from lib.cluster import Cluster  # noqa: E402
from lib.dialects import CRDS, DIALECTS, native_group, old_pod_group, volcano_group  # noqa: E402
from lib.harness import becomes, check, equal, main, steady, until  # noqa: E402
from lib.kube import namespace  # noqa: E402
from lib.objects import node, pod_group  # noqa: E402

SOON_S = 10.0
OWNER = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "00000000-0000-0000-0000-000000000001",
         "controller": True}
NATIVE = "PodGroup.scheduling.k8s.io"
VOLCANO = "PodGroup.scheduling.volcano.sh"


def cluster(*objects_, flags=()):
    return Cluster(*objects_, apisim=("--no-kubelet", *flags))


def pods(c, dialect, group, *names, quorum=3, owned=False, **rest):
    for name in names:
        obj = objects.pod(name, **rest)
        DIALECTS[dialect].mark(obj, group, quorum)
        if owned:
            obj["metadata"]["ownerReferences"] = [OWNER]
        c.create(obj)


def phase(c, value, *names, ns="default"):
    for name in names:
        c.client.patch("Pod", name, {"status": {"phase": value}}, ns, sub="status")


def status(c, name="g", kind="PodGroup", ns="default"):
    return c.client.get(kind, name, ns).get("status") or {}


def has(c, kind="PodGroup", name="g", ns="default", **wanted):
    def right():
        s = status(c, name, kind, ns)
        return all((s.get(k) or 0 if v == 0 else s.get(k)) == v for k, v in wanted.items())
    try:
        until(right, SOON_S)
    except AssertionError:
        check(False, f"status of {name}: wanted {wanted}, has {status(c, name, kind, ns)}")


def writes(c):
    """The number of requests that write a status of a group."""
    return sum(n for what, n in c.stats()["requests"].items() if re.match(r"PATCH podgroups\S*/status ", what))


def condition(c, kind, of, name="g"):
    return next((x for x in status(c, name, kind).get("conditions") or [] if x["type"] == of), {})


def events(c, reason):
    return [e for e in c.client.list("Event") if e["reason"] == reason]


def test_phases_and_counters_follow_the_pods():
    with cluster(namespace("other")) as c:
        c.up()
        c.create(pod_group("g", 3), pod_group("g", 3, "other"))
        has(c, phase="Pending")
        has(c, ns="other", phase="Pending")
        first = writes(c)
        equal(first, 2, "writes")
        names = ["a", "b", "c"]
        pods(c, "scheduler-plugins", "g", *names, owned=True)
        has(c, phase="Scheduling", occupiedBy="default/train", running=0)
        c.create(node("n1"))
        until(lambda: c.bound() == 3, SOON_S, "bound")
        phase(c, "Running", *names)
        has(c, phase="Running", running=3, succeeded=0, failed=0)
        phase(c, "Succeeded", "a")
        has(c, phase="Running", running=2, succeeded=1)
        phase(c, "Succeeded", "b", "c")
        has(c, phase="Finished", running=0, succeeded=3)
        c.delete("Pod", *names)
        steady(lambda: status(c).get("phase") == "Finished", 1.5, "final")
        has(c, ns="other", phase="Pending", running=0, occupiedBy=None)
        # Pending, Scheduling, Running, Running, Finished; a second of pods that run or end may be cut in two.
        check(writes(c) - first <= 7, f"{writes(c) - first} writes")


def test_a_group_fails_and_pods_without_its_label_are_nothing_to_it():
    with cluster(node("n1")) as c:
        c.up()
        c.create(pod_group("g", 3), pod_group("h", 3))
        for name in ("x", "y", "z"):
            c.create(objects.pod(name))
        pods(c, "scheduler-plugins", "g", "a", "b", "c")
        until(lambda: c.bound() == 6, SOON_S, "bound")
        phase(c, "Running", "a", "b", "x", "y", "z")
        phase(c, "Failed", "c")
        has(c, phase="Failed", running=2, succeeded=0, failed=1)
        has(c, name="h", phase="Pending", running=0)


def test_the_older_api_has_phases_of_its_own():
    kind = "PodGroup.scheduling.sigs.k8s.io"
    with cluster() as c:
        c.up()
        c.create(old_pod_group("g", 2))
        has(c, kind, phase="Pending")
        pods(c, "scheduler-plugins-old", "g", "a", "b", owned=True)
        has(c, kind, phase="PreScheduling", occupiedBy="default/train")
        c.create(node("n1"))
        has(c, kind, phase="Scheduled", scheduled=2)
        phase(c, "Running", "a", "b")
        has(c, kind, phase="Running", running=2, scheduled=2)


def test_the_native_condition_turns_true_and_stays():
    with cluster(flags=("--gate", "GenericWorkload")) as c:
        c.up()
        c.create(node("n1", cpu="2"), native_group("g", 3))
        pods(c, "native", "g", "a", "b", "c")

        def unscheduled():
            said = condition(c, NATIVE, "PodGroupScheduled")
            return (said["status"], said["reason"]) == ("False", "Unschedulable") and \
                "gang default/g: 2 of 3 members have room; cpu: need 3, have 2" in said["message"] and said

        said = until(unscheduled, SOON_S, lambda: condition(c, NATIVE, "PodGroupScheduled"))
        until(lambda: events(c, "GangWaiting"), SOON_S, "an event")
        regarding = events(c, "GangWaiting")[0]["regarding"]
        equal((regarding["kind"], regarding["name"], regarding["apiVersion"].split("/")[0]),
              ("PodGroup", "g", "scheduling.k8s.io"), "regarding")
        c.create(node("n2", cpu="2"))
        until(lambda: condition(c, NATIVE, "PodGroupScheduled").get("status") == "True", SOON_S, "True")
        equal(condition(c, NATIVE, "PodGroupScheduled")["reason"], "Scheduled", "reason")
        check(condition(c, NATIVE, "PodGroupScheduled")["lastTransitionTime"] >= said["lastTransitionTime"], said)
        c.delete("Pod", "a", "b")
        steady(lambda: condition(c, NATIVE, "PodGroupScheduled")["status"] == "True", 2.5, "terminal")


def test_phases_and_conditions_of_volcano():
    flags = [f for crd in CRDS for f in ("--crd", crd)]
    with cluster(flags=flags) as c:
        c.up()
        c.create(volcano_group("g", 2))
        steady(lambda: not status(c, kind=VOLCANO), 1.5, "nobody knows yet whose it is")
        pods(c, "volcano", "g", "a")
        has(c, VOLCANO, phase="Inqueue")
        until(lambda: condition(c, VOLCANO, "Unschedulable").get("reason") == "NotEnoughTasks", SOON_S, "NotEnoughTasks")
        pods(c, "volcano", "g", "b")
        until(lambda: condition(c, VOLCANO, "Unschedulable").get("reason") == "NotEnoughResources", SOON_S,
              "NotEnoughResources")
        c.create(node("n1"))
        has(c, VOLCANO, phase="Running")
        becomes(lambda: [condition(c, VOLCANO, t)["status"] for t in ("Unschedulable", "Scheduled")], ["False", "True"], "conditions")
        phase(c, "Succeeded", "a", "b")
        has(c, VOLCANO, phase="Completed", succeeded=2)


def test_a_volcano_job_gets_its_pods():
    """Its controller creates none before its PodGroup is Inqueue; queues that aren't muster's stay untouched."""
    flags = [f for crd in CRDS for f in ("--crd", crd)]
    with cluster(flags=flags) as c:
        c.up("--volcano-queue", "batch", "--volcano-queue", "default")
        c.create(volcano_group("g", 2, queue="batch"), volcano_group("h", 2), volcano_group("i", 2, queue="theirs"))
        has(c, VOLCANO, phase="Inqueue")
        until(lambda: status(c, "h", VOLCANO).get("phase") == "Inqueue", SOON_S, "the queue default")
        steady(lambda: not status(c, "i", VOLCANO), 1.5, "another's queue")
        pods(c, "volcano", "g", "a", "b")
        c.create(node("n1"))
        has(c, VOLCANO, phase="Running")


def test_groups_of_other_schedulers_are_theirs():
    with cluster(node("n1"), flags=("--gate", "GenericWorkload")) as c:
        c.up()
        c.create(native_group("g", 1), pod_group("g", 2))
        pods(c, "native", "g", "a", scheduler="other")
        pods(c, "scheduler-plugins", "g", "b", "c", scheduler="other")
        c.client.bind("a", "n1")
        # Counted as scheduler-plugins' own controller counts them: two writers of equal values don't conflict.
        has(c, phase="Scheduling")
        equal(status(c, kind=NATIVE).get("conditions"), None, "conditions")


def test_a_server_that_fails_and_one_who_writes_too():
    with cluster() as c:
        c.up()
        c.create(pod_group("g", 2))
        has(c, phase="Pending")
        pods(c, "scheduler-plugins", "g", "a", "b")
        c.arm("error-500", count=2)
        # Any request may get such a response, the test's as well.
        until(lambda: not c.client.request("GET", "/apisim/faults")["armed"], SOON_S, "both responses are given")
        has(c, phase="Scheduling")
        c.client.patch("PodGroup", "g", {"status": {"phase": "Unknown", "running": 7}}, sub="status")
        has(c, phase="Scheduling", running=0)
        c.client.patch("PodGroup", "g", {"status": {"phase": "Finished"}}, sub="status")
        before = writes(c)
        pods(c, "scheduler-plugins", "g", "c")
        steady(lambda: status(c).get("phase") == "Finished", 1.5, "final")
        equal(writes(c), before, "writes")


def test_a_restart_says_nothing_anew():
    with cluster(node("n1")) as c:
        c.up()
        c.create(pod_group("g", 2), pod_group("w", 2))
        pods(c, "scheduler-plugins", "g", "a", "b")
        pods(c, "scheduler-plugins", "w", "one")
        until(lambda: len(events(c, "GangPlaced")) == 1 and len(events(c, "GangWaiting")) == 1, SOON_S, "events")
        phase(c, "Running", "a", "b")
        has(c, phase="Running", running=2)
        until(lambda: status(c, "w").get("phase"), SOON_S, "the status of the other one")
        time.sleep(1)
        said = writes(c)
        equal(c.ctl.stop(), 0, "exit code")
        c.up()
        steady(lambda: writes(c) == said and len(events(c, "GangPlaced")) == 1, 2.5, "nothing new")


def test_many_groups_are_written_beside_bindings():
    n = 60
    with Cluster(*(node(f"n{i}", cpu="100") for i in range(4))) as c:
        c.up()
        for i in range(n):
            c.create(pod_group(f"g{i}", 2))
            pods(c, "scheduler-plugins", f"g{i}", f"g{i}-a", f"g{i}-b")
        until(lambda: c.bound() == 2 * n, SOON_S, "bound")
        until(lambda: all((g.get("status") or {}).get("phase") == "Running" for g in c.client.list("PodGroup")), 30,
              lambda: [g.get("status") for g in c.client.list("PodGroup")])
        check(writes(c) <= 4 * n, f"{writes(c)} writes of {n} groups")
        check(not c.wrongs(), c.wrongs()[:3])


if __name__ == "__main__":
    main(globals(), jobs=4)
