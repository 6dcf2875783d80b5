# SPDX-License-Identifier: Apache-2.0
"""Clusters change under a scheduler: jobs end, nodes shrink, grow, are deleted and created
again, rules and quorums are edited, pods terminate slowly.  Capacity is allocated when it
is free, and never before."""
import os
import random
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import load, objects  # noqa: E402
from lib.check import is_bound, key  # noqa: E402
from lib.cluster import Cluster, Follower  # noqa: E402
from lib.harness import check, equal, figure, main, until  # noqa: E402
from lib.kube import STRATEGIC  # noqa: E402
from lib.objects import node, pod, pod_group  # noqa: E402

SOON_S = 10.0


def settles(c, prefix, n, within_s=SOON_S):
    until(lambda: c.bound(prefix) >= n, within_s, f"{n} of {prefix} bound")
    equal(c.bound(prefix), n, f"bound of {prefix}")


def allocatable(c, name, **amounts):
    c.client.patch("Node", name, {"status": {"allocatable": amounts}}, None, "status", STRATEGIC)


def test_jobs_end_and_the_next_start():
    """Five times more work than capacity: everything runs in its turn."""
    seed = load.seed()
    rng = random.Random(seed)
    nodes = [node(f"n{i}", cpu="10") for i in range(10)]
    with Cluster(*nodes, apisim=["--start-ms", 20]) as c, Follower(c.client) as history:
        c.up()
        made = []
        for i, size in enumerate(load.split(rng, 500, 1, 90)):
            group, members = objects.gang(f"g{i:02}", size)
            for m in members:
                m["metadata"]["annotations"] = {"muster.io/run-seconds": f"{rng.uniform(0.2, 0.6):.2f}"}
            made += [group] + members
        load.submit(c.client, made)
        start = time.monotonic()
        done = lambda: sum(1 for p in c.pods() if p["status"]["phase"] == "Succeeded")  # noqa: E731
        until(lambda: done() == 500, 200, f"all 500 pods ran, seed {seed}", every_s=0.2)
        figure(f"500 pods on room for 100, each up to 0.6 s: {time.monotonic() - start:.1f} s")
        equal(history.wrong, [], "history")
        c.well()


def test_a_stop_said_twice_at_once_waits_for_answers():
    """As systemd and musterctl up both send it."""
    with Cluster(node("n1"), apisim=["--latency-ms", "200"]) as c:
        c.pair()
        creates = threading.Thread(target=c.create, args=(pod("a"),))
        creates.start()
        time.sleep(0.1)  # the binding is in flight, and so is the response to us
        for _ in range(2):
            c.frontend.child.terminate()
            time.sleep(0.02)
        creates.join()
        equal(c.frontend.child.wait(60), 0, c.frontend.log()[-2000:])
        check('msg=stopped' in c.frontend.log() or 'msg="stopped"' in c.frontend.log(), c.frontend.log()[-2000:])


def test_succeeded_members_do_not_count():
    """COS-11: five are left of a quorum of six."""
    with Cluster(node("n1", cpu="6")) as c:
        c.create(pod_group("g", 6), pod("g-0", group="g", nodeName="n1"))
        c.client.patch("Pod", "g-0", {"status": {"phase": "Succeeded"}}, sub="status", content_type=STRATEGIC)
        c.up()
        c.create(*(pod(f"g-{i}", group="g") for i in range(1, 6)))
        c.still("g", 1)


def phase(c, name, to):
    c.client.patch("Pod", name, {"status": {"phase": to}}, sub="status", content_type=STRATEGIC)


def lives(c, wanted):
    """The states of the gangs that are listed."""
    told = lambda: {g["gang"].split("/")[1]: g["state"] for g in c.ask_json("gangs")[1]["gangs"]}  # noqa: E731
    until(lambda: told() == wanted, SOON_S, told)


def test_a_replaced_member_starts_after_others_succeeded():
    """Of a gang that was whole once, also when both daemons start over; then it is finished.  A group of another
    scheduler is not listed."""
    with Cluster(node("n1", cpu="6")) as c:
        c.up()
        c.gang("g", 3)
        c.create(pod_group("theirs", 2), pod("theirs-0", group="theirs", schedulerName="other"))
        settles(c, "g", 3)
        for name in ("g-0", "g-1"):
            phase(c, name, "Succeeded")
        c.delete("Pod", "g-2")
        lives(c, {"g": "Finished"})
        c.create(pod("g-3", group="g", cpu="7"))
        lives(c, {"g": "Degraded"})
        c.delete("Pod", "g-3")
        c.create(pod("g-4", group="g"))
        until(lambda: is_bound(c.client.get("Pod", "g-4")), SOON_S, "the replacement is bound")
        lives(c, {"g": "Running"})
        phase(c, "g-4", "Failed")
        lives(c, {"g": "Failed"})
        said = c.ask("explain", "g")[1].splitlines()[0]
        equal(said, "gang default/g (scheduler-plugins): Failed, 0 of 0 members placed, quorum 3, 2 succeeded, 1 failed")


def test_quorum_is_edited_while_it_waits():
    with Cluster(node("n1", cpu="3")) as c:
        c.up()
        c.gang("g", 4)
        c.still("g")
        c.client.patch("PodGroup", "g", {"spec": {"minMember": 3}})
        settles(c, "g", 3)
        c.client.patch("PodGroup", "g", {"spec": {"minMember": 4}})
        c.still("g", 3)
        c.create(node("n2", cpu="1"))
        settles(c, "g", 4)
        c.well()


def resized(c, name, cpu):
    container = c.client.get("Pod", name)["spec"]["containers"][0]["name"]
    c.client.patch("Pod", name, {"status": {"containerStatuses": [
        {"name": container, "resources": {"requests": {"cpu": cpu}}, "allocatedResources": {"cpu": cpu}}]}}, sub="status")


def test_node_shrinks_and_grows():
    with Cluster(node("n1", cpu="4")) as c:
        c.up()
        c.gang("old", 3)
        settles(c, "old", 3)
        allocatable(c, "n1", cpu="2")  # below what runs
        c.gang("new", 2)
        c.still("new")
        allocatable(c, "n1", cpu="4")
        c.still("new")
        allocatable(c, "n1", cpu="5")
        settles(c, "new", 2)
        c.well()
        resized(c, "old-0", "2")  # in place: kubelet has given it, or not taken it back
        allocatable(c, "n1", cpu="6")
        c.gang("late", 1)
        c.still("late")
        resized(c, "old-0", "1")
        settles(c, "late", 1)


def test_node_goes_and_comes_back():
    """Pods of a deleted node use no capacity elsewhere; a new node of that name
    still has the pods that name it."""
    with Cluster(node("n1", cpu="4"), node("n2", cpu="4")) as c:
        c.up()
        c.gang("a", 8)
        settles(c, "a", 8)
        c.delete("Node", "n1")
        c.gang("b", 4)
        c.still("b")
        c.create(node("n1", cpu="6"))
        c.still("b")
        c.create(node("n3", cpu="2"))
        settles(c, "b", 4)
        equal(sorted(p["spec"]["nodeName"] for p in c.pods("b")), ["n1", "n1", "n3", "n3"], "nodes of b")
        c.well()


def test_rules_of_nodes_are_edited():
    with Cluster(node("n1", cpu="4", taints=[{"key": "k", "value": "v", "effect": "NoSchedule"}]),
                 node("n2", cpu="4", unschedulable=True), node("n3", cpu="4")) as c:
        c.up()
        c.gang("g", 9, nodeSelector={"disk": "ssd"})
        c.still("g")
        for n in ("n1", "n2", "n3"):
            c.client.patch("Node", n, {"metadata": {"labels": {"disk": "ssd"}}})
        c.still("g")
        c.client.patch("Node", "n1", {"spec": {"taints": None}})
        c.still("g")
        c.client.patch("Node", "n2", {"spec": {"unschedulable": None}})
        settles(c, "g", 9)
        c.well()


def test_pods_that_leave_slowly_keep_their_room():
    with Cluster(node("n1", cpu="4"), apisim=["--grace-ms", 4000]) as c, Follower(c.client) as history:
        c.up()
        group, members = objects.gang("old", 4, terminationGracePeriodSeconds=4)
        c.create(group, *members)
        settles(c, "old", 4)
        until(lambda: all(p["status"]["phase"] == "Running" for p in c.pods("old")), 5, "Running")
        c.gang("new", 4)
        for m in members:
            c.client.request("DELETE", c.client.path("Pod", "default", m["metadata"]["name"]))
        c.still("new")
        settles(c, "new", 4)
        equal(history.wrong, [], "history")


def test_pods_that_are_being_deleted_are_not_started():
    with Cluster() as c:
        c.up()
        held = pod("held", group="g")
        held["metadata"]["finalizers"] = ["example.com/hold"]
        c.create(pod_group("g", 2), held, pod("free", group="g"))
        c.delete("Pod", "held")
        c.create(node("n1"))
        c.still("")
        c.create(pod("other", group="g"))
        until(lambda: c.bound("free") + c.bound("other") == 2, SOON_S, "the two that stay")
        equal(c.bound("held"), 0, "bound of the one that goes")


def test_what_a_pod_takes():
    """Init containers, sidecars and overhead, by kube-scheduler's arithmetic: as many
    pods as fit, no more."""
    def container(name, cpu, **rest):
        return {"name": name, "image": "registry.invalid/none:1", "resources": {"requests": {"cpu": cpu}}, **rest}

    shapes = {
        "init": ([container("i", "2")], [container("m", "500m")], 5),
        "sidecar": ([container("s", "500m", restartPolicy="Always")], [container("m", "500m")], 10),
        "both": ([container("s", "1", restartPolicy="Always"), container("i", "1500m")], [container("m", "1")], 4),
        "two": ([], [container("m", "1"), container("n", "250m")], 8),
    }
    with Cluster(node("n1", cpu="10", labels={"x": "y"})) as c:
        c.up()
        for name, (inits, containers, fit) in shapes.items():
            made = [pod(f"{name}-{i:02}") for i in range(fit + 3)]
            for obj in made:
                obj["spec"].update(initContainers=inits, containers=containers)
            c.create(*made)
            settles(c, name, fit)
            c.still(name, fit)
            c.well()
            c.delete("Pod", *(obj["metadata"]["name"] for obj in made))


def test_gangs_come_and_go_for_a_while():
    """Members join, leave, gangs are deleted while they wait or start; at rest
    everything that can be placed is."""
    seed = load.seed()
    rng = random.Random(seed)
    with Cluster(*(node(f"n{i}", cpu="8") for i in range(6))) as c, Follower(c.client) as history:
        c.up()
        alive = {}
        for turn in range(120):
            what = rng.random()
            if what < 0.45 or not alive:
                name, size = f"t{turn}", rng.randint(1, 12)
                group, members = objects.gang(name, size, rng.randint(1, size))
                rng.shuffle(members)
                alive[name] = members
                c.create(*rng.sample([group] + members, size + 1))
            elif what < 0.8:
                name = rng.choice(sorted(alive))
                c.delete("Pod", *(m["metadata"]["name"] for m in alive.pop(name)))
                c.delete("PodGroup", name)
            else:
                name = rng.choice(sorted(alive))
                if len(alive[name]) > 1:
                    c.delete("Pod", alive[name].pop()["metadata"]["name"])
        free = 48 - c.bound()
        if free:
            c.create(*(pod(f"filler-{i}") for i in range(free)))
            until(lambda: c.bound() == 48, SOON_S, f"what is free is given to lone pods, seed {seed}")
        equal(history.wrong, [], f"history, seed {seed}")
        pods = c.pods()
        overfull = [key(p) for p in pods if is_bound(p)]
        check(len(overfull) <= 48, f"seed {seed}: {len(overfull)} bound")


if __name__ == "__main__":
    main(globals(), jobs=4)
