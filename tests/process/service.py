#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Time to recovery: one command for each figure.

    make service, or tests/process/service.py [core] [frontend] [leader] [outage] [--times=10] [--nodes=5000] [--pods=50000]

core, frontend: killed -9 under musterctl up, with so many nodes and pods; the time until all
members of a gang that is submitted at that moment are bound, in the only capacity that is left.
leader: the leader's core and frontend are killed; until the other instance binds.
outage: the API server is silent, then fails every request, for OUTAGE_S; from its return on.
Also from the log: how long the other side took to detect that its peer is gone."""
import datetime
import os
import re
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import kube, load, muster, objects  # noqa: E402
from lib.cluster import Cluster  # noqa: E402
from lib.harness import check, equal, figure, option, until  # noqa: E402

PARTS = ["core", "frontend", "leader", "outage"]
EACH, FREE = 10, 16  # cores of a node; the free ones of all nodes together
GANG = 8
OUTAGE_S = 20
GOALS_S = {"core": 1, "frontend": 5, "leader": 17.4, "outage": 30 + 5}


TIMES, NODES, PODS = option("times", 10), option("nodes", 5000), option("pods", 50000)


def full_cluster():
    """Every core is taken but for FREE, which are on the last nodes."""
    nodes = [objects.node(f"n{i:05}", cpu=str(EACH)) for i in range(NODES)]
    pods = [objects.pod(f"p{i:05}", nodeName=f"n{i // EACH:05}", memory="64Mi", labels={"app": f"a{i % 100}"})
            for i in range(min(PODS, NODES * EACH - FREE))]
    taken = len(pods)
    for i in range(-(-(taken + FREE) // EACH), NODES):  # no other free capacity
        nodes[i]["spec"]["unschedulable"] = True
    return nodes, pods


class World:
    """A cluster with muster, and gangs that come one at a time."""

    def __init__(self, c):
        self.c, self.n = c, 0

    def gang_bound_s(self, since, within_s):
        """Submit a gang: seconds from `since` to its last binding."""
        self.n += 1
        group, pods = objects.gang(f"g{self.n}", GANG, memory="64Mi")
        before = self.c.stats()["binds"]
        load.submit(self.c.client, [group, *pods])
        until(lambda: self.c.stats()["binds"] >= before + GANG, within_s, f"gang {self.n} is bound", every_s=0.001)
        took = time.monotonic() - since
        stats = self.c.stats()
        equal([stats[k] for k in ("overcommitted", "doubleBindAttempts", "kubeletRejected")], [0, 0, 0], "done wrong")
        for obj in (group, *pods):
            self.c.delete_object(obj)
        return took


def told(what, times):
    times = sorted(times)
    goal = GOALS_S[what.split()[0]]
    p99 = f"{times[-(-99 * len(times) // 100) - 1]:.3f} s p99, " if len(times) >= 100 else ""
    figure(f"{what}: {len(times)} times, {times[len(times) // 2]:.3f} s median, {p99}{times[-1]:.3f} s worst (goal {goal} s)")
    return times[-1] <= goal


def seen_after_ms(log, text, since):
    """Milliseconds from the wall clock `since` to the first such line after it."""
    for line in log.splitlines():
        found = re.match(r'ts=(\S+)Z .*msg="' + text, line)
        if found:
            at = datetime.datetime.fromisoformat(found[1]).replace(tzinfo=datetime.timezone.utc).timestamp()
            if at >= since - 0.001:
                return max(0.0, (at - since) * 1000)
    return None


def killed(name):
    nodes, pods = full_cluster()
    with Cluster() as c:
        load.submit(c.client, nodes + pods)
        c.up()
        w = World(c)
        until(lambda: c.metric("muster_pods") == len(pods), 120, "all is in the ledger")
        w.gang_bound_s(time.monotonic(), 60)
        took, seen = [], []
        for _ in range(TIMES):
            time.sleep(2.5)  # musterctl up starts at once only what lived so long
            pid = c.daemons()[f"muster-{name}"]  # searches /proc: before the clocks start
            wall, start = time.time(), time.monotonic()
            os.kill(pid, signal.SIGKILL)
            took.append(w.gang_bound_s(start, 60))
            seen.append(seen_after_ms(c.ctl.log(), "muster-core is gone" if name == "core" else "frontend gone", wall))
        check(None not in seen, f"the other side never said that the {name} is gone: {seen}")
        seen.sort()
        good = told(f"{name} killed -9 with {len(nodes)} nodes and {len(pods)} pods, until a gang of {GANG} is bound", took)
        figure(f"its peer saw that after {seen[len(seen) // 2]:.0f} ms median, {seen[-1]:.0f} ms worst")
        return good


def instance(c, number):
    socket = os.path.join(c.folder, f"{number}.sock")
    listen = f"127.0.0.1:{muster.free_port()}"
    return (listen, c.spawn("muster-core", "--socket", socket),
            c.spawn("muster-frontend", "--socket", socket, "--kubeconfig", c.kubeconfig, "--listen", listen, "--leader-elect"))


def leads(c, one):
    c.listen = one[0]
    return c.metric("muster_leading") == 1


def leader():
    """Leases as they are by default: 15 s, renewed within 10, tried every 2."""
    took = []
    with Cluster(*(objects.node(f"n{i}") for i in range(4)), kube.namespace("muster-system")) as c:
        w, number = World(c), 0
        alive = [instance(c, 0)]
        until(lambda: leads(c, alive[0]), 30, "a leader")
        for _ in range(min(TIMES, 3)):
            number += 1
            alive.append(instance(c, number))
            c.listen = alive[1][0]
            until(lambda: c.fetch("/readyz")[0] == 200, 30, "the other one is ready")
            time.sleep(1)
            start = time.monotonic()
            for process in alive.pop(0)[1:]:
                process.kill()
            took.append(w.gang_bound_s(start, 60))
    return told("leader and its core killed -9, until the other one has bound a gang", took)


def outage(away, how):
    took = []
    with Cluster(*(objects.node(f"n{i}") for i in range(4))) as c:
        c.up()
        w = World(c)
        w.gang_bound_s(time.monotonic(), 30)
        for _ in range(min(TIMES, 3)):
            away(c)
            took.append(w.gang_bound_s(time.monotonic(), 90))
    return told(f"outage of {OUTAGE_S} s, {how}: from its end until a gang is bound", took)


def silent(c):
    os.kill(c.apisim.pid, signal.SIGSTOP)
    time.sleep(OUTAGE_S)
    os.kill(c.apisim.pid, signal.SIGCONT)


def failing(c):
    """Every response is 500, and watches are broken: retries are in backoff."""
    c.arm("error-500", count=1000000)
    c.arm("cut-watches")
    time.sleep(OUTAGE_S)
    c.client.request("DELETE", "/apisim/faults")


def main():
    wanted = [a for a in sys.argv[1:] if not a.startswith("--")] or PARTS
    passed = 0
    for what in wanted:
        try:
            if what in ("core", "frontend"):
                passed += killed(what)
            elif what == "leader":
                passed += leader()
            else:
                passed += outage(silent, "the API server is silent") and outage(failing, "each answer is 500")
        except AssertionError as error:
            print(f"{what}: {error}", flush=True)
    print(f"{passed} passed, {len(wanted) - passed} failed", flush=True)
    return passed < len(wanted)


if __name__ == "__main__":
    sys.exit(main())
