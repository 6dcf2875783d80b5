# SPDX-License-Identifier: Apache-2.0
"""The configuration file, from both programs that read it, and nodes chosen by their labels."""
import os
import pathlib
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import muster, objects, yamlsub  # noqa: E402
from lib.cluster import Cluster, run  # noqa: E402
from lib.harness import check, equal, main, steady, until  # noqa: E402
from lib.kube import STRATEGIC  # noqa: E402
from lib.objects import node, pod  # noqa: E402

HEAD = "apiVersion: muster.dev/v1alpha1\nkind: Configuration\n"
BASE = pathlib.Path(__file__).resolve().parents[2] / "deploy" / "base"
STILL_S, SOON_S = 0.7, 10


def written(folder, text, name="muster.yaml"):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as f:
        f.write(HEAD + text)
    return path


def effective(path, *flags):
    code, out, err = run("muster-frontend", "--check-config", path, *flags)
    equal((code, err), (0, ""), "--check-config")
    return out


def log_of(process, *parts):
    text = process.log()
    for part in parts:
        check(part in text, f"{part!r} is not in the log:\n{text[-2000:]}")


def test_up_with_nothing_but_a_file():
    with Cluster(node("n1", cpu="64")) as c:
        c.listen = f"127.0.0.1:{muster.free_port()}"
        path = written(c.folder, f"""
kubeconfig: {c.kubeconfig}
socket: {c.socket}
listen: "{c.listen}"
schedulerNames: [alpha, beta]
coscheduling: {{podGroupBackoffSeconds: 5, permitWaitingTimeSeconds: 30}}
core:
  maxPods: 77
""")
        up = c.spawn("musterctl", "up", "--config", path)
        c.ready(up)
        c.create(*(pod(f"{name}-0", scheduler=name) for name in ("alpha", "beta", "muster")))
        until(lambda: c.bound("alpha") + c.bound("beta") == 2, SOON_S, "pods of both names are bound")
        steady(lambda: c.bound("muster") == 0, STILL_S, "a name that is not in the file")
        log_of(up, "limits 131072 nodes and 77 pods", "no effect: coscheduling.podGroupBackoffSeconds: ")
        check("permitWaitingTimeSeconds" not in up.log(), "it has an effect")
        equal(up.stop(), 0, "exit code")


def test_flags_go_before_the_file():
    with Cluster(node("n1", cpu="64")) as c:
        path = written(c.folder, 'schedulerNames: [alpha]\nlisten: "off"\ncore: {maxPods: 77, maxNodes: 9}\n')
        c.up("--config", path, "--scheduler-name", "gamma", "--max-pods", 99)
        c.create(pod("alpha-0", scheduler="alpha"), pod("gamma-0", scheduler="gamma"))
        until(lambda: c.bound("gamma") == 1, SOON_S, "the flag's name")
        steady(lambda: c.bound("alpha") == 0, STILL_S, "the file's name")
        log_of(c.ctl, "limits 9 nodes and 99 pods")


def test_a_dialect_is_off():
    """Its marks mean nothing, and its objects are not listed."""
    with Cluster(node("n1", cpu="64")) as c:
        path = written(c.folder, "disabledDialects: [scheduler-plugins]\n")
        c.up("--config", path)
        group, members = objects.gang("g", 2, 5)
        c.create(group, *members)
        until(lambda: c.bound("g") == 2, SOON_S, "members are pods like others")
        log_of(c.ctl, "dialects that are off: scheduler-plugins")
        check("listed podgroups.scheduling.x-k8s.io" not in c.ctl.log(), "the groups were listed")


def test_the_same_with_it_on():
    with Cluster(node("n1", cpu="64")) as c:
        c.up("--config", written(c.folder, "dialects: [scheduler-plugins]\n"))
        c.gang("g", 2, 5)
        steady(lambda: c.bound("g") == 0, STILL_S, "two of five")
        log_of(c.ctl, "listed podgroups.scheduling.x-k8s.io")


def test_nothing_is_guessed():
    folder = muster.scratch()
    path = written(folder, "listen: \"off\"\ncore:\n  maxNode: 5\n")
    wanted = f"{path}:5:3: core.maxNode: no such key; is core.maxNodes meant?\n"
    for command in (["muster-frontend", "--config"], ["muster-frontend", "--check-config"],
                    ["musterctl", "up", "--config"]):
        equal(run(*command, path), (2, "", wanted), " ".join(command))
    equal(run("muster-frontend", "--config", folder + "/none"),
          (2, "", f"{folder}/none: No such file or directory\n"), "no file")
    code, _, err = run("musterctl", "up", "--config")
    equal((code, err), (2, "musterctl up: --config: a value is missing\n"), "no name")
    for flag in ("--check-config", "--help-config"):
        equal(run("musterctl", "up", flag, path)[0], 2, f"musterctl up {flag}")


def test_what_is_printed_can_be_read():
    """The schema's comments are the defaults; the output of --check-config is equivalent input."""
    folder = muster.scratch()
    code, schema, _ = run("muster-frontend", "--help-config")
    equal(code, 0, "--help-config")
    defaults = written(folder, "")
    whole = os.path.join(folder, "schema.yaml")
    unset = re.compile(r"#\w+: (?:[A-Z/]+|seconds|percent)?$")
    keys = [line for line in schema.splitlines() if re.match(r" *#[\w-]", line) and not unset.search(line)]
    check(len(keys) > 30, keys)
    for text in (schema, re.sub(r"(?m)^( *)#(?=[\w-])(?!disabledDialects)(?!\w+: (?:[A-Z/]+|seconds|percent)$)", r"\1", schema)):
        with open(whole, "w", encoding="utf-8") as f:
            f.write(text)
        equal(effective(whole), effective(defaults), "the schema's values are the defaults")
    check("\nlisten: " in text and "\n- native " in text, text)
    other = written(folder, """
schedulerNames: [a, "5", "true", 'with "quotes" and \\']
nodeSelector: pool in (a,b),!old
listen: ":0"
context: "it's: a # b"
insecureSkipTLSVerify: true
dialects: []
cpu: 0x2
coscheduling: {permitWaitingTimeSeconds: 900, deniedPGExpirationTimeSeconds: 0}
defaultTimeouts: {configmapSeconds: 10}
core: {score: pack, maxNameBytes: 4294967296, record: /tmp/a b}
""", "other.yaml")
    once = effective(other, "--report-qps", "7")
    again = os.path.join(folder, "again.yaml")
    with open(again, "w", encoding="utf-8") as f:
        f.write(once)
    equal(effective(again), once, "read again")
    for line in ('schedulerNames: [a, "5", "true", "with \\"quotes\\" and \\\\"]', 'nodeSelector: "pool in (a,b),!old"',
                 'listen: ":0"', 'context: "it\'s: a # b"', "insecureSkipTLSVerify: true", "dialects: []",
                 "cpu: 2", "reportQPS: 7", "  permitWaitingTimeSeconds: 900", "  maxNameBytes: 4294967296",
                 '  record: "/tmp/a b"'):
        check(line in once.splitlines(), f"{line!r} is not in\n{once}")


def test_deployment():
    """The file that deploy/base mounts is valid, at the path in the container's flags."""
    out = effective(str(BASE / "config.yaml"))
    check('listen: "0.0.0.0:10261"' in out, out)
    kustomization = (BASE / "kustomization.yaml").read_text(encoding="utf-8")
    check(re.search(r"configMapGenerator:\n- name: muster-config\n  namespace: muster-system\n  files:\n  - config.yaml\n",
                    kustomization), kustomization)
    deployment, = yamlsub.load_all((BASE / "deployment.yaml").read_text(encoding="utf-8"))
    spec = deployment["spec"]["template"]["spec"]
    frontend, = [c for c in spec["containers"] if c["name"] == "frontend"]
    core, = [c for c in spec["containers"] if c["name"] == "core"]
    equal(frontend["args"], ["--config", "/etc/muster/config.yaml", "--max-memory=$(MEMORY_LIMIT)"], "args")
    equal([m["mountPath"] for m in frontend["volumeMounts"] if m["name"] == "config"], ["/etc/muster"], "mount")
    equal([v["configMap"]["name"] for v in spec["volumes"] if v["name"] == "config"], ["muster-config"], "volume")
    check(f"socket: {core['args'][1]}" in out, "core and frontend meet at one socket")
    # kustomize adds the hash to resourceNames as well, and the Lease has none.
    for rules in (o.get("rules", []) for o in yamlsub.load_all((BASE / "rbac.yaml").read_text(encoding="utf-8"))):
        check(all("muster-config" not in rule.get("resourceNames", []) for rule in rules), rules)


# ---- nodes by their labels ----------------------------------------------------------------

def label(c, name, **labels):
    c.client.patch("Node", name, {"metadata": {"labels": labels}}, None, content_type=STRATEGIC)


def where(c, prefix):
    return sorted(p["spec"].get("nodeName") or "" for p in c.pods(prefix))


def test_other_nodes_do_not_exist():
    nodes = [node(f"{pool}{i}", cpu="2", labels={"pool": pool}) for pool in "ab" for i in range(2)]
    with Cluster(*nodes, node("c0", cpu="2")) as c:
        # Another scheduler's pods: one on a node outside --node-selector, one on a node inside.
        c.create(pod("old-b", nodeName="b0"), pod("old-a", nodeName="a0"))
        c.up("--node-selector", "pool in (a)")
        c.gang("g", 4)
        steady(lambda: c.bound("g") == 0, STILL_S, "three fit beside old-a, of four")
        c.delete("Pod", "old-a")
        until(lambda: c.bound("g") == 4, SOON_S, "all four")
        equal(where(c, "g"), ["a0", "a0", "a1", "a1"], "nodes")
        check(not c.wrongs(), c.wrongs())


def test_a_node_loses_its_label():
    nodes = [node(f"n{i}", cpu="2", labels={"pool": "a"}) for i in range(2)]
    with Cluster(*nodes) as c:
        c.up("--config", written(c.folder, "nodeSelector: pool=a,!sick\n"))
        c.create(pod("first-0", nodeSelector={"kubernetes.io/hostname": "n0"}))
        until(lambda: c.bound("first") == 1, SOON_S, "bound")
        label(c, "n0", sick="yes")
        until(lambda: c.metric("muster_nodes") == 1, SOON_S, "one node is left")
        c.create(*(pod(f"p{i}") for i in range(3)))
        until(lambda: c.bound("p") == 2, SOON_S, "two on the other one")
        steady(lambda: where(c, "p") == ["", "n1", "n1"], STILL_S, "no more")
        label(c, "n0", sick=None)
        until(lambda: c.bound("p") == 3, SOON_S, "the third, beside the first")
        equal(where(c, "p"), ["n0", "n1", "n1"], "nodes")
        label(c, "n1", pool="b")
        until(lambda: c.metric("muster_nodes") == 1, SOON_S, "one node is left")
        check(not c.wrongs(), c.wrongs())


def test_a_divided_cluster():
    """Two instances, each with its half of the nodes: a restart changes nothing for the other."""
    nodes = [node(f"{pool}{i}", cpu="4", labels={"pool": pool}) for pool in "ab" for i in range(3)]
    with Cluster(*nodes) as c:
        ups = [muster.Muster(c.kubeconfig, os.path.join(c.folder, pool), "--node-selector", f"pool={pool}",
                             "--scheduler-name", f"muster-{pool}") for pool in "ab"]
        c.processes += ups
        for up in ups:
            up.wait_ready()
        for pool in "ab":
            c.gang(f"g{pool}", 9, scheduler=f"muster-{pool}")
        until(lambda: c.bound("g") == 18, SOON_S, "both gangs")
        for pool in "ab":
            equal(where(c, f"g{pool}-"), sorted(3 * [f"{pool}{i}" for i in range(3)]), f"nodes of {pool}")
        check(not c.wrongs(), c.wrongs())


def test_bad_selector():
    for bad, why in (("a b", 'is expected behind "a"'), ("pool in (a", 'the list of "pool" is not closed'),
                     ("-x=1", '"-x" is not a label\'s key'), ("a=b c", "is one too many")):
        code, out, err = run("muster-frontend", "--node-selector", bad)
        equal((code, out), (2, ""), f"exit code, with {err!r}")
        check(err.startswith(f"muster-frontend: --node-selector {bad}: ") and why in err, err)


if __name__ == "__main__":
    main(globals(), jobs=2)
