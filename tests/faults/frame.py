# SPDX-License-Identifier: Apache-2.0
"""What a fault is written with.  It is a function of one argument, named after its number in
the table (fault_13_server_restarts; a number may have several), with a first line that says how
the fault is made, in any module of this folder:

    @at("idle", "mid-bind", why="a list has no effect on plans")
    def fault_13_server_restarts(t):
        "the server goes away for 3 s, all connections break"
        with t.moment_of("gang"):
            t.proxy.away()
            time.sleep(3)
            t.proxy.listen()
        t.settles()

It runs once at each of its moments (t.moment):

    idle        all is placed, nothing is under way; the gang comes after the fault
    mid-plan    the gang is planned and reserved; none of its Bindings has reached the server
    mid-bind    a part of its Bindings has taken effect, the others have not reached the server
    mid-relist  the same, and a list of pods from before is on its way, because of a 410

Without @at it runs once, and does all by itself.  A module's WHY_NOT = {9: "..."} tells of what has no
test, or is known not to hold.  t.settles() takes the faults away, waits for the end and reads the invariants."""
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import types

from lib import check, muster, objects
from lib.cluster import Cluster, Follower
from lib.harness import Failed, check as must, eventually, until
from lib.proxy import Proxy, is_binding, is_list, is_watch
from scenarios import wrongs

NODES, CPU = 4, 8
SIZE = 8      # of the gang that a fault meets
PART = 3      # of it that are bound mid-bind
AFTER_S = 40  # I10: 30 s, and a backoff
LISTS_AT_ONCE, LISTS_PER_S = 8, 0.25  # I11, of one resource
LISTS_OF_A_LEADER = 2  # as it starts, and as it becomes leader (docs/decisions/041)
POSTS_AT_ONCE = 64
STOP_S = 60


def at(*moments, why="", **given):
    """Decorates a fault; why: of the moments that it leaves out.  given: nodes=[...], apisim=[flags],
    muster=[flags], limit_s=N, proxy=False, up=False (it starts muster by itself), prepare=f (f(t) before
    muster starts), allowed=["kubeletRejected"] (of apisim's counts), judged=False (without tests/history.py)."""
    def mark(function):
        function.moments, function.why, function.given = moments, why, given
        return function
    return mark


class Fault:
    def __init__(self, name, moment, given):
        self.name, self.moment, self.given = name, moment, given
        self.never = {"whale"}   # gangs that must not be placed
        self.c = self.client = self.proxy = self.history = None
        self.started, self.daemons = time.monotonic(), {}

    # ---- the world ----

    @contextlib.contextmanager
    def world(self):
        """apisim, a proxy before it, muster, a gang that is placed and one that never fits."""
        nodes = self.given.get("nodes") or [objects.node(f"n{i}", cpu=str(CPU)) for i in range(NODES)]
        with Cluster(*nodes, apisim=["--start-ms", 20, *self.given.get("apisim", ())],
                     judged=self.given.get("judged", True)) as self.c:
            self.client = self.c.client
            with self._proxied(), Follower(self.client) as self.history:
                try:
                    self._begin()
                    yield self
                    self.stop()
                except BaseException:
                    self.tell()
                    raise

    @contextlib.contextmanager
    def _proxied(self):
        if not self.given.get("proxy", True):
            yield
            return
        with Proxy(self.c.kubeconfig, self.c.folder) as self.proxy:
            self.c.kubeconfig = self.proxy.kubeconfig
            prepare = self.given.get("prepare")
            if prepare:
                prepare(self)
            yield

    def _begin(self):
        self.gang("first", 4)
        self.gang("whale", 3, cpu="1000")
        if self.given.get("up", True):
            self.c.up(*self.given.get("muster", ()))
            until(lambda: self.c.bound("first") == 4, AFTER_S, "the first gang is bound")
            self.rest()
            self.daemons = self.c.daemons()

    def stop(self):
        """While the server is there; whoever was started by hand is stopped by the cluster."""
        ctl = getattr(self.c, "ctl", None)
        if ctl and ctl.running():
            must(ctl.stop(STOP_S) == 0, "musterctl up did not stop cleanly:", ctl.log()[-1500:])

    def gang(self, name, n=SIZE, quorum=None, **rest):
        self.c.gang(name, n, quorum, **rest)

    def tell(self):
        """How things stood when it failed."""
        with contextlib.suppress(Exception):
            for p in sorted(self.c.pods(), key=check.key)[:20]:
                print(p["metadata"]["name"], p["spec"].get("nodeName"), p["status"].get("phase"), check.condition(p))
        calls = list(self.proxy.seen) if self.proxy else []
        for call in [c for c in calls[:-25] if c.method != "GET" and c.resource != "leases"][-40:] + calls[-25:]:
            print(f"{call.when - self.started:7.2f}", call)
        sys.stdout.flush()

    # ---- the moment ----

    @contextlib.contextmanager
    def moment_of(self, name="gang", size=SIZE, **rest):
        """In here that gang is at the moment of this run; at idle it is made afterwards."""
        gates = []
        if self.moment != "idle":
            gates.append(self._bring(name, size, rest))
        if self.moment == "mid-relist":
            gates.append(self.relist())
        yield
        for gate in gates:
            gate.open()
            time.sleep(0.3)
        if self.moment == "idle":
            self.gang(name, size, **rest)

    def _bring(self, name, size, rest):
        through = 0 if self.moment == "mid-plan" else PART

        def held(call):
            return is_binding(call) and call.name.startswith(name + "-")

        gate = self.proxy.hold(held)
        passing = self.proxy.rule(held, lambda call: call.pass_on(), count=through) if through else None
        self.gang(name, size, **rest)
        until(lambda: gate.waiting > 0 and self.c.bound(name + "-") == through, AFTER_S,
              lambda: f"{through} of {name} bound, {gate.waiting} held")
        if passing:
            self.proxy.remove(passing)
        return gate

    def relist(self, resource="pods"):
        """A gate that holds the answer to a new list, which was made now."""
        gate = self.proxy.hold_answers(is_list(resource))
        self.c.arm("compact")
        # Another object of the kind, so that the version that the watch has is too old.
        self.client.create(objects.pod(f"touch-{time.monotonic_ns()}", scheduler="nobody", cpu="0", memory="0"))
        self.c.arm("compact")
        self.proxy.cut_all(is_watch(resource))
        until(lambda: gate.waiting > 0, AFTER_S, "a list is under way")
        return gate

    # ---- what faults are made of ----

    def hits(self, fits, *acts):
        """Each act once, on the next call that fits; the rules, to be asked for their hits."""
        return [self.proxy.rule(fits, act, count=1) for act in reversed(acts)][::-1]

    def binding_of(self, prefix):
        return lambda call: is_binding(call) and call.name.startswith(prefix)

    def posts(self, prefix=""):
        """Bindings that came to the proxy, in order."""
        return [call for call in list(self.proxy.seen) if self.binding_of(prefix)(call)]

    def log_has(self, *parts, within_s=10):
        until(lambda: all(p in self.c.ctl.log() for p in parts), within_s, f"a message with {parts}")

    def again(self, *names):
        """Pods that are gone or failed are made anew under their names, as a controller does."""
        for name in names:
            old = next((p for p in self.c.pods() if p["metadata"]["name"] == name), None)
            if old:
                self.client.delete("Pod", name)
                until(lambda: not any(p["metadata"]["name"] == name for p in self.c.pods()), 10, f"{name} is gone")
            group = name.rsplit("-", 1)[0]
            self.c.create(objects.pod(name, group=group))

    def failed(self, prefix=""):
        return [p["metadata"]["name"] for p in self.c.pods(prefix) if p.get("status", {}).get("phase") == "Failed"]

    # ---- the end ----

    def settles(self, within_s=AFTER_S, faults_stay=False, in_step_s=wrongs.REST_S):
        """Faults are over: all that can be bound is, and the invariants hold; in_step_s: how long muster
        may take then to know what there is."""
        if self.proxy and not faults_stay:
            self.proxy.calm()
        with contextlib.suppress(Exception):
            self.client.request("DELETE", "/apisim/faults")
        until(lambda: not self.unbound(), within_s, lambda: f"bound; these are not: {self.unbound()[:10]}", every_s=0.2)
        self.rest(within_s)
        self.holds(in_step_s)

    def unbound(self):
        """Pods of ours without a node that should have one."""
        return [check.key(p) for p in self.c.pods() if p["spec"].get("schedulerName") == "muster" and not check.is_bound(p)
                and not p["spec"].get("schedulingGates") and not p["metadata"].get("deletionTimestamp")
                and p["metadata"]["name"].rsplit("-", 1)[0] not in self.never]

    def rest(self, within_s=AFTER_S):
        """Nothing is under way, and every pod that waits says why."""
        def quiet():
            m = self.c.metrics()
            # Of a core that is not there, or does not answer, there are none.
            if "muster_gangs_binding" not in m:
                return False
            return not m["muster_binds_in_flight"] and not m["muster_binds_queued"] and \
                not m["muster_gangs_binding"] and not check.silent_pods(self.c.pods())
        until(quiet, within_s, lambda: f"rest: {check.silent_pods(self.c.pods())[:3]}", every_s=0.1)

    def holds(self, in_step_s=wrongs.REST_S):
        """I1 to I5 by the independent reading, the server's own book, I11."""
        if self.c.judge:
            self.c.judge.rest()
        found = self.in_time(self._at_rest, in_step_s)
        found += self.history.wrong
        stats = self.c.stats()
        found += [f"apisim counts {stats[what]} {what}" for what in
                  ("overcommitted", "boundToUnknownNode", "kubeletRejected") if stats[what] and what not in self.allowed()]
        found += self.storms() + self.unguarded()
        for name in self.never:
            found += [f"{name} has {self.c.bound(name + '-')} bound"] * bool(self.c.bound(name + "-"))
        must(not found, "invariants:", *found[:8])

    def allowed(self):
        return self.given.get("allowed", ())

    def _at_rest(self):
        found = check.cluster(self.client) + check.silent_pods(self.c.pods())
        state = types.SimpleNamespace(nodes=self.client.list("Node"), pods=self.c.pods())
        return found + wrongs.other_sums(self, state)

    def ctl(self, what):
        return self.c.ask_json(what)[1]

    def in_time(self, question, within_s):
        """What is found wrong and stays so."""
        with contextlib.suppress(Failed):
            eventually(lambda: must(not question()), within_s)
            return []
        return question()

    def storms(self):
        """I11: how often a resource was listed, how many Bindings there were at once."""
        if not self.proxy:
            return []
        led = self.c.ctl.log().count("leading: holder of the lease") if getattr(self.c, "ctl", None) else 0
        most = LISTS_AT_ONCE + LISTS_PER_S * (time.monotonic() - self.started) + LISTS_OF_A_LEADER * led
        lists = {}
        for call in list(self.proxy.seen):
            if call.list and call.query.get("limit") != "1" and "continue" not in call.query:
                lists[call.path] = lists.get(call.path, 0) + 1
        found = [f"I11: {path} was listed {n} times, {most:.1f} allowed" for path, n in lists.items() if n > most]
        if self.proxy.most_binding > POSTS_AT_ONCE:
            found.append(f"I11: {self.proxy.most_binding} Bindings at once")
        return found

    def unguarded(self):
        """I3: each Binding names uid and version, and goes to another node only when the version moved on
        or the one before was refused for certain."""
        found, sent = [], {}
        for call in self.posts() if self.proxy else ():
            meta, node = json.loads(call.body)["metadata"], json.loads(call.body)["target"]["name"]
            uid, version = meta.get("uid"), meta.get("resourceVersion")
            if not uid or not version:
                found.append(f"I3: a Binding of {call.name} without uid or version")
            if any(node != other and version == old for other, old in sent.get(uid, ())):
                found.append(f"I3: {call.name} was sent to {node} and elsewhere at version {version}")
            if not surely_refused(call):
                sent.setdefault(uid, []).append((node, version))
        return found

    def same_daemons(self):
        """Nobody had to start again."""
        must(self.c.daemons() == self.daemons, "a daemon was started again:", self.c.ctl.log()[-2000:])

    # ---- proofs that are elsewhere ----

    def process(self, test, *names, seed=None):
        """Functions of tests/process/TEST.py, or all of it."""
        flags = [f"--seed={seed}"] if seed else []
        self.run_counted(max(1, len(names)), sys.executable, f"tests/process/{test}.py", *names, *flags)

    def unit(self, program, *tests):
        """Tests of a unit program under ASan: "suite/name", "suite/*"."""
        for test in tests or ("*/*",):
            self.run_counted(1, str(muster.ROOT / "build-address" / "unit" / program), "--filter", test)

    def stories(self, *names):
        """Stories of the core: FILE or FILE:NAME of tests/stories."""
        for name in names:
            self.run_counted(1, str(muster.ROOT / "build-address" / "unit" / "core" / "test_stories"), name)

    def sim(self, seeds, first=1):
        """Seeds of the simulator."""
        self.run_counted(seeds, muster.program("muster-sim"), "--seeds", str(seeds), "--from", str(first))

    def run_counted(self, least, *argv):
        """A command that says how many tests it passed: at least so many, and no failure."""
        said = run_elsewhere(argv)
        passed, failed = sums(said)
        must(failed == 0 and passed >= least, f"{argv}: {passed} passed, {failed} failed, {least} wanted:\n{said[-3000:]}")


def surely_refused(call):
    """The answer to a Binding says that it has no effect, now or later."""
    if call.code == 409:
        return b"is being deleted" in call.said or b"schedulingGates" in call.said
    return call.code in (400, 401, 403, 404, 422, 429)


def run_elsewhere(argv):
    """Standard output and error of a command; what it started ends with it."""
    child = subprocess.Popen(argv, cwd=muster.ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                             errors="replace", start_new_session=True)
    try:
        said, _ = child.communicate()
    except BaseException:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGTERM)
        child.communicate()
        raise
    must(child.returncode == 0, f"{argv}: exit {child.returncode}:\n{said[-3000:]}")
    return said


def sums(said):
    """(passed, failed) as tests/run.sh reads them: of Criterion or of a closing line."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", said)
    row = re.search(r"Tested:\s*(\d+).*?Passing:\s*(\d+).*?Failing:\s*(\d+).*?Crashing:\s*(\d+)", plain)
    if row:
        return int(row[2]), int(row[3]) + int(row[4])
    row = re.search(r"^(?:[A-Za-z0-9_-]+: )?(\d+) passed, (\d+) failed", plain, re.M)
    return (int(row[1]), int(row[2])) if row else (0, 0)
