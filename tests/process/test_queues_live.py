#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Queues in the running daemons: the scenarios QUE-1 to QUE-19 on apisim, each through records, conditions, `musterctl
queues` and what is bound.  Ten nodes with 8 GPUs; gangs are lone pods unless said."""
import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import load, objects  # noqa: E402
from lib.check import condition  # noqa: E402
from lib.cluster import Cluster  # noqa: E402
from lib.harness import becomes, check, equal, eventually, main, steady, until  # noqa: E402
from lib.instances import ELECTED, Pair  # noqa: E402
from lib.proxy import Proxy  # noqa: E402

GPU = "nvidia.com/gpu"
SOON_S = 40.0
CRDS = {"volcano": "scheduling.volcano.sh/v1beta1/queues/Queue",
        "koordinator": "scheduling.sigs.k8s.io/v1alpha1/elasticquotas/ElasticQuota",
        "kai": "scheduling.run.ai/v2/queues/Queue"}


def nodes(n=10, gpu=8, **rest):
    return [objects.node(f"n{i:02}", cpu="100", memory="100Gi", pods="500", gpu=str(gpu), **rest) for i in range(n)]


def config(text):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "muster-queues", "namespace": "muster-system"},
            "data": {"queues.yaml": text}}


def pods(queue, n, gpu, first=0, prefix=None, asks=None, **rest):
    return [objects.pod(f"{prefix or queue}-{i:02}", cpu="0", memory="0", requests=asks or {GPU: str(gpu)},
                        labels={"muster.dev/queue": queue}, **rest) for i in range(first, first + n)]


class Queues(Cluster):
    """With the queues of a ConfigMap."""

    def __init__(self, text, *made, flags=(), core=(), apisim=()):
        system = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "muster-system"}}
        super().__init__(*nodes(), system, *([config(text)] if text is not None else []), *made, apisim=apisim)
        self.queue_flags, self.core_args = flags or ("--queues", "config"), core

    def __enter__(self):
        super().__enter__()
        self.pair(core=self.core_args, frontend=self.queue_flags)
        return self

    def queue(self, name):
        rows = {q["queue"].split("/")[-1]: q for q in self.ask_json("queues")[1]["queues"]}
        return rows.get(name, {})

    def edit(self, text):
        self.client.patch("ConfigMap", "muster-queues", {"data": {"queues.yaml": text}}, namespace="muster-system")


def says(c, name, text):
    said = {}

    def has():
        said.update(condition(c.client.get("Pod", name)) or {})
        return said.get("message", "") == text

    try:
        until(has, SOON_S)
    except AssertionError:
        check(False, f"condition of {name}: wanted {text!r}, has {said.get('message')!r}")


def settles(c, prefix, n):
    becomes(lambda: c.bound(prefix), n, f"bound of {prefix}", SOON_S)
    steady(lambda: c.bound(prefix) == n, 0.5, f"{n} of {prefix} bound")


def used(c, queue, n):
    until(lambda: c.queue(queue).get("used", {}).get(GPU, 0) == n, SOON_S, lambda: f"{queue} uses {n}: {c.queue(queue)}")


def ended(c, *names):
    for name in names:
        c.delete("Pod", name)


def test_explain_has_the_positions_of_gangs():
    """Also of a gang that its queue refuses, and of the one behind it; a gang that runs is before none of them."""
    with Queues("- {name: a, limit: {nvidia.com/gpu: 16}}\n- {name: b}\n") as c:
        for name, gpu, rest in (("runs", 8, {"labels": {"muster.dev/queue": "a"}}), ("limited", 8, {"labels": {"muster.dev/queue": "a"}}),
                                ("much", 9, {"labels": {"muster.dev/queue": "b"}})):
            group, made = objects.gang(name, 2, cpu="0", memory="0", requests={GPU: str(gpu)}, **rest)
            c.create(group, *made)
            until(lambda: len(c.ask_json("gangs", f"default/{name}")[1]["gangs"]) == 1, SOON_S, name)
        settles(c, "runs", 2)
        c.create(objects.pod("runs-more", cpu="0", memory="0", requests={GPU: "9"}, group="runs"))

        def positions():
            return {g["gang"]: g["position"] for g in c.ask_json("gangs")[1]["gangs"]}

        becomes(positions, {"default/runs": None, "default/limited": 1, "default/much": 2}, "positions", SOON_S)
        for name, position in positions().items():
            told = c.ask_json("explain", name)[1]
            equal((told.get("position"), told.get("before")), (position, ["default/limited"][:position - 1] if position else None), name)
        check("\nPosition in the queue: 1." in c.ask("explain", "default/limited")[1], c.ask("explain", "default/limited"))


def test_que_1_a_limit():
    with Queues("- {name: a, limit: {nvidia.com/gpu: 16}}\n") as c:
        c.create(*pods("a", 5, 4))
        settles(c, "a", 4)
        says(c, "a-04", f"queue a is at its limit: {GPU} need 4, have 0")

        def told():
            a = c.queue("a")
            equal(a["blocked"], {"by": "limit", "at": "root/a", "resource": GPU, "unit": "count", "need": 4, "have": 0})
            equal((a["first"], a["source"], a["state"], a["limit"], a["asked"][GPU]),
                  ("default/a-04", "config", "Open", {GPU: 16}, 20))

        eventually(told)
        ended(c, "a-00")
        settles(c, "a-04", 1)
        used(c, "a", 16)
        until(lambda: c.metrics().get(f'muster_queue_used{{queue="a",resource="{GPU}"}}') == 16, SOON_S, "metrics")
        becomes(lambda: c.metrics()['muster_queue_gangs{queue="a",state="placed"}'], 4, "gangs placed")


def test_a_queue_that_allows_run_times():
    """Who states more waits, and starts when it states less, or the queue allows more; explain and queues have the numbers."""
    def file(seconds):
        return f"- {{name: a, maxRunSeconds: {seconds}}}\n"

    def stating(seconds, n, first=0):
        made = pods("a", n, 8, first=first)
        for pod in made:
            pod["metadata"]["annotations"] = {"muster.dev/run-seconds": str(seconds)}
        return made

    with Queues(file(60)) as c:
        c.create(*stating(61, 3), *stating(60, 1, first=3))
        settles(c, "a-03", 1)
        says(c, "a-00", "queue a allows a run time of 60 s at most (maxRunSeconds), 61 s are stated")
        eventually(lambda: equal((c.queue("a")["blocked"], c.queue("a")["max_run_s"]), ({"by": "run", "at": "root/a", "need_s": 61, "have_s": 60}, 60)))
        c.client.patch("Pod", "a-01", {"metadata": {"annotations": {"muster.dev/run-seconds": "59"}}})
        settles(c, "a-01", 1)
        settles(c, "a", 2)
        c.edit(file(61))
        settles(c, "a", 4)


def test_a_run_time_that_a_file_states():
    """explain --what-if -f: of a gang and of a lone pod that nobody has created; a deadline counts before an annotation."""
    def stating(pod, seconds, deadline=None):
        pod["metadata"]["annotations"] = {"muster.dev/run-seconds": str(seconds)}
        if deadline:
            pod["spec"]["activeDeadlineSeconds"] = deadline
        return pod

    with Queues("- {name: a, maxRunSeconds: 60}\n") as c:
        def answer(*made):
            of = os.path.join(c.folder, "made.json")
            load.save(of, list(made))
            code, out, err = c.ask("explain", "--what-if", "-f", of, "--listen", c.listen, "-o", "json")
            got = json.loads(out) if out else {}
            return code, got.get("answer"), got.get("reason"), err

        def gang(seconds, deadline=None):
            members = [stating(p, seconds, deadline) for p in pods("a", 2, 1, group="g")]
            return [objects.pod_group("g", 2), *members]

        eventually(lambda: equal(answer(*gang(60))[:2], (0, "starts")))
        for made, seconds in ((gang(61), 61), (gang(50, deadline=70), 70), ([stating(p, 62) for p in pods("a", 1, 1)], 62)):
            got = answer(*made)
            equal(got[:2], (1, "waits"), got)
            check(f"queue a allows a run time of 60 s at most (maxRunSeconds), {seconds} s are stated" in got[2], got)
        for made in (gang(70, deadline=60), [stating(p, 60) for p in pods("a", 1, 1)]):
            equal(answer(*made)[:2], (0, "starts"))


def test_unshared_resources():
    """Of 80 GPUs each queue takes half if the memory, of which a takes more, does not count."""
    asks = {"a": {GPU: "1", "memory": "19200Mi"}, "b": {GPU: "1"}}
    for names, runs in (((), (32, 48)), (("memory", "example.com/none"), (40, 40))):
        flags = ("--queues", "config", *(f"--unshared-resource={name}" for name in names))
        with Queues("- name: a\n- name: b\n", *(p for q in "ab" for p in pods(q, 80, 1, asks=asks[q])), flags=flags) as c:
            settles(c, "a", runs[0])
            settles(c, "b", runs[1])


def test_que_2_later_ones_go_around_or_wait():
    for order in ("skip", "fifo"):
        with Queues(f"- {{name: a, order: {order}, limit: {{nvidia.com/gpu: 16}}}}\n", *pods("a", 3, 4)) as c:
            settles(c, "a", 3)
            c.create(*pods("a", 1, 8, first=3))
            says(c, "a-03", f"queue a is at its limit: {GPU} need 8, have 4")
            c.create(*pods("a", 1, 4, first=4))
            if order == "skip":
                settles(c, "a", 4)
            else:
                says(c, "a-04", "waits behind default/a-03 in queue a (fifo)")
                settles(c, "a", 3)
                ended(c, "a-03")
                settles(c, "a", 4)


def test_que_3_a_reserved_part_is_kept():
    text = "- {name: a, reserved: {nvidia.com/gpu: 32}, guarantee: {nvidia.com/gpu: 32}}\n- name: b\n"
    with Queues(text, *pods("b", 10, 8)) as c:
        settles(c, "b", 6)
        says(c, "b-06", f"room is kept for the guarantees of others: {GPU} need 8, have 0")
        c.create(*pods("a", 4, 8))
        settles(c, "a", 4)


def test_que_4_a_guarantee_is_lent_and_takes_the_first_room():
    with Queues("- {name: a, guarantee: {nvidia.com/gpu: 32}}\n- name: b\n", *pods("b", 11, 8)) as c:
        settles(c, "b", 10)
        c.create(*pods("a", 4, 8))
        becomes(lambda: c.queue("a").get("waiting"), 4, "of a that wait")
        settles(c, "a", 0)
        bound = [p["metadata"]["name"] for p in c.pods("b") if p["spec"].get("nodeName")]
        ended(c, *bound[:4])
        settles(c, "a", 4)
        equal(c.bound("b"), 6)


def test_que_5_and_6_shares_by_weight():
    for weight, expected in ((1, (5, 5)), (3, (7, 3))):
        with Queues(f"- {{name: a, weight: {weight}}}\n- name: b\n", *pods("a", 10, 8), *pods("b", 10, 8)) as c:
            settles(c, "", 10)
            equal((c.bound("a"), c.bound("b")), expected)


def test_que_7_a_tree():
    text = "- name: eng\n- {name: a, parent: eng}\n- {name: b, parent: eng}\n- name: ops\n- {name: c, parent: ops}\n"
    with Queues(text, *[p for q in "abc" for p in pods(q, 20, 4)]) as c:
        settles(c, "", 20)
        equal([c.bound(q) for q in "abc"], [5, 5, 10])
        used(c, "eng", 40)
        equal([q["queue"] for q in c.ask_json("queues")[1]["queues"]],
              ["root", "root/eng", "root/eng/a", "root/eng/b", "root/ops", "root/ops/c"])


def test_que_8_gpus_of_one_child_dont_starve_its_sibling():
    text = "- name: eng\n- {name: a, parent: eng}\n- {name: b, parent: eng}\n- name: ops\n- {name: c, parent: ops}\n"
    with Queues(text, *pods("b", 10, 8), *[p for q in "ac" for p in pods(q, 20, 0, asks={"cpu": "50"})]) as c:
        settles(c, "", 30)
        equal((c.bound("a"), c.bound("c")), (10, 10))


def test_que_9_nothing_idles():
    with Queues("- name: a\n- name: b\n", *pods("a", 1, 8), *pods("b", 10, 8)) as c:
        settles(c, "", 10)
        equal((c.bound("a"), c.bound("b")), (1, 9))


def test_que_10_guarantees_are_scaled():
    with Queues("- {name: a, guarantee: {nvidia.com/gpu: 60}}\n- {name: b, guarantee: {nvidia.com/gpu: 60}}\n") as c:
        becomes(lambda: c.queue("b").get("guarantee"), {GPU: 40}, "b", SOON_S)
        becomes(lambda: (c.queue("a")["guarantee"], c.queue("a")["scaled"]), ({GPU: 40}, True), "a", SOON_S)
        check("(scaled)" in c.ask("queues")[1], c.ask("queues"))


def test_que_11_a_limit_is_lowered():
    with Queues("- {name: a, limit: {nvidia.com/gpu: 32}}\n", *pods("a", 3, 8)) as c:
        settles(c, "a", 3)
        used(c, "a", 24)
        c.edit("- {name: a, limit: {nvidia.com/gpu: 8}}\n")
        becomes(lambda: c.queue("a")["limit"], {GPU: 8}, "the edit", SOON_S)
        c.create(*pods("a", 1, 4, first=3))
        says(c, "a-03", f"queue a is at its limit: {GPU} need 4, have 0")
        equal(c.bound("a"), 3)
        ended(c, "a-00", "a-01")
        settles(c, "a", 1)
        ended(c, "a-02")
        settles(c, "a-03", 1)


def test_que_12_a_queue_is_deleted_and_made_again():
    with Queues("- {name: a, limit: {nvidia.com/gpu: 16}}\n- name: b\n", *pods("a", 3, 8)) as c:
        settles(c, "a", 2)
        c.edit("- name: b\n")
        says(c, "a-02", "queue a does not exist")
        becomes(lambda: c.queue("a"), {}, "a")
        used(c, "root", 16)
        c.edit("- {name: a, limit: {nvidia.com/gpu: 16}}\n- name: b\n")
        says(c, "a-02", f"queue a is at its limit: {GPU} need 8, have 0")
        used(c, "a", 16)
        ended(c, "a-00")
        settles(c, "a-02", 1)


def volcano(name, state="Open", parent=None, annotations=None, **spec):
    return {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue",
            "metadata": {"name": name, "annotations": annotations or {}},
            "spec": {"weight": 1, **({"parent": parent} if parent else {}), **spec}, "status": {"state": state}}


def marked(queue, n, gpu, key="scheduling.volcano.sh/queue-name", part="annotations", namespace="default", prefix=None):
    made = [objects.pod(f"{prefix or queue}-{i:02}", cpu="0", memory="0", requests={GPU: str(gpu)}, namespace=namespace)
            for i in range(n)]
    for p in made:
        if queue:
            p["metadata"].setdefault(part, {})[key] = queue
    return made


def test_que_13_a_volcano_queue_that_closes():
    crd = ("--crd", CRDS["volcano"])
    with Queues(None, volcano("default"), volcano("a"), flags=("--queues", "volcano"), apisim=crd) as c:
        c.client.patch("Queue.scheduling.volcano.sh", "a", {"status": {"state": "Closing"}}, sub="status")
        until(lambda: c.queue("a").get("state") == "Closing", SOON_S, "the state")
        c.create(*marked("a", 1, 8), *marked("", 1, 8, prefix="d"))
        says(c, "a-00", "queue a is closing")
        settles(c, "d", 1)
        c.client.patch("Queue.scheduling.volcano.sh", "a", {"status": {"state": "Open"}}, sub="status")
        settles(c, "a", 1)
        becomes(lambda: c.queue("a")["source"], "volcano")


def test_a_parent_that_is_missing_parks_and_a_refused_field_is_told():
    crd = ("--crd", CRDS["volcano"])
    bad = volcano("bad", annotations={"volcano.sh/hierarchy": "root/bad"})
    with Queues(None, volcano("default"), volcano("a", parent="up"), bad, flags=("--queues", "volcano"), apisim=crd) as c:
        c.create(*marked("a", 1, 8), *marked("bad", 1, 8))
        says(c, "a-00", "queue a is not below the root: a parent does not exist, or is in a cycle")
        says(c, "bad-00", "queue bad does not exist")
        becomes(lambda: c.queue("a")["state"], "Parked")
        until(lambda: "QueuesInvalid" in c.frontend.log() and "hierarchy" in c.frontend.log(), SOON_S, lambda: c.frontend.log()[-2000:])
        until(lambda: c.metric("muster_queues_refused_total") >= 1, SOON_S, "refused")
        c.create(volcano("up"))
        settles(c, "a", 1)


def quota(name, minimum=None, most=None, labels=None, annotations=None, namespace="default"):
    full = "quota.scheduling.koordinator.sh/"
    return {"apiVersion": "scheduling.sigs.k8s.io/v1alpha1", "kind": "ElasticQuota",
            "metadata": {"name": name, "namespace": namespace,
                         "labels": {full + k: v for k, v in (labels or {}).items()},
                         "annotations": {full + k: v for k, v in (annotations or {}).items()}},
            "spec": {"min": minimum or {}, "max": most or {}}}


def test_que_14_koordinator_quotas():
    made = (quota("up", {GPU: "40"}, {GPU: "80"}, labels={"is-parent": "true"}),
            quota("a", {GPU: "16"}, {GPU: "24"}, labels={"parent": "up", "allow-lent-resource": "false"},
                  annotations={"shared-weight": f'{{"{GPU}": 3}}'}),
            quota("b", {GPU: "8"}, {GPU: "80"}, labels={"parent": "up"}))
    key = "quota.scheduling.koordinator.sh/name"
    with Queues(None, *made, flags=("--queues", "koordinator"), apisim=("--crd", CRDS["koordinator"])) as c:
        becomes(lambda: (c.queue("a")["reserved"], c.queue("a")["limit"], c.queue("b")["guarantee"], c.queue("b")["queue"]),
                ({GPU: 16}, {GPU: 24}, {GPU: 8}, "root/up/b"), "a and b", SOON_S)
        c.create(*marked("b", 10, 8, key=key, part="labels"))
        settles(c, "b", 8)  # 16 are kept for a
        c.create(*marked("a", 4, 8, key=key, part="labels"), *marked("", 1, 8, prefix="d"))
        settles(c, "a", 2)
        until(lambda: c.queue("koordinator-default-quota").get("waiting") == 1, SOON_S, "the default quota")


def volcano_crd():
    """Of the scope and with the subresource that Volcano's has; --crd has namespaced ones alone."""
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "queues.scheduling.volcano.sh"},
            "spec": {"group": "scheduling.volcano.sh", "scope": "Cluster", "names": {"plural": "queues", "kind": "Queue"},
                     "versions": [{"name": "v1beta1", "served": True, "storage": True, "subresources": {"status": {}},
                                   "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]}}


def test_usage_is_written_into_volcano_queues_with_the_setting_alone():
    path = "/apis/scheduling.volcano.sh/v1beta1/queues"

    def allocated(name):
        return c.client.request("GET", f"{path}/{name}").get("status", {}).get("allocated")

    with Cluster(*nodes(), *marked("a", 2, 8)) as c:
        c.client.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", volcano_crd())
        for queue in volcano("default"), volcano("up"), volcano("a", parent="up"):
            c.client.request("POST", path, queue)
        c.client.request("PATCH", f"{path}/a/status", {"status": {"state": "Open", "allocated": {"cpu": "7", GPU: "99"}}},
                         "application/merge-patch+json")
        flags = ("--queues", "volcano")
        c.pair(frontend=flags)
        settles(c, "a", 2)
        steady(lambda: allocated("a") == {"cpu": "7", GPU: "99"}, 15, "without the setting")
        c.frontend.kill()
        flags += ("--write-queue-status",)
        c.frontend = c.start_frontend(*flags)
        becomes(lambda: (allocated("a") or {}).get(GPU), "16", "status.allocated of a", SOON_S)
        check("cpu" not in allocated("a"), "what is not used is removed", allocated("a"))
        becomes(lambda: (allocated("up") or {}).get(GPU), "16", "status.allocated of its parent", SOON_S)
        equal(c.client.request("GET", f"{path}/a")["status"]["state"], "Open", "the rest of its status")
        ended(c, "a-00")
        becomes(lambda: allocated("a").get(GPU), "8", "after one has ended", SOON_S)
        c.frontend.kill()
        ended(c, "a-01")
        c.frontend = c.start_frontend(*flags)
        becomes(lambda: GPU in allocated("a"), False, "by the next instance", SOON_S)


def test_usage_is_written_into_elastic_quotas():
    key = "quota.scheduling.koordinator.sh/name"
    with Queues(None, quota("a", {GPU: "16"}, {GPU: "24"}), *marked("a", 2, 8, key=key, part="labels"),
                flags=("--queues", "koordinator", "--write-queue-status"), apisim=("--crd", CRDS["koordinator"])) as c:
        settles(c, "a", 2)
        becomes(lambda: c.client.get("ElasticQuota", "a").get("status", {}).get("used", {}).get(GPU), "16", "status.used", SOON_S)


def test_que_14_kai_queues():
    def queue(name, **resources):
        return {"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": {"name": name},
                "spec": {"resources": resources}}

    free = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
    none = {"quota": 0, "limit": 0, "overQuotaWeight": 0}
    made = (queue("a", gpu=free, cpu=free, memory=free), queue("b", gpu=none, cpu=free, memory=free))
    key = "kai.scheduler/queue"
    with Queues(None, *made, flags=("--queues", "auto"), apisim=("--crd", CRDS["kai"], "--crd", CRDS["volcano"])) as c:
        c.create(*marked("a", 2, 8, key=key, part="labels"), *marked("b", 1, 8, key=key, part="labels"))
        settles(c, "a", 2)
        says(c, "b-00", f"can never start: queue b has a limit of 0 {GPU}, needs 8")
        becomes(lambda: c.queue("a")["source"], "kai")


def test_auto_waits_for_queues_that_are_forbidden_for_a_moment():
    """As by an API server that starts: else what waits started without the limits of its queues."""
    def kai(name, quota):
        resource = {"quota": quota, "limit": quota, "overQuotaWeight": 0}
        return {"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": {"name": name},
                "spec": {"resources": {"gpu": resource, "cpu": {**resource, "limit": -1}, "memory": {**resource, "limit": -1}}}}

    made = (*nodes(2), kai("a", 0), *marked("a", 1, 8, key="kai.scheduler/queue", part="labels"))
    with Cluster(*made, apisim=("--crd", CRDS["kai"])) as c, Proxy(c.kubeconfig, c.folder) as proxy:
        proxy.rule(lambda call: call.list and call.resource in ("queues", "elasticquotas"),
                   lambda call: call.status(403, f"{call.resource} is forbidden", "Forbidden"), count=5)
        c.core = c.start_core()
        c.frontend = c.start_frontend("--queues", "auto", kubeconfig=proxy.kubeconfig)
        c.ready(c.frontend)
        says(c, "a-00", f"can never start: queue a has a limit of 0 {GPU}, needs 8")
        equal(c.bound("a"), 0)


def test_que_15_pods_of_other_schedulers_count():
    with Queues("- {name: a, limit: {nvidia.com/gpu: 16}}\n") as c:
        other = pods("a", 1, 8, prefix="other", scheduler="default-scheduler", nodeName="n00")
        c.create(*other)
        used(c, "a", 8)
        c.create(*pods("a", 2, 8))
        settles(c, "a-", 1)
        says(c, "a-01", f"queue a is at its limit: {GPU} need 8, have 0")


RECLAIM = ("--queues", "config", "--preemption", "on", "--reclaim", "guarantee")


def gangs(queue, names, members=1, gpu=8, **rest):
    """PodGroups whose members are of the queue."""
    return [o for name in names for o in (objects.pod_group(name, members), *[
        objects.pod(f"{name}-{i}", cpu="0", memory="0", requests={GPU: str(gpu)}, group=name, labels={"muster.dev/queue": queue}, **rest)
        for i in range(members)])]


def left(c, prefix):
    return sorted(p["metadata"]["name"] for p in c.pods(prefix) if not p["metadata"].get("deletionTimestamp"))


def test_que_4_a_guarantee_takes_back_what_was_lent():
    """As few gangs as it needs, whatever their priority; what was taken isn't taken back, nor is more than the guarantee."""
    high = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 100}
    text = "- {name: a, guarantee: {nvidia.com/gpu: 32}}\n- name: b\n"
    with Queues(text, high, *gangs("b", [f"b{i}" for i in range(10)], priorityClassName="high"), flags=RECLAIM) as c:
        settles(c, "b", 10)
        c.create(*gangs("a", ["a0"], members=4))
        settles(c, "a0-", 4)
        equal(len(left(c, "b")), 6)
        used(c, "a", 32)
        c.create(*gangs("a", ["a1"]), *gangs("b", ["b-more"]))
        until(lambda: c.queue("b").get("waiting") == 1 and c.queue("a").get("waiting") == 1, SOON_S, "both wait")
        steady(lambda: (c.bound("a0-"), len(left(c, "b"))) == (4, 7), 2.5, "nobody else goes")
        becomes(lambda: c.metrics()['muster_evictions_total{mode="respect"}'], 4, "evictions")
        equal([c.metrics()[f'muster_{name}_total{{rule="guarantee"}}'] for name in ("reclaims", "reclaimed_pods")], [1, 4])
        reclaims_are_told(c)


def reclaims_are_told(c):
    """On each pod that went, and of its gang."""
    def notes():
        return {e["regarding"]["name"]: e["note"] for e in c.client.list("Event") if e["reason"] == "Reclaimed"}

    becomes(lambda: len(notes()), 4, "events", SOON_S)
    pod, note = sorted(notes().items())[0]
    check(note.startswith("Reclaimed by queue a from queue b, by guarantee: a uses 32 nvidia.com/gpu of a guarantee of 32 with gang default/a0 (") and
          "), b keeps 48 (guarantee 0); on node n0" in note and note.endswith("4 pods make room for 4 members"), note)
    gang = f"default/{pod[:-2]}"
    c.create(*[o for o in gangs("b", [pod[:-2]]) if o["kind"] == "Pod"])  # as its controller would
    until(lambda: " by queue root/a" in c.ask("explain", gang)[1], SOON_S, lambda: c.ask("explain", gang))
    equal(c.ask_json("explain", gang)[1]["reclaimed"]["by"], "root/a")


FAIR = (*RECLAIM[:-1], "fair")


def test_que_16_fair_reclaim_ends_at_the_share():
    """b has all; a gets half of it and not more, and b takes nothing back."""
    with Queues("- name: a\n- name: b\n", *gangs("b", [f"b{i}" for i in range(10)]), flags=FAIR) as c:
        settles(c, "b", 10)
        for i in range(5):  # one by one: those that wait beside each other would ask for the same victim
            c.create(*gangs("a", [f"a{i}"]))
            becomes(lambda: c.bound("a"), i + 1, "bound of a", SOON_S)
        c.create(*gangs("a", ["a5", "a6"]))
        becomes(lambda: len(c.pods("b")), 5, "what is left of b", SOON_S)
        c.create(*gangs("b", ["b-more"]))
        until(lambda: c.queue("b").get("waiting") == 1 and c.queue("a").get("waiting") == 2, SOON_S, "both wait")
        steady(lambda: (c.bound("a"), len(left(c, "b"))) == (5, 6), 2.5, "no other pod goes")
        becomes(lambda: c.metrics()['muster_evictions_total{mode="respect"}'], 5, "evictions")


def test_que_17_victims_that_end_at_different_times():
    """kueue#13662: a gang of two takes two gangs, whose room comes one after the other; what is made in the place of the first,
    and what else of b waits, doesn't start in it."""
    with Queues("- name: a\n- name: b\n", *gangs("b", [f"b{i}" for i in range(10)], terminationGracePeriodSeconds=60), flags=FAIR,
                apisim=("--grace-ms", "60000")) as c:
        settles(c, "b", 10)
        c.create(*gangs("b", ["b-more"]))
        until(lambda: c.queue("b").get("waiting") == 1, SOON_S, "it waits")
        c.create(*gangs("a", ["a0"], members=2))
        becomes(lambda: 11 - len(left(c, "b")), 2, "victims", SOON_S)
        first, second = sorted(p["metadata"]["name"] for p in c.pods("b") if p["metadata"].get("deletionTimestamp"))
        c.client.delete("Pod", first, grace_s=0)
        until(lambda: len(c.pods("b")) == 10, SOON_S, "the first has gone")
        c.create(*[o for o in gangs("b", [first[:-2]]) if o["kind"] == "Pod"])
        until(lambda: c.queue("b").get("waiting") == 2, SOON_S, "it waits again")
        equal((c.bound("a0-"), c.bound("b-more")), (0, 0))
        c.client.delete("Pod", second, grace_s=0)
        settles(c, "a0-", 2)
        equal((c.bound("b-more"), c.bound(first)), (0, 0))
        becomes(lambda: c.metrics()['muster_evictions_total{mode="respect"}'], 2, "evictions")


def test_what_has_not_run_for_its_queues_minimum_is_not_taken():
    """Of a queue with minRunSeconds nobody goes, and explain says until when; without it they do."""
    def text(seconds):
        return f"- {{name: a, guarantee: {{nvidia.com/gpu: 32}}}}\n- {{name: b, minRunSeconds: {seconds}}}\n"

    with Queues(text(3600), *gangs("b", [f"b{i}" for i in range(10)]), flags=RECLAIM) as c:
        settles(c, "b", 10)
        c.create(*gangs("a", ["a0"], members=2))
        until(lambda: c.queue("a").get("waiting") == 1, SOON_S, "it waits")
        equal((c.queue("a")["min_run_s"], c.queue("b")["min_run_s"]), (0, 3600))
        until(lambda: "10 pods of other queues would be reclaimed for it, but have not run for the minRunSeconds of their queue: the first "
              "may go at 20" in c.ask("explain", "default/a0")[1], SOON_S, lambda: c.ask("explain", "default/a0"))
        equal(c.ask_json("explain", "default/a0")[1]["preemption"]["young"]["pods"], 10)
        equal((c.bound("a0-"), len(left(c, "b"))), (0, 10))
        c.edit(text(1))
        settles(c, "a0-", 2)
        equal(len(left(c, "b")), 8)


def test_a_queue_says_how_long_its_pods_run():
    """Nothing else says when those of a end: b0 is promised a start by it, and another one when it is edited."""
    def text(seconds):
        return f"- {{name: a, runSeconds: {seconds}}}\n- name: b\n"

    def start():
        return (c.ask_json("gangs", "default/b0")[1]["gangs"] or [{}])[0].get("start") or {}

    with Queues(text(600), *pods("a", 10, 8), core=("--promise-depth", "4")) as c:
        settles(c, "a-", 10)
        c.create(*gangs("b", ["b0"]))
        first = until(lambda: start().get("at"), SOON_S, start)
        equal(start()["ends"], "soft")
        c.edit(text(6000))
        later = until(lambda: [m for m in start().get("moves", []) if m["reason"] == "EndOverrun"], SOON_S, start)
        check(later[0]["from"] == first and start()["at"] > first, start())
        c.edit("- name: a\n- name: b\n")
        until(lambda: start() == {}, SOON_S, "no end is known")


def gang(name, queue):
    """Of the whole cluster."""
    return [objects.pod_group(name, 10), *pods(queue, 10, 8, prefix=name, group=name)]


def whole(run_s=None):
    """A gang of the whole cluster in queue a."""
    return gangs("a", ["whole"], members=10, **({"activeDeadlineSeconds": run_s} if run_s else {}))


def test_que_18_a_gang_of_the_whole_cluster_holds():
    """Ends are not known: b goes on in what ends until the gang has waited long enough, then no more."""
    with Queues("- name: a\n- name: b\n", *pods("b", 10, 8), core=("--reserve-after", "3")) as c:
        settles(c, "b", 10)
        c.create(*whole())
        until(lambda: "Insufficient nvidia.com/gpu" in c.why_pending("whole-0"), SOON_S, "it waits")
        c.create(*pods("b", 20, 8, first=10))
        ended(c, "b-00")
        until(lambda: c.bound("b-") == 10, SOON_S, "b takes its room")

        def held():
            return "room is held for default/whole" in c.why_pending("b-29")

        for i in range(1, 9):
            if held():
                break
            ended(c, f"b-{i:02}")
            time.sleep(1)
        until(held, SOON_S, "its room is held")
        ran = [p["metadata"]["name"] for p in c.pods("b-") if p["spec"].get("nodeName")]
        ended(c, *ran[:-1])
        steady(lambda: c.bound("b-") == 1, 3, "nobody starts in what ends")
        ended(c, ran[-1])
        settles(c, "whole-", 10)


def test_que_18_a_gang_of_the_whole_cluster_is_promised():
    """With known ends: who would be in its way does not start, also in what ends early."""
    with Queues("- name: a\n- name: b\n", *pods("b", 10, 8, activeDeadlineSeconds=600), core=("--promise-depth", "64")) as c:
        settles(c, "b", 10)
        c.create(*whole(60))
        until(lambda: "(promised)" in c.why_pending("whole-0"), SOON_S, "it is promised a start")
        c.create(*pods("b", 10, 8, first=10, activeDeadlineSeconds=600))
        ended(c, "b-00", "b-01")
        steady(lambda: c.bound("b-") == 8 and c.bound("whole-") == 0, 3, "nothing starts")
        ended(c, *[f"b-{i:02}" for i in range(2, 10)])
        settles(c, "whole-", 10)
        equal(c.bound("b-"), 0)


LENT = "- {name: a, guarantee: {nvidia.com/gpu: 80}}\n- name: b\n- {name: c, reclaimable: false}\n"
HIGH = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 100}


def start(c, name):
    """Of the ledger: {} without a promise, or as long as a new core has no row of it."""
    code, out, _ = c.ask("gangs", f"default/{name}", "-o", "json")
    return json.loads(out)["gangs"][0]["start"] or {} if code == 0 else {}


def promised(c, name):
    return until(lambda: start(c, name).get("at") and start(c, name), SOON_S, f"{name} is promised a start")


def lasts(queue, name, run_s, **rest):
    return gangs(queue, [name], members=10, activeDeadlineSeconds=run_s, **rest)


def restart(c, core, frontend):
    if core:
        c.core.kill()
    if frontend:
        c.frontend.kill()
    if core:
        c.core = c.start_core(*c.core_args)
    if frontend:
        c.frontend = c.start_frontend(*c.queue_flags)
        c.ready(c.frontend)
    until(lambda: c.metric("muster_promises") == 2, SOON_S, "both promises")


def test_bf_11_a_promise_that_borrows_yields_to_the_lender():
    """What a lends is promised to a gang of b, of higher priority; a comes.  Core, frontend and both are killed: the firm promise
    stays firm and is not later, and its gang is the one that starts."""
    with Queues(LENT, HIGH, *pods("c", 10, 8, activeDeadlineSeconds=600), flags=RECLAIM, core=("--promise-depth", "64")) as c:
        settles(c, "c", 10)
        c.create(*lasts("b", "h", 500, priorityClassName="high"))
        before = promised(c, "h")
        equal(before["firm"], False)
        c.create(*lasts("a", "g", 300))
        firm = promised(c, "g")
        equal((firm["firm"], firm["moves"]), (True, []))
        check(firm["at"] <= before["at"], firm, before)
        moved = until(lambda: start(c, "h").get("moves") and start(c, "h"), SOON_S, "h moves")
        equal([(m["reason"], m["who"]) for m in moved["moves"]], [("Reclaimed", "default/g")])
        check(moved["at"] > before["at"] and moved["first"] == before["at"], moved, before)
        time.sleep(6)  # both are written
        for killed in ((True, False), (False, True), (True, True)):
            restart(c, *killed)
            g, h = promised(c, "g"), promised(c, "h")
            check(g["firm"] and g["at"] <= firm["at"], killed, g, firm)
            check(not h["firm"] and h["at"] <= moved["at"], killed, h, moved)
        ended(c, *[f"c-{i:02}" for i in range(10)])
        settles(c, "g-", 10)
        equal(c.bound("h-"), 0)


def test_bf_11_a_promise_inside_the_guarantee_does_not_move():
    with Queues(LENT, HIGH, *pods("c", 10, 8, activeDeadlineSeconds=600), flags=RECLAIM, core=("--promise-depth", "64")) as c:
        settles(c, "c", 10)
        c.create(*lasts("a", "g", 300))
        firm = promised(c, "g")
        c.create(*lasts("b", "h", 500, priorityClassName="high"))
        check(promised(c, "h")["at"] > firm["at"], start(c, "h"), firm)
        g = start(c, "g")
        equal((g["at"], g["firm"], g["moves"]), (firm["at"], True, []))


def test_que_19_who_used_little_is_next():
    """With a half-life of a minute: a, whose gang is older, has had all 80 for a while when b comes."""
    for factor, next_one, other in ((1000, "y", "x"), (0, "x", "y")):
        flags = ("--queues", "config", f"--history-factor={factor}", "--history-half-life=60")
        with Queues("- {name: a}\n- {name: b}\n", flags=flags) as c:
            began = time.time()
            c.create(*gang("first", "a"))
            settles(c, "first", 10)
            time.sleep(20)
            c.create(*gang("x", "a"))
            time.sleep(1.1)  # older by a second, as timestamps have it
            c.create(*gang("y", "b"))
            ended(c, *(f"first-{i:02}" for i in range(10)))
            ran = time.time() - began
            settles(c, next_one, 10)
            equal(c.bound(other), 0, f"bound of {other}")
            used(c, "a", 0 if factor else 80)
            waits = {q: f'muster_queue_wait_seconds_count{{queue="{q}"}}' for q in "ab"}
            until(lambda: [c.metrics().get(waits[q], 0) for q in "ab"] == ([1, 1] if factor else [2, 0]), SOON_S, "waits")
            history = c.queue("a").get("history", {}).get(GPU, 0)
            if factor == 0:
                equal(history, 0, "history without a factor")
                continue
            # By the formula of docs/fairness.md; the bindings took a part of it.
            wanted = 80 * (1 - 2 ** (-ran / 60))
            check(10 < history <= wanted + 1, f"history of a is {history}, of {ran:.0f} s at most {wanted:.1f}")
            until(lambda: c.metrics().get(f'muster_queue_history{{queue="a",resource="{GPU}"}}', 0) > 10, SOON_S, "metrics")
            ended(c, *(f"y-{i:02}" for i in range(10)))
            settles(c, "x", 10)


PAST = ("ConfigMap", "muster-queue-history", "muster-system")
PAST_FLAGS = ("--queues", "config", "--history-factor=1000", "--history-half-life=600")


def history(c, queue="a"):
    return c.metrics().get(f'muster_queue_history{{queue="{queue}",resource="{GPU}"}}', 0)


class Past:
    """The history of a queue that nothing uses, which only fades: half in 600 s.  The row that shows it is up to a minute
    old."""

    def __init__(self, c):
        until(lambda: history(c) > 0.5, SOON_S, lambda: c.queue("a"))
        self.value, self.at = history(c), time.time()

    def check(self, c, what):
        until(lambda: history(c) > 0, SOON_S, lambda: f"history after {what}: {c.queue('a')}")
        least = self.value * 2 ** (-(time.time() - self.at + 62) / 600)
        check(least <= history(c) <= self.value, f"{what}: history was {self.value}, is {history(c)}, at least {least:.4f}")


def ran_in_a(c):
    c.create(*gang("first", "a"))
    settles(c, "first", 10)
    time.sleep(15)
    ended(c, *(f"first-{i:02}" for i in range(10)))
    used(c, "a", 0)
    return Past(c)


def test_the_history_survives_restarts():
    with Queues("- {name: a}\n- {name: b}\n", flags=PAST_FLAGS) as c:
        past = ran_in_a(c)
        time.sleep(10)  # until the frontend trusts the rows
        c.frontend.stop()
        data = c.client.get(*PAST)["data"]
        equal((data["format"], data["halfLifeSeconds"]), ("1", "600"))
        check(time.time() - int(data["unixSeconds"]) < 5, data)
        check(abs(float(json.loads(data["queues"])["a"][GPU]) - past.value) < 0.01, (data, past.value))

        c.frontend = c.start_frontend(*PAST_FLAGS)
        c.ready(c.frontend)
        past.check(c, "a new frontend")
        check("the history of 2 queues was read in the ConfigMap muster-system/muster-queue-history" in c.frontend.log(), c.frontend.log())

        time.sleep(12)
        c.core.kill()
        until(lambda: c.metric("muster_core_up") == 0, SOON_S, "the core is gone")
        c.core = c.start_core()
        c.ready(c.frontend)
        past.check(c, "a new core")

        c.frontend.kill()  # and no new write
        c.core.kill()
        c.core = c.start_core()
        c.frontend = c.start_frontend(*PAST_FLAGS)
        c.ready(c.frontend)
        past.check(c, "new ones of both")


def test_a_history_that_is_broken_or_old_is_not_used():
    def again(**data):
        c.frontend.stop()
        c.client.patch("ConfigMap", PAST[1], {"data": data}, PAST[2])
        c.frontend = c.start_frontend(*PAST_FLAGS)
        c.ready(c.frontend)

    with Queues("- {name: a}\n- {name: b}\n", flags=PAST_FLAGS) as c:
        system = {"name": PAST[1], "namespace": PAST[2]}
        c.frontend.stop()
        c.client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": system, "data": {}})
        good = {"format": "1", "halfLifeSeconds": "600", "unixSeconds": str(int(time.time()))}
        again(**good, queues=json.dumps({"a": {GPU: "40"}, "gone": {GPU: "40"}, "b": {"gone/gpu": "1", GPU: "1.5"}}))
        until(lambda: 30 < history(c) <= 40 and 1 < history(c, "b") <= 1.5, SOON_S, lambda: (c.queue("a"), c.queue("b")))
        for value in ("-3", "lots", "99999999999999999999999"):
            again(**good, queues=json.dumps({"a": {GPU: "40"}, "b": {GPU: value}}))
            check("the ConfigMap muster-system/muster-queue-history is not a history of queues: data.queues, queue b, resource "
                  f'{GPU}: "{value}" is not a number' in c.frontend.log().replace('\\"', '"'), c.frontend.log())
            until(lambda: c.queue("a"), SOON_S, "rows")
            steady(lambda: history(c) == 0, 2, "nothing of it is used")
        again(**{**good, "unixSeconds": str(int(time.time()) - 1300)}, queues=json.dumps({"a": {GPU: "40"}}))
        check("more than two half-lives of 600 s" in c.frontend.log(), c.frontend.log())
        until(lambda: c.queue("a"), SOON_S, "rows")
        steady(lambda: history(c) == 0, 2, "nothing of it is used")


def test_a_standby_reads_the_history_when_it_leads():
    text, row = "- {name: a}\n- {name: b}\n", f'muster_queue_history{{queue="a",resource="{GPU}"}}'
    kept = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": PAST[1], "namespace": PAST[2]},
            "data": {"format": "1", "halfLifeSeconds": "600", "unixSeconds": str(int(time.time())), "queues": json.dumps({"a": {GPU: "40"}})}}
    system = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "muster-system"}}
    with Cluster(*nodes(), system, config(text), kept) as c:
        one = Pair(c, 1, c.kubeconfig, *ELECTED, *PAST_FLAGS).ready()
        until(one.leads, 20, "the first one leads")
        until(lambda: 30 < one.metric(row) <= 40, SOON_S, lambda: one.metric(row))
        two = Pair(c, 2, c.kubeconfig, *ELECTED, *PAST_FLAGS).ready()
        c.client.patch("ConfigMap", PAST[1], {"data": {"queues": json.dumps({"b": {GPU: "9"}})}}, PAST[2])
        time.sleep(11)  # until the first one trusts the rows
        equal(one.frontend.log().count(" queues was read in the ConfigMap"), 1, "both have one log; the standby has not read")
        one.frontend.stop()
        until(two.leads, 20, "the other leads")
        until(lambda: 25 < two.metric(row) <= 40, SOON_S, lambda: two.metric(row))
        equal(set(json.loads(c.client.get(*PAST)["data"]["queues"])), {"a"})


def test_a_history_that_may_not_be_read_or_written_stops_nothing():
    with Queues("- {name: a}\n- {name: b}\n", flags=PAST_FLAGS) as c, Proxy(c.kubeconfig, c.folder) as proxy:
        c.frontend.stop()
        proxy.rule(lambda call: call.resource == "configmaps" and PAST[1] in call.path,
                   lambda call: call.status(403, "configmaps is forbidden", "Forbidden"))
        c.frontend = c.start_frontend(*PAST_FLAGS, kubeconfig=proxy.kubeconfig)
        c.ready(c.frontend)
        check("muster-queue-history can't be read: 403 configmaps is forbidden; the history of queues begins with 0"
              in c.frontend.log(), c.frontend.log())
        c.create(*pods("a", 2, 8))
        settles(c, "a", 2)


def test_without_a_factor_there_is_no_history_to_keep():
    with Queues("- {name: a}\n- {name: b}\n") as c, Proxy(c.kubeconfig, c.folder) as proxy:
        asked = []
        c.frontend.stop()
        proxy.rule(lambda call: PAST[1] in call.path, lambda call: asked.append(call.path) or call.forward())
        c.frontend = c.start_frontend("--queues", "config", kubeconfig=proxy.kubeconfig)
        c.ready(c.frontend)
        c.create(*pods("a", 2, 8))
        settles(c, "a", 2)
        c.frontend.stop()
        equal((asked, [o["metadata"]["name"] for o in c.client.list("ConfigMap", PAST[2]) if "history" in o["metadata"]["name"]]), ([], []))


def test_members_beyond_the_quorum_are_taken_first():
    group = objects.pod_group("e", 2)
    members = [objects.pod(f"e-{i}", cpu="0", memory="0", requests={GPU: "8"}, group="e", labels={"muster.dev/queue": "b"}) for i in range(6)]
    with Queues("- {name: a, guarantee: {nvidia.com/gpu: 24}}\n- name: b\n", group, *members, *gangs("b", [f"b{i}" for i in range(4)]), flags=RECLAIM) as c:
        settles(c, "e-", 6)
        settles(c, "b", 4)
        c.create(*gangs("a", ["a0"], members=3))
        settles(c, "a0-", 3)
        equal((len(left(c, "e-")), len(left(c, "b"))), (3, 4))


def elastic(i):
    """Member i of the gang e, as of an Indexed Job."""
    pod = objects.pod(f"e-{i}", cpu="0", memory="0", requests={GPU: "8"}, group="e", labels={"muster.dev/queue": "a"})
    pod["metadata"]["annotations"] = {"batch.kubernetes.io/job-completion-index": str(i)}
    return pod


def test_a_deletion_cost_goes_before_the_index():
    """It is written while they run."""
    made = [objects.pod_group("e", 2), *[elastic(i) for i in range(6)], *gangs("b", [f"b{i}" for i in range(4)])]
    with Queues("- name: a\n- name: b\n", *made, flags=RECLAIM) as c:
        settles(c, "e-", 6)
        settles(c, "b", 4)
        for i, cost in ((0, "-1"), (5, "1")):
            c.client.patch("Pod", f"e-{i}", {"metadata": {"annotations": {"controller.kubernetes.io/pod-deletion-cost": cost}}})
        c.create(*gangs("a", ["new"], members=2))
        settles(c, "new-", 2)
        equal(sorted(left(c, "e-")), ["e-1", "e-2", "e-3", "e-5"])


def test_bf_15_extras_are_given_back_to_a_quorum():
    """A gang of 2 of 6 alone on 6 nodes; one of 3 of an equal priority takes 3, and they come back when it has ended."""
    with Queues("- {name: a, limit: {nvidia.com/gpu: 48}}\n- name: b\n", *gangs("b", [f"b{i}" for i in range(4)]), flags=RECLAIM) as c:
        settles(c, "b", 4)
        c.create(objects.pod_group("e", 2), *[elastic(i) for i in range(6)])
        settles(c, "e-", 6)
        used(c, "a", 48)
        equal(c.metrics()["muster_extras"], 4)
        c.edit("- {name: a, limit: {nvidia.com/gpu: 80}}\n- name: b\n")
        c.create(*gangs("a", ["new"], members=3))
        settles(c, "new-", 3)
        there = left(c, "e-")
        equal((len(there), len(left(c, "b"))), (3, 4))
        gone = [i for i in range(6) if f"e-{i}" not in there]
        equal(gone, [3, 4, 5])

        def told(kind):
            return [e["note"] for e in c.client.list("Event") if e["reason"] == "ElasticGivenBack" and e["regarding"]["kind"] == kind]

        until(lambda: len(told("Pod")) == 3 and told("PodGroup"), SOON_S, lambda: (told("Pod"), told("PodGroup")))
        for note in told("Pod"):
            check(note.startswith("Given back to gang default/new (") and note.endswith("3 pods make room for 3 members"), note)
        check(any(f"gives back pod e-{i} on node " in told("PodGroup")[0] for i in gone), told("PodGroup"))
        equal(c.metrics()["muster_extras_given_back_total"], 3)
        until(lambda: len(c.pods("e-")) == 3, SOON_S, "they are gone")
        c.create(*[elastic(i) for i in gone])
        steady(lambda: (c.bound("e-"), c.bound("new-")) == (3, 3), 2, "extras take nothing")
        ended(c, *(f"new-{i}" for i in range(3)))
        settles(c, "e-", 6)


def test_no_queue_is_taken_below_its_guarantee():
    text = ("- {name: a, guarantee: {nvidia.com/gpu: 24}}\n- {name: b, guarantee: {nvidia.com/gpu: 48}}\n"
            "- {name: kept, reclaimable: false}\n")
    with Queues(text, *gangs("b", [f"b{i}" for i in range(8)]), *gangs("kept", ["kept0", "kept1"]), flags=RECLAIM) as c:
        settles(c, "b", 8)
        settles(c, "kept", 2)
        c.create(*gangs("a", ["a0"], members=3))  # its guarantee, and 16 could be had
        until(lambda: c.queue("a").get("waiting") == 1, SOON_S, "it waits")
        steady(lambda: (c.bound("a"), len(left(c, "b")), len(left(c, "kept"))) == (0, 8, 2), 2.5, "nobody goes")
        c.create(*gangs("a", ["a1"], members=2))
        settles(c, "a1-", 2)
        equal((len(left(c, "b")), len(left(c, "kept"))), (6, 2))


def test_a_bad_file_changes_nothing():
    with Queues("- {name: a, limit: {nvidia.com/gpu: 8}}\n", *pods("a", 2, 8)) as c:
        settles(c, "a", 1)
        c.edit("- name: a\n  limit:\n    cpu: many\n")
        until(lambda: "QueuesInvalid" in c.frontend.log(), SOON_S, "the log")
        until(lambda: '3:10: [0].limit[' in c.frontend.log() and "many is not a quantity of 0 or more" in c.frontend.log(), SOON_S,
              lambda: c.frontend.log()[-1500:])
        until(lambda: c.metric("muster_queues_refused_total") >= 1, SOON_S, "refused")
        equal(c.queue("a")["limit"], {GPU: 8})
        settles(c, "a", 1)
        c.edit("- {name: a, limit: {nvidia.com/gpu: 16}}\n")
        settles(c, "a", 2)


def test_queues_are_there_before_anything_is_placed_again():
    with Queues("- {name: a, limit: {nvidia.com/gpu: 16}}\n", *pods("a", 5, 8)) as c:
        settles(c, "a", 2)
        for process, start in ((c.core, "start_core"), (c.frontend, "start_frontend")):
            process.stop()
            setattr(c, "core" if start == "start_core" else "frontend",
                    getattr(c, start)(*(c.queue_flags if start == "start_frontend" else ())))
            c.ready(c.frontend)
            steady(lambda: c.bound("a") == 2, 1.5, "2 of a")
        used(c, "a", 16)
        equal(c.ask_json("gangs")[0], 0)


def test_a_gang_names_its_queue_and_explain_says_why():
    group = objects.pod_group("g", 2)
    group["metadata"]["labels"] = {"muster.dev/queue": "a"}
    members = [objects.pod(f"g-{i}", cpu="0", memory="0", group="g", requests={GPU: "8"}) for i in range(2)]
    with Queues("- {name: a, limit: {nvidia.com/gpu: 12}}\n", group, *members) as c:
        text = f"can never start: queue a has a limit of 12 {GPU}, needs 16"
        says(c, "g-0", text)

        def told():
            gang = next(g for g in c.ask_json("gangs")[1]["gangs"] if g["gang"] == "default/g")
            return gang["queue"], gang.get("reason"), text in c.ask("explain", "default/g")[1]

        becomes(told, ("a", text, True), "gangs and explain")


def test_labels_of_a_namespace_choose_the_queue():
    """The label of the namespace moves what runs and what waits to the other queue, whose limit it meets."""
    team = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "lab", "labels": {"team": "a"}}}
    text = """
- {name: a, limit: {nvidia.com/gpu: 16}, namespaces: [{matchLabels: {team: a}}]}
- {name: b, limit: {nvidia.com/gpu: 24}, namespaces: [{matchLabels: {team: b}}]}
"""

    def of(i):
        return objects.pod(f"p-{i}", cpu="0", memory="0", requests={GPU: "8"}, namespace="lab")

    def bound():
        return sum(bool(p["spec"].get("nodeName")) for p in c.client.list("Pod") if p["metadata"]["namespace"] == "lab")

    with Queues(text, team) as c:
        c.create(*(of(i) for i in range(4)))
        used(c, "a", 16)
        becomes(bound, 2, "bound of the lab", SOON_S)
        c.client.patch("Namespace", "lab", {"metadata": {"labels": {"team": "b"}}})
        used(c, "b", 24)
        used(c, "a", 0)
        becomes(bound, 3, "bound of the lab", SOON_S)
        c.client.patch("Namespace", "lab", {"metadata": {"labels": {"team": None}}})
        used(c, "b", 0)
        steady(lambda: bound() == 3, 0.5, "queue default does not exist")


if __name__ == "__main__":
    sys.exit(main(globals(), jobs=3))
