#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a large cluster costs: both daemons on muster-apisim, with the limits of a start without flags.

    bench/scale.py [--nodes 15000,65000,100000] [-o json]

Ten running pods for each node, as a list has them: nodes of 0.9 KB, pods of 2 KB with an owner, labels, environment and
tolerations; names in no order, as clouds give them.  For each number of nodes:

    ready/N           from the start of both daemons until the frontend serves /readyz
    cold-cpu/N        CPU time of both until then, for each node and pod
    rss/N             resident memory of both, after the gang below
    gang-1000/N       from the first request that creates a gang of 1,000 until its last binding
    join-plan-max/N   the longest plan while 100 nodes join, and a lone pod after each
    restart/N         kill -9 of the frontend until the next one is ready; the core stays

One run: these take minutes.  Goals: 5 us an object, 400 MB at 100,000 nodes, 2 ms for a plan, and a restart of 1 and 3 s."""
import argparse
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
from lib import load, muster, objects  # noqa: E402
from lib.cluster import Cluster  # noqa: E402
from lib.harness import check, until  # noqa: E402

PODS_OF_NODE, GANG, JOINS = 10, 1000, 100
GOALS = {"cold-cpu": 5, "rss/100000": 400e6, "join-plan-max/65000": 2, "restart/15000": 1, "restart/65000": 3}


def node_text(name, i):
    return {"metadata": {"name": name, "labels": {
        "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux", "kubernetes.io/hostname": name,
        "node.kubernetes.io/instance-type": f"m{i % 4}.xlarge", "topology.kubernetes.io/region": "r1",
        "topology.kubernetes.io/zone": f"z{i % 8}"}},
        "spec": {"podCIDR": "10.0.0.0/24", "providerID": f"cloud:///z{i % 8}/{name}"},
        "status": {"capacity": {"cpu": "64", "memory": "256Gi", "pods": "110"},
                   "allocatable": {"cpu": "63500m", "memory": "250Gi", "pods": "110"},
                   "conditions": [{"type": "Ready", "status": "True"}],
                   "nodeInfo": {"kubeletVersion": "v1.36.3", "operatingSystem": "linux", "architecture": "amd64"}}}


def pod_text(i, node):
    app = f"app-{i % 500}"
    env = [{"name": f"SETTING_{n}", "value": f"value-of-setting-{n}-in-{app}"} for n in range(12)]
    return {"metadata": {"name": f"{app}-7c9d8f6b5d-{i:07}", "namespace": f"team-{i % 50}", "labels": {
        "app.kubernetes.io/name": app, "app.kubernetes.io/instance": app, "pod-template-hash": "7c9d8f6b5d"},
        "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"{app}-7c9d8f6b5d", "uid": app,
                             "controller": True, "blockOwnerDeletion": True}]},
        "spec": {"nodeName": node, "schedulerName": "default-scheduler", "serviceAccountName": "default", "containers": [
            {"name": "main", "image": f"registry.example/{app}:1.27.3", "env": env,
             "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": {"memory": "2Gi"}}}],
            "tolerations": [{"key": f"node.kubernetes.io/{what}", "operator": "Exists", "effect": "NoExecute",
                             "tolerationSeconds": 300} for what in ("not-ready", "unreachable")]},
        "status": {"phase": "Running", "conditions": [{"type": what, "status": "True"} for what in
                                                      ("PodScheduled", "Initialized", "ContainersReady", "Ready")]}}


def names(n):
    rng = random.Random(n)
    return [f"ip-{i:06}" for i in rng.sample(range(10 * n), n)]


def write_objects(path, nodes):
    with open(path, "w", encoding="utf-8") as file:
        file.write('{"kind":"List","apiVersion":"v1","items":[\n')
        for i, name in enumerate(nodes):
            file.write(json.dumps({"apiVersion": "v1", "kind": "Node", **node_text(name, i)}) + ",\n")
        last = len(nodes) * PODS_OF_NODE - 1
        for i in range(last + 1):
            file.write(json.dumps({"apiVersion": "v1", "kind": "Pod", **pod_text(i, nodes[i // PODS_OF_NODE])}))
            file.write("\n" if i == last else ",\n")
        file.write("]}\n")


def plan_max_ms(c):
    return 1000 * c.metrics().get("muster_core_plan_seconds_max", 0)


def bound(c, n, within_s=120):
    until(lambda: c.stats()["binds"] >= n, within_s, f"{n} bindings", every_s=0.002)
    return time.monotonic()


def gang(c):
    group, pods = objects.gang("large", GANG, memory="64Mi")
    start = time.monotonic()
    load.submit(c.client, [group, *pods])
    return bound(c, GANG) - start


def joins(c):
    """The core's maximum is of its whole life: what came before is in it."""
    for i in range(JOINS):
        c.create(objects.node(f"new-{i:03}", cpu="64", memory="256Gi"), objects.pod(f"lone-{i:03}", memory="64Mi"))
        bound(c, GANG + i + 1)
    return plan_max_ms(c)


def at(count):
    """[(row, unit, value)]"""
    path = os.path.join(muster.scratch(), "objects.json")
    nodes = names(count)
    write_objects(path, nodes)
    with Cluster(apisim=("--load", path, "--no-kubelet")) as c:
        os.unlink(path)
        start = time.monotonic()
        c.up(wait=False)
        until(lambda: "muster-frontend" in c.daemons(), 10, "both daemons run")
        until(lambda: c.fetch("/readyz")[0] == 200, 600, "readyz", every_s=0.01)
        ready = time.monotonic() - start
        pids = c.daemons()
        cold = muster.cpu_s(*pids.values())
        gang_s = gang(c)
        rss = sum(muster.memory_kib(pid) for pid in pids.values()) * 1024
        longest = joins(c)
        killed = time.monotonic()
        os.kill(pids["muster-frontend"], signal.SIGKILL)
        until(lambda: c.daemons().get("muster-frontend") not in (None, pids["muster-frontend"]), 30, "the next frontend")
        until(lambda: c.fetch("/readyz")[0] == 200, 600, "readyz", every_s=0.01)
        restart = time.monotonic() - killed
        wrongs = c.stats()
        check(wrongs["overcommitted"] == 0 and wrongs["doubleBindAttempts"] == 0, wrongs)
    return [(f"ready/{count}", "s", ready), (f"cold-cpu/{count}", "us", 1e6 * cold / (count * (1 + PODS_OF_NODE))),
            (f"rss/{count}", "bytes", rss), (f"gang-1000/{count}", "s", gang_s),
            (f"join-plan-max/{count}", "ms", longest), (f"restart/{count}", "s", restart)]


def machine():
    """CPU, load and stall floor, as muster-bench finds them."""
    done = subprocess.run([muster.program("muster-bench"), "memory", "--quick", "-o", "json"], stdout=subprocess.PIPE,
                          check=True)
    found = json.loads(done.stdout)
    return {name: found[name] for name in ("cpu", "cpus", "load1", "stall_us_p999")}


def main():
    parser = argparse.ArgumentParser(description="What a large cluster costs.")
    parser.add_argument("--nodes", default="15000,65000,100000")
    parser.add_argument("-o", choices=["json"])
    options = parser.parse_args()
    here, rows = machine(), []
    for count in (int(n) for n in options.nodes.split(",")):
        for name, unit, value in at(count):
            row = {"name": name, "unit": unit, "best": value, "median": value, "p99": value}
            goal = GOALS.get(name, GOALS.get(name.split("/")[0]))
            rows.append(row if goal is None else {**row, "goal": goal})
            if not options.o:
                print(f"  {name:24} {unit:6} {value:16,.2f}" + (f"  goal {goal:,}" if goal else ""), flush=True)
    if options.o:
        print(json.dumps({"bench": "scale", **here, "runs": 1, "rows": rows}))


if __name__ == "__main__":
    main()
