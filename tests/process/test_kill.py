# SPDX-License-Identifier: Apache-2.0
"""kill -9 of either daemon, or both, in the middle of a run: musterctl up restarts
it, and the run ends with every gang bound completely, no pod bound twice, no node over
its allocatable at any version, no pod that a kubelet had to refuse.

--cycles=N runs no test, but that many cycles one after the other; see campaign()."""
import contextlib
import os
import random
import signal
import sys
import time
from collections import Counter

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import kube, load, objects  # noqa: E402
from lib.check import is_bound, key, silent_pods  # noqa: E402
from lib.cluster import Cluster, Follower  # noqa: E402
from lib.harness import check, equal, figure, full, main, until  # noqa: E402

NODES = 50
CORES = 16
PODS = 720  # of a core each, in 800: a node counted wrongly shows
CYCLES = 60 if full else 3
AGAIN_S = 20
CORE, FRONTEND = "muster-core", "muster-frontend"
TARGETS = [[CORE], [FRONTEND], [CORE, FRONTEND]]
LATENCY_MS = 1  # of each response: a run takes long enough to be hit in its middle
FAULTS = ["bind-500-before", "bind-500-after", "bind-504-after", "bind-409-before", "bind-409-after", "bind-429",
          "bind-cut-before", "bind-cut-after", "bind-late", "cut-watches", "compact"]


def gangs(rng, cycle, pods=PODS):
    """Gangs of one-core pods that all fit, and one that never does."""
    made = []
    for i, size in enumerate(load.split(rng, pods, 1, pods // 7)):
        name = f"c{cycle}-g{i:03}"
        made += [objects.pod_group(name, size)] + [objects.pod(f"{name}-{m}", group=name) for m in range(size)]
    whale = f"whale{cycle}"
    made += [objects.pod_group(whale, 3)] + [objects.pod(f"{whale}-{m}", cpu="12", group=whale) for m in range(3)]
    return made


def kill(c, names):
    """The pids that were killed: a daemon that is just starting is not there."""
    there = c.daemons()
    pids = {there[n] for n in names if n in there}
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    return pids


def arm(c, rng):
    armed = []
    for fault in rng.sample(FAULTS, 3):
        count = rng.randint(1, 20)
        armed.append(f"{fault} x{count}")
        c.arm(fault, count=count, ms=rng.randint(1, 1500))
    return ", ".join(armed)


def cycle(c, rng, n, faults):
    """One run with one or two kills in it; seconds from the last kill to the last
    binding."""
    made = gangs(rng, n)
    before = c.stats()["binds"]
    sender = load.Sender(c.client, made)
    said = []
    for moment in sorted(rng.randrange(PODS) for _ in range(rng.randint(1, 2))):
        until(lambda: c.stats()["binds"] - before >= moment, AGAIN_S, f"{moment} bound", every_s=0)
        if faults:
            said.append(arm(c, rng))
        who = rng.choice(TARGETS)
        kill(c, who)
        said.append("+".join(w[7:] for w in who) + f" at {c.stats()['binds'] - before} binds")
    killed = time.monotonic()
    print(f"cycle {n}: {'; '.join(said)}", flush=True)
    sender.join()
    if faults:
        c.client.request("DELETE", "/apisim/faults")  # else one pod may meet them all
    try:
        until(lambda: c.stats()["binds"] - before >= PODS, AGAIN_S, f"{PODS} bound", every_s=0.1)
    except AssertionError:
        left = [key(p) for p in c.pods(f"c{n}-") if not is_bound(p)]
        check(False, f"cycle {n}: {len(left)} pods without a node after {AGAIN_S} s: {left[:5]}")
    took = time.monotonic() - killed
    equal(c.bound(f"c{n}-"), PODS, "bound")
    equal(c.bound("whale"), 0, "bound of a gang that doesn't fit")
    wrongs = c.wrongs()
    check(not wrongs, f"cycle {n}", wrongs[:5])
    c.client.in_parallel(c.delete_object, made, 4)
    return took


def cycles(faults):
    seed = load.seed()
    rng = random.Random(seed)
    with Cluster(*(objects.node(f"n{i:02}", cpu=str(CORES)) for i in range(NODES)),
                 apisim=["--latency-ms", LATENCY_MS], judged=True) as c:
        with Follower(c.client) as history:
            c.up()
            took = sorted(cycle(c, rng, n, faults) for n in range(CYCLES))
            equal(history.wrong, [], f"seed {seed}")
        check(c.ctl.running(), "musterctl up ended")
        figure(f"{CYCLES} cycles of kill -9{' with faults' if faults else ''}: last binding {took[len(took) // 2]:.2f} s "
               f"(median), {took[-1]:.2f} s (worst) after the kill; {history.events} pod events followed")


def test_kill():
    cycles(faults=False)


def test_kill_with_faults():
    cycles(faults=True)


def test_a_late_binding_keeps_its_room():
    """A Binding that got a 504 may still take effect.  Until that is known no other pod
    gets the capacity, not even one of higher priority, and not after a restart."""
    for who in ([], [CORE], [FRONTEND]):
        with Cluster(objects.node("n0", cpu="1"), kube.priority_class("high", 1000), judged=True) as c:
            with Follower(c.client) as history:
                c.up()
                c.arm("bind-late", count=1, ms=1500)
                c.create(objects.pod("first"))
                until(lambda: c.stats()["requests"].get("POST pods/binding 504"), 5, "the 504")
                kill(c, who)
                c.create(objects.pod("second", priorityClassName="high"))
                until(lambda: c.bound("first") == 1, AGAIN_S, "the first pod is bound")
                time.sleep(1.7)
                equal(c.bound("second"), 0, f"the second pod, {who} killed")
                equal(history.wrong, [], "history")
                wrongs = c.wrongs()
                check(not wrongs, wrongs)


def test_core_stops_for_a_while():
    """SIGSTOP is no death: nothing is lost or done twice."""
    rng = random.Random(load.seed())
    with Cluster(*(objects.node(f"n{i:02}", cpu=str(CORES)) for i in range(NODES)), judged=True) as c, \
            Follower(c.client) as history:
        c.up()
        for n, name in enumerate((CORE, FRONTEND)):
            made = gangs(rng, n)
            before = c.stats()["binds"]
            sender = load.Sender(c.client, made)
            time.sleep(rng.uniform(0, 0.3))
            pid = c.daemons()[name]
            os.kill(pid, signal.SIGSTOP)
            time.sleep(1)
            os.kill(pid, signal.SIGCONT)
            sender.join()
            until(lambda: c.stats()["binds"] - before >= PODS, AGAIN_S, f"{PODS} bound after {name} was stopped")
            c.well()
            c.client.in_parallel(c.delete_object, made, 4)
        equal(history.wrong, [], "history")


def test_up_itself_is_killed():
    """The daemons don't outlive it; a new one takes over."""
    with Cluster(*(objects.node(f"n{i}", cpu="4") for i in range(2))) as c:
        c.up()
        pids = list(c.daemons().values())
        equal(len(pids), 2, "daemons")
        c.ctl.kill()
        until(lambda: not any(os.path.exists(f"/proc/{p}") for p in pids), 5, "both daemons are gone")
        c.gang("g", 8)
        c.up()
        until(lambda: c.bound("g-") == 8, AGAIN_S, "the gang is bound by the next one")


def test_up_stops_cleanly():
    with Cluster(objects.node("n0")) as c:
        c.up()
        pids = list(c.daemons().values())
        start = time.monotonic()
        equal(c.ctl.stop(), 0, "exit code after SIGTERM")
        figure(f"musterctl up stops in {time.monotonic() - start:.2f} s")
        check(not any(os.path.exists(f"/proc/{p}") for p in pids), "a daemon is left")


# ---- cycles without end ----

FEW_NODES, FEW_PODS = 10, 144  # as full as above
LONG_LOOK_EVERY = 10
WRONGS = 5  # failed cycles, then it gives up


def start(c, name):
    """At once: musterctl up would make a daemon wait that dies again and again."""
    if name == CORE:
        c.core = c.start_core()
    else:
        c.frontend = c.start_frontend(listen=c.listen)


def kill_by_hand(c, rng, names):
    """Kill and start again, a moment apart, in either order."""
    for name in names:
        process = c.core if name == CORE else c.frontend
        process.kill()
        c.processes.remove(process)
    for name in rng.sample(names, len(names)):
        time.sleep(rng.choice([0, 0, rng.uniform(0, 0.1)]))
        start(c, name)


def short_cycle(c, rng, n, faults, kills):
    """A kill at a random moment of a run, in one of four another that falls into the
    recovery; then all must be bound.  Seconds from the last kill to the last binding."""
    made = gangs(rng, n, FEW_PODS)
    before = c.stats()["binds"]
    done = lambda: c.stats()["binds"] - before  # noqa: E731
    sender = load.Sender(c.client, made)
    moment = rng.randrange(FEW_PODS)
    until(lambda: done() >= moment, AGAIN_S, f"{moment} bound", every_s=0)
    if faults:
        arm(c, rng)
    for _ in range(rng.choice([1, 1, 1, 2])):
        who = rng.choice(TARGETS)
        kills["+".join(w[7:] for w in who)] += 1
        kills["amid bindings"] += done() < FEW_PODS
        kill_by_hand(c, rng, who)
        killed = time.monotonic()
        time.sleep(rng.uniform(0, 0.15))
    sender.join()
    if faults:
        c.client.request("DELETE", "/apisim/faults")
    until(lambda: done() >= FEW_PODS, AGAIN_S, lambda: f"{FEW_PODS} bound: " + str(
        [key(p) for p in c.pods(f"c{n}-") if not is_bound(p)][:5]), every_s=0.02)
    took = time.monotonic() - killed
    equal((c.bound(f"c{n}-"), c.bound("whale")), (FEW_PODS, 0), "bound, and of a gang that doesn't fit")
    c.well()
    if n % LONG_LOOK_EVERY == 0:  # conditions come a second later
        until(lambda: not silent_pods(c.pods()), AGAIN_S, "who waits knows why")
        code, out, _ = c.ask("fsck", "--kubeconfig", c.kubeconfig)
        equal(code, 0, f"fsck: {out}")
    c.client.in_parallel(c.delete_object, made, 4)
    return took


def campaign(cycles):
    """That many runs in one cluster, each with a kill; every third meets faults of the
    API as well.  After each: nothing wrong by an independent reading, all the way."""
    seed = load.seed()
    rng = random.Random(seed)
    kills, took, failed = Counter(), [], 0
    with Cluster(*(objects.node(f"n{i:02}", cpu=str(CORES)) for i in range(FEW_NODES)),
                 apisim=["--latency-ms", LATENCY_MS], judged=True) as c, Follower(c.client) as history:
        c.pair()
        for n in range(1, cycles + 1):
            seen = len(history.wrong)
            try:
                took.append(short_cycle(c, rng, n, n % 3 == 0, kills))
                equal(history.wrong[seen:], [], "history")
            except AssertionError as error:
                failed += 1
                print(f"FAIL cycle {n} of seed {seed}: {error}", flush=True)
                if failed == WRONGS:
                    break
                with contextlib.suppress(kube.ApiError):
                    c.client.request("DELETE", "/apisim/faults")
                    c.client.delete_all("Pod")
                    c.client.delete_all("PodGroup")
        took.sort()
        by = ", ".join(f"{count} {who}" for who, count in sorted(kills.items()))
        figure(f"{len(took)} cycles of kill -9 ({by}): last binding {took[len(took) // 2]:.2f} s (median), "
               f"{took[len(took) * 99 // 100]:.2f} s (p99), {took[-1]:.2f} s (worst) after the kill; "
               f"{history.events} pod events followed; {failed} violations")
    print(f"{len(took)} passed, {failed} failed", flush=True)
    return failed == 0


if __name__ == "__main__":
    wanted = [int(a[9:]) for a in sys.argv if a.startswith("--cycles=")]
    if wanted:
        sys.exit(not campaign(wanted[0]))
    main(globals())
