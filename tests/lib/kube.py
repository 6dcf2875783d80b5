"""A small client of the Kubernetes API, from the API's documents alone.

It shares no code with muster, so that what it reads is a second opinion."""
import base64
import http.client
import json
import re
import socket
import ssl
import threading
import urllib.parse

GROUP = "scheduling.x-k8s.io"
GROUP_LABEL = "scheduling.x-k8s.io/pod-group"
PODS = "/api/v1/pods"
NODES = "/api/v1/nodes"
GROUPS = "/apis/scheduling.x-k8s.io/v1alpha1/podgroups"


class ApiError(Exception):
    def __init__(self, method, path, status, body):
        self.status = status
        self.body = body
        message = body.get("message") if isinstance(body, dict) else str(body)[:200]
        super().__init__(f"{method} {path}: {status} {message}")


def read_kubeconfig(path):
    """The first cluster and user of a kubeconfig, without a YAML parser: these
    files are written by our own programs or tests, one `key: value` a line."""
    text = open(path).read()
    fields = {}
    for name in ("server", "token", "certificate-authority-data", "certificate-authority"):
        found = re.search(r"[\"']?%s[\"']?\s*:\s*[\"']?([^\s\"',}]+)" % name, text)
        if found:
            fields[name] = found.group(1)
    return fields


class Kube:
    """One server.  Each thread that uses it gets a connection of its own."""

    def __init__(self, server, token=None, ca_pem=None):
        url = urllib.parse.urlsplit(server)
        self.host, self.port, self.tls = url.hostname, url.port, None
        self.headers = {"Accept": "application/json"}
        if token:
            self.headers["Authorization"] = "Bearer " + token
        if url.scheme == "https":
            self.tls = ssl.create_default_context(cadata=ca_pem)
        self.local = threading.local()

    @classmethod
    def from_kubeconfig(cls, path):
        fields = read_kubeconfig(path)
        ca = None
        if "certificate-authority-data" in fields:
            ca = base64.b64decode(fields["certificate-authority-data"]).decode()
        elif "certificate-authority" in fields:
            ca = open(fields["certificate-authority"]).read()
        return cls(fields["server"], fields.get("token"), ca)

    def connect(self, timeout_s=30):
        if self.tls:
            c = http.client.HTTPSConnection(self.host, self.port, timeout=timeout_s, context=self.tls)
        else:
            c = http.client.HTTPConnection(self.host, self.port, timeout=timeout_s)
        c.connect()
        c.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return c

    def raw(self, method, path, body=None, content_type="application/json"):
        """(status, decoded body).  A kept connection that was closed meanwhile is
        opened again, once."""
        data = None if body is None else json.dumps(body).encode()
        headers = dict(self.headers)
        if data is not None:
            headers["Content-Type"] = content_type
        for attempt in (0, 1):
            kept = getattr(self.local, "connection", None)
            c = kept or self.connect()
            try:
                c.request(method, path, data, headers)
                answer = c.getresponse()
                text = answer.read()
            except (OSError, http.client.HTTPException):
                self.local.connection = None
                c.close()
                if kept is None or attempt:
                    raise
                continue
            self.local.connection = c
            try:
                return answer.status, json.loads(text)
            except ValueError:
                return answer.status, text.decode(errors="replace")

    def call(self, method, path, body=None, content_type="application/json"):
        status, answer = self.raw(method, path, body, content_type)
        if status >= 300:
            raise ApiError(method, path, status, answer)
        return answer

    def get(self, path):
        return self.call("GET", path)

    def list(self, path, limit=2000):
        """All items, page by page, and the version they are of."""
        items, version, go_on = [], None, ""
        while True:
            query = f"?limit={limit}" + (f"&continue={urllib.parse.quote(go_on)}" if go_on else "")
            page = self.get(path + query)
            items += page["items"]
            version = version or page["metadata"]["resourceVersion"]
            go_on = page["metadata"].get("continue") or ""
            if not go_on:
                return items, version

    def items(self, path):
        return self.list(path)[0]

    def create(self, obj):
        return self.call("POST", collection(obj), obj)

    def create_all(self, objs):
        for o in objs:
            self.create(o)

    def patch(self, path, change):
        return self.call("PATCH", path, change, "application/merge-patch+json")

    def delete(self, path):
        return self.call("DELETE", path + "?gracePeriodSeconds=0")

    def watch(self, path, version):
        """Events as they come; ends when the server ends the stream."""
        c = self.connect(timeout_s=120)
        self.watching = c
        c.request("GET", f"{path}?watch=1&allowWatchBookmarks=true&resourceVersion={version}", headers=self.headers)
        answer = c.getresponse()
        if answer.status != 200:
            raise ApiError("WATCH", path, answer.status, answer.read().decode(errors="replace"))
        for line in answer:
            if line.strip():
                yield json.loads(line)


PLURALS = {"Node": NODES, "Namespace": "/api/v1/namespaces"}


def collection(obj):
    if obj["kind"] in PLURALS:
        return PLURALS[obj["kind"]]
    ns = obj["metadata"].get("namespace", "default")
    version = obj["apiVersion"]
    base = "/api/v1" if version == "v1" else "/apis/" + version
    return f"{base}/namespaces/{ns}/{obj['kind'].lower()}s"


def path_of(obj):
    return collection(obj) + "/" + obj["metadata"]["name"]


def pod_path(name, ns="default"):
    return f"/api/v1/namespaces/{ns}/pods/{name}"


def group_path(name, ns="default"):
    return f"/apis/{GROUP}/v1alpha1/namespaces/{ns}/podgroups/{name}"


def node_path(name):
    return f"{NODES}/{name}"


# ---- objects --------------------------------------------------------------

def node(name, cpu=8, memory="32Gi", pods=110, labels=None, taints=None, unschedulable=False, **extended):
    """Extended resources by keyword, `gpu` for nvidia.com/gpu."""
    amounts = {"cpu": str(cpu), "memory": str(memory), "pods": str(pods), "ephemeral-storage": "100Gi"}
    amounts.update(spell(extended))
    spec = {}
    if taints:
        spec["taints"] = taints
    if unschedulable:
        spec["unschedulable"] = True
    return {"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "labels": dict({"kubernetes.io/hostname": name}, **(labels or {}))},
            "spec": spec,
            "status": {"allocatable": amounts, "capacity": dict(amounts),
                       "conditions": [{"type": "Ready", "status": "True"}]}}


def spell(extended):
    return {("nvidia.com/gpu" if k == "gpu" else k): str(v) for k, v in extended.items()}


def pod(name, group=None, cpu=None, memory=None, ns="default", scheduler="muster", labels=None, spec=None,
        priority=None, **extended):
    requests = spell(extended)
    if cpu is not None:
        requests["cpu"] = str(cpu)
    if memory is not None:
        requests["memory"] = str(memory)
    metadata = {"name": name, "namespace": ns, "labels": dict(labels or {})}
    if group:
        metadata["labels"][GROUP_LABEL] = group
    resources = {"requests": requests} if requests else {}
    if extended:
        resources["limits"] = spell(extended)
    body = {"schedulerName": scheduler,
            "containers": [{"name": "main", "image": "registry.k8s.io/pause:3.10", "resources": resources}]}
    if priority is not None:
        body["priority"] = priority
    body.update(spec or {})
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": body}


def group(name, minimum, ns="default", min_resources=None, timeout_s=None):
    spec = {"minMember": minimum}
    if min_resources:
        spec["minResources"] = {k: str(v) for k, v in min_resources.items()}
    if timeout_s is not None:
        spec["scheduleTimeoutSeconds"] = timeout_s
    return {"apiVersion": GROUP + "/v1alpha1", "kind": "PodGroup",
            "metadata": {"name": name, "namespace": ns}, "spec": spec}


def gang(name, members, quorum=None, **rest):
    """A PodGroup and its pods."""
    ns = rest.get("ns", "default")
    return [group(name, members if quorum is None else quorum, ns=ns)] + [
        pod(f"{name}-{i}", group=name, **rest) for i in range(members)]
