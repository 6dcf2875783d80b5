#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kubelets for the real API server, as those of apisim:

    bound -> Running and Ready -> Succeeded after the annotation muster.io/run-seconds
    deleted -> gone

In a test's own process as a context manager, or as a separate one:

    tests/real/kubelet.py KUBECONFIG [--except NAMESPACE]...     until it is stopped
"""
import argparse
import datetime
import heapq
import http.client
import itertools
import pathlib
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import kube, muster  # noqa: E402

RUN_SECONDS = "muster.io/run-seconds"


def _now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def _status(pod, phase):
    runs = phase == "Running"
    now = _now()
    state = {"running": {"startedAt": now}} if runs else \
        {"terminated": {"exitCode": 0 if phase == "Succeeded" else 1, "reason": "Completed", "finishedAt": now}}
    conditions = [{"type": kind, "status": "True" if runs else "False", "lastTransitionTime": now}
                  for kind in ("Initialized", "ContainersReady", "Ready")]
    containers = [{"name": c["name"], "image": c["image"], "imageID": "", "ready": runs, "restartCount": 0,
                   "started": runs, "state": state} for c in pod["spec"]["containers"]]
    return {"metadata": {"uid": pod["metadata"]["uid"]},
            "status": {"phase": phase, "startTime": pod["status"].get("startTime", now), "conditions": conditions,
                       "containerStatuses": containers}}


def report(client, pod, phase):
    """As the kubelet of its node does; nothing when the pod is gone."""
    meta = pod["metadata"]
    try:
        client.patch("Pod", meta["name"], _status(pod, phase), meta["namespace"], "status", kube.STRATEGIC)
    except kube.ApiError as error:
        if error.status not in (404, 409):
            raise


class Kubelets:
    """without: namespaces whose pods stay bound and are not run, and those that begin with
    one of them and a dash."""

    def __init__(self, kubeconfig, without=()):
        self.client = kube.Client(kubeconfig)
        self.without = without
        self.errors = []
        self._told = {}  # uid -> phase that was reported, "gone" when deleted
        self._due, self._order = [], itertools.count()
        self._wake = threading.Condition()
        self._ending = False
        self._pool = ThreadPoolExecutor(4)
        self._threads = [threading.Thread(target=run, daemon=True) for run in (self._watch, self._ends)]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        with self._wake:
            self._ending = True
            self._wake.notify()
        self._pool.shutdown(cancel_futures=True)

    def _watch(self):
        selector = {"fieldSelector": "spec.nodeName!="}
        while not self._ending:
            try:
                pods, version = self.client.list_with_version("Pod", **selector)
                for pod in pods:
                    self._see(pod)
                for event in self.client.watch("Pod", version, timeout_s=300, **selector):
                    if self._ending or event["type"] == "ERROR":
                        break
                    if event["type"] in ("ADDED", "MODIFIED"):
                        self._see(event["object"])
            except (OSError, http.client.HTTPException, kube.ApiError, ValueError):
                time.sleep(0.2)  # the server went away or ended the watch: list again

    def _see(self, pod):
        meta = pod["metadata"]
        told = self._told.get(meta["uid"])
        if any(f'{meta["namespace"]}-'.startswith(f"{name}-") for name in self.without):
            return
        if meta.get("deletionTimestamp"):
            if told != "gone":
                self._do(self._remove, pod, "gone")
        elif told is None and pod["status"].get("phase") == "Pending":
            self._do(self._run, pod, "Running")

    def _do(self, call, pod, state):
        self._told[pod["metadata"]["uid"]] = state
        if not self._ending:
            self._pool.submit(self._try, call, pod, state)

    def _try(self, call, pod, state):
        try:
            kube.retry(lambda: call(self.client, pod, state))
        except Exception as error:  # pylint: disable=broad-except
            self.errors.append(f'{pod["metadata"]["name"]} {state}: {error!r}')

    def _run(self, client, pod, _):
        """Its time starts when the server has the status."""
        report(client, pod, "Running")
        seconds = (pod["metadata"].get("annotations") or {}).get(RUN_SECONDS)
        if seconds:
            with self._wake:
                heapq.heappush(self._due, (time.monotonic() + float(seconds), next(self._order), pod))
                self._wake.notify()

    @staticmethod
    def _remove(client, pod, _):
        meta = pod["metadata"]
        body = {"gracePeriodSeconds": 0, "preconditions": {"uid": meta["uid"]}}
        try:
            client.request("DELETE", client.path("Pod", meta["namespace"], meta["name"]), body)
        except kube.ApiError as error:
            if error.status not in (404, 409):
                raise

    def _ends(self):
        while not self._ending:
            with self._wake:
                wait = self._due[0][0] - time.monotonic() if self._due else None
                if wait is None or wait > 0:
                    self._wake.wait(wait)
                    continue
                _, _, pod = heapq.heappop(self._due)
            if self._told.get(pod["metadata"]["uid"]) == "Running":
                self._do(report, pod, "Succeeded")


def main():
    parser = argparse.ArgumentParser(description="Kubelets for the real API server.")
    parser.add_argument("kubeconfig")
    parser.add_argument("--except", dest="without", metavar="NAMESPACE", action="append", default=[],
                        help="leave its pods, and those of NAMESPACE-*, as they are bound")
    options = parser.parse_args()
    muster.exit_on_sigterm()
    with Kubelets(options.kubeconfig, options.without) as kubelets:
        while not kubelets.errors:
            time.sleep(0.5)
    print(*kubelets.errors, sep="\n", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
