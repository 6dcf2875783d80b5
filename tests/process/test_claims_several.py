# SPDX-License-Identifier: Apache-2.0
"""Devices of several nodes on a live server: slices with allNodes, nodeSelector and perDeviceNodeSelection.  No device is given
twice, whichever nodes list it; gangs get all of theirs or none, whatever dies in between."""
import contextlib
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import kube, objects  # noqa: E402
from lib.claims import (CLASS, DRIVER, World, allocated, allocation, bound, claim, claim_spec, device_class, devices, free, gang_with,  # noqa: E402
                        pod_with, says)
from lib.harness import equal, main, until  # noqa: E402
from lib.instances import Pair  # noqa: E402
from lib.proxy import Proxy  # noqa: E402

ON = ("--devices", "auto")
EAST = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["east"]}]}]}


def zoned(*zones):
    return [objects.node(f"n{i + 1}", cpu="4", labels={"zone": zone}) for i, zone in enumerate(zones)]


def pool(n, first=0, name="net", **where):
    """n devices of the nodes that `where` says."""
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": f"{name}-{DRIVER}"},
            "spec": {"driver": DRIVER, "devices": [{"name": f"f-{first + i}"} for i in range(n)],
                     "pool": {"name": name, "generation": 1, "resourceSliceCount": 1}, **(where or {"allNodes": True})}}


def one(c, name, **options):
    c.create(pod_with(name, **options))
    c.make_claim(name, claim_spec())


def node_of(c, name):
    return c.client.get("Pod", name)["spec"].get("nodeName")


def gang_of_two_has_the_devices(c):
    """Each on a node of its own."""
    gang_with(c, "h", 2, claim_spec(), cpu="3")
    bound(c, "h", 2)
    equal(sorted(devices(c, f"h-{i}-gpu") for i in range(2)), [["f-0"], ["f-1"]])
    equal(len({node_of(c, f"h-{i}") for i in range(2)}), 2, "nodes")


def test_devices_of_all_nodes_are_had_once():
    """Three nodes list the two devices, of which a gang of three would have each other's."""
    with World(*zoned("a", "a", "a"), pool(2), device_class()) as c:
        c.up(*ON)
        gang_with(c, "g", 3, claim_spec(), cpu="3")
        says(c, "g-0", "2 of 3 members have room; request r: 3 devices of class gpu are needed, 2 are free on 3 nodes (2 match).")
        equal(allocated(c), [])
        gang_of_two_has_the_devices(c)
        equal([a for i in range(2) if "nodeSelector" in (a := allocation(c, f"h-{i}-gpu"))], [])
        for i in range(2):
            c.end_pod(f"h-{i}")
        c.client.patch("ResourceSlice", f"net-{DRIVER}", {"spec": {"devices": pool(3)["spec"]["devices"]}})
        bound(c, "g", 3)
        equal(len(allocated(c)), 3)


def test_devices_of_some_nodes_are_had_there():
    """By labels of nodes, which may change; and a claim that is allocated for some nodes keeps its pods there."""
    with World(*zoned("west", "east", "west"), pool(1, nodeSelector=EAST), device_class()) as c:
        c.up(*ON)
        one(c, "a")
        bound(c, "a", 1)
        equal((node_of(c, "a"), devices(c, "a-gpu"), allocation(c, "a-gpu")["nodeSelector"]), ("n2", ["f-0"], EAST))
        one(c, "b")
        says(c, "b", "cannot allocate all claims")
        c.create(claim("kept", claim_spec()))
        c.client.patch("ResourceClaim", "kept", {"status": {"allocation": {
            "devices": {"results": [{"request": "r", "driver": DRIVER, "pool": "net", "device": "gone"}]}, "nodeSelector": EAST}}}, sub="status")
        for name, labels in (("n2", "west"), ("n3", "east")):
            c.client.patch("Node", name, {"metadata": {"labels": {"zone": labels}}})
        c.end_pod("a")
        bound(c, "b", 1)
        equal(node_of(c, "b"), "n3")
        c.create(objects.pod("c", resourceClaims=[{"name": "gpu", "resourceClaimName": "kept"}]))
        bound(c, "c", 1)
        equal(node_of(c, "c"), "n3")


def test_devices_of_one_and_of_several_nodes():
    """Another scheduler has the one of all nodes, and gives it back."""
    apart = pool(2, 5, "apart", perDeviceNodeSelection=True)
    for i, device in enumerate(apart["spec"]["devices"]):
        device["nodeName"] = f"n{i + 1}"
    with World(*zoned("a", "a", "a"), pool(1), apart, device_class()) as c:
        c.create(claim("other", claim_spec()))
        c.client.patch("ResourceClaim", "other", {"status": {"allocation": {
            "devices": {"results": [{"request": "r", "driver": DRIVER, "pool": "net", "device": "f-0"}]}},
            "reservedFor": [c.consumer("other", "n1")]}}, sub="status")
        c.up(*ON)
        gang_with(c, "g", 3, claim_spec())
        says(c, "g-0", "2 are free on 2 nodes (3 match, 1 is taken)")
        free(c, "other")
        bound(c, "g", 3)
        equal(len(allocated(c)), 3)


def partitions(takes, count=2):
    """A pool of all nodes: partitions that take so much each of 4 slices of one device."""
    use = [{"counterSet": "big", "counters": {"slices": {"value": str(n)}}} for n in takes]
    counters, made = pool(0), pool(len(takes))
    counters["metadata"]["name"] += "-counters"
    del counters["spec"]["devices"]
    counters["spec"]["sharedCounters"] = [{"name": "big", "counters": {"slices": {"value": "4"}}}]
    for one, uses in zip(made["spec"]["devices"], use):
        one["consumesCounters"] = [uses]
    for each in (counters, made):
        each["spec"]["pool"]["resourceSliceCount"] = count
    return counters, made


def test_partitions_of_all_nodes_share_counters():
    """Whichever nodes they are used on: two of three fit, and a gang of three gets none."""
    with World(*zoned("a", "a", "a"), *partitions([2, 2, 2]), device_class()) as c:
        c.up(*ON)
        gang_with(c, "g", 3, claim_spec(), cpu="3")
        says(c, "g-0", "2 of 3 members have room")
        equal(allocated(c), [])
        gang_of_two_has_the_devices(c)
        one(c, "late", cpu="500m")
        says(c, "late", "cannot allocate all claims")
        c.end_pod("h-0")
        bound(c, "late", 1)
        equal(devices(c, "late-gpu"), ["f-0"])


@contextlib.contextmanager
def dies(which, writes, *cluster):
    """Whoever it is dies after so many writes of the claims that are made inside; then there is another instance."""
    with World(*cluster, device_class(), kube.namespace("muster-system")) as c, Proxy(c.kubeconfig, c.folder) as proxy:
        pair, seen = Pair(c, 1, proxy.kubeconfig, *ON).ready(), []

        def count(call):
            call.pass_on()
            seen.append(call.path)
            if len(seen) == writes:
                getattr(pair, which).kill()

        proxy.rule(lambda call: call.method == "PATCH" and "/resourceclaims/" in call.path, count)

        def dead():
            until(lambda: not getattr(pair, which).running(), 20, lambda: f"{len(seen)} writes")
            pair.kill()
        yield c, dead


def again(c, pods):
    Pair(c, 2, c.kubeconfig, *ON).ready()
    bound(c, "g", pods, 60)


def killed(which, writes, **where):
    """A gang of 4, one to a node, is at rest whole."""
    with dies(which, writes, *zoned(*["east"] * 4), pool(4, **where)) as (c, dead):
        gang_with(c, "g", 4, claim_spec(), cpu="3")
        dead()
        again(c, 4)
        equal(len(allocated(c)), 4, f"{which} after {writes} writes: allocated claims")


def test_kills_between_the_writes_leave_all_or_nothing():
    for which in ("frontend", "core"):
        for writes in (1, 3, 5, 8):
            killed(which, writes)
    killed("frontend", 5, nodeSelector=EAST)


def fabric(yes, *devices):
    for device in devices:
        device["attributes"] = {"fabric": {"bool": yes}}
    return devices


def killed_with_all(which, writes):
    """One of the three members has all devices that every node sees, the others one of their node: nobody has them half, and
    who wants all of them next waits until they are given back."""
    wide, spec, every = pool(3), claim_spec(selector=f"!device.attributes['{DRIVER}'].fabric"), claim_spec()
    every["devices"]["requests"][0]["exactly"] = {"deviceClassName": CLASS, "allocationMode": "All", "selectors": [
        {"cel": {"expression": f"device.attributes['{DRIVER}'].fabric"}}]}
    fabric(True, *wide["spec"]["devices"])
    own = [pool(1, 9, f"n{i + 1}", nodeName=f"n{i + 1}") for i in range(3)]
    for made in own:
        fabric(False, *made["spec"]["devices"])
    with dies(which, writes, *zoned("a", "a", "a"), wide, *own) as (c, dead):
        gang_with(c, "g", 3, spec, make=False, cpu="3")
        for i in range(3):
            c.make_claim(f"g-{i}", spec if i else every)
        dead()
        again(c, 3)
        equal((len(allocated(c)), sorted(devices(c, "g-0-gpu"))), (3, ["f-0", "f-1", "f-2"]), f"{which} after {writes} writes")
        c.create(pod_with("next", cpu="500m"))
        c.make_claim("next", every)
        says(c, "next", "cannot allocate all claims")
        equal(len(allocated(c)), 3)
        c.end_pod("g-0")
        bound(c, "next", 1)
        equal(sorted(devices(c, "next-gpu")), ["f-0", "f-1", "f-2"])
        equal(len(allocated(c)), 3)


def test_kills_between_the_writes_of_all_devices_of_all_nodes():
    for which in ("frontend", "core"):
        for writes in (1, 2, 4, 6):
            killed_with_all(which, writes)


if __name__ == "__main__":
    main(globals(), jobs=2)
