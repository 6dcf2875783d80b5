# SPDX-License-Identifier: Apache-2.0
"""--preemption on where muster is not alone: another scheduler, whose controller replaces what is evicted, and a
second muster on the other nodes of the cluster."""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import kube, objects, successors  # noqa: E402
from lib.cluster import Cluster  # noqa: E402
from lib.harness import becomes, check, equal, figure, main, until  # noqa: E402
from lib.instances import Pair  # noqa: E402
from lib.successors import Successors  # noqa: E402
from process.test_extender import Asker  # noqa: E402
from process.test_preemption import CLASSES, group, pod  # noqa: E402
from process.test_preempting import SOON_S, Preempting  # noqa: E402

ALL = ("--preemption", "on", "--preempt-victims", "all")
REST_S = 6
LONE, GANG = [pod("g-0", 10, cpu="4")], group("g", 10, 1, [None], cpu="4")


def beside(*preemptor, flags=()):
    """A node of five cores with a pod of the other scheduler on three: its successors, of two, find room at once, and then four
    are not free when the pod has gone."""
    return Preempting(objects.node("n1", cpu="5"), successors.pod("first", "n1", cpu="3", priorityClassName="p0"), *preemptor,
                      frontend=(*ALL, *flags))


def lost(c):
    return c.metrics().get('muster_preemptions_total{result="lost"}', 0)


def is_thrash_guarded(*preemptor):
    with beside(*preemptor) as c, Successors(kube.Client(c.kubeconfig), priorityClassName="p0") as theirs:
        until(lambda: lost(c) == 1, SOON_S, c.metrics)
        told = "Capacity that it was to have was taken by pod default/next-1 of scheduler theirs."
        until(lambda: told in c.why_pending("g-0"), 8,
              lambda: c.client.get("Pod", "g-0")["status"])
        until(lambda: lost(c) == 2, SOON_S, c.metrics)
        equal([name for _, name in theirs.went], ["first", "next-1"])
        check(theirs.went[1][0] - theirs.went[0][0] >= 9, theirs.went)
        time.sleep(REST_S)  # of twenty seconds
        equal((len(theirs.went), c.bound("g-"), c.metric("muster_evictions_total")), (2, 0, 2))
        equal(c.wrongs(), [])


def test_a_scheduler_that_fills_each_hole():
    """PRE-19 without the extender: the second try is ten seconds after the first, the third twenty after that
    (core/world/test_nominations_ends has five minutes of them), and the reason names who took the room."""
    is_thrash_guarded(*GANG)


def test_a_scheduler_that_fills_each_hole_of_a_lone_pod():
    is_thrash_guarded(*LONE)


def is_bound_in_one_go(*preemptor):
    with beside(*preemptor, flags=("--extender-keep", "30")) as c:
        def may_have(waiting, node):
            until(lambda: c.metric("muster_objects_pods") >= len(c.pods()), 10, "its pods are known")
            return node in asker.ask("/filter", waiting, NodeNames=[node])["NodeNames"]

        asker = Asker(c)
        with Successors(kube.Client(c.kubeconfig), may_have, priorityClassName="p0") as theirs:
            c.starts("g", 1)
            time.sleep(REST_S)
            equal(([name for _, name in theirs.went], c.bound("next-"), lost(c)), (["first"], 0, 0))
            check(theirs.refused > 0, "the extender was not asked")
            figure(f"{theirs.refused} bindings refused")


def test_a_scheduler_that_asks_the_extender():
    """PRE-19: the preemptor is bound in one go."""
    is_bound_in_one_go(*GANG)


def test_a_scheduler_that_asks_the_extender_about_the_room_of_a_lone_pod():
    is_bound_in_one_go(*LONE)


class Halves(Cluster):
    """A cluster of two nodes, each with an instance of its own; a gang runs on both, half of it of each scheduler's name."""

    def __init__(self, mode):
        spread = group("v", 0, 8, ["na"] * 4 + ["nb"] * 4, annotations={"muster.dev/disruption-mode": mode})
        for member in spread[1:]:
            member["spec"]["schedulerName"] = f"muster-{member['spec']['nodeName'][1]}"
        super().__init__(*CLASSES, kube.namespace("muster-system"),
                         *(objects.node(f"n{pool}", cpu="4", labels={"pool": pool}) for pool in "ab"), *spread)

    def __enter__(self):
        super().__enter__()
        self.instances = {pool: Pair(self, pool, self.kubeconfig, *ALL, "--scheduler-name", f"muster-{pool}",
                                     "--node-selector", f"pool={pool}") for pool in "ab"}
        for pool, instance in self.instances.items():
            instance.ready()
            made = group(pool, 10, 2, [None] * 2)
            for member in made[1:]:
                member["spec"]["schedulerName"] = f"muster-{pool}"
            self.create(*made)
        return self

    def gone(self):
        stay = {p["metadata"]["name"] for p in self.pods("v-") if not p["metadata"].get("deletionTimestamp")}
        return sorted({f"v-{i}" for i in range(8)} - stay)


def is_no_candidate(mode):
    with Halves(mode) as c:
        for pool, instance in c.instances.items():
            until(lambda: "Preemption would not start it" in explained(c, pool), SOON_S, lambda: explained(c, pool))
            equal(instance.metric("muster_nominations"), 0)
        time.sleep(REST_S)
        equal((c.gone(), c.bound("a-"), c.bound("b-")), ([], 0, 0))


def explained(c, pool):
    c.socket = os.path.join(c.folder, f"{pool}.sock")
    return c.ask("explain", f"default/{pool}")[1]


def test_a_gang_of_two_instances():
    """PRE-20: what neither sees whole is no candidate of either."""
    is_no_candidate("whole")


def test_a_gang_of_two_instances_and_a_quorum():
    is_no_candidate("quorum")


def test_members_of_two_instances():
    """PRE-20: in mode `pod` each takes on its own nodes."""
    with Halves("pod") as c:
        until(lambda: c.bound("a-") == c.bound("b-") == 2, SOON_S, lambda: [explained(c, pool) for pool in "ab"])
        becomes(lambda: [sum(f"v-{i}" in c.gone() for i in half) for half in (range(4), range(4, 8))], [2, 2], "who went")
        time.sleep(REST_S)
        equal(len(c.gone()), 4)


if __name__ == "__main__":
    main(globals(), jobs=4)
