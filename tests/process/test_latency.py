# SPDX-License-Identifier: Apache-2.0
"""musterctl latency: it shows the data of muster-frontend, and each output format can be parsed."""
import json
import os
import pathlib
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as xml

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import muster, objects  # noqa: E402
from lib.cluster import Cluster, run  # noqa: E402
from lib.harness import check, equal, main, until  # noqa: E402
from lib.objects import node, pod  # noqa: E402

STAGES = ["extract", "send", "wait", "plan", "ring", "queue", "bind", "watch", "ours", "total", "serve"]
UNITS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}


def ns_of(text):
    number, unit = re.fullmatch(r"([0-9.]+)(ns|us|ms|s)", text).groups()
    return float(number) * UNITS[unit]


def latency(c, *flags, locale="C.UTF-8"):
    return run("musterctl", "latency", "--listen", c.listen, *flags, env={"LC_ALL": locale})


def test_nothing_yet_then_a_gang():
    with Cluster(*(node(f"n{i}", cpu="8") for i in range(4))) as c:
        c.up()
        code, out, err = latency(c)
        equal(code, 1, err)
        check("Nothing was placed yet." in out, out)
        c.create(objects.pod_group("g", 12), *(pod(f"g-{i}", group="g", cpu="1") for i in range(12)))
        until(lambda: json.loads(c.fetch("/latency")[1])["stages"][7]["count"] == 12, 60, "all are seen")
        code, out, err = latency(c, "-o", "json")
        equal(code, 0, err)
        said = {s["stage"]: s for s in json.loads(out)["stages"]}
        code, out, err = latency(c)
        equal(code, 0, err)
        table, plot, pods = out.rstrip("\n").split("\n\n")
        rows = [line.split() for line in table.splitlines()]
        equal(rows[0], ["STAGE", "PODS", "P50", "P90", "P99", "P99.9", "P99.99", "MAX"], "heading")
        equal([row[0] for row in rows[1:]], STAGES, "stages")
        for row in rows[1:]:
            equal(int(row[1]), 12, row)
            for text, key in zip(row[2:8], ("p50", "p90", "p99", "p999", "p9999", "max")):
                wanted = said[row[0]][key]
                check(abs(ns_of(text) - wanted) <= 0.06 * wanted + 1, row, key, wanted)
        equal([line.split()[0] for line in plot.splitlines()], ["up"] + STAGES, "plot")
        check(all("█" in line for line in plot.splitlines()[1:]), plot)
        equal(len(pods.splitlines()), 11, pods)
        check(all(re.match(r"default/g-\d+ +g +n\d", line) for line in pods.splitlines()[1:]), pods)
        check(latency(c, locale="C")[1].isascii(), "a terminal without UTF-8")
        picture(c)
        follow(c)
        # Of the 12, created within this test: at most the second that the time of creation lacks, and what they waited.
        check(0 < said["serve"]["p50"] < 60e9 and said["serve"]["count"] == 12, said["serve"])
        trace(c)
        interval(c)


def picture(c):
    path = pathlib.Path(muster.scratch(), "latency.svg")
    code, _, err = latency(c, "--svg", path)
    equal(code, 0, err)
    text = path.read_text(encoding="utf-8")
    root = xml.fromstring(text)
    equal(root.tag, "{http://www.w3.org/2000/svg}svg", "root")
    check("href" not in text and "url(" not in text and "<script" not in text, "it needs nothing else")
    names = [t.text for t in root.iter("{http://www.w3.org/2000/svg}text") if t.get("class") == "n"]
    equal(names, STAGES, "stages")
    equal(sum(int(t.text) for t in root.iter("{http://www.w3.org/2000/svg}title")), 12 * len(STAGES), "bars")
    width, height = float(root.get("width")), float(root.get("height"))
    for bar in root.iter("{http://www.w3.org/2000/svg}rect"):
        check(0 <= float(bar.get("x")) < width and 0 <= float(bar.get("y")) < height, "within", bar.attrib)


def trace(c):
    """A track for each member, its slices one behind the other."""
    code, out, err = latency(c, "--trace", "default/g")
    equal(code, 0, err)
    events = json.loads(out)["traceEvents"]
    equal([e["args"]["name"] for e in events if e["name"] == "process_name"], ["default/g"], "the process")
    tracks = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    equal(sorted(tracks.values()), sorted(f"g-{i}" for i in range(12)), "tracks")
    for tid in tracks:
        slices = [e for e in events if e["ph"] == "X" and e["tid"] == tid]
        equal([e["name"] for e in slices], STAGES[:7], "slices")
        for before, after in zip(slices, slices[1:]):
            equal(before["ts"] + before["dur"], after["ts"], "the next slice begins where this one ends")
        check(all(re.fullmatch(r"n\d", e["args"]["node"]) and "unfinished" not in e["args"] for e in slices), slices)
    equal(min(e["ts"] for e in events if e["ph"] == "X"), 0, "the first begins the trace")
    spans = otlp(c)
    equal(spans, otlp(c), "names and ids are the same when it is written again")
    code, out, err = latency(c, "--trace", "default/nobody")
    equal((code, out), (2, ""), "a gang that is not there")
    equal(latency(c, "--trace", "g?x=1")[0], 2, "no name of a gang")


def otlp(c):
    """The gang's span holds its members', these their stages, one behind the other.  {id: name}"""
    code, out, err = latency(c, "--trace", "default/g", "--format", "otlp")
    equal(code, 0, err)
    resource, = json.loads(out)["resourceSpans"]
    spans = {s["spanId"]: s for s in resource["scopeSpans"][0]["spans"]}
    equal(len({s["traceId"] for s in spans.values()}), 1, "one trace")
    check(all(re.fullmatch(r"[0-9a-f]{16}", i) and re.fullmatch(r"[0-9a-f]{32}", s["traceId"]) for i, s in spans.items()), spans)
    root, = (s for s in spans.values() if s["parentSpanId"] == "")
    equal((root["name"], len(spans)), ("default/g", 1 + 12 * (1 + 7)), "spans")
    check(abs(int(root["startTimeUnixNano"]) / 1e9 - time.time()) < 600, root)
    for s in spans.values():
        parent = spans.get(s["parentSpanId"], root)
        check(int(parent["startTimeUnixNano"]) <= int(s["startTimeUnixNano"]) <= int(s["endTimeUnixNano"]) <= int(parent["endTimeUnixNano"]), s)
    for member in (s for s in spans.values() if s["parentSpanId"] == root["spanId"]):
        equal([s["name"] for s in spans.values() if s["parentSpanId"] == member["spanId"]], STAGES[:7], member)
    return {i: (s["name"], s["traceId"]) for i, s in spans.items()}


def interval(c):
    """Of the pods that came meanwhile, not of the twelve before."""
    made = 0
    with subprocess.Popen([muster.program("musterctl"), "latency", "--listen", c.listen, "--last", "3"],
                          stdout=subprocess.PIPE, text=True) as child:
        while child.poll() is None:
            c.create(pod(f"late-{made}", cpu="10m", memory="16Mi"))
            made += 1
            time.sleep(0.1)
        rows = [line.split() for line in child.stdout.read().splitlines()]
        equal(child.returncode, 0, "exit code")
    counts = {row[0]: int(row[1]) for row in rows[1:1 + len(STAGES)]}
    check(all(0 < n <= made for n in counts.values()), counts, made)
    for wrong in ("0", "3601", "1s"):
        equal(latency(c, "--last", wrong)[0], 2, wrong)


def follow(c):
    with subprocess.Popen([muster.program("musterctl"), "latency", "--listen", c.listen, "-o", "json", "--follow"],
                          stdout=subprocess.PIPE, text=True) as process:
        lines = [process.stdout.readline() for _ in range(2)]
        process.terminate()
    for line in lines:
        equal(json.loads(line)["stages"][0]["count"], 12, "a line each second")


def test_nobody_answers():
    for flags, wanted in ((("--listen", "127.0.0.1:1"), "is muster-frontend there?"), (("-o", "yaml"), "yaml"),
                          (("more",), "unexpected argument")):
        code, out, err = run("musterctl", "latency", *flags)
        equal((code, out), (2, ""), flags)
        check(wanted in err, err)


def test_an_answer_that_is_none():
    with Cluster() as c:
        host = f"127.0.0.1:{c.apisim.port}"
        code, out, err = run("musterctl", "latency", "--listen", host)
        equal((code, out), (2, ""), err)


if __name__ == "__main__":
    main(globals())
