#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two instances of different builds on one cluster: a rolling upgrade, back and again, under load and with deaths.

    tests/process/mixed.py --other=FOLDER [--seconds=1800] [--rate=100] [--seed=1]

FOLDER has the programs of the other version (its build/bin).  Gangs come and go as in soak.py on a cluster that
is nearly full.  Every PERIOD_S the leader ends in one of the ways of ENDS; it is started again as the other build
of the two, so that each build takes over from each.  A third of the time both instances are of different builds,
which is what an upgrade is.  tests/history.py judges every write: no node over its allocatable, no gang torn.
Prints how often each build took over from which."""
import os
import random
import signal
import sys
import time
from collections import Counter

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import kube, load, muster, objects  # noqa: E402
from lib.cluster import Cluster  # noqa: E402
from lib.harness import check, figure, option, until  # noqa: E402
from lib.instances import TIMES  # noqa: E402
from soak import TICK_S, Churn  # noqa: E402

NODES, CORES = 24, 8
PERIOD_S = 20
LEASE_S = 4
ENDS = ["kill both", "kill both", "kill frontend", "kill core", "stop frontend", "SIGTERM"]


def folder_of_the_other():
    given = [a.split("=", 1)[1] for a in sys.argv[1:] if a.startswith("--other=")]
    check(given and os.access(os.path.join(given[-1], "muster-core"), os.X_OK), "--other=FOLDER with the programs of a version")
    return given[-1]


class Instance:
    """Core and frontend of one build; the build may change from life to life."""

    def __init__(self, c, number, builds, build):
        self.c, self.number, self.builds, self.build = c, number, builds, build
        self.socket = os.path.join(c.folder, f"{number}.sock")
        self.start()

    def start(self):
        self.listen = f"127.0.0.1:{muster.free_port()}"
        self.core = self.spawn("muster-core", "--socket", self.socket)
        self.frontend = self.spawn("muster-frontend", "--socket", self.socket, "--kubeconfig", self.c.kubeconfig, "--listen",
                                   self.listen, "--leader-elect", *TIMES)

    def spawn(self, name, *flags):
        log = os.path.join(self.c.folder, f"{name}-{self.number}.log")
        process = muster.Process([os.path.join(self.builds[self.build], name), *flags], log)
        self.c.processes.append(process)
        return process

    def leads(self):
        status, text = kube.fetch(self.listen, "/metrics")
        return status == 200 and any(line == "muster_leading 1" for line in text.splitlines())

    def stop(self):
        for process in (self.frontend, self.core):
            process.stop()
            self.c.processes.remove(process)


def end(instance, how):
    """The leader stops to lead; what is left of it is stopped by the caller."""
    if how in ("kill both", "kill frontend"):
        instance.frontend.child.kill()
    if how in ("kill both", "kill core"):
        instance.core.child.kill()
    if how == "stop frontend":
        os.kill(instance.frontend.pid, signal.SIGSTOP)
        time.sleep(LEASE_S + 2)
        os.kill(instance.frontend.pid, signal.SIGCONT)
    if how == "SIGTERM":
        instance.frontend.child.terminate()


def run(c, rng, seconds, rate, builds):
    instances = [Instance(c, 0, builds, "this"), Instance(c, 1, builds, "other")]
    driver, ways, handovers, cycles = Churn(c.client, rng, rate), Counter(), Counter(), 0
    start = time.monotonic()
    due, next_end = start, start + PERIOD_S
    leader = None
    while time.monotonic() < start + seconds:
        driver.tick(time.monotonic())
        if time.monotonic() >= next_end:
            leads = [i for i in instances if i.leads()]
            if leads:
                if leader and leads[0] is not leader:
                    handovers[leader.was, leads[0].build] += 1
                leader = leads[0]
                how = rng.choice(ENDS)
                ways[how] += 1
                cycles += 1
                leader.was = leader.build
                end(leader, how)
                leader.stop()
                # Both of this build, one of each, both of the other, one of each, ...
                leader.build = "other" if leader.build == "this" else "this"
                leader.start()
            next_end = time.monotonic() + PERIOD_S
        due = max(due + TICK_S, time.monotonic() - TICK_S)
        time.sleep(max(0, due - time.monotonic()))
    figure(f"{seconds} s: {driver.jobs} gangs, {driver.pods} pods, {c.stats()['binds']} bindings; leaders ended: "
           + ", ".join(f"{n} {how}" for how, n in sorted(ways.items())) + "; took over: "
           + ", ".join(f"{n} {new} from {old}" for (old, new), n in sorted(handovers.items())))
    check(cycles == 0 or len(handovers) >= min(4, cycles // 4), f"too few kinds of takeovers: {dict(handovers)}")
    until(lambda: any(i.leads() for i in instances), 60, "a leader")
    c.listen = next(i for i in instances if i.leads()).listen
    until(lambda: not c.metric("muster_gangs_binding"), 60, "no binding is on its way")
    c.well()
    driver.sweep(float("inf"))


def main():
    wrong = []
    try:
        rng = random.Random(load.seed())
        builds = {"this": str(muster.BUILD / "bin"), "other": folder_of_the_other()}
        with Cluster(*(objects.node(f"n{i:03}", cpu=str(CORES), memory="64Gi", pods="500") for i in range(NODES)),
                     kube.namespace("muster-system"),
                     apisim=["--start-ms", 20, "--grace-ms", 50], judged=True) as c:
            run(c, rng, option("seconds", 1800), option("rate", 100), builds)
    except AssertionError as error:
        wrong = [str(error)]
    print(*wrong, sep="\n", end="\n" if wrong else "")
    print(f"{int(not wrong)} passed, {int(bool(wrong))} failed", flush=True)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
