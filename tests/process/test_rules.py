# SPDX-License-Identifier: Apache-2.0
"""Rules between pods on a live server: the placement of a new pod follows the pods and nodes that
exist, are created, changed and deleted.

    tests/process/test_rules.py [test...]"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import objects  # noqa: E402
from lib.cluster import Cluster  # noqa: E402
from lib.harness import equal, main, until  # noqa: E402

HOST = "kubernetes.io/hostname"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def node(name, zone="a", **more):
    return objects.node(name, labels={"topology.kubernetes.io/zone": zone}, **more)


def pod(name, labels=None, namespace="default", **spec):
    return objects.pod(name, labels=labels, namespace=namespace, **spec)


def term(app, **more):
    return dict({"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": app}}}, **more)


def apart(app, **more):
    return {"affinity": {"podAntiAffinity": {REQUIRED: [term(app, **more)]}}}


def place(c, name, namespace="default"):
    return c.client.get("Pod", name, namespace)["spec"].get("nodeName")


def told(c, name, words):
    until(lambda: words in c.why_pending(name), 10,
          f"{name} is told {words!r}")


def placed(c, name, namespace="default"):
    until(lambda: place(c, name, namespace), 10, f"{name} is bound")
    return place(c, name, namespace)


def test_pods_that_stand_apart():
    with Cluster(node("n1"), node("n2")) as c:
        c.up()
        for name in ("a", "b", "c"):
            c.create(pod(name, {"app": "db"}, **apart("db")))
        until(lambda: c.bound() == 2, 10, "two of three")
        waits = next(n for n in ("a", "b", "c") if not place(c, n))
        told(c, waits, "0/2 nodes are available: 2 node(s) didn't match pod anti-affinity rules.")
        gone = next(n for n in ("a", "b", "c") if n != waits)
        freed = place(c, gone)
        c.client.delete("Pod", gone)
        equal(placed(c, waits), freed, "the node that is free again")


def test_pods_that_stand_together_wait_for_the_first():
    with Cluster(node("n1"), node("n2", "b")) as c:
        c.up()
        c.create(pod("follower", {}, affinity={"podAffinity": {REQUIRED: [
            term("leader", topologyKey="topology.kubernetes.io/zone")]}}))
        told(c, "follower", "2 node(s) didn't match pod affinity rules")
        c.create(pod("leader", {"app": "leader"}, nodeSelector={HOST: "n2"}))
        equal(placed(c, "leader"), "n2", "leader")
        equal(placed(c, "follower"), "n2", "follower")


def test_a_namespace_comes_under_a_term():
    """A pod of another namespace is in the way once that namespace has the label."""
    chosen = apart("db", namespaceSelector={"matchLabels": {"team": "x"}})
    with Cluster(node("n1")) as c:
        c.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other", "labels": {"team": "x"}}})
        c.create(pod("there", {"app": "db"}, "other"))
        c.up()
        placed(c, "there", "other")
        c.create(pod("here", {}, **chosen))
        told(c, "here", "1 node(s) didn't match pod anti-affinity rules")
        c.client.patch("Namespace", "other", {"metadata": {"labels": {"team": "y"}}})
        equal(placed(c, "here"), "n1", "here")


def test_spread_and_ports():
    hard = [{"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule",
             "labelSelector": {"matchLabels": {"app": "web"}}}]
    with Cluster(node("n1"), node("n2"), node("n3", "b")) as c:
        c.up()
        for i in range(4):
            c.create(pod(f"w{i}", {"app": "web"}, topologySpreadConstraints=hard))
        until(lambda: c.bound() == 4, 10, "four pods")
        equal(sum(place(c, f"w{i}") == "n3" for i in range(4)), 2, "pods in zone b")
        for i in range(4):
            p = pod(f"p{i}")
            p["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 80}]
            c.create(p)
        until(lambda: c.bound() == 7, 10, "one on each node")
        waits = next(f"p{i}" for i in range(4) if not place(c, f"p{i}"))
        told(c, waits, "3 node(s) didn't have free ports for the requested pod ports")


def test_a_fault_that_is_found_before_claims_are_looked_at():
    """As kube-scheduler does it: NodeAffinity comes before VolumeBinding."""
    names = [{"key": "metadata.name", "operator": "In", "values": [name]} for name in ("n1", "n2")]
    absent = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "absent"}}]}
    terms = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchFields": names}]}}}
    with Cluster(node("n1"), node("n2")) as c:
        c.up()
        c.create(pod("both", affinity=terms, **absent), pod("claim", **absent))
        told(c, "both", "0/2 nodes are available: pod affinity terms conflict.")
        told(c, "claim", '0/2 nodes are available: persistentvolumeclaim "absent" not found.')


def test_a_service_spreads_its_pods():
    """Without the service the fuller node is worse only by its load; with it by its pods."""
    with Cluster(node("big", cpu="64"), node("small", "b", cpu="8")) as c:
        c.create(pod("first", {"app": "web"}, nodeName="big"))
        c.create(pod("other", {"app": "alone"}))
        c.create({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "default"},
                  "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}})
        c.up()
        equal(placed(c, "other"), "big", "a pod that no service selects")
        c.create(pod("second", {"app": "web"}))
        equal(placed(c, "second"), "small", "a pod of the service")


if __name__ == "__main__":
    main(globals(), jobs=2)
