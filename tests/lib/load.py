# SPDX-License-Identifier: Apache-2.0
"""Clusters and jobs from a seed, and a way to submit thousands of objects fast."""
import itertools
import json
import os
import sys
import threading

from . import kube, objects

seeds = itertools.count(1)


def seed():
    """--seed=N, --seed=new for one that was never tried, else 1, 2, ..., so that a
    change is tested with fixed seeds; printed."""
    given = [a[7:] for a in sys.argv if a.startswith("--seed=")]
    if not given:
        n = next(seeds)
    else:
        n = int.from_bytes(os.urandom(4), "big") if given[0] == "new" else int(given[0])
    print(f"seed {n}", flush=True)
    return n


def split(rng, total, least, most):
    """Sizes from least to most with that sum; both ends are always there, and
    small ones are the most frequent, as in real traces."""
    sizes = [most, least] if total >= most + 2 * least else []
    left = total - sum(sizes)
    while left > 0:
        n = min(left, int(least * (most / least) ** rng.random()))
        if left - n < least:
            n = left
        sizes.append(min(n, most))
        left -= sizes[-1]
    rng.shuffle(sizes)
    return sizes


def nodes(rng, n):
    """Two types: three of four have 16 cores, the others 64 and 8 GPUs."""
    out = []
    for i in range(n):
        zone = {"topology.kubernetes.io/zone": f"z{rng.randrange(3)}"}
        if i % 4 == 3:
            out.append(objects.node(f"gpu-{i:05}", cpu="64", memory="256Gi", gpu="8", labels={"kind": "gpu", **zone}))
        else:
            out.append(objects.node(f"cpu-{i:05}", cpu="16", memory="64Gi", labels={"kind": "cpu", **zone}))
    return out


def jobs(rng, sizes, prefix="job", gpus=6000):
    """[(PodGroup, pods)], one job for each size; together they request no more GPUs
    than that."""
    out = []
    for j, size in enumerate(sizes):
        name = f"{prefix}-{j:05}"
        cpu, memory, gpu = rng.choice(["500m", "1", "2", "4"]), rng.choice(["512Mi", "1Gi", "4Gi"]), {}
        if rng.random() < 0.25 and 2 * size <= gpus:
            each = rng.choice([1, 2])
            gpu = {"nvidia.com/gpu": str(each)}
            gpus -= size * each
        out.append((objects.pod_group(name, size),
                    [objects.pod(f"{name}-{i:04}", group=name, cpu=cpu, memory=memory, requests=gpu)
                     for i in range(size)]))
    return out


def flat(made):
    return [o for g, pods in made for o in [g] + pods]


def as_request(client, obj):
    body = json.dumps(obj).encode()
    path = client.path(kube.kind_of(obj), obj["metadata"].get("namespace"))
    head = f"POST {path} HTTP/1.1\r\nHost: muster\r\nAuthorization: Bearer {client.token}\r\n"
    return f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def read_answer(f):
    """(status, body) of the next response on a connection."""
    status = int(f.readline().split()[1])
    length = 0
    while True:
        line = f.readline().lower()
        if line in (b"\r\n", b""):
            break
        if line.startswith(b"content-length:"):
            length = int(line[15:])
        if line.startswith(b"transfer-encoding:"):
            length = None
    return status, f.read(length) if length is not None else b"".join(chunks_of(f))


def chunks_of(f):
    while size := int(f.readline(), 16):
        yield f.read(size)
        f.readline()
    f.readline()


def exchange(client, requests, batch=32):
    """Send all, in order and before their responses: (status, body) of each."""
    connection, answers = client._connect(60), []
    try:
        connection.connect()
        f = connection.sock.makefile("rb", 1 << 20)
        for at in range(0, len(requests), batch):
            part = requests[at:at + batch]
            connection.sock.sendall(b"".join(part))
            answers += [read_answer(f) for _ in part]
    finally:
        connection.close()
    return answers


def submit(client, made, batch=32):
    """Create all, in order."""
    for at in range(0, len(made), 1024):
        for status, body in exchange(client, [as_request(client, o) for o in made[at:at + 1024]], batch):
            if status != 201:
                raise kube.ApiError("POST", "", status, body.decode(errors="replace"))


class Sender(threading.Thread):
    """submit() in parallel with the test; join() raises its error."""

    def __init__(self, client, made):
        super().__init__(daemon=True)
        self.client, self.made, self.error = client, made, None
        self.start()

    def run(self):
        try:
            submit(self.client, self.made)
        except Exception as error:
            self.error = error

    def join(self, timeout=240):
        super().join(timeout)
        if self.error:
            raise self.error


def save(path, objects):
    """A List, as kubectl prints one."""
    with open(path, "w") as f:
        json.dump({"apiVersion": "v1", "kind": "List", "items": objects}, f)


