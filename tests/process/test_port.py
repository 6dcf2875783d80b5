# SPDX-License-Identifier: Apache-2.0
"""Hostile clients of the port: slow ones, many, large bodies, forged hosts.  Health answers throughout, and the memory
of the frontend stays below the limit of deploy/.  F2, F3 and F4 are findings of an audit."""
import contextlib
import http.client
import itertools
import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import kube, muster, objects  # noqa: E402
from lib.cluster import Cluster, run  # noqa: E402
from lib.harness import becomes, check, equal, figure, main, until  # noqa: E402

MIB = 1 << 20
HEALTH_S = 1
LOADS_S = 12
SCHEDULER = "system:kube-scheduler"
OTHER = "127.0.0.2"  # a client that is not the prober: connections are bounded for each address


def limit_mib():
    """The frontend's memory limit in deploy/base."""
    text = (muster.ROOT / "deploy" / "base" / "deployment.yaml").read_text(encoding="utf-8")
    frontend = text[text.index("name: frontend"):]
    return int(re.search(r"limits:\s+memory: (\d+)Mi", frontend)[1])


def peak_mib(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM:")) // 1024


def address(listen):
    host, port = listen.rsplit(":", 1)
    return host, int(port)


def post(listen, path, body, **headers):
    """(status, text)"""
    connection = http.client.HTTPConnection(*address(listen), timeout=60)
    with contextlib.closing(connection):
        connection.request("POST", path, body if isinstance(body, (str, bytes)) else json.dumps(body),
                           {"Content-Type": "application/json", **{k.replace("_", "-"): v for k, v in headers.items()}})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


def get(listen, path, **headers):
    connection = http.client.HTTPConnection(*address(listen), timeout=60)
    with contextlib.closing(connection):
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


def as_kubelet(listen, path="/livez"):
    """The status; of three tries, since it shares its address with hostile clients here."""
    for last in (False, False, True):
        try:
            return get(listen, path)[0]
        except (OSError, http.client.HTTPException):
            if last:
                raise
    raise AssertionError


class Stalls(threading.Thread):
    """How late the machine lets a thread go on, at most: other tests and the attackers use it as well."""

    def __init__(self):
        super().__init__(daemon=True)
        self.longest_s, self.ending = 0, False

    def run(self):
        while not self.ending:
            start = time.monotonic()
            time.sleep(0.02)
            self.longest_s = max(self.longest_s, time.monotonic() - start - 0.02)


class Probe(threading.Thread):
    """The kubelet: a new connection for each probe, as long as the block lasts."""

    def __init__(self, listen):
        super().__init__(daemon=True)
        self.listen, self.slowest_s, self.bad, self.n, self.ending = listen, 0, [], 0, False
        self.stalls = Stalls()

    def run(self):
        while not self.ending:
            for path in ("/livez", "/readyz"):
                start = time.monotonic()
                try:
                    status = get(self.listen, path)[0]
                except (OSError, http.client.HTTPException) as error:
                    status = error
                self.slowest_s = max(self.slowest_s, time.monotonic() - start)
                self.n += 1
                if status != 200:
                    self.bad.append((path, status))
            time.sleep(0.05)

    def in_time(self, seconds):
        """The stalls of the machine are not muster's: of this process and of the frontend."""
        return seconds < HEALTH_S + 2 * self.stalls.longest_s

    def __enter__(self):
        self.start()
        self.stalls.start()
        return self

    def __exit__(self, *_):
        self.ending = self.stalls.ending = True
        self.join()
        self.stalls.join()


# ---- hostile clients, in a process of their own so that the prober has its time -----------------

def slow(to, source):
    """A byte each two seconds, on a new connection when that one is closed."""
    with contextlib.closing(socket.create_connection(to, 2, source)) as s:
        for byte in itertools.chain(b"GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ", itertools.repeat(ord("x"))):
            s.sendall(bytes([byte]))
            with contextlib.suppress(TimeoutError):
                if s.recv(100) == b"":
                    return


def connections(to, source):
    kept = []
    while True:
        kept.append(socket.create_connection(to, 5, source))
        if len(kept) > 200:
            kept.pop(0).close()


def requests(to, source):
    connection = http.client.HTTPConnection(*to, timeout=5, source_address=source)
    with contextlib.closing(connection):
        while True:
            for path in ("/metrics", "/state.json", "/", "/readyz", "/livez"):
                connection.request("GET", path)
                connection.getresponse().read()


def body(to, source):
    """60 MiB of spaces, sent as fast as they are taken."""
    with contextlib.closing(socket.create_connection(to, 20, source)) as s:
        s.sendall(b"POST /filter HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                  b"Content-Length: %d\r\n\r\n" % (60 * MIB))
        for _ in range(60):
            s.sendall(b" " * MIB)
        s.recv(4096)


def attack(kind, listen, source, n):
    """Until it is killed; errors of connections are what it is for."""
    def go():
        while True:
            with contextlib.suppress(OSError, http.client.HTTPException):
                globals()[kind](address(listen), (source, 0))
    os.nice(10)
    for _ in range(int(n)):
        threading.Thread(target=go, daemon=True).start()
    threading.Event().wait()


@contextlib.contextmanager
def load(kind, listen, n=1, source="127.0.0.1"):
    with subprocess.Popen([sys.executable, __file__, "--attack", kind, listen, source, str(n)]) as child:
        try:
            yield
        finally:
            child.kill()


def certificates(folder):
    """A CA, and certificates of it: {name: (file, key)}; "stranger" is of another one, "server" not for clients."""
    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], check=True, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, cwd=folder)

    def issue(name, subject, ca, purpose, days=2):
        with open(os.path.join(folder, "ext"), "w", encoding="ascii") as file:
            file.write(f"extendedKeyUsage={purpose}\nsubjectAltName=IP:127.0.0.1\n")
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={subject}",
                "-keyout", f"{name}.key", "-out", f"{name}.csr")
        openssl("x509", "-req", "-days", str(days), "-in", f"{name}.csr", "-CA", f"{ca}.crt", "-CAkey", f"{ca}.key",
                "-CAcreateserial", "-extfile", "ext", "-out", f"{name}.crt")

    for ca in ("ca", "other-ca"):
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                f"/CN={ca}", "-keyout", f"{ca}.key", "-out", f"{ca}.crt")
    issue("server", "muster", "ca", "serverAuth")
    issue("scheduler", SCHEDULER, "ca", "clientAuth")
    issue("kubelet", "system:node:n0", "ca", "clientAuth")
    issue("serving", SCHEDULER, "ca", "serverAuth")
    issue("stranger", SCHEDULER, "other-ca", "clientAuth")
    issue("expired", SCHEDULER, "ca", "clientAuth", days=-1)
    issue("renewed", "muster-2", "ca", "serverAuth")


def post_tls(c, folder, name, body=None, ca="ca"):
    """(status, text), by the client certificate of that name; the status is 0 when there is no connection."""
    context = ssl.create_default_context(cafile=os.path.join(folder, f"{ca}.crt"))
    if name:
        context.load_cert_chain(os.path.join(folder, f"{name}.crt"), os.path.join(folder, f"{name}.key"))
    connection = http.client.HTTPSConnection(*address(c.listen), timeout=60, context=context)
    with contextlib.closing(connection):
        try:
            connection.request("POST", "/filter", json.dumps(body or question()), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        except (OSError, http.client.HTTPException) as error:
            return 0, str(error)


def question(pod=None, nodes=("n0", "n1", "n2", "n3")):
    return {"Pod": pod or {"metadata": {"name": "p", "namespace": "default", "uid": "u"}}, "Nodes": None, "NodeNames": list(nodes)}


def theirs(c, name, cpu="1"):
    c.create(objects.pod(name, cpu=cpu, memory="1Gi", scheduler="default-scheduler"))
    return c.client.get("Pod", name)


@contextlib.contextmanager
def cluster(*flags, nodes=4):
    with Cluster(*(objects.node(f"n{i}", cpu="8") for i in range(nodes))) as c:
        c.health = f"127.0.0.1:{muster.free_port()}"
        c.pair(frontend=("--health-listen", c.health, *flags))
        yield c


def held(c, *loads):
    """Health under these loads; then the port itself works as before, at once."""
    with Probe(c.health) as probe, contextlib.ExitStack() as stack:
        for load in loads:
            stack.enter_context(load)
        time.sleep(LOADS_S)
    figure(f"{probe.n} probes, slowest {probe.slowest_s * 1e3:.0f} ms, stalls of {probe.stalls.longest_s * 1e3:.0f} ms; frontend's peak {peak_mib(c.frontend.pid)} MiB")
    equal(probe.bad, [], "probes that failed")
    check(probe.in_time(probe.slowest_s), probe.slowest_s, "s for a probe")
    check(peak_mib(c.frontend.pid) < limit_mib(), peak_mib(c.frontend.pid), "MiB")
    until(lambda: get(c.listen, "/metrics")[0] == 200, 15, "the port after it")


def test_f2_slow_clients_do_not_keep_the_port():
    """96 clients that send a byte each 2 s: health on either port, and the metrics, answer meanwhile."""
    with cluster() as c, load("slow", c.listen, 32), load("slow", c.listen, 64, OTHER), \
            load("slow", c.health, 40, OTHER), Probe(c.health) as probe:
        time.sleep(3)
        for _ in range(12):
            start = time.monotonic()
            equal(as_kubelet(c.listen), 200, "/livez on the port itself")
            check(probe.in_time(time.monotonic() - start), "s for /livez on the port itself")
            check(as_kubelet(c.listen, "/metrics") == 200, "metrics")
            time.sleep(1)
    equal(probe.bad, [], "probes that failed")
    check(probe.in_time(probe.slowest_s), probe.slowest_s, "s for a probe")


def test_a_request_has_a_deadline():
    """One that goes on sending a byte is cut off, whichever part it is in."""
    heads = (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ",
             b"POST /filter HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n")
    with cluster("--extender-keep", "30") as c:
        sockets = [socket.create_connection(address(c.listen), timeout=60) for _ in heads]
        for s, head in zip(sockets, heads):
            s.sendall(head)

        def over(s):
            try:
                s.sendall(b"x")
                s.setblocking(False)
                return s.recv(100) == b""
            except BlockingIOError:
                return False
            except OSError:
                return True
            finally:
                s.settimeout(5)

        for s in sockets:
            until(lambda s=s: over(s), 25, "the connection closed", every_s=1)
        becomes(lambda: c.metrics()['muster_port_connections_closed_total{listener="port",reason="deadline"}'], 2, "closed")


def test_floods_do_not_starve_health():
    with cluster("--extender-keep", "30") as c:
        held(c, load("connections", c.listen, 2), load("requests", c.listen, 4), load("slow", c.listen, 32),
             load("connections", c.health, 1, OTHER), load("requests", c.health, 2, OTHER))


def test_f4_large_bodies_are_bounded_in_all():
    """31 bodies of 60 MiB at once: the frontend was at 1,833 MiB."""
    with cluster("--extender-keep", "30") as c:
        held(c, load("body", c.listen, 31))
        check(c.metrics()['muster_port_requests_refused_total{reason="bytes"}'] > 0, "none was refused")
        until(lambda: c.metric("muster_port_body_bytes") == 0, 15, "no bytes kept")
        until(lambda: "memory for bodies" in c.frontend.log(), 15, "a line that says so")


def test_a_body_above_the_limit_is_refused_before_it_is_read():
    with cluster("--extender-keep", "30") as c:
        with contextlib.closing(socket.create_connection(address(c.listen), timeout=60)) as s:
            s.sendall(f"POST /filter HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                      f"Content-Length: {64 * MIB + 1}\r\n\r\n".encode())
            check(s.recv(100).startswith(b"HTTP/1.1 413"), "not 413")
        with contextlib.closing(socket.create_connection(address(c.listen), timeout=60)) as s:
            s.sendall(b"POST /filter HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                      b"Transfer-Encoding: chunked\r\n\r\n")
            check(s.recv(100).startswith(b"HTTP/1.1 411"), "a body without a length")


def test_bodies_of_pods_leave_memory_for_the_extender():
    """Anybody may send a pod, whatever --extender-auth is: 64 that are only announced had all memory for bodies."""
    head = f"POST /pod HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {2 * MIB}\r\n\r\n".encode()
    with cluster("--extender-keep", "30") as c, contextlib.ExitStack() as stack:
        for _ in range(8):
            stack.enter_context(contextlib.closing(socket.create_connection(address(c.listen), timeout=60))).sendall(head)
        becomes(lambda: c.metric("muster_port_body_bytes"), 16 * MIB, "announced")
        with contextlib.closing(socket.create_connection(address(c.listen), timeout=5)) as s:
            s.sendall(head)
            check(s.recv(200).startswith(b"HTTP/1.1 503"), "one more pod")
        equal(post(c.listen, "/filter", question())[0], 200, "the extender")


def test_forged_hosts_and_origins():
    question = {"Pod": {"metadata": {"name": "p", "namespace": "default", "uid": "u"}}, "NodeNames": ["n0"]}
    with cluster("--extender-keep", "30", "--allowed-hosts", "muster.test", "--allowed-hosts", "other.test") as c:
        for host in ("evil.example", "evil.example:10261", "127.0.0.1.evil.example", "localhost.evil.example"):
            for path in ("/", "/state.json", "/metrics", "/latency"):
                equal(get(c.listen, path, Host=host)[0], 403, (host, path))
            equal(post(c.listen, "/filter", question, Host=host)[0], 403, host)
            equal(get(c.listen, "/livez", Host=host)[0], 200, "health is for anybody")
            equal(get(c.health, "/livez", Host=host)[0], 200, "health is for anybody")
        for host in ("localhost", "10.1.2.3:10261", "[::1]:1", "muster.test:10261", "OTHER.test"):
            equal(get(c.listen, "/metrics", Host=host)[0], 200, host)
        for origin in ("http://evil.example", "null", "http://127.0.0.1", "file://"):
            equal(post(c.listen, "/filter", question, Origin=origin)[0], 403, origin)
            equal(get(c.listen, "/state.json", Origin=origin)[0], 403, origin)
        equal(get(c.listen, "/state.json", Origin=f"http://{c.listen}")[0], 200, "its own page")
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
            equal(post(c.listen, "/filter", question, Content_Type=kind)[0], 415, kind)
        equal(c.metric("muster_extender_answers_total"), 0, "none of these was a question")
        refused = {k: v for k, v in c.metrics().items() if k.startswith("muster_port_requests_refused_total")}
        equal(refused['muster_port_requests_refused_total{reason="host"}'], 20)
        equal(c.frontend.log().count("--allowed-hosts does not name"), 1, "lines about it")


def test_the_health_listener_has_health_alone():
    with cluster() as c:
        for path in ("/healthz", "/livez", "/readyz"):
            equal(get(c.health, path), (200, "ok\n"), path)
        for path in ("/", "/metrics", "/state.json", "/filter"):
            equal(get(c.health, path)[0], 404, path)
        c.core.kill()
        until(lambda: get(c.health, "/readyz")[0] == 503, 10, "not ready")
        check("muster-core is not connected" in get(c.health, "/readyz")[1], "why")
        equal(get(c.health, "/livez")[0], 200)
    with Cluster() as c:  # without the other listener
        c.health = f"127.0.0.1:{muster.free_port()}"
        c.start_core()
        p = c.start_frontend("--health-listen", c.health, listen="off")
        until(lambda: kube.fetch(c.health, "/readyz")[0] == 200, 20, "ready")
        check(p.running(), p.log())
        code, _, err = run("muster-frontend", "--socket", c.socket, "--kubeconfig", c.kubeconfig, "--listen", "off",
                           "--health-listen", c.health)
        equal(code, 78)
        check(f"--health-listen: can't listen on {c.health}" in err, err)


def test_f3_the_extender_answers_kube_scheduler_alone_by_certificate():
    folder = muster.scratch()
    certificates(folder)
    tls = [f"--{flag}={os.path.join(folder, name)}" for flag, name in (
        ("tls-cert-file", "server.crt"), ("tls-private-key-file", "server.key"), ("client-ca-file", "ca.crt"))]
    with Cluster(*(objects.node(f"n{i}", cpu="8") for i in range(4))) as c:
        c.start_core()
        health = f"127.0.0.1:{muster.free_port()}"
        c.frontend = c.start_frontend("--extender-keep", "30", "--extender-auth", "mtls", "--health-listen", health, *tls)
        until(lambda: kube.fetch(health, "/readyz")[0] == 200, 30, "ready")
        pod = theirs(c, "theirs")
        for name, status, why in ((None, 401, "a client certificate is needed"), ("kubelet", 403, "not a user of --extender-user"),
                                  ("stranger", 401, "not one of --client-ca-file"), ("serving", 401, "not one of --client-ca-file"),
                                  ("expired", 401, "has expired")):
            got = post_tls(c, folder, name, question(pod))
            # A client may find that none of its certificates is asked for, and send none.
            check(got[0] == status and why in got[1] or (name == "stranger" and got[0] in (0, 401)), name, got)
        status, text = post_tls(c, folder, "scheduler", question(pod))
        check(status == 200 and len(json.loads(text)["NodeNames"]) == 1, status, text)
        # Renewed files are used, without a new process.
        for suffix in ("crt", "key"):
            shutil.copy(os.path.join(folder, f"renewed.{suffix}"), os.path.join(folder, f"server.{suffix}"))
        until(lambda: post_tls(c, folder, "scheduler")[0] and "read the certificate of the port again" in c.frontend.log(), 30,
              "the new certificate", every_s=1)
        served = ssl.get_server_certificate(address(c.listen))
        with open(os.path.join(folder, "renewed.crt"), encoding="ascii") as file:
            equal(ssl.PEM_cert_to_DER_cert(served), ssl.PEM_cert_to_DER_cert(file.read()), "the certificate served")
        # A pair that does not match leaves the one in use.
        shutil.copy(os.path.join(folder, "scheduler.key"), os.path.join(folder, "server.key"))
        until(lambda: post_tls(c, folder, "scheduler")[0] and "stays in use" in c.frontend.log(), 30, "a line about it", every_s=1)
        equal(post_tls(c, folder, "scheduler", question(pod))[0], 200)


def test_f3_the_extender_answers_kube_scheduler_alone_by_token():
    """apisim reviews the token "apisim:NAME" as that user's."""
    with cluster("--extender-keep", "30", "--extender-auth", "token", "--extender-user", SCHEDULER) as c:
        pod = theirs(c, "theirs")
        for field, status in ((None, 401), ("Basic eDp5", 401), ("Bearer stolen", 401), ("Bearer apisim:tenant", 403),
                              ("Bearer apisim:" + SCHEDULER, 200), ("bearer apisim:" + SCHEDULER, 200), ("Bearer ", 401)):
            for _ in range(3):
                fields = {"Authorization": field} if field else {}
                got = post(c.listen, "/filter", question(pod), **fields)
                equal(got[0], status, (field, got))
        equal(c.stats()["requests"].get("POST other 201"), 3, "each of three tokens is reviewed once")
        equal(c.metric("muster_extender_answers_total"), 6)
        # A body is not kept before the token is known to be good.
        with load("body", c.listen, 8):
            time.sleep(3)
        check(peak_mib(c.frontend.pid) < 60, peak_mib(c.frontend.pid), "MiB")
        # Tokens at random reach the API server at a bounded rate, and a good one is still good.
        start = time.monotonic()
        statuses = [post(c.listen, "/filter", question(pod), Authorization=f"Bearer {i}")[0] for i in range(100)]
        took = time.monotonic() - start
        check(set(statuses) == {401, 503} or took > 8, took, statuses)
        check(statuses.count(401) <= 21 + 10 * took, took, statuses)  # a burst of 20, and ten a second
        equal(post(c.listen, "/filter", question(pod), Authorization="Bearer apisim:" + SCHEDULER)[0], 200)
        for secret in ("stolen", "apisim:tenant"):
            check(secret not in c.frontend.log(), "a token in the log")


def test_f3_an_extender_that_asks_nobody_is_for_this_host_alone():
    folder = muster.scratch()
    certificates(folder)
    cert, key = (f"--tls-{flag}={os.path.join(folder, 'server.' + suffix)}" for flag, suffix in (("cert-file", "crt"), ("private-key-file", "key")))
    with Cluster() as c:
        for flags, why in ((["--listen", "0.0.0.0:0"], "could reserve the cluster"), (["--listen", ":0"], "could reserve the cluster"),
                           (["--listen", "[::]:0"], "could reserve the cluster"),
                           (["--listen", "0.0.0.0:0", "--extender-auth", "token"], "in clear"),
                           (["--extender-auth", "mtls"], "needs --tls-cert-file"),
                           (["--extender-auth", "mtls", cert, key], "--client-ca-file"),
                           ([cert], "only of use together"),
                           ([cert, key.replace("server", "kubelet")], "server.crt: ")):
            code, _, err = run("muster-frontend", "--socket", c.socket, "--kubeconfig", c.kubeconfig, "--extender-keep", "30",
                               *(flags if "--listen" in flags else ["--listen", "127.0.0.1:0", *flags]))
            check(code == 2 and why in err, flags, code, err)
    with cluster("--extender-keep", "30") as c:
        check("each process of this host may reserve" in c.frontend.log(), "a warning")


def test_f3_what_a_client_of_the_extender_may_reserve():
    with cluster("--extender-keep", "2", "--extender-reservations-max", "2") as c:
        pods = [theirs(c, f"theirs-{i}", cpu="7500m") for i in range(3)]

        def ask(pod):
            status, text = post(c.listen, "/filter", question(pod))
            equal(status, 200, text)
            return json.loads(text)["NodeNames"]

        def unreserved(reason):
            return c.metrics()[f'muster_extender_unreserved_total{{reason="{reason}"}}']

        nameless = {"metadata": {k: v for k, v in pods[0]["metadata"].items() if k != "uid"}}
        for _ in range(5):  # nothing is taken: the first node each time
            equal(ask(nameless), ["n0"])
        equal(unreserved("uid"), 5)
        equal([ask(p) for p in pods], [["n0"], ["n1"], ["n2"]])
        equal(unreserved("limit"), 1, "the third pod has an answer and no reservation")
        # A question again and again for a pod that is never bound holds capacity for half of the time.
        c.create(objects.pod_group("g", 4), *(objects.pod(f"g-{i}", cpu="8", group="g") for i in range(4)))

        def again():
            for p in pods[:2]:
                ask(p)
            return c.bound("g") == 4

        until(again, 10, "the gang bound")
        check(unreserved("time") > 0, "questions beyond their time")
        check(not c.wrongs(), c.wrongs())


if __name__ == "__main__":
    if sys.argv[1:2] == ["--attack"]:
        attack(*sys.argv[2:])
    main(globals())
