# SPDX-License-Identifier: Apache-2.0
"""What watches say, in which pieces, in which order, how often, and when they say nothing."""
import json
import time

from lib import objects
from lib.harness import check, until
from lib.proxy import Cut, Gate, is_watch, lines

from .catalog import MOMENTS
from .frame import at

MIB = 1 << 20


def through(change):
    return lambda call: call.pass_on(change)


def anew(t, *resources):
    """The watches of these begin again, through the rules that are there now."""
    t.proxy.cut_all(lambda call: call.watch and call.resource in resources)


def bytes_of(pieces):
    for data in pieces:
        for i in range(0, len(data), 1):
            yield data[i:i + 1]


def cut_in_the_middle(pieces):
    """Of the second event."""
    for n, line in enumerate(lines(pieces)):
        if n == 1:
            yield line[:len(line) // 2]
            raise Cut
        yield line


def cut_mid_chunk(call):
    def change(pieces):
        for n, line in enumerate(lines(pieces)):
            if n == 1:
                call.handler.wfile.write(b"%x\r\n%s" % (len(line), line[:40]))
                raise Cut
            yield line
    call.pass_on(change)


@at(*MOMENTS)
def fault_17_cut_streams(t):
    """watches of pods and groups are cut in the middle of an object and of a chunk, and arrive in single bytes"""
    def mine(call):
        return call.watch and call.resource in ("pods", "podgroups")

    with t.moment_of("gang"):
        t.proxy.rule(mine, through(bytes_of))
        rules = t.hits(mine, through(cut_in_the_middle), cut_mid_chunk, through(cut_in_the_middle), cut_mid_chunk)
        anew(t, "pods", "podgroups")
    t.gang("more", 3)
    until(lambda: not t.unbound(), 40, "bound through pieces", every_s=0.2)
    t.settles()
    t.same_daemons()
    check(any(rule.hits for rule in rules), "no stream was cut")


def swollen(name, n):
    """The event of that pod has n bytes."""
    def change(pieces):
        for line in lines(pieces):
            event = json.loads(line)
            if event["object"]["metadata"].get("name") == name:
                room = n - len(line) - 40
                event["object"]["metadata"].setdefault("annotations", {})["ballast"] = "x" * room
                line = json.dumps(event).encode() + b"\n"
            yield line
    return change


@at(*MOMENTS)
def fault_17_huge_events(t):
    """an event of 2 MiB is accepted, one of more than 10 MiB closes the watch and is listed instead"""
    with t.moment_of("gang"):
        t.proxy.rule(is_watch("pods"), through(swollen("big-0", 2 * MIB)))
        huge = t.proxy.rule(is_watch("pods"), through(swollen("big-1", 10 * MIB + 100)))
        anew(t, "pods")
        until(lambda: huge.hits or t.moment == "mid-relist", 20, "watched anew")
    until(lambda: huge.hits, 20, "watched anew")
    time.sleep(0.3)
    t.gang("big", 3)
    until(lambda: t.c.metric("muster_watch_too_large_total") >= 1, 20, "an event was too large")
    t.proxy.remove(huge)
    t.settles()
    t.same_daemons()


@at("idle", apisim=["--bookmark-ms", 1000], limit_s=280,
    why="it takes minutes; the simulator has silence at any moment")
def fault_18_silent_watches(t):
    """the watches of pods and groups become silent while their connections stay open: detected within 150 s"""
    dead = Gate()

    def silent(pieces):
        start = time.monotonic()
        for data in pieces:
            if time.monotonic() - start > 4:
                dead.wait()
            yield data

    with t.moment_of("gang"):
        t.proxy.rule(lambda call: call.watch and call.resource in ("pods", "podgroups"), through(silent), count=2)
        anew(t, "pods", "podgroups")
        time.sleep(6)
    since = time.monotonic()
    until(lambda: not t.unbound(), 170, "bound after the silence", every_s=0.5)
    took = time.monotonic() - since
    dead.open()
    check(took <= 155, f"the silence was found after {took:.0f} s")
    t.settles()
    t.same_daemons()


@at("mid-bind", why="for a Binding; for watches see above", limit_s=150)
def fault_18_silent_requests(t):
    """the server accepts two Bindings and does not answer: their pods are read after 30 s"""
    hole = Gate()
    with t.moment_of("gang"):
        rules = t.hits(t.binding_of("gang-"), *[lambda call: (hole.wait(), call.cut())] * 2)
    until(lambda: all(rule.hits for rule in rules), 10, "they wait")
    since = time.monotonic()
    until(lambda: not t.unbound(), 60, "bound", every_s=0.2)
    check(time.monotonic() - since <= 45, f"found after {time.monotonic() - since:.0f} s")
    hole.open()
    t.settles()


def fault_18_in_the_simulator(t):
    """half-open connections at any moment, on virtual time: 200 seeds of the simulator"""
    t.sim(200)


def twice(pieces):
    for line in lines(pieces):
        yield line
        yield line


def replayed(pieces):
    """Each event, and then the last eight once more."""
    window = []
    for line in lines(pieces):
        window = [*window[-7:], line]
        yield from window


def told_again(t, change):
    with t.moment_of("gang"):
        t.proxy.rule(lambda call: call.watch, through(change))
        t.proxy.cut_all(lambda call: call.watch)
    t.gang("more", 3)
    until(lambda: not t.unbound(), 40, "bound", every_s=0.1)
    t.again("more-0")
    until(lambda: not t.unbound(), 40, "bound again", every_s=0.1)
    t.settles()


@at(*MOMENTS)
def fault_26_events_twice(t):
    """each event of every watch is sent twice: the second one has no effect"""
    told_again(t, twice)
    t.same_daemons()
    check("went back" not in t.c.ctl.log(), "an equal version was taken for an older one")


@at(*MOMENTS)
def fault_26_a_window_is_played_again(t):
    """each event is followed by the eight before it: versions decrease, everything is listed again"""
    told_again(t, replayed)
    t.log_has("went back")


def held_at(gate):
    """What is said from now on is said when the gate opens."""
    def change(pieces):
        for data in pieces:
            gate.wait()
            yield data
    return change


def hold_watch(t, resource):
    gate = Gate()
    rule = t.proxy.rule(is_watch(resource), through(held_at(gate)))
    anew(t, resource)
    until(lambda: rule.hits, 20, f"the watch of {resource} is held")
    time.sleep(1)  # there may be several groups with that resource
    t.proxy.remove(rule)
    return gate


@at("idle", "mid-bind", why="it varies the order of events, not of plans")
def fault_27_nodes_late(t):
    """pods are bound to a node whose event has not arrived; a node is deleted before its pods"""
    with t.moment_of("gang"):
        gate = hold_watch(t, "nodes")
        t.c.create(objects.node("late", cpu="4"))
        t.c.create(*[objects.pod(f"other-{i}", scheduler="nobody") for i in range(3)])
        for i in range(3):
            t.client.bind(f"other-{i}", "late")
        time.sleep(0.5)
        gate.open()
        gate = hold_watch(t, "pods")
        t.client.delete("Node", "late")
        for i in range(3):
            t.client.delete("Pod", f"other-{i}")
        time.sleep(0.5)
        gate.open()
    t.settles()
    t.same_daemons()


@at("idle", "mid-bind", why="it varies the order of events, not of plans")
def fault_27_groups_late(t):
    """pods arrive before their group, and a group's higher quorum after its pods"""
    with t.moment_of("gang"):
        gate = hold_watch(t, "podgroups")
        t.gang("late", 3)
        time.sleep(1)
        check(t.c.bound("late-") == 0, "pods without their group were placed")
        gate.open()
        until(lambda: t.c.bound("late-") == 3, 20, "the late group is bound")
    t.settles()
    t.c.create(objects.pod_group("grown", 3))
    time.sleep(0.3)
    gate = hold_watch(t, "podgroups")
    t.client.patch("PodGroup", "grown", {"spec": {"minMember": 5}})
    t.c.create(*[objects.pod(f"grown-{i}", group="grown") for i in range(5)])
    time.sleep(1)
    gate.open()
    t.settles()
    t.same_daemons()


@at("idle", "mid-bind", why="it varies the order of events, not of plans")
def fault_27_quorum_late(t):
    """a quorum is raised, then the members of before arrive, and the group's watch is silent (volcano#6010)"""
    with t.moment_of("gang"):
        t.c.create(objects.pod_group("grown", 3))
        time.sleep(0.3)
        gate = hold_watch(t, "podgroups")
        t.client.patch("PodGroup", "grown", {"spec": {"minMember": 5}})
        t.c.create(*[objects.pod(f"grown-{i}", group="grown") for i in range(3)])
        until(lambda: t.c.metric("muster_plans_outdated_total") >= 1, 10, "a plan is given back")
        time.sleep(1)
        check(t.c.bound("grown-") == 0, "three of five began, by the quorum of before")
        t.c.create(*[objects.pod(f"grown-{i}", group="grown") for i in range(3, 5)])
        until(lambda: t.c.bound("grown-") == 5, 20, "all five are bound")
        gate.open()
    t.settles()
    t.same_daemons()


def merged(name):
    """What was deleted and made anew under that name is told as one change."""
    def change(pieces):
        gone = False
        for line in lines(pieces):
            event = json.loads(line)
            if event["object"]["metadata"].get("name") == name:
                if event["type"] == "DELETED":
                    gone = True
                    continue
                if event["type"] == "ADDED" and gone:
                    line = json.dumps({**event, "type": "MODIFIED"}).encode() + b"\n"
            yield line
    return change


@at(*MOMENTS)
def fault_28_made_anew_in_one_change(t):
    """a bound and a pending member are deleted and recreated; the watch reports each as one change"""
    group, name = ("first", "first-0") if t.moment == "idle" else ("gang", bound_one(t))
    with t.moment_of("gang"):
        if t.moment in ("mid-bind", "mid-relist"):
            name = bound_one(t)
        if t.moment == "mid-plan":
            name = "gang-0"
        rule = t.proxy.rule(is_watch("pods"), through(merged(name)))
        anew(t, "pods")
        if t.moment != "mid-relist":
            until(lambda: rule.hits, 20, "watched through the rule")
        t.again(name)
        time.sleep(0.5)
    until(lambda: not t.unbound(), 40, "bound", every_s=0.2)
    t.settles()
    t.same_daemons()


def bound_one(t):
    return next((p["metadata"]["name"] for p in t.c.pods("gang-") if p["spec"].get("nodeName")), None)
