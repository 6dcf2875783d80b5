#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`musterctl devices`: selectors against recorded answers of kube-scheduler 1.36.3's library, the table, and bad input.
The full recording is used when MUSTER_SHARED (default ../shared) has it."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import muster  # noqa: E402
from lib.harness import Skip, check, figure, main  # noqa: E402

DATA = json.loads((muster.ROOT / "tests" / "data" / "cel" / "selectors.json").read_text())
SHARED = pathlib.Path(os.environ.get("MUSTER_SHARED") or muster.ROOT.parent / "shared") / "data"


def run(*words, text=None):
    return subprocess.run([muster.program("musterctl"), "devices", *words], input=text, capture_output=True, text=True, timeout=180)


def slices():
    return '{"apiVersion":"v1","kind":"List","items":[' + ",".join(DATA["slices"]) + "]}"


def test_recorded_selectors():
    rows = DATA["recorded"]
    words = [w for selector, _ in rows for w in ("--selector", selector)]
    done = run("-f", "-", *words, "-o", "json", text=slices())
    check(done.returncode == 0, done.stderr)
    devices = json.loads(done.stdout)["devices"]
    check([d["device"] for d in devices] == sorted(DATA["devices"]), [d["device"] for d in devices])
    for d in devices:
        at = DATA["devices"].index(d["device"])
        for (selector, wanted), got in zip(rows, d["matches"]):
            check((got["error"] if isinstance(got, dict) else got) == wanted[at], f"{selector} on {d['device']}: {wanted[at]}, not {got}")
    node = {d["device"]: d.get("node") for d in devices}
    check(node["gpu.example.com/n1/gpu-0"] == "n1" and node["gpu.example.com/odd/bare"] is None, node)


def test_whole_recording():
    if not (SHARED / "check_dra.py").exists():
        raise Skip("needs the shared recordings")
    done = subprocess.run([sys.executable, str(SHARED / "check_dra.py"), "--musterctl", muster.program("musterctl"), "--category", "cel",
                           str(SHARED / "dra")], capture_output=True, text=True, timeout=300)
    figure(done.stdout.strip().splitlines()[-1])
    check(done.returncode == 0, done.stdout[-2000:])


def test_table():
    done = run("-f", "-", "--selector", "device.driver == 'gpu.example.com'", "--selector", "1/0 == 1", text=slices())
    lines = done.stdout.splitlines()
    check(lines[0].split() == ["DEVICE", "NODE", "CLAIM", "TAINTED", "SELECTOR", "1", "SELECTOR", "2"], lines[0])
    check(len(lines) == 1 + len(DATA["devices"]), lines)
    check(lines[1].split() == ["gpu.example.com/n1/gpu-0", "n1", "-", "no", "yes", "error:", "division", "by", "zero"], lines[1])


def test_bad_input_is_named():
    for selector, text in (("device.x ==", "--selector 1: compilation failed: ERROR: <input>:1:12:"),
                           ("ip('1.2.3.4') == ip('1.2.3.4')", "--selector 1 uses function ip, which muster does not know"),
                           ("(" * 70, "--selector 1 has nesting deeper than 64, which is above the limit")):
        done = run("-f", "-", "--selector", selector, text=slices())
        check(done.returncode == 2 and text in done.stderr, f"{selector}: {done.returncode} {done.stderr}")
    with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
        f.write(slices().replace('"version":"550.54.15"', '"version":"550"'))
        f.flush()
        done = run("-f", f.name)
        check(done.returncode == 2 and 'attributes[driverVersion].version: 550 is not a version' in done.stderr, done.stderr)
        check("ResourceSlice n2-gpu.example.com-gnfz5" in done.stderr, done.stderr)
    done = run("--selector", "true")
    check(done.returncode == 2 and "-f FILE is missing" in done.stderr, done.stderr)


if __name__ == "__main__":
    main(globals())
