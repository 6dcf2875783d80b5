# SPDX-License-Identifier: Apache-2.0
"""musterctl simulate and the live system, given the same objects at once, place the
same pods on the same nodes: they run the same code."""
import gzip
import json
import os
import random
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import load, objects  # noqa: E402
from lib.check import key  # noqa: E402
from lib.cluster import Cluster, run  # noqa: E402
from lib.harness import check, equal, figure, main, until  # noqa: E402

NODES, PODS, LONE = 300, 2500, 300
ZONES, DISKS = ("a", "b", "c"), ("ssd", "hdd")


def some_nodes(rng):
    made = []
    for i in range(NODES):
        labels = {"zone": rng.choice(ZONES), "disk": rng.choice(DISKS), "slot": str(i % 10)}
        taints = [{"key": "team", "value": rng.choice("xy"), "effect": "NoSchedule"}] if rng.random() < 0.2 else None
        gpu = {"gpu": rng.choice(["4", "8"])} if rng.random() < 0.3 else {}
        made.append(objects.node(f"node-{rng.randrange(10**6):06}-{i}", cpu=rng.choice(["8", "16", "32"]),
                                 memory=rng.choice(["16Gi", "64Gi"]), labels=labels, taints=taints,
                                 unschedulable=rng.random() < 0.05, **gpu))
    return made


def rules(rng):
    spec = {}
    if rng.random() < 0.3:
        spec["nodeSelector"] = {"zone": rng.choice(ZONES)}
    if rng.random() < 0.3:
        spec["tolerations"] = [{"key": "team", "operator": "Equal", "value": rng.choice("xy")}]
    if rng.random() < 0.2:
        terms = [{"matchExpressions": [{"key": "disk", "operator": "In", "values": [rng.choice(DISKS)]},
                                       {"key": "slot", "operator": "Gt", "values": [str(rng.randrange(5))]}]}]
        spec["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
                                             {"nodeSelectorTerms": terms}}}
    return spec


def asks(rng):
    amounts = {"cpu": rng.choice(["250m", "500m", "1", "2", "6"]), "memory": rng.choice(["128Mi", "1Gi", "3Gi"])}
    if rng.random() < 0.15:
        amounts["requests"] = {"nvidia.com/gpu": rng.choice(["1", "2", "4"])}
    return {**amounts, **rules(rng)}


def some_pods(rng):
    """Gangs of one shape and of several, some larger than the cluster can take, and
    lone pods."""
    made = []
    for j, size in enumerate(load.split(rng, PODS, 2, 120)):
        name = f"gang-{rng.randrange(10**6):06}-{j}"
        shapes = [asks(rng) for _ in range(rng.choice([1, 1, 1, 2]))]
        made.append(objects.pod_group(name, rng.choice([size, size, max(1, size // 2)])))
        made += [objects.pod(f"{name}-{i}", group=name, **rng.choice(shapes)) for i in range(size)]
    made += [objects.pod(f"lone-{rng.randrange(10**6):06}-{i}", **asks(rng)) for i in range(LONE)]
    return made + [objects.pod(f"theirs-{i}", scheduler="other") for i in range(3)]


def live(c, expected):
    """{pod: node} once nothing moves any more."""
    until(lambda: c.stats()["binds"] >= expected, 40, f"{expected} bindings, not {c.stats()['binds']}")
    until(lambda: settled(c), 10, "rest")
    return {key(p): p["spec"].get("nodeName") for p in c.pods() if p["spec"]["schedulerName"] == "muster"}


def settled(c):
    """The core has processed everything: its counters are constant."""
    first = c.stats()["binds"]
    time.sleep(0.5)
    return first == c.stats()["binds"]


def test_same_placements():
    for _ in range(2):
        seed = load.seed()
        rng = random.Random(seed)
        with Cluster() as c:
            nodes = some_nodes(rng)
            load.submit(c.client, nodes + some_pods(rng))
            path = os.path.join(c.folder, "objects.json.gz")
            items = [o for kind in ("Node", "Pod", "PodGroup") for o in with_kind(c, kind)]
            with gzip.open(path, "wt", 1) as f:
                json.dump({"apiVersion": "v1", "kind": "List", "items": items}, f)
            code, out, err = run("musterctl", "simulate", "-f", path, "-o", "json", "--scheduler-name", "muster")
            check(code in (0, 1), code, err)
            said = json.loads(out)
            offline = {p["pod"]: p["node"] for p in said["placements"]}
            bound = sum(1 for n in offline.values() if n)
            c.up()
            online = live(c, bound)
            differ = [(p, n, offline.get(p)) for p, n in sorted(online.items()) if offline.get(p) != n]
            figure(f"seed {seed}: {NODES} nodes, {len(online)} pods, {bound} placed, {len(differ)} placed otherwise")
            equal(set(online), set(offline), "pods")
            check(not differ, f"seed {seed}: {len(differ)} differ (pod, live, simulate):", differ[:5])
            check(0 < bound < len(online), "the cluster is too large or too small to show anything")
            c.well()


def with_kind(c, kind):
    """Items of a list have no kind of their own; kubectl adds it."""
    version = {"PodGroup": "scheduling.x-k8s.io/v1alpha1"}.get(kind, "v1")
    return [{"apiVersion": version, "kind": kind, **o} for o in c.client.list(kind, page=5000)]


if __name__ == "__main__":
    main(globals())
