#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rights of deploy/base/rbac.yaml against those that the tests on the real server used.

    tests/real/rights.py DIR      DIR: what sum_up() wrote, $MUSTER_RIGHTS of the tests

A right that no test used is a failure, unless UNUSED has a reason; so is a request for what is not granted.  After a
restart the API server refuses for a moment what is granted."""
import collections
import json
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import yamlsub  # noqa: E402
from real.version import has_native_gangs  # noqa: E402

RBAC = pathlib.Path(__file__).resolve().parents[2] / "deploy" / "base" / "rbac.yaml"

# (API group, resource, verb): why it is granted although a run may not use it.
UNUSED = {("events.k8s.io", "events", "patch"): "an equal event that repeats",
          **{("", resource, "get"): "after a conflict, or a write whose answer was lost"
             for resource in ("persistentvolumeclaims", "persistentvolumes")}}
# test_real.py: to be refused; test_extender.py: granted by deploy/extender-token alone; to evict: by deploy/preemption
# alone, and what anybody may ask about oneself.
ASKED_BY_A_TEST = {("", "secrets", "list"), ("authentication.k8s.io", "tokenreviews", "create"),
                   ("", "pods/eviction", "create"), ("authorization.k8s.io", "selfsubjectaccessreviews", "create")}


def granted():
    """Each (API group, resource, verb) of the roles, of groups that this version of Kubernetes may have."""
    rules = [rule for obj in yamlsub.load_all(RBAC.read_text(encoding="utf-8")) for rule in obj.get("rules", [])]
    return {(group, resource, verb) for rule in rules for group in rule["apiGroups"]
            for resource in rule["resources"] for verb in rule["verbs"]
            if group != "scheduling.k8s.io" or resource == "priorityclasses" or has_native_gangs()}


def sum_up(cluster, folder):
    """Counts the requests in a cluster's audit log by right and decision, into a new file of the folder."""
    counts = collections.Counter()
    for log in pathlib.Path(cluster).glob("audit*.log"):
        for line in log.read_text(encoding="utf-8").splitlines():
            event = json.loads(line)
            about = event.get("objectRef")
            if not about or "resource" not in about:
                continue  # discovery
            resource = "/".join(filter(None, (about["resource"], about.get("subresource"))))
            decision = event.get("annotations", {}).get("authorization.k8s.io/decision", "none")
            counts[about.get("apiGroup", ""), resource, event["verb"], decision] += 1
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=folder, suffix=".json", delete=False, encoding="utf-8") as file:
        json.dump([[*key, n] for key, n in sorted(counts.items())], file)


def used(folder):
    """Counts of all files by (API group, resource, verb): requests that were allowed, and that were not."""
    counts = collections.Counter(), collections.Counter()
    for path in pathlib.Path(folder).glob("*.json"):
        for group, resource, verb, decision, n in json.loads(path.read_text(encoding="utf-8")):
            counts[decision != "allow"][group, resource, verb] += n
    return counts


def main():
    (counts, refused), rights = used(sys.argv[1]), granted()
    faults = [f"granted and never used: {right}" for right in sorted(rights) if not counts[right] and right not in UNUSED]
    faults += [f"not granted, and requested {n} times: {right}" for right, n in sorted(refused.items())
               if right not in rights | ASKED_BY_A_TEST]
    faults += [f"UNUSED names what is not granted: {right}" for right in sorted(UNUSED) if right not in rights]
    for right in sorted(rights):
        print(f"{counts[right]:9d}  {right[2]:7s} {right[1]}.{right[0]}  {UNUSED.get(right, '')}".rstrip())
    print(*faults, sep="\n", end="\n" if faults else "")
    print(f"{len(rights)} passed, {len(faults)} failed")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
