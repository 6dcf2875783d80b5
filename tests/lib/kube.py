# SPDX-License-Identifier: Apache-2.0
"""A small client of the Kubernetes API, standard library only: what the
process tests drive apisim and a real kube-apiserver with."""

import base64
import contextlib
import http.client
import json
import os
import ssl
import tempfile
import threading
import time
import urllib.parse
from concurrent.futures import ThreadPoolExecutor

from . import yamlsub
from .harness import until

# kind -> (path of the group, plural, whether it is namespaced); Kind.group
# where several groups have a kind of that name
KINDS = {
    "Node": ("api/v1", "nodes", False),
    "Namespace": ("api/v1", "namespaces", False),
    "Pod": ("api/v1", "pods", True),
    "ConfigMap": ("api/v1", "configmaps", True),
    "Service": ("api/v1", "services", True),
    "ServiceAccount": ("api/v1", "serviceaccounts", True),
    "PersistentVolumeClaim": ("api/v1", "persistentvolumeclaims", True),
    "PersistentVolume": ("api/v1", "persistentvolumes", False),
    "StorageClass": ("apis/storage.k8s.io/v1", "storageclasses", False),
    "CSIDriver": ("apis/storage.k8s.io/v1", "csidrivers", False),
    "CSIStorageCapacity": ("apis/storage.k8s.io/v1", "csistoragecapacities", True),
    "CSINode": ("apis/storage.k8s.io/v1", "csinodes", False),
    "ResourceSlice": ("apis/resource.k8s.io/v1", "resourceslices", False),
    "DeviceClass": ("apis/resource.k8s.io/v1", "deviceclasses", False),
    "ResourceClaim": ("apis/resource.k8s.io/v1", "resourceclaims", True),
    "ResourceClaimTemplate": ("apis/resource.k8s.io/v1", "resourceclaimtemplates", True),
    "ReplicaSet": ("apis/apps/v1", "replicasets", True),
    "RuntimeClass": ("apis/node.k8s.io/v1", "runtimeclasses", False),
    "Event": ("apis/events.k8s.io/v1", "events", True),
    "Lease": ("apis/coordination.k8s.io/v1", "leases", True),
    "PriorityClass": ("apis/scheduling.k8s.io/v1", "priorityclasses", False),
    "PodGroup": ("apis/scheduling.x-k8s.io/v1alpha1", "podgroups", True),
    "PodGroup.scheduling.sigs.k8s.io": ("apis/scheduling.sigs.k8s.io/v1alpha1", "podgroups", True),
    "PodGroup.scheduling.k8s.io": ("apis/scheduling.k8s.io/v1alpha2", "podgroups", True),
    "PodGroup.scheduling.run.ai": ("apis/scheduling.run.ai/v2alpha2", "podgroups", True),
    "PodGroup.scheduling.volcano.sh": ("apis/scheduling.volcano.sh/v1beta1", "podgroups", True),
    "Queue.scheduling.volcano.sh": ("apis/scheduling.volcano.sh/v1beta1", "queues", True),  # as apisim has them
    "Queue.scheduling.run.ai": ("apis/scheduling.run.ai/v2", "queues", True),
    "ElasticQuota": ("apis/scheduling.sigs.k8s.io/v1alpha1", "elasticquotas", True),
    "Workload": ("apis/scheduling.k8s.io/v1alpha2", "workloads", True),
    "WorkloadPolicy": ("apis/kosmos.io/v1alpha1", "workloadpolicies", True),
    "ClusterRole": ("apis/rbac.authorization.k8s.io/v1", "clusterroles", False),
    "ClusterRoleBinding": ("apis/rbac.authorization.k8s.io/v1", "clusterrolebindings", False),
    "Role": ("apis/rbac.authorization.k8s.io/v1", "roles", True),
    "RoleBinding": ("apis/rbac.authorization.k8s.io/v1", "rolebindings", True),
    "Deployment": ("apis/apps/v1", "deployments", True),
    "StatefulSet": ("apis/apps/v1", "statefulsets", True),
    "DaemonSet": ("apis/apps/v1", "daemonsets", True),
    "Job": ("apis/batch/v1", "jobs", True),
    "NetworkPolicy": ("apis/networking.k8s.io/v1", "networkpolicies", True),
    "PodDisruptionBudget": ("apis/policy/v1", "poddisruptionbudgets", True),
    "CustomResourceDefinition": ("apis/apiextensions.k8s.io/v1", "customresourcedefinitions", False),
    "ValidatingWebhookConfiguration": ("apis/admissionregistration.k8s.io/v1", "validatingwebhookconfigurations", False),
}

MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"


def kind_of(obj):
    """The name in KINDS of an object's kind."""
    qualified = f'{obj["kind"]}.{obj.get("apiVersion", "v1").split("/")[0]}'
    return qualified if qualified in KINDS else obj["kind"]


def typed(kind, obj):
    """As an object of its own: in a list it has no kind."""
    return {"apiVersion": KINDS[kind][0].partition("/")[2], "kind": kind.partition(".")[0], **obj}


class ApiError(Exception):
    """A response that is not 2xx; .status is its code, .body the Status object
    or the text."""

    def __init__(self, method, path, status, body):
        said = body.get("message", body) if isinstance(body, dict) else body
        super().__init__(f"{method} {path}: {status} {said}")
        self.status, self.body = status, body

    @property
    def reason(self):
        return self.body.get("reason") if isinstance(self.body, dict) else None


@contextlib.contextmanager
def may_be_gone():
    """404 is no failure in here."""
    try:
        yield
    except ApiError as error:
        if error.status != 404:
            raise


class _NamedHTTPSConnection(http.client.HTTPSConnection):
    """Connects to one name and verifies another (tls-server-name)."""

    def __init__(self, host, port, server_name, **options):
        super().__init__(host, port, **options)
        self._server_name = server_name

    def connect(self):
        http.client.HTTPConnection.connect(self)
        self.sock = self._context.wrap_socket(self.sock, server_hostname=self._server_name)


class Client:
    """One user of one API server.  Every thread gets its own connection."""

    def __init__(self, kubeconfig, timeout_s=60):
        self.timeout_s = timeout_s
        self._local = threading.local()
        with open(kubeconfig, encoding="utf-8") as file:
            self._configure(yamlsub.load(file.read()), os.path.dirname(os.path.abspath(kubeconfig)))

    def _configure(self, config, folder):
        def named(part, name):
            return next(entry[part] for entry in config[part + "s"] if entry["name"] == name)

        def path_of(entry, key):
            if entry.get(key + "-data"):
                with tempfile.NamedTemporaryFile(delete=False) as file:
                    file.write(base64.b64decode(entry[key + "-data"]))
                self._temporary.append(file.name)
                return file.name
            return os.path.join(folder, entry[key]) if entry.get(key) else None

        self._temporary = []
        context = named("context", config["current-context"])
        cluster, user = named("cluster", context["cluster"]), named("user", context["user"])
        url = urllib.parse.urlsplit(cluster["server"])
        self.server, self._host, self._port = cluster["server"], url.hostname, url.port
        self._server_name = cluster.get("tls-server-name") or url.hostname
        self._tls = None
        if url.scheme == "https":
            self._tls = ssl.create_default_context(cafile=path_of(cluster, "certificate-authority"))
            if cluster.get("insecure-skip-tls-verify"):
                self._tls.check_hostname = False
                self._tls.verify_mode = ssl.CERT_NONE
            certificate = path_of(user, "client-certificate")
            if certificate:
                self._tls.load_cert_chain(certificate, path_of(user, "client-key"))
        for name in self._temporary:
            os.unlink(name)
        self.token = user.get("token")
        if not self.token and user.get("tokenFile"):
            with open(os.path.join(folder, user["tokenFile"]), encoding="utf-8") as file:
                self.token = file.read().strip()

    # --- requests ----------------------------------------------------------

    def _connect(self, timeout_s):
        if self._tls is None:
            return http.client.HTTPConnection(self._host, self._port, timeout=timeout_s)
        return _NamedHTTPSConnection(self._host, self._port, self._server_name,
                                     timeout=timeout_s, context=self._tls)

    def _headers(self, body, content_type):
        headers = {"Accept": "application/json"}
        if self.token:
            headers["Authorization"] = "Bearer " + self.token
        if body is not None:
            headers["Content-Type"] = content_type
        return headers

    def raw(self, method, path, body=None, content_type="application/json"):
        """(status, bytes).  A keep-alive connection that the server had closed is
        opened again once; other failures of the connection are raised as
        OSError or HTTPException."""
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
        if isinstance(body, str):
            body = body.encode()
        for last in (False, True):
            connection = getattr(self._local, "connection", None)
            fresh = connection is None
            if fresh:
                connection = self._local.connection = self._connect(self.timeout_s)
            try:
                connection.request(method, path, body, self._headers(body, content_type))
                answer = connection.getresponse()
                return answer.status, answer.read()
            except (ConnectionError, ssl.SSLEOFError):
                self.close()
                if fresh or last:
                    raise
            except (OSError, http.client.HTTPException):
                self.close()
                raise
        raise AssertionError("unreachable")

    def close(self):
        """Close the connection of this thread."""
        connection = getattr(self._local, "connection", None)
        if connection is not None:
            connection.close()
            self._local.connection = None

    def request(self, method, path, body=None, content_type="application/json"):
        """The decoded response; ApiError when it is not 2xx."""
        status, data = self.raw(method, path, body, content_type)
        try:
            decoded = json.loads(data) if data else {}
        except ValueError:
            decoded = data.decode(errors="replace")
        if status // 100 != 2:
            raise ApiError(method, path, status, decoded)
        return decoded

    # --- objects -----------------------------------------------------------

    @staticmethod
    def path(kind, namespace=None, name=None, sub=None, **query):
        """The path of objects of a kind; of all namespaces without one.
        None values in the query are omitted."""
        group, plural, namespaced = KINDS[kind]
        parts = ["", group]
        if namespaced and namespace:
            parts += ["namespaces", namespace]
        parts += [part for part in (plural, name, sub) if part]
        query = {key: value for key, value in query.items() if value is not None}
        return "/".join(parts) + ("?" + urllib.parse.urlencode(query) if query else "")

    def get(self, kind, name, namespace="default"):
        return self.request("GET", self.path(kind, namespace, name))

    def list(self, kind, namespace=None, page=500, **query):
        """Every object, in pages."""
        return self.list_with_version(kind, namespace, page, **query)[0]

    def list_if_served(self, kind, namespace=None):
        """None for a kind that the server doesn't serve."""
        try:
            return self.list(kind, namespace)
        except ApiError as error:
            if error.status != 404:
                raise
            return []

    def list_with_version(self, kind, namespace=None, page=500, **query):
        items, follow = [], None
        while True:
            answer = self.request("GET", self.path(kind, namespace, limit=page,
                                                   **query, **({"continue": follow} if follow else {})))
            items += answer.get("items") or []
            follow = answer["metadata"].get("continue")
            if not follow:
                return items, answer["metadata"]["resourceVersion"]

    def create(self, obj, namespace="default"):
        """Admission reads PriorityClasses by a watch of its own: one that was just created may be
        unknown to it for a moment."""
        path = self.path(kind_of(obj), obj["metadata"].get("namespace", namespace))
        end = time.monotonic() + 60
        while True:
            try:
                return self.request("POST", path, obj)
            except ApiError as error:
                if error.status != 403 or "no PriorityClass with name" not in str(error) or time.monotonic() > end:
                    raise
            time.sleep(0.1)

    def create_many(self, objects, namespace="default", connections=16):
        """Create them in order of start, several at a time."""
        return self.in_parallel(lambda obj: self.create(obj, namespace), objects, connections)

    def in_parallel(self, call, arguments, connections=16):
        """The responses in the order of the arguments; the first error is raised."""
        with ThreadPoolExecutor(connections) as pool:
            return list(pool.map(call, arguments))

    def replace(self, obj, sub=None):
        meta = obj["metadata"]
        return self.request("PUT", self.path(kind_of(obj), meta.get("namespace"), meta["name"], sub), obj)

    def patch(self, kind, name, patch, namespace="default", sub=None, content_type=MERGE):
        return self.request("PATCH", self.path(kind, namespace, name, sub), patch, content_type)

    def delete(self, kind, name, namespace="default", grace_s=0):
        return self.request("DELETE", self.path(kind, namespace, name, gracePeriodSeconds=grace_s))

    def delete_all(self, kind, namespace="default"):
        """Each by name: a delete of a collection is not everywhere there."""
        names = [item["metadata"]["name"] for item in self.list(kind, namespace)]
        self.in_parallel(lambda name: self._delete_if_there(kind, name, namespace), names)

    def _delete_if_there(self, kind, name, namespace):
        with may_be_gone():
            self.delete(kind, name, namespace)

    def bind(self, pod, node, namespace="default"):
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod, "namespace": namespace},
                   "target": {"apiVersion": "v1", "kind": "Node", "name": node}}
        return self.request("POST", self.path("Pod", namespace, pod, "binding"), binding)

    def apply_yaml(self, text):
        """Server-side apply of each document, unchanged; fields that the
        server doesn't know are errors."""
        chunks = [part for part in ("\n" + text).split("\n---") if yamlsub.load_all(part)]
        for chunk in chunks:
            obj = yamlsub.load(chunk)
            meta = obj["metadata"]
            path = self.path(kind_of(obj), meta.get("namespace"), meta["name"],
                             fieldManager="tests", force="true", fieldValidation="Strict")
            self.request("PATCH", path, chunk, APPLY)

    def watch(self, kind, resource_version, namespace=None, timeout_s=600, **query):
        """Events as dicts until the server ends the watch; each call has a
        connection of its own.  Closing the generator closes it."""
        path = self.path(kind, namespace, watch="true", resourceVersion=resource_version,
                         timeoutSeconds=timeout_s, allowWatchBookmarks="true", **query)
        connection = self._connect(timeout_s + 30)
        try:
            connection.request("GET", path, headers=self._headers(None, None))
            answer = connection.getresponse()
            if answer.status != 200:
                raise ApiError("WATCH", path, answer.status, answer.read().decode(errors="replace"))
            while line := answer.readline():
                if line.strip():
                    yield json.loads(line)
        finally:
            connection.close()

    def wait_ready(self, timeout_s=120, path="/readyz"):
        """Until the server returns 200 there; TimeoutError with the last response."""
        end, last = time.monotonic() + timeout_s, "no answer"
        while time.monotonic() < end:
            try:
                status, data = self.raw("GET", path)
                if status == 200:
                    return
                last = f"{status} {data[-300:]!r}"
            except (OSError, http.client.HTTPException) as error:
                last = repr(error)
            time.sleep(0.1)
        raise TimeoutError(f"{self.server}{path} is not ready after {timeout_s} s: {last}")


def retry(call, timeout_s=30, errors=(OSError, http.client.HTTPException)):
    """Call again while the server can't be reached."""
    end = time.monotonic() + timeout_s
    while True:
        try:
            return call()
        except errors:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)


def fetch(address, path):
    """(status, text) of a page at HOST:PORT; (0, reason) without a response."""
    host, port = address.rsplit(":", 1)
    connection = http.client.HTTPConnection(host, int(port), timeout=20)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode(errors="replace")
    except (OSError, http.client.HTTPException) as error:
        return 0, repr(error)
    finally:
        connection.close()


def metrics(address):
    """{"name{labels}": value} of /metrics at HOST:PORT; {} without a response."""
    status, text = fetch(address, "/metrics")
    rows = [line.rsplit(" ", 1) for line in text.splitlines() if line and not line.startswith("#")]
    return {name: float(value) for name, value in rows} if status == 200 else {}


def wait_for(question, what, timeout_s=60, every_s=0.1):
    """harness.until() with what is awaited before the time."""
    return until(question, timeout_s, what, every_s)


def write_kubeconfig(path, server, token, ca_file=None, tls_server_name=None, user="admin", pair=None):
    """An ordinary YAML kubeconfig, mode 0600.  pair: files of a client certificate and its key."""
    lines = ["apiVersion: v1", "kind: Config", "clusters:", "- name: test", "  cluster:", f"    server: {server}"]
    if ca_file:
        lines.append(f"    certificate-authority: {ca_file}")
    if tls_server_name:
        lines.append(f"    tls-server-name: {tls_server_name}")
    lines += ["users:", f"- name: {user}", "  user:", *[f"    token: {token}"] * bool(token)]
    if pair:
        lines += [f"    client-certificate: {pair[0]}", f"    client-key: {pair[1]}"]
    lines += ["contexts:", "- name: test", "  context:", "    cluster: test", f"    user: {user}",
              "current-context: test", ""]
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))


def namespace(name):
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def priority_class(name, value):
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value}
