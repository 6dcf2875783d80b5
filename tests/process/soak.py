#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Both daemons under churn for SECONDS, a fault every half minute: nothing grows.

    tests/process/soak.py [--seconds=600] [--rate=500] [--seed=1] [--kill-every=0]

Gangs of 1 to 50 are created at RATE pods a second if the machine permits, run for a few
seconds and are deleted; their names, their sizes and some of their requests are always new.
A few never fit and are deleted as they wait.  Reports are written faster than pods are bound: up
to 20,000 Events of bindings wait else, 3 MiB that come and go with the faults.  Memory, files,
sockets and threads of both daemons are read every second.  In the second half memory may rise, by
the line of least squares, by GROWTH of its size or by GROWTH_KIB at most, and files and threads to
at most FEW above the maximum of the first half.  Connections to the API server are kept for a
while, so the sockets of a frontend come and go with its faults: at some time of the second half
there are again at most FEW more than that maximum.  At the end all is at rest, no invariant is
violated and nothing is left.

With --kill-every=S one gets SIGKILL each S seconds, and musterctl up starts it again: the core in the first third
of the time, the frontend in the second, both in the last.  Then pods are bound again within AGAIN_S, and
tests/history.py judges every write: no node over its allocatable, no gang torn.  Who outlives the other one's
deaths is judged as above, musterctl up for the whole time.  Who dies is judged at the end of each life, all of them
S seconds long: on average those of the second half of the third may exceed those of the first by no more."""
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
CORE, FRONTEND = "muster-core", "muster-frontend"
VICTIMS = [[CORE], [FRONTEND], [CORE, FRONTEND]]  # of each third of the time
AGAIN_S = 60
LIVES = 5  # of each half, or it is no average
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
        pid = c.ctl.daemon_pid("muster-" + name[5:])
        if pid:
            os.kill(pid, signal.SIGSTOP)
            time.sleep(rng.uniform(0.2, 2))
            os.kill(pid, signal.SIGCONT)
    else:
        many = name in BINDS and name != "bind-429"  # each of those is a second in which no pod is bound
        c.arm(name, count=rng.randint(1, 200 if many else 20), ms=rng.randint(1, 1500))


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


def more_files(name, first, second):
    """What is open at most in each part, as (text, what grew)."""
    sockets, files, threads = ([(min(s[i] for s in part), max(s[i] for s in part)) for part in (first, second)]
                               for i in (1, 2, 3))
    text = "first half and second: " + ", ".join(f"{what} {a} to {b} and {c} to {d}" for what, ((a, b), (c, d)) in
                                                 (("sockets", sockets), ("files", files), ("threads", threads)))
    grew = sockets[1][0] > sockets[0][1] + FEW or any(of[1][1] > of[0][1] + FEW for of in (files, threads))
    return text, [f"{name}: sockets, files or threads grow"] if grew else []


def growth(name, samples):
    """What grew in the second half."""
    half = len(samples) // 2
    first, second = samples[:half], samples[half:]
    memory = [s[0] for s in second]
    grew, allowed = rise(memory), max(GROWTH * memory[0], GROWTH_KIB)
    text, wrong = more_files(name, first, second)
    figure(f"{name}: memory {memory[0] / 1024:.1f} MiB at half time, {memory[-1] / 1024:.1f} at the end, line rises by "
           f"{grew / 1024:+.2f} MiB in {len(second)} s (allowed {allowed / 1024:.1f}); {text}")
    return wrong + ([f"{name}: memory grows"] if grew > allowed else [])


def growth_of_lives(name, lives):
    """What the later lives have more at their end than the earlier ones.  The first is of another length."""
    half = (len(lives) + 1) // 2
    first, second = lives[1:half], lives[half:]
    if len(first) < LIVES:
        return []
    early, late = (sum(s[0] for s in part) / len(part) for part in (first, second))
    allowed = max(GROWTH * early, GROWTH_KIB)
    text, wrong = more_files(name, first, second)
    figure(f"{name}: {len(lives)} lives, memory at their end {early / 1024:.1f} MiB on average of the first half, "
           f"{late / 1024:.1f} of the second, {(late - early) / 1024:+.2f} (allowed {allowed / 1024:.1f}); {text}")
    return wrong + ([f"{name}: memory grows"] if late - early > allowed else [])


class Kills:
    """Whose turn it is, and what was read of each: {name: sizes each second} and {name: sizes at each death}."""

    def __init__(self, c, seconds, every_s):
        self.c, self.seconds, self.every_s = c, seconds, every_s
        self.start = time.monotonic()
        self.next_at = self.start + every_s if every_s else float("inf")
        self.samples, self.lives, self.again = {}, {}, []
        self.pids, self.dead, self.killed_at, self.bound = c.daemons(), [], None, None

    def victims(self):
        if not self.every_s:
            return []
        return VICTIMS[min(2, int((time.monotonic() - self.start) * 3 / self.seconds))]

    def sample(self):
        """Who outlives the others' deaths now: each second."""
        victims = self.victims()
        if self.killed_at:
            return
        for daemon in (CORE, FRONTEND):
            if daemon not in victims:
                check(self.c.ctl.daemon_pid(daemon) == self.pids[daemon], daemon, "was started again")
                name = f"{daemon} while {victims[0]} dies" if victims else daemon
                self.samples.setdefault(name, []).append(sizes(self.pids[daemon]))
        if victims:
            self.samples.setdefault("musterctl up", []).append(sizes(self.c.ctl.pid))

    def kill(self):
        victims, there = self.victims(), self.c.daemons()
        check(there == self.pids, f"a daemon ended by itself: {self.pids}, {there}")
        for daemon in victims:
            name = f"{daemon} that dies" + (" with the other" if len(victims) > 1 else "")
            self.lives.setdefault(name, []).append(sizes(there[daemon]))
        for daemon in victims:
            os.kill(there[daemon], signal.SIGKILL)
        self.dead, self.killed_at, self.bound = victims, time.monotonic(), None
        self.next_at += self.every_s

    def works_again(self):
        """Others run in the place of the dead, and have bound a pod since that was seen."""
        there = self.c.daemons()
        if set(there) != {CORE, FRONTEND} or any(there[daemon] == self.pids[daemon] for daemon in self.dead):
            return False
        binds = self.c.stats()["binds"]
        if self.bound is None:
            self.bound = binds
        return binds > self.bound and self.c.fetch("/readyz")[0] == 200

    def tick(self):
        """Kills when it is time, and sees to it that pods are bound again."""
        now = time.monotonic()
        if self.killed_at and self.works_again():
            self.again.append(now - self.killed_at)
            self.killed_at, self.pids = None, self.c.daemons()
        check(not self.killed_at or now - self.killed_at < AGAIN_S, f"no pod is bound {AGAIN_S} s after", self.dead, "died")
        if now >= self.next_at and not self.killed_at:
            self.kill()

    def growths(self):
        again = sorted(self.again)
        if again:
            figure(f"{len(again)} times killed; ready and a pod bound after {again[len(again) // 2]:.2f} s (median), "
                   f"{again[-1]:.2f} s (worst)")
        return [w for name in sorted(self.samples) for w in growth(name, self.samples[name])] + \
            [w for name in sorted(self.lives) for w in growth_of_lives(name, self.lives[name])]


def churn(c, rng, seconds, rate, kill_every_s):
    """The Kills, with what was read of each."""
    kills = Kills(c, seconds, kill_every_s)
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
        kills.tick()
        if now >= sample_at:
            kills.sample()
            sample_at += 1
        due = max(due + TICK_S, time.monotonic() - TICK_S)  # what was missed is not made up for
        time.sleep(max(0, due - time.monotonic()))
    took = time.monotonic() - start
    c.client.request("DELETE", "/apisim/faults")
    figure(f"{took:.0f} s of churn: {driver.jobs} gangs, {driver.pods} pods, {driver.pods / took:.0f} pods/s of {rate} "
           f"wanted, {c.stats()['binds']} bindings; faults: " + ", ".join(f"{n} {f}" for f, n in sorted(met.items())))
    c.ctl.wait_ready()
    figure(f"{c.metric('muster_reports_queued'):.0f} reports wait at the end of the churn")
    until(lambda: not c.metric("muster_gangs_binding"), 30, "no binding is on its way")
    c.well()
    driver.sweep(float("inf"))
    if not kill_every_s:
        check(c.daemons() == kills.pids, f"a daemon was started again: {kills.pids}, {c.daemons()}")
    return kills


def soak(seconds, rate, kill_every_s):
    rng = random.Random(load.seed())
    with Cluster(*(objects.node(f"n{i:03}", cpu=str(CORES), memory="256Gi", pods="500") for i in range(NODES)),
                 apisim=["--start-ms", 20, "--grace-ms", 50], judged=kill_every_s > 0) as c:
        c.up("--report-qps", REPORT_QPS)
        kills = churn(c, rng, seconds, rate, kill_every_s)
        left = ("muster_objects_pods", "muster_objects_gangs", "muster_pods", "muster_gangs")
        until(lambda: not any(c.metric(m) for m in left), 30, lambda: {m: c.metric(m) for m in left})
        code, out, _ = c.ask("fsck", "--kubeconfig", c.kubeconfig)
        check(code == 0, f"fsck: {out}")
        return kills.growths()


def main():
    try:
        wrong = soak(max(60, option("seconds", 600)), option("rate", 500), option("kill-every", 0))
    except AssertionError as error:
        wrong = [str(error)]
    print(*wrong, sep="\n", end="\n" if wrong else "")
    print(f"{int(not wrong)} passed, {int(bool(wrong))} failed", flush=True)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
