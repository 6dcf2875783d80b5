# SPDX-License-Identifier: Apache-2.0
"""muster-bench: names, rows and JSON that scripts rely on, and the report made of them.
The figures themselves are not checked here: machines differ."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import muster, objects  # noqa: E402
from lib.cluster import Cluster, run  # noqa: E402
from lib.harness import check, equal, main  # noqa: E402

NAMES = ["ring", "decide", "devices", "pipeline", "sustained", "memory", "e2e", "binds", "extender", "compare",
         "compare-devices", "trace", "preempt", "openb"]
UNITS = {"s", "ms", "us", "ns", "per_s", "bytes"}


def bench(*arguments):
    """The rows of one bench, by name."""
    code, out, err = run("muster-bench", *arguments, "-o", "json", timeout_s=120)
    equal(code, 0, f"exit code of {arguments}; it says {err}")
    said = json.loads(out)
    equal(said["bench"], arguments[0], "bench")
    check(said["cpu"] and said["load1"] >= 0 and said["stall_us_p999"] > 0, said)
    for row in said["rows"]:
        check(row["unit"] in UNITS, row)
        best, median, p99 = row["best"], row["median"], row["p99"]
        check(0 < best <= median <= p99 or 0 < p99 <= median <= best, row)
        check(row.get("goal", 1) > 0, row)
    return {row["name"]: row for row in said["rows"]}


def test_usage():
    code, out, err = run("muster-bench", "--help")
    equal((code, err), (0, ""), "--help")
    for name in NAMES + ["all"]:
        check(re.search(rf"^  {name} ", out, re.M), f"--help does not name {name}")
    equal(run("muster-bench", "--version")[1].split()[0], "muster-bench", "--version")
    for wrong in ([], ["nothing"], ["decide", "--pods", "none"], ["decide", "-o", "xml"], ["decide", "--runs"],
                  ["decide", "ring"], ["trace"], ["trace", "log", "--score", "best"], ["trace", "log", "--promise-depth", "-1"]):
        code, out, err = run("muster-bench", *wrong)
        equal((code, out), (2, ""), wrong)
        check(err, wrong)


def test_ring():
    rows = bench("ring", "--quick")
    check({"ring-oneway", "ring-wake", "ring-batch-1", "ring-batch-32"} <= set(rows), sorted(rows))


def test_decide():
    rows = bench("decide", "--nodes", "5000")
    wanted = {"gang-1000/5000", "gang-10000/5000", "single-known/5000", "single-new/5000", "refuse-known/5000",
              "refuse-new/5000", "node-event/16", "gang-1000-anti/5000", "gang-1000-spread/5000",
              "gang-1000-service/5000", "gang-1000-prefer-host/5000", "gang-1000-prefer-zone/5000",
              "gang-1000-prefer-node/5000", "node-join/5000", "node-join/65000", "node-join-single/65000"}
    check(wanted <= set(rows), sorted(rows))
    without = {"single-known/5000", "refuse-known/5000"}
    equal({name for name, row in rows.items() if "goal" not in row}, without, "rows whose instructions are counted instead")


def test_devices():
    rows = bench("devices")
    wanted = {"dra-gang-refuse/5000": 100, "dra-pair/5000": 40000, "dra-question-new": 20, "dra-claim-event": 2}
    equal({name: row["goal"] for name, row in rows.items() if "goal" in row}, wanted, "goals")


def test_inside():
    check("pipeline-single" in bench("pipeline", "--quick"), "no row")
    check({"sustained-gangs", "sustained-singles"} <= set(bench("sustained", "--quick")), "no row")
    check({"bytes-per-node", "bytes-per-pod", "bytes-per-device", "frontend-bytes-per-device", "frontend-bytes-per-claim"} <= set(bench("memory", "--quick")), "no row")


def test_whole_way():
    """Through apisim; and several runs become one table."""
    with tempfile.TemporaryDirectory() as folder:
        hgrm = os.path.join(folder, "rate.hgrm")
        rows = bench("e2e", "--nodes", "50", "--pods", "100", "--gang", "30", "--runs", "2", "--rate", "400", "--hgrm", hgrm)
        with open(hgrm, encoding="utf-8") as f:
            lines = [line.split() for line in f if re.match(r" +[0-9.]+ +[01][.]", line)]
    equal(sorted(rows), ["apiserver-binds", "e2e-gang-30", "e2e-live", "e2e-live-events", "e2e-preloaded", "e2e-preloaded-events",
                         "e2e-rate-400", "e2e-rate-400-events", "e2e-rate-400-events-after", "e2e-rate-400-p99.9",
                         "e2e-rate-400-p99.99"], "rows")
    for what in ("e2e-preloaded", "e2e-live"):
        check(rows[f"{what}-events"]["best"] <= rows[what]["best"], f"{what}: the last Event comes after the last binding")
    # Of the last run: percentiles and counts grow up to all pods.
    for column in (0, 1, 2):
        numbers = [float(line[column]) for line in lines]
        equal(numbers, sorted(numbers), f"column {column}")
    equal((float(lines[-1][1]), int(lines[-1][2])), (1.0, 100), "the last line")


def test_binds_at_a_slow_server():
    rows = bench("binds", "--nodes", "50", "--pods", "400")
    equal(list(rows), [f"binds-{ms}ms{window}" for ms in (10, 30) for window in ("", "-12")], "rows")
    print(", ".join(f"{name} {row['median']:.0f}/s" for name, row in rows.items()))


def test_questions_of_another_scheduler():
    rows = bench("extender", "--nodes", "60", "--quick")
    equal(sorted(rows), ["filter-open-p99/60", "filter-open/60", "filter-p99/60", "filter/60", "prioritize-p99/60", "prioritize/60"], "rows")
    equal(rows["filter-p99/60"]["goal"], 2000, "the goal of the tail")


def test_a_server_without_room_ends_it():
    with Cluster(objects.node("full", cpu="2", memory="4Gi")) as c:
        code, out, err = run("muster-bench", "e2e", "--kubeconfig", c.kubeconfig, "--pods", "5", "--gang", "2", timeout_s=100)
        equal((code, out), (1, ""), err)
        check("2 of 5 pods are bound" in err and "Insufficient cpu" in err, err)
        # What it made is gone.
        equal(c.pods(), [])


def test_a_log_whose_users_have_queues():
    with tempfile.TemporaryDirectory() as folder:
        log, queues = os.path.join(folder, "log.csv"), os.path.join(folder, "queues.yaml")
        with open(log, "w", encoding="utf-8") as f:
            f.write("user,num_gpu,submit_time,duration\na,8,0,10\n" + "a,8,0,1\n" * 2 + "b,8,0,1\n" * 2)
        with open(queues, "w", encoding="utf-8") as f:
            f.write("- name: a\n  limit: {nvidia.com/gpu: 8}\n- name: b\n")
        rows = {}
        for whose in ("users", queues):
            code, out, err = run("muster-bench", "trace", log, "--nodes", "2", "--promise-depth", "0", "--queues", whose, "--busy", "a",
                                 "--busy-times", "2", "-o", "json")
            equal(code, 0, err)
            rows[whose] = {row["name"]: row["median"] for row in json.loads(out)["rows"]}
        code, out, err = run("muster-bench", "trace", log, "--nodes", "2", "--busy", "c")
        equal((code, out), (2, ""), err)
        check("no job of that user" in err, err)
    # a begins on both nodes when it is twice as busy, for ten minutes; with a limit b has one from the start.
    equal((rows["users"]["others-mean-wait-before"], rows[queues]["others-mean-wait-before"]), (30, 30), rows)
    equal((rows["users"]["others-mean-wait"], rows[queues]["others-mean-wait"]), (30, 30), rows)
    equal((rows["users"]["wait-p99/b"], rows["users"]["others-wait-grows"]), (60, 0), rows)
    check(0 < rows[queues]["jain"] <= 1 and rows[queues]["wait-p99/a"] > rows["users"]["wait-p99/a"], rows)


def test_report():
    """One page that loads nothing, with every figure."""
    figures = {"decide": {"bench": "decide", "cpu": "one & only", "load1": 0.5, "stall_us_p999": 12.0, "rows": [
        {"name": "gang-1000/1000", "unit": "us", "best": 50.0, "median": 60.0, "p99": 90.0, "goal": 70},
        {"name": "gang-1000/5000", "unit": "us", "best": 80.0, "median": 99.5, "p99": 120.0, "goal": 90}],
        "commit": "c0ffee", "date": "2026-01-01", "kernel": "6.1", "compiler": "12.2.0"}}
    with tempfile.TemporaryDirectory() as root:
        os.makedirs(f"{root}/bench")
        os.makedirs(f"{root}/docs/bench")
        for name in ("report.py", "prose.py"):
            shutil.copy(muster.ROOT / "bench" / name, f"{root}/bench")
        for name in ("README.md", "docs/comparison.md", "docs/operations.md", "docs/performance.md"):
            with open(f"{root}/{name}", "w") as file:
                file.write("a gang in 0.50<!--= [decide gang-1000/5000] / 1000 --> ms, 9<!--= [reached] --> of 9<!--= [goals] -->\n")
        with open(f"{root}/docs/bench/figures.json", "w") as file:
            json.dump(figures, file)
        subprocess.run([sys.executable, f"{root}/bench/report.py", "--render"], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, timeout=180)
        text = open(f"{root}/docs/bench/README.md").read()
        page = open(f"{root}/docs/bench/index.html").read()
        prose = open(f"{root}/docs/performance.md").read()
    # Pages that repeat a number are updated.
    equal(re.sub(r"<!--.*?-->", "", prose), "a gang in 0.10 ms, 1 of 2\n")
    for said in ("1 of 2 goals", "gang-1000/5000", "99.5", "missed", "reached", "c0ffee", "stall floor"):
        check(said in text, f"{said} is not in the text")
        check(said in page, f"{said} is not on the page")
    check("one &amp; only" in page, "not escaped")
    equal(page.count("<svg"), page.count("</svg>"), "plots")
    check(page.count("<svg") == 2, "a plot of the rows and one over the nodes")
    equal(re.findall(r"(?:src|href)=|url\(|@import|<script|https?:", page), [], "what it loads")


if __name__ == "__main__":
    main(globals())
