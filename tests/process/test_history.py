# SPDX-License-Identifier: Apache-2.0
"""tests/history.py finds what is planted in histories written by hand, each excuse excuses only what it names,
and a history recorded from apisim is judged like the cluster was."""
import json
import os
import re
import subprocess
import sys
from fractions import Fraction

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import history  # noqa: E402
from outside import amounts, facts, judge as judging  # noqa: E402
from lib import muster  # noqa: E402
from lib.cluster import Cluster  # noqa: E402
from lib.harness import check, equal, main, until  # noqa: E402
from lib.objects import gang, node, pod, pod_group  # noqa: E402
from lib.outsider import CHECKER, Outsider  # noqa: E402

LONG_S = judging.RACE_S + 1


def recorded(kind, obj):
    """Its uid is its name."""
    return facts.pruned(kind, {**obj, "metadata": {"uid": obj["metadata"]["name"], **obj["metadata"]}})


class Written:
    """A history by hand: a revision each, 0.1 s apart."""

    def __init__(self, *baseline):
        self.rv, self.at = 10, 0.0
        self.records = [self._record(kind, "LIST", since=0, items=[recorded(k, o) for k, o in baseline if k == kind])
                        for kind in ("Node", "PodGroup", "Pod")]

    def _record(self, kind, how, **rest):
        self.rv, self.at = self.rv + 1, self.at + 0.1
        return {"kind": kind, "rv": self.rv, "at": self.at, "type": how, **rest}

    def put(self, kind, obj, how="MODIFIED", after_s=0.0):
        self.at += after_s
        self.records.append(self._record(kind, how, object=recorded(kind, obj)))
        return self

    def add(self, *objects):
        for obj in objects:
            self.put(obj["kind"], obj, "ADDED")
        return self

    def bind(self, to, *pods, after_s=0.0):
        for p in pods:
            self.put("Pod", on(p, to), after_s=after_s)
        return self

    def drop(self, obj, kind="Pod"):
        return self.put(kind, obj, "DELETED")

    def expire(self, kind, *items):
        """The watch expired after the last revision but 5, and is listed again."""
        since, self.rv = self.rv, self.rv + 5
        self.records.append(self._record(kind, "LIST", since=since, items=[recorded(kind, o) for o in items]))
        return self

    def rest(self):
        self.records.append(self._record(judging.MARK, "REST"))
        return self

    def judged(self):
        """(violations, excused, notes): their names, or texts."""
        path = os.path.join(muster.scratch(), "h.jsonl")
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(r) + "\n" for r in self.records)
        self.path = path
        judge = history.judged(path)
        self.bindings = judge.bindings
        return tuple([text.split(": ", 1)[1] for text in found.values()]
                     for found in (judge.violations, judge.excused, judge.notes))

    def finds(self, *parts, excused=(), notes=()):
        found = self.judged()
        for got, wanted, what in zip(found, (parts, excused, notes), ("violations", "excused", "notes")):
            check(len(got) == len(wanted) and all(w in g for w, g in zip(wanted, got)), what, got, "instead of", wanted)
        return self


def on(p, to, phase="Pending", **status):
    return {**p, "spec": {**p["spec"], "nodeName": to}, "status": {"phase": phase, **status}}


def small(cpu="4", **more):
    return node("n1", cpu=cpu, **more)


def test_a_history_without_faults():
    group, members = gang("g", 3)
    Written().add(small(), group, *members).rest().bind("n1", *members).rest().finds()
    a, b = pod("a", cpu="4"), pod("b", cpu="4")
    w = Written().add(small(), a, b).bind("n1", a)
    w.put("Pod", on(a, "n1", "Succeeded")).bind("n1", b).rest().finds()
    equal(w.bindings, 2, "bindings")
    Written().add(small(), a, b).bind("n1", a).drop(on(a, "n1")).bind("n1", b).rest().finds()


def test_overfull():
    a, b = pod("a", cpu="3"), pod("b", cpu="2")
    Written().add(small(), a, b).bind("n1", a, b).finds(
        "overfull: default/b bound: node n1 has 5 cpu of 4 taken, also by default/a")
    Written().add(small(), a, b).bind("n1", a).put("Pod", {**on(a, "n1"), "metadata": {
        **a["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}}).bind("n1", b).finds("overfull")
    Written().add(small(memory="1536Mi"), pod("a", cpu="0"), pod("b", cpu="0")).bind(
        "n1", pod("a", cpu="0"), pod("b", cpu="0")).finds("2.14748e+09 memory of 1.61061e+09")
    light = [pod(f"p{i}", cpu="0", memory="0") for i in range(3)]
    Written().add(small(pods="2"), *light).bind("n1", *light).finds("3 pods of 2")
    gpu = pod("g", requests={"nvidia.com/gpu": "1"})
    Written().add(small(), gpu).bind("n1", gpu).finds("1 nvidia.com/gpu of 0")
    before = Written(("Node", small()), ("Pod", on(a, "n1")))
    before.add(b).bind("n1", b).finds("overfull")


def test_overfull_is_excused():
    a, b = pod("a", cpu="3"), pod("b", cpu="2")
    start = lambda: Written().add(small(), a, b).bind("n1", a)  # noqa: E731
    start().put("Node", small(cpu="2")).finds()
    roomy = lambda: Written().add(small(cpu="8"), a, b).bind("n1", a).put("Node", small())  # noqa: E731
    roomy().bind("n1", b).finds(excused=["the node shrank 0.1 s before"])
    roomy().bind("n1", b, after_s=LONG_S).finds("overfull")
    start().put("Node", small(cpu="3500m")).bind("n1", b).finds("overfull")
    Written().add(small(), a, on(b, "n1")).finds()
    start().add(on(pod("c", cpu="2"), "n1")).finds(excused=["it was created with its node"])
    other = pod("o", cpu="3", scheduler="other")
    Written().add(small(), b, other).bind("n1", other, b).finds(excused=["person bound default/o there just before"])
    Written().add(small(), b, other).bind("n1", other).bind("n1", b, after_s=LONG_S).finds("overfull")
    start().put("Pod", on(pod("a", cpu="6"), "n1")).finds(excused=["a person resized it in place"])
    start().put("Pod", on(pod("a", cpu="6"), "n1")).bind("n1", b).finds("overfull", excused=["resized"])


def test_moved_and_nowhere():
    a, cordoned = pod("a"), small(unschedulable=True)
    Written().add(small(), node("n2"), a).bind("n1", a).bind("n2", a).finds("moved: default/a was on node n1, now on n2")
    Written().add(small(), a).bind("n1", a).put("Pod", a).finds("now on None")
    Written().add(a).bind("n9", a).finds("nowhere: default/a was bound to node n9, which does not exist")
    Written().add(small(), a).drop(small(), "Node").bind("n1", a).finds(notes=["n1, which was deleted shortly before"])
    Written().add(small(), a).drop(small(), "Node").bind("n1", a, after_s=LONG_S).finds("nowhere")
    Written().add(small(), a).put("Node", cordoned).bind("n1", a).finds(notes=["was cordoned shortly before"])
    Written().add(small(), a).put("Node", cordoned).bind("n1", a, after_s=LONG_S).finds("nowhere")
    Written(("Node", cordoned)).add(a).bind("n1", a).finds("nowhere: default/a was bound to node n1, which is cordoned")
    agent = pod("d", tolerations=[{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}])
    Written(("Node", cordoned)).add(agent).bind("n1", agent).finds()
    Written().add(on(a, "n9")).finds(excused=["it was created with its node"])


def torn(**more):
    """Two of three members are bound."""
    group, members = gang("g", 3, **more)
    return Written().add(small(), node("n2"), group, *members).bind("n1", *members[:2]), members


def test_torn():
    w, members = torn()
    w.finds()
    w.rest().rest().finds("torn: group default/g has 2 of minMember 3 bound: default/g-0 on n1, default/g-1 on n1; "
                          "1 wait: default/g-2")
    w.bind("n1", members[2]).rest().finds("torn")
    torn()[0].bind("n1", members[2]).rest().put("Pod", on(members[0], "n1", "Succeeded")).rest().finds()
    volcano = {**pod_group("v", 2), "apiVersion": "scheduling.volcano.sh/v1beta1"}
    pods = [pod(f"v-{i}") for i in range(2)]
    for p in pods:
        p["metadata"]["annotations"] = {"scheduling.k8s.io/group-name": "v"}
    w = Written()
    w.records.append(w._record("PodGroup.scheduling.volcano.sh", "LIST", since=0, items=[]))
    w.add(small()).put("PodGroup.scheduling.volcano.sh", volcano, "ADDED").add(*pods).bind("n1", pods[0]).rest().finds("torn")
    native = {"metadata": {"name": "n"}, "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}}}
    pods = [pod(f"n-{i}", schedulingGroup={"podGroupName": "n"}) for i in range(2)]
    w = Written()
    w.records.append(w._record("PodGroup.scheduling.k8s.io", "LIST", since=0, items=[]))
    w.add(small()).put("PodGroup.scheduling.k8s.io", native, "ADDED").add(*pods).bind("n1", pods[0]).rest().finds("torn")


def test_torn_is_excused():
    w, members = torn()
    w.bind("n1", members[2]).drop(on(members[0], "n1")).rest().finds(excused=["bound members were deleted"])
    w, members = torn()
    w.drop(on(members[0], "n1")).rest().finds(excused=["members were deleted"])
    w, members = torn()
    w.drop(members[2]).rest().finds(excused=["members were deleted"])
    w, members = torn()
    w.add(pod("g-3", group="g")).drop(members[2]).rest().finds("torn")  # there are enough of them
    w, members = torn()
    w.bind("n1", members[2]).put("PodGroup", pod_group("g", 4)).rest().finds(excused=["minMember was raised"])
    w, members = torn(cpu="2")
    w.put("Node", node("n2", cpu="1")).rest().finds(excused=["node n2 shrank after the first binding"])
    w, members = torn(cpu="2")
    w.drop(node("n2"), "Node").rest().finds(excused=["node n2 was deleted after the first binding"])
    w, members = torn(cpu="2")
    w.put("Node", node("n2", unschedulable=True)).rest().finds(excused=["node n2 was cordoned after"])
    w, members = torn(cpu="1")
    w.put("Node", node("n2", cpu="1")).rest().finds("torn")  # it fits nevertheless
    w, members = torn(cpu="2")
    w.add(on(pod("big", cpu="7"), "n2")).rest().finds(excused=["default/big was created with its node after"])
    group, members = gang("g", 2)
    Written().add(small(), group, members[0], on(members[1], "n1")).rest().finds(excused=["a person bound these"])
    stranger = pod("g-1", group="g", scheduler="other")
    Written().add(small(), group, members[0], stranger).bind("n1", stranger).rest().finds(excused=["another scheduler"])
    Written(("Node", small()), ("PodGroup", group), ("Pod", on(members[0], "n1")), ("Pod", members[1])).rest().finds(
        excused=["before the history begins"])


def test_a_gap_hides_only_the_order():
    a, b = pod("a", cpu="3"), pod("b", cpu="2")
    w = Written().add(small(), a, b).bind("n1", a)
    w.expire("Pod", on(b, "n1")).rest().finds()  # a was deleted in the gap
    Written().add(small(), a, b).bind("n1", a).expire("Pod", on(a, "n1"), on(b, "n1")).finds("overfull")
    # A pod is bound while the watch of nodes is expired: the node grew before.
    w = Written().add(small(), a, b).bind("n1", a)
    w.expire("Node", small(cpu="8"))
    late = w.records.pop()
    w.records.append({"kind": "Pod", "rv": late["rv"] - 2, "at": late["at"], "type": "MODIFIED",
                      "object": recorded("Pod", on(b, "n1"))})
    w.records.append(late)
    w.finds()


def test_requests():
    def box(cpu, **more):
        return {"name": "c", "resources": {"requests": {"cpu": cpu}}, **more}

    def cpu(status=None, **spec):
        return amounts.request_of({"spec": spec, "status": status or {}})["cpu"]

    equal(cpu(containers=[box("1"), box("2")]), 3, "sum")
    equal(cpu(containers=[box("1")], initContainers=[box("4"), box("2")]), 4, "largest init container")
    equal(cpu(containers=[box("1")], initContainers=[box("2", restartPolicy="Always"), box("1")]), 3, "sidecar")
    equal(cpu(containers=[box("1")], initContainers=[box("2", restartPolicy="Always"), box("5")]), 7, "init and sidecar")
    equal(cpu(containers=[box("1")], overhead={"cpu": "250m"}), Fraction(5, 4), "overhead")
    equal(cpu(containers=[box("1")], resources={"requests": {"cpu": "4"}}), 4, "resources of the pod")
    held = {"containerStatuses": [{"name": "c", "resources": {"requests": {"cpu": "2"}}, "allocatedResources": {"cpu": "3"}}]}
    equal([cpu(held, containers=[box(n)]) for n in ("1", "4")], [3, 4], "shrinks, grows in place")
    never = {**held, "conditions": [{"type": "PodResizePending", "reason": "Infeasible"}]}
    equal(cpu(never, containers=[box("9")]), 3, "infeasible")
    equal(cpu({"allocatedResources": {"cpu": "6"}}, containers=[box("1")], resources={"requests": {"cpu": "4"}}), 6,
          "resources of the pod shrink in place")
    equal([amounts.quantity(t) for t in ("100m", "1Ki", "2e3", "0.5")], [Fraction(1, 10), 1024, 2000, Fraction(1, 2)], "")


def test_what_cannot_be_judged_is_no_pass():
    w = Written().add(small())
    w.records.append({"kind": judging.MARK, "rv": 0, "at": 0, "type": "BROKEN", "why": "the server began anew"})
    path = os.path.join(muster.scratch(), "empty")
    for make in (w.judged, lambda: open(path, "w", encoding="utf-8").close() or history.judged(path)):
        try:
            make()
        except ValueError:
            continue
        check(False, "it was judged")


def test_a_cluster_is_followed_through_cut_and_expired_watches():
    """Bindings by hand: one overfills, one gang stays torn; the saved history has the same verdict."""
    with Cluster(apisim=["--no-kubelet"]) as c:
        outsider = Outsider(c.kubeconfig, c.folder)
        group, members = gang("g", 3)
        c.create(small(), group, *members, pod("a", cpu="3"))
        c.client.bind("g-0", "n1")
        outsider.rest()
        c.arm("cut-watches", count=3)
        c.arm("compact")
        c.client.bind("g-1", "n1")
        c.client.bind("g-2", "n1")
        outsider.rest()
        c.client.bind("a", "n1")
        found = outsider.end()
        equal(len(found), 2, str(found))
        check("overfull: default/a bound: node n1 has 6 cpu of 4" in "".join(found), found)
        check("torn: group default/g has 1 of minMember 3" in "".join(found), found)
        again = subprocess.run([sys.executable, str(CHECKER), "judge", outsider.path], capture_output=True, text=True)
        equal(again.returncode, 1, "exit code of judge")
        check(re.search(r"^\d+ revisions, 4 bindings, 2 violations, 0 excused$", again.stdout, re.M), again.stdout)


def test_muster_passes():
    with Cluster(small(), judged=True) as c:
        c.up()
        group, members = gang("g", 3)
        c.create(group, *members)
        until(lambda: c.bound() == 3, 20, "the gang is bound")  # else both pods may be seen before the group
        c.create(pod("a"), pod("b"))
        until(lambda: c.bound() == 4, 20, "4 bound")
        check(not c.wrongs(), c.wrongs())


if __name__ == "__main__":
    main(globals())
