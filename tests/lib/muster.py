"""Starts and stops the programs under test, and never leaves one behind."""
import ctypes
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request

from lib import kube as k8s
from lib.harness import Failed, until

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BIN = os.path.join(ROOT, os.environ.get("MUSTER_BUILD", "build"), "bin")
LIBC = ctypes.CDLL(None)


def program(name):
    path = os.path.join(BIN, name)
    if not os.access(path, os.X_OK):
        raise Failed(f"{name} is not built")
    return path


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def die_with_parent():
    LIBC.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class Process:
    """One child; its output goes to a file."""

    def __init__(self, name, args, log, env=None):
        self.name, self.log = name, log
        self.args = [program(name)] + [str(a) for a in args]
        with open(log, "ab") as out:
            self.popen = subprocess.Popen(self.args, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                          preexec_fn=die_with_parent, env={**os.environ, **(env or {})})
        self.pid = self.popen.pid

    def alive(self):
        return self.popen.poll() is None

    def kill(self, sig=signal.SIGKILL):
        if self.alive():
            self.popen.send_signal(sig)

    def wait(self, timeout_s=10):
        try:
            return self.popen.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise Failed(f"{self.name} did not end within {timeout_s} s\n{self.said()}")

    def said(self, last=4000):
        with open(self.log, errors="replace") as f:
            return f.read()[-last:]

    def stop(self, timeout_s=10):
        """SIGTERM, and SIGKILL for one that doesn't listen; the exit code."""
        self.kill(signal.SIGTERM)
        try:
            return self.popen.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.kill()
            self.popen.wait()
            return -signal.SIGKILL


def run(name, *args, timeout_s=60, stdin=None):
    """(exit code, standard output, standard error)."""
    done = subprocess.run([program(name)] + [str(a) for a in args], capture_output=True, timeout=timeout_s,
                          input=stdin, preexec_fn=die_with_parent)
    return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")


def memory_kib(pid):
    """Resident and proportional set sizes."""
    text = open(f"/proc/{pid}/smaps_rollup").read()
    return {k: int(re.search(rf"^{k}:\s+(\d+)", text, re.M).group(1)) for k in ("Rss", "Pss")}


def children(pid):
    """{program name: pid} of a process's direct children."""
    found = {}
    try:
        pids = open(f"/proc/{pid}/task/{pid}/children").read().split()
    except OSError:
        return found
    for child in pids:
        try:
            name = os.path.basename(open(f"/proc/{child}/cmdline", "rb").read().split(b"\0")[0].decode())
        except OSError:
            continue
        if name:
            found[name] = int(child)
    return found


class Cluster:
    """An API server of its own, and muster beside it when asked for.

        with Cluster(nodes=[...]) as c:
            c.up()
            c.kube.create(...)
    """

    def __init__(self, *apisim_args, objects=()):
        self.dir = tempfile.mkdtemp(prefix="muster-test-")
        self.apisim_args = list(apisim_args)
        self.objects = objects
        self.port = free_port()
        self.kubeconfig = os.path.join(self.dir, "kubeconfig")
        self.socket = os.path.join(self.dir, "muster.sock")
        self.listen = None
        self.processes = []

    def __enter__(self):
        try:
            self.start_apisim()
            self.kube.create_all(self.objects)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind, value, trace):
        if kind is not None:
            self.tell()
        self.close()

    def start_apisim(self):
        self.apisim = self.spawn("muster-apisim", "--port", self.port, "--kubeconfig-out", self.kubeconfig,
                                 *self.apisim_args)
        until(lambda: os.path.exists(self.kubeconfig) or not self.apisim.alive(), 60, "apisim's kubeconfig", 0.02)
        if not self.apisim.alive():
            raise Failed("muster-apisim ended:\n" + self.apisim.said())
        self.kube = k8s.Kube.from_kubeconfig(self.kubeconfig)
        until(self.answers, 30, "apisim answers", 0.02)

    def answers(self):
        try:
            return self.kube.raw("GET", "/api/v1/nodes?limit=1")[0] == 200
        except OSError:
            return False

    def spawn(self, name, *args, env=None):
        p = Process(name, args, os.path.join(self.dir, f"{name}.log"), env)
        self.processes.append(p)
        return p

    # ---- muster ----

    def up(self, *args):
        """Both daemons under musterctl up."""
        self.listen = f"127.0.0.1:{free_port()}"
        self.ctl = self.spawn("musterctl", "up", "--kubeconfig", self.kubeconfig, "--socket", self.socket,
                              "--listen", self.listen, *args)
        return self.ready(self.ctl)

    def pair(self, core=(), frontend=()):
        """Both daemons, started by hand."""
        self.listen = f"127.0.0.1:{free_port()}"
        self.start_core(*core)
        self.start_frontend(*frontend)
        return self.ready(self.frontend)

    def start_core(self, *args):
        self.core = self.spawn("muster-core", "--socket", self.socket, *args)

    def start_frontend(self, *args):
        self.frontend = self.spawn("muster-frontend", "--socket", self.socket, "--kubeconfig", self.kubeconfig,
                                   "--listen", self.listen, *args)

    def ready(self, process, timeout_s=30):
        until(lambda: self.serves("/readyz") or not process.alive(), timeout_s, "readyz", 0.02)
        if not process.alive():
            raise Failed(f"{process.name} ended:\n{process.said()}")
        return self

    def daemons(self):
        """{program: pid} of what musterctl up runs now."""
        return children(self.ctl.pid)

    def serves(self, path):
        """The body of an answer 200, else None."""
        try:
            with urllib.request.urlopen(f"http://{self.listen}{path}", timeout=5) as r:
                return r.read().decode() or " "
        except OSError:
            return None

    def metrics(self):
        """{'name{labels}': value}; {} while nobody serves."""
        values = {}
        for line in (self.serves("/metrics") or "").splitlines():
            if line and not line.startswith("#"):
                name, value = line.rsplit(" ", 1)
                values[name] = float(value)
        return values

    def metric(self, name):
        """The sum over all label sets of one metric."""
        return sum(v for k, v in self.metrics().items() if k.split("{")[0] == name)

    def ask(self, *args, **more):
        """musterctl on this scheduler: (exit code, output, diagnostics)."""
        return run("musterctl", args[0], "--socket", self.socket, *args[1:], **more)

    # ---- apisim ----

    def stats(self):
        return self.kube.get("/apisim/stats")

    def arm(self, **faults):
        """Arm failures, e.g. arm(bind_500_after={"count": 3})."""
        for name, how in faults.items():
            self.kube.call("POST", "/apisim/faults", {"fault": name.replace("_", "-"), **how})

    # ---- the end ----

    def tell(self):
        """What the programs said, for a test that failed."""
        for p in {p.log: p for p in self.processes}.values():
            print(f"---- {p.name} ----\n{p.said(2500)}", flush=True)

    def close(self):
        for p in reversed(self.processes):
            p.stop()
        shutil.rmtree(self.dir, ignore_errors=True)
