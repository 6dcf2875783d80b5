# SPDX-License-Identifier: Apache-2.0
"""Storage objects, and stand-ins for who answers when claims are bound: the PersistentVolume controller of kube-controller-manager
(left out where the real one runs) and an external provisioner."""
import http.client
import threading
import time

from .kube import Client, ApiError

SELECTED = "volume.kubernetes.io/selected-node"
BOUND_BY = "pv.kubernetes.io/bound-by-controller"
COMPLETED = "pv.kubernetes.io/bind-completed"
PROVISIONER = "disks.example.com"
NONE = "kubernetes.io/no-provisioner"


def storage_class(name, provisioner=PROVISIONER, zones=None, mode="WaitForFirstConsumer"):
    obj = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name}, "provisioner": provisioner,
           "volumeBindingMode": mode, "reclaimPolicy": "Delete"}
    if zones:
        obj["allowedTopologies"] = [{"matchLabelExpressions": [{"key": "zone", "values": list(zones)}]}]
    return obj


def claim(name, of_class, size="10Gi", modes=("ReadWriteOnce",), namespace="default"):
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name, "namespace": namespace},
            "spec": {"storageClassName": of_class, "accessModes": list(modes), "resources": {"requests": {"storage": size}},
                     "volumeMode": "Filesystem"}}


def volume(name, of_class, size="10Gi", key=None, value=None, modes=("ReadWriteOnce",), **spec):
    """key, value: the label that a node must have to reach it."""
    obj = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
           "spec": {"storageClassName": of_class, "accessModes": list(modes), "capacity": {"storage": size},
                    "persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem",
                    "csi": {"driver": PROVISIONER, "volumeHandle": name}, **spec},
           "status": {"phase": "Available"}}
    if key:
        term = {"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}
        obj["spec"]["nodeAffinity"] = {"required": {"nodeSelectorTerms": [term]}}
    return obj


def local(name, of_class, node, size="10Gi"):
    return volume(name, of_class, size, "kubernetes.io/hostname", node)


def mounts(*claims):
    """volumes= of a pod."""
    return [{"name": f"v{i}", "persistentVolumeClaim": {"claimName": name}} for i, name in enumerate(claims)]


def annotations(obj):
    return obj["metadata"].get("annotations") or {}


def is_bound(claim_object):
    return bool(claim_object["spec"].get("volumeName")) and COMPLETED in annotations(claim_object)


class Storage:
    """fail(claim, node): the provisioner gives up there and takes the annotation away.  silent(claim): it does nothing.
    topology(node object): (key, value) of the volumes that it makes."""

    def __init__(self, kubeconfig, delay_s=0.2, controller=True, fail=None, silent=None, topology=None):
        self.client = Client(kubeconfig)
        self.delay_s, self.controller = delay_s, controller
        self.fail, self.silent = fail or (lambda c, n: False), silent or (lambda c: False)
        self.topology = topology or (lambda node: ("kubernetes.io/hostname", node["metadata"]["labels"]["kubernetes.io/hostname"]))
        self.since, self.failed = {}, []
        self.ends = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ends.set()
        self.thread.join(10)

    def _run(self):
        while not self.ends.wait(0.05):
            try:
                self.turn()
            except (ApiError, OSError, http.client.HTTPException, LookupError):
                continue  # as a class that was created after the classes were listed

    def turn(self):
        classes = {c["metadata"]["name"]: c for c in self.client.list("StorageClass")}
        volumes = {v["spec"]["claimRef"]["uid"]: v for v in self.client.list("PersistentVolume") if v["spec"].get("claimRef")}
        for c in self.client.list("PersistentVolumeClaim"):
            found = volumes.get(c["metadata"]["uid"])
            if is_bound(c):
                continue
            if found and self.controller:
                self.bind(c, found)
            elif not found and annotations(c).get(SELECTED):
                self.provision(c, classes[c["spec"]["storageClassName"]])

    def bind(self, c, v):
        meta = c["metadata"]
        self.client.patch("PersistentVolume", v["metadata"]["name"], {"status": {"phase": "Bound"}})
        self.client.patch("PersistentVolumeClaim", meta["name"],
                          {"metadata": {"annotations": {COMPLETED: "yes"}}, "spec": {"volumeName": v["metadata"]["name"]},
                           "status": {"phase": "Bound"}}, meta["namespace"])

    def provision(self, c, of_class):
        meta, node = c["metadata"], annotations(c)[SELECTED]
        since = self.since.setdefault((meta["uid"], node), time.monotonic())
        if of_class["provisioner"] != PROVISIONER or self.silent(meta["name"]) or time.monotonic() < since + self.delay_s:
            return
        if self.fail(meta["name"], node):
            del self.since[(meta["uid"], node)]
            self.failed.append((meta["name"], node))
            self.client.patch("PersistentVolumeClaim", meta["name"],
                              {"metadata": {"resourceVersion": meta["resourceVersion"], "annotations": {SELECTED: None}}}, meta["namespace"])
            return
        key, value = self.topology(self.client.get("Node", node))
        ref = {"kind": "PersistentVolumeClaim", "apiVersion": "v1", "namespace": meta["namespace"], "name": meta["name"], "uid": meta["uid"]}
        self.client.create(volume("pvc-" + meta["uid"], c["spec"]["storageClassName"], c["spec"]["resources"]["requests"]["storage"], key, value,
                                  c["spec"]["accessModes"], claimRef=ref))
