# SPDX-License-Identifier: Apache-2.0
"""musterctl gangs over an API server, with the rights of the caller: a proxy stands in for its authorization."""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import muster, objects, yamlsub  # noqa: E402
from lib.cluster import Cluster, run  # noqa: E402
from lib.harness import check, equal, eventually, main, until  # noqa: E402
from lib.proxy import Proxy  # noqa: E402

DONE, NO, USAGE = 0, 1, 2


def gang_of(namespace, name, members, labels=None, **pod):
    group, pods = objects.gang(name, members, **pod)
    for obj in (group, *pods):
        obj["metadata"]["namespace"] = namespace
    for one in pods:
        one["metadata"].setdefault("labels", {}).update(labels or {})
    return [group, *pods]


def fill(c):
    for name in ("a", "b"):
        c.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    c.create(*gang_of("a", "train", 2, {"app": "x"}, cpu="1"), *gang_of("a", "big", 2, cpu="9"),
             *gang_of("b", "secret", 2, {"app": "y"}, cpu="1"))


def gangs(*arguments, env=None):
    code, out, err = run("musterctl", "gangs", *arguments, "-o", "json", env=env)
    return code, json.loads(out)["gangs"] if out else None, err


def names(found):
    return [g["gang"] for g in found]


def may_read(proxy, namespace):
    """Only what lies in that namespace, as RBAC answers."""
    proxy.rule(lambda call: f"/namespaces/{namespace}/" not in call.path,
               lambda call: call.status(403, f'{call.resource} is forbidden: User "tenant" cannot list resource at the cluster scope'))


def test_the_same_as_the_ledger():
    with Cluster(objects.node("n1", cpu="8")) as c:
        c.up()
        fill(c)
        until(lambda: c.stats()["binds"] == 4, 30, "bound")
        until(lambda: [g.get("reason", "") for g in gangs("--kubeconfig", c.kubeconfig, "a/big")[1]][0], 30, "big was told")

        def same():
            _, live, _ = gangs("--socket", c.socket)
            code, far, err = gangs("--kubeconfig", c.kubeconfig)
            equal((code, err), (DONE, ""), "gangs")
            equal(names(far), ["a/big", "a/train", "b/secret"], "gangs of all namespaces")
            for one, other in zip(live, far):
                for field in ("gang", "state", "dialect", "quorum", "members", "placed", "succeeded", "failed", "priority"):
                    equal(one[field], other[field], (one["gang"], field))
            equal(far[0]["reason"].split(". ")[-1], live[0]["reason"].split(". ")[-1], "the reason that muster wrote")
            equal([g["position"] for g in far], [None] * 3, "the queue is not shown")

        eventually(same)
        equal(names(gangs("--kubeconfig", c.kubeconfig, "-n", "b")[1]), ["b/secret"], "-n")
        equal(names(gangs("--kubeconfig", c.kubeconfig, "--state", "waiting")[1]), ["a/big"], "--state")


def test_members_and_labels():
    with Cluster(objects.node("n1", cpu="8")) as c:
        c.up()
        fill(c)
        until(lambda: c.stats()["binds"] == 4, 30, "bound")
        where = ("--kubeconfig", c.kubeconfig)
        until(lambda: [p["stage"] for p in gangs(*where, "a/train")[1][0]["pods"]] == ["Running"] * 2, 30, "they run")
        equal([(p["pod"], p["node"]) for p in gangs(*where, "a/train")[1][0]["pods"]], [("train-0", "n1"), ("train-1", "n1")], "members")
        equal([(p["node"], p["stage"]) for p in gangs(*where, "a/big")[1][0]["pods"]], [("", "Waiting")] * 2, "of one that waits")
        for source in (where, ("--socket", c.socket, *where)):
            equal(names(gangs(*source, "-l", "app in (x, z)")[1]), ["a/train"], source)
            equal(gangs(*source, "-l", "!app")[1][0]["gang"], "a/big", source)
            code, out, err = run("musterctl", "gangs", *source, "-n", "a", "train", "-o", "wide")
            equal((code, err), (DONE, ""), out)
            equal([line.split()[:3] for line in out.split("\n\n")[1].splitlines()],
                  [["POD", "NODE", "STAGE"], ["train-0", "n1", "Running"], ["train-1", "n1", "Running"]], out)
        for bad, said in ((("-l", "a in (b"), "-l a in (b"), (("-w",), "--watch goes with"), (("nope/none",), "no gang named nope/none")):
            code, out, err = run("musterctl", "gangs", *where, *bad)
            check(code in (NO, USAGE) and said in err and not out, bad, err)


def test_pods_without_a_gang():
    with Cluster(objects.node("n1", cpu="8")) as c:
        c.up()
        fill(c)
        c.create(objects.pod("lone", namespace="a", cpu="100"), objects.pod("small", namespace="a", cpu="10m"))
        where = ("--kubeconfig", c.kubeconfig)

        def listed():
            found = json.loads(run("musterctl", "gangs", *where, "-n", "a", "--singles", "-o", "json")[1])["pods"]
            equal([(p["pod"], p["node"]) for p in found], [("a/lone", ""), ("a/small", "n1")], found)
            check("Insufficient cpu" in found[0]["reason"], found)

        eventually(listed)
        equal(run("musterctl", "gangs", *where, "--singles", "a/lone")[0], USAGE, "with a name")
        # By the objects alone, and beside a live scheduler, as muster told the pod.
        for env in ({}, {"MUSTER_SOCKET": c.socket, "KUBECONFIG": c.kubeconfig}):
            flags = () if env else where
            code, out, err = run("musterctl", "explain", *flags, "a/lone", env=env)
            equal((code, err), (NO, ""), out)
            check(out.startswith("pod a/lone, without a gang: Waiting\n") and "Insufficient cpu" in out, out)
            code, out, _ = run("musterctl", "explain", *flags, "a/small", env=env)
            equal((code, out), (DONE, "pod a/small, without a gang: Bound on n1\n"), "a bound one")
            code, out, _ = run("musterctl", "explain", *flags, "a/train-0", env=env)
            check(code == DONE and out.startswith("gang a/train "), "a member's name leads to its gang", out)


def test_a_socket_is_enough():
    """Members are asked for beside a socket only if a server is named, and not with -w."""
    with Cluster(objects.node("n1", cpu="8")) as c, tempfile.TemporaryDirectory() as folder:
        c.up()
        fill(c)
        until(lambda: c.stats()["binds"] == 4, 30, "bound")
        down = os.path.join(folder, "config")
        with open(c.kubeconfig, encoding="utf-8") as f, open(down, "w", encoding="utf-8") as to:
            to.write(f.read().replace(str(c.apisim.port), "1"))
        wide = ("--socket", c.socket, "a/train", "-o", "wide")
        for env in ({"KUBECONFIG": down}, {"KUBECONFIG": "", "HOME": folder, "KUBERNETES_SERVICE_HOST": ""}):
            code, out, err = run("musterctl", "gangs", *wide, env=env)
            equal((code, err), (DONE, ""), out)
            check("a/train" in out and "STAGE" not in out, out)
        code, out, err = run("musterctl", "gangs", *wide, "--kubeconfig", down)
        check(code == USAGE and err and not out, "a server that is named is asked", code, err)
        watch = subprocess.Popen([muster.program("musterctl"), "gangs", *wide, "--kubeconfig", down, "-w", "--no-headers"],
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            equal(watch.stdout.readline().split()[:2], ["a/train", "Running"], "-w beside a socket")
        finally:
            watch.kill()
            watch.communicate()


def test_a_tenant_sees_its_namespace():
    with Cluster(objects.node("n1", cpu="8")) as c, tempfile.TemporaryDirectory() as folder, Proxy(c.kubeconfig, folder) as proxy:
        c.up()
        fill(c)
        until(lambda: c.stats()["binds"] == 4, 30, "bound")
        may_read(proxy, "a")
        where = ("--kubeconfig", proxy.kubeconfig)
        code, found, err = gangs(*where, "-n", "a")
        equal((code, names(found), err), (DONE, ["a/big", "a/train"], ""), "its own")
        for refused in ((), ("-n", "b"), ("-A",), ("b/secret",), ("-n", "../namespaces/b"), ("-n", "a/../b"), ("-l", "app=y")):
            code, out, err = run("musterctl", "gangs", *where, *refused)
            equal((code, out), (USAGE, ""), refused)
            check("403" in err and "secret" not in err and err.count("\n") == 1, refused, err)
            check("-n" in err or refused, err)
        check(all(call.method == "GET" for call in proxy.seen), "nothing but reading")
        # A kind of groups without the right to it is said once; the gang is there.
        proxy.rule(lambda call: call.resource == "podgroups", lambda call: call.status(403, "no"))
        code, found, err = gangs(*where, "-n", "a")
        equal((code, names(found)), (DONE, ["a/big", "a/train"]), err)
        check("no right to list" in err and "podgroups.scheduling.x-k8s.io" in err and err.count("\n") == 1, err)


def test_a_tenant_is_told_why():
    """Without the right to nodes nothing can be placed: what muster wrote into the pods of its namespace is there."""
    with Cluster(objects.node("n1", cpu="8")) as c, tempfile.TemporaryDirectory() as folder, Proxy(c.kubeconfig, folder) as proxy:
        c.up()
        fill(c)
        c.create(objects.pod("lone", namespace="a", cpu="100"))
        until(lambda: c.stats()["binds"] == 4, 30, "bound")
        until(lambda: c.why_pending("lone", "a") and c.why_pending("big-0", "a"), 30, "told")
        may_read(proxy, "a")
        where = ("explain", "--kubeconfig", proxy.kubeconfig)
        for name, exits, first, reason in (
                ("a/big", NO, "gang a/big (scheduler-plugins): Waiting, 0 of 2 members placed, quorum 2", "0 of 2 members have room; cpu: need 18, have 0."),
                ("a/big-1", NO, "gang a/big (scheduler-plugins): Waiting, 0 of 2 members placed, quorum 2", "cpu: need 18"),
                ("a/train", DONE, "gang a/train (scheduler-plugins): Running, 2 of 2 members placed, quorum 2", ""),
                ("a/lone", NO, "pod a/lone, without a gang: Waiting", "1 Insufficient cpu.")):
            code, out, err = run("musterctl", *where, name)
            equal((code, out.splitlines()[0]), (exits, first), (name, err))
            check(reason in out and len(out.splitlines()) == (3 if reason else 1), name, out)
            check("of its namespace alone" in err and "403" in err and err.count("\n") == 1, name, err)
        big = json.loads(run("musterctl", *where, "a/big", "-o", "json")[1])
        equal(sorted(big), ["dialect", "formerState", "former_state", "gang", "members", "placed", "quorum", "reason", "state"], "fields that are known")
        for name, said in (("b/secret", "namespaces/b/pods"), ("b/none", "namespaces/b/pods"), ("a/none", "no such gang or pod")):
            code, out, err = run("musterctl", *where, name)
            equal((code, out), (USAGE, ""), name)
            check(said in err, name, err)
        code, out, err = run("musterctl", *where, "--add-node", "1xn1", "a/big")
        equal((code, out), (USAGE, ""), "what would be with another node")
        check("403" in err and err.count("\n") == 1, err)


def test_the_role_is_what_is_read():
    with Cluster(objects.node("n1")) as c, tempfile.TemporaryDirectory() as folder, Proxy(c.kubeconfig, folder) as proxy:
        equal(gangs("--kubeconfig", proxy.kubeconfig, "-n", "a", "-l", "app")[0], DONE, "gangs")
        asked = {(call.path.split("/")[2] if call.path.startswith("/apis/") else "", call.resource) for call in proxy.seen}
        role, _ = yamlsub.load_all((muster.ROOT / "deploy" / "viewer" / "clusterrole.yaml").read_text(encoding="utf-8"))
        given = {(group, resource) for rule in role["rules"] for group in rule["apiGroups"] for resource in rule["resources"]}
        equal(given, asked, "the rights of muster-viewer")
        equal({verb for rule in role["rules"] for verb in rule["verbs"]}, {"list"}, "verbs")


PLUGIN = """#!/bin/sh
test "$TEAM" = a || { echo "the variable is $TEAM" >&2; exit 3; }
test -z "$(cat)" && echo "$KUBERNETES_EXEC_INFO" > "$(dirname "$0")/info"
printf '{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": %s}' "$1"
"""


def with_plugin(folder, server, status, **more):
    """A kubeconfig in this folder whose user has a plugin beside it."""
    user = {"apiVersion": "client.authentication.k8s.io/v1", "command": "./plugin", "args": [status],
            "env": [{"name": "TEAM", "value": "a"}], "interactiveMode": "IfAvailable", "provideClusterInfo": True, **more}
    path = os.path.join(folder, "config")
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"apiVersion": "v1", "kind": "Config", "current-context": "x",
                   "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
                   "clusters": [{"name": "x", "cluster": {"server": server}}], "users": [{"name": "x", "user": {"exec": user}}]}, f)
    with open(os.path.join(folder, "plugin"), "w", encoding="utf-8") as f:
        f.write(PLUGIN)
    os.chmod(os.path.join(folder, "plugin"), 0o755)
    return path


def test_credential_plugins():
    with Cluster(objects.node("n1")) as c, tempfile.TemporaryDirectory() as folder:
        c.create(*gang_of("default", "train", 2))
        server, good = f"http://127.0.0.1:{c.apisim.port}", json.dumps({"token": c.client.token})
        path = with_plugin(folder, server, good)
        code, found, err = gangs("--kubeconfig", path)
        equal((code, err), (DONE, ""), "gangs")
        equal(names(found), ["default/train"], "with the plugin's token")
        with open(os.path.join(folder, "info"), encoding="utf-8") as f:
            info = json.load(f)
        equal(info["spec"], {"interactive": False, "cluster": {"server": server}}, "KUBERNETES_EXEC_INFO")
        for command in (("explain", "default/train", "--add-node", "1xn1"), ("simulate",)):
            code, out, err = run("musterctl", *command, "--kubeconfig", path)
            check("default/train" in out and "plugin" not in err, command, err)
        pem = "-----BEGIN X-----"
        for status, more, said in (
                ('{"token": "wrong"}', {}, "is the token right and not expired?"), ("{}", {}, "neither a token nor"), ("7", {}, "neither a token nor"), ("}", {}, "no ExecCredential"),
                ('{"token": "a\\r\\nX-Remote-User: root"}', {}, "control bytes"), ('{"token": ["t"]}', {}, "neither a token nor"),
                (json.dumps({"token": "t", "clientCertificateData": pem}), {}, "without its key"),
                ('{"clientCertificateData": "a", "clientKeyData": "b"}', {}, "not PEM"),
                (good, {"env": [{"name": "TEAM", "value": "b"}]}, "failed"), (good, {"env": [{"name": "A=B", "value": "b"}]}, "env[0]"),
                (good, {"env": {"TEAM": "a"}}, "env is not a list"), (good, {"args": [{}]}, "args[0]"), (good, {"args": ["a"] * 65}, "more than 64"),
                (good, {"apiVersion": "client.authentication.k8s.io/v1alpha1"}, "neither client.authentication.k8s.io/v1"),
                (good, {"apiVersion": "client.authentication.k8s.io/v1beta1"}, "another apiVersion"), (good, {"apiVersion": None}, "apiVersion is missing"),
                (good, {"command": "no-such-plugin", "installHint": "get it there"}, "not in $PATH; get it there"),
                (good, {"command": "/nowhere/plugin"}, "failed"), (good, {"interactiveMode": "Always"}, "ask questions")):
            code, out, err = run("musterctl", "gangs", "--kubeconfig", with_plugin(folder, server, status, **more))
            check(code == USAGE and said in err and not out, said, code, err)
            check(c.client.token not in err, "a secret", err)


def test_without_a_scheduler_here_the_kubeconfig_counts():
    with Cluster(objects.node("n1", cpu="8")) as c, tempfile.TemporaryDirectory() as home:
        c.create(*gang_of("default", "train", 2))
        os.mkdir(f"{home}/.kube")
        os.symlink(c.kubeconfig, f"{home}/.kube/config")
        here = {"HOME": home, "KUBECONFIG": "", "XDG_RUNTIME_DIR": home, "MUSTER_SOCKET": "", "KUBERNETES_SERVICE_HOST": ""}
        code, found, err = gangs(env=here)
        equal((code, names(found), err), (DONE, ["default/train"], ""), "as kubectl finds it")
        code, out, err = run("musterctl", "gangs", env={**here, "MUSTER_SOCKET": f"{home}/none"})
        check(code == NO and "no muster-core serves" in err, "a socket that is named counts", err)
        os.remove(f"{home}/.kube/config")
        code, out, err = run("musterctl", "gangs", env=here)
        check(code == NO and "no muster-core serves" in err, err)


def test_answers_that_make_no_sense():
    with Cluster(objects.node("n1")) as c, tempfile.TemporaryDirectory() as folder, Proxy(c.kubeconfig, folder) as proxy:
        for body in (b"", b"[]", b"{}", b'{"items": 7}', b'{"items": [null]}', b'{"items": [{"kind": "Pod"}]}', b"{" * 100000,
                     b'{"apiVersion": "v1", "kind": "PodList", "metadata": {"continue": "x"}, "items": []}'):
            proxy.calm()
            proxy.rule(lambda call: call.resource == "pods", lambda call, body=body: call.answer(200, body))
            code, out, err = run("musterctl", "gangs", "--kubeconfig", proxy.kubeconfig)
            check(code in (DONE, USAGE) and len(err) < 4000, body[:50], code, err[:500])


if __name__ == "__main__":
    main(globals())
