# SPDX-License-Identifier: Apache-2.0
"""The daemons are killed, stopped, ended and replaced."""
import json
import os
import signal
import sys
import time

from lib import muster, otherbuild, peers
from lib.failpoints import CORE, FRONTEND, Killable
from lib.harness import check, equal, until
from lib.kube import namespace
from lib.proxy import is_binding

from .catalog import MOMENTS
from .frame import at

AGAIN_S = 40
TIMES = ("--leader-elect", "--leader-elect-lease-duration", "4s", "--leader-elect-renew-deadline", "3",
         "--leader-elect-retry-period", "1")
LEASE = ("Lease", "muster", "muster-system")


def killed(t, *names):
    """kill -9; returns when the next ones run."""
    before = t.c.daemons()
    for name in names:
        os.kill(before[name], signal.SIGKILL)
    until(lambda: all(t.c.daemons().get(n, before[n]) != before[n] for n in names), AGAIN_S, "started again")


@at(*MOMENTS)
def fault_01_core_is_killed(t):
    """kill -9"""
    with t.moment_of("gang"):
        killed(t, CORE)
    t.settles()


@at(*MOMENTS)
def fault_02_frontend_is_killed(t):
    """kill -9; its in-flight Bindings take effect afterwards"""
    with t.moment_of("gang"):
        killed(t, FRONTEND)
    t.settles()


@at(*MOMENTS)
def fault_03_both_are_killed(t):
    """kill -9 of both at once"""
    with t.moment_of("gang"):
        killed(t, CORE, FRONTEND)
    t.settles()


@at(limit_s=200)
def fault_03_killed_at_random(t):
    """one or both, at random moments of six runs of 720 pods; six more runs with failing Bindings"""
    t.process("test_kill", "test_kill", "test_kill_with_faults")


@at(limit_s=500)
def fault_04_killed_at_each_fail_point(t):
    """at each probe of both programs, at its first hit and at later ones ([which](failpoints.md))"""
    t.run_counted(1, sys.executable, "tests/process/test_failpoints.py", "--full", "test_killed_at_each_probe")


# ---- stopped ---------------------------------------------------------------------------------


def stopped(t, name, seconds):
    pid = t.c.daemons()[name]
    os.kill(pid, signal.SIGSTOP)
    try:
        time.sleep(seconds)
    finally:
        os.kill(pid, signal.SIGCONT)


@at("mid-plan", "mid-bind", why="at idle the core has no work; lists are the frontend's")
def fault_05_core_is_stopped(t):
    """SIGSTOP for 1, 5 and 20 s in turn"""
    for seconds in (1, 5, 20):
        with t.moment_of(f"gang{seconds}", size=5):
            stopped(t, CORE, seconds)
    t.settles()
    t.same_daemons()


@at("mid-bind", limit_s=200)
def fault_05_core_is_stopped_for_a_minute(t):
    """SIGSTOP for 60 s; a pod created in the meantime waits, and the frontend keeps the lease"""
    with t.moment_of("gang"):
        pid = t.c.daemons()[CORE]
        os.kill(pid, signal.SIGSTOP)
        t.gang("meanwhile", 2)
        time.sleep(60)
        equal(t.c.bound("meanwhile-"), 0, "placed without a core")
        os.kill(pid, signal.SIGCONT)
    t.settles()
    t.same_daemons()


@at()
def fault_06_frontend_is_stopped_for_longer_than_the_lease(t):
    """SIGSTOP under load; the other instance takes over, and the first one exits when it continues"""
    t.process("test_lease", "test_one_that_was_stopped_ends_and_writes_nothing")


def second_instance(t, kubeconfig, bin=None):
    """Beside t.c.ctl, with a socket of its own."""
    other = muster.Muster(kubeconfig, os.path.join(t.c.folder, "second"), *TIMES, bin=bin)
    t.c.processes.append(other)
    return other


def holder(t):
    return t.client.get(*LEASE)["spec"]["holderIdentity"]


def leads(instance):
    status, text = instance.fetch("/metrics")
    return status == 200 and "\nmuster_leading 1" in text


def ask_the(t, instance):
    """It is the one whose ledger is judged in the end."""
    t.c.ctl, t.c.listen, t.c.socket = instance, instance.listen, instance.socket


@at(up=False, limit_s=120)
def fault_06_stopped_while_it_sends(t):
    """SIGSTOP for 10 s when the third Binding of a gang was handed to libcurl, with a lease of 4 s; its later
    requests are counted"""
    with t.world():
        t.client.create(namespace("muster-system"))
        killable = Killable(t.c.folder)
        killable.rule(FRONTEND, "posted", 4 + 3, "stop 10000")
        t.c.up(*TIMES, bin=killable.bin)
        first = t.c.ctl
        until(lambda: t.c.bound("first") == 4, AGAIN_S, "the first gang")
        second = second_instance(t, os.path.join(t.c.folder, "apisim.kubeconfig")).wait_ready()
        t.gang("gang", 8)
        until(lambda: leads(second), AGAIN_S, "the second one leads")
        since = time.monotonic()
        until(lambda: "the lease is lost" in first.log(), AGAIN_S, "the first one ends")
        late = [c for c in list(t.proxy.seen) if is_binding(c) and c.when > since]
        check(len(late) <= 3, "Bindings of the one that was stopped:", late)
        for call in late:
            meta = json.loads(call.body)["metadata"]
            check(meta.get("uid") and meta.get("resourceVersion"), "a Binding without its conditions:", call.body)
        until(lambda: [life.done for life in killable.lives()] == [True], 5, "stopped at the probe")
        ask_the(t, second)
        t.settles()


# ---- ended and replaced -----------------------------------------------------------------------


def stop_in_the_middle(t, seconds):
    """SIGTERM to musterctl up while Bindings are on their way, each of which takes that long; how long it took."""
    t.proxy.rule(is_binding, lambda call: (time.sleep(seconds), call.pass_on()))
    t.gang("gang", 20)
    until(lambda: t.proxy.count(is_binding) > 0, AGAIN_S, "a Binding")
    since = time.monotonic()
    equal(t.c.ctl.stop(), 0, "exit code")
    return time.monotonic() - since


@at(up=False)
def fault_44_sigterm_while_it_binds(t):
    """to musterctl up, while 8 Bindings that take 2 s each are in flight: it waits for them and releases the lease"""
    with t.world():
        t.client.create(namespace("muster-system"))
        t.c.up(*TIMES)
        until(lambda: t.c.bound("first") == 4, AGAIN_S, "the first gang")
        took = stop_in_the_middle(t, 2)
        check(took <= 10, f"it took {took:.1f} s to stop")
        equal(holder(t), "", "holder of the lease")
        sent = [c for c in list(t.proxy.seen) if is_binding(c)]
        check(all(c.code == 201 for c in sent), "not all were waited for:", sent)
        t.proxy.calm()
        t.c.up(*TIMES)
        t.settles()


@at(up=False)
def fault_44_sigterm_core_first(t):
    """in the order of a pod's containers: the core while Bindings are in flight, then the frontend"""
    with t.world():
        t.c.pair()
        until(lambda: t.c.bound("first") == 4, AGAIN_S, "the first gang")
        t.proxy.rule(is_binding, lambda call: (time.sleep(1), call.pass_on()))
        t.gang("gang", 20)
        until(lambda: t.proxy.count(is_binding) > 4, AGAIN_S, "a Binding")
        since = time.monotonic()
        equal(t.c.core.stop(), 0, "exit code of the core")
        equal(t.c.frontend.stop(), 0, "exit code of the frontend")
        check(time.monotonic() - since <= 10, "it took", time.monotonic() - since, "s to stop")
        t.proxy.calm()
        t.c.up()
        t.settles()


@at(up=False)
def fault_11_the_peer_is_of_another_build(t):
    """a frontend of another layout connects to the core, also under musterctl up: exit 78 with both layouts"""
    with t.world():
        other = otherbuild.make(t.c.folder)
        t.c.start_core()
        until(lambda: peers.listens(t.c.socket), AGAIN_S, "the socket")
        met = muster.Process([os.path.join(other, FRONTEND), "--socket", t.c.socket, "--kubeconfig", t.c.kubeconfig,
                              "--listen", "off"], os.path.join(t.c.folder, "other.log"))
        equal(met.child.wait(AGAIN_S), 78, "exit code")
        check(f"{otherbuild.OTHER_HASH:016x}" in met.log(), met.log())
        os.remove(os.path.join(other, CORE))
        os.symlink(muster.program(CORE), os.path.join(other, CORE))
        ctl = muster.Muster(t.c.kubeconfig, os.path.join(t.c.folder, "mixed"), bin=other)
        equal(ctl.child.wait(AGAIN_S), 78, "exit code of musterctl up")
        check("would not help" in ctl.log(), ctl.log())


@at()
def fault_11_the_link_refuses_it(t):
    """a hello with another layout, sent to the core and by the core"""
    t.process("test_bad_input", "test_core_refuses_another_layout", "test_frontend_meets_another_layout",
              "test_musterctl_meets_another_layout")
    t.unit("ipc/test_link", "link/refuses_another_layout_with_both_hashes_on_both_sides")


@at("idle", "mid-plan", "mid-bind", why="the new one lists again in any case", up=False, limit_s=120)
def fault_43_upgrade_with_a_gang_under_way(t):
    """an instance of another layout stands by; SIGTERM to the old one; the new one finishes its gang"""
    t.client.create(namespace("muster-system"))
    t.c.up(*TIMES)
    until(lambda: t.c.bound("first") == 4, AGAIN_S, "the first gang")
    old = t.c.ctl
    new = second_instance(t, os.path.join(t.c.folder, "apisim.kubeconfig"), otherbuild.make(t.c.folder))
    with t.moment_of("gang"):
        until(lambda: new.fetch("/readyz")[0] == 200, AGAIN_S, "the new one stands by")
        old.child.terminate()
        if t.moment == "idle":
            until(lambda: leads(new), AGAIN_S, "the new one leads")
    old.stop()
    until(lambda: leads(new), AGAIN_S, "the new one leads")
    t.c.listen = new.listen
    until(lambda: not t.unbound(), AGAIN_S, lambda: t.unbound())
    check(not t.c.wrongs() and not t.history.wrong, t.c.wrongs(), t.history.wrong)
    equal(new.stop(), 0, "exit code of the new one")


@at(up=False)
def fault_43_replaced_in_its_place(t):
    """musterctl up of one version is stopped in the middle of a gang, that of another started, and back again"""
    with t.world():
        other = otherbuild.make(t.c.folder)
        for turn, bin in enumerate((None, other, None)):
            t.c.up(bin=bin)
            gate = t.proxy.hold(is_binding)
            t.gang(f"gang{turn}", 6)
            until(lambda: gate.waiting > 2, AGAIN_S, "Bindings")
            t.c.ctl.child.terminate()
            time.sleep(0.3)
            gate.open()
            equal(t.c.ctl.child.wait(AGAIN_S), 0, "exit code")
            t.proxy.calm()
        t.c.up()
        t.settles()
