# SPDX-License-Identifier: Apache-2.0
"""The page at / and the questions that it asks, by themselves and in a browser."""
import base64
import contextlib
import hashlib
import http.server
import json
import os
import re
import signal
import sys
import threading
import time
import urllib.parse
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import kube, muster  # noqa: E402
from lib.browser import Browser  # noqa: E402
from lib.cluster import Cluster  # noqa: E402
from lib.harness import becomes, check, equal, eventually, figure, main, until  # noqa: E402
from lib.objects import gang, node, pod  # noqa: E402

FOLDER = muster.ROOT / "frontend" / "page"
SCRIPTS = ("base", "tiles", "map", "queue", "queues", "gang", "node", "main")


def fetch_once(c, path, method="GET"):
    """(status, headers, body)"""
    host, port = c.listen.rsplit(":", 1)
    connection = kube.http.client.HTTPConnection(host, int(port), timeout=60)
    with contextlib.closing(connection):
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()


def fetch(c, path, method="GET"):
    """The same, again while the loop is busy (503)."""
    for _ in range(600):
        status, headers, body = fetch_once(c, path, method)
        if status != 503:
            break
        time.sleep(0.1)
    return status, headers, body


def ask(c, path, **arguments):
    url = f"{path}?{urllib.parse.urlencode(arguments)}" if arguments else path
    status, headers, body = fetch(c, url)
    equal((status, headers["Content-Type"]), (200, "application/json"), (path, body))
    return json.loads(body)


def state(c):
    return ask(c, "/state.json")


def gangs(c, **arguments):
    return ask(c, "/gangs.json", **arguments)


@contextlib.contextmanager
def cluster():
    with Cluster(*[node(f"n{i}", cpu="8", labels={"zone": f"z{i % 2}"}) for i in range(3)], node("n3", unschedulable=True)) as c:
        c.up()
        for group, pods in (gang("small", 2, cpu="4"), gang("big", 5, cpu="6")):
            c.create(group, *pods)
        until(lambda: c.bound("small") == 2, 20, "placed")
        until(lambda: {g["state"] for g in gangs(c)["gangs"]} == {"Running", "Waiting"}, 10, "all said")
        yield c


def test_the_page_says_what_musterctl_says():
    with cluster() as c:
        lack = {"resource": "cpu", "need": 30000, "have": 6000}

        def same():
            got, rows = state(c), gangs(c)
            equal(got["not_ready"], "")
            equal((got["gangs_n"], got["queued"], rows["gangs_n"], rows["chosen"], rows["told"]), (2, 1, 2, 2, 2))
            equal({k: n for k, n in got["states"].items() if n}, {"Waiting": 1, "Running": 1})
            equal(sorted(got["states"]), ["Binding", "Degraded", "Failed", "Finished", "Pending", "Running", "Waiting"])
            told = {g["gang"]: g for g in c.ask_json("gangs")[1]["gangs"]}
            for g in rows["gangs"]:
                for field in ("state", "dialect", "quorum", "members", "placed", "priority"):
                    equal(g[field], told[g["gang"]][field], (g["gang"], field))
                equal(g.get("reason"), told[g["gang"]].get("reason"), g["gang"])
                equal(g.get("position"), told[g["gang"]]["position"], g["gang"])
            equal([g["gang"] for g in rows["gangs"]], ["default/big", "default/small"], "those that wait come first")
            equal(rows["gangs"][0].get("lack"), lack)
            cells = ask(c, "/cells.json")
            equal((cells["nodes"], cells["nodes_per_cell"], cells["name"]), (4, 1, ["n0", "n1", "n2", "n3"]))
            nodes = c.ask_json("nodes")[1]["nodes"]
            equal(cells["share"], [1000 * n["used"]["cpu"] // 8000 for n in nodes])
            equal(cells["flags"], [0, 0, 0, 1])
            cpu = next(r for r in got["resources"] if r["name"] == "cpu")
            equal((cpu["used"], cpu["allocatable"], cpu["free"], cpu["usable"]), (8000, 32000, 16000, 6000))
            status = c.ask_json("status")[1]
            for name in ("plans", "binds_accepted", "nodes", "pods_pending", "pods_bound"):
                equal(got["figures"][name], status[name], name)

        eventually(same)


def test_blocks_by_a_label_and_colours_of_a_resource():
    with cluster() as c:
        def same():
            got = ask(c, "/cells.json", label="zone", resource="memory")
            equal((got["label"], got["resource"], "zone" in got["labels"]), ("zone", "memory", True))
            equal(got["name"], ["n0", "n2", "n1", "n3"])
            equal(got["blocks"], [["z0", 0, 2], ["z1", 2, 1], ["", 3, 1]])
            equal(got["resources"][got["scarcest"][0]], "memory")
            equal(ask(c, "/cells.json", resource="nvidia.com/gpu")["resource"], "", "no node has it")
            check("kubernetes.io/hostname" in got["labels"], "few nodes")

        eventually(same)


def test_the_queue_in_pieces():
    with cluster() as c:
        for i in range(12):
            group, pods = gang(f"w{i:02}", 2, cpu="9")
            c.create(group, *pods)
        until(lambda: state(c)["queued"] == 13, 20, lambda: state(c))

        def same():
            names = [g["gang"] for g in gangs(c)["gangs"]]
            pieces = [gangs(c, **{"from": str(at), "count": "5"}) for at in (0, 5, 10)]
            equal([g["gang"] for p in pieces for g in p["gangs"]], names)
            equal([p["told"] for p in pieces], [5, 5, 4])
            equal([g["gang"] for g in gangs(c, filter="W1")["gangs"]], ["default/w10", "default/w11"])
            equal([g["gang"] for g in gangs(c, state="Running")["gangs"]], ["default/small"])
            equal(gangs(c, state="waits")["chosen"], 13)
            equal([g["gang"] for g in gangs(c, sort="gang", down="1", count="2")["gangs"]], ["default/w11", "default/w10"])
            equal([g["position"] for g in gangs(c, state="waits")["gangs"]], list(range(1, 14)))

        eventually(same)


QUEUES = """- name: eng
  guarantee: {cpu: 8}
- {name: a, parent: eng, limit: {cpu: 12}}
- name: c
- name: "b\\e[31m<b>\\u202e"
"""


@contextlib.contextmanager
def shared_cluster():
    """Queues, one of a hostile name, and a promised start."""
    config = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "muster-system"}},
              {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "muster-queues", "namespace": "muster-system"},
               "data": {"queues.yaml": QUEUES}}]
    with Cluster(node("n0", cpu="8"), node("n1", cpu="8"), *config) as c:
        c.pair(core=("--promise-depth", "8", "--reserve-after", "0"), frontend=("--queues", "config"))
        for name, cpu, queue in (("one", "7", "a"), ("two", "5", "a"), ("three", "4", "a"), ("four", "2", "a")):
            made = pod(name, cpu=cpu, labels={"muster.dev/queue": queue})
            made["spec"]["activeDeadlineSeconds"] = 600
            c.create(made)
            if name in ("one", "two"):
                until(lambda n=name: c.bound(n) == 1, 20, name)
        group, pods = gang("late", 1, cpu="8", labels={"muster.dev/queue": "c"})
        pods[0]["spec"]["activeDeadlineSeconds"] = 600
        c.create(group, *pods)
        yield c


def test_queues_and_promised_starts():
    with shared_cluster() as c:
        until(lambda: sum(q["waiting"] for q in ask(c, "/queues.json")["queues"]) == 3 and ask(c, "/queues.json")["starts_n"] == 1, 20,
              lambda: ask(c, "/queues.json"))

        def same():
            equal(state(c)["shares"], True)
            got = ask(c, "/queues.json")
            told = c.ask_json("queues")[1]["queues"]
            equal([q["path"] for q in got["queues"]], [q["queue"] for q in told])
            equal([q["depth"] for q in got["queues"]], [0, 1, 1, 1, 2])
            equal([q["queue"] for q in got["queues"]][2:], ["c", "eng", "a"])
            for q, other in zip(got["queues"], told):
                for field in ("source", "state", "waiting", "placed", "share"):
                    equal(q[field], other[field], (q["path"], field))
                equal(q["first"], other.get("first", ""), q["path"])
                for r in q["resources"]:
                    equal((r["used"], r["guarantee"]), (other["used"].get(r["name"], 0), other["guarantee"].get(r["name"], 0)), q["path"])
            start, = got["starts"]
            promised = next(g["start"] for g in c.ask_json("gangs")[1]["gangs"] if g["gang"] == "default/late")
            equal(time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(start["at_ms"] // 1000)), promised["at"])
            equal((start["gang"], start["queue"], start["nodes"], start["soft"]), ("default/late", "c", 1, False))
            a = next(q for q in got["queues"] if q["queue"] == "a")
            equal([(r["used"], r["asked"], r["limit"], r["all"]) for r in a["resources"] if r["name"] == "cpu"], [(12000, 18000, 12000, 16000)])
            body = fetch(c, "/queues.json")[2].decode()
            check(not any(ord(x) < 32 and x != "\n" or x == "\u202e" for x in body), body)
            equal([q["path"] for q in ask(c, "/queues.json", **{"from": "1", "count": "2"})["queues"]], [q["path"] for q in got["queues"][1:3]])

        eventually(same)


def test_one_gang():
    with cluster() as c:
        group, pods = gang("later", 3, cpu="7")
        c.create(group, *pods)
        until(lambda: state(c)["queued"] == 2, 20, lambda: state(c))

        def same():
            got = ask(c, "/gang.json", name="default/later")
            told = next(g for g in c.ask_json("gangs")[1]["gangs"] if g["gang"] == "default/later")
            for field in ("state", "reason", "position", "members", "quorum"):
                equal(got[field], told[field], field)
            equal([(b["gang"], b["position"]) for b in got["before"]], [("default/big", 1)])
            explained = c.ask_json("explain", "default/later")[1]
            equal([(s["resource"], s["need"], s["have"]) for s in got["shortfalls"]],
                  [(s["resource"], s["need"], s["have"]) for s in explained["shortfall"]])
            equal(got["rules"], explained["rules"])
            equal((got["pods_n"], sorted(p["pod"] for p in got["pods"]), {p["stage"] for p in got["pods"]}),
                  (3, ["later-0", "later-1", "later-2"], {"Waiting"}))
            running = ask(c, "/gang.json", name="default/small")
            equal({(p["pod"], p["node"]) for p in running["pods"]}, {(p["metadata"]["name"], p["spec"]["nodeName"]) for p in c.pods("small")})
            # Times of stages stay after the pod was seen bound.
            for p in running["pods"]:
                equal((len(p["us"]), p["at"]), (7, "watch"), p)
                check(sum(p["us"]) > 0 and p["start_us"] >= 0, p)
            equal([s[0] for s in running["stages"]], ["extract", "send", "wait", "plan", "ring", "queue", "bind"])

        eventually(same)
        for name in ("default/none", "", "x" * 900, "default/later/", "%00"):
            equal(fetch(c, "/gang.json?" + urllib.parse.urlencode({"name": name}))[0], 404, name)


def test_one_node():
    with cluster() as c:
        c.create(pod("other", cpu="1", scheduler="else", nodeName="n1"))
        until(lambda: any(p["pod"] == "other" for p in ask(c, "/node.json", name="n1")["pods"]), 10, "seen")

        def same():
            for name in ("n0", "n1", "n3"):
                got, told = ask(c, "/node.json", name=name), next(n for n in c.ask_json("nodes")[1]["nodes"] if n["node"] == name)
                equal({r["name"]: (r["used"], r["allocatable"]) for r in got["resources"]},
                      {r: (told["used"][r], told["allocatable"][r]) for r in told["used"]})
                equal((got["cordoned"], got["pods_n"]), (told["cordoned"], told["pods"]))
                equal({f"{p['namespace']}/{p['pod']}" for p in got["pods"]},
                      {f"default/{p['metadata']['name']}" for p in c.pods() if p["spec"].get("nodeName") == name})
                for p in got["pods"]:
                    equal(p["gang"], "small" if p["pod"].startswith("small") else "", p)

        eventually(same)
        check(["zone", "z1"] in ask(c, "/node.json", name="n1")["labels"], "labels")
        equal(fetch(c, "/node.json?name=n9")[0], 404)


def test_history_survives_a_reload_and_another_core():
    begun = time.monotonic()
    with cluster() as c:
        def sampled():
            got = ask(c, "/history.json", span="hour", resource="memory")
            return len(got["t"]) >= 2 and (got["waiting"][-1], got["running"][-1]) == (1, 1) and got

        got = until(sampled, 90, lambda: ask(c, "/history.json", span="hour"))
        equal((got["step_s"], got["resource"]), (10, "memory"), got)
        check(all(abs(a / 2**37 - 1) < 1e-5 for a in got["allocatable"]), got)
        day = ask(c, "/history.json", span="day", resource="cpu")
        equal((day["step_s"], day["samples"]), (60, 1440), day)
        check(1 <= len(day["t"]) <= 1 + (time.monotonic() - begun) // 60, day)
        os.kill(c.ctl.daemon_pid("muster-core"), signal.SIGKILL)
        until(lambda: len(ask(c, "/history.json", span="hour")["t"]) > len(got["t"]), 40, "it goes on")
        equal(ask(c, "/history.json", span="hour")["t"][:len(got["t"])], got["t"])


def test_equal_questions_have_one_answer_and_the_loop_has_its_time():
    with cluster() as c:
        start = time.monotonic()
        made = set()
        while time.monotonic() - start < 1.2 or len(made) < 2:
            made.add(state(c)["taken_ms"])
        took = time.monotonic() - start
        check(len(made) <= took / 0.5 + 2, f"{len(made)} in {took} s")
        # Questions that differ are not kept from each other; whatever comes, health is answered at once.
        start, answers = time.monotonic(), {200: 0, 404: 0, 503: 0}
        while (took := time.monotonic() - start) < 1 or (answers[404] <= 20 and took < 60):
            answers[fetch_once(c, f"/gang.json?name=default/x{time.monotonic()}")[0]] += 1
        equal(c.fetch("/readyz")[0], 200)
        figure(f"answers in {took:.1f} s of different questions: {answers}")
        check(answers[404] > 20, answers)


def test_without_a_core():
    with Cluster(node("n")) as c:
        c.pair()
        equal(ask(c, "/cells.json")["nodes"], 1)
        c.core.kill()
        until(lambda: "states" not in state(c), 10, "it is gone")
        becomes(lambda: (ask(c, "/cells.json")["nodes"], gangs(c)["gangs_n"], fetch(c, "/gang.json?name=a/b")[0],
                         fetch(c, "/node.json?name=n")[0]), (0, 0, 404, 404))
        until(lambda: "core" in state(c)["not_ready"], 10, lambda: state(c))


def test_only_get():
    with cluster() as c:
        for path in ("/", "/state.json", "/cells.json", "/gangs.json", "/queues.json", "/history.json", "/node.json?name=n0", "/gang.json?name=default/big"):
            equal(fetch(c, path, "POST")[0], 405, path)
            equal(fetch(c, path, "HEAD")[0], 200, path)
        equal(fetch(c, "/page.html")[0], 404)


def test_bounds():
    """More nodes than cells, more gangs than rows."""
    with Cluster(apisim=("--nodes", "9000", "--node-cpu", "8", "--zones", "3")) as c:
        c.up("--max-nodes", "10000")
        c.create(pod("full", cpu="8"))
        for i in range(230):
            group, pods = gang(f"g{i:03}", 2, cpu="9" if i % 10 else "1", memory="1Mi")
            c.create(group, *pods)
        until(lambda: c.bound() == 47, 30, "bound")
        until(lambda: {k: n for k, n in state(c)["states"].items() if n} == {"Waiting": 207, "Running": 23}, 20,
              lambda: state(c)["states"])

        def same():
            cells = ask(c, "/cells.json")
            equal((cells["nodes"], cells["nodes_per_cell"], len(cells["share"]), len(cells["name"])), (9000, 2, 4500, 4500))
            equal(max(cells["share"]), 1000)
            zones = ask(c, "/cells.json", label="topology.kubernetes.io/zone")
            equal(([b[2] for b in zones["blocks"]], len(zones["share"])), ([3000] * 3, 4500))
            equal(ask(c, "/cells.json", label="kubernetes.io/hostname")["label"], "", "9,000 blocks are none")
            got = gangs(c)
            equal((got["gangs_n"], got["told"], len(got["gangs"])), (230, 100, 100))
            equal({g["state"] for g in got["gangs"]}, {"Waiting"})
            check("Insufficient cpu" in got["gangs"][0]["reason"], got["gangs"][0])

        eventually(same)
        time.sleep(0.6)
        for path in ("/state.json", "/cells.json", "/gangs.json", "/history.json?span=day"):
            start = time.monotonic()
            body = fetch(c, path)[2]
            figure(f"{path} of 9,000 nodes and 230 gangs: {len(body)} bytes in {(time.monotonic() - start) * 1e3:.1f} ms")
            check(len(body) < 512 << 10, len(body))


def test_the_page_and_its_policy():
    with cluster() as c:
        status, headers, body = fetch(c, "/")
        equal((status, headers["Content-Type"]), (200, "text/html; charset=utf-8"))
        page = (FOLDER / "page.html").read_text(encoding="utf-8")
        page = page.replace("<style>", "<style>" + (FOLDER / "page.css").read_text(encoding="utf-8"))
        page = page.replace("<script>", "<script>" + "".join((FOLDER / f"{name}.js").read_text(encoding="utf-8") for name in SCRIPTS))
        equal(body.decode(), page, "it is what was compiled in")
        equal(sorted(f.stem for f in FOLDER.glob("*.js")), sorted(SCRIPTS))
        equal((headers["X-Content-Type-Options"], headers["Referrer-Policy"]), ("nosniff", "no-referrer"))
        policy = dict(part.strip().split(" ", 1) for part in headers["Content-Security-Policy"].split(";"))
        for tag, directive in (("script", "script-src"), ("style", "style-src")):
            text = re.search(rf"<{tag}>(.*?)</{tag}>".encode(), body, re.DOTALL)[1]
            digest = base64.b64encode(hashlib.sha256(text).digest()).decode()
            equal(policy[directive], f"'sha256-{digest}'")
        equal({k: v for k, v in policy.items() if k not in ("script-src", "style-src")},
              {"default-src": "'none'", "connect-src": "'self'", "img-src": "data:", "base-uri": "'none'",
               "form-action": "'none'", "frame-ancestors": "'none'"})
        equal(fetch(c, "/", "HEAD")[0], 200)
        text = body.decode()
        equal(re.findall(r"https?:|//[a-z]+\.|innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b", text), [])


# ---- in a browser -----------------------------------------------------------------------------

ROWS = "[...document.querySelectorAll('#gangs tr')].map(r => r.children[1].textContent)"
STATE = "document.getElementById('state').textContent"
BANNER = "document.getElementById('banner').hidden ? '' : document.getElementById('banner').textContent"


def text(b, selector):
    return b.ask(f"(document.querySelector({selector!r}) || {{}}).textContent || ''")


def click(b, expression):
    b.ask(f"{expression}.click()")


def choose(b, select, value):
    b.ask(f"{{ const s = document.getElementById('{select}'); s.value = '{value}'; s.dispatchEvent(new Event('change')); }}")


def complaints(b):
    """The page asks again when the loop was busy."""
    return [x for x in b.complaints if "503" not in str(x)]


def in_step(b):
    until(lambda: b.ask(ROWS) == ["default/big", "default/small"], 20, lambda: (b.ask(ROWS), b.complaints))


def test_browser_shows_the_cluster():
    with cluster() as c, Browser() as b:
        b.open(f"http://{c.listen}/")
        in_step(b)
        until(lambda: b.ask(STATE) == "in step with the cluster", 5, lambda: b.ask(STATE))
        becomes(lambda: text(b, "td.why"), "6 of 30 cpu; 1 of 5 members fit")
        until(lambda: "Insufficient cpu" in b.ask("(document.querySelector('td.why') || {title: ''}).title"), 10, "the reason")
        becomes(lambda: text(b, "#states"), "0 pending, 1 waiting, 0 binding, 1 running, 0 finished, 0 failed, 0 degraded")
        until(lambda: "of no use to what waits" in text(b, "#bars"), 10, lambda: text(b, "#bars"))
        until(lambda: b.ask("(document.querySelector('#map canvas') || {height: 0}).height") >= 4, 10, "the map is drawn")
        until(lambda: b.ask("document.querySelectorAll('.tile b')[1].textContent") not in ("", "–"), 10, "rates")
        # Sorted by name, the last one first, then those that wait alone.
        click(b, "document.querySelectorAll('#heads button')[1]")
        click(b, "document.querySelectorAll('#heads button')[1]")
        until(lambda: b.ask(ROWS) == ["default/small", "default/big"], 5, lambda: b.ask(ROWS))
        choose(b, "wanted", "waits")
        until(lambda: b.ask(ROWS) == ["default/big"], 5, lambda: b.ask(ROWS))
        # It follows, and what was chosen is in the address.
        group, pods = gang("more", 3, cpu="7")
        c.create(group, *pods)
        until(lambda: b.ask(ROWS) == ["default/more", "default/big"], 10, lambda: b.ask(ROWS))
        equal(b.ask("location.hash"), "#/?state=waits&sort=gang&down=1")
        equal(complaints(b), [])
        equal({url for url in b.requests if not url.startswith((f"http://{c.listen}/", "data:"))}, set())
        # And reports a missing response.
        c.ctl.stop()
        until(lambda: b.ask(STATE).startswith("no answer"), 10, lambda: b.ask(STATE))


def test_browser_addresses():
    """Gang, node and choices have an address each, and a reload shows the same."""
    with cluster() as c, Browser() as b:
        b.open(f"http://{c.listen}/#/gang/default/big")
        until(lambda: "Waiting" in text(b, "#gang h3"), 20, lambda: (text(b, "#gang"), b.complaints))
        until(lambda: "0/4 nodes are available" in text(b, "#gang .reason") and "It is the first of 1 in the queue" in text(b, "#gang"), 10,
              lambda: text(b, "#gang"))
        equal(b.ask("document.title"), "default/big – muster")
        b.ask("location.hash = '#/gang/default/small'")
        until(lambda: b.ask("document.querySelectorAll('#gang .fall i').length") >= 12, 10, lambda: text(b, "#gang"))
        until(lambda: b.ask("document.querySelectorAll('#gang .map canvas').length") == 1, 10, "its nodes are lit")
        name = b.ask("document.querySelector('#gang td a').textContent")
        click(b, "document.querySelector('#gang td a')")
        until(lambda: text(b, "#node h3") == name, 10, lambda: text(b, "#node"))
        until(lambda: "default/small-" in text(b, "#node table") and "zone=z" in text(b, "#node .labels"), 10, lambda: text(b, "#node"))
        equal(b.ask("location.hash"), f"#/node/{name}")
        b.open("about:blank")
        b.open(f"http://{c.listen}/#/?label=zone&resource=memory&filter=sma")
        until(lambda: b.ask(ROWS) == ["default/small"], 10, lambda: b.ask(ROWS))
        until(lambda: b.ask("document.querySelectorAll('#map canvas').length") == 3, 10, lambda: text(b, "#map"))
        becomes(lambda: b.ask("['label', 'resource', 'filter'].map(id => document.getElementById(id).value)"), ["zone", "memory", "sma"])
        # A click on a cell opens its node.
        b.ask("{ const at = document.querySelector('#map canvas').getBoundingClientRect(); document.querySelector('#map canvas')."
              "dispatchEvent(new MouseEvent('click', { clientX: at.x + 3, clientY: at.y + 3 })); }")
        until(lambda: text(b, "#node h3") == "n0", 10, lambda: text(b, "#node"))
        b.ask("location.hash = '#/gang/default/none'")
        until(lambda: "There is no gang of that name" in text(b, "#gang"), 10, lambda: text(b, "#gang"))
        equal([x for x in complaints(b) if "404" not in str(x)], [])


def test_browser_shows_queues():
    with shared_cluster() as c, Browser() as b:
        b.open(f"http://{c.listen}/")
        until(lambda: b.ask("document.querySelectorAll('#queues tr').length") == 5, 20, lambda: (text(b, "#shares"), b.complaints))
        until(lambda: "12 of 12 cpu" in text(b, "#queues").replace("12.0", "12"), 20, lambda: text(b, "#queues"))
        until(lambda: b.ask("document.querySelectorAll('#queues .bar i').length") >= 2, 10, lambda: text(b, "#queues"))
        until(lambda: "default/late" in text(b, "#gantt"), 20, lambda: text(b, "#starts"))
        equal(b.ask("document.querySelectorAll('#queues b').length"), 0)
        equal(complaints(b), [])


def test_browser_says_that_the_core_stands_still():
    with cluster() as c, Browser() as b:
        b.open(f"http://{c.listen}/")
        in_step(b)
        becomes(lambda: b.ask(BANNER), "")
        os.kill(c.ctl.daemon_pid("muster-core"), signal.SIGSTOP)
        try:
            until(lambda: "muster-core has made no progress for" in b.ask(BANNER), 10, lambda: b.ask(BANNER))
            until(lambda: "makes no progress" in b.ask(BANNER), 20, lambda: b.ask(BANNER))
        finally:
            os.kill(c.ctl.daemon_pid("muster-core"), signal.SIGCONT)
        until(lambda: b.ask(BANNER) == "", 20, lambda: b.ask(BANNER))


def test_browser_at_5000_nodes_and_2000_gangs():
    with Cluster(apisim=("--nodes", "5000", "--node-cpu", "8", "--zones", "4")) as c, Browser() as b:
        c.up()
        for i in range(2000):
            group, pods = gang(f"g{i:04}", 1, cpu="9" if i % 2 else "1", memory="1Mi")
            c.create(group, *pods)
        until(lambda: state(c)["gangs_n"] == 2000 and state(c)["queued"] == 1000, 120, lambda: state(c))
        b.open(f"http://{c.listen}/#/?label=topology.kubernetes.io%2Fzone")
        until(lambda: b.ask(ROWS + ".length") == 100, 30, lambda: b.ask(ROWS + ".length"))
        until(lambda: b.ask("document.querySelectorAll('#map canvas').length") == 4, 10, lambda: text(b, "#map"))
        becomes(lambda: text(b, "#more"), "1 to 100 of 2,000")
        click(b, "document.getElementById('next')")
        until(lambda: text(b, "#more") == "101 to 200 of 2,000", 5, lambda: text(b, "#more"))
        took = b.ask("performance.getEntriesByType('resource').map(r => [r.name.replace(/.*\\//, '').replace(/[?].*/, ''), r.transferSize, Math.round(r.duration)])")
        largest = {name: (max(x[1] for x in took if x[0] == name), max(x[2] for x in took if x[0] == name)) for name in {x[0] for x in took}}
        figure(f"5,000 nodes and 2,000 gangs, bytes and ms at most: {largest}")
        check(all(size < 300_000 for size, _ in largest.values()), largest)
        equal(complaints(b), [])


def test_browser_fits_a_phone():
    with cluster() as c, Browser() as b:
        b.call("Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=1, mobile=True)
        for place, selector in (("", "#gangs td"), ("gang/default/small", "#gang td"), ("gang/default/big", "#gang .labels"), ("node/n0", "#node td")):
            b.open("about:blank")
            b.open(f"http://{c.listen}/#/{place}")
            until(lambda at=selector: text(b, at), 20, place)
            check(b.ask("document.documentElement.scrollWidth") <= 390, place, b.ask("document.documentElement.scrollWidth"))


HOSTILE = ["<img src=x onerror=document.title='owned'>", "</script><script>document.title='owned'</script>",
           "\"'><b>bold</b>", "&lt;i&gt;", "javascript:alert(1)", "\u202egnag", "x" * 500]


def hostile(value):
    """Each text of an answer replaced."""
    if isinstance(value, dict):
        return {key: hostile(v) for key, v in value.items()}
    if isinstance(value, list):
        return [hostile(v) for v in value]
    return HOSTILE[zlib.crc32(value.encode()) % len(HOSTILE)] if isinstance(value, str) else value


class Impostor(http.server.BaseHTTPRequestHandler):
    """The page and its headers as muster sends them, with data that muster would not send."""
    page = policy = None
    answers = {}

    def do_GET(self):
        self.send_response(200)
        path = self.path.split("?")[0]
        body = self.page if path == "/" else self.answers[path]
        self.send_header("Content-Type", "text/html; charset=utf-8" if path == "/" else "application/json")
        self.send_header("Content-Security-Policy", self.policy)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def test_browser_takes_names_as_text():
    with cluster() as c:
        _, headers, Impostor.page = fetch(c, "/")
        Impostor.policy = headers["Content-Security-Policy"]
        answers = {"/state.json": state(c), "/gangs.json": gangs(c), "/cells.json": ask(c, "/cells.json", label="zone"),
                   "/history.json": ask(c, "/history.json"), "/gang.json": ask(c, "/gang.json", name="default/small"),
                   "/node.json": ask(c, "/node.json", name="n0")}
    answers = {path: hostile(answer) for path, answer in answers.items()}
    answers["/state.json"]["resources"] = [{"name": name, "used": 1, "allocatable": 2, "free": 1, "largest_free": 1} for name in HOSTILE]
    answers["/state.json"]["states"] = {name: 1 for name in HOSTILE}
    answers["/gangs.json"]["gangs"] = [{**answers["/gangs.json"]["gangs"][0], "gang": name, "dialect": name, "reason": name, "state": name} for name in HOSTILE]
    answers["/cells.json"]["name"] = HOSTILE[:4]
    answers["/state.json"]["shares"] = True
    answers["/queues.json"] = {
        "wall_ms": 1, "from": 0, "told": len(HOSTILE), "queues_n": len(HOSTILE), "starts_n": len(HOSTILE),
        "queues": [{"queue": name, "path": name, "source": name, "state": name, "first": name, "depth": 9, "waiting": 1, "placed": 1,
                    "resources": [{"name": name, "used": 1, "guarantee": 0, "asked": 2, "all": 0}]} for name in HOSTILE],
        "starts": [{"gang": name, "queue": name, "at_ms": 5, "first_ms": 9, "earlier": 0, "later": 1, "soft": True, "nodes": 1, "members": 1} for name in HOSTILE]}
    Impostor.answers = {path: json.dumps(answer).encode() for path, answer in answers.items()}
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Impostor)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with contextlib.closing(server.socket), Browser() as b:
        for place, ready in (("", "#map canvas"), ("gang/a/b", "#gang td"), ("node/n", "#node td")):
            b.open("about:blank")
            b.open(f"http://127.0.0.1:{server.server_port}/#/{place}")
            until(lambda at=ready: b.ask(f"document.querySelector({at!r}) !== null"), 20, lambda: b.complaints)
            if not place:
                until(lambda: b.ask(ROWS) == HOSTILE, 20, lambda: (b.ask(ROWS), b.complaints))
                until(lambda: b.ask("document.querySelectorAll('#gantt .fall').length") == len(HOSTILE), 20, lambda: (text(b, "#starts"), b.complaints))
                becomes(lambda: b.ask("[...document.querySelectorAll('#queues tr')].map(r => r.firstChild.textContent)"), HOSTILE)
                b.ask("{ const at = document.querySelector('#map canvas').getBoundingClientRect(); document.querySelector('#map canvas')."
                      "dispatchEvent(new MouseEvent('mousemove', { clientX: at.x + 2, clientY: at.y + 2 })); }")
                until(lambda: HOSTILE[0] in text(b, "#under"), 10, lambda: text(b, "#under"))
            equal(b.ask("[document.images.length, document.scripts.length, document.querySelectorAll('b b, img, td script').length]"), [0, 1, 0], place)
            check("owned" != b.ask("document.title"), place)
            check(b.ask("[...document.querySelectorAll('a')].every(a => a.getAttribute('href').startsWith('#/'))"), "links leave the page")
        # What is put into the page by another way is not run either.
        b.ask("document.body.appendChild(Object.assign(document.createElement('script'), {textContent: 'document.title = 1'}))")
        until(lambda: b.ask("1") and any("Content Security Policy" in str(x) for x in b.complaints), 10, lambda: b.complaints)
        check(b.ask("document.title") != "1", "it ran")
        server.shutdown()


if __name__ == "__main__":
    main(globals())
