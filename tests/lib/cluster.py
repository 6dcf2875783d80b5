# SPDX-License-Identifier: Apache-2.0
"""An API server of its own for one test, and muster on request.

    with Cluster(node("n1")) as c:
        c.up()
        c.create(pod("a"))
        settles(c, "a", 1)
"""
import contextlib
import json
import os
import re
import resource
import shutil
import subprocess
from collections import defaultdict

from . import check, harness, kube, muster, objects
from .harness import until
from .outsider import Outsider


class Cluster:
    controllers = False  # those of kube-controller-manager run

    def __init__(self, *made, apisim=(), judged=False):
        """judged: tests/history.py follows from the first object on and is a part of wrongs() and of the end."""
        self.folder = muster.scratch()
        self.judge, self.judged = None, judged
        self.objects, self.apisim_flags = made, apisim
        self.processes = []
        self.socket = os.path.join(self.folder, "muster.sock")
        self.core_flags, self.frontend_flags = (), ()

    def __enter__(self):
        try:
            self.start_apisim()
            if self.judged:
                self.judge = Outsider(self.admin, self.folder)
            self.create(*self.objects)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind, *_):
        found = self.judge.end() if self.judge else []
        for process in reversed(self.processes):
            process.stop()
        found += self.crashes()
        if kind is not None or found:
            self.tell()
        self.close()
        if kind is None:
            harness.check(not found, found)

    def start_apisim(self):
        self.apisim = muster.Apisim(self.folder, *[str(f) for f in self.apisim_flags])
        self.processes.append(self.apisim)
        self.client = self.apisim.wait_ready()
        self.kubeconfig = self.admin = self.apisim.kubeconfig  # muster's, and that of everybody else

    def restart_apisim(self, *more):
        """On the same port and with the same kubeconfig, but empty."""
        port = self.apisim.port
        self.apisim = self.spawn("muster-apisim", "--port", port, "--kubeconfig-out", self.kubeconfig,
                                 *self.apisim_flags, *more)
        self.apisim.port = port
        self.client = kube.Client(self.kubeconfig)
        self.client.wait_ready()

    # ---- objects ----

    def create(self, *made):
        """One after the other."""
        for obj in made:
            self.client.create(obj)

    def gang(self, name, n, quorum=None, **rest):
        """A PodGroup and its members NAME-0 and on."""
        group, members = objects.gang(name, n, quorum, **rest)
        self.create(group, *members)

    def delete(self, kind, *names):
        for name in names:
            self.client.delete(kind, name)

    def delete_object(self, obj):
        self.client.delete(kube.kind_of(obj), obj["metadata"]["name"], obj["metadata"].get("namespace"))

    def pods(self, prefix="", namespace=None):
        """Those with this name prefix, of all namespaces without one."""
        return [p for p in self.client.list("Pod", namespace, page=5000) if p["metadata"]["name"].startswith(prefix)]

    def bound(self, prefix="", namespace=None):
        """How many of them have a node."""
        return sum(1 for p in self.pods(prefix, namespace) if check.is_bound(p))

    def why_pending(self, name, namespace="default"):
        """The message of its condition PodScheduled, or ""."""
        return (check.condition(self.client.get("Pod", name, namespace)) or {}).get("message", "")

    def wrongs(self):
        """Everything that must not be at rest."""
        if self.judge:
            self.judge.rest()
        found = check.cluster(self.client)
        found += [f"{check.key(p)}: {p['status'].get('reason')}" for p in self.pods()
                  if p.get("status", {}).get("phase") == "Failed"]
        stats = self.stats()
        found += [f"apisim counts {stats[what]} {what}" for what in
                  ("overcommitted", "boundToUnknownNode", "kubeletRejected") if stats[what]]
        return found

    def well(self, *running):
        """Nothing is wrong at rest, and these processes run."""
        wrongs = self.wrongs()
        harness.check(not wrongs, wrongs[:5])
        for process in running:
            harness.check(process.running(), process.name, "ended")

    def still(self, prefix, n=0):
        """No more of them are bound in two seconds."""
        harness.steady(lambda: self.bound(prefix) == n, 2.0, f"{n} of {prefix} bound")

    # ---- muster ----

    def up(self, *flags, wait=True, bin=None, env=None):
        """Both daemons under musterctl up."""
        self.ctl = muster.Muster(self.kubeconfig, self.folder, *[str(f) for f in flags], bin=bin, env=env)
        self.processes.append(self.ctl)
        self.listen = self.ctl.listen
        if wait:
            self.ctl.wait_ready()

    def daemons(self):
        """{program: pid} of what musterctl up runs now."""
        return {name: pid for pid, parent, name in muster.processes() if parent == self.ctl.pid}

    def spawn(self, name, *flags):
        p = muster.Process([muster.program(name), *[str(f) for f in flags]], os.path.join(self.folder, name + ".log"))
        self.processes.append(p)
        return p

    def pair(self, core=(), frontend=()):
        """Both daemons, started by hand."""
        self.core = self.start_core(*core)
        self.frontend = self.start_frontend(*frontend)
        self.ready(self.frontend)

    def start_core(self, *flags):
        return self.spawn("muster-core", "--socket", self.socket, *flags)

    def start_frontend(self, *flags, kubeconfig=None, listen=None):
        self.listen = listen or f"127.0.0.1:{muster.free_port()}"
        return self.spawn("muster-frontend", "--socket", self.socket, "--kubeconfig", kubeconfig or self.kubeconfig,
                          "--listen", self.listen, *flags)

    def ready(self, process, timeout_s=30):
        until(lambda: self.fetch("/readyz")[0] == 200 or not process.running(), timeout_s, "readyz")
        harness.check(process.running(), process.name, "ended:", process.log()[-2000:])

    def fetch(self, path):
        return kube.fetch(self.listen, path)

    def metrics(self):
        return kube.metrics(self.listen)

    def metric(self, name):
        """The sum over all label sets."""
        return sum(value for key, value in self.metrics().items() if key.split("{")[0] == name)

    def ask(self, *arguments):
        """musterctl about this scheduler: (exit code, output, diagnostics)."""
        return run("musterctl", arguments[0], "--socket", self.socket, *arguments[1:])

    def ask_json(self, *arguments):
        """The same as JSON: (exit code, output)."""
        code, out, err = self.ask(*arguments, "-o", "json")
        harness.check(out, f"musterctl {arguments}: exit {code}: {err}")
        return code, json.loads(out)

    # ---- apisim ----

    def stats(self):
        return self.client.request("GET", "/apisim/stats")

    def arm(self, fault, **how):
        self.client.request("POST", "/apisim/faults", {"fault": fault, **how})

    # ---- the end ----

    def tell(self):
        """The programs' output, for a test that failed."""
        for process in self.processes:
            with contextlib.suppress(OSError):
                print(f"---- {process.name} ----\n{process.log()[-2500:]}", flush=True)

    def crashes(self):
        """Lines of logs that no test may cause, whatever it does to the programs."""
        pattern = re.compile(r".*(?:Sanitizer|runtime error|Assertion|died of signal (?!9 |15 )).*")
        return [line for process in self.processes for line in pattern.findall(process.log())][:5]

    def close(self):
        if self.judge:
            self.judge.stop()
        for process in reversed(self.processes):
            process.stop()
        if not os.environ.get("MUSTER_KEEP"):
            shutil.rmtree(self.folder, ignore_errors=True)


def run(name, *flags, timeout_s=180, stdin=None, env=None):
    """(exit code, standard output, standard error) of one of our programs."""
    done = subprocess.run([muster.program(name), *[str(f) for f in flags]], capture_output=True, timeout=timeout_s,
                          input=stdin, text=True, env={**os.environ, **(env or {})})
    return done.returncode, done.stdout, done.stderr


def cpu_of_children_s():
    """CPU time of those that have ended: what a command takes, whatever else the machine does."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Follower(check.History):
    """A history that also records the sum of every node at every version: none
    ever exceeds its allocatable, not even for a moment."""

    def __init__(self, client):
        super().__init__(client)
        self.room = {n["metadata"]["name"]: {k: check.quantity(v) for k, v in n["status"]["allocatable"].items()}
                     for n in client.list("Node", page=5000)}
        self.taken = {}
        self.sums = defaultdict(lambda: defaultdict(int))

    def _see(self, pod):
        super()._see(pod)
        uid, takes = pod["metadata"]["uid"], check.takes_room(pod)
        if takes and uid not in self.taken:
            self.taken[uid] = (pod["spec"]["nodeName"], check.request_of(pod))
            self._add(*self.taken[uid], 1)
            self._look(pod, *self.taken[uid])
        elif not takes and uid in self.taken:
            self._add(*self.taken.pop(uid), -1)

    def _gone(self, pod):
        if pod["metadata"]["uid"] in self.taken:
            self._add(*self.taken.pop(pod["metadata"]["uid"]), -1)

    def _add(self, node, amounts, sign):
        for resource, amount in amounts.items():
            self.sums[node][resource] += sign * amount

    def _look(self, pod, node, amounts):
        for resource in amounts:
            if node in self.room and self.sums[node][resource] > self.room[node].get(resource, 0):
                self.wrong.append(f"version {pod['metadata']['resourceVersion']}: {check.key(pod)} puts node {node} "
                                  f"over its {resource}")
