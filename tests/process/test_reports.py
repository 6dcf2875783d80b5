# SPDX-License-Identifier: Apache-2.0
"""What is reported of pods and groups converges: after an outage of rights, and when what changes within 10 s of an
event is the last change."""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import objects  # noqa: E402
from lib.cluster import Cluster  # noqa: E402
from lib.harness import check, equal, main, until  # noqa: E402
from lib.objects import node, pod_group  # noqa: E402
from lib.proxy import Proxy  # noqa: E402

GIVEN_UP_S = 10  # by then a refused report was retried four times


def events(c, reason, about):
    return [e for e in c.client.list("Event") if e["reason"] == reason and e["regarding"]["name"] == about]


def scheduled(c):
    return [e["regarding"]["name"] for e in c.client.list("Event") if e["reason"] == "Scheduled"]


def is_report(call):
    return call.resource == "events" or (call.resource == "podgroups" and call.sub == "status")


def test_a_placed_gang_is_reported_after_an_outage_of_rights():
    with Cluster(node("n1")) as c, Proxy(c.kubeconfig, c.folder) as proxy:
        c.kubeconfig = proxy.kubeconfig
        rule = proxy.rule(is_report, lambda call: call.status(403, f"{call.resource} is forbidden"))
        c.up()
        c.create(pod_group("g", 2), *(objects.pod(f"g-{i}", group="g") for i in range(2)))
        until(lambda: c.bound("g-") == 2, 20, "bound")
        time.sleep(GIVEN_UP_S)
        check(rule.hits > 0, "nothing was refused")
        equal((c.client.get("PodGroup", "g").get("status") or {}, events(c, "Scheduled", "g-0")), ({}, []), "reports")
        proxy.remove(rule)
        # Of all that were refused one asks in the next sweep, the others in the one after it.
        until(lambda: (c.client.get("PodGroup", "g").get("status") or {}).get("phase") in ("Scheduled", "Running"), 90, "phase")
        for about, reason in (("g-0", "Scheduled"), ("g-1", "Scheduled"), ("g", "GangPlaced")):
            until(lambda: len(events(c, reason, about)) == 1, 90, f"{reason} of {about}")  # noqa: B023
        equal(c.metric("muster_report_dropped_total"), 0, "dropped")
        check(c.metric("muster_report_deferred_total") > 0, "nothing was deferred")


def test_the_event_of_a_pod_follows_its_reason():
    """kubectl describe pod shows events alone, and the cluster does not change any more."""
    with Cluster(node("n1", cpu="1")) as c:
        c.up()
        c.create(pod_group("g", 3), objects.pod("g-0", group="g"))
        until(lambda: events(c, "FailedScheduling", "g-0"), 20, "the first event")
        check("current pods number: 1" in events(c, "FailedScheduling", "g-0")[0]["note"], events(c, "FailedScheduling", "g-0"))
        c.create(*(objects.pod(f"g-{i}", group="g") for i in (1, 2)))
        until(lambda: any("Insufficient cpu" in e["note"] for e in events(c, "FailedScheduling", "g-0")), 30, "the reason of now")


def test_events_of_bindings_do_not_wait_for_the_rate_of_reports():
    """At one report a second these would take five minutes.  A server that throttles some gets them later, each once."""
    n = 300
    with Cluster(*(node(f"n{i}", cpu="64") for i in range(4))) as c, Proxy(c.kubeconfig, c.folder) as proxy:
        c.kubeconfig = proxy.kubeconfig
        rule = proxy.rule(lambda call: call.resource == "events" and call.method == "POST",
                          lambda call: call.status(429, "slower", headers={"Retry-After": "1"}), count=5)
        c.up("--report-qps", 1)
        c.create(*(objects.pod(f"p-{i}", cpu="100m", memory="64Mi") for i in range(n)))
        until(lambda: len(scheduled(c)) >= n, 120, "all events")
        equal((len(scheduled(c)), len(set(scheduled(c))), rule.hits), (n, n, 5), "events, of pods, refused")
        equal(c.metric("muster_report_dropped_total"), 0, "dropped")


if __name__ == "__main__":
    main(globals())
