"""What scenarios gave, kept between runs, and the table made of it."""
import json
import pathlib
import re
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
KEPT = ROOT / "build" / "scenarios"
TABLE = ROOT / "docs" / "scenarios.md"
SERVERS = ("apisim", "real")

HEAD = """# The 90 scenarios

What muster must do in the place of the systems that it replaces: COS, the coscheduling plugin; CM, groups in
ConfigMaps; BATCH, group names and numbers in annotations; WP, WorkloadPolicy. Each is a function of that number in
`tests/scenarios/`, written once and run against muster-apisim (`make test`) and against kube-apiserver 1.36.3
(`make test-real`). Where it says that nothing happens for a minute, a few seconds are watched. After each, the node
sums, groups, reasons and the order of objects are checked by an independent reading of the API.

`tests/scenarios/run.py --table` makes this page of the last results; the commit is the one that was run.

"""


def read(server):
    """{name: {verdict, seconds, commit}}"""
    path = KEPT / f"{server}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def seconds(server):
    return {name: one["seconds"] for name, one in read(server).items()}


def commit():
    """What runs, with a + when something of it is not committed."""
    def git(*arguments):
        done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False)
        return done.stdout.strip()

    parts = ("core", "frontend", "ipc", "ctl", "tests/scenarios", "tests/lib", "tests/apisim")
    changed = git("status", "--porcelain", "-uno", "--", *parts)
    return (git("rev-parse", "--short", "HEAD") or "no commit") + ("+" if changed else "")


def keep(server, ends):
    """ends: {name: (verdict, seconds, what it said)}"""
    kept, now = read(server), commit()
    for name, (verdict, took, _) in ends.items():
        kept[name] = {"verdict": verdict, "seconds": round(took, 1), "commit": now, "day": time.strftime("%Y-%m-%d")}
    KEPT.mkdir(parents=True, exist_ok=True)
    (KEPT / f"{server}.json").write_text(json.dumps(kept, indent=1), encoding="utf-8")


def of_number(kept, names):
    """Of a number with its variants: failed when one did, passed when all did."""
    got = [kept.get(name, {"verdict": "not run"}) for name in names]
    for verdict in ("failed", "not run", "passed"):
        found = [one for one in got if one["verdict"] == verdict]
        if found:
            return verdict + (f' ({found[0]["commit"]})' if "commit" in found[0] else "")
    return "not run"


def write_table():
    from . import runner
    every = runner.scenarios()
    rows = ["| number | what | apisim | real |", "| --- | --- | --- | --- |"]
    kept = {server: read(server) for server in SERVERS}
    for number in runner.NUMBERS:
        names = [name for name in every if runner.number_of(name) == number]
        said = "; ".join(first_line(every[name]) for name in names)
        rows.append(" | ".join([f"| {number}", said, *(of_number(kept[s], names) for s in SERVERS)]) + " |")
    TABLE.write_text(HEAD + "\n".join(rows) + "\n", encoding="utf-8")
    print(f"{TABLE.relative_to(ROOT)}: {len(rows) - 2} numbers")


def first_line(function):
    return re.sub(r"\s+", " ", (function.__doc__ or "").strip().split("\n\n")[0]).replace("|", "\\|")
