# SPDX-License-Identifier: Apache-2.0
"""Results of scenarios, stored between runs, and the table made of them."""
import re

from lib import kept
from lib.kept import ROOT

KEPT = ROOT / "build" / "scenarios"
TABLE = ROOT / "docs" / "scenarios.md"
SERVERS = ("apisim", "real")

HEAD = """# The 90 scenarios

After this page you know which behaviour of the systems that muster replaces is tested: COS, the coscheduling
plugin; CM, groups in ConfigMaps; BATCH, group names and numbers in annotations; WP, WorkloadPolicy. Each is a function of that number in
`tests/scenarios/`, written once and run against muster-apisim (`make test`) and against kube-apiserver 1.36.3
(`make test-real`). Where nothing may happen for a minute, a few seconds are observed. After each, the node
sums, groups, reasons and the order of objects are checked by independent code from the API.

`tests/scenarios/run.py --table` generates this page from the last results; the commit is the tested one.

"""


def path_of(server):
    return KEPT / f"{server}.json"


def read(server):
    return kept.read(path_of(server))


def seconds(server):
    return kept.seconds(path_of(server))


def keep(server, ends):
    kept.keep(path_of(server), ends, ["tests/scenarios"])


def of_number(ends, names):
    """Of a number with its variants: failed when one did, passed when all did."""
    got = [ends.get(name, {"verdict": "not run"}) for name in names]
    for verdict in ("failed", "not run", "passed"):
        found = [one for one in got if one["verdict"] == verdict]
        if found:
            return verdict + (f' ({found[0]["commit"]})' if "commit" in found[0] else "")
    return "not run"


def write_table():
    from . import runner
    every = runner.scenarios()
    rows = ["| number | what | apisim | real |", "| --- | --- | --- | --- |"]
    ends = {server: read(server) for server in SERVERS}
    for number in runner.NUMBERS:
        names = [name for name in every if runner.number_of(name) == number]
        said = "; ".join(first_line(every[name]) for name in names)
        rows.append(" | ".join([f"| {number}", said, *(of_number(ends[s], names) for s in SERVERS)]) + " |")
    TABLE.write_text(HEAD + "\n".join(rows) + "\n", encoding="utf-8")
    print(f"{TABLE.relative_to(ROOT)}: {len(rows) - 2} numbers")


def first_line(function):
    return re.sub(r"\s+", " ", (function.__doc__ or "").strip().split("\n\n")[0]).replace("|", "\\|")
