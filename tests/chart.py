#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""deploy/chart makes the objects of deploy/'s kustomizations: `helm template` beside `kustomize build`, object by object,
for each form that deploy/ has. Only the hash in the ConfigMap's name, comments of the configuration file and the
Namespace, which Helm makes, may differ. `make test-chart`; no part of `make test`.

Both programs are built from the Go module proxy into ~/.cache/muster/chart-tools at the first run (two minutes of CPU
each), or taken from HELM and KUSTOMIZE; what is missing is said and skips all."""
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import muster  # noqa: E402
from lib.harness import check, equal, main  # noqa: E402

try:
    import yaml
except ImportError:
    yaml = None

DEPLOY = muster.ROOT / "deploy"
TOOLS = {"HELM": ("helm.sh/helm/v3/cmd/helm", "v3.19.4"), "KUSTOMIZE": ("sigs.k8s.io/kustomize/kustomize/v5", "v5.8.1")}
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "muster" / "chart-tools"
FORMS = {  # folder of deploy/: values
    ".": [],
    "ha": ["replicas=2"],
    "extender": ["extender.auth=mtls"],
    "extender-token": ["extender.auth=token"],
    "preemption": ["preemption=true"],
    "devices": ["devices=true"],
    "job-deadlines": ["jobDeadlines=true"],
}


def tool(variable):
    """The program, built if nobody has it."""
    if os.environ.get(variable):
        return os.environ[variable]
    module, version = TOOLS[variable]
    folder = CACHE / version
    program = folder / variable.lower()
    if not program.exists():
        go = subprocess.run([muster.ROOT / "tests/real/build.sh", "--go"], capture_output=True, text=True, check=True).stdout.strip()
        folder.mkdir(parents=True, exist_ok=True)
        print(f"building {module} {version}", file=sys.stderr)
        subprocess.run([go, "install", f"{module}@{version}"], check=True, timeout=1800,
                       env={**os.environ, "GOBIN": str(folder), "CGO_ENABLED": "0", "GOFLAGS": "", "GOTOOLCHAIN": "auto"})
    return str(program)


def said(*words):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, check=False, timeout=120)
    check(done.returncode == 0, *words, done.stderr)
    return [o for o in yaml.safe_load_all(done.stdout) if o]


def helm(*values, release="muster", namespace="muster-system", crds=False):
    words = [tool("HELM"), "template", release, DEPLOY / "chart", "-n", namespace, *(["--include-crds"] if crds else [])]
    for value in values:
        words += ["--set", value]
    return said(*words)


def last_ones(args):
    """--flag=value: of a flag that is given twice the last counts."""
    return list({arg.partition("=")[0] if arg.startswith("--") else (i, arg): arg for i, arg in enumerate(args)}.values())


def plain(objects):
    """By kind and name, without what may differ."""
    for o in objects:
        if o["kind"] == "ConfigMap":
            o["data"] = {name: yaml.safe_load(data) for name, data in o["data"].items()}
            o["metadata"]["name"], _, hashed = o["metadata"]["name"].rpartition("-")
            equal(len(hashed), 10, "a hash in the name of the ConfigMap")
        if o["kind"] == "Deployment":
            spec = o["spec"]["template"]["spec"]
            for volume in spec["volumes"]:
                if volume["name"] == "config":
                    volume["configMap"]["name"] = volume["configMap"]["name"].rpartition("-")[0]
            for container in spec["containers"]:
                container["args"] = last_ones(container["args"])
    made = {(o["apiVersion"], o["kind"], o["metadata"]["name"]): o for o in objects}
    equal(len(made), len(objects), "each once")
    return made


def same(helms, kustomizes):
    a, b = plain(helms), plain(kustomizes)
    equal(sorted(a), sorted(b), "which objects")
    for key, wanted in b.items():
        equal(a[key], wanted, key)


def test_each_form_of_deploying():
    for folder, values in FORMS.items():
        wanted = [o for o in said(tool("KUSTOMIZE"), "build", DEPLOY / folder) if o["kind"] != "Namespace"]
        check(len(wanted) >= 9, folder, "is nearly empty")
        same(helm(*values), wanted)


def containers(objects):
    deployment, = [o for o in objects if o["kind"] == "Deployment"]
    return {c["name"]: c["args"] for c in deployment["spec"]["template"]["spec"]["containers"]}


def test_queues_and_promises():
    """Rights and flags; of `config` no right is needed beside those that are there."""
    plain_objects = {(o["kind"], o["metadata"]["name"]) for o in helm()}
    rights = said(tool("KUSTOMIZE"), "build", DEPLOY / "queues")
    for source in ("auto", "config", "volcano", "koordinator", "kai"):
        objects = helm(f"queues={source}")
        same([o for o in objects if (o["kind"], o["metadata"]["name"]) not in plain_objects], [] if source == "config" else rights)
        check(f"--queues={source}" in containers(objects)["frontend"], source, containers(objects))
    objects = helm("queues=volcano", "queueStatus=true")
    for right in said(tool("KUSTOMIZE"), "build", DEPLOY / "queue-status"):
        check(right["metadata"]["name"] in [o["metadata"]["name"] for o in objects], right)
    check("--write-queue-status" in containers(objects)["frontend"], containers(objects))
    check("--queues-configmap" not in str(containers(helm("queues=config"))), "the default place")
    check("--queues-configmap=here/batch-muster-queues" in containers(helm("queues=config", release="batch", namespace="here"))["frontend"], "its own")
    check("--promise-depth=64" in containers(helm("promiseDepth=64"))["core"], "the depth")
    check("promise" not in str(containers(helm())) and "queues" not in str(containers(helm())), "off by default")


def test_definitions_and_monitoring():
    plain_objects = {(o["kind"], o["metadata"]["name"]) for o in helm()}
    same([o for o in helm(crds=True) if o["kind"] == "CustomResourceDefinition"], said(tool("KUSTOMIZE"), "build", DEPLOY / "crds"))
    same([o for o in helm("monitoring.enabled=true") if (o["kind"], o["metadata"]["name"]) not in plain_objects],
         said(tool("KUSTOMIZE"), "build", DEPLOY / "monitoring"))


def test_the_configmap_of_the_pod_is_there():
    for objects in (helm(), helm("config.listen=127.0.0.1:1")):
        config, = [o for o in objects if o["kind"] == "ConfigMap"]
        deployment, = [o for o in objects if o["kind"] == "Deployment"]
        used = [v["configMap"]["name"] for v in deployment["spec"]["template"]["spec"]["volumes"] if v["name"] == "config"]
        equal(used, [config["metadata"]["name"]])
    one, other = ([o["metadata"]["name"] for o in helm(*v) if o["kind"] == "ConfigMap"] for v in ((), ("config.listen=127.0.0.1:1",)))
    check(one != other, "a change has another name")


def test_another_release_shares_no_name():
    """A second one in the same cluster: no object in common, and its rights are those of its own names."""
    objects = helm("replicas=2", "monitoring.enabled=true", release="batch", namespace="queues")
    names = {o["metadata"]["name"] for o in objects}
    check(all(n.startswith("batch-muster") for n in names), names)
    check(all(o["metadata"].get("namespace", "queues") == "queues" for o in objects), names)
    role, = [o for o in objects if o["kind"] == "Role"]
    leases = [r["resourceNames"] for r in role["rules"] if "resourceNames" in r]
    config, = [yaml.safe_load(o["data"]["config.yaml"]) for o in objects if o["kind"] == "ConfigMap"]
    equal(leases, [[config["leaderElection"]["resourceName"]]], "the Lease it may update")
    equal((config["leaderElection"]["resourceNamespace"], config["journal"]), ("queues", "queues/batch-muster-journal"))
    check("batch-muster.queues.svc" in config["allowedHosts"], config)
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
        config["kubeconfig"] = "/dev/null"
        f.write(yaml.safe_dump(config))
        f.flush()
        done = subprocess.run([muster.program("muster-frontend"), "--check-config", f.name], capture_output=True, text=True, check=False)
        equal(done.returncode, 0, done.stderr)


def test_values_that_make_no_sense_are_refused():
    for values, why in ((("extender.auth=mtls", "replicas=2"), "replicas above 1"), (("extender.auth=basic",), "none of"),
                        (("queues=slurm",), "none of none")):
        words = [w for v in values for w in ("--set", v)]
        done = subprocess.run([tool("HELM"), "template", "muster", DEPLOY / "chart", *words], capture_output=True, text=True, check=False)
        check(done.returncode != 0 and why in done.stderr, values, done.stderr)


def test_lint():
    done = subprocess.run([tool("HELM"), "lint", "--strict", DEPLOY / "chart"], capture_output=True, text=True, check=False)
    equal(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    missing = [] if yaml else ["python3-yaml"]
    for name in TOOLS:
        try:
            tool(name)
        except (OSError, subprocess.SubprocessError) as why:
            missing.append(f"{name.lower()} ({why})")
    if missing:
        print(f"SKIPPED: deploy/chart was not compared: no {', no '.join(missing)}\n0 passed, 0 failed, 1 skipped")
        sys.exit(0)
    main(globals())
