# SPDX-License-Identifier: Apache-2.0
"""The journal of intents: a Binding that the network keeps back until both daemons are dead, or until another instance
leads, finds its capacity still reserved; and what becomes of a journal that can't be written or read."""
import os
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import kube, load, muster, objects  # noqa: E402
from lib.cluster import Cluster  # noqa: E402
from lib.harness import becomes, check, equal, figure, main, until  # noqa: E402
from lib.instances import ELECTED, Pair  # noqa: E402
from lib.objects import pod_group  # noqa: E402
from lib.proxy import Proxy, is_binding  # noqa: E402

JOURNAL = ("ConfigMap", "muster-journal", "muster-system")
LATE_S = 7


def condition(c, name):
    pod = c.client.get("Pod", name)
    return next((x.get("message", "") for x in pod.get("status", {}).get("conditions", [])
                 if x["type"] == "PodScheduled" and x["status"] == "False"), "")


def used(c, node="n1"):
    """Cores of the pods on the node."""
    return sum(int(p["spec"]["containers"][0]["resources"]["requests"]["cpu"]) for p in c.pods()
               if p["spec"].get("nodeName") == node)


def keep_back(proxy, name, seconds=LATE_S):
    """The first Binding of the pod arrives after that time; its connection stays open.  A list with the time when it
    was sent."""
    sent = []

    def act(call):
        sent.append(time.monotonic())
        call.forward_later(seconds)
        time.sleep(seconds + 30)

    proxy.rule(lambda call: is_binding(call) and call.name == name, act, 1)
    return sent


def full_node(c):
    """The node is full, and p1 waits; its condition has the text that it will have afterwards as well."""
    c.create({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000},
             objects.pod("filler", cpu="4"))
    until(lambda: used(c) == 4, 10, "the filler")
    c.create(objects.pod("p1", cpu="4"))
    until(lambda: condition(c, "p1"), 10, "p1's reason")


def check_late(c, sent):
    """Until the late Binding has arrived and all is at rest: the node has no more than it can take."""
    worst = 0
    while time.monotonic() < sent[0] + LATE_S + 3:
        worst = max(worst, used(c))
        time.sleep(0.1)
    becomes(lambda: c.bound("p"), 1, "one of the two pods fits")
    worst = max(worst, used(c))
    check(worst <= 4, f"{worst} of 4 cpu on the node")


def test_a_binding_lands_after_both_daemons_died():
    with Cluster(objects.node("n1", cpu="4")) as c, Proxy(c.kubeconfig, c.folder) as proxy:
        one = Pair(c, 1, proxy.kubeconfig).ready()
        full_node(c)
        sent = keep_back(proxy, "p1")
        c.delete("Pod", "filler")
        until(lambda: sent, 10, "p1's Binding")
        one.kill()
        c.create(objects.pod("p2", cpu="4", priorityClassName="high"))
        Pair(c, 2, proxy.kubeconfig).ready()
        check_late(c, sent)


def test_a_binding_lands_after_another_instance_took_the_lease():
    """Nothing dies: the leader's frontend stands still."""
    with Cluster(objects.node("n1", cpu="4")) as c, Proxy(c.kubeconfig, c.folder) as proxy:
        c.create(kube.namespace("muster-system"))
        one = Pair(c, 1, proxy.kubeconfig, *ELECTED)
        until(one.leads, 20, "a leader")
        two = Pair(c, 2, proxy.kubeconfig, *ELECTED)
        one.ready()
        two.ready()
        full_node(c)
        sent = keep_back(proxy, "p1", LATE_S + 2)
        c.delete("Pod", "filler")
        until(lambda: sent, 10, "p1's Binding")
        os.kill(one.frontend.pid, signal.SIGSTOP)
        c.create(objects.pod("p2", cpu="4", priorityClassName="high"))
        until(two.leads, 20, "the other leads")
        sent[0] += 2
        check_late(c, sent)
        os.kill(one.frontend.pid, signal.SIGCONT)
        until(lambda: not one.frontend.running(), 10, "the first one ends")


def test_an_old_leader_ends_at_its_next_write():
    """Without an election two instances are a mistake: the first one's journal is taken, and it ends."""
    with Cluster(objects.node("n1", cpu="16")) as c, Proxy(c.kubeconfig, c.folder) as proxy:
        one = Pair(c, 1, proxy.kubeconfig).ready()
        two = Pair(c, 2, proxy.kubeconfig).ready()
        c.create(objects.pod("a"))
        until(lambda: c.bound("a") == 1, 10, "a is bound")
        until(lambda: not one.frontend.running(), 10, "the first one ends")
        check("was taken by" in one.frontend.log(), one.frontend.log()[-1000:])
        check(two.frontend.running(), "the second one ended as well")


def test_a_journal_that_cannot_be_written_keeps_pods_waiting():
    with Cluster(objects.node("n1", cpu="16")) as c, Proxy(c.kubeconfig, c.folder) as proxy:
        one = Pair(c, 1, proxy.kubeconfig).ready()
        no = proxy.rule(lambda call: call.resource == "configmaps" and call.name == "muster-journal",
                        lambda call: call.status(403, "configmaps is forbidden", "Forbidden"))
        c.create(objects.pod("a"))
        until(lambda: "muster-system/muster-journal" in one.fetch("/readyz")[1], 10, lambda: one.fetch("/readyz"))
        check(one.fetch("/readyz")[0] != 200, "ready")
        time.sleep(1)
        equal(c.bound("a"), 0, "bound without a journal")
        equal(one.metric("muster_journal_writable"), 0)
        proxy.remove(no)
        until(lambda: c.bound("a") == 1, 15, "a is bound")
        until(lambda: one.fetch("/readyz")[0] == 200, 10, "ready again")


def test_a_journal_that_cannot_be_read_fences_all_that_waits():
    with Cluster(objects.node("n1", cpu="4")) as c, Proxy(c.kubeconfig, c.folder) as proxy:
        one = Pair(c, 1, proxy.kubeconfig).ready()
        full_node(c)
        one.kill()
        before = c.client.get("Pod", "p1")["metadata"]["resourceVersion"]
        c.client.patch("ConfigMap", "muster-journal", {"data": {"intents": "bind what\n"}}, "muster-system")
        two = Pair(c, 2, proxy.kubeconfig).ready()
        until(lambda: "muster-system/muster-journal is not a journal: data.intents line 1" in two.frontend.log(), 10, two.frontend.log)
        becomes(lambda: two.metric("muster_takeover_pods_fenced_total"), 1, "fenced")
        until(lambda: c.client.get("Pod", "p1")["metadata"]["resourceVersion"] != before, 10, "p1 was not fenced")
        until(lambda: c.client.get(*JOURNAL)["data"]["fence"] == "", 10, "the journal is whole again")


def test_a_journal_at_rest_is_empty():
    with Cluster(objects.node("n1", cpu="16")) as c, Proxy(c.kubeconfig, c.folder) as proxy:
        Pair(c, 1, proxy.kubeconfig).ready()
        c.create(pod_group("g", 4), *(objects.pod(f"g-{i}", group="g") for i in range(4)))
        until(lambda: c.bound("g") == 4, 10, "g is bound")
        until(lambda: c.client.get(*JOURNAL)["data"]["intents"] == "", 10, "an empty journal")
        check(int(c.client.get(*JOURNAL)["data"]["epoch"]) == 1, c.client.get(*JOURNAL))


def test_what_it_costs():
    """Writes of the journal at the full rate, and what a lone pod waits for it, with and without."""
    waits, share = {}, 0
    for mode in ("on", "off"):
        with Cluster(*(objects.node(f"n{i}", cpu="16") for i in range(80)), apisim=("--latency-ms", 1)) as c:
            c.up(*(() if mode == "on" else ("--journal", "off")))
            lone = []
            for i in range(20):
                becomes(lambda: c.metric("muster_bind_posts_total"), i, "a Binding more than once")
                c.create(objects.pod(f"lone-{i}"))
                begun = time.monotonic()
                until(lambda: c.bound(f"lone-{i}") == 1, 10, "a lone pod", every_s=0)
                lone.append(time.monotonic() - begun)
            waits[mode] = sorted(lone)[len(lone) // 2]
            before = c.metric("muster_journal_writes_total")
            if mode == "on":
                figure(f"a lone pod's intent is durable after "
                       f"{c.metric('muster_journal_wait_seconds_total') / 20 * 1e3:.2f} ms in the mean")
            made = [objects.pod(f"full-{i}") for i in range(1000)]
            pid = c.daemons()["muster-frontend"]
            os.kill(pid, signal.SIGSTOP)  # so that all of them are there at once
            load.Sender(c.client, made).join()
            os.kill(pid, signal.SIGCONT)
            until(lambda: c.bound("full") == len(made), 120, "all are bound")
            if mode == "on":
                share = (c.metric("muster_journal_writes_total") - before) / len(made)
    figure(f"a lone pod is bound after {waits['on'] * 1e3:.1f} ms with the journal, {waits['off'] * 1e3:.1f} ms without; "
           f"at the full rate {share:.1%} writes of the journal for each Binding")


if __name__ == "__main__":
    main(globals())
