# SPDX-License-Identifier: Apache-2.0
"""deploy/monitoring against the /metrics of a live muster and by promtool: every query uses
existing metrics and labels, and each alert fires when it should and only then."""
import json
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import muster, objects, yamlsub  # noqa: E402
from lib.cluster import Cluster  # noqa: E402
from lib.harness import check, equal, main, until  # noqa: E402
from lib.objects import node, pod  # noqa: E402

MONITORING = muster.ROOT / "deploy" / "monitoring"
ADDED = {"instance", "job"}  # by Prometheus
SELECTOR = re.compile(r"\b([a-z][a-z0-9_]*_[a-z0-9_]+)\b(?!\s*\()(?:\{([^}]*)\})?")
STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"')


def live_page():
    with Cluster(node("n1", cpu="4")) as c:
        c.up("--leader-elect", "--extender-keep", "30", "--leader-elect-resource-namespace", "default")
        c.create(objects.pod_group("g", 2), *(pod(f"g-{i}", group="g") for i in range(2)))
        until(lambda: c.bound("g-") == 2, 60, "the gang is bound")
        # What is counted for gangs and bindings that were seen is on the page by then.
        until(lambda: c.metric("muster_gang_wait_seconds_count") == 1 and c.metric("muster_invariant_checks_total") == 2, 60, c.metrics)
        status, text = c.fetch("/metrics")
        equal(status, 200, "/metrics")
        return text


PAGE = live_page()


def promtool(*arguments, stdin=None):
    done = subprocess.run(["promtool", *map(str, arguments)], input=stdin, capture_output=True, text=True, timeout=180)
    return done.returncode, done.stdout + done.stderr


def written(name, content):
    path = pathlib.Path(muster.scratch(), name)
    path.write_text(json.dumps(content), encoding="utf-8")  # JSON is YAML
    return path


def rule_groups():
    rule, = yamlsub.load_all((MONITORING / "rules.yaml").read_text(encoding="utf-8"))
    return rule["spec"]["groups"]


def alerts():
    return [rule for group in rule_groups() for rule in group["rules"]]


def queries():
    """(position, expression) of the dashboard."""
    dashboard = json.loads((MONITORING / "dashboard.json").read_text(encoding="utf-8"))
    return [(panel["title"], target["expr"]) for panel in dashboard["panels"] for target in panel.get("targets", [])]


def served():
    """{metric: labels}"""
    found = {}
    for line in PAGE.splitlines():
        if line and not line.startswith("#"):
            name, labels = re.match(r"([a-z0-9_:]+)(?:\{(.*)\})? ", line).groups()
            found.setdefault(name, set()).update(re.findall(r'(\w+)="', labels or ""))
    return found


def asked(expression):
    """(metric, labels) used by an expression."""
    grouped = set(re.findall(r"\w+", " ".join(re.findall(r"\bby \(([^)]*)\)", expression))))
    bare = re.sub(r"\b(?:by|on) \([^)]*\)", "", STRINGS.sub('""', expression))
    for name, labels in SELECTOR.findall(bare):
        yield name, set(re.findall(r"(\w+)\s*[=!]", labels)) | grouped


def test_page_is_sound():
    code, said = promtool("check", "metrics", stdin=PAGE)
    lines = [line for line in said.splitlines() if line.strip()]
    check(code == 0 and not lines, said)


def test_rules_are_sound():
    code, said = promtool("check", "rules", written("rules.yaml", {"groups": rule_groups()}))
    check(code == 0 and f"{len(alerts())} rules found" in said, said)
    for rule in alerts():
        check(set(rule["annotations"]) == {"summary", "description"} and rule["labels"]["severity"] in ("warning", "critical"), rule)


def test_every_query_is_of_what_is_served():
    there, unknown = served(), []
    check(len(queries()) > 30, f"only {len(queries())} queries")
    for where, expression in [*queries(), *((rule["alert"], rule["expr"]) for rule in alerts())]:
        names = list(asked(expression))
        check(names, where, expression)
        unknown += [f"{where}: {name} {labels}" for name, labels in names
                    if name not in there or not labels <= there[name] | ADDED]
    check(not unknown, "\n".join(unknown))


def test_dashboard_parses():
    rules = [{"record": f"panel:{i}", "expr": expression.replace("$__rate_interval", "5m").replace("$instance", ".*")}
             for i, (_, expression) in enumerate(queries())]
    code, said = promtool("check", "rules", written("panels.yaml", {"groups": [{"name": "panels", "rules": rules}]}))
    check(code == 0, said)
    panels = json.loads((MONITORING / "dashboard.json").read_text(encoding="utf-8"))["panels"]
    equal(sorted({p["id"] for p in panels}), sorted(p["id"] for p in panels), "ids")
    taken = [(p["gridPos"]["y"] + y, p["gridPos"]["x"] + x) for p in panels
             for y in range(p["gridPos"]["h"]) for x in range(p["gridPos"]["w"])]
    equal(len(set(taken)), len(taken), "panels that lie on each other")


# Values each minute: "start+step x times", as promtool reads them.
HEALTHY = {
    "muster_build_info": "1x120", "muster_leading": "1x120", "muster_core_up": "1x120", "muster_core_synced": "1x120",
    "muster_core_stalled": "0x120", 'muster_core_lost_total{reason="stalled"}': "0x120",
    'muster_watch_failures_total{resource="pods"}': "0+0.01x120", "muster_gangs_waiting": "5x120",
    "muster_core_plans_placed_total": "0+10x120", 'muster_binds_total{result="bound"}': "0+100x120",
    'muster_binds_total{result="refused"}': "0+1x120", 'muster_http_answers_total{code="2xx"}': "0+100x120",
    'muster_http_answers_total{code="4xx"}': "0+1x120", 'muster_http_answers_total{code="5xx"}': "0x120",
    "muster_core_limits_hit_total": "0x120", "muster_limits_hit_total": "0x120", "muster_core_bad_records_total": "0x120",
    "muster_core_bad_commands_total": "0x120", "muster_core_saturated_total": "0x120",
    "muster_core_progress_total": "0+600x120", "muster_gang_oldest_waiting_seconds": "0+60x120",
    'muster_limit{of="pods"}': "100x120", 'muster_limit_used{of="pods"}': "90x120",
}
# What is otherwise when this alert is to fire.
SICK = {
    "MusterDown": {"muster_build_info": None},
    "MusterNobodyLeads": {"muster_leading": "0x120"},
    "MusterCoreDown": {"muster_core_up": "0x120"},
    "MusterCoreStalled": {"muster_core_stalled": "1x120"},
    "MusterNotInStep": {"muster_core_synced": "0x120"},
    "MusterWatchFails": {'muster_watch_failures_total{resource="pods"}': "0+5x120"},
    "MusterGangsWait": {"muster_core_plans_placed_total": "7x120"},
    "MusterGangOld": {"muster_gang_oldest_waiting_seconds": "20000+60x120"},
    "MusterCoreStuck": {"muster_core_progress_total": "0+600x80 48600x40"},
    "MusterBindsRefused": {'muster_binds_total{result="refused"}': "0+20x120"},
    "MusterApiServerRefuses": {'muster_http_answers_total{code="5xx"}': "0+30x120"},
    "MusterLimitHit": {"muster_core_limits_hit_total": "0+1x120"},
    "MusterLimitNear": {'muster_limit_used{of="pods"}': "91x120"},
    "MusterRecordsBad": {"muster_core_bad_records_total": "0+1x120"},
    "MusterSaturated": {"muster_core_saturated_total": "0+1x120"},
}
STANDS_BY = {"muster_leading": "0x120", "muster_core_synced": "0x120"}


def labelled(series, instance):
    name, _, labels = series.partition("{")
    return f'{name}{{instance="{instance}",{labels}' if labels else f'{name}{{instance="{instance}"}}'


def series_of(values, instance="a"):
    return [{"series": labelled(name, instance), "values": value} for name, value in values.items() if value]


def case(name, series, *firing):
    return {"name": name, "interval": "1m", "input_series": series, "promql_expr_test": [{
        "expr": 'count by (alertname) (ALERTS{alertstate="firing"})', "eval_time": "100m",
        "exp_samples": [{"labels": f'{{alertname="{alert}"}}', "value": 1} for alert in firing]}]}


def test_alerts_fire():
    equal(sorted(SICK), sorted(rule["alert"] for rule in alerts()), "an alert without a case, or the other way round")
    rules = written("rules.yaml", {"groups": rule_groups()})
    cases = [case("healthy", series_of(HEALTHY)),
             case("one acts, one stands by", series_of(HEALTHY) + series_of(HEALTHY | STANDS_BY, "b"))]
    cases += [case(alert, series_of(HEALTHY | change), alert) for alert, change in SICK.items()]
    code, said = promtool("test", "rules", written("test.yaml", {
        "rule_files": [str(rules)], "evaluation_interval": "1m", "tests": cases}))
    check(code == 0, said)


if __name__ == "__main__":
    main(globals())
