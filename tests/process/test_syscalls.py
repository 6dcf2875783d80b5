# SPDX-License-Identifier: Apache-2.0
"""System calls of muster-core while it places pods, counted by strace: their number
follows the time that passes, not the pods that are placed."""
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import load, muster  # noqa: E402
from lib.cluster import Cluster  # noqa: E402
from lib.harness import Skip, check, equal, figure, main, until  # noqa: E402

NODES = 2000
FEW, MANY = 1000, 10000
# Calls grow with time: some hundred a second during any activity, and a loaded machine takes longer
# for the same pods.  A call for each pod, or for each binding, would be far over these bounds.
NAPS_PER_S = 1000      # of the loop and of the world, while records come
WAITING_PER_POD = 0.15  # for pods that wait already when capacity is added
WAITING_ONCE = 300     # that the first of them cost in any case
LIVE_PER_POD = 0.25    # for pods that come one after the other, each news of its own


class Strace:
    """Counts the calls of one process from start() to stop()."""

    def __init__(self, pid, out):
        self.out = out
        self.popen = subprocess.Popen(["strace", "-c", "-f", "-o", out, "-p", str(pid)],
                                      stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.said = self.popen.stderr.readline().decode()
        if "attached" not in self.said:
            self.popen.kill()
            self.popen.wait()
            raise Skip("ptrace is not allowed here: " + self.said.strip())
        self.start = time.monotonic()

    def stop(self):
        """({call: count}, seconds)"""
        took = time.monotonic() - self.start
        self.popen.send_signal(signal.SIGINT)
        self.popen.wait(60)
        self.popen.stderr.close()
        counts = {}
        for line in open(self.out):
            row = re.match(r"\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?(\w+)$", line)
            if row and row.group(2) != "total":
                counts[row.group(2)] = int(row.group(1))
        return counts, took


def counted(c, what, work):
    trace = Strace(c.core.pid, os.path.join(c.folder, "strace"))
    work()
    counts, took = trace.stop()
    total = sum(counts.values())
    figure(f"core, {what}: {total} system calls in {took:.2f} s "
           f"({', '.join(f'{k} {v}' for k, v in sorted(counts.items())) or 'none'})")
    return total, took


def bound(c, n):
    until(lambda: c.stats()["binds"] >= n, 90, f"{n} pods bound")


def some_jobs(rng, n, prefix):
    return load.flat(load.jobs(rng, load.split(rng, n, 2, n // 10), prefix, gpus=n // 4))


def well(c, n):
    equal(c.bound(), n, "pods with a node")
    c.well()


def needs_strace():
    if not shutil.which("strace"):
        raise Skip("strace is not installed")


def waiting(rng, n):
    """Calls beyond the idle rate for n pods that wait until nodes come, and how many there may be."""
    with Cluster() as c:
        c.pair()
        load.submit(c.client, some_jobs(rng, n, "w"))
        until(lambda: c.metric("muster_objects_pods_pending") == n, 30, "all pods are known")
        time.sleep(0.5)
        idle, idle_s = counted(c, "idle", lambda: time.sleep(2))
        nodes = load.nodes(rng, NODES)

        def place():
            load.submit(c.client, nodes)
            bound(c, n)

        total, took = counted(c, f"{n} waiting pods", place)
        well(c, n)
        return total - idle / idle_s * took, WAITING_ONCE + WAITING_PER_POD * n + NAPS_PER_S * took


def test_calls_for_pods_that_wait():
    needs_strace()
    rng = random.Random(load.seed())
    for n in (FEW, MANY):
        calls, allowed = waiting(rng, n)
        figure(f"core: {calls:.0f} calls beyond the idle rate for {n} waiting pods (at most {allowed:.0f}): {calls / n:.4f} a pod")
        check(calls < allowed, f"{calls:.0f} calls for {n} pods, more than {allowed:.0f}")


def test_calls_for_pods_that_come():
    needs_strace()
    rng = random.Random(load.seed())
    with Cluster() as c:
        load.submit(c.client, load.nodes(rng, NODES))
        c.pair()
        idle, idle_s = counted(c, "idle", lambda: time.sleep(2))
        made = some_jobs(rng, MANY, "w")

        def place():
            load.submit(c.client, made)
            bound(c, MANY)

        total, took = counted(c, f"{MANY} pods that come", place)
        beyond, allowed = total - idle / idle_s * took, LIVE_PER_POD * MANY + NAPS_PER_S * took
        figure(f"core: {beyond:.0f} calls beyond the idle rate (at most {allowed:.0f}), {beyond / MANY:.4f} a pod, "
               f"{beyond / took:.0f} a second")
        check(beyond < allowed, f"{beyond:.0f} calls for {MANY} pods, more than {allowed:.0f}")
        well(c, MANY)


def test_spinning_is_what_the_flag_says():
    """An idle core sleeps unless --spin-us makes it poll all the time."""
    for spin_us, least, most in ((0, 0, 0.05), (50, 0, 0.05), (1000000, 0.1, 1.2)):
        with Cluster() as c:
            c.pair(core=("--spin-us", spin_us))
            time.sleep(0.2)
            before, start = muster.cpu_s(c.core.pid), time.monotonic()
            time.sleep(1)
            share = (muster.cpu_s(c.core.pid) - before) / (time.monotonic() - start)
            figure(f"core idle with --spin-us {spin_us}: {100 * share:.0f} % of a CPU")
            check(least <= share <= most, f"--spin-us {spin_us}: {share:.2f} of a CPU")


if __name__ == "__main__":
    main(globals())
