# SPDX-License-Identifier: Apache-2.0
"""musterctl nodes: one node with its pods and gangs, label selectors, over a ledger and over an API server."""
import contextlib
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import yamlsub  # noqa: E402
from lib.cluster import Cluster, run  # noqa: E402
from lib.harness import check, equal, main, until  # noqa: E402
from lib.muster import ROOT  # noqa: E402
from lib.objects import gang, node, pod  # noqa: E402
from lib.proxy import Proxy  # noqa: E402

DONE, NO, USAGE = 0, 1, 2


@contextlib.contextmanager
def cluster():
    with Cluster(*[node(f"n{i}", cpu="8", labels={"zone": f"z{i % 2}", "pool": "blue"}) for i in range(4)],
                 node("n4", unschedulable=True, labels={"zone": "z9"})) as c:
        c.up()
        for group, pods in (gang("train", 4, cpu="5"), gang("big", 5, cpu="6")):
            c.create(group, *pods)
        c.create(pod("web", cpu="2", scheduler="default-scheduler", nodeName="n1"))
        until(lambda: c.bound("train") == 4, 20, "placed")
        until(lambda: sum(n["used"]["cpu"] for n in ask(c)) == 22000, 10, lambda: ask(c))
        yield c


def nodes(*arguments, env=None):
    code, out, err = run("musterctl", "nodes", *arguments, "-o", "json", env=env)
    return code, json.loads(out)["nodes"] if out else None, err


def ask(c, *arguments):
    return c.ask_json("nodes", *arguments)[1]["nodes"]


def names(found):
    return [n["node"] for n in found]


def test_one_node_with_its_pods_and_gangs():
    with cluster() as c:
        until(lambda: all(p["status"].get("phase") == "Running" for p in c.pods() if p["spec"].get("nodeName")), 20, "they run")
        there = {p["metadata"]["name"] for p in c.pods() if p["spec"].get("nodeName") == "n1"}
        live, far = ("--socket", c.socket, "--kubeconfig", c.kubeconfig), ("--kubeconfig", c.kubeconfig)
        for source in (live, far):
            code, (n1,), err = nodes(*source, "n1")
            equal((code, err), (DONE, ""), source)
            equal(n1["labels"], {"zone": "z1", "pool": "blue"}, source)
            equal({p["pod"] for p in n1["pods_on_it"]}, there, source)
            equal({(p["gang"], p["stage"], p["scheduler"]) for p in n1["pods_on_it"]},
                  {("train", "Running", "muster"), ("", "Running", "default-scheduler")}, source)
            equal((n1["used"]["cpu"], n1["allocatable"]["cpu"], n1["pods"]), (7000, 8000, 2), source)
        code, out, err = run("musterctl", "nodes", *live, "n1")
        equal((code, err), (DONE, ""), out)
        resources, labels, pods = [part.splitlines() for part in out.split("\n\n")[1:]]
        equal([line.split() for line in resources if line.startswith(("RESOURCE", "cpu"))],
              [["RESOURCE", "USED", "FREE", "ALLOCATABLE"], ["cpu", "7", "1", "8"]])
        equal(labels, ["LABELS", "zone=z1", "pool=blue"])
        equal([line.split()[:3] for line in pods[1:]], [["default/train-" + next(x for x in there if x != "web")[-1], "default/train", "Running"],
                                                       ["default/web", "-", "Running"]])
        # What muster reserved is in the ledger, what it did not place is nowhere.
        equal(nodes(*far)[1], [{**n, "labels": labels_of(i)} for i, n in enumerate(ask(c))])


def labels_of(i):
    return {"zone": f"z{i % 2}", "pool": "blue"} if i < 4 else {"zone": "z9"}


def test_describe_node():
    with cluster() as c, tempfile.TemporaryDirectory() as home:
        alone = {"KUBECONFIG": "", "HOME": home, "KUBERNETES_SERVICE_HOST": ""}
        for words in (("describe", "node", "n1"), ("describe", "nodes", "n1"), ("nodes", "n1", "--detail")):
            code, out, err = run("musterctl", *words, "--socket", c.socket, env={"KUBECONFIG": str(c.kubeconfig)})
            equal((code, err), (DONE, ""), out)
            check("zone=z1" in out and "default/web" in out and "default/train" in out, out)
            code, out, err = run("musterctl", *words, "--socket", c.socket, env=alone)
            equal((code, err), (DONE, ""), out)
            check("FREE" in out and "--kubeconfig names one" in out, out)
        equal(run("musterctl", "describe", "node", "n9", "--socket", c.socket, env=alone)[0], NO)
        code, out, err = run("musterctl", "describe", "node", "--socket", c.socket, env=alone)
        equal((code, out), (USAGE, ""), err)
        check("--detail goes with the name of a node" in err, err)


def test_labels():
    with cluster() as c:
        for source in (("--socket", c.socket, "--kubeconfig", c.kubeconfig), ("--kubeconfig", c.kubeconfig)):
            equal(names(nodes(*source, "-l", "zone=z1")[1]), ["n1", "n3"], source)
            equal(names(nodes(*source, "-l", "zone in (z0, z9)")[1]), ["n0", "n2", "n4"], source)
            equal(names(nodes(*source, "-l", "!pool")[1]), ["n4"], source)
            equal(nodes(*source, "-l", "pool=red")[:2], (DONE, []), source)
            equal(run("musterctl", "nodes", *source, "-l", "zone=z1", "--no-headers")[1].split()[0], "n1", source)
            code, _, err = nodes(*source, "n0", "-l", "zone=z1")
            check(code == NO and "no node named n0" in err, err)
        for bad, said in ((("-l", "a in (b"), "-l a in (b"), (("-l", "zone=z1", "-w", "-o", "name"), "--watch goes with"), (("n9",), "no node named n9")):
            code, out, err = run("musterctl", "nodes", "--kubeconfig", c.kubeconfig, *bad)
            check(code in (NO, USAGE) and said in err and not out, bad, err)


def test_without_rights():
    """Refused once, in one line; kinds of groups that may not be listed are named."""
    with cluster() as c, tempfile.TemporaryDirectory() as folder, Proxy(c.kubeconfig, folder) as proxy:
        where = ("--kubeconfig", proxy.kubeconfig, "n1")
        proxy.rule(lambda call: call.resource == "podgroups", lambda call: call.status(403, "no"))
        code, (n1,), err = nodes(*where)
        equal((code, n1["used"]["cpu"]), (DONE, 7000), err)
        check("no right to list" in err and err.count("\n") == 1, err)
        proxy.rule(lambda call: call.resource == "nodes", lambda call: call.status(403, "no"))
        code, found, err = nodes(*where)
        equal((code, found), (USAGE, None), err)
        check("403" in err and err.count("\n") == 1, err)
        check(all(call.method == "GET" for call in proxy.seen), "nothing but reading")
        equal({call.resource for call in proxy.seen} & {"nodes", "pods"}, {"nodes", "pods"})
        role = yamlsub.load_all((ROOT / "deploy" / "viewer" / "clusterrole.yaml").read_text(encoding="utf-8"))[0]
        check("nodes" not in role["rules"][0]["resources"], "a tenant's role shows no nodes")


if __name__ == "__main__":
    main(globals())
