# SPDX-License-Identifier: Apache-2.0
"""Claims that wait for their first consumer on a live system: who writes what before a pod is bound, and what is taken back.

    tests/process/test_volumes.py [test...]

tests/real/test_claims.py runs these functions with a Cluster of its own, on a real API server with the real controllers."""
import os
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import objects, storage  # noqa: E402
from lib.check import condition  # noqa: E402
from lib.cluster import Cluster  # noqa: E402
from lib.harness import becomes, check, equal, main, steady, until  # noqa: E402
from lib.storage import Storage, claim, local, mounts, storage_class  # noqa: E402

SOON_S = 15.0
PHASES = (("disk", 0.05), ("disk", 0.6), ("disk", 1.3), ("local", 0.02), ("local", 0.1))  # class and time of a kill


def node(name, zone=None, cpu=8):
    return objects.node(name, cpu=str(cpu), labels={"zone": zone} if zone else None)


def pod(name, *claims, cpu=1, **rest):
    return objects.pod(name, cpu=str(cpu), volumes=mounts(*claims), **rest)


def answering(c, **how):
    """Who answers but for muster; on a real server the PersistentVolume controller is there."""
    return Storage(c.admin, controller=not c.controllers, **how)


def gang(c, name, n, of_class, cpu=1, quorum=None, size="10Gi"):
    """Members NAME-0 and on, each with a claim of that name."""
    c.create(objects.pod_group(name, quorum or n), *(claim(f"{name}-{i}", of_class, size) for i in range(n)))
    c.create(*(pod(f"{name}-{i}", f"{name}-{i}", cpu=cpu, group=name) for i in range(n)))


def places(c, prefix):
    return {p["metadata"]["name"]: p["spec"]["nodeName"] for p in c.pods(prefix) if p["spec"].get("nodeName")}


def settles(c, prefix, n, within_s=SOON_S):
    until(lambda: c.bound(prefix) >= n, within_s, lambda: f"{n} of {prefix} bound, {places(c, prefix)}")
    equal(c.bound(prefix), n)


def claims(c, prefix=""):
    return {x["metadata"]["name"]: x for x in c.client.list("PersistentVolumeClaim") if x["metadata"]["name"].startswith(prefix)}


def volumes(c):
    return {x["metadata"]["name"]: x for x in c.client.list("PersistentVolume")}


def selected(c, prefix=""):
    return {n: storage.annotations(x)[storage.SELECTED] for n, x in claims(c, prefix).items() if storage.SELECTED in storage.annotations(x)}


def taken(c):
    """{volume: claim}"""
    return {n: v["spec"]["claimRef"]["name"] for n, v in volumes(c).items() if v["spec"].get("claimRef")}


def reason(c, name, *parts, within_s=SOON_S):
    said = {}

    def has():
        said.update(condition(c.client.get("Pod", name)) or {})
        return said.get("status") == "False" and all(p in said.get("message", "") for p in parts)

    try:
        until(has, within_s)
    except AssertionError:
        check(False, f"condition of {name}: wanted {parts}, has {said}")


def event(c, name, *parts):
    def has():
        return any(e.get("regarding", {}).get("name") == name and all(p in e.get("note", "") for p in parts) for e in c.client.list("Event"))

    until(has, SOON_S, f"an event of {name} with {parts}")


def test_vol_1_a_volume_is_provisioned_for_the_node():
    with Cluster(node("n1")) as c, answering(c):
        c.create(storage_class("disk"), claim("a", "disk"))
        c.up()
        c.create(pod("a", "a"))
        settles(c, "a", 1)
        equal(selected(c), {"a": "n1"})
        check(storage.is_bound(claims(c)["a"]))
        becomes(lambda: c.metrics()['muster_volume_binds_total{result="bound"}'], 1, "counted")
        equal(c.metrics()["muster_volumes_phase_duration_seconds_count"], 1, "pods whose volumes were waited for")
        check(c.metric("muster_devices") + c.metric("muster_claims") == 0, "without --devices there are no devices")
        equal(c.wrongs(), [])


def test_vol_2_local_volumes_decide_where_a_gang_goes():
    with Cluster(*(node(f"n{i}") for i in range(5))) as c, answering(c):
        c.create(storage_class("local", storage.NONE), local("pv1", "local", "n1"), local("pv3", "local", "n3"))
        c.up()
        gang(c, "g", 2, "local")
        settles(c, "g", 2)
        equal(sorted(places(c, "g").values()), ["n1", "n3"])
        for name, of in taken(c).items():
            equal({"pv1": "n1", "pv3": "n3"}[name], places(c, "g")[of])
            equal(storage.annotations(volumes(c)[name])[storage.BOUND_BY], "yes")
        equal(selected(c), {})
        equal(c.wrongs(), [])


def test_vol_3_a_gang_with_too_few_volumes_writes_nothing():
    with Cluster(*(node(f"n{i}") for i in range(4))) as c, answering(c):
        c.create(storage_class("local", storage.NONE), local("pv1", "local", "n1"), local("pv3", "local", "n3"))
        c.up()
        gang(c, "g", 3, "local")
        reason(c, "g-0", "node(s) didn't find available persistent volumes to bind")
        steady(lambda: taken(c) == {} and c.bound("g") == 0, 2)
        c.create(local("pv2", "local", "n2"))
        settles(c, "g", 3)


def test_volumes_that_several_nodes_reach_are_given_once_each():
    """Three volumes for three members, two of one zone; no rule over nodes says that no two members get the same."""
    with Cluster(node("n1", "a"), node("n2", "a"), node("n3", "b")) as c, answering(c):
        c.create(storage_class("net", storage.NONE), storage.volume("pa1", "net", "10Gi", "zone", "a"),
                 storage.volume("pa2", "net", "11Gi", "zone", "a"), storage.volume("pb1", "net", "12Gi", "zone", "b"))
        c.up()
        gang(c, "g", 3, "net", cpu=4)
        settles(c, "g", 3)
        equal(sorted(taken(c).values()), ["g-0", "g-1", "g-2"])
        zones = {"n1": "a", "n2": "a", "n3": "b"}
        for name, of in taken(c).items():
            equal(zones[places(c, "g")[of]], name[1])


def test_two_volumes_of_one_node_serve_two_members():
    with Cluster(node("n1"), node("n2")) as c, answering(c):
        c.create(storage_class("local", storage.NONE), *(local(f"pv{i}", "local", "n1") for i in range(3)))
        c.up()
        gang(c, "g", 3, "local")
        settles(c, "g", 3)
        equal(set(places(c, "g").values()), {"n1"})
        equal(len(taken(c)), 3)


def test_the_smallest_volume_that_fits_is_taken():
    with Cluster(node("n1")) as c, answering(c):
        c.create(storage_class("local", storage.NONE), local("big", "local", "n1", "100Gi"), local("fits", "local", "n1", "20Gi"),
                 local("small", "local", "n1", "5Gi"), claim("a", "local", "10Gi"))
        c.up()
        c.create(pod("a", "a"))
        settles(c, "a", 1)
        equal(taken(c), {"fits": "a"})


def test_vol_4_where_provisioning_failed_is_avoided_and_no_one_was_bound():
    seen = []
    with Cluster(node("n1", cpu=4), node("n2", cpu=4), node("n3", cpu=4)) as c:
        def fail(name, where):
            seen.append((name, where, c.bound("g")))
            return name == "g-3" and [s for s in seen if s[0] == "g-3"][0][1] == where

        with answering(c, fail=fail, delay_s=0.5) as s:
            c.create(storage_class("disk"))
            c.up()
            gang(c, "g", 4, "disk", cpu=1)
            settles(c, "g", 4, 30)
            check(s.failed, "nothing failed")
            bad = s.failed[0][1]
            check(places(c, "g")["g-3"] != bad, places(c, "g"), s.failed)
            equal(max(bound for *_, bound in seen), 0, "bound before all volumes were there")
            event(c, "g-3", 'provisioning failed for PVC "g-3"')


def test_vol_4_what_is_not_bound_is_taken_back():
    with Cluster(node("n1")) as c, answering(c, fail=lambda n, _: n == "g-1", silent=lambda n: n == "g-0"):
        c.create(storage_class("disk"))
        c.up()
        gang(c, "g", 2, "disk")
        event(c, "g-1", 'provisioning failed for PVC "g-1"')
        until(lambda: selected(c) == {}, SOON_S, lambda: f"annotations taken back: {selected(c)}")
        equal(c.bound("g"), 0)


def test_vol_5_what_is_bound_stays_and_restricts_the_next_plan():
    first = {}
    with Cluster(node("a1", "a"), node("a2", "a"), node("b1", "b")) as c:
        def fail(name, where):
            zone = where[0]
            if name == "g-2":
                first.setdefault("zone", zone)
                return zone == first["zone"] and not all(storage.is_bound(x) for n, x in claims(c, "g").items() if n != "g-2")
            return False

        with answering(c, fail=fail, topology=lambda n: ("zone", n["metadata"]["labels"]["zone"])):
            c.create(storage_class("disk"))
            c.up()
            gang(c, "g", 3, "disk")
            settles(c, "g", 3, 90)
            for name, x in claims(c, "g").items():
                v = volumes(c)[x["spec"]["volumeName"]]
                zone = v["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"][0]["matchExpressions"][0]["values"][0]
                equal(places(c, "g")[name][0], zone)


def test_vol_6_a_silent_provisioner_ends_the_try():
    with Cluster(node("n1")) as c, answering(c, silent=lambda _: True):
        c.create(storage_class("disk"), claim("a", "disk"))
        c.up("--volume-bind-timeout", 2)
        c.create(pod("a", "a"))
        until(lambda: selected(c) == {"a": "n1"}, SOON_S, "selected")
        event(c, "a", 'running PreBind plugin "VolumeBinding": binding volumes: context deadline exceeded')
        equal(c.bound("a"), 0)


def test_vol_7_a_gang_that_needs_more_space_than_there_is():
    capacity = {"apiVersion": "storage.k8s.io/v1", "kind": "CSIStorageCapacity", "metadata": {"name": "n1", "namespace": "default"},
                "storageClassName": "disk", "capacity": "100Gi",
                "nodeTopology": {"matchLabels": {"kubernetes.io/hostname": "n1"}}}
    driver = {"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": storage.PROVISIONER},
              "spec": {"storageCapacity": True}}
    with Cluster(node("n1", cpu=64)) as c, answering(c):
        c.create(storage_class("disk"), driver, capacity)
        c.up()
        gang(c, "g", 12, "disk")
        reason(c, "g-0", "node(s) did not have enough free storage")
        steady(lambda: selected(c) == {} and c.bound("g") == 0, 1)
        gang(c, "h", 10, "disk")
        settles(c, "h", 10)


def test_vol_8_a_volume_that_is_taken_meanwhile_is_replaced():
    with Cluster(node("n1")) as c, answering(c):
        c.create(storage_class("local", storage.NONE), local("p1", "local", "n1", "10Gi"), local("p2", "local", "n1", "11Gi"),
                 claim("a", "local"), claim("other", "local"))
        c.up()
        uid = c.client.get("PersistentVolumeClaim", "other")["metadata"]["uid"]
        c.create(pod("a", "a"))
        c.client.patch("PersistentVolume", "p1", {"spec": {"claimRef": {"kind": "PersistentVolumeClaim", "namespace": "default",
                                                                        "name": "other", "uid": uid}}})
        settles(c, "a", 1)
        check(storage.is_bound(claims(c)["a"]))


def kills(which, of_class, at):
    """All of a gang at rest with volumes of their own, whoever is killed `at` seconds after it came."""
    with Cluster(*(node(f"n{i}") for i in range(3)), judged=True) as c, answering(c, delay_s=1.0):
        c.create(storage_class("disk"), storage_class("local", storage.NONE), *(local(f"pv{i}", "local", f"n{i}") for i in range(3)))
        c.up()
        gang(c, "g", 3, of_class, cpu=5)
        time.sleep(at)
        for name in which:
            os.kill(c.daemons()[name], signal.SIGKILL)
        settles(c, "g", 3, 40)
        check(all(storage.is_bound(x) for x in claims(c, "g").values()), claims(c, "g"))
        for name, of in taken(c).items():
            if name.startswith("pv") and not name.startswith("pvc"):
                equal("n" + name[2:], places(c, "g")[of])
        equal(c.wrongs(), [])


def test_vol_9_killed_in_each_phase():
    for which in (["muster-frontend"], ["muster-core"], ["muster-frontend", "muster-core"]):
        for of_class, at in PHASES:
            kills(which, of_class, at)


def test_vol_10_an_ephemeral_volume_whose_claim_comes_late():
    with Cluster(node("n1")) as c, answering(c):
        c.create(storage_class("disk"))
        c.up()
        template = {"spec": claim("x", "disk")["spec"]}
        c.create(objects.pod("p", volumes=[{"name": "v", "ephemeral": {"volumeClaimTemplate": template}}]))
        if not c.controllers:
            reason(c, "p", 'waiting for ephemeral volume controller to create the persistentvolumeclaim "p-v"')
            late = claim("p-v", "disk")
            late["metadata"]["ownerReferences"] = [{"apiVersion": "v1", "kind": "Pod", "name": "p", "controller": True,
                                                    "uid": c.client.get("Pod", "p")["metadata"]["uid"]}]
            c.create(late)
        settles(c, "p", 1)


def test_vol_12_a_pod_deleted_while_its_volume_is_provisioned():
    with Cluster(node("n1")) as c, answering(c, silent=lambda n: n == "g-2"):
        c.create(storage_class("disk"))
        c.up()
        gang(c, "g", 3, "disk", quorum=2)
        until(lambda: "g-2" in selected(c), SOON_S, "selected")
        equal(c.bound("g"), 0)
        c.delete("Pod", "g-2")
        settles(c, "g", 2)
        until(lambda: "g-2" not in selected(c), SOON_S, "taken back")


def test_vol_12_below_the_quorum_all_is_taken_back():
    with Cluster(node("n1")) as c, answering(c, silent=lambda n: True):
        c.create(storage_class("disk"))
        c.up()
        gang(c, "g", 2, "disk")
        until(lambda: len(selected(c)) == 2, SOON_S, "selected")
        c.delete("Pod", "g-1")
        until(lambda: selected(c) == {}, SOON_S, lambda: f"taken back: {selected(c)}")


def test_a_claim_that_members_share_is_provisioned_once():
    with Cluster(*(node(f"n{i}", "a", cpu=2) for i in range(3))) as c, \
            answering(c, topology=lambda n: ("zone", n["metadata"]["labels"]["zone"])):
        c.create(storage_class("disk"), claim("data", "disk", modes=["ReadWriteMany"]), objects.pod_group("g", 3))
        c.up()
        c.create(*(pod(f"g-{i}", "data", cpu=2, group="g") for i in range(3)))
        settles(c, "g", 3)
        equal(len(set(places(c, "g").values())), 3)
        equal(len(selected(c)), 1)
        equal(len(volumes(c)), 1)


def test_members_without_claims_wait_for_those_with():
    go = []
    with Cluster(node("n1")) as c, answering(c, silent=lambda _: not go):
        c.create(storage_class("disk"), claim("data", "disk"), objects.pod_group("g", 3))
        c.up()
        c.create(pod("g-0", "data", group="g"), *(objects.pod(f"g-{i}", group="g") for i in (1, 2)))
        until(lambda: selected(c), SOON_S, "selected")
        steady(lambda: c.bound("g") == 0, 0.8)
        go.append(True)
        settles(c, "g", 3)


def test_off_such_pods_wait():
    with Cluster(node("n1")) as c, answering(c):
        c.create(storage_class("disk"), claim("a", "disk"))
        c.up("--volume-bind-timeout", 0)
        c.create(pod("a", "a"))
        reason(c, "a", "waits for its first consumer", "muster does not bind claims")
        equal(selected(c), {})


if __name__ == "__main__":
    main(globals(), jobs=2)
