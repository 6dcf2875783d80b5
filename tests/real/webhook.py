# SPDX-License-Identifier: Apache-2.0
"""A validating webhook for Bindings, which a real API server asks before it applies one.

    with Webhook(client, folder) as webhook:
        webhook.rules["p1"] = lambda review: "no"      # a reason refuses it, None lets it through
        webhook.asked                                  # [(name of the pod, monotonic time)]

A rule runs in the thread of its request and may wait; the API server waits for it, up to 30 s."""
import base64
import http.server
import json
import os
import ssl
import subprocess
import threading
import time

from lib.harness import until
from lib.kube import ApiError, may_be_gone

NAME = "bindings.test.invalid"
PROBE = "webhook-probe"


class Webhook:
    def __init__(self, client, folder):
        self.client, self.rules, self.asked = client, {}, []
        pem, key = os.path.join(folder, "webhook.pem"), os.path.join(folder, "webhook.key")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-days", "2", "-subj", "/CN=webhook", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key,
                        "-out", pem], check=True, stderr=subprocess.DEVNULL)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pem, key)
        with open(pem, "rb") as file:
            self.authority = base64.b64encode(file.read()).decode()
        handler = type("Handler", (_Handler,), {"webhook": self})
        self.server = _Server(("127.0.0.1", 0), handler)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        """The API server asks it from now on."""
        self.client.create({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": NAME}, "webhooks": [{
                "name": NAME, "sideEffects": "None", "admissionReviewVersions": ["v1"], "timeoutSeconds": 30,
                "failurePolicy": "Fail",
                "clientConfig": {"url": f"https://127.0.0.1:{self.server.server_port}/", "caBundle": self.authority},
                "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"],
                           "resources": ["pods/binding"], "scope": "*"}]}]})
        until(self._is_asked, 30, "the webhook is asked")
        return self

    def __exit__(self, *_):
        with may_be_gone():
            self.client.delete("ValidatingWebhookConfiguration", NAME)
        self.server.shutdown()
        self.server.server_close()

    def _is_asked(self):
        try:
            self.client.bind(PROBE, "none")  # no such pod, which the API server finds after admission
        except ApiError as error:
            if error.status != 404:
                raise
        return self.times(PROBE)

    def times(self, name):
        """When it was asked about this pod."""
        return [when for asked, when in list(self.asked) if asked == name]

    def judge(self, review):
        request = review["request"]
        name = request["name"]
        self.asked.append((name, time.monotonic()))
        rule = self.rules.get(name)
        why = rule(request) if rule else None
        said = {"uid": request["uid"], "allowed": why is None}
        if why is not None:
            said["status"] = {"code": 403, "message": why}
        return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": said}


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        """The API server gave up before the answer."""


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    webhook = None

    def log_message(self, *_):
        pass

    def do_POST(self):
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body = json.dumps(self.webhook.judge(review)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
