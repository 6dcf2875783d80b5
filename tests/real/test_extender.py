# SPDX-License-Identifier: Apache-2.0
"""muster and the real kube-scheduler 1.36.3 on one ledger, with the configuration of deploy/kube-scheduler:
both fill a real cluster at once, by their own pods.

Skipped while kube-scheduler is not built: tests/real/build.sh kube-scheduler."""
import http.client
import json
import os
import pathlib
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import check as reading  # noqa: E402
from lib import kube, muster, objects, yamlsub  # noqa: E402
from lib.check import condition, is_bound  # noqa: E402
from lib.harness import Skip, check, equal, figure, main, steady, until  # noqa: E402
from real.cluster import DEPLOY, Cluster, built  # noqa: E402
from real.kube_scheduler import KubeScheduler  # noqa: E402

NODES, CPU = 30, 8
THEIRS = 140  # lone pods of a core each
GANGS, SIZE = 30, 4  # ... of muster: together more than fit


def config_for(kubeconfig, listen):
    """The shipped file, with the addresses of this host."""
    text = (DEPLOY / "kube-scheduler" / "config.yaml").read_text()
    for old, new in (("/etc/kubernetes/scheduler.conf", str(kubeconfig)), ("http://127.0.0.1:10261", f"http://{listen}"),
                     ("leaderElect: true", "leaderElect: false")):
        check(text.count(old) == 1, old, "is not once in the file")
        text = text.replace(old, new)
    return text.replace("clientConnection:", "clientConnection:\n  qps: 5000\n  burst: 5000")


def issue(folder, name, subject, purpose):
    """A certificate of the cluster's client CA, in folder/NAME.crt and .key."""
    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder)

    with open(os.path.join(folder, "ext"), "w", encoding="ascii") as file:
        file.write(f"extendedKeyUsage={purpose}\nsubjectAltName=IP:127.0.0.1\n")
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={subject}", "-keyout", f"{name}.key", "-out", f"{name}.csr")
    openssl("x509", "-req", "-days", "2", "-in", f"{name}.csr", "-CA", "client-ca.crt", "-CAkey", "client-ca.key",
            "-CAcreateserial", "-extfile", "ext", "-out", f"{name}.crt")


def tls_flags(folder):
    issue(folder, "port", "muster", "serverAuth")
    return [f"--{flag}={folder}/{name}" for flag, name in (
        ("tls-cert-file", "port.crt"), ("tls-private-key-file", "port.key"), ("client-ca-file", "client-ca.crt"))]


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

            def told(name):
                """Or bound by now: what is full may lack some cores."""
                now = client.get("Pod", name)
                said = (condition(now) or {}).get("message", "")
                return is_bound(now) or "no room that muster has not promised" in said or "Insufficient cpu" in said

            until(lambda: all(told(p["metadata"]["name"]) for p in waiting), 20, "reasons")
            status, text = ours.fetch("/metrics")
            equal(status, 200)
            asked = sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line.startswith("muster_extender_answers_total"))
            # For a pod that its own filters reject on all nodes kube-scheduler does not call the extender.
            check(asked >= len(alone) - len(waiting), asked, "questions")
            figure(f"{len(alone) - len(waiting)} pods by kube-scheduler, {sum(n > 0 for n in gangs.values())} gangs by muster, {asked:.0f} questions")
        equal(cluster.refusals(), 0, "requests not allowed")


def test_kube_scheduler_by_its_certificate():
    """deploy/extender: its own user's certificate is taken, and pods are placed with muster's answers."""
    program = built("kube-scheduler")
    if not program:
        raise Skip("kube-scheduler is not built; tests/real/build.sh kube-scheduler does it in some minutes")
    folder = muster.scratch("muster-extender-")
    with Cluster(os.path.join(folder, "cluster")) as cluster:
        client, where = cluster.admin(), str(cluster.dir)
        for i in range(3):
            client.create(objects.node(f"n{i}", cpu="8", memory="64Gi"))
        issue(where, "scheduler", "system:kube-scheduler", "clientAuth")
        health = f"127.0.0.1:{muster.free_port()}"
        config = pathlib.Path(folder, "frontend.yaml")
        config.write_text(f'apiVersion: muster.dev/v1alpha1\nkind: Configuration\nhealthListen: "{health}"\n'
                          "extenderKeepSeconds: 30\nextenderAuth: mtls\n"
                          f"tlsCertFile: {where}/port.crt\ntlsPrivateKeyFile: {where}/port.key\nclientCAFile: {where}/client-ca.crt\n",
                          encoding="utf-8")
        tls_flags(where)
        with muster.Muster(cluster.muster_kubeconfig, os.path.join(folder, "muster"), "--config", str(config)) as ours:
            until(lambda: kube.fetch(health, "/readyz")[0] == 200, 30, "ready")
            text = config_for(cluster.admin_kubeconfig, ours.listen).replace(f"http://{ours.listen}", f"https://{ours.listen}")
            text += (f"  enableHTTPS: true\n  tlsConfig: {{caFile: {where}/client-ca.crt, certFile: {where}/scheduler.crt, "
                     f"keyFile: {where}/scheduler.key}}\n")
            text = text.replace("ignorable: true", "ignorable: false")
            with KubeScheduler(program, cluster.admin_kubeconfig, folder, text) as theirs:
                until(theirs.ready, 60, "kube-scheduler's /readyz")
                for i in range(20):
                    client.create(objects.pod(f"theirs-{i}", cpu="1", memory="64Mi", scheduler="default-scheduler"))
                until(lambda: sum(map(is_bound, client.list("Pod"))) == 20, 60, lambda: theirs.log()[-2000:])
        check("a client certificate" not in ours.log(), ours.log()[-2000:])


def test_token_review():
    """deploy/extender-token: the API server says whose a token is, with no more rights than those of that folder."""
    folder = muster.scratch("muster-extender-")
    with Cluster(os.path.join(folder, "cluster")) as cluster:
        client = cluster.admin()
        client.create(objects.node("n0", cpu="8", memory="64Gi"))
        client.create(objects.pod("p", cpu="1", memory="64Mi", scheduler="default-scheduler"))
        body = json.dumps({"Pod": client.get("Pod", "p"), "Nodes": None, "NodeNames": ["n0"]})
        with muster.Muster(cluster.muster_kubeconfig, os.path.join(folder, "muster"), "--config", with_token(folder)) as ours:
            ours.wait_ready()

            def ask(token):
                connection = http.client.HTTPConnection(*ours.listen.split(":"), timeout=60)
                connection.request("POST", "/filter", body, {"Content-Type": "application/json", "Authorization": f"Bearer {token}"})
                answer = connection.getresponse()
                return answer.status, answer.read().decode()

            good = cluster.state["tokens"]["admin"]
            equal(ask(good)[0], 503, "without the right")
            check("tokenreviews" in ours.log(), ours.log()[-2000:])
            applied(client, yamlsub.load_all((DEPLOY / "extender-token" / "tokenreviews.yaml").read_text(encoding="utf-8")))
            until(lambda: ask(good)[0] == 200, 20, lambda: ask(good), every_s=0.5)
            equal(json.loads(ask(good)[1])["NodeNames"], ["n0"])
            equal(ask("none-of-this-cluster")[0], 401)
            equal(ask(cluster.state["tokens"]["muster"])[0], 403, "of another user")


def with_token(folder):
    config = pathlib.Path(folder, "frontend.yaml")
    config.write_text("apiVersion: muster.dev/v1alpha1\nkind: Configuration\nextenderKeepSeconds: 30\nextenderAuth: token\n"
                      "extenderUsers: [admin]\n", encoding="utf-8")
    return str(config)


def applied(client, wanted):
    for obj in wanted:
        client.create(obj)


if __name__ == "__main__":
    main(globals())
