# SPDX-License-Identifier: Apache-2.0
"""All pods of a scenario as a watch shows them, recorded from its first moment on, so that
intermediate states are seen as well, without polling."""
import time

from lib import check, groups
from lib.cluster import Follower


class Watched(Follower):
    """Nodes are given by `room`, which the frame fills before it creates one."""

    def __init__(self, client, namespaces):
        super().__init__(client)
        self.namespaces = namespaces  # the scenario's, which grow
        self.pods = {}                # uid -> the newest we saw
        self.ever = {}                # uid -> each pod that was there
        self.turns = []               # (time, "bound" or "gone", pod)
        self.peak = {}                # group -> most members bound at once; only those that we saw being bound
        self._unbound = set()         # uids seen without a node

    def add_node(self, node):
        self.room[node["metadata"]["name"]] = {k: check.quantity(v) for k, v in node["status"]["allocatable"].items()}

    def _see(self, pod):
        if pod["metadata"].get("namespace") not in self.namespaces:
            return
        super()._see(pod)
        uid = pod["metadata"]["uid"]
        before = self.pods.get(uid)
        self.pods[uid] = self.ever[uid] = pod
        if not check.is_bound(pod):
            self._unbound.add(uid)
        elif uid in self._unbound and not (before and check.is_bound(before)):
            self.turns.append((time.monotonic(), "bound", pod))
            self._count(pod)

    def _gone(self, pod):
        super()._gone(pod)
        if self.pods.pop(pod["metadata"]["uid"], None):
            self.turns.append((time.monotonic(), "gone", pod))

    def _count(self, pod):
        group = groups.of(pod)
        if group:
            at = (pod["metadata"]["namespace"], group.name)
            bound = sum(1 for p in list(self.pods.values()) if check.is_bound(p) and same(p, at))
            self.peak[at] = max(self.peak.get(at, 0), bound)

    def named(self, prefix, namespace=None):
        return [p for p in list(self.pods.values()) if p["metadata"]["name"].startswith(prefix) and
                namespace in (None, p["metadata"]["namespace"])]

    def count(self, prefix="", namespace=None):
        return sum(map(check.is_bound, self.named(prefix, namespace)))

    def turns_since(self, start, prefix, namespace=None):
        return [(what, check.key(p)) for when, what, p in list(self.turns)
                if when >= start and p["metadata"]["name"].startswith(prefix) and
                namespace in (None, p["metadata"]["namespace"])]


def same(pod, at):
    group = groups.of(pod)
    return group is not None and (pod["metadata"]["namespace"], group.name) == at
