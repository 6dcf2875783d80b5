# SPDX-License-Identifier: Apache-2.0
"""The frame of scenarios.  A scenario is a function of one argument, named after
its number in the table of scenarios (cos_3, a variant is cos_3b), with a
docstring that states what it shows, and runs against either kind of server:

    def cos_5(t):
        "fewer pods than the quorum hold nothing"
        t.node("n1", memory=300)
        t.group("few", 4)
        t.pods(3, "few", memory=50)
        t.pods(2, "plain", group=None, memory=100)
        t.settles("plain", 2)
        t.still("few")

Nodes, namespaces and the scheduler's name are the scenario's own, so that many run
on one server: names of nodes are given and compared without the prefix, and
objects without a namespace go to t.ns.  After each, the invariants are read
from the API (wrongs.py)."""
import contextlib
import json
import os
import re
import time

from lib import dialects, kube, objects
from lib.check import condition, is_bound
from lib.harness import check, equal, until

from . import wrongs
from .watched import Watched

STILL_S = 2.0  # "for 60 s"
SOON_S = 10.0  # where the table gives no time
NODE_LABEL = "tests.muster.io/scenario"


def given(**how):
    """Decorates a scenario: kubelet=False (pods stay as they are bound), config={...} (of
    muster), apisim=[flags], muster=[flags], faults=True (it uses t.fail)."""
    def mark(scenario):
        scenario.given = how
        return scenario
    return mark


def number_of(name):
    """cos_3b -> COS-3"""
    system, n = re.fullmatch(r"([a-z]+)_([0-9]+)[a-z]?", name).groups()
    return f"{system.upper()}-{n}"


class Scenario:
    def __init__(self, name, world):
        """world: a lib.cluster.Cluster, or one on a real server (servers.py)."""
        self.name, self.id, self.number = name, name.replace("_", "-"), number_of(name)
        self.server, self.world, self.client = world.kind, world, world.client
        self.ns, self.scheduler = self.id, self.id
        self.namespaces = {self.ns}
        self.node_names = set()
        self.watched = Watched(self.client, self.namespaces)

    @contextlib.contextmanager
    def running(self, muster=(), config=None):
        """With muster running; ends with the invariants."""
        self.world.make_namespace(self.ns)
        if config:
            muster = (*muster, "--config", self.write_config(config))
        with self.watched:
            self.world.up("--scheduler-name", self.scheduler, *self.world.muster_flags(self), *muster)
            try:
                yield self
                for found in (wrongs.of(self), wrongs.after_a_crash(self)):
                    check(not found, "invariants:", *found[:8])
            except BaseException:
                self.tell()
                raise

    def write_config(self, config):
        """JSON is YAML."""
        path = os.path.join(self.world.folder, "config.yaml")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"apiVersion": "muster.dev/v1alpha1", "kind": "Configuration", **config}, file)
        return path

    def tell(self):
        """The state of the pods when it failed."""
        for p in sorted(self.client.list("Pod"), key=lambda p: p["metadata"]["name"])[:12]:
            if p["metadata"]["namespace"] in self.namespaces:
                print(p["metadata"]["name"], p["spec"].get("nodeName"), condition(p), flush=True)

    def ctl(self, what):
        """musterctl about this scheduler."""
        return self.world.ask_json(what)[1]

    # ---- objects ----

    def node(self, name, cpu=8, memory="32Gi", gpu=None, pods=32, labels=None, **rest):
        if gpu is not None:
            rest["gpu"] = str(gpu)
        labels = {**(labels or {}), NODE_LABEL: self.id}
        made = objects.node(self.full(name), cpu=str(cpu), memory=str(memory), pods=str(pods), labels=labels, **rest)
        self.watched.add_node(made)
        self.node_names.add(made["metadata"]["name"])
        self.client.create(made)

    def full(self, node):
        return f"{self.id}-{node}"

    def delete_node(self, name):
        self.client.delete("Node", self.full(name))

    def namespace(self, suffix):
        """One more namespace of this scenario."""
        name = f"{self.id}-{suffix}"
        self.world.make_namespace(name)
        self.namespaces.add(name)
        return name

    def priority(self, value):
        """The name of a class of that priority."""
        with contextlib.suppress(kube.ApiError):
            self.client.create(kube.priority_class(f"p{value}", value))
        return f"p{value}"

    def create(self, *made):
        for obj in made:
            obj["metadata"].setdefault("namespace", self.ns)
            if obj["metadata"]["namespace"] == "default":
                obj["metadata"]["namespace"] = self.ns
            self.client.create(obj)

    def group(self, name, quorum, dialect="scheduler-plugins", ns=None, **spec):
        """The object that describes a group, in a dialect that has one; spec: more
        of its spec (of a ConfigMap: of its data)."""
        self.create(dialects.DIALECTS[dialect].group(name, quorum, ns or self.ns, **spec))

    def gang(self, name, quorum, n, **rest):
        """A group and its n pods."""
        self.group(name, quorum)
        self.pods(n, name, **rest)

    def a_pod(self, name, group=None, quorum=None, dialect="scheduler-plugins", cpu=0, memory=0, gpu=None, ns=None,
              scheduler=None, priority=None, labels=None, annotations=None, owner=None, **spec):
        """A pod that is not created yet; group: of the dialect; quorum: for a dialect
        where the pods declare it."""
        if gpu:
            spec["requests"] = {**spec.get("requests", {}), "nvidia.com/gpu": str(gpu)}
        if priority is not None:
            spec["priorityClassName"] = self.priority(priority)
        made = objects.pod(name, cpu=str(cpu), memory=str(memory), namespace=ns or self.ns,
                           scheduler=scheduler or self.scheduler, labels=labels, **spec)
        if annotations:
            dialects.annotate(made, annotations)
        if owner:
            made["metadata"]["ownerReferences"] = [owner]
        if group:
            dialects.DIALECTS[dialect].mark(made, group, quorum)
        return made

    def pod(self, name, **rest):
        self.create(self.a_pod(name, **rest))

    def pods(self, n, name, first=0, **rest):
        """name-0 and on; members of the group of that name unless group=None."""
        rest.setdefault("group", name)
        for i in range(first, first + n):
            self.pod(f"{name}-{i}", **rest)

    def alternate(self, *rows):
        """Create the rows' objects, one of each after the other."""
        for i in range(max(map(len, rows))):
            self.create(*[row[i] for row in rows if i < len(row)])

    def delete_pods(self, *names, ns=None):
        for name in names:
            self.client.delete("Pod", name, ns or self.ns)
        until(lambda: not any(self.watched.named(n, ns or self.ns) for n in names), SOON_S, f"{names} are gone")

    def delete(self, kind, name, ns=None):
        self.client.delete(kind, name, ns or self.ns)

    def patch(self, kind, name, patch, ns=None, **how):
        return self.client.patch(kind, name, patch, ns or self.ns, **how)

    def next_second(self):
        """So that what is created next has a later creationTimestamp."""
        time.sleep(1.1)

    def set_phase(self, phase, *names):
        """What the kubelet would write."""
        for name in names:
            self.patch("Pod", name, {"status": {"phase": phase}}, sub="status")

    def fail(self, fault, **how):
        """The server fails the next requests of that kind (apisim's faults)."""
        self.world.arm(fault, **how)

    # ---- what is so now ----

    def get(self, name, kind="Pod", ns=None):
        return self.client.get(kind, name, ns or self.ns)

    def listed(self, prefix="", ns=None):
        return [p for p in self.client.list("Pod", ns or self.ns) if p["metadata"]["name"].startswith(prefix)]

    def bound(self, prefix="", ns=None):
        """How many pods with this name prefix have a node, as the watch has it."""
        return self.watched.count(prefix, ns or self.ns)

    def nodes(self, prefix="", ns=None):
        """{pod: node, None while it waits}, both as the scenario names them."""
        cut = len(self.id) + 1
        return {p["metadata"]["name"]: (p["spec"].get("nodeName") or "")[cut:] or None for p in self.listed(prefix, ns)}

    def counts(self, prefix, label="workload-test", ns=None):
        """{value of the nodes' label: pods bound there}; None: those that wait."""
        values = {n["metadata"]["name"]: n["metadata"]["labels"].get(label) for n in self.client.list("Node")}
        got = {}
        for p in self.listed(prefix, ns):
            value = values.get(p["spec"].get("nodeName")) if is_bound(p) else None
            got[value] = got.get(value, 0) + 1
        return got

    def status(self, name, kind="PodGroup", ns=None):
        return self.get(name, kind, ns).get("status") or {}

    def events(self, name, reason, ns=None):
        """The notes of the events about a pod, or another object of that name."""
        return [e.get("note", "") for e in self.client.list("Event", ns or self.ns)
                if e.get("regarding", {}).get("name") == name and e.get("reason") == reason]

    # ---- what must be so ----

    def settles(self, prefix, n, within_s=SOON_S, ns=None):
        """So many are bound within that time, and no more soon after."""
        until(lambda: self.bound(prefix, ns) >= n, within_s, f"{n} of {prefix} bound", every_s=0.02)
        self.still(prefix, n, 0.3, ns)

    def still(self, prefix, n=0, seconds=STILL_S, ns=None):
        """Exactly so many are bound, and during that time none is added or removed."""
        start = time.monotonic()
        equal(self.bound(prefix, ns), n, f"bound of {prefix}")
        time.sleep(seconds)
        turns = self.watched.turns_since(start, prefix, ns or self.ns)
        check(not turns, f"{prefix} did not stay as it was:", turns)
        equal(sum(map(is_bound, self.listed(prefix, ns))), n, f"bound of {prefix}")

    def stays(self, prefix, n):
        """So many get bound, and it stays so."""
        self.settles(prefix, n)
        self.still(prefix, n)

    def blocked(self, prefix, *parts, ns=None):
        """Each of them has such a reason, and none is bound."""
        self.waits(prefix, *parts, ns=ns)
        self.still(prefix, ns=ns)

    def leaves(self, group, **amounts):
        """The group that waits withholds nothing: an ordinary pod gets these amounts."""
        self.pod("plain", **amounts)
        self.settles("plain", 1)
        self.still(group)

    def one_of(self, one, other, n):
        """One of the two has n bound and the other none, and it stays so; (winner, other)."""
        until(lambda: n in (self.bound(one), self.bound(other)), SOON_S, f"{one} or {other} whole")
        winner, loser = (one, other) if self.bound(one) else (other, one)
        self.still("", self.bound(winner))
        equal((self.bound(winner), self.bound(loser)), (n, 0), f"bound of {winner} and {loser}")
        return winner, loser

    def reason(self, name, *parts, within_s=SOON_S, ns=None):
        """The pod's PodScheduled condition is False and its message has these parts;
        the condition."""
        said = {}

        def has():
            said.update(condition(self.get(name, ns=ns)) or {})
            return said.get("status") == "False" and all(p in said.get("message", "") for p in parts)

        try:
            until(has, within_s)
        except AssertionError:
            check(False, f"condition of {name}: wanted {parts}, has {said}")
        return said

    def waits(self, prefix, *parts, ns=None):
        """Each pod of that prefix has a reason: muster has seen them all."""
        for p in self.listed(prefix, ns):
            self.reason(p["metadata"]["name"], *parts, ns=ns)

    def event(self, name, *parts, reason="FailedScheduling", ns=None):
        """There is such an event whose note has these parts."""
        def found():
            return [e for e in self.events(name, reason, ns) if all(p in e for p in parts)]
        try:
            return until(found, SOON_S)[0]
        except AssertionError:
            check(False, f"events {reason} of {name}: wanted {parts}, has {self.events(name, reason, ns)}")

    def has_status(self, name, kind="PodGroup", ns=None, **wanted):
        """The group's status gets these values; 0 may be omitted."""
        def right():
            status = self.status(name, kind, ns)
            return all((status.get(k) or 0 if v == 0 else status.get(k)) == v for k, v in wanted.items())
        try:
            until(right, SOON_S)
        except AssertionError:
            check(False, f"status of {name}: wanted {wanted}, has {self.status(name, kind, ns)}")
