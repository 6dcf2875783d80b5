# SPDX-License-Identifier: Apache-2.0
"""The API server goes, comes back, forgets, is slow, and has too much to do."""
import contextlib
import os
import time

from lib import kube, load, muster, objects
from lib.cluster import Follower
from lib.harness import check, until
from lib.outsider import Outsider
from lib.proxy import anything, is_binding, is_watch

from .catalog import MOMENTS
from .frame import AFTER_S, at

LEASE_TIMES = ["--leader-elect", "--leader-elect-lease-duration", "4s", "--leader-elect-renew-deadline", "3",
               "--leader-elect-retry-period", "1"]


def starting(call):
    call.answer(429, b"storage is (re)initializing\n",
                {"Retry-After": "1", "Content-Type": "text/plain", "Connection": "close"})


@at(*MOMENTS)
def fault_13_server_restarts(t):
    """all connections are cut and none opens for 2 s, then each request is answered 429 with Retry-After for 2 s
    more"""
    with t.moment_of("gang"):
        lists = t.c.metric("muster_relists_total")
        t.proxy.away()
        time.sleep(2)
        rule = t.proxy.rule(anything, starting)
        t.proxy.listen()
        time.sleep(1)
        t.proxy.remove(rule)
    t.settles()
    t.same_daemons()
    again = t.c.metric("muster_relists_total") - lists
    # Mid-relist history was compacted as well, which each watch learns once that had no bookmark since.
    most = len({call.path for call in list(t.proxy.seen) if call.watch}) if t.moment == "mid-relist" else 0
    check(again <= most, f"listed anew: {again} times, not {most} at the most")


@at(*MOMENTS)
def fault_14_history_is_gone(t):
    """410 for a watch, as an ERROR event and as a status"""
    with t.moment_of("gang"):
        for turn in range(3):
            t.c.arm("compact")
            t.hits(is_watch("pods"), lambda call: call.status(410, "The resourceVersion for the provided watch is too old."))
            t.client.create(objects.pod(f"moved-{turn}", scheduler="nobody"))
            t.c.arm("compact")
            t.proxy.cut_all(lambda call: call.watch)
            time.sleep(0.5)
    t.settles()
    t.same_daemons()
    check(t.c.metric("muster_relists_total") > 0, "it never listed anew")


def six_hundred(t):
    """More than a page."""
    load.submit(t.client, [objects.pod(f"other-{i:03}", scheduler="nobody") for i in range(600)])


@at(*MOMENTS, prepare=six_hundred)
def fault_14_pages_are_gone(t):
    """410 for the second page of a list of 600 pods, and for the watch before it"""
    with t.moment_of("gang"):
        page = t.proxy.rule(lambda call: "continue" in call.query, lambda call: call.status(
            410, "The provided continue parameter is too old to display a consistent list result."), count=2)
        t.hits(is_watch("pods"), lambda call: call.status(410, "too old resource version: 1 (9)"))
        t.proxy.cut_all(is_watch("pods"))
        if t.moment != "mid-relist":
            until(lambda: page.hits, 20, "a page is asked for")
    t.settles()
    t.same_daemons()


@at(*MOMENTS)
def fault_15_put_back_from_a_backup(t):
    """it is replaced by a server with the nodes, groups and pods of before the gang, and with lower versions"""
    t.gang("lost", 6)
    until(lambda: t.c.bound("lost-") == 6, 20, "what the backup does not have is bound")
    backup = os.path.join(t.c.folder, "backup.json")
    load.save(backup, [o for o in everything(t) if not o["metadata"]["name"].startswith("lost")])
    with contextlib.ExitStack() as stack:
        with t.moment_of("gang"):
            put_back(t, backup, stack)
        if t.moment != "idle":
            t.gang("gang")
        t.settles()
        t.stop()


def everything(t):
    """As kubectl would save it."""
    return [kube.typed(kind, o) for kind in ("Node", "PodGroup", "Pod") for o in t.client.list(kind)]


def put_back(t, backup, stack):
    other = muster.Apisim(os.path.join(t.c.folder, "other"), "--load", backup, "--start-ms", "20")
    t.c.processes.insert(0, other)
    t.client = t.c.client = other.wait_ready()
    t.history = stack.enter_context(Follower(t.client))
    found = t.c.judge.end()  # what was under way stays as it is in the old server: that is no rest
    check(not found, found)
    t.c.judge = Outsider(other.kubeconfig, other.folder)
    t.proxy.client = t.client
    t.proxy.cut_all()


@at(*MOMENTS)
def fault_16_a_stale_server_answers(t):
    """for 4 s a server in the state of before the gang answers lists; watches are cut"""
    stale = {path: t.client.raw("GET", path) for path in {call.path for call in list(t.proxy.seen) if call.list}}
    with t.moment_of("gang"):
        old = t.proxy.rule(lambda call: call.list and call.path in stale, lambda call: call.answer(
            *stale[call.path], {"Content-Type": "application/json"}))
        t.proxy.cut_all(lambda call: call.watch)
        time.sleep(2)
        t.proxy.cut_all(lambda call: call.watch)
        time.sleep(2)
        t.proxy.remove(old)
    # A list from the past may be followed by a 410 and a pause before the next one.
    t.settles(in_step_s=AFTER_S)


@at(*MOMENTS)
def fault_20_too_many_requests(t):
    """for 3 s every request is answered 429 with a text and Retry-After 1, then each Binding once with Retry-After
    2"""
    window = t.c.metric("muster_binds_window")
    with t.moment_of("gang"):
        burst = t.proxy.rule(anything, lambda call: call.answer(
            429, b"Too many requests, please try again later.\n", {"Retry-After": "1", "Content-Type": "text/plain"}))
        t.proxy.cut_all(lambda call: call.watch)
        time.sleep(3)
        t.proxy.remove(burst)
        slow = t.proxy.rule(is_binding, lambda call: call.answer(429, b"", {"Retry-After": "2"}), count=3)
    until(lambda: slow.hits == 3, 40, "three Bindings are slowed")
    until(lambda: t.c.metric("muster_binds_window") < window, 5, f"fewer at once than {window:.0f}")
    t.settles()
    t.same_daemons()
    check(t.c.metric("muster_bind_slowed_total") >= 3, "no Binding was slowed")
    check_waits(t)


def check_waits(t):
    """A pod's Binding comes again no sooner than it was told."""
    last = {}
    for call in t.posts("gang-"):
        before = last.get(call.name)
        if before and before.code == 429:
            waited = call.when - before.answered
            check(waited >= before.retry_after - 0.05, f"{call.name} again after {waited:.2f} of {before.retry_after} s")
        last[call.name] = call


def place_of_the_lease(t):
    t.client.create(kube.namespace("muster-system"))


@at(*MOMENTS, muster=LEASE_TIMES, prepare=place_of_the_lease, limit_s=150)
def fault_37_slow_server(t):
    """each Binding takes 5 s, each list of each resource 30 s, and all are listed at once; with a lease of 4 s"""
    def slow(seconds):
        def act(call):
            time.sleep(seconds)
            call.pass_on()
        return act

    told = set()

    def is_first_watch(call):
        first = call.watch and call.path not in told
        if first:
            told.add(call.path)
        return first

    with t.moment_of("gang"):
        t.proxy.rule(is_binding, slow(5))
        t.proxy.rule(lambda call: call.list and call.query.get("limit") != "1", slow(30))
        t.proxy.rule(is_first_watch, lambda call: call.status(410, "The resourceVersion for the provided watch is too old."))
        t.proxy.cut_all(lambda call: call.watch)
    until(lambda: not t.unbound(), 90, "bound by a slow server")
    t.settles()
    t.same_daemons()
    check(t.client.get("Lease", "muster", "muster-system")["spec"]["leaseTransitions"] == 0, "the lease was lost")
