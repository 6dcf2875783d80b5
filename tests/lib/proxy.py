# SPDX-License-Identifier: Apache-2.0
"""A proxy in front of an API server that processes requests by the rules of a test.  It sees each
of them, and can respond, delay, change, drop and cut; the server behind it is unmodified.

    with Proxy(kubeconfig, folder) as proxy:        # proxy.kubeconfig is for the client under test
        proxy.rule(is_binding, lambda call: call.status(500, "InternalError", "no"), count=3)

A rule is a predicate of a Call and an action; the newest that matches is used, and
without one the call is passed on.  Rules run in the thread of the connection."""
import collections
import http.client
import http.server
import json
import os
import socket
import struct
import threading
import time
import urllib.parse

from . import kube

ONE_HOP = ("connection", "transfer-encoding", "content-length", "keep-alive")
REASONS = {400: "BadRequest", 401: "Unauthorized", 403: "Forbidden", 404: "NotFound", 409: "Conflict", 410: "Expired",
           422: "Invalid", 429: "TooManyRequests", 500: "InternalError", 503: "ServiceUnavailable", 504: "Timeout"}
BEAT_S = 0.02  # how often a waiting thread checks whether the proxy ends


class Cut(Exception):
    """Raised by a rule or by a change of a stream: the connection breaks here."""


class Gate:
    """While closed, it blocks the threads that wait at it."""

    def __init__(self):
        self._open = threading.Event()
        self.waiting = 0

    def open(self):
        self._open.set()

    def wait(self):
        self.waiting += 1
        while not self._open.wait(BEAT_S):
            pass


class Rule:
    def __init__(self, fits, act, count):
        self.fits, self.act, self.left = fits, act, count
        self.hits = 0


class Call:
    """One request.  What a rule does with it is one of pass_on(), answer(), status() and
    cut(); before that it may forward() it, wait, or do both later."""

    def __init__(self, handler, body):
        url = urllib.parse.urlsplit(handler.path)
        self.handler, self.proxy, self.body = handler, handler.proxy, body
        self.method, self.path, self.target = handler.command, url.path, handler.path
        self.query = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        self.resource, self.sub, self.name = resource_of(url.path)
        self.watch = self.query.get("watch") in ("1", "true")
        self.list = self.method == "GET" and not self.name and not self.watch and self.resource is not None
        self.when, self.code = time.monotonic(), None
        self.answered, self.retry_after = None, 0  # when, and the response to the next one
        self.said = b""                            # the response, if it is no stream

    def __repr__(self):
        return f"{self.method} {self.target} {self.code}"

    def forward(self):
        """(status, headers, body) of the server, which the client does not get."""
        answer = self._ask()
        return answer.status, answer.getheaders(), answer.read()

    def forward_later(self, seconds):
        """The server sees it after that time; the client's connection is free meanwhile."""
        headers, path, method, body = self._headers(), self.target, self.method, self.body

        def run():
            time.sleep(seconds)
            connection = self.proxy.client._connect(30)
            try:
                connection.request(method, path, body or None, headers)
                connection.getresponse().read()
            except OSError:
                pass
            finally:
                connection.close()

        threading.Thread(target=run, daemon=True).start()

    def pass_on(self, change=None):
        """The server's response, unchanged.  change: a generator over the pieces of the body."""
        answer = self._ask()
        headers = [(k, v) for k, v in answer.getheaders() if k.lower() not in ONE_HOP]
        if not answer.chunked and change is None:
            self.answer(answer.status, answer.read(), headers)
            return
        self.head(answer.status, [*headers, ("Transfer-Encoding", "chunked")])
        pieces = self._pieces(answer)
        for data in change(pieces) if change else pieces:
            if data:
                self.handler.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.handler.wfile.write(b"0\r\n\r\n")

    def answer(self, status, body, headers=()):
        if isinstance(headers, dict):
            headers = headers.items()
        self.said = body
        self.head(status, [*headers, ("Content-Length", str(len(body)))])
        self.handler.wfile.write(body)

    def status(self, code, message, reason=None, headers=()):
        """A Status object."""
        said = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message,
                "reason": REASONS.get(code, "") if reason is None else reason, "code": code}
        self.answer(code, json.dumps(said).encode(), {"Content-Type": "application/json", **dict(headers)})

    def again(self):
        """As if it arrived now: after a delay, other rules may exist."""
        self.proxy.handle(self)

    def cut(self):
        raise Cut

    def token(self):
        """What the client came with."""
        return self.handler.headers.get("Authorization", "").removeprefix("Bearer ")

    def _headers(self):
        """The server's own token is forwarded; a rule checks the client's."""
        kept = {k: v for k, v in self.handler.headers.items() if k.lower() not in (*ONE_HOP, "host", "authorization")}
        return {**kept, "Authorization": "Bearer " + self.proxy.client.token}

    def _ask(self):
        h = self.handler
        for fresh in (False, True):
            if h.upstream is None or fresh:
                h.upstream = self.proxy.client._connect(None)
            try:
                h.upstream.request(self.method, self.target, self.body or None, self._headers())
                return h.upstream.getresponse()
            except (OSError, http.client.HTTPException):
                if fresh or self.method != "GET":
                    raise
        raise AssertionError("unreachable")

    def _pieces(self, answer):
        while data := answer.read1(1 << 16):
            yield data

    def head(self, status, headers):
        self.code, self.answered = status, time.monotonic()
        self.handler.send_response(status)
        for key, value in headers:
            if key.lower() == "retry-after":
                self.retry_after = int(value)
            self.handler.send_header(key, value)
        self.handler.end_headers()
        self.handler.wfile.flush()


def resource_of(path):
    """(plural, subresource, name) that a path of the API names."""
    parts = path.strip("/").split("/")
    parts = parts[2:] if parts[0] == "api" else parts[3:] if parts[0] == "apis" else []
    if len(parts) > 2 and parts[0] == "namespaces":
        parts = parts[2:]
    name, sub = (parts[1:] + [None, None])[:2]
    return (parts[0] if parts else None), sub, name


def is_binding(call):
    return call.method == "POST" and call.sub == "binding"


def is_list(resource):
    """A full list: one of a single object only reads the server's current version."""
    return lambda call: call.list and call.resource == resource and call.query.get("limit") != "1"


def is_watch(resource):
    return lambda call: call.watch and call.resource == resource


def anything(_):
    return True


def lines(pieces):
    """The events of a watch, each complete."""
    rest = b""
    for data in pieces:
        rest += data
        while b"\n" in rest:
            line, rest = rest.split(b"\n", 1)
            yield line + b"\n"
    if rest:
        yield rest


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_):
        pass


class Proxy:
    def __init__(self, kubeconfig, folder):
        self.tls = None  # an ssl.SSLContext, from the next listen() on
        self.client = kube.Client(kubeconfig)
        self.kubeconfig = os.path.join(folder, "proxy.kubeconfig")
        self.seen = collections.deque(maxlen=200000)  # calls
        self.binding, self.most_binding = 0, 0        # Bindings at once
        self._rules, self._lock, self._open = [], threading.Lock(), {}
        self.port, self._server = 0, None
        self.listen()
        kube.write_kubeconfig(self.kubeconfig, f"http://127.0.0.1:{self.port}", self.client.token)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.away()

    def listen(self):
        """On the same port as before."""
        handler = type("Handler", (_Handler,), {"proxy": self})
        self._server = _Server(("127.0.0.1", self.port), handler)
        self.port = self._server.server_port
        if self.tls:
            self._server.socket = self.tls.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": BEAT_S}, daemon=True).start()

    def away(self):
        """No listener, and all connections break."""
        if self._server:
            self._server.shutdown()
            self._server.server_close()
            self._server = None
        self.cut_all()

    def cut_all(self, fits=anything):
        """Break the connections whose call fits, and those at rest if all do."""
        with self._lock:
            connections = [c for c, call in self._open.items() if (fits is anything if call is None else fits(call))]
        for connection in connections:
            reset(connection)

    def rule(self, fits, act, count=None):
        """For the next `count` calls that fit, or for all."""
        made = Rule(fits, act, count)
        with self._lock:
            self._rules.insert(0, made)
        return made

    def remove(self, rule):
        with self._lock:
            if rule in self._rules:
                self._rules.remove(rule)

    def calm(self):
        """No rules any more."""
        with self._lock:
            self._rules.clear()

    def hold(self, fits, count=None, again=True):
        """A gate at which those calls wait, before the server has seen them."""
        gate = Gate()

        def act(call):
            gate.wait()
            call.again() if again else call.pass_on()

        gate.rule = self.rule(lambda call: not gate._open.is_set() and fits(call), act, count)
        return gate

    def hold_answers(self, fits, count=None):
        """A gate at which the server's responses wait, with their earlier content."""
        gate = Gate()

        def act(call):
            status, headers, body = call.forward()
            gate.wait()
            call.answer(status, body, [(k, v) for k, v in headers if k.lower() not in ONE_HOP])

        gate.rule = self.rule(lambda call: not gate._open.is_set() and fits(call), act, count)
        return gate

    def handle(self, call):
        with self._lock:
            rule = next((r for r in self._rules if r.left != 0 and r.fits(call)), None)
            if rule:
                rule.hits += 1
                rule.left = rule.left and rule.left - 1
        rule.act(call) if rule else call.pass_on()

    def count(self, fits):
        return sum(1 for call in list(self.seen) if fits(call))

    # ---- of the handlers ----

    def came(self, connection, call):
        with self._lock:
            self._open[connection] = call
            if call:
                self.seen.append(call)
                self.binding += is_binding(call)
                self.most_binding = max(self.most_binding, self.binding)

    def went(self, connection, call):
        with self._lock:
            self._open[connection] = None
            self.binding -= is_binding(call)

    def left(self, connection):
        with self._lock:
            self._open.pop(connection, None)


def reset(connection):
    """RST: the other side learns of it at once."""
    try:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    proxy = upstream = None

    def log_message(self, *_):
        pass

    def setup(self):
        super().setup()
        self.proxy.came(self.connection, None)

    def finish(self):
        self.proxy.left(self.connection)
        if self.upstream:
            self.upstream.close()
        try:
            super().finish()
        except OSError:
            pass

    def relay(self):
        call = Call(self, self.rfile.read(int(self.headers.get("Content-Length", 0))))
        self.proxy.came(self.connection, call)
        try:
            self.proxy.handle(call)
        except Cut:
            reset(self.connection)
            self.close_connection = True
        except (OSError, http.client.HTTPException):
            self.close_connection = True  # one of the two ends is gone
            reset(self.connection)
        finally:
            self.proxy.went(self.connection, call)

    def __getattr__(self, name):
        if name.startswith("do_"):
            return self.relay
        raise AttributeError(name)
