# SPDX-License-Identifier: Apache-2.0
"""--max-memory of muster-frontend: a namespace whose objects are as large as the API takes them, and another one's gang."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import kube, objects  # noqa: E402
from lib.cluster import Cluster  # noqa: E402
from lib.harness import check, main, until  # noqa: E402

LIMIT_MIB = 160
PODS = 240  # each takes more than 1 MiB of the frontend, half of them bound


def peak_mib(process):
    with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM:")) // 1024


def large(i):
    """Labels and node affinity of texts that no other pod has."""
    bound = {"nodeName": "n1"} if i % 2 else {}
    pod = objects.pod(f"large-{i}", cpu="0" if bound else "64", memory="0", namespace="evil", **bound)
    for k in range(900):
        pod["metadata"]["labels"][f"{f'l{i}-{k}.'.ljust(240, 'a')}.io/{'b' * 60}"] = f"v{i}-{k}".ljust(60, "c")
    values = [f"x{i}-{k}".ljust(60, "d") for k in range(3500)]
    rule = {"key": "zone", "operator": "NotIn", "values": values}
    pod["spec"]["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchExpressions": [rule]}]}}}
    return pod


def start(c, *flags):
    c.core = c.start_core()
    c.frontend = c.start_frontend(*flags)
    c.ready(c.frontend, timeout_s=60)


def gang_starts(c, name):
    c.gang(name, 2, namespace="good", cpu="1", memory="0")
    until(lambda: c.bound(name, "good") == 2, 30, "the gang of another namespace is bound")


def reaches(flags, at_most):
    """Objects that come while it runs, and a start that lists them."""
    with Cluster(objects.node("n1", cpu="8", pods="500"), kube.namespace("evil"), kube.namespace("good"),
                 apisim=("--no-kubelet",)) as c:
        start(c, *flags)
        gang_starts(c, "before")
        for i in range(PODS):
            c.create(large(i))
        gang_starts(c, "beside")
        peaks = [peak_mib(c.frontend)]
        if at_most:
            until(lambda: "--max-memory is reached: objects of namespace evil take" in c.why_pending("large-238", "evil"), 20,
                  "the reason names the limit and the namespace")
        c.frontend.stop()
        c.core.stop()
        start(c, *flags)
        gang_starts(c, "after")
        peaks.append(peak_mib(c.frontend))
        print(f"    peaks of the frontend with {flags}: {peaks} MiB")
        return peaks


def test_large_objects_of_one_namespace():
    peaks = reaches(("--max-memory", f"{LIMIT_MIB}Mi"), True)
    check(max(peaks) <= LIMIT_MIB, f"{peaks} MiB are more than --max-memory")


def test_they_exceed_it_without_the_flag():
    peaks = reaches((), False)
    check(min(peaks) > LIMIT_MIB, f"{peaks} MiB: the objects are too small to show anything")


if __name__ == "__main__":
    main(globals(), jobs=1)
