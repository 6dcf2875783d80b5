#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""QUE-20: 10,000 pods of queues come and go, core and frontend are killed at random, the queues are edited meanwhile.
After each step every queue uses what its pods on nodes request, by the API server alone, and fsck finds nothing."""
import os
import random
import sys
import time
from collections import Counter

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import load, objects  # noqa: E402
from lib.check import takes_room  # noqa: E402
from lib.cluster import Cluster, Follower  # noqa: E402
from lib.harness import becomes, check, equal, figure, main, until  # noqa: E402

GPU = "nvidia.com/gpu"
NODES, GPUS = 20, 64
STEPS, PODS = 40, 250
STAY = 3  # steps; what is there at a time fits, but for limits
AGAIN_S = 60
FLAGS = ("--queues", "config")
CORE, FRONTEND = "core", "frontend"
TARGETS = [[CORE], [FRONTEND], [CORE, FRONTEND]]
# Flat, trees of two shapes, and one without q0; q3 is a leaf, inner, or isn't there.
TEXTS = [
    f"- {{name: q0, limit: {{{GPU}: 200}}}}\n- {{name: q1, guarantee: {{{GPU}: 100}}}}\n- name: q2\n- {{name: q3, order: fifo}}\n",
    f"- {{name: up, limit: {{{GPU}: 400}}}}\n- {{name: q0, parent: up}}\n- {{name: q1, parent: up, weight: 3}}\n- name: q2\n",
    f"- name: q3\n- {{name: q0, parent: q3, limit: {{{GPU}: 30}}}}\n- {{name: q2, parent: q3, reserved: {{{GPU}: 50}}, "
    f"guarantee: {{{GPU}: 60}}}}\n- {{name: q1, state: Closing}}\n",
    f"- {{name: q2, limit: {{{GPU}: 100}}}}\n- {{name: q3, parent: q2}}\n- {{name: q1, limit: {{{GPU}: 1000}}}}\n",
]
NAMES = [{"root", "q0", "q1", "q2", "q3"}, {"root", "up", "q0", "q1", "q2"}, {"root", "q0", "q1", "q2", "q3"}, {"root", "q1", "q2", "q3"}]


def config(text):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "muster-queues", "namespace": "muster-system"},
            "data": {"queues.yaml": text}}


def jobs(rng, step):
    """Gangs and lone pods of a queue each."""
    made = []
    for i, size in enumerate(load.split(rng, PODS, 1, 20)):
        name, queue = f"s{step:02}-{i:03}", f"q{rng.randrange(4)}"
        group = name if size > 1 else None
        made += [objects.pod_group(name, size)] if group else []
        made += [objects.pod(f"{name}-{m}", cpu="0", memory="0", requests={GPU: str(rng.randint(1, 2))}, group=group,
                             labels={"muster.dev/queue": queue}) for m in range(size)]
    return made


def sums(c):
    """({queue: GPUs in use} by musterctl, the same by the pods)"""
    told = {q["queue"]: q["used"].get(GPU, 0) for q in c.ask_json("queues")[1]["queues"]}
    paths = {path.split("/")[-1]: path for path in told}
    counted = Counter({path: 0 for path in told})
    for p in c.pods():
        if not takes_room(p):
            continue
        path = paths.get(p["metadata"]["labels"]["muster.dev/queue"], "root")
        while path:
            counted[path] += int(p["spec"]["containers"][0]["resources"]["requests"][GPU])
            path = path.rpartition("/")[0]
    return told, dict(counted)


def kill(c, rng, names):
    """Kill and start again, a moment apart, in either order."""
    for name in names:
        process = getattr(c, name)
        process.kill()
        c.processes.remove(process)
    for name in rng.sample(names, len(names)):
        time.sleep(rng.choice([0, rng.uniform(0, 0.1)]))
        setattr(c, name, c.start_core() if name == CORE else c.start_frontend(*FLAGS, listen=c.listen))


def step(c, rng, n, kills):
    """Pods are made while the queues are edited and somebody dies; then the sums are right.  (What was made, GPUs in use)"""
    made, text = jobs(rng, n), rng.randrange(len(TEXTS))
    sender = load.Sender(c.client, made)
    who = rng.choice(TARGETS)
    todo = [lambda: kill(c, rng, who),
            lambda: c.client.patch("ConfigMap", "muster-queues", {"data": {"queues.yaml": TEXTS[text]}}, namespace="muster-system")]
    for do in rng.sample(todo, 2):
        time.sleep(rng.uniform(0, 0.2))
        do()
    kills["+".join(who)] += 1
    sender.join()
    c.ready(c.frontend)
    becomes(lambda: {q.split("/")[-1] for q in sums(c)[0]}, NAMES[text], f"queues of step {n}", AGAIN_S)
    last = []

    def same():
        last[:] = sums(c)
        return last[0] == last[1]

    until(same, AGAIN_S, lambda: f"step {n}: used {last[0]}, recount {last[1]}", every_s=0.2)
    found = ""

    def clean():
        nonlocal found
        code, found, _ = c.ask("fsck", "--kubeconfig", c.kubeconfig)
        return code == 0

    until(clean, AGAIN_S, lambda: f"step {n}: fsck: {found}", every_s=0.5)
    return made, last[0]["root"]


def test_que_20_what_queues_use_is_what_their_pods_request():
    seed = load.seed()
    rng = random.Random(seed)
    kills, there, most = Counter(), [], 0
    system = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "muster-system"}}
    with Cluster(*(objects.node(f"n{i:02}", pods="500", gpu=str(GPUS)) for i in range(NODES)), system, config(TEXTS[0]),
                 judged=True) as c, Follower(c.client) as history:
        c.pair(frontend=FLAGS)
        for n in range(STEPS):
            made, used = step(c, rng, n, kills)
            most = max(most, used)
            there.append(made)
            if len(there) > STAY:
                c.client.in_parallel(c.delete_object, there.pop(0), 4)
        for made in there:
            c.client.in_parallel(c.delete_object, made, 4)
        until(lambda: not any(sums(c)[0].values()), AGAIN_S, lambda: f"nothing is used: {sums(c)}")
        equal(history.wrong, [], f"history of seed {seed}")
        check(most >= GPUS, f"at most {most} GPUs were in use: sums of nothing are equal")
        c.well()
        figure(f"{STEPS * PODS} pods, {c.stats()['binds']} bound, at most {most} GPUs in use; kills: "
               + ", ".join(f"{count} {who}" for who, count in sorted(kills.items())))


if __name__ == "__main__":
    sys.exit(main(globals()))
