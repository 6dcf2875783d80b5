# SPDX-License-Identifier: Apache-2.0
"""Two gangs that each need more than half of a cluster, created together with their pods
alternating: one is bound completely and the other not at all, repeatedly, in every
dialect; under the same names each time, so that only uids distinguish them.

    tests/process/test_interlock.py [--full]      100 rounds for each dialect instead of some
"""
import os
import random
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import check, harness, load, objects  # noqa: E402
from lib.cluster import Cluster  # noqa: E402
from lib.dialects import CRDS, DIALECTS  # noqa: E402
from lib.harness import equal, main, until  # noqa: E402

ROUNDS = 100 if harness.full else 25
NODES, CPU = 4, 4
SOON_S = 20


def made(rng, dialect):
    """{gang: size}, and all objects with the pods alternating."""
    sizes = {name: rng.randint(NODES * CPU // 2 + 1, NODES * CPU) for name in ("x-0", "y-0")}
    rows = []
    for name, n in sizes.items():
        pods = [objects.pod(f"{name}-{i}", cpu="1", memory="0") for i in range(n)]
        for p in pods:
            dialect.mark(p, name, n)
        rows.append(pods)
    turns = [row[i] for i in range(max(sizes.values())) for row in rows if i < len(row)]
    for name, n in sizes.items():  # a group's object comes before, between or after its pods
        for o in dialect.objects(name, n):
            turns.insert(rng.randint(0, len(turns)), o)
    return sizes, turns


def at_rest(cluster, pods):
    """The core has seen so many pods, one gang is bound and one waits, and nothing is in flight."""
    _, said = cluster.ask_json("status")
    return (said["pods"], said["gangs_placed"], said["gangs_waiting"], said["gangs_binding"]) == (pods, 1, 1, 0)


def empty(cluster, kinds):
    for kind in kinds:
        cluster.client.request("DELETE", cluster.client.path(kind, "default"))
    until(lambda: cluster.ask_json("status")[1]["pods"] == 0, SOON_S, "the core has no pods")


def interlock(name):
    dialect = DIALECTS[name]
    rng = random.Random(load.seed())
    kinds = ["Pod"] + [check.kube.kind_of(o) for o in dialect.objects("x", 1)]
    flags = [f for crd in CRDS for f in ("--crd", crd)] + ["--gate", "GenericWorkload", "--no-kubelet"]
    with Cluster(*(objects.node(f"n{i}", cpu=str(CPU)) for i in range(NODES)), apisim=flags) as c:
        c.up()
        start = time.monotonic()
        for turn in range(ROUNDS):
            sizes, turns = made(rng, dialect)
            with check.History(c.client) as history:
                load.submit(c.client, turns)
                until(lambda: at_rest(c, sum(sizes.values())), SOON_S, f"round {turn}, {sizes}: one whole, one waiting",
                      every_s=0.005)
                bound = {g: c.bound(f"{g}-") for g in sizes}
            equal(sorted(bound.values())[0], 0, f"round {turn}: bound {bound} of {sizes}: the loser's")
            whole = [g for g in sizes if bound[g] == sizes[g]]
            equal(len(whole), 1, f"round {turn}: bound {bound} of {sizes}: whole gangs")
            equal(history.wrong, [], f"round {turn}")
            equal(check.overfull_nodes(c.client.list("Node"), c.pods()), [], f"round {turn}")
            empty(c, kinds)
        harness.figure(f"{name}: {ROUNDS} of {ROUNDS} rounds with one whole and one waiting, "
                       f"{(time.monotonic() - start) / ROUNDS * 1000:.0f} ms each")


for name in DIALECTS:
    globals()["test_" + name.replace("-", "_")] = lambda name=name: interlock(name)

if __name__ == "__main__":
    main(globals(), jobs=4)
