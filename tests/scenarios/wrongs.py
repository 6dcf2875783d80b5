# SPDX-License-Identifier: Apache-2.0
"""Invariants after each scenario, read from the API:

  I1  no node over its allocatable, not even for a moment
  I2  a group that never reached its quorum has nothing bound
  I3  muster's allocated sums are those of bound pods: no reservation is left
  I4  each pending pod has a current reason
  I5  members are counted by uid, not by name, and bound once
  I6  a member is counted once
  I7  the order in which objects are seen changes nothing: a scheduler that sees
      everything at once, simulated or after a crash, places nothing more
"""
import json
import os
import random
import signal
import time
from collections import Counter, defaultdict

from lib import check, groups, kube
from lib.cluster import run
from lib.harness import Failed, check as must, eventually, until

SEED = 1
OBJECTS = (*groups.KINDS, "WorkloadPolicy")
REST_S = 3.0   # reports and results still on their way
START_S = 20   # of new daemons
AFTER_S = 0.5  # for them to do what they should not


def of(t):
    state = State(t)
    found = list(t.watched.wrong)
    found += check.overfull_nodes(state.nodes, state.pods)
    found += broken_groups(t, state)
    found += in_time(lambda: silent(t, State(t).pods))
    found += in_time(lambda: other_sums(t, State(t)))
    found += in_time(lambda: other_counts(t, State(t)))
    found += other_orders(t, State(t))
    found += t.world.wrong_of_server()
    return found


def after_a_crash(t):
    """Both daemons are killed: the next ones have only the API server's state, change
    nothing and have the same sums."""
    start, old = time.monotonic(), t.world.daemons()
    for pid in old.values():
        os.kill(pid, signal.SIGKILL)
    until(lambda: not set(old.values()) & set(t.world.daemons().values()), START_S, "killed")
    until(lambda: t.world.fetch("/readyz")[0] == 200, START_S, "ready after a crash")
    time.sleep(AFTER_S)
    found = [f"I7: after a crash {pod} is {what}" for what, pod in t.watched.turns_since(start, "")]
    found += in_time(lambda: other_sums(t, State(t)))
    found += in_time(lambda: other_counts(t, State(t)))
    return found + in_time(lambda: silent(t, State(t).pods))


def in_time(question):
    """What is found wrong and stays so."""
    try:
        eventually(lambda: must(not question()), REST_S)
        return []
    except Failed:
        return question()


class State:
    """The scenario's own objects, by fresh lists."""

    def __init__(self, t):
        self.nodes = [n for n in t.client.list("Node") if n["metadata"]["name"] in t.node_names]
        self.pods = [p for p in t.client.list("Pod") if p["metadata"]["namespace"] in t.namespaces]
        self.others = []
        for kind in OBJECTS:
            self.others += [(kind, o) for o in t.client.list_if_served(kind)
                            if o["metadata"]["namespace"] in t.namespaces]

    def find(self, kind, namespace, name):
        for k, o in self.others:
            if (k, o["metadata"]["namespace"], o["metadata"]["name"]) == (kind, namespace, name):
                return o
        return None

    def by_group(self):
        """{(namespace, name): pods}"""
        members = defaultdict(list)
        for p in self.pods:
            group = groups.of(p)
            if group:
                members[p["metadata"]["namespace"], group.name].append(p)
        return members


def broken_groups(t, state):
    wrong = []
    members = state.by_group()
    for at, most in sorted(t.watched.peak.items()):
        seen = members.get(at) or [p for p in t.watched.ever.values() if groups.of(p) and
                                   (p["metadata"]["namespace"], groups.of(p).name) == at]
        quorum = groups.quorum_of(groups.of(seen[0]), at[0], state.find) if seen else None
        if quorum is not None and most < quorum:
            wrong.append(f"I2: group {at}: {most} bound at once, the quorum is {quorum}")
    return wrong


def silent(t, pods):
    return ["I4: " + what for what in check.silent_pods(pods, t.scheduler)]


def other_sums(t, state):
    """The core's own sums of each node against the pods' requests."""
    shown = {n["node"]: n for n in t.ctl("nodes")["nodes"] if n["present"]}
    wrong = []
    for node in state.nodes:
        name = node["metadata"]["name"]
        taken = Counter()
        for p in state.pods:
            if p["spec"].get("nodeName") == name and check.takes_room(p):
                taken.update(check.request_of(p))
        used = shown.get(name, {}).get("used")
        if used is None:
            wrong.append(f"I3: muster does not know node {name}")
            continue
        for resource in {*used, *taken}:
            unit = 1000 if resource == "cpu" else 1
            if used.get(resource, 0) != taken[resource] * unit:
                wrong.append(f"I3: node {name}: muster counts {used.get(resource, 0)} {resource}, "
                             f"pods take {float(taken[resource] * unit):g}")
    return wrong


def other_counts(t, state):
    """Members of each group as the core counts them against the API."""
    shown = {g["gang"]: g["members"] for g in t.ctl("gangs")["gangs"]}
    wrong = []
    for (namespace, name), pods in state.by_group().items():
        pods = [p for p in pods if p["spec"]["schedulerName"] == t.scheduler or check.is_bound(p)]
        live = {p["metadata"]["uid"] for p in pods if p.get("status", {}).get("phase") not in ("Succeeded", "Failed")}
        every = {p["metadata"]["uid"] for p in pods}
        got = shown.get(f"{namespace}/{name}")
        if got is not None and not len(live) <= got <= len(every):
            wrong.append(f"I6: group {namespace}/{name}: muster counts {got} members, the API has {len(live)}")
    return wrong


def other_orders(t, state):
    """simulate on all objects in several orders."""
    items = [kube.typed("Node", o) for o in state.nodes] + [kube.typed("Pod", o) for o in state.pods]
    items += [kube.typed(kind, o) for kind, o in state.others]
    items += [kube.typed("PriorityClass", o) for o in t.client.list("PriorityClass")]
    answers = []
    for turn in range(2):
        random.Random(SEED + turn).shuffle(items)
        code, out, err = run("musterctl", "simulate", "-f", "-", "-o", "json", "--scheduler-name", t.scheduler,
                             stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
        if code not in (0, 1):
            return [f"I7: simulate: exit {code}: {err}"]
        answers.append({p["pod"]: p["node"] for p in json.loads(out)["placements"]})
    if answers[0] != answers[1]:
        return [f"I7: another order of objects gives another end: {answers}"]
    bound = {check.key(p) for p in state.pods if check.is_bound(p)}
    return [f"I7: {pod} waits, and has room on {node} for one that sees everything at once"
            for pod, node in answers[0].items() if node and pod not in bound]
