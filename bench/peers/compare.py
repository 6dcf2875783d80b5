#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How do muster and other gang schedulers compare on one real API server?  `make compare` calls it.

    bench/peers/compare.py [--rounds N] [--nodes N] [--gangs N,N] [--page] [-o json] [PEER...]

etcd and kube-apiserver run all the time; one scheduler at a time is started on them, in an order that is rotated from
round to round. It binds a small gang first, which is not counted, then each of --gangs. Of these are measured:

    created        from the start of the first request until the last pod is created
    last binding   from the start of the first request that creates the gang (its group object in the scheduler's own form,
                   then its pods over four connections) to the last binding, by a watch; or how many are bound in --patience
    last Event     until the last Event about a member; there has to be none for two seconds after
    scheduler CPU  of all of the scheduler's processes until the last Event
    server CPU     of etcd and kube-apiserver until the last Event: creation, bindings, Events, and all that it writes

The table has the median of the rounds, the best and the worst; --page writes them into docs/peers.md, too. This program
and its watches share the machine; they cost the same for each peer."""
import argparse
import collections
import contextlib
import http.client
import json
import os
import pathlib
import platform
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
sys.path.insert(0, str(ROOT / "bench" / "peers"))
from lib import kube, load, muster, objects  # noqa: E402
from peers import BUILT, NAMESPACE, PEERS, Missing  # noqa: E402
from real.cluster import Cluster  # noqa: E402

USUAL = [name for name in PEERS if name not in ("yunikorn-pods", "koordinator")]
PAGE, BEGIN, END = ROOT / "docs" / "peers.md", "<!-- figures -->", "<!-- end of figures -->"
CONNECTIONS = 4
WARM, WARM_S = 10, 120  # members of the first gang, and how long it may take, from the scheduler's start
QUIET_S = 2.0
EVENTS_S = 30  # the last Event may come that much later than the last binding
TICK_S = 0.02
MEASURES = ("created_s", "bound_s", "events_s", "scheduler_cpu_s", "server_cpu_s")


class Watch(threading.Thread):
    """Times of the watch events of some types, by the object's name; only metadata is sent, and nothing is parsed.

    A server that has much to do ends a watch whose reader is slow: it goes on from the last event, and is counted."""

    ACCEPT = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"

    def __init__(self, client, kind, types, **select):
        super().__init__(daemon=True)
        self.client, self.kind, self.types, self.select = client, kind, types, select
        self.seen, self.restarts, self.ending = [], -1, False  # seen: (time, name), appended by this thread alone
        _, self.version = client.list_with_version(kind, NAMESPACE, **select)
        self.connect()
        self.start()

    def connect(self):
        self.restarts += 1
        self.connection = self.client._connect(None)
        path = self.client.path(self.kind, NAMESPACE, watch="true", resourceVersion=self.version, **self.select)
        self.connection.request("GET", path, headers={**self.client._headers(None, None), "Accept": self.ACCEPT})
        self.socket, self.answer = self.connection.sock, self.connection.getresponse()
        if self.answer.status != 200:
            raise Missing(f"no watch of {self.kind}: {self.answer.read().decode(errors='replace')}")

    def run(self):
        broken = (OSError, ValueError, http.client.HTTPException)
        while True:
            with contextlib.suppress(*broken):
                self.read()
            if self.ending:
                return
            with contextlib.suppress(*broken):
                self.connect()

    def read(self):
        while line := self.answer.readline():
            if line.startswith(self.types):
                self.seen.append((time.monotonic(), line.partition(b'"name":"')[2].partition(b'"')[0].decode()))
            self.version = line.partition(b'"resourceVersion":"')[2].partition(b'"')[0].decode() or self.version

    def end(self):
        """close() would wait for the thread that reads."""
        self.ending = True
        self.socket.shutdown(socket.SHUT_RDWR)
        self.join()
        self.connection.close()


def family(processes):
    """The pids of processes and of all that they started."""
    found = {process.pid for process in processes}
    rows = list(muster.processes())
    for _ in range(4):
        found |= {pid for pid, parent, _ in rows if parent in found}
    return sorted(found)


class Turn:
    """One scheduler in one round."""

    def __init__(self, bench, peer, number):
        self.bench, self.peer, self.client, self.number = bench, peer, bench.client, number
        self.folder = os.path.join(bench.folder, f"turn-{number}")
        os.makedirs(self.folder)
        self.processes, self.watches = [], []

    def run(self):
        """[a run of each gang], as far as it came; Missing when it binds nothing at all."""
        try:
            self.bound = self.watch("Pod", (b'{"type":"ADDED"',),
                                    fieldSelector=f"spec.schedulerName={self.peer.scheduler},spec.nodeName!=")
            self.events = self.watch("Event", (b'{"type":"ADDED"', b'{"type":"MODIFIED"'))
            self.processes = self.peer.start(self.bench.cluster, self.folder)
            self.warm()
            runs = []
            for count in self.bench.options.gangs:
                self.clear()
                runs.append(self.measure(count))
                if runs[-1]["bound"] < count:
                    break  # the next is no smaller
            return runs
        finally:
            for process in self.processes:
                process.stop(3)
            for watch in self.watches:
                watch.end()
            self.clear()

    def watch(self, *arguments, **select):
        self.watches.append(Watch(self.client, *arguments, **select))
        return self.watches[-1]

    def warm(self):
        name = f"warm-{self.number}"
        end = time.monotonic() + WARM_S
        self.submit(name, *self.peer.gang(name, WARM))
        while len(self.times_of(name)) < WARM:
            time.sleep(TICK_S)
            ended = [process for process in self.processes if not process.running()]
            if ended or time.monotonic() > end:
                log = (ended or self.processes)[0].log().strip().splitlines()[-3:]
                what = "it ended" if ended else f"{len(self.times_of(name))} of {WARM} pods bound in {WARM_S} s"
                raise Missing(f"{what}; its log ends: {' | '.join(log)}")
        self.quiet(name, time.monotonic() + EVENTS_S)

    def submit(self, name, group, pods):
        """Pods in order over several connections; returns when the first request began and the last was answered."""
        parts = [[load.as_request(self.client, pod) for pod in pods[i::CONNECTIONS]] for i in range(CONNECTIONS)]
        errors = []

        def send(part):
            try:
                bad = [body for status, body in load.exchange(self.client, part) if status != 201]
                errors.extend(body.decode(errors="replace") for body in bad)
            except OSError as error:
                errors.append(str(error))

        start = time.monotonic()
        if group:
            self.client.create(group)
        threads = [threading.Thread(target=send, args=(part,), daemon=True) for part in parts if part]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors:
            raise Missing(f"pods of {name} were not created: {errors[0]}")
        return start, time.monotonic()

    def times_of(self, name):
        """When its members were bound, without any pods that the scheduler made itself."""
        return [when for when, pod in list(self.bound.seen) if pod.startswith(name + "-")]

    def events_of(self, name):
        """When Events about its members were written: their names begin with the pod's.  Those about its group may not
        end while no pod runs."""
        return [when for when, event in list(self.events.seen) if event.startswith(name + "-")]

    def measure(self, count):
        name = f"gang{count}-{self.number}"
        group, pods = self.peer.gang(name, count)
        scheduler, server = family(self.processes), self.bench.server

        def spent():
            return muster.cpu_s(*scheduler), muster.cpu_s(*server), len(self.events.seen)

        begun = spent()
        start, created = self.submit(name, group, pods)
        while len(self.times_of(name)) < count and time.monotonic() < start + self.bench.options.patience:
            time.sleep(TICK_S)
        times = self.times_of(name)
        run = {"gang": count, "bound": len(times), "created_s": created - start, "load1": os.getloadavg()[0]}
        if len(times) < count:
            ended = spent()
            run["why"] = self.why(name)
        else:
            run["bound_s"] = times[-1] - start
            last, ended = self.quiet(name, times[-1] + EVENTS_S, spent)
            run["events_s"] = max(last, times[-1]) - start
        run["watches_ended"] = sum(watch.restarts for watch in self.watches)  # since the turn began
        run["scheduler_cpu_s"], run["server_cpu_s"], run["events"] = (after - before for after, before in zip(ended, begun))
        return run

    def why(self, name):
        """What the scheduler wrote into a member that waits."""
        for pod in self.client.list("Pod", NAMESPACE):
            if pod["metadata"]["name"].startswith(name + "-") and not pod["spec"].get("nodeName"):
                found = [c.get("message", "") for c in pod["status"].get("conditions") or [] if c["type"] == "PodScheduled"]
                return f"{pod['metadata']['name']}: {found[0] if found else 'no condition'}"
        return "all of them are bound now"

    def quiet(self, name, end, measure=lambda: None):
        """Until no Event about a member came for a while: (when the last one did, measure() right after it)."""
        seen, last, measured = len(self.events_of(name)), time.monotonic(), measure()
        while time.monotonic() < min(last + QUIET_S, end):
            time.sleep(TICK_S)
            if len(self.events_of(name)) > seen:
                seen, last, measured = len(self.events_of(name)), time.monotonic(), measure()
        return max(self.events_of(name), default=0), measured

    def clear(self):
        """No pods: what was bound and what a scheduler left behind."""
        path = self.client.path("Pod", NAMESPACE, gracePeriodSeconds=0)
        end = time.monotonic() + 60
        while self.client.request("GET", self.client.path("Pod", NAMESPACE, limit=1)).get("items"):
            self.client.request("DELETE", path)
            if time.monotonic() > end:
                raise Missing("its pods can't be deleted")
        time.sleep(0.5)  # schedulers see that, too


class Bench:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.runs = collections.defaultdict(list)  # (peer, gang): runs
        self.peers, self.missing = [], {}

    def find(self, names):
        """The peers, built; the others with the reason."""
        wanted = sorted({BUILT[name] for name in names if name in BUILT}, key=list(PEERS).index)
        built = {}
        if wanted:
            done = subprocess.run([str(ROOT / "bench/peers/build.sh"), *wanted], stdout=subprocess.PIPE, text=True, check=True)
            built = {name: rest for name, _, rest in (line.partition(" ") for line in done.stdout.splitlines())}
        for name in names:
            folder, _, rest = built.get(BUILT.get(name), "").partition(" ")
            if folder == "-":
                self.missing[name] = rest
            else:
                self.peers.append(PEERS[name](folder, rest) if folder else PEERS[name]())

    def run(self):
        options = self.options
        with Cluster(os.path.join(self.folder, "cluster"), gates=True) as self.cluster:
            self.client = self.cluster.admin()
            self.server = [self.cluster.running[name].pid for name in ("etcd", "kube-apiserver")]
            load.submit(self.client, [objects.node(f"n{i:05}", cpu="64", memory="256Gi") for i in range(options.nodes)])
            for peer in list(self.peers):
                self.guarded(peer, peer.prepare, self.client)
            number = 0
            for i in range(options.rounds):
                first = i % max(1, len(self.peers))
                for peer in self.peers[first:] + self.peers[:first]:
                    number += 1
                    self.take(i, peer, number)

    def guarded(self, peer, call, *arguments):
        """What call returns; a peer that can't go on is left out with the reason, and keeps its runs."""
        try:
            return call(*arguments)
        except (Missing, kube.ApiError, AssertionError, OSError, TimeoutError) as error:
            self.missing[peer.name] = str(error)
            self.peers.remove(peer)
            print(f"{peer.name} is left out: {error}", file=sys.stderr, flush=True)
            return []

    def take(self, i, peer, number):
        start = time.monotonic()
        for run in self.guarded(peer, Turn(self, peer, number).run) or []:
            self.runs[peer.name, run["gang"]].append(run)
            took = f"{run['bound_s']:.2f} s" if "bound_s" in run else f"{run['bound']} bound in {self.options.patience} s, {run['why']}"
            print(f"round {i + 1}: {peer.name}: gang of {run['gang']}: {took}, load {run['load1']:.1f}",
                  file=sys.stderr, flush=True)
        print(f"round {i + 1}: {peer.name}: {time.monotonic() - start:.0f} s in all", file=sys.stderr, flush=True)

    def rows(self):
        """A row for each peer and gang; times only where each run bound all."""
        out = []
        for (name, gang), runs in sorted(self.runs.items(), key=lambda item: (item[0][1], list(PEERS).index(item[0][0]))):
            row = {"name": f"{name}/gang-{gang}", "peer": name, "gang": gang, "rounds": len(runs),
                   "whole": sum(run["bound"] == gang for run in runs), "bound": sorted(run["bound"] for run in runs),
                   "events": statistics.median(run["events"] for run in runs), "runs": runs}
            for measure in MEASURES:
                values = [run[measure] for run in runs if measure in run]
                if len(values) == len(runs):
                    row[measure] = {"median": statistics.median(values), "best": min(values), "worst": max(values)}
            out.append(row)
        return out


def spread(values):
    if not values:
        return "-"
    median, best, worst = (f"{values[key]:.2f}" for key in ("median", "best", "worst"))
    return median if best == worst else f"{median} ({best}-{worst})"


def figures(row, thousands=""):
    """The cells of a row after the rounds that bound all.  thousands: between those of the Events."""
    created, bound, events, scheduler, server = (spread(row.get(measure)) for measure in MEASURES)
    return created, bound, events, f"{row['events']:{thousands}.0f}", scheduler, server


def tell(report):
    print(f"{report['nodes']} nodes, {report['cpus']} CPUs, rounds: {report['rounds']}; median (best-worst)")
    heads = ("gang", "scheduler", "bound", "created s", "last binding s", "last Event s", "Events", "scheduler CPU s", "server CPU s")
    widths = (6, 16, 12, 19, 21, 21, 8, 21, 21)
    print("".join(f"{head:>{width}s}" for head, width in zip(heads, widths)))
    for row in report["rows"]:
        bound = f"{row['whole']}/{row['rounds']} whole" if row["whole"] else f"{row['bound'][0]}-{row['bound'][-1]}"
        cells = (row["gang"], row["peer"], bound, *figures(row))
        print("".join(f"{str(cell):>{width}s}" for cell, width in zip(cells, widths)))
    for peer in report["peers"]:
        print(f"{peer['name']} {peer['version']}: {peer['group']}")
    for name, why in report["missing"].items():
        print(f"{name}: not measured: {why}")


def surroundings():
    def said(*command):
        return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False).stdout.strip()

    changed = " with changes" if said("git", "status", "--porcelain", "--", "core", "ipc", "frontend") else ""
    return {"commit": said("git", "rev-parse", "--short=12", "HEAD") + changed, "date": time.strftime("%Y-%m-%d"),
            "cpus": os.cpu_count(), "kernel": platform.release(), "etcd": said("etcd", "--version").partition("\n")[0]}


def write_page(report):
    """The figures of docs/peers.md, between its marks."""
    lines = [f"{report['date']}, commit {report['commit']}, {report['cpus']} CPUs, {report['nodes']:,} nodes, rounds: {report['rounds']}; the load of "
             f"the machine was {report['load1'][0]:.1f} to {report['load1'][1]:.1f}, this bench included. Median, and best to worst; `-`: not all rounds bound all.", "",
             "| gang | scheduler | rounds that bound all | created, s | last binding, s | last Event, s | Events | CPU of the scheduler, s | CPU of etcd and kube-apiserver, s |",
             "| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"]
    for row in report["rows"]:
        whole = f"{row['whole']} of {row['rounds']}"
        if row["whole"] < row["rounds"]:
            whole += f" ({'-'.join(map(str, sorted({row['bound'][0], row['bound'][-1]})))} pods in {report['patience_s']} s)"
        cells = (f"{row['gang']:,}", row["peer"], whole, *figures(row, ","))
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", "Versions: " + ", ".join(f"{peer['name']} {peer['version']}".strip() for peer in report["peers"]) + "."]
    for name, why in report["missing"].items():
        lines += ["", f"**{name}** was not measured to the end: {why}."]
    text = PAGE.read_text(encoding="utf-8")
    head, _, rest = text.partition(BEGIN)
    PAGE.write_text(head + BEGIN + "\n\n" + "\n".join(lines) + "\n\n" + END + rest.partition(END)[2], encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("peers", nargs="*", metavar="PEER", help=f"of {' '.join(PEERS)}; {' '.join(USUAL)} by default")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--gangs", type=lambda text: sorted(map(int, text.split(","))), default=[100, 1000])
    parser.add_argument("--patience", type=int, default=60, help="seconds for a gang")
    parser.add_argument("-o", choices=["text", "json"], default="text", dest="output")
    parser.add_argument("--page", action="store_true", help="write the figures into docs/peers.md")
    parser.add_argument("--keep", help="a folder for the logs")
    options = parser.parse_args()
    for name in options.peers:
        if name not in PEERS:
            parser.error(f"no peer {name}; there are {' '.join(PEERS)}")
    muster.exit_on_sigterm()
    with tempfile.TemporaryDirectory(prefix="muster-peers-") as folder:
        bench = Bench(options, options.keep or folder)
        bench.find(options.peers or USUAL)
        everyone = list(bench.peers)
        bench.run()
    loads = [run["load1"] for runs in bench.runs.values() for run in runs] or [0]
    report = {**surroundings(), "nodes": options.nodes, "rounds": options.rounds, "patience_s": options.patience,
              "load1": [min(loads), max(loads)],
              "peers": [{"name": peer.name, "version": peer.version, "group": peer.group} for peer in everyone],
              "missing": bench.missing, "rows": bench.rows()}
    if options.page:
        write_page(report)
    if options.output == "json":
        json.dump(report, sys.stdout, indent=1)
        print()
    else:
        tell(report)


if __name__ == "__main__":
    main()
