# SPDX-License-Identifier: Apache-2.0
"""simulate and verdict on objects from files: the additions of the API server's admission,
the queue order, and bad input of every kind."""
import gzip
import json
import os
import random
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import bigcluster, objects  # noqa: E402
from lib.cluster import cpu_of_children_s, run  # noqa: E402
from lib.harness import check, equal, figure, main  # noqa: E402

DONE, NO, USAGE = 0, 1, 2


def listed(*items):
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(items)})


def with_field(obj, path, value):
    """A copy with the field at a dotted path set; numbers are positions."""
    copy = json.loads(json.dumps(obj))
    at = copy
    *steps, last = [int(s) if s.isdigit() else s for s in path.split(".")]
    for step in steps:
        at = at.setdefault(step, {}) if isinstance(at, dict) else at[step]
    at[last] = value
    return copy


def ask(command, *items, flags=()):
    """(exit code, JSON or None, standard error) of the command on these objects."""
    code, out, err = run("musterctl", command, "-f", "-", *flags, "-o", "json", stdin=listed(*items))
    return code, json.loads(out) if out else None, err


def placed(*items):
    """{pod: node} of simulate, which must print nothing on standard error."""
    code, answer, err = ask("simulate", *items)
    check(code in (DONE, NO), code, err)
    equal(err, "", "standard error")
    return {p["pod"].split("/")[1]: p["node"] for p in answer["placements"]}


def refused(*items):
    """The error of simulate for objects that it rejects."""
    code, answer, err = ask("simulate", *items)
    equal((code, answer), (USAGE, None), err)
    equal(len(err.splitlines()), 1, err)
    return err


# ---- admission -------------------------------------------------------------------

def priority_class(name, value, **fields):
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value,
            **fields}


def runtime_class(name, **fields):
    return {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": name}, "handler": "h", **fields}


def first_of(*items):
    """The pod that gets the only slot."""
    nodes = placed(objects.node("n", pods="1"), *items)
    return [name for name, node in nodes.items() if node]


def test_a_priority_comes_from_its_class():
    low, high = priority_class("low", -5), priority_class("high", 1000)
    a, z = objects.pod("a", priorityClassName="low"), objects.pod("z", priorityClassName="high")
    plain = objects.pod("m")
    equal(first_of(a, z, plain, low, high), ["z"], "classes after the pods")
    equal(first_of(low, high, a, plain), ["m"], "no class is priority 0")
    equal(first_of(low, high, z, objects.pod("s", priorityClassName="system-node-critical")), ["s"], "built in")
    equal(first_of(low, high, z, with_field(a, "spec.priority", 2000)), ["a"], "a priority that is there stays")
    both = priority_class("d1", 70, globalDefault=True), priority_class("d2", 50, globalDefault=True)
    equal(first_of(*both, objects.pod("a", priority=60), plain), ["a"], "of two defaults the lower one")
    equal(first_of(both[0], objects.pod("a", priority=60), plain), ["m"], "the default")
    err = refused(objects.node("n"), z, low)
    for part in ("items[1]", "Pod default/z", "spec.priorityClassName", '"high"'):
        check(part in err, part, err)
    # One that is bound needs no priority.
    equal(first_of(with_field(z, "spec.nodeName", "n"), plain), [], "a bound pod")
    for value, part in (("x", '"x"'), (None, "value"), (1 << 40, str(1 << 40))):
        err = refused(priority_class("bad", value))
        check("PriorityClass bad" in err and part in err, part, err)


def test_a_runtime_class_adds_to_the_pod():
    class_ = runtime_class("kata", overhead={"podFixed": {"cpu": "500m"}}, scheduling={
        "nodeSelector": {"kata": "yes"},
        "tolerations": [{"key": "kata", "operator": "Exists", "effect": "NoSchedule"}]})
    taint = [{"key": "kata", "effect": "NoSchedule"}]
    plain, small = objects.node("plain", cpu="4"), objects.node("small", cpu="1", labels={"kata": "yes"}, taints=taint)
    right = objects.node("right", cpu="1500m", labels={"kata": "yes", "zone": "a"}, taints=taint)
    pod = objects.pod("p", runtimeClassName="kata")
    equal(placed(class_, plain, small, right, pod), {"p": "right"}, "a pod without rules")
    rules = {"nodeSelector": {"zone": "a"}, "tolerations": [{"key": "x", "operator": "Exists"}]}
    equal(placed(class_, plain, small, right, objects.pod("p", runtimeClassName="kata", **rules)), {"p": "right"}, "with rules")
    empty = objects.pod("p", runtimeClassName="kata", nodeSelector={}, tolerations=[], overhead=None)
    equal(placed(class_, plain, small, right, empty), {"p": "right"}, "with empty rules")
    # The request includes the overhead, or an API server has added it already.
    own = objects.pod("p", runtimeClassName="kata", overhead={"cpu": "0"})
    equal(placed(class_, small, own), {"p": "small"}, "its own overhead")
    equal(placed(class_, plain, with_field(pod, "metadata.uid", "u")), {"p": "plain"}, "from an API server")
    bound = with_field(with_field(pod, "spec.nodeName", "right"), "metadata.name", "b")
    equal(placed(class_, right, bound, objects.pod("q", cpu="100m", tolerations=[{"operator": "Exists"}])), {"q": None},
          "overhead of a bound pod")
    err = refused(plain, class_, objects.pod("p", runtimeClassName="kata", nodeSelector={"kata": "no"}))
    for part in ("items[2]", "Pod default/p", 'nodeSelector["kata"]', '"no"', '"yes"'):
        check(part in err, part, err)
    err = refused(plain, pod)
    for part in ("items[1]", "Pod default/p", "spec.runtimeClassName", '"kata"'):
        check(part in err, part, err)


# ---- whose turn it is ---------------------------------------------------------------

def test_capacity_is_allocatable_when_that_is_not_given():
    """As the API server defaults it."""
    for status, wanted in (({"capacity": {"cpu": "4", "memory": "8Gi", "pods": "9"}}, "n"),
                           ({"allocatable": None, "capacity": {"cpu": "4", "memory": "8Gi", "pods": "9"}, "phase": "x"}, "n"),
                           ({"capacity": {"cpu": "4", "memory": "8Gi", "pods": "9"}, "allocatable": None}, "n"),
                           ({"capacity": {"cpu": "4", "memory": "8Gi", "pods": "9"}, "allocatable": {"cpu": "4"}}, None),
                           ({"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "0"}, "capacity": {"pods": "9"}}, None),
                           ({"capacity": None}, None), ({"capacity": {}}, None), ({}, None)):
        node = objects.node("n")
        node["status"] = status
        equal(placed(node, objects.pod("p")), {"p": wanted}, status)
    node["status"] = {"capacity": {"cpu": "x"}}
    check("Node n: status.allocatable" in refused(node), "the field is named")


def test_order_of_lone_pods():
    """Priority, then age in whole seconds, then namespace/name."""
    def pod(name, priority=0, second=0, namespace="default"):
        return with_field(objects.pod(name, namespace=namespace, priority=priority), "metadata.creationTimestamp",
                          f"2026-01-01T00:00:{second:02}Z")

    order = [pod("z", priority=2000000000, second=9), pod("y", priority=5, second=8), pod("x", second=1),
             pod("b", second=2, namespace="a-b"), pod("z", second=2, namespace="a-b"), pod("a", second=2, namespace="a.b"),
             pod("a", second=2, namespace="b"), pod("old", priority=-1, second=0)]
    slots = 4
    wanted = {f'{p["metadata"]["namespace"]}/{p["metadata"]["name"]}' for p in order[:slots]}
    for items in (order, order[::-1], order[3:] + order[:3]):
        _, answer, _ = ask("simulate", objects.node("n", pods=str(slots)), *items)
        equal({p["pod"] for p in answer["placements"] if p["node"]}, wanted, "who has the slots")


def test_what_waits_behind_a_placed_gang_says_why():
    """The gang of quorum 1 is placed; each of the other members has a reason."""
    group = objects.pod_group("g", 1)
    made = [objects.node("n", cpu="2"), group] + [objects.pod(f"g-{i}", group="g") for i in range(2)]
    leaving = objects.pod("g-2", group="g")
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    claims = [{"name": "v", "persistentVolumeClaim": {"claimName": "none"}}]
    for pod, why, gang_why in (
            (objects.pod("g-2", group="g"), "0/1 nodes are available: 1 Insufficient cpu.", "0 of 1 members have room"),
            (objects.pod("g-2", group="g", schedulingGates=[{"name": "quota"}]), "non-empty scheduling gates", "scheduling gates"),
            (objects.pod("g-2", group="g", volumes=claims), 'persistentvolumeclaim "none" not found', 'claim "none" not found'),
            (leaving, "is being deleted", None)):
        code, answer, _ = ask("simulate", *made, pod)
        equal(code, DONE if pod is leaving else NO)
        reasons = {p["pod"]: p.get("reason") for p in answer["placements"]}
        equal([reasons["default/g-0"], reasons["default/g-1"]], [None, None])
        check(why in reasons["default/g-2"], reasons)
        only = answer["gangs"][0]
        equal((only["state"], only["placed"]), ("Running", 2))
        check(only.get("reason") is None if gang_why is None else gang_why in only["reason"], only)
        _, out, _ = run("musterctl", "simulate", "-f", "-", stdin=listed(*made, pod))
        check(why in out and "waits with its gang" not in out, out)
        check(f"2 of {2 if pod is leaving else 3} pending pods placed, 1 of 1 gangs" in out, out)


def test_a_terminal_sees_no_control_characters():
    """Names of objects in a file may be anything; JSON is read on terminals as well."""
    bad = "p\x1b]0;title\x07\x7f"
    kind = {"apiVersion": "v1", "kind": "Se\x1b[2Jcret", "metadata": {"name": "s", "namespace": "d"}}
    group, pods = objects.pod_group("g" + bad, 2), [objects.pod(bad, group="g" + bad), objects.pod("q" + bad, cpu="99")]
    made = listed(objects.node("n" + bad), group, *pods, kind)
    with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
        f.write(made)
        f.flush()
        for words in (["simulate"], ["verdict", "--pod", "default/q" + bad], ["explain", "default/g" + bad],
                      ["explain", "--add-node", "1x" + bad, "default/g" + bad], ["verdict", "--pod", bad]):
            code, out, err = run("musterctl", words[0], "-f", f.name, *words[1:])
            check(code != DONE and "?]0;title??" in out + err, words, out, err)
            equal([c for c in out + err if (c < " " and c != "\n") or c == "\x7f"], [], words)
        _, out, err = run("musterctl", "simulate", "-f", f.name, "-o", "json")
        check("\\u001b" not in out and "?]0;title??" in out + err, out, err)


def test_a_pod_that_is_being_deleted_waits_for_nothing():
    leaving = with_field(objects.pod("p"), "metadata.deletionTimestamp", "2026-01-01T00:00:00Z")
    code, answer, _ = ask("simulate", objects.node("n"), leaving)
    equal((code, answer["placements"]), (DONE, [{"pod": "default/p", "node": None, "reason": "is being deleted"}]))
    equal(run("musterctl", "simulate", "-f", "-", stdin=listed(objects.node("n"), leaving))[1].splitlines()[-1],
          "0 of 0 pending pods placed, 0 of 0 gangs")


# ---- time --------------------------------------------------------------------------------

def test_a_cluster_of_500_nodes():
    """2,000 pods with rules of all kinds.  The goal is a second on a quiet machine; ten times
    that is an error even on a busy one."""
    for plain in (True, False):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
            bigcluster.write(f, bigcluster.cluster(500, 2000, 1, plain))
            f.flush()
            start = cpu_of_children_s()
            code, out, err = run("musterctl", "simulate", "-f", f.name, "-o", "json")
            took = cpu_of_children_s() - start
        check(code in (DONE, NO) and err == "", code, err)
        answer = json.loads(out)["placements"]
        placed_n = sum(1 for p in answer if p["node"])
        figure(f"simulate, 500 nodes, {len(answer)} pods, {'resources alone' if plain else 'all rules'}: {took:.2f} s")
        check(len(answer) == 1800 and placed_n > 1500, len(answer), placed_n)
        check(took < 10, f"{took:.1f} s")


# ---- bad input --------------------------------------------------------------------------

def bad_cases():
    """(what, text or bytes, parts of the message)"""
    node, pod = objects.node("n1"), objects.pod("p1")
    group = objects.pod_group("g", 2)
    requests = "spec.containers.0.resources.requests"
    whole = listed(node, pod)
    yield "cut", whole[:-20], ["line 1, column"]
    yield "empty", "", ["the file is empty"]
    yield "cut gzip", gzip.compress(whole.encode())[:-30], ["gzip"]
    yield "damaged gzip", damaged(gzip.compress(whole.encode())), ["gzip"]
    yield "item", listed(node, 7), ["items[1]", "7"]
    yield "null item", listed(node, None), ["items[1]", "null"]
    yield "items", '{"apiVersion": "v1", "kind": "List", "items": 3}', ["items"]
    yield ("twice", listed(node, pod, with_field(pod, "spec.schedulerName", "x")),
           ["items[2]", "Pod default/p1", "items[1]"])
    yield "node twice", listed(node, pod, node), ["items[2]", "Node n1", "items[0]"]
    yield ("node quantity", listed(with_field(node, "status.allocatable", {"cpu": "12x"})),
           ["items[0]", "Node n1", "allocatable", "cpu", "12x"])
    yield ("node negative", listed(with_field(node, "status.allocatable", {"memory": "-1Gi"})),
           ["items[0]", "Node n1", "memory", "-1Gi"])
    yield ("negative", listed(node, with_field(pod, requests, {"cpu": "-1"})),
           ["items[1]", "Pod default/p1", "requests", "cpu", "-1"])
    yield ("negative of a bound pod", listed(node, with_field(with_field(pod, requests, {"cpu": "-1"}), "spec.nodeName", "n1")),
           ["items[1]", "Pod default/p1", "requests", "cpu", "-1"])
    yield ("quantity", listed(node, with_field(pod, requests, {"memory": "1Gb"})),
           ["items[1]", "Pod default/p1", "memory", "1Gb"])
    yield "type", listed(with_field(pod, "spec.priority", "high")), ["items[0]", "Pod default/p1", "priority"]
    yield "group", listed(with_field(group, "spec.minMember", "two")), ["PodGroup default/g", "minMember"]
    yield "no kind", listed({"apiVersion": "v1", "metadata": {"name": "x"}}), ["items[0]", "x", "kind"]
    yield "no name", listed({"apiVersion": "v1", "kind": "Pod", "metadata": {}}), ["items[0]", "metadata.name"]
    yield "yaml", "a: [b\n c: {", ["line 2, column"]
    yield "yaml key", "apiVersion: v1\nkind: Pod\nkind: Node\n", ["line 3", '"kind"', "twice"]
    yield "yaml number", "apiVersion: v1\nkind: Pod\nmetadata: {name: a, x: .inf}\n", ["line 3, column"]
    yield "yaml alias", "a: &a [*a]\n", ["line 1", "contains itself"]
    yield "two documents", f"{json.dumps(node)}\n---\n- 1\n", ["document 2", "[1]"]
    yield "nested", '{"a":' * 100 + "1" + "}" * 100, ["line 1"]


def damaged(packed):
    return packed[:40] + bytes([packed[40] ^ 0xFF]) + packed[41:]


def test_bad_input():
    """Exit 2, nothing on standard output, and one line that names file, object, field
    and value, from each command that reads files."""
    commands = (["simulate"], ["verdict", "--pod", "default/p1"])
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "objects")
        for what, text, parts in bad_cases():
            with open(path, "wb") as f:
                f.write(text if isinstance(text, bytes) else text.encode())
            for command in commands:
                code, out, err = run("musterctl", *command, "-f", path, "-o", "json")
                equal((code, out), (USAGE, ""), f"{what}: {err}")
                for part in [path, *parts]:
                    check(part in err, f"{what}: {part!r} is not in {err!r}")
                equal(len(err.splitlines()), 1, f"{what}: lines of {err!r}")


def at_the_edge(nodes, spare, seed, room=20):
    """A gang of unlike members of 2 to 9 cores, three to four for a node, with so many per cent of the room to spare; nobody
    knows whether it fits."""
    chance = random.Random(f"{nodes} {spare} {seed}")
    left, cores = nodes * room * (100 - spare) // 100, []
    while left >= 2:
        cores.append(min(chance.randint(2, 9), left))
        left -= cores[-1]
    return [*(objects.node(f"n{i:03}", cpu=str(room)) for i in range(nodes)), objects.pod_group("g", len(cores)),
            *(objects.pod(f"p{i:03}", cpu=str(c), memory="1Mi", group="g") for i, c in enumerate(cores))]


def test_unlike_members_at_the_edge():
    for nodes, spare in ((4, 0), (6, 0), (6, 1), (10, 1), (20, 1), (100, 1)):
        there, quick = 0, 0
        for seed in range(20):
            items = at_the_edge(nodes, spare, seed)
            code, answer, err = ask("simulate", *items)
            reasons = {p["reason"] for p in answer["placements"] if not p["node"]}
            check(not any("step limit" in r for r in reasons), err, reasons)
            used = {}
            for item in items[nodes + 1:]:
                used.setdefault(next(p["node"] for p in answer["placements"]
                                     if p["pod"].endswith("/" + item["metadata"]["name"])), []).append(
                    int(item["spec"]["containers"][0]["resources"]["requests"]["cpu"]))
            if code == DONE:
                there += 1
                check(None not in used and max(map(sum, used.values())) <= 20, used)
            else:
                equal(list(used), [None], "all or nothing")
            quick += ask("simulate", *items, flags=("--search-steps", "0"))[0] == DONE
        figure(f"{nodes} nodes, {spare} % to spare: {there} of 20 placed, without packing {quick}")
        check(there >= 19, nodes, spare, there)
        check(there >= quick, nodes, spare, quick)


def test_search_steps_of_simulate():
    # Eight of more than half a node each on seven nodes.
    items = [*(objects.node(f"n{i}", cpu="1000m") for i in range(7)), objects.pod_group("g", 8),
             *(objects.pod(f"p{i}", cpu=f"{501 + i}m", memory="1Mi", group="g") for i in range(8))]
    for flags, limit in (((), False), (("--search-steps", "0"), True), (("--search-steps", "1"), True)):
        code, answer, _ = ask("simulate", *items, flags=flags)
        equal(code, NO)
        equal(all("step limit" in p["reason"] for p in answer["placements"]), limit, flags)
    for text in ("-1", "", "1x", "99999999999999999999"):
        code, out, err = run("musterctl", "simulate", "-f", "x", "--search-steps", text)
        equal((code, out), (USAGE, ""))
        check("--search-steps" in err and "not a number" in err, err)


if __name__ == "__main__":
    sys.exit(main(globals()))
