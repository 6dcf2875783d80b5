#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One client, two servers: is apisim what it says it is?

A long sequence of requests is sent to a server and what comes back is written
down with everything that may differ (uids, versions, times) replaced by marks.
The transcripts of apisim and of a real kube-apiserver must be equal.

    conformance.py --server URL [--token T] [--cacert F] [--tls-server-name N] [-o FILE]
    conformance.py --kubeconfig FILE [-o FILE]
    conformance.py --compare A B        differences; exit 1 if there are any

No kubelet may be at work: start apisim with --no-kubelet.  Only the standard
library is needed.
"""

import argparse
import base64
import difflib
import http.client
import json
import os
import re
import secrets
import socket
import ssl
import sys
import time
import urllib.parse

JSON = "application/json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


# ---- connections ----------------------------------------------------------


class Server:
    def __init__(self, url, token=None, cacert=None, cadata=None, tls_server_name=None):
        self.url = urllib.parse.urlsplit(url)
        self.token = token
        self.name = tls_server_name or self.url.hostname
        self.tls = None
        if self.url.scheme == "https":
            self.tls = ssl.create_default_context(cafile=cacert, cadata=cadata)
        self.kept = None

    def connect(self, timeout=20):
        sock = socket.create_connection((self.url.hostname, self.url.port), timeout)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self.tls:
            sock = self.tls.wrap_socket(sock, server_hostname=self.name)
        connection = http.client.HTTPConnection(self.url.hostname, self.url.port, timeout=timeout)
        connection.sock = sock
        return connection

    def headers(self, content_type):
        headers = {"Accept": JSON}
        if self.token:
            headers["Authorization"] = "Bearer " + self.token
        if content_type:
            headers["Content-Type"] = content_type
        return headers

    def request(self, method, path, body=None, content_type=None, headers=None):
        """(status, decoded body or text, headers)"""
        if body is not None and not isinstance(body, (str, bytes)):
            body = json.dumps(body)
        if body is not None and content_type is None:
            content_type = JSON
        for attempt in (1, 2):
            if self.kept is None:
                self.kept = self.connect()
            try:
                self.kept.request(method, path, body, self.headers(content_type) if headers is None else headers)
                answer = self.kept.getresponse()
                text = answer.read()
                break
            except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError):
                self.kept = None
                if attempt == 2:
                    raise
        if answer.will_close:
            self.kept = None
        try:
            return answer.status, json.loads(text), answer.headers
        except ValueError:
            return answer.status, text.decode(), answer.headers

    def watch(self, path):
        return Watch(self, path)


class Watch:
    """A stream of events, read when asked."""

    def __init__(self, server, path):
        self.connection = server.connect(timeout=10)
        self.connection.request("GET", path, headers=server.headers(None))
        self.answer = self.connection.getresponse()
        self.status = self.answer.status
        self.text = b""

    def next(self):
        """One event; None at the end of the stream."""
        while b"\n" not in self.text:
            try:
                part = self.answer.read1(65536)
            except (socket.timeout, TimeoutError):
                return {"type": "TIMEOUT", "object": {}}
            if not part:
                return None
            self.text += part
        line, self.text = self.text.split(b"\n", 1)
        return json.loads(line)

    def close(self):
        self.connection.close()


def from_kubeconfig(path):
    """Reads the few lines that apisim and tests/real write; not a YAML parser."""
    with open(path, encoding="utf-8") as f:
        text = f.read()

    def find(name):
        found = re.search(r"^\s*-?\s*\"?%s\"?:\s*\"?([^\"\s,]+)" % name, text, re.M)
        return found.group(1) if found else None

    cadata = find("certificate-authority-data")
    cacert = find("certificate-authority")
    if cacert:
        cacert = os.path.join(os.path.dirname(os.path.abspath(path)), cacert)
    return Server(find("server"), find("token"), cacert, base64.b64decode(cadata).decode() if cadata else None,
                  find("tls-server-name"))


# ---- the transcript --------------------------------------------------------


class Transcript:
    def __init__(self, server, suffix):
        self.server = server
        self.suffix = suffix
        self.lines = []
        self.section = ""

    def begin(self, section):
        self.section = section

    def put(self, step, **what):
        entry = {"step": f"{self.section}: {step}", **what}
        self.lines.append(json.dumps(entry, sort_keys=True))

    def send(self, step, method, path, body=None, content_type=None, message=True, show=True):
        """Send, write down, return the decoded body."""
        status, answer, _ = self.server.request(method, path, body, content_type)
        self.put(step, status=status, answer=self.normal(answer, message) if show else "(not compared)")
        return answer if isinstance(answer, dict) else {}

    def normal(self, answer, message=True):
        if isinstance(answer, str):
            return self.text(answer)
        if answer.get("kind") == "Status":
            return self.status(answer, message)
        if "items" in answer:
            return self.list(answer)
        return self.value(answer)

    def text(self, text):
        text = UUID.sub("<uid>", text).replace(self.suffix, "<suffix>")
        text = re.sub(r"(object meta: |precondition: |resource version: |current: )\d+", r"\1<version>", text)
        text = re.sub(r"\(\d+\)", "(<version>)", text)
        return TIME.sub("<time>", text)

    def status(self, status, message):
        """Codes, reasons and causes; the words where they are a contract."""
        details = dict(status.get("details") or {})
        causes = [{k: c.get(k) for k in ("reason", "field")} for c in details.pop("causes", [])]
        out = {k: status.get(k) for k in ("status", "reason", "code")}
        details.pop("uid", None)
        out["details"] = {k: self.text(str(v)) for k, v in details.items()}
        # The real server checks some fields twice.
        out["causes"] = [json.loads(c) for c in sorted({json.dumps(c) for c in causes})]
        if message and status.get("reason") not in ("Invalid", "BadRequest", "UnsupportedMediaType"):
            out["message"] = self.text(status.get("message", ""))
        return out

    def list(self, answer):
        metadata = answer["metadata"]
        return {
            "kind": answer["kind"], "apiVersion": self.text(answer["apiVersion"]),
            "items": [self.text(i["metadata"]["name"]) for i in answer["items"] or []],
            "kinds": sorted({str(i.get("kind")) for i in answer["items"] or []}),
            "continue": bool(metadata.get("continue")), "remaining": metadata.get("remainingItemCount"),
            "version": bool(metadata.get("resourceVersion")),
        }

    def value(self, value, name=""):
        if isinstance(value, dict):
            # Go's types write nulls and empty structures that mean nothing.
            return {k: self.value(v, k) for k, v in value.items()
                    if v is not None and k not in ("managedFields", "selfLink", "deprecatedSource")}
        if isinstance(value, list):
            return [self.value(v) for v in value]
        if not isinstance(value, str):
            return value
        return "<version>" if name == "resourceVersion" else self.text(value)

    def event(self, event):
        if event is None:
            return "end"
        o = event["object"]
        if event["type"] == "ERROR":
            return {"type": "ERROR", "object": self.status(o, True)}
        if event["type"] == "BOOKMARK":
            return {"type": "BOOKMARK", "kind": o.get("kind"), "version": bool(o["metadata"].get("resourceVersion")),
                    "annotations": o["metadata"].get("annotations")}
        if event["type"] == "TIMEOUT":
            return "nothing came"
        return {"type": event["type"], "kind": o.get("kind"), "name": self.text(o["metadata"]["name"]),
                "labels": self.value(o["metadata"].get("labels")), "node": o.get("spec", {}).get("nodeName"),
                "phase": o.get("status", {}).get("phase") if isinstance(o.get("status"), dict) else None}

    def events(self, step, watch, n):
        got = [watch.next() for _ in range(n)]
        self.put(step, status=watch.status, events=[self.event(e) for e in got])
        return got


# ---- objects ----------------------------------------------------------------


def pod(name, labels=None, **spec):
    body = {"containers": [{"name": "main", "image": "example.com/pause:3.10"}], **spec}
    metadata = {"name": name}
    if labels:
        metadata["labels"] = labels
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": body}


def binding(name, node, **metadata):
    return {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name, **metadata},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node}}


def affine(terms):
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return pod("bad", affinity={"nodeAffinity": required})


def version_of(o):
    return o.get("metadata", {}).get("resourceVersion")


class Scenario:
    """Every method is a chapter; they run in order and build on one another."""

    def __init__(self, server):
        self.suffix = secrets.token_hex(4)
        self.t = Transcript(server, self.suffix)
        self.server = server
        self.ns = f"/api/v1/namespaces/conf-{self.suffix}"
        self.pods = self.ns + "/pods"
        self.group = f"conf{self.suffix}.example.com"

    def run(self):
        chapters = [self.basics, self.namespaces, self.create, self.refuse, self.quantities, self.lists, self.selectors,
                    self.nodes, self.update, self.patch, self.status, self.bind, self.watch, self.watch_selected,
                    self.watch_deletion, self.delete, self.leases, self.events, self.priorities, self.custom, self.late]
        for chapter in chapters:
            self.t.begin(chapter.__name__)
            try:
                chapter()
            except (KeyError, TypeError, IndexError) as e:  # an answer without what the next step needs
                self.t.put("broken off", error=repr(e))
        return self.t.lines

    # ---- the server ----

    def basics(self):
        t = self.t
        for path in ("/healthz", "/livez", "/readyz"):
            t.send(path, "GET", path)
        status, answer, _ = self.server.request("GET", "/api/v1/nodes", headers={"Authorization": "Bearer wrong"})
        t.put("wrong token", status=status, answer=t.normal(answer))
        t.put("api", answer=self.server.request("GET", "/api")[1]["versions"])
        for group in ("coordination.k8s.io", "events.k8s.io", "scheduling.k8s.io", "apiextensions.k8s.io"):
            found = [g for g in self.server.request("GET", "/apis")[1]["groups"] if g["name"] == group]
            t.put("group " + group, preferred=found[0]["preferredVersion"] if group != "scheduling.k8s.io" else "-")
        wanted = ("nodes", "nodes/status", "pods", "pods/status", "pods/binding", "namespaces", "configmaps")
        listed = {r["name"]: r for r in self.server.request("GET", "/api/v1")[1]["resources"]}
        for name in wanted:
            r = listed[name]
            t.put("resource " + name, kind=r["kind"], namespaced=r["namespaced"], verbs=sorted(r["verbs"]),
                  short=r.get("shortNames"), singular=r["singularName"])
        t.send("no such path", "GET", "/nothing")
        t.send("no such group", "GET", "/apis/nothing.example.com/v1/things")
        t.send("no such resource", "GET", "/api/v1/things")
        t.send("no such subresource", "GET", "/api/v1/nodes/x/things")
        t.send("method not allowed", "POST", "/api/v1/pods", {})
        t.send("delete all pods of all namespaces", "DELETE", "/api/v1/pods")

    def namespaces(self):
        t = self.t
        name = f"conf-{self.suffix}"
        t.send("create", "POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        t.send("again", "POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        t.send("get", "GET", "/api/v1/namespaces/" + name)
        t.send("bad name", "POST", "/api/v1/namespaces", {"metadata": {"name": "not.a.label"}})
        t.send("pod in a namespace that is not there", "POST", "/api/v1/namespaces/none-such/pods", pod("x"))
        t.send("list in one that is not there", "GET", "/api/v1/namespaces/none-such/pods")

    # ---- pods ----

    def create(self):
        t = self.t
        t.send("pod", "POST", self.pods, pod("plain"))
        t.send("again", "POST", self.pods, pod("plain"))
        t.send("get", "GET", self.pods + "/plain")
        t.send("not there", "GET", self.pods + "/none")
        got = t.send("generated name", "POST", self.pods, {**pod("x"), "metadata": {"generateName": "gen-"}}, show=False)
        name = got["metadata"]["name"]
        t.put("generated name", matches=bool(re.fullmatch(r"gen-[bcdfghjklmnpqrstvwxz2456789]{5}", name)))
        t.send("its deletion", "DELETE", f"{self.pods}/{name}", show=False)
        t.send("what the client may not say", "POST", self.pods, {
            **pod("liar", schedulerName="muster"), "status": {"phase": "Running"},
        })
        t.send("with everything", "POST", self.pods, {
            **pod("full", {"a": "b"}, schedulerName="muster", nodeSelector={"disk": "ssd"},
                  tolerations=[{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"},
                               {"key": "gpu", "value": "yes"}],
                  initContainers=[{"name": "init", "image": "busybox"},
                                  {"name": "side", "image": "busybox:latest", "restartPolicy": "Always"}],
                  schedulingGates=[{"name": "example.com/gate"}], terminationGracePeriodSeconds=5,
                  containers=[{"name": "main", "image": "a@sha256:" + "0" * 64, "ports": [{"containerPort": 80}],
                               "resources": {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}}}]),
        })
        t.send("dry run", "POST", self.pods + "?dryRun=All", pod("dry"))
        t.send("left nothing", "GET", self.pods + "/dry")
        t.send("nulls", "POST", self.pods, {**pod("nulls", nodeSelector=None, nodeName=None),
                                            "metadata": {"name": "nulls", "creationTimestamp": None, "labels": None}})

    def refuse(self):
        t = self.t
        for step, body in (
            ("no containers", {**pod("bad"), "spec": {"containers": []}}),
            ("no spec", {"metadata": {"name": "bad"}}),
            ("no image", pod("bad", containers=[{"name": "a"}])),
            ("container without a name", pod("bad", containers=[{"image": "a"}])),
            ("container name", pod("bad", containers=[{"name": "A_b", "image": "a"}])),
            ("two of a name", pod("bad", containers=[{"name": "a", "image": "a"}, {"name": "a", "image": "a"}])),
            ("restart policy", pod("bad", restartPolicy="Perhaps")),
            ("no name", {**pod("x"), "metadata": {}}),
            ("name", pod("Bad_Name")),
            ("label", pod("bad", {"a": "not a value"})),
            ("label name", pod("bad", {"-a": "b"})),
            ("other namespace", {**pod("bad"), "metadata": {"name": "bad", "namespace": "default"}}),
            ("other kind", {**pod("bad"), "kind": "Node"}),
            ("other version", {**pod("bad"), "apiVersion": "v2"}),
            ("priority by hand", pod("bad", priority=7)),
            ("unknown priority class", pod("bad", priorityClassName="none-such")),
            ("node name", pod("bad", nodeName="Not A Node")),
            ("toleration without key", pod("bad", tolerations=[{"value": "x"}])),
            ("toleration with a value too much", pod("bad", tolerations=[{"key": "a", "operator": "Exists", "value": "x"}])),
            ("toleration operator", pod("bad", tolerations=[{"key": "a", "operator": "Like"}])),
            ("toleration seconds", pod("bad", tolerations=[{"key": "a", "effect": "NoSchedule", "tolerationSeconds": 1}])),
            ("toleration effect", pod("bad", tolerations=[{"key": "a", "operator": "Exists", "effect": "Never"}])),
            ("affinity without terms", affine([])),
            ("affinity operator", affine([{"matchExpressions": [{"key": "a", "operator": "Like", "values": ["b"]}]}])),
            ("affinity without values", affine([{"matchExpressions": [{"key": "a", "operator": "In"}]}])),
            ("affinity with values too much", affine([{"matchExpressions": [{"key": "a", "operator": "Exists",
                                                                             "values": ["b"]}]}])),
            ("affinity, greater than two", affine([{"matchExpressions": [{"key": "a", "operator": "Gt",
                                                                         "values": ["1", "2"]}]}])),
            ("node selector value", pod("bad", nodeSelector={"a": "not a value"})),
            ("two gates of a name", pod("bad", schedulingGates=[{"name": "a.b/c"}, {"name": "a.b/c"}])),
            ("gate and node", pod("bad", nodeName="n1", schedulingGates=[{"name": "a.b/c"}])),
            ("spec is a list", {**pod("bad"), "spec": []}),
            ("labels of numbers", {**pod("bad"), "metadata": {"name": "bad", "labels": {"a": 1}}}),
            ("version set", {**pod("bad"), "metadata": {"name": "bad", "resourceVersion": "1"}}),
        ):
            t.send(step, "POST", self.pods, body, message=False)
        t.send("no JSON", "POST", self.pods, "{\"kind\":", message=False)
        t.send("empty body", "POST", self.pods, "", message=False)
        t.send("an array", "POST", self.pods, "[]", message=False)
        t.send("wrong media type", "POST", self.pods, "x", "text/plain", message=False)

    def quantities(self):
        t = self.t
        good = ["0.5", "1000m", "1024Mi", "1e3", "12E", "0.1m", "1500Mi", "1.5Gi", "+1", "0", "100n", "123456789", "2000k",
                "1.25Ki", "1E3", "4096Ki", "1e-3", ".5", "5."]
        for i, text in enumerate(good):
            body = pod(f"q{i}", containers=[{"name": "a", "image": "a:1", "resources": {"requests": {"memory": text}}}])
            got = self.server.request("POST", self.pods + "?dryRun=All", body)
            answer = got[1].get("spec", {}).get("containers", [{}])[0].get("resources") or t.normal(got[1], False)
            t.put("quantity " + text, status=got[0], answer=answer)
        number = pod("qn", containers=[{"name": "a", "image": "a:1", "resources": {"limits": {"cpu": 2, "memory": 1000}}}])
        t.send("numbers", "POST", self.pods + "?dryRun=All", number)
        for text in ("", "abc", "1 Gi", "1GiB", "--1", "1.2.3", "1e", "0x10", "1i", "Gi", "1e1.5", "-1", "1Mi1"):
            body = pod("bad", containers=[{"name": "a", "image": "a:1", "resources": {"requests": {"cpu": text}}}])
            t.send(f"quantity {text!r}", "POST", self.pods, body, message=False)
        for step, resources in (
            ("more than the limit", {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}),
            ("half a gpu", {"limits": {"nvidia.com/gpu": "500m"}}),
            ("gpu without a limit", {"requests": {"nvidia.com/gpu": "1"}}),
            ("gpu above the limit", {"requests": {"nvidia.com/gpu": "1"}, "limits": {"nvidia.com/gpu": "2"}}),
            ("unknown resource", {"requests": {"things": "1"}}),
        ):
            body = pod("bad", containers=[{"name": "a", "image": "a:1", "resources": resources}])
            t.send(step, "POST", self.pods, body, message=False)
        gpu = pod("gpu", containers=[{"name": "a", "image": "a:1", "resources": {"limits": {"nvidia.com/gpu": "2"}}}])
        t.send("gpus", "POST", self.pods + "?dryRun=All", gpu)
        for step, cpu, memory in (("guaranteed", ("1", "1"), ("1Gi", "1Gi")), ("burstable", ("1", "2"), (None, None)),
                                  ("memory alone", (None, None), ("1Gi", "1Gi"))):
            resources = {"requests": {}, "limits": {}}
            for name, (request, limit) in (("cpu", cpu), ("memory", memory)):
                if request:
                    resources["requests"][name], resources["limits"][name] = request, limit
            body = pod("qos", containers=[{"name": "a", "image": "a:1", "resources": resources}])
            got = self.server.request("POST", self.pods + "?dryRun=All", body)[1]
            t.put("qos " + step, qos=got["status"]["qosClass"])

    # ---- lists ----

    def lists(self):
        t = self.t
        for i in range(7):
            labels = {"set": "list", "run": self.suffix, "parity": "odd" if i % 2 else "even", "n": str(i)}
            t.send("pod", "POST", self.pods, pod(f"list-{i}", labels), show=False)
        where = self.pods + "?labelSelector=set%3Dlist"
        whole = t.send("whole", "GET", where)
        page = t.send("first page", "GET", where + "&limit=3")
        while page["metadata"].get("continue"):
            token = urllib.parse.quote(page["metadata"]["continue"])
            if page["metadata"].get("resourceVersion") and len(page["items"]) == 3 and "changed" not in locals():
                changed = True
                t.send("change between pages", "POST", self.pods, pod("list-later", {"set": "list"}), show=False)
                t.send("removal between pages", "DELETE", self.pods + "/list-6", show=False)
            first = version_of(page)
            page = t.send("next page", "GET", f"{where}&limit=3&continue={token}")
            t.put("version of a page", same=version_of(page) == first)
        t.send("without selector", "GET", self.pods + "?limit=2")
        page = t.send("limit and version 0", "GET", where + "&limit=2&resourceVersion=0", show=False)
        t.put("limit and version 0", status=page["kind"])
        old = version_of(whole)
        t.send("exactly an old version", "GET", f"{where}&resourceVersion={old}&resourceVersionMatch=Exact")
        t.send("not older than", "GET", f"{where}&resourceVersion={old}&resourceVersionMatch=NotOlderThan")
        t.send("not older, no match", "GET", f"{where}&resourceVersion={old}")
        for step, query in (
            ("match without version", "resourceVersionMatch=Exact"),
            ("unknown match", f"resourceVersion={old}&resourceVersionMatch=Roughly"),
            ("exactly 0", "resourceVersion=0&resourceVersionMatch=Exact"),
            ("version is no number", "resourceVersion=abc"),
            ("limit is no number", "limit=abc"),
            ("negative limit", "limit=-1"),
            ("bad token", "limit=2&continue=!!!"),
            ("initial events of a list", "sendInitialEvents=true&resourceVersionMatch=NotOlderThan"),
        ):
            t.send(step, "GET", f"{self.pods}?{query}", message=False)
        token = urllib.parse.quote(t.send("a token", "GET", where + "&limit=2")["metadata"]["continue"])
        t.send("token and version", "GET", f"{where}&limit=2&continue={token}&resourceVersion={old}", message=False)
        future = int(old) + 100000000
        t.send("future", "GET", f"{self.pods}?resourceVersion={future}")
        t.send("all namespaces", "GET", f"/api/v1/pods?labelSelector=run%3D{self.suffix}")

    def selectors(self):
        t = self.t
        for selector in ("set=list", "set==list", "set!=list,n", "parity in (odd,even)", "parity notin (odd)", "n",
                         "!n", "set=list,parity=odd", "n in (1,2,3),parity!=even", "set in (list)", "set=", "a,",
                         "n>3", "n<2"):
            query = urllib.parse.quote(selector)
            t.send("labels " + selector, "GET", f"{self.pods}?labelSelector={query}", message=False)
        for selector in ("a b", "in (x)", "a in x", "a=b=c", "=x", "a in (b", "%"):
            query = urllib.parse.quote(selector)
            t.send("bad labels " + selector, "GET", f"{self.pods}?labelSelector={query}", message=False)
        for selector in ("metadata.name=list-1", "metadata.name!=list-1,status.phase=Pending", "spec.nodeName=",
                         "spec.nodeName!=", "spec.schedulerName=muster", "status.phase=Running", "status.phase==Pending",
                         f"metadata.namespace=conf-{self.suffix}", "spec.restartPolicy=Always"):
            query = urllib.parse.quote(selector)
            t.send("fields " + selector.replace(self.suffix, ""), "GET", f"{self.pods}?fieldSelector={query}")
        for selector in ("spec.nothing=1", "metadata.labels=x", "metadata.name", "a>b"):
            query = urllib.parse.quote(selector)
            t.send("bad fields " + selector, "GET", f"{self.pods}?fieldSelector={query}", message=False)
        t.send("fields of nodes", "GET", "/api/v1/nodes?fieldSelector=spec.nodeName%3Dx", message=False)

    # ---- nodes ----

    def node(self, name):
        return f"/api/v1/nodes/{name}-{self.suffix}"

    def nodes(self):
        t = self.t
        body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1-" + self.suffix, "labels": {"set": self.suffix}},
                "status": {"capacity": {"cpu": "4000m", "memory": "8192Mi", "pods": 110, "nvidia.com/gpu": "2"}}}
        t.send("create", "POST", "/api/v1/nodes", body)
        body["metadata"]["name"] = "n2-" + self.suffix
        body["status"]["allocatable"] = {"cpu": "3500m", "memory": "7Gi", "pods": "100"}
        body["spec"] = {"taints": [{"key": "a", "value": "b", "effect": "NoSchedule"}], "unschedulable": True}
        t.send("with everything", "POST", "/api/v1/nodes", body)
        t.send("bad quantity", "POST", "/api/v1/nodes",
               {"metadata": {"name": "bad"}, "status": {"capacity": {"cpu": "12x"}}}, message=False)
        t.send("bad taint", "POST", "/api/v1/nodes",
               {"metadata": {"name": "bad"}, "spec": {"taints": [{"key": "a", "effect": "Sometimes"}]}}, message=False)
        t.send("bad name", "POST", "/api/v1/nodes", {"metadata": {"name": "Bad Name"}}, message=False)
        t.send("list", "GET", f"/api/v1/nodes?labelSelector=set%3D{self.suffix}")
        t.send("status patch", "PATCH", self.node("n1") + "/status", {
            "status": {"conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
                       "allocatable": {"cpu": "3"}}}, STRATEGIC)
        t.send("a second condition", "PATCH", self.node("n1") + "/status",
               {"status": {"conditions": [{"type": "DiskPressure", "status": "False"}]}}, STRATEGIC)
        t.send("the first again", "PATCH", self.node("n1") + "/status",
               {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}, STRATEGIC)
        t.send("cordon", "PATCH", self.node("n1"), {"spec": {"unschedulable": True}}, STRATEGIC)
        t.send("uncordon", "PATCH", self.node("n1"), {"spec": {"unschedulable": None}}, STRATEGIC)
        t.send("status by the main resource is ignored", "PATCH", self.node("n1"),
               {"status": {"allocatable": {"cpu": "1"}}}, MERGE)
        t.send("spec by status is ignored", "PATCH", self.node("n1") + "/status",
               {"spec": {"unschedulable": True}, "metadata": {"labels": {"by": "status"}}}, MERGE)
        t.send("bad quantity in status", "PATCH", self.node("n1") + "/status",
               {"status": {"allocatable": {"cpu": "x"}}}, MERGE, message=False)
        t.send("get status", "GET", self.node("n1") + "/status")

    # ---- changes ----

    def update(self):
        t = self.t
        path = self.pods + "/updated"
        old = t.send("create", "POST", self.pods, pod("updated", {"v": "1"}), show=False)
        new = json.loads(json.dumps(old))
        new["metadata"]["labels"]["v"] = "2"
        got = t.send("put", "PUT", path, new)
        t.put("put", changed=version_of(got) != version_of(old))
        t.send("stale put", "PUT", path, new)
        same = t.send("same put", "PUT", path, got)
        t.put("same put", changed=version_of(same) != version_of(got))
        bare = json.loads(json.dumps(got))
        del bare["metadata"]["resourceVersion"]
        bare["metadata"]["labels"]["v"] = "3"
        got = t.send("unconditional put", "PUT", path, bare)
        for step, change in (
            ("other name", lambda o: o["metadata"].update(name="other")),
            ("other uid", lambda o: o["metadata"].update(uid="11111111-2222-4333-8444-555555555555")),
            ("other namespace", lambda o: o["metadata"].update(namespace="default")),
            ("node name by put", lambda o: o["spec"].update(nodeName="n1")),
            ("scheduler name", lambda o: o["spec"].update(schedulerName="other")),
            ("another container", lambda o: o["spec"]["containers"].append({"name": "b", "image": "b"})),
            ("a new gate", lambda o: o["spec"].update(schedulingGates=[{"name": "example.com/x"}])),
            ("version is no number", lambda o: o["metadata"].update(resourceVersion="abc")),
        ):
            body = json.loads(json.dumps(got))
            change(body)
            t.send(step, "PUT", path, body, message=step not in ("version is no number",))
        body = json.loads(json.dumps(got))
        body["spec"]["containers"][0]["image"] = "example.com/pause:3.11"
        t.send("another image", "PUT", path, body)
        body = json.loads(json.dumps(got))
        del body["metadata"]["resourceVersion"]
        body["status"]["phase"] = "Running"
        t.send("status by the main resource", "PUT", path, body)
        t.send("not there", "PUT", self.pods + "/none", {**pod("none")}, message=False)
        gated = self.server.request("GET", self.pods + "/full")[1]
        gated["spec"].pop("schedulingGates", None)
        t.send("gates go", "PUT", self.pods + "/full", gated)

    def patch(self):
        t = self.t
        path = self.pods + "/patched"
        old = t.send("create", "POST", self.pods, pod("patched", {"a": "1", "b": "2"}), show=False)
        got = t.send("merge", "PATCH", path, {"metadata": {"labels": {"a": "9", "b": None, "c": "3"}}}, MERGE)
        t.put("merge", changed=version_of(got) != version_of(old))
        same = t.send("nothing new", "PATCH", path, {"metadata": {"labels": {"a": "9"}}}, MERGE)
        t.put("nothing new", changed=version_of(same) != version_of(got))
        t.send("strategic", "PATCH", path, {"metadata": {"annotations": {"x": "y"}}}, STRATEGIC)
        t.send("strategic delete", "PATCH", path, {"metadata": {"annotations": {"x": None}}}, STRATEGIC)
        t.send("strategic containers", "PATCH", path, {"spec": {"containers": [{"name": "main", "image": "new:1"}]}}, STRATEGIC)
        t.send("right uid", "PATCH", path,
               {"metadata": {"uid": old["metadata"]["uid"], "annotations": {"u": "1"}}}, STRATEGIC)
        t.send("wrong uid", "PATCH", path,
               {"metadata": {"uid": "11111111-2222-4333-8444-555555555555", "annotations": {"u": "2"}}}, STRATEGIC)
        t.send("stale version", "PATCH", path,
               {"metadata": {"resourceVersion": version_of(old), "annotations": {"u": "3"}}}, MERGE)
        t.send("other name", "PATCH", path, {"metadata": {"name": "other"}}, MERGE, message=False)
        t.send("not there", "PATCH", self.pods + "/none", {"metadata": {"labels": {"a": "1"}}}, MERGE)
        t.send("no JSON", "PATCH", path, "{", MERGE, message=False)
        t.send("a list", "PATCH", path, "[]", MERGE, message=False)
        t.send("plain JSON", "PATCH", path, {}, JSON, message=False)
        t.send("missing merge key", "PATCH", path, {"spec": {"containers": [{"image": "x"}]}}, STRATEGIC, show=False)
        t.send("bad label", "PATCH", path, {"metadata": {"labels": {"a": "not a value"}}}, MERGE)
        t.send("dry run", "PATCH", path + "?dryRun=All", {"metadata": {"labels": {"dry": "run"}}}, MERGE)
        t.send("left nothing", "GET", path)

    def status(self):
        t = self.t
        path = self.pods + "/patched/status"
        unschedulable = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no room",
                         "lastTransitionTime": "2026-01-01T00:00:00Z", "lastProbeTime": None}
        got = t.send("condition", "PATCH", path, {"status": {"conditions": [unschedulable]}}, STRATEGIC)
        same = t.send("the same", "PATCH", path, {"status": {"conditions": [unschedulable]}}, STRATEGIC)
        t.put("the same", changed=version_of(same) != version_of(got))
        t.send("as kube-scheduler writes it", "PATCH", path, {
            "metadata": {"uid": got["metadata"]["uid"]},
            "status": {"$setElementOrder/conditions": [{"type": "PodScheduled"}],
                       "conditions": [{"type": "PodScheduled", "message": "still no room"}]}}, STRATEGIC)
        t.send("a second condition", "PATCH", path,
               {"status": {"conditions": [{"type": "example.com/x", "status": "True"}]}}, STRATEGIC)
        t.send("nominated node", "PATCH", path, {"status": {"nominatedNodeName": "n1"}}, MERGE)
        t.send("spec is ignored", "PATCH", path, {"spec": {"schedulerName": "x"}, "status": {"phase": "Pending"}}, MERGE)
        t.send("delete a condition", "PATCH", path,
               {"status": {"conditions": [{"type": "example.com/x", "$patch": "delete"}]}}, STRATEGIC)
        t.send("unknown directive", "PATCH", path,
               {"status": {"conditions": [{"type": "example.com/x", "$patch": "explode"}]}}, STRATEGIC, show=False)
        body = self.server.request("GET", path)[1]
        body["status"]["message"] = "by put"
        body["spec"]["schedulerName"] = "ignored"
        t.send("put", "PUT", path, body)

    # ---- binding ----

    def bind(self):
        t = self.t

        def post(step, name, body, query=""):
            t.send(step, "POST", f"{self.pods}/{name}/binding{query}", body)

        pods = {}
        for name in ("bind-1", "bind-2", "bind-3", "bind-4", "bind-5", "bind-zone"):
            pods[name] = t.send("create", "POST", self.pods, pod(name, schedulerName="muster"), show=False)
        t.send("gated pod", "POST", self.pods, pod("gated", schedulingGates=[{"name": "example.com/gate"}]))
        uid, version = pods["bind-1"]["metadata"]["uid"], version_of(pods["bind-1"])
        post("dry run", "bind-1", binding("bind-1", "n1"), "?dryRun=All")
        post("wrong uid", "bind-1", binding("bind-1", "n1", uid="11111111-2222-4333-8444-555555555555"))
        post("wrong version", "bind-1", binding("bind-1", "n1", uid=uid, resourceVersion="1"))
        post("right both", "bind-1", binding("bind-1", "n1", uid=uid, resourceVersion=version,
                                             annotations={"by": "conformance"}))
        t.send("bound", "GET", self.pods + "/bind-1")
        post("again, same node", "bind-1", binding("bind-1", "n1"))
        post("again, other node", "bind-1", binding("bind-1", "n2"))
        post("stale and bound", "bind-1", binding("bind-1", "n2", uid=uid, resourceVersion=version))
        post("not there", "none", binding("none", "n1"))
        post("gated", "gated", binding("gated", "n1"))
        post("unknown node", "bind-2", binding("bind-2", "no-such-node"))
        post("name differs", "bind-3", binding("other", "n1"))
        post("no target", "bind-3", {"metadata": {"name": "bind-3"}, "target": {}})
        post("target is a pod", "bind-3", {"metadata": {"name": "bind-3"}, "target": {"kind": "Pod", "name": "x"}})
        post("target without kind", "bind-3", {"metadata": {"name": "bind-3"}, "target": {"name": "n3"}})
        post("other namespace", "bind-4", {**binding("bind-4", "n1"), "metadata": {"name": "bind-4", "namespace": "default"}})
        post("no JSON", "bind-4", "{")
        t.send("get a binding", "GET", f"{self.pods}/bind-4/binding")
        t.send("make it undeletable", "PATCH", self.pods + "/bind-4", {"metadata": {"finalizers": ["example.com/hold"]}}, MERGE)
        t.send("delete it", "DELETE", self.pods + "/bind-4")
        post("being deleted", "bind-4", binding("bind-4", "n1"))
        t.send("let it go", "PATCH", self.pods + "/bind-4", {"metadata": {"finalizers": None}}, MERGE)
        post("gone", "bind-4", binding("bind-4", "n1"))
        t.send("by the collection", "POST", self.ns + "/bindings", binding("bind-4", "n1"))
        zone = {"topology.kubernetes.io/zone": "z1", "topology.kubernetes.io/region": "r1", "x": "y"}
        t.send("a node in a zone", "POST", "/api/v1/nodes", {"metadata": {"name": "zoned-" + self.suffix, "labels": zone}})
        time.sleep(2)  # the real server reads nodes through a cache
        post("to a zone", "bind-zone", binding("bind-zone", "zoned-" + self.suffix))
        t.send("in the zone", "GET", self.pods + "/bind-zone")
        unschedulable = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no room"}
        other = {"type": "example.com/x", "status": "True"}
        t.send("conditions before", "PATCH", self.pods + "/bind-5/status",
               {"status": {"conditions": [unschedulable, other], "nominatedNodeName": "n9"}}, MERGE)
        post("with conditions", "bind-5", binding("bind-5", "n1", labels={"from": "binding"}))
        t.send("conditions after", "GET", self.pods + "/bind-5")
        t.send("bound pods", "GET", self.pods + "?fieldSelector=spec.nodeName%3Dn1")

    # ---- watches ----

    def watch(self):
        t = self.t
        start = version_of(self.server.request("GET", self.pods + "?limit=1")[1])
        w = self.server.watch(f"{self.pods}?watch=1&resourceVersion={start}&timeoutSeconds=30")
        t.send("create", "POST", self.pods, pod("watched", {"w": "1"}), show=False)
        t.send("label", "PATCH", self.pods + "/watched", {"metadata": {"labels": {"w": "2"}}}, MERGE, show=False)
        t.send("nothing new", "PATCH", self.pods + "/watched", {"metadata": {"labels": {"w": "2"}}}, MERGE, show=False)
        t.send("bind", "POST", self.pods + "/watched/binding", binding("watched", "n1"), show=False)
        t.send("delete", "DELETE", self.pods + "/watched?gracePeriodSeconds=0", show=False)
        got = t.events("all of it", w, 5)
        versions = [int(version_of(e["object"])) for e in got]
        t.put("versions", rise=versions == sorted(set(versions)))
        w.close()
        w = self.server.watch(f"{self.pods}?watch=1&resourceVersion={versions[1]}&timeoutSeconds=30")
        t.events("from the middle", w, 3)
        w.close()
        where = f"{self.pods}?labelSelector=set%3Dlist&watch=true"
        # A real server that is held up ends a watch at its timeout, whatever it still has to send.
        w = self.server.watch(where + "&timeoutSeconds=30")
        got = t.events("no version: the present first", w, 7)
        w.close()
        w = self.server.watch(where + "&timeoutSeconds=1")
        while (event := w.next()) and event["type"] == "ADDED":
            pass
        t.put("clean end", end=event is None)
        w.close()
        w = self.server.watch(where + "&resourceVersion=0&timeoutSeconds=30")
        names = sorted(w.next()["object"]["metadata"]["name"] for _ in range(7))
        t.put("version 0: the present first", names=names)
        w.close()
        # Not compared: sendInitialEvents, which a real server refuses over etcd 3.4.
        now = version_of(self.server.request("GET", self.pods + "?limit=1")[1])
        for step, query in (
            ("initial events without match", "sendInitialEvents=true"),
            ("initial events, wrong match", f"sendInitialEvents=true&resourceVersionMatch=Exact&resourceVersion={start}"),
            ("match without initial events", f"resourceVersionMatch=NotOlderThan&resourceVersion={start}"),
            ("version is no number", "resourceVersion=abc"),
            ("bad selector", "fieldSelector=spec.nothing%3D1"),
        ):
            t.send(step, "GET", f"{self.pods}?watch=1&timeoutSeconds=1&{query}", message=False)
        w = self.server.watch(f"/api/v1/namespaces/conf-{self.suffix}/configmaps?watch=1&resourceVersion={now}&timeoutSeconds=1")
        t.events("nothing to say", w, 1)

    def watch_selected(self):
        """Objects that enter and leave a selector."""
        t = self.t
        start = version_of(self.server.request("GET", self.pods + "?limit=1")[1])
        by_label = self.server.watch(f"{self.pods}?watch=1&resourceVersion={start}&timeoutSeconds=30&labelSelector=in%3Dyes")
        by_field = self.server.watch(f"{self.pods}?watch=1&resourceVersion={start}&timeoutSeconds=30&fieldSelector="
                                     "spec.nodeName%3D,status.phase%3DPending,metadata.name%3Denters")
        t.send("create", "POST", self.pods, pod("enters", {"in": "no"}), show=False)
        path = self.pods + "/enters"
        entered = t.send("enters", "PATCH", path, {"metadata": {"labels": {"in": "yes"}}}, MERGE, show=False)
        t.send("stays", "PATCH", path, {"metadata": {"labels": {"x": "y"}}}, MERGE, show=False)
        left = t.send("leaves", "PATCH", path, {"metadata": {"labels": {"in": "no"}}}, MERGE, show=False)
        t.send("enters again", "PATCH", path, {"metadata": {"labels": {"in": "yes"}}}, MERGE, show=False)
        t.send("bind", "POST", path + "/binding", binding("enters", "n1"), show=False)
        t.send("delete", "DELETE", path + "?gracePeriodSeconds=0", show=False)
        got = t.events("by label", by_label, 6)
        t.put("leaving", version_of_the_change=version_of(got[2]["object"]) == version_of(left),
              content_before=got[2]["object"]["metadata"]["labels"].get("in"),
              newer=int(version_of(left)) > int(version_of(entered)))
        t.events("by field", by_field, 6)
        by_label.close()
        by_field.close()

    def watch_deletion(self):
        """Which events a deletion is."""
        t = self.t
        start = version_of(self.server.request("GET", self.pods + "?limit=1")[1])
        w = self.server.watch(f"{self.pods}?watch=1&resourceVersion={start}&timeoutSeconds=30&fieldSelector=metadata.name%3Dgoing")
        for step in ("unbound", "bound", "bound, by grace", "held"):
            hold = {"finalizers": ["example.com/hold"]} if step == "held" else {}
            t.send(step, "POST", self.pods, {**pod("going"), "metadata": {"name": "going", **hold}}, show=False)
            if step.startswith("bound"):
                t.send(step, "POST", self.pods + "/going/binding", binding("going", "n1"), show=False)
            if step == "bound, by grace":
                self.wait_for_cache(self.pods + "/going")
                t.send(step, "DELETE", self.pods + "/going")
            t.send(step, "DELETE", self.pods + "/going?gracePeriodSeconds=0")
            if step == "held":
                t.send(step, "PATCH", self.pods + "/going", {"metadata": {"finalizers": None}}, MERGE)
        got = t.events("all of it", w, 14)
        for e in got:
            if e and "metadata" in e["object"]:
                t.put("marks", type=e["type"], grace=e["object"]["metadata"].get("deletionGracePeriodSeconds"),
                      marked="deletionTimestamp" in e["object"]["metadata"])
        w.close()

    # ---- deletion ----

    def wait_for_cache(self, path):
        """Until a watch cache of the server has the pod as it is.

        A DELETE looks there first. A pod that is not bound in that version gets a grace of 0, which stays when the
        server finds the version stale and tries again with the newer one (updateForGracefulDeletionAndFinalizers of
        its store, CheckGracefulDelete of pods write to the same options).
        """
        version = version_of(self.server.request("GET", path)[1])
        self.server.request("GET", f"{path}?resourceVersion={version}")

    def delete(self):
        t = self.t
        for name in ("del-1", "del-2", "del-3", "del-4", "del-5"):
            t.send("create", "POST", self.pods, pod(name, {"del": "yes"}), show=False)
        t.send("not there", "DELETE", self.pods + "/none")
        t.send("unbound", "DELETE", self.pods + "/del-1")
        t.send("is gone", "GET", self.pods + "/del-1")
        t.send("bind", "POST", self.pods + "/del-2/binding", binding("del-2", "n1"), show=False)
        self.wait_for_cache(self.pods + "/del-2")
        got = t.send("bound", "DELETE", self.pods + "/del-2")
        t.send("marked", "GET", self.pods + "/del-2")
        t.send("again", "DELETE", self.pods + "/del-2")
        t.send("shorter", "DELETE", self.pods + "/del-2?gracePeriodSeconds=1")
        t.send("wrong uid", "DELETE", self.pods + "/del-2",
               {"gracePeriodSeconds": 0, "preconditions": {"uid": "11111111-2222-4333-8444-555555555555"}})
        t.send("right uid", "DELETE", self.pods + "/del-2",
               {"gracePeriodSeconds": 0, "preconditions": {"uid": got.get("metadata", {}).get("uid")}})
        t.send("is gone now", "GET", self.pods + "/del-2")
        t.send("stale version", "DELETE", self.pods + "/del-3", {"preconditions": {"resourceVersion": "1"}})
        t.send("dry run", "DELETE", self.pods + "/del-3?dryRun=All")
        t.send("is there", "GET", self.pods + "/del-3")
        t.send("finalizer", "PATCH", self.pods + "/del-3", {"metadata": {"finalizers": ["example.com/hold"]}}, MERGE)
        t.send("held", "DELETE", self.pods + "/del-3")
        t.send("released", "PATCH", self.pods + "/del-3", {"metadata": {"finalizers": []}}, MERGE)
        t.send("released is gone", "GET", self.pods + "/del-3")
        t.send("collection", "DELETE", self.pods + "?labelSelector=del%3Dyes")
        t.send("none left", "GET", self.pods + "?labelSelector=del%3Dyes")
        t.send("collection of none", "DELETE", self.pods + "?labelSelector=del%3Dyes")
        t.send("create a configmap", "POST", self.ns + "/configmaps", {"metadata": {"name": "c"}, "data": {"a": "b"}})
        t.send("delete a configmap", "DELETE", self.ns + "/configmaps/c")
        t.send("delete a node", "DELETE", self.node("n2"))
        t.send("bad grace", "DELETE", self.pods + "/plain?gracePeriodSeconds=abc", message=False)

    # ---- other kinds ----

    def leases(self):
        t = self.t
        path = f"/apis/coordination.k8s.io/v1/namespaces/conf-{self.suffix}/leases"
        spec = {"holderIdentity": "a", "leaseDurationSeconds": 15, "leaseTransitions": 0,
                "acquireTime": "2026-01-01T00:00:00.000000Z", "renewTime": "2026-01-01T00:00:00.000000Z"}
        t.send("not there", "GET", path + "/muster")
        old = t.send("create", "POST", path, {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                                              "metadata": {"name": "muster"}, "spec": spec})
        new = json.loads(json.dumps(old))
        new["spec"]["renewTime"] = "2026-01-01T00:00:05.000000Z"
        t.send("renew", "PUT", path + "/muster", new)
        t.send("lost race", "PUT", path + "/muster", new)
        bare = json.loads(json.dumps(new))
        del bare["metadata"]["resourceVersion"]
        t.send("without version", "PUT", path + "/muster", bare, message=False)
        t.send("bad duration", "POST", path, {"metadata": {"name": "bad"}, "spec": {"leaseDurationSeconds": 0}}, message=False)
        t.send("put creates", "PUT", path + "/other", {"metadata": {"name": "other"}, "spec": {"holderIdentity": "b"}})
        t.send("list", "GET", path)
        t.send("delete", "DELETE", path + "/other")

    def events(self):
        t = self.t
        path = f"/apis/events.k8s.io/v1/namespaces/conf-{self.suffix}/events"
        event = {"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "plain.1"},
                 "eventTime": "2026-01-01T00:00:00.000000Z", "reportingController": "muster", "reportingInstance": "muster-0",
                 "action": "Scheduling", "reason": "FailedScheduling", "type": "Warning", "note": "0/1 nodes are available",
                 "regarding": {"kind": "Pod", "namespace": f"conf-{self.suffix}", "name": "plain", "apiVersion": "v1"}}
        t.send("create", "POST", path, event)
        t.send("again", "POST", path, event)
        t.send("series", "PATCH", path + "/plain.1",
               {"series": {"count": 2, "lastObservedTime": "2026-01-01T00:01:00.000000Z"}}, MERGE)
        t.send("series by strategic patch", "PATCH", path + "/plain.1",
               {"series": {"count": 3, "lastObservedTime": "2026-01-01T00:02:00.000000Z"}}, STRATEGIC)
        for missing in ("eventTime", "reportingController", "reportingInstance", "action", "reason", "type"):
            body = {**event, "metadata": {"name": "bad"}}
            del body[missing]
            t.send("without " + missing, "POST", path, body, message=False)
        t.send("type", "POST", path, {**event, "metadata": {"name": "bad"}, "type": "Odd"}, message=False)
        t.send("other namespace", "POST", path,
               {**event, "metadata": {"name": "bad"}, "regarding": {**event["regarding"], "namespace": "default"}},
               message=False)
        t.send("long note", "POST", path, {**event, "metadata": {"name": "bad"}, "note": "x" * 1025}, message=False)
        t.send("other reason", "PATCH", path + "/plain.1", {"reason": "Other"}, MERGE, message=False)
        t.send("list", "GET", path)

    def wait_for_class(self, name):
        """Until admission of the server, which has PriorityClasses by a watch of its own, knows this one."""
        for _ in range(100):
            if self.server.request("POST", self.pods + "?dryRun=All", pod("probe", priorityClassName=name))[0] != 403:
                return
            time.sleep(0.1)

    def priorities(self):
        t = self.t
        path = "/apis/scheduling.k8s.io/v1/priorityclasses"
        name = "high-" + self.suffix
        t.send("create", "POST", path, {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
                                        "metadata": {"name": name}, "value": 1000, "description": "d"})
        t.send("too high", "POST", path, {"metadata": {"name": "bad"}, "value": 1000000001}, message=False)
        t.send("change the value", "PATCH", path + "/" + name, {"value": 2000}, MERGE, message=False)
        self.wait_for_class(name)
        t.send("pod with it", "POST", self.pods, pod("important", priorityClassName=name))
        t.send("pod with its number", "POST", self.pods + "?dryRun=All", pod("x", priorityClassName=name, priority=1000))
        t.send("pod with another number", "POST", self.pods + "?dryRun=All", pod("x", priorityClassName=name, priority=1))
        t.send("never preempts", "POST", path,
               {"metadata": {"name": "never-" + self.suffix}, "value": 5, "preemptionPolicy": "Never"})
        self.wait_for_class("never-" + self.suffix)
        t.send("pod that never preempts", "POST", self.pods, pod("humble", priorityClassName="never-" + self.suffix))
        t.send("system class", "GET", path + "/system-node-critical")
        for each in (name, "never-" + self.suffix):
            t.send("delete", "DELETE", path + "/" + each)

    def custom(self):
        t = self.t
        definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
        body = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                "metadata": {"name": "podgroups." + self.group},
                "spec": {"group": self.group, "scope": "Namespaced",
                         "names": {"plural": "podgroups", "singular": "podgroup", "kind": "PodGroup", "shortNames": ["pg"]},
                         "versions": [{"name": "v1alpha1", "served": True, "storage": True, "schema": schema,
                                       "subresources": {"status": {}}}]}}
        t.send("define", "POST", definitions, body, show=False)
        t.send("define again", "POST", definitions, body)
        t.send("wrong name", "POST", definitions, {**body, "metadata": {"name": "wrong." + self.group}}, message=False)
        path = f"/apis/{self.group}/v1alpha1/namespaces/conf-{self.suffix}/podgroups"
        for _ in range(100):  # the real server takes a moment to serve it
            if self.server.request("GET", path)[0] == 200:
                break
            time.sleep(0.1)
        t.send("empty list", "GET", path)
        group = {"apiVersion": self.group + "/v1alpha1", "kind": "PodGroup", "metadata": {"name": "train"},
                 "spec": {"minMember": 3, "minResources": {"cpu": "3"}}, "status": {"phase": "Ignored"}}
        old = t.send("create", "POST", path, group)
        t.send("again", "POST", path, group)
        t.send("without kind", "POST", path, {"metadata": {"name": "x"}}, message=False)
        t.send("other kind", "POST", path, {**group, "kind": "Gang"}, message=False)
        t.send("list", "GET", path)
        got = t.send("status", "PATCH", path + "/train/status", {"status": {"phase": "Scheduling", "scheduled": 0}}, MERGE)
        same = t.send("same status", "PATCH", path + "/train/status", {"status": {"phase": "Scheduling"}}, MERGE)
        t.put("same status", changed=version_of(got) != version_of(same))
        t.send("status is all of it", "PATCH", path + "/train/status",
               {"metadata": {"labels": {"x": "y"}}, "spec": {"minMember": 9}, "status": {"running": 1}}, MERGE)
        t.send("spec", "PATCH", path + "/train", {"spec": {"minMember": 4}, "status": {"phase": "No"}}, MERGE)
        t.send("stale status", "PATCH", path + "/train/status",
               {"metadata": {"resourceVersion": version_of(old)}, "status": {"phase": "Late"}}, MERGE)
        t.send("strategic", "PATCH", path + "/train", {"spec": {"minMember": 5}}, STRATEGIC, message=False)
        bare = json.loads(json.dumps(got))
        del bare["metadata"]["resourceVersion"]
        t.send("put without version", "PUT", path + "/train", bare, message=False)
        t.send("stale put", "PUT", path + "/train", old)
        t.send("field selector", "GET", path + "?fieldSelector=metadata.name%3Dtrain")
        t.send("bad field selector", "GET", path + "?fieldSelector=spec.minMember%3D4", message=False)
        t.send("no such subresource", "GET", path + "/train/scale")
        w = self.server.watch(f"{path}?watch=1&resourceVersion={version_of(old)}&timeoutSeconds=20")
        t.events("watch", w, 3)
        w.close()
        t.send("delete", "DELETE", path + "/train")
        t.send("undefine", "DELETE", f"{definitions}/podgroups.{self.group}", show=False)

    def late(self):
        """What is left behind."""
        for name in ("n1", "zoned"):
            self.t.send("node", "DELETE", self.node(name))
        self.t.send("all pods", "DELETE", self.pods + "?gracePeriodSeconds=0", show=False)
        self.t.send("none", "GET", self.pods)
        self.server.request("DELETE", f"/api/v1/namespaces/conf-{self.suffix}")


# ---- comparing ---------------------------------------------------------------


def compare(a, b):
    with open(a, encoding="utf-8") as f, open(b, encoding="utf-8") as g:
        left, right = f.read().splitlines(), g.read().splitlines()
    if left == right:
        print(f"equal: {len(left)} steps")
        return 0
    n = 0
    matcher = difflib.SequenceMatcher(None, [json.loads(x)["step"] for x in left], [json.loads(x)["step"] for x in right],
                                      autojunk=False)
    for op, a1, a2, b1, b2 in matcher.get_opcodes():
        if op != "equal":
            n += 1
            print(f"steps differ: {left[a1:a2]} and {right[b1:b2]}")
            continue
        for x, y in zip(left[a1:a2], right[b1:b2]):
            if x != y:
                n += 1
                show(json.loads(x), json.loads(y), a, b)
    print(f"{n} of {len(left)} steps differ")
    return 1


def show(x, y, a, b):
    print(f"--- {x['step']}")
    left, right = (json.dumps(v, indent=1, sort_keys=True).splitlines() for v in (x, y))
    for line in difflib.unified_diff(left, right, a, b, lineterm="", n=1):
        if not line.startswith(("---", "+++", "@@")):
            print("  " + line)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server")
    parser.add_argument("--token")
    parser.add_argument("--cacert")
    parser.add_argument("--tls-server-name")
    parser.add_argument("--kubeconfig")
    parser.add_argument("-o", "--output")
    parser.add_argument("--compare", nargs=2, metavar=("A", "B"))
    args = parser.parse_args()
    if args.compare:
        return compare(*args.compare)
    if args.kubeconfig:
        server = from_kubeconfig(args.kubeconfig)
    elif args.server:
        server = Server(args.server, args.token, args.cacert, None, args.tls_server_name)
    else:
        parser.error("--server, --kubeconfig or --compare is needed")
    lines = Scenario(server).run()
    text = "\n".join(lines) + "\n"
    if args.output:
        with open(args.output, "w", encoding="utf-8") as f:
            f.write(text)
    else:
        sys.stdout.write(text)
    print(f"{len(lines)} steps", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
