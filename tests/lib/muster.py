# SPDX-License-Identifier: Apache-2.0
"""Starts and stops muster's programs for a test, each with a log of its own.
Whatever happens to the test, nothing of it stays behind: a child dies with
the thread that started it, at the latest with our process."""

import atexit
import contextlib
import fcntl
import itertools
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from . import kube

ROOT = pathlib.Path(__file__).resolve().parents[2]
# MUSTER_BUILD=build-address runs the same test on the sanitized programs.
BUILD = ROOT / os.environ.get("MUSTER_BUILD", "build")


def program(name):
    path = BUILD / "bin" / name
    if not path.exists():
        raise FileNotFoundError(f"{path} is not built; run make")
    return str(path)


_ports = itertools.count()
_PORTS_FIRST, _PORTS_EACH, _BLOCKS = 10000, 160, 137  # below those that the kernel gives to connections
_PORT_WAIT_S = 70
_PORT_TAKEN_S = 60  # a program that was given a port listens by then
_ports_lock = threading.Lock()
_given = {}  # by port: not again before


_claimed = {}  # by process, since a fork is another one: its first port, and the lock on it


def _first_port():
    """Of a block that no other process has, as long as this one lives."""
    pid = os.getpid()
    for block in range(pid, pid + _BLOCKS):
        if pid in _claimed:
            break
        lock = open(os.path.join(tempfile.gettempdir(), f"muster-ports-{block % _BLOCKS}"), "w", encoding="ascii")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _claimed[pid] = _PORTS_FIRST + block % _BLOCKS * _PORTS_EACH, lock
        except OSError:
            lock.close()
    return _claimed[pid][0]


def free_port():
    """A port without a listener.  Each process has a range of its own, so that another process
    doesn't choose the same port at the same time, and a thread gets none that another one was just
    given.  A used port is free a minute after its last connection, so a process that uses many may
    have to wait."""
    deadline = time.monotonic() + _PORT_WAIT_S
    while time.monotonic() < deadline:
        with _ports_lock:
            first = _first_port()
            for _ in range(_PORTS_EACH):
                port = first + next(_ports) % _PORTS_EACH
                if time.monotonic() < _given.get(port, 0):
                    continue
                with socket.socket() as probe, contextlib.suppress(OSError):
                    probe.bind(("127.0.0.1", port))
                    _given[port] = time.monotonic() + _PORT_TAKEN_S
                    return port
        time.sleep(0.5)
    raise OSError(f"no free port from {first} to {first + _PORTS_EACH - 1}")


def exit_on_sigterm():
    """A test unwinds on SIGTERM, so that its children are stopped too."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


def scratch(prefix="muster-test-"):
    """A folder that is removed when the test ends, unless MUSTER_KEEP is set."""
    path = tempfile.mkdtemp(prefix=prefix)
    if os.environ.get("MUSTER_KEEP"):
        print(f"kept: {path}", file=sys.stderr)
    else:
        atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


# In front of a command: killed when the test ends, however it ends.  Code between fork and exec
# (preexec_fn) may stand still for ever on a lock that another thread of the test had.
DIES_WITH_US = ("setpriv", "--pdeathsig", "KILL", "--")


class Process:
    """A child with its output in a file.  A context manager; stop() may be
    called more than once."""

    def __init__(self, argv, log, env=None, dies_with_us=True):
        self.name = os.path.basename(argv[0])
        self.log_path = str(log)
        with open(log, "ab") as out:
            self.child = subprocess.Popen(
                [*(DIES_WITH_US if dies_with_us else ()), *argv], stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                start_new_session=True, env={**os.environ, **(env or {})})
        self.pid = self.child.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def running(self):
        return self.child.poll() is None

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def _stopped(self):
        """By SIGSTOP: it will not end by itself."""
        with contextlib.suppress(OSError), open(f"/proc/{self.pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rsplit(")", 1)[1].split()[0] == "T"

    def stop(self, timeout_s=60):
        """SIGTERM, then SIGKILL to the rest of its process group;
        returns the exit code."""
        if self.running() and self._stopped():
            self.child.kill()
        if self.running():
            self.child.terminate()
            try:
                self.child.wait(timeout_s)
            except subprocess.TimeoutExpired:
                self.child.kill()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        return self.child.wait()

    def kill(self):
        self.child.kill()
        return self.child.wait()


class Muster(Process):
    """`musterctl up`: both daemons on this host.

    extra: more flags for it.  listen and socket are picked unless given.  bin: the folder of the
    programs, when they are not those of the build."""

    def __init__(self, kubeconfig, folder, *extra, env=None, listen=None, bin=None):
        os.makedirs(folder, exist_ok=True)
        self.folder = folder
        self.listen = listen or f"127.0.0.1:{free_port()}"
        self.socket = os.path.join(folder, "muster.sock")
        ctl = os.path.join(bin, "musterctl") if bin else program("musterctl")
        super().__init__([ctl, "up", "--kubeconfig", str(kubeconfig), "--listen", self.listen,
                          "--socket", self.socket, *extra], os.path.join(folder, "muster.log"), env)

    def fetch(self, path):
        return kube.fetch(self.listen, path)

    def wait_ready(self, timeout_s=120):
        """Until its lists are in the ledger."""
        end = time.monotonic() + timeout_s
        while True:
            status, said = self.fetch("/readyz")
            if status == 200:
                return self
            if not self.running() or time.monotonic() > end:
                raise AssertionError(f"muster is not ready: /readyz says {status} {said}; "
                                     f"exit {self.child.poll()}; its log ends:\n{self.log()[-3000:]}")
            time.sleep(0.05)

    def daemon_pid(self, name):
        """The pid of muster-core or muster-frontend that runs now, or None."""
        for pid, parent, command in processes():
            if parent == self.pid and command == name[:15]:
                return pid
        return None

    def ctl(self, *arguments, check=True):
        """The parsed JSON of a musterctl question about this scheduler."""
        done = subprocess.run([program("musterctl"), arguments[0], "--socket", self.socket, "-o", "json",
                               *arguments[1:]], capture_output=True, text=True, timeout=180)
        if check and done.returncode != 0:
            raise AssertionError(f"musterctl {arguments}: exit {done.returncode}: {done.stderr}")
        return json.loads(done.stdout)


class Apisim(Process):
    """muster-apisim on a free port; .kubeconfig is its admin's.

    extra: more flags for it, as in Apisim(folder, "--nodes", "100")."""

    def __init__(self, folder, *extra, env=None):
        os.makedirs(folder, exist_ok=True)
        self.folder = folder
        self.port = free_port()
        self.kubeconfig = os.path.join(folder, "apisim.kubeconfig")
        super().__init__([program("muster-apisim"), "--port", str(self.port), "--kubeconfig-out", self.kubeconfig,
                          *extra], os.path.join(folder, "apisim.log"), env)

    def wait_ready(self, timeout_s=120):
        """Returns a client of it."""
        kube.wait_for(lambda: os.path.exists(self.kubeconfig) or not self.running(), "apisim's kubeconfig", timeout_s)
        if not self.running():
            raise AssertionError(f"apisim ended with {self.child.poll()}:\n{self.log()[-3000:]}")
        client = kube.Client(self.kubeconfig)
        client.wait_ready(timeout_s)
        return client


def processes():
    """(pid, parent, command) of what runs on this machine."""
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        with contextlib.suppress(OSError):
            with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as file:
                head, tail = file.read().rsplit(")", 1)
            state, parent = tail.split()[:2]
            if state != "Z":
                yield int(entry), int(parent), head.split("(", 1)[1]


def cpu_s(*pids):
    """CPU time of processes so far, in seconds."""
    ticks = 0
    for pid in pids:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            ticks += sum(int(field) for field in file.read().rsplit(")", 1)[1].split()[11:13])
    return ticks / os.sysconf("SC_CLK_TCK")


def memory_kib(pid):
    """Resident memory of a process, in KiB."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS:"))
