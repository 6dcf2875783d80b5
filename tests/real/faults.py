"""A proxy before the real API server that lets bindings fail as apisim's faults do:
answered 500, 504 or 409, or cut off, without or with effect.

    with FaultProxy(kubeconfig, folder) as proxy: ... proxy.kubeconfig, proxy.arm("bind-500-after", count=1)
"""
import collections
import http.client
import http.server
import json
import os
import re
import threading

from lib import kube

FAULT = re.compile(r"bind-(500|504|409|cut)-(before|after)")
WORDS = {500: ("InternalError", "Internal error occurred: armed fault"),
         504: ("Timeout", "Timeout: request did not complete within the allotted timeout"),
         409: ("Conflict", 'Operation cannot be fulfilled on pods/binding "{}": etcdserver: request timed out')}
ONE_HOP = ("connection", "transfer-encoding", "content-length", "keep-alive")


class FaultProxy:
    def __init__(self, kubeconfig, folder):
        self.client = kube.Client(kubeconfig)
        self.kubeconfig = os.path.join(folder, "proxy.kubeconfig")
        self._armed, self._lock = collections.deque(), threading.Lock()
        handler = type("Handler", (_Handler,), {"proxy": self})
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.server.daemon_threads = True
        kube.write_kubeconfig(self.kubeconfig, f"http://127.0.0.1:{self.server.server_port}", self.client.token)

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def arm(self, fault, count=1):
        """For the next `count` bindings, after those that were armed before."""
        match = FAULT.fullmatch(fault)
        if not match:
            raise ValueError(f"no fault {fault} of a real server")
        self._armed.extend([match.groups()] * count)

    def due(self, method, path):
        """(what, when) for this request, or None."""
        with self._lock:
            if method == "POST" and path.endswith("/binding") and self._armed:
                return self._armed.popleft()
        return None


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    proxy = upstream = None

    def log_message(self, *_):
        pass

    def finish(self):
        if self.upstream:
            self.upstream.close()
        super().finish()

    def relay(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        fault = self.proxy.due(self.command, self.path)
        if fault and fault[1] == "before":
            return self.fail(fault[0])
        if self.upstream is None:
            self.upstream = self.proxy.client._connect(None)
        headers = {k: v for k, v in self.headers.items() if k.lower() not in (*ONE_HOP, "host")}
        self.upstream.request(self.command, self.path, body or None, headers)
        answer = self.upstream.getresponse()
        if fault:
            answer.read()
            return self.fail(fault[0])
        return self.pass_on(answer)

    def pass_on(self, answer):
        """As it comes: a watch has no end."""
        self.send_response(answer.status, answer.reason)
        for key, value in answer.getheaders():
            if key.lower() not in ONE_HOP:
                self.send_header(key, value)
        if not answer.chunked:
            data = answer.read()
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
            return
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while data := answer.read1(1 << 16):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.write(b"0\r\n\r\n")

    def fail(self, what):
        if what == "cut":
            self.close_connection = True
            return
        code = int(what)
        reason, message = WORDS[code]
        data = json.dumps({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason,
                           "message": message.format(self.path.split("/")[-2])}).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def __getattr__(self, name):
        if name.startswith("do_"):
            return self.guarded
        raise AttributeError(name)

    def guarded(self):
        try:
            self.relay()
        except (OSError, http.client.HTTPException):
            self.close_connection = True  # one of the two ends is gone
