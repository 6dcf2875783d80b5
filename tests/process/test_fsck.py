# SPDX-License-Identifier: Apache-2.0
"""musterctl fsck: the live ledger against the API server's objects."""
import contextlib
import os
import signal
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import kube  # noqa: E402
from lib.cluster import Cluster, run  # noqa: E402
from lib.harness import becomes, check, equal, eventually, main, until  # noqa: E402
from lib.objects import gang, node, pod  # noqa: E402

SAME, DIFFERENT, UNKNOWN = 0, 1, 2


@contextlib.contextmanager
def cluster(nodes=4):
    with Cluster(*[node(f"n{i}", gpu="2") for i in range(nodes)]) as c:
        c.up()
        yield c


def fsck(c, *flags):
    """(exit code, output)"""
    return c.ask_json("fsck", "--kubeconfig", c.kubeconfig, *flags)


def found(answer, in_flight=False):
    """{(node or gang, field): (live, recomputed)}"""
    return {(f.get("node") or f.get("gang"), f["field"]): (f["live"], f["recomputed"])
            for f in answer["found"] if f["in_flight"] == in_flight}


@contextlib.contextmanager
def frozen(c, name="muster-frontend"):
    """That daemon is stopped."""
    pid = c.daemons()[name[:15]]
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def put_gangs(c):
    for group, pods in (gang("train", 4, requests={"nvidia.com/gpu": "1"}), gang("big", 3, cpu="20"), gang("more", 5, 2)):
        c.create(group, *pods)
    c.create(pod("alone"), pod("other", scheduler="another", nodeName="n3", cpu="500m"))
    until(lambda: c.bound("train") == 4 and c.bound("more") == 5 and c.bound("alone") == 1, 20, "placed")
    # What the core was told of comes a moment later.
    becomes(lambda: (fsck(c)[1]["gangs"], fsck(c)[1]["found"]), (3, []), "at rest")


def test_none_differs():
    with cluster() as c:
        equal(fsck(c)[1], {"nodes": 4, "gangs": 0, "differences": 0, "pods_in_flight": 0, "moving": 0, "found": []})
        put_gangs(c)
        code, answer = fsck(c)
        equal((code, answer["differences"], answer["found"]), (SAME, 0, []))
        equal((answer["nodes"], answer["gangs"]), (4, 3))
        code, out, err = c.ask("fsck", "--kubeconfig", c.kubeconfig)
        equal((code, out, err), (SAME, "0 differences in 4 nodes and 3 gangs\n", ""))


def test_what_only_lags_is_no_difference():
    """Gangs come and go all the while."""
    with cluster() as c:
        ending = threading.Event()

        def churn():
            client, number = kube.Client(c.kubeconfig), 0
            while not ending.is_set():
                group, pods = gang(f"churn-{number}", 3, cpu="500m")
                for obj in (group, *pods):
                    client.create(obj)
                if number >= 4:
                    for obj in (f"churn-{number - 4}-{i}" for i in range(3)):
                        client.delete("Pod", obj)
                    client.delete("PodGroup", f"churn-{number - 4}")
                number += 1

        thread = threading.Thread(target=churn)
        thread.start()
        try:
            moved = 0
            for _ in range(8):
                code, answer = fsck(c)
                equal((code, answer["differences"]), (SAME, 0), answer)
                moved += answer["moving"]
        finally:
            ending.set()
            thread.join()
        check(moved > 0, "nothing moved meanwhile")
        until(lambda: fsck(c)[1]["moving"] == 0, 10, "at rest")
        equal(fsck(c)[0], SAME)


def test_each_difference_is_found():
    with cluster() as c:
        put_gangs(c)
        home = c.client.get("Pod", "train-0")["spec"]["nodeName"]
        with frozen(c):
            c.delete("Pod", "train-0")
            c.create(node("late"), pod("stranger", scheduler="another", nodeName="late", cpu="2", memory="3Gi"))
            code, answer = fsck(c)
            equal(code, DIFFERENT, answer)
            wrong = found(answer)
            live, anew = wrong[home, "used cpu"]
            equal(live - anew, 1000)
            live, anew = wrong[home, "used nvidia.com/gpu"]
            equal(live - anew, 1)
            equal(wrong["default/train", "bound"], (4, 3))
            equal(wrong["late", "present"], (0, 1))
            equal(wrong["late", "used memory"], (0, 3 << 30))
            equal(wrong["late", "allocatable cpu"], (0, 8000))
            equal({name for name, _ in wrong}, {home, "late", "default/train"})
            equal(answer["differences"], len(wrong))
            code, out, _ = c.ask("fsck", "--kubeconfig", c.kubeconfig)
            equal(code, DIFFERENT)
            rows = [line.split() for line in out.splitlines()]
            check(["gang", "default/train", "bound", "4", "3"] in rows, out)
            check(["node", "late", "used", "memory", "0", "3Gi"] in rows, out)
        until(lambda: fsck(c)[0] == SAME, 10, "it catches up")


def test_what_is_in_flight_is_no_difference():
    with cluster() as c:
        put_gangs(c)
        c.arm("bind-429", count=1000, retryAfterSeconds=1)
        c.create(*[o for part in gang("slow", 3) for o in (part if isinstance(part, list) else [part])])
        until(lambda: any(g["gang"] == "default/slow" and g["state"] == "Binding" for g in c.ask_json("gangs")[1]["gangs"]),
              10, "binding")

        def under_way():
            code, answer = fsck(c)
            equal((code, answer["differences"], answer["pods_in_flight"]), (SAME, 0, 3), answer)
            flying = found(answer, in_flight=True)
            equal(flying["default/slow", "bound"], (3, 0))
            equal(sum(live - anew for (_, field), (live, anew) in flying.items() if field == "used cpu"), 3000)

        eventually(under_way)
        with frozen(c):  # one gone from beneath it is a difference all the same
            home = c.client.get("Pod", "alone")["spec"]["nodeName"]
            c.delete("Pod", "alone")
            code, answer = fsck(c)
            equal(code, DIFFERENT, answer)
            check((home, "used cpu") in found(answer), answer)
        c.client.request("DELETE", "/apisim/faults")  # so that it ends at once


def allocated(name, device, **share):
    """A claim as a scheduler leaves it: the object, and its status."""
    meta = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": name, "namespace": "default"},
            "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}}}
    result = {"request": "r", "driver": "d", "pool": "n0", "device": device, **share}
    return meta, {"status": {"allocation": {"devices": {"results": [result]}}}}


def test_a_device_in_two_claims_is_found():
    pool = {"name": "n0", "generation": 1, "resourceSliceCount": 1}
    slices = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "s"},
              "spec": {"driver": "d", "nodeName": "n0", "pool": pool, "devices": [{"name": "a"}, {"name": "b"}]}}
    with Cluster(node("n0"), slices, apisim=("--gate", "DynamicResourceAllocation")) as c:
        c.up()

        def allocate(name, device):
            claim, status = allocated(name, device)
            c.create(claim)
            c.client.patch("ResourceClaim", name, status, sub="status")

        allocate("x", "a")
        allocate("y", "b")
        code, answer = fsck(c, "--devices")
        equal((code, answer["devices"], answer["claims"], answer["excesses"]), (SAME, 2, 2, []), answer)
        check("excesses" not in fsck(c)[1], "only when asked for")
        allocate("z", "b")
        code, answer = fsck(c, "--devices")
        equal((code, answer["excesses"]), (DIFFERENT, [{"of": "d/n0/b", "what": "allocated more than once", "claims": "default/y, default/z"}]), answer)
        code, out, _ = c.ask("fsck", "--kubeconfig", c.kubeconfig, "--devices")
        equal(out.splitlines()[-2:], ["d/n0/b: allocated more than once: default/y, default/z", "1 excess of 2 devices by 3 allocated claims"], out)
        equal(fsck(c)[0], SAME)


def test_other_flags():
    """Nodes that the frontend does not see are none here either."""
    with Cluster(node("in", labels={"pool": "a"}), node("out", labels={"pool": "b"})) as c:
        c.up("--node-selector", "pool=a", "--scheduler-name", "mine")
        c.create(pod("p", scheduler="mine"))
        until(lambda: c.bound() == 1, 10, "bound")
        becomes(lambda: fsck(c, "--node-selector", "pool=a", "--scheduler-name", "mine")[0], SAME)
        code, answer = fsck(c)
        equal(code, DIFFERENT)
        equal(found(answer)["out", "present"], (0, 1))


def test_it_can_not_be_told():
    code, out, err = run("musterctl", "fsck", "--socket", "/nowhere/muster.sock")
    equal((code, out), (UNKNOWN, ""))
    check("no muster-core serves /nowhere/muster.sock" in err, err)
    with cluster() as c:
        code, out, err = c.ask("fsck", "--kubeconfig", "/nowhere/at/all")
        equal((code, out), (UNKNOWN, ""))
        check("/nowhere/at/all" in err, err)
        for flags, said in ((["x"], '"x"'), (["-o", "yaml"], "-o yaml")):
            code, out, err = c.ask("fsck", *flags)
            equal((code, out), (UNKNOWN, ""))
            check(said in err, err)


if __name__ == "__main__":
    main(globals())
