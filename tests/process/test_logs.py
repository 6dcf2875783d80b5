# SPDX-License-Identifier: Apache-2.0
"""Each line that the daemons write can be read by a program, as logfmt and as JSON, and each decision about
a gang names it."""
import datetime
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import objects  # noqa: E402
from lib.cluster import Cluster, run  # noqa: E402
from lib.harness import check, equal, main, until  # noqa: E402
from lib.objects import node, pod  # noqa: E402

PAIR = re.compile(r'([a-z][a-z0-9_]*)=("(?:[^"\\]|\\["\\])*"|[^\s"=]+)(?: |$)')
ODD = 'a b="c" \\ d'  # as part of a path


def logfmt(line):
    at, found = 0, {}
    while at < len(line):
        match = PAIR.match(line, at)
        check(match, f"no logfmt from {line[at:]!r} on: {line}")
        key, value = match.groups()
        check(key not in found, f"{key} twice: {line}")
        found[key] = re.sub(r"\\(.)", r"\1", value[1:-1]) if value[0] == '"' else value
        at = match.end()
    return found


def as_json(line):
    pairs = json.loads(line, object_pairs_hook=list)
    equal(len({key for key, _ in pairs}), len(pairs), line)
    return {key: str(value) for key, value in pairs}


def lines_of(process, read):
    found = [read(line) for line in process.log().splitlines()]
    for line in found:
        equal(list(line)[:3], ["ts", "level", "msg"], line)
        datetime.datetime.strptime(line["ts"], "%Y-%m-%dT%H:%M:%S.%fZ")
        check(line["level"] in ("debug", "info", "warn", "error"), line)
    return found


def said(process, read, **wanted):
    return [line for line in lines_of(process, read) if wanted.items() <= line.items()]


def run_of(read, *flags):
    with Cluster(node("n1", cpu="4"), node("n2", cpu="4")) as c:
        c.socket = os.path.join(c.folder, ODD, "muster.sock")
        os.mkdir(os.path.dirname(c.socket))
        c.pair(core=flags, frontend=flags)
        c.create(objects.pod_group("fits", 3), *(pod(f"fits-{i}", group="fits", cpu="1") for i in range(3)),
                 objects.pod_group("big", 3), *(pod(f"big-{i}", group="big", cpu="4") for i in range(3)),
                 objects.pod_group("few", 3), pod("few-0", group="few"))
        until(lambda: said(c.frontend, read, msg="gang placed"), 30, "the one that fits is placed")
        placed, = said(c.frontend, read, msg="gang placed")
        group = c.client.get("PodGroup", "fits")
        equal({k: placed.get(k) for k in ("gang", "members", "bound", "quorum", "uid", "level")},
              {"gang": "default/fits", "members": "3", "bound": "3", "quorum": "3", "level": "info",
               "uid": group["metadata"]["uid"]}, placed)
        check(0 <= int(placed["wait_ms"]) < 300000 and 0 <= int(placed["bind_ms"]) < 300000, placed)
        until(lambda: {"default/big", "default/few"} <= {line["gang"] for line in said(c.frontend, read, msg="gang waits")},
              30, "both others wait")
        # Before its third member came it had another reason.
        until(lambda: "Insufficient cpu" in said(c.frontend, read, msg="gang waits", gang="default/big")[-1]["reason"], 30, c.frontend.log)
        big = said(c.frontend, read, msg="gang waits", gang="default/big")[-1]
        equal(big["quorum"], "3", big)
        # The same once more, and with other numbers, is no news.
        before = len(said(c.frontend, read, msg="gang waits"))
        c.create(*(pod(f"lone-{i}", cpu="100m") for i in range(4)))
        until(lambda: c.bound("lone-") == 4, 30, "lone pods")
        check(len(said(c.frontend, read, msg="gang waits")) <= before + 1, "said again and again")
        equal(said(c.frontend, read, msg="pod waits"), [], "lone pods are for debug")
        equal(len(said(c.core, read, msg="listening", socket=c.socket)), 1, "a path with quotes")
        for process in (c.frontend, c.core):
            process.stop()
            check(len(lines_of(process, read)) >= 2, process.log())


def test_logfmt():
    run_of(logfmt)


def test_json():
    run_of(as_json, "--log-format", "json")


def test_debug_tells_of_lone_pods():
    with Cluster(node("n1", cpu="1")) as c:
        c.pair(frontend=("--log-level", "debug"))
        c.create(pod("big", cpu="4"))
        until(lambda: said(c.frontend, logfmt, msg="pod waits", pod="default/big"), 30, lambda: c.frontend.log())


def test_other_formats_are_refused():
    for program in ("muster-core", "muster-frontend"):
        code, _, err = run(program, "--log-format", "xml")
        equal(code, 2, err)
        check("logfmt" in err and "json" in err, err)


if __name__ == "__main__":
    main(globals())
