# SPDX-License-Identifier: Apache-2.0
"""muster-bench compare and compare-devices, bench/peers/compare.py and bench/versions.py, small: muster and the real kube-scheduler, and two
builds of muster, on one real API server. Only that all of them place everything; their times are not checked.

Skipped while kube-scheduler is not built: tests/real/build.sh kube-scheduler."""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import muster  # noqa: E402
from lib.cluster import run  # noqa: E402
from lib.harness import Skip, check, equal, main  # noqa: E402
from real.cluster import built  # noqa: E402
from real.version import has_native_gangs, version  # noqa: E402


def test_compare():
    if not built("kube-scheduler"):
        raise Skip("kube-scheduler is not built; tests/real/build.sh kube-scheduler does it in some minutes")
    if not has_native_gangs():
        raise Skip(f"Kubernetes {version()} has no native gang API of this version, which the gangs compared are of")
    code, out, err = run("muster-bench", "compare", "--nodes", "40", "--pods", "60", "--gang", "20", "-o", "json",
                         timeout_s=600)
    equal(code, 0, err)
    rows = {row["name"]: row["median"] for row in json.loads(out)["rows"]}
    wanted = {"apiserver-binds", "muster-live"}
    for who in ("muster", "kube-sampled", "kube-exact"):
        wanted |= {f"{who}-preloaded", f"{who}-gang-20"}
    equal(set(rows), wanted, "rows")
    check(all(value > 0 for value in rows.values()), rows)


def test_compare_devices():
    if not built("kube-scheduler"):
        raise Skip("kube-scheduler is not built; tests/real/build.sh kube-scheduler does it in some minutes")
    if not has_native_gangs():
        raise Skip(f"Kubernetes {version()} has no native gang API of this version, which the gangs compared are of")
    code, out, err = run("muster-bench", "compare-devices", "--nodes", "40", "--gang", "20", "-o", "json", timeout_s=600)
    equal(code, 0, err)
    rows = {row["name"]: row["median"] for row in json.loads(out)["rows"]}
    wanted = {"apiserver-writes-60", "dra-e2e-gang-20"}
    for who in ("muster", "kube"):
        wanted |= {f"{who}-claims-gang-20", f"{who}-claims-rate", f"{who}-claims-cpu"}
    equal(set(rows), wanted, "rows")
    check(all(value > 0 for name, value in rows.items() if not name.endswith("-cpu")), rows)


def test_peers():
    """The two that need nothing from the network, a round each."""
    if not built("kube-scheduler"):
        raise Skip("kube-scheduler is not built; tests/real/build.sh kube-scheduler does it in some minutes")
    if not has_native_gangs():
        raise Skip(f"Kubernetes {version()} has no native gang API of this version, which the gangs compared are of")
    done = subprocess.run([sys.executable, str(muster.ROOT / "bench" / "peers" / "compare.py"), "--rounds", "1", "--nodes", "40",
                           "--gangs", "20", "-o", "json", "muster", "kube-scheduler"], capture_output=True, text=True, timeout=300,
                          check=False)
    equal(done.returncode, 0, done.stderr)
    report = json.loads(done.stdout)
    equal([(row["peer"], row["bound"]) for row in report["rows"]], [("muster", [20]), ("kube-scheduler", [20])], done.stderr)
    for row in report["rows"]:
        check(0 < row["bound_s"]["median"] <= row["events_s"]["median"], row)
        check(row["events"] >= 20 and row["server_cpu_s"]["median"] > 0, row)


def test_versions():
    """This build against itself."""
    done = subprocess.run([sys.executable, str(muster.ROOT / "bench" / "versions.py"), str(muster.BUILD), "--rounds", "1",
                           "--nodes", "20", "--pods", "60", "--lone", "3"], capture_output=True, text=True, timeout=300, check=False)
    equal(done.returncode, 0, done.stderr)
    rows = re.findall(r"^(before|now|now, no journal) +(\d+) ", done.stdout, re.M)
    equal([who for who, _ in rows], ["before", "now", "now, no journal"], done.stdout)
    check(all(int(rate) > 0 for _, rate in rows), done.stdout)


if __name__ == "__main__":
    main(globals())
