# SPDX-License-Identifier: Apache-2.0
"""Privileges that both daemons drop: no new privileges, and a filter of system calls over every thread."""
import os
import re
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import muster  # noqa: E402
from lib.cluster import Cluster, run  # noqa: E402
from lib.harness import Skip, check, equal, main, until  # noqa: E402
from lib.objects import node, pod  # noqa: E402

FILTERED = "2"  # Seccomp: of /proc/PID/status


def status(pid, field):
    """The field of each thread."""
    found = []
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/status", encoding="utf-8") as file:
            found += [line.split()[1] for line in file if line.startswith(field + ":")]
    return found


def needs_filters():
    if any(san in muster.BUILD.name for san in ("address", "thread", "coverage")):
        raise Skip("such a build has no filters")
    done = subprocess.run([muster.program("muster-core"), "--socket", "/nowhere/x/y", "--seccomp", "maybe"],
                          capture_output=True, text=True, check=False)
    equal((done.returncode, "not one of on, off" in done.stderr), (2, True), done.stderr)
    if not status(os.getpid(), "Seccomp"):
        raise Skip("this kernel has no filters")


def test_every_thread_is_confined():
    needs_filters()
    with Cluster(node("n1")) as c:
        c.up()
        c.create(pod("a"))
        until(lambda: c.bound() == 1, 20, "a is bound")
        said = c.ctl.log()
        for name, pid in c.daemons().items():
            threads = status(pid, "Seccomp")
            check(len(threads) > 1, f"{name} has {threads}")
            equal(set(threads), {FILTERED}, f"{name}: Seccomp")
            equal(set(status(pid, "NoNewPrivs")), {"1"}, f"{name}: NoNewPrivs")
        equal(said.count('msg="confined" no_new_privileges="yes" seccomp="on"'), 2, said[-2000:])
        check("given up" not in said, said[-2000:])


def test_off_is_off():
    needs_filters()
    with Cluster(node("n1")) as c:
        c.up("--seccomp", "off")
        for name, pid in c.daemons().items():
            equal(set(status(pid, "Seccomp")), {"0"}, f"{name}: Seccomp")
            equal(set(status(pid, "NoNewPrivs")), {"1"}, f"{name}: NoNewPrivs")
        equal(c.ctl.log().count('seccomp="off"'), 2, c.ctl.log()[-2000:])


def test_a_core_that_asks_for_more_ends():
    """strace puts a call that the core never makes in place of one that it does."""
    needs_filters()
    if not shutil.which("strace"):
        raise Skip("strace is not installed")
    with Cluster(node("n1")) as c:
        path = os.path.join(c.folder, "recording")
        # One thread alone may meet it: the second one's signal would end the core before the first one has written its line.
        c.pair(core=("--record", path, "--searchers", 0))
        trace = subprocess.Popen(["strace", "-f", "-o", "/dev/null", "-e", "trace=futex", "-e",
                                  "inject=futex:retval=0:syscall=getppid:when=1", "-p", str(c.core.pid)],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        if b"attached" not in trace.stderr.readline():
            trace.kill()
            raise Skip("ptrace is not allowed here")
        trace.stderr.close()
        trace.wait(60)
        equal(c.core.child.wait(60), -signal.SIGSYS, "how the core ended")
        said = c.core.log()
        check(re.search(r'level=error msg="a system call that was given up; ending" call="getppid" number=\d+', said),
              said[-2000:])
        code, out, err = run("musterctl", "replay", path)
        check(code == 0 and f"crashed (signal {int(signal.SIGSYS)})" in out, out + err)
        c.core = c.start_core()
        c.create(pod("a"))
        until(lambda: c.bound() == 1, 20, "a is bound")
        equal(c.wrongs(), [], "wrongs")


if __name__ == "__main__":
    main(globals())
