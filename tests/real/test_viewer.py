# SPDX-License-Identifier: Apache-2.0
"""musterctl from outside, by a real kube-apiserver's RBAC: users who may read one namespace see that one, with the roles
of deploy/viewer, by the token of a ServiceAccount, by a client certificate, and with Kubernetes' own role view."""
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import kube, muster  # noqa: E402
from lib.cluster import run  # noqa: E402
from lib.harness import Skip, check, equal, main, until  # noqa: E402
from lib.objects import gang, pod  # noqa: E402
from real.cluster import DEPLOY, TLS_NAME  # noqa: E402
from real.test_deploy import applied, rendered  # noqa: E402
from real.world import SOON_S, World, machines  # noqa: E402

DONE, NO, REFUSED = 0, 1, 2
OURS, THEIRS = "mine", "theirs"
RBAC = "rbac.authorization.k8s.io"


def token_of(account):
    """A token of that ServiceAccount of our namespace, made by the API server."""
    ask = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    world.admin.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": account, "namespace": OURS}})
    return world.admin.request("POST", world.admin.path("ServiceAccount", OURS, account, "token"), ask)["status"]["token"]


def certificate_of(user):
    """Files of a client certificate of that user, and its key."""
    folder, name = world.cluster.dir, f"{world.cluster.dir}/{user}"
    for arguments in (["req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/O=team/CN={user}", "-keyout", f"{name}.key", "-out", f"{name}.csr"],
                      ["x509", "-req", "-days", "2", "-in", f"{name}.csr", "-CA", "client-ca.crt", "-CAkey", "client-ca.key",
                       "-CAcreateserial", "-out", f"{name}.crt"]):
        subprocess.run(["openssl", *arguments], check=True, stderr=subprocess.DEVNULL, cwd=folder)
    return f"{name}.crt", f"{name}.key"


def may(role, subject):
    """That role in our namespace."""
    world.admin.create({"apiVersion": f"{RBAC}/v1", "kind": "RoleBinding", "metadata": {"name": f"{role}-{subject['name']}", "namespace": OURS},
                        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": role}, "subjects": [subject]})


def kubeconfig_of(user, token=None, pair=None):
    path = os.path.join(world.folder, f"{user}.kubeconfig")
    kube.write_kubeconfig(path, f'https://127.0.0.1:{world.cluster.state["port"]}', token, world.cluster.dir / "certs" / "apiserver.crt",
                          TLS_NAME, user, pair)
    return path


def users():
    """Kubeconfigs of a ServiceAccount and a user by certificate with the role of deploy/viewer, and of one that has view."""
    account = {"kind": "ServiceAccount", "namespace": OURS}
    may("muster-viewer", {**account, "name": "by-token"})
    may("muster-viewer", {"apiGroup": RBAC, "kind": "User", "name": "by-certificate"})
    may("view", {**account, "name": "by-view"})
    return [kubeconfig_of("by-token", token_of("by-token")), kubeconfig_of("by-certificate", pair=certificate_of("by-certificate")),
            kubeconfig_of("by-view", token_of("by-view"))]


def fill():
    """In both namespaces a gang that runs, one that waits, and a pod that waits; in one more of ours, muster's roles."""
    applied(world.admin, rendered(DEPLOY / "viewer"))
    for name in (OURS, THEIRS):
        world.admin.create(kube.namespace(name))
        until(lambda name=name: world.admin.list("ServiceAccount", name), SOON_S, f"the ServiceAccount of {name}")
        for group, members in (gang(f"{name}-runs", 2, cpu="1"), gang(f"{name}-waits", 2, cpu="9")):
            for obj in (group, *members):
                obj["metadata"]["namespace"] = name
                world.admin.create(obj, name)
        world.admin.create(pod(f"{name}-lone", namespace=name, cpu="100"), name)

    def told():
        return all(p["spec"].get("nodeName") or p["status"].get("conditions") for ns in (OURS, THEIRS) for p in world.admin.list("Pod", ns))

    until(told, SOON_S, "each pod has a node or a condition")


def ctl(kubeconfig, *arguments):
    """As on a laptop: no socket, and the kubeconfig at its usual place."""
    return run("musterctl", *arguments, env={"KUBECONFIG": kubeconfig, "MUSTER_SOCKET": "", "XDG_RUNTIME_DIR": world.folder, "HOME": world.folder})


def names(kubeconfig, *arguments):
    code, out, err = ctl(kubeconfig, *arguments, "-o", "json")
    equal(code, DONE, (arguments, err))
    return [g["gang"] for g in json.loads(out)["gangs"]]


def test_gangs_of_the_namespace_that_may_be_read():
    equal(names(world.cluster.admin_kubeconfig, "gangs", "-A"),
          sorted(f"{ns}/{ns}-{what}" for ns in (OURS, THEIRS) for what in ("runs", "waits")), "who may read all")
    for user in tenants:
        until(lambda user=user: ctl(user, "gangs", "-n", OURS)[0] == DONE, SOON_S, lambda user=user: ctl(user, "gangs", "-n", OURS))
        code, out, err = ctl(user, "gangs", "-n", OURS)
        equal((code, err), (DONE, ""), user)
        check(out.count("\n") == 3 and f"{OURS}/{OURS}-runs" in out and "cpu: need 18, have 0" in out and THEIRS not in out, user, out)
        equal(names(user, "gangs", "-n", OURS, "--state", "waiting"), [f"{OURS}/{OURS}-waits"], user)
        found = json.loads(ctl(user, "gangs", f"{OURS}/{OURS}-runs", "-o", "json")[1])["gangs"]
        equal([p["pod"] for p in found[0]["pods"]], [f"{OURS}-runs-0", f"{OURS}-runs-1"], user)
        for refused in (("gangs", "-A"), ("gangs",), ("gangs", "-n", THEIRS), ("gangs", f"{THEIRS}/{THEIRS}-runs"), ("gangs", "-n", THEIRS, "--singles"),
                        ("gangs", "-n", f"../namespaces/{THEIRS}"), ("gangs", "-A", "-l", "app"), ("nodes",), ("nodes", "n00"), ("simulate", "--kubeconfig", user)):
            code, out, err = ctl(user, *refused)
            equal((code, out), (REFUSED, ""), (user, refused, err))
            check(" 403 " in err and err.count("\n") == 1 and f"{THEIRS}-" not in err, user, refused, err)


def test_explain_in_the_namespace_that_may_be_read():
    for user in tenants:
        for name, exits, first in ((f"{OURS}/{OURS}-waits", NO, f"gang {OURS}/{OURS}-waits (scheduler-plugins): Waiting, 0 of 2 members placed, quorum 2"),
                                   (f"{OURS}/{OURS}-waits-1", NO, f"gang {OURS}/{OURS}-waits (scheduler-plugins): Waiting, 0 of 2 members placed, quorum 2"),
                                   (f"{OURS}/{OURS}-runs", DONE, f"gang {OURS}/{OURS}-runs (scheduler-plugins): Running, 2 of 2 members placed, quorum 2"),
                                   (f"{OURS}/{OURS}-lone", NO, f"pod {OURS}/{OURS}-lone, without a gang: Waiting")):
            code, out, err = ctl(user, "explain", name)
            equal((code, out.splitlines()[:1]), (exits, [first]), (user, err))
            check(exits == DONE or "2 Insufficient cpu" in out, user, out)
            check(THEIRS not in out + err, user, out, err)
        for refused in (f"{THEIRS}/{THEIRS}-waits", f"{THEIRS}/{THEIRS}-lone", f"{THEIRS}/no-such"):
            code, out, err = ctl(user, "explain", refused)
            equal((code, out), (REFUSED, ""), (user, refused))
            check(f'in the namespace "{THEIRS}"' in err, user, err)
    code, out, err = ctl(world.cluster.admin_kubeconfig, "explain", f"{THEIRS}/{THEIRS}-waits")
    check(code == NO and "Nothing that was tried would let it start" in out, "who may read all", out, err)


def test_as_a_plugin_of_kubectl():
    if not shutil.which("kubectl"):
        raise Skip("kubectl is not there")
    folder = os.path.join(world.folder, "plugins")
    os.mkdir(folder)
    os.symlink(muster.program("musterctl"), f"{folder}/kubectl-muster")
    env = {**os.environ, "PATH": f'{folder}:{os.environ["PATH"]}', "KUBECONFIG": tenants[0], "XDG_RUNTIME_DIR": world.folder, "HOME": world.folder}
    env.pop("MUSTER_SOCKET", None)
    done = subprocess.run(["kubectl", "muster", "gangs", "-n", OURS], env=env, capture_output=True, text=True, timeout=60, check=False)
    equal((done.returncode, done.stderr), (DONE, ""), done.stdout)
    check(f"{OURS}-waits" in done.stdout and THEIRS not in done.stdout, done.stdout)


if __name__ == "__main__":
    muster.exit_on_sigterm()
    with World(controllers=True, more=["clusterrole-aggregation"]) as world:
        world.fresh(*machines(2, cpu="4"))
        fill()
        tenants = users()
        main(globals())
