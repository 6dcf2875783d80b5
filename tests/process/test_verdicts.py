# SPDX-License-Identifier: Apache-2.0
"""`musterctl verdict` and `simulate` against recorded results of kube-scheduler 1.36.3: for
each pod and node feasibility, reasons and score, the message of a pod that fits nowhere, and
complete runs of placements.  A subset of the results is in tests/data; the full set is used when
MUSTER_SHARED (default ../shared) has it.

    tests/process/test_verdicts.py [test...] [--category=NAME] [--show=N]"""
import gzip
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import load, muster  # noqa: E402
from lib.harness import Skip, check, figure, main, option  # noqa: E402

CUT = muster.ROOT / "tests" / "data"
WHOLE = pathlib.Path(os.environ.get("MUSTER_SHARED") or muster.ROOT.parent / "shared") / "data"


CATEGORY, SHOW = option("category", ""), option("show", 3)


class Ledger:
    """How much agrees, by category and aspect, and the first differences."""

    def __init__(self):
        self.counts = defaultdict(Counter)
        self.differences = defaultdict(list)

    def note(self, case, category, aspect, holds, *what):
        self.counts[category][aspect] += 1
        self.counts[category][aspect + " agree"] += holds
        if not holds:
            self.differences[category, aspect].append(f"{case}: {' '.join(str(w) for w in what)}")

    def close(self, aspects, least):
        for category, count in self.counts.items():
            figure(f"{category}: " + ", ".join(f"{a} {count[a + ' agree']}/{count[a]}" for a in aspects))
        for (category, aspect), lines in self.differences.items():
            for line in lines[:SHOW]:
                print(f"{category}, {aspect}: {line}")
        check(sum(c[aspects[0]] for c in self.counts.values()) >= least or CATEGORY, "hardly anything was compared")
        check(not self.differences, f"{sum(map(len, self.differences.values()))} differences")


def cases(folder):
    """(name, path of the objects, the results)"""
    for path in sorted(folder.glob("*.expect.json")):
        answer = json.loads(path.read_text())
        if CATEGORY in ("", answer["category"]):
            yield path.name[:4], path.with_name(path.name[:4] + ".json.gz"), answer


def musterctl(*words):
    """(exit code, JSON) of a run that has to succeed and to pass nothing over."""
    done = subprocess.run([muster.program("musterctl"), *map(str, words), "-o", "json"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=120)
    check(done.returncode in (0, 1) and done.stderr == "", f"exit {done.returncode}: {done.stderr}")
    return done.returncode, json.loads(done.stdout)


# ---- verdicts -----------------------------------------------------------------------

def compare_pod(ledger, case, category, want, got):
    nodes = [n["node"] for n in want["nodes"]]
    ledger.note(case, category, "nodes", [n["node"] for n in got["nodes"]] == nodes, "other nodes, or another order")
    ledger.note(case, category, "message", got["message"] == want["message"], repr(got["message"]), "instead of",
                repr(want["message"]))
    for w, g in zip(want["nodes"], got["nodes"]):
        here = f"{case} on {w['node']}"
        ledger.note(here, category, "feasible", g["feasible"] == w["feasible"], g, "instead of", w)
        if g["feasible"] and w["feasible"]:
            ledger.note(here, category, "score", g["score"] == w["score"], g["score"], "instead of", w["score"],
                        w["scores"])
            check("reasons" not in g, here, g)
        elif not g["feasible"] and not w["feasible"]:
            ledger.note(here, category, "reasons", sorted(g["reasons"]) == sorted(w["reasons"]), g["reasons"],
                        "instead of", w["plugin"], w["reasons"])
            check("score" not in g, here, g)


def compare_verdicts(folder, least):
    ledger = Ledger()
    for name, path, answer in cases(folder):
        pods = [p["pod"] for p in answer["pods"]]
        code, got = musterctl("verdict", "-f", path, *[w for p in pods for w in ("--pod", p)])
        check([g["pod"] for g in got] == pods, name, "other pods, or another order")
        nowhere = any(g["message"] for g in got)
        check(code == nowhere, name, f"exit {code}, pods that fit nowhere: {nowhere}")
        for want, pod in zip(answer["pods"], got):
            compare_pod(ledger, f"{name} {want['pod']}", answer["category"], want, pod)
    ledger.close(("nodes", "feasible", "reasons", "score", "message"), least)


def test_verdicts():
    compare_verdicts(CUT / "verdicts", 80)


def test_verdicts_whole():
    if not list((WHOLE / "verdicts").glob("*.expect.json")):
        raise Skip(f"the whole set of verdicts: there is none in {WHOLE}")
    compare_verdicts(WHOLE / "verdicts", 1000)


def test_order_and_form_of_objects_do_not_matter():
    """The same List shuffled, and split into two files of which one is YAML: the same results."""
    dice = random.Random(load.seed())
    with tempfile.TemporaryDirectory() as folder:
        first, second = (os.path.join(folder, n) for n in ("first.json", "second"))
        for name, path, answer in cases(CUT / "verdicts"):
            asked = [w for p in answer["pods"] for w in ("--pod", p["pod"])]
            before = musterctl("verdict", "-f", path, *asked)
            items = json.load(gzip.open(path))["items"]
            dice.shuffle(items)
            half = dice.randrange(len(items))
            with open(first, "w") as f:
                json.dump({"apiVersion": "v1", "kind": "List", "items": items[:half]}, f)
            with open(second, "w") as f:
                f.write("# documents of YAML\n" + "\n---\n".join(json.dumps(i, indent=1) for i in items[half:]))
            check(musterctl("verdict", "-f", first, "-f", second, *asked) == before, name, "shuffled")


# ---- placements ------------------------------------------------------------------------

def compare_placements(folder, least):
    """A wrong placement changes those after it, so a cluster is compared up to the turn
    after the first difference."""
    ledger = Ledger()
    for name, path, answer in cases(folder):
        _, got = musterctl("simulate", "-f", path)
        placed = {p["pod"]: p for p in got["placements"]}
        wanted = sorted(answer["placements"], key=lambda p: p["turn"])
        check(sorted(placed) == sorted(p["pod"] for p in wanted), name, "other pods")
        ledger.note(name, answer["category"], "cluster", all(placed[w["pod"]]["node"] == w["node"] for w in wanted))
        for w in wanted:
            g = placed[w["pod"]]
            here = f"{name} turn {w['turn']}, {w['pod']}"
            ledger.note(here, answer["category"], "placement", g["node"] == w["node"], g, "instead of", w)
            if g["node"] != w["node"]:
                break
            if w["node"] is None:
                ledger.note(here, answer["category"], "reason", g.get("reason") == w["reason"], repr(g.get("reason")),
                            "instead of", repr(w["reason"]))
    ledger.close(("cluster", "placement", "reason"), least)


def test_placements():
    compare_placements(CUT / "placements", 6)


def test_placements_whole():
    if not list((WHOLE / "placements").glob("*.expect.json")):
        raise Skip(f"the whole set of placements: there is none in {WHOLE}")
    compare_placements(WHOLE / "placements", 30)


# ---- the form of a result -----------------------------------------------------------------

def test_form_of_a_verdict():
    """One pod is an object, several are an array, in the order of the options; the table
    has the same; a pod that can't be evaluated is bad input."""
    _, path, answer = next(cases(CUT / "verdicts"))
    first, second = (p["pod"] for p in answer["pods"][:2])
    _, one = musterctl("verdict", "-f", path, "--pod", first)
    check(list(one) == ["pod", "message", "nodes"] and one["pod"] == first, one)
    _, both = musterctl("verdict", path, "--pod", second, "--pod", first)
    check([p["pod"] for p in both] == [second, first] and both[1] == one, both)
    table = subprocess.run([muster.program("musterctl"), "verdict", "-f", path, "--pod", first], stdout=subprocess.PIPE,
                           text=True, timeout=180).stdout
    for n in one["nodes"]:
        row = next(line for line in table.splitlines() if line.startswith(n["node"] + " "))
        said = ["yes", str(n["score"])] if n["feasible"] else ["no", *", ".join(n["reasons"]).split()]
        check(row.split()[1:] == said, row, said)
    for score in ("pack", "bestfit"):
        _, other = musterctl("verdict", "-f", path, "--pod", first, "--score", score)
        check([n["feasible"] for n in other["nodes"]] == [n["feasible"] for n in one["nodes"]], score)


def refused(*flags, objects=None):
    done = subprocess.run([muster.program("musterctl"), "verdict", *map(str, flags)], capture_output=True, text=True,
                          timeout=180, input=json.dumps(objects) if objects else "")
    check(done.returncode == 2 and done.stdout == "" and len(done.stderr.splitlines()) == 1, done)
    return done.stderr


def test_what_is_no_question():
    name, path, answer = next(cases(CUT / "verdicts"))
    bound = next(i for i in json.load(gzip.open(path))["items"]
                 if i["kind"] == "Pod" and i["spec"].get("nodeName") and i.get("status", {}).get("phase") == "Running")
    bound_name = f'{bound["metadata"]["namespace"]}/{bound["metadata"]["name"]}'
    good = answer["pods"][0]["pod"]
    for flags, part in ((["-f", path], "--pod NS/NAME is missing"), (["--pod", good], "-f FILE is missing"),
                        (["-f", path, "--pod", "ns/nobody"], "--pod ns/nobody: no such pod"),
                        (["-f", path, "--pod", "nobody"], "--pod nobody: not of the form NS/NAME"),
                        (["-f", path, "--pod", "a/b/c"], "--pod a/b/c"), (["-f", path, "--pod", "/b"], "--pod /b"),
                        (["-f", path, "--pod", good, "--pod", bound_name],
                         f'--pod {bound_name}: it is bound to node {bound["spec"]["nodeName"]}'),
                        (["-f", path, "--pod", good, "--score", "best"], "--score best"),
                        (["-f", path, "--pod", good, "-o", "yaml"], "-o yaml")):
        check(part in refused(*flags), part, "is not in", refused(*flags))
    bound["status"]["phase"] = "Succeeded"
    said = refused("-f", "-", "--pod", bound_name, objects=bound)
    check(f"--pod {bound_name}: it has ended" in said and "standard input" in said, said)


def test_a_cluster_without_nodes():
    _, path, answer = next(cases(CUT / "verdicts"))
    objects = json.load(gzip.open(path))
    objects["items"] = [i for i in objects["items"] if i["kind"] != "Node"]
    with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
        json.dump(objects, f)
        f.flush()
        code, got = musterctl("verdict", "-f", f.name, "--pod", answer["pods"][0]["pod"])
    check((code, got["message"], got["nodes"]) == (1, "no nodes available to schedule pods", []), code, got)


if __name__ == "__main__":
    main(globals())
