# SPDX-License-Identifier: Apache-2.0
"""Several instances, one lease: one acts, another takes over, and two never act at once."""
import os
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import load, objects  # noqa: E402
from lib.cluster import Cluster, run  # noqa: E402
from lib.harness import check, equal, main, steady, until  # noqa: E402
from lib.instances import Instance, started  # noqa: E402
from lib.kube import namespace, typed  # noqa: E402
from lib.objects import pod_group  # noqa: E402

LONG_TIMES = ("--leader-elect-lease-duration", "90s", "--leader-elect-renew-deadline", "60", "--leader-elect-retry-period", "1")
LEASE = ("Lease", "muster", "muster-system")
# A released one: nobody waits until it is over, as for an object that is not there.
FREE = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "muster", "namespace": "muster-system"},
        "spec": {"holderIdentity": "", "leaseDurationSeconds": 1}}


def lease(c):
    return c.client.get(*LEASE)["spec"]


def gang(c, name, n=3):
    c.create(pod_group(name, n), *(objects.pod(f"{name}-{i}", group=name) for i in range(n)))


def test_one_acts_and_the_next_takes_over_when_it_is_killed():
    with Cluster(*(objects.node(f"n{i}") for i in range(4)), judged=True) as c:
        one, two = started(c)
        gang(c, "a")
        until(lambda: c.bound("a") == 3, 10, "a bound")
        equal(two.leads(c), False)
        equal(lease(c)["leaseTransitions"], 0)
        one.frontend.kill()
        since = time.monotonic()
        gang(c, "b")
        until(lambda: c.bound("b") == 3, 20, "b bound")
        took = time.monotonic() - since
        check(took >= 1, "taken over after", took)
        equal(lease(c)["leaseTransitions"], 1)
        check(not c.wrongs(), c.wrongs())


def test_a_clean_stop_hands_over_at_once():
    with Cluster(objects.node("n0"), namespace("muster-system"), FREE) as c:
        one = Instance(c, 0, LONG_TIMES)
        until(lambda: one.leads(c), 20, "a leader")
        two = Instance(c, 1, LONG_TIMES)
        two.ready(c)
        equal(one.frontend.stop(), 0)
        equal(lease(c)["holderIdentity"], "")
        since = time.monotonic()
        until(lambda: two.leads(c), 10, "the other leads")
        check(time.monotonic() - since < 80, "it waited for the lease to run out")
        gang(c, "a")
        until(lambda: c.bound("a") == 3, 10, "a bound")


def test_one_that_was_stopped_ends_and_writes_nothing():
    """SIGSTOP in the middle of the work, for longer than the lease; the other one acts, and the first one, when it
    continues, sends no request after its deadline."""
    with Cluster(*(objects.node(f"n{i}", cpu="64") for i in range(10)), judged=True) as c:
        one, two = started(c)
        for g in range(20):
            gang(c, f"a{g:02}")
        until(lambda: c.bound("a") > 0, 10, "some bound")
        os.kill(one.frontend.pid, signal.SIGSTOP)
        until(lambda: two.leads(c), 20, "the other leads")
        until(lambda: c.bound("a") == 60, 20, "all bound")
        gang(c, "b")
        until(lambda: c.bound("b") == 3, 10, "b bound")
        before = c.stats()
        os.kill(one.frontend.pid, signal.SIGCONT)
        until(lambda: not one.frontend.running(), 10, "the first one ends")
        equal(one.frontend.child.wait(), 1)
        check("the lease is lost" in one.frontend.log() or "was not renewed in time" in one.frontend.log())
        after = c.stats()
        equal(after["binds"], before["binds"], "bindings of the one that was stopped")
        check(not c.wrongs(), c.wrongs())


def test_one_that_is_cut_off_stops_by_its_own_clock():
    with Cluster(objects.node("n0")) as c:
        one, = started(c, 1)
        os.kill(c.apisim.pid, signal.SIGSTOP)
        since = time.monotonic()
        until(lambda: not one.frontend.running(), 15, "it ends")
        took = time.monotonic() - since
        os.kill(c.apisim.pid, signal.SIGCONT)
        check(took >= 0.5, "it ended after", took)  # of 3 s, since a renewal that may have been slow


def test_two_that_want_it_at_the_same_time():
    with Cluster(objects.node("n0")) as c:
        c.create(namespace("muster-system"))
        both = [Instance(c, i) for i in range(2)]
        for i in both:
            i.ready(c)
        until(lambda: any(i.leads(c) for i in both), 10, "a leader")
        steady(lambda: sum(i.leads(c) for i in both) == 1, 3, "one leader")
        # The object is deleted: the holder creates it again.
        c.client.delete(*LEASE)
        until(lambda: c.client.list("Lease", "muster-system"), 10, "the lease again")
        steady(lambda: sum(i.leads(c) for i in both) == 1, 3, "one leader")


def test_a_server_put_back_costs_no_lease():
    """The instance starts over, and its next life has not to wait until the lease of the last one is over."""
    with Cluster(objects.node("n0"), namespace("muster-system"), FREE, apisim=["--token", "same"]) as c:
        one = Instance(c, 0, LONG_TIMES)
        until(lambda: one.leads(c), 20, "it leads")
        backup = os.path.join(c.folder, "backup.json")
        load.save(backup, [typed(kind, o) for kind in ("Node", "Namespace", "Lease") for o in c.client.list(kind)])
        gang(c, "a")
        until(lambda: c.bound("a") == 3, 10, "a bound")
        c.apisim.kill()
        c.restart_apisim("--load", backup)
        until(lambda: "starting over with nothing known" in one.frontend.log(), 20, "it starts over")
        gang(c, "b", 1)
        until(lambda: c.bound("b") == 1, 20, "b bound by the next life")


def test_a_leader_without_a_core_hands_over():
    """Its frontend is alive and could renew the lease for ever."""
    with Cluster(objects.node("n0")) as c:
        one, two = started(c)
        one.core.kill()
        gang(c, "a")
        until(lambda: c.bound("a") == 3, 30, "bound by the other")
        until(lambda: "no muster-core for 8 s" in one.frontend.log(), 10, one.frontend.log)
        check(one.frontend.running(), "its frontend ended")
        equal(two.leads(c), True)


def test_times_that_leave_no_room():
    code, _, err = run("muster-frontend", "--leader-elect", "--leader-elect-renew-deadline", "15")
    equal((code, "the lease duration must be longer than the renew deadline (15, 15 and 2 seconds)" in err), (2, True), err)


if __name__ == "__main__":
    main(globals(), jobs=6)
