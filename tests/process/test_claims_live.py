# SPDX-License-Identifier: Apache-2.0
"""Pods with resource claims on a live server: devices are chosen, claims are written before the Binding, all of a gang's or
none, whatever dies in between.  The test is the controller of claims: it makes those of templates, and frees those of pods
that are gone."""
import json
import os
import sys
import time
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import kube, objects  # noqa: E402
from lib.cluster import Cluster, run  # noqa: E402
from lib.harness import check, equal, main, until  # noqa: E402
from lib.instances import Pair  # noqa: E402
from lib.proxy import Proxy  # noqa: E402

DRIVER, CLASS = "gpu.example.com", "gpu"
FINALIZER = "resource.kubernetes.io/delete-protection"
GATE = ("--gate", "DynamicResourceAllocation")
ON = ("--devices", "auto")


def device_class(name=CLASS, expression=f"device.driver == '{DRIVER}'"):
    return {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": name},
            "spec": {"selectors": [{"cel": {"expression": expression}}]}}


def slice_of(node, n=8, roots=1, generation=1, attributes={}, **device):
    """n GPUs; every `roots` of them in turn are on one root."""
    devices = [{"name": f"gpu-{i}", "attributes": {"index": {"int": i}, "root": {"string": f"r{i % roots}"}, **attributes}, **device}
               for i in range(n)]
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": f"{node}-{DRIVER}"},
            "spec": {"driver": DRIVER, "nodeName": node, "devices": devices,
                     "pool": {"name": node, "generation": generation, "resourceSliceCount": 1}}}


def claim_spec(count=1, selector=None, match=None, device_class=CLASS):
    exactly = {"deviceClassName": device_class, "allocationMode": "ExactCount", "count": count}
    if selector:
        exactly["selectors"] = [{"cel": {"expression": selector}}]
    spec = {"requests": [{"name": "r", "exactly": exactly}]}
    if match:
        spec["constraints"] = [{"requests": ["r"], "matchAttribute": match}]
    return {"devices": spec}


def claim(name, spec, owner=None):
    meta = {"name": name, "namespace": "default"}
    if owner:
        meta["ownerReferences"] = [{"apiVersion": "v1", "kind": "Pod", "name": owner["metadata"]["name"],
                                    "uid": owner["metadata"]["uid"], "controller": True}]
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": meta, "spec": spec}


def nested(spec, levels):
    """With parameters for the driver of so many arrays, one in the other."""
    deep = []
    for _ in range(levels):
        deep = [deep]
    return {"devices": {**spec["devices"], "config": [{"opaque": {"driver": DRIVER, "parameters": {"a": deep}}}]}}


def pod_with(name, **options):
    """From a template, whose claim make_claim() makes."""
    return objects.pod(name, resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "t"}], **options)


def make_claim(c, name, spec):
    pod = c.client.get("Pod", name)
    c.create(claim(f"{name}-gpu", spec, pod))
    c.client.patch("Pod", name, {"status": {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": f"{name}-gpu"}]}},
                   sub="status")


def gang_with(c, name, n, spec, make=True):
    group, pods = objects.gang(name, n, resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "t"}])
    c.create(group, *pods)
    for i in range(n if make else 0):
        make_claim(c, f"{name}-{i}", spec)


def nodes(n, gpus=8, **options):
    return [objects.node(f"n{i + 1}", cpu="64") for i in range(n)] + [slice_of(f"n{i + 1}", gpus, **options) for i in range(n)]


def allocation(c, name):
    return c.client.get("ResourceClaim", name).get("status", {}).get("allocation")


def devices(c, name):
    return [r["device"] for r in (allocation(c, name) or {"devices": {"results": []}})["devices"]["results"]]


def allocated(c):
    """All allocated claims; no device is in two of them."""
    claims = [x for x in c.client.list("ResourceClaim") if x.get("status", {}).get("allocation")]
    held = [(r["pool"], r["device"]) for x in claims for r in x["status"]["allocation"]["devices"]["results"]]
    check(len(held) == len(set(held)), "a device is in two claims:", held)
    return claims


def reason(c, name):
    pod = c.client.get("Pod", name)
    return next((x.get("message", "") for x in pod.get("status", {}).get("conditions", [])
                 if x["type"] == "PodScheduled" and x["status"] == "False"), "")


def foreign(c, name, node, device):
    """Another scheduler's claim that holds the device."""
    c.create(claim(name, claim_spec()))
    give(c, name, node, device)


def give(c, name, node, device, **result):
    selector = {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}]}
    c.client.patch("ResourceClaim", name, {"status": {"allocation": {
        "devices": {"results": [{"request": "r", "driver": DRIVER, "pool": node, "device": device, **result}]},
        "nodeSelector": selector}, "reservedFor": [{"resource": "pods", "name": "other", "uid": name}]}}, sub="status")


def simulated(c, prefix):
    """The devices that pods would get by musterctl simulate, had they not been placed yet."""
    items = []
    for kind in ("Node", "ResourceSlice", "DeviceClass", "PodGroup", "ResourceClaim", "Pod"):
        version = kube.KINDS[kind][0].removeprefix("apis/").removeprefix("api/")
        items += [{**o, "apiVersion": version, "kind": kind} for o in c.client.list(kind)]
    for o in items:
        if o["metadata"]["name"].startswith(prefix) and o["kind"] in ("ResourceClaim", "Pod"):
            o["spec"].pop("nodeName", None)
            for field in ("allocation", "reservedFor", "conditions"):
                o.get("status", {}).pop(field, None)
    code, out, err = run("musterctl", "simulate", "-f", "-", "-o", "json", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    check(code == 0, err)
    return sorted([d["device"].rpartition("/")[2] for d in p["devices"]] for p in json.loads(out)["placements"])


def free(c, name):
    c.client.patch("ResourceClaim", name, {"status": {"allocation": None, "reservedFor": None}}, sub="status")


def bound(c, prefix, n, seconds=20):
    until(lambda: c.bound(prefix) == n, seconds,
          lambda: f"{c.bound(prefix)} of {n} bound: {[reason(c, p['metadata']['name']) for p in c.pods(prefix)][:3]}")


def test_a_pod_gets_the_first_device_and_its_claim_is_written_before():
    """DRA-1."""
    with Cluster(*nodes(1), device_class(), apisim=GATE) as c:
        c.up(*ON)
        c.create(pod_with("a"))
        until(lambda: 'pod "default/a": ResourceClaim not created yet' in reason(c, "a"), 10, lambda: reason(c, "a"))
        make_claim(c, "a", claim_spec())
        bound(c, "a", 1)
        got, pod = c.client.get("ResourceClaim", "a-gpu"), c.client.get("Pod", "a")
        equal(got["metadata"]["finalizers"], [FINALIZER])
        given = dict(got["status"]["allocation"])
        check(given.pop("allocationTimestamp"), "no timestamp")
        equal(given, {"devices": {"results": [{"request": "r", "driver": DRIVER, "pool": "n1", "device": "gpu-0"}]},
                      "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [
                          {"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]}})
        equal(got["status"]["reservedFor"], [{"resource": "pods", "name": "a", "uid": pod["metadata"]["uid"]}])
        check(int(got["metadata"]["resourceVersion"]) < int(pod["metadata"]["resourceVersion"]), "after the Binding")


def test_a_gang_waits_for_all_its_devices():
    """DRA-2; beside a claim of a tenant whose parameters, any JSON, are deeper than what is read: it stopped the list of claims."""
    with Cluster(*nodes(2, 4), device_class(), apisim=GATE) as c:
        foreign(c, "other", "n1", "gpu-1")
        c.create(claim("deep", nested(claim_spec(), 150)))
        c.up(*ON)
        gang_with(c, "g", 4, claim_spec(2))
        until(lambda: "cannot allocate all claims" in reason(c, "g-0"), 10, lambda: reason(c, "g-0"))
        equal(len(allocated(c)), 1, "claims that are allocated")
        free(c, "other")
        bound(c, "g", 4, 10)
        equal(len(allocated(c)), 4)


def test_devices_of_one_root_by_selector():
    """DRA-11."""
    with Cluster(*nodes(1, 8, roots=4), device_class(), apisim=GATE) as c:
        foreign(c, "other", "n1", "gpu-4")
        c.up(*ON)
        gang_with(c, "g", 3, claim_spec(2, match=f"{DRIVER}/root"))
        bound(c, "g", 3)
        equal(sorted(devices(c, f"g-{i}-gpu") for i in range(3)), [["gpu-1", "gpu-5"], ["gpu-2", "gpu-6"], ["gpu-3", "gpu-7"]])
        equal(simulated(c, "g"), [["gpu-1", "gpu-5"], ["gpu-2", "gpu-6"], ["gpu-3", "gpu-7"]], "on files")
        c.create(pod_with("last"))
        make_claim(c, "last", claim_spec(1, selector=f"device.attributes['{DRIVER}'].index > 0"))
        until(lambda: "cannot allocate all claims" in reason(c, "last"), 10, lambda: reason(c, "last"))
        # Claims are not listed there: that one is not found would be wrong.
        for command in (("simulate",), ("explain", "--add-node", "1xn1", "default/last")):
            out = run("musterctl", *command, "--kubeconfig", c.kubeconfig)[1]
            check("does not support resource claims" in out and "could not find" not in out, out)


def test_a_class_that_is_missing_and_then_created():
    """DRA-4."""
    with Cluster(*nodes(1), apisim=GATE) as c:
        c.up(*ON)
        c.create(pod_with("a"))
        make_claim(c, "a", claim_spec())
        until(lambda: "request r: device class gpu does not exist" in reason(c, "a"), 10, lambda: reason(c, "a"))
        c.create(device_class())
        bound(c, "a", 1, 10)


def test_a_refused_write_takes_the_gang_back():
    """DRA-5."""
    with Cluster(*nodes(2), device_class(), apisim=GATE) as c, Proxy(c.kubeconfig, c.folder) as proxy:
        down = [True]
        refused = proxy.rule(lambda call: down[0] and call.method == "PATCH" and call.path.partition("?")[0].endswith("g-6-gpu/status"),
                             lambda call: call.status(403, "no such luck", "Forbidden"))
        Pair(c, 1, proxy.kubeconfig, *ON).ready()
        gang_with(c, "g", 10, claim_spec())
        until(lambda: refused.hits > 0, 30, "a refused write")
        time.sleep(5)
        until(lambda: not allocated(c), 10, lambda: f"{len(allocated(c))} allocated")
        equal(c.bound("g"), 0)
        down[0] = False
        bound(c, "g", 10, 40)
        equal(len(allocated(c)), 10)


def test_another_scheduler_takes_the_same_device():
    """DRA-9, before the Binding."""
    with Cluster(*nodes(1, 2), device_class(), apisim=GATE) as c, Proxy(c.kubeconfig, c.folder) as proxy:
        c.create(claim("other", claim_spec()))
        done = []

        def before(call):
            if not done:
                done.append(1)
                give(c, "other", "n1", "gpu-0")
            call.pass_on()

        proxy.rule(lambda call: call.method == "PATCH" and call.path.partition("?")[0].endswith("a-gpu/status"), before, 1)
        Pair(c, 1, proxy.kubeconfig, *ON).ready()
        c.create(pod_with("a"))
        make_claim(c, "a", claim_spec())
        bound(c, "a", 1, 20)
        equal(devices(c, "a-gpu"), ["gpu-1"])
        allocated(c)


def test_pods_that_end_free_their_devices():
    """DRA-20, the first half."""
    with Cluster(*nodes(1, 2), device_class(), apisim=GATE) as c:
        c.up(*ON)
        gang_with(c, "g", 2, claim_spec())
        bound(c, "g", 2)
        gang_with(c, "h", 2, claim_spec())
        until(lambda: "cannot allocate all claims" in reason(c, "h-0"), 10, lambda: reason(c, "h-0"))
        for name in ("g-0", "g-1"):
            c.delete("Pod", name)
            free(c, f"{name}-gpu")
        bound(c, "h", 2, 10)


def kill_after(c, proxy, writes, program):
    """Both daemons run; the one is killed once so many writes of claims were answered."""
    seen = []

    def count(call):
        call.pass_on()
        seen.append(call.path)
        if len(seen) == writes:
            program().kill()

    proxy.rule(lambda call: call.method == "PATCH" and "/resourceclaims/" in call.path, count)
    return seen


def test_kills_between_the_writes_leave_all_or_nothing():
    """DRA-6."""
    for which in ("frontend", "core"):
        for writes in (1, 4, 9, 12, 20):
            with Cluster(*nodes(2), device_class(), kube.namespace("muster-system"), apisim=GATE) as c, \
                    Proxy(c.kubeconfig, c.folder) as proxy:
                pair = Pair(c, 1, proxy.kubeconfig, *ON).ready()
                seen = kill_after(c, proxy, writes, lambda: getattr(pair, which))
                gang_with(c, "g", 10, claim_spec())
                until(lambda: len(seen) >= writes, 20, lambda: f"{len(seen)} writes")
                until(lambda: not getattr(pair, which).running(), 5, "the kill")
                pair.kill()
                Pair(c, 2, c.kubeconfig, *ON).ready()
                bound(c, "g", 10, 60)
                equal(len(allocated(c)), 10, f"{which} after {writes} writes: allocated claims")


def test_claims_of_a_gang_that_come_late():
    """DRA-3."""
    with Cluster(*nodes(1), device_class(), apisim=GATE) as c:
        c.up(*ON)
        gang_with(c, "g", 3, claim_spec(), make=False)
        until(lambda: "ResourceClaim not created yet" in reason(c, "g-0"), 10, lambda: reason(c, "g-0"))
        for i in range(3):
            make_claim(c, f"g-{i}", claim_spec())
        bound(c, "g", 3, 10)


def test_a_write_whose_answer_is_lost():
    """DRA-7."""
    with Cluster(*nodes(1), device_class(), apisim=GATE) as c, Proxy(c.kubeconfig, c.folder) as proxy:
        writes = []

        def lose(call):
            writes.append(call.path)
            call.forward()
            call.cut()

        proxy.rule(lambda call: call.method == "PATCH" and call.path.endswith("a-gpu/status") and not writes, lose)
        Pair(c, 1, proxy.kubeconfig, *ON).ready()
        c.create(pod_with("a"))
        make_claim(c, "a", claim_spec())
        bound(c, "a", 1)
        equal(devices(c, "a-gpu"), ["gpu-0"])
        equal(len(c.client.get("ResourceClaim", "a-gpu")["status"]["reservedFor"]), 1)


def test_a_claim_that_others_have_allocated():
    """DRA-8: on a node that fits the pod goes there."""
    with Cluster(*nodes(3), device_class(), apisim=GATE) as c:
        c.create(claim("mine", claim_spec()))
        give(c, "mine", "n3", "gpu-5")
        c.up(*ON)
        c.create(objects.pod("a", resourceClaims=[{"name": "gpu", "resourceClaimName": "mine"}]))
        bound(c, "a", 1)
        equal(c.client.get("Pod", "a")["spec"]["nodeName"], "n3")
        equal(devices(c, "mine"), ["gpu-5"])
        equal(len(c.client.get("ResourceClaim", "mine")["status"]["reservedFor"]), 2)


def test_pods_that_share_a_claim():
    """DRA-10."""
    with Cluster(*nodes(2), device_class(), apisim=GATE) as c:
        c.create(claim("shared", claim_spec()))
        c.up(*ON)
        c.create(*[objects.pod(f"a-{i}", resourceClaims=[{"name": "gpu", "resourceClaimName": "shared"}]) for i in range(3)])
        bound(c, "a", 3, 30)
        equal(len({p["spec"]["nodeName"] for p in c.pods("a")}), 1, "nodes")
        equal(len(c.client.get("ResourceClaim", "shared")["status"]["reservedFor"]), 3)
        equal(len(allocated(c)), 1)


def test_all_devices_of_a_node():
    """DRA-13."""
    spec = claim_spec()
    spec["devices"]["requests"][0]["exactly"] = {"deviceClassName": CLASS, "allocationMode": "All"}
    with Cluster(*nodes(1), device_class(), apisim=GATE) as c:
        foreign(c, "other", "n1", "gpu-3")
        c.up(*ON)
        c.create(pod_with("a"))
        make_claim(c, "a", spec)
        until(lambda: "cannot allocate all claims" in reason(c, "a"), 10, lambda: reason(c, "a"))
        free(c, "other")
        bound(c, "a", 1, 10)
        equal(devices(c, "a-gpu"), [f"gpu-{i}" for i in range(8)])


def test_taints_of_devices():
    """DRA-16."""
    taint = [{"key": "broken", "value": "yes", "effect": "NoSchedule"}]
    tainted = slice_of("n1")
    for device in tainted["spec"]["devices"][:4]:
        device["taints"] = taint
    with Cluster(objects.node("n1", cpu="64"), tainted, device_class(), apisim=GATE) as c:
        c.up(*ON)
        gang_with(c, "g", 5, claim_spec())
        until(lambda: "cannot allocate all claims" in reason(c, "g-0"), 10, lambda: reason(c, "g-0"))
        equal(len(allocated(c)), 0)
        c.client.patch("ResourceSlice", tainted["metadata"]["name"], {"spec": {"devices": slice_of("n1")["spec"]["devices"]}})
        bound(c, "g", 5, 10)


def test_a_selector_that_fails_on_a_device():
    """DRA-18, without the devices of one node."""
    with Cluster(*nodes(1), device_class(), apisim=GATE) as c:
        c.up(*ON)
        c.create(pod_with("a"))
        make_claim(c, "a", claim_spec(1, selector=f"device.attributes['{DRIVER}'].nothing == 1"))
        until(lambda: "no such key: nothing" in reason(c, "a"), 10, lambda: reason(c, "a"))
        equal(len(allocated(c)), 0)


def slices_seen(c):
    return c.metrics()['muster_watch_events_total{group="resource.k8s.io",resource="resourceslices"}']


def test_devices_that_are_gone_are_not_used():
    """DRA-19: a newer generation of one device, and a pool of which a slice is missing."""
    with Cluster(*nodes(2), device_class(), apisim=GATE) as c:
        c.up(*ON)
        before = slices_seen(c)
        newer = slice_of("n1", 1, generation=2)
        newer["metadata"]["name"] += "-new"
        c.create(newer)
        c.client.patch("ResourceSlice", f"n2-{DRIVER}", {"spec": {"pool": {"resourceSliceCount": 2}}})
        until(lambda: slices_seen(c) >= before + 2, 30, "both changes are seen")
        gang_with(c, "g", 2, claim_spec())
        until(lambda: "cannot allocate all claims" in reason(c, "g-0"), 10, lambda: reason(c, "g-0"))
        c.delete("Pod", "g-1")
        c.create(pod_with("a"))
        make_claim(c, "a", claim_spec())
        bound(c, "a", 1)
        equal((c.client.get("Pod", "a")["spec"]["nodeName"], devices(c, "a-gpu")), ("n1", ["gpu-0"]))


def model_of(node, model, n=8):
    return slice_of(node, n, attributes={"model": {"string": model}})


def first_available(*alternatives):
    """(name, model, count)"""
    return {"devices": {"requests": [{"name": "r", "firstAvailable": [
        {"name": name, "deviceClassName": CLASS, "allocationMode": "ExactCount", "count": count,
         "selectors": [{"cel": {"expression": f"device.attributes['{DRIVER}'].model == '{model}'"}}]}
        for name, model, count in alternatives]}]}}


def test_the_first_alternative_that_a_node_has():
    """DRA-12, for pods and a gang: 2 H100, else 4 A100; the node of the first alternative has 200 points, the other 174."""
    spec = first_available(("big", "H100", 2), ("small", "A100", 4))
    with Cluster(objects.node("n1", cpu="64"), objects.node("n2", cpu="64"), model_of("n1", "A100"), model_of("n2", "H100", 4),
                 device_class(), apisim=GATE) as c:
        c.up(*ON)
        c.create(pod_with("a"))
        make_claim(c, "a", spec)
        bound(c, "a", 1)
        equal(c.client.get("Pod", "a")["spec"]["nodeName"], "n2")
        equal([(r["request"], r["device"]) for r in allocation(c, "a-gpu")["devices"]["results"]],
              [("r/big", "gpu-0"), ("r/big", "gpu-1")])
        gang_with(c, "h", 4, spec)
        until(lambda: "cannot allocate all claims" in reason(c, "h-0"), 10, lambda: reason(c, "h-0"))
        equal(len(allocated(c)), 1, "of a gang that is one too large")
        gang_with(c, "g", 3, spec)
        bound(c, "g", 3)
        equal(sorted((x["request"], len(devices(c, f"g-{i}-gpu"))) for i in range(3)
                     for x in allocation(c, f"g-{i}-gpu")["devices"]["results"][:1]),
              [("r/big", 2), ("r/small", 4), ("r/small", 4)])
        allocated(c)


def test_admin_access_takes_nothing():
    spec = claim_spec()
    spec["devices"]["requests"][0]["exactly"].update(allocationMode="All", adminAccess=True)
    del spec["devices"]["requests"][0]["exactly"]["count"]
    with Cluster(*nodes(1, 2), device_class(), apisim=GATE) as c:
        c.up(*ON)
        gang_with(c, "g", 2, claim_spec())
        bound(c, "g", 2)
        gang_with(c, "admin", 3, spec)
        bound(c, "admin", 3)
        for i in range(3):
            equal([(r["device"], r["adminAccess"]) for r in allocation(c, f"admin-{i}-gpu")["devices"]["results"]],
                  [("gpu-0", True), ("gpu-1", True)])
        c.delete("Pod", "g-0")
        free(c, "g-0-gpu")
        c.create(pod_with("x"))
        make_claim(c, "x", claim_spec())
        bound(c, "x", 1)
        equal(devices(c, "x-gpu"), ["gpu-0"])


def test_partitions_share_the_counters_of_their_gpu():
    """DRA-14: MIG, a GPU of 7 slices of which two 3g.40gb fit; a foreign claim has another partition meanwhile."""
    def uses(slices):
        return [{"counterSet": "gpu-0", "counters": {"slices": {"value": str(slices)}}}]

    mig = slice_of("n1", 0)
    mig["spec"]["pool"]["resourceSliceCount"] = 2
    counters = {**mig, "metadata": {"name": "n1-counters"}, "spec": {**mig["spec"], "sharedCounters": [
        {"name": "gpu-0", "counters": {"slices": {"value": "7"}}}]}}
    del counters["spec"]["devices"]
    mig["spec"]["devices"] = [{"name": f"{profile}-{i}", "attributes": {"profile": {"string": profile}}, "consumesCounters": uses(n)}
                              for profile, n, of in (("1g", 1, 7), ("3g", 3, 2), ("7g", 7, 1)) for i in range(of)]
    spec = claim_spec(1, selector=f"device.attributes['{DRIVER}'].profile == '3g'")
    with Cluster(objects.node("n1", cpu="64"), counters, mig, device_class(), apisim=GATE) as c:
        c.up(*ON)
        gang_with(c, "g", 3, spec)
        until(lambda: "cannot allocate all claims" in reason(c, "g-0"), 10, lambda: reason(c, "g-0"))
        equal(len(allocated(c)), 0)
        foreign(c, "other", "n1", "7g-0")
        gang_with(c, "h", 2, spec)
        until(lambda: "cannot allocate all claims" in reason(c, "h-0"), 10, lambda: reason(c, "h-0"))
        free(c, "other")
        bound(c, "h", 2)
        equal(sorted(devices(c, f"h-{i}-gpu") for i in range(2)), [["3g-0"], ["3g-1"]])


def share_of(amount):
    spec = claim_spec()
    spec["devices"]["requests"][0]["exactly"]["capacity"] = {"requests": {"memory": amount}}
    return spec


def gib(quantity):
    return int(quantity) / 2**30 if quantity.isdigit() else int(quantity.removesuffix("Gi"))


def shares(c, *names):
    """(device, GiB consumed) of each claim; their shareIDs are distinct."""
    results = [r for name in names for r in allocation(c, name)["devices"]["results"]]
    equal(len({uuid.UUID(r["shareID"]) for r in results}), len(names), "shareIDs")
    return [(r["device"], gib(r["consumedCapacity"]["memory"])) for r in results]


def shared_slice():
    policy = {"default": "4Gi", "validRange": {"min": "4Gi", "step": "8Gi"}}
    return slice_of("n1", 1, allowMultipleAllocations=True, capacity={"memory": {"value": "40Gi", "requestPolicy": policy}})


def test_claims_share_the_capacity_of_a_device():
    """DRA-15: a device of 40Gi, shares from 4Gi in steps of 8Gi; what is allocated counts after a restart too."""
    with Cluster(objects.node("n1", cpu="64"), shared_slice(), device_class(), apisim=GATE) as c:
        pair = Pair(c, 1, c.kubeconfig, *ON).ready()
        gang_with(c, "h", 4, share_of("12Gi"))
        until(lambda: "cannot allocate all claims" in reason(c, "h-0"), 20, lambda: reason(c, "h-0"))
        gang_with(c, "g", 3, share_of("5Gi"))
        bound(c, "g", 3)
        equal(shares(c, *[f"g-{i}-gpu" for i in range(3)]), [("gpu-0", 12)] * 3)
        for name, spec in ("a", share_of("5Gi")), ("less", share_of("-1Gi")), ("other", share_of("1e30")):
            c.create(pod_with(name))
            make_claim(c, name, spec)
        pair.kill()
        Pair(c, 2, c.kubeconfig, *ON).ready()
        until(lambda: "request is no amount" in reason(c, "less"), 20, lambda: reason(c, "less"))
        until(lambda: "cannot allocate all claims" in reason(c, "other"), 20, lambda: reason(c, "other"))
        equal(c.bound("a"), 0)
        c.delete("Pod", "g-1")
        free(c, "g-1-gpu")
        bound(c, "a", 1)
        equal(shares(c, "g-0-gpu", "g-2-gpu", "a-gpu"), [("gpu-0", 12)] * 3)


def test_another_scheduler_takes_a_share_meanwhile():
    """DRA-9 with shares: together they are more than the device has, and ours is given back before the Binding."""
    with Cluster(objects.node("n1", cpu="64"), shared_slice(), device_class(), apisim=GATE) as c, Proxy(c.kubeconfig, c.folder) as proxy:
        c.create(claim("other", share_of("36Gi")))
        done = []

        def before(call):
            if not done:
                done.append(1)
                give(c, "other", "n1", "gpu-0", shareID=str(uuid.uuid4()), consumedCapacity={"memory": "36Gi"})
            call.pass_on()

        proxy.rule(lambda call: call.method == "PATCH" and call.path.partition("?")[0].endswith("a-gpu/status"), before, 1)
        Pair(c, 1, proxy.kubeconfig, *ON).ready()
        c.create(pod_with("a"))
        make_claim(c, "a", share_of("12Gi"))
        until(lambda: done and not allocation(c, "a-gpu") and "cannot allocate all claims" in reason(c, "a"), 20, lambda: reason(c, "a"))
        equal(c.bound("a"), 0)
        free(c, "other")
        bound(c, "a", 1)


def tell(c, name, kind):
    """The driver says that of each device of the claim."""
    said = {"type": kind, "status": "True", "reason": "Said", "message": "by the driver", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    c.client.patch("ResourceClaim", name, {"status": {"devices": [
        {"driver": r["driver"], "pool": r["pool"], "device": r["device"], "conditions": [said]}
        for r in allocation(c, name)["devices"]["results"]]}}, sub="status")


def test_a_gang_waits_for_binding_conditions():
    """Held over a restart of both daemons; one that fails takes the gang back, and another device is chosen."""
    with Cluster(*nodes(1, 4, bindingConditions=["Attached"], bindingFailureConditions=["Broken"], bindsToNode=True), device_class(),
                 kube.namespace("muster-system"), apisim=GATE) as c:
        pair = Pair(c, 1, c.kubeconfig, *ON).ready()
        gang_with(c, "g", 2, claim_spec())
        until(lambda: len(allocated(c)) == 2, 20, lambda: f"{len(allocated(c))} allocated")
        equal([(r["bindingConditions"], r["bindingFailureConditions"]) for r in allocation(c, "g-0-gpu")["devices"]["results"]],
              [(["Attached"], ["Broken"])])
        broken = devices(c, "g-1-gpu")[0]
        tell(c, "g-0-gpu", "Attached")
        pair.kill()
        Pair(c, 2, c.kubeconfig, *ON).ready()
        tell(c, "g-1-gpu", "Broken")
        # Of one list: a claim that is taken back between two reads has no device at all.
        held = lambda: [r["device"] for x in allocated(c) for r in x["status"]["allocation"]["devices"]["results"]]  # noqa: E731
        until(lambda: len(got := held()) == 2 and broken not in got, 60, held)
        equal(c.bound("g"), 0)
        tell(c, "g-0-gpu", "Attached")
        tell(c, "g-1-gpu", "Attached")
        bound(c, "g", 2)


RESOURCE = "example.com/gpu"


def asking(n, *init, resource=RESOURCE):
    """For n GPUs the old way; init containers ask for theirs."""
    def container(name, count):
        return {"name": name, "image": "i", "resources": {"requests": {"cpu": "1", resource: str(count)}, "limits": {resource: str(count)}}}

    return {"containers": [container("main", n)],
            **({"initContainers": [container(f"init-{i}", count) for i, count in enumerate(init)]} if init else {})}


def extended(c, name):
    """The claim that was made for the pod; None: there is none."""
    claims = [x for x in c.client.list("ResourceClaim") if x["metadata"].get("ownerReferences", [{}])[0].get("name") == name]
    check(len(claims) < 2, "several claims of", name)
    return claims[0] if claims else None


def test_extended_resources_by_device_plugins_and_by_devices():
    """DRA-17, with a gang over both kinds of nodes, a write that is refused, and both processes dying."""
    backed = device_class()
    backed["spec"]["extendedResourceName"] = RESOURCE
    with Cluster(objects.node("n1", cpu="64", **{RESOURCE: "3"}), objects.node("n2", cpu="64"), slice_of("n2", 6), backed, device_class("other"),
                 kube.namespace("muster-system"), apisim=GATE) as c, Proxy(c.kubeconfig, c.folder) as proxy:
        down = [True]
        refused = proxy.rule(lambda call: down[0] and call.method == "PATCH" and call.path.partition("?")[0].endswith("g-1/status")
                             and b"extendedResourceClaimStatus" in call.body, lambda call: call.status(403, "no such luck", "Forbidden"))
        pair = Pair(c, 1, proxy.kubeconfig, *ON).ready()
        group, pods = objects.gang("g", 3)
        for pod in pods:
            pod["spec"].update(asking(2, 1, 3))
        c.create(group, *pods)
        until(lambda: refused.hits > 0 or "Insufficient" in reason(c, "g-0"), 30, lambda: reason(c, "g-1"))
        equal(c.bound("g"), 0)
        down[0] = False
        bound(c, "g", 3, 40)
        on = {node: [p["metadata"]["name"] for p in c.pods("g") if p["spec"]["nodeName"] == node] for node in ("n1", "n2")}
        equal([len(on["n1"]), len(on["n2"])], [1, 2])
        until(lambda: len(c.client.list("ResourceClaim")) == 2, 30, "those of the first attempt are deleted")
        equal(len(allocated(c)), 2)
        made, pod = extended(c, on["n2"][0]), c.client.get("Pod", on["n2"][0])
        equal(made["metadata"]["annotations"], {"resource.kubernetes.io/extended-resource-claim": "true"})
        equal(made["metadata"]["generateName"], f"{on['n2'][0]}-extended-resources-")
        equal([(r["name"], r["exactly"]["count"]) for r in made["spec"]["devices"]["requests"]],
              [("container-1-request-1", 1), ("container-2-request-1", 2)])
        equal(made["status"]["reservedFor"], [{"resource": "pods", "name": on["n2"][0], "uid": pod["metadata"]["uid"]}])
        told = pod["status"]["extendedResourceClaimStatus"]
        equal(told["resourceClaimName"], made["metadata"]["name"])
        equal([(m["containerName"], m["requestName"][len("container-")]) for m in told["requestMappings"]],
              [("main", "2"), ("init-0", "2"), ("init-1", "2"), ("init-1", "1")])
        check("extendedResourceClaimStatus" not in c.client.get("Pod", on["n1"][0])["status"], "of a device plugin's node")
        # The devices of a pod that is gone serve the next one, and an instance that comes after finds what was written.
        c.delete("Pod", on["n2"][1])
        c.client.patch("ResourceClaim", extended(c, on["n2"][1])["metadata"]["name"], {"metadata": {"finalizers": []}})
        c.delete("ResourceClaim", extended(c, on["n2"][1])["metadata"]["name"])
        seen = kill_after(c, proxy, 2, lambda: pair.frontend)
        lone = objects.pod("a")
        lone["spec"].update(asking(3, resource="deviceclass.resource.kubernetes.io/other"))
        c.create(lone)
        until(lambda: len(seen) >= 2, 30, "the finalizer and the allocation of its claim")
        until(lambda: not pair.frontend.running(), 5, "the kill")
        pair.kill()
        Pair(c, 2, c.kubeconfig, *ON).ready()
        bound(c, "a", 1, 60)
        equal(c.client.get("Pod", "a")["status"]["extendedResourceClaimStatus"]["resourceClaimName"],
              extended(c, "a")["metadata"]["name"])
        equal(len(allocated(c)), 2)


def test_a_claim_that_is_left_is_given_back():
    """Allocated for a pod that waits for more than it has: deallocated after 20 s."""
    with Cluster(*nodes(1), device_class(), apisim=GATE) as c:
        c.up(*ON)
        c.create(pod_with("a", cpu="500"))
        make_claim(c, "a", claim_spec())
        uid = c.client.get("Pod", "a")["metadata"]["uid"]
        give(c, "a-gpu", "n1", "gpu-0")
        c.client.patch("ResourceClaim", "a-gpu", {"status": {"reservedFor": [{"resource": "pods", "name": "a", "uid": uid}]}},
                       sub="status")
        time.sleep(5)
        equal(len(allocated(c)), 1, "at first")
        until(lambda: not allocated(c), 30, "deallocated")


def test_nothing_without_the_resources():
    """A server without resource.k8s.io: other pods are placed, and those with claims wait."""
    with Cluster(objects.node("n1")) as c:
        c.up(*ON)
        c.create(objects.pod("plain"), pod_with("a"))
        bound(c, "plain", 1)
        until(lambda: "ResourceClaim not created yet" in reason(c, "a"), 10, lambda: reason(c, "a"))


if __name__ == "__main__":
    main(globals(), jobs=2)
