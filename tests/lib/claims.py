# SPDX-License-Identifier: Apache-2.0
"""Claims of devices: their objects, and a cluster on muster-apisim in which the test is the controller of claims.

It makes the claims of templates and frees those of pods that are gone.  tests/real/test_claims.py has a cluster of the
same functions in which kube-controller-manager does that, so that a scenario runs on either."""
from . import objects
from .cluster import Cluster
from .harness import check, until

DRIVER, CLASS = "gpu.example.com", "gpu"
FINALIZER = "resource.kubernetes.io/delete-protection"


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


def nodes(n, gpus=8, **options):
    return [objects.node(f"n{i + 1}", cpu="64") for i in range(n)] + [slice_of(f"n{i + 1}", gpus, **options) for i in range(n)]


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


def pod_with(name, **options):
    """From a template of its own, whose claim make_claim() makes."""
    return objects.pod(name, resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": name}], **options)


def gang_with(c, name, n, spec, make=True, **options):
    c.gang(name, n, resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": name}], **options)
    for i in range(n if make else 0):
        c.make_claim(f"{name}-{i}", spec)


class World(Cluster):
    """POD-gpu is the claim that was made of POD's template."""
    kills = (1, 4, 9, 12, 20)  # after so many writes of claims
    lenient = True             # takes amounts that a real server does not

    def __init__(self, *objects):
        super().__init__(*objects, apisim=("--gate", "DynamicResourceAllocation"))

    def make_claim(self, name, spec):
        """Of the template that the pod names."""
        pod = self.client.get("Pod", name)
        self.create(claim(f"{name}-gpu", spec, pod))
        self.client.patch("Pod", name, {"status": {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": f"{name}-gpu"}]}},
                          sub="status")

    def claim_name(self, name):
        """As the controller calls it."""
        return name

    def claim(self, name):
        return self.client.get("ResourceClaim", self.claim_name(name))

    def end_pod(self, name):
        """Deleted, and its claim is free."""
        self.delete("Pod", name)
        free(self, f"{name}-gpu")

    def collect(self, pod, claim_name):
        """The claim of extended resources of a pod that is deleted."""
        self.delete("Pod", pod)
        self.client.patch("ResourceClaim", claim_name, {"metadata": {"finalizers": []}})
        self.delete("ResourceClaim", claim_name)

    def consumer(self, name, node):
        """Another scheduler's pod, as reservedFor has it, on the node with this claim."""
        return {"resource": "pods", "name": "other", "uid": name}

    def end_consumer(self, name):
        pass


def allocation(c, name):
    return c.claim(name).get("status", {}).get("allocation")


def devices(c, name):
    return [r["device"] for r in (allocation(c, name) or {"devices": {"results": []}})["devices"]["results"]]


def allocated(c):
    """All allocated claims; no device is in two of them."""
    claims = [x for x in c.client.list("ResourceClaim") if x.get("status", {}).get("allocation")]
    held = [(r["pool"], r["device"]) for x in claims for r in x["status"]["allocation"]["devices"]["results"]]
    check(len(held) == len(set(held)), "a device is in two claims:", held)
    return claims


def foreign(c, name, node, device):
    """Another scheduler's claim that holds the device."""
    c.create(claim(name, claim_spec()))
    give(c, name, node, device)


def give(c, name, node, device, reserved=None, **result):
    """reserved: for whom, another scheduler's pod by default."""
    selector = {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}]}
    status = {"allocation": {"devices": {"results": [{"request": "r", "driver": DRIVER, "pool": node, "device": device, **result}]},
                             "nodeSelector": selector},
              "reservedFor": [reserved or c.consumer(name, node)]}
    c.client.patch("ResourceClaim", c.claim_name(name), {"status": status}, sub="status")


def free(c, name):
    c.end_consumer(name)
    c.client.patch("ResourceClaim", c.claim_name(name), {"status": {"allocation": None, "reservedFor": None}}, sub="status")


def says(c, name, text):
    until(lambda: text in c.why_pending(name), 10, lambda: f"{text!r} instead of {c.why_pending(name)!r}")


def bound(c, prefix, n, seconds=20):
    until(lambda: c.bound(prefix) == n, seconds,
          lambda: f"{c.bound(prefix)} of {n} bound: {[c.why_pending(p['metadata']['name']) for p in c.pods(prefix)][:3]}")


def writes_status(pod):
    """A predicate for a proxy: the status of the claim of this pod's template is written."""
    return lambda call: call.method == "PATCH" and call.sub == "status" and call.resource == "resourceclaims" and \
        (call.name or "").startswith(f"{pod}-gpu")
