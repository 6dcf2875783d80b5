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


def test_members_of_a_gang_are_refused():
    marks = {"labels": {"pod-group.scheduling.sigs.k8s.io/name": "g", "pod-group.scheduling.sigs.k8s.io/min-available": "1"}}
    got = json.loads(run(cluster(claim("c"), pod("p", "c", **marks)), "simulate").stdout)
    check(got["placements"][0]["node"] is None and "devices of a gang" in got["placements"][0]["reason"], got)


def test_bad_input_names_object_field_and_value():
    done = run(cluster(claim("c", count="many")), "simulate")
    check(done.returncode == 2 and "ResourceClaim c: spec.devices.requests.count: \"many\" is not an integer" in done.stderr, done)


def test_a_selector_that_is_not_known_refuses_the_pod():
    selector = {"selectors": [{"cel": {"expression": "url('http://a').getHost() == 'a'"}}]}
    got = json.loads(run(cluster(claim("c", **selector), pod("p", "c")), "verdict", "--pod", "default/p").stdout)
    check("selector of claim default/c uses" in got["message"] and "which muster does not know" in got["message"], got)


if __name__ == "__main__":
    main(globals())
