# SPDX-License-Identifier: Apache-2.0
"""The journal of intents on a real kube-apiserver: a Binding that is applied after its sender is dead or deposed. Judged
from watch histories alone: tests/history.py follows each run.

    tests/real/test_journal.py [--runs=N] [TEST...]      N runs of each, 1 by default

MUSTER_BUILD names other programs, as of a version before the journal, or with one of the mutations of it; --journal=off
is the same without one."""
import collections
import os
import re
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import harness, kube, muster  # noqa: E402
from lib.check import condition, is_bound  # noqa: E402
from lib.harness import check, equal, figure, main, until  # noqa: E402
from lib.instances import ELECTED, Pair  # noqa: E402
from lib.objects import node, pod, pod_group  # noqa: E402
from lib.outsider import Outsider  # noqa: E402
from lib.proxy import Proxy, is_binding  # noqa: E402
from real.cluster import NAMESPACE, Cluster  # noqa: E402
from real.webhook import Webhook  # noqa: E402
from real.world import SOON_S  # noqa: E402

FULL = r"^0/1 nodes are available: 1 Insufficient cpu"
WEBHOOK_S = 9.0  # at least, until the webhook answers: longer than the lease
AT_REST_S = 2.0
# When the late Binding is applied: what the next instance has done by then. The first is the one that overfills without
# a journal; the others are for --runs.
MOMENTS = ("decided", "decided, and 2 s", "ready", "started")


def options(name):
    return [a.split("=", 1)[1] for a in sys.argv if a.startswith(f"--{name}=")]


RUNS = int((options("runs") or ["1"])[0])
FLAGS = [flag for value in options("journal") for flag in ("--journal", value)]


class Late:
    """The Binding of one pod that is kept back on its way."""

    def __init__(self, name):
        self.name, self.call, self.released = name, None, False

    def is_sent(self):
        return self.call is not None

    def code(self):
        """How the API server answered it; None: not yet."""
        return self.call and self.call.code


class Run:
    """A cluster without pods and nodes, judged from here on, and the instances that a test starts in it."""

    def __init__(self, number):
        self.moment, self.instances, self.processes = MOMENTS[number % len(MOMENTS)], 0, []
        self.folder = os.path.join(ground.folder, f"run-{ground.next_run()}")
        os.makedirs(self.folder)
        self.proxy = Proxy(ground.cluster.muster_kubeconfig, self.folder)
        self.client = ground.client
        self.found, self.late = [], None

    def __enter__(self):
        self.empty()
        self.judge = Outsider(ground.cluster.admin_kubeconfig, self.folder)
        return self

    def __exit__(self, kind, *_):
        try:
            self.judge.rest()
            self.found = self.judge.end()
            if kind is not None or self.found:
                self.tell()
        finally:
            self.judge.stop()
            for process in self.processes:
                process.kill()
            self.proxy.away()
            ground.webhook.rules.clear()

    def empty(self):
        """No finalizer and no kubelet: objects are gone at once. The lease is free, the journal as it was left."""
        for kind in ("Pod", "PodGroup", "Node"):
            self.client.delete_all(kind)
        with kube.may_be_gone():
            self.client.delete("Lease", "muster", NAMESPACE)

    def tell(self):
        for process in self.processes:
            print(f"---- {process.name} ----\n{process.log()[-2500:]}", flush=True)

    def spawn(self, name, *flags):
        path = os.path.join(self.folder, f"{len(self.processes)}-{name}.log")
        process = muster.Process([muster.program(name), *map(str, flags)], path)
        self.processes.append(process)
        return process

    def start(self, *flags):
        """One more instance, through the proxy."""
        self.instances += 1
        return Pair(self, self.instances, self.proxy.kubeconfig, *FLAGS, *flags)

    def create(self, *objects):
        for obj in objects:
            self.client.create(obj)

    def pods(self, *names):
        return [p for p in self.client.list("Pod") if p["metadata"]["name"] in names]

    def bound(self, *names):
        return sum(map(is_bound, self.pods(*names)))

    def reason(self, name):
        return ((condition(self.pods(name)[0]) or {}) if self.pods(name) else {}).get("message", "")

    def fill(self, room, *waiting):
        """A node of that many cores, four of which a pod takes; the others wait, with a reason that stays the same text
        when another pod takes those four."""
        self.create(node("n1", cpu=str(room)), pod("filler", cpu="4"))
        until(lambda: self.bound("filler") == 1, SOON_S, "the filler is bound")
        self.create(*waiting)
        names = [obj["metadata"]["name"] for obj in waiting if obj["kind"] == "Pod"]
        until(lambda: all(re.search(FULL, self.reason(name)) for name in names), SOON_S, "the reasons of those that wait")

    def keep_back(self, name):
        """The first Binding of the pod arrives at the API server when it is released; its connection stays open."""
        late = self.late = Late(name)

        def act(call):
            late.call = call
            while not late.released:
                time.sleep(0.01)
            call.pass_on()

        self.proxy.rule(lambda call: is_binding(call) and call.name == name, act, 1)
        return late

    def keep_in_webhook(self, name):
        """The API server has the first Binding of the pod and waits for the webhook. Its deadline, which would end it
        after some seconds, is taken off on the way: the journal alone has to do."""
        late, begun = Late(name), []
        self.late = late

        def act(call):
            late.call = call
            call.target = call.path
            call.pass_on()

        def rule(_):
            begun.append(time.monotonic())
            first = len(begun) == 1
            while first and not (late.released and time.monotonic() > begun[0] + WEBHOOK_S):
                time.sleep(0.01)

        ground.webhook.rules[name] = rule
        self.proxy.rule(lambda call: is_binding(call) and call.name == name, act, 1)
        return late

    def release(self, late, after, *rivals):
        """At the moment of this run; then until the Binding was answered and all is at rest."""
        if self.moment != "started":
            after.ready()
        if self.moment.startswith("decided"):
            until(lambda: self.bound(*rivals) > 0, SOON_S, f"one of {rivals} bound")
        time.sleep(2 if "2 s" in self.moment else 0)
        late.released = True
        until(late.code, SOON_S, "the answer to the late Binding")
        after.ready()
        until(lambda: self.bound(*rivals) > 0, SOON_S, f"one of {rivals} bound")
        time.sleep(AT_REST_S)

    def one_has_room(self, *names):
        """One of the pods is bound, and the others wait for what they lack."""
        equal(self.bound(*names), 1, f"{names} bound")
        for p in self.pods(*names):
            if not is_bound(p):
                until(lambda p=p: re.search(FULL, self.reason(p["metadata"]["name"])), SOON_S, "a true reason")


class Ground:
    """The API server of all runs."""

    def __init__(self):
        self.folder, self.runs = muster.scratch("muster-journal-"), 0
        self.cluster = Cluster(os.path.join(self.folder, "cluster"))
        self.client = self.webhook = None

    def __enter__(self):
        self.cluster.start()
        try:
            self.client = self.cluster.admin()
            self.client.create(kube.priority_class("high", 1000))
            self.webhook = Webhook(self.client, self.folder).__enter__()
        except BaseException:
            self.cluster.stop()
            raise
        return self

    def __exit__(self, *_):
        self.webhook.__exit__()
        self.cluster.stop()

    def next_run(self):
        self.runs += 1
        return self.runs


def repeat(what, run):
    """RUNS of them, each to its end, so that it is known how many fail."""
    wrong, answers = [], collections.Counter()
    for number in range(RUNS):
        scene, found = Run(number), []
        try:
            with scene:
                run(scene)
        except harness.Failed as error:
            found.append(str(error))
        answers[scene.late and scene.late.code()] += 1
        found += scene.found
        if found:
            wrong.append(f"run {number} ({scene.moment}): " + "; ".join(found))
    figure(f"{what}: {RUNS - len(wrong)} of {RUNS}; the late Binding was answered {dict(answers)}")
    check(not wrong, *wrong)


def high(name="p2"):
    return pod(name, cpu="4", priorityClassName="high")


def test_a_binding_is_applied_after_both_daemons_died():
    def run(r):
        one = r.start().ready()
        r.fill(4, pod("p1", cpu="4"))
        late = r.keep_back("p1")
        r.client.delete("Pod", "filler")
        until(late.is_sent, SOON_S, "p1's Binding")
        one.kill()
        r.create(high())
        r.release(late, r.start(), "p1", "p2")
        r.one_has_room("p1", "p2")

    repeat("both daemons die", run)


def frozen_leader(r):
    """The leader, and an instance that waits to lead."""
    one = r.start(*ELECTED)
    until(one.leads, SOON_S, "a leader")
    two = r.start(*ELECTED)
    one.ready()
    return one, two.ready()


def taken_over(r, one, two, late, *rivals):
    """The leader stands still from now on, until the late Binding is applied."""
    os.kill(one.frontend.pid, signal.SIGSTOP)
    r.create(high())
    until(two.leads, SOON_S, "the other instance leads")
    r.release(late, two, *rivals)
    os.kill(one.frontend.pid, signal.SIGCONT)
    until(lambda: not one.frontend.running(), SOON_S, "the old leader ends")
    time.sleep(AT_REST_S)


def test_a_webhook_answers_after_another_instance_took_the_lease():
    def run(r):
        one, two = frozen_leader(r)
        r.fill(4, pod("p1", cpu="4"))
        late = r.keep_in_webhook("p1")
        r.client.delete("Pod", "filler")
        until(lambda: late.is_sent() and ground.webhook.times("p1"), SOON_S, "p1's Binding is in the webhook")
        taken_over(r, one, two, late, "p1", "p2")
        r.one_has_room("p1", "p2")

    repeat("the leader is frozen", run)


def test_a_webhook_refuses_one_member_and_answers_late_for_the_other():
    """The gang is bound whole, or waits whole; it is torn when the other pod took what the refused member needs."""
    def run(r):
        one, two = frozen_leader(r)
        r.fill(8, pod_group("g", 2), pod("g-0", cpu="4", group="g"), pod("g-1", cpu="4", group="g"))
        refuses = True
        late = r.keep_in_webhook("g-1")
        ground.webhook.rules["g-0"] = lambda _: "not now" if refuses else None
        r.client.delete("Pod", "filler")
        until(lambda: late.is_sent() and ground.webhook.times("g-0"), SOON_S, "the Bindings are in the webhook")
        time.sleep(0.2)
        os.kill(one.frontend.pid, signal.SIGSTOP)
        refuses = False
        taken_over(r, one, two, late, "g-1", "p2")
        until(lambda: r.bound("g-0", "g-1") in (0, 2), SOON_S, "the gang is whole, or waits")
        equal(r.bound("g-0", "g-1") // 2 + r.bound("p2"), 1, "either the gang or p2")

    repeat("one member is refused", run)


def test_the_deadline_of_a_binding_ends_it_in_a_webhook():
    """What muster sends is enough when the API server's clock runs: the Binding is dead before the webhook answers."""
    with Run(0) as r:
        one = r.start(*ELECTED)
        until(one.leads, SOON_S, "a leader")
        r.create(node("n1", cpu="4"))
        one.ready()
        calls, begun = [], []

        def rule(_):
            begun.append(time.monotonic())
            time.sleep(WEBHOOK_S if len(begun) == 1 else 0)

        def act(call):
            calls.append(call)
            call.pass_on()

        ground.webhook.rules["p1"] = rule
        r.proxy.rule(lambda call: is_binding(call) and call.name == "p1", act, 1)
        r.create(pod("p1", cpu="4"))
        until(lambda: r.bound("p1") == 1, WEBHOOK_S + SOON_S, "p1 is bound")
        took = time.monotonic() - begun[0]
        # None: muster's own end of the request came before the API server's answer.
        figure(f"a Binding in a slow webhook is answered {calls[0].code}; another one binds p1 after {took:.1f} s")
        check(len(begun) > 1, "the Binding that the webhook held was applied")
        check(calls[0].code is None or calls[0].code >= 400, calls[0].code)
    check(not r.found, *r.found)


if __name__ == "__main__":
    muster.exit_on_sigterm()
    with Ground() as ground:
        main(globals())
