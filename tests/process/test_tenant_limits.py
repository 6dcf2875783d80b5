# SPDX-License-Identifier: Apache-2.0
"""Tenants as enemies: what one namespace writes costs no other one its nodes, its entries or its terminal."""
import os
import sys
import unicodedata

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import hostile  # noqa: E402
from lib import kube, muster, objects  # noqa: E402
from lib.cluster import Cluster  # noqa: E402
from lib.harness import check, equal, main, steady, until  # noqa: E402

MERGE = "application/merge-patch+json"


def condition(c, name, namespace="default"):
    pod = c.client.get("Pod", name, namespace)
    return next((x for x in pod["status"].get("conditions", []) if x["type"] == "PodScheduled"), {})


def waits_with(c, name, text, namespace="default"):
    until(lambda: text in condition(c, name, namespace).get("message", ""), 10,
          lambda: f"{name} waits with {text!r}: {condition(c, name, namespace)}")


def has(c, node, resource, amount):
    """The node has that much of it; None: not even the name."""
    c.client.patch("Node", node, {"status": {"allocatable": {resource: amount}, "capacity": {resource: amount}}},
                   None, "status", MERGE)


def test_f6_names_of_waiting_pods_take_no_column():
    """28 pods ask for a resource of their own each; a node with a new resource is used nevertheless."""
    with Cluster(objects.node("n0", cpu="1")) as c:
        c.pair()
        c.create(kube.namespace("evil"), *(objects.pod(f"evil-{i}", cpu="10m", namespace="evil", requests={f"evil.com/{i}": "1"})
                   for i in range(28)))
        waits_with(c, "evil-0", "0/1 nodes are available: 1 Insufficient evil.com/0.", "evil")
        waits_with(c, "evil-27", "1 Insufficient evil.com/27.", "evil")
        c.create(objects.node("n1", cpu="8", gpu="8"))
        c.gang("train", 4, cpu="2", requests={"nvidia.com/gpu": "2"})
        until(lambda: c.bound("train") == 4, 10, "the gang has the new node")
        waits_with(c, "evil-0", "2 Insufficient evil.com/0.", "evil")
        c.create(objects.node("n2", **{"evil.com/7": "1"}))
        until(lambda: c.bound("evil-7", "evil") == 1, 10, "a pod whose resource a node brings is bound")
        c.client.delete("Pod", "evil-7", "evil")
        c.client.delete("Node", "n2")
        c.create(objects.pod("evil-7b", cpu="10m", namespace="evil", requests={"evil.com/7": "1"}))
        waits_with(c, "evil-7b", "2 Insufficient evil.com/7.", "evil")
        c.well(c.core, c.frontend)


def test_f6_a_node_with_too_many_names_counts_by_the_others():
    with Cluster(objects.node("n0", cpu="8", **{"a.com/a": "4", "b.com/b": "4", "c.com/c": "4"})) as c:
        c.pair(core=["--max-resources", 6])
        group, members = objects.gang("train", 4, cpu="1", requests={"a.com/a": "1"})
        c.create(group, *members)
        until(lambda: c.bound("train") == 4, 10, "a node without a column for one of its names is used")
        c.create(objects.pod("left-out", requests={"c.com/c": "1"}))
        waits_with(c, "left-out", "the limit --max-resources is reached: there is no column for c.com/c")
        steady(lambda: c.bound("left-out") == 0, 1, "what is not counted is not placed")
        check("--max-resources" in c.frontend.log(), "a line that names the limit")
        c.delete("Pod", *(m["metadata"]["name"] for m in members))
        has(c, "n0", "a.com/a", None)
        until(lambda: c.bound("left-out") == 1, 20, "a column that is free again goes to the name that had none")
        c.well(c.core, c.frontend)


def test_f6_a_bound_pod_counts_when_its_node_gets_the_resource_again():
    """A node loses a resource that a pod on it uses: when it is back, it is not given away twice."""
    with Cluster(objects.node("n0", cpu="8", **{"a.com/a": "4"})) as c:
        c.pair()
        c.create(objects.pod("first", requests={"a.com/a": "3"}))
        until(lambda: c.bound("first") == 1, 10, "bound")
        has(c, "n0", "a.com/a", None)
        c.create(objects.pod("second", requests={"a.com/a": "2"}))
        waits_with(c, "second", "1 Insufficient a.com/a.")
        has(c, "n0", "a.com/a", "4")
        c.create(objects.pod("third", requests={"a.com/a": "1"}))
        until(lambda: c.bound("third") == 1, 10, "one is free")
        steady(lambda: c.bound("second") == 0, 1, "not two")
        c.well(c.core, c.frontend)


def test_f7_shapes_are_shared():
    """One namespace's waiting pods fill --max-shapes; another one's gang starts nevertheless."""
    with Cluster(objects.node("n0", cpu="8")) as c:
        c.pair(core=["--max-shapes", 64])
        c.create(kube.namespace("evil"), *(objects.pod(f"evil-{i:02}", cpu=f"{100000 + i}m", namespace="evil")
                                      for i in range(80)))
        waits_with(c, "evil-79", "the limit --max-shapes is reached: namespace evil has ", "evil")
        c.gang("good", 4, cpu="1")
        until(lambda: c.bound("good") == 4, 20, "the gang of another namespace starts")
        c.create(*(objects.pod(f"more-{i:02}", cpu=f"{100 + i}m") for i in range(12)))
        until(lambda: c.bound("more") == 12, 20, "and so do pods of other shapes")
        c.well(c.core, c.frontend)
        for i in range(40):
            c.client.delete("Pod", f"evil-{i:02}", "evil")
        waits_with(c, "evil-79", "1 Insufficient cpu", "evil")


def test_f7_gangs_are_shared():
    with Cluster(objects.node("n0", cpu="8")) as c:
        c.pair(core=["--max-gangs", 64])
        c.create(kube.namespace("evil"))
        for i in range(80):
            c.create(objects.pod(f"evil-{i:02}", cpu="100", namespace="evil", group=f"evil-{i:02}"))
        waits_with(c, "evil-79", "the limit --max-gangs is reached: namespace evil has ", "evil")
        for g in range(3):
            c.gang(f"good{g}", 2, cpu="1")
        until(lambda: c.bound("good") == 6, 20, "the gangs of another namespace start")
        c.well(c.core, c.frontend)


def repelled(name, n, namespace):
    """It waits, and must not be beside pods of n labels, each of its own, in any namespace."""
    pod = objects.pod(name, cpu="100000", namespace=namespace)
    pod["spec"]["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"topologyKey": "kubernetes.io/hostname" if i % 2 else f"evil.com/{name}-{i}", "namespaceSelector": {},
         "labelSelector": {"matchLabels": {"app": f"{name}-{i}"}}} for i in range(n)]}}
    return pod


def peak_kib(process):
    with open(f"/proc/{process.pid}/status", encoding="utf-8") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM:"))


def test_f7_rules_between_pods_of_waiting_pods_take_no_memory_by_node():
    """16 pods of 256 terms on 1,500 nodes: muster-core had counts by node for each term, in each view."""
    with Cluster(*(objects.node(f"n{i}", cpu="8") for i in range(1500))) as c:
        c.pair()
        c.create(kube.namespace("evil"))
        c.create(objects.pod("first", cpu="1"))
        until(lambda: c.bound("first") == 1, 20, "bound")
        before = peak_kib(c.core)
        c.create(*(repelled(f"evil-{i:02}", 256, "evil") for i in range(16)))
        waits_with(c, "evil-15", "1500 Insufficient cpu", "evil")
        c.create(*(objects.pod(f"good-{i}", cpu="1") for i in range(8)))
        until(lambda: c.bound("good") == 8, 20, "pods of another namespace are bound")
        grown = peak_kib(c.core) - before
        equal(c.metrics()['muster_limit_used{of="terms"}'], 16 * 256, "terms")
        print(f"16 pods of 256 terms: {grown} KiB of muster-core")
        check(grown < 64 << 10, f"{grown} KiB of muster-core for 16 pods")
        c.well(c.core, c.frontend)


HIDDEN = {"csi": "\u009b2J", "osc": "\u009d0;x", "bidi": "\u202egnp", "esc": "\x1b[2J", "line": "a\nb",
          "mark": "\u200f", "isolate": "\u2066x", "separator": "\u2028x"}


def hides(text):
    """The first character that a terminal obeys or a line hides; lines and tabs apart."""
    return next((hex(ord(x)) for x in text if unicodedata.category(x) in ("Cc", "Cf", "Zl", "Zp") and x not in "\n\t"), None)


def marked(name, group, number="2"):
    pod = objects.pod(name)
    pod["metadata"]["annotations"] = {"scheduling.k8s.io/group-name": group, "scheduling.k8s.io/group-pod-num": number}
    return pod


def test_f5_f13_marks_with_hidden_characters_are_refused_and_shown_plainly():
    with Cluster(objects.node("n0")) as c:
        c.pair()
        for what, text in HIDDEN.items():
            c.create(marked(f"p-{what}", text + "-g"), marked(f"q-{what}", "g" + text))
        for what in HIDDEN:
            waits_with(c, f"p-{what}", f"pod default/p-{what}: annotation scheduling.k8s.io/group-name is \"")
            waits_with(c, f"q-{what}", f"pod default/q-{what}: annotation scheduling.k8s.io/group-name is \"")
        until(lambda: len(c.client.list("Event")) >= 2 * len(HIDDEN), 20, "an event for each")
        steady(lambda: c.bound() == 0, 1, "none is bound alone")
        shown = {"logs": c.core.log() + c.frontend.log(), "state.json": c.fetch("/state.json")[1]}
        shown["conditions"] = "".join(condition(c, p["metadata"]["name"])["message"].replace("\n", "\r") for p in c.pods())
        shown["events"] = "".join((e.get("note") or e.get("message") or "").replace("\n", "\r") for e in c.client.list("Event"))
        for arguments in (["gangs"], ["gangs", "-o", "json"], ["status"], ["status", "-o", "json"], ["nodes"],
                          ["explain", "default/p-csi"], ["explain", "default/p-csi", "-o", "json"]):
            shown[" ".join(arguments)] = "".join(c.ask(*arguments)[1:])
        for where, text in shown.items():
            check(not hides(text), where, "shows", hides(text))
        c.well(c.core, c.frontend)


def test_f13_a_quorum_that_is_no_number_makes_an_ordinary_pod():
    """As in the batch scheduler; members that disagree wait."""
    with Cluster(objects.node("n0")) as c:
        c.pair()
        numbers = ("x", "0", "-1", "3x", "1e3", "99999999999")
        c.create(*(marked(f"p{i}", "g", number) for i, number in enumerate(numbers)))
        until(lambda: c.bound() == len(numbers), 20, "each is bound alone")
        c.create(marked("a", "h", "1"), marked("b", "h", "2"))
        waits_with(c, "b", "members disagree: annotation scheduling.k8s.io/group-pod-num is")
        c.well(c.core, c.frontend)


def test_a_pod_with_too_many_resources_takes_its_node_from_nobody():
    """A tenant binds a pod by hand, with 70 resources that the node lacks; kubelets admit such a pod."""
    with Cluster(objects.node("n0", cpu="4", gpu="8"), apisim=("--no-kubelet",)) as c:
        c.pair()
        c.create(kube.namespace("evil"), objects.pod("evil", cpu="1", namespace="evil", nodeName="n0", requests={
            "nvidia.com/gpu": "3", **{f"evil.com/r{i}": "1" for i in range(70)}}))
        until(lambda: "one of more than 64 resources" in c.frontend.log(), 10, "the pod is named")
        c.create(objects.pod("good", cpu="1", requests={"nvidia.com/gpu": "5"}))
        until(lambda: c.bound("good") == 1, 10, lambda: c.why_pending("good"))
        c.create(objects.pod("more", cpu="10m", requests={"nvidia.com/gpu": "1"}))
        waits_with(c, "more", "1 Insufficient nvidia.com/gpu")
        # A node brings one of them: the pod is read again, and what it uses of the node's is counted.
        has(c, "n0", "evil.com/r69", "2")
        c.client.delete("Pod", "more")
        c.create(objects.pod("first", cpu="10m", requests={"evil.com/r69": "1"}))
        until(lambda: c.bound("first") == 1, 30, lambda: c.why_pending("first"))
        c.create(objects.pod("second", cpu="10m", requests={"evil.com/r69": "1"}))
        waits_with(c, "second", "1 Insufficient evil.com/r69")
        wrongs = [wrong for wrong in c.wrongs() if "taken of 0" not in wrong]
        check(wrongs == ["apisim counts 1 overcommitted"], wrongs)  # by the tenant's pod


def shy(i, terms):
    """A pod with preferred terms that match the pods of all namespaces, each a selector of its own."""
    terms = [{"weight": 1, "podAffinityTerm": {
        "topologyKey": "kubernetes.io/hostname", "namespaceSelector": {},
        "labelSelector": {"matchExpressions": [{"key": "x", "operator": "NotIn", "values": [f"{i}-{t}"]}]}}}
        for t in range(terms)]
    return objects.pod(f"evil-{i}", cpu="1000", namespace="evil", affinity={"podAntiAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": terms}})


def test_selectors_of_a_tenant_are_not_counted_for_each_pod_and_selector():
    """10 pods with 250 terms each beside 400 bound ones: the core counts what is new, not all there is for each.
    Once that took 5 s of the core's time with these few, and grew with the square of the terms."""
    with Cluster(*(objects.node(f"n{i}") for i in range(8))) as c:
        c.pair()
        c.create(kube.namespace("evil"), *(objects.pod(f"p{i}", cpu="10m", memory="1Mi") for i in range(400)))
        until(lambda: c.bound("p") == 400, 60, "the others are bound")
        before = muster.cpu_s(c.core.pid)
        c.create(*(shy(i, 250) for i in range(10)))
        waits_with(c, "evil-9", "0/8 nodes are available", "evil")
        took = muster.cpu_s(c.core.pid) - before
        check(took < 2, "the core took", took, "s")
        c.well(c.core, c.frontend)


def test_a_hostile_tenant_delays_nobody_for_long():
    """20 s of hostile.py: gangs of another namespace start, none of them late by more than a list takes."""
    _, under = hostile.hostile(20)
    check(max(under) < 30, "a gang started after", max(under), "s")


if __name__ == "__main__":
    main(globals(), jobs=2)
