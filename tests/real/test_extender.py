# SPDX-License-Identifier: Apache-2.0
"""muster and the real kube-scheduler 1.36.3 on one ledger, with the configuration of deploy/kube-scheduler:
both fill a real cluster at once, by their own pods.

Skipped while kube-scheduler is not built: tests/real/build.sh kube-scheduler."""
import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import check as reading  # noqa: E402
from lib import kube, muster, objects  # noqa: E402
from lib.check import condition, is_bound  # noqa: E402
from lib.harness import Skip, check, equal, figure, main, steady, until  # noqa: E402
from real.cluster import DEPLOY, Cluster, built  # noqa: E402
from real.kube_scheduler import KubeScheduler  # noqa: E402

NODES, CPU = 30, 8
THEIRS = 140  # lone pods of a core each
GANGS, SIZE = 30, 4  # ... of muster: together more than there is room for


def config_for(kubeconfig, listen):
    """The shipped file, with the addresses of this host."""
    text = (DEPLOY / "kube-scheduler" / "config.yaml").read_text()
    for old, new in (("/etc/kubernetes/scheduler.conf", str(kubeconfig)), ("http://127.0.0.1:10261", f"http://{listen}"),
                     ("leaderElect: true", "leaderElect: false")):
        check(text.count(old) == 1, old, "is not once in the file")
        text = text.replace(old, new)
    return text.replace("clientConnection:", "clientConnection:\n  qps: 5000\n  burst: 5000")


def create(cluster, wanted):
    client = kube.Client(str(cluster.admin_kubeconfig))
    for obj in wanted:
        client.create(obj)


def gang(g):
    name = f"g{g:02}"
    return [objects.pod_group(name, SIZE), *(objects.pod(f"{name}-{i}", cpu="1", memory="64Mi", group=name) for i in range(SIZE))]


def test_both_fill_a_cluster():
    program = built("kube-scheduler")
    if not program:
        raise Skip("kube-scheduler is not built; tests/real/build.sh kube-scheduler does it in some minutes")
    folder = muster.scratch("muster-extender-")
    with Cluster(os.path.join(folder, "cluster")) as cluster:
        client = cluster.admin()
        for i in range(NODES):
            client.create(objects.node(f"n{i:02}", cpu=str(CPU), memory="64Gi"))
        with muster.Muster(cluster.muster_kubeconfig, os.path.join(folder, "muster"), "--extender-keep", "30") as ours, \
                KubeScheduler(program, cluster.admin_kubeconfig, folder, config_for(cluster.admin_kubeconfig, ours.listen)) as theirs:
            ours.wait_ready()
            until(theirs.ready, 60, "kube-scheduler's /readyz")
            work = [[objects.pod(f"theirs-{i:03}", cpu="1", memory="64Mi", scheduler="default-scheduler") for i in range(THEIRS)],
                    [obj for g in range(GANGS) for obj in gang(g)]]
            threads = [threading.Thread(target=create, args=(cluster, wanted)) for wanted in work]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

            def pods():
                return client.list("Pod", page=5000)

            def full():
                return sum(map(is_bound, pods())) >= NODES * CPU - (SIZE - 1)

            until(full, 60, "a full cluster")
            steady(full, 2, "a full cluster")
            found = pods()
            gangs = {g: sum(is_bound(p) for p in found if p["metadata"]["name"].startswith(f"g{g:02}-")) for g in range(GANGS)}
            alone = [p for p in found if p["metadata"]["name"].startswith("theirs-")]
            wrong = reading.overfull_nodes(client.list("Node"), found)
            check(not wrong, wrong[:5])
            check(set(gangs.values()) <= {0, SIZE}, "gangs part-placed:", gangs)
            waiting = [p for p in alone if not is_bound(p)]
            until(lambda: all("no room that muster has not promised" in (condition(client.get("Pod", p["metadata"]["name"])) or {}).get("message", "")
                              or "Insufficient cpu" in (condition(client.get("Pod", p["metadata"]["name"])) or {}).get("message", "")
                              for p in waiting), 20, "reasons")
            status, text = ours.fetch("/metrics")
            equal(status, 200)
            asked = sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line.startswith("muster_extender_answers_total"))
            # Of a pod that its own filters put nowhere kube-scheduler does not ask.
            check(asked >= len(alone) - len(waiting), asked, "questions")
            figure(f"{len(alone) - len(waiting)} pods by kube-scheduler, {sum(n > 0 for n in gangs.values())} gangs by muster, {asked:.0f} questions")
        equal(cluster.refusals(), 0, "requests not allowed")


if __name__ == "__main__":
    main(globals())
