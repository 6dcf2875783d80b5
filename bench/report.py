#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs muster-bench and writes docs/bench: figures.json as it was measured, README.md as
text, index.html with plots, one file that loads nothing.

    bench/report.py [--quick] [--runs N] [NAME...]   measure those (all but the real ones
                                                     by default), keep other figures
    bench/report.py --render                         write the pages anew, measure nothing

NAME is one of muster-bench's, or `e2e-real`, `compare-real` and `compare-devices`, which start a real
kube-apiserver (a few minutes more the first time), or `scale` (bench/scale.py: minutes, and
5 GB of memory), or `profile`, which counts with valgrind where the instructions of the hot
paths go."""

import argparse
import collections
import datetime
import html
import json
import math
import os
import pathlib
import platform
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
OUT = ROOT / "docs" / "bench"
BIN = ROOT / os.environ.get("MUSTER_BUILD", "build") / "bin"  # absolute, too
USUAL = ["ring", "decide", "devices", "pipeline", "sustained", "memory", "openb", "e2e", "binds", "extender", "profile"]
ORDER = ["decide", "devices", "ring", "pipeline", "sustained", "memory", "e2e", "binds", "extender", "scale", "e2e-real",
         "compare-real", "compare-devices", "openb"]
WHAT = {
    "decide": "Gangs and pods planned, reserved and told by the core; every node is considered for every member. "
              "Nodes of eight types, half full, with taints, selectors and GPUs.",
    "devices": "Claims of devices on 5,000 nodes with 8 GPUs each: in the core a gang that finds a device too "
               "few, one whose members want two GPUs and a NIC on one PCIe root, a claim of another scheduler's; in the "
               "frontend a selector that was never seen, on 40,000 devices.",
    "ring": "Records of 64 bytes from one CPU to another.",
    "pipeline": "From the event of a pending pod on one ring to its binding on the other, through the core's loop.",
    "sustained": "Pods per second through the core on 5,000 nodes: pending, planned, bound, gone. The rows -planning "
                 "count the time of plans and reservations alone.",
    "memory": "Resident bytes of the core, its shared ledger included; frontend: of its devices and claims alone.",
    "e2e": "Pods through muster-apisim, the embedded API server, beside the bindings it takes from a client alone.",
    "binds": "Bindings a second at muster-apisim when each request takes 10 or 30 ms, with a window of 12 requests and "
             "with the one that finds its size.",
    "scale": "Both daemons on muster-apisim with ten running pods for each node, from the lists to a gang, nodes that "
             "join and a frontend that is killed.",
    "extender": "What kube-scheduler waits for before it binds a pod of its own: /filter and /prioritize of "
                "muster-frontend over HTTP, with the names of all nodes (nodeCacheCapable), one question after the other.",
    "e2e-real": "The same through etcd and kube-apiserver 1.36.3.",
    "compare-real": "muster and kube-scheduler 1.36.3, as it comes and with every node scored, on one kube-apiserver "
                    "in one run. Gangs: scheduler-plugins' PodGroup for muster, the native one for kube-scheduler.",
    "compare-devices": "A gang whose members have a claim for one device each, made beforehand, through muster and kube-scheduler "
                       "1.36.3 as it comes, on one kube-apiserver in one run, with 8 devices on each node. apiserver-writes: "
                       "the finalizers, allocations and Bindings alone, from a client that does nothing else.",
    "openb": "Share of GPUs allocated when the Alibaba openb trace is offered at 130 % of capacity (FGD, USENIX "
             "ATC'23); the goal is the published figure of the same policy, of muster's own that of FGD.",
}
REPEATS = {"e2e": 3, "binds": 1, "extender": 3, "e2e-real": 3, "compare-real": 1, "compare-devices": 2, "memory": 1, "openb": 1}


# --- measuring -----------------------------------------------------------------

def said(*command):
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def surroundings():
    commit = said("git", "rev-parse", "--short=12", "HEAD") or "unknown"
    if said("git", "status", "--porcelain", "--", "core", "ipc", "frontend", "bench"):
        commit += " with changes"
    return {"commit": commit, "date": datetime.datetime.now().astimezone().isoformat(timespec="minutes"),
            "kernel": platform.release(), "compiler": said("gcc", "-dumpfullversion")}


def run(command):
    print("+", *command, file=sys.stderr, flush=True)
    done = subprocess.run([*command, "-o", "json"], stdout=subprocess.PIPE, text=True, check=False, cwd=ROOT)
    if done.returncode != 0:
        print(f"report.py: {' '.join(command)} failed; its old figures stay", file=sys.stderr)
        return None
    return json.loads(done.stdout)


def run_bench(arguments):
    return run([str(BIN / "muster-bench"), *arguments])


def on_real_server(arguments):
    """With a control plane that dies with us, whatever happens."""
    sys.path.insert(0, str(ROOT / "tests"))
    from real.cluster import Cluster  # noqa: PLC0415 (the report alone needs no tests)

    with tempfile.TemporaryDirectory(prefix="muster-bench-") as folder, Cluster(folder + "/cluster") as cluster:
        return run_bench([*arguments, "--kubeconfig", cluster.admin_kubeconfig])


def measure(name, options):
    runs = str(min(options.runs, REPEATS.get(name, options.runs)))
    quick = ["--quick"] if options.quick else []
    if name == "scale":
        return run(["bench/scale.py", *(["--nodes", "15000"] if options.quick else [])])
    if name == "e2e-real":
        size = ["--nodes", "1000", "--pods", "500"] if options.quick else ["--nodes", "5000", "--pods", "3000"]
        return on_real_server(["e2e", "--runs", runs, *size])
    if name == "compare-real":
        size = [] if options.quick else ["--nodes", "5000", "--pods", "3000", "--gang", "1000"]
        return run_bench(["compare", "--runs", runs, *size])
    if name == "compare-devices":
        return run_bench([name, "--runs", runs, *(["--nodes", "500", "--gang", "200"] if options.quick else [])])
    return run_bench([name, "--runs", runs, *quick])


# --- where the instructions go ---------------------------------------------------

def profile():
    """{piece of work: [total, [(share, function)]]} of muster-count's fixed work."""
    program = str(BIN / "muster-count")
    names = re.findall(r" t (counted_\w+)$", said("nm", program), re.M)
    out = collections.OrderedDict()
    with tempfile.TemporaryDirectory() as folder:
        command = ["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={folder}/part",
                   "--dump-after=count_anew", *[f"--dump-after={n}" for n in names], program,
                   str(ROOT / "bench" / "data" / "pod.json")]
        try:
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"report.py: no profile: {error}", file=sys.stderr)
            return None
        for part in sorted(pathlib.Path(folder).glob("part.*")):
            trigger = re.search(r"^desc: Trigger: --dump-after=counted_(\w+)$", part.read_text(), re.M)
            if trigger:
                out[trigger.group(1)] = annotated(part)
    return out


def annotated(part):
    """[total, [(percent, function)]] of own instructions; callgrind_annotate can't read
    a part that begins in the middle of a call."""
    names, own, total, function, of_call = {}, collections.Counter(), 0, "", False
    for line in part.read_text(encoding="utf-8", errors="replace").splitlines():
        if found := re.match(r"(c?)fn=\((\d+)\)(?: (.*))?$", line):
            if found.group(3):
                names[found.group(2)] = re.sub(r"\.(isra|part|constprop|cold)\.?\d*", "", found.group(3))
            if not found.group(1):
                function = names.get(found.group(2), found.group(2))
        elif line.startswith("calls="):
            of_call = True  # the next line is what the called one took
        elif line.startswith("totals: "):
            total = int(line.split()[1])
        elif found := re.match(r"[+\-*\d]\S* (\d+)$", line):
            if not of_call:
                own[function] += int(found.group(1))
            of_call = False
    return [total, [(round(100 * n / max(total, 1), 1), name) for name, n in own.most_common(8)]]


# --- numbers as text ---------------------------------------------------------------

def number(value, unit=""):
    if unit == "per_s" and value >= 1e6:
        return f"{value / 1e6:.2f} M"
    if unit == "bytes" and value >= 1e6:
        return f"{value / 1e6:.1f} M"
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if value < 10 else f"{value:.1f}"


def unit_text(unit):
    return {"per_s": "/s", "bytes": "B", "percent": "%"}.get(unit, unit)


def higher_is_better(row):
    return row["unit"] in ("per_s", "percent")


def reached(row):
    """True, False, or None without a goal."""
    if "goal" not in row:
        return None
    return row["median"] >= row["goal"] if higher_is_better(row) else row["median"] <= row["goal"]


def verdict(row):
    return {True: "reached", False: "missed", None: ""}[reached(row)]


def caption(b):
    return (f"{b['cpu']}, {b.get('cpus', '?')} CPUs, load {b['load1']:.2f}, stall floor p99.9 {b['stall_us_p999']:.1f} us, "
            f"runs {b.get('runs', 1)}, commit {b['commit']}, {b['date']}, Linux {b['kernel']}, gcc {b['compiler']}")


# --- text -------------------------------------------------------------------------------

def table_text(b):
    lines = ["| row | unit | best | median | p99 | goal | |", "| --- | --- | ---: | ---: | ---: | ---: | --- |"]
    for r in b["rows"]:
        goal = number(r["goal"], r["unit"]) if "goal" in r else ""
        lines.append(f"| {r['name']} | {unit_text(r['unit'])} | {number(r['best'], r['unit'])} | "
                     f"{number(r['median'], r['unit'])} | {number(r['p99'], r['unit'])} | {goal} | {verdict(r)} |")
    return lines


def notes():
    """docs/bench/notes.md is written by hand: paragraphs and lists."""
    path = OUT / "notes.md"
    return path.read_text(encoding="utf-8").strip() if path.exists() else ""


def write_text(figures):
    rows = [r for name in ORDER if name in figures for r in figures[name]["rows"] if "goal" in r]
    lines = ["# Benches", "", "Written by `make bench` from figures.json; index.html has the same with plots.", "",
             f"{sum(reached(r) for r in rows)} of {len(rows)} goals reached by their medians. Best is of all runs; "
             "median and p99 are medians over the runs. Nothing below the stall floor can be told from the machine's own "
             "pauses. A goal is compared with the median.", ""]
    for name in [n for n in ORDER if n in figures]:
        lines += [f"## {name}", "", WHAT[name], "", *table_text(figures[name]), "", caption(figures[name]) + ".", ""]
    if "profile" in figures:
        lines += ["## Where the instructions go", "",
                  "Of the fixed work of bench/main_count.c on 5,000 nodes, counted by valgrind: own instructions of each "
                  "function.", "", "| work | instructions | most of them in |", "| --- | ---: | --- |"]
        for work, (total, shares) in figures["profile"]["work"].items():
            most = ", ".join(f"{name} {share} %" for share, name in shares if share >= 2)
            lines.append(f"| {work} | {total:,} | {most} |")
        lines += ["", f"Commit {figures['profile']['commit']}.", ""]
    if notes():
        lines += ["## What stands behind it", "", notes(), ""]
    (OUT / "README.md").write_text("\n".join(lines), encoding="utf-8")


# --- plots ----------------------------------------------------------------------------------

class Plot:
    """An SVG with a logarithmic x axis; y is counted in pixels."""

    def __init__(self, width, height, low, high, left, right=110, bottom=34):
        self.width, self.height, self.left, self.right, self.bottom = width, height, left, right, bottom
        self.low, self.high = math.log10(low), math.log10(high)
        self.parts = []

    def x(self, value):
        share = (math.log10(value) - self.low) / ((self.high - self.low) or 1)
        return self.left + share * (self.width - self.left - self.right)

    def text(self, x, y, content, kind="", anchor="start"):
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">{html.escape(content)}</text>')

    def line(self, x1, y1, x2, y2, kind):
        self.parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>')

    def dot(self, x, y, kind, r=5):
        self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r}" class="{kind}"/>')

    def svg(self, label):
        return (f'<svg viewBox="0 0 {self.width} {self.height}" role="img" aria-label="{html.escape(label)}">'
                + "".join(self.parts) + "</svg>")


def tick(value):
    return f"{value / 1e6:,.0f} M" if value >= 1e6 else f"{value:,.0f}" if value >= 1 else f"{value:g}"


def decades(low, high):
    return [10.0 ** e for e in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]


def ranges_plot(rows, unit):
    """One line for each row: best to p99, a dot at the median, a mark at the goal."""
    values = [v for r in rows for v in (r["best"], r["median"], r["p99"], r.get("goal", r["median"])) if v > 0]
    ticks = decades(min(values), max(values))
    if len(ticks) == 1:
        ticks.append(ticks[0] * 10)
    plot = Plot(760, 26 * len(rows) + 52, ticks[0], ticks[-1], 210)
    base = 26 * len(rows) + 10
    for t in ticks:
        plot.line(plot.x(t), 6, plot.x(t), base, "grid")
        plot.text(plot.x(t), base + 18, tick(t), "tick", "middle")
    plot.text(plot.width - 8, base + 18, unit_text(unit), "tick", "end")
    for i, r in enumerate(rows):
        y = 26 * i + 20
        kind = verdict(r) or "plain"
        plot.text(plot.left - 12, y + 4, r["name"], "name", "end")
        ends = [v for v in (r["best"], r["p99"]) if v > 0]
        if len(ends) == 2:
            plot.line(plot.x(ends[0]), y, plot.x(ends[1]), y, f"range {kind}")
        plot.dot(plot.x(r["median"]), y, f"dot {kind}")
        if "goal" in r:
            plot.line(plot.x(r["goal"]), y - 9, plot.x(r["goal"]), y + 9, "goal")
        plot.text(plot.width - plot.right + 16, y + 4, number(r["median"], unit), f"value {kind}")
    return plot.svg(f"{len(rows)} rows in {unit_text(unit)}: best to p99, dot at the median, mark at the goal")


UNIT_US = {"ns": 0.001, "us": 1.0, "ms": 1000.0, "s": 1e6}


def scaling_plot(rows):
    """Medians of decide over the number of nodes."""
    series = collections.OrderedDict((n, []) for n in ("gang-1000", "single-new", "single-known"))
    for r in rows:
        name, _, nodes = r["name"].partition("/")
        if name in series:
            us = UNIT_US[r["unit"]]
            series[name].append((int(nodes), r["median"] * us, r["goal"] * us if "goal" in r else None))
    points = [p for s in series.values() for p in s]
    if len({p[0] for p in points}) < 2:
        return ""
    xs = decades(min(p[0] for p in points), max(p[0] for p in points))
    ys = decades(min(v for p in points for v in p[1:] if v), max(v for p in points for v in p[1:] if v))
    plot, height = Plot(760, 380, xs[0], xs[-1], 90, 130), 330

    def y(value):
        return height - 10 - (math.log10(value) - math.log10(ys[0])) / math.log10(ys[-1] / ys[0]) * (height - 30)

    for t in xs:
        plot.line(plot.x(t), 20, plot.x(t), height - 10, "grid")
        plot.text(plot.x(t), height + 10, f"{t:,.0f}", "tick", "middle")
    for t in ys:
        plot.line(plot.left, y(t), plot.width - plot.right, y(t), "grid")
        plot.text(plot.left - 10, y(t) + 4, tick(t) + " us", "tick", "end")
    plot.text((plot.left + plot.width - plot.right) / 2, height + 34, "nodes", "tick", "middle")
    for i, (name, found) in enumerate(series.items()):
        if not found:
            continue
        found.sort()
        for (a, va, ga), (b, vb, gb) in zip(found, found[1:]):
            plot.line(plot.x(a), y(va), plot.x(b), y(vb), f"series s{i}")
            if ga and gb:
                plot.line(plot.x(a), y(ga), plot.x(b), y(gb), f"series dashed s{i}")
        for n, value, _ in found:
            plot.dot(plot.x(n), y(value), f"s{i} fill", 4.5)
        plot.text(plot.x(found[-1][0]) + 12, y(found[-1][1]) + 4, name, f"name t{i}")
    return plot.svg("medians over the number of nodes, goals dashed")


STYLE = """
:root { --ink: #1c2530; --soft: #5d6b7a; --paper: #fbfbf9; --line: #dfe3e6; --good: #19706b; --bad: #b4541a;
        --s0: #19706b; --s1: #7a4f9e; --s2: #2f6fb3; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ea; --soft: #98a5b0; --paper: #14191e; --line: #2b343c;
        --good: #4fb9ae; --bad: #ef955b; --s0: #4fb9ae; --s1: #bd97dd; --s2: #79b2ec; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 820px;
       margin: 3rem auto; padding: 0 1.2rem; }
h1 { font-size: 1.9rem; margin-bottom: .2rem; } h2 { margin-top: 3rem; border-top: 1px solid var(--line); padding-top: 1.2rem; }
p.caption { color: var(--soft); font-size: .82rem; } .scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .88rem; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .25rem .6rem; border-bottom: 1px solid var(--line); } th { font-weight: 600; color: var(--soft); }
th:first-child, td:first-child, td.left, th.left { text-align: left; } td.reached { color: var(--good); } td.missed { color: var(--bad); font-weight: 600; }
svg { width: 100%; height: auto; margin: .6rem 0; } svg text { font: 13px system-ui, sans-serif; fill: var(--ink); }
svg .tick { fill: var(--soft); font-size: 11.5px; } svg .grid { stroke: var(--line); }
svg .range { stroke-width: 5; stroke-linecap: round; opacity: .35; } svg .goal { stroke: var(--ink); stroke-width: 2; }
svg line.reached { stroke: var(--good); } svg line.missed { stroke: var(--bad); } svg line.plain { stroke: var(--soft); }
svg circle.reached { fill: var(--good); } svg circle.missed { fill: var(--bad); } svg circle.plain { fill: var(--soft); }
svg text.missed { fill: var(--bad); } svg .series { stroke-width: 2.2; } svg .dashed { stroke-dasharray: 5 5; opacity: .6; }
svg .s0 { stroke: var(--s0); } svg .s1 { stroke: var(--s1); } svg .s2 { stroke: var(--s2); }
svg .s0.fill { fill: var(--s0); } svg .s1.fill { fill: var(--s1); } svg .s2.fill { fill: var(--s2); }
svg text.t0 { fill: var(--s0); } svg text.t1 { fill: var(--s1); } svg text.t2 { fill: var(--s2); }
"""


def table_html(b):
    out = ['<div class="scroll"><table><tr><th>row</th><th>unit</th><th>best</th><th>median</th><th>p99</th><th>goal</th><th></th></tr>']
    for r in b["rows"]:
        cells = [r["name"], unit_text(r["unit"]), *(number(r[k], r["unit"]) for k in ("best", "median", "p99")),
                 number(r["goal"], r["unit"]) if "goal" in r else ""]
        out.append("<tr>" + "".join(f"<td>{html.escape(c)}</td>" for c in cells)
                   + f'<td class="{verdict(r)}">{verdict(r)}</td></tr>')
    return "".join(out) + "</table></div>"


def section_html(name, b):
    out = [f"<h2 id={name}>{name}</h2><p>{html.escape(WHAT[name])}</p>"]
    if name == "decide":
        out.append(scaling_plot(b["rows"]))
    for unit in dict.fromkeys(r["unit"] for r in b["rows"]):
        rows = [r for r in b["rows"] if r["unit"] == unit and r["median"] > 0]
        if rows:
            out.append(ranges_plot(rows, unit))
    out += [table_html(b), f'<p class="caption">{html.escape(caption(b))}</p>']
    return "".join(out)


def profile_html(p):
    out = ["<h2 id=profile>Where the instructions go</h2><p>Of fixed work on 5,000 nodes, counted by valgrind: own "
           "instructions of each function.</p><div class=scroll><table><tr><th>work</th><th>instructions</th>"
           "<th class=left>most of them in</th></tr>"]
    for work, (total, shares) in p["work"].items():
        most = ", ".join(f"{name} {share} %" for share, name in shares if share >= 2)
        out.append(f"<tr><td>{html.escape(work)}</td><td>{total:,}</td><td class=left>{html.escape(most)}</td></tr>")
    return "".join(out) + f'</table></div><p class="caption">commit {html.escape(p["commit"])}</p>'


def notes_html():
    out = ["<h2 id=notes>What stands behind it</h2>"]
    for block in re.split(r"\n\s*\n|\n(?=- )", notes()):
        text = re.sub(r"`([^`]*)`", r"<code>\1</code>", html.escape(" ".join(block.split())))
        text = re.sub(r"\*\*([^*]*)\*\*", r"<b>\1</b>", text)
        out.append(f"<p>{text.removeprefix('- ')}</p>")
    return "".join(out)


def write_html(figures):
    names = [n for n in ORDER if n in figures]
    rows = [r for n in names for r in figures[n]["rows"] if "goal" in r]
    body = [f"<h1>muster-bench</h1><p>{sum(reached(r) for r in rows)} of {len(rows)} goals reached by their medians. "
            "A line goes from the best to the 99th percentile, the dot is the median, the upright mark the goal. Nothing "
            "below the stall floor of a run can be told from the machine's own pauses.</p>"]
    body += [section_html(n, figures[n]) for n in names]
    if "profile" in figures:
        body.append(profile_html(figures["profile"]))
    if notes():
        body.append(notes_html())
    page = ('<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
            f"<title>muster-bench</title><style>{STYLE}</style>" + "\n".join(body) + "</html>\n")
    (OUT / "index.html").write_text(page, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description="Measure and write docs/bench.")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--render", action="store_true", help="only write the pages")
    options = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    path = OUT / "figures.json"
    figures = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    known = {*USUAL, *ORDER}
    if unknown := [n for n in options.names if n not in known]:
        parser.error(f"no bench named {unknown[0]}: {', '.join(sorted(known))}")
    for name in [] if options.render else options.names or USUAL:
        found = profile() if name == "profile" else measure(name, options)
        if found:
            figures[name] = {"work": found} if name == "profile" else found
            figures[name].update(surroundings())
            path.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    write_text(figures)
    write_html(figures)
    # Pages that repeat some of it.
    subprocess.run([ROOT / "bench" / "prose.py", "--renew"], check=False)
    print((OUT / "README.md").read_text(encoding="utf-8"))
    print(f"{OUT.relative_to(ROOT)}/index.html has the plots", file=sys.stderr)


if __name__ == "__main__":
    os.chdir(ROOT)
    main()
