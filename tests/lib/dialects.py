# SPDX-License-Identifier: Apache-2.0
"""The ways in which a cluster declares a gang, as tests write them.

    made = DIALECTS["configmap"].objects("g", 3, "ns")     the object that declares the group
    DIALECTS["configmap"].mark(pod, "g", 3)                the marks of its members
"""
import json

from .objects import GROUP_LABEL, pod_group

L1_LABEL = "pod-group.scheduling.sigs.k8s.io"
L0_NAME, L0_MIN = L1_LABEL + "/name", L1_LABEL + "/min-available"
CONFIGMAP_LABEL = "pod-group.scheduling.bdap.com/podgroup-configmap"
TASK_NAME, TASK_NUMBER = "scheduling.k8s.io/group-name", "scheduling.k8s.io/group-pod-num"
KOORDINATOR_NAME = "gang.scheduling.koordinator.sh/name"
KOORDINATOR_MIN = "gang.scheduling.koordinator.sh/min-available"
KUEUE_NAME, KUEUE_COUNT = "kueue.x-k8s.io/pod-group-name", "kueue.x-k8s.io/pod-group-total-count"
# The resources that apisim serves only with --crd.  The CRD of Volcano (1.14, 1.15) has no status subresource.
CRDS = ("scheduling.volcano.sh/v1beta1/podgroups/PodGroup/nostatus", "scheduling.run.ai/v2alpha2/podgroups/PodGroup",
        "kosmos.io/v1alpha1/workloadpolicies/WorkloadPolicy")
LWS = "leaderworkerset.sigs.k8s.io/"
KAI_NAME = "pod-group-name"
YUNIKORN_NAME, YUNIKORN_APP = "yunikorn.apache.org/task-group-name", "yunikorn.apache.org/app-id"
YUNIKORN_GROUPS = "yunikorn.apache.org/task-groups"
POLICY_LABEL, POLICY_LABEL_OF_PROSE = "workload-policy/kosmos.io", "workload-policy.kosmos.io"


def label(pod, pairs):
    pod["metadata"].setdefault("labels", {}).update(pairs)


def annotate(pod, pairs):
    pod["metadata"].setdefault("annotations", {}).update(pairs)


def old_pod_group(name, min_member, namespace="default", **spec):
    """The PodGroup of scheduler-plugins before 0.25."""
    return {**pod_group(name, min_member, namespace, **spec), "apiVersion": "scheduling.sigs.k8s.io/v1alpha1"}


def config_map(name, namespace="default", **data):
    """A group's ConfigMap; its values are texts."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace},
            "data": {key: str(value) for key, value in data.items()}}


def native_group(name, min_count, namespace="default", **spec):
    return {"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"schedulingPolicy": {"gang": {"minCount": min_count}}, **spec}}


def volcano_group(name, min_member, namespace="default", **spec):
    return {**pod_group(name, min_member, namespace, **spec), "apiVersion": "scheduling.volcano.sh/v1beta1"}


def kai_group(name, min_member, namespace="default", **spec):
    return {**pod_group(name, min_member, namespace, **spec), "apiVersion": "scheduling.run.ai/v2alpha2"}


def workload_policy(name, allocation, namespace="default", selector=None, key="workload-test", **spec):
    """allocation: {value of the topology label: replicas}"""
    return {"apiVersion": "kosmos.io/v1alpha1", "kind": "WorkloadPolicy",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"topologyKey": key, "labelSelector": selector or {"matchLabels": {"app": name}},
                     "allocationPolicy": [{"name": value, "replicas": n} for value, n in allocation.items()], **spec}}


class Dialect:
    """group(name, quorum, namespace) is the object that declares a group; None
    where the pods declare it."""

    def __init__(self, mark, group=None):
        self.mark, self.group = mark, group

    def objects(self, name, quorum, namespace="default"):
        return [self.group(name, quorum, namespace)] if self.group else []


def _native(pod, name, quorum):
    pod["spec"]["schedulingGroup"] = {"podGroupName": name}


def _leaderworkerset(pod, name, quorum):
    """The gang's name is the set's with the number of the group."""
    leader, _, index = name.rpartition("-")
    label(pod, {LWS + "name": leader, LWS + "group-index": index})
    annotate(pod, {LWS + "size": str(quorum)})


def _yunikorn(pod, name, quorum):
    annotate(pod, {YUNIKORN_NAME: "all", YUNIKORN_APP: name,
                   YUNIKORN_GROUPS: json.dumps([{"name": "all", "minMember": quorum, "minResource": {"cpu": "1"}}])})


DIALECTS = {
    "scheduler-plugins": Dialect(lambda p, g, n: label(p, {GROUP_LABEL: g}), pod_group),
    "scheduler-plugins-old": Dialect(lambda p, g, n: label(p, {L1_LABEL: g}), old_pod_group),
    "scheduler-plugins-labels": Dialect(lambda p, g, n: label(p, {L0_NAME: g, L0_MIN: str(n)})),
    "configmap": Dialect(lambda p, g, n: label(p, {CONFIGMAP_LABEL: g}),
                         lambda g, n, ns, **data: config_map(g, ns, minAvailable=n, **data)),
    "annotations": Dialect(lambda p, g, n: annotate(p, {TASK_NAME: g, TASK_NUMBER: str(n)})),
    "native": Dialect(_native, native_group),
    "volcano": Dialect(lambda p, g, n: annotate(p, {TASK_NAME: g}), volcano_group),
    "koordinator": Dialect(lambda p, g, n: annotate(p, {KOORDINATOR_NAME: g, KOORDINATOR_MIN: str(n)})),
    "leaderworkerset": Dialect(_leaderworkerset),
    "yunikorn": Dialect(_yunikorn),
    "kai": Dialect(lambda p, g, n: annotate(p, {KAI_NAME: g}), kai_group),
    "kueue": Dialect(lambda p, g, n: (label(p, {KUEUE_NAME: g}), annotate(p, {KUEUE_COUNT: str(n)}))),
}
