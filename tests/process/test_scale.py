# SPDX-License-Identifier: Apache-2.0
"""5,000 nodes and 10,000 pods in gangs of 2 to 1,000: everything is placed, nothing
twice, no node over its allocatable, by an independent reading of the API.

The pods are there before muster starts (preloaded) or come while it runs (live)."""
import os
import random
import re
import sys
import time
from collections import Counter

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import load  # noqa: E402
from lib.check import key, is_bound  # noqa: E402
from lib.cluster import Cluster  # noqa: E402
from lib.harness import check, equal, figure, main  # noqa: E402
from lib.objects import GROUP_LABEL  # noqa: E402

NODES = 5000
PODS = 10000
LARGEST = 1000


def bindings(c):
    return c.stats()["binds"]


def follow(c, total, within_s=120):
    """Wait for the last binding: when the first and the last one were seen."""
    first = None
    end = time.monotonic() + within_s
    while True:
        n, now = bindings(c), time.monotonic()
        if n and first is None:
            first = (now, n)
        if n >= total:
            return first, now
        check(now < end, f"{n} of {total} bound within {within_s} s")
        time.sleep(0.02)


def audit(c, made):
    """The second opinion."""
    pods = c.pods()
    equal(len(pods), PODS, "pods")
    equal([key(p) for p in pods if not is_bound(p)][:5], [], "pods without a node")
    wrongs = c.wrongs()
    check(not wrongs, len(wrongs), wrongs[:5])
    bound = Counter(p["metadata"]["labels"][GROUP_LABEL] for p in pods)
    equal(bound, {g["metadata"]["name"]: len(members) for g, members in made}, "bound in each gang")
    equal(c.stats()["binds"], PODS, "bindings that the server took")
    equal(c.stats()["doubleBindAttempts"], 0, "second bindings of a pod")


def memory(c):
    parts = []
    for name, pid in sorted(c.daemons().items()):
        rss, pss = memory_kib(pid)
        parts.append(f"{name} RSS {rss / 1024:.0f} MiB, PSS {pss / 1024:.0f} MiB")
    return "; ".join(parts)


def memory_kib(pid):
    """Resident, and with what is shared divided by its users."""
    text = open(f"/proc/{pid}/smaps_rollup").read()
    return [int(re.search(rf"^{what}:\s+(\d+)", text, re.M).group(1)) for what in ("Rss", "Pss")]


def report(what, c, start, first, last):
    (first_at, before), rate = first, 0.0
    if last > first_at:
        rate = (PODS - before) / (last - first_at)
    figure(f"{what}: {NODES} nodes, {PODS} pods: {last - start:.2f} s from the first event to the last binding, "
           f"{PODS / (last - start):.0f} pods/s; binds alone {rate:.0f}/s")
    figure(f"{what}: {memory(c)}")


def workload(seed):
    rng = random.Random(seed)
    made = load.jobs(rng, load.split(rng, PODS, 2, LARGEST))
    print(f"{len(made)} gangs of {min(len(p) for _, p in made)} to {max(len(p) for _, p in made)}")
    return load.nodes(rng, NODES), made


def test_preloaded():
    """Pods wait before muster starts."""
    nodes, made = workload(load.seed())
    with Cluster() as c:
        load.submit(c.client, nodes + load.flat(made))
        start = time.monotonic()
        c.up()
        first, last = follow(c, PODS)
        report("preloaded", c, start, first, last)
        audit(c, made)


def test_live():
    """Pods come while it runs; a PodGroup before its pods."""
    nodes, made = workload(load.seed())
    with Cluster() as c:
        load.submit(c.client, nodes)
        c.up()
        start = time.monotonic()
        load.submit(c.client, load.flat(made))
        sent = time.monotonic()
        first, last = follow(c, PODS)
        figure(f"live: submitted at {(PODS + len(made)) / (sent - start):.0f} objects/s, "
               f"last binding {max(0.0, last - sent):.2f} s after the last pod")
        report("live", c, start, first, last)
        audit(c, made)


if __name__ == "__main__":
    main(globals())
