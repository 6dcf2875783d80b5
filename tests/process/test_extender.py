# SPDX-License-Identifier: Apache-2.0
"""Another scheduler next to muster on one ledger: the extender endpoints, with a scheduler of the test's own
that has no more information than kube-scheduler, and that calls them before it binds."""
import http.client
import json
import os
import random
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import load, objects  # noqa: E402
from lib.check import is_bound  # noqa: E402
from lib.cluster import Cluster  # noqa: E402
from lib.harness import becomes, check, equal, figure, main, until  # noqa: E402
from lib.kube import ApiError  # noqa: E402
from lib.objects import pod_group  # noqa: E402
from lib.proxy import Proxy  # noqa: E402


class Asker:
    """One keep-alive connection, as kube-scheduler uses it."""

    def __init__(self, c):
        self.address = c.listen.rsplit(":", 1)
        self.connection = None

    def post(self, path, body):
        """(status, text)"""
        if self.connection is None:
            self.connection = http.client.HTTPConnection(self.address[0], int(self.address[1]), timeout=60)
        self.connection.request("POST", path, body if isinstance(body, str) else json.dumps(body),
                                {"Content-Type": "application/json"})
        answer = self.connection.getresponse()
        return answer.status, answer.read().decode()

    def ask(self, verb, pod, **nodes):
        status, text = self.post(verb, {"Pod": pod, "Nodes": None, "NodeNames": None, **nodes})
        equal(status, 200, text)
        return json.loads(text)


def known(c):
    """muster has seen each pod: it answers no question about one that it doesn't know after 2 s."""
    n = len(c.pods())
    until(lambda: c.metric("muster_objects_pods") >= n, 30, f"{n} pods are known")


def theirs(c, name, cpu="1", **rest):
    c.create(objects.pod(name, cpu=cpu, memory="1Gi", scheduler="default-scheduler", **rest))
    known(c)
    return c.client.get("Pod", name)


def up(c, keep_s=30):
    c.pair(frontend=("--extender-keep", str(keep_s)))
    return Asker(c)


def test_one_node_and_its_room():
    with Cluster(*(objects.node(f"n{i}", cpu="4") for i in range(3))) as c:
        asker = up(c, keep_s=3)
        pod = theirs(c, "theirs", cpu="3")
        begun = time.monotonic()
        got = asker.ask("/filter", pod, NodeNames=["n2", "n1"])
        equal(got, {"Nodes": None, "NodeNames": ["n1"], "FailedNodes": {}, "FailedAndUnresolvableNodes": {}, "Error": ""})
        # Scores give the same node, and reserve nothing.
        equal(asker.ask("/prioritize", pod, NodeNames=["n2", "n1"]), [{"Host": "n2", "Score": 0}, {"Host": "n1", "Score": 10}])
        # A gang that needs all three nodes waits while the capacity is reserved ...
        c.create(pod_group("g", 3), *(objects.pod(f"g-{i}", cpu="4", group="g") for i in range(3)))
        time.sleep(1)
        check(c.bound("g") == 0 or time.monotonic() > begun + 3, "the reservation was not kept")
        # ... and has it when nothing comes of it.
        until(lambda: c.bound("g") == 3, 10, "the gang bound")
        got = asker.ask("/filter", pod, NodeNames=["n0", "n1", "n2"])
        equal((got["NodeNames"], sorted(got["FailedNodes"]), got["Error"]), ([], ["n0", "n1", "n2"], ""))
        check(not c.wrongs(), c.wrongs())


def test_whole_nodes():
    with Cluster(objects.node("n0", cpu="2"), objects.node("n1", cpu="4")) as c:
        asker = up(c)
        nodes = [c.client.get("Node", name, None) for name in ("n0", "n1")]
        got = asker.ask("/filter", theirs(c, "theirs", cpu="3"), Nodes={"metadata": {}, "items": nodes})
        equal((got["Nodes"]["items"], got["NodeNames"], got["Error"]), (nodes[1:], None, ""))


def test_questions_that_can_not_be_answered():
    with Cluster(objects.node("n0")) as c:
        asker = up(c)
        pod = theirs(c, "theirs")
        equal(asker.post("/filter", "{\"Pod\":7}"), (400, "Pod: 7 is a number, not an object\n"))
        equal(asker.post("/filter", "")[0], 400)
        equal(asker.post("/bind", "{}")[0], 405)
        pod["metadata"]["uid"] = "another"
        equal(asker.ask("/filter", pod, NodeNames=["n0"])["Error"], "muster does not know the pod yet")
        c.create(objects.pod("ours", cpu="100"))
        known(c)
        equal(asker.ask("/filter", c.client.get("Pod", "ours"), NodeNames=["n0"])["Error"], "muster places this pod itself")
        equal(c.metric("muster_extender_answers_total"), 2)
    with Cluster(objects.node("n0")) as c:
        c.pair()
        equal(Asker(c).post("/filter", "{}")[0], 405)


def test_a_core_that_dies_while_it_is_asked():
    with Cluster(objects.node("n0", cpu="2")) as c:
        asker = up(c)
        pod = theirs(c, "theirs")
        c.core.kill()
        answers = []
        thread = threading.Thread(target=lambda: answers.append(asker.ask("/filter", pod, NodeNames=["n0"])))
        thread.start()
        c.start_core()
        thread.join()
        check(answers[0]["NodeNames"] == ["n0"] or answers[0]["Error"] == "muster-core is not ready", answers)
        until(lambda: asker.ask("/filter", pod, NodeNames=["n0"])["NodeNames"] == ["n0"], 10, "an answer")


JOURNAL = ("ConfigMap", "muster-journal", "muster-system")


def lines(c):
    return c.client.get(*JOURNAL)["data"]["intents"]


def given_away_and_killed(c, *which, keep_s=6):
    """theirs has the answer n1, and these die at once; a pod of ours wants the same room."""
    asker = up(c, keep_s)
    pod = theirs(c, "theirs", cpu="4")
    equal(asker.ask("/filter", pod, NodeNames=["n1"])["NodeNames"], ["n1"])
    for name in which:
        getattr(c, name).kill()
    c.create(objects.pod("ours", cpu="4"))


def test_f8_both_daemons_die_and_the_binding_is_slow():
    """Audit F8: kube-scheduler's Binding found a pod of ours on the node."""
    for _ in range(3):
        with Cluster(objects.node("n1", cpu="4")) as c:
            given_away_and_killed(c, "core", "frontend", keep_s=30)
            up(c, keep_s=30)
            time.sleep(3)
            c.client.bind("theirs", "n1")
            time.sleep(1)
            equal(c.bound("ours"), 0)
            check(not c.wrongs(), c.wrongs())
            until(lambda: lines(c) == "", 5, "an empty journal")
            c.delete("Pod", "theirs")
            until(lambda: c.bound("ours") == 1, 10, "ours has the room")


def test_f8_both_daemons_die_and_no_binding_comes():
    with Cluster(objects.node("n1", cpu="4")) as c:
        given_away_and_killed(c, "core", "frontend")
        check(f"assume {c.client.get('Pod', 'theirs')['metadata']['uid']} n1 " in lines(c), lines(c))
        begun = time.monotonic()
        up(c, keep_s=6)
        ready = time.monotonic()
        until(lambda: c.bound("ours") == 1, 20, "ours has the room")
        now = time.monotonic()
        check(6 <= now - begun and now - ready < 12, now - begun, now - ready)
        until(lambda: lines(c) == "", 5, "an empty journal")
        check(not c.wrongs(), c.wrongs())


def test_f8_one_daemon_dies():
    """The time goes on with another core, and begins again with another frontend."""
    for which in ("core", "frontend"):
        with Cluster(objects.node("n1", cpu="4")) as c:
            begun = time.monotonic()
            given_away_and_killed(c, which, keep_s=5)
            if which == "core":
                c.core = c.start_core()
            else:
                up(c, keep_s=5)
            ready = time.monotonic()
            until(lambda: c.bound("ours") == 1, 20, "ours has the room")
            now = time.monotonic()
            check(5 <= now - begun and now - ready < 11, which, now - begun, now - ready)


def test_a_journal_that_cannot_be_written_reserves_nothing():
    """The pods have answers, as beyond --extender-reservations-max."""
    with Cluster(*(objects.node(f"n{i}", cpu="4") for i in (1, 2))) as c, Proxy(c.kubeconfig, c.folder) as proxy:
        c.start_core()
        c.frontend = c.start_frontend("--extender-keep", "30", kubeconfig=proxy.kubeconfig)
        c.ready(c.frontend)
        asker = Asker(c)
        pods = [theirs(c, f"theirs-{i}", cpu="4") for i in range(3)]
        no = proxy.rule(lambda call: call.resource == "configmaps" and call.name == "muster-journal",
                        lambda call: call.status(403, "configmaps is forbidden", "Forbidden"))

        def ask(pod):
            begun = time.monotonic()
            got = asker.ask("/filter", pod, NodeNames=["n1", "n2"])
            check(time.monotonic() - begun < 1.5, "an answer that waits for nothing")
            equal(got["Error"], "")
            return got["NodeNames"]

        # With the first one the journal is found to be at fault; its reservation ends with the processes.
        equal([ask(p) for p in pods], [["n1"], ["n2"], ["n2"]])
        becomes(lambda: c.metrics()['muster_extender_unreserved_total{reason="journal"}'], 3, "answers without a reservation")
        proxy.remove(no)
        until(lambda: c.metric("muster_journal_writable") == 1, 15, "a journal")
        equal([ask(p) for p in pods[1:]], [["n2"], []])
        uids = {p["metadata"]["uid"] for p in pods[:2]}
        equal({line.split()[1] for line in lines(c).splitlines()}, uids)


def test_what_the_journal_costs():
    """A scheduler that asks for one pod after another, and binds each as kube-scheduler does: beside the next question."""
    took, writes = {}, 0
    for mode in ("on", "off"):
        with Cluster(*(objects.node(f"n{i}", cpu="64") for i in range(20)), apisim=("--latency-ms", 1)) as c:
            c.pair(frontend=("--extender-keep", "30", *(() if mode == "on" else ("--journal", "off"))))
            asker, names = Asker(c), [f"n{i}" for i in range(20)]
            c.create(*(objects.pod(f"theirs-{i}", scheduler="default-scheduler") for i in range(300)))
            known(c)
            pods = [c.client.get("Pod", f"theirs-{i}") for i in range(300)]
            before = c.metric("muster_journal_writes_total") if mode == "on" else 0
            each, binders = [], []
            for pod in pods:
                begun = time.monotonic()
                got = asker.ask("/filter", pod, NodeNames=names)
                each.append(time.monotonic() - begun)
                binders.append(threading.Thread(target=type(c.client)(c.kubeconfig).bind,
                                                args=(pod["metadata"]["name"], got["NodeNames"][0])))
                binders[-1].start()
            for thread in binders:
                thread.join()
            took[mode] = sorted(each)
            if mode == "on":
                writes = c.metric("muster_journal_writes_total") - before
                until(lambda: lines(c) == "", 5, "an empty journal")
            check(not c.wrongs(), c.wrongs())
    figure("an answer of /filter takes " +
           ", ".join(f"{t[len(t) // 2] * 1e3:.1f} ms (99 of 100: {t[len(t) * 99 // 100] * 1e3:.1f} ms) with the journal {mode}"
                     for mode, t in took.items()) + f"; {writes / 300:.2f} writes of the journal for each pod")


class Scheduler(threading.Thread):
    """It sees what is bound, and nothing of what muster is about to bind."""

    def __init__(self, c, names, seed):
        super().__init__()
        self.c, self.asker, self.names, self.random = c, Asker(c), names, random.Random(seed)
        self.bound = 0

    def run(self):
        client = type(self.c.client)(self.c.kubeconfig)
        left = list(self.names)
        begun = time.monotonic()
        while left and (time.monotonic() < begun + 6 or (self.c.bound() < 156 and time.monotonic() < begun + 90)):
            name = left.pop(0)
            got = self.asker.ask("/filter", client.get("Pod", name), NodeNames=[f"n{i}" for i in range(20)])
            if not got["NodeNames"]:
                left.append(name)
                time.sleep(0.02)
                continue
            time.sleep(self.random.uniform(0, 0.01))  # as long as its own binding cycle takes
            try:
                client.bind(name, got["NodeNames"][0])
                self.bound += 1
            except ApiError as error:
                check(False, name, error)


def test_two_schedulers_fill_a_cluster():
    """No node is given away twice, and no gang is broken."""
    seed = load.seed()
    with Cluster(*(objects.node(f"n{i}", cpu="8") for i in range(20))) as c:
        up(c)
        c.create(*(objects.pod(f"theirs-{i}", scheduler="default-scheduler") for i in range(60)))
        known(c)
        threads = [Scheduler(c, [f"theirs-{i}" for i in range(k, 60, 3)], seed + k) for k in range(3)]
        for t in threads:
            t.start()
        for g in range(25):
            c.create(pod_group(f"g{g:02}", 5), *(objects.pod(f"g{g:02}-{i}", cpu="1", group=f"g{g:02}") for i in range(5)))
        for t in threads:
            t.join()
        until(lambda: c.bound() >= 156, 20, "a full cluster")
        gangs = {g: c.bound(f"g{g:02}") for g in range(25)}
        check(set(gangs.values()) <= {0, 5}, gangs)
        equal(sum(is_bound(p) for p in c.pods("theirs")), sum(t.bound for t in threads))
        check(not c.wrongs(), c.wrongs())


if __name__ == "__main__":
    main(globals())
