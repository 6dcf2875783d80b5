# SPDX-License-Identifier: Apache-2.0
"""The lease is deleted, edited, garbage, and forbidden."""
import time

from lib import kube
from lib.harness import check, until

from .catalog import MOMENTS
from .frame import at
from .server import LEASE_TIMES, place_of_the_lease

LEASE = ("Lease", "muster", "muster-system")


def spec(t):
    return t.client.get(*LEASE)["spec"]


def edit(t, **values):
    """By hand: whatever the version is."""
    t.client.patch("Lease", "muster", {"spec": values}, "muster-system")


@at(*MOMENTS, muster=LEASE_TIMES, prepare=place_of_the_lease)
def fault_35_the_lease_is_deleted(t):
    """three times within 3 s: the holder creates it again and continues"""
    holder = spec(t)["holderIdentity"]
    with t.moment_of("gang"):
        for _ in range(3):
            with kube.may_be_gone():
                t.client.delete(*LEASE)
            time.sleep(1)
    t.settles()
    until(lambda: t.client.list("Lease", "muster-system"), 10, "the lease again")
    check(spec(t)["holderIdentity"].split("_")[0] == holder.split("_")[0], "another holder:", spec(t))


@at(*MOMENTS, muster=LEASE_TIMES, prepare=place_of_the_lease)
def fault_35_the_lease_is_given_away(t):
    """another holder is written into it: lost at once; acquired again when that holder does not renew it"""
    before = spec(t)
    with t.moment_of("gang"):
        edit(t, holderIdentity="nobody", leaseTransitions=before["leaseTransitions"] + 1)
        time.sleep(2)
        late = t.c.stats()["binds"]
        time.sleep(1)
        check(t.c.stats()["binds"] == late, "it bound without the lease")
    t.settles(within_s=60)
    until(lambda: spec(t)["holderIdentity"] not in ("", "nobody"), 20, "elected again")
    after = spec(t)
    check(after["leaseTransitions"] >= before["leaseTransitions"] + 2, "transitions", after)


@at("idle", "mid-bind", muster=LEASE_TIMES, prepare=place_of_the_lease, why="a plan does not depend on the lease")
def fault_35_the_lease_is_garbage(t):
    """no holder, no duration, the largest number of transitions, then an invalid time"""
    with t.moment_of("gang"):
        edit(t, holderIdentity=None, leaseDurationSeconds=None, renewTime=None, acquireTime=None, leaseTransitions=2147483647)
        time.sleep(2)
        edit(t, renewTime="9999-12-31T23:59:59.999999Z", leaseDurationSeconds=1)
        time.sleep(2)
    t.settles(within_s=60)
    check(spec(t)["holderIdentity"], "nobody holds it")


@at(*MOMENTS, muster=LEASE_TIMES, prepare=place_of_the_lease)
def fault_25_no_lease(t):
    """403 for the lease, for less than its 4 s and then for 7 s: kept, then lost; no Binding without the lease"""
    def forbidden(call):
        call.status(403, f'leases.coordination.k8s.io "{call.name}" is forbidden: User "muster" cannot do that')

    rule = t.proxy.rule(lambda call: call.resource == "leases", forbidden)
    time.sleep(1.5)
    t.proxy.remove(rule)
    check(t.c.metric("muster_leading") == 1, "the lease was lost within 1.5 s")
    with t.moment_of("gang"):
        rule = t.proxy.rule(lambda call: call.resource == "leases", forbidden)
        time.sleep(5)
        late = t.c.stats()["binds"]
        time.sleep(2)
        check(t.c.stats()["binds"] == late, "it bound without the lease")
        check(0 < rule.hits <= 40, f"{rule.hits} requests for the lease in 7 s")
        t.proxy.remove(rule)
    t.settles(within_s=60)
    t.log_has("403")
