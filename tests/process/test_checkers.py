# SPDX-License-Identifier: Apache-2.0
"""The checkers of tests/lib fail when they should: a checker that can't is no
check.  Objects made by hand, no server."""
import os
import sys
from fractions import Fraction

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import check, kube, yamlsub  # noqa: E402
from lib.dialects import DIALECTS  # noqa: E402
from lib.harness import equal, main  # noqa: E402
from lib.harness import check as holds  # noqa: E402
from lib.objects import gang, node, pod  # noqa: E402
from scenarios import wrongs  # noqa: E402
from scenarios.watched import Watched  # noqa: E402


def bound(obj, name, phase="Pending"):
    return {**obj, "spec": {**obj["spec"], "nodeName": name}, "status": {"phase": phase}}


def refuses(call, text):
    try:
        got = call(text)
    except ValueError:
        return
    holds(False, f"{text!r} was read as {got!r}")


def test_quantities():
    for text, amount in (("100m", Fraction(1, 10)), ("1Gi", 2**30), ("1e3", 1000), (".5", Fraction(1, 2)), ("1.", 1),
                         ("12E", 12 * 10**18), ("1.5k", 1500), ("2E1", 20), ("1E-1", Fraction(1, 10)), ("0", 0)):
        equal(check.quantity(text), amount, text)
    for text in ("", "1 Gi", "x", "1kk", "--1", "1e", "1Ee", "1K", "0x10", "1,5", "１"):
        refuses(check.quantity, text)


def test_effective_request():
    def box(cpu, **more):
        return {"name": "c", "resources": {"requests": {"cpu": cpu}}, **more}

    def cpu(**spec):
        return check.request_of({"spec": spec})["cpu"]

    equal(cpu(containers=[box("1"), box("2")]), 3, "sum")
    equal(cpu(containers=[box("1")], initContainers=[box("4"), box("2")]), 4, "largest init container")
    equal(cpu(containers=[box("1")], initContainers=[box("2", restartPolicy="Always"), box("1")]), 3, "sidecar")
    equal(cpu(containers=[box("1")], initContainers=[box("2", restartPolicy="Always"), box("5")]), 7,
          "init container beside a sidecar")
    equal(cpu(containers=[box("1")], overhead={"cpu": "250m"}), Fraction(5, 4), "overhead")
    equal(cpu(containers=[box("1")], resources={"requests": {"cpu": "4"}}), 4, "resources of the pod")
    only_limit = check.request_of({"spec": {"containers": [{"resources": {"limits": {"nvidia.com/gpu": "2"}}}]}})
    equal((only_limit["nvidia.com/gpu"], only_limit["pods"]), (2, 1), "a limit without a request")


def test_overfull_nodes():
    nodes = [node("n1", cpu="2", pods="3")]
    two = [bound(pod("a"), "n1"), bound(pod("b"), "n1")]
    equal(check.overfull_nodes(nodes, two), [], "full to the brim")
    equal(check.overfull_nodes(nodes, two + [pod("c")]), [], "a pending pod takes nothing")
    equal(check.overfull_nodes(nodes, two + [bound(pod("c"), "n1", "Succeeded")]), [], "one that ended takes nothing")
    equal(check.overfull_nodes(nodes, two + [bound(pod("c", cpu="1m"), "n1")]),
          ["node n1: 2.001 cpu taken of 2"], "a milli too much")
    light = [bound(pod(f"p{i}", cpu="0", memory="0"), "n1") for i in range(4)]
    equal(check.overfull_nodes(nodes, light), ["node n1: 4 pods taken of 3"], "too many pods")
    equal(check.overfull_nodes(nodes, [bound(pod("g", requests={"nvidia.com/gpu": "1"}), "n1")]),
          ["node n1: 1 nvidia.com/gpu taken of 0"], "a resource that the node hasn't")
    equal(check.overfull_nodes(nodes, [bound(pod("a"), "n9")]), ["default/a is on node n9, which isn't there"],
          "no such node")


def described(*objects):
    return {(kube.kind_of(o), o["metadata"]["namespace"], o["metadata"]["name"]): o for o in objects}


def test_broken_gangs():
    group, pods = gang("g", 4, min_member=3)

    def wrong(n, groups=(group,)):
        return check.broken_gangs(described(*groups), [bound(p, "n1") for p in pods[:n]] + pods[n:])

    equal([wrong(n) for n in (0, 3, 4)], [[], [], []], "none, the quorum, all")
    equal(wrong(2), ["gang default/g: 2 bound of a quorum of 3"], "part-placed")
    equal(wrong(1, []), ["gang default/g: 1 bound, but nothing describes it"], "without its group")
    elsewhere = {**group, "metadata": {"name": "g", "namespace": "other"}}
    equal(wrong(4, [elsewhere]), ["gang default/g: 4 bound, but nothing describes it"], "a group of another namespace")


def test_broken_gangs_of_each_dialect():
    for name, dialect in DIALECTS.items():
        pods = [pod(f"p-{i}") for i in range(3)]
        for p in pods:
            dialect.mark(p, "g-0", 3)
        objects = described(*dialect.objects("g-0", 3))

        def wrong(n):
            return check.broken_gangs(objects, [bound(p, "n1") for p in pods[:n]] + pods[n:])

        equal((wrong(0), wrong(3)), ([], []), f"{name}: none, all")
        equal(wrong(2), ["gang default/g-0: 2 bound of a quorum of 3"], f"{name}: part-placed")


def test_silent_pods():
    told = {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "full"}]}
    equal(check.silent_pods([{**pod("a"), "status": told}, bound(pod("b"), "n1"), pod("c", scheduler="other")]), [],
          "told, bound, not ours")
    equal(len(check.silent_pods([pod("a"), {**pod("b"), "status": {"conditions": [
        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]}}])), 2, "nothing said, no message")


def test_history_sees_a_second_node():
    history = check.History(None)
    one = {**pod("a"), "metadata": {"name": "a", "namespace": "default", "uid": "u1"}}
    for obj in (one, bound(one, "n1"), bound(one, "n1")):
        history._see(obj)
    equal((history.bound, history.wrong), ({"u1": "n1"}, []), "bound once")
    history._see(bound(one, "n2"))
    history._see(one)
    equal(len(history.wrong), 2, "moved, and then on no node")


class Told:
    """As in the scenarios' frame: the API's state by lists, muster's by ctl()."""

    def __init__(self, nodes, pods, described=(), used=(), members=()):
        self.id, self.scheduler, self.namespaces = "t", "muster", {"default"}
        self.node_names = {n["metadata"]["name"] for n in nodes}
        self.lists = {"Node": nodes, "Pod": pods}
        for o in described:
            self.lists.setdefault(kube.kind_of(o), []).append(o)
        self.client, self.watched = self, Watched(self, self.namespaces)
        self.said = {"nodes": {"nodes": [{"node": n, "present": True, "used": u} for n, u in used]},
                     "gangs": {"gangs": [{"gang": g, "members": n} for g, n in members]}}

    def list(self, kind, *_, **__):
        return self.lists.get(kind, [])

    list_if_served = list

    def ctl(self, what):
        return self.said[what]


def with_uids(pods):
    for i, p in enumerate(pods):
        p["metadata"]["uid"] = f"u{i}"
    return pods


def test_a_group_that_was_once_part_placed():
    group, pods = gang("g", 3)
    t = Told([], with_uids(pods), [group])
    for p in pods:
        t.watched._see(p)
    equal(wrongs.broken_groups(t, wrongs.State(t)), [], "none was bound")
    for p in pods[:2]:
        t.watched._see(bound(p, "n1"))
    equal(wrongs.broken_groups(t, wrongs.State(t)), ["I2: group ('default', 'g'): 2 bound at once, the quorum is 3"],
          "two")
    t.lists["Pod"] = []
    for p in pods:
        t.watched._gone(p)
    equal(len(wrongs.broken_groups(t, wrongs.State(t))), 1, "and all are gone")
    there = Told([], with_uids(pods), [group])
    there.watched._see(bound(pods[0], "n1"))
    equal(wrongs.broken_groups(there, wrongs.State(there)), [], "one that came with its node")


def test_sums_and_counts_of_muster():
    machine, pods = node("n1", cpu="4"), with_uids([bound(pod("a", cpu="1", group="g"), "n1"), pod("b", group="g")])
    used = {"cpu": 1000, "memory": 2**30, "pods": 1}

    def sums(**change):
        t = Told([machine], pods, used=[("n1", {**used, **change})])
        return wrongs.other_sums(t, wrongs.State(t))

    def counts(n):
        t = Told([machine], pods, members=[("default/g", n)])
        return wrongs.other_counts(t, wrongs.State(t))

    equal(sums(), [], "equal")
    equal(sums(cpu=2000), ["I3: node n1: muster counts 2000 cpu, pods take 1000"], "room that nobody has")
    equal(sums(gpu=1), ["I3: node n1: muster counts 1 gpu, pods take 0"], "a resource that nobody has")
    unknown = Told([machine], pods)
    equal(wrongs.other_sums(unknown, wrongs.State(unknown)), ["I3: muster does not know node n1"], "no such node")
    equal(counts(2), [], "both")
    for n in (1, 3):
        equal(counts(n), [f"I6: group default/g: muster counts {n} members, the API has 2"], "counted otherwise")


def test_yaml_that_versions_disagree_about_is_refused():
    text = 'a: 1\nb: [x, "y, z"]\nc:\n- d: "e"\n  f: null\n- g\nh: {i: true}\nj: |\n  k\n   l\nm: >\n  n\n  o\n'
    equal(yamlsub.load(text), {"a": 1, "b": ["x", "y, z"], "c": [{"d": "e", "f": None}, "g"], "h": {"i": True},
                               "j": "k\n l\n", "m": "n o\n"}, "read")
    for bad in ("a: 0444", "a: yes", "a: &x b", "a: [[1]]", "a: 1\na: 2", "a: b: c", "- a\nb: c", "a: 'x",
                "a:\n  b: 1\n   c: 2", "a: *x", "a: !!str 1", "\ta: 1"):
        refuses(yamlsub.load, bad)


if __name__ == "__main__":
    main(globals())
