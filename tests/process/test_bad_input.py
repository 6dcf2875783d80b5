# SPDX-License-Identifier: Apache-2.0
"""Bad input: a clear message each, and the right exit code or condition."""
import json
import os
import re
import socket
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import muster, objects, peers  # noqa: E402
from lib.check import condition  # noqa: E402
from lib.cluster import Cluster, run  # noqa: E402
from lib.harness import check, equal, main, until  # noqa: E402

USAGE, CONFIGURATION = 2, 78
MAGIC = struct.pack("<Q", 0x31306B4C2E74736D)  # of every message on the link
HELLO, REFUSED, LAYOUT, FRONTEND, OBSERVER = 1, 3, 1, 1, 2
OTHER_HASH = 0x1234567890ABCDEF

KUBECONFIG = """apiVersion: v1
kind: Config
clusters:
- name: c
  cluster:
    server: http://127.0.0.1:1
users:
- name: u
  user:
    {user}
contexts:
- name: ctx
  context:
    cluster: c
    user: u
current-context: {context}
"""


def says(code, err, wanted_code, *parts):
    equal(code, wanted_code, f"exit code, with {err!r}")
    for part in parts:
        check(part in err, f"{part!r} is not in {err!r}")
    errors = [line for line in err.splitlines() if "level=info" not in line]
    check(len(errors) <= 3, f"more than a message: {err!r}")


def with_kubeconfig(text, *parts, name="kubeconfig"):
    folder = muster.scratch()
    path = os.path.join(folder, name)
    if text is not None:
        with open(path, "w") as f:
            f.write(text)
    for program, first in (("musterctl", ["up"]), ("muster-frontend", [])):
        code, _, err = run(program, *first, "--socket", os.path.join(folder, "s"), "--kubeconfig", path,
                           "--listen", f"127.0.0.1:{muster.free_port()}")
        says(code, err, USAGE, path, *parts)


def test_kubeconfig_is_missing():
    with_kubeconfig(None, "No such file")


def test_kubeconfig_is_no_yaml():
    with_kubeconfig("a: [b\n c: {", "line")


def test_kubeconfig_names_a_context_that_is_not_there():
    with_kubeconfig(KUBECONFIG.format(user="token: t", context="other"), "other", "context")


def test_kubeconfig_asks_for_an_exec_plugin():
    user = "exec: {apiVersion: client.authentication.k8s.io/v1, command: aws-get-token}"
    with_kubeconfig(KUBECONFIG.format(user=user, context="ctx"), "exec", "aws-get-token")


def test_kubeconfig_names_a_token_file_that_is_not_there():
    with_kubeconfig(KUBECONFIG.format(user="tokenFile: /nowhere/token", context="ctx"), "/nowhere/token")


def test_kubeconfig_has_a_certificate_that_is_none():
    text = KUBECONFIG.format(user="token: t", context="ctx").replace("http://", "https://")
    with_kubeconfig(text.replace("cluster:\n    server", "cluster:\n    certificate-authority-data: bm9uZQ==\n    server"),
                    "certificate-authority-data")


def test_wrong_token():
    with Cluster(objects.node("n1"), apisim=["--token", "right"]) as c:
        text = open(c.kubeconfig).read()
        wrong = os.path.join(c.folder, "wrong")
        with open(wrong, "w") as f:
            f.write(re.sub(r"\bright\b", "wrong", text))
        c.core = c.start_core()
        c.frontend = c.start_frontend(kubeconfig=wrong)
        until(lambda: "401" in c.frontend.log() and ("Unauthorized" in c.frontend.log() or "token" in c.frontend.log()), 10, c.frontend.log)
        status, said = c.fetch("/readyz")
        check(status in (0, 503), f"readyz says {status} {said}")
        # The credentials are the same for all resources: told once, not for each.
        said = re.findall(r'msg="(the API server refuses these credentials.*)"', c.frontend.log())
        equal(len(said), 1, c.frontend.log())


def test_api_server_that_is_not_there():
    with Cluster() as c:
        c.core = c.start_core()
        path = os.path.join(c.folder, "nobody")
        with open(path, "w") as f:
            f.write(KUBECONFIG.format(user="token: t", context="ctx"))
        c.frontend = c.start_frontend(kubeconfig=path)
        until(lambda: "127.0.0.1:1" in c.frontend.log() or "onnect" in c.frontend.log(), 10, "a message")
        until(lambda: c.fetch("/readyz")[0] == 503, 10, lambda: c.fetch("/readyz"))
        until(lambda: "can't list" in c.frontend.log(), 10, c.frontend.log)
        equal(c.frontend.log().count("can't list"), 1, c.frontend.log())


# ---- the link ------------------------------------------------------------

def seqpacket():
    return socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def test_core_refuses_another_layout():
    with Cluster() as c:
        c.core = c.start_core()
        until(lambda: peers.listens(c.socket), 60, "the socket")
        for role in (FRONTEND, OBSERVER):
            with seqpacket() as s:
                s.connect(c.socket)
                s.settimeout(60)
                s.send(MAGIC + struct.pack("<QII", OTHER_HASH, HELLO, role))
                answer = s.recv(4096)
            equal(answer[:8], MAGIC, "magic")
            theirs, kind, why = struct.unpack("<QII", answer[8:24])
            equal((kind, why), (REFUSED, LAYOUT), "answer")
            log = until(lambda: f"{OTHER_HASH:016x}" in c.core.log() and c.core.log(), 5, "both hashes in the message")
            check(f"{theirs:016x}" in log, log)
        check(c.core.running(), "the core ended")
        with seqpacket() as s:  # noise
            s.connect(c.socket)
            s.send(b"\xff" * 5000)
        equal(c.ask("status")[0] in (0, 1), True, "an observer is still served")


def refused_by_other_core(program, *flags):
    """A core of another build, played by this test: exit 78 and both hashes."""
    folder = muster.scratch()
    path = os.path.join(folder, "s")
    with seqpacket() as listener:
        listener.bind(path)
        os.chmod(path, 0o600)
        listener.listen()
        process = muster.Process([muster.program(program), *[f.replace("SOCKET", path) for f in flags]],
                                 os.path.join(folder, "log"))
        with process:
            listener.settimeout(60)
            peer, _ = listener.accept()
            with peer:
                hello = peer.recv(4096)
                equal(hello[:8], MAGIC, "magic")
                theirs, = struct.unpack("<Q", hello[8:16])
                peer.send(MAGIC + struct.pack("<QII", OTHER_HASH, REFUSED, LAYOUT) + bytes(128))
                code = process.child.wait(60)
        log = process.log()
    says(code, log, CONFIGURATION, f"{OTHER_HASH:016x}", f"{theirs:016x}")


def test_frontend_meets_another_layout():
    with Cluster() as c:
        refused_by_other_core("muster-frontend", "--socket", "SOCKET", "--kubeconfig", c.kubeconfig,
                              "--listen", f"127.0.0.1:{muster.free_port()}")


def test_musterctl_meets_another_layout():
    for command in ("status", "fsck"):
        refused_by_other_core("musterctl", command, "--socket", "SOCKET")


def test_second_frontend():
    with Cluster(objects.node("n1")) as c:
        c.pair()
        first = c.listen
        second = c.start_frontend()
        until(lambda: "another frontend" in second.log(), 10, "a message")
        c.listen = first
        equal(c.fetch("/readyz")[0], 200, "readyz of the first")
        c.create(objects.pod("p"))
        until(lambda: c.bound("p") == 1, 5, "the first goes on")


def test_second_core():
    with Cluster(objects.node("n1")) as c:
        c.pair()
        code, _, err = run("muster-core", "--socket", c.socket)
        check(code != 0 and c.socket in err, code, err)
        c.create(objects.pod("p"))
        until(lambda: c.bound("p") == 1, 5, "the first goes on")


def test_port_in_use():
    with Cluster() as c, socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        c.core = c.start_core()
        code, _, err = run("muster-frontend", "--socket", c.socket, "--kubeconfig", c.kubeconfig,
                           "--listen", f"127.0.0.1:{port}")
        says(code, err, CONFIGURATION, f"127.0.0.1:{port}", "in use")
        code, _, err = run("muster-apisim", "--port", port, "--kubeconfig-out", os.path.join(c.folder, "k"))
        check(code != 0 and str(port) in err and "in use" in err, code, err)


def test_no_core():
    code, _, err = run("musterctl", "status", "--socket", "/nowhere/muster.sock")
    check(code != 0 and "/nowhere/muster.sock" in err, code, err)


def test_flags():
    for program in ("muster-core", "muster-frontend", "musterctl", "muster-apisim", "muster-bench"):
        code, out, err = run(program, "--no-such-flag")
        says(code, err, USAGE, "--no-such-flag")
        equal(out, "", f"{program}: standard output")
        for flag in ("--help", "--version"):
            code, out, err = run(program, flag)
            equal((code, err), (0, ""), f"{program} {flag}")
            check(program in out or "muster" in out, out)
    for flags in (["--max-nodes", "0"], ["--max-pods", "x"], ["--max-nodes", "99999999999999"], ["--socket"]):
        code, _, err = run("muster-core", *flags)
        says(code, err, USAGE, flags[0])
    for words in (["no-such-verb"], ["simulate", "--no-such-flag"], ["status", "-o", "xml"], []):
        code, _, err = run("musterctl", *words)
        equal(code, USAGE, f"musterctl {words}: {err}")
        check(err.strip(), "nothing said")


# ---- objects ---------------------------------------------------------------

def test_node_with_a_bad_quantity():
    """apisim refuses such a node as the API server does, so it comes by file."""
    bad = objects.node("bad", cpu="12x")
    text = json.dumps({"kind": "List", "apiVersion": "v1",
                       "items": [bad, objects.node("good"), objects.pod("p")]})
    code, out, err = run("musterctl", "simulate", "-f", "-", "-o", "json", stdin=text)
    check("bad" in err and "12x" in err and "cpu" in err, code, err)
    check(code in (0, USAGE), code, err)
    if code == 0:
        equal(json.loads(out)["placements"][0]["node"], "good", "node")
    with Cluster() as c:
        status, body = c.client.raw("POST", "/api/v1/nodes", bad)
        equal(status, 400, f"apisim's answer, {body[:200]}")


def test_pod_names_a_group_that_is_not_there():
    with Cluster(objects.node("n1")) as c:
        c.up()
        c.create(objects.pod("orphan", group="nobody"))

        def told():
            said = condition(c.client.get("Pod", "orphan")) or {}
            return said.get("status") == "False" and "default/nobody" in said.get("message", "") and said

        equal(until(told, 10, "a condition that names default/nobody")["reason"], "Unschedulable", "reason")
        equal(c.bound("orphan"), 0, "bound")


def test_pod_asks_for_what_is_not_supported():
    """Refused with the reason, never ignored."""
    half = {"matchExpressions": [{"key": "size", "operator": "Gt", "values": ["1.5"]}]}
    asks = {
        "devices": {"resourceClaims": [{"name": "c", "resourceClaimName": "gpu"}]},
        "preference": {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution":
                                                     [{"weight": 1, "preference": half}]}}},
        "claim": {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]},
    }
    words = {"devices": "resource claims", "preference": "must be an integer",
             "claim": 'persistentvolumeclaim "data" not found'}
    with Cluster(objects.node("n1")) as c:
        c.up()
        for name, spec in asks.items():
            c.create(objects.pod(name, **spec))
        c.create(objects.pod("plain"))
        until(lambda: c.bound("plain") == 1, 10, "an ordinary pod")
        for name, word in words.items():
            until(lambda: word in c.why_pending(name), 10,
                  f"{name}: a condition that names {word}, not {condition(c.client.get('Pod', name))}")
        equal(c.bound(), 1, "pods bound")


if __name__ == "__main__":
    main(globals(), jobs=2)
