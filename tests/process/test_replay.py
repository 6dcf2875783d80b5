# SPDX-License-Identifier: Apache-2.0
"""A live core's decisions are repeated: muster-core --record with an API server that fails, a
frontend that is killed, a command ring that is too small; then musterctl replay, of this build
and of others, gives the same commands byte for byte, and any damage is detected."""
import json
import os
import random
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import load, muster, objects  # noqa: E402
from lib.cluster import Cluster, run  # noqa: E402
from lib.harness import check, equal, figure, main, until  # noqa: E402

DONE, NO, USAGE, CONFIG = 0, 1, 2, 78
NODES, PODS = 60, 600
FAULTS = ["bind-500-before", "bind-500-after", "bind-409-before", "bind-429", "bind-cut-after", "cut-watches", "compact"]
# Small enough that plans repeatedly wait for space in it.
CORE = ("--command-ring-bytes", 4096, "--log-level", "info")


def replayed(path, *flags):
    """The output of replay, in JSON; the result must be equal."""
    code, out, err = run("musterctl", "replay", path, "-o", "json", *flags)
    equal((code, err), (DONE, ""), out)
    answer = json.loads(out)
    check(answer["equal"], answer)
    return answer


def told(answer, kind):
    return sum(k["records"] for k in answer["kinds"] if k["kind"] == kind)


def busy_run(c, rng):
    """Gangs come and go while faults are injected and the frontend is killed; returns how
    many pods have a node."""
    made = load.jobs(rng, load.split(rng, PODS, 1, 80), gpus=40)
    whale = [objects.pod_group("whale", 3)] + [objects.pod(f"whale-{i}", cpu="200", group="whale") for i in range(3)]
    for fault in rng.sample(FAULTS, 4):
        c.arm(fault, count=rng.randint(2, 15), ms=rng.randint(1, 200))
    half = len(made) // 2
    load.submit(c.client, whale + load.flat(made[:half]))
    until(lambda: c.stats()["binds"] >= PODS // 8, 30, "some pods are bound")
    c.frontend.kill()
    load.submit(c.client, load.flat(made[half:]))
    c.frontend = c.start_frontend()
    c.ready(c.frontend)
    until(lambda: c.bound("job-") == PODS, 60, "all pods are bound")
    c.delete("Pod", *[p["metadata"]["name"] for p in made[0][1] + made[-1][1]])
    until(lambda: c.metric("muster_objects_pods_pending") == 3, 30, "only the whale waits")


def other_builds():
    """Programs of other builds that are there; one with sanitizers is made if it is not."""
    done = subprocess.run(["make", "-s", "--no-print-directory", "SAN=address", "build-address/bin/musterctl"],
                          cwd=muster.ROOT, capture_output=True, text=True)
    equal(done.returncode, 0, done.stderr[-2000:])
    names = ["build-address", "build-clang", "build-thread", "build-O0"]
    return [p for p in (muster.ROOT / n / "bin" / "musterctl" for n in names) if p.exists()]


def flipped(path, rng, folder):
    """Each of some flipped bytes makes it a bad file, and the offset is reported."""
    whole = open(path, "rb").read()
    copy = os.path.join(folder, "flipped")
    for at in [rng.randrange(200, len(whole)) for _ in range(5)] + [100, len(whole) - 1]:
        with open(copy, "wb") as out:
            out.write(whole[:at] + bytes([whole[at] ^ 1 << rng.randrange(8)]) + whole[at + 1:])
        code, out, err = run("musterctl", "replay", copy)
        equal((code, out), (USAGE, ""), f"byte {at} of {len(whole)}")
        check("offset" in err, err)


def test_live_run_again():
    rng = random.Random(load.seed())
    with Cluster(*load.nodes(rng, NODES)) as c:
        path = os.path.join(c.folder, "recording")
        c.pair(core=("--record", path, *CORE))
        busy_run(c, rng)
        binds = c.stats()["binds"]
        equal(c.core.stop(), 0, "muster-core's exit code")
        check("the core was stopped" in c.core.log(), c.core.log())

        answer = replayed(path)
        equal(answer["end"], "ended when the core was stopped")
        equal(told(answer, "EVENT_BEGIN"), 2, "epochs")
        check(told(answer, "RESULT_BOUND") >= PODS // 4 and told(answer, "EVENT_POD") > PODS, answer)
        check(answer["full"] > 0, "the command ring was never full", answer)
        code, out, _ = run("musterctl", "replay", path, "--print")
        equal(code, DONE)
        check(out.count(" bind default/job-") >= binds, out[-2000:])
        check("gang default/whale waits: " in out, out[-2000:])
        figure(f"{answer['records']} records, {answer['commands']} commands, {answer['full']} times no room, "
               f"{os.path.getsize(path)} bytes")

        for other in other_builds():
            done = subprocess.run([str(other), "replay", path, "-o", "json"], capture_output=True, text=True)
            if done.returncode == CONFIG:
                figure(f"{other.parts[-3]}: an older layout, passed over")
                check(other.parts[-3] != "build-address", done.stderr)
                continue
            equal(done.returncode, DONE, done.stdout[-2000:] + done.stderr)
            again = json.loads(done.stdout)
            equal((again["records"], again["commands"]), (answer["records"], answer["commands"]), other)
            figure(f"{other.parts[-3]}: equal")

        until_half = replayed(path, "--until", answer["records"] // 2)
        equal(until_half["records"], answer["records"] // 2)
        packed = subprocess.run(["gzip", "-kf", path], check=True)
        equal((packed.returncode, replayed(path + ".gz")["commands"]), (0, answer["commands"]))
        flipped(path, rng, c.folder)


def test_a_full_disk_at_the_start_is_no_reason_not_to_serve():
    with Cluster(*load.nodes(random.Random(load.seed()), 2)) as c:
        c.pair(core=("--record", "/dev/full"))
        c.create(objects.pod("a"))
        until(lambda: c.bound() == 1, 30, "a is bound")
        check('msg="nothing is recorded" file=' in c.core.log(), c.core.log())


def test_killed_core_leaves_it_readable():
    """kill -9, then a crash: the written part is readable, and the next core keeps it."""
    rng = random.Random(load.seed())
    with Cluster(*load.nodes(rng, NODES)) as c:
        path = os.path.join(c.folder, "recording")
        c.pair(core=("--record", path))
        load.submit(c.client, load.flat(load.jobs(rng, load.split(rng, 200, 1, 40), gpus=40)))
        until(lambda: c.bound() == 200, 30, "all pods are bound")
        until(lambda: c.ask_json("status")[1]["pods_bound"] == 200, 30, "the core has them, by results or by the watch")
        time.sleep(1)  # its writer naps
        c.core.kill()
        killed = replayed(path)
        check("the core was killed" in killed["end"], killed)
        check(killed["commands"] >= 200 and told(killed, "EVENT_POD") >= 200, killed)

        c.core = c.start_core("--record", path)
        load.submit(c.client, load.flat(load.jobs(rng, load.split(rng, 50, 1, 20), prefix="more", gpus=40)))
        until(lambda: c.bound("more-") == 50, 30, "more pods are bound")
        until(lambda: c.ask_json("status")[1]["pods_bound"] == 250, 30, "the core has them, by results or by the watch")
        equal(replayed(path + ".old")["records"], killed["records"])
        c.core.child.send_signal(signal.SIGABRT)
        equal(c.core.child.wait(60), -signal.SIGABRT)
        crashed = replayed(path)
        equal(crashed["end"], f"ended when the core crashed (signal {signal.SIGABRT.value})")
        check(crashed["commands"] >= 50 and told(crashed, "EVENT_POD") >= 250, crashed)


def test_what_can_not_be_recorded_or_replayed():
    folder = muster.scratch()
    other = os.path.join(folder, "other")
    open(other, "w").write("not ours\n")
    socket = os.path.join(folder, "s")
    for path, why in ((other, "the file is there and is no recording"), (os.path.join(folder, "no", "such"), "No such")):
        code, out, err = run("muster-core", "--socket", socket, "--record", path)
        equal((code, out), (USAGE, ""), err)
        check(why in err, err)
    equal(open(other).read(), "not ours\n")
    for flags, why in (((other,), "no recording"), ((os.path.join(folder, "none"),), "No such file"), ((), "FILE is missing"),
                       ((other, other), "one FILE"), ((other, "--until", "0"), "--until 0"),
                       ((other, "-o", "yaml"), "json is the only")):
        code, out, err = run("musterctl", "replay", *flags)
        equal((code, out), (USAGE, ""), err)
        check(why in err, err)


if __name__ == "__main__":
    main(globals())
