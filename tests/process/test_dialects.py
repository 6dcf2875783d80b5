# SPDX-License-Identifier: Apache-2.0
"""A cluster in which every dialect is in use at once: 2,000 pods, and each gang is bound
completely and has the status of its dialect."""
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import check, load, objects  # noqa: E402
from lib.cluster import Cluster, Follower  # noqa: E402
from lib.dialects import CRDS, DIALECTS  # noqa: E402
from lib.harness import becomes, equal, eventually, main, until  # noqa: E402

PODS, NODES = 2000, 50
SOON_S = 60
WITHOUT_STATUS = ("ConfigMap", "PodGroup.scheduling.run.ai")  # muster writes no status of KAI's


def gangs(rng, pods=PODS):
    """[(dialect, gang, size)], all dialects in turn, sizes that sum to `pods`."""
    sizes = load.split(rng, pods, 2, pods * 6 // 100)
    return [(name, f"{name}-{i}", n) for i, n in enumerate(sizes) for name in [list(DIALECTS)[i % len(DIALECTS)]]]


def made(dialect, gang, size, **asks):
    pods = [objects.pod(f"{gang}-{i}", memory="0", **asks) for i in range(size)]
    for p in pods:
        DIALECTS[dialect].mark(p, gang, size)
    return DIALECTS[dialect].objects(gang, size), pods


def condition_of(group):
    """Of a native PodGroup, under the name that its version has."""
    return check.condition(group, "PodGroupInitiallyScheduled") or check.condition(group, "PodGroupScheduled") or {}


def wrong_status(c, gang, size, described, runs):
    """Wrong values in the status of the object that declares the gang; described: the object as created."""
    kind = check.kube.kind_of(described)
    if kind in WITHOUT_STATUS:
        return []
    now = c.client.get(kind, gang)
    if kind == "PodGroup.scheduling.k8s.io":
        got = condition_of(now)
        right = got.get("status") == ("True" if runs else "False") and (runs or got.get("reason") == "Unschedulable")
        return [] if right else [f"{gang}: {got}"]
    status = now.get("status") or {}
    if runs:
        right = status.get("phase") == "Running" and status.get("running") == size
    else:
        right = status.get("phase") in ("Pending", "Inqueue", "PreScheduling", "Scheduling") and \
            not status.get("running")
    return [] if right else [f"{kind} {gang} of {size}: {status}"]


def test_all_at_once():
    rng = random.Random(load.seed())
    fit = [(d, g, n, *made(d, g, n, cpu=rng.choice(["100m", "250m", "500m"]))) for d, g, n in gangs(rng)]
    stuck = [(d, f"{d}-stuck", 3, *made(d, f"{d}-stuck", 3, requests={"example.com/none": "1"})) for d in DIALECTS]
    every = fit + stuck
    flags = [f for crd in CRDS for f in ("--crd", crd)] + ["--gate", "GenericWorkload"]
    with Cluster(*(objects.node(f"n{i:02}", cpu="64", memory="256Gi") for i in range(NODES)), apisim=flags) as c:
        c.up("--report-qps", 2000)
        order = [o for _, _, _, groups, pods in every for o in groups + pods]
        rng.shuffle(order)
        with Follower(c.client) as history:
            load.submit(c.client, order)
            until(lambda: c.stats()["binds"] >= PODS, SOON_S, "all that fit are bound")
            bound = {}
            for p in c.pods():
                gang = p["metadata"]["name"].rpartition("-")[0]
                bound[gang] = bound.get(gang, 0) + check.is_bound(p)
        equal({g: bound[g] for _, g, _, _, _ in every}, {**{g: n for _, g, n, _, _ in fit},
                                                         **{g: 0 for _, g, _, _, _ in stuck}}, "bound of each gang")
        equal(history.wrong, [], "history")
        equal(c.wrongs(), [], "what must hold")
        for groups, runs in ((fit, True), (stuck, False)):
            def wrong():
                return [w for _, g, n, described, _ in groups for o in described
                        for w in wrong_status(c, g, n, o, runs)]
            until(lambda: not wrong(), SOON_S, lambda: wrong()[:5], every_s=0.5)

        def shown():
            there = {g["gang"]: g for g in c.ask_json("gangs")[1]["gangs"]}
            for d, g, n, _, _ in every:
                got = there[f"default/{g}"]
                equal((got["dialect"], got["quorum"], got["members"]), (d, n, n), g)

        eventually(shown)
        until(lambda: not check.silent_pods(c.pods()), SOON_S, "each pod that waits says why")
        for d, g, _, _, _ in stuck:
            def said(name=f"{g}-0"):
                return check.condition(c.client.get("Pod", name))["message"]

            until(lambda: "Insufficient example.com/none" in said() and g in said(), SOON_S, said)  # noqa: B023


def test_a_group_name_alone_where_volcano_is_not_served():
    lone = objects.pod("lone")
    DIALECTS["volcano"].mark(lone, "g", 1)
    with Cluster(objects.node("n1")) as c:
        c.up()
        c.create(lone)
        until(lambda: c.bound("lone") == 1, SOON_S, "an ordinary pod")


def test_pods_with_two_marks_are_shown_by_their_group():
    """Neither mark counts, and the group's own object has the members and the reason; the first thing
    that is missing is named, with the marks."""
    flags = [f for crd in CRDS for f in ("--crd", crd)]
    with Cluster(objects.node("n1"), apisim=flags) as c:
        c.up()
        pods = [objects.pod(f"g-{i}", group="g") for i in range(2)]
        for pod in pods:
            DIALECTS["volcano"].mark(pod, "h", 2)
        c.create(*pods)
        marks = "label scheduling.x-k8s.io/pod-group names group g, annotation scheduling.k8s.io/group-name names group h"

        def said():
            return [(check.condition(p) or {}).get("message", "") for p in c.pods()]
        until(lambda: all("not found" in text and marks in text for text in said()), SOON_S, said)
        c.create(objects.pod_group("g", 2))
        until(lambda: all("not found" not in text and marks in text for text in said()), SOON_S, said)
        becomes(lambda: {g["gang"]: g for g in c.ask_json("gangs")[1]["gangs"]}["default/g"]["members"], 2, "members")
        until(lambda: [e for e in c.client.list("Event") if e["regarding"]["kind"] == "PodGroup" and marks in e["note"]],
              SOON_S, "an event of the group")
        equal(c.bound(), 0, "bound")


def native_in(version):
    """A native gang whose PodGroup is of that version, next to an older one."""
    [group], pods = made("native", "g", 3, cpu="1")
    group["apiVersion"] = f"scheduling.k8s.io/{version}"
    flags = ["--gate", "GenericWorkload", "--gate", f"GenericWorkload/{version}"]
    path = f"/apis/scheduling.k8s.io/{version}/namespaces/default/podgroups"
    with Cluster(objects.node("n1"), apisim=flags) as c:
        c.up()
        c.create(*pods)
        c.client.request("POST", path, group)
        until(lambda: c.bound("g") == 3, SOON_S, f"a gang of {version}")
        until(lambda: condition_of(c.client.request("GET", f"{path}/g")).get("status") == "True", SOON_S,
              lambda: c.client.request("GET", f"{path}/g"))


def test_native_groups_of_the_newest_version():
    native_in("v1beta1")
    native_in("v1")


if __name__ == "__main__":
    main(globals())
