# SPDX-License-Identifier: Apache-2.0
"""The style of all JSON that the commands print and the port serves (docs/versions.md#json): one case, units in names or beside them."""
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import muster, objects  # noqa: E402
from lib.cluster import Cluster, run  # noqa: E402
from lib.harness import check, main, until  # noqa: E402
from lib.objects import node, pod  # noqa: E402

NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
OF_THE_CLUSTER = re.compile(r".*[./-].*")  # a key that is a resource or a label, as nvidia.com/gpu
STATES = {"Pending", "Waiting", "Reserved", "Binding", "Running", "Finished", "Failed", "Degraded"}
# A word that is a length of time or an instant has its unit: age_s, not age.
TIMES = re.compile(r"(age|ago|waited|duration|elapsed|timeout|delay|latency|seconds|bytes|memory|took)")
SOURCE = (muster.ROOT / "ctl/term/former.c").read_text()
FORMER = dict((former, name) for name, former in re.findall(r'\{ "(\w+)", "(\w+)" \}', SOURCE)) | {"notFollowed": "not_followed"}


def faults_in(value, where, has_unit):
    """(place, fault) of each field; of labels the keys are the cluster's.  has_unit: the document says one for all."""
    if isinstance(value, list):
        for child in value:
            yield from faults_in(child, where + "[]", has_unit)
    if not isinstance(value, dict):
        return
    for key, child in value.items():
        at = f"{where}.{key}"
        if key in FORMER:
            if value.get(FORMER[key]) != child:
                yield at, f"{FORMER[key]} does not say the same"
        elif not NAME.fullmatch(key) and not OF_THE_CLUSTER.fullmatch(key) and key not in STATES:
            yield at, "not in snake_case"
        elif not has_unit and TIMES.fullmatch(key) and isinstance(child, (int, float)) and not where.endswith((".allocatable", ".used", ".free")):
            yield at, "a number without its unit"
        if key in ("need", "have") and "resource" in value and "unit" not in value and where.startswith("musterctl") and not where.startswith("musterctl simulate"):
            yield at, f"of {value['resource']}, and no unit is there"
        if key != "labels":
            yield from faults_in(child, at, has_unit)


def commands_with_json():
    listed = re.findall(r"^  ([a-z-]+)  ", run("musterctl", "--help")[1], re.M)
    return {name for name in listed if "-o json" in run("musterctl", name, "--help")[1] or "wide|json" in run("musterctl", name, "--help")[1]}


def small_cluster():
    return [node("n1", cpu="4"), node("n2", cpu="4"), objects.pod_group("g", 2), *(pod(f"g-{i}", cpu="3", group="g") for i in range(2))]


QUEUE = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "q"}, "spec": {"weight": 1}}
WAITING = [objects.pod_group("h", 2), *(pod(f"h-{i}", cpu="3", group="h") for i in range(2)), pod("lone", cpu="3")]


def test_json_has_one_style():
    seen, faults = set(), []

    def judge(name, text, what):
        check(text, what, "printed nothing")
        seen.add(name)
        answer = json.loads(text)
        faults.extend(faults_in(answer, f"{what}: ", "unit" in answer))

    def printed(*words, stdin=None):
        # The core's world, of which some ask, may be behind its loop.
        answer = []
        until(lambda: answer.append(run("musterctl", *words, "-o", "json", stdin=stdin)) or (answer[-1][0] in (0, 1) and answer[-1][1]), 30,
              lambda: (words, answer[-1]))
        judge(words[0], answer[-1][1], "musterctl " + " ".join(words))

    with Cluster(*small_cluster()) as c:
        record = f"{c.folder}/record"
        core = c.start_core("--record", record)
        c.frontend = c.start_frontend()
        c.ready(c.frontend)
        until(lambda: c.bound("g-") == 2, 30, "the gang is bound")
        c.create(*WAITING)
        until(lambda: "Waiting" in c.ask("gangs")[1], 30, "the other one waits")
        server = ("--kubeconfig", c.kubeconfig)
        for words in (("status",), ("gangs",), ("gangs", "default/h", *server), ("nodes",), ("nodes", "n1", *server), ("queues",),
                      ("explain", "default/h"), ("explain", "default/h", "--what-if", "nodes=1"), ("explain", "--try", *server, "default/h"),
                      ("explain", *server, "default/lone"), ("verdict", "--live", "default/lone"), ("fsck", *server)):
            printed(words[0], "--socket", c.socket, *words[1:])
        printed("gangs", "--singles", *server)
        printed("latency", "--listen", c.listen)
        for path in ("/state.json", "/cells.json", "/gangs.json", "/gang.json?name=default/h", "/node.json?name=n1", "/queues.json",
                     "/history.json", "/latency"):
            got = []  # 503 while the loop is busy
            until(lambda path=path, got=got: got.append(c.fetch(path)) or got[-1][0] == 200, 30, lambda path=path, got=got: (path, got[-1]))
            judge(path, got[-1][1], path)
        core.stop()
        printed("replay", record)
        printed("check-answers", record)
    given = json.dumps({"apiVersion": "v1", "kind": "List", "items": [QUEUE, *small_cluster(), *WAITING]})
    for words in (("simulate",), ("simulate", "--preemption", "on"), ("queues", "--queues", "volcano"), ("verdict", "--pod", "default/lone"), ("devices",), ("explain", "default/h"),
                  ("explain", "--preempt", "--gang", "default/h"), ("explain", "--preempt", "--pod", "default/lone")):
        printed(*words, "-f", "-", stdin=given)
    missing = commands_with_json() - seen
    check(not missing, "commands whose JSON nobody looked at:", missing)
    check(not faults, *(f"{place} {why}\n" for place, why in faults))


def test_each_former_name_is_in_the_changelog():
    told = (muster.ROOT / "CHANGELOG.md").read_text()
    for former, name in FORMER.items():
        check(f"`{former}` → `{name}`" in told, former, name)


if __name__ == "__main__":
    main(globals())
