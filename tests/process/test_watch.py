# SPDX-License-Identifier: Apache-2.0
"""Faults of the API server: watches cut, history compacted (410), slow
responses, errors, a restart.  The scheduler catches up and nothing is lost."""
import os
import random
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import load, objects  # noqa: E402
from lib.cluster import Cluster, Follower  # noqa: E402
from lib.harness import check, equal, figure, main, until  # noqa: E402
from lib.proxy import Proxy  # noqa: E402

NODES = [objects.node(f"n{i:02}", cpu="16") for i in range(50)]
PODS = 700


def gangs(rng, prefix="g"):
    made = []
    for i, size in enumerate(load.split(rng, PODS, 1, 80)):
        name = f"{prefix}{i:03}"
        made += [objects.pod_group(name, size)] + [objects.pod(f"{name}-{m}", group=name) for m in range(size)]
    return made


def all_bound(c, n=PODS, within_s=30):
    until(lambda: c.bound() >= n, within_s, f"{n} pods bound")
    c.well()


def disturbed(disturb, times, every_s):
    """Place gangs while disturb(c) is called again and again."""
    rng = random.Random(load.seed())
    with Cluster(*NODES) as c, Follower(c.client) as history:
        c.up()
        sender = load.Sender(c.client, gangs(rng))
        for _ in range(times):
            disturb(c)
            time.sleep(every_s)
        sender.join()
        all_bound(c)
        equal(history.wrong, [], "history")
        return f"{c.metric('muster_watches_total'):.0f} watches, {c.metric('muster_relists_total'):.0f} lists again"


def test_watches_are_cut():
    counts = disturbed(lambda c: c.arm("cut-watches"), 15, 0.1)
    figure(f"watches cut 15 times: {counts}")


def test_history_is_gone():
    """410, as a status or as an ERROR event: list again, with replace semantics."""
    def forget(c):
        c.arm("compact")
        c.arm("cut-watches")

    counts = disturbed(forget, 8, 0.2)
    figure(f"history gone 8 times: {counts}")


def test_objects_vanish_while_nobody_watches():
    """What was deleted between the last event and a new list is gone."""
    with Cluster(objects.node("n0", cpu="4")) as c:
        group, members = objects.gang("old", 4)
        c.create(group, *members)
        c.up()
        until(lambda: c.bound("old") == 4, 10, "old is bound")
        for _ in range(3):
            c.arm("compact")
        c.arm("cut-watches")
        for obj in (group, *members):
            c.delete_object(obj)
        c.arm("compact")
        c.arm("cut-watches")
        c.create(*flat(objects.gang("new", 4)))
        until(lambda: c.bound("new") == 4, 20, "new is bound in the room of old")
        c.well()


def flat(gang):
    return [gang[0]] + gang[1]


def test_history_is_short():
    """A server with a short history drops clients that lag, here a frontend that is stopped
    while more events arrive than sockets can buffer."""
    made = gangs(random.Random(load.seed()))
    for obj in made:
        obj["metadata"]["annotations"] = {"example.com/ballast": "x" * 20000}
    with Cluster(*NODES, apisim=["--history", 400, "--watch-lag", 100]) as c:
        c.up()
        pid = c.daemons()["muster-frontend"]
        os.kill(pid, signal.SIGSTOP)
        load.submit(c.client, made)
        time.sleep(0.2)
        os.kill(pid, signal.SIGCONT)
        all_bound(c)
        check(c.metric("muster_relists_total") > 0, "it never listed again")
        figure(f"history of 400 events: {c.stats()['watchesLagged']} watches dropped, all placed")


def test_answers_are_slow():
    rng = random.Random(load.seed())
    with Cluster(*NODES) as c:
        c.up()
        load.submit(c.client, gangs(rng))
        c.arm("delay", count=200, ms=300)
        all_bound(c)


def test_errors_everywhere():
    rng = random.Random(load.seed())
    with Cluster(*NODES) as c:
        c.up()
        load.submit(c.client, gangs(rng))
        for _ in range(3):
            c.arm("error-500", count=40)
            c.arm("cut-watches")
            time.sleep(0.2)
        c.client.request("DELETE", "/apisim/faults")
        all_bound(c)


def test_server_restarts_with_less():
    """A server that is restored from a backup: versions go back, pods are gone or
    pending again.  muster follows the server's current state.  The second life must have lower
    versions than the first, since they are the only difference."""
    with Cluster(*NODES[:4], apisim=["--token", "same"]) as c:
        first = flat(objects.gang("first", 64))
        c.create(*first)
        c.up()
        until(lambda: c.bound("first") == 64, 10, "first is bound")
        c.apisim.stop()
        time.sleep(1)
        c.restart_apisim()
        c.create(*NODES[:4], *flat(objects.gang("second", 32)))
        until(lambda: c.bound("second") == 32, 40, "second is bound after the restart")
        equal(c.bound("first"), 0, "pods of the life before")
        c.well()


def test_lists_come_as_streams():
    """Those of pods are refused: they come in pages.  The lists of a second start have what the first one bound."""
    def streams(call):
        return call.watch and "sendInitialEvents" in call.query

    def streamed(c, what):
        return c.metrics()[f'muster_lists_streamed_total{{group="",resource="{what}"}}']

    with Cluster(*NODES[:5]) as c, Proxy(c.kubeconfig, c.folder) as proxy:
        c.kubeconfig = proxy.kubeconfig
        refused = proxy.rule(lambda call: streams(call) and call.resource == "pods",
                             lambda call: call.status(422, "sendInitialEvents is forbidden"))
        c.up("--stream-lists", "auto")
        c.create(*(objects.pod(f"p-{i}") for i in range(20)))
        until(lambda: c.bound() == 20, 30, "bound")
        equal((streamed(c, "nodes"), streamed(c, "pods"), refused.hits), (1, 0, 1), "lists streamed of nodes, of pods, refused")
        c.ctl.stop()
        proxy.remove(refused)
        c.up("--stream-lists", "auto")
        c.create(*(objects.pod(f"q-{i}") for i in range(20)))
        until(lambda: c.bound() == 40, 30, "bound after a start with 20 bound pods")
        equal(streamed(c, "pods"), 1, "lists of pods streamed")
        equal(c.wrongs(), [], "wrongs")


if __name__ == "__main__":
    main(globals(), jobs=2)
