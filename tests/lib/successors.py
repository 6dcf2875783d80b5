# SPDX-License-Identifier: Apache-2.0
"""A controller and a scheduler beside muster: a pod of theirs that is being deleted has a successor at once, on the same node
if the other scheduler may have it.  The scheduler is a stand-in, or the real kube-scheduler."""
import threading
import time

from . import objects
from .check import condition
from .harness import until

SCHEDULER, REAL = "theirs", "default-scheduler"
HELD = "example.com/successor"  # the finalizer by which a pod is there until its successor has been seen to


def pod(name, node=None, cpu="2", scheduler=SCHEDULER, **spec):
    made = objects.pod(name, cpu=cpu, memory="1Mi", scheduler=scheduler, labels={"number": "0"},
                       **({"nodeName": node} if node else {}), **spec)
    made["metadata"]["finalizers"] = [HELD]
    return made


class Successors(threading.Thread):
    """`spec` as that of pod().  may_have(pod, node), what an extender would answer, before each binding; None: it is not asked.
    `real`: the successors are kube-scheduler's, and a pod goes once its successor is bound or was refused."""

    def __init__(self, client, may_have=None, real=False, **spec):
        super().__init__()
        self.real = real
        self.client, self.may_have, self.spec = client, may_have, spec
        self.node = None   # of the last one that went
        self.ended = threading.Event()
        self.failed = None
        self.went = []     # (time, name) of each pod that was evicted
        self.refused = 0   # bindings that the extender forbade

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, kind, *_):
        self.ended.set()
        self.join()
        if kind is None and self.failed:
            raise self.failed

    def _seen_to(self, name):
        """kube-scheduler has bound the successor, or said why not."""
        now = self.client.get("Pod", name)
        refused = (condition(now) or {}).get("status") == "False"
        self.refused += refused
        return now["spec"].get("nodeName") or refused

    def _bind(self, name, node):
        if self.real:
            until(lambda: self._seen_to(name), 30, f"kube-scheduler sees to {name}")
            return
        if self.may_have and not self.may_have(self.client.get("Pod", name), node):
            self.refused += 1
            return
        self.client.bind(name, node)

    def _look(self):
        theirs = [p for p in self.client.list("Pod") if p["spec"]["schedulerName"] == (REAL if self.real else SCHEDULER)]
        for old in theirs:
            name, node = old["metadata"]["name"], old["spec"].get("nodeName")
            if not node and not self.real and not old["metadata"].get("deletionTimestamp"):
                self._bind(name, self.node)
            if not old["metadata"].get("deletionTimestamp") or HELD not in old["metadata"].get("finalizers", []):
                continue
            self.went.append((time.monotonic(), name))
            self.node = node
            self.client.create(pod(f"next-{len(self.went)}", scheduler=REAL if self.real else SCHEDULER, **self.spec))
            self._bind(f"next-{len(self.went)}", node)
            self.client.patch("Pod", name, {"metadata": {"finalizers": None}})

    def run(self):
        try:
            while not self.ended.wait(0.05):
                self._look()
        except Exception as error:  # pylint: disable=broad-exception-caught
            self.failed = error
