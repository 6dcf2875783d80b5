#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pictures of the page for the documents, in a headless Chromium, of a cluster on muster-apisim.

    tests/pictures.py FOLDER [MOMENT...]     busy, gang, placed, node, stalled; each on a desktop in light and dark, and on a phone
    tests/pictures.py --docs                 the four of docs/, each with a palette and below 150 KB
"""
import base64
import collections
import os
import pathlib
import random
import signal
import struct
import sys
import time
import zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib.browser import Browser  # noqa: E402
from lib.cluster import Cluster  # noqa: E402
from lib.harness import until  # noqa: E402
from lib.objects import gang, node, pod  # noqa: E402

WAYS = {"light": (1120, 860, "light"), "dark": (1120, 860, "dark"), "phone": (390, 844, "light")}
NODES = int(os.environ.get("PICTURES_NODES", "192"))


DOCS = {("busy", "light"): 1000, ("gang", "dark"): 860, ("placed", "phone"): 900, ("stalled", "light"): 560}  # their heights


def rows(png):
    """Lines of (r, g, b) of an image that is not interlaced, 8 bits a channel."""
    at, data, head = 8, b"", None
    while at < len(png):
        size, kind = struct.unpack(">I4s", png[at:at + 8])
        body = png[at + 8:at + 8 + size]
        head = struct.unpack(">IIBB", body[:10]) if kind == b"IHDR" else head
        data += body if kind == b"IDAT" else b""
        at += 12 + size
    wide, high, each = head[0], head[1], 4 if head[3] == 6 else 3
    data, before = zlib.decompress(data), bytearray(wide * each)
    for y in range(high):
        start = y * (wide * each + 1)
        how, line = data[start], bytearray(data[start + 1:start + 1 + wide * each])
        for i, value in enumerate(line):
            left, up, corner = line[i - each] if i >= each else 0, before[i], before[i - each] if i >= each else 0
            if how == 4:
                p = left + up - corner
                best = min((abs(p - left), 0, left), (abs(p - up), 1, up), (abs(p - corner), 2, corner))[2]
            else:
                best = (0, left, up, (left + up) // 2)[how]
            line[i] = (value + best) & 255
        before = line
        yield [tuple(line[i:i + 3]) for i in range(0, len(line), each)]


def with_palette(png, high):
    """The first `high` lines with the 128 most frequent colours."""
    lines = [line for _, line in zip(range(high), rows(png))]
    palette = [c for c, _ in collections.Counter(c for line in lines for c in line).most_common(128)]
    near = {c: i for i, c in enumerate(palette)}
    for c in {c for line in lines for c in line} - set(palette):
        near[c] = min(range(len(palette)), key=lambda i: sum((a - b) ** 2 for a, b in zip(c, palette[i])))
    data = b"".join(b"\0" + bytes(near[c] for c in line) for line in lines)

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    head = struct.pack(">IIBBBBB", len(lines[0]), len(lines), 8, 3, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"PLTE", bytes(x for c in palette for x in c)) + \
        chunk(b"IDAT", zlib.compress(data, 9)) + chunk(b"IEND", b"")


def nodes():
    for i in range(NODES):
        zone, rack = "abcd"[i * 4 // NODES], i * 16 // NODES
        yield node(f"gpu-{i:04}", cpu="128", memory="1Ti", gpu="8", unschedulable=i % 61 == 60,
                   labels={"topology.kubernetes.io/zone": f"zone-{zone}", "example.com/rack": f"rack-{rack:02}",
                           "node.kubernetes.io/instance-type": "h100.8x" if rack < 10 else "a100.8x"})


def load(c):
    """Running gangs of many sizes, services beside them, and a queue."""
    chance = random.Random(7)
    teams = ("vision", "speech", "search", "robots")
    for team in teams:
        c.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": team}})
    for i in range(int(NODES * 0.5)):
        gpus = chance.choice((1, 2, 4))
        c.create(pod(f"serve-{i}", cpu="12", memory="64Gi", namespace="search", requests={"nvidia.com/gpu": str(gpus)},
                     nodeName=f"gpu-{chance.randrange(NODES // 2):04}", scheduler="default-scheduler"))
    for i in range(NODES // 8):
        team, size, gpus = chance.choice(teams), chance.choice((2, 4, 8, 8, 16)), chance.choice((2, 4, 8))
        group, pods = gang(f"train-{i:02}", size, cpu=str(gpus * 8), memory="128Gi", namespace=team, requests={"nvidia.com/gpu": str(gpus)})
        c.create(group, *pods)
        if i % 7 == 3:
            time.sleep(0.2)
    for i, size in enumerate((64, 96, 48, 32, 80)):
        group, pods = gang(f"pretrain-{i}", size, cpu="64", memory="256Gi", namespace=teams[i % 4], requests={"nvidia.com/gpu": "8"})
        c.create(group, *pods)
    group, pods = gang("eval-late", 6, namespace="speech")
    c.create(group, *pods[:4])


def moments(c):
    """{moment: (address, what must be in the page)}"""
    waiting = next(g for g in c.ask_json("gangs")[1]["gangs"] if g["state"] == "Waiting" and g["gang"].endswith("pretrain-1"))
    running = max((g for g in c.ask_json("gangs")[1]["gangs"] if g["state"] == "Running"), key=lambda g: g["placed"])
    label = "#/?label=topology.kubernetes.io%2Fzone&resource=nvidia.com%2Fgpu&of=nvidia.com%2Fgpu"
    pods = c.pods()
    near = {p["spec"].get("nodeName") for p in pods if p["metadata"]["name"].startswith("serve-")}
    full = next(p["spec"]["nodeName"] for p in pods if p["metadata"]["name"].startswith("train-") and p["spec"].get("nodeName") in near)
    return {"busy": (label, "#gangs tr"), "gang": (f"#/gang/{waiting['gang']}", "#gang section"),
            "placed": (f"#/gang/{running['gang']}", "#gang .fall"), "node": (f"#/node/{full}", "#node section"),
            "stalled": (label, "#banner:not([hidden])")}


def picture(b, c, address, wanted, way, out, height):
    wide, high, scheme = WAYS[way]
    b.call("Emulation.setDeviceMetricsOverride", width=wide, height=high, deviceScaleFactor=1, mobile=way == "phone")
    b.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    b.open("about:blank")
    b.open(f"http://{c.listen}/{address}")
    until(lambda: b.ask(f"document.querySelector({wanted!r}) !== null"), 40, lambda: (address, b.complaints))
    time.sleep(3)
    if height:
        high = min(max(high, b.ask("document.documentElement.scrollHeight")), height)
        b.call("Emulation.setDeviceMetricsOverride", width=wide, height=high, deviceScaleFactor=1, mobile=way == "phone")
        time.sleep(0.5)
    print(out.name, f"scroll width {b.ask('document.documentElement.scrollWidth')} of {wide}, height {high}", b.complaints, flush=True)
    out.write_bytes(base64.b64decode(b.call("Page.captureScreenshot", format="png")["data"]))


def main(folder, *wanted):
    docs = folder == "--docs"
    folder = pathlib.Path(__file__).resolve().parent.parent / "docs" if docs else pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with Cluster(*nodes()) as c, Browser() as b:
        c.up("--preemption", "off", "--core-stall-seconds", "60")
        load(c)
        time.sleep(float(os.environ.get("PICTURES_WAIT", "15")))
        for moment, (address, must) in moments(c).items():
            if wanted and moment not in wanted:
                continue
            if moment == "stalled":
                os.kill(c.ctl.daemon_pid("muster-core"), signal.SIGSTOP)
            try:
                for way in WAYS:
                    out = folder / (f"page-{moment}.png" if docs else f"page-{moment}-{way}.png")
                    if docs and (moment, way) not in DOCS:
                        continue
                    picture(b, c, address, must, way, out, 2400)
                    if docs:
                        out.write_bytes(with_palette(out.read_bytes(), DOCS[moment, way]))
            finally:
                if moment == "stalled":
                    os.kill(c.ctl.daemon_pid("muster-core"), signal.SIGCONT)


if __name__ == "__main__":
    main(*sys.argv[1:])
