# SPDX-License-Identifier: Apache-2.0
"""A recording of a live pair, played by muster-bench trace: waits as they were, and what would have been
with more nodes, or with other queues."""
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import kube, objects  # noqa: E402
from lib.cluster import Cluster, run  # noqa: E402
from lib.harness import check, equal, figure, main, until  # noqa: E402

RUNS_S = 3.0
# Seconds that the times of the test may be away from those of the core: a pod is bound, and gone, a moment
# before the other side has it, and a play counts whole seconds.
SLACK_S = 1.5


def trace(path, *flags):
    """The rows of a play, by name."""
    code, out, err = run("muster-bench", "trace", path, "-o", "json", *flags)
    equal(code, 0, err)
    return {row["name"]: row["median"] for row in json.loads(out)["rows"]}


def refused(path, *flags):
    code, out, err = run("muster-bench", "trace", path, *flags)
    equal((code, out), (2, ""), err)
    check(err, "no message")
    return err


def gang(name, members, namespace="default"):
    """Each member takes a whole node."""
    return [objects.pod_group(name, members, namespace)] + [
        objects.pod(f"{name}-{i}", cpu="4", group=name, namespace=namespace) for i in range(members)]


def bound(c, name, namespace):
    return c.bound(f"{name}-", namespace)


def lives(c, gangs):
    """Each gang runs for RUNS_S once all of it is bound, and is deleted; returns when each started."""
    started, ended = {}, set()
    begin = time.monotonic()
    while len(ended) < len(gangs):
        check(time.monotonic() - begin < 60, f"started {started}, ended {ended}")
        now = time.monotonic() - begin
        for name, members, namespace in gangs:
            if name not in started and bound(c, name, namespace) == members:
                started[name] = now
            if name in started and name not in ended and now >= started[name] + RUNS_S:
                for i in range(members):
                    c.client.delete("Pod", f"{name}-{i}", namespace)
                ended.add(name)
        time.sleep(0.05)
    return started


def recorded(c, *core):
    """Two nodes, a daemon on each, and gangs of two teams that take turns on them."""
    path = os.path.join(c.folder, "recording")
    c.pair(core=("--record", path, *core))
    gangs = [("a", 2, "one"), ("b", 1, "one"), ("c", 1, "two"), ("d", 2, "two")]
    c.create(*[o for name, members, namespace in gangs for o in gang(name, members, namespace)])
    started = lives(c, gangs)
    c.create(objects.pod("stays", cpu="1", namespace="two"))
    until(lambda: c.bound("stays", "two") == 1, 30, "a pod that does not end is bound")
    time.sleep(1)
    equal(c.core.stop(), 0, "muster-core's exit code")
    return path, started


def cluster():
    nodes = [objects.node(name, cpu="4500m") for name in ("n0", "n1")]
    daemons = [objects.pod(f"daemon-{i}", cpu="400m", scheduler="other", nodeName=f"n{i}") for i in range(2)]
    # Nothing here tolerates it: a play has to know that.
    nodes.append(objects.node("n2", cpu="4500m", taints=[{"key": "apart", "effect": "NoSchedule"}]))
    return nodes + daemons + [kube.namespace(name) for name in ("one", "two")]


def about(value, wanted, slack_s=SLACK_S):
    check(abs(value - wanted) <= slack_s, f"{value}, not {wanted} or so")


def test_a_recording_answers_what_if():
    with Cluster(*cluster()) as c:
        path, started = recorded(c)
        rows = trace(path)
        figure({name: round(value, 2) for name, value in rows.items()})
        waits = [*started.values(), 0]
        equal((rows["jobs"], rows["jobs-left-out"], rows["nodes"]), (5, 0, 3), rows)
        equal((rows["jobs-unfinished"], rows["jobs-waiting"], rows["jobs-with-rules"]), (1, 0, 0), rows)
        check(2 <= sum(waits) / len(waits) <= 4, started)
        # As the test saw it, as the recording has it, and as it is played.
        about(rows["recorded-wait"], sum(waits) / len(waits))
        about(rows["wait"], rows["recorded-wait"], 1)
        about(rows["recorded-wait-p99"], max(waits))
        about(rows["utilisation"], rows["recorded-utilisation"], 10)
        check(rows["recorded-utilisation"] > 50, rows)
        for score in ("kube", "pack"):
            equal(trace(path, "--score", score)["wait"], rows["wait"], score)
        equal(trace(path, "--promise-depth", "1")["promises-late"], 0)

        more = trace(path, "--add-nodes", "2")
        equal(more["nodes"], 5)
        check(more["wait"] < rows["wait"] / 2 and more["recorded-wait"] == rows["recorded-wait"], more)
        equal(trace(path, "--add-nodes", "4")["wait"], 0, "all start at once")
        code, out, err = run("muster-bench", "trace", path, "--add-nodes", "4")
        check("4 nodes more, each as 3 of the recording: cpu (milli)=4500 memory=" in err, err)

        queues = os.path.join(c.folder, "queues.yaml")
        waits_of = {}
        for limit in (8, 5):
            with open(queues, "w", encoding="utf-8") as f:
                f.write(f"- name: one\n- name: two\n  limit: {{cpu: {limit}}}\n")
            waits_of[limit] = trace(path, "--queues", queues)
        figure({limit: (w["wait"], w["jobs-waiting"]) for limit, w in waits_of.items()})
        # d asks for 8, and stays waits behind nothing.
        equal((waits_of[8]["jobs-waiting"], waits_of[5]["jobs-waiting"]), (0, 1), waits_of)
        check(waits_of[5]["wait"] > waits_of[8]["wait"], waits_of)
        check(waits_of[5]["wait-p99/two"] > waits_of[8]["wait-p99/two"], waits_of)

        damaged(path, c.folder)


def damaged(path, folder):
    """What is cut is played as far as it goes; what was changed is refused."""
    whole = open(path, "rb").read()
    copy = os.path.join(folder, "copy")
    for size in (9, 100, 300):
        with open(copy, "wb") as f:
            f.write(whole[:size])
        refused(copy)
    with open(copy, "wb") as f:
        f.write(whole[:-1])
    trace(copy)
    for at in (20, 200, len(whole) // 2):
        with open(copy, "wb") as f:
            f.write(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1:])
        code, out, err = run("muster-bench", "trace", copy)
        equal((code, out), (2, ""), err)
    check("offset" in err, err)
    subprocess.run(["gzip", "-kf", path], check=True)
    equal(trace(path + ".gz")["jobs"], 5)
    for flags in (("--nodes", "3"), ("--add-nodes", "5000000"), ("--queues", os.path.join(folder, "none")), ("--busy", "three")):
        refused(path, *flags)
    check("has nodes of its own" in refused(path, "--nodes", "3"))


if __name__ == "__main__":
    main(globals())
