# SPDX-License-Identifier: Apache-2.0
"""What tests/history.py records of an object, and which group a pod names."""

PLUGINS, VOLCANO, NATIVE = "plugins", "volcano", "native"
# Kinds of lib/kube that declare groups, and the family of marks by which pods refer to them.
GROUPS = {"PodGroup": PLUGINS, "PodGroup.scheduling.sigs.k8s.io": PLUGINS,
          "PodGroup.scheduling.volcano.sh": VOLCANO, "PodGroup.scheduling.k8s.io": NATIVE}
LABELS = ("scheduling.x-k8s.io/pod-group", "pod-group.scheduling.sigs.k8s.io")
ANNOTATIONS = ("scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name")


def only(mapping, names):
    return {name: mapping[name] for name in names if (mapping or {}).get(name)}


def pruned(kind, obj):
    """What is judged of it; the same text means that nothing judged has changed."""
    meta, spec, status = obj["metadata"], obj.get("spec") or {}, obj.get("status") or {}
    kept = {"metadata": only(meta, ("name", "namespace", "uid", "deletionTimestamp"))}
    if kind == "Node":
        return {**kept, "spec": only(spec, ("unschedulable",)), "status": only(status, ("allocatable",))}
    if kind != "Pod":
        return {**kept, "spec": only(spec, ("minMember", "schedulingPolicy"))}
    for part, names in (("labels", LABELS), ("annotations", ANNOTATIONS)):
        kept["metadata"].update({part: only(meta.get(part), names)} if only(meta.get(part), names) else {})
    kept["spec"] = only(spec, ("nodeName", "schedulerName", "schedulingGroup", "overhead", "resources", "tolerations"))
    for part in ("initContainers", "containers"):
        if spec.get(part):
            kept["spec"][part] = [only(c, ("name", "restartPolicy", "resources")) for c in spec[part]]
    kept["status"] = only(status, ("phase", "resources", "allocatedResources"))
    for part in ("initContainerStatuses", "containerStatuses"):
        with_resources = [only(s, ("name", "resources", "allocatedResources")) for s in status.get(part) or ()
                          if s.get("resources")]
        kept["status"].update({part: with_resources} if with_resources else {})
    resize = [only(c, ("type", "reason")) for c in status.get("conditions") or () if c["type"] == "PodResizePending"]
    kept["status"].update({"conditions": resize} if resize else {})
    return kept


def key(obj):
    return f'{obj["metadata"].get("namespace", "default")}/{obj["metadata"]["name"]}'


def group_of(pod):
    """(family, namespace, name) of the group that the pod names, or None."""
    meta, namespace = pod["metadata"], pod["metadata"].get("namespace", "default")
    native = (pod["spec"].get("schedulingGroup") or {}).get("podGroupName")
    for family, names in ((PLUGINS, [(meta.get("labels") or {}).get(name) for name in LABELS]), (NATIVE, [native]),
                          (VOLCANO, [(meta.get("annotations") or {}).get(name) for name in ANNOTATIONS])):
        for name in filter(None, names):
            return family, namespace, name
    return None


def quorum_of(kind, group):
    if GROUPS[kind] == NATIVE:
        return ((group["spec"].get("schedulingPolicy") or {}).get("gang") or {}).get("minCount", 0)
    return group["spec"].get("minMember", 0)
