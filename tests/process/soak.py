#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Both daemons under churn for SECONDS, a fault every half minute: nothing grows.

    tests/process/soak.py [--seconds=600] [--rate=500] [--seed=1]

Gangs of 1 to 50 are created at RATE pods a second if the machine permits, run for a few
seconds and are deleted; their names, their sizes and some of their requests are always new.
A few never fit and are deleted as they wait.  Reports are written faster than pods are bound: up
to 20,000 Events of bindings wait else, 3 MiB that come and go with the faults.  Memory, files,
sockets and threads of both daemons are read every second.  In the second half memory may rise, by
the line of least squares, by GROWTH of its size or by GROWTH_KIB at most, and files and threads to
at most FEW above the maximum of the first half.  Connections to the API server are kept for a
while, so the sockets of a frontend come and go with its faults: at some time of the second half
there are again at most FEW more than that maximum.  At the end all is at rest, no invariant is
violated and nothing is left."""
import os
import random
import signal
import stat
import sys
import time
from collections import Counter, deque

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import kube, load, muster, objects  # noqa: E402
from lib.cluster import Cluster  # noqa: E402
from lib.harness import Failed, check, figure, option, until  # noqa: E402

NODES, CORES = 100, 64
RUNS_S = 3  # a job that fits
LIVES_S = 6  # from its creation until it is deleted
TICK_S = 0.25
FAULT_EVERY_S = 30
GROWTH, GROWTH_KIB, FEW = 0.02, 2048, 3
REPORT_QPS = 5000
WARM_S = 15  # until the first job has come and gone twice
BINDS = ["bind-500-before", "bind-500-after", "bind-504-after", "bind-409-before", "bind-409-after", "bind-429",
         "bind-cut-before", "bind-cut-after", "bind-late"]
FAULTS = [*BINDS, "cut-watches", "compact", "error-500", "stop core", "stop frontend"]


def job(rng, name):
    """A PodGroup and its pods; one of a hundred requests more than a node has."""
    cpu = f"{rng.randint(100, 400)}m" if rng.random() < 0.1 else rng.choice(["100m", "250m", "500m", "1"])
    if rng.random() < 0.01:
        cpu = str(CORES * 2)
    size = min(50, int(50 ** rng.random()))
    group, pods = objects.gang(name, size, cpu=cpu, memory="64Mi", labels={"job": name})
    for pod in pods:
        pod["metadata"]["annotations"] = {"muster.io/run-seconds": str(RUNS_S)}
    return [group, *pods]


class Churn:
    """Creates and deletes until it is stopped.  Requests are pipelined."""

    def __init__(self, client, rng, rate):
        self.client, self.rng, self.rate = client, rng, rate
        self.alive = deque()  # (when to delete, objects)
        self.jobs = self.pods = self.owed = 0

    def tick(self, due):
        """Everything that is due at that time."""
        made, self.owed = [], self.owed + self.rate * TICK_S
        while self.owed > 0:
            self.jobs += 1
            objs = job(self.rng, f"j{self.jobs:07}")
            self.alive.append((due + LIVES_S, objs))
            made += objs
            self.owed -= len(objs) - 1
            self.pods += len(objs) - 1
        self.send(made, load.as_request, 201)
        self.sweep(due)

    def sweep(self, until_when):
        gone = []
        while self.alive and self.alive[0][0] <= until_when:
            gone += self.alive.popleft()[1]
        self.send(gone, as_delete, 200)

    def send(self, objs, as_request, wanted):
        """A request that got a fault's response is repeated."""
        for _ in range(20):
            if not objs:
                return
            statuses = [s for s, _ in load.exchange(self.client, [as_request(self.client, o) for o in objs])]
            wrong = Counter(s for s in statuses if s not in (wanted, 404, 409) and s < 500)
            check(not wrong, f"answers {dict(wrong)}")
            objs = [o for o, s in zip(objs, statuses) if s >= 500]
        raise Failed("the API server went on answering 5xx")


def as_delete(client, obj):
    meta = obj["metadata"]
    path = client.path(kube.kind_of(obj), meta["namespace"], meta["name"])
    return (f"DELETE {path}?gracePeriodSeconds=0 HTTP/1.1\r\nHost: muster\r\n"
            f"Authorization: Bearer {client.token}\r\n\r\n").encode()


def fault(c, rng, name):
    if name.startswith("stop "):
        pid = c.daemons()["muster-" + name[5:]]
        os.kill(pid, signal.SIGSTOP)
        time.sleep(rng.uniform(0.2, 2))
        os.kill(pid, signal.SIGCONT)
    else:
        c.arm(name, count=rng.randint(1, 200) if name in BINDS else rng.randint(1, 20), ms=rng.randint(1, 1500))


def is_socket(path):
    """False for a file that is closed meanwhile."""
    try:
        return stat.S_ISSOCK(os.stat(path).st_mode)
    except OSError:
        return False


def sizes(pid):
    """(KiB resident, open sockets, other open files, threads)"""
    files = os.listdir(f"/proc/{pid}/fd")
    sockets = sum(is_socket(f"/proc/{pid}/fd/{fd}") for fd in files)
    return (muster.memory_kib(pid), sockets, len(files) - sockets, len(os.listdir(f"/proc/{pid}/task")))


def rise(samples):
    """By how much the line of least squares rises from the first to the last."""
    n = len(samples)
    mean_x, mean_y = (n - 1) / 2, sum(samples) / n
    slope = (sum((x - mean_x) * (y - mean_y) for x, y in enumerate(samples)) /
             sum((x - mean_x) ** 2 for x in range(n)))
    return slope * (n - 1)


def growth(name, samples):
    """What grew in the second half."""
    half = len(samples) // 2
    first, second = samples[:half], samples[half:]
    memory = [s[0] for s in second]
    grew, allowed = rise(memory), max(GROWTH * memory[0], GROWTH_KIB)
    sockets, files, threads = ([(min(s[i] for s in part), max(s[i] for s in part)) for part in (first, second)]
                               for i in (1, 2, 3))
    figure(f"{name}: memory {memory[0] / 1024:.1f} MiB at half time, {memory[-1] / 1024:.1f} at the end, line rises by "
           f"{grew / 1024:+.2f} MiB in {len(second)} s (allowed {allowed / 1024:.1f}); first half and second: "
           + ", ".join(f"{what} {a} to {b} and {c} to {d}" for what, ((a, b), (c, d)) in
                       (("sockets", sockets), ("files", files), ("threads", threads))))
    wrong = []
    if grew > allowed:
        wrong.append(f"{name}: memory grows")
    if sockets[1][0] > sockets[0][1] + FEW or any(of[1][1] > of[0][1] + FEW for of in (files, threads)):
        wrong.append(f"{name}: sockets, files or threads grow")
    return wrong


def churn(c, rng, seconds, rate):
    """{daemon: samples} of each second"""
    pids, samples = c.daemons(), {}
    driver = Churn(c.client, rng, rate)
    met = Counter()
    start = time.monotonic()
    due, sample_at, fault_at = start, start + WARM_S, start + FAULT_EVERY_S / 2
    while time.monotonic() < start + seconds:
        now = time.monotonic()
        if now >= fault_at:
            name = rng.choice(FAULTS)
            met[name] += 1
            fault(c, rng, name)
            fault_at += FAULT_EVERY_S
        driver.tick(now)
        if now >= sample_at:
            for daemon, pid in pids.items():
                samples.setdefault(daemon, []).append(sizes(pid))
            sample_at += 1
        due = max(due + TICK_S, time.monotonic() - TICK_S)  # what was missed is not made up for
        time.sleep(max(0, due - time.monotonic()))
    took = time.monotonic() - start
    c.client.request("DELETE", "/apisim/faults")
    figure(f"{took:.0f} s of churn: {driver.jobs} gangs, {driver.pods} pods, {driver.pods / took:.0f} pods/s of {rate} "
           f"wanted, {c.stats()['binds']} bindings; faults: " + ", ".join(f"{n} {f}" for f, n in sorted(met.items())))
    figure(f"{c.metric('muster_reports_queued'):.0f} reports wait at the end of the churn")
    until(lambda: not c.metric("muster_gangs_binding"), 30, "no binding is on its way")
    c.well()
    driver.sweep(float("inf"))
    check(c.daemons() == pids, f"a daemon was started again: {pids}, {c.daemons()}")
    return samples


def soak(seconds, rate):
    rng = random.Random(load.seed())
    with Cluster(*(objects.node(f"n{i:03}", cpu=str(CORES), memory="256Gi", pods="500") for i in range(NODES)),
                 apisim=["--start-ms", 20, "--grace-ms", 50]) as c:
        c.up("--report-qps", REPORT_QPS)
        samples = churn(c, rng, seconds, rate)
        left = ("muster_objects_pods", "muster_objects_gangs", "muster_pods", "muster_gangs")
        until(lambda: not any(c.metric(m) for m in left), 30, lambda: {m: c.metric(m) for m in left})
        code, out, _ = c.ask("fsck", "--kubeconfig", c.kubeconfig)
        check(code == 0, f"fsck: {out}")
        return [w for name in sorted(samples) for w in growth(name, samples[name])]


def main():
    try:
        wrong = soak(max(60, option("seconds", 600)), option("rate", 500))
    except AssertionError as error:
        wrong = [str(error)]
    print(*wrong, sep="\n", end="\n" if wrong else "")
    print(f"{int(not wrong)} passed, {int(bool(wrong))} failed", flush=True)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
