# SPDX-License-Identifier: Apache-2.0
"""A real control plane with muster, for the tests of one file."""
import contextlib
import os
import re

from lib import check, harness, muster
from lib.check import condition, is_bound
from lib.harness import equal, steady, until
from lib.kube import may_be_gone
from lib.objects import node
from lib.outsider import Outsider
from real.cluster import Cluster

SOON_S = 45
STILL_S = 2.0  # how long "nothing happens" is watched
OWNERS = ("Deployment", "StatefulSet", "DaemonSet", "Job", "ReplicaSet")
NATIVE = "PodGroup.scheduling.k8s.io"
LEFTOVERS = ("Pod", "PodGroup", "PodGroup.scheduling.sigs.k8s.io", "PodGroup.scheduling.volcano.sh",
             "PodGroup.scheduling.run.ai", "ConfigMap", "WorkloadPolicy", "Event", "Node")


class World:
    """One control plane and one muster for all tests; each test empties it.

    options: as Cluster has them; flags: more for musterctl up. tests/history.py follows the server."""

    def __init__(self, flags=(), **options):
        self.judge = None
        self.folder = muster.scratch("muster-real-")
        self.cluster = Cluster(os.path.join(self.folder, "cluster"), **options)
        self.flags = flags

    def __enter__(self):
        self.cluster.start()
        try:
            self.client = self.admin = self.cluster.admin()
            self.judge = Outsider(self.cluster.admin_kubeconfig, self.folder)
            self.muster = self.start_muster()
        except BaseException:
            self.cluster.stop()
            raise
        return self

    def __exit__(self, *_):
        try:
            self.end_history()
        finally:
            self.muster.stop()
            self.cluster.stop()

    def end_history(self):
        """Judges all so far. What comes now is not judged, as bindings by hand."""
        judge, self.judge = self.judge, None
        found = judge.end() if judge else []
        harness.check(not found, "history:", *found)

    def start_muster(self):
        up = muster.Muster(self.cluster.muster_kubeconfig, os.path.join(self.folder, "muster"), *self.flags)
        try:
            return up.wait_ready()
        except BaseException:
            up.stop()
            raise

    def fresh(self, *objects):
        """Nothing but these objects, and muster running."""
        if not self.muster.running():
            self.muster = self.start_muster()
        self.sweep()
        self.create(*objects)

    def sweep(self):
        """Owners first, and their pods until they make no more of them. What another
        owner made may be collected before its turn comes."""
        for kind in OWNERS if self.cluster.controllers else ():
            for owner in self.admin.list(kind, "default"):
                with may_be_gone():
                    self.delete(kind, owner["metadata"]["name"])
        self.empty(*LEFTOVERS, *("Workload", NATIVE) if self.cluster.gates else ())

    def empty(self, *kinds):
        """No pods and none of these, however often they are created again; a finalizer
        keeps native groups while they have pods."""
        def gone():
            for kind in {"Pod", *kinds}:
                self.admin.request("DELETE", self.admin.path(kind, "default", gracePeriodSeconds=0))
            return not any(self.admin.list(kind, "default") for kind in {"Pod", *kinds} - {"Event"})

        until(gone, SOON_S, f"none of {kinds}")

    def delete(self, kind, name):
        """With all that it made, as kubectl does it."""
        self.admin.request("DELETE", self.admin.path(kind, "default", name, propagationPolicy="Background"))

    def create(self, *objects):
        """Groups and nodes as they come, pods several at a time."""
        for obj in objects:
            if obj["kind"] != "Pod":
                self.admin.create(obj)
        self.admin.create_many([obj for obj in objects if obj["kind"] == "Pod"])

    def pods(self, prefix=""):
        return [p for p in self.admin.list("Pod") if p["metadata"]["name"].startswith(prefix)]

    def bound(self, prefix=""):
        return sum(map(is_bound, self.pods(prefix)))

    def running(self, prefix=""):
        return sum(p["status"].get("phase") == "Running" for p in self.pods(prefix))

    def made(self, prefix, count):
        until(lambda: len(self.pods(prefix)) == count, SOON_S, f"{count} pods of {prefix}")

    def status(self, kind, name):
        return self.admin.get(kind, name)["status"]

    def completes(self, job, members):
        """All members of the Job have succeeded, and its status has it."""
        def complete():
            seen = self.status("Job", job)
            return seen.get("succeeded") == members and any(
                c["type"] == "Complete" and c["status"] == "True" for c in seen.get("conditions", []))

        with self.told(job):
            until(complete, SOON_S, f"Job {job}: {members} succeeded")

    def settles(self, prefix, count, within_s=SOON_S):
        """That many are bound, and soon after no more."""
        with self.told(prefix):
            until(lambda: self.bound(prefix) >= count, within_s, f"{count} of {prefix} bound")
        steady(lambda: self.bound(prefix) == count, 0.5, f"{count} of {prefix} bound")
        equal(check.cluster(self.admin), [], "what must hold")
        if self.judge:
            self.judge.rest()

    def waits(self, prefix, *said):
        """None is bound, and each pod's condition matches these patterns."""
        def conditions():
            found = [condition(p) or {} for p in self.pods(prefix)]
            return all(c.get("status") == "False" and
                       all(re.search(s, c.get("message", "")) for s in said) for c in found)

        with self.told(prefix):
            until(conditions, SOON_S, f"{prefix}: a condition that matches {said}")
        steady(lambda: self.bound(prefix) == 0, STILL_S, f"0 of {prefix} bound")
        for p in self.pods(prefix):
            equal(condition(p)["reason"], "Unschedulable", p["metadata"]["name"])

    @contextlib.contextmanager
    def told(self, prefix):
        """What a failure in here leaves out: the state of the pods."""
        try:
            yield
        except harness.Failed:
            for p in self.pods(prefix)[:5]:
                print(p["metadata"]["name"], p["spec"].get("nodeName"), condition(p), flush=True)
            print(self.muster.log()[-3000:], flush=True)
            raise

    def notes(self, name, reason):
        """Events about this pod with this reason."""
        return [e for e in self.admin.list("Event")
                if e["regarding"].get("name") == name and e.get("reason") == reason]


def machines(count, first=0, **room):
    return [node(f"n{i:02}", **room) for i in range(first, first + count)]
