# SPDX-License-Identifier: Apache-2.0
"""muster-hour: a small cluster for a minute of virtual time.  It judges itself: a node that is overfilled or a gang that is
torn is exit code 1.  Its times are not checked: machines differ."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib.cluster import run  # noqa: E402
from lib.harness import check, equal, main  # noqa: E402


def hour(**settings):
    """The medians of its rows."""
    flags = [text for name, value in settings.items() for text in (f"--{name}", str(value))]
    code, out, err = run("muster-hour", *flags, "-o", "json", timeout_s=300)
    equal(code, 0, err)
    return {row["name"]: row["median"] for row in json.loads(out)["rows"]}


def test_usage():
    code, out, err = run("muster-hour", "--help")
    equal((code, err), (0, ""), "--help")
    check("--churn" in out, out)
    for wrong in (["--nodes", "0"], ["--nodes"], ["--rate", "many"], ["-o", "xml"], ["now"]):
        code, out, err = run("muster-hour", *wrong)
        equal((code, out), (2, ""), wrong)
        check(err, wrong)


def test_a_minute():
    rows = hour(nodes=5000, rate=200, seconds=60, life=20, gang=128, churn=120)
    check(rows["pods-bound"] > 11000 and rows["gangs"] > 50 and rows["gangs-lost"] > 0, rows)
    check(rows["node-joins"] > 60 and rows["node-leaves"] > 60 and rows["pods-lost"] > 0, rows)
    equal([rows[name] for name in ("pods-waiting", "violations")], [0, 0], rows)
    check(0 < rows["turn"] <= rows["turn-p99.9"] <= rows["turn-max"], rows)
    check(rows["turn-max"] >= max(rows[f"turn-max-{part}"] for part in ("results", "events", "plans")), rows)
    check(0 < rows["wait-lone"] < rows["wait-lone-max"] < 5000 and 0 < rows["wait-gang"] < 5000, rows)


def test_a_run_is_a_function_of_its_settings():
    a, b = (hour(nodes=500, rate=50, seconds=20, life=5, gang=32, churn=200) for _ in range(2))
    same = {name for name in a if a[name] == b[name]}
    wanted = {name for name in a if name.startswith(("pods", "gangs", "node", "bound", "bindings", "wait"))}
    equal(wanted - same, set(), "rows that differ")


if __name__ == "__main__":
    main(globals())
