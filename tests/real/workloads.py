# SPDX-License-Identifier: Apache-2.0
"""Workloads as users write them, whose pods kube-controller-manager makes."""
from lib.dialects import DIALECTS
from real.kubelet import RUN_SECONDS


def template(app, dialect=None, group=None, quorum=None, cpu="1", annotations=None, **spec):
    """A pod template as users write it: a scheduler's name, a request and a mark."""
    made = {"metadata": {"labels": {"app": app}, "annotations": annotations or {}},
            "spec": {"schedulerName": "muster", **spec,
                     "containers": [{"name": "main", "image": "registry.invalid/none:1",
                                     "resources": {"requests": {"cpu": cpu, "memory": "100Mi"}}}]}}
    if dialect:
        DIALECTS[dialect].mark(made, group or app, quorum)
    return made


def workload(kind, app, replicas, pods=None, **spec):
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": app, "namespace": "default"},
            "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": app}},
                     "template": pods or template(app), **spec}}


def job(name, members, seconds="1", pods=None, **spec):
    """Its pods run so long; None: until they are ended."""
    pods = pods or template(name)
    pods["spec"]["restartPolicy"] = "Never"
    if seconds:
        pods["metadata"]["annotations"][RUN_SECONDS] = seconds
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": "default"},
            "spec": {"completions": members, "parallelism": members, "template": pods, **spec}}
