# SPDX-License-Identifier: Apache-2.0
"""What becomes of a Binding, and what the frontend is told of it."""
import time

from lib import objects
from lib.check import condition, is_bound
from lib.harness import check, until

from .frame import at

ON_ITS_WAY = ("mid-plan", "mid-bind", "mid-relist")
NO_BINDING = "at idle there is no Binding"
MANY = {"size": 24, "cpu": "500m"}

TEXTS = (
    'Operation cannot be fulfilled on pods/binding "{0}": etcdserver: request timed out',
    'Operation cannot be fulfilled on pods/binding "{0}": etcdserver: leader changed',
    'Operation cannot be fulfilled on pods "{0}": the object has been modified; please apply your changes to the latest version '
    'and try again',
    'Operation cannot be fulfilled on pods/binding "{0}": pod {0} is already assigned to node "n1"',
    'Operation cannot be fulfilled on pods/binding "{0}": Precondition failed: ResourceVersion in precondition: 7, '
    'ResourceVersion in object meta: 9',
    'Operation cannot be fulfilled on pods/binding "{0}": Precondition failed: UID in precondition: a, UID in object meta: b',
    '',
)
NOT_APPLIED = (
    'Operation cannot be fulfilled on pods/binding "{0}": pod {0} is being deleted, cannot be assigned to a host',
    'Operation cannot be fulfilled on pods/binding "{0}": pod {0} has non-empty .spec.schedulingGates',
)
CODES = (500, 502, 503, 504)


def before(code, text):
    """No effect."""
    return lambda call: call.status(code, text.format(call.name))


def after(code, text):
    """The same words, and it took effect."""
    def act(call):
        call.forward()
        call.status(code, text.format(call.name))
    return act


def as_html(call):
    call.forward()
    call.answer(502, b"<html><h1>502 Bad Gateway</h1></html>", {"Content-Type": "text/html"})


def each_is_hit(t, acts):
    """One act for each Binding of a gang; all of it is bound all the same."""
    with t.moment_of("gang", **MANY):
        rules = t.hits(t.binding_of("gang-"), *acts)
    until(lambda: all(rule.hits for rule in rules), 20,
          lambda: f"faults that met no Binding: {[i for i, rule in enumerate(rules) if not rule.hits]}")
    t.settles()
    t.same_daemons()


@at(*ON_ITS_WAY, why=NO_BINDING)
def fault_19_conflicts(t):
    """nine texts of 409, each without and, where possible, with effect"""
    each_is_hit(t, [before(409, x) for x in TEXTS + NOT_APPLIED] + [after(409, x) for x in TEXTS])


@at(*ON_ITS_WAY, why=NO_BINDING)
def fault_21_server_errors(t):
    """500, 502, 503 and 504, before and after the effect, as a Status and as a proxy's HTML"""
    text = "etcdserver: request timed out, {0}"
    each_is_hit(t, [f(code, text) for f in (before, after) for code in CODES] + [as_html])
    check(t.c.metric("muster_binds_ambiguous_total") >= 8, "few were ambiguous")


@at(*ON_ITS_WAY, why=NO_BINDING)
def fault_22_lost_replies(t):
    """the connection is reset after the effect, before it, and in the middle of the answer"""
    def lost(call):
        call.forward()
        call.cut()

    def half(call):
        status, _, body = call.forward()
        call.head(status, [("Content-Length", str(len(body)))])
        call.handler.wfile.write(body[:len(body) // 2])
        call.cut()

    each_is_hit(t, [lost, half, lambda call: call.cut()] * 4)
    # libcurl itself sends once more on a kept connection that closes: a 409 tells then.
    check(t.c.metric("muster_binds_ambiguous_total") >= 4, "few were ambiguous")


@at(*ON_ITS_WAY, why=NO_BINDING, nodes=[objects.node(f"n{i}", cpu="3") for i in range(4)], limit_s=150)
def fault_23_late_effects(t):
    """answered 504, and in effect 1 to 6 s later; in the meantime a gang of higher priority requests the same
    capacity"""
    def late(seconds):
        def act(call):
            call.forward_later(seconds)
            call.status(504, "request did not complete within requested timeout")
        return act

    t.client.create({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000})
    with t.moment_of("gang"):
        t.hits(t.binding_of("gang-"), late(1), late(2), late(4), late(6))
    t.never.add("thief")
    t.gang("thief", 1, cpu="1", priorityClassName="high")
    time.sleep(7)  # until the last of them has come
    t.settles()
    check(t.c.metric("muster_binds_ambiguous_total") >= 4, "few were ambiguous")


@at("mid-bind", why="other moments differ only in the number of bound pods", limit_s=150, nodes=[objects.node(f"n{i}", cpu="3") for i in range(4)])
def fault_23_after_the_timeout(t):
    """no answer until after the frontend's timeout (30 s), and the effect 3 s later; other pods request the same
    capacity"""
    def silent(call):
        time.sleep(33)
        call.pass_on()

    with t.moment_of("gang"):
        rules = t.hits(t.binding_of("gang-"), silent, silent)
    t.never.add("thief")
    t.gang("thief", 1, cpu="1")
    until(lambda: all(rule.hits for rule in rules), 10, "two Bindings wait")
    time.sleep(34)
    t.settles(within_s=60)
    check(t.c.metric("muster_binds_ambiguous_total") >= 2, "none was ambiguous")


def fault_23_room_of_a_lone_pod(t):
    """a pod whose Binding takes effect late, a pod of higher priority, and kill -9 of either daemon"""
    t.process("test_kill", "test_a_late_binding_keeps_its_room")


@at(*ON_ITS_WAY, why=NO_BINDING, limit_s=180)
def fault_31_admission_refuses_one_member(t):
    """a webhook denies the Binding of one member for 12 s"""
    def deny(call):
        call.status(403, 'admission webhook "pods.example.com" denied the request: not on my watch')

    with t.moment_of("gang"):
        # One that is not bound yet: which of them come first is chance.
        refused = next(p["metadata"]["name"] for p in t.c.pods("gang-") if not is_bound(p))
        rule = t.proxy.rule(t.binding_of(refused), deny)
    until(lambda: t.c.bound("gang-") == 7, 40, "the other seven are bound")
    until(lambda: rule.hits, 40, "it was refused")
    until(lambda: "7 of 8 members are bound" in str(reason_of(t, refused)), 12, lambda: f"the reason: {reason_of(t, refused)}")
    until(lambda: any("denied the request" in e.get("note", "") for e in t.client.list("Event")), 12, "an event with the words")
    time.sleep(12)
    tries = [round(call.when - t.started, 2) for call in t.posts(refused)]
    check(2 <= len(tries) <= 5, "tries at", tries)
    t.proxy.remove(rule)
    t.settles(within_s=75)


def reason_of(t, name):
    told = condition(t.client.get("Pod", name)) or {}
    return told.get("status") == "False" and told.get("message")
