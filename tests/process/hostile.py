#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A hostile tenant: the worst that the rights of one namespace allow, while another namespace's gangs start.

    tests/process/hostile.py [--seconds=600]

The tenant makes pods with resource names of their own, with requests that all differ, with a group
each, PodGroups without pods, gangs whose quorum it raises, large annotations, labels and selectors of a
MiB, marks that cannot be read, gates, and storms of creation and deletion.  It changes what its waiting pods refer to, again
and again: the selector of a Service, a WorkloadPolicy, a ResourceClaim that it deletes and makes again.
Two clusters run at once, one of which has no tenant, and the other namespace's gangs start in them by turns: what else the
machine does delays both alike.  Prints the p50 and p99 from the creation of a gang's last member to its first binding, alone
and beside the tenant, and how often the second p99 is the first."""
import contextlib
import multiprocessing
import os
import random
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import claims, dialects, kube, objects  # noqa: E402
from lib.cluster import Cluster  # noqa: E402
from lib.harness import check, figure, option, until  # noqa: E402

NODES, MEMBERS = 20, 4
CHANGES = 40  # of one object in turn
LIMITS = ["--max-shapes", 256, "--max-gangs", 256, "--max-pods", 2048]


def claim():
    made = claims.claim("claim", claims.claim_spec(1))
    made["metadata"]["namespace"] = "evil"
    return made


def referred():
    """What the tenant's pods refer to."""
    return [{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "service", "namespace": "evil"},
             "spec": {"clusterIP": "None", "selector": {"app": "evil"}}},
            dialects.workload_policy("policy", {"z0": 1}, "evil", {"matchLabels": {"app": "evil"}}), claim()]


class Tenant(multiprocessing.Process):
    """Attacks in turn until it is stopped; counts the pods that it wrote.  A process: it takes no time of who measures."""

    def __init__(self, kubeconfig, seed):
        super().__init__(daemon=True)
        self.kubeconfig, self.rng, self.n = kubeconfig, random.Random(seed), 0
        self.names, self.over, self.wrote = [], multiprocessing.Event(), multiprocessing.Value("Q", 0)

    def pod(self, **options):
        self.n += 1
        name = f"evil-{self.n:06}"
        self.names.append(name)
        return objects.pod(name, namespace="evil", labels={"app": "evil", dialects.POLICY_LABEL: "policy"}, **options)

    def resource_names(self):
        for i in range(28):
            yield self.pod(cpu="1m", requests={f"evil.com/{self.rng.randrange(500)}-{i}": "1"})

    def shapes(self):
        for _ in range(60):
            yield self.pod(cpu=f"{1000000 + self.rng.randrange(10**6)}m")

    def groups(self):
        for _ in range(60):
            yield self.pod(cpu="1000", group=f"g{self.rng.randrange(10**6)}")
            yield objects.pod_group(f"empty{self.rng.randrange(10**6)}", 2, "evil")

    def quorum(self):
        name = f"q{self.rng.randrange(10**6)}"
        yield objects.pod_group(name, 1, "evil")
        yield self.pod(cpu="10m", group=name)
        yield {"raise": name}
        for _ in range(6):
            yield self.pod(cpu="1", group=name)

    def annotations(self):
        for text in ("i\u0000j", "\u009b2J", "\u202ex", "y" * 100000):
            pod = self.pod()
            pod["metadata"]["annotations"] = {"scheduling.k8s.io/group-name": text, "scheduling.k8s.io/group-pod-num": "3",
                                              "note": "z" * 200000}
            yield pod

    def large(self):
        for i in range(2):
            pod = self.pod(cpu="1000")
            for k in range(900):
                pod["metadata"]["labels"][f"{f'l{self.n}-{k}.'.ljust(240, 'a')}.io/{'b' * 60}"] = "v" * 60
            values = [f"x{self.n}-{k}".ljust(60, "d") for k in range(3500)]
            pod["spec"]["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "NotIn", "values": values}]}]}}}
            yield pod

    def selectors(self):
        for i in range(CHANGES):
            yield {"patch": ("Service", "service", {"spec": {"selector": {"app": "evil", "not-there": "1" if i % 2 else None}}})}

    def policies(self):
        for i in range(CHANGES):
            yield {"patch": ("WorkloadPolicy", "policy", {"spec": {"allocationPolicy": [{"name": "z0", "replicas": 1 + i % 2}]}})}

    def claims(self):
        for _ in range(20):
            yield self.pod(cpu=f"{1000000 + self.rng.randrange(10**6)}m",
                           resourceClaims=[{"name": "device", "resourceClaimName": "claim"}])
        for _ in range(CHANGES):
            yield {"remake": claim()}

    def gates(self):
        for _ in range(20):
            yield self.pod(schedulingGates=[{"name": "evil.com/gate"}])

    def storm(self):
        for _ in range(40):
            yield self.pod(cpu=f"{self.rng.randrange(1, 100)}m")
        yield {"clear": 0.6}

    def run(self):
        self.client = kube.Client(self.kubeconfig)
        attacks = [self.resource_names, self.shapes, self.groups, self.quorum, self.annotations, self.large, self.selectors,
                   self.policies, self.claims, self.gates, self.storm]
        while not self.over.is_set():
            for what in self.rng.choice(attacks)():
                if self.over.is_set():
                    break
                with contextlib.suppress(kube.ApiError):
                    self.write(what)
            self.wrote.value = self.n

    def write(self, what):
        if "raise" in what:
            self.client.patch("PodGroup", what["raise"], {"spec": {"minMember": 25}}, "evil")
        elif "patch" in what:
            kind, name, change = what["patch"]
            self.client.patch(kind, name, change, "evil")
        elif "remake" in what:
            self.client.delete("ResourceClaim", what["remake"]["metadata"]["name"], "evil")
            self.client.create(what["remake"])
        elif "clear" in what:
            self.rng.shuffle(self.names)
            gone, self.names = self.names[:int(len(self.names) * what["clear"])], self.names[int(len(self.names) * what["clear"]):]
            for name in gone:
                with contextlib.suppress(kube.ApiError):
                    self.client.delete("Pod", name, "evil")
        else:
            self.client.create(what)


def start_gang(c, i):
    """Seconds from its last member to its first binding; its pods are deleted."""
    group, members = objects.gang(f"good-{i}", MEMBERS, cpu="1", namespace="good")
    c.create(group, *members)
    since = time.monotonic()
    first = members[0]["metadata"]["name"]

    def bound():
        return c.client.get("Pod", first, "good")["spec"].get("nodeName")
    until(bound, 60, f"gang {i} starts", every_s=0.004)
    took = time.monotonic() - since
    until(lambda: c.bound(f"good-{i}-", "good") == MEMBERS, 60, f"gang {i} is whole")
    for m in members:
        c.client.delete("Pod", m["metadata"]["name"], "good")
    c.client.delete("PodGroup", f"good-{i}", "good")
    return took


def quantile(times, q):
    return sorted(times)[min(len(times) - 1, int(len(times) * q))]


@contextlib.contextmanager
def cluster():
    with Cluster(*(objects.node(f"n{i:02}", cpu="8", labels={"workload-test": f"z{i % 2}"}) for i in range(NODES)),
                 *(claims.slice_of(f"n{i:02}", 4) for i in range(NODES)), claims.device_class(),
                 kube.namespace("evil"), kube.namespace("good"), *referred(),
                 apisim=("--gate", "DynamicResourceAllocation", "--crd", dialects.CRDS[2])) as c:
        c.pair(core=LIMITS, frontend=("--devices", "auto", "--max-memory", "256Mi"))
        yield c


def hostile(seconds, seed=1, pause_s=0.02):
    """The times of gangs without the tenant, and with it."""
    with cluster() as alone, cluster() as beside:
        tenant = Tenant(beside.kubeconfig, seed)
        tenant.start()
        quiet, under, end = [], [], time.monotonic() + seconds
        while time.monotonic() < end or len(under) < 5:
            for c, times in ((alone, quiet), (beside, under)):
                times.append(start_gang(c, len(times)))
                time.sleep(pause_s)
        tenant.over.set()
        tenant.join(60)
        for what, times in (("alone", quiet), ("beside the tenant", under)):
            figure(f"first binding {what}: {len(times)} gangs, p50 {quantile(times, 0.5) * 1e3:.0f} ms, "
                   f"p99 {quantile(times, 0.99) * 1e3:.0f} ms")
        figure(f"p99 beside / alone: {quantile(under, 0.99) / quantile(quiet, 0.99):.2f}; "
               f"pods that the tenant wrote: {tenant.wrote.value}")
        for c in (alone, beside):
            check(c.core.running() and c.frontend.running(), "a daemon ended")
            found = [w for w in c.wrongs() if "evil" not in w]
            check(not found, found[:5])
        return quiet, under


if __name__ == "__main__":
    hostile(option("seconds", 600.0))
