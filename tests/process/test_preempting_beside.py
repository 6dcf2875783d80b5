# SPDX-License-Identifier: Apache-2.0
"""--preemption on where muster is not alone: another scheduler, whose controller replaces what is evicted."""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import kube, objects, successors  # noqa: E402
from lib.check import condition  # noqa: E402
from lib.harness import check, equal, figure, main, until  # noqa: E402
from lib.successors import Successors  # noqa: E402
from process.test_extender import Asker  # noqa: E402
from process.test_preemption import group, pod  # noqa: E402
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
        until(lambda: told in (condition(c.client.get("Pod", "g-0")) or {}).get("message", ""), 8,
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


if __name__ == "__main__":
    main(globals(), jobs=4)
