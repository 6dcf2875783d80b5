# SPDX-License-Identifier: Apache-2.0
"""What one tenant can do to the others: muster against muster-apisim."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import kube, objects  # noqa: E402
from lib.cluster import Cluster  # noqa: E402
from lib.harness import equal, main, steady, until  # noqa: E402
from lib.objects import pod_group  # noqa: E402

SOON_S = 15.0
STILL_S = 2.0


def node(name, cpu):
    return objects.node(name, cpu=str(cpu), pods="64")


def pod(name, cpu, **rest):
    return objects.pod(name, cpu=str(cpu), memory="0", **rest)


def says(c, name, part, namespace="default"):
    until(lambda: part in c.why_pending(name, namespace), SOON_S, f"{name}: {part}")


def starts(c, *names):
    until(lambda: all(c.bound(name) == 1 for name in names), SOON_S, f"{names} are bound")


def restart(c, *core):
    c.frontend.stop()
    c.core.stop()
    c.pair(core=core)


def test_a_raised_quorum_precedes_no_priority():
    """A gang of one runs; then its owner makes it a gang of 25."""
    hold = ("--reserve-after", "2")
    with Cluster(node("n1", 30), kube.priority_class("high", 100), pod_group("g", 1)) as c:
        c.pair(core=hold)
        c.create(*(pod(f"there-{i}", 2) for i in range(7)), pod("g-0", 1, group="g"))
        starts(c, "g-0")
        c.client.patch("PodGroup", "g", {"spec": {"minMember": 25}})
        c.create(*(pod(f"g-{i}", 1, group="g") for i in range(1, 25)))
        says(c, "g-24", "15 of 24 members")
        c.create(pod_group("urgent", 2), *(pod(f"urgent-{i}", 2, group="urgent", priorityClassName="high") for i in range(2)))
        starts(c, "urgent-0", "urgent-1")
        # Nothing of it comes back with a restart.
        restart(c, *hold)
        says(c, "g-24", "11 of 24 members")
        until(lambda: c.metric("muster_backfill_reservations_total") > 0, SOON_S, "its own reservation")
        c.create(pod("alone", 1, priorityClassName="high"))
        starts(c, "alone")
        steady(lambda: c.bound("g-") == 1, STILL_S, "it waits")


def test_a_namespace_that_ends_waits_for_nothing():
    """The API server takes no binding in it, so its pods are not tried."""
    # Without kubelets apisim does not empty the namespace.
    with Cluster(node("n1", 2), kube.namespace("leaving"), kube.priority_class("high", 100),
                 apisim=("--no-kubelet",)) as c:
        c.create(pod_group("g", 2, namespace="leaving"),
                 *(pod(f"g-{i}", 3, group="g", namespace="leaving", priorityClassName="high") for i in range(2)),
                 pod("plain", 3, namespace="leaving", priorityClassName="high"))
        c.pair()
        says(c, "plain", "Insufficient cpu", "leaving")
        c.client.delete("Namespace", "leaving", namespace=None)
        says(c, "plain", "namespace is being deleted", "leaving")
        says(c, "g-0", "namespace is being deleted", "leaving")
        c.create(node("n2", 6), pod("other", 6))
        starts(c, "other")
        equal(c.bound(namespace="leaving"), 0)
        restart(c)
        says(c, "g-1", "namespace is being deleted", "leaving")


def test_no_reservation_for_what_no_end_promises():
    """A pod of a DaemonSet uses a core of each node: 20 cores would be there in an empty cluster alone."""
    nodes = [f"n{i}" for i in range(4)]
    owner = [{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "u", "controller": True}]
    with Cluster(*(node(n, 5) for n in nodes)) as c:
        for n in nodes:
            agent = pod(f"agent-{n}", 1, nodeName=n, restartPolicy="Always", scheduler="default-scheduler")
            agent["metadata"]["ownerReferences"] = owner
            c.create(agent)
        c.pair(core=("--reserve-after", "1"))
        c.create(pod_group("big", 20), *(pod(f"big-{i}", 1, group="big") for i in range(20)))
        says(c, "big-0", "16 of 20 members have room")
        says(c, "big-0", "No capacity is reserved for it")
        c.create(*(pod(f"small-{i}", 1) for i in range(16)))
        until(lambda: c.bound("small") == 16, SOON_S, "small pods run")
        equal(c.metric("muster_backfill_reservations_total"), 0)
        # The same gang of 16 could start once they end.
        c.client.patch("PodGroup", "big", {"spec": {"minMember": 16}})
        until(lambda: c.metric("muster_backfill_reservations_total") == 1, SOON_S, "a reservation")


if __name__ == "__main__":
    main(globals(), jobs=4)
