# SPDX-License-Identifier: Apache-2.0
"""muster-apisim as a program: its sockets, TLS, faults and ends.  Its responses
are compared with a transcript of kube-apiserver 1.36.3."""
import contextlib
import http.client
import json
import os
import socket
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
from apisim import conformance  # noqa: E402
from lib import muster  # noqa: E402
from lib.cluster import run  # noqa: E402
from lib.harness import Skip, check, equal, main, until  # noqa: E402

PODS = "/api/v1/namespaces/default/pods"
REAL = os.path.join(HERE, "..", "apisim", "kube-apiserver-1.36.3.txt")


@contextlib.contextmanager
def apisim(*flags):
    with muster.Apisim(muster.scratch("muster-apisim-"), *flags) as a:
        a.wait_ready()
        a.server = conformance.from_kubeconfig(a.kubeconfig)
        yield a


def send(a, method, path, body=None, content_type=None):
    return a.server.request(method, path, body, content_type)


def add_pods(a, n, first=0, size=1):
    for i in range(first, first + n):
        body = conformance.pod(f"p{i}")
        body["metadata"]["annotations"] = {"filler": "x" * size}
        equal(send(a, "POST", PODS, body)[0], 201, "create")


def arm(a, fault, **how):
    equal(send(a, "POST", "/apisim/faults", {"fault": fault, **how})[0], 200, "arm " + fault)


def stat(a, name):
    return send(a, "GET", "/apisim/stats")[1][name]


def now(a):
    return send(a, "GET", PODS + "?limit=1")[1]["metadata"]["resourceVersion"]


# ---- the real server's responses ----


def test_answers_as_the_real_server_did():
    for flags in (["--no-kubelet"], ["--no-kubelet", "--tls"]):
        with apisim(*flags) as a:
            lines = conformance.Scenario(a.server).run()
        path = os.path.join(muster.scratch(), "transcript")
        with open(path, "w", encoding="utf-8") as f:
            f.write("\n".join(lines) + "\n")
        check(len(lines) > 400, f"only {len(lines)} steps")
        equal(conformance.compare(path, REAL), 0, "differences")


# ---- the door ----


def test_token_and_tls():
    with apisim("--tls") as a:
        equal(send(a, "GET", "/api/v1/nodes")[0], 200, "with the token")
        for header in ("Bearer wrong", "Bearer " + a.server.token + "x", "Basic " + a.server.token, ""):
            status, answer, _ = a.server.request("GET", "/api/v1/nodes", headers={"Authorization": header})
            equal((status, answer["reason"]), (401, "Unauthorized"), header)
        equal(a.server.request("GET", "/readyz", headers={})[0], 200, "health needs no token")
        equal(a.server.request("GET", "/apisim/stats", headers={})[0], 401, "the rest does")
        for name in ("localhost", "kubernetes.default.svc"):
            other = conformance.from_kubeconfig(a.kubeconfig)
            other.name = name
            equal(other.request("GET", "/version")[0], 200, name)
        other.name, other.kept = "elsewhere.example.com", None
        try:
            other.request("GET", "/version")
            check(False, "a certificate for any name")
        except OSError:
            pass
        equal(os.stat(a.kubeconfig).st_mode & 0o77, 0, "others may read the token")


def test_bad_usage():
    for flags, words in (
        (["--nodes", "many"], "--nodes"),
        (["--node-cpu", "12x"], "--node-cpu"),
        (["--port", "70000"], "--port"),
        (["--gate", "Sesame"], "unknown gate Sesame"),
        (["--crd", "x/y"], "GROUP/VERSION/PLURAL"),
        (["--load", "/nowhere/objects.json"], "No such file"),
        (["--tls-cert", "/nowhere"], "go together"),
        (["--time-scale", "0"], "--time-scale"),
        (["--nonsense"], "nonsense"),
        (["surplus"], "surplus"),
    ):
        code, out, err = run("muster-apisim", *flags)
        equal((code, out), (2, ""), str(flags))
        check(words in err, f"{flags}: {err!r}")
    code, out, _ = run("muster-apisim", "--help")
    check(code == 0 and "--kubeconfig-out" in out, out)
    code, out, _ = run("muster-apisim", "--version")
    check(code == 0 and out.startswith("muster-apisim "), out)
    with apisim() as a:
        code, _, err = run("muster-apisim", "--port", str(a.port))
        check(code == 1 and str(a.port) in err, f"a port in use: {code} {err!r}")


def test_bodies_that_are_too_large_or_odd():
    with apisim() as a:
        big = conformance.pod("big")
        big["metadata"]["annotations"] = {"a": "x" * 4_000_000}
        equal(send(a, "POST", PODS, big)[0], 413, "four megabytes")
        big["metadata"]["annotations"] = {"a": "x" * 2_000_000}
        equal(send(a, "POST", PODS, big)[0], 201, "two megabytes")
        equal(len(send(a, "GET", PODS + "/big")[1]["metadata"]["annotations"]["a"]), 2_000_000, "what came back")
        equal(send(a, "POST", PODS, "[" * 100_000)[0], 400, "deep")
        equal(send(a, "POST", PODS, b"\xff\xfe\x00")[0], 400, "no text")
        equal(send(a, "GET", "/api/v1/namespaces/%2e%2e%2fdefault/pods/%00")[0], 404, "odd path")
        connection = a.server.connect()
        connection.request("POST", PODS, body=iter([json.dumps(conformance.pod("chunked")).encode()]),
                           headers=a.server.headers("application/json"), encode_chunked=True)
        equal(connection.getresponse().status, 201, "a chunked body")
        connection.close()


def test_stops_when_told_with_watches_and_held_answers_open():
    with apisim() as a:
        arm(a, "delay", ms=60000)
        held = a.server.connect()
        held.request("GET", "/api/v1/nodes", headers=a.server.headers(None))
        until(lambda: not send(a, "GET", "/apisim/faults")[1]["armed"], 5, "taken")
        watches = [a.server.watch(PODS + "?watch=1") for _ in range(3)]
        start = time.monotonic()
        equal(a.stop(), 0, "exit code")
        check(time.monotonic() - start < 20, "it waited for the answer that is held")
        for w in watches:
            w.close()
        held.close()


# ---- what is there from the start ----


def test_objects_from_files_keep_what_they_were():
    path = os.path.join(muster.scratch(), "objects.json")
    pod = {**conformance.pod("old", nodeName="node-1"), "status": {"phase": "Running", "startTime": "2025-01-01T00:00:00Z"}}
    pod["metadata"].update(namespace="team", uid="11111111-2222-4333-8444-555555555555",
                           creationTimestamp="2025-01-01T00:00:00Z", resourceVersion="77")
    group = {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup", "metadata": {"name": "g", "namespace": "team"},
             "spec": {"minMember": 3}, "status": {"phase": "Pending"}}
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"apiVersion": "v1", "kind": "List", "items": [pod, group]}, f)
        json.dump({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "extra"}}, f)
    with apisim("--load", path, "--nodes", "3", "--node-gpus", "8", "--zones", "2", "--crd", "a.example.com/v1/things") as a:
        got = send(a, "GET", "/api/v1/namespaces/team/pods/old")[1]
        equal(got["metadata"]["uid"], pod["metadata"]["uid"], "uid")
        equal(got["metadata"]["creationTimestamp"], "2025-01-01T00:00:00Z", "age")
        equal((got["status"]["phase"], got["spec"]["nodeName"]), ("Running", "node-1"), "state")
        got = send(a, "GET", "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/team/podgroups/g")[1]
        equal((got["spec"], got["status"]), ({"minMember": 3}, {"phase": "Pending"}), "group")
        nodes = send(a, "GET", "/api/v1/nodes")[1]["items"]
        equal([n["metadata"]["name"] for n in nodes], ["extra", "node-0", "node-1", "node-2"], "nodes")
        equal(nodes[2]["status"]["allocatable"]["nvidia.com/gpu"], "8", "gpus")
        equal(nodes[2]["metadata"]["labels"]["topology.kubernetes.io/zone"], "zone-1", "zone")
        equal(send(a, "GET", "/apis/a.example.com/v1/things")[1]["kind"], "ThingList", "--crd")


def test_gate():
    with apisim("--gate", "GenericWorkload") as a:
        equal(send(a, "GET", "/apis/scheduling.k8s.io/v1alpha2/podgroups")[0], 200, "with the gate")
        groups = send(a, "GET", "/apis")[1]["groups"]
        versions = next(g for g in groups if g["name"] == "scheduling.k8s.io")
        equal([v["version"] for v in versions["versions"]], ["v1", "v1alpha2"], "versions")
        equal(versions["preferredVersion"]["version"], "v1", "preferred")


# ---- kubelets ----


def test_pods_run_end_and_go():
    with apisim("--nodes", "1", "--node-cpu", "1", "--start-ms", "10", "--time-scale", "100", "--grace-ms", "10") as a:
        pod = conformance.pod("job")
        pod["metadata"]["annotations"] = {"muster.io/run-seconds": "20"}
        send(a, "POST", PODS, pod)
        w = a.server.watch(PODS + "?watch=1&fieldSelector=metadata.name%3Djob&resourceVersion=" + now(a))
        equal(send(a, "POST", PODS + "/job/binding", conformance.binding("job", "node-0"))[0], 201, "bind")
        equal([w.next()["object"]["status"]["phase"] for _ in range(3)], ["Pending", "Running", "Succeeded"], "phases")
        add_pods(a, 1)
        send(a, "POST", PODS + "/p0/binding", conformance.binding("p0", "node-0"))
        until(lambda: send(a, "GET", PODS + "/p0")[1]["status"]["phase"] == "Running", 5, "running")
        equal(send(a, "DELETE", PODS + "/p0")[0], 200, "delete")
        until(lambda: send(a, "GET", PODS + "/p0")[0] == 404, 5, "gone")
        until(lambda: stat(a, "kubeletRemoved") == 1, 5, "removed")


# ---- watches and faults ----


def test_a_slow_watcher_is_cut_and_the_others_are_not():
    with apisim("--history", "4000", "--watch-lag", "300") as a:
        version = now(a)
        slow = socket.create_connection(("127.0.0.1", a.port))
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.sendall(f"GET {PODS}?watch=1&resourceVersion={version} HTTP/1.1\r\nHost: a\r\n"
                     f"Authorization: Bearer {a.server.token}\r\n\r\n".encode())
        quick = a.server.watch(f"{PODS}?watch=1&resourceVersion={version}")
        seen = []

        def read():
            while len(seen) < 1200:
                seen.append(quick.next())

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        add_pods(a, 1200, size=8000)
        until(lambda: stat(a, "watchesLagged") == 1, 10, "one is cut")
        reader.join(120)
        equal(len(seen), 1200, "events of the quick one")
        equal([e["object"]["metadata"]["name"] for e in seen], [f"p{i}" for i in range(1200)], "in order")
        until(lambda: stat(a, "watchesOpen") == 1, 5, "the slow one is closed")
        slow.close()


def test_clients_that_leave_are_noticed():
    with apisim() as a:
        watches = [a.server.watch(PODS + "?watch=1") for _ in range(20)]
        until(lambda: stat(a, "watchesOpen") == 20, 5, "open")
        for w in watches:
            w.answer.close()
            w.close()
        until(lambda: stat(a, "watchesOpen") == 0, 5, "closed")


def test_cut_watches_and_410():
    with apisim() as a:
        add_pods(a, 1)
        version = now(a)
        w = a.server.watch(f"{PODS}?watch=1&resourceVersion={version}")
        add_pods(a, 1, first=1)
        equal(w.next()["object"]["metadata"]["name"], "p1", "an event")
        arm(a, "cut-watches")
        try:
            equal(w.next(), None, "the end")
        except (ConnectionError, http.client.IncompleteRead):
            pass
        w = a.server.watch(f"{PODS}?watch=1&resourceVersion={version}")
        equal(w.next()["object"]["metadata"]["name"], "p1", "goes on where it was")
        w.close()
        arm(a, "compact")
        w = a.server.watch(f"{PODS}?watch=1&resourceVersion={version}")
        event = w.next()
        equal((w.status, event["type"], event["object"]["code"]), (200, "ERROR", 410), "too old")
        equal(w.next(), None, "then the end")


def test_answers_that_do_not_come():
    with apisim("--nodes", "1") as a:
        add_pods(a, 3)
        for i, (fault, node) in enumerate((("bind-cut-before", None), ("bind-cut-after", "node-0"))):
            arm(a, fault)
            connection = a.server.connect()
            body = json.dumps(conformance.binding(f"p{i}", "node-0"))
            connection.request("POST", f"{PODS}/p{i}/binding", body, a.server.headers("application/json"))
            try:
                connection.getresponse()
                check(False, fault + ": an answer")
            except (http.client.RemoteDisconnected, ConnectionResetError):
                pass
            connection.close()
            equal(send(a, "GET", f"{PODS}/p{i}")[1]["spec"].get("nodeName"), node, fault)
        arm(a, "delay", ms=400)
        start = time.monotonic()
        equal(send(a, "GET", "/api/v1/nodes")[0], 200, "delayed")
        check(time.monotonic() - start > 0.35, f"after {time.monotonic() - start} s")
        arm(a, "bind-429", retryAfterSeconds=3)
        status, _, headers = send(a, "POST", f"{PODS}/p2/binding", conformance.binding("p2", "node-0"))
        equal((status, headers["Retry-After"]), (429, "3"), "too many")
        arm(a, "bind-late", ms=1500)
        start = time.monotonic()
        equal(send(a, "POST", f"{PODS}/p2/binding", conformance.binding("p2", "node-0"))[0], 504, "late")
        there = send(a, "GET", f"{PODS}/p2")[1]["spec"].get("nodeName")
        check(there is None or time.monotonic() > start + 1.5, "not yet")
        until(lambda: send(a, "GET", f"{PODS}/p2")[1]["spec"].get("nodeName") == "node-0", 5, "late")


def test_latency_is_not_added_up():
    with apisim("--latency-ms", "1000") as a:
        connections = [a.server.connect() for _ in range(10)]
        start = time.monotonic()
        for c in connections:
            c.request("GET", "/api/v1/nodes", headers=a.server.headers(None))
        equal([c.getresponse().status for c in connections], [200] * 10, "answers")
        check(0.99 < time.monotonic() - start < 8, f"ten at once took {time.monotonic() - start} s")
        for c in connections:
            c.close()


def test_memory_stays_where_it_is():
    """Writes without end cost no memory beyond history's."""
    if "address" in muster.BUILD.name:
        raise Skip("AddressSanitizer keeps what is freed")
    with apisim("--history", "500") as a:
        add_pods(a, 100)

        def churn(rounds):
            for n in range(rounds):
                for i in range(100):
                    body = {"metadata": {"labels": {"n": str(n)}}}
                    equal(send(a, "PATCH", f"{PODS}/p{i}", body, conformance.MERGE)[0], 200, "patch")
            with open(f"/proc/{a.pid}/status", encoding="ascii") as f:
                return int(next(line for line in f if line.startswith("VmRSS")).split()[1])

        before = churn(20)
        after = churn(60)
        check(after < before + 4096, f"{before} kB became {after} kB")


if __name__ == "__main__":
    main(globals())
