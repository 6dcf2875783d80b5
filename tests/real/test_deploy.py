# SPDX-License-Identifier: Apache-2.0
"""Each object of deploy/ on a real API server, as kubectl apply -k would send it, and the pods of
its Deployment under the rules of its namespace."""
import os
import pathlib
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import kube, muster, yamlsub  # noqa: E402
from lib.harness import check, equal, main  # noqa: E402
from real.cluster import DEPLOY, NAMESPACE, Cluster  # noqa: E402

OPERATOR = "monitoring.coreos.com/v1"  # its kinds are not the API server's own


def changed(obj, patch):
    """JSON patch: replace and add, as the files here use them."""
    for change in patch:
        check(change["op"] in ("replace", "add"), change)
        *folders, last = change["path"].lstrip("/").split("/")
        place = obj
        for name in folders:
            place = place[int(name)] if isinstance(place, list) else place[name]
        if last == "-":
            place.append(change["value"])
        else:
            check(change["op"] == "add" or last in place, change["path"], "is not there")
            place[last] = change["value"]


def rendered(folder):
    """The objects of a kustomization, without the hashes in names."""
    folder = pathlib.Path(folder).resolve()
    kustomization = yamlsub.load((folder / "kustomization.yaml").read_text(encoding="utf-8"))
    known = {"apiVersion", "kind", "resources", "configMapGenerator", "patches"}
    check(set(kustomization) <= known, f"{folder}: {set(kustomization) - known} is not read here")
    objects = []
    for name in kustomization["resources"]:
        path = (folder / name).resolve()
        # kustomize accepts no folder that contains this one, and no file from outside of it.
        check(path not in folder.parents and (path.is_dir() or folder in path.parents), f"{folder}: {name}")
        objects += rendered(path) if path.is_dir() else yamlsub.load_all(path.read_text(encoding="utf-8"))
    for made in kustomization.get("configMapGenerator", []):
        data = {name: (folder / name).read_text(encoding="utf-8") for name in made["files"]}
        objects.append({"apiVersion": "v1", "kind": "ConfigMap", "data": data,
                        "metadata": {"name": made["name"], "namespace": made["namespace"]}})
    for patch in kustomization.get("patches", []):
        target, = [o for o in objects if (o["kind"], o["metadata"]["name"]) == (patch["target"]["kind"], patch["target"]["name"])]
        changed(target, yamlsub.load(patch["patch"]))
    return objects


def applied(client, objects):
    for obj in objects:
        meta = obj["metadata"]
        path = client.path(kube.kind_of(obj), meta.get("namespace"), meta["name"], fieldManager="test", force="true",
                           fieldValidation="Strict")
        client.request("PATCH", path, obj, kube.APPLY)


def deployment(client):
    return client.get("Deployment", "muster", NAMESPACE)["spec"]


def pod_of(spec):
    template = spec["template"]
    return {"apiVersion": "v1", "kind": "Pod", "spec": template["spec"],
            "metadata": {"name": "muster-0", "namespace": NAMESPACE, "labels": template["metadata"]["labels"]}}


def container(spec, name):
    return next(c for c in spec["containers"] if c["name"] == name)


def limited(spec):
    """Both containers have a limit of memory, and probes are on the listener of health."""
    for c in spec["containers"]:
        check(c["resources"]["limits"]["memory"], c["name"])
    frontend = container(spec, "frontend")
    for probe in ("livenessProbe", "readinessProbe"):
        check(probe not in frontend or frontend[probe]["httpGet"]["port"] in ("health", 10262), frontend.get(probe))


def tried(client, obj):
    """A dry run: admission, defaults and validation, without storing the object."""
    return client.request("POST", client.path(kube.kind_of(obj), obj["metadata"]["namespace"], dryRun="All",
                                              fieldValidation="Strict"), obj)


def test_one_instance():
    client = cluster.admin()
    applied(client, rendered(DEPLOY))
    spec = deployment(client)
    equal((spec["replicas"], spec["strategy"]["type"]), (1, "Recreate"), "one at a time")
    pod = tried(client, pod_of(spec))
    equal(pod["spec"]["serviceAccountName"], "muster", "account")
    equal(pod["spec"]["priority"], 2000000000, "priority of system-cluster-critical")
    limited(spec["template"]["spec"])
    policy = client.get("NetworkPolicy", "muster", NAMESPACE)["spec"]
    check(policy["podSelector"]["matchLabels"].items() <= spec["template"]["metadata"]["labels"].items(), policy)
    equal({p["port"]: bool(rule.get("from")) for rule in policy["ingress"] for p in rule["ports"]},
          {"health": False, "http": True}, "health for all, the rest for some")
    service = client.get("Service", "muster", NAMESPACE)["spec"]
    check(service["selector"].items() <= spec["template"]["metadata"]["labels"].items(), service)
    ports = [p["name"] for c in spec["template"]["spec"]["containers"] for p in c.get("ports", [])]
    check(service["ports"][0]["targetPort"] in ports, ports)


def test_rules_of_the_namespace_hold():
    """The same pod as root, or with a path of the host, is refused: the check above checks something."""
    client = cluster.admin()
    for change in ({"securityContext": {}}, {"hostNetwork": True}):
        pod = pod_of(deployment(client))
        pod["spec"] = {**pod["spec"], **change}
        try:
            tried(client, pod)
        except kube.ApiError as error:
            check(error.status == 403 and "PodSecurity" in str(error), error)
        else:
            check(False, "not refused:", change)


def test_two_instances():
    client = cluster.admin()
    applied(client, rendered(DEPLOY / "ha"))
    spec = deployment(client)
    equal((spec["replicas"], spec["strategy"]["type"]), (2, "RollingUpdate"), "side by side")
    frontend, = [c for c in spec["template"]["spec"]["containers"] if c["name"] == "frontend"]
    check("--leader-elect" in frontend["args"], frontend["args"])
    tried(client, pod_of(spec))
    equal(client.get("PodDisruptionBudget", "muster", NAMESPACE)["spec"]["minAvailable"], 1, "budget")


def test_the_extender_by_certificate_and_by_token():
    client = cluster.admin()
    applied(client, rendered(DEPLOY / "extender"))
    spec = deployment(client)
    tried(client, pod_of(spec))
    frontend = container(spec["template"]["spec"], "frontend")
    mounts = [m["mountPath"] for m in frontend["volumeMounts"]]
    for arg in frontend["args"]:
        flag, _, path = arg.partition("=")
        check(not flag.endswith("-file") or os.path.dirname(path) in mounts, arg)
    check("--extender-auth=mtls" in frontend["args"], frontend["args"])
    policy = client.get("NetworkPolicy", "muster", NAMESPACE)["spec"]
    equal([p["port"] for rule in policy["ingress"] for p in rule["ports"]], ["health", "http"], "ports")
    equal([o["metadata"]["name"] for o in rendered(DEPLOY / "extender") if "tokenreviews" in str(o)], [], "who may review tokens")
    applied(client, rendered(DEPLOY / "extender-token"))
    frontend = container(deployment(client)["template"]["spec"], "frontend")
    equal([a for a in frontend["args"] if a.startswith("--extender-auth")][-1], "--extender-auth=token", "the last one counts")
    equal(client.get("ClusterRole", "muster-tokenreviews", None)["rules"][0]["verbs"], ["create"], "verbs")


def test_the_right_to_evict_is_an_overlay():
    evict = "pods/eviction"
    equal([o["metadata"]["name"] for o in rendered(DEPLOY) if evict in str(o)], [], "who may evict")
    client = cluster.admin()
    applied(client, rendered(DEPLOY / "preemption"))
    frontend = container(deployment(client)["template"]["spec"], "frontend")
    equal(frontend["args"][-1], "--preemption=on")
    equal(client.get("ClusterRole", "muster-evictions", None)["rules"],
          [{"apiGroups": [""], "resources": [evict], "verbs": ["create"]}])


def test_definitions_of_kinds():
    applied(cluster.admin(), rendered(DEPLOY / "crds"))
    applied(cluster.admin(), rendered(DEPLOY / "crds" / "scheduling.sigs.k8s.io"))
    names = [o["spec"]["names"] for o in rendered(DEPLOY / "crds") if o["spec"]["names"]["plural"] == "podgroups"]
    equal(len(names), 1, "one kind that kubectl get podgroups means")


def test_monitoring_finds_the_service():
    objects = rendered(DEPLOY / "monitoring")
    equal(sorted((o["apiVersion"], o["kind"]) for o in objects), [(OPERATOR, "PrometheusRule"), (OPERATOR, "ServiceMonitor")], "kinds")
    monitor, = [o for o in objects if o["kind"] == "ServiceMonitor"]
    service = cluster.admin().get("Service", "muster", monitor["metadata"]["namespace"])
    wanted = monitor["spec"]["selector"]["matchLabels"]
    check(wanted.items() <= service["metadata"]["labels"].items(), wanted, service["metadata"]["labels"])
    equal([e["port"] for e in monitor["spec"]["endpoints"]], [p["name"] for p in service["spec"]["ports"]], "port")


def test_static_pod_of_a_control_plane():
    client = cluster.admin()
    applied(client, [{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": "kube-system"}}])
    pod, = yamlsub.load_all((DEPLOY / "kube-scheduler" / "muster.yaml").read_text(encoding="utf-8"))
    equal(tried(client, pod)["spec"]["priority"], 2000001000, "priority of system-node-critical")
    asked, = yamlsub.load_all((DEPLOY / "kube-scheduler" / "config.yaml").read_text(encoding="utf-8"))
    limited(pod["spec"])
    frontend, = [c for c in pod["spec"]["containers"] if c["name"] == "frontend"]
    listen, = [a.partition("=")[2] for a in frontend["args"] if a.startswith("--listen=")]
    equal(asked["extenders"][0]["urlPrefix"], f"http://{listen}", "where kube-scheduler asks")
    check(any(a.startswith("--extender-keep=") for a in frontend["args"]), frontend["args"])


def test_every_file_is_in_a_kustomization():
    used = {"config.yaml", "muster.yaml"}  # of kube-scheduler/: kubeadm's folders
    for path in DEPLOY.rglob("kustomization.yaml"):
        listed = yamlsub.load(path.read_text(encoding="utf-8"))
        used |= {pathlib.Path(name).name for name in listed["resources"]}
    unused = [str(p) for p in DEPLOY.rglob("*.yaml")
              if p.name not in used and p.name != "kustomization.yaml" and p.parent.name != "systemd"
              and DEPLOY / "chart" not in p.parents]
    equal(unused, [], "files that nothing names")


if __name__ == "__main__":
    muster.exit_on_sigterm()
    with Cluster(os.path.join(muster.scratch("muster-deploy-"), "cluster")) as cluster:
        main(globals())
