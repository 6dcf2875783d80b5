# SPDX-License-Identifier: Apache-2.0
"""Invariants checked from the API alone, independent of what muster did.

No code is shared with muster: quantities have a parser of their own here
and requests are summed again.  Every function returns a list of violations as
sentences."""

import re
import threading
from collections import defaultdict
from fractions import Fraction

from . import groups, kube

_SUFFIX = {"": 1, "n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000),
           "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15, "E": 10**18,
           "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50, "Ei": 2**60}


def quantity(text):
    """Exact; ValueError for what is not a quantity."""
    match = re.fullmatch(r"([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))(?:([eE][+-]?[0-9]+)|([A-Za-z]*))", str(text))
    if not match or (match[3] or "") not in _SUFFIX:
        raise ValueError(f"not a quantity: {text!r}")
    power = Fraction(10) ** int(match[2][1:]) if match[2] else 1
    return Fraction(match[1]) * power * _SUFFIX[match[3] or ""]


def request_of(pod):
    """{resource: amount} that the pod takes from a node, as kube-scheduler
    counts it, and one of "pods"."""
    spec = pod["spec"]

    def wants(container):
        resources = container.get("resources") or {}
        amounts = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
        return {name: quantity(amount) for name, amount in amounts.items()}

    def plus(one, other):
        return {name: one.get(name, 0) + other.get(name, 0) for name in {*one, *other}}

    def most(one, other):
        return {name: max(one.get(name, 0), other.get(name, 0)) for name in {*one, *other}}

    sidecars, before = {}, {}
    for container in spec.get("initContainers") or []:
        if container.get("restartPolicy") == "Always":
            sidecars = plus(sidecars, wants(container))
            before = most(before, sidecars)
        else:
            before = most(before, plus(sidecars, wants(container)))
    running = sidecars
    for container in spec["containers"]:
        running = plus(running, wants(container))
    total = most(before, running)
    own = spec.get("resources") or {}
    for name, amount in {**(own.get("limits") or {}), **(own.get("requests") or {})}.items():
        total[name] = quantity(amount)
    overhead = {name: quantity(amount) for name, amount in (spec.get("overhead") or {}).items()}
    return plus(plus(total, overhead), {"pods": Fraction(1)})


def is_bound(pod):
    return bool(pod["spec"].get("nodeName"))


def takes_room(pod):
    return is_bound(pod) and pod.get("status", {}).get("phase") not in ("Succeeded", "Failed")


def key(obj):
    return f'{obj["metadata"].get("namespace", "default")}/{obj["metadata"]["name"]}'


def overfull_nodes(nodes, pods):
    """No node over its allocatable, and no pod on a node that isn't there."""
    allocatable = {node["metadata"]["name"]: {name: quantity(amount) for name, amount in
                                              node["status"]["allocatable"].items()} for node in nodes}
    taken = defaultdict(lambda: defaultdict(Fraction))
    wrong = []
    for pod in filter(takes_room, pods):
        name = pod["spec"]["nodeName"]
        if name not in allocatable:
            wrong.append(f"{key(pod)} is on node {name}, which isn't there")
        for resource, amount in request_of(pod).items():
            taken[name][resource] += amount
    for name, amounts in sorted(taken.items()):
        for resource, amount in sorted(amounts.items()):
            has = allocatable.get(name, {}).get(resource, 0)
            if name in allocatable and amount > has:
                wrong.append(f"node {name}: {float(amount):g} {resource} taken of {float(has):g}")
    return wrong


def broken_gangs(described, pods):
    """Every gang has none of its members bound, or at least its quorum; and
    none without the object that declares it.  described: {(kind, namespace, name): object}"""
    bound = defaultdict(list)
    for pod in pods:
        group = groups.of(pod)
        if group and is_bound(pod):
            bound[pod["metadata"].get("namespace", "default"), group.name].append(group)
    wrong = []
    for (namespace, name), found in sorted(bound.items()):
        quorum = groups.quorum_of(found[0], namespace, lambda *at: described.get(at))
        if quorum is None:
            wrong.append(f"gang {namespace}/{name}: {len(found)} bound, but nothing describes it")
        elif len(found) < quorum:
            wrong.append(f"gang {namespace}/{name}: {len(found)} bound of a quorum of {quorum}")
    return wrong


def silent_pods(pods, scheduler="muster"):
    """Every waiting pod of muster's has a PodScheduled condition with the reason."""
    wrong = []
    for pod in pods:
        if pod["spec"].get("schedulerName") != scheduler or is_bound(pod) or pod["metadata"].get("deletionTimestamp"):
            continue
        told = condition(pod)
        if not told or told["status"] != "False" or not told.get("reason") or not told.get("message"):
            wrong.append(f"{key(pod)} waits and nothing says why: {told}")
    return wrong


def condition(pod, kind="PodScheduled"):
    found = [entry for entry in pod.get("status", {}).get("conditions") or [] if entry["type"] == kind]
    return found[0] if found else None


def described_groups(client):
    """The objects that declare groups, as an argument of broken_gangs()."""
    return {(kind, o["metadata"]["namespace"], o["metadata"]["name"]): o
            for kind in groups.KINDS for o in client.list_if_served(kind)}


def cluster(client):
    """Nodes, gangs and pods at rest, of all namespaces."""
    pods = client.list("Pod")
    return overfull_nodes(client.list("Node"), pods) + broken_gangs(described_groups(client), pods)


class History:
    """Watches every change of every pod from the start on and records what the
    final state can't show: a pod that was bound twice, and the order
    of bindings.  Use as a context manager."""

    def __init__(self, client):
        self.client = client
        self.wrong = []
        self.bound = {}  # uid -> node, in the order seen
        self.events = 0
        self._ending = False
        self._fresh = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self._thread.start()
        if not self._fresh.wait(120):
            raise TimeoutError("the history of pods did not start")
        return self

    def __exit__(self, *_):
        self._ending = True

    def _run(self):
        while not self._ending:
            try:
                pods, version = self.client.list_with_version("Pod")
                for pod in pods:
                    self._see(pod)
                self._fresh.set()
                for event in self.client.watch("Pod", version, timeout_s=300):
                    if self._ending or event["type"] == "ERROR":
                        break
                    if event["type"] == "BOOKMARK":
                        continue
                    self.events += 1
                    self._see(event["object"])
                    if event["type"] == "DELETED":
                        self._gone(event["object"])
            except (OSError, kube.http.client.HTTPException, kube.ApiError, ValueError):
                # The server went away or ended the watch: list again.
                threading.Event().wait(0.2)

    def _see(self, pod):
        uid, name = pod["metadata"]["uid"], pod["spec"].get("nodeName")
        before = self.bound.get(uid)
        if before and name != before:
            self.wrong.append(f"{key(pod)} was on {before} and then on {name}")
        if name:
            self.bound.setdefault(uid, name)

    def _gone(self, pod):
        """For subclasses that maintain sums."""
