# SPDX-License-Identifier: Apache-2.0
"""musterctl: commands and exit codes, simulate on files with known answers, and the views
of a live scheduler against the API server's own lists."""
import fcntl
import gzip
import json
import os
import pty
import signal
import socket as socket_module
import struct
import subprocess
import sys
import tempfile
import termios

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import check as sums, muster, objects  # noqa: E402
from lib.cluster import Cluster, run  # noqa: E402
from lib.harness import check, equal, eventually, main, until  # noqa: E402

DATA = muster.ROOT / "tests" / "data" / "simulate"
DONE, NO, USAGE = 0, 1, 2
COMMANDS = ("up", "status", "gangs", "nodes", "latency", "top", "simulate", "verdict", "devices", "explain", "fsck", "replay", "completion")


def test_help_and_version():
    for command in ([], *([c] for c in COMMANDS)):
        code, out, err = run("musterctl", *command, "--help")
        equal((code, err), (DONE, ""), command)
        check("musterctl" in out and "Exit status" in out, command, out)
        equal(run("musterctl", *command, "-h"), (DONE, out, ""), command)
        code, out, err = run("musterctl", *command, "--version")
        equal((code, err), (DONE, ""), command)
        check(out.startswith("musterctl ") and out.strip()[-1].isdigit(), out)


def test_what_is_not_there_is_refused():
    equal(run("musterctl", "bottom"), (USAGE, "", 'musterctl: no command named "bottom"; see musterctl --help\n'))


def test_full_disk_is_an_error():
    with open("/dev/full", "w") as full:
        done = subprocess.run([muster.program("musterctl"), "simulate", "-f", str(DATA / "order.yaml")], stdout=full,
                              stderr=subprocess.PIPE, text=True, timeout=180)
    equal(done.returncode, USAGE, "exit code")
    check("No space left" in done.stderr, done.stderr)


# ---- simulate ------------------------------------------------------------

def simulate(*flags, stdin=None):
    code, out, err = run("musterctl", "simulate", *flags, "-o", "json", stdin=stdin)
    return code, json.loads(out) if out else None, err


def test_known_answers():
    """NAME.expect.json has the arguments for NAME.json or NAME.yaml and the expected result."""
    cases = sorted(DATA.glob("*.expect.json"))
    check(len(cases) >= 3, f"only {len(cases)} cases in {DATA}")
    for path in cases:
        case = json.loads(path.read_text())
        for run_of in case["runs"]:
            flags = [f for name in run_of["files"] for f in ("-f", str(DATA / name))] + run_of.get("flags", [])
            code, got, err = simulate(*flags)
            equal(got, run_of["answer"], f"{path.name} {run_of['files']} {run_of.get('flags', [])}")
            equal(code, run_of["exit"], f"{path.name}: exit code")
            equal(err, run_of.get("says", ""), f"{path.name}: standard error")


def test_form_does_not_matter():
    """JSON, documents, standard input, gzip, several files: the same result."""
    text = (DATA / "states.json").read_text()
    whole = simulate("-f", str(DATA / "states.json"))
    items = json.loads(text)["items"]
    with tempfile.TemporaryDirectory() as folder:
        packed, lines, some, others = (os.path.join(folder, n) for n in ("a.gz", "b", "c", "d"))
        with gzip.open(packed, "wt") as f:
            f.write(text)
        write(lines, "\n".join(json.dumps(i) for i in items))
        # A comment makes it YAML, of which JSON is a part.
        write(some, "# a comment\n" + "\n---\n".join(json.dumps(i) for i in items[:4]))
        write(others, "# another\n" + listed(*items[4:]))
        for flags in (["-f", packed], ["-f", lines], ["-f", some, "-f", others], ["-f", some, others]):
            equal(simulate(*flags), whole, flags)
        equal(simulate("-f", "-", stdin=text), whole, "standard input")


def test_a_folder_as_kubectl_takes_it():
    with tempfile.TemporaryDirectory() as folder:
        items = json.loads((DATA / "states.json").read_text())["items"]
        os.mkdir(os.path.join(folder, "below.json"))
        write(os.path.join(folder, "1.yaml"), "# a comment\n" + "\n---\n".join(json.dumps(i) for i in items[:4]))
        write(os.path.join(folder, "2.json"), listed(*items[4:]))
        write(os.path.join(folder, "notes.txt"), "no manifest")
        write(os.path.join(folder, "below.json", "0.yaml"), "kind: [")
        equal(simulate("-f", folder), simulate("-f", str(DATA / "states.json")))
        write(os.path.join(folder, "3.yml"), "kind: [")
        check("3.yml" in simulate("-f", folder)[2], simulate("-f", folder))
        os.mkdir(os.path.join(folder, "of folders"))
        os.mkdir(os.path.join(folder, "of folders", "a.yaml"))
        check("no .json, .yaml or .yml file is in this folder" in simulate("-f", os.path.join(folder, "of folders"))[2])


def test_tables_say_the_same():
    code, out, err = run("musterctl", "simulate", "-f", DATA / "whole-or-not.yaml")
    equal(code, NO, err)
    rows = [line.split() for line in out.splitlines()]
    check(["POD", "NODE", "GANG", "REASON"] in rows, out)
    check(any(r[:2] == ["ml/train", "Running"] for r in rows), out)
    check(any(r[:2] == ["ml/big", "Waiting"] for r in rows), out)
    check("4 of 9 pending pods placed, 1 of 2 gangs" in out, out)


def write(path, text):
    with open(path, "w") as f:
        f.write(text)


def listed(*items):
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(items)})


def test_bad_usage():
    good = str(DATA / "order.yaml")
    for flags, part in (
            (["-f", "/nowhere/at/all"], "/nowhere/at/all: No such file"),
            (["-f", "/proc/self/ns"], "/proc/self/ns: no .json, .yaml or .yml file is in this folder"),
            (["-f", good, "--no-such-flag"], "--no-such-flag"),
            (["-f", good, "-o", "yaml"], "-o yaml"),
            (["-f", good, "--score", "best"], "--score best"),
            (["-f"], "f"),
            ([], "-f FILE is missing")):
        code, out, err = run("musterctl", "simulate", *flags)
        equal((code, out), (USAGE, ""), flags)
        check(part in err, f"{part!r} is not in {err!r}")
    # The -f may be omitted.
    equal(simulate(good), simulate("-f", good))


def test_kinds_that_are_passed_over_are_told_with_their_group():
    made = listed({"apiVersion": "foo/v1", "kind": "PodGroup", "metadata": {"name": "g", "namespace": "d"}},
                  {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "d"}})
    equal(simulate("-f", "-", stdin=made)[::2], (DONE, "musterctl simulate: passed over: 1 PodGroup of foo/v1, 1 Secret\n"))


# ---- a live scheduler -------------------------------------------------------

def test_no_scheduler():
    for command in ("status", "gangs", "nodes"):
        code, out, err = run("musterctl", command, "--socket", "/nowhere/muster.sock")
        equal((code, out), (NO, ""), err)
        check("/nowhere/muster.sock" in err, err)
        code, _, err = run("musterctl", command, env={"MUSTER_SOCKET": "/elsewhere/muster.sock"})
        check(code == NO and "/elsewhere/muster.sock" in err, code, err)


def live_cluster():
    return Cluster(*(objects.node(f"n{i}", cpu="8", gpu="4") for i in range(3)))


def fill(c):
    group, pods = objects.gang("train", 4, cpu="2", requests={"nvidia.com/gpu": "2"})
    big, more = objects.gang("big", 5, cpu="2", requests={"nvidia.com/gpu": "2"})
    c.create(group, *pods)
    until(lambda: c.bound("train") == 4, 10, "train bound")
    c.create(big, *more, objects.pod("alone", cpu="500m"))
    until(lambda: c.bound("alone") == 1, 10, "alone bound")


def ask(c, *words):
    code, out, err = c.ask(*words, "-o", "json")
    equal(code, DONE, err)
    return json.loads(out)


def test_views_of_a_live_scheduler():
    with live_cluster() as c:
        c.up()
        fill(c)
        big = until(lambda: {g["gang"]: g for g in ask(c, "gangs")["gangs"]}.get("default/big", {}).get("reason")
                    and ask(c, "gangs", "default/big")["gangs"][0], 10, "a reason")
        equal((big["state"], big["quorum"], big["members"], big["placed"]), ("Waiting", 5, 5, 0), "big")
        equal(big["shortfall"], [{"resource": "nvidia.com/gpu", "unit": "count", "need": 10, "have": 4}], "shortfall of big")
        check("nvidia.com/gpu: need 10, have 4" in big["reason"], big["reason"])
        def of_train():
            return ask(c, "gangs", "default/train")["gangs"][0]

        until(lambda: of_train()["state"] == "Running", 10, of_train)  # the core is told a moment after it was bound
        train = of_train()
        equal((train["state"], train["placed"], train["dialect"]), ("Running", 4, "scheduler-plugins"), "train")
        equal((train["former_state"], train["succeeded"], train["failed"]), ("Placed", 0, 0), "train")

        # Nodes against what the API server's own pods add up to.
        used = {f"n{i}": {"cpu": 0, "nvidia.com/gpu": 0, "pods": 0} for i in range(3)}
        for pod in c.pods():
            if sums.is_bound(pod):
                row = used[pod["spec"]["nodeName"]]
                row["pods"] += 1
                for name, amount in sums.request_of(pod).items():
                    if name in row and name != "pods":
                        row[name] += int(amount * (1000 if name == "cpu" else 1))
        def used_there():
            for node in ask(c, "nodes")["nodes"]:
                got = {name: node["used"][name] for name in used[node["node"]]}
                equal(got, used[node["node"]], f"used on {node['node']}")

        eventually(used_there)
        # A confirmation rings no doorbell: the core may read it 100 ms later.
        status = until(lambda: (s := ask(c, "status"))["pods_bound"] >= 5 and s, 10, "status counts 5 bound pods")
        equal((status["nodes"], status["pods_bound"], status["gangs"], status["synced"]), (3, 5, 2, True), "status")
        for command in ("status", "gangs", "nodes"):
            code, out, err = c.ask(command)
            equal((code, err), (DONE, ""), command)
            check(out.strip(), f"{command} prints nothing")
        code, out, err = c.ask("gangs", "default/nobody")
        equal((code, out), (NO, ""), err)
        # A member that waits after its gang was placed has a reason.
        group, pods = objects.gang("part", 2, 1, cpu="100m")
        pods[1]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "100"
        c.create(group, *pods)
        part = until(lambda: (g := ask(c, "gangs", "default/part")["gangs"][0]).get("reason") and g["state"] == "Running" and g,
                     10, "a reason of a placed gang")
        equal((part["placed"], part["members"]), (1, 2), part)
        check("0 of 1 members have room" in part["reason"], part)
        until(lambda: "0 of 1 members have room; cpu: need 100, have 0. 0/3 nodes are available: " in c.ask("gangs", "default/part")[1], 10,
              lambda: c.ask("gangs", "default/part"))
        code, out, err = c.ask("explain", "default/part", "--try")
        equal((code, err), (DONE, ""))
        check("Running, 1 of 2 members placed" in out and part["reason"] in out and "would let" not in out, out)


def test_lists_take_kubectls_flags():
    with live_cluster() as c:
        c.up()
        fill(c)
        c.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}})
        for name, ns in (("other", "team"), ("wants", "default")):
            group, pods = objects.gang(name, 3, cpu="9")
            for o in (group, *pods):
                o["metadata"]["namespace"] = ns
            c.create(group, *pods)
        group, pods = objects.gang("gated", 2, schedulingGates=[{"name": "quota"}])
        group["metadata"]["namespace"] = pods[0]["metadata"]["namespace"] = pods[1]["metadata"]["namespace"] = "gates"
        c.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "gates"}}, group, *pods)
        until(lambda: "scheduling gates" in (ask(c, "gangs", "-n", "gates")["gangs"] or [{}])[0].get("reason", ""), 10, lambda: ask(c, "gangs"))
        equal(ask(c, "gangs", "-n", "gates")["gangs"][0]["position"], None, "gates keep it out of the queue")
        code, _, err = c.ask("explain", "--what-if", "nodes=1", "default/no-gang")
        check(code == NO and "answers about gangs, of a pod without a gang musterctl verdict --live default/no-gang does" in err, err)
        for o in (group, *pods):
            c.delete_object(o)
        until(lambda: sum(g["position"] is not None for g in ask(c, "gangs")["gangs"]) == 3, 10, lambda: ask(c, "gangs"))
        until(lambda: ask(c, "gangs", "default/train")["gangs"][0]["state"] == "Running", 10, lambda: ask(c, "gangs"))
        gangs = {g["gang"]: g for g in ask(c, "gangs")["gangs"]}
        equal(sorted(g["position"] for g in gangs.values() if g["position"]), [1, 2, 3], "positions")
        equal({(g["queue"], g["start"]) for g in gangs.values()}, {(None, None)}, "without queues")
        equal((gangs["default/train"]["position"], gangs["default/train"]["waited_s"]), (None, None), "what runs")
        check(gangs["team/other"]["waited_s"] is not None, gangs["team/other"])
        lines = lambda *flags: c.ask("gangs", *flags)[1].splitlines()  # noqa: E731
        equal(lines("-n", "team", "-o", "name"), ["gang/team/other"])
        equal(len(lines("-A", "--no-headers")), 4)
        equal(lines("--state", "incomplete", "--no-headers"), [])
        equal(lines("--state", "running", "-o", "custom-columns=G:.gang,P:.placed"), ["G               P", "default/train   4"])
        until(lambda: all(" members have room; " in line.split("nodes are available")[0] for line in lines("--state", "waiting", "--no-headers")),
              10, lambda: ("muster's own clause first", lines()))
        order = [line.split()[0] for line in lines("--sort-by", ".position", "--no-headers")]
        equal(order, sorted(gangs, key=lambda g: gangs[g]["position"] or 99), "by position")
        before = json.loads(c.ask("explain", order[2], "-o", "json")[1])
        equal((before["before"], before["position"]), (order[:2], 3), "explain says the same")
        equal(c.ask("gangs", "train", "--no-headers", "-o", "wide")[1].split()[:2], ["default/train", "Running"])
        equal(c.ask("gangs", "-o", "wide")[1].splitlines()[0].split()[-3:], ["SUCCEEDED", "FAILED", "REASON"], "the long one last")
        equal(c.ask("gangs", "-n", "nowhere", "--no-headers"), (DONE, "", "No gangs found in namespace nowhere.\n"))
        equal(c.ask("gangs", "-n", "nowhere", "-o", "json")[2], "")
        check(c.ask("queues")[2].startswith("No queues found: muster-frontend --queues"), "why there are none")
        equal(c.ask("explain", "-n", "team", "other")[0], NO)
        equal([n["node"] for n in ask(c, "nodes", "n1")["nodes"]], ["n1"])
        equal(c.ask("nodes", "n9")[0], NO)
        equal(run("musterctl", "get", "gangs", "--socket", c.socket, "-o", "yaml")[1].splitlines()[:2],
              ["gangs:", f'- gang: "{min(gangs)}"'])
        for flags, said in ((("--state", "sad"), "Finished"), (("-o", "xml"), "custom-columns"), (("-w", "-o", "json"), "--watch"),
                            (("--sort-by", ".age"), "no such field; there are gang, "), (("--sotr-by", ".gang"), "Did you mean --sort-by?")):
            code, _, err = c.ask("gangs", *flags)
            check(code == USAGE and said in err, code, err)
    for words, said in ((("explian",), 'no command named "explian"; did you mean explain?'),
                        (("descirbe", "gang", "a"), 'no command named "descirbe"; did you mean describe?'),
                        (("get",), "get: gangs, nodes and queues are what there is"),
                        (("get", "gnags"), 'no command named "gnags"; did you mean gangs?'),
                        (("get", "version"), 'no command named "version"; see musterctl --help'),
                        (("get", "pods"), 'no command named "pods"; gangs --singles lists the pods without a gang, explain takes the name of a pod'),
                        (("-n", "team", "gangs"), "-n: flags follow the command; see musterctl --help"),
                        (("help", "gnags"), 'no command named "gnags"; did you mean gangs?')):
        equal(run("musterctl", *words), (USAGE, "", f"musterctl: {said}\n"))
    equal(run("musterctl", "help", "gang"), run("musterctl", "gangs", "--help"))
    equal({run("musterctl", "help", *words) for words in ((), ("help",), ("version",), ("get",), ("--help",))}, {run("musterctl", "--help")})


def test_kinds_and_names_as_kubectl_takes_them():
    with live_cluster() as c:
        c.up()
        fill(c)

        def asks(*words):
            return run("musterctl", *words, "--socket", c.socket)

        until(lambda: ask(c, "gangs", "default/train")["gangs"][0]["state"] == "Running", 10, lambda: ask(c, "gangs"))
        gang, node, told = asks("gangs", "train", "-o", "name"), asks("nodes", "-o", "name")[1].split()[0], asks("explain", "train")
        equal((gang[1], node[:5], told[0]), ("gang/default/train\n", "node/", DONE))
        for name in ("gang/default/train", "gangs/train", "pg/train"):
            equal(asks("get", name, "-o", "name"), gang, name)
            equal(asks("describe", name), told, name)
        for words in (("gangs", gang[1].strip(), "-o", "name"), ("gangs", "-o", "name", gang[1].strip()), ("get", "gangs", "train", "-o", "name")):
            equal(asks(*words), gang, words)
        equal(asks("explain", gang[1].strip()), told)
        equal(asks("explain", "-n", "other", gang[1].strip()), told)
        equal(asks("explain", "gang/train"), told)
        check("has no gang default/alone;" in asks("explain", "pod/alone")[2], asks("explain", "pod/alone"))
        for words in (("pod", "train"), ("pod/train",), ("pods/default/train",)):
            equal(asks("describe", *words), told, "explain takes both")
        objects_of = ("--kubeconfig", c.kubeconfig)
        lone = run("musterctl", "gangs", "--singles", "-o", "name", *objects_of)[1].strip()
        equal((lone, run("musterctl", "explain", *objects_of, lone)),
              ("pod/default/alone", run("musterctl", "explain", "default/alone", *objects_of)))
        equal(asks("get", node, "-o", "name"), (DONE, node + "\n", ""))
        check("\nRESOURCE " in asks("describe", node)[1], asks("describe", node))
        check(asks("nodes", node[5:])[1].endswith("\nIts resources are shown with --detail, its labels and pods with --kubeconfig.\n"), asks("nodes", node[5:]))
        check(asks("gangs", "train", "-o", "wide")[1].endswith("\nIts members are the API server's: --kubeconfig names one.\n"))


# ---- up -------------------------------------------------------------------------

def test_up_passes_flags_on():
    with Cluster(objects.node("n1")) as c:
        code, _, err = run("musterctl", "up", "--kubeconfig", c.kubeconfig, "--no-such-flag", "3")
        equal(code, USAGE, err)
        check("--no-such-flag" in err, err)
        # muster-core refuses the value: no restart would help.
        code, _, err = run("musterctl", "up", "--kubeconfig", c.kubeconfig, "--socket", c.socket, "--max-nodes", "0",
                           "--listen", f"127.0.0.1:{muster.free_port()}")
        equal(code, USAGE, err)
        check("--max-nodes" in err and "muster-core ended" in err, err)
        # --hold-after: a former name.
        c.up("--score", "pack", "--hold-after", "5", "--scheduler-name", "muster", "--scheduler-name", "second",
             "--leader-elect=false")
        c.create(objects.pod("a"), objects.pod("b", scheduler="second"))
        until(lambda: c.bound() == 2, 10, "both names are served")


def wait_with_a_reason(c):
    group, pods = objects.gang("a-gang-with-a-name", 9)
    c.create(group, *pods)
    c.up()
    until(lambda: "need 9" in run("musterctl", "gangs", "--socket", c.socket)[1], 20, "the reason")


def on_a_terminal(columns, *argv, **environment):
    """The lines that the command writes to a terminal of so many columns."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
    with subprocess.Popen([muster.program("musterctl"), *argv], stdout=theirs, stdin=subprocess.DEVNULL,
                          env={**os.environ, "LC_ALL": "C.UTF-8", **environment}) as child:
        os.close(theirs)
        written = b""
        while True:
            try:
                written += os.read(ours, 65536)
            except OSError:
                break
        child.wait(60)
    os.close(ours)
    return written.decode().replace("\r\n", "\n").splitlines()


def test_tables_end_at_the_edge_of_a_terminal():
    with Cluster(objects.node("n1", cpu="2")) as c:
        wait_with_a_reason(c)
        whole = run("musterctl", "gangs", "--socket", c.socket)[1].splitlines()
        check(len(whole[1]) > 130 and "QUORUM" in whole[0], whole)
        for columns in (40, 80, 132):
            seen = on_a_terminal(columns, "gangs", "--socket", c.socket)
            equal(len(seen), 2, seen)
            check(max(map(len, seen)) <= columns and seen[1].endswith("\u2026"), columns, seen)
        seen = on_a_terminal(80, "gangs", "--socket", c.socket)
        check("QUORUM" not in seen[0] and "REASON" in seen[0], seen)
        equal(len(seen[1]), 80, "the reason is as long as there is room")
        check(seen[1].split("   ")[-1].startswith("2 of 9 members"), seen)
        check(on_a_terminal(80, "gangs", "--socket", c.socket, LC_ALL="C")[1].endswith("..."), "a terminal without UTF-8")
        seen = on_a_terminal(0, "gangs", "--socket", c.socket, COLUMNS="70")
        equal(len(seen[1]), 70, "where the terminal does not know its width")
        for form in ("wide", "json", "yaml", "custom-columns=A:.reason,B:.reason"):
            check(max(map(len, on_a_terminal(80, "gangs", "--socket", c.socket, "-o", form))) > 80, form)
        check(max(map(len, on_a_terminal(60, "top", "--once", "-n", "0.1", "--socket", c.socket))) == 60, "top")
        check(max(map(len, on_a_terminal(20, "nodes", "--socket", c.socket))) <= 20, "nodes")
        seen = on_a_terminal(80, "status", "--socket", c.socket)
        check(max(map(len, seen[1:])) <= 80 and "gangs   1: 1 waiting" in seen, seen)  # the first line has the socket's path


QUEUE = """queues:
- name: research
  guarantee: {cpu: "4", memory: 8Gi, nvidia.com/gpu: "2"}
  limit: {cpu: "64", memory: 512Gi, nvidia.com/gpu: "4"}
"""


def test_narrow_tables_have_the_columns_that_matter():
    with Cluster(*[objects.node(f"gpu-000{i}", cpu="128", memory="1Ti", gpu="8") for i in range(2)]) as c:
        c.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "muster-system"}})
        c.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "muster-queues", "namespace": "muster-system"},
                  "data": {"queues.yaml": QUEUE}})
        c.up("--queues", "config")
        c.create(*[objects.pod(f"train-{i}", cpu="8", requests={"nvidia.com/gpu": "4"}, labels={"muster.dev/queue": "research"})
                   for i in range(2)])
        until(lambda: "limit" in run("musterctl", "queues", "research", "--socket", c.socket)[1], 20, "the reason")
        seen = on_a_terminal(80, "queues", "--socket", c.socket)
        check("SOURCE" not in seen[0] and seen[0].startswith("NAME") and seen[0].endswith("FIRST"), seen)
        check(max(map(len, seen)) <= 80 and "default/train-1: " in seen[-1] and seen[-1].endswith("\u2026"), seen)
        check("SOURCE" in on_a_terminal(80, "queues", "-o", "wide", "--socket", c.socket)[0], "wide")
        seen = on_a_terminal(55, "nodes", "--socket", c.socket)
        equal(seen[0].split(), ["NODE", "STATE", "cpu", "memory", "nvidia.com/gpu"], seen)
        equal(seen[1].split()[-1], "4/8", seen)


def test_tables_of_files_end_at_the_edge_of_a_terminal():
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as queues, tempfile.NamedTemporaryFile("w", suffix=".json") as f:
        queues.write(QUEUE)
        queues.flush()
        group, pods = objects.gang("a-gang-with-a-long-name", 3, cpu="3", labels={"muster.dev/queue": "research"})
        json.dump({"apiVersion": "v1", "kind": "List", "items": [objects.node("n1", cpu="2"), group, *pods]}, f)
        f.flush()
        for wanted, *argv in (("have room", "simulate", "-f", f.name), ("Insufficient", "verdict", "-f", f.name, "--pod", f"default/{group['metadata']['name']}-0"),
                              ("FIRST", "queues", "-f", f.name, "--queues", queues.name)):
            whole = run("musterctl", *argv)[1].splitlines()
            if argv[0] != "verdict":
                check(max(map(len, whole)) > 80, whole)
            for columns in (45, 80):
                seen = on_a_terminal(columns, *argv)
                lines = [line for line in seen if "   " in line]
                check(max(map(len, lines)) <= columns, columns, seen)
                equal(len(seen), len(whole), seen)
            check(any(wanted in line for line in on_a_terminal(80, *argv)), seen)
            equal(on_a_terminal(40, *argv, "-o", "wide"), whole, argv[0])
        # Two nodes have pods to evict for it.
        names = [f"a-node-with-a-long-name-{i}" for i in range(2)]
        urgent = objects.pod("urgent", cpu="2")
        urgent["spec"]["priority"] = 5
        f.seek(0)
        f.truncate()
        json.dump({"apiVersion": "v1", "kind": "List", "items": [
            *(objects.node(n, cpu="2") for n in names), *(objects.pod(f"low-{n}", cpu="2", nodeName=n) for n in names), urgent]}, f)
        f.flush()
        argv = ("explain", "--preempt", "-f", f.name, "--pod", "default/urgent")
        whole = run("musterctl", *argv)[1].splitlines()
        seen = [line for line in on_a_terminal(45, *argv) if "   " in line]
        check(len(seen) == 3 and max(map(len, seen)) <= 45 < max(len(line) for line in whole if "   " in line), seen, whole)
        equal(on_a_terminal(45, *argv, "-o", "wide"), whole, "-o wide")
        check("json and wide" in run("musterctl", "simulate", "-f", f.name, "-o", "name")[2], "simulate")


def test_watch_leaves_out_the_columns_that_its_head_leaves_out():
    with Cluster(objects.node("n1", cpu="2")) as c:
        wait_with_a_reason(c)
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 24, 80, 0, 0))
        with subprocess.Popen([muster.program("musterctl"), "gangs", "-w", "--socket", c.socket], stdout=theirs,
                              stdin=subprocess.DEVNULL) as child:
            os.close(theirs)
            written = b""
            while written.count(b"\n") < 2:
                written += os.read(ours, 65536)
            c.create(objects.node("n2", cpu="32"))
            while b"Running" not in written:
                written += os.read(ours, 65536)
            child.terminate()
        os.close(ours)
        lines = written.decode().replace("\r\n", "\n").splitlines()
        head = lines[0].split()
        check("QUORUM" not in head and head[-1] == "REASON", lines)
        running = next(line for line in lines if "Running" in line).split()
        equal(len(running), len(head) - 1, lines)  # it has no reason


def test_up_on_a_terminal_says_three_lines():
    with Cluster(objects.node("n1"), objects.node("n2")) as c, tempfile.TemporaryDirectory() as runtime:
        c.create(objects.pod("elsewhere", scheduler="other"))
        listen = f"127.0.0.1:{muster.free_port()}"
        terminal, ours = pty.openpty()
        # ~/.kube/config, as kubectl finds it.
        os.mkdir(f"{runtime}/.kube")
        os.symlink(c.kubeconfig, f"{runtime}/.kube/config")
        environment = {k: v for k, v in os.environ.items() if k not in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST")}
        up = subprocess.Popen([muster.program("musterctl"), "up", "--listen", listen], stdin=subprocess.DEVNULL, stdout=ours, stderr=ours,
                              env={**environment, "XDG_RUNTIME_DIR": runtime, "HOME": runtime})
        try:
            os.close(ours)
            said = b""
            while b"another shell" not in said or not said.endswith(b"\n"):
                said += os.read(terminal, 4096)
            lines = said.decode().split("\r\n")
            equal(lines[0], "muster is ready: 2 nodes, 0 pending pods, 0 gangs", lines)
            equal(lines[1].split(), ["the", "page:", f"http://{listen}/"], lines)
            check(lines[2].startswith("another shell:    ") and f"musterctl gangs --socket {runtime}/muster-" in lines[2], lines)
            equal(lines[3:], [""], "and nothing else")
        finally:
            up.terminate()
            equal(up.wait(60), 0, "stopped")
            os.close(terminal)


def test_simulate_asks_the_api_server():
    nodes, (group, pods) = [objects.node("n1", cpu="2")], objects.gang("g", 3)
    with Cluster(*nodes) as c:
        c.create(group, *pods)
        wanted = run("musterctl", "simulate", "-f", "-", stdin="\n".join(json.dumps(o) for o in (*nodes, group, *pods)))
        equal(run("musterctl", "simulate", "--kubeconfig", c.kubeconfig), wanted, "as the same objects of a file")
        equal(run("musterctl", "simulate", env={"KUBECONFIG": str(c.kubeconfig)}), wanted)
        check("default/g" in wanted[1] and "Waiting" in wanted[1], wanted)
        code, _, err = run("musterctl", "simulate", "--kubeconfig", c.kubeconfig, "-f", "-", stdin="{}")
        check(code == USAGE and "one of the two" in err, err)


def test_up_gives_each_daemon_its_cpu():
    cpus = sorted(os.sched_getaffinity(0))
    core, frontend = cpus[-1], cpus[0]
    with Cluster() as c:
        c.up("--core-cpu", core, "--frontend-cpu", frontend)
        there = c.daemons()
        threads = {name: [os.sched_getaffinity(int(t)) for t in os.listdir(f"/proc/{pid}/task")]
                   for name, pid in there.items()}
        equal([t for t in threads["muster-frontend"] if t != {frontend}], [], "the frontend's threads")
        check({core} in threads["muster-core"], "the deciding thread", threads)
    for flags, why in ((("--cpu", "0"), "say --core-cpu or --frontend-cpu"), (("--core-cpu",), "a value is missing")):
        code, _, err = run("musterctl", "up", "--kubeconfig", "none", *flags)
        equal(code, USAGE, err)
        check(why in err, err)


def test_up_makes_a_socket_of_its_own():
    with Cluster(objects.node("n1")) as c, tempfile.TemporaryDirectory() as runtime:
        up = subprocess.Popen([muster.program("musterctl"), "up", "--kubeconfig", c.kubeconfig, "--listen="],
                              stdout=subprocess.PIPE, text=True, env={**os.environ, "XDG_RUNTIME_DIR": runtime})
        try:
            line = up.stdout.readline()
            check("ready" in line and f"MUSTER_SOCKET={runtime}/muster-" in line, line)
            check("http" not in line, "a page that nobody serves", line)
            socket = line.split("MUSTER_SOCKET=")[1].strip()
            left = unix_socket(runtime, "muster-killed")  # of one that was killed: it has no listener
            left.close()
            for env in ({"MUSTER_SOCKET": socket}, {"XDG_RUNTIME_DIR": runtime, "MUSTER_SOCKET": ""}):
                code, out, err = run("musterctl", "status", env=env)
                equal((code, err), (DONE, ""), out)
                check(socket in out, out)
            with unix_socket(runtime, "muster-second"):
                code, out, err = run("musterctl", "status", env={"XDG_RUNTIME_DIR": runtime, "MUSTER_SOCKET": ""})
                equal((code, out), (NO, ""), err)
                both = ", ".join(sorted((socket, f"{runtime}/muster-second/muster.sock")))
                check(f"2 musters run: {both}; --socket" in err, err)
        finally:
            up.send_signal(signal.SIGINT)
            code = up.wait(60)
            up.stdout.close()
        equal(code, DONE, "exit code after SIGINT")
        equal(sorted(os.listdir(runtime)), ["muster-killed", "muster-second"], "left behind")


def unix_socket(runtime, folder):
    """A listener in a folder like that of musterctl up."""
    os.mkdir(os.path.join(runtime, folder))
    there = socket_module.socket(socket_module.AF_UNIX, socket_module.SOCK_SEQPACKET)
    there.bind(os.path.join(runtime, folder, "muster.sock"))
    there.listen()
    return there


def test_nothing_outlives_up():
    with Cluster(objects.node("n1")) as c:
        c.up()
        pids = list(c.daemons().values())
        equal(len(pids), 2, "daemons")
        c.ctl.child.kill()
        until(lambda: not any(alive(p) for p in pids), 15, f"{pids} end with musterctl up")


def alive(pid):
    return any(pid == p for p, _, _ in muster.processes())


if __name__ == "__main__":
    main(globals())
