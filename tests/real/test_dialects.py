# SPDX-License-Identifier: Apache-2.0
"""All dialects on one real kube-apiserver: at once, each gang bound completely; and two gangs that
each need more than half of the cluster, repeatedly, one bound and one waiting.

    tests/real/test_dialects.py [TEST...] [--full]      100 rounds of the latter instead of some
"""
import os
import random
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import check, harness, load, muster, objects  # noqa: E402
from lib.cluster import Follower  # noqa: E402
from lib.dialects import DIALECTS  # noqa: E402
from lib.harness import equal, main, until  # noqa: E402
from process import test_dialects as mixed, test_interlock as interlock  # noqa: E402
from real.version import has_native_gangs  # noqa: E402
from real.kubelet import Kubelets  # noqa: E402
from real.world import SOON_S, World  # noqa: E402

if not has_native_gangs():
    del DIALECTS["native"]
PODS, NODES = 400, 20
ROUNDS = 100 if harness.full else 6


def test_all_at_once():
    """A few hundred pods, and in each dialect a gang that can't fit."""
    rng = random.Random(load.seed())
    fit = [(g, n, *mixed.made(d, g, n, cpu=rng.choice(["100m", "250m", "500m"])))
           for d, g, n in mixed.gangs(rng, PODS)]
    stuck = [(f"{d}-stuck", 3, *mixed.made(d, f"{d}-stuck", 3, requests={"example.com/none": "1"})) for d in DIALECTS]
    world.fresh(*(objects.node(f"n{i:02}", cpu="32", memory="256Gi") for i in range(NODES)))
    order = [o for _, _, groups, pods in fit + stuck for o in groups + pods]
    rng.shuffle(order)
    start = time.monotonic()
    with Follower(world.client) as history:
        load.submit(world.client, order)
        with world.told("native"):
            until(lambda: world.bound() >= PODS, SOON_S, "all that fit are bound")
    harness.figure(f"{len(fit)} gangs of {len(DIALECTS)} dialects, {PODS} pods: {time.monotonic() - start:.1f} s")
    bound = {}
    for p in world.pods():
        gang = p["metadata"]["name"].rpartition("-")[0]
        bound[gang] = bound.get(gang, 0) + check.is_bound(p)
    equal(bound, {**{g: n for g, n, _, _ in fit}, **{g: 0 for g, _, _, _ in stuck}}, "bound of each gang")
    equal(history.wrong, [], "history")
    equal(check.cluster(world.admin), [], "what must hold")
    for groups, runs in ((fit, True), (stuck, False)):
        def wrong():
            return [w for g, n, described, _ in groups for o in described
                    for w in mixed.wrong_status(world, g, n, o, runs)]
        until(lambda: not wrong(), SOON_S, lambda: wrong()[:5], every_s=0.5)
    until(lambda: not check.silent_pods(world.pods()), SOON_S, "each pod that waits says why")


def one_whole_one_waiting(name):
    dialect = DIALECTS[name]
    rng = random.Random(load.seed())
    world.fresh(*(objects.node(f"n{i}", cpu=str(interlock.CPU)) for i in range(interlock.NODES)))
    start = time.monotonic()
    for turn in range(ROUNDS):
        sizes, turns = interlock.made(rng, dialect)
        with check.History(world.client) as history:
            load.submit(world.client, turns)
            until(lambda: at_rest(sum(sizes.values())), SOON_S, f"round {turn}, {sizes}: one whole, one waiting",
                  every_s=0.01)
            bound = {g: world.bound(f"{g}-") for g in sizes}
        equal(sorted(bound.values())[0], 0, f"round {turn}: bound {bound} of {sizes}: the loser's")
        equal(sum(bound[g] == sizes[g] for g in sizes), 1, f"round {turn}: bound {bound} of {sizes}: whole gangs")
        equal(history.wrong + check.cluster(world.admin), [], f"round {turn}")
        world.empty(*{check.kube.kind_of(o) for o in dialect.objects("x", 1)})
        until(lambda: world.muster.ctl("status")["pods"] == 0, SOON_S, "the core has no pods")
    harness.figure(f"{name}: {ROUNDS} of {ROUNDS} rounds with one whole and one waiting, "
                   f"{(time.monotonic() - start) / ROUNDS:.2f} s each")


def at_rest(pods):
    said = world.muster.ctl("status")
    return (said["pods"], said["gangs_placed"], said["gangs_waiting"], said["gangs_binding"]) == (pods, 1, 1, 0)


for name in DIALECTS:
    globals()["test_interlock_" + name.replace("-", "_")] = lambda name=name: one_whole_one_waiting(name)


def test_nothing_was_forbidden_and_every_kubelet_got_through():
    equal(world.cluster.refusals(), 0, "requests not allowed")
    equal(kubelets.errors, [], "what kubelets couldn't write")


if __name__ == "__main__":
    muster.exit_on_sigterm()
    with World(gates=has_native_gangs(), controllers=True, flags=("--report-qps", "500")) as world, \
            Kubelets(world.cluster.admin_kubeconfig) as kubelets:
        main(globals())
