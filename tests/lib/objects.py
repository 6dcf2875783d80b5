# SPDX-License-Identifier: Apache-2.0
"""Kubernetes objects that tests submit, as plain dicts."""

GROUP_LABEL = "scheduling.x-k8s.io/pod-group"


def node(name, cpu="8", memory="32Gi", pods="110", labels=None, taints=None, unschedulable=None, **extended):
    """Extended resources by keyword: gpu="4" is nvidia.com/gpu."""
    amounts = {"cpu": cpu, "memory": memory, "pods": pods, "ephemeral-storage": "100Gi"}
    for key, amount in extended.items():
        amounts["nvidia.com/gpu" if key == "gpu" else key] = amount
    obj = {"apiVersion": "v1", "kind": "Node",
           "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
           "spec": {},
           "status": {"capacity": amounts, "allocatable": amounts,
                      "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady",
                                      "message": "", "lastHeartbeatTime": None, "lastTransitionTime": None}]}}
    if taints:
        obj["spec"]["taints"] = taints
    if unschedulable:
        obj["spec"]["unschedulable"] = True
    return obj


def pod(name, cpu="1", memory="1Gi", group=None, namespace="default", scheduler="muster", requests=None,
        labels=None, **spec):
    """More of the spec by keyword: nodeSelector={...}, tolerations=[...]."""
    labels = dict(labels or {})
    if group:
        labels[GROUP_LABEL] = group
    amounts = {"cpu": cpu, "memory": memory, **(requests or {})}
    resources = {"requests": amounts}
    limits = {key: amount for key, amount in amounts.items() if "/" in key}
    if limits:  # the API server requires both, and equal, for extended resources
        resources["limits"] = limits
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": namespace, "labels": labels},
            "spec": {"schedulerName": scheduler, "restartPolicy": "Never", "enableServiceLinks": False,
                     "automountServiceAccountToken": False, "terminationGracePeriodSeconds": 0,
                     "containers": [{"name": "main", "image": "registry.invalid/none:1", "resources": resources}],
                     **spec}}


def pod_group(name, min_member, namespace="default", **spec):
    return {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup",
            "metadata": {"name": name, "namespace": namespace}, "spec": {"minMember": min_member, **spec}}


def gang(name, members, min_member=None, **options):
    """A PodGroup and its pods, NAME-0 and on."""
    group = pod_group(name, members if min_member is None else min_member,
                      options.get("namespace", "default"))
    return group, [pod(f"{name}-{i}", group=name, **options) for i in range(members)]
