# SPDX-License-Identifier: Apache-2.0
"""A large cluster as kubectl prints it, on standard output, for `musterctl simulate`.

    python3 -m lib.bigcluster --nodes 5000 --pods 50000 > big.json      (in tests/)

Zones, racks, a few machine types, dedicated nodes; pods of some deployments, a tenth of
them bound.  Most of the pending ones only request resources, others select nodes, tolerate
taints, spread over zones, or have anti-affinity among themselves; --plain omits all rules."""
import argparse
import json
import random
import sys
import uuid

ZONES = 4
MACHINES = [("8", "32Gi", None), ("16", "64Gi", None), ("32", "128Gi", None), ("64", "256Gi", "8")]
SIZES = [("100m", "128Mi"), ("250m", "512Mi"), ("500m", "1Gi"), ("1", "2Gi"), ("2", "8Gi"), ("4", "16Gi")]
DEDICATED = {"key": "dedicated", "value": "ml", "effect": "NoSchedule"}


def created(dice):
    return f"2026-03-{dice.randrange(1, 29):02}T{dice.randrange(24):02}:{dice.randrange(60):02}:{dice.randrange(60):02}Z"


def meta(dice, name, version, namespace=None, labels=None):
    m = {"creationTimestamp": created(dice), "labels": labels or {}, "name": name, "resourceVersion": str(version),
         "uid": str(uuid.UUID(int=dice.getrandbits(128), version=4))}
    if namespace:
        m["namespace"] = namespace
    return m


def node(dice, i):
    cpu, memory, gpu = MACHINES[dice.choices(range(4), (4, 4, 2, 1))[0]]
    labels = {"kubernetes.io/hostname": f"node-{i}", "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux",
              "topology.kubernetes.io/region": "r1", "topology.kubernetes.io/zone": f"zone-{i % ZONES}",
              "rack": f"rack-{i // 40}", "machine": cpu}
    amounts = {"cpu": cpu, "memory": memory, "pods": "110", "ephemeral-storage": "200Gi"}
    spec = {"podCIDR": f"10.{i // 256}.{i % 256}.0/24", "providerID": f"test://node-{i}"}
    if gpu:
        amounts["nvidia.com/gpu"] = gpu
        spec["taints"] = [DEDICATED]
    condition = {"lastHeartbeatTime": "2026-03-30T14:17:17Z", "lastTransitionTime": "2026-03-24T13:58:17Z",
                 "message": "kubelet is posting ready status", "reason": "KubeletReady", "status": "True", "type": "Ready"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": meta(dice, f"node-{i}", i, labels=labels), "spec": spec,
            "status": {"allocatable": amounts, "capacity": amounts, "conditions": [condition],
                       "images": [{"names": [f"registry.example/app-{k}:v1"], "sizeBytes": 50_000_000 * (k + 1)}
                                  for k in range(8) if dice.random() < 0.5],
                       "nodeInfo": {"architecture": "amd64", "kubeletVersion": "v1.36.3", "operatingSystem": "linux"}}}


def rules(dice, kind, app):
    """The rules of a deployment's pods beyond their resource requests."""
    same = {"matchLabels": {"app": app}}
    if kind == "selector":
        return {"nodeSelector": {"machine": dice.choice(["8", "16", "32"])}}
    if kind == "ml":
        return {"tolerations": [{"key": "dedicated", "operator": "Exists"}],
                "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                    {"matchExpressions": [{"key": "machine", "operator": "In", "values": ["64"]}]}]}}}}
    if kind == "spread":
        return {"topologySpreadConstraints": [{"maxSkew": 2, "topologyKey": "topology.kubernetes.io/zone",
                                               "whenUnsatisfiable": "DoNotSchedule", "labelSelector": same}]}
    if kind == "apart":
        return {"affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 50, "podAffinityTerm": {"topologyKey": "rack", "labelSelector": same}}]}}}
    if kind == "alone":
        return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "kubernetes.io/hostname", "labelSelector": same}]}}}
    return {}


def deployment(dice, i, plain):
    """(labels, spec) of its pods."""
    kind = "plain" if plain else dice.choices(("plain", "selector", "ml", "spread", "apart", "alone"),
                                              (60, 10, 5, 10, 10, 5))[0]
    app, (cpu, memory) = f"app-{i}", dice.choice(SIZES)
    requests = {"cpu": cpu, "memory": memory, **({"nvidia.com/gpu": "1"} if kind == "ml" else {})}
    default = [{"effect": "NoExecute", "key": f"node.kubernetes.io/{k}", "operator": "Exists", "tolerationSeconds": 300}
               for k in ("not-ready", "unreachable")]
    extra = rules(dice, kind, app)
    spec = {"containers": [{"image": f"registry.example/app-{i % 8}:v1", "imagePullPolicy": "IfNotPresent", "name": "main",
                            "env": [{"name": f"OPTION_{k}", "value": "x" * 24} for k in range(6)],
                            "resources": {"limits": {"memory": memory}, "requests": requests},
                            "volumeMounts": [{"mountPath": "/var/run/secrets", "name": "token", "readOnly": True}]}],
            "dnsPolicy": "ClusterFirst", "enableServiceLinks": True, "priority": dice.choice([0, 0, 0, 100, 1000]),
            "restartPolicy": "Always", "schedulerName": "default-scheduler", "serviceAccountName": "default",
            "terminationGracePeriodSeconds": 30,
            "volumes": [{"name": "token", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}],
            **extra, "tolerations": default + extra.get("tolerations", [])}
    return {"app": app, "tier": dice.choice(["web", "batch", "db"])}, spec


def cluster(nodes, pods, seed, plain):
    dice = random.Random(seed)
    for i in range(nodes):
        yield node(dice, i)
    kinds = [deployment(dice, i, plain) for i in range(max(1, pods // 50))]
    for i in range(pods):
        labels, spec = dice.choice(kinds)
        obj = {"apiVersion": "v1", "kind": "Pod",
               "metadata": meta(dice, f'{labels["app"]}-{i}', nodes + i, "default", {**labels, "pod-template-hash": "5d8c"}),
               "spec": spec, "status": {"phase": "Pending", "qosClass": "Burstable"}}
        if i % 10 == 0:
            obj["spec"] = {**spec, "nodeName": f"node-{dice.randrange(nodes)}"}
            obj["status"] = {"phase": "Running"}
        yield obj


def write(out, items):
    """A List, one item a line."""
    out.write('{"apiVersion":"v1","kind":"List","items":[\n')
    for i, item in enumerate(items):
        out.write((",\n" if i else "") + json.dumps(item, separators=(",", ":")))
    out.write("\n]}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=500)
    parser.add_argument("--pods", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plain", action="store_true", help="no rules, resources alone")
    o = parser.parse_args()
    write(sys.stdout, cluster(o.nodes, o.pods, o.seed, o.plain))


if __name__ == "__main__":
    main()
