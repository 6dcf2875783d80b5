# SPDX-License-Identifier: Apache-2.0
"""--preemption explain: the running scheduler says who would have to go so that a gang that waits can start, and
evicts nobody.  The stories are those of musterctl explain --preempt (test_preempt.py), live."""
import json
import os
import random
import socket
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import muster, objects, peers  # noqa: E402
from lib.cluster import Cluster  # noqa: E402
from lib.harness import check, equal, eventually, main, until  # noqa: E402

BUDGETS = ("--crd", "policy/v1/poddisruptionbudgets/PodDisruptionBudget/nostatus")
CLASSES = [{"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": f"p{value}"}, "value": value}
           for value in (0, 5, 9, 10)]


def nodes(n, cpu="4"):
    return [objects.node(f"n{i + 1}", cpu=cpu) for i in range(n)]


def pod(name, priority, node=None, labels=None, **more):
    return objects.pod(name, memory="1Mi", priorityClassName=f"p{priority}", labels={"name": name, **(labels or {})},
                       **({"nodeName": node} if node else {}), **more)


def group(name, priority, quorum, on, annotations=None, **more):
    """A gang whose members run on these nodes, or wait (None)."""
    made = objects.pod_group(name, quorum)
    made["metadata"]["annotations"] = annotations or {}
    return [made, *[pod(f"{name}-{i}", priority, node, group=name, **more) for i, node in enumerate(on)]]


def budget(name, allowed, **match):
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name, "namespace": "default"},
            "spec": {"selector": {"matchLabels": match}, "minAvailable": 0}, "status": {"disruptionsAllowed": allowed}}


def preemption(cluster, gang):
    """The answer as explain -o json has it; None: not yet."""
    _, answer = cluster.ask_json("explain", f"default/{gang}")
    return answer.get("preemption")


def victims(answer):
    return [name.split("/")[1] for name in answer["victims"]]


class Asked(Cluster):
    """A cluster with these objects, and both daemons."""

    def __init__(self, *made, frontend=(), core=()):
        super().__init__(*CLASSES, *made, apisim=BUDGETS)
        self.flags = (core, frontend)

    def __enter__(self):
        super().__enter__()
        self.pair(core=self.flags[0], frontend=self.flags[1])
        self.bound_before = {p["metadata"]["name"] for p in self.pods() if p["spec"].get("nodeName")}
        return self

    def __exit__(self, kind, *rest):
        if kind is None:
            self.nobody_went()
        super().__exit__(kind, *rest)

    def nobody_went(self):
        now = {p["metadata"]["name"] for p in self.pods() if p["spec"].get("nodeName")
               and not p["metadata"].get("deletionTimestamp")}
        check(self.bound_before <= now, "evicted:", self.bound_before - now)
        equal(self.metric("muster_world_mismatch_total"), 0)

    def answer(self, gang, wanted, timeout_s=20):
        def answered():
            found = preemption(self, gang) or {}
            return found.get("answer") == wanted and found

        return until(answered, timeout_s, lambda: f"{wanted}: {self.ask('explain', 'default/' + gang)}")


def full(n):
    """PRE-5: nodes full with pods of priority 0."""
    return [pod(f"low-{node}-{i}", 0, f"n{node + 1}") for node in range(n) for i in range(4)]


def what_if(cluster, *changes, gang="g"):
    """Exit status, answer (None: refused), and the message."""
    flags = [flag for change in changes for flag in ("--what-if", change)]
    code, out, err = cluster.ask("explain", f"default/{gang}", *flags, "-o", "json")
    return code, json.loads(out) if out else None, err


def what_ifs(c):
    """Of 8 members and two full nodes of four."""
    code, answer, _ = what_if(c, "nodes=2")
    equal((code, answer["answer"], answer["nodes_like"]), (0, "starts", "n1"))
    equal(answer["places"], [{"node": "new node 1", "members": 4}, {"node": "new node 2", "members": 4}])
    code, answer, _ = what_if(c, "nodes=1xn2")
    equal((code, answer["answer"], len(victims(answer["preemption"]))), (1, "waits", 4))
    check("4 of 8 members have room" in answer["reason"], answer)
    code, answer, _ = what_if(c, "nodes=1xn2", *[f"without-pod=default/low-1-{i}" for i in range(3)])
    equal((code, answer["pods_without"], len(victims(answer["preemption"]))), (1, 3, 1))
    code, answer, _ = what_if(c, "priority=0")
    equal((code, answer["preemption"]["answer"]), (1, "impossible"))
    code, answer, _ = what_if(c, "without-namespace=default")
    equal((code, answer["pods_without"], "preemption" in answer), (1, 16, False))
    code, text, _ = c.ask("explain", "default/g", "--what-if", "nodes=2")
    check(code == 0 and "gang default/g, if nodes=2 (nodes like n1): It would start: 8 members on 2 nodes." in text, text)
    for change, words in (("nodes=1xn9", "there is no node n9"), ("without-pod=default/x", "there is no pod default/x"),
                          ("without-namespace=x", "there is no pod in the namespace x")):
        code, answer, err = what_if(c, change)
        check((code, answer) == (1, None) and words in err, change, code, err)
    for changes, words in ((("nodes=0",), "N from 1 to 1000"), (("nodes=1x",), "nodes=NxNODE"), (("priority=9e9",), "priority=N"),
                           (("without-pod=low",), "without-pod=NS/NAME"), (("speed=2",), "without-namespace=NS"),
                           (("nodes=1",) * 5, "at most 4 changes")):
        code, answer, err = what_if(c, *changes)
        check((code, answer) == (2, None) and words in err, changes, code, err)
    check("no gang default/h" in what_if(c, "nodes=1", gang="h")[2])


def strange_questions(c):
    """What is no question gets an answer that says so, and the end of its connection; the core serves on."""
    layout = peers.layout_of(c.core.log())
    head, body = struct.Struct("<QQII"), struct.Struct("<IIII")
    changes_bytes = 4 * (8 + 328)
    size = (head.size + body.size + changes_bytes + 3 * 4 + 328 + 7) // 8 * 8

    def question(version=4, gang=0, generation=1, changes=0, kind=4, rest=b""):
        return (head.pack(peers.MAGIC, layout, kind, 0) + body.pack(version, gang, generation, changes) + rest).ljust(size, b"\0")

    def about(kind, pod, number=0):
        """About a pod."""
        return question(rest=bytes(changes_bytes) + struct.pack("<III", kind, number, 0) + pod)

    def records(shape, pod, data=b"", version=4):
        """Of a pod that no table has."""
        return head.pack(peers.MAGIC, layout, 6, 0) + struct.pack("<IIIIQ", version, shape, pod, 0, 0) + data.ljust(12288, b"\0")

    rng = random.Random(17)
    for sent, words in ((b"x", "no question"), (question()[:-1], "no question"), (question(kind=9), "no question"),
                        (bytes(30000), "no question"), (question(version=1), "another version"),
                        (question(gang=1 << 31), "out of bounds"), (question(generation=0), "out of bounds"),
                        (question(changes=5), "too many changes"), (question(changes=1), "unknown kind"),
                        (question(changes=1, rest=struct.pack("<Ii", 1, 1) + b"n" * 328), "no end"),
                        (question(changes=1, rest=struct.pack("<Ii", 1, -1)), "number of nodes"),
                        (question(gang=77), "is gone"), (about(2, b"ns/a"), "unknown kind"), (about(1, b"a" * 328), "no end"),
                        (about(1, b"a"), "no namespace"), (about(1, b"ns/a"), "is no pod ns/a"), (about(1, b"", 9), "ask again"),
                        (records(0, 0)[:-1], "no question"), (records(0, 0, version=1), "another version"), (records(0, 0), "wrong length"),
                        (records(12288, 64), "wrong length"), (records(64, 64), "no records of a pod"),
                        *[(records(64, 128, rng.randbytes(12288)), "") for _ in range(20)],
                        *[(question(changes=4, rest=rng.randbytes(changes_bytes)), "") for _ in range(20)]):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as peer:
            peer.settimeout(30)
            peer.connect(c.socket)
            peer.send(head.pack(peers.MAGIC, layout, peers.HELLO, peers.OBSERVER))
            _, fds, _, _ = socket.recv_fds(peer, 512, 4)
            for fd in fds:
                os.close(fd)
            peer.send(sent)
            answer = peer.recv(1 << 16)
            equal(head.unpack_from(answer)[2], 5, "an answer")
            check(words.encode() in answer[-256:], words, answer[-256:])
            equal(struct.unpack_from("<II", answer, head.size), (4, 0), "a refusal")
            if words not in ("is gone", "is no pod ns/a", "ask again"):
                equal(peer.recv(1 << 16), b"", "closed")
    check(c.core.running(), c.core.log())


def test_all_of_lower_priority_would_go():
    """PRE-5."""
    with Asked(*nodes(2), *full(2), *group("g", 10, 8, [None] * 8)) as c:
        answer = c.answer("g", "proved")
        equal(sorted(victims(answer)), sorted(p["metadata"]["name"] for p in full(2)))
        equal((answer["objective"]["highest_priority"], answer["objective"]["gangs_broken"], answer["lone_pods"]), (0, 0, 8))

        def told():
            _, text, _ = c.ask("explain", "default/g")
            check("Preemption would start it: 8 pods" in text and "no budget exceeded" in text and "Proved best" in text, text)
            check(c.metrics()['muster_searches_total{result="proved"}'] >= 1)
            check(c.metric("muster_search_steps_total") > 0 and c.metric("muster_search_kept_bytes") > 0)

        eventually(told)
        what_ifs(c)
        strange_questions(c)
        equal(what_if(c, "nodes=2")[0], 0)


def test_when_all_would_not_do():
    """PRE-5, with a quorum of nine; then room appears."""
    with Asked(*nodes(2), *full(2), *group("g", 10, 9, [None] * 9)) as c:
        answer = c.answer("g", "impossible")
        equal((answer["objective"], answer["victims"]), (None, []))
        until(lambda: "Preemption would not start it" in c.ask("explain", "default/g")[1], 20, lambda: c.ask("explain", "default/g"))
        c.create(objects.node("n3", cpu="2"))
        equal(len(c.answer("g", "proved", 70)["victims"]), 7)


def test_a_gang_goes_as_a_whole():
    """PRE-6, asked by a gang of one; a mode of its own, and an opt-out, change the answer."""
    made = group("v", 0, 4, ["n1", "n1", "n2", "n2"])
    others = [pod(f"high-{node}-{i}", 9, node) for node in ("n1", "n2") for i in range(2)]
    with Asked(*nodes(2), *made, *others, *group("g", 5, 1, [None])) as c:
        answer = c.answer("g", "proved")
        equal(sorted(victims(answer)), [f"v-{i}" for i in range(4)])
        equal(answer["gangs"], [{"gang": "default/v", "pods": 4, "bound": 4, "quorum": 4, "priority": 0, "broken": True}])
        for words in ("4 pods of 1 gang", "gang default/v: broken, 4 pods, priority 0"):
            until(lambda: words in c.ask("explain", "default/g")[1], 20, lambda: (words, c.ask("explain", "default/g")))  # noqa: B023
        c.client.patch("PodGroup", "v", {"metadata": {"annotations": {"muster.dev/disruption-mode": "pod"}}})
        until(lambda: len((preemption(c, "g") or {}).get("victims", [])) == 1, 20, lambda: preemption(c, "g"))
        c.client.patch("PodGroup", "v", {"metadata": {"annotations": {"muster.dev/preemptible": "false"}}})
        c.answer("g", "impossible")


def test_a_gang_is_spared_for_lone_pods():
    """PRE-8."""
    with Asked(objects.node("n1", cpu="5"), *group("v", 0, 2, ["n1"] * 2), *[pod(f"lone-{i}", 0, "n1") for i in range(3)],
               *group("g", 10, 2, [None] * 2)) as c:
        answer = c.answer("g", "proved")
        check(len(answer["victims"]) == 2 and all(name.startswith("lone") for name in victims(answer)), answer)
        # lone pods that opt out leave the gang
        for i in range(3):
            c.client.patch("Pod", f"lone-{i}", {"metadata": {"annotations": {"muster.dev/preemptible": "false"}}})
        until(lambda: sorted(victims(preemption(c, "g") or {"victims": []})) == ["v-0", "v-1"], 20, lambda: preemption(c, "g"))


def test_budgets_are_respected():
    """PRE-10: n1 has three pods of a budget that allows one, of which two would have to go; n2 three without."""
    guarded = [pod(f"a-{i}", 0, "n1", {"app": "a"}) for i in range(3)] + [pod("high-1", 10, "n1")]
    free = [pod(f"b-{i}", 0, "n2") for i in range(3)] + [pod("high-2", 10, "n2")]
    with Asked(*nodes(2), *guarded, *free, budget("one", 1, app="a"), *group("g", 9, 1, [None], cpu="2")) as c:
        until(lambda: not c.answer("g", "proved")["budgets_unknown"], 20, "the budgets are known")
        answer = c.answer("g", "proved")
        check(all(name.startswith("b-") for name in victims(answer)), answer)
        for i in range(3):
            c.client.patch("Pod", f"b-{i}", {"metadata": {"annotations": {"muster.dev/preemptible": "false"}}})
        c.answer("g", "impossible")
        c.client.patch("PodDisruptionBudget", "one", {"status": {"disruptionsAllowed": 2}})
        equal([name[:2] for name in victims(c.answer("g", "proved"))], ["a-", "a-"])
        c.delete("PodDisruptionBudget", "one")
        c.create(budget("none", 0, app="a"))
        c.answer("g", "impossible")


def test_who_may_not_preempt():
    """PRE-2: by its policy; with `off`; without a world."""
    made = [*nodes(1), *full(1), *group("g", 10, 1, [None], preemptionPolicy="Never")]
    with Asked(*made) as c:
        c.answer("g", "never")
    for frontend, core in ((("--preemption", "off"), ()), ((), ("--searchers", "0"))):
        with Asked(*nodes(1), *full(1), *group("g", 10, 1, [None]), frontend=frontend, core=core) as c:
            until(lambda: "reason" in c.ask_json("explain", "default/g")[1], 10, "it waits")
            time.sleep(3)
            equal(preemption(c, "g"), None)
            equal(c.metric("muster_searches_total"), 0)
            code, answer, err = what_if(c, "nodes=1")
            check((code, answer) == (1, None) and ("--searchers 0" if core else "--preemption is off") in err, err)
            code, out, err = c.ask("verdict", "--live", "default/g-0")
            check(code == 1 and ("--searchers 0" in err if core else "1 Insufficient cpu" in out), code, out, err)


def test_budgets_that_cannot_be_read():
    """Without a resource for them (or the right to read it) they are unknown, and the answer says so."""
    with Cluster(*CLASSES, *nodes(1), *full(1), *group("g", 10, 1, [None])) as c:
        c.pair()
        until(lambda: preemption(c, "g")["budgets_unknown"], 20, lambda: preemption(c, "g"))
        until(lambda: "PodDisruptionBudgets are not known" in c.ask("explain", "default/g")[1], 20, lambda: c.ask("explain", "default/g"))


def test_other_modes_are_refused():
    for flag, value, words in (("--preemption", "sometimes", "off, explain or on"),
                               ("--preemption-budgets", "ignore", "respect or best-effort"),
                               ("--preempt-victims", "mine", "own or all"), ("--evictions-per-second", "0", "1 to 10000")):
        done = subprocess.run([muster.program("muster-frontend"), flag, value], capture_output=True, text=True, timeout=180)
        check(done.returncode == 2 and words in done.stderr, flag, done)


if __name__ == "__main__":
    main(globals())
