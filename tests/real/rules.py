# SPDX-License-Identifier: Apache-2.0
"""A cluster and pods with rules of every type, from a seed, as a real API server
accepts them.

Priorities, claims that wait for their first pod and resource claims are omitted:
there kube-scheduler evicts or binds, which muster doesn't do."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import objects  # noqa: E402

HOST = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
DRIVER = "disk.example.com"
NAMESPACES = {"default": {}, "prod": {"team": "x", "env": "prod"}, "dev": {"env": "dev"}}
IMAGES = {"registry.invalid/small:1": 30 << 20, "registry.invalid/web:latest": 300 << 20,
          "registry.invalid/model:2": 1400 << 20}
APPS = ["web", "db", "cache", "batch"]


# ---- nodes -----------------------------------------------------------------------------------

def taints(rng):
    out = {}
    for _ in range(rng.choice([0, 0, 0, 0, 0, 1, 2])):
        key = rng.choice(["gpu", "dedicated", "old"])
        effect = rng.choice(["NoSchedule", "PreferNoSchedule", "NoExecute"])
        out[key, effect] = {"key": key, "value": rng.choice(["", "a", "b"]), "effect": effect}
    return list(out.values())


def node_labels(rng, name):
    labels = {HOST: name, "gen": rng.choice(["1", "2", "7", "007", "x"])}
    if rng.random() < 0.9:
        labels[ZONE] = f"zone-{rng.choice('abc')}"
        labels["topology.kubernetes.io/region"] = "east"
    if rng.random() < 0.8:
        labels["disk"] = rng.choice(["ssd", "hdd"])
    return labels


def node(rng, name):
    more = {}
    if rng.random() < 0.4:
        more["example.com/fpga"] = rng.choice(["0", "1", "4"])
    if rng.random() < 0.3:
        more["hugepages-2Mi"] = rng.choice(["512Mi", "1Gi"])
    obj = objects.node(name, cpu=rng.choice(["4", "8", "7500m", "16", "32"]),
                       memory=rng.choice(["4Gi", "16Gi", "33554432Ki"]),
                       pods=rng.choice(["110", "110", "110", "110", "5"]),
                       labels=node_labels(rng, name), taints=taints(rng), unschedulable=rng.random() < 0.1, **more)
    obj["status"]["images"] = [{"names": [image], "sizeBytes": size} for image, size in IMAGES.items()
                               if rng.random() < 0.4]
    return obj


# ---- what rules are made of ------------------------------------------------------------------

def selector(rng):
    kind = rng.randrange(8)
    some = rng.sample(APPS, 2)
    if kind < 4:
        return {"matchLabels": {"app": some[0]}}
    if kind == 4:
        return {"matchExpressions": [{"key": "app", "operator": "In", "values": some}]}
    if kind == 5:
        return {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": some}]}
    if kind == 6:
        return {"matchExpressions": [{"key": "app", "operator": rng.choice(["Exists", "DoesNotExist"])}]}
    return {}


def label_keys(rng, rule, *fields):
    if "labelSelector" in rule and rng.random() < 0.2:
        rule[rng.choice(fields)] = ["tier"]
    return rule


def pod_term(rng):
    term = {"topologyKey": rng.choice([HOST, HOST, ZONE, ZONE, "disk", "topology.kubernetes.io/region", "nowhere"])}
    if rng.random() < 0.95:
        term["labelSelector"] = selector(rng)
    kind = rng.randrange(8)
    if kind == 0:
        term["namespaces"] = rng.sample(sorted(NAMESPACES), 2)
    elif kind == 1:
        term["namespaceSelector"] = {}
    elif kind == 2:
        term["namespaceSelector"] = {"matchLabels": {"env": rng.choice(["prod", "dev"])}}
    elif kind == 3:
        term["namespaceSelector"] = {"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]}
    return label_keys(rng, term, "matchLabelKeys", "mismatchLabelKeys")


def requirement(rng, preferred):
    kind = rng.randrange(6)
    if kind == 0:
        return {"key": ZONE, "operator": rng.choice(["In", "NotIn"]),
                "values": rng.sample(["zone-a", "zone-b", "zone-c"], 2)}
    if kind == 1:
        return {"key": "disk", "operator": "In", "values": [rng.choice(["ssd", "hdd"])]}
    if kind == 2:
        return {"key": rng.choice(["disk", ZONE]), "operator": rng.choice(["Exists", "DoesNotExist"])}
    # In a preference a number that isn't one makes kube-scheduler's attempt an error.
    numbers = ["1", "6"] if preferred else ["1", "6", "y"]
    return {"key": "gen", "operator": rng.choice(["Gt", "Lt"]), "values": [rng.choice(numbers)]}


def node_term(rng, preferred=False):
    if rng.random() < 0.07:
        return {}
    term = {"matchExpressions": [requirement(rng, preferred) for _ in range(rng.choice([1, 1, 2]))]}
    if rng.random() < 0.1:
        term["matchFields"] = [{"key": "metadata.name", "operator": rng.choice(["In", "NotIn"]),
                                "values": [f"n{rng.randrange(16):02}"]}]
    return term


def affinity(spec, kind):
    return spec.setdefault("affinity", {}).setdefault(kind, {})


# ---- rules, each of which changes a pod ------------------------------------------------------

def add_resources(rng, pod):
    spec, kind = pod["spec"], rng.randrange(8)
    wants = spec["containers"][0]["resources"].setdefault("requests", {})
    wants["cpu"] = rng.choice(["1", "1500m", "0.1", "2", "3", "15"])
    wants["memory"] = rng.choice(["1Gi", "1e9", "100M", "3.5Gi", "12Gi"])
    if kind == 0:
        add_amount(spec["containers"][0], "example.com/fpga", rng.choice(["1", "2", "5"]))
    elif kind == 1:
        add_amount(spec["containers"][0], "hugepages-2Mi", rng.choice(["2Mi", "600Mi"]))
    elif kind == 2:
        spec["initContainers"] = [container("first", cpu=rng.choice(["2", "6"])),
                                  dict(container("side", cpu="500m"), restartPolicy="Always"),
                                  container("second", memory="5Gi")]
    elif kind == 3:
        spec["resources"] = {"requests": {"cpu": rng.choice(["16", "15500m"]), "memory": "16Gi"}}
    elif kind == 4:
        spec["runtimeClassName"] = "sandbox"
    elif kind == 5:
        wants["ephemeral-storage"] = rng.choice(["1Gi", "200Gi"])
    elif kind == 6:
        spec["containers"][0]["resources"] = {}


def add_amount(of, name, amount):
    of["resources"].setdefault("requests", {})[name] = amount
    of["resources"].setdefault("limits", {})[name] = amount


def container(name, image="registry.invalid/none:1", **requests):
    return {"name": name, "image": image, "resources": {"requests": requests}}


def add_node_rule(rng, pod):
    if rng.random() < 0.3:
        pod["spec"]["nodeSelector"] = {"disk": rng.choice(["ssd", "ssd", "hdd", "hdd", "tape"])}
    else:
        terms = [node_term(rng) for _ in range(rng.choice([1, 1, 2]))]
        affinity(pod["spec"], "nodeAffinity")[REQUIRED] = {"nodeSelectorTerms": terms}


def add_named_node(rng, pod):
    fields = [{"key": "metadata.name", "operator": "In", "values": [name]}
              for name in rng.sample(["n01", "n03", "n05", "gone"], 2 if rng.random() < 0.2 else 1)]
    affinity(pod["spec"], "nodeAffinity")[REQUIRED] = {"nodeSelectorTerms": [{"matchFields": fields}]}


def add_node_preference(rng, pod):
    affinity(pod["spec"], "nodeAffinity")[PREFERRED] = [
        {"weight": rng.randint(1, 100), "preference": node_term(rng, True)} for _ in range(2)]


def add_tolerations(rng, pod):
    for _ in range(rng.choice([1, 2, 3])):
        toleration = {"operator": "Exists"}
        if rng.random() < 0.85:
            toleration["key"] = rng.choice(["gpu", "dedicated", "old", "node.kubernetes.io/unschedulable"])
        if "key" in toleration and rng.random() < 0.5:
            toleration.update(operator="Equal", value=rng.choice(["", "a", "b"]))
        if rng.random() < 0.5:
            toleration["effect"] = rng.choice(["NoSchedule", "PreferNoSchedule", "NoExecute"])
        pod["spec"].setdefault("tolerations", []).append(toleration)


def add_ports(rng, pod):
    port = {"containerPort": 80, "hostPort": rng.choice([80, 80, 443]), "protocol": rng.choice(["TCP", "TCP", "UDP"])}
    if rng.random() < 0.5:
        port["hostIP"] = rng.choice(["0.0.0.0", "10.0.0.1", "10.0.0.2", "::"])
    pod["spec"]["containers"][0]["ports"] = [port]


def add_pod_rule(rng, pod):
    kind = rng.choice(["podAffinity", "podAntiAffinity"])
    affinity(pod["spec"], kind)[REQUIRED] = [pod_term(rng) for _ in range(rng.choice([1, 1, 2]))]


def add_pod_preference(rng, pod):
    for kind in rng.sample(["podAffinity", "podAntiAffinity"], rng.choice([1, 2])):
        affinity(pod["spec"], kind)[PREFERRED] = [{"weight": rng.randint(1, 100), "podAffinityTerm": pod_term(rng)}
                                                  for _ in range(rng.choice([1, 2]))]


def add_spread(rng, pod):
    out = {}
    for _ in range(rng.choice([1, 1, 2])):
        hard = rng.random() < 0.6
        rule = {"topologyKey": rng.choice([ZONE, ZONE, HOST, "disk"]), "maxSkew": rng.choice([1, 1, 2, 3]),
                "whenUnsatisfiable": "DoNotSchedule" if hard else "ScheduleAnyway"}
        if rng.random() < 0.95:
            rule["labelSelector"] = selector(rng)
        if hard and rng.random() < 0.3:
            rule["minDomains"] = rng.choice([1, 3, 5])
        for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            if rng.random() < 0.3:
                rule[policy] = rng.choice(["Honor", "Ignore"])
        out[rule["topologyKey"], hard] = label_keys(rng, rule, "matchLabelKeys")
    pod["spec"]["topologySpreadConstraints"] = list(out.values())


def add_images(rng, pod):
    pod["spec"]["containers"][0]["image"] = rng.choice(["registry.invalid/web", *IMAGES])
    if rng.random() < 0.5:
        pod["spec"]["containers"].append(container("more", rng.choice(list(IMAGES)), cpu="10m"))


def add_claim(rng, pod):
    pod["metadata"]["namespace"] = "default"
    name = rng.choice(["zone-a", "zone-b", "in-zone-c", "on-n02", "alone", "free-1", "free-2", "free-1", "free-2",
                       "lost", "early", "absent"])
    pod["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": name}}]


def add_owner(rng, pod):
    """Its service or its ReplicaSet spreads it, unless it has constraints of its own.
    Nothing here collects pods whose owner has another uid."""
    app = rng.choice(["web", "db"])
    pod["metadata"].update(namespace="prod", labels={**pod["metadata"]["labels"], "app": app})
    if app == "db":
        pod["metadata"]["ownerReferences"] = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "db", "uid": "db",
                                               "controller": True}]


RULES = [add_resources, add_resources, add_node_rule, add_named_node, add_node_preference, add_tolerations, add_ports,
         add_pod_rule, add_pod_rule, add_pod_preference, add_spread, add_spread, add_images, add_claim, add_owner]
# Rules that bear on others; few of the hard ones, or nothing would fit anywhere.
STANDING = [add_resources, add_resources, add_ports, add_ports, add_pod_preference, add_pod_preference, add_images,
            add_pod_rule, add_pod_rule]


def pod(rng, name, rules=None, most=3, **spec):
    labels = {"app": rng.choice(APPS)} if rng.random() < 0.9 else {}
    if rng.random() < 0.5:
        labels["tier"] = rng.choice(["1", "2"])
    obj = objects.pod(name, cpu=rng.choice(["100m", "500m"]), memory="256Mi", labels=labels,
                      namespace=rng.choice(sorted(NAMESPACES)), **spec)
    for rule in rng.sample(rules or RULES, rng.randint(1, most)):
        rule(rng, obj)
    return obj


def standing_pod(rng, name, node_name, ported):
    """A pod that exists already, on this node.  ported: the nodes with a pod that has host
    ports, no more than one on each.  Two with the same port never run on one node, and
    kube-scheduler drops a port that both have when one of them is deleted."""
    obj = pod(rng, name, STANDING, 1, nodeName=node_name)
    obj["spec"].pop("runtimeClassName", None)
    if "ports" in obj["spec"]["containers"][0]:
        if node_name in ported:
            del obj["spec"]["containers"][0]["ports"]
        ported.add(node_name)
    return obj


# ---- what pods refer to ----------------------------------------------------------------------

def claim(name, volume, mode="ReadWriteOnce"):
    spec = {"accessModes": [mode], "storageClassName": "fast", "resources": {"requests": {"storage": "1Gi"}}}
    obj = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name, "namespace": "default"},
           "spec": spec}
    if volume:
        spec["volumeName"] = volume
        obj["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    return obj


def volume(name, bound_claim=None, key=None, value=None, labels=None, mode="ReadWriteOnce"):
    spec = {"accessModes": [mode], "capacity": {"storage": "1Gi"}, "csi": {"driver": DRIVER, "volumeHandle": name},
            "storageClassName": "fast"}
    if key:
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}]}}
    if bound_claim:
        spec["claimRef"] = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": "default",
                            "name": bound_claim["metadata"]["name"], "uid": bound_claim["metadata"]["uid"]}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name, "labels": labels or {}},
            "spec": spec}


def make_storage(create):
    """Claims that are bound, whose volume is gone, and that are not bound yet."""
    create({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "fast"},
            "provisioner": DRIVER, "volumeBindingMode": "Immediate"})
    bound = {"zone-a": {"key": ZONE, "value": "zone-a"}, "zone-b": {"key": ZONE, "value": "zone-b"},
             "in-zone-c": {"labels": {ZONE: "zone-c"}}, "on-n02": {"key": HOST, "value": "n02"},
             "alone": {"mode": "ReadWriteOncePod"}, "free-1": {}, "free-2": {}, "taken-1": {}, "taken-2": {}}
    for name, more in bound.items():
        made = create(claim(name, f"pv-{name}", mode=more.get("mode", "ReadWriteOnce")))
        create(volume(f"pv-{name}", made, **more))
    create(claim("lost", "pv-gone"))
    create(claim("early", None))


def make_cluster(rng, create, ported, nodes=15, standing=34):
    """create(object) returns what the server made of it."""
    for name, labels in NAMESPACES.items():
        if name != "default":
            create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})
    create({"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "sandbox"},
            "handler": "sandbox", "overhead": {"podFixed": {"cpu": "250m", "memory": "120Mi"}}})
    create({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "prod"},
            "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}})
    create({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "db", "namespace": "prod"},
            "spec": {"replicas": 0, "selector": {"matchLabels": {"app": "db"}}, "template": {
                "metadata": {"labels": {"app": "db"}}, "spec": {"containers": [container("c")]}}}})
    for i in range(nodes):
        create(node(rng, f"n{i:02}"))
        limit = {"allocatable": {"count": rng.choice([1, 2])}} if rng.random() < 0.5 else {}
        create({"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": f"n{i:02}"},
                "spec": {"drivers": [{"name": DRIVER, "nodeID": f"n{i:02}", "topologyKeys": [ZONE], **limit}]}})
    make_storage(create)
    for i in range(standing):
        create(standing_pod(rng, f"there-{i:02}", f"n{rng.randrange(nodes):02}", ported))
    for i, name in enumerate(["alone", "taken-1", "taken-2"]):
        user = objects.pod(f"user-of-{name}", cpu="10m", nodeName=f"n{i * 4:02}")
        user["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": name}}]
        create(user)
