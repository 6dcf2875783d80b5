#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What did a change cost at a real API server?  This build against another one, in turns on one control plane.

    bench/versions.py BUILD [--rounds N] [--nodes N] [--pods N] [--lone N]

BUILD: the build folder of the other version, as of a worktree of its commit. A round has three contenders: the other
build, this one, and this one without its journal, in an order that differs from round to round, since the machine is not
the same all the time. Each binds --pods pods that were there before it started (rate: from the first to the last
binding), then --lone pods that come one by one (latency: from the start of the request that creates the pod to the
event of its binding). Both are taken from a watch; nothing else is running in the cluster.

The table has the median and the lowest rate of the rounds, the CPU time of etcd and kube-apiserver for each of those pods
with its events, which other work on the machine changes least, and quantiles of all lone pods; of the journal, its writes for
100 Bindings at the full rate and the mean time until the intent of a lone pod is durable, by muster's own metrics. Below
it are the differences of each round, which the load of the machine changes less than the figures themselves."""
import argparse
import http.client
import itertools
import os
import pathlib
import random
import socket
import statistics
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
from lib import kube, load, muster, objects  # noqa: E402
from lib.harness import until  # noqa: E402
from real.cluster import Cluster  # noqa: E402

CONTENDERS = ("before", "now", "now, no journal")
ORDERS = list(itertools.permutations(CONTENDERS))  # none is always the first
PATIENCE_S = 120
GAP_S = (0.03, 0.06)  # between lone pods


class Bound(threading.Thread):
    """When pods of a scheduler were bound, by a watch that the server filters: no event needs to be parsed."""

    def __init__(self, client, scheduler):
        super().__init__(daemon=True)
        select = f"spec.schedulerName={scheduler},spec.nodeName!="
        _, version = client.list_with_version("Pod", fieldSelector=select)
        self.connection, self.times = client._connect(None), []
        self.connection.request("GET", client.path("Pod", watch="true", fieldSelector=select, resourceVersion=version),
                                headers=client._headers(None, None))
        self.socket, self.answer = self.connection.sock, self.connection.getresponse()
        self.start()

    def run(self):
        try:
            while line := self.answer.readline():
                if line.startswith(b'{"type":"ADDED"'):
                    self.times.append(time.monotonic())
        except (OSError, ValueError, http.client.HTTPException):
            pass  # end()

    def end(self):
        """close() would wait for the thread that reads."""
        self.socket.shutdown(socket.SHUT_RDWR)
        self.join()
        self.connection.close()

    def wait(self, count):
        until(lambda: len(self.times) >= count, PATIENCE_S, lambda: f"{count} bound, {len(self.times)} are", every_s=0.0005)


def server_cpu_s(cluster):
    """What etcd and kube-apiserver have taken so far."""
    return muster.cpu_s(*(cluster.running[name].pid for name in ("etcd", "kube-apiserver")))


class Turn:
    """One contender in one round."""

    def __init__(self, bench, who, number):
        self.bench, self.client, self.who = bench, bench.client, who
        self.scheduler = f"turn-{number}"
        self.bound = Bound(self.client, self.scheduler)
        self.rate, self.server_ms, self.lone = 0.0, 0.0, []
        self.writes = self.wait_ms = None  # of a journal
        self.load1 = os.getloadavg()[0]

    def pod(self, name):
        return objects.pod(f"{self.scheduler}-{name}", scheduler=self.scheduler)

    def run(self):
        options = self.bench.options
        load.submit(self.client, [self.pod(i) for i in range(options.pods)])
        flags = ["--scheduler-name", self.scheduler, *(["--journal", "off"] if "no journal" in self.who else [])]
        folder = os.path.join(self.bench.folder, self.scheduler)
        spent = server_cpu_s(self.bench.cluster)
        other = os.path.join(options.build, "bin") if self.who == "before" else None
        with muster.Muster(self.bench.cluster.muster_kubeconfig, folder, *flags, bin=other) as up:
            self.bound.wait(options.pods)
            times = self.bound.times
            self.rate = (options.pods - 1) / (times[-1] - times[0])
            full = kube.metrics(up.listen)
            # Events are written behind bindings: the longer a queue of bindings, the later.
            until(lambda: kube.metrics(up.listen)["muster_reports_queued"] == 0, PATIENCE_S, "the events of those pods", every_s=0.2)
            self.server_ms = (server_cpu_s(self.bench.cluster) - spent) / options.pods * 1e3
            time.sleep(1)
            begun = kube.metrics(up.listen)
            for i in range(options.lone):
                self.bind_one(f"lone-{i}", options.pods + i + 1)
            self.journal(full, begun, kube.metrics(up.listen))
        self.bound.end()
        self.client.request("DELETE", self.client.path("Pod", "default", gracePeriodSeconds=0))
        return self

    def bind_one(self, name, count):
        time.sleep(random.uniform(*GAP_S))
        start = time.monotonic()
        self.client.create(self.pod(name))
        self.bound.wait(count)
        self.lone.append((self.bound.times[count - 1] - start) * 1e3)

    def journal(self, full, begun, ended):
        """Its writes for 100 Bindings at the full rate, and what the intent of a lone pod waited."""
        name = "muster_journal_durable_total"
        if full.get(name):
            self.writes = full["muster_journal_writes_total"] / full["muster_bind_posts_total"] * 100
            waited = ended["muster_journal_wait_seconds_total"] - begun["muster_journal_wait_seconds_total"]
            self.wait_ms = waited / (ended[name] - begun[name]) * 1e3


def quantile(values, q):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(q * len(ordered)))]


class Bench:
    def __init__(self, options, folder):
        self.options, self.folder, self.turns = options, folder, {who: [] for who in CONTENDERS}

    def run(self):
        with Cluster(os.path.join(self.folder, "cluster")) as self.cluster:
            self.client = self.cluster.admin()
            load.submit(self.client, [objects.node(f"n{i:05}", cpu="64", memory="256Gi") for i in range(self.options.nodes)])
            number = 0
            for i in range(self.options.rounds + 1):
                for who in ORDERS[i % len(ORDERS)]:
                    number += 1
                    turn = Turn(self, who, number).run()
                    print(f"round {i}: {who}: {turn.rate:.0f}/s, lone pod {statistics.median(turn.lone):.1f} ms, "
                          f"load {turn.load1:.1f}", file=sys.stderr, flush=True)
                    if i > 0:  # the first round warms the API server
                        self.turns[who].append(turn)

    def tell(self):
        print(f"{self.options.rounds} rounds, {self.options.nodes} nodes, {self.options.pods} pods at once, "
              f"{self.options.lone} lone pods each, {os.cpu_count()} CPUs")
        print(f"{'':18s}{'binds/s':>9s}{'worst':>9s}{'server ms':>11s}{'lone ms':>9s}{'p90':>8s}{'p99':>8s}{'writes %':>10s}{'wait ms':>9s}{'load':>7s}")
        for who, turns in self.turns.items():
            lone = [ms for turn in turns for ms in turn.lone]
            rates, server = [turn.rate for turn in turns], [turn.server_ms for turn in turns]
            own = [(turn.writes, turn.wait_ms) for turn in turns if turn.wait_ms is not None]
            cost = "".join(f"{statistics.median(values):{width}.2f}" for values, width in zip(zip(*own), (10, 9))) or f"{'':19s}"
            print(f"{who:18s}{statistics.median(rates):9.0f}{min(rates):9.0f}{statistics.median(server):11.2f}"
                  f"{statistics.median(lone):9.2f}{quantile(lone, 0.9):8.2f}{quantile(lone, 0.99):8.2f}{cost}{max(t.load1 for t in turns):7.1f}")
        for one, other in (("now", "before"), ("now", "now, no journal")):
            self.compare(one, other)

    def compare(self, one, other):
        pairs = list(zip(self.turns[one], self.turns[other]))
        rows = (("binds/s", "%", [(a.rate / b.rate - 1) * 100 for a, b in pairs]),
                ("server ms", "%", [(a.server_ms / b.server_ms - 1) * 100 for a, b in pairs]),
                ("lone pod", "ms", [statistics.median(a.lone) - statistics.median(b.lone) for a, b in pairs]))
        print(f"{one} against {other}, by round:")
        for what, unit, values in rows:
            print(f"  {what:10s} median {statistics.median(values):+.1f} {unit} ({', '.join(f'{v:+.1f}' for v in values)})")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("build", help="the build folder of the other version")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--pods", type=int, default=1000)
    parser.add_argument("--lone", type=int, default=60)
    muster.exit_on_sigterm()
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    with tempfile.TemporaryDirectory(prefix="muster-versions-") as folder:
        bench = Bench(options, folder)
        bench.run()
        bench.tell()


if __name__ == "__main__":
    main()
