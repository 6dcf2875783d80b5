# SPDX-License-Identifier: Apache-2.0
"""Each daemon is killed at each of its probes, at its first hit and at later ones, and stopped there for a moment,
while gangs are bound; musterctl up restarts it.  At the end every gang is bound completely, no pod was placed twice, no node
exceeded its allocatable at any version, and the ledger agrees with the API server.  A probe without a hit is a failure.

--full: all probes, or those whose names match --only=PATTERN; --kills=N: each is killed at least so often; --table=FILE:
what was killed where.  Else a few in a few seconds."""
import http.client
import json
import os
import random
import re
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import check, kube, load, objects, storage  # noqa: E402
from lib.cluster import Cluster, Follower, run  # noqa: E402
from lib.failpoints import CORE, FRONTEND, Killable, probes  # noqa: E402
from lib.harness import Failed, check as must, equal, figure, full, main, until  # noqa: E402

AGAIN_S = 40
KILLS = 3  # of each probe in a round
JOBS = 4   # at a time: they mostly wait
STOP = "stop 300"  # ms
CORES = 5  # cpu of each node


def given(flag):
    return [a.split("=", 1)[1] for a in sys.argv if a.startswith(f"--{flag}=")]


class Scene:
    """A cluster with work, which comes by some of the probes."""
    flags, apisim, nodes, kills, searchers = (), ("--start-ms", 20), 8, KILLS, 0

    def run(self, core=(), frontend=(), trace=False):
        """(lives, what is wrong, hits of a trace).  core, frontend: (probe, hit) for one life after the other,
        or (probe, hit, act)."""
        nodes = [objects.node(f"n{i}", cpu=str(CORES)) for i in range(self.nodes)]
        with Cluster(*nodes, apisim=self.apisim, judged=True) as c, Follower(c.client) as history:
            self.c, self.killable = c, Killable(c.folder, self.searchers)
            if trace:
                self.killable.trace()
            for program, rules in ((CORE, core), (FRONTEND, frontend)):
                for rule in rules:
                    self.killable.rule(program, *rule)
            self.up()
            try:
                self.work()
                self.rest()
                wrong = self.wrongs(history)
            except Failed as e:
                wrong = [str(e)]
            c.ctl.stop()
            return self.killable.lives(), wrong, {p: self.killable.hits(p) for p in (CORE, FRONTEND)} if trace else {}

    def up(self):
        self.c.up("--command-ring-bytes", 65536, *self.flags, wait=False, bin=self.killable.bin)

    def work(self):
        """Gangs of all sizes that fit, a pod alone, a gang that never fits."""
        made = [objects.pod("lone")]
        for i, size in enumerate((1, 2, 3, 9, 12)):
            group, members = objects.gang(f"g{i}", size)
            made += [group, *members]
        group, members = objects.gang("whale", 2, cpu=str(CORES + 1))
        load.submit(self.c.client, [*made, group, *members], batch=4)
        self.all_bound()

    def all_bound(self, but="whale"):
        def left():
            return [check.key(p) for p in self.c.pods() if p["spec"].get("schedulerName") == "muster" and
                    not check.is_bound(p) and not p["metadata"]["name"].startswith(but)]
        until(lambda: not left(), AGAIN_S, lambda: f"all bound; not {left()[:5]}", every_s=0.03)

    def rest(self):
        """Each waiting pod has a reason, and both daemons agree with the API server."""
        until(lambda: not check.silent_pods(self.c.pods()), AGAIN_S, lambda: f"{check.silent_pods(self.c.pods())[:3]}")
        until(lambda: self.c.fetch("/readyz")[0] == 200, AGAIN_S, "readyz")
        until(lambda: self.fsck()[0] == 0, AGAIN_S, lambda: f"fsck: {self.fsck()}", every_s=0.2)

    def fsck(self):
        return run("musterctl", "fsck", "--socket", self.c.socket, "--kubeconfig", self.c.kubeconfig)

    def wrongs(self, history):
        return self.c.wrongs() + history.wrong + ["a gang that does not fit is bound"] * bool(self.c.bound("whale"))


class Churn(Scene):
    """Pods, groups, nodes and shapes go."""
    def work(self):
        for turn in range(6):  # more than there are deaths
            self.c.gang(f"a{turn}", 3, cpu=f"{100 + turn}m")
            self.c.create(objects.node(f"x{turn}", cpu="1"))
            self.all_bound()
            self.c.delete("Pod", *(f"a{turn}-{i}" for i in range(3)))
            self.c.delete("PodGroup", f"a{turn}")
            self.c.delete("Node", f"x{turn}")
            time.sleep(0.2)
        super().work()

    def wrongs(self, history):
        # A pod may have been put on a node that went a moment later.
        return [w for w in super().wrongs(history) if "which isn't there" not in w and "boundToUnknownNode" not in w]


class Doubt(Scene):
    """Bindings without a response, watches that break, nodes that are deleted meanwhile."""
    nodes = 10

    def work(self):
        client = self.c.client
        for turn in range(3):
            before = self.failed()
            self.c.arm("bind-500-before", count=1000)
            self.c.gang(f"d{turn}", 10)
            until(lambda: self.failed() > before, AGAIN_S, "a binding that failed")
            for i in range(5):
                self.c.delete("Node", f"n{i}")
            self.c.arm("compact")
            client.create(objects.pod(f"touch{turn}", scheduler="nobody", cpu="0", memory="0"))
            self.c.arm("compact")
            self.c.arm("cut-watches")
            time.sleep(0.3)
            client.request("DELETE", "/apisim/faults")
            self.c.arm("bind-504-after", count=3)
            self.c.create(*(objects.node(f"n{i}", cpu=str(CORES)) for i in range(5)))
            self.all_bound()
            self.c.delete("Pod", *(f"d{turn}-{i}" for i in range(10)))
            client.request("DELETE", "/apisim/faults")
        super().work()

    def failed(self):
        return self.c.stats()["requests"].get("POST pods/binding 500", 0)

    def wrongs(self, history):
        # A deleted node's allocatable is gone; its pods stay.
        return [w for w in super().wrongs(history) if "which isn't there" not in w and "boundToUnknownNode" not in w]


class Ask(Scene):
    """kube-scheduler calls the extender as well, each time twice."""
    flags = ("--extender-keep", 5)

    def ask(self, pod):
        host, port = self.c.listen.rsplit(":", 1)
        connection = http.client.HTTPConnection(host, int(port), timeout=5)
        try:
            connection.request("POST", "/filter", json.dumps({"Pod": pod, "Nodes": None, "NodeNames": ["n0", "n1"]}),
                               {"Content-Type": "application/json"})
            return json.loads(connection.getresponse().read()).get("NodeNames")
        except (OSError, http.client.HTTPException, ValueError):
            time.sleep(0.05)
            return None
        finally:
            connection.close()

    def work(self):
        for i in range(4):
            self.c.create(objects.pod(f"theirs{i}", scheduler="default-scheduler"))
            pod = self.c.client.get("Pod", f"theirs{i}")
            for _ in range(2):
                until(lambda: self.ask(pod), AGAIN_S, "an answer to /filter")
        super().work()


class Hold(Scene):
    """A gang that could fit waits for capacity, which is reserved for it."""
    flags, nodes, kills = ("--reserve-after", 1), 2, 1

    def work(self):
        self.c.create(*(objects.pod(f"first{i}") for i in range(4)))
        self.all_bound()
        self.c.gang("whale", 8)
        until(lambda: self.c.metric("muster_backfill_reservations_total") > 0, AGAIN_S, "a hold")
        self.c.delete("Pod", *(f"first{i}" for i in range(4)))
        self.all_bound(but=" ")

    def wrongs(self, history):
        return self.c.wrongs() + history.wrong


class Rings(Scene):
    """Rings that are always full."""
    flags = ("--command-ring-bytes", 4096, "--event-ring-bytes", 131072, "--result-ring-bytes", 4096)
    nodes = 30

    def up(self):
        # One page of a list is more than the ring takes.
        load.submit(self.c.client, [objects.pod(f"theirs{i:0200}", scheduler="nobody", cpu="1m", memory="1Mi",
                                                nodeName=f"n{i % self.nodes}") for i in range(600)])
        self.c.up(*self.flags, wait=False, bin=self.killable.bin)

    def work(self):
        self.c.gang("big", 90)
        super().work()


class Lease(Scene):
    """One life ends, and the next has to wait for the lease."""
    flags = ("--leader-elect", "--leader-elect-lease-duration", "3s", "--leader-elect-renew-deadline", "2",
             "--leader-elect-retry-period", "1")

    def up(self):
        self.c.create(kube.namespace("muster-system"))
        super().up()


class End(Scene):
    """SIGTERM in the middle of the work, several times."""
    apisim, nodes = (*Scene.apisim, "--latency-ms", 20), 14

    def work(self):
        for turn in range(KILLS):
            with ThreadPoolExecutor(1) as pool:
                sending = pool.submit(self.c.gang, f"e{turn}", 10)
                until(lambda: self.c.stats()["binds"] > 10 * turn, AGAIN_S, "a binding")
                self.c.ctl.stop()
                sending.result()
            self.up()
            self.all_bound()
        super().work()


class Evict(Scene):
    """A gang that evicts pods of lower priority."""
    flags, searchers, nodes, low, high = ("--preemption", "on"), 1, 2, 9, 6
    apisim = (*Scene.apisim, "--crd", "policy/v1/poddisruptionbudgets/PodDisruptionBudget/nostatus")

    def work(self):
        self.c.create(*({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value}
                        for name, value in (("low", 0), ("high", 10))))
        self.c.create(*(objects.pod(f"low{i}", priorityClassName="low") for i in range(self.low)))
        self.all_bound()
        self.c.gang("high", self.high, priorityClassName="high")
        self.all_bound()

    def wrongs(self, history):
        wanted = self.nodes * CORES - self.high
        left = self.c.bound("low")
        return super().wrongs(history) + [f"{left} of low are left instead of {wanted}"] * (left != wanted)


class Claims(Scene):
    """Volumes that wait for their first consumer; the provisioner fails once for each of one gang's."""

    def work(self):
        failed = set()

        def fail(name, _):
            first = name.startswith("late") and name not in failed
            failed.add(name)
            return first

        with storage.Storage(self.c.kubeconfig, delay_s=0.05, fail=fail):
            self.c.create(storage.storage_class("disk"))
            for name in ("soon", "late"):
                made = [objects.pod(f"{name}-{i}", group=name, volumes=storage.mounts(f"{name}-{i}")) for i in range(4)]
                self.c.create(objects.pod_group(name, 4), *(storage.claim(f"{name}-{i}", "disk") for i in range(4)), *made)
            self.all_bound()


SCENES = {"bind": Scene, "churn": Churn, "doubt": Doubt, "ask": Ask, "hold": Hold, "rings": Rings, "lease": Lease, "end": End,
          "evict": Evict, "claims": Claims}
# Where a probe is come by only when the other daemon dies: at this probe of its.
OTHER = {(CORE, "inflight_restored"): "answered", (CORE, "frontend_left"): "posted", (FRONTEND, "core_lost"): "bound"}
# Where a probe is come by only after a death of its own daemon: at this probe of the life before.
BEFORE = {(FRONTEND, "intent_found"): "post"}


def pool_of(jobs):
    """Each task in a process of its own: it has ports of its own."""
    return ProcessPoolExecutor(jobs, get_context("spawn"), max_tasks_per_child=1)


def seen(scene):
    """{(program, probe): hits} of a scene without a death."""
    _, wrong, hits = SCENES[scene]().run(trace=True)
    must(not wrong, f"{scene}, traced:", wrong)
    counts = Counter((program, hit.probe) for program in hits for hit in hits[program])
    print(f"{scene}: {sum(counts.values())} hits of {len(counts)} probes", flush=True)
    return counts


def plan(counts, rng, wanted, anywhere=False):
    """[(scene, core rules, frontend rules)]: each requested (program, probe) once, in the first scene that hits it or
    in any of them, paired with one of the other daemon."""
    def rules(scene, who, probe):
        most = counts[scene][who, probe]
        # The more often it died, the less work is left.
        hits = [1, *(rng.randint(1, max(1, most // 2 ** turn)) for turn in range(1, SCENES[scene].kills))]
        return [*((probe, hit) for hit in hits), (probe, 1, STOP)]

    out, rows = [], {scene: {CORE: [], FRONTEND: []} for scene in SCENES}
    for who, probe in wanted:
        if (who, probe) in (*OTHER, *BEFORE):
            out.append(after_a_death(who, probe))
            continue
        scenes = [s for s in SCENES if counts[s][who, probe]]
        must(scenes, f"no scene comes by {who} {probe}")
        scene = rng.choice(scenes) if anywhere else scenes[0]
        rows[scene][who].append(rules(scene, who, probe))
    for scene, both in rows.items():
        core, frontend = both[CORE], both[FRONTEND]
        rng.shuffle(core)
        rng.shuffle(frontend)
        for i in range(max(len(core), len(frontend))):
            out.append((scene, core[i] if i < len(core) else [], frontend[i] if i < len(frontend) else []))
    return out


def after_a_death(who, probe):
    """The job of a probe in OTHER or BEFORE."""
    first = [(OTHER.get((who, probe)) or BEFORE[who, probe], hit) for hit in (1, 7, 3)]
    mine = [(probe, 1)] * KILLS  # a daemon whose peer is to die is not stopped
    if (who, probe) in BEFORE:
        mine, first = [rule for pair in zip(first, mine) for rule in pair], []
    return "bind", *((mine, first) if who == CORE else (first, mine))


def short(found, everything, kills):
    """Those that were not killed so often yet."""
    return [at for at in everything if at not in found or found[at][1] < kills]


def alone(missed, counts):
    """The other daemon died before it came that far: these by themselves, where they are come by most often."""
    jobs = []
    for who, probe in missed:
        if (who, probe) in (*OTHER, *BEFORE):
            jobs.append(after_a_death(who, probe))
            continue
        scene = max(SCENES, key=lambda s: counts[s][who, probe])
        rules = [(probe, 1)] * 2
        jobs.append((scene, rules if who == CORE else [], rules if who == FRONTEND else []))
    return jobs


def row(job):
    scene, core, frontend = job
    start = time.monotonic()
    lives, wrong, _ = SCENES[scene]().run(core, frontend)
    for w in wrong:
        print(f"{scene} {core} {frontend}: {w}", flush=True)
    took = time.monotonic() - start
    print(f"{took:5.1f} s {scene}: " + "; ".join(f"{x.probe} at {x.hit} of {x.hits}: {x.act if x.done else 'not come by'}"
                                                for x in lives), flush=True)
    return core, frontend, lives, wrong


def table(rows):
    """{(program, probe): [hits, kills, stops, violations]}"""
    out = {}
    for core, frontend, lives, wrong in rows:
        for program, rules in ((CORE, core), (FRONTEND, frontend)):
            for probe in {probe for probe, *_ in rules}:
                entry = out.setdefault((program, probe), [0, 0, 0, 0])
                mine = [x for x in lives if (x.program, x.probe) == (program, probe)]
                entry[0] += sum(x.hits for x in mine)
                entry[1] += sum(x.done for x in mine if x.act == "kill")
                entry[2] += sum(x.done for x in mine if x.act == "stop")
                entry[3] += len(wrong)
    return out


def commit():
    return subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip() or "no commit"


def save(path, found, wrong, seed):
    kills, stops = (sum(entry[i] for entry in found.values()) for i in (1, 2))
    with open(path, "w") as f:
        f.write("# Fail points\n\nMade by `make failpoints`: each daemon is killed at each of its [probes](tracing.md) while gangs are "
                "bound, at the first hit\nof a life and at later ones, and stopped there for 300 ms; violations are those of the "
                "invariants I1 to I5 and of\n`musterctl fsck` in the runs with that probe, each of which has one probe of each "
                "program.\n\n"
                f"Seed {seed} at {commit()}: {len(found)} probes, {kills} kills, {stops} stops, {wrong} violations.\n\n"
                "| program | probe | hits | killed | stopped | violations |\n| --- | --- | --- | --- | --- | --- |\n")
        for (program, probe), counts in sorted(found.items()):
            f.write(f"| {program} | `{probe}` | {' | '.join(str(n) for n in counts)} |\n")


def whole():
    """All of them, or the requested ones."""
    seed = load.seed()
    rng = random.Random(seed)
    kills = int((given("kills") or [1])[0])
    only = (given("only") or [""])[0]
    everything = [(who, probe) for who in (CORE, FRONTEND) for probe in probes(who) if re.search(only, probe)]
    rows, paired = [], -(-kills // KILLS)
    with pool_of(JOBS) as pool:
        counts = dict(zip(SCENES, pool.map(seen, SCENES)))
        for turn in range(paired + 3 + kills):
            left = short(table(rows), everything, kills)
            rows += pool.map(row, plan(counts, rng, left, turn > 0) if turn < paired else alone(left, counts))
    found = table(rows)
    wrong = [w for *_, some in rows for w in some]
    for path in given("table"):
        save(path, found, len(wrong), seed)
    figure(f"{len(found)} probes, {sum(e[1] for e in found.values())} kills, {sum(e[2] for e in found.values())} stops, "
           f"{len(wrong)} violations")
    must(not wrong, "violations:", *wrong[:5])
    must(not short(found, everything, kills), f"killed less than {kills} times:", short(found, everything, kills))
    must(len(everything) >= (1 if only else 60), len(everything), "probes")


def test_killed_at_each_probe():
    if full:
        whole()
        return
    jobs = [("bind", [("reserved", 1), ("ring_out", 9), ("tables_cleared", 1)], [("posted", 4), ("answered", 2), ("list_page", 2)]),
            ("bind", [("gang_row_open", 3), ("ring_in_done", 40)], [("ring_in_published", 3), ("bind_told", 5)])]
    with ThreadPoolExecutor(2) as pool:
        rows = list(pool.map(row, jobs))
    for _, _, lives, wrong in rows:
        must(not wrong, wrong)
        must(sum(x.done for x in lives) >= 4, "too few were killed:", lives)


WAY = ("extracted", "sent"), ("reserved", "bind_emitted"), ("bind_taken", "bind_queued", "post", "posted", "answered", "bind_told")


def test_a_pod_comes_by_in_order():
    """The probes of one pod: the same number and generation in both programs, one after the other."""
    _, wrong, hits = Scene().run(trace=True)
    must(not wrong, wrong)
    of = {}
    for probe, part in [(p, part) for part, names in zip((FRONTEND, CORE, FRONTEND), WAY) for p in names]:
        for hit in hits[part]:
            if hit.probe == probe:
                of.setdefault(tuple(hit.arguments[:2]), {}).setdefault(probe, hit)
    ways = [way for way in of.values() if "answered" in way]
    equal(len(ways), 28, "pods that were answered")
    order = [p for names in WAY for p in names]
    for way in ways:
        # A pod that was not seen in its first state is extracted once.
        times = [way[p].ns for p in order if p in way]
        equal(times, sorted(times), {p: way[p] for p in order if p in way})
        equal([p for p in order if p not in way], [], "probes that were not come by")
        equal(way["reserved"].arguments[2], way["posted"].arguments[2], "node")
        equal(way["answered"].arguments[2], 201, "HTTP status")


if __name__ == "__main__":
    main(globals(), jobs=1 if full else 2)
