# SPDX-License-Identifier: Apache-2.0
"""muster and the real kube-scheduler 1.36.3 on one real cluster: 200 random pods, each of
them created once for the one and once for the other.

A pod that fits nowhere gets the same message, byte for byte, up to kube-scheduler's part about
preemption.  A pod that fits is bound by both to a node of the best score, which `musterctl
verdict` gives for the cluster at rest.

Skipped while kube-scheduler is not built: tests/real/build.sh kube-scheduler.

    tests/real/test_agree.py [--seed=N|new]      MUSTER_KEEP=1 keeps logs and clusters"""
import collections
import copy
import json
import os
import random
import re
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import cluster as offline  # noqa: E402
from lib import kube, load, muster  # noqa: E402
from lib.check import condition, is_bound, key  # noqa: E402
from lib.harness import Skip, check, equal, figure, main, until  # noqa: E402
from real import rules  # noqa: E402
from real.cluster import Cluster, built  # noqa: E402
from real.version import pinned, version  # noqa: E402
from real.kube_scheduler import KubeScheduler  # noqa: E402

ROUNDS = 4
PODS = 50  # of a round
SOON_S = 30
SETTLED_S = 2.0  # changes of nodes and pods come by watches of their own, in no common order
NOBODY = "nobody"
BOTH = {"kube": "default-scheduler", "muster": "muster"}
DUMPED = ["Namespace", "Node", "Pod", "Service", "ReplicaSet", "RuntimeClass", "StorageClass", "CSINode",
          "PersistentVolume", "PersistentVolumeClaim"]
# What kube-scheduler appends and muster doesn't: docs/decisions/008.
AFTERWORD = re.compile(r" (no new claims to deallocate, )?(preemption: .*|not found)", re.DOTALL)

def dump(client, path):
    """What `kubectl get -o json` would print of it."""
    items = []
    for kind in DUMPED:
        version = kube.KINDS[kind][0].split("/", 1)[1]
        items += [dict(item, kind=kind, apiVersion=version) for item in client.list(kind)]
    load.save(path, items)
    return path


def verdicts(path, pods):
    """{ns/name: verdict} of musterctl, offline."""
    code, out, err = offline.run("musterctl", "verdict", "-f", path, "-o", "json",
                                 *[part for pod in pods for part in ("--pod", key(pod))])
    check(code in (0, 1), code, err)  # 1: one of them fits nowhere
    return {verdict["pod"]: verdict for verdict in json.loads(out)}


def copies(pod):
    """The pod once more for each scheduler."""
    out = {}
    for who, scheduler in BOTH.items():
        out[who] = copy.deepcopy(pod)
        out[who]["metadata"]["name"] += "-" + who
        out[who]["spec"]["schedulerName"] = scheduler
    return out


class Contest:
    """Differences are collected and reported together at the end."""

    def __init__(self, client, rng, ported, folder):
        self.client, self.rng, self.ported, self.folder = client, rng, ported, folder
        self.differences = []
        self.seen = collections.Counter()
        self.texts = set()

    def differs(self, pod, what, **answers):
        said = "".join(f"\n    {who}: {answer}" for who, answer in answers.items())
        self.differences.append(f"{key(pod)}: {what}{said}\n    {json.dumps(pod['metadata'].get('labels'))} "
                                f"{json.dumps(pod['spec'])}")

    # ---- pods that fit nowhere ----

    def told(self, pod):
        made = self.client.get("Pod", pod["metadata"]["name"], pod["metadata"]["namespace"])
        if is_bound(made):
            return f"bound to {made['spec']['nodeName']}"
        return (condition(made) or {}).get("message", "")

    def events(self):
        """{pod name: note} of FailedScheduling."""
        return {e["regarding"]["name"]: e["note"] for e in self.client.list("Event")
                if e.get("reason") == "FailedScheduling"}

    def check_misfits(self, pods):
        pairs = [copies(pod) for pod in pods]
        made = [pod for pair in pairs for pod in pair.values()]
        self.client.create_many(made)
        until(lambda: all(self.told(pod) for pod in made), SOON_S, "each pod has a condition", 0.2)
        names = {pod["metadata"]["name"] for pod in made if not self.told(pod).startswith("bound")}
        until(lambda: names <= self.events().keys(), SOON_S, "each pod has an event", 0.2)
        notes = self.events()
        for pod, pair in zip(pods, pairs):
            said = {who: self.told(one) for who, one in pair.items()}
            self.compare(pod, "condition", **said)
            self.compare(pod, "event", **{who: notes.get(one["metadata"]["name"], "") for who, one in pair.items()})
            if said["muster"] != self.verdict[key(pod)]["message"]:
                self.differs(pod, "verdict", live=said["muster"], offline=self.verdict[key(pod)]["message"])
            self.texts |= set(re.split(r"(?:: |, )\d* ?", said["muster"].rstrip("."))[1:])
        self.seen["nowhere"] += len(pods)
        self.drop(made)

    def compare(self, pod, what, **said):
        left, right = said["kube"], said["muster"]
        if not right or not left.startswith(right) or not AFTERWORD.fullmatch(left[len(right):]):
            self.differs(pod, what, **said)

    # ---- pods that fit somewhere ----

    def place(self, pod):
        """Where it is bound, alone in the cluster at rest; it is gone again after that."""
        self.client.create(pod)
        name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
        end = time.monotonic() + SOON_S
        while True:
            made = self.client.get("Pod", name, namespace)
            if is_bound(made) or time.monotonic() > end:
                break
            if condition(made):
                end = min(end, time.monotonic() + 2)  # the result is negative, and may only have been late
            time.sleep(0.004)
        self.client.delete("Pod", name, namespace)
        return made["spec"].get("nodeName"), (condition(made) or {}).get("message")

    def check_fit(self, pod):
        scores = {n["node"]: n["score"] for n in self.verdict[key(pod)]["nodes"] if n["feasible"]}
        best = {n for n, score in scores.items() if score == max(scores.values())}
        for who, one in copies(pod).items():
            where, said = self.place(one)
            if where not in best:
                self.differs(pod, f"{who} chose {where}", said=said, scores=sorted(scores.items(), key=lambda x: -x[1]))
        self.seen["somewhere"] += 1
        self.seen["where the best is not all"] += len(best) < len(scores)

    # ---- a round ----

    def drop(self, pods):
        self.client.in_parallel(
            lambda pod: self.client.delete("Pod", pod["metadata"]["name"], pod["metadata"]["namespace"]), pods)

    def check_pods(self, pods, name):
        """Pods of no scheduler; the cluster is stored under this name, with them pending in it."""
        made = self.client.create_many(pods)
        time.sleep(SETTLED_S)
        self.verdict = verdicts(dump(self.client, os.path.join(self.folder, f"cluster-{name}.json")), made)
        fits = [any(n["feasible"] for n in self.verdict[key(pod)]["nodes"]) for pod in pods]
        self.check_misfits([pod for pod, fit in zip(pods, fits) if not fit])
        for pod, fit in zip(pods, fits):
            if fit:
                self.check_fit(pod)
        self.drop(pods)

    def change(self, number):
        """Other labels, taints, cordons, existing pods and namespaces, and one more node."""
        nodes = [n["metadata"]["name"] for n in self.client.list("Node")]
        for name in self.rng.sample(nodes, 5):
            new = rules.node(self.rng, name)
            self.client.patch("Node", name, {
                "metadata": {"labels": {"disk": None, rules.ZONE: None, **new["metadata"]["labels"]}},
                "spec": {"taints": new["spec"].get("taints"), "unschedulable": new["spec"].get("unschedulable")}})
        self.client.create(rules.node(self.rng, f"late-{number}"))
        standing = [p for p in self.client.list("Pod") if p["metadata"]["name"].startswith("there-")]
        self.drop(self.rng.sample(standing, 6))
        for i in range(6):
            self.client.create(rules.standing_pod(self.rng, f"there-{number}-{i}", self.rng.choice(nodes), self.ported))
        self.client.patch("Namespace", "dev", {"metadata": {"labels": {"env": self.rng.choice(["dev", "prod"])}}})


def test_agreement_with_kube_scheduler():
    program = built("kube-scheduler")
    if not program:
        raise Skip("kube-scheduler is not built; tests/real/build.sh kube-scheduler does it in some minutes")
    if version() != pinned():
        raise Skip(f"muster's scores are those of kube-scheduler {pinned()}, this one is {version()}")
    folder = muster.scratch("muster-agree-")
    rng, ported = random.Random(load.seed()), set()
    with Cluster(os.path.join(folder, "cluster")) as cluster:
        client = cluster.admin()
        rules.make_cluster(rng, client.create, ported)
        c = Contest(client, rng, ported, folder)
        with KubeScheduler(program, cluster.admin_kubeconfig, folder) as theirs, \
                muster.Muster(cluster.muster_kubeconfig, os.path.join(folder, "muster")) as ours:
            ours.wait_ready()
            until(theirs.ready, 60, "kube-scheduler's /readyz")
            for number in range(ROUNDS):
                if number > 0:
                    c.change(number)
                c.check_pods([rules.pod(rng, f"p{number}-{i:02}", scheduler=NOBODY) for i in range(PODS)], number)
        equal(cluster.refusals(), 0, "requests not allowed")
    print("\n".join(c.differences), flush=True)
    print("told to those that fit nowhere:", *sorted(c.texts), sep="\n  ", flush=True)
    figure(f"{sum(c.seen[k] for k in ('nowhere', 'somewhere'))} pods, {dict(c.seen)}")
    equal(len(c.differences), 0, "differences")
    check(c.seen["nowhere"] >= 30 and c.seen["where the best is not all"] >= 30, "too few of a kind:", c.seen)
    check(len(c.texts) >= 12, "few reasons:", c.texts)


if __name__ == "__main__":
    main(globals())
