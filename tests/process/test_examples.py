"""docs/examples: each gang is read in its dialect, is placed whole where there is room, and not at
all where there is none."""
import json
import os
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
    """Room for less than any of the gangs."""
    return json.dumps({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "small"},
                       "status": {"allocatable": {"cpu": "1", "memory": "8Gi", "pods": "32"}}})


def test_each_example_is_a_gang_of_its_dialect():
    for path in sorted(EXAMPLES.glob("*.yaml")):
        dialect = OTHERS.get(path.stem, path.stem)
        if dialect is None:
            continue
        code, answer = simulate("-f", str(EXAMPLES / "nodes.yaml"), "-f", str(path))
        gang, = answer["gangs"]
        equal((code, gang["dialect"], gang["state"]), (0, dialect, "Placed"), path.name)
        equal(gang["placed"], len(answer["placements"]), path.name)
        check(all(p["node"] and p["gang"] == gang["gang"] for p in answer["placements"]), path.name)
        code, answer = simulate("-f", "-", "-f", str(path), stdin=small_node())
        equal((code, answer["gangs"][0]["placed"]), (1, 0), path.name)
        check(answer["gangs"][0]["reason"], path.name)


def test_the_policy_puts_two_into_one_zone_and_one_into_the_other():
    code, answer = simulate("-f", str(EXAMPLES / "nodes.yaml"), "-f", str(EXAMPLES / "workload-policy.yaml"))
    zones = {"n1": "a", "n2": "a", "n3": "b", None: None}
    equal((code, sorted(str(zones[p["node"]]) for p in answer["placements"])), (1, ["None", "a", "a", "b"]))


if __name__ == "__main__":
    sys.exit(main(globals()))
