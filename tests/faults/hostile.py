# SPDX-License-Identifier: Apache-2.0
"""No room, peers that are mad, and tenants that mean harm."""
import contextlib
import fcntl
import os
import random
import resource
import shutil
import struct
import subprocess
import time

from lib import kube, load, muster, objects, peers
from lib.cluster import Cluster
from lib.harness import Skip, check, equal, until

CMD_BIND, CMD_REASON, CMD_GANG, CMD_ASSUME, CMD_RETRY_BIND, CMD_CANCEL_BIND = range(24, 30)
NONE = 0xFFFFFFFF
MUTATIONS = 1_000_000  # words and bytes of one side, in all
KUBECONFIG = """{"current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "c"}}],
"clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}]}"""


# ---- 8: no room ------------------------------------------------------------------------

def ended(argv, before=None):
    """(exit code, what it said) of a program that does not start."""
    done = subprocess.run(argv, capture_output=True, text=True, timeout=30, check=False, preexec_fn=before)
    return done.returncode, done.stderr


def fault_08_no_room_at_the_start(t):
    """each allocation of shared memory fails with ENOSPC (strace), or by a limit on file sizes, in either daemon"""
    folder = muster.scratch()
    config, sock = os.path.join(folder, "k"), os.path.join(folder, "s")
    with open(config, "w", encoding="utf-8") as file:
        file.write(KUBECONFIG)
    core = [muster.program("muster-core"), "--socket", sock]
    frontend = [muster.program("muster-frontend"), "--socket", sock, "--kubeconfig", config, "--listen", "off"]
    full = ["strace", "-f", "-o", "/dev/null", "-e", "trace=fallocate", "-e", "inject=fallocate:error=ENOSPC"]
    limit = (1 << 16, 1 << 16)
    if not shutil.which("strace"):
        raise Skip("strace is not installed")
    for argv in (core, frontend):
        code, said = ended(full + argv)
        equal(code, 1, f"exit code of {argv}, which said {said!r}")
        check("shared memory" in said and "No space left on device" in said, said)
        code, said = ended(argv, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit))
        equal(code, 1, f"exit code of {argv} with a limit on file sizes, which said {said!r}")
        check("shared memory" in said and "File too large" in said, said)
    check(not os.path.exists(sock), "the socket is left behind")


def shared(pid):
    """(name, size, bytes that are there) of a daemon's shared memory."""
    for fd in os.listdir(f"/proc/{pid}/fd"):
        path = f"/proc/{pid}/fd/{fd}"
        with contextlib.suppress(FileNotFoundError):
            if "memfd:muster-" in os.readlink(path):
                stat = os.stat(path)
                yield os.readlink(path), stat.st_size, stat.st_blocks * 512


def fault_08_no_room_later(t):
    """all used pages are allocated, and those of gangs, names and resources on demand; then no file may grow, and
    the recording's disk is full"""
    with Cluster(*[objects.node(f"n{i}", cpu="100") for i in range(8)]) as c:
        c.pair(core=("--record", os.path.join(c.folder, "record")))
        for process in (c.core, c.frontend):
            found = list(shared(process.pid))
            check(len(found) >= 2, f"{process.name} has {found}")
            for name, size, there in found:
                least = 1 << 20 if "ledger" in name else size
                check(there >= least, f"{process.name}: {there} of {size} bytes of {name} are there")
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (1 << 17, 1 << 17))
        load.submit(c.client, [p for i in range(60) for p in (lambda g: [g[0], *g[1]])(objects.gang(f"g{i}", 10, cpu="100m", memory="16Mi"))])
        until(lambda: c.bound() == 600, 60, lambda: f"600 bound; {c.bound()} are")
        until(lambda: "the recording ended" in c.core.log(), 20, "a word about the recording")
        check(c.core.running() and c.frontend.running(), "a daemon ended")
        equal(c.wrongs(), [], "wrongs")


def fault_08_no_room_for_more(t):
    """the ledger cannot grow (strace) when the first name arrives: the core ends with a message"""
    if not shutil.which("strace"):
        raise Skip("strace is not installed")
    with Cluster(objects.node("n1", cpu="8")) as c:
        core = c.start_core("--seccomp", "off")  # strace makes another call of it, which would be trapped
        until(lambda: peers.listens(c.socket), 60, "the core's socket")
        strace = muster.Process(["strace", "-f", "-e", "trace=fallocate", "-e", "inject=fallocate:error=ENOSPC", "-p", str(core.pid)],
                                os.path.join(c.folder, "strace.log"))
        c.processes.append(strace)
        until(lambda: "attached" in strace.log(), 20, "strace")
        c.start_frontend()
        until(lambda: not core.running(), 20, "the end of the core")
        equal(core.child.returncode, 1, f"exit code; it said {core.log()!r}")
        check("no memory for more of the shared memory of the ledger" in core.log() and "No space left on device" in core.log(), core.log())


# ---- 10: mad peers -----------------------------------------------------------------------

def sanitized(folder, *names):
    """Programs with ASan and UBSan, made if they are not there: by one at a time."""
    names = [f"build-address/{folder}/{name}" for name in names]
    with open(muster.ROOT / "build" / "hostile.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run(["make", "-s", "--no-print-directory", "SAN=address", *names], cwd=muster.ROOT, capture_output=True,
                              text=True, check=False)
    equal(done.returncode, 0, done.stderr[-2000:])
    return [str(muster.ROOT / name) for name in names]


@contextlib.contextmanager
def damaged(*nodes):
    """A cluster whose daemons are sanitized."""
    names = ("muster-core", "muster-frontend")
    programs = dict(zip(names, sanitized("bin", *names)))
    with Cluster(*nodes) as c:
        plain = c.spawn

        def spawn(name, *flags):
            if name not in programs:
                return plain(name, *flags)
            p = muster.Process([programs[name], *[str(f) for f in flags]], os.path.join(c.folder, name + ".log"))
            c.processes.append(p)
            return p
        c.spawn = spawn
        yield c


def submitted(c):
    """Gangs and pods with rules of several kinds, and those that are nobody's to place."""
    c.create(objects.pod("theirs", scheduler="default-scheduler"), objects.pod("gated", schedulingGates=[{"name": "g"}]),
             objects.pod("claims", resourceClaims=[{"name": "r", "resourceClaimName": "r"}]))
    for name in ("a", "b"):
        c.gang(name, 4)
    near = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": "kubernetes.io/hostname"}]}}
    c.create(*[objects.pod(f"x-{i}", labels={"app": "x"}, affinity=near) for i in range(3)])


def recorded():
    """What a real frontend says of such a cluster, and the limits of its core."""
    with Cluster(*[objects.node(f"n{i}", cpu="100") for i in range(6)]) as c:
        submitted(c)
        record = os.path.join(c.folder, "record")
        c.pair(core=("--record", record))
        until(lambda: c.bound() == 11, 20, "the pods are bound")
        c.core.stop()
        return peers.inputs(record)


def mad_frontend(c, rng, records, turn):
    """One connection; how many mutations, and whether the core left."""
    front = peers.Frontend(c.socket, peers.layout_of(c.core.log()))
    try:
        made = list(records)
        if turn % 3 == 1:
            rng.shuffle(made)
        tail = front.write(made)
        lie = rng.choice((0, 0, 0, 8, 4, -8, 1 << 40, rng.getrandbits(63)))
        done = peers.mutate(rng, front.intake, peers.INTAKE_HEAD, tail, rng.choice((0, 1, 2, 5, 50)))
        front.publish((tail + lie) % (1 << 64))
        # And on while it reads: the head of the segment as well, whose copies are what counts.
        for _ in range(5):
            done += peers.mutate(rng, front.intake, peers.INTAKE_HEAD, tail, 400)
            done += peers.mutate(rng, front.intake, 0, peers.INTAKE_HEAD, 40)
            front.ring()
        return done, front.was_left(0.2)
    finally:
        front.close()


def fault_10_a_mad_frontend(t):
    """1,000,000 words and bytes of the rings and the header of an intake are changed, before and while muster-core
    (ASan) reads them, over some hundred connections; then a real frontend connects"""
    rng, records = random.Random(load.seed()), recorded()
    with damaged(*[objects.node(f"n{i}", cpu="100") for i in range(6)]) as c:
        c.core = c.start_core("--seccomp", "off")
        until(lambda: "listening" in c.core.log(), 20, "the core listens")
        mutations = left = turns = 0
        while mutations < MUTATIONS:
            with contextlib.suppress(ConnectionRefusedError):  # the last one is not forgotten yet
                done, gone = mad_frontend(c, rng, records, turns)
                mutations, left, turns = mutations + done, left + gone, turns + 1
            check(c.core.running(), "the core ended:", c.core.log()[-3000:])
        print(f"{mutations} mutations in {turns} connections, {left} of them left by the core")
        check(left > turns // 2, f"only {left} of {turns} were left")
        check("the frontend sent a bad record, closing" in c.core.log(), c.core.log()[-2000:])
        submitted(c)
        c.frontend = c.start_frontend()
        comes_right(c, 30)


def nobodys(c):
    """Pods that muster may not place are not placed, all others at most where there is a node."""
    for p in c.pods():
        name, node = p["metadata"]["name"], p["spec"].get("nodeName")
        check(not node or name not in ("theirs", "gated", "claims"), f"{name} is on {node}")
        check(not node or node in {f"n{i}" for i in range(6)}, f"{name} is on {node}")
    stats = c.stats()
    equal((stats["boundToUnknownNode"], stats["overcommitted"]), (0, 0), "unknown nodes, overcommitted")


def comes_right(c, within_s):
    """With both of them sound again all that may be placed is."""
    c.ready(c.frontend)
    until(lambda: c.bound() == 11, within_s, lambda: f"11 bound; {c.bound()} are")
    nobodys(c)
    equal(c.wrongs(), [], "wrongs")


def command(rng):
    """A kind and a body that mostly makes some sense."""
    kind = rng.choice((CMD_BIND, CMD_BIND, CMD_RETRY_BIND, CMD_CANCEL_BIND, CMD_REASON, CMD_GANG, CMD_ASSUME, rng.randrange(35)))
    pod, node = rng.randrange(20), rng.randrange(10)
    if kind in (CMD_BIND, CMD_RETRY_BIND, CMD_CANCEL_BIND):
        body = struct.pack("<8I", pod, rng.choice((1, 1, 1, 2)), node, rng.choice((1, 1, 1, 2)), NONE, 0, 1, 0)
    elif kind == CMD_REASON:
        body = struct.pack("<4I", rng.choice((NONE, rng.randrange(4))), 1, pod, 1) + struct.pack("<H", rng.randrange(14)) + bytes(526)
    elif kind == CMD_GANG:
        body = struct.pack("<6IQ", rng.randrange(4), 1, rng.randrange(6), 4, 2, 4, 0)
    else:
        body = bytes(rng.randrange(256) for _ in range(8 * rng.randrange(6)))
    if rng.random() < 0.2 and body:
        at = rng.randrange(len(body))
        body = body[:at] + bytes((rng.randrange(256),)) + body[at + 1:]
    return kind, body


def mad_core_turn(core, rng, turn):
    """One connection of the frontend; how many mutations."""
    done = 0

    def damage(ledger):
        nonlocal done
        if turn % 4 == 3:
            done += peers.mutate(rng, ledger, 0, 512, rng.randrange(1, 6))

    core.accept(damage)
    # Rows, names, statistics, figures: all that is read beside the ring.
    done += peers.mutate(rng, core.ledger, 512, len(core.copy) - 512, 5000)
    for _ in range(rng.randrange(1, 60)):
        kind, body = command(rng)
        wrong = {} if rng.random() < 0.95 else {rng.choice(("bytes", "epoch", "sequence", "tail", "flags")): rng.choice((0, 7, 1 << 15))}
        core.say(kind, body, **wrong)
        done += 1
        if core.was_left(0.001):
            return done
    done += peers.mutate(rng, core.ledger, 64, 448, 500)  # tail, heads, flags, bell
    core.was_left(0.05)
    return done


def fault_10_a_mad_core(t):
    """a simulated core sends commands with random numbers and changes 1,000,000 words and bytes of its ledger, in
    200 connections; muster-frontend (ASan) posts no Binding of a pod that is not for muster; then a real core
    connects"""
    rng = random.Random(load.seed())
    with damaged(*[objects.node(f"n{i}", cpu="100") for i in range(6)]) as c:
        submitted(c)
        c.core = c.start_core("--seccomp", "off", "--max-nodes", "64", "--max-pods", "256", "--max-gangs", "64", "--max-shapes", "64")
        until(lambda: "listening" in c.core.log(), 20, "the core listens")
        layout = peers.layout_of(c.core.log())
        ledger, limits = peers.ledger_copy(c.socket, layout)
        c.core.stop()
        core = peers.Core(c.socket, layout, ledger, limits)
        c.frontend = c.start_frontend()
        mutations, turns, end = 0, 0, time.monotonic() + 40
        while turns < 200 and time.monotonic() < end:
            mutations, turns = mutations + mad_core_turn(core, rng, turns), turns + 1
            check(c.frontend.running(), "the frontend ended:", c.frontend.log()[-3000:])
            if turns % 4 == 0:
                c.fetch("/metrics"), c.fetch("/state.json")
            if turns % 20 == 0:
                nobodys(c)
        core.close()
        print(f"{mutations} mutations in {turns} connections, {c.bound()} pods bound by them")
        nobodys(c)
        c.core = c.start_core()
        comes_right(c, 60)


def fault_10_in_the_fuzzers(t):
    """damaged records to a core, damaged commands to a frontend, random handshakes from both sides: 3,000 runs
    each, ASan"""
    for path in sanitized("fuzz", "fuzz_records", "fuzz_commands", "fuzz_handshake"):
        t.run_counted(1, path, "--runs", "3000", "--seed", "10")


fault_10_in_the_fuzzers.given = fault_10_a_mad_frontend.given = fault_10_a_mad_core.given = {"limit_s": 900}


# ---- 39: tenants ---------------------------------------------------------------------------

def evil(name, **given):
    return objects.pod(name, namespace="evil", **given)


def labelled(obj, **labels):
    obj["metadata"]["labels"].update(labels)
    return obj


def annotated(obj, annotations):
    obj["metadata"]["annotations"] = annotations
    return obj


def corpus():
    """What a tenant can send, or try to; the API server may refuse some of it."""
    quantities = ("1e400", "9223372036854775807", "9223372036854775808", "0.0000001", "-1", "1e18Ei", "8Ei", "1e18", "999999999999999999999",
                  "1n", "0", "+5", "5.", ".5", "1E6", "1e-9", "0x10", "NaN", " 1", "\u0661")
    for i, quantity in enumerate(quantities):
        yield evil(f"cpu-{i}", cpu=quantity)
        yield evil(f"memory-{i}", memory=quantity)
        yield evil(f"extended-{i}", requests={"example.com/x": quantity})
    for i, least in enumerate((2147483647, 2147483648, 0, -1, -2147483648, 8192)):
        yield objects.pod_group(f"least-{i}", least, namespace="evil")
        yield evil(f"least-{i}-0", group=f"least-{i}")
    # The group of somebody else: its name is a name in one's own namespace.
    yield evil("thief-0", group="victim")
    yield evil("thief-1", group="victim")
    yield labelled(evil("thief-2"), **{objects.GROUP_LABEL: "good.victim"})
    # Names, texts and sizes.
    yield labelled(evil("labels"), **{f"l{i}": "x" * 63 for i in range(2000)})
    yield annotated(evil("annotations"), {"a": "\u0000\u2028\ud83d\ude00\\\"{[" * 8000})
    yield annotated(evil("json"), {"scheduling.x-k8s.io/pod-group": "[" * 100000})
    yield evil("deep", affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
        {"matchExpressions": [{"key": f"k{i}", "operator": "In", "values": [f"v{j}" for j in range(50)]}]} for i in range(100)]}}})
    yield evil("terms", affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"labelSelector": {"matchLabels": {f"k{i}": "v"}}, "topologyKey": "kubernetes.io/hostname"} for i in range(200)]}})
    yield evil("spread", topologySpreadConstraints=[
        {"maxSkew": 2147483647, "topologyKey": f"k{i}", "whenUnsatisfiable": "DoNotSchedule"} for i in range(60)])
    yield evil("tolerant", tolerations=[{"key": f"k{i}", "operator": "Exists"} for i in range(1000)])
    yield evil("many", containers=[{"name": f"c{i}", "image": "x", "resources": {"requests": {"cpu": "9223372036854775807m"}}}
                                   for i in range(100)])
    yield evil("claims", resourceClaims=[{"name": "r", "resourceClaimName": "r"}])
    yield evil("volume", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "nowhere"}}])
    yield evil("preset", cpu="1000", nodeName="n0", scheduler="default-scheduler")
    yield evil("first", priority=2147483647)
    # Each dialect at once, and no two agree.
    yield annotated(evil("all", group="a"), {"scheduling.k8s.io/group-name": "b", "group-pod-num": "-5", "pod-group.scheduling/min-available": "9"})
    for i in range(60):
        yield evil(f"crowd-{i}", group=f"crowd-{i}")


def fault_39_hostile_objects(t):
    """some 150 objects of a tenant, of which the API server accepts all but some 25: absurd quantities and quorums,
    the group of another namespace, huge and deep objects, conflicting dialects; no pod of another namespace is
    blocked, and no gang counts a pod of another tenant"""
    with Cluster(*[objects.node(f"n{i}", cpu="16") for i in range(4)]) as c:
        c.up()
        group, members = objects.gang("victim", 3, namespace="good")
        c.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "good"}},
                 {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "evil"}}, group, *members[:2])
        daemons, taken, refused = c.daemons(), 0, 0
        for obj in corpus():
            try:
                c.create(obj)
                taken += 1
            except (kube.ApiError, OSError, ValueError) as error:
                refused += 1
                check(getattr(error, "status", 400) in (400, 403, 409, 413, 422), obj["metadata"]["name"], error)
        print(f"{taken} objects were taken by the API server, {refused} refused")
        check(taken > 100, f"only {taken} were taken")
        c.gang("honest", 4, namespace="good")
        until(lambda: c.bound("honest-", "good") == 4, 30, "the honest gang is bound")
        # Two of three: those of another namespace with its name are not its members.
        time.sleep(1)
        equal(c.bound("victim-", "good"), 0, "members of the gang that is not whole")
        c.create(members[2])
        until(lambda: c.bound("victim-", "good") == 3, 30, "the victim is bound")
        until(lambda: not [p for p in c.pods() if p["spec"].get("schedulerName") == "muster" and not p["spec"].get("nodeName")
                           and not any(k["type"] == "PodScheduled" for k in p.get("status", {}).get("conditions", []))], 30,
              "each pod that waits has a condition")
        equal(c.daemons(), daemons, "daemons")
        # What the tenant put on a node by hand, as it may, the kubelet turned away.
        own = ("evil/preset: OutOfcpu", "apisim counts 1 overcommitted", "apisim counts 1 kubeletRejected")
        equal([w for w in c.wrongs() if w not in own], [], "wrongs")
