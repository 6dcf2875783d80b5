# SPDX-License-Identifier: Apache-2.0
"""The demo's driver: it succeeds on part of its input, reports an interruption, and
leaves nothing behind."""
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import muster  # noqa: E402
from lib.harness import check, equal, main, until  # noqa: E402


def start(runtime, *flags):
    return subprocess.Popen([muster.program("muster-demo"), "--data", str(muster.ROOT / "tests" / "demo" / "data"), *flags],
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            env={**os.environ, "XDG_RUNTIME_DIR": runtime})


def children(pid):
    family = {pid}
    for _ in range(3):
        family |= {p for p, parent, _ in muster.processes() if parent in family}
    return family - {pid}


def test_part_of_the_input():
    with tempfile.TemporaryDirectory() as runtime:
        demo = start(runtime, "--jobs", "1000", "--arrive", "1", "--limit", "170")
        out, _ = demo.communicate(timeout=180)
        equal(demo.returncode, 0, out)
        last = out.strip().splitlines()[-1]
        check(last.startswith("demo: ok: 1000 gangs placed whole, 0 part-placed, "), last)
        check("nodes over     none" in out, out)
        check("\033" not in out, "escapes in a pipe")
        equal(os.listdir(runtime), [], "left behind")


def test_less_than_a_second():
    """The fastest second is not slower than the whole."""
    with tempfile.TemporaryDirectory() as runtime:
        demo = start(runtime, "--jobs", "3", "--arrive", "0.1", "--limit", "170")
        out, _ = demo.communicate(timeout=180)
        equal(demo.returncode, 0, out)
        mean, fastest = re.search(r"speed +([0-9]+) pods per second, .*; ([0-9]+) in the fastest second", out).groups()
        check(0 < int(mean) <= int(fastest), out)


def test_broken_off():
    with tempfile.TemporaryDirectory() as runtime:
        demo = start(runtime, "--arrive", "20")
        until(lambda: len(children(demo.pid)) == 4, 15, "apisim, up and both daemons")
        family = children(demo.pid)
        time.sleep(1)
        demo.send_signal(signal.SIGINT)
        out, _ = demo.communicate(timeout=180)
        equal(demo.returncode, 1, out)
        equal(out.strip().splitlines()[-1], "demo: failed: stopped: Interrupt", "the last line")
        until(lambda: not family & {p for p, _, _ in muster.processes()}, 10, "processes are left")
        equal(os.listdir(runtime), [], "left behind")


def test_time_is_up():
    """More work than the machine can do in time is no failure, and is reported."""
    with tempfile.TemporaryDirectory() as runtime:
        demo = start(runtime, "--arrive", "2", "--limit", "7")
        out, _ = demo.communicate(timeout=180)
        equal(demo.returncode, 0, out)
        last = out.strip().splitlines()[-1]
        check(last.startswith("demo: time is up: ") and ", 0 part-placed, " in last, last)
        equal(os.listdir(runtime), [], "left behind")


def test_a_daemon_dies():
    """The scheduler continues, and the demo succeeds nevertheless."""
    with tempfile.TemporaryDirectory() as runtime:
        demo = start(runtime, "--jobs", "1500", "--arrive", "3", "--limit", "170")
        until(lambda: len(children(demo.pid)) == 4, 15, "apisim, up and both daemons")
        time.sleep(1.5)
        for pid, _, name in list(muster.processes()):
            if name == "muster-frontend" and pid in children(demo.pid):
                os.kill(pid, signal.SIGKILL)
        out, _ = demo.communicate(timeout=180)
        equal(demo.returncode, 0, out)
        check("demo: ok: 1500 gangs placed whole" in out, out)


def test_usage():
    for flags, part in ((["--no-such-flag"], "no-such-flag"), (["--jobs", "x"], "--jobs x"),
                        (["--jobs", "0.5"], "--jobs 0.5: not a whole number above 0"), (["--arrive", "0"], "not a number above 0 and below 100000"),
                        (["--jobs", "nan"], "--jobs nan"), (["--data", "/nowhere"], ".csv: No such file or directory")):
        done = subprocess.run([muster.program("muster-demo"), *flags], capture_output=True, text=True, timeout=180)
        equal(done.returncode, 2, done.stderr)
        check(part in done.stderr, done.stderr)


if __name__ == "__main__":
    main(globals())
