# SPDX-License-Identifier: Apache-2.0
"""The life of a gang, in every dialect: its group is created late, changed, deleted and
created again; a member is replaced.  The scenarios define the expected result
in the dialects that they cover."""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import check, kube, objects  # noqa: E402
from lib.cluster import Cluster, Follower  # noqa: E402
from lib.dialects import CRDS, DIALECTS  # noqa: E402
from lib.harness import equal, main, steady, until  # noqa: E402

GANG = "g-0"
SOON_S, STILL_S = 15, 1.0


def quorum_patch(kind, n):
    if kind == "ConfigMap":
        return {"data": {"minAvailable": str(n)}}
    if kind == "PodGroup.scheduling.k8s.io":
        return {"spec": {"schedulingPolicy": {"gang": {"minCount": n}}}}
    return {"spec": {"minMember": n}}


class Life:
    def __init__(self, cluster, dialect):
        self.c, self.dialect = cluster, dialect
        self.kind = next((kube.kind_of(o) for o in dialect.objects(GANG, 1)), None)

    def describe(self, quorum):
        self.c.create(*self.dialect.objects(GANG, quorum))

    def members(self, *numbers, quorum):
        for i in numbers:
            p = objects.pod(f"{GANG}-{i}", cpu="1", memory="0")
            self.dialect.mark(p, GANG, quorum)
            self.c.create(p)

    def bound(self, n):
        until(lambda: self.c.bound(GANG) == n, SOON_S, lambda: f"{n} bound, not {self.c.bound(GANG)}: {self.says()}")
        steady(lambda: self.c.bound(GANG) == n, STILL_S, f"{n} bound")

    def says(self):
        return {p["metadata"]["name"]: (check.condition(p) or {}).get("message") for p in self.c.pods(GANG)
                if not check.is_bound(p)}

    def told(self, part):
        """All that aren't bound have this reason."""
        until(lambda: self.says() and all(said and part in said for said in self.says().values()), SOON_S,
              lambda: f"{part!r} in {self.says()}")

    def waits(self, part, n=0):
        """n are bound and all others have this reason."""
        self.told(part)
        self.bound(n)


def described_by_pods(life):
    life.members(0, 1, 2, 3, 4, quorum=5)
    life.waits("Insufficient cpu")
    life.c.create(objects.node("n2", cpu="1"))
    life.bound(5)
    life.c.delete("Pod", f"{GANG}-1")
    life.members(1, quorum=5)
    life.bound(5)
    for i in range(5):
        life.c.delete("Pod", f"{GANG}-{i}")
    life.members(0, 1, 2, 3, quorum=5)  # another gang of that name, below its quorum
    life.waits("4 of 5")
    life.members(4, quorum=5)
    life.bound(5)


def described_by_an_object(life):
    life.members(0, 1, 2, 3, 4, quorum=5)
    life.waits(GANG)
    life.describe(5)
    life.waits("Insufficient cpu")
    life.c.client.patch(life.kind, GANG, quorum_patch(life.kind, 4))
    life.bound(4)
    life.waits("Insufficient cpu", 4)
    life.c.delete("Pod", next(p["metadata"]["name"] for p in life.c.pods(GANG) if check.is_bound(p)))
    life.bound(4)
    life.c.delete(life.kind, GANG)
    life.members(5, quorum=4)
    life.told("not")  # before there is room for it
    life.c.create(objects.node("n2", cpu="4"))
    life.waits("not", 4)  # its group does not exist; running pods stay
    life.describe(4)
    life.bound(5)
    life.c.client.patch(life.kind, GANG, quorum_patch(life.kind, 8))
    until(lambda: [g["quorum"] for g in life.c.ask_json("gangs")[1]["gangs"]] == [8], SOON_S, "the quorum is known")
    life.members(6, quorum=8)
    time.sleep(STILL_S)
    life.waits("of 8", 5)


def live(name):
    flags = [f for crd in CRDS for f in ("--crd", crd)] + ["--gate", "GenericWorkload", "--no-kubelet"]
    with Cluster(objects.node("n1", cpu="4"), apisim=flags) as c:
        c.up()
        life = Life(c, DIALECTS[name])
        with Follower(c.client) as history:
            (described_by_an_object if life.kind else described_by_pods)(life)
        equal(history.wrong, [], "history")
        nodes = c.client.list("Node")
        equal(check.overfull_nodes(nodes, c.pods()), [], "nodes")


for name in DIALECTS:
    globals()["test_" + name.replace("-", "_")] = lambda name=name: live(name)

if __name__ == "__main__":
    main(globals(), jobs=12)
