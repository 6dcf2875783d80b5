# SPDX-License-Identifier: Apache-2.0
"""What the machine does to the daemons: memory, CPU, descriptors, clocks, calls, rings."""
import contextlib
import glob
import itertools
import os
import resource
import signal
import socket
import subprocess
import threading
import time

from lib import muster, objects
from lib.failpoints import CORE, FRONTEND
from lib.harness import Failed, check, equal, until
from lib.kube import namespace
from lib.proxy import is_binding
from lib.shim import EAGAIN, EINTR, SHORT, FailingMemory, Shim

from .catalog import MOMENTS
from .deaths import AGAIN_S, TIMES, ask_the, holder, leads, second_instance
from .frame import at

SMALL_RINGS = ("--command-ring-bytes", 4096, "--event-ring-bytes", 131072, "--result-ring-bytes", 4096)


def memory_of(pid, what="VmRSS"):
    """In bytes."""
    with open(f"/proc/{pid}/status") as f:
        return next(int(line.split()[1]) * 1024 for line in f if line.startswith(what + ":"))


# ---- memory ---------------------------------------------------------------------------------


STARTS = [*range(1, 20), *range(20, 2000, 20)]  # allocations of a start
MOST_AT_WORK = 3000  # allocations of a gang that comes, and more


def ends_for_memory(t, memory, name, flags, nth):
    """A daemon whose nth allocation fails ends with one line and exit code 1; False when it makes fewer."""
    memory.fail(name, nth)
    child = subprocess.Popen([muster.program(name), *map(str, flags)], env={**os.environ, **memory.env},
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    with contextlib.suppress(Failed):
        until(lambda: child.poll() is not None, 1, every_s=0.01, exactly=True)
    failed = memory.failed()
    child.terminate()
    said = child.communicate()[1]
    check(not failed or (child.returncode == 1 and said.count("out of memory") == 1), name, nth, child.returncode, said[-1000:])
    return failed


@at(up=False, proxy=False)
def fault_07_an_allocation_fails_at_the_start(t):
    """allocations of a start, one in each: exit code 1 and one line that memory is out"""
    with t.world():
        memory = FailingMemory(t.c.folder)
        socket_path = os.path.join(t.c.folder, "alone.sock")
        flags = {CORE: ("--socket", socket_path, "--max-pods", 100),
                 FRONTEND: ("--socket", socket_path, "--kubeconfig", t.c.kubeconfig, "--listen", "off")}
        for name, given in flags.items():
            n = sum(1 for _ in itertools.takewhile(lambda nth: ends_for_memory(t, memory, name, given, nth), STARTS))
            check(n >= 10, name, "made only", n)
            print(name, n, "allocations of a start failed")
        t.c.up()
        t.settles()


@at(up=False, proxy=False)
def fault_07_an_allocation_fails_at_work(t):
    """allocations of gangs that come and go, one in each life of a daemon: exit code 1 and one line; an observer
    reads whole rows meanwhile, and the next daemon schedules everything"""
    with t.world():
        memory = FailingMemory(t.c.folder)
        t.c.up(env=memory.env)
        until(lambda: t.c.bound("first") == 4, AGAIN_S, "the first gang is bound")
        t.rest()
        for turn, (name, nth) in enumerate((name, nth) for name in (CORE, FRONTEND) for nth in (1, 2, 3, 5, 10, 30, 100)):
            lines, pid = len(t.c.ctl.log().splitlines()), t.c.daemons()[name]
            memory.fail(name, nth)
            for i in range(MOST_AT_WORK):
                if memory.failed():
                    break
                t.gang(f"g{turn}x{i}", 2, cpu="10m", memory="1Mi", labels={f"l{turn}x{i}": "v"})
                try:
                    t.ctl("gangs")
                except Failed:
                    check(memory.failed(), "rows can't be read")
            check(memory.failed(), name, nth, "did not come")
            until(lambda: t.c.daemons().get(name, pid) != pid, AGAIN_S, "the next one is there")
            said = t.c.ctl.log().splitlines()[lines:]
            check(sum("out of memory" in line for line in said) == 1, name, nth, said[-20:])
            check(any(name in line and "ended with exit status 1" in line for line in said), said[-20:])
        t.settles()


@at(proxy=False)
def fault_07_no_more_memory(t):
    """RLIMIT_AS is set to the current size of each daemon, then 1,500 pods and 300 nodes are created: a daemon that
    exits is restarted"""
    with t.world():
        for name in (CORE, FRONTEND):
            pid = t.c.daemons()[name]
            resource.prlimit(pid, resource.RLIMIT_AS, (memory_of(pid, "VmSize"),) * 2)
        t.client.create_many([objects.node(f"more{i}", cpu="8", labels={f"l{i}": "x" * 60}) for i in range(300)])
        t.client.create_many([objects.pod(f"many-{i}", cpu=f"{500 + i % 400}m", labels={f"k{i}": "v"}) for i in range(1500)])
        t.settles()
        print("ended:", {name for name, pid in t.daemons.items() if t.c.daemons().get(name) != pid})


@at("idle", why="the segments are made at the start")
def fault_09_no_huge_pages(t):
    """none in the pool, as on most machines: the ledger uses small pages, and the log says so"""
    with open("/proc/meminfo") as f:
        free = next(int(line.split()[1]) for line in f if line.startswith("HugePages_Free:"))
    said = [line for line in t.c.ctl.log().splitlines() if "on_huge_pages=" in line]
    check(said, "nothing is said of huge pages")
    check(free > 0 or said[0].endswith("on_huge_pages=0"), said)
    with t.moment_of("gang"):
        pass
    t.settles()


# ---- CPU -------------------------------------------------------------------------------------


class StopAndGo(threading.Thread):
    """Processes that run for a part of the time: SIGSTOP and SIGCONT in turn."""

    def __init__(self, pids, percent, turn_s=0.1):
        super().__init__(daemon=True)
        self.pids, self.runs_s, self.rests_s = pids, turn_s * percent / 100, turn_s * (1 - percent / 100)
        self.ends = False
        self.start()

    def _signal(self, signal):
        for pid in self.pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal)

    def run(self):
        while not self.ends:
            self._signal(signal.SIGSTOP)
            time.sleep(self.rests_s)
            self._signal(signal.SIGCONT)
            time.sleep(self.runs_s)

    def stop(self):
        self.ends = True
        self.join()
        self._signal(signal.SIGCONT)


@at(up=False, proxy=False, limit_s=200)
def fault_12_rings_are_always_full(t):
    """the smallest rings, 400 pods: all are placed"""
    t.process("test_limits", "test_tiny_rings")


@at(up=False, proxy=False, nodes=[objects.node(f"n{i:02}", cpu="15") for i in range(20)], limit_s=120)
def fault_12_a_reader_is_a_hundred_times_slower(t):
    """the smallest rings; the core, then the frontend, runs for 10 ms of each second while 300 pods are created and
    deleted"""
    with t.world():
        t.c.up(*SMALL_RINGS)
        until(lambda: t.c.bound("first") == 4, AGAIN_S, "the first gang")
        t.daemons = t.c.daemons()
        before = memory_of(t.daemons[FRONTEND])
        for name in (CORE, FRONTEND):
            slow = StopAndGo([t.daemons[name]], 1, turn_s=1)
            pods = [objects.pod(f"{name}-{i}", cpu="100m", memory="1Mi") for i in range(300)]
            try:
                t.client.create_many([objects.pod(f"touch-{name}-{i:0150}", scheduler="nobody", cpu="1m", memory="1Mi",
                                                  nodeName=f"n{i % 20:02}") for i in range(700)])
                t.client.create_many(pods)
                time.sleep(2)
            finally:
                slow.stop()
            t.settles()
        check(t.c.metric("muster_ring_full_total") > 0, "no ring was full")
        grown = memory_of(t.daemons[FRONTEND]) - before
        check(grown < 32 << 20, f"the frontend grew by {grown >> 20} MiB")
        t.same_daemons()


@contextlib.contextmanager
def starved(pids, percent):
    """So much of one CPU for all of them and for one that spins.  By a cgroup; where none can be made, by turns."""
    spinner = subprocess.Popen(["sh", "-c", "while :; do :; done"], start_new_session=True)
    group = f"/sys/fs/cgroup/cpu/muster-test-{os.getpid()}"
    slow = None
    try:
        os.mkdir(group)
        with open(f"{group}/cpu.cfs_quota_us", "w") as f:
            f.write(str(percent * 1000))
        for pid in (*pids, spinner.pid):
            with open(f"{group}/cgroup.procs", "w") as f:
                f.write(str(pid))
    except OSError:
        slow = StopAndGo([*pids, spinner.pid], percent)
    try:
        yield
    finally:
        if slow:
            slow.stop()
        spinner.kill()
        spinner.wait()
        with contextlib.suppress(OSError):
            with open(f"{group}/cgroup.procs") as f:
                left = f.read().split()
            for pid in left:
                with open("/sys/fs/cgroup/cpu/cgroup.procs", "w") as out:
                    out.write(pid)
            os.rmdir(group)


def elected(t):
    t.client.create(namespace("muster-system"))
    t.c.up(*TIMES)
    until(lambda: t.c.bound("first") == 4, AGAIN_S, "the first gang")
    t.rest()
    t.daemons = t.c.daemons()


@at(up=False, limit_s=150)
def fault_41_a_quarter_of_a_cpu(t):
    """both daemons and a spinning process share a quarter of a CPU for 10 s, with a lease of 4 s: it is kept"""
    with t.world():
        elected(t)
        with starved(t.daemons.values(), 25):
            for i in range(4):
                t.gang(f"gang{i}", 6)
                time.sleep(2.5)
        t.settles()
        t.same_daemons()


@at(up=False, limit_s=150)
def fault_41_a_twentieth_of_a_cpu(t):
    """... a twentieth of a CPU for 12 s: the lease may be lost, cleanly; all pods are placed at the end"""
    with t.world():
        elected(t)
        with starved(t.daemons.values(), 5):
            for i in range(4):
                t.gang(f"gang{i}", 6)
                time.sleep(3)
        t.settles(within_s=60)


# ---- clocks ------------------------------------------------------------------------------------


@at("idle", "mid-bind", why="plans and lists do not depend on time", up=False, limit_s=150)
def fault_36_the_wall_clock_jumps(t):
    """the wall clock jumps by a day and by an hour, back and forth, with a lease of 4 s: the lease is kept, no
    restart"""
    shim = Shim(t.c.folder)
    t.client.create(namespace("muster-system"))
    t.c.up(*TIMES, env=shim.env)
    until(lambda: t.c.bound("first") == 4, AGAIN_S, "the first gang")
    t.rest()
    t.daemons, who = t.c.daemons(), holder(t)
    for turn, wall_s in enumerate((-86400, 86400, -3600, 3600)):
        with t.moment_of(f"gang{turn}", size=4):
            shim.set(wall_s=wall_s)
            time.sleep(2)
    t.settles()
    t.same_daemons()
    equal(holder(t), who, "holder of the lease")


@at(up=False)
def fault_36_monotonic_clocks_that_differ(t):
    """each daemon in its own time namespace: the core's clocks are 11 days ahead, the frontend's one day"""
    def ahead(seconds):
        return ["unshare", "--time", "--monotonic", str(seconds), "--boottime", str(seconds)]

    with t.world():
        def start(name, seconds, *flags):
            p = muster.Process([*ahead(seconds), muster.program(name), "--socket", t.c.socket, *flags],
                               os.path.join(t.c.folder, name + ".log"))
            t.c.processes.append(p)
            return p

        core = start(CORE, 1000000)
        t.c.listen = f"127.0.0.1:{muster.free_port()}"
        frontend = start(FRONTEND, 86400, "--kubeconfig", t.c.kubeconfig, "--listen", t.c.listen)
        t.c.ready(frontend)
        t.gang("gang")
        t.settles()
        check(core.running() and frontend.running(), "a daemon ended")


@at(up=False, limit_s=150)
def fault_34_clocks_of_two_rates(t):
    """two instances, a lease of 4 s; the clocks of one run twice as fast; the leader is killed, and becomes leader
    again"""
    with t.world():
        t.client.create(namespace("muster-system"))
        shim = Shim(t.c.folder)
        shim.set(rate=200)
        t.c.up(*TIMES, env=shim.env)
        first = t.c.ctl
        until(lambda: leads(first), AGAIN_S, "the first one leads")
        second = second_instance(t, os.path.join(t.c.folder, "apisim.kubeconfig"))
        for turn in range(3):
            until(lambda: all(i.fetch("/readyz")[0] == 200 for i in (first, second)), AGAIN_S, "both are there")
            at_work = [i for i in (first, second) if leads(i)]
            equal(len(at_work), 1, "leaders")
            # Of the first one, whose requests come through the proxy.
            gate = t.proxy.hold(is_binding, count=3)
            t.gang(f"gang{turn}", 4)
            time.sleep(0.3)
            os.kill(at_work[0].daemon_pid(FRONTEND), signal.SIGKILL)
            until(lambda: leads(first) or leads(second), AGAIN_S, "one leads")
            check(not (leads(first) and leads(second)), "both lead")
            gate.open()
            until(lambda: t.c.bound(f"gang{turn}") == 4, AGAIN_S, "the gang is bound")
        ask_the(t, first if leads(first) else second)
        t.settles()


@at(limit_s=200)
def fault_34_the_leader_is_cut_off_or_stopped(t):
    """the API server stops answering the leader; the leader is killed; both request the lease at once"""
    t.process("test_lease", "test_one_that_is_cut_off_stops_by_its_own_clock", "test_two_that_want_it_at_the_same_time",
              "test_one_acts_and_the_next_takes_over_when_it_is_killed")


@at(limit_s=100)
def fault_34_two_instances_on_virtual_time(t):
    """seeds of the simulator with two instances, each with its own clock and crashes"""
    t.sim(200, first=340000)


# ---- calls --------------------------------------------------------------------------------------


@at(*MOMENTS, up=False)
def fault_42_calls_are_interrupted_and_short(t):
    """one in three calls of both daemons ends with EINTR, EAGAIN or a short count"""
    shim = Shim(t.c.folder)
    t.c.up(env=shim.env)
    until(lambda: t.c.bound("first") == 4, AGAIN_S, "the first gang")
    t.rest()
    t.daemons = t.c.daemons()
    shim.set(every=3, spoils=EINTR | EAGAIN | SHORT)
    with t.moment_of("gang"):
        time.sleep(0.5)
    t.gang("after", 6)
    t.settles()
    check(shim.spoiled() > 200, f"only {shim.spoiled()} calls were spoiled")
    t.same_daemons()


@contextlib.contextmanager
def no_descriptors(pid):
    """None but those that it has."""
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    most = max(int(os.path.basename(path)) for path in glob.glob(f"/proc/{pid}/fd/*")) + 1
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (most, before[1]))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)


@at("mid-bind", "mid-relist", why="a plan opens nothing")
def fault_42_frontend_has_no_descriptors(t):
    """the frontend cannot open any for 3 s: its watches were cut, and idle clients of /metrics hold the rest"""
    with t.moment_of("gang"):
        host, port = t.c.listen.rsplit(":", 1)
        with no_descriptors(t.c.daemons()[FRONTEND]), contextlib.ExitStack() as peers:
            t.proxy.cut_all(lambda call: call.watch)
            for _ in range(60):
                peers.enter_context(socket.create_connection((host, int(port))))
            watches = t.proxy.count(lambda call: call.watch)
            time.sleep(3)
            print(t.proxy.count(lambda call: call.watch) - watches, "watches came meanwhile")
    t.gang("after", 4)
    t.settles()
    t.same_daemons()


@at("idle", why="only new peers open any")
def fault_42_core_has_no_descriptors(t):
    """the core cannot open any for 2 s, while an observer connects: it does not spin, and continues"""
    with t.moment_of("gang"):
        pid = t.c.daemons()[CORE]
        with no_descriptors(pid):
            spent, since, lines = muster.cpu_s(pid), time.monotonic(), len(t.c.ctl.log().splitlines())
            knocking = [subprocess.Popen([muster.program("musterctl"), "status", "--socket", t.c.socket],
                                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(3)]
            time.sleep(2)
            share = (muster.cpu_s(pid) - spent) / (time.monotonic() - since)
            lines = len(t.c.ctl.log().splitlines()) - lines
        for k in knocking:
            k.wait(AGAIN_S)
        check(lines < 50, f"{lines} lines in the log within 2 s")
        check(share < 0.3, f"it used {share:.0%} of a CPU")
        equal(t.c.ask("status")[0], 0, "musterctl status afterwards")
    t.settles()
    t.same_daemons()
