# SPDX-License-Identifier: Apache-2.0
"""Limits reached: a message and a metric, never a crash, and the rest continues.
Rings so small that they are always full: everything is still placed."""
import json
import os
import random
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import load, muster, objects  # noqa: E402
from lib.cluster import Cluster  # noqa: E402
from lib.harness import check, equal, main, steady, until  # noqa: E402


def told(c, flag):
    """A line that names the limit, and a metric that counts it."""
    until(lambda: flag in c.frontend.log() + c.core.log(), 5, f"a message that names {flag}")
    until(lambda: c.metric("muster_limits_hit_total") > 0, 5, "muster_limits_hit_total")


def test_more_nodes_than_room():
    nodes = [objects.node(f"n{i}", cpu="4") for i in range(8)]
    with Cluster(*nodes) as c:
        c.pair(core=["--max-nodes", 5])
        c.gang("fits", 20)
        until(lambda: c.bound("fits") == 20, 10, "what fits on 5 nodes is bound")
        told(c, "max-nodes")
        c.create(objects.pod("more"))
        steady(lambda: c.bound("more") == 0, 1, "nothing beyond the 5 nodes")
        c.well(c.core, c.frontend)


def test_more_pods_than_room():
    with Cluster(objects.node("n0", cpu="64")) as c:
        c.pair(core=["--max-pods", 10])
        c.create(*(objects.pod(f"p{i:02}") for i in range(15)))
        until(lambda: c.bound("p") >= 10, 10, "as many as there is room for are bound")
        told(c, "max-pods")
        bound = [p["metadata"]["name"] for p in c.pods("p") if p["spec"].get("nodeName")]
        c.delete("Pod", *bound)
        until(lambda: c.bound("p") == 5, 10, "the rest comes when there is room")
        c.well(c.core, c.frontend)


def test_more_gangs_than_room():
    with Cluster(objects.node("n0", cpu="64")) as c:
        c.pair(core=["--max-gangs", 3])
        for i in range(5):
            c.gang(f"g{i}", 2)
        until(lambda: c.bound("g") >= 6, 10, "three gangs are bound")
        told(c, "max-gangs")
        for g in sorted({p["metadata"]["name"][:2] for p in c.pods("g") if p["spec"].get("nodeName")}):
            c.delete("PodGroup", g)
            c.delete("Pod", f"{g}-0", f"{g}-1")
        until(lambda: c.bound("g") == 4, 10, "the others come when there is room")
        c.well(c.core, c.frontend)


def test_more_kinds_of_pods_than_room():
    with Cluster(objects.node("n0", cpu="64")) as c:
        c.pair(core=["--max-shapes", 4])
        c.create(*(objects.pod(f"p{i}", cpu=f"{100 + i}m") for i in range(8)))
        until(lambda: c.bound("p") >= 3, 10, "pods of known shapes are bound")
        told(c, "max-shapes")
        c.well(c.core, c.frontend)


def test_large_objects():
    """Pods and ConfigMaps of 2 MiB, more than etcd takes, are read like others."""
    with Cluster(objects.node("n0", cpu="64")) as c:
        c.pair()
        for i in range(3):
            pod = objects.pod(f"p{i}")
            pod["metadata"]["annotations"] = {"note": "\\\"x" * ((2 << 20) // 5)}
            c.create(pod, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"m{i}", "namespace": "default"},
                           "data": {"text": "y" * (2 << 20)}})
        until(lambda: c.bound("p") == 3, 20, "large pods are bound")
        equal(c.metric("muster_watch_too_large_total"), 0, "muster_watch_too_large_total")
        c.well(c.core, c.frontend)


def test_tiny_rings():
    rng = random.Random(load.seed())
    nodes = [objects.node(f"n{i:03}", cpu="16") for i in range(100)]
    made = load.flat(load.jobs(rng, load.split(rng, 400, 1, 80), gpus=0))
    pods = sum(1 for o in made if o["kind"] == "Pod")
    with Cluster(*nodes) as c:
        c.pair(core=["--command-ring-bytes", 4096], frontend=["--event-ring-bytes", 131072, "--result-ring-bytes", 4096])
        load.submit(c.client, made)
        until(lambda: c.bound() >= pods, 30, "all pods are bound")
        c.well(c.core, c.frontend)
        equal(c.bound(), pods, "bound")


def loaded(nodes, pods):
    """A file of objects for apisim: nodes n00000 and on, and pods that run on them in turn."""
    path = os.path.join(muster.scratch(), "objects.json")
    with open(path, "w", encoding="utf-8") as file:
        file.write('{"kind":"List","apiVersion":"v1","items":[\n')
        items = [objects.node(f"n{i:05}", cpu="64") for i in range(nodes)]
        for i in range(pods):
            pod = objects.pod(f"old{i:05}", cpu="100m", memory="64Mi", nodeName=f"n{i % nodes:05}")
            items.append({**pod, "status": {"phase": "Running"}})
        file.write(",\n".join(json.dumps(o) for o in items) + "]}\n")
    return path


def test_a_large_cluster_needs_no_flags():
    """More than the 8,192 nodes and 65,536 pods that the limits were once."""
    with Cluster(apisim=("--load", loaded(9000, 70000), "--no-kubelet")) as c:
        c.core = c.start_core()
        c.frontend = c.start_frontend()
        c.ready(c.frontend, timeout_s=200)
        equal(c.metrics().get('muster_limit_used{of="nodes"}', 0), 9000, "nodes")
        equal(c.metrics().get('muster_limit_used{of="pods"}', 0), 70000, "pods")
        equal(c.metric("muster_limits_hit_total"), 0, "objects left out")
        c.create(*(objects.pod(f"new{i}") for i in range(3)))
        until(lambda: c.bound("new") == 3, 20, "new pods are bound")
        check(c.core.running() and c.frontend.running(), "a daemon ended")


def test_more_nodes_than_the_memory_of_the_core():
    with Cluster(apisim=("--load", loaded(400, 400), "--no-kubelet")) as c:
        c.pair(core=["--max-memory", "114Mi"])
        until(lambda: 0 < c.metrics().get('muster_limit{of="nodes"}', 0) < 400, 10, "a limit below the nodes that there are")
        most = int(c.metrics().get('muster_limit{of="nodes"}', 0))
        until(lambda: re.search(rf"n00\d\d\d.*the limit --max-nodes is {most}", c.frontend.log()), 10, "a message that names a node")
        check("max_memory=119537664" in c.core.log(), c.core.log())
        c.create(objects.pod("new"))
        until(lambda: c.bound("new") == 1, 20, "a new pod is bound")
        check(c.core.running() and c.frontend.running(), "a daemon ended")


if __name__ == "__main__":
    main(globals(), jobs=2)
