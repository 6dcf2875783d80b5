# SPDX-License-Identifier: Apache-2.0
"""`musterctl verdict` and `simulate` of pods with resource claims, against recorded answers of kube-scheduler 1.36.3: feasibility,
reasons, scores, message, devices in their order, the text of an attempt that fails; places and written allocations of sequences.
A subset is in tests/data/dra; the full set is used when MUSTER_SHARED (default ../shared) has it.

    tests/process/test_claims.py [test...]"""
import gzip
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from collections import Counter
from fractions import Fraction

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import muster  # noqa: E402
from lib.harness import Skip, check, figure, main  # noqa: E402

CUT = muster.ROOT / "tests" / "data" / "dra"
WHOLE = pathlib.Path(os.environ.get("MUSTER_SHARED") or muster.ROOT.parent / "shared") / "data" / "dra"
SUFFIXES = {"": Fraction(1), "m": Fraction(1, 1000), "k": Fraction(10**3), "M": Fraction(10**6), "G": Fraction(10**9), "Ki": Fraction(2**10),
            "Mi": Fraction(2**20), "Gi": Fraction(2**30), "Ti": Fraction(2**40)}


def amounts(quantities):
    """{name: value}, whatever the suffix."""
    parts = {k: re.fullmatch(r"([0-9.]+)([A-Za-z]*)", v) for k, v in (quantities or {}).items()}
    return {k: Fraction(m.group(1)) * SUFFIXES[m.group(2)] for k, m in parts.items()}


def chosen(devices):
    return [(d["claim"], d["request"], d["device"], d.get("admin", False), amounts(d.get("consumed"))) for d in devices or []]


def plain(allocation):
    """Without what is random, quantities by value."""
    copy = json.loads(json.dumps(allocation))
    copy.pop("allocationTimestamp", None)
    for result in copy["devices"].get("results", []):
        result.pop("shareID", None)
        result["consumedCapacity"] = amounts(result.get("consumedCapacity"))
    return copy


def musterctl(*words):
    done = subprocess.run([muster.program("musterctl"), *map(str, words), "-o", "json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=120)
    check(done.returncode in (0, 1), f"exit {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def compare_verdict(where, want, got):
    if want.get("error"):
        check(got.get("error") in (want.get("errors") or [want["error"]]), where, got.get("error"), "instead of", want["error"])
        return
    check(got.get("error") is None and got["message"] == want["message"], where, got.get("error"), got["message"], "instead of", want["message"])
    nodes = {n["node"]: n for n in got["nodes"]}
    check(sorted(nodes) == sorted(n["node"] for n in want["nodes"]), where, "other nodes")
    for w in want["nodes"]:
        g = nodes[w["node"]]
        here = f"{where} on {w['node']}"
        check(g["feasible"] == w["feasible"], here, g, "instead of", w)
        if w["feasible"]:
            check(g["score"] == w["score"], here, g["score"], "instead of", w["score"])
            check(chosen(g.get("devices")) == chosen(w.get("devices")), here, g.get("devices"), "instead of", w.get("devices"))
        else:
            check(sorted(g["reasons"]) == sorted(w["reasons"]), here, g["reasons"], "instead of", w["reasons"])


def compare_places(name, answer, path, counts):
    got = musterctl("simulate", "-f", path)
    placed = {p["pod"]: p for p in got["placements"]}
    written = {(c["pod"], c["claim"].rpartition("/")[2]): c["allocation"] for c in got.get("claims", [])}
    for w in answer["placements"]:
        g, where = placed[w["pod"]], f"{name} turn {w['turn']} {w['pod']}"
        counts["pods placed one after another"] += 1
        check(g["node"] == w["node"], where, g, "instead of", w["node"])
        check(chosen(g.get("devices")) == chosen(w.get("devices")), where, g.get("devices"), "instead of", w.get("devices"))
        for claim in w.get("written") or []:
            counts["allocations"] += 1
            check(plain(written[w["pod"], claim["claim"]]) == plain(claim["allocation"]), where, written[w["pod"], claim["claim"]],
                  "instead of", claim["allocation"])


def compare(folder):
    counts = Counter()
    with tempfile.TemporaryDirectory() as scratch:
        for expect in sorted(folder.glob("0*.expect.json.gz")):
            name = expect.name[:4]
            answer = json.loads(gzip.decompress(expect.read_bytes()))
            path = os.path.join(scratch, name + ".json")
            with open(path, "wb") as f:
                f.write(gzip.decompress(expect.with_name(name + ".json.gz").read_bytes()))
            if "placements" in answer:
                compare_places(name, answer, path, counts)
                continue
            pods = [w["pod"] for w in answer["pods"]]
            got = {g["pod"]: g for g in musterctl("verdict", "-f", path, *[w for p in pods for w in ("--pod", p)])}
            for want in answer["pods"]:
                counts["pods alone"] += 1
                compare_verdict(f"{name} {want['pod']}", want, got[want["pod"]])
    figure(", ".join(f"{n} {what}" for what, n in counts.items()) + ": as recorded")
    return counts


def test_devices():
    counts = compare(CUT)
    check(counts["pods alone"] > 80 and counts["allocations"] > 50, counts)


def test_devices_whole():
    if not list(WHOLE.glob("0*.expect.json.gz")):
        raise Skip(f"the whole set of devices: there is none in {WHOLE}")
    check(compare(WHOLE)["pods alone"] > 1000)


def cluster(*more):
    """A node with two devices, and more."""
    item = {"apiVersion": "resource.k8s.io/v1"}
    return {"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}, "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}}},
        {**item, "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {"selectors": [{"cel": {"expression": "device.driver == 'd'"}}]}},
        {**item, "kind": "ResourceSlice", "metadata": {"name": "s1"}, "spec": {
            "driver": "d", "nodeName": "n1", "pool": {"name": "n1", "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": "a"}, {"name": "b"}]}}, *more]}


def claim(name, **exactly):
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": name, "namespace": "default"},
            "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu", **exactly}}]}}}


def pod(name, of, **labels):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default", **labels},
            "spec": {"containers": [{"name": "c", "image": "i"}], "resourceClaims": [{"name": "x", "resourceClaimName": of}]}}


def run(objects, *words):
    return subprocess.run([muster.program("musterctl"), *words, "-f", "-", "-o", "json"], input=json.dumps(objects), capture_output=True,
                          text=True, timeout=180)


def test_pods_of_one_claim_share_its_device():
    got = json.loads(run(cluster(claim("c"), pod("p", "c"), pod("q", "c")), "simulate").stdout)
    check([p["node"] for p in got["placements"]] == ["n1", "n1"], got)
    check(len(got["claims"]) == 1 and got["claims"][0]["claim"] == "default/c", got)


def member(name, of, n):
    return pod(name, of, labels={"pod-group.scheduling.sigs.k8s.io/name": "g", "pod-group.scheduling.sigs.k8s.io/min-available": str(n)})


def gang(n, **exactly):
    return [o for i in range(n) for o in (claim(f"c{i}", **exactly), member(f"p{i}", f"c{i}", n))]


def plain_gang(objects):
    answer = json.loads(run(objects, "simulate").stdout)
    return answer, answer["gangs"][0]


def test_members_of_a_gang_get_their_devices():
    answer, g = plain_gang(cluster(*gang(2)))
    check(g["state"] == "Running" and "devices" not in g, answer)
    check({p["pod"]: [d["device"] for d in p["devices"]] for p in answer["placements"]} == {"default/p0": ["d/n1/a"], "default/p1": ["d/n1/b"]}, answer)
    check({c["claim"]: c["allocation"]["devices"]["results"] for c in answer["claims"]} ==
          {f"default/c{i}": [{"request": "r", "driver": "d", "pool": "n1", "device": d}] for i, d in ((0, "a"), (1, "b"))}, answer)
    table = subprocess.run([muster.program("musterctl"), "simulate", "-f", "-"], input=json.dumps(cluster(*gang(2))), capture_output=True, text=True,
                           timeout=180).stdout
    check("default/p1   n1     c1      r         d/n1/b" in table, table)


def test_a_gang_that_lacks_a_device_says_how_many():
    objects = cluster(*gang(3))
    answer, g = plain_gang(objects)
    check(g["state"] == "Waiting" and "2 of 3 members have room; request r: 3 devices of class gpu are needed, 2 are free on 1 node (2 match)." in g["reason"] and "claims" not in answer, answer)
    check({k: g["devices"][0][k] for k in ("request", "class", "needed", "free", "nodes", "match", "taken")} ==
          {"request": "r", "class": "gpu", "needed": 3, "free": 2, "nodes": 1, "match": 2, "taken": 0}, g)
    got = json.loads(run(objects, "explain", "default/g").stdout)
    check(got["devices"] == g["devices"] and {"kind": "nodes", "like": "n1", "count": 1} in got["help"], got)
    check(json.loads(run(objects, "verdict", "--pod", "default/p1").stdout)["nodes"][0]["devices"][0]["device"] == "d/n1/a")


def test_devices_that_are_free_and_of_no_use():
    """Two of one board are asked for, and no node has two that are free."""
    objects = cluster(*gang(1, count=2))
    objects["items"][2]["spec"]["devices"] = [{"name": n, "attributes": {"d/board": {"string": n}}} for n in "ab"]
    objects["items"][3]["spec"]["devices"]["constraints"] = [{"requests": ["r"], "matchAttribute": "d/board"}]
    g = plain_gang(objects)[1]
    check([g["devices"][0][k] for k in ("free", "most_on_a_node", "attribute", "most_alike")] == [2, 2, "d/board", 1], g)
    text = subprocess.run([muster.program("musterctl"), "explain", "-f", "-", "default/g"], input=json.dumps(objects), capture_output=True, text=True,
                          timeout=180).stdout
    check("; request r: 2 devices of class gpu are needed, 2 are free on 1 node (2 match), no 2 of them on one node under one d/board." in text, text)


def test_explain_of_one_pod_names_devices_and_holders():
    """What pods before it got by the simulation is taken; the selector's error has its device."""
    fails = {"selectors": [{"cel": {"expression": "device.attributes['d'].kind == 'x'"}}]}
    objects = cluster(claim("c"), pod("p", "c"), claim("two", count=2), pod("q", "two"), claim("bad", **fails), pod("r", "bad"))
    for i, o in enumerate(o for o in objects["items"] if o["kind"] == "Pod"):
        o["metadata"].update(uid=f"u{i}", creationTimestamp=f"2026-01-01T00:00:0{i}Z")
    got = {name: json.loads(run(objects, "explain", f"default/{name}").stdout) for name in "pqr"}
    check([d["device"] for d in got["p"]["devices"]] == ["d/n1/a"] and "claims" not in got["p"], got["p"])
    (of,) = got["q"]["claims"]
    check([of[k] for k in ("claim", "request", "needed", "free", "match", "taken", "most_on_a_node")] == ["default/two", "r", 2, 1, 2, 1, 1], of)
    check(of["held_by"] == [{"claim": "default/c", "devices": 1, "device": "d/n1/a", "pods": 1, "pod": "default/p"}], of)
    (of,) = got["r"]["claims"]
    check((of["match"], of["selector_failed_on"], of["selector_error"]) == (0, "d/n1/a", "no such key: kind"), of)
    texts = [subprocess.run([muster.program("musterctl"), "explain", "-f", "-", f"default/{name}"], input=json.dumps(objects), capture_output=True, text=True,
                            timeout=180).stdout for name in "pqr"]
    check("\nclaim c, request r: d/n1/a\n" in texts[0], texts)
    check("\nclaim default/two, request r: 2 devices of class gpu are needed, 1 is free on 1 node (2 match, 1 is taken), no 2 of them on one node\n"
          "  held by claim default/c: d/n1/a, pod default/p\n" in texts[1], texts)
    check("\n  a selector fails on device d/n1/a: no such key: kind\n" in texts[2], texts)


def test_explain_names_what_is_not_used():
    """A pool that lacks a slice, and a node with more devices than muster uses."""
    objects = cluster(claim("c", count=3), pod("p", "c"))
    slices = [json.loads(json.dumps(objects["items"][2])) for _ in range(10)]
    for i, s in enumerate(slices):
        s["metadata"]["name"] = f"more-{i}"
        s["spec"].update(nodeName="big", devices=[{"name": f"d-{k}"} for k in range(128)], driver="other",
                         pool={"name": f"pool-{i}", "generation": 2, "resourceSliceCount": 1 + i // 9})
    objects["items"] += slices
    text = subprocess.run([muster.program("musterctl"), "explain", "-f", "-", "default/p"], input=json.dumps(objects), capture_output=True, text=True,
                          timeout=180).stdout
    for line in ("not used: pool pool-9 of driver other: 1 of the 2 ResourceSlices of its generation 2 exist",
                 "not used: node big: 128 of its 1152 devices, those beyond the first 1024 by pool"):
        check(line + "\n" in text, text)


def test_members_that_share_a_claim():
    """All on the node of the first one. What is written is one allocation for each claim; without a uid, as files may have them, two claims are two."""
    got, g = plain_gang(cluster(claim("c"), claim("d"), *[member(f"{p}{i}", p, 4) for p in "cd" for i in range(2)]))
    check(g["state"] == "Running" and {p["node"] for p in got["placements"]} == {"n1"}, got)
    check([(c["claim"], c["allocation"]["devices"]["results"][0]["device"]) for c in got["claims"]] == [("default/c", "a"), ("default/d", "b")], got)
    g = plain_gang(cluster(claim("c", count=3), member("p", "c", 2), member("q", "c", 2)))[1]
    check("0 of 2 members have room; request r: 3 devices of class gpu are needed, 2 are free on 1 node (2 match), no 3 of them on one node." in g["reason"], g)


def test_a_claim_has_256_consumers_at_most():
    objects = cluster(claim("c"), *[member(f"p{i}", "c", 257) for i in range(257)])
    node, = (o for o in objects["items"] if o["kind"] == "Node")
    node["status"]["allocatable"] = {"cpu": "1k", "memory": "1Ti", "pods": "1k"}
    g = plain_gang(objects)[1]
    check("256 of 257 members have room" in g["reason"], g)


def test_members_that_share_a_claim_beside_another_are_refused():
    two = [member(name, "c", 2) for name in "pq"]
    for p in two:
        p["spec"]["resourceClaims"].append({"name": "more", "resourceClaimName": "d"})
    g = plain_gang(cluster(claim("c"), claim("d"), *two))[1]
    check(g["state"] == "Waiting" and g["reason"] == "muster does not support members of a gang that share a claim which is not allocated yet and have "
          "another one that is not", g)


def test_scores_by_gpus_see_devices():
    """A pod that needs one device leaves the pair of n1 whole. By cpu and memory both nodes are alike, and the first is taken."""
    more = [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n2"}, "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}}},
            {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "s2"}, "spec": {
                "driver": "d", "nodeName": "n2", "pool": {"name": "n2", "generation": 1, "resourceSliceCount": 1}, "devices": [{"name": "a"}]}}]
    objects = cluster(*more, *[o for i in range(3) for o in (claim(f"c{i}", count=2 - i % 2), pod(f"p{i}", f"c{i}"))][2:4],
                      claim("big", count=2), pod("q", "big"))
    placed = {score: {p["pod"]: p["node"] for p in json.loads(run(objects, "simulate", "--score", score).stdout)["placements"]}
              for score in ("fgd", "muster")}
    check(placed == {score: {"default/p1": "n2", "default/q": "n1"} for score in ("fgd", "muster")}, placed)


def test_bad_input_names_object_field_and_value():
    done = run(cluster(claim("c", count="many")), "simulate")
    check(done.returncode == 2 and "ResourceClaim c: spec.devices.requests.count: \"many\" is not an integer" in done.stderr, done)


def test_a_selector_that_is_not_known_refuses_the_pod():
    selector = {"selectors": [{"cel": {"expression": "url('http://a').getHost() == 'a'"}}]}
    got = json.loads(run(cluster(claim("c", **selector), pod("p", "c")), "verdict", "--pod", "default/p").stdout)
    check("selector of claim default/c uses" in got["message"] and "which muster does not know" in got["message"], got)


if __name__ == "__main__":
    main(globals())
