#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rights of deploy/base and of what is added to it for a feature against those that the tests on the real server used.

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
from real.version import has_native_gangs, is_at_least  # noqa: E402

DEPLOY = pathlib.Path(__file__).resolve().parents[2] / "deploy"
OF_OTHERS = {"viewer", "crds", "kube-scheduler"}  # no rights of muster

# (API group, resource, verb): why it is granted although a run may not use it.
UNUSED = {("events.k8s.io", "events", "patch"): "an equal event that repeats",
          ("resource.k8s.io", "resourceclaims/binding", "patch"): "checked by the API server beside that of the status",
         **{(group, resource, "get"): "after a conflict, or a write whose answer was lost"
            for group, resource in (("", "persistentvolumeclaims"), ("", "persistentvolumes"), ("resource.k8s.io", "resourceclaims"))}}
# test_real.py: to be refused; what anybody may ask about oneself.
ASKED_BY_A_TEST = {("", "secrets", "list"), ("authorization.k8s.io", "selfsubjectaccessreviews", "create")}


def is_served(group, resource):
    """Whether this version of Kubernetes may have it."""
    return {"scheduling.k8s.io": resource == "priorityclasses" or has_native_gangs(),
            "resource.k8s.io": is_at_least(34)}.get(group, True)


def granted():
    """Each (API group, resource, verb) of muster's roles that may be used."""
    rules = [rule for path in sorted(DEPLOY.glob("*/*.yaml")) if path.parent.name not in OF_OTHERS
             for obj in yamlsub.load_all(path.read_text(encoding="utf-8")) if obj.get("kind") in ("ClusterRole", "Role")
             for rule in obj.get("rules", [])]
    return {(group, resource, verb) for rule in rules for group in rule["apiGroups"]
            for resource in rule["resources"] for verb in rule["verbs"] if is_served(group, resource)}


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
