#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What watching costs those who are watched, in instructions, which don't depend on what else the machine does.

Both daemons run under valgrind and place the same gangs, one after the other, twice: with nobody there, and with
`musterctl top`, `explain` and `latency`, the page's state and a scrape of /metrics after each gang. Planning has to take
the same instructions, less than one in a hundred more. What the frontend spends on a look is told, and what its recorder of
latencies costs, which is always on.

    tests/watching.py"""
import os
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import muster, objects  # noqa: E402
from lib.cluster import Cluster, run  # noqa: E402
from lib.harness import Skip, check, equal, figure, main, until  # noqa: E402

NODES, GANGS, MEMBERS = 500, 12, 4
MOST_PERCENT = 1.0
# A plan by itself; with all that decides; with all that the core does in the end, its ticks among it.
PLAN = ("plan_gang", "cycle_run", "core_apply")
RECORDED, RECORDER_MOST_PERCENT = 40, 3.0  # gangs of ten
RECORDER = ("latency_put", "latency_sent", "latency_told", "latency_commanded", "latency_posted", "latency_bound", "system_monotonic_ns")
LOOK_MOST = 30e6  # of the frontend: one each second is 1 % of a CPU that does 3,000 million


def callgrind(c, name, *flags):
    """One of the daemons, its instructions counted."""
    out = os.path.join(c.folder, f"{name}.callgrind")
    process = muster.Process(["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={out}", muster.program(name), *flags],
                             os.path.join(c.folder, name + ".log"))
    process.name, process.counts = name, out
    c.processes.append(process)
    return process


def inclusive(path):
    """{function: instructions, with all that it calls}"""
    done = subprocess.run(["callgrind_annotate", "--inclusive=yes", "--threshold=100", path], capture_output=True, text=True,
                          check=True, timeout=120)
    rows = re.findall(r"^\s*([\d,]+) \([^)]*\)\s+\S*:(\w+)", done.stdout, re.M)
    total = re.search(r"^\s*([\d,]+) \([^)]*\)\s+PROGRAM TOTALS", done.stdout, re.M).group(1)
    counts = {"all": int(total.replace(",", ""))}
    for number, name in rows:
        counts[name] = max(counts.get(name, 0), int(number.replace(",", "")))
    return counts


def look(c):
    """One look of everybody who watches."""
    # A loop that is late under valgrind answers 503, and is asked again.
    for path in ("/metrics", "/latency", "/state.json"):
        until(lambda path=path: c.fetch(path)[0] == 200, 30, path)
    for command in (("top", "--once", "--socket", c.socket), ("latency", "--listen", c.listen),
                    ("explain", "--socket", c.socket, "default/waits")):
        code, _, err = run("musterctl", *command)
        check(code in (0, 1) and not err, command, err)


def work(rounds_s):
    """({function: instructions} of the core, of the frontend, seconds of each round).  rounds_s: nobody watches, and
    the rounds are as long as these; None: somebody does."""
    nodes = [objects.node(f"n{i:03}", cpu="64", memory="256Gi") for i in range(NODES)]
    with Cluster(*nodes) as c:
        c.listen = f"127.0.0.1:{muster.free_port()}"
        core = callgrind(c, "muster-core", "--socket", c.socket, "--spin-us", "0")
        frontend = callgrind(c, "muster-frontend", "--socket", c.socket, "--kubeconfig", str(c.kubeconfig), "--listen", c.listen)
        c.ready(frontend, 60)
        c.create(*pods_first(objects.gang("waits", 2, cpu="65")))
        took = []
        for i in range(GANGS):
            start = time.monotonic()
            c.create(*pods_first(objects.gang(f"g{i}", MEMBERS, cpu="2")))
            until(lambda: c.stats()["binds"] == (i + 1) * MEMBERS, 60, "a gang bound")
            time.sleep(0.5)
            if rounds_s is None:
                look(c)
            else:
                time.sleep(max(0, rounds_s[i] - (time.monotonic() - start)))
            took.append(time.monotonic() - start)
        for process in (frontend, core):
            equal(process.stop(60), 0, process.log()[-1000:])
        return inclusive(core.counts), inclusive(frontend.counts), took


def test_the_recorder_of_latencies_is_cheap():
    """It is always on, so it is counted where it stands: its functions, and every look at the clock as if it were for
    them alone, in all that the frontend does for these pods."""
    if not shutil.which("valgrind"):
        raise Skip("valgrind is not there")
    with Cluster(*(objects.node(f"n{i:03}", cpu="64") for i in range(100))) as c:
        c.listen = f"127.0.0.1:{muster.free_port()}"
        c.start_core()
        frontend = callgrind(c, "muster-frontend", "--socket", c.socket, "--kubeconfig", str(c.kubeconfig), "--listen", c.listen)
        c.ready(frontend, 60)
        subprocess.run(["callgrind_control", "-z", str(frontend.pid)], capture_output=True, check=True)
        for i in range(RECORDED):
            c.create(*pods_first(objects.gang(f"g{i}", 10, cpu="1")))
        until(lambda: c.stats()["binds"] == RECORDED * 10, 100, "the gangs bound")
        equal(frontend.stop(60), 0, frontend.log()[-1000:])
        counts = inclusive(frontend.counts)
        check(counts.get("latency_bound", 0) > 0, sorted(counts)[:50])
        parts = {name: counts.get(name, 0) for name in RECORDER}
        percent = sum(parts.values()) * 100 / counts["all"]
        figure(f"recorder: {percent:.2f} % of the {counts['all'] / RECORDED / 10:.0f} instructions of the frontend for a pod: {parts}")
        check(percent < RECORDER_MOST_PERCENT, percent)


def pods_first(gang):
    """The group comes last, so that one look at the gang is all there is to do."""
    group, pods = gang
    return (*pods, group)


def test_planning_takes_the_same():
    for program in ("valgrind", "callgrind_annotate"):
        if not shutil.which(program):
            raise Skip(f"{program} is not there")
    watched, watched_frontend, rounds_s = work(None)
    alone, alone_frontend, _ = work(rounds_s)
    for name in PLAN:
        percent = (watched[name] - alone[name]) * 100 / alone[name]
        figure(f"{name}: {alone[name]} instructions with nobody there, {watched[name]} watched: {percent:+.2f} %")
        check(percent < MOST_PERCENT, name, "takes", percent, "% more")
    each = (watched_frontend["all"] - alone_frontend["all"]) / GANGS
    parts = {name: watched_frontend.get(name, 0) // GANGS for name in ("state_write", "metrics_write", "latency_write")}
    figure(f"frontend: {each / 1e6:.1f} million instructions for a look with {NODES} nodes, of which {parts}")
    check(each < LOOK_MOST, "a look takes", each, "instructions of the frontend")


if __name__ == "__main__":
    main(globals())
