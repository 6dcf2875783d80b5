# SPDX-License-Identifier: Apache-2.0
"""Queues of Volcano, Koordinator and KAI on a real kube-apiserver, and their usage in their objects, with what
apisim has not: schemas, managedFields, and the rights of deploy/queues and deploy/queue-status alone.

    tests/real/test_queues.py [TEST...]      MUSTER_KEEP=1 keeps the logs
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import kube, muster  # noqa: E402
from lib.harness import equal, main, steady, until  # noqa: E402
from process.test_queues_live import GPU, marked, nodes, quota, volcano  # noqa: E402
from real.cluster import DEPLOY  # noqa: E402
from real.world import SOON_S, World  # noqa: E402

QUEUES = "/apis/scheduling.volcano.sh/v1beta1/queues"
OLD = "vc-scheduler"
QUOTA_LABEL = "quota.scheduling.koordinator.sh/name"


class Writing(World):
    def start_muster(self):
        for folder in ("queues", "queue-status"):
            self.admin.apply_yaml((DEPLOY / folder / "rbac.yaml").read_text(encoding="utf-8"))
        return super().start_muster()

    def with_queues(self, source, *made):
        """A muster of its own that reads them and writes their usage."""
        self.muster.stop()
        self.flags = ("--queues", source, "--write-queue-status")
        self.fresh(*nodes(2), *made)


def queue(name):
    return world.admin.request("GET", f"{QUEUES}/{name}")


def allocated(name):
    return queue(name).get("status", {}).get("allocated")


def written_by_the_old_scheduler(name, amounts):
    """Into its status, as Volcano's does."""
    world.admin.request("PATCH", f"{QUEUES}/{name}/status?fieldManager={OLD}", {"status": {"state": "Open", "allocated": amounts}},
                        kube.MERGE)


def long_ago(name):
    """As if no write of the old scheduler had been later."""
    entries = queue(name)["metadata"]["managedFields"]
    for entry in entries:
        if entry["manager"] == OLD:
            entry["time"] = "2020-01-01T00:00:00Z"
    world.admin.request("PATCH", f"{QUEUES}/{name}", {"metadata": {"managedFields": entries}}, kube.MERGE)
    equal([e["time"] for e in queue(name)["metadata"]["managedFields"] if e["manager"] == OLD], ["2020-01-01T00:00:00Z"],
          "the time of its write")


def becomes_used(read, wanted, what):
    until(lambda: (read() or {}).get(GPU) == wanted, SOON_S, lambda: f"{what}: {read()}\n{world.muster.log()[-2000:]}")


def test_volcano_queues():
    """One that nobody has written, its parent, one of which the old scheduler's figures are old, and one that it
    still writes."""
    for made in volcano("default"), volcano("up"), volcano("a", parent="up"), volcano("b"), volcano("c"):
        del made["status"]
        world.admin.request("POST", QUEUES, made)
    for name in "b", "c":
        written_by_the_old_scheduler(name, {"cpu": "7", GPU: "99"})
    long_ago("b")
    world.with_queues("volcano", *marked("a", 1, 8), *marked("b", 1, 4), *marked("c", 1, 4))
    world.settles("", 3)
    for name, wanted in ("a", "8"), ("up", "8"), ("b", "4"):
        becomes_used(lambda name=name: allocated(name), wanted, f"status.allocated of {name}")
    equal((queue("b")["status"]["state"], "cpu" in allocated("b")), ("Open", False), "what is left of the old status")
    until(lambda: f"{OLD} wrote it in the last ten minutes" in world.muster.log(), SOON_S, "the log names the other writer")
    equal(allocated("c"), {"cpu": "7", GPU: "99"}, "what the other one wrote")
    version = queue("a")["metadata"]["resourceVersion"]
    steady(lambda: queue("a")["metadata"]["resourceVersion"] == version, 12, "an equal usage is not written again")
    world.admin.delete("Pod", "a-00")
    becomes_used(lambda: allocated("a"), None, "after its pod has ended")
    equal(queue("a")["spec"], {"weight": 1, "parent": "up"}, "its spec")


def test_elastic_quotas_without_a_status_subresource():
    spec = ({GPU: "8"}, {GPU: "16"})
    world.admin.create(quota("q", *spec))
    world.with_queues("koordinator", *marked("q", 5, 4, key=QUOTA_LABEL, part="labels"))
    world.settles("q", 4)  # its max

    def used():
        return world.admin.get("ElasticQuota", "q").get("status", {}).get("used")

    becomes_used(used, "16", "status.used")
    for p in world.pods("q"):
        world.admin.delete("Pod", p["metadata"]["name"])
    becomes_used(used, None, "after they have ended")
    found = world.admin.get("ElasticQuota", "q")
    equal(found["spec"], {"min": spec[0], "max": spec[1]}, "its spec")


def test_que_13_a_volcano_queue_that_closes():
    for name, state in ("d", "Open"), ("e", "Closing"):
        made = volcano(name, capability={GPU: "4"})
        del made["status"]
        world.admin.request("POST", QUEUES, made)
        world.admin.request("PATCH", f"{QUEUES}/{name}/status", {"status": {"state": state, "allocated": {}}}, kube.MERGE)
    world.with_queues("volcano", *marked("d", 2, 4), *marked("e", 1, 4))
    world.settles("d", 1)
    world.waits("e", "queue e is closing")
    world.admin.request("PATCH", f"{QUEUES}/e/status", {"status": {"state": "Open"}}, kube.MERGE)
    world.settles("e", 1)


def test_que_14_kai_queues():
    free = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
    none = {"quota": 0, "limit": 0, "overQuotaWeight": 0}
    for name, gpu in ("k", free), ("l", none):
        world.admin.request("POST", "/apis/scheduling.run.ai/v2/queues", {
            "apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": {"name": name},
            "spec": {"resources": {"gpu": gpu, "cpu": free, "memory": free}}})
    key = "kai.scheduler/queue"
    world.with_queues("kai", *marked("k", 2, 8, key=key, part="labels"), *marked("l", 1, 8, key=key, part="labels"))
    world.settles("k", 2)
    world.waits("l", f"can never start: queue l has a limit of 0 {GPU}, needs 8")


def test_nothing_was_forbidden():
    equal(world.cluster.refusals(), 0, "requests not allowed")


if __name__ == "__main__":
    muster.exit_on_sigterm()
    with Writing() as world:
        main(globals())
