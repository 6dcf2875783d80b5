"""An independent reading of a cluster: what must hold, recomputed from the API's
objects alone.  kubernetes-client rules, not muster's code, are the source."""
import threading
import time
from collections import Counter, defaultdict
from fractions import Fraction

from lib import kube as k8s

SUFFIX = {"n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000), "": 1,
          "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15, "E": 10**18,
          "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50, "Ei": 2**60}


def quantity(text):
    text = str(text)
    digits = text.rstrip("numkKMGTPEi") if text[-1:].isalpha() else text
    return Fraction(digits) * SUFFIX[text[len(digits):]]


def requests_of(container):
    r = container.get("resources", {})
    return Counter({k: quantity(v) for k, v in {**r.get("limits", {}), **r.get("requests", {})}.items()})


def effective(pod):
    """What a pod takes of its node: containers and sidecars together, or the
    largest init container beside the sidecars started before it; and overhead."""
    spec = pod["spec"]
    running, sidecars, peak = Counter(), Counter(), Counter()
    for c in spec.get("containers", []):
        running.update(requests_of(c))
    for c in spec.get("initContainers", []):
        one = requests_of(c)
        if c.get("restartPolicy") == "Always":
            sidecars.update(one)
            at_once = sidecars
        else:
            at_once = sidecars + one
        peak |= at_once
    total = (running + sidecars) | peak
    total.update({k: quantity(v) for k, v in spec.get("overhead", {}).items()})
    total["pods"] = 1
    return total


def ended(pod):
    return pod.get("status", {}).get("phase") in ("Succeeded", "Failed")


def node_of(pod):
    return pod["spec"].get("nodeName") or None


def name_of(obj):
    ns = obj["metadata"].get("namespace")
    return f"{ns}/{obj['metadata']['name']}" if ns else obj["metadata"]["name"]


def gang_of(pod):
    label = pod["metadata"].get("labels", {}).get(k8s.GROUP_LABEL)
    return f"{pod['metadata']['namespace']}/{label}" if label else None


def condition(pod, kind="PodScheduled"):
    for c in pod.get("status", {}).get("conditions", []):
        if c["type"] == kind:
            return c
    return {}


def tolerated(taint, tolerations):
    for t in tolerations:
        if t.get("effect") and t["effect"] != taint["effect"]:
            continue
        if t.get("key") and t["key"] != taint["key"]:
            continue
        if t.get("operator") == "Exists" or (t.get("key") and t.get("value", "") == taint.get("value", "")):
            return True
    return False


def matches(labels, requirement):
    value, values, op = labels.get(requirement["key"]), requirement.get("values", []), requirement["operator"]
    if op == "In":
        return value in values
    if op == "NotIn":
        return value not in values
    if op == "Exists":
        return value is not None
    if op == "DoesNotExist":
        return value is None
    sign = 1 if op == "Gt" else -1
    return value is not None and sign * (int(value) - int(values[0])) > 0


def allows(node, pod):
    """Selector, required affinity and taints; nodes change after a binding, so
    this is for tests that leave nodes alone."""
    labels, spec = node["metadata"].get("labels", {}), pod["spec"]
    if any(labels.get(k) != v for k, v in spec.get("nodeSelector", {}).items()):
        return False
    required = spec.get("affinity", {}).get("nodeAffinity", {}).get("requiredDuringSchedulingIgnoredDuringExecution")
    if required and not any(all(matches(labels, r) for r in term.get("matchExpressions", []))
                            for term in required["nodeSelectorTerms"]):
        return False
    taints = list(node["spec"].get("taints", []))
    if node["spec"].get("unschedulable"):
        taints.append({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"})
    return all(t["effect"] == "PreferNoSchedule" or tolerated(t, spec.get("tolerations", [])) for t in taints)


class Reading:
    """Nodes, pods and groups as the API server gives them now."""

    def __init__(self, kube):
        self.nodes = {n["metadata"]["name"]: n for n in kube.items(k8s.NODES)}
        self.pods = kube.items(k8s.PODS)
        self.groups = {name_of(g): g for g in kube.items(k8s.GROUPS)}

    def bound(self, gang=None):
        return [p for p in self.pods if node_of(p) and (gang is None or gang_of(p) == gang)]

    def pending(self):
        return [p for p in self.pods if not node_of(p) and not ended(p)]

    def bound_by_gang(self):
        return Counter(gang_of(p) for p in self.pods if node_of(p))

    def overcommitted(self):
        used = defaultdict(Counter)
        for p in self.pods:
            if node_of(p) and not ended(p):
                used[node_of(p)].update(effective(p))
        for name, sums in used.items():
            room = {k: quantity(v) for k, v in self.nodes[name]["status"]["allocatable"].items()} \
                if name in self.nodes else {}
            for resource, n in sums.items():
                if n > room.get(resource, 0):
                    yield f"node {name}: {resource} {float(n)} of {float(room.get(resource, 0))}"

    def broken_gangs(self):
        """Gangs between nothing and their quorum."""
        for gang, n in self.bound_by_gang().items():
            if gang is None:
                continue
            if gang not in self.groups:
                yield f"gang {gang}: {n} bound, no PodGroup"
            elif n < self.groups[gang]["spec"].get("minMember", 0):
                yield f"gang {gang}: {n} bound of {self.groups[gang]['spec']['minMember']}"

    def misplaced(self):
        for p in self.pods:
            n = node_of(p)
            if n in self.nodes and not allows(self.nodes[n], p):
                yield f"pod {name_of(p)}: node {n} is against its rules"

    def failed(self):
        return [f"pod {name_of(p)}: {p['status'].get('reason')} on {node_of(p)}" for p in self.pods
                if p.get("status", {}).get("phase") == "Failed"]

    def wrongs(self):
        """Everything that must not be at rest; [] when all is well."""
        return (list(self.overcommitted()) + list(self.broken_gangs()) + list(self.misplaced()) + self.failed())


class Follower(threading.Thread):
    """Watches pods from a version on and checks every event: a uid never gets two
    nodes, no node is ever over its allocatable.  The times are its own."""

    def __init__(self, kube):
        super().__init__(daemon=True)
        self.kube = k8s.Kube.__new__(k8s.Kube)
        self.kube.__dict__.update(kube.__dict__, local=threading.local())
        self.room = {}
        self.add_nodes(kube)
        pods, self.version = kube.list(k8s.PODS)
        self.used, self.taken, self.node = defaultdict(Counter), {}, {}
        self.wrongs, self.bind_times, self.first_seen = [], [], {}
        self.relists = 0
        for p in pods:
            self.note(p, first=True)
        self.stopping = False
        self.start()

    def add_nodes(self, kube):
        for n in kube.items(k8s.NODES):
            self.room[n["metadata"]["name"]] = {k: quantity(v) for k, v in n["status"]["allocatable"].items()}

    def note(self, pod, first=False, gone=False):
        uid, node, now = pod["metadata"]["uid"], node_of(pod), time.monotonic()
        self.first_seen.setdefault(uid, now)
        before = self.node.get(uid)
        if before and node != before and not gone:
            self.wrongs.append(f"pod {name_of(pod)}: moved from {before} to {node}")
        if node and not before:
            self.node[uid] = node
            if not first:
                self.bind_times.append(now)
            if not ended(pod):
                self.take(uid, pod, node)
        if (gone or ended(pod)) and uid in self.taken:
            where, amounts = self.taken.pop(uid)
            self.used[where].subtract(amounts)

    def take(self, uid, pod, node):
        amounts = effective(pod)
        self.taken[uid] = (node, amounts)
        used = self.used[node]
        used.update(amounts)
        for resource in amounts:
            if node in self.room and used[resource] > self.room[node].get(resource, 0):
                self.wrongs.append(f"version {pod['metadata']['resourceVersion']}: node {node} over its {resource}")

    def run(self):
        while not self.stopping:
            try:
                for event in self.kube.watch(k8s.PODS, self.version):
                    if event["type"] == "ERROR":
                        self.relist()
                        break
                    self.version = event["object"]["metadata"]["resourceVersion"]
                    if event["type"] != "BOOKMARK":
                        self.note(event["object"], gone=event["type"] == "DELETED")
                    if self.stopping:
                        return
            except (OSError, ValueError, AttributeError):
                time.sleep(0.05)  # the test itself cuts connections
            except Exception as e:  # 410 as a status
                if getattr(e, "status", 0) == 410:
                    self.relist()
                time.sleep(0.05)

    def relist(self):
        self.relists += 1
        pods, self.version = self.kube.list(k8s.PODS)
        there = {p["metadata"]["uid"] for p in pods}
        for uid in [u for u in self.taken if u not in there]:
            where, amounts = self.taken.pop(uid)
            self.used[where].subtract(amounts)
        for p in pods:
            self.note(p)

    def stop(self):
        self.stopping = True
        try:
            self.kube.watching.sock.shutdown(2)
        except (AttributeError, OSError):
            pass
        self.join(5)
        return self.wrongs
