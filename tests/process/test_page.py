# SPDX-License-Identifier: Apache-2.0
"""The page at / and /state.json, by themselves and in a browser."""
import base64
import contextlib
import hashlib
import http.server
import json
import os
import re
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import kube, muster  # noqa: E402
from lib.browser import Browser  # noqa: E402
from lib.cluster import Cluster  # noqa: E402
from lib.harness import check, equal, figure, main, until  # noqa: E402
from lib.objects import gang, node, pod  # noqa: E402

PAGE = muster.ROOT / "frontend" / "serve" / "page.html"


def fetch(c, path, method="GET"):
    """(status, headers, body)"""
    host, port = c.listen.rsplit(":", 1)
    connection = kube.http.client.HTTPConnection(host, int(port), timeout=10)
    with contextlib.closing(connection):
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()


def state(c):
    status, headers, body = fetch(c, "/state.json")
    equal((status, headers["Content-Type"]), (200, "application/json"))
    return json.loads(body)


@contextlib.contextmanager
def cluster():
    with Cluster(*[node(f"n{i}", cpu="8") for i in range(3)], node("n3", unschedulable=True)) as c:
        c.up()
        for group, pods in (gang("small", 2, cpu="4"), gang("big", 5, cpu="6")):
            c.create(group, *pods)
        until(lambda: c.bound("small") == 2, 20, "placed")
        until(lambda: {g["state"] for g in state(c)["gangs"]} == {"Running", "Waiting"}, 10, "all said")
        yield c


def test_state_says_what_musterctl_says():
    with cluster() as c:
        time.sleep(0.6)  # one of before is old then
        got = state(c)
        equal(got["not_ready"], "")
        equal((got["gangs_n"], got["gangs_told"]), (2, 2))
        equal({k: n for k, n in got["states"].items() if n}, {"Waiting": 1, "Running": 1})
        equal(sorted(got["states"]), ["Binding", "Degraded", "Failed", "Finished", "Pending", "Running", "Waiting"])
        told = {g["gang"]: g for g in c.ask_json("gangs")[1]["gangs"]}
        for g in got["gangs"]:
            for field in ("state", "dialect", "quorum", "members", "placed", "priority"):
                equal(g[field], told[g["gang"]][field], (g["gang"], field))
            equal(g.get("reason"), told[g["gang"]].get("reason"), g["gang"])
        equal([g["gang"] for g in got["gangs"]], ["default/big", "default/small"], "those that wait come first")
        cells = got["cells"]
        equal((cells["nodes"], cells["nodes_per_cell"], cells["name"]), (4, 1, ["n0", "n1", "n2", "n3"]))
        nodes = c.ask_json("nodes")[1]["nodes"]
        equal(cells["share"], [1000 * n["used"]["cpu"] // 8000 for n in nodes])
        equal(cells["flags"], [0, 0, 0, 1])
        cpu = next(r for r in cells["resources"] if r["name"] == "cpu")
        equal((cpu["used"], cpu["allocatable"]), (8000, 32000))
        status = c.ask_json("status")[1]
        for name in ("plans", "binds_accepted", "nodes", "pods_pending", "pods_bound"):
            equal(got["figures"][name], status[name], name)


def test_it_is_made_twice_a_second_at_most():
    with cluster() as c:
        start = time.monotonic()
        made = set()
        while time.monotonic() - start < 1.2:
            made.add(state(c)["taken_ms"])
        check(2 <= len(made) <= 4, f"{len(made)} in 1.2 s")


def test_without_a_core():
    with Cluster(node("n")) as c:
        c.pair()
        equal(state(c)["cells"]["nodes"], 1)
        c.core.kill()
        until(lambda: "cells" not in state(c), 10, "it is gone")
        check("core" in state(c)["not_ready"], state(c))


def test_only_get():
    with cluster() as c:
        for path in ("/", "/state.json"):
            equal(fetch(c, path, "POST")[0], 405, path)
            equal(fetch(c, path, "HEAD")[0], 200, path)
        equal(fetch(c, "/page.html")[0], 404)


def test_bounds():
    """More nodes than cells, more gangs than rows."""
    with Cluster(apisim=("--nodes", "9000", "--node-cpu", "8")) as c:
        c.up("--max-nodes", "10000")
        c.create(pod("full", cpu="8"))
        for i in range(230):
            group, pods = gang(f"g{i:03}", 2, cpu="9" if i % 10 else "1", memory="1Mi")
            c.create(group, *pods)
        until(lambda: c.bound() == 47, 30, "bound")
        until(lambda: {k: n for k, n in state(c)["states"].items() if n} == {"Waiting": 207, "Running": 23}, 20,
              lambda: state(c)["states"])
        got = state(c)
        cells = got["cells"]
        equal((cells["nodes"], cells["nodes_per_cell"], len(cells["share"]), len(cells["name"])), (9000, 2, 4500, 4500))
        equal(max(cells["share"]), 1000)
        equal((got["gangs_n"], got["gangs_told"], len(got["gangs"])), (230, 200, 200))
        equal({g["state"] for g in got["gangs"]}, {"Waiting"})
        check("Insufficient cpu" in got["gangs"][0]["reason"], got["gangs"][0])
        time.sleep(0.6)
        start = time.monotonic()
        body = fetch(c, "/state.json")[2]
        figure(f"/state.json of 9,000 nodes and 230 gangs: {len(body)} bytes in {(time.monotonic() - start) * 1e3:.1f} ms")
        check(len(body) < 2 << 20, len(body))


def test_the_page_and_its_policy():
    with cluster() as c:
        status, headers, body = fetch(c, "/")
        equal((status, headers["Content-Type"]), (200, "text/html; charset=utf-8"))
        equal(body, PAGE.read_bytes(), "it is what was compiled in")
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

ROWS = "[...document.querySelectorAll('#gangs tr')].map(r => r.children[0].textContent)"
STATE = "document.getElementById('state').textContent"


def test_browser_shows_the_cluster():
    with cluster() as c, Browser() as b:
        b.open(f"http://{c.listen}/")
        until(lambda: b.ask(ROWS) == ["default/big", "default/small"], 20, lambda: (b.ask(ROWS), b.complaints))
        equal(b.ask(STATE), "in step with the cluster")
        check("Insufficient cpu" in b.ask("document.querySelector('td.why').textContent"), "the reason")
        equal(b.ask("document.getElementById('states').textContent"), "0 pending, 1 waiting, 0 binding, 1 running, 0 finished, 0 failed, 0 degraded")
        check(b.ask("document.getElementById('map').height") >= 4, "the map is drawn")
        until(lambda: b.ask("document.querySelectorAll('.tile b')[1].textContent") not in ("", "–"), 10, "rates")
        # Sorted by name, then filtered.
        b.ask("document.querySelectorAll('#heads button')[0].click()")
        b.ask("document.querySelectorAll('#heads button')[0].click()")
        equal(b.ask(ROWS), ["default/small", "default/big"])
        b.ask("document.getElementById('waiting').click()")
        equal(b.ask(ROWS), ["default/big"])
        # It follows.
        group, pods = gang("more", 3, cpu="7")
        c.create(group, *pods)
        until(lambda: b.ask(ROWS) == ["default/more", "default/big"], 10, lambda: b.ask(ROWS))
        equal(b.complaints, [])
        equal({url for url in b.requests if not url.startswith((f"http://{c.listen}/", "data:"))}, set())
        # And reports a missing response.
        c.ctl.stop()
        until(lambda: b.ask(STATE).startswith("no answer"), 10, lambda: b.ask(STATE))


HOSTILE = ["<img src=x onerror=document.title='owned'>", "</script><script>document.title='owned'</script>",
           "\"'><b>bold</b>", "&lt;i&gt;", "javascript:alert(1)", "\u202egnag", "x" * 500]


class Impostor(http.server.BaseHTTPRequestHandler):
    """The page and its headers as muster sends them, with data that muster would not send."""
    page = policy = answer = None

    def do_GET(self):
        self.send_response(200)
        body = self.page if self.path == "/" else self.answer
        self.send_header("Content-Type", "text/html; charset=utf-8" if self.path == "/" else "application/json")
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
        answer = state(c)
    for list_of in (answer["cells"]["name"], answer["cells"]["resources"]):
        list_of.clear()
    answer["cells"]["name"] += HOSTILE
    answer["cells"]["resources"] += [{"name": name, "used": 1, "allocatable": 2} for name in HOSTILE]
    answer["not_ready"] = answer["reserved_for"] = answer["version"] = HOSTILE[0]
    answer["gangs"] = [{**answer["gangs"][0], "gang": name, "dialect": name, "reason": name, "state": name} for name in HOSTILE]
    Impostor.answer = json.dumps(answer).encode()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Impostor)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with contextlib.closing(server.socket), Browser() as b:
        b.open(f"http://127.0.0.1:{server.server_port}/")
        until(lambda: b.ask(ROWS) == HOSTILE, 20, lambda: (b.ask(ROWS), b.complaints))
        b.ask("document.getElementById('map').dispatchEvent(new MouseEvent('mousemove', "
              "{clientX: document.getElementById('map').getBoundingClientRect().x + 2, "
              "clientY: document.getElementById('map').getBoundingClientRect().y + 2}))")
        said = b.ask("document.getElementById('under').textContent")
        check(HOSTILE[0] in said, said)
        equal(b.ask("[document.title, document.images.length, document.scripts.length, document.querySelectorAll('td *').length]"),
              ["muster", 0, 1, 0])
        # What is put into the page by another way is not run either.
        b.ask("document.body.appendChild(Object.assign(document.createElement('script'), {textContent: 'document.title = 1'}))")
        equal(b.ask("document.title"), "muster")
        check(any("Content Security Policy" in str(x) for x in b.complaints), b.complaints)
        server.shutdown()


if __name__ == "__main__":
    main(globals())
