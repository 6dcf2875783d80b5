#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`musterctl queues` and `simulate --queues`: the table, JSON, exit codes and texts, as a user has them."""
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib.cluster import run as musterctl  # noqa: E402
from lib.harness import check, equal, main  # noqa: E402

GPU = "nvidia.com/gpu"


def node(i):
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"n{i:02}"},
            "status": {"allocatable": {"cpu": "64", "memory": "256Gi", "pods": "200", GPU: "8"}}}


def pod(queue, i):
    asks = {"requests": {GPU: "8"}, "limits": {GPU: "8"}}
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": f"{queue}-{i:02}", "namespace": "ns", "creationTimestamp": "2026-01-01T00:00:00Z",
                         "labels": {"muster.dev/queue": queue}},
            "spec": {"containers": [{"name": "c", "resources": asks}]}}


def run(queues, *words, items=None):
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, name) for name in ("objects.json", "queues.yaml")]
        items = [node(i) for i in range(10)] + (items or [pod(q, i) for q in "ab" for i in range(10)])
        texts = (json.dumps({"apiVersion": "v1", "kind": "List", "items": items}), queues)
        for path, text in zip(paths, texts):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        return musterctl("musterctl", *words, "-f", paths[0], "--queues", paths[1])


def test_queues():
    code, out, err = run("- {name: a, weight: 3}\n- {name: b, limit: {nvidia.com/gpu: 16}}\n", "queues", "-o", "json")
    equal(code, 0)
    root, a, b = json.loads(out)["queues"]
    equal([q["queue"] for q in (root, a, b)], ["root", "root/a", "root/b"])
    equal((root["used"][GPU], a["used"][GPU], b["used"][GPU]), (80, 64, 16))
    equal((a["placed"], a["waiting"], b["placed"], b["waiting"]), (8, 2, 2, 8))
    equal(b["limit"], {GPU: 16})
    equal(b["reason"], f"queue b is at its limit: {GPU} need 8, have 0")
    equal((a["share"], b["share"]), (1.066667, 0.8))  # 64 / 80 / 0.75 and 16 / 80 / 0.25


def test_the_table_has_each_queue():
    code, out, err = run("- {name: a, guarantee: {nvidia.com/gpu: 60}}\n- {name: b, guarantee: {nvidia.com/gpu: 60}}\n", "queues")
    lines = out.splitlines()
    equal(lines[0].split(), "NAME SOURCE STATE GUARANTEE USED LIMIT SHARE WAITS RUNS FIRST".split())
    check(lines[2].startswith("root/a") and f"{GPU}=40 (scaled)" in lines[2], lines[2])
    equal(len(lines), 4)


def test_a_queue_that_allows_run_times():
    """The deadline counts if there is one, else what the annotation states; the least on the way to the root."""
    def of(i, queue, deadline=None, states=None):
        made = pod(queue, i)
        if deadline:
            made["spec"]["activeDeadlineSeconds"] = deadline
        made["spec"]["restartPolicy"] = "Never"
        if states:
            made["metadata"]["annotations"] = {"muster.dev/run-seconds": states}
        return made

    file = "- {name: up, maxRunSeconds: 600}\n- {name: a, parent: up}\n- {name: b, parent: up, maxRunSeconds: 60}\n- name: c\n"
    items = [of(0, "a", deadline=600), of(1, "a", deadline=601), of(2, "a", states="601"), of(3, "a", deadline=600, states="7200"), of(4, "a"),
             of(5, "b", states="60"), of(6, "b", states="61"), of(7, "c", deadline=86400)]
    code, out, err = run(file, "simulate", "-o", "json", items=items)
    equal((code, err), (1, ""))
    waits = {p["pod"]: p["reason"] for p in json.loads(out)["placements"] if p.get("reason")}
    text = "queue {} allows a run time of {} s at most (maxRunSeconds), {} s are stated"
    equal(waits, {"ns/a-01": text.format("up", 600, 601), "ns/a-02": text.format("up", 600, 601), "ns/b-06": text.format("b", 60, 61)})


def test_unshared_resources():
    """Of 80 GPUs each queue takes half if the memory, of which a takes more, does not count.  Where nothing counts
    a is first by its name, and has as many as the nodes have memory for."""
    def of(queue, i):
        made = pod(queue, i)
        made["spec"]["containers"][0]["resources"] = {"requests": {GPU: "1", "memory": "48Gi" if queue == "a" else "0"}, "limits": {GPU: "1"}}
        return made

    def shares(*names, words=("queues", "-o", "json")):
        return run("- {name: a}\n- {name: b}\n", *words, *(f"--unshared-resource={name}" for name in names), items=[of(q, i) for i in range(80) for q in "ab"])

    for names, runs in (((), (32, 48)), (("memory",), (40, 40)), (("pods", "example.com/none"), (32, 48)), (("memory", GPU, "pods"), (50, 30))):
        code, out, err = shares(*names)
        equal((code, err), (0, ""))
        equal(tuple(json.loads(out)["queues"][i]["placed"] for i in (1, 2)), runs)
    share = json.loads(shares("memory", GPU, "pods")[1])["queues"][1]["share"]
    equal(share, 0)
    code, out, err = shares("memory", words=("simulate",))
    equal(code, 1)
    for words in (("queues", "-o", "json"), ("simulate",)):
        code, out, err = shares("gpu", words=words)
        equal((code, out), (2, ""))
        check("--unshared-resource gpu: no resource: there are cpu, memory," in err, err)
    code, out, err = musterctl("musterctl", "queues", "--unshared-resource", "memory")
    equal(code, 2)
    check("--unshared-resource: -f FILE is missing" in err, err)


def test_a_queue_for_each_namespace():
    """The second namespace comes later, and gets as much; the queue above limits both."""
    def of(namespace, i):
        made = pod("teams", i)
        made["metadata"]["namespace"] = namespace
        return made

    file = "- {name: teams, namespaces: [x, y], perNamespace: true, limit: {nvidia.com/gpu: 64}}\n"
    code, out, err = run(file, "queues", "-o", "json", items=[of(n, i) for n in "xy" for i in range(10)])
    equal((code, err), (0, ""))
    queues = {q["queue"]: q for q in json.loads(out)["queues"]}
    equal(sorted(queues), ["root", "root/teams", "root/teams/teams.x", "root/teams/teams.y"])
    equal([queues[f"root/teams/teams.{n}"]["used"][GPU] for n in "xy"], [32, 32])


def test_labels_of_namespaces_choose_the_queue():
    """By the Namespace objects of the files; one that is in none counts as without labels."""
    def of(namespace):
        made = pod(namespace, 0)
        made["metadata"]["namespace"] = namespace
        del made["metadata"]["labels"]
        return made

    def team(name, value):
        return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {"team": value}}}

    file = """
- {name: all, namespaces: [{matchExpressions: [{key: team, operator: Exists}]}]}
- {name: rest, namespaces: [{matchExpressions: [{key: team, operator: DoesNotExist}]}]}
- {name: w, namespaces: [{matchLabels: {team: a}}]}
- {name: z, namespaces: [listed]}
"""
    items = [team("x", "a"), team("y", "b"), team("listed", "a"), *(of(n) for n in ("x", "y", "listed", "unknown"))]
    code, out, err = run(file, "queues", "-o", "json", items=items)
    equal((code, err), (0, ""))
    queues = {q["queue"].split("/")[-1]: q for q in json.loads(out)["queues"]}
    # Of x and y the first by name; a name comes before a label.
    equal([queues[q]["used"].get(GPU, 0) // queues["z"]["used"][GPU] for q in ("all", "rest", "w", "z")], [2, 1, 0, 1])


YUNIKORN = """
partitions:
- name: default
  placementrules: [{name: tag, value: namespace}]
  queues:
  - name: root
    submitacl: '*'
    queues:
    - name: eng
      parent: true
      resources:
        guaranteed: {memory: 500G, vcore: 16, nvidia.com/gpu: 8}
        max: {vcore: 20500m, nvidia.com/gpu: 16}
      properties: {application.sort.policy: fifo, priority.offset: "5"}
      queues:
      - name: ml
        maxapplications: 10
        properties: {preemption.policy: disabled}
    - name: b
- name: other
"""


def imported(text, *words):
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(text)
        file.flush()
        return musterctl("musterctl", "queues", "import", *(words or ("yunikorn",)), file.name)


def test_queues_of_yunikorn_are_imported():
    """What is printed is a file of --queues; what it leaves out is named."""
    as_map = json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "yunikorn-configs"}, "data": {"queues.yaml": YUNIKORN}})
    code, out, err = imported(YUNIKORN)
    equal((code, err), (0, ""))
    equal(imported(as_map)[1], out)
    notes = [line[4:] for line in out.splitlines() if line.startswith("#   ")]
    equal([note.split(": ")[:2] for note in notes],
          [["partitions", "other"], ["placementrules", '[{"name":"tag","value":"namespace"}]'], ["root", "submitacl"],
           ["root.eng", "application.sort.policy"], ["root.eng.ml", "maxapplications"]])
    code, text, err = run(out, "queues", "-o", "json", items=[pod(q, i) for q in ("eng.ml", "b") for i in range(10)])
    equal((code, err), (0, ""))
    queues = {q["queue"]: q for q in json.loads(text)["queues"]}
    equal(sorted(queues), ["root", "root/b", "root/eng", "root/eng/eng.ml"])
    equal(queues["root/eng"]["guarantee"], {"cpu": 16000, "memory": 500 * 10**9, GPU: 8})
    equal(queues["root/eng"]["limit"], {"cpu": 20500, GPU: 16})
    equal((queues["root/eng/eng.ml"]["placed"], queues["root/b"]["placed"]), (2, 8))
    check("priority: 5" in out and "reclaimable: false" in out, out)
    code, out, err = imported(YUNIKORN.replace("maxapplications: 10", '"max\\nqueues: [{name: c}]\\n#": 10'))
    equal((code, err, out.count("\nqueues:")), (0, "", 1), "a comment ends with its line")


def test_what_is_no_file_of_yunikorn():
    for text, error in ((YUNIKORN.replace("500G", "much"), "queue root.eng: resources.guaranteed.memory: much is not a quantity of 0 or more"),
                        (YUNIKORN.replace('"5"', "high"), "queue root.eng: properties.priority.offset: high is not a whole number of 32 bits"),
                        (YUNIKORN.replace("name: ml", "name: m.l"), "queue root.eng: queues.name: m.l is not the name of a queue"),
                        (YUNIKORN.replace("name: ml", "nam: ml"), "queue root.eng: queues.name: "),
                        (YUNIKORN.replace("name: b", "name: eng"), "queue eng is there twice"),
                        ("queues: []\n", "a list of partitions is missing"), ("partitions: [\n", ":")):
        code, out, err = imported(text)
        equal((code, out), (2, ""))
        check(error in err, err)
    code, out, err = imported(YUNIKORN, "slurm")
    equal(code, 2)
    check("slurm: yunikorn is the one there is" in err, err)


def test_simulate_says_the_queue():
    code, out, err = run("- name: a\n- {name: b, state: Closed}\n", "simulate", "-o", "json")
    equal(code, 1)
    placements = json.loads(out)["placements"]
    equal([p["queue"] for p in placements], ["a"] * 10 + ["b"] * 10)
    equal({p["reason"] for p in placements if p["queue"] == "b"}, {"queue b is closed"})
    equal(sum(p["node"] is not None for p in placements), 10)


def test_simulate_says_who_goes():
    """QUE-4: lent to b, and taken back by a gang of a as far as a's guarantee."""
    flags = ("--preemption", "on", "--reclaim", "guarantee")
    group = {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup", "metadata": {"name": "g", "namespace": "ns"}, "spec": {"minMember": 4}}
    items = [group] + [pod("a", i) for i in range(4)] + [pod("b", i) for i in range(10)]
    for i, p in enumerate(items[1:]):
        if i < 4:
            p["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"] = "g"
        else:
            p["spec"]["nodeName"] = f"n{i - 4:02}"
            p["status"] = {"phase": "Running", "startTime": f"2026-01-01T01:00:{i:02}Z"}
    lent = "- {name: a, guarantee: {nvidia.com/gpu: 32}}\n- name: b\n"
    code, out, err = run(lent, "simulate", "-o", "json", *flags, items=items)
    equal((code, err), (0, ""))
    equal(json.loads(out)["evictions"], [{"pod": f"ns/b-{i:02}", "node": f"n{i:02}", "queue": "b", "for": "ns/g", "by": "reclaim"} for i in range(6, 10)])
    code, out, err = run(lent, "simulate", *flags, items=items)
    check("ns/b-06   n06    -      ns/g   reclaim" in out and out.endswith("4 of 4 pending pods placed, 1 of 1 gangs; 4 pods evicted\n"), out)
    code, out, err = run(lent, "queues", "-o", "json", *flags, items=items)
    equal([q["used"].get(GPU) for q in json.loads(out)["queues"]], [80, 32, 48])
    code, out, err = run(lent, "simulate", "-o", "json", items=items)
    equal((code, "evictions" in json.loads(out)), (1, False))
    for words, text in ((("--reclaim", "guarantee"), "--reclaim guarantee: --queues and --preemption on are missing"),
                        (("--preemption", "on", "--reclaim", "all"), "--reclaim all: "), (("--preemption", "yes"), "--preemption yes: off or on")):
        code, out, err = run(lent, "simulate", *words, items=items)
        equal(code, 2)
        check(text in err, err)


def test_a_bad_file_names_the_field():
    code, out, err = run("- {name: a, limit: {cpu: many}}\n", "queues")
    equal(code, 2)
    check('queues.yaml: 1:26: [0].limit["cpu"]: many is not a quantity of 0 or more' in err, err)


if __name__ == "__main__":
    sys.exit(main(globals()))
