#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A checker of the history of any cluster, whatever schedules there: it reads pods, nodes and groups at the
API server and judges the writes by their revisions.  It has no code and no state of a scheduler.

    tests/history.py watch --kubeconfig FILE --out HISTORY   record, and judge at the end of standard input
    tests/history.py judge HISTORY                           judge a recorded history

`watch` lists and then holds one watch per resource.  A line `rest` on its standard input marks a moment at
which nothing is under way.  HISTORY is JSON lines, one for each revision that changed something that is
judged; gzip when its name ends in .gz.  Revisions of different resources are compared, as KEP-5504 permits.

Violations, at each revision in order:

    overfull    a pod is bound to a node whose pods then request more than it has (cpu, memory, pods, extended)
    moved       spec.nodeName of a pod changes
    nowhere     a pod is bound to a node that does not exist or is cordoned, for longer than RACE_S

and at each `rest`:

    torn        a group has bound members, but fewer than minMember

Requests are counted as kube-scheduler does (component-helpers, resource.PodRequests).  Excused is what another
scheduler or a person caused: see outside/judge.py.  In a gap between a watch that expired (410)
and the list after it the order of changes is unknown: what was bound in it is judged at its end.

The last line is `N revisions, M bindings, V violations, E excused`; exit 1 on violations, 2 for a history that
can't be judged."""
import argparse
import contextlib
import gzip
import heapq
import http.client
import json
import sys
import threading
import time

from lib import kube
from outside.facts import GROUPS, pruned
from outside.judge import MARK, Judge

CATCH_UP_S = 20.0
AGAIN_S = 0.2


def opened(path, mode):
    return gzip.open(path, mode, compresslevel=1) if str(path).endswith(".gz") else open(path, mode)


def records(path, kind=None):
    """Of one kind; a history that was cut off ends where it was cut."""
    prefix = f'{{"kind": "{kind}"' if kind else "{"
    with opened(path, "rb") as file, contextlib.suppress(EOFError):
        for line in file:
            if line.startswith(prefix.encode()) and line.endswith(b"\n"):
                yield json.loads(line)


def judged(path):
    """The Judge of a recorded history; ValueError if it can't be judged."""
    first, gaps, kinds = {}, [], {}
    for record in records(path):
        kinds[record["kind"]] = True
        if record["type"] == "BROKEN":
            raise ValueError(record["why"])
        if record["type"] == "LIST" and record["kind"] not in first:
            first[record["kind"]] = record["rv"]
        elif record["type"] == "LIST":
            gaps.append((record["since"], record["rv"]))
    if not {"Pod", "Node"} <= set(first):
        raise ValueError("the history has no first list of pods or of nodes")
    judge = Judge(max(first.values()), gaps)
    # A rest comes after all that its revision includes.
    order = {"Node": 0, **{kind: 1 for kind in GROUPS}, "Pod": 2, MARK: 3}
    for record in heapq.merge(*(records(path, kind) for kind in kinds), key=lambda r: (r["rv"], order[r["kind"]])):
        judge.apply(record)
    return judge


def tell(path):
    """Prints the verdict; the exit code."""
    try:
        judge = judged(path)
    except (OSError, ValueError) as error:
        print(f"not judged: {error}", flush=True)
        return 2
    for what, found in (("note", judge.notes), ("excused", judge.excused), ("violation", judge.violations)):
        for text in found.values():
            print(f"{what}: {text}")
    print(f"{judge.revisions} revisions, {judge.bindings} bindings, {len(judge.violations)} violations, "
          f"{len(judge.excused)} excused", flush=True)
    return 1 if judge.violations else 0


class Recorder:
    """Follows an API server; all threads write to one file."""

    def __init__(self, client, path):
        self.client, self.file, self.lock = client, opened(path, "wb"), threading.Lock()
        self.started, self.followed = time.monotonic(), []

    def write(self, kind, rv, how, **rest):
        record = {"kind": kind, "rv": rv, "at": round(time.monotonic() - self.started, 3), "type": how, **rest}
        with self.lock:
            if not self.file.closed:
                self.file.write(json.dumps(record).encode() + b"\n")

    def start(self):
        """The first lists are complete; nodes come first, so that pods are judged against them."""
        for kind in ("Node", *GROUPS, "Pod"):
            followed = Followed(self, kind)
            try:
                followed.list()
            except kube.ApiError as error:
                if error.status != 404 or kind not in GROUPS:
                    raise
                continue
            self.followed.append(followed)
            followed.start()

    def catch_up(self):
        """The revision of a state that is recorded: it includes every write so far."""
        at = {followed: followed.catch_up() for followed in self.followed}
        for followed in [f for f, version in at.items() if version < max(at.values())]:
            followed.catch_up()
        return max(at.values())

    def end(self):
        self.catch_up()
        with self.lock:
            self.file.close()


class Followed(threading.Thread):
    """One resource: a list, and a watch that is resumed where it was cut."""

    def __init__(self, recorder, kind):
        super().__init__(daemon=True)
        self.recorder, self.kind, self.client = recorder, kind, recorder.client
        self.version = self.certain = 0  # delivered; known by a list to have been delivered
        self.known, self.turn = {}, threading.Lock()  # uid -> (rv, text of what is judged)

    def revision(self):
        return int(self.client.request("GET", self.client.path(self.kind, limit=1))["metadata"]["resourceVersion"])

    def list(self):
        items, version = self.listed()
        with self.turn:
            kept = [pruned(self.kind, o) for o in items]
            self.known = {o["metadata"]["uid"]: (int(o["metadata"]["resourceVersion"]), json.dumps(k))
                          for o, k in zip(items, kept)}
            self.recorder.write(self.kind, int(version), "LIST", since=max(self.version, self.certain), items=kept)
            self.version = int(version)
        return self.version

    def run(self):
        cut = False
        while True:
            try:
                if cut and self.revision() < self.version:
                    self.recorder.write(MARK, 0, "BROKEN", why="the server began anew at a lower revision")
                    return
                cut = False
                for event in self.client.watch(self.kind, str(self.version), timeout_s=300):
                    if event["type"] == "ERROR":
                        raise kube.ApiError("WATCH", self.kind, event["object"].get("code"), event["object"])
                    self.see(event["type"], event["object"])
            except (OSError, http.client.HTTPException, ValueError, kube.ApiError) as error:
                cut = True
                time.sleep(AGAIN_S)
                if getattr(error, "status", None) == 410:
                    with contextlib.suppress(OSError, http.client.HTTPException, ValueError, kube.ApiError):
                        self.list()

    def see(self, how, obj):
        with self.turn:
            rv = int(obj["metadata"]["resourceVersion"])
            if how != "BOOKMARK" and rv > self.version:
                kept = pruned(self.kind, obj)
                uid, text = obj["metadata"]["uid"], json.dumps(kept)
                if how == "DELETED":
                    self.known.pop(uid, None)
                changed = how == "DELETED" or self.known.get(uid, (0, ""))[1] != text
                if how != "DELETED":
                    self.known[uid] = rv, text
                if changed:
                    self.recorder.write(self.kind, rv, how, object=kept)
            self.version = max(self.version, rv)

    def listed(self):
        """As the server has them now; a server that does not answer has CATCH_UP_S to come back."""
        end = time.monotonic() + CATCH_UP_S
        while True:
            try:
                return self.client.list_with_version(self.kind, page=5000)
            except (OSError, http.client.HTTPException, kube.ApiError) as error:
                # 429 and 5xx: it has started, and its caches have not.
                started = isinstance(error, kube.ApiError) and error.status != 429 and error.status < 500
                if started or time.monotonic() > end:
                    raise
                time.sleep(AGAIN_S)

    def catch_up(self):
        """Until the watch has delivered what a list has now, or else as a new list has it; the revision of that."""
        items, version = self.listed()
        there, version = {o["metadata"]["uid"]: int(o["metadata"]["resourceVersion"]) for o in items}, int(version)
        end = time.monotonic() + CATCH_UP_S
        while time.monotonic() < end:
            with self.turn:
                known = {uid: rv for uid, (rv, _) in self.known.items()}
                if self.version >= version or known == there:
                    self.certain = version
                    return max(version, self.version)
            time.sleep(0.02)
        return self.list()


def watch(kubeconfig, out):
    recorder = Recorder(kube.Client(kubeconfig), out)
    recorder.start()
    print("watching", flush=True)
    for line in sys.stdin:
        if line.strip() == "rest":
            revision = recorder.catch_up()
            recorder.write(MARK, revision, "REST")
            print(f"rest {revision}", flush=True)
    recorder.end()
    return tell(out)


def main():
    parser = argparse.ArgumentParser(description="Judges the history of pods, nodes and groups of a cluster.")
    commands = parser.add_subparsers(dest="command", required=True)
    follow = commands.add_parser("watch", help="record until the end of standard input, then judge")
    follow.add_argument("--kubeconfig", required=True)
    follow.add_argument("--out", required=True, help="the file of the history")
    again = commands.add_parser("judge", help="judge a recorded history")
    again.add_argument("history")
    options = parser.parse_args()
    return tell(options.history) if options.command == "judge" else watch(options.kubeconfig, options.out)


if __name__ == "__main__":
    sys.exit(main())
