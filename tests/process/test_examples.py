# SPDX-License-Identifier: Apache-2.0
"""docs/examples: each gang is read in its dialect, is placed completely where it fits, and not at
all where it does not."""
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import muster  # noqa: E402
from lib.cluster import run  # noqa: E402
from lib.harness import check, equal, main  # noqa: E402

EXAMPLES = muster.ROOT / "docs" / "examples"
OTHERS = {"nodes": None, "workload-policy": None, "topology": "scheduler-plugins"}  # not named after their dialect


def simulate(*flags, stdin=None):
    code, out, err = run("musterctl", "simulate", *flags, "-o", "json", stdin=stdin)
    equal(err, "", flags)
    return code, json.loads(out)


def small_node():
    """Capacity for less than any of the gangs."""
    return json.dumps({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "small"},
                       "status": {"allocatable": {"cpu": "1", "memory": "8Gi", "pods": "32"}}})


def test_each_example_is_a_gang_of_its_dialect():
    for path in sorted(EXAMPLES.glob("*.yaml")):
        dialect = OTHERS.get(path.stem, path.stem)
        if dialect is None:
            continue
        code, answer = simulate("-f", str(EXAMPLES / "nodes.yaml"), "-f", str(path))
        gang, = answer["gangs"]
        equal((code, gang["dialect"], gang["state"]), (0, dialect, "Running"), path.name)
        equal(gang["placed"], len(answer["placements"]), path.name)
        check(all(p["node"] and p["gang"] == gang["gang"] for p in answer["placements"]), path.name)
        code, answer = simulate("-f", "-", "-f", str(path), stdin=small_node())
        equal((code, answer["gangs"][0]["placed"]), (1, 0), path.name)
        check(answer["gangs"][0]["reason"], path.name)


def test_all_examples_can_be_applied_together():
    files = sorted(p for p in EXAMPLES.rglob("*.yaml"))
    _, answer = simulate(*(word for path in files for word in ("-f", str(path))))
    gangs = [g["gang"] for g in answer["gangs"]]
    equal(len(gangs), len(files) - 2, gangs)  # nodes and the policy are no gangs


def test_the_policy_puts_two_into_one_zone_and_one_into_the_other():
    code, answer = simulate("-f", str(EXAMPLES / "nodes.yaml"), "-f", str(EXAMPLES / "workload-policy.yaml"))
    zones = {"n1": "a", "n2": "a", "n3": "b", None: None}
    equal((code, sorted(str(zones[p["node"]]) for p in answer["placements"])), (1, ["None", "a", "a", "b"]))


def test_the_quick_start_says_what_comes_of_it():
    page = (muster.ROOT / "docs" / "quick-start.md").read_text()
    for name, state, why in (("train", "Running", None), ("too-big", "Waiting", "Insufficient cpu"),
                             ("too-few", "Pending", "cannot find enough sibling pods")):
        path = EXAMPLES / "quick-start" / f"{name}.yaml"
        check(f"examples/quick-start/{name}.yaml" in page, name)
        code, answer = simulate("-f", str(EXAMPLES / "nodes.yaml"), "-f", str(path))
        gang, = answer["gangs"]
        equal((code, gang["gang"], gang["state"]), (int(why is not None), f"default/{name}", state), name)
        check(why is None or why in gang["reason"], gang)
        # After kube-scheduler's text, which counts nodes, the page has muster's own.
        check(why is None or gang["reason"].split(f". gang default/{name}: ")[1] in " ".join(page.split()), gang)


def test_samples_are_what_the_program_prints():
    """A command on docs/examples that a page shows with its output."""
    seen = 0
    for page in sorted(muster.ROOT.glob("docs/*.md")) + [muster.ROOT / "README.md"]:
        for words, sample in re.findall(r"```sh\nbuild/bin/musterctl ([^\n]*docs/examples/[^\n]*)\n```\n+```\n(.*?)```",
                                        page.read_text(), re.S):
            words = [str(muster.ROOT / word) if word.startswith("docs/") else word for word in words.split()]
            _, out, err = run("musterctl", *words)
            equal((out, err), (sample, ""), (page.name, words))
            seen += 1
    check(seen, "no page has one")


def test_reasons_that_the_page_shows_are_said():
    """Groups without their object, with gates, roles, minResources and levels, as docs/explain.md has them."""
    page = (muster.ROOT / "docs" / "explain.md").read_text()
    nodes = [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"n{i}", "labels": {"zone": zone}},
              "status": {"allocatable": {"cpu": "4", "memory": "16Gi", "pods": "10"}}} for i, zone in enumerate("ab")]

    def reason(pods, cpu="1", group=None, annotations=None, gated=0, on=nodes, **spec):
        items = on + [{"apiVersion": "v1", "kind": "Pod",
                       "metadata": {"name": f"train-{i}", "namespace": "default",
                                    "labels": {"scheduling.x-k8s.io/pod-group": "train"}},
                       "spec": {"schedulerName": "muster", "containers": [
                           {"name": "w", "image": "x", "resources": {"requests": {"cpu": cpu}}}],
                           **({"schedulingGates": [{"name": "example.com/quota"}]} if i < gated else {}), **spec}}
                      for i in range(pods)]
        if group:
            items.append({"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup", "spec": group,
                          "metadata": {"name": "train", "namespace": "default", "annotations": annotations or {}}})
        code, answer = simulate("-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
        equal(code, 1)
        return answer["gangs"][0]["reason"]

    for said in (reason(2), reason(2, group={"minMember": 2}, gated=1), reason(2, group={"minMember": 2}, on=[]),
                 reason(4, "3", {"minMember": 4}), reason(2, group={"minMember": -1}),
                 reason(2, group={"minMember": 2, "minResources": {"cpu": "12"}}),
                 reason(3, "2", {"minMember": 3}, {"muster.dev/required-topology": "zone"})):
        # Beginnings are cut off in the table.
        check(said in page or said.split(". gang ")[-1] in page, said)


if __name__ == "__main__":
    sys.exit(main(globals()))
