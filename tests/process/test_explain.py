# SPDX-License-Identifier: Apache-2.0
"""musterctl explain is correct: after the change that it suggests the gang starts, after half of it the
gang does not.  Checked by `musterctl simulate` on files that this test changes itself."""
import calendar
import contextlib
import copy
import http.client
import http.server
import itertools
import json
import os
import pty
import random
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import kube, load, muster, objects  # noqa: E402
from lib.cluster import Cluster, run  # noqa: E402
from lib.harness import check, equal, eventually, figure, main, until  # noqa: E402
from lib.objects import pod_group  # noqa: E402

WANTED = 200  # gangs that wait
FOLDER = muster.scratch("muster-explain-")


def seconds(text):
    return calendar.timegm(time.strptime(text, "%Y-%m-%dT%H:%M:%SZ"))


def stamp(at):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))


def saved(made, name="objects.json"):
    path = os.path.join(FOLDER, name)
    load.save(path, made)
    return path


def starts(made, gang):
    """The result of simulate."""
    code, out, err = run("musterctl", "simulate", "-f", saved(made, "changed.json"), "-o", "json")
    check(code in (0, 1), code, err)
    return {g["gang"]: g["state"] for g in json.loads(out)["gangs"]}[gang] == "Running"


def cluster(rng):
    """Nodes of three types, partly full, some pods with a known end, and gangs that need more than is free."""
    zones = ["a", "b", "c"]
    nodes = [objects.node(f"small-{i}", cpu="8", labels={"zone": rng.choice(zones)}) for i in range(rng.randrange(2, 6))]
    nodes += [objects.node(f"big-{i}", cpu="32", gpu="4", labels={"zone": rng.choice(zones)}) for i in range(rng.randrange(1, 4))]
    nodes += [objects.node(f"odd-{i}", cpu="16", taints=[{"key": "odd", "effect": "NoSchedule"}]) for i in range(2)]
    made, start = list(nodes), 1_700_000_000
    for i in range(rng.randrange(4, 14)):
        on = rng.choice(nodes)
        p = objects.pod(f"runs-{i}", cpu=str(rng.choice([1, 2, 4])), memory="256Mi", nodeName=on["metadata"]["name"])
        p["metadata"]["creationTimestamp"] = stamp(start)
        if rng.random() < 0.6:
            p["spec"]["activeDeadlineSeconds"] = rng.randrange(600, 90000)
        p["status"] = {"phase": "Running", "startTime": stamp(start + i)}
        made.append(p)
    for g in range(rng.randrange(4, 8)):
        size, name = rng.choice([2, 3, 5, 8]), f"g{g}"
        group = pod_group(name, size)
        group["metadata"]["creationTimestamp"] = stamp(start + 1000 + rng.randrange(100))
        made.append(group)
        extra = {}
        if rng.random() < 0.3:
            extra["requests"] = {"nvidia.com/gpu": str(rng.choice([1, 2]))}
        if rng.random() < 0.3:
            extra["nodeSelector"] = {"zone": rng.choice(zones)}
        if rng.random() < 0.2:
            extra["tolerations"] = [{"key": "odd", "operator": "Exists"}]
        if rng.random() < 0.2:
            extra["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": name}}}]}}
        for i in range(size):
            p = objects.pod(f"{name}-{i}", group=name, cpu=str(rng.choice([2, 4, 6])), memory="256Mi",
                            priority=rng.choice([0, 0, 100]), labels={"app": name}, **copy.deepcopy(extra))
            p["metadata"]["creationTimestamp"] = stamp(start + 1000)
            made.append(p)
    return made


def more(made, like, n):
    model = next(o for o in made if o["kind"] == "Node" and o["metadata"]["name"] == like)
    out = []
    for i in range(n):
        node = copy.deepcopy(model)
        node["metadata"]["name"] = node["metadata"]["labels"]["kubernetes.io/hostname"] = f"{like}-new-{i}"
        out.append(node)
    return made + out


def without(made, pods):
    return [o for o in made if o["kind"] != "Pod" or f'default/{o["metadata"]["name"]}' not in pods]


def nothing_helps(made, said):
    """Each bound that is printed is one at which it still waits."""
    running = [f'default/{o["metadata"]["name"]}' for o in made if o["kind"] == "Pod" and o["spec"].get("nodeName")]
    equal(said["ends_tried"], len(running))
    check(not starts(without(made, running), said["gang"]), "starts when all have ended", said)
    for like in {o["metadata"]["name"].rsplit("-", 1)[0]: o["metadata"]["name"] for o in made if o["kind"] == "Node"}.values():
        check(not starts(more(made, like, said["nodes_tried"]), said["gang"]), "starts with more", like, said)


def done(made, gang, help):
    """The objects after the suggested change; and after half of it, or None."""
    if help["kind"] == "nodes":
        return more(made, help["like"], help["count"]), more(made, help["like"], help["count"] // 2)
    if help["kind"] == "priority":
        first = copy.deepcopy(made)
        for o in first:
            if o["kind"] == "Pod" and o["metadata"]["labels"].get(objects.GROUP_LABEL) == gang.split("/")[1]:
                o["spec"]["priority"] = 2_000_000_000
        return first, None
    if help["kind"] == "ends":
        return without(made, help["pods"]), without(made, help["pods"][:-1])
    by = seconds(help["by"])

    def left(at):
        ends = {o["metadata"]["name"]: seconds(o["status"]["startTime"]) + o["spec"]["activeDeadlineSeconds"]
                for o in made if o["kind"] == "Pod" and "activeDeadlineSeconds" in o["spec"]}
        return [o for o in made if ends.get(o["metadata"]["name"], at + 1) > at]

    return left(by), left(by - 1)


def explained(path, gang, *flags):
    code, out, err = run("musterctl", "explain", "-f", path, "-o", "json", *flags, gang)
    check(code in (0, 1), code, err)
    return code, json.loads(out)


def test_what_it_says_would_help_does_and_half_of_it_does_not():
    rng, seen, kinds = random.Random(load.seed()), 0, {}
    while seen < WANTED:
        made = cluster(rng)
        path = saved(made)
        code, out, _ = run("musterctl", "simulate", "-f", path, "-o", "json")
        for g in json.loads(out)["gangs"]:
            if g["state"] == "Running" or seen == WANTED:
                continue
            seen += 1
            code, said = explained(path, g["gang"])
            equal((code, said["state"], said["reason"]), (1, g["state"], g["reason"]))
            if not said["help"]:
                kinds["nothing"] = kinds.get("nothing", 0) + 1
                nothing_helps(made, said)
            for help in said["help"]:
                kinds[help["kind"]] = kinds.get(help["kind"], 0) + 1
                whole, half = done(made, g["gang"], help)
                check(starts(whole, g["gang"]), g["gang"], "does not start with", help)
                check(half is None or not starts(half, g["gang"]), g["gang"], "starts with half of", help)
    figure(f"{seen} waiting gangs, helps tried: {kinds}")
    check(all(kinds.get(k, 0) >= 10 for k in ("nodes", "priority", "time", "ends")), kinds)


def test_a_long_queue_before_it():
    """Eight nodes for each member were too few: more gangs wait before it than that."""
    made = [objects.node(f"n{i}", cpu="8") for i in range(2)]
    gangs = [f"q{i}" for i in range(20)] + ["z-mine"]
    for i in range(2):
        made.append(objects.pod(f"runs-{i}", cpu="8", memory="256Mi", nodeName=f"n{i}"))
        made[-1]["status"] = {"phase": "Running"}
        made[-1]["metadata"]["creationTimestamp"] = stamp(1_700_000_000 + i)
    for at, name in enumerate(gangs):
        made.append(pod_group(name, 2))
        made[-1]["metadata"]["creationTimestamp"] = stamp(1_700_001_000 + at)
        made += [objects.pod(f"{name}-{i}", group=name, cpu="8", memory="256Mi") for i in range(2)]
    path = saved(made)
    equal(explained(path, "default/z-mine")[1]["help"], [{"kind": "nodes", "like": "n0", "count": 42}])
    equal([(h["kind"], h.get("pods")) for h in explained(path, "default/q0")[1]["help"]],
          [("nodes", None), ("ends", ["default/runs-0", "default/runs-1"])])
    for o in made:
        if o["kind"] == "Pod" and o["metadata"]["name"].startswith("z-mine"):
            o["spec"]["nodeSelector"] = {"disk": "none"}
    code, out, err = run("musterctl", "explain", "-f", saved(made), "default/z-mine")
    equal((code, err), (1, ""))
    check("not even 42 more nodes of any class,\nnot a priority above all others, not the end of all 2 pods that run and may end." in out, out)
    for o in made:
        if o["metadata"]["name"].startswith("runs-"):
            o["metadata"]["ownerReferences"] = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "r", "controller": True}]
    out = run("musterctl", "explain", "-f", saved(made), "default/z-mine")[1]
    check("not a priority above all others, and no pod runs that may end." in out, out)


def simple():
    nodes = [objects.node(f"n{i}", cpu="4") for i in range(2)]
    group = pod_group("train", 4)
    return nodes + [group] + [objects.pod(f"train-{i}", group="train", cpu="3") for i in range(4)]


def test_numbers_and_what_ifs():
    path = saved(simple())
    code, said = explained(path, "default/train")
    equal((code, said["quorum"], said["members"], said["placed"], said["need"], said["fit"]), (1, 4, 4, 0, 4, 2))
    equal(said["shortfall"], [{"resource": "cpu", "unit": "milli", "need": 12000, "have": 6000}])
    equal(said["rules"], [{"reason": "Insufficient cpu", "nodes": 2}])
    equal(said["help"], [{"kind": "nodes", "like": "n0", "count": 2}])
    equal((said["starts_now"], said["kinds_cut"]), (False, False))
    many = simple() + [objects.node(f"tiny-{i}", cpu=f"{i + 1}m") for i in range(12)]
    equal(explained(saved(many, "many.json"), "default/train")[1]["kinds_cut"], True)
    equal(explained(path, "default/train", "--add-node", "2xn1")[0], 0)
    equal(explained(path, "default/train", "--add-node", "1xn1")[0], 1)
    _, out, _ = run("musterctl", "explain", "-f", path, "--add-node", "1xn1", "default/train")
    check("\nWith 1 more node like n1 it waits.\n" in out, out)
    check("3 of 4 members have room" in out and "would let it start" not in out, out)
    said = explained(path, "default/train", "--add-node", "1xn1")[1]
    equal((said["what_if"], said["answer"], said["starts_without"], said["places"]), (["nodes=1xn1"], "waits", False, []))
    _, out, _ = run("musterctl", "explain", "-f", path, "--add-node", "2xn1", "--priority", "7", "default/train")
    check("\nWith 2 more nodes like n1 and priority 7 it starts; without, it waits.\n  n0: 1\n  n1: 1\n" in out, out)
    said = explained(path, "default/train", "--add-node", "20xn1")[1]
    equal((said["what_if"], said["answer"], said["starts_without"]), (["nodes=20xn1"], "starts", False))
    equal(sum(p["members"] for p in said["places"]), 4)
    fits = saved([objects.node("n0", cpu="64")] + simple()[1:], "fits.json")
    equal(explained(fits, "default/train", "--priority", "-3")[1]["starts_without"], True)
    _, out, _ = run("musterctl", "explain", "-f", fits, "--add-node", "1xn1", "default/train")
    check("it starts, as it does without.\n" in out, out)
    code, out, _ = run("musterctl", "explain", "-f", path, "default/train")
    equal(code, 1)
    check("2 more nodes like n0" in out and "2 of 4 members have room" in out, out)


def test_priority():
    group = pod_group("late", 2)
    made = simple()[:2] + [pod_group("early", 2)]
    for name, created in (("early", 1), ("late", 2)):
        made += [objects.pod(f"{name}-{i}", group=name, cpu="3", priority=5) for i in range(2)]
        for o in (made[-1], made[-2]):
            o["metadata"]["creationTimestamp"] = stamp(1_700_000_000 + created)
    path = saved(made + [group])
    said = explained(path, "default/late")[1]
    equal(said["before"], ["default/early"])
    check([(h["kind"], h["instead_of"], h["instead_of_pods"]) for h in said["help"] if "instead_of" in h] == [("priority", ["default/early"], 0)], said["help"])
    equal(explained(path, "default/late", "--priority", "6")[0], 0)
    equal(explained(path, "default/late", "--priority", "5")[0], 1)
    equal(explained(path, "default/early")[0], 0)


def test_a_live_cluster():
    with Cluster(*simple()) as c:
        code, out, err = run("musterctl", "explain", "--kubeconfig", c.kubeconfig, "-o", "json", "default/train")
        equal(code, 1, err)
        said = json.loads(out)
        equal(said["help"], [{"kind": "nodes", "like": "n0", "count": 2}])
        check("2 of 4 members have room" in said["reason"], said)
        # What waits for another scheduler is not before it.
        c.create(kube.priority_class("high", 9), pod_group("other", 2),
                 *(objects.pod(f"other-{i}", cpu="8", scheduler="other", group="other", priorityClassName="high") for i in range(2)),
                 objects.pod("lone", cpu="8", scheduler="other"))
        server = ("explain", "--kubeconfig", c.kubeconfig, "-o", "json")
        code, out, err = run("musterctl", *server, "default/train")
        equal((code, json.loads(out)), (1, said), err)
        code, out, err = run("musterctl", *server, "default/other")
        check(code == 1 and "of another scheduler" in json.loads(out)["reason"], code, out, err)
        code, out, err = run("musterctl", *server, "default/lone")
        equal((code, out), (2, ""))
        check("default/lone: there is no such gang or pod of this scheduler (--scheduler-name)" in err, err)
        equal(run("musterctl", *server, "--scheduler-name", "other", "default/other")[0], 1)
        code, out, err = run("musterctl", *server, "--scheduler-name", "other", "--scheduler-name", "muster", "default/train")
        equal((code, json.loads(out)["before"]), (1, ["default/other"]), err)
        c.create(objects.node("n2", cpu="8"))
        equal(run("musterctl", "explain", "default/train", env={"KUBECONFIG": str(c.kubeconfig)})[0], 0)
        c.apisim.stop()
        code, _, err = run("musterctl", "explain", "--kubeconfig", c.kubeconfig, "default/train")
        equal(code, 2)
        check("/api/v1/nodes?limit=500: " in err and "limit=500: 0 " not in err, err)
        check(f"127.0.0.1:{c.apisim.port}/api" in err and f"{c.kubeconfig})" in err, err)


@contextlib.contextmanager
def server_of(pages):
    """An API server whose lists of nodes have this metadata, each the next, and a kubeconfig for it."""
    class Lists(http.server.BaseHTTPRequestHandler):
        def log_message(self, *_):
            pass

        def do_GET(self):
            nodes = self.path.startswith("/api/v1/nodes")
            body = json.dumps({"kind": "NodeList" if nodes else "List", "apiVersion": "v1", "items": [],
                               "metadata": next(pages) if nodes else {}}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Lists) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        path = os.path.join(FOLDER, "kubeconfig")
        with open(path, "w") as f:
            json.dump({"apiVersion": "v1", "kind": "Config", "current-context": "c", "users": [{"name": "c", "user": {}}],
                       "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{server.server_port}"}}],
                       "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}]}, f)
        yield path
        server.shutdown()


def test_pages_that_make_no_sense():
    again = "names a page that has come before"
    for tokens, said in ((["x" * 3000], "longer than 2047 bytes"), ([5], "not a text"), (["again"], again),
                         (["a", "b"], again), (["a", "b", "c", "d", "e", "c"], again)):
        with server_of({"continue": t} for t in itertools.cycle(tokens)) as path:
            code, out, err = run("musterctl", "explain", "--kubeconfig", path, "default/train")
        equal((code, out), (2, ""))
        check("/api/v1/nodes?limit=500" in err and f"metadata.continue: {said}" in err, err)


def told_live(c, gang, *flags):
    """The scheduler's own state, with the API server given by flags only."""
    code, out, err = run("musterctl", "explain", "--socket", c.socket, "-o", "json", *flags, gang,
                         env={"KUBECONFIG": "/nowhere"})
    check(code in (0, 1) and out, code, err)
    return code, json.loads(out)


def verdicts(c, *pods):
    """Of verdict --live, and of verdict on the API server's objects: exit code and JSON of each."""
    path = os.path.join(c.folder, "objects.json")
    kinds = {kind: {"apiVersion": version, "kind": kind} for kind, version in
             (("Node", "v1"), ("Namespace", "v1"), ("PodGroup", pod_group("g", 1)["apiVersion"]), ("Pod", "v1"))}
    load.save(path, [{**kinds[kind], **o} for kind in kinds for o in c.client.list(kind)])
    code, live = c.ask_json("verdict", "--live", *pods)
    offline = run("musterctl", "verdict", "-f", path, "-o", "json", *[flag for pod in pods for flag in ("--pod", pod)])
    equal(offline[2], "")
    return (code, live), (offline[0], json.loads(offline[1]))


def live_verdicts(c):
    """Without reservations verdict --live says what verdict says of the same objects, in JSON and as a table."""
    live, offline = verdicts(c, "default/train-0", "default/first-0")
    equal(live, offline)
    equal([n["feasible"] for n in live[1][0]["nodes"]], [True, True, False])
    code, text, _ = c.ask("verdict", "--live", "default/train-0")
    path = os.path.join(c.folder, "objects.json")
    equal((code, text), run("musterctl", "verdict", "-f", path, "--pod", "default/train-0")[:2])
    for arguments, code, words in ((("default/none",), 1, "there is no pod default/none"), (("train-0",), 2, "not of the form NS/NAME"),
                                   (("default/train-0", "--score", "pack"), 2, "goes without --score"), ((), 2, "--pod NS/NAME is missing")):
        said = c.ask("verdict", "--live", *arguments)
        check(said[0] == code and not said[1] and words in said[2], arguments, said)
    check("--socket goes with --live" in c.ask("verdict", "-f", path, "--pod", "default/train-0")[2])
    verdicts_of_files(c, path)


def pods_of_files():
    """Pods that the cluster does not have; each with what it is about."""
    def near(kind, key, app):
        term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key}
        return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}

    spread = [{"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway",
               "labelSelector": {"matchLabels": {"app": "new"}}}]
    for name, spec in (("plain", {}), ("apart", near("podAntiAffinity", "kubernetes.io/hostname", "new")), ("near", near("podAffinity", "kubernetes.io/hostname", "new")),
                       ("nobody", near("podAffinity", "kubernetes.io/hostname", "nobody")), ("spread", {"topologySpreadConstraints": spread}),
                       ("nowhere", {"nodeSelector": {"disk": "none has it"}}), ("tolerant", {"tolerations": [{"operator": "Exists"}]})):
        pod = objects.pod(name, cpu="2", scheduler="some-other-one")
        pod["metadata"]["labels"] = {"app": "new"}
        pod["spec"].update(spec)
        yield pod
    pod = objects.pod("absent", cpu="1")
    pod["spec"]["containers"][0]["resources"]["requests"]["example.com/none"] = 3
    yield pod


def verdicts_of_files(c, path):
    """verdict --live -f FILE says of a pod that the cluster does not have what verdict says of the same objects, and stores nothing."""
    with open(path) as f:
        cluster = json.load(f)["items"]
    of = os.path.join(c.folder, "pod.json")
    for pod in pods_of_files():
        name = pod["metadata"]["name"]
        load.save(of, [pod])
        load.save(path, [*cluster, pod])
        for output in ((), ("-o", "json")):
            live = c.ask("verdict", "--live", "-f", of, "--listen", c.listen, *output)
            equal(live, run("musterctl", "verdict", "-f", path, "--pod", f"default/{name}", *output), name)
    text = live[1]
    check("Insufficient example.com/none" in text, text)
    pod_files_that_are_none(c, of)
    check("default/plain" not in c.ask("gangs", "-o", "json")[1])


def pod_files_that_are_none(c, of):
    plain = next(pods_of_files())
    there = objects.pod("train-0", cpu="2")
    void = objects.pod("void", cpu="many")
    odd = objects.pod("odd", cpu="2")
    odd["spec"]["tolerations"] = [{"operator": "Gt", "key": "k", "value": "1"}]
    claims = objects.pod("claims", cpu="2")
    claims["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": "mine"}]
    bound = objects.pod("bound", cpu="2", nodeName="n0")
    for items, code, words in (
            ([objects.node("n9", cpu="1")], 2, "there is no pod in the files"),
            ([plain, objects.pod("second", cpu="1")], 2, "Pod default/second is one more pod"),
            ([there], 2, "Pod default/train-0: metadata.name: the cluster has a pod of this name"),
            ([void], 2, 'Pod default/void: spec.containers[0].resources.requests["cpu"]: "many"'),
            ([bound], 2, "Pod default/bound: spec.nodeName"),
            ([claims], 2, "Pod default/claims: spec.resourceClaims[0]: devices are known for pods of the cluster alone, and gpu is of the ResourceClaim mine"),
            ([odd], 1, "muster would not place default/odd: muster does not support operators other than Exists and Equal")):
        load.save(of, items)
        said = c.ask("verdict", "--live", "-f", of, "--listen", c.listen)
        check(said[0] == code and not said[1] and words in said[2], words, said)
    load.save(of, [plain])
    for arguments, code, words in ((("--live", "-f", of, "default/train-0"), 2, "--live judges the pod of -f, or pods of the cluster"),
                                   (("--live", "--listen", c.listen, "default/train-0"), 2, "--listen goes with --live -f FILE"),
                                   (("--live", "-f", of, "--listen", "127.0.0.1:1"), 1, "is muster-frontend there?")):
        said = c.ask("verdict", *arguments)
        check(said[0] == code and not said[1] and words in said[2], words, said)
    older_frontend(c, of)


def older_frontend(c, of):
    class Older(http.server.BaseHTTPRequestHandler):
        def log_message(self, *_):
            pass

        def do_POST(self):
            self.send_error(405)

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Older) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        said = c.ask("verdict", "--live", "-f", of, "--listen", f"127.0.0.1:{server.server_port}")
        server.shutdown()
    check(said[0] == 1 and "muster-frontend is older and takes no pods of files" in said[2], said)


def live_verdicts_with_reservations(c):
    """An assumed pod, and capacity that is reserved for default/first, are not in the objects."""
    (live_code, live), (code, offline) = verdicts(c, "default/train-0")
    equal((live_code, code), (1, 0))
    reserved = "node(s) with capacity reserved for default/first, which is before it in the queue"
    nodes = {n["node"]: n for n in live["nodes"]}
    equal(nodes["n0"], {"node": "n0", "feasible": False, "reasons": ["Insufficient cpu"], "pods_binding": 1, "podsBinding": 1})
    equal(nodes["n2"], {"node": "n2", "feasible": False, "reasons": [reserved]})
    equal(live["message"], f"0/4 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s), 2 {reserved}.")
    equal([n["feasible"] for n in offline["nodes"]], [True, True, True, False])
    code, text, _ = c.ask("verdict", "--live", "default/train-0")
    check(code == 1 and "Insufficient cpu (1 binding here)" in text and "default/train-0: 0 of 4 nodes feasible" in text, text)
    # What is reserved for it is the owner's.
    equal([n["node"] for n in verdicts_live(c, "default/first-0") if n["feasible"]], ["n1", "n2"])


def verdicts_live(c, pod):
    return c.ask_json("verdict", "--live", pod)[1]["nodes"]


def test_a_live_scheduler_with_reservations():
    objects_made = simple()[:2] + [pod_group("first", 3)]
    objects_made += [objects.pod(f"first-{i}", group="first", cpu="4") for i in range(3)] + simple()[2:]
    objects_made += [objects.node("tainted", cpu="8", taints=[{"key": "odd", "effect": "NoSchedule"}])]
    with Cluster(*objects_made) as c:
        c.pair(core=("--reserve-after", "1"), frontend=("--extender-keep", "300"))

        def waits():
            code, said = told_live(c, "default/train")
            equal((code, said["state"], said["quorum"], said["members"], said["placed"], said["need"], said["fit"]),
                  (1, "Waiting", 4, 4, 0, 4, 2))
            equal(said["before"], ["default/first"])
            check({"reason": "node(s) had untolerated taint(s)", "nodes": 1} in said["rules"], said["rules"])
            check("help" not in said, said)

        eventually(waits)
        eventually(lambda: live_verdicts(c))
        # An assumed pod of another scheduler is a reservation, too.
        theirs = objects.pod("theirs", cpu="3", scheduler="default-scheduler")
        c.create(theirs)
        until(lambda: ask_filter(c, c.client.get("Pod", "theirs"), ["n0"]), 10, "the extender answers")
        until(lambda: told_live(c, "default/train")[1]["live"]["pods_assumed"] == 1, 10, "the reservation is told")
        until(lambda: told_live(c, "default/train")[1]["fit"] == 1, 10, "its room is gone")
        # With one more node the gang before it would fit without that pod: it gets the backfill reservation.
        c.create(objects.node("n2", cpu="4"))
        until(lambda: told_live(c, "default/train")[1]["live"].get("room_held_for") == "default/first", 15, "the hold")
        eventually(lambda: live_verdicts_with_reservations(c))

        def told():
            code, out, _ = run("musterctl", "explain", "--socket", c.socket, "default/train")
            equal(code, 1)
            check("Before it in the queue: default/first (waits)" in out and "capacity for default/first" in out and
                  "1 assumed pod of other schedulers" in out and "--try" in out, out)
            # Objects are listed once it is asked what would help.
            said = told_live(c, "default/train", "--kubeconfig", c.kubeconfig)[1]
            check(any(h["kind"] == "nodes" for h in said["help"]), said["help"])

        eventually(told)
        # All of it but that is there without an API server.
        c.apisim.stop()
        equal(told_live(c, "default/train")[1]["before"], ["default/first"])
        code, _, err = run("musterctl", "explain", "--socket", c.socket, "default/none")
        equal(code, 1)
        check("has no gang default/none" in err, err)


def ask_filter(c, pod, names):
    host, port = c.listen.rsplit(":", 1)
    connection = http.client.HTTPConnection(host, int(port), timeout=60)
    connection.request("POST", "/filter", json.dumps({"Pod": pod, "NodeNames": names}), {"Content-Type": "application/json"})
    answer = json.loads(connection.getresponse().read())
    connection.close()
    return answer["NodeNames"] == names


def test_gangs_that_stand_behind_all_others():
    """ConfigMap groups come after the others, whatever their age: live and offline report it."""
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "early", "namespace": "default"},
              "data": {"minAvailable": "3", "scheduleTimeoutSeconds": "600"}}
    made = [objects.node("n0", cpu="4"), config, pod_group("late", 2)]
    made += [objects.pod(f"early-{i}", cpu="4", labels={"pod-group.scheduling.bdap.com/podgroup-configmap": "early"}) for i in range(3)]
    made += [objects.pod(f"late-{i}", cpu="4", group="late") for i in range(2)]
    equal(explained(saved(made), "default/early")[1]["before"], ["default/late"])
    equal(explained(saved(made), "default/late")[1]["before"], [])


def test_capacity_in_pieces():
    nodes = [objects.node(f"n{i}", cpu="64", gpu="8") for i in range(4)]
    full = [objects.pod(f"b{i}", cpu="1", nodeName=f"n{i}", requests={"nvidia.com/gpu": "4"}) for i in range(4)]
    group, pods = objects.gang("train", 2, cpu="1", requests={"nvidia.com/gpu": "8"})
    said = "nvidia.com/gpu: 16 free, 0 of it usable by these members; the largest free on one node: 4\n"
    path = saved([*nodes, *full, group, *pods])
    code, out, err = run("musterctl", "explain", "-f", path, "default/train")
    check(said in out and "cpu:" not in out and not err, out, err)
    equal(explained(path, "default/train")[1]["pieces"],
          [{"resource": "nvidia.com/gpu", "unit": "count", "free": 16, "usable": 0, "largest_free": 4, "largestFree": 4}], "pieces")
    # One node is empty: eight can be used, and twelve are in pieces.
    path = saved([*nodes, *full[1:], group, *pods])
    check("nvidia.com/gpu: 20 free, 8 of it usable by these members; the largest free on one node: 8\n" in
          run("musterctl", "explain", "-f", path, "default/train")[1], path)
    with Cluster(*nodes) as c:
        c.up()
        c.create(*full, group, *pods)
        until(lambda: said in run("musterctl", "explain", "--socket", c.socket, "default/train")[1], 30,
              lambda: run("musterctl", "explain", "--socket", c.socket, "default/train"))


def test_a_selector_that_no_node_meets():
    nodes = [objects.node(f"n{i}", cpu="64", labels={"zone": f"z{i % 12:02}", "disk": "ssd"}) for i in range(24)]
    group, pods = objects.gang("lost", 2, cpu="1", nodeSelector={"zone": "z99", "disk": "ssd", "team": "x"})
    code, out, err = run("musterctl", "explain", "-f", saved([*nodes, group, *pods]), "default/lost")
    check("zone=z99: no node has it; there are z00, z01, z02, z03, z04, z05, z06, z07 and 4 more\n" in out, out, err)
    check("team=x: no node has it; no node has that label\n" in out and "disk" not in out and "free" not in out, out)
    check("have 0" not in out, "no amounts where rules exclude every node", out)
    terms = [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["z98", "z99"]},
                                   {"key": "disk", "operator": "In", "values": ["ssd"]}, {"key": "gpu", "operator": "Exists"}]}]
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
    alone = objects.pod("alone", affinity=affinity)
    code, out, err = run("musterctl", "explain", "-f", saved([*nodes, alone]), "default/alone")
    check(out.startswith("pod default/alone, without a gang: Waiting\n"), out, err)
    check("zone in (z98, z99): no node has it; there are z00, " in out and "gpu: no node has it; no node has that label\n" in out, out)
    check("disk" not in out, out)


def test_a_label_is_no_cause_if_another_term_is_met():
    nodes = [objects.node(f"n{i}", cpu="4", labels={"zone": "z1"}) for i in range(2)]
    terms = [{"matchExpressions": [{"key": "zone", "operator": "In", "values": [zone]}]} for zone in ("z9", "z1")]
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
    alone = objects.pod("alone", cpu="8", affinity=affinity)
    code, out, err = run("musterctl", "explain", "-f", saved([*nodes, alone]), "default/alone")
    check(code == 1 and "Insufficient cpu" in out and "no node has it" not in out, out, err)


def test_a_pod_with_a_gang_s_name_is_not_its_member():
    group, pods = objects.gang("train", 2, cpu="8")
    alone = objects.pod("train", nodeSelector={"team": "x"})
    path = saved([objects.node("n1", cpu="4"), group, alone, *pods])
    code, out, err = run("musterctl", "explain", "-f", path, "default/train")
    check(code == 1 and out.startswith("gang default/train ") and "team" not in out, out, err)


def test_a_pod_that_asks_for_thousands_of_labels_is_explained_in_bounds():
    nodes = [objects.node(f"n{i}", cpu="4") for i in range(50)]
    alone = objects.pod("alone", nodeSelector={f"l{i}": "x" for i in range(3000)})
    code, out, err = run("musterctl", "explain", "-f", saved([*nodes, alone]), "default/alone")
    equal((code, out.count("no node has it")), (1, 100), err)


def test_what_is_in_no_queue_is_not_offered_help():
    """Too few members, or scheduling gates: no node and no queue position lets it start.  The remaining members of a placed
    gang are reported as well."""
    made = simple()[:-1] + [pod_group("before", 2), objects.pod("before-0", group="before")]
    for gang in ("default/train", "default/before"):
        code, said = explained(saved(made), gang)
        equal((code, said["state"]), (1, "Pending"))
        check("before" not in said and "help" not in said, said)
    _, out, _ = run("musterctl", "explain", "-f", saved(made), "default/train")
    check("are there." in out and "queue" not in out and "would let" not in out, out)
    code, said = explained(saved(simple()[:2] + [pod_group("train", 2)] + simple()[3:]), "default/train")
    equal((code, said["state"], said["placed"], said["need"], said["fit"]), (0, "Running", 2, 1, 0))
    check("0 of 1 members have room" in said["reason"] and "help" not in said, said)


def test_pods_without_a_gang_stand_in_the_queue():
    early, gated, late = (objects.pod(name, cpu="1") for name in ("early", "gated", "late"))
    gated["spec"]["schedulingGates"] = [{"name": "quota"}]
    made = simple()
    for o in made[2:]:
        o["metadata"]["creationTimestamp"] = stamp(1_700_000_000)
    for o, created in ((early, -1), (gated, -1), (late, 1)):
        o["metadata"]["creationTimestamp"] = stamp(1_700_000_000 + created)
    path = saved(made + [early, gated, late])
    said = explained(path, "default/train")[1]
    equal((said["before"], said["before_pods"]), ([], 1))
    _, out, _ = run("musterctl", "explain", "-f", path, "default/train")
    check("Before it in the queue: no gang, 1 pod without a gang\n" in out, out)


def test_more_nodes_have_names_of_their_own():
    """A node that has the name of the next copy stays what it is."""
    made = [objects.node("n1", cpu="3"), objects.node("n1-more-1", cpu="6")] + simple()[2:]
    equal(explained(saved(made), "default/train", "--add-node", "1xn1")[0], 0)


def test_pods_that_have_ended_or_are_overdue():
    now = int(time.time())
    runs = objects.pod("runs", cpu="4", nodeName="n0", activeDeadlineSeconds=600)
    made = [objects.node("n0", cpu="4"), pod_group("train", 1), objects.pod("train-0", group="train", cpu="4"), runs]
    for phase, start, deadline, wanted in (("Running", now, 600, "1 pod that runs now will have ended"),
                                           ("Running", now - 700, 600, "1 pod that runs now should have ended: overdue"),
                                           ("Running", now, 999999999999999, None)):
        runs["status"] = {"phase": phase, "startTime": stamp(start)}
        runs["spec"]["activeDeadlineSeconds"] = deadline
        said = explained(saved(made), "default/train")[1]
        by = [h for h in said["help"] if h["kind"] == "time"]
        equal(by, [{"kind": "time", "by": stamp(start + 600), "ended": 1, "overdue": start < now}] if wanted else [])
        _, out, _ = run("musterctl", "explain", "-f", saved(made), "default/train")
        check((wanted or "") in out and ("waiting:" in out) == bool(wanted), out)
    ended = objects.pod("ended", cpu="4", nodeName="n0", activeDeadlineSeconds=300)
    ended["status"] = {"phase": "Succeeded", "startTime": stamp(now)}
    runs["status"], runs["spec"]["activeDeadlineSeconds"] = {"phase": "Running", "startTime": stamp(now)}, 600
    help = explained(saved(made + [ended]), "default/train")[1]["help"]
    equal([h["ended"] for h in help if h["kind"] == "time"], [1])


def test_a_node_that_can_not_be_copied():
    """Half a pair of surrogates is taken by the model and not by the library that makes the copy."""
    path = saved(simple())
    with open(path) as f:
        text = f.read().replace('"name": "n1"', '"annotations": {"a": "\\ud800"}, "name": "n1"')
    with open(path, "w") as f:
        f.write(text)
    check("ud800" in text, text)
    code, said = explained(path, "default/train")
    equal((code, [h["like"] for h in said["help"] if h["kind"] == "nodes"]), (1, ["n0"]))
    code, out, err = run("musterctl", "explain", "-f", path, "--add-node", "1xn1", "default/train")
    equal((code, out), (2, ""))
    check("Node n1 can't be parsed" in err, err)


def test_more_nodes_for_a_pod():
    """Without a gang it has the answer of a gang, and one node."""
    path = saved([objects.node("n0", cpu="1"), objects.node("n1", cpu="8"), objects.pod("taken", cpu="8", nodeName="n1"),
                  objects.pod("alone", cpu="4"), objects.pod("small", cpu="1")])
    for flags, name, code, first in (
            (("--add-node", "1xn1"), "alone", 0, "it starts; without, it waits."), (("--add-node", "2xn0"), "alone", 1, "it waits."),
            (("--add-node", "1xn1"), "small", 0, "it starts, as it does without."), (("--priority", "3"), "alone", 1, "it waits.")):
        exits, out, err = run("musterctl", "explain", "-f", path, *flags, f"default/{name}")
        equal(exits, code, (out, err))
        with_what = "priority 3" if "3" in flags else f"{flags[1][0]} more node{'s' if flags[1][0] > '1' else ''} like {flags[1][2:]}"
        check(f"\n\nWith {with_what} {first}\n" in out, out)
        check(("Insufficient cpu" in out) == (code == 1), out)
    said = explained(path, "default/alone", "--add-node", "1xn1")[1]
    equal([said[field] for field in ("what_if", "answer", "starts_without")], [["nodes=1xn1"], "starts", False], said)
    check(said["node"] not in ("n0", "n1"), said)
    exits, out, _ = run("musterctl", "explain", "-f", path, "--add-node", "1xn1", "default/taken")
    equal((exits, out), (0, "pod default/taken, without a gang: Bound on n1\n"), "one that has a node")
    check("With" not in run("musterctl", "explain", "-f", path, "default/alone")[1], "no change")


def on_a_terminal(path, term):
    """Its output on a terminal of that type."""
    ours, theirs = pty.openpty()
    with subprocess.Popen([muster.program("musterctl"), "explain", "-f", path, "default/train"], stdout=subprocess.DEVNULL,
                          stderr=theirs, env={**os.environ, "TERM": term}) as child:
        child.wait(60)
    os.set_blocking(ours, False)
    try:
        return os.read(ours, 65536)
    except BlockingIOError:
        return b""
    finally:
        os.close(theirs)
        os.close(ours)


def test_progress_is_for_terminals_that_can_clear_a_line():
    path = saved(simple())
    check(b"trying more nodes" in on_a_terminal(path, "xterm"))
    equal(on_a_terminal(path, "dumb"), b"")


def test_other_names_of_a_gang():
    """kubectl's default namespace, and a member's name."""
    path = saved(simple())
    wanted = run("musterctl", "explain", "-f", path, "default/train")
    for name in ("train", "default/train-0", "train-0"):
        equal(run("musterctl", "explain", "-f", path, name), wanted, name)


def test_bad_words():
    path = saved(simple())
    for flags, said in ((("--kubeconfig", "/nowhere", "default/train"), "/nowhere"), (("-f", path), "one gang is needed"), (("-f", path, "nope"), "default/nope: there is no such gang"),
                        (("-f", path, "default/none"), "default/none: there is no such gang"),
                        (("-f", path, "--add-node", "2xnone", "default/train"), "--add-node 2xnone: there is no node none"),
                        (("-f", path, "--add-node", "n1", "default/train"), "--add-node n1: not a number"),
                        (("-f", path, "--priority", "high", "default/train"), "--priority high: not a number")):
        code, out, err = run("musterctl", "explain", *flags)
        equal((code, out), (2, ""))
        check(said in err, said, err)


if __name__ == "__main__":
    main(globals())
