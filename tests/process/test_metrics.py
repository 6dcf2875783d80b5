# SPDX-License-Identifier: Apache-2.0
"""/metrics: every line parses, counters only increase, histograms are consistent, and after pods were
placed the numbers are those of the pods."""
import json
import os
import re
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import muster, objects  # noqa: E402
from lib.cluster import Cluster  # noqa: E402
from lib.harness import check, equal, eventually, main, until  # noqa: E402
from lib.objects import node, pod  # noqa: E402

SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)*)\})? (\S+)$')
LABEL = re.compile(r'([a-z_]+)="((?:[^"\\]|\\.)*)"')
PARTS = ("_bucket", "_sum", "_count")


class Page:
    def __init__(self, text):
        self.types, self.helps, self.samples = {}, {}, {}
        check(text.endswith("\n"), "the last line has an end")
        for line in text.splitlines():
            if line.startswith("# "):
                _, word, name, rest = line.split(" ", 3)
                table = {"HELP": self.helps, "TYPE": self.types}[word]
                check(name not in table, f"{word} of {name} stands twice")
                check(rest.strip(), line)
                table[name] = rest
                self.family = name
                continue
            match = SAMPLE.match(line)
            check(match, f"no sample: {line}")
            self.add(match, line)
        equal(sorted(self.types), sorted(self.helps), "families with a type and with a help")

    def add(self, match, line):
        name, labels, value = match.groups()
        check(name == self.family or (self.types[self.family] == "histogram" and name in [self.family + p for p in PARTS]),
              f"{line} is not of {self.family}")
        key = (name, tuple(sorted(LABEL.findall(labels or ""))))
        check(key not in self.samples, f"twice: {line}")
        self.samples[key] = float(value)

    def type_of(self, name):
        base = name
        for part in PARTS:
            if name.endswith(part) and self.types.get(name[:-len(part)]) == "histogram":
                base = name[:-len(part)]
        return self.types[base]

    def value(self, name, **labels):
        return sum(v for (n, have), v in self.samples.items() if n == name and set(labels.items()) <= set(have))

    def histograms(self):
        """{(family, labels): {le: value}}"""
        found = {}
        for (name, labels), value in self.samples.items():
            if name.endswith("_bucket"):
                le = float(dict(labels)["le"])
                found.setdefault((name[:-7], tuple(l for l in labels if l[0] != "le")), {})[le] = value
        return found


def page(c):
    status, text = c.fetch("/metrics")
    equal(status, 200, text[:200])
    return Page(text)


def whole(p):
    for (family, labels), buckets in p.histograms().items():
        bounds = sorted(buckets)
        values = [buckets[b] for b in bounds]
        check(bounds[-1] == float("inf"), family, "has +Inf")
        check(values == sorted(values), family, labels, "falls:", values)
        count, total = p.samples[(family + "_count", labels)], p.samples[(family + "_sum", labels)]
        equal(values[-1], count, f"{family}{labels}: +Inf and _count")
        check(total >= 0 and (count > 0 or total == 0), family, labels, total, count)
        # What is in a bucket is above its lower bound.
        least = sum((values[i] - values[i - 1]) * bounds[i - 1] for i in range(1, len(bounds)))
        check(total >= least * 0.999, f"{family}{labels}: sum {total}, at least {least}")


def only_up(before, after):
    for key, value in before.samples.items():
        if after.type_of(key[0]) in ("counter", "histogram") and not key[0].startswith("process_"):
            check(after.samples.get(key, -1) >= value, key, "fell from", value, "to", after.samples.get(key))


def test_after_pods_were_placed():
    with Cluster(*(node(f"n{i}", cpu="8") for i in range(4))) as c:
        c.up("--extender-keep", "30")
        first = page(c)
        whole(first)
        c.create(objects.pod_group("g", 4), *(pod(f"g-{i}", group="g", cpu="1") for i in range(4)),
                 *(pod(f"lone-{i}", cpu="1") for i in range(6)))
        until(lambda: c.bound() == 10, 60, "all are bound")
        until(lambda: page(c).value("muster_pod_stage_duration_seconds_count", stage="watch") == 10, 30, "all are seen")
        p = page(c)
        whole(p)
        only_up(first, p)
        eventually(lambda: of_ten_pods(page(c)))


def of_ten_pods(p):
    equal(p.value("scheduler_schedule_attempts_total", result="scheduled", profile="muster"), 10, "scheduled")
    equal(p.value("scheduler_schedule_attempts_total", result="error"), 0, "errors")
    equal(p.value("scheduler_pod_scheduling_sli_duration_seconds_count"), 10, "sli")
    equal(p.value("scheduler_scheduling_attempt_duration_seconds_count", result="scheduled"), 10, "attempts' times")
    equal(p.value("scheduler_pod_scheduling_attempts_count"), 10, "pods' attempts")
    equal(p.value("scheduler_pending_pods"), 0, "pending")
    for stage in ("extract", "send", "wait", "plan", "ring", "queue", "bind", "ours", "total"):
        equal(p.value("muster_pod_stage_duration_seconds_count", stage=stage), 10, stage)
    parts = sum(p.value("muster_pod_stage_duration_seconds_sum", stage=s)
                for s in ("extract", "send", "wait", "plan", "ring", "queue", "bind"))
    total = p.value("muster_pod_stage_duration_seconds_sum", stage="total")
    check(abs(parts - total) < 1e-6, f"the stages are {parts} s together, the whole {total} s")
    equal(p.value("muster_plan_duration_seconds_count"),
          p.value("scheduler_scheduling_algorithm_duration_seconds_count"), "plans, twice")
    check(p.value("muster_plan_duration_seconds_count") >= 7, "a plan for the gang and for each lone pod")
    equal(p.value("muster_gangs_by_state", state="placed"), 1, "gangs placed")
    equal(p.value("muster_gangs_in_state", state="running"), 1, "gangs that run")
    equal(p.value("muster_partial_gangs"), 0, "partial")
    equal(p.value("muster_gang_wait_seconds_count", gang_namespace="default"), 1, "gangs that were bound")
    equal(p.value("muster_gang_oldest_waiting_seconds"), 0, "nobody waits")
    equal(p.value("muster_resource_allocatable", resource="cpu"), 32, "cores")
    equal(p.value("muster_resource_used", resource="cpu"), 10, "cores used")
    equal(p.value("muster_resource_free", resource="cpu"), 22, "cores free")
    whole_nodes = p.value("muster_resource_free", resource="cpu") - p.value("muster_resource_fragmented", resource="cpu")
    check(whole_nodes % 8 == 0 and p.value("muster_resource_largest_free", resource="cpu") <= 8, whole_nodes)
    equal(p.value("muster_invariant_checks_total"), 10, "looked at")
    equal(p.value("muster_invariant_violations_total"), 0, "violations")
    equal(p.value("muster_limit", of="nodes"), 131072, "room for nodes")
    equal(p.value("muster_limit_used", of="nodes"), 4, "nodes")
    equal(p.value("muster_limit", of="terms"), 2 * p.value("muster_limit", of="shapes"), "room for terms")
    check(p.value("muster_ring_written_bytes_total", ring="event") > 1000, "bytes of events")
    check(p.value("process_open_fds") > 3, "open files")
    for part in ("results", "events", "plans"):
        check(p.value("muster_core_loop_part_seconds_count", part=part) > 0, part)
    turns = [p.value("muster_loop_part_seconds_count", part=part)
             for part in ("commands", "questions", "requests", "pages", "responses")]
    check(min(turns) > 10 and max(turns) - min(turns) <= 1, "each turn has each part", turns)


def test_pods_that_wait():
    begun = time.monotonic()
    with Cluster(node("n1", cpu="2")) as c:
        c.up()
        c.create(objects.pod_group("few", 3), *(pod(f"few-{i}", group="few") for i in range(2)),
                 objects.pod_group("big", 2), *(pod(f"big-{i}", group="big", cpu="2") for i in range(2)),
                 pod("lone", cpu="4"))
        until(lambda: page(c).value("scheduler_pending_pods", queue="unschedulable") == 3, 30, lambda: c.fetch("/metrics")[1])
        # A reason with other numbers is published again after 2 s.
        until(lambda: page(c).value("scheduler_pending_pods", queue="incomplete") == 2, 30, lambda: c.fetch("/metrics")[1])

        def told():
            p = page(c)
            equal(p.value("scheduler_pending_pods"), 5, "pending")
            equal(p.value("muster_gangs_by_reason", reason="members"), 1, "gangs that wait for members")
            equal(p.value("muster_gangs_by_reason", reason="room"), 1, "gangs that wait for room")
            check(p.value("scheduler_schedule_attempts_total", result="unschedulable") >= 5, "told")

        eventually(told)
        until(lambda: page(c).value("muster_gang_oldest_waiting_seconds") > 1, 30, "the oldest gang grows older")
        oldest = page(c).value("muster_gang_oldest_waiting_seconds")
        check(oldest < time.monotonic() - begun + 2, oldest)
        equal(page(c).value("muster_gang_wait_seconds_count"), 0, "no wait is over")
        c.delete("Pod", "lone", "big-0")
        until(lambda: page(c).value("scheduler_pending_pods") == 3, 30, "those that are gone wait no more")


def test_a_lost_core_is_counted():
    with Cluster(node("n1", cpu="4")) as c:
        c.pair()
        c.create(pod("a"))
        until(lambda: c.bound() == 1, 30, "bound")
        before = page(c)
        c.core.kill()
        until(lambda: page(c).value("muster_core_lost_total", reason="gone") == 1, 30, "lost")
        whole(page(c))
        c.core = c.start_core()
        c.ready(c.frontend)
        after = page(c)
        whole(after)
        equal(after.value("scheduler_schedule_attempts_total", result="scheduled"), 1, "still one")
        check(after.value("muster_core_connects_total") == before.value("muster_core_connects_total") + 1, "connected anew")


def families(text):
    """{family: (type, help, labels)} of a scrape."""
    told = {}
    for line in text.splitlines():
        comment = re.match(r"# (HELP|TYPE) (\S+) (.*)", line)
        if comment:
            told.setdefault(comment[2], {"labels": set()})[comment[1]] = comment[3]
            continue
        name = re.match(r"\w+", line)[0]
        family = name if name in told else re.sub(r"_(bucket|sum|count)$", "", name)
        told[family]["labels"] |= set(re.findall(r'(\w+)="', line)) - {"le"}
    return {name: (f["TYPE"], f["HELP"], f["labels"]) for name, f in told.items()}


def test_the_table_of_metrics_is_true():
    """Each family of a live scrape is in docs/metrics.md, with its type, help and labels."""
    page, rows = (muster.ROOT / "docs" / "metrics.md").read_text(encoding="utf-8"), {}
    for line in page.splitlines():
        row = re.match(r"\| `(\w+)` \| (\w+) \|([^|]*)\| (.*) \|$", line)
        if row:
            rows[row[1]] = (row[2], row[4].replace("\\|", "|"), set(re.findall(r"`(\w+)`", row[3])) - {"le"})
    with Cluster(*[node(f"n{i}", cpu="8", gpu="2") for i in range(3)]) as c:
        c.up()
        for group, pods in (objects.gang("small", 2, cpu="2"), objects.gang("big", 5, cpu="6")):
            c.create(group, *pods)
        until(lambda: c.bound("small") == 2 and c.metric("muster_gangs_waiting") == 1, 20, "placed")
        live = families(c.fetch("/metrics")[1])
    check(len(live) > 100, len(live))
    for name, told in live.items():
        kind, text, labels = rows[name]
        equal((kind, text), told[:2], name)
        check(told[2] <= labels, name, told[2], labels)


def test_latency_tells_where_the_time_went():
    with Cluster(*(node(f"n{i}", cpu="8") for i in range(4))) as c:
        c.up()
        status, text = c.fetch("/latency")
        equal(status, 200, text[:200])
        equal([s["count"] for s in json.loads(text)["stages"]], [0] * 11, "nothing was placed")
        c.create(objects.pod_group("g", 12), *(pod(f"g-{i}", group="g", cpu="1") for i in range(12)))
        until(lambda: json.loads(c.fetch("/latency")[1])["stages"][7]["count"] == 12, 60, "all are seen")
        said = json.loads(c.fetch("/latency")[1])
        stages = {s["stage"]: s for s in said["stages"]}
        equal(list(stages), ["extract", "send", "wait", "plan", "ring", "queue", "bind", "watch", "ours", "total", "serve"], "stages")
        for stage in stages.values():
            equal((sum(stage["counts"]), sum(n for _, n in stage["fine"])), (12, 12), stage)
            check(stage["p50"] <= stage["p90"] <= stage["p99"] <= stage["p999"] <= stage["p9999"] <= stage["max"], stage)
        equal(len(said["bounds"]) + 1, len(stages["plan"]["counts"]), "a bound for each count but the last")
        equal(len(said["slowest"]), 10, "slowest")
        ours = [s["stages"]["ours"] for s in said["slowest"]]
        check(ours == sorted(ours, reverse=True) and ours[0] == stages["ours"]["max"], ours)
        for story in said["slowest"]:
            check(re.fullmatch(r"g-\d+", story["pod"]) and story["gang"] == "g" and story["namespace"] == "default" and
                  story["node"].startswith("n") and story["attempts"] >= 1, story)
            parts = sum(story["stages"][s] for s in ("extract", "send", "plan", "ring", "queue", "bind"))
            equal(parts, story["stages"]["ours"], story)


if __name__ == "__main__":
    main(globals())
