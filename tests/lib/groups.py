# SPDX-License-Identifier: Apache-2.0
"""Which group a pod belongs to and how many of it must start together, read from
the API objects alone; nothing here is shared with muster."""
import json
from collections import namedtuple

from .dialects import (CONFIGMAP_LABEL, KAI_NAME, KOORDINATOR_MIN, KOORDINATOR_NAME, KUEUE_COUNT, KUEUE_NAME, L0_MIN,
                       L0_NAME, L1_LABEL, LWS, TASK_NAME, TASK_NUMBER, YUNIKORN_APP, YUNIKORN_GROUPS, YUNIKORN_NAME)
from .objects import GROUP_LABEL

Group = namedtuple("Group", "kind name quorum")  # quorum: as the pod itself declares it, None when an object does


def number(text):
    """A decimal integer as a whole text, or None."""
    try:
        return int(text) if text and text.strip() == text and "_" not in text else None
    except ValueError:
        return None


def of(pod):
    """The pod's Group by the first mark in the order of precedence; None for an
    ordinary pod."""
    labels = pod["metadata"].get("labels") or {}
    notes = pod["metadata"].get("annotations") or {}
    task, n = notes.get(TASK_NAME), number(notes.get(TASK_NUMBER))
    by_label = [("L2", labels.get(GROUP_LABEL)), ("L1", labels.get(L1_LABEL))]
    for kind, name in by_label:
        if name:
            return Group(kind, name, None)
    if labels.get(L0_NAME) and (number(labels.get(L0_MIN)) or 0) >= 1:
        return Group("L0", labels[L0_NAME], number(labels[L0_MIN]))
    if labels.get(CONFIGMAP_LABEL):
        return Group("configmap", labels[CONFIGMAP_LABEL], None)
    if task and TASK_NUMBER in notes:
        return Group("annotations", task, n) if n else None
    if (pod["spec"].get("schedulingGroup") or {}).get("podGroupName"):
        return Group("native", pod["spec"]["schedulingGroup"]["podGroupName"], None)
    if task:
        return Group("volcano", task, None)
    if notes.get(KOORDINATOR_NAME):
        return Group("koordinator", notes[KOORDINATOR_NAME], number(notes.get(KOORDINATOR_MIN)))
    if notes.get(YUNIKORN_NAME):
        parts = json.loads(notes.get(YUNIKORN_GROUPS, "[]"))
        return Group("yunikorn", notes.get(YUNIKORN_APP), sum(part["minMember"] for part in parts))
    if notes.get(KAI_NAME):
        return Group("kai", notes[KAI_NAME], None)
    if labels.get(KUEUE_NAME):
        return Group("kueue", labels[KUEUE_NAME], number(notes.get(KUEUE_COUNT)))
    if labels.get(LWS + "name") and labels.get(LWS + "group-index"):
        parts = [labels.get(LWS + part) for part in ("name", "group-index", "template-revision-hash")]
        return Group("leaderworkerset", "-".join(filter(None, parts)), number(notes.get(LWS + "size")))
    return None


OBJECTS = {  # kind of group -> kinds of the objects that declare it, the first that exists counts
    "L2": ("PodGroup", "PodGroup.scheduling.sigs.k8s.io"),
    "L1": ("PodGroup.scheduling.sigs.k8s.io", "PodGroup"),
    "configmap": ("ConfigMap",),
    "native": ("PodGroup.scheduling.k8s.io",),
    "kai": ("PodGroup.scheduling.run.ai",),
    "volcano": ("PodGroup.scheduling.volcano.sh",),
}

KINDS = sorted({kind for kinds in OBJECTS.values() for kind in kinds})


def quorum_of(group, namespace, find):
    """find(kind, namespace, name) is the object or None.  None when nothing
    declares the group."""
    if group.kind not in OBJECTS:
        return group.quorum
    found = [o for o in (find(kind, namespace, group.name) for kind in OBJECTS[group.kind]) if o]
    if not found:
        return None
    if group.kind == "configmap":
        return number((found[0].get("data") or {}).get("minAvailable"))
    spec = found[0].get("spec") or {}
    if group.kind == "native":
        return ((spec.get("schedulingPolicy") or {}).get("gang") or {}).get("minCount", 1)
    return spec.get("minMember", 0)
