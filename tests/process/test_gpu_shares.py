# SPDX-License-Identifier: Apache-2.0
"""Shares of GPUs by annotations of KAI and Alibaba, on files: musterctl simulate, verdict and explain.

    tests/process/test_gpu_shares.py [test...]"""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import muster  # noqa: E402
from lib.harness import check, equal, main  # noqa: E402

GPU = "nvidia.com/gpu"


def node(name, gpus, resource=GPU, **labels):
    labels = {{"memory": "nvidia.com/gpu.memory", "model": "alibabacloud.com/gpu-card-model"}[k]: v for k, v in labels.items()}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels},
            "status": {"allocatable": {"cpu": "64", "memory": "512Gi", "pods": "110", **({resource: str(gpus)} if gpus else {})}}}


def pod(name, whole=0, on=None, labels=None, **annotations):
    """Underlines of annotations are dashes."""
    limits = {"cpu": "1", **({GPU: str(whole)} if whole else {})}
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": "default", "uid": name, "labels": labels or {},
                         "annotations": {k.replace("_", "-").replace("ali-", "alibabacloud.com/"): v for k, v in annotations.items()}},
            "spec": {"containers": [{"name": "c", "image": "i", "resources": {"limits": limits, "requests": limits}}], **({"nodeName": on} if on else {})}}


def member(size, *args, **more):
    return pod(*args, labels={"pod-group.scheduling.sigs.k8s.io/name": "g", "pod-group.scheduling.sigs.k8s.io/min-available": str(size)}, **more)


def run(objects, command, *words, output=("-o", "json")):
    return subprocess.run([muster.program("musterctl"), command, *words, "-f", "-", *output], capture_output=True, text=True, timeout=60,
                          input=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))


def placed(objects, *words):
    """{pod: (node, its GPUs with what it has of each)}; of a pod that waits the reason."""
    done = run(objects, "simulate", *words)
    check(done.returncode in (0, 1), done.stderr)
    answer = json.loads(done.stdout)
    check("claims" not in answer, "nobody writes these claims", answer)
    return {p["pod"].partition("/")[2]: (p["node"], [f"{d['device'].rpartition('-')[2]}:{d['consumed']['gpu']}" for d in p.get("devices", [])])
            if p["node"] else p["reason"] for p in answer["placements"]}


def test_shares_of_one_gpu_add_up_to_one():
    for score in ("kube", "fgd", "muster"):
        got = placed([node("n1", 2), *[pod(f"p{i}", gpu_fraction="0.4") for i in range(5)]], "--score", score)
        equal({p: g for p, g in got.items() if p != "p4"},
              {"p0": ("n1", ["0:400m"]), "p1": ("n1", ["0:400m"]), "p2": ("n1", ["1:400m"]), "p3": ("n1", ["1:400m"])}, score)
        check("cannot allocate all claims" in got["p4"], score, got)


def test_annotations_of_kai_and_alibaba_ask_for_the_same():
    got = placed([node("n1", 1, memory="10000"), pod("a", gpu_fraction="0.25"), pod("b", gpu_memory="2500"), pod("c", ali_gpu_milli="250", ali_gpu_count="1"),
                  pod("d", ali_gpu_milli="250")])
    equal(got, {p: ("n1", ["0:250m"]) for p in "abcd"}, "a quarter each")


def test_whole_gpus_and_shares_exclude_each_other():
    got = placed([node("n1", 2), pod("a", gpu_fraction="0.5"), pod("b", whole=2), pod("c", whole=1), pod("d", gpu_fraction="0.6")])
    equal({k: got[k] for k in "ac"}, {"a": ("n1", ["0:500m"]), "c": ("n1", ["1:1"])}, "placed")
    check(all("cannot allocate all claims" in got[k] for k in "bd"), got)


def test_a_share_of_several_gpus_is_on_different_ones():
    got = placed([node("n1", 3), pod("a", gpu_fraction="0.5", gpu_fraction_num_devices="2"), pod("b", ali_gpu_milli="1000", ali_gpu_count="2")])
    equal(got["a"], ("n1", ["0:500m", "1:500m"]), "a")
    check("cannot allocate all claims" in got["b"], got)


def test_memory_is_another_part_of_another_gpu():
    nodes = [node("big", 1, memory="80000"), node("small", 1, memory="20000"), node("unknown", 1)]
    got = placed([*nodes, pod("a", gpu_memory="10000"), pod("b", gpu_memory="30000"), pod("c", gpu_memory="90000")])
    equal({k: got[k] for k in "ab"}, {"a": ("small", ["0:500m"]), "b": ("big", ["0:375m"])}, "the smallest GPUs first")
    check("cannot allocate all claims" in got["c"], got)


def test_a_model_is_asked_for():
    nodes = [node(n, 1, "alibabacloud.com/gpu-count", model=m) for n, m in (("n1", "T4"), ("n2", "V100M32"))]
    got = placed([*nodes, pod("a", ali_gpu_milli="500", ali_gpu_count="1", ali_gpu_card_model="V100M16|V100M32")])
    equal(got, {"a": ("n2", ["0:500m"])}, "model")


def test_bound_pods_are_on_the_gpus_that_they_say():
    running = [pod("r0", on="n1", ali_gpu_milli="700", ali_gpu_count="1", ali_gpu_index="1"), pod("r1", on="n1", gpu_fraction="0.7", labels={"runai-gpu-group": "x"}),
               pod("r2", on="n1", gpu_fraction="0.2", labels={"runai-gpu-group": "x"}), pod("hold", whole=1, on="n1", labels={"runai-gpu-group": "x"}),
               pod("whole", whole=1, on="n1")]
    got = placed([node("n1", 4), *running, pod("a", gpu_fraction="0.2"), pod("b", whole=1), pod("c", whole=1)])
    equal({k: got[k] for k in "ab"}, {"a": ("n1", ["1:200m"]), "b": ("n1", ["3:1"])}, "0 is full, 2 is taken")
    check("cannot allocate all claims" in got["c"], got)


def test_a_gang_gets_its_shares_or_none():
    gang = [member(3, f"p{i}", gpu_fraction="0.5") for i in range(3)]
    equal(placed([node("n1", 2), *gang])["p2"], ("n1", ["1:500m"]), "two GPUs")
    short = [node("n1", 1), *gang]
    check(all(isinstance(why, str) for why in placed(short).values()), placed(short))
    got = json.loads(run(short, "explain", "default/g").stdout)
    check({"kind": "nodes", "like": "n1", "count": 1} in got["help"] and got["devices"][0]["needed"] == 3 and got["devices"][0]["match"] == 1, got)


def test_shares_end_with_their_pods():
    last = pod("r", on="n1", gpu_fraction="0.8")
    last["spec"]["activeDeadlineSeconds"] = 60
    last["status"] = {"phase": "Running", "startTime": "2026-01-01T00:00:00Z"}
    got = json.loads(run([node("n1", 1), last, *[member(1, "p0", gpu_fraction="0.5")]], "explain", "default/g").stdout)
    check(any(h["kind"] == "time" or "2026-01-01T00:01:00Z" in json.dumps(h) for h in got["help"]), got)


def test_verdict_shows_the_gpu():
    got = json.loads(run([node("n1", 1), node("n2", 0), pod("a", gpu_fraction="0.5")], "verdict", "--pod", "default/a").stdout)
    equal({n["node"]: n.get("devices") for n in got["nodes"]},
          {"n1": [{"claim": "<gpu-share>-a", "request": "gpu", "device": "gpu-share/n1/gpu-0", "consumed": {"gpu": "500m"}}], "n2": None}, "devices")


def test_bad_values_refuse_their_pod_alone():
    table = [({"gpu_fraction": "1.5"}, '["gpu-fraction"]: "1.5": not a number above 0 and below 1'),
             ({"gpu_fraction": "0"}, '"0": not a number'), ({"gpu_fraction": "0.5m"}, '"0.5m": not a number'), ({"gpu_fraction": "NaN"}, '"NaN": not a number'),
             ({"gpu_fraction": 0.5}, '["gpu-fraction"]: "0.5": not a string'), ({"ali_gpu_count": 1}, '["alibabacloud.com/gpu-count"]: "1": not a string'),
             ({"gpu_memory": "4Gi"}, '["gpu-memory"]: "4Gi": not a whole number from 1 to 100000000'),
             ({"gpu_memory": "99999999999999999999"}, "not a whole number"),
             ({"gpu_fraction": "0.5", "gpu_memory": "10"}, '["gpu-memory"]: "10": beside gpu-fraction'),
             ({"gpu_fraction_num_devices": "2"}, "beside neither gpu-fraction nor gpu-memory"),
             ({"gpu_fraction": "0.5", "gpu_fraction_num_devices": "0"}, '["gpu-fraction-num-devices"]: "0": not a whole number from 1 to 128'),
             ({"gpu_fraction": "0.5", "whole": 1}, '["gpu-fraction"]: "0.5": beside whole GPUs in the resources of a container'),
             ({"gpu_fraction": "0.5", "ali_gpu_milli": "5"}, "beside annotations of alibabacloud.com"),
             ({"ali_gpu_milli": "1001"}, '["alibabacloud.com/gpu-milli"]: "1001": not a whole number from 0 to 1000'),
             ({"ali_gpu_milli": "500", "ali_gpu_count": "2"}, "a part of more than one GPU"),
             ({"ali_gpu_milli": "500", "ali_gpu_card_model": "x' || true || '"}, "not up to 16 values of a label"),
             ({"gpu_fraction": "\u001b[31m" + "9" * 100000}, "99...")]
    pods = [pod(f"p{i:02}", **what) for i, (what, _) in enumerate(table)]
    done = run([node("n1", 8), *pods, pod("good", gpu_fraction="0.5")], "simulate")
    check(done.returncode == 1 and len(done.stderr) < 10000 and "\u001b" not in done.stderr, done)
    answer = {p["pod"]: p for p in json.loads(done.stdout)["placements"]}
    equal(answer["default/good"]["node"], "n1", "others")
    for i, (_, text) in enumerate(table):
        check(any(f"Pod default/p{i:02}: metadata.annotations" in line and text in line for line in done.stderr.splitlines()), text, done.stderr)
        p = answer[f"default/p{i:02}"]
        check(p["node"] is None and "could not find ResourceClaim" in p["reason"] and len(p["reason"]) < 1000, p)


def test_without_annotations_nothing_changes():
    """Whole GPUs are an amount, as ever."""
    answer = json.loads(run([node("n1", 1), pod("a", whole=1), pod("b", whole=1)], "simulate").stdout)
    check("devices" not in answer["placements"][0] and "Insufficient nvidia.com/gpu" in answer["placements"][1]["reason"], answer)


def test_shares_are_refused_where_devices_are():
    done = run([node("n1", 1), pod("a", gpu_fraction="0.5"), pod("b", whole=1)], "simulate", "--preemption", "on")
    answer = {p["pod"]: p for p in json.loads(done.stdout)["placements"]}
    check(answer["default/b"]["node"] == "n1" and "does not support resource claims" in answer["default/a"]["reason"], answer)


if __name__ == "__main__":
    main(globals())
