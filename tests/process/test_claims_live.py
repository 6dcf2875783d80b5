# SPDX-License-Identifier: Apache-2.0
"""Pods with resource claims on a live server: devices are chosen, claims are written before the Binding, all of a gang's or
none, whatever dies in between.

tests/real/test_claims.py runs these functions with a World of its own, on a real API server with the real controllers."""
import json
import os
import sys
import time
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import kube, objects, storage  # noqa: E402
from lib.check import condition  # noqa: E402
from lib.claims import (CLASS, DRIVER, FINALIZER, World, allocated, allocation, bound, claim, claim_spec, device_class,  # noqa: E402
                        devices, foreign, free, gang_with, give, nodes, pod_with, says, slice_of, writes_status)
from lib.cluster import Cluster, run  # noqa: E402
from lib.harness import check, equal, main, until  # noqa: E402
from lib.instances import Pair  # noqa: E402
from lib.proxy import Proxy  # noqa: E402

ON = ("--devices", "auto")


def nested(spec, levels):
    """With parameters for the driver of so many arrays, one in the other."""
    deep = []
    for _ in range(levels):
        deep = [deep]
    return {"devices": {**spec["devices"], "config": [{"opaque": {"driver": DRIVER, "parameters": {"a": deep}}}]}}


def items_of(c):
    """What the server has, as kubectl prints it."""
    return [{**o, "apiVersion": kube.KINDS[kind][0].removeprefix("apis/").removeprefix("api/"), "kind": kind}
            for kind in ("Node", "ResourceSlice", "DeviceClass", "PodGroup", "ResourceClaim", "Pod") for o in c.client.list(kind)]


def on_files(items, *words):
    code, out, err = run("musterctl", *words, "-f", "-", "-o", "json", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    check(out, code, err)
    return json.loads(out)


def simulated(c, prefix):
    """The devices that pods would get by musterctl simulate, had they not been placed yet."""
    items = items_of(c)
    for o in items:
        if o["metadata"]["name"].startswith(prefix) and o["kind"] in ("ResourceClaim", "Pod"):
            o["spec"].pop("nodeName", None)
            for field in ("allocation", "reservedFor", "conditions"):
                o.get("status", {}).pop(field, None)
    return sorted([d["device"].rpartition("/")[2] for d in p["devices"]] for p in on_files(items, "simulate")["placements"])


def test_a_pod_gets_the_first_device_and_its_claim_is_written_before():
    """DRA-1."""
    with World(*nodes(1), device_class()) as c:
        c.up(*ON)
        c.create(pod_with("a"))
        says(c, "a", 'pod "default/a": ResourceClaim not created yet')
        c.make_claim("a", claim_spec())
        bound(c, "a", 1)
        got, pod = c.claim("a-gpu"), c.client.get("Pod", "a")
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
    with World(*nodes(2, 4), device_class()) as c:
        foreign(c, "other", "n1", "gpu-1")
        c.create(claim("deep", nested(claim_spec(), 150)))
        c.up(*ON)
        gang_with(c, "g", 4, claim_spec(2))
        says(c, "g-0", "cannot allocate all claims")
        says(c, "g-0", "3 of 4 members have room; request r: 8 devices of class gpu are needed, 7 are free on 2 nodes (8 match, 1 is taken).")
        equal(len(allocated(c)), 1, "claims that are allocated")
        count = c.metrics()
        equal([count[f'muster_devices{{driver="{DRIVER}",state="{s}"}}'] for s in ("free", "taken", "shared", "tainted")], [7, 1, 0, 0])
        equal([count[f'muster_claims{{state="{s}"}}'] for s in ("waiting", "writing", "allocated", "undoing")], [5, 0, 1, 0])
        equal(count['muster_questions{state="asked"}'], 1, "questions of four members")
        free(c, "other")
        bound(c, "g", 4, 10)
        equal(len(allocated(c)), 4)
        until(lambda: c.metrics()["muster_claims_phase_duration_seconds_count"] == 4)


def test_devices_of_one_root_by_selector():
    """DRA-11."""
    with World(*nodes(1, 8, roots=4), device_class()) as c:
        foreign(c, "other", "n1", "gpu-4")
        c.up(*ON)
        gang_with(c, "g", 3, claim_spec(2, match=f"{DRIVER}/root"))
        bound(c, "g", 3)
        equal(sorted(devices(c, f"g-{i}-gpu") for i in range(3)), [["gpu-1", "gpu-5"], ["gpu-2", "gpu-6"], ["gpu-3", "gpu-7"]])
        equal(simulated(c, "g"), [["gpu-1", "gpu-5"], ["gpu-2", "gpu-6"], ["gpu-3", "gpu-7"]], "on files")
        c.create(pod_with("last"))
        c.make_claim("last", claim_spec(1, selector=f"device.attributes['{DRIVER}'].index > 0"))
        says(c, "last", "cannot allocate all claims")
        # Claims are not listed there: that one is not found would be wrong.
        for command in (("simulate",), ("explain", "--add-node", "1xn1", "default/last")):
            out = run("musterctl", *command, "--kubeconfig", c.kubeconfig)[1]
            check("does not support resource claims" in out and "could not find" not in out, out)


def test_a_gang_is_told_which_devices_it_lacks():
    """What explain and gangs take from the ledger is what the condition has, and what the same objects say offline."""
    with World(*nodes(3, 4, roots=2), device_class()) as c:
        foreign(c, "first", "n1", "gpu-0")
        for i in range(3):
            foreign(c, f"other-{i}", f"n{i + 1}", "gpu-1")
            foreign(c, f"more-{i}", f"n{i + 1}", "gpu-2")
        c.up(*ON)
        gang_with(c, "g", 2, claim_spec(2, match=f"{DRIVER}/root"))
        numbers = ("0 of 2 members have room; request r: 4 devices of class gpu are needed, 5 are free on 3 nodes (12 match, 7 are taken), "
                   f"no 2 of them on one node under one {DRIVER}/root.")
        says(c, "g-0", numbers)
        row, = (g for g in c.ask_json("gangs")[1]["gangs"] if g["gang"] == "default/g")
        got = c.ask_json("explain", "default/g")[1]
        for of in (row, got):
            check(numbers in of["reason"], of)
            former = ("withoutCounters", "mostOnANode", "mostAlike")
            equal([{k: v for k, v in d.items() if k not in former} for d in of["devices"]], [{"request": "r", "class": CLASS, "members": 2, "needed": 4, "free": 5, "nodes": 3, "match": 12, "taken": 7,
                                   "tainted": 0, "without_counters": 0, "most_on_a_node": 2, "attribute": f"{DRIVER}/root", "most_alike": 1}])
        equal(on_files(items_of(c), "explain", "default/g")["devices"], row["devices"], "on files")


def test_explain_of_a_pod_that_lacks_devices():
    """A pod without a gang: numbers for each request, who holds the devices that would do, and what isn't used."""
    with World(*nodes(3, 4, roots=2), device_class()) as c:
        for i in range(3):
            foreign(c, f"other-{i}", f"n{i + 1}", "gpu-3")
        broken = slice_of("n1", 1)
        broken["metadata"]["name"] += "-more"
        broken["spec"]["pool"].update(name="more", resourceSliceCount=2)
        c.create(broken)
        c.up(*ON)
        gang_with(c, "g", 2, claim_spec(2))
        bound(c, "g", 2)
        c.create(pod_with("a"))
        c.make_claim("a", claim_spec(2))
        bound(c, "a", 1)
        c.create(pod_with("late"))
        c.make_claim("late", claim_spec(2))
        says(c, "late", "cannot allocate all claims")
        env = {"MUSTER_SOCKET": c.socket, "KUBECONFIG": c.kubeconfig}
        _, text, err = run("musterctl", "explain", "default/late", env=env)
        for part in (f"claim default/{c.claim_name('late-gpu')}, request r: 2 devices of class {CLASS} are needed, 3 are free on 3 nodes (12 match, 9 are taken), "
                     "no 2 of them on one node\n", " of gang default/g\n", "  and by 1 more claim\n",
                     f"not used: pool more of driver {DRIVER}: 1 of the 2 ResourceSlices of its generation 1 exist\n"):
            check(part in text, part, "is not in", text, err)
        got = json.loads(run("musterctl", "explain", "default/late", "-o", "json", env=env)[1])["claims"]
        equal([(g["request"], g["needed"], g["free"], g["nodes"], g["match"], g["taken"], g["held_by_claims"]) for g in got], [("r", 2, 3, 3, 12, 9, 6)])
        holders = {h["claim"]: h for h in got[0]["held_by"]}
        equal(len(holders), 5)
        check(any(h.get("gang") == "default/g" and h["devices"] == 2 and h["pod"].startswith("default/g-") for h in holders.values()), holders)
        equal(on_files(items_of(c), "explain", "default/late")["claims"], got, "on files")


def test_questions_about_a_gang_that_lacks_devices():
    """explain --what-if: muster-core counts the devices that it has, and those of a node that would come."""
    with World(*nodes(2, 4), device_class()) as c:
        foreign(c, "other", "n2", "gpu-0")
        c.up(*ON)
        c.create(pod_with("a"))
        c.make_claim("a", claim_spec(2))
        bound(c, "a", 1)
        gang_with(c, "g", 3, claim_spec(2))
        says(c, "g-0", "2 of 3 members have room; request r: 6 devices of class gpu are needed, 5 are free on 2 nodes (8 match, 3 are taken).")
        code, got = c.ask_json("explain", "default/g", "--what-if", "nodes=1xn2")
        equal((code, got["answer"], sum(p["members"] for p in got["places"])), (0, "starts", 3), got)
        code, got = c.ask_json("explain", "default/g", "--what-if", "priority=10")
        equal((code, got["answer"], "victims" in got), (1, "waits", False), got)
        check("6 devices of class gpu are needed, 5 are free on 2 nodes (8 match, 3 are taken)" in got["reason"], got)
        # It was said to be impossible, by a search without devices; here a's eviction would do.
        equal(got["preemption"]["answer"], "devices", got)
        until(lambda: c.ask_json("explain", "default/g")[1].get("preemption", {}).get("answer") == "devices", 20, "preemption")
        check("the search for pods to evict" in c.ask("explain", "default/g")[1])
        code, _, err = c.ask("explain", "default/g", "--what-if", "without-pod=default/a")
        check(code == 1 and "which ones a pod would leave is not known here" in err, code, err)
        code, _, err = c.ask("explain", "default/g", "--try", "--kubeconfig", c.kubeconfig)
        check(code == 2 and "resource claims" in err and "--what-if" in err, code, err)
        equal(c.bound("g"), 0)


def test_a_class_that_is_missing_and_then_created():
    """DRA-4."""
    with World(*nodes(1)) as c:
        c.up(*ON)
        c.create(pod_with("a"))
        c.make_claim("a", claim_spec())
        says(c, "a", "request r: device class gpu does not exist")
        c.create(device_class())
        bound(c, "a", 1, 10)


def test_a_refused_write_takes_the_gang_back():
    """DRA-5."""
    with World(*nodes(2), device_class()) as c, Proxy(c.kubeconfig, c.folder) as proxy:
        down = [True]
        refused = proxy.rule(lambda call: down[0] and writes_status("g-6")(call),
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


def test_a_missing_right_is_in_the_log_at_the_start():
    """SelfSubjectAccessReviews, before any pod has claims."""
    with World(*nodes(1), device_class()) as c:
        c.arm("deny-access", count=1)
        c.up(*ON)
        until(lambda: "--devices auto: may not patch resourceclaims; no pod with claims can be bound" in c.ctl.log())
        equal(c.metric("muster_claims_granted"), 0)
    with World(*nodes(1), device_class()) as c:
        c.up(*ON)
        until(lambda: c.metric("muster_claims_granted") == 1)
        check("may not" not in c.ctl.log(), c.ctl.log())


def test_rules_that_taint_devices_are_said_to_be_ignored():
    """One DeviceTaintRule of a server that has the gate on, which muster-apisim does not have."""
    with World(*nodes(1), device_class()) as c, Proxy(c.kubeconfig, c.folder) as proxy:
        rules = {"apiVersion": "resource.k8s.io/v1beta2", "kind": "DeviceTaintRuleList", "items": [{"metadata": {"name": "hot"}}]}
        asked = proxy.rule(lambda call: call.path.endswith("/v1beta2/devicetaintrules"), lambda call: call.answer(200, json.dumps(rules).encode()))
        pair = Pair(c, 1, proxy.kubeconfig, *ON)
        pair.ready()
        until(lambda: "DeviceTaintRule hot is ignored" in pair.frontend.log(), 30, pair.frontend.log)
        equal(asked.hits, 1)


def test_another_scheduler_takes_the_same_device():
    """DRA-9, before the Binding."""
    with World(*nodes(1, 2), device_class()) as c, Proxy(c.kubeconfig, c.folder) as proxy:
        c.create(claim("other", claim_spec()))
        done = []

        def before(call):
            if not done:
                done.append(1)
                give(c, "other", "n1", "gpu-0")
            call.pass_on()

        proxy.rule(writes_status("a"), before, 1)
        pair = Pair(c, 1, proxy.kubeconfig, *ON)
        pair.ready()
        c.create(pod_with("a"))
        c.make_claim("a", claim_spec())
        bound(c, "a", 1, 20)
        equal(devices(c, "a-gpu"), ["gpu-1"])
        equal(len(allocated(c)), 2)
        equal(pair.metric("muster_device_pods_failed_total"), 1)
        check(pair.metric('muster_device_claims_total{result="allocated"}') >= 1)


def test_another_scheduler_takes_a_device_that_a_pod_has():
    """DRA-9, after the Binding: the pod runs and fsck names both claims; muster gives the device to nobody else when one is free."""
    with World(*nodes(1, 2), device_class()) as c:
        c.up(*ON)
        c.create(pod_with("a"))
        c.make_claim("a", claim_spec())
        bound(c, "a", 1)
        c.create(claim("other", claim_spec()))
        give(c, "other", "n1", "gpu-0")
        code, out, err = run("musterctl", "fsck", "--socket", c.ctl.socket, "--kubeconfig", c.admin, "--devices", "-o", "json")
        check(code == 1 and f"{DRIVER}/n1/gpu-0" in out and "default/other" in out and c.claim_name("a-gpu") in out, code, out, err)
        c.end_pod("a")
        c.create(pod_with("b"))
        c.make_claim("b", claim_spec())
        bound(c, "b", 1)
        equal(devices(c, "b-gpu"), ["gpu-1"])


def test_pods_that_end_free_their_devices():
    """DRA-20, the first half."""
    with World(*nodes(1, 2), device_class()) as c:
        c.up(*ON)
        gang_with(c, "g", 2, claim_spec())
        bound(c, "g", 2)
        gang_with(c, "h", 2, claim_spec())
        says(c, "h-0", "cannot allocate all claims")
        for name in ("g-0", "g-1"):
            c.end_pod(name)
        bound(c, "h", 2, 10)


def test_a_pod_deleted_while_claims_are_written_takes_the_gang_back():
    """DRA-20, the second half: below the quorum no claim stays allocated."""
    with World(*nodes(1, 4), device_class()) as c, Proxy(c.kubeconfig, c.folder) as proxy:
        def before(call):
            c.end_pod("g-0")
            time.sleep(0.5)  # it is seen
            call.pass_on()

        deleted = proxy.rule(writes_status("g-1"), before, 1)
        Pair(c, 1, proxy.kubeconfig, *ON).ready()
        gang_with(c, "g", 3, claim_spec())
        until(lambda: deleted.hits > 0 and not allocated(c), 30, lambda: allocated(c))
        says(c, "g-1", "2 of 3")
        equal(c.bound("g"), 0)


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


def killed(which, writes):
    """A gang of 10 is at rest whole, whoever dies after so many writes of its claims."""
    with World(*nodes(2), device_class(), kube.namespace("muster-system")) as c, Proxy(c.kubeconfig, c.folder) as proxy:
        pair = Pair(c, 1, proxy.kubeconfig, *ON).ready()
        seen = kill_after(c, proxy, writes, lambda: getattr(pair, which))
        gang_with(c, "g", 10, claim_spec())
        until(lambda: len(seen) >= writes, 20, lambda: f"{len(seen)} writes")
        until(lambda: not getattr(pair, which).running(), 5, "the kill")
        pair.kill()
        Pair(c, 2, c.kubeconfig, *ON).ready()
        bound(c, "g", 10, 60)
        equal(len(allocated(c)), 10, f"{which} after {writes} writes: allocated claims")


def test_kills_between_the_writes_leave_all_or_nothing():
    """DRA-6."""
    for which in ("frontend", "core"):
        for writes in World.kills:
            killed(which, writes)


def test_claims_of_a_gang_that_come_late():
    """DRA-3."""
    with World(*nodes(1), device_class()) as c:
        c.up(*ON)
        gang_with(c, "g", 3, claim_spec(), make=False)
        says(c, "g-0", "ResourceClaim not created yet")
        for i in range(3):
            c.make_claim(f"g-{i}", claim_spec())
        bound(c, "g", 3, 10)


def test_a_write_whose_answer_is_lost():
    """DRA-7."""
    with World(*nodes(1), device_class()) as c, Proxy(c.kubeconfig, c.folder) as proxy:
        writes = []

        def lose(call):
            writes.append(call.path)
            call.forward()
            call.cut()

        proxy.rule(lambda call: writes_status("a")(call) and not writes, lose)
        Pair(c, 1, proxy.kubeconfig, *ON).ready()
        c.create(pod_with("a"))
        c.make_claim("a", claim_spec())
        bound(c, "a", 1)
        equal(devices(c, "a-gpu"), ["gpu-0"])
        equal(len(c.claim("a-gpu")["status"]["reservedFor"]), 1)


def test_a_claim_that_others_have_allocated():
    """DRA-8: on a node that fits the pod goes there."""
    with World(*nodes(3), device_class()) as c:
        c.create(claim("mine", claim_spec()))
        give(c, "mine", "n3", "gpu-5")
        c.up(*ON)
        c.create(objects.pod("a", resourceClaims=[{"name": "gpu", "resourceClaimName": "mine"}]))
        bound(c, "a", 1)
        equal(c.client.get("Pod", "a")["spec"]["nodeName"], "n3")
        equal(devices(c, "mine"), ["gpu-5"])
        equal(len(c.client.get("ResourceClaim", "mine")["status"]["reservedFor"]), 2)


def test_a_claim_that_others_allocate_where_the_gang_cannot_be():
    """DRA-8, before muster's write, on a node without room: given up, and the pod waits for that node."""
    with World(objects.node("n1", cpu="64"), objects.node("n2", cpu="100m"), slice_of("n1"), slice_of("n2"), device_class()) as c, \
            Proxy(c.kubeconfig, c.folder) as proxy:
        def before(call):
            give(c, "g-0-gpu", "n2", "gpu-5")
            call.pass_on()

        proxy.rule(writes_status("g-0"), before, 1)
        Pair(c, 1, proxy.kubeconfig, *ON).ready()
        gang_with(c, "g", 2, claim_spec())
        says(c, "g-0", "1 resourceclaim not available on the node")
        until(lambda: len(allocated(c)) == 1, 20, "what was written is taken back")
        equal(c.bound("g-"), 0 + c.controllers)  # a pod of another scheduler's has that claim
        free(c, "g-0-gpu")
        bound(c, "g-0", 1)
        bound(c, "g-1", 1)
        equal(len(allocated(c)), 2)


def test_pods_that_share_a_claim():
    """DRA-10."""
    with World(*nodes(2), device_class()) as c:
        c.create(claim("shared", claim_spec()))
        c.up(*ON)
        c.create(*[objects.pod(f"a-{i}", resourceClaims=[{"name": "gpu", "resourceClaimName": "shared"}]) for i in range(3)])
        bound(c, "a", 3, 30)
        equal(len({p["spec"]["nodeName"] for p in c.pods("a")}), 1, "nodes")
        equal(len(c.client.get("ResourceClaim", "shared")["status"]["reservedFor"]), 3)
        equal(len(allocated(c)), 1)


def gang_of_one(c, name, n, spec, others=0, **options):
    """The last `others` members have no claim."""
    group, pods = objects.gang(name, n, n, **options)
    for p in pods[:n - others]:
        p["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": name}]
    c.create(claim(name, spec), group, *pods)


def shared_by(c, name, n):
    """The members are on one node, and all are consumers of the one claim."""
    equal(len({p["spec"]["nodeName"] for p in c.pods(name + "-")}), 1, "nodes")
    got = c.client.get("ResourceClaim", name)
    equal(sorted(r["name"] for r in got["status"]["reservedFor"]), sorted(f"{name}-{i}" for i in range(n)))
    for pod in c.pods(name + "-"):
        check(int(got["metadata"]["resourceVersion"]) < int(pod["metadata"]["resourceVersion"]), "after a Binding")


def test_a_gang_shares_a_claim_of_one_node():
    """The first member's devices bind the others: n1, which has fewer of everything but the name, has no room for all four."""
    with World(objects.node("n1", cpu="3"), objects.node("n2", cpu="64"), slice_of("n1", 2), slice_of("n2", 2), device_class()) as c:
        c.up(*ON)
        gang_of_one(c, "large", 4, claim_spec(3), cpu="1")
        says(c, "large-0", "0 of 4 members have room; request r: 3 devices of class gpu are needed, 4 are free on 2 nodes (4 match), no 3 of them on one node.")
        gang_of_one(c, "g", 4, claim_spec(2), cpu="1")
        bound(c, "g-", 4)
        shared_by(c, "g", 4)
        equal({p["spec"]["nodeName"] for p in c.pods("g-")}, {"n2"})
        gang_of_one(c, "wide", 4, claim_spec(1), cpu="1")
        says(c, "wide-0", "3 of 4 members have room")
        equal(len(allocated(c)), 1)
        offline = on_files([o for o in items_of(c) if "large" not in o["metadata"]["name"]], "simulate")
        equal([p for p in offline["placements"] if p.get("node")], [], "on files")
        c.client.patch("Node", "n1", {"status": {"allocatable": {"cpu": "8"}, "capacity": {"cpu": "8"}}}, sub="status")
        bound(c, "wide-", 4)
        shared_by(c, "wide", 4)


def test_kills_of_a_gang_that_shares_a_claim():
    for which, writes in (("frontend", 1), ("frontend", 2), ("frontend", 4), ("core", 2)):
        with World(*nodes(2), device_class(), kube.namespace("muster-system")) as c, Proxy(c.kubeconfig, c.folder) as proxy:
            pair = Pair(c, 1, proxy.kubeconfig, *ON).ready()
            seen = kill_after(c, proxy, writes, lambda: getattr(pair, which))
            gang_of_one(c, "g", 5, claim_spec(2), others=1)
            until(lambda: len(seen) >= writes, 20, lambda: f"{len(seen)} writes")
            until(lambda: not getattr(pair, which).running(), 5, "the kill")
            pair.kill()
            Pair(c, 2, c.kubeconfig, *ON).ready()
            bound(c, "g-", 5, 60)
            equal(len(c.client.get("ResourceClaim", "g")["status"]["reservedFor"]), 4)
            equal(len({p["spec"]["nodeName"] for p in c.pods("g-") if p["metadata"]["name"] != "g-4"}), 1, "nodes")


def test_a_refused_write_takes_the_claim_of_a_gang_back():
    """The third member's reservation: the claim is deallocated, then the gang starts whole."""
    with World(*nodes(2), device_class()) as c, Proxy(c.kubeconfig, c.folder) as proxy:
        writes = []

        def refuse(call):
            writes.append(call.path)
            if len(writes) == 3:
                call.status(422, "not now", "Invalid")
            else:
                call.pass_on()

        proxy.rule(lambda call: call.method == "PATCH" and call.path.endswith("/resourceclaims/g/status"), refuse)
        Pair(c, 1, proxy.kubeconfig, *ON).ready()
        gang_of_one(c, "g", 4, claim_spec())
        bound(c, "g-", 4, 30)
        check(len(writes) >= 3 + 2 + 4, writes)
        shared_by(c, "g", 4)


def test_a_member_that_came_late_takes_the_claim_of_a_gang_back():
    """It found the claim allocated, and is the last of the gang that gives it back: no allocation is left that binds the gang to a node."""
    with World(*nodes(2), device_class()) as c, Proxy(c.kubeconfig, c.folder) as proxy:
        answer, cleared = [503, "busy", "ServiceUnavailable"], []

        def stop(call):
            status = json.loads(call.body)["status"]
            if status.get("allocation", "") is None:
                cleared.append(status)
            if answer and (status.get("reservedFor") or [{}])[-1].get("name") in ("g-2", "g-3"):
                call.status(*answer)
            else:
                call.pass_on()

        def reserved():
            return [r["name"] for r in c.client.get("ResourceClaim", "g").get("status", {}).get("reservedFor") or []]

        proxy.rule(lambda call: call.method == "PATCH" and call.path.endswith("/resourceclaims/g/status"), stop)
        Pair(c, 1, proxy.kubeconfig, *ON).ready()
        group, pods = objects.gang("g", 5, 4)
        for p in pods:
            p["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": "g"}]
        c.create(claim("g", claim_spec()), group, *pods[:4])
        until(lambda: reserved() == ["g-0", "g-1"], 20, reserved)
        c.create(pods[4])
        until(lambda: reserved() == ["g-0", "g-1", "g-4"], 20, reserved)
        answer[:] = [422, "not now", "Invalid"]
        until(lambda: cleared, 20, reserved)
        answer.clear()
        bound(c, "g-", 5, 30)
        shared_by(c, "g", 5)


def test_members_that_share_a_claim_beside_another_wait_until_it_is_allocated():
    """muster can't allocate it for them: none of the gang starts, whatever its quorum, and each says why."""
    with World(*nodes(2, 2), device_class()) as c:
        c.up(*ON)
        group, pods = objects.gang("g", 3, 2)
        for p in pods[:2]:
            p["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": "one"}, {"name": "more", "resourceClaimName": "two"}]
        c.create(claim("one", claim_spec()), claim("two", claim_spec()), group, *pods)
        for i in range(2):
            says(c, f"g-{i}", "muster does not support members of a gang that share a claim which is not allocated yet and have another one that is not")
        c.still("g")
        equal(allocated(c), [])
        give(c, "one", "n1", "gpu-0")
        bound(c, "g-", 3)
        equal({c.client.get("Pod", f"g-{i}")["spec"]["nodeName"] for i in range(2)}, {"n1"})


def test_all_devices_of_a_node():
    """DRA-13."""
    spec = claim_spec()
    spec["devices"]["requests"][0]["exactly"] = {"deviceClassName": CLASS, "allocationMode": "All"}
    with World(*nodes(1), device_class()) as c:
        foreign(c, "other", "n1", "gpu-3")
        c.up(*ON)
        c.create(pod_with("a"))
        c.make_claim("a", spec)
        says(c, "a", "cannot allocate all claims")
        free(c, "other")
        bound(c, "a", 1, 10)
        equal(devices(c, "a-gpu"), [f"gpu-{i}" for i in range(8)])


def test_taints_of_devices():
    """DRA-16."""
    taint = [{"key": "broken", "value": "yes", "effect": "NoSchedule"}]
    tainted = slice_of("n1")
    for device in tainted["spec"]["devices"][:4]:
        device["taints"] = taint
    with World(objects.node("n1", cpu="64"), tainted, device_class()) as c:
        c.up(*ON)
        gang_with(c, "g", 5, claim_spec())
        says(c, "g-0", "cannot allocate all claims")
        equal(len(allocated(c)), 0)
        c.client.patch("ResourceSlice", tainted["metadata"]["name"], {"spec": {"devices": slice_of("n1")["spec"]["devices"]}})
        bound(c, "g", 5, 10)


def test_taints_that_a_claim_tolerates():
    """DRA-16: with a toleration all eight serve, without one the half."""
    slices = slice_of("n1")
    for device in slices["spec"]["devices"][:4]:
        device["taints"] = [{"key": "broken", "value": "yes", "effect": "NoSchedule"}]
    tolerates = claim_spec()
    tolerates["devices"]["requests"][0]["exactly"]["tolerations"] = [{"key": "broken", "operator": "Exists", "effect": "NoSchedule"}]
    with World(objects.node("n1", cpu="64"), slices, device_class()) as c:
        c.up(*ON)
        gang_with(c, "g", 8, claim_spec())
        says(c, "g-0", "4 of 8 members have room")
        gang_with(c, "h", 8, tolerates)
        bound(c, "h", 8)
        equal(sorted(devices(c, f"h-{i}-gpu") for i in range(8)), [[f"gpu-{i}"] for i in range(8)])


def test_a_selector_that_fails_on_a_device():
    """DRA-18, without the devices of one node."""
    with World(*nodes(1), device_class()) as c:
        c.up(*ON)
        c.create(pod_with("a"))
        c.make_claim("a", claim_spec(1, selector=f"device.attributes['{DRIVER}'].nothing == 1"))
        says(c, "a", "no such key: nothing")
        equal(len(allocated(c)), 0)


def test_a_selector_that_fails_on_the_devices_of_one_node():
    """DRA-18: the attempt fails as a whole; with has() the pod goes to the other node."""
    known = slice_of("n2", attributes={"kind": {"string": "big"}})
    with World(objects.node("n1", cpu="64"), objects.node("n2", cpu="64"), slice_of("n1"), known, device_class()) as c:
        c.up(*ON)
        kind = f"device.attributes['{DRIVER}'].kind"
        c.create(pod_with("a"), pod_with("b"))
        c.make_claim("a", claim_spec(selector=f"{kind} == 'big'"))
        says(c, "a", "no such key: kind")
        equal(condition(c.client.get("Pod", "a"))["reason"], "SchedulerError")
        c.make_claim("b", claim_spec(selector=f"has({kind}) && {kind} == 'big'"))
        bound(c, "b", 1)
        equal(c.client.get("Pod", "b")["spec"]["nodeName"], "n2")
        equal(len(allocated(c)), 1)


def slices_seen(c):
    return c.metrics()['muster_watch_events_total{group="resource.k8s.io",resource="resourceslices"}']


def test_devices_that_are_gone_are_not_used():
    """DRA-19: a newer generation of one device, and a pool of which a slice is missing."""
    with World(*nodes(2), device_class()) as c:
        c.up(*ON)
        before = slices_seen(c)
        newer = slice_of("n1", 1, generation=2)
        newer["metadata"]["name"] += "-new"
        c.create(newer)
        c.client.patch("ResourceSlice", f"n2-{DRIVER}", {"spec": {"pool": {"resourceSliceCount": 2}}})
        until(lambda: slices_seen(c) >= before + 2, 30, "both changes are seen")
        gang_with(c, "g", 2, claim_spec())
        says(c, "g-0", "cannot allocate all claims")
        c.delete("Pod", "g-1")
        c.create(pod_with("a"))
        c.make_claim("a", claim_spec())
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
    with World(objects.node("n1", cpu="64"), objects.node("n2", cpu="64"), model_of("n1", "A100"), model_of("n2", "H100", 4),
                 device_class()) as c:
        c.up(*ON)
        c.create(pod_with("a"))
        c.make_claim("a", spec)
        bound(c, "a", 1)
        equal(c.client.get("Pod", "a")["spec"]["nodeName"], "n2")
        equal([(r["request"], r["device"]) for r in allocation(c, "a-gpu")["devices"]["results"]],
              [("r/big", "gpu-0"), ("r/big", "gpu-1")])
        gang_with(c, "h", 4, spec)
        says(c, "h-0", "cannot allocate all claims")
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
    with World(*nodes(1, 2), device_class()) as c:
        c.up(*ON)
        gang_with(c, "g", 2, claim_spec())
        bound(c, "g", 2)
        gang_with(c, "admin", 3, spec)
        bound(c, "admin", 3)
        for i in range(3):
            equal([(r["device"], r["adminAccess"]) for r in allocation(c, f"admin-{i}-gpu")["devices"]["results"]],
                  [("gpu-0", True), ("gpu-1", True)])
        c.end_pod("g-0")
        c.create(pod_with("x"))
        c.make_claim("x", claim_spec())
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
    with World(objects.node("n1", cpu="64"), counters, mig, device_class()) as c:
        c.up(*ON)
        gang_with(c, "g", 3, spec)
        says(c, "g-0", "cannot allocate all claims")
        equal(len(allocated(c)), 0)
        foreign(c, "other", "n1", "7g-0")
        gang_with(c, "h", 2, spec)
        says(c, "h-0", "cannot allocate all claims")
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
    with World(objects.node("n1", cpu="64"), shared_slice(), device_class()) as c:
        pair = Pair(c, 1, c.kubeconfig, *ON).ready()
        gang_with(c, "h", 4, share_of("12Gi"))
        says(c, "h-0", "cannot allocate all claims")
        gang_with(c, "g", 3, share_of("5Gi"))
        bound(c, "g", 3)
        equal(shares(c, *[f"g-{i}-gpu" for i in range(3)]), [("gpu-0", 12)] * 3)
        for name, spec in ("a", share_of("5Gi")), ("other", share_of("1e30")), *[("less", share_of("-1Gi"))] * c.lenient:
            c.create(pod_with(name))
            c.make_claim(name, spec)
        pair.kill()
        Pair(c, 2, c.kubeconfig, *ON).ready()
        if c.lenient:
            says(c, "less", "request is no amount")
        says(c, "other", "cannot allocate all claims")
        equal(c.bound("a"), 0)
        c.end_pod("g-1")
        bound(c, "a", 1)
        equal(shares(c, "g-0-gpu", "g-2-gpu", "a-gpu"), [("gpu-0", 12)] * 3)


def test_another_scheduler_takes_a_share_meanwhile():
    """DRA-9 with shares: together they are more than the device has, and ours is given back before the Binding."""
    with World(objects.node("n1", cpu="64"), shared_slice(), device_class()) as c, Proxy(c.kubeconfig, c.folder) as proxy:
        c.create(claim("other", share_of("36Gi")))
        done = []

        def before(call):
            if not done:
                done.append(1)
                give(c, "other", "n1", "gpu-0", shareID=str(uuid.uuid4()), consumedCapacity={"memory": "36Gi"})
            call.pass_on()

        proxy.rule(writes_status("a"), before, 1)
        Pair(c, 1, proxy.kubeconfig, *ON).ready()
        c.create(pod_with("a"))
        c.make_claim("a", share_of("12Gi"))
        until(lambda: done and not allocation(c, "a-gpu") and "cannot allocate all claims" in c.why_pending("a"), 20, lambda: c.why_pending("a"))
        equal(c.bound("a"), 0)
        free(c, "other")
        bound(c, "a", 1)


def tell(c, name, kind):
    """The driver says that of each device of the claim."""
    said = {"type": kind, "status": "True", "reason": "Said", "message": "by the driver", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    c.client.patch("ResourceClaim", c.claim_name(name), {"status": {"devices": [
        {"driver": r["driver"], "pool": r["pool"], "device": r["device"], "conditions": [said]}
        for r in allocation(c, name)["devices"]["results"]]}}, sub="status")


def test_a_gang_waits_for_binding_conditions():
    """Held over a restart of both daemons; one that fails takes the gang back, and another device is chosen."""
    with World(*nodes(1, 4, bindingConditions=["Attached"], bindingFailureConditions=["Broken"], bindsToNode=True), device_class(),
                 kube.namespace("muster-system")) as c:
        pair = Pair(c, 1, c.kubeconfig, *ON).ready()
        gang_with(c, "g", 2, claim_spec())
        until(lambda: len(allocated(c)) == 2, 20, lambda: f"{len(allocated(c))} allocated")
        equal([(r["bindingConditions"], r["bindingFailureConditions"]) for r in allocation(c, "g-0-gpu")["devices"]["results"]],
              [(["Attached"], ["Broken"])])
        broken = devices(c, "g-1-gpu")[0]
        until(lambda: [e["note"] for e in c.client.list("Event") if e["reason"] == "BindingConditionsPending" and
                       e["regarding"]["name"] == "g-0"] == ["waiting for binding conditions for device on node n1"], 10, "an event")
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


def test_a_volume_that_fails_gives_the_devices_back():
    """VOL-11, and the end of VOL-6: of a gang with both no claim of devices stays allocated, and no member is bound."""
    answers = []
    with World(*nodes(1, 4), device_class(), storage.storage_class("disk")) as c, \
            storage.Storage(c.admin, controller=not c.controllers, silent=lambda name: name == "g-1" and not answers):
        c.up(*ON, "--volume-bind-timeout", 2)
        group, pods = objects.gang("g", 2, resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "g"}])
        for i, pod in enumerate(pods):
            pod["spec"]["volumes"] = storage.mounts(f"g-{i}")
        c.create(*[storage.claim(f"g-{i}", "disk") for i in range(2)], group, *pods)
        for i in range(2):
            c.make_claim(f"g-{i}", claim_spec())
        until(lambda: len(allocated(c)) == 2, 20, "devices first")
        until(lambda: not allocated(c), 20, "given back")
        equal(c.bound("g"), 0)
        answers.append(True)
        bound(c, "g", 2, 60)
        equal(len(allocated(c)), 2)
        check(all(storage.is_bound(x) for x in c.client.list("PersistentVolumeClaim")), "unbound volumes")


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
    with World(objects.node("n1", cpu="64", **{RESOURCE: "3"}), objects.node("n2", cpu="64"), slice_of("n2", 6), backed, device_class("other"),
                 kube.namespace("muster-system")) as c, Proxy(c.kubeconfig, c.folder) as proxy:
        down = [True]
        refused = proxy.rule(lambda call: down[0] and call.method == "PATCH" and call.name == "g-1" and call.sub == "status"
                             and b"extendedResourceClaimStatus" in call.body, lambda call: call.status(403, "no such luck", "Forbidden"))
        pair = Pair(c, 1, proxy.kubeconfig, *ON).ready()
        group, pods = objects.gang("g", 3)
        for pod in pods:
            pod["spec"].update(asking(2, 1, 3))
        c.create(group, *pods)
        until(lambda: refused.hits > 0 or "Insufficient" in c.why_pending("g-0"), 30, lambda: c.why_pending("g-1"))
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
        c.collect(on["n2"][1], extended(c, on["n2"][1])["metadata"]["name"])
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
    with World(*nodes(1), device_class()) as c:
        c.up(*ON)
        c.create(pod_with("a", cpu="500"))
        c.make_claim("a", claim_spec())
        uid = c.client.get("Pod", "a")["metadata"]["uid"]
        give(c, "a-gpu", "n1", "gpu-0", {"resource": "pods", "name": "a", "uid": uid})
        time.sleep(5)
        equal(len(allocated(c)), 1, "at first")
        until(lambda: not allocated(c), 30, "deallocated")


def test_nothing_without_the_resources():
    """A server without resource.k8s.io: other pods are placed, and those with claims wait."""
    with Cluster(objects.node("n1")) as c:
        c.up(*ON)
        c.create(objects.pod("plain"), pod_with("a"))
        bound(c, "plain", 1)
        says(c, "a", "ResourceClaim not created yet")


if __name__ == "__main__":
    main(globals(), jobs=2)
