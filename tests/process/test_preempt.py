# SPDX-License-Identifier: Apache-2.0
"""`musterctl explain --preempt`: against recorded answers of kube-scheduler 1.36.3's DefaultPreemption (single pods) and of
brute force (gangs), a subset of which is in tests/data; the full sets are used when MUSTER_SHARED (default ../shared) has
them.  And scenarios by hand: gangs as victims, budgets, pods that are being deleted, opt-outs.

    tests/process/test_preempt.py [test...] [--category=NAME] [--show=N]"""
import gzip
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from collections import Counter

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import muster  # noqa: E402
from lib.harness import Skip, check, equal, figure, main, option  # noqa: E402

CUT = muster.ROOT / "tests" / "data"
WHOLE = pathlib.Path(os.environ.get("MUSTER_SHARED") or muster.ROOT.parent / "shared") / "data"
GROUP = "scheduling.x-k8s.io/pod-group"


CATEGORY, SHOW = option("category", ""), option("show", 3)


def musterctl(*words, codes=(0, 1)):
    done = subprocess.run([muster.program("musterctl"), "explain", *map(str, words)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=120)
    check(done.returncode in codes, f"exit {done.returncode}: {done.stderr}")
    return done


def cases(folder):
    """(name, path of the objects, the answers)"""
    for path in sorted(folder.glob("*.expect.json.gz")):
        answer = json.loads(gzip.decompress(path.read_bytes()))
        if CATEGORY in ("", answer["category"]):
            yield path.name[:4], path.with_name(path.name[:4] + ".input.json.gz"), answer


def close(compared, differences, least, what):
    figure(f"{what}: {compared} compared")
    for line in differences[:SHOW]:
        print(line)
    check(compared >= least or CATEGORY, "hardly anything was compared")
    check(not differences, f"{len(differences)} differences")


def pod_differences(want, got):
    candidates = [(c["node"], sorted(c["victims"]), c["violations"]) for c in want["candidates"]]
    mine = [(c["node"], sorted(c["victims"]), c["violations"]) for c in got["candidates"]]
    for field in ("eligible", "reason", "node", "violations", "message", "outcome"):
        if got[field] != want[field]:
            yield f"{field}: {got[field]!r} instead of {want[field]!r}"
    if sorted(got["victims"]) != sorted(want["victims"]):
        yield f"victims: {got['victims']} instead of {want['victims']}"
    if mine != candidates:
        yield f"candidates: {mine} instead of {candidates}"


def compare_pods(folder, least):
    compared, differences, outcomes = 0, [], Counter()
    for name, path, answer in cases(folder):
        pods = [w for p in answer["pods"] for w in ("--pod", p["pod"])]
        done = musterctl("--preempt", "-f", path, *pods, "--preempt-victims", "all", "--preempt-budgets", "best-effort",
                         "-o", "json")
        got = json.loads(done.stdout)
        got = {g["pod"]: g for g in (got if isinstance(got, list) else [got])}
        nowhere = any(p["outcome"] != "evict" for p in answer["pods"])
        check(done.returncode == nowhere and done.stderr == "", name, f"exit {done.returncode}", done.stderr)
        for want in answer["pods"]:
            compared += 1
            outcomes[want["outcome"]] += 1
            differences += [f"{name} {want['pod']}: {d}" for d in pod_differences(want, got[want["pod"]])]
    close(compared, differences, least, ", ".join(f"{n} {o}" for o, n in sorted(outcomes.items())))


def test_pods():
    compare_pods(CUT / "preemption", 70)


def test_pods_whole():
    if not list((WHOLE / "preemption").glob("*.expect.json.gz")):
        raise Skip(f"the whole set of preemptions: there is none in {WHOLE}")
    compare_pods(WHOLE / "preemption", 1000)


def compare_gangs(folder, least):
    compared, differences = 0, []
    for name, path, want in cases(folder):
        done = musterctl("--preempt", "-f", path, "--gang", want["gang"], "--preempt-budgets", want["budgets"], "-o",
                         "json")
        got = json.loads(done.stdout)
        compared += 1
        check(done.returncode == (want["answer"] == "impossible") and done.stderr == "", name, done.returncode)
        for field in ("gang", "answer", "objective", "victims"):
            if got[field] != (want[field] or (None if field == "objective" else [])):
                differences.append(f"{name} {field}: {got[field]} instead of {want[field]}")
    close(compared, differences, least, "gangs")


def test_gangs():
    compare_gangs(CUT / "preemption-gangs", 24)


def test_gangs_whole():
    if not list((WHOLE / "preemption-gangs").glob("*.expect.json.gz")):
        raise Skip(f"the whole set of preemptions by gangs: there is none in {WHOLE}")
    compare_gangs(WHOLE / "preemption-gangs", 150)


def node(name, cpu=4, **labels):
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels},
            "status": {"allocatable": {"cpu": str(cpu), "pods": "110"}}}


def pod(name, cpu, priority, on=None, gang=None, started=0, **more):
    """`started`: hours; `labels`, `annotations`, `owner`, `deleted`, `preempted`, `policy`, `scheduler`, `namespace`,
    `phase`, `nominated`"""
    labels = {**more.get("labels", {}), **({GROUP: gang} if gang else {})}
    meta = {"name": name, "namespace": more.get("namespace", "ns"), "labels": labels,
            "annotations": more.get("annotations", {})}
    spec = {"schedulerName": more.get("scheduler", "muster"), "priority": priority,
            "preemptionPolicy": more.get("policy", "PreemptLowerPriority"),
            "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": str(cpu)}}}]}
    status = {"phase": more.get("phase", "Running" if on else "Pending")}
    if on:
        spec["nodeName"] = on
        status["startTime"] = f"2026-01-01T{started:02}:00:00Z"
    if "nominated" in more:
        status["nominatedNodeName"] = more["nominated"]
    if "owner" in more:
        meta["ownerReferences"] = [{"apiVersion": "apps/v1", "kind": more["owner"], "name": "o", "uid": "u",
                                    "controller": True}]
    if more.get("deleted"):
        meta.update(deletionTimestamp="2026-01-01T23:00:00Z", deletionGracePeriodSeconds=30)
    if more.get("preempted"):
        status["conditions"] = [{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": status}


def pods(n, prefix, *rest, **more):
    """Each started an hour after the one before."""
    first = more.pop("started", 0)
    return [pod(f"{prefix}{i}", *rest, started=first + i, **more) for i in range(n)]


def group(name, quorum, mode=None, **annotations):
    if mode:
        annotations["muster.dev/disruption-mode"] = mode
    return {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup",
            "metadata": {"name": name, "namespace": "ns", "annotations": annotations}, "spec": {"minMember": quorum}}


def budget(name, allowed, **labels):
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name, "namespace": "ns"},
            "spec": {"selector": {"matchLabels": labels}}, "status": {"disruptionsAllowed": allowed}}


def ask(objects, *words, **more):
    flat = [o for part in objects for o in (part if isinstance(part, list) else [part])]
    with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
        json.dump({"apiVersion": "v1", "kind": "List", "items": flat}, f)
        f.flush()
        return musterctl("--preempt", "-f", f.name, *words, **more)


def ask_pod(*objects, words=()):
    """(outcome, victims) of ns/p"""
    got = json.loads(ask(objects, "--pod", "ns/p", *words, "-o", "json").stdout)
    return got["outcome"], " ".join(sorted(v.split("/")[1] for v in got["victims"]))


def ask_gang(*objects, words=()):
    """(answer, victims) of ns/w"""
    got = json.loads(ask(objects, "--gang", "ns/w", *words, "-o", "json").stdout)
    return got["answer"], " ".join(v.split("/")[1] for v in got["victims"])


def test_the_youngest_goes():
    full = [node("n1"), pods(4, "a", 1, 0, "n1")]
    equal(ask_pod(*full, pod("p", 1, 10)), ("evict", "a3"))
    equal(ask_pod(*full, pod("p", 1, 0)), ("none", ""))
    equal(ask_pod(*full, pod("p", 1, 10, policy="Never")), ("never", ""))
    equal(ask_pod(node("n1"), pod("p", 1, 10)), ("fits", ""))


def test_lower_priority_before_fewer_pods():
    equal(ask_pod(node("n1"), pod("a", 4, 5, "n1"), node("n2"), pods(4, "b", 1, 0, "n2"), pod("p", 4, 10)),
          ("evict", "b0 b1 b2 b3"))
    equal(ask_pod(node("n1"), pods(2, "a", 2, 0, "n1"), node("n2"), pods(4, "b", 1, 0, "n2"), pod("p", 2, 10)),
          ("evict", "a1"))


def test_a_gang_takes_all_or_nothing():
    full = [node("n1"), node("n2"), pods(4, "a", 1, 0, "n1"), pods(4, "b", 1, 0, "n2")]
    equal(ask_gang(*full, group("w", 8), [pod(f"w{i}", 1, 10, gang="w") for i in range(8)]),
          ("proved", "a0 a1 a2 a3 b0 b1 b2 b3"))
    equal(ask_gang(*full, group("w", 9), [pod(f"w{i}", 1, 10, gang="w") for i in range(9)]), ("impossible", ""))
    equal(ask_gang(*full, group("w", 2), [pod("w0", 1, 10, gang="w")]), ("unasked", ""))


def test_a_gang_at_its_quorum_goes_whole():
    def of(mode):
        return [node("n1"), node("n2"), group("v", 4, mode), pods(2, "v1", 1, 0, "n1", "v"), pods(2, "v2", 1, 0, "n2", "v"),
                pods(2, "x", 1, 9, "n1"), pods(2, "y", 1, 9, "n2"), pod("p", 1, 5)]
    equal(ask_pod(*of(None)), ("evict", "v10 v11 v20 v21"))
    equal(ask_pod(*of("whole")), ("evict", "v10 v11 v20 v21"))
    equal(ask_pod(*of("pod")), ("evict", "v11"))


def test_a_gang_above_its_quorum_loses_its_surplus():
    objects = [node("n1"), node("n2"), group("v", 4), pods(3, "v1", 1, 0, "n1", "v", started=0),
               pods(3, "v2", 1, 0, "n2", "v", started=5), pod("x", 1, 0, "n1", started=1), pod("y", 1, 0, "n2", started=9)]
    equal(ask_pod(*objects, pod("p", 2, 10)), ("evict", "v22 y"))
    # Three of it would break it, and then all go.
    equal(ask_pod(*objects, pod("p", 4, 10))[0], "evict")
    equal(ask_pod(*objects, pod("p", 4, 10))[1].count("v"), 6)


def test_ended_members_count_for_the_quorum():
    gang = [node("n1"), group("v", 4), pods(4, "v", 1, 0, "n1", "v"),
            [pod(f"done{i}", 1, 0, "n1", "v", phase="Succeeded") for i in range(2)]]
    equal(ask_pod(*gang, pod("p", 2, 10)), ("evict", "v2 v3"))
    equal(ask_pod(*gang, pod("p", 3, 10)), ("evict", "v0 v1 v2 v3"))


def test_two_lone_pods_rather_than_a_gang():
    equal(ask_gang(node("n1", 5), group("v", 2), pods(2, "v", 1, 0, "n1", "v", started=9), pods(3, "a", 1, 0, "n1"),
                   group("w", 2), [pod(f"w{i}", 1, 10, gang="w") for i in range(2)]), ("proved", "a1 a2"))


def test_a_gang_of_lower_priority_rather_than_a_pod():
    def of(priority):
        return [node("n1"), node("n2"), group("v", 8), pods(8, "v", 0.5, 0, "n1", "v"), pod("a", 4, priority, "n2"),
                pod("p", 4, 10)]
    equal(ask_pod(*of(1)), ("evict", " ".join(f"v{i}" for i in range(8))))
    equal(ask_pod(*of(0)), ("evict", "a"))


def test_one_gang_is_broken_not_two():
    answer, victims = ask_gang(
        node("n1"), node("n2"), node("n3"), group("a", 4), pods(4, "a", 1, 0, "n1", "a"), group("b", 4),
        pods(4, "b", 1, 0, "n2", "b"), pod("x", 1, 9, "n3"), group("w", 5), pod("leader", 3, 5, gang="w"),
        [pod(f"worker{i}", 1, 5, gang="w") for i in range(4)])
    equal((answer, victims), ("proved", "a0 a1 a2 a3"))


def test_the_rack_with_fewer_victims():
    racks = [[node(f"{r}{i}", rack=r) for i in range(4)] for r in "ab"]
    a = [pod(f"xa{i}", 1, 0, f"a{i % 4}") for i in range(10)]
    b = [pod(f"xb{i}", 1, 0, f"b{i}") for i in range(4)]
    equal(ask_gang(*racks, a, b, group("w", 16, **{"muster.dev/required-topology": "rack"}),
                   [pod(f"w{i}", 1, 10, gang="w") for i in range(16)]), ("proved", "xb0 xb1 xb2 xb3"))


def test_budgets():
    one = [node("n1"), pods(3, "a", 1, 0, "n1", labels={"app": "x"}), pod("f", 1, 20, "n1"), budget("b", 1, app="x")]
    two = [node("n2"), pods(3, "b", 0.7, 0, "n2"), pod("g", 1.9, 20, "n2")]
    wanted = pod("p", 2, 10)
    best = ("--preempt-budgets", "best-effort")
    equal(ask_pod(*one, *two, wanted), ("evict", "b0 b1 b2"))
    equal(ask_pod(*one, *two, wanted, words=best), ("evict", "b0 b1 b2"))
    equal(ask_pod(*one, wanted), ("none", ""))
    got = json.loads(ask([*one, wanted], "--pod", "ns/p", *best, "-o", "json").stdout)
    # a1 and a2 violate, by the order of importance; a1 is put back first.
    equal((sorted(got["victims"]), got["violations"]), (["ns/a0", "ns/a2"], 1))
    # The Eviction API refuses a pod of two budgets.
    equal(ask_pod(node("n1"), pod("a", 4, 0, "n1", labels={"app": "x"}), budget("b", 1, app="x"), budget("c", 1, app="x"),
                  wanted), ("none", ""))


def test_what_is_being_deleted_counts_as_gone():
    leaving = pod("a", 1, 20, "n1", deleted=True)
    full = [node("n1"), pods(3, "b", 1, 0, "n1"), leaving]
    equal(ask_pod(*full, pod("p", 1, 10)), ("waits", ""))
    equal(ask_pod(*full, pod("p", 2, 10)), ("evict", "b2"))
    equal(ask_gang(*full, group("w", 1), pod("w0", 1, 10, gang="w")), ("waits", ""))
    # kube-scheduler waits for its own victims on the nominated node.
    victim = pod("a", 1, 0, "n1", deleted=True, preempted=True)
    done = ask([node("n1"), pods(3, "b", 1, 0, "n1"), victim, pod("p", 1, 10, nominated="n1")], "--pod", "ns/p", "-o", "json")
    got = json.loads(done.stdout)
    equal((got["outcome"], got["eligible"], got["reason"]),
          ("never", False, "not eligible due to a terminating pod on the nominated node."))


def test_a_pod_that_a_prefilter_rejects():
    """The text of kube-scheduler ends in the error of its DynamicResources (tests/real/test_agree.py cuts it)."""
    claimed = pod("p", 1, 10)
    claimed["spec"]["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": "none"}}]
    got = json.loads(ask([node("n1"), pods(4, "a", 1, 0, "n1"), claimed], "--pod", "ns/p", "-o", "json").stdout)
    equal((got["outcome"], got["candidates"], got["message"]),
          ("none", [], '0/1 nodes are available: persistentvolumeclaim "none" not found. not found'))


def test_who_is_spared():
    for more in ({"owner": "DaemonSet"}, {"annotations": {"kubernetes.io/config.mirror": "x"}}, {"scheduler": "other"},
                 {"labels": {"muster.dev/preemptible": "false"}}, {"annotations": {"volcano.sh/preemptable": "false"}},
                 {"annotations": {"yunikorn.apache.org/allow-preemption": "false"}}):
        equal(ask_pod(node("n1"), pod("a", 4, 0, "n1", **more), pod("p", 1, 10)), ("none", ""), more)
    equal(ask_pod(node("n1"), pod("a", 4, 0, "n1", scheduler="other"), pod("p", 1, 10), words=("--preempt-victims", "all")),
          ("evict", "a"))
    equal(ask_pod({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kept", "labels": {
        "muster.dev/preemption": "never"}}}, node("n1"), pod("a", 4, 0, "n1", namespace="kept"), pod("p", 1, 10)), ("none", ""))
    equal(ask_pod({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "patient"}, "value": 10,
                   "preemptionPolicy": "Never", "globalDefault": True}, node("n1"), pod("a", 4, 0, "n1"),
                  pod("p", 1, 10, policy=None)), ("never", ""))


def test_many_equal_pods_are_proved():
    """2^40 sets without twins."""
    objects = [node("n1", 40), pods(20, "a", 1, 0, "n1"), pods(20, "b", 1, 0, "n1", started=2), group("w", 10),
               [pod(f"w{i}", 1, 10, gang="w") for i in range(10)]]
    answer, victims = ask_gang(*objects)
    equal((answer, len(victims.split())), ("proved", 10))
    check("a0" not in victims.split() and "b19" in victims.split(), victims)


def test_a_search_is_bounded():
    objects = [node("n1"), pods(4, "a", 1, 0, "n1"), group("w", 2), [pod(f"w{i}", 1, 10, gang="w") for i in range(2)],
               pod("p", 1, 10)]
    equal(ask_gang(*objects, words=("--search-steps", "1"))[0], "gave_up")
    equal(ask_pod(*objects, words=("--search-steps", "1")), ("gave up", ""))


def test_text():
    objects = [node("n1"), node("n2"), pods(4, "a", 1, 0, "n1"), pods(4, "b", 1, 1, "n2"), group("w", 2),
               [pod(f"w{i}", 1, 10, gang="w") for i in range(2)], pod("p", 1, 10)]
    text = ask(objects, "--pod", "ns/p").stdout
    check("ns/p: with 1 pods of node n1 evicted it would start:\n  ns/a3\n" in text and "HIGHEST PRIORITY" in text, text)
    check("0/2 nodes are available: 2 Insufficient cpu." in text, text)
    text = ask(objects, "--gang", "ns/w").stdout
    check("ns/w: with 2 pods evicted it would start: no priority above 0" in text and "Proved" in text, text)


def test_usage():
    with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
        json.dump({"apiVersion": "v1", "kind": "List", "items": [node("n1"), pod("p", 1, 1), pod("b", 1, 1, "n1")]}, f)
        f.flush()
        for words, wanted in (
                (("--preempt", "-f", f.name), "--pod NS/NAME or --gang"),
                (("--preempt", "--pod", "ns/p"), "-f FILE is missing"),
                (("--preempt", "-f", f.name, "--pod", "ns/p", "--gang", "ns/w"), "one of them"),
                (("--preempt", "-f", f.name, "--pod", "ns/p", "--try"), "goes without"),
                (("--preempt", "-f", f.name, "--pod", "ns/none"), "no such pod"),
                (("--preempt", "-f", f.name, "--pod", "ns/b"), "bound to node n1"),
                (("--preempt", "-f", f.name, "--gang", "ns/none"), "no such gang"),
                (("--preempt", "-f", f.name, "--pod", "ns/p", "--preempt-victims", "mine"), "own or all"),
                (("--preempt", "-f", f.name, "--pod", "ns/p", "--preempt-budgets", "no"), "respect or best-effort"),
                (("--preempt", "-f", f.name, "--pod", "ns/p", "--search-steps", "-1"), "not a number"),
                (("--pod", "ns/p", "ns/g"), "go with --preempt")):
            done = musterctl(*words, codes=(2,))
            check(wanted in done.stderr, words, done.stderr)
    done = ask([node("n1"), group("v", 1, "half"), pod("p", 1, 1, gang="v")], "--gang", "ns/v", codes=(2,))
    check("pod, quorum and whole are the modes there are" in done.stderr, done.stderr)


if __name__ == "__main__":
    main(globals())
