# SPDX-License-Identifier: Apache-2.0
"""The other end of muster's socket, played by a test: a frontend that writes what it likes into its own segment, a core
likewise.  Offsets are those of struct intake and struct ledger in ipc/abi.h."""
import contextlib
import ctypes
import fcntl
import mmap
import os
import re
import socket
import struct

MAGIC = 0x31306B4C2E74736D  # of every message
HELLO, WELCOME = 1, 2
FRONTEND, OBSERVER = 1, 2
HEAD = struct.Struct("<QQII")  # magic, layout, kind, argument
RECORD = struct.Struct("<IHHQQQ")  # bytes, kind, flags, epoch, sequence, time
BLOCK = struct.Struct("<IHHQQQQ")
RECORDING_HEAD_BYTES = struct.Struct("<QII")
LIMITS_BYTES = 40
EVENT_BEGIN, EVENT_PLAN = 1, 19  # of enum record_kind: inputs lie from the one up to the other
SEALS = 0x0002 | 0x0004 | 0x0010 | 0x0001  # shrink, grow, future writes, seals

# struct intake
INTAKE_MAGIC, INTAKE_HEAD = 0x31306E492E74736D, 384
EVENT_RING, RESULT_RING, EVENT_TAIL, RESULT_TAIL, COMMAND_HEAD, FRONTEND_PARKED, CORE_DOORBELL = 32, 48, 64, 128, 192, 256, 320
EVENT_BYTES, RESULT_BYTES = 1 << 17, 4096
# struct ledger
LIMITS, COMMAND_RING, EPOCH, COMMAND_TAIL, FRONTEND_DOORBELL = 32, 72, 128, 192, 448

_libc = ctypes.CDLL(None, use_errno=True)
_FUTEX, _FUTEX_WAKE = {"x86_64": 202, "aarch64": 98}.get(os.uname().machine, 202), 1


def layout_of(log):
    """The layout hash in muster-core's log."""
    return int(re.search(r"layout=([0-9a-f]{16})", log)[1], 16)


def inputs(recording):
    """The input records of the first epoch of a recording, as bytes."""
    with open(recording, "rb") as file:
        data = file.read()
    at, found = RECORDING_HEAD_BYTES.unpack_from(data)[2], []
    while at + BLOCK.size <= len(data):
        end = at + BLOCK.size + BLOCK.unpack_from(data, at)[4]
        at += BLOCK.size
        while at < end:
            size, kind = struct.unpack_from("<IH", data, at)
            if EVENT_BEGIN <= kind < EVENT_PLAN:
                if kind == EVENT_BEGIN and found:
                    return found
                found.append(data[at:at + size])
            at += size
    return found


class Segment:
    """Sealed memory that only we can write to."""

    def __init__(self, size):
        self.fd = os.memfd_create("muster-test", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.posix_fallocate(self.fd, 0, size)
        self.map = mmap.mmap(self.fd, size)
        for at in range(0, size, mmap.PAGESIZE):
            self.map[at] = 0  # a page that was never written to looks like a hole
        fcntl.fcntl(self.fd, 1033, SEALS)  # F_ADD_SEALS

    def put(self, at, form, *values):
        struct.pack_into(form, self.map, at, *values)

    def get(self, at, form="<Q"):
        return struct.unpack_from(form, self.map, at)[0]

    def wake(self, at):
        word = ctypes.c_uint32.from_buffer(self.map, at)
        _libc.syscall(_FUTEX, ctypes.byref(word), _FUTEX_WAKE, 1 << 30, None, None, 0)
        del word

    def close(self):
        self.map.close()
        os.close(self.fd)


def mutate(rng, segment, first, size, times):
    """So many words, bytes and pieces of it get other values; returns how many."""
    extremes = (0, 1, 0xFFFFFFFF, 0x7FFFFFFF, 8, 32, 65536, 65544)
    for _ in range(times):
        at = first + rng.randrange(size - 8)
        turn = rng.random()
        if turn < 0.4:
            segment.map[at] ^= 1 << rng.randrange(8)
        elif turn < 0.7:
            segment.put(at & ~3, "<I", rng.choice(extremes))
        elif turn < 0.9:
            segment.put(at & ~3, "<I", rng.randrange(1 << 32))
        else:
            segment.put(at & ~7, "<Q", rng.getrandbits(64))
    return times


def _was_left(peer, within_s):
    peer.settimeout(within_s)
    try:
        return peer.recv(1) == b""
    except (TimeoutError, BlockingIOError):
        return False
    except OSError:
        return True


def listens(path):
    """Does a core accept connections there?  Its file is there a moment earlier."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as peer:
        try:
            peer.connect(path)
        except (FileNotFoundError, ConnectionRefusedError):
            return False
        return True


class Frontend:
    """Connected to a real core."""

    def __init__(self, path, layout):
        self.intake = Segment(INTAKE_HEAD + EVENT_BYTES + RESULT_BYTES)
        self.intake.put(0, "<QQQQ", INTAKE_MAGIC, layout, INTAKE_HEAD + EVENT_BYTES + RESULT_BYTES, 0)
        self.intake.put(EVENT_RING, "<QQQQ", INTAKE_HEAD, EVENT_BYTES, INTAKE_HEAD + EVENT_BYTES, RESULT_BYTES)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(60)
        self.socket.connect(path)
        socket.send_fds(self.socket, [HEAD.pack(MAGIC, layout, HELLO, FRONTEND)], [self.intake.fd])
        message, fds, _, _ = socket.recv_fds(self.socket, 512, 4)
        for fd in fds:
            os.close(fd)
        if HEAD.unpack_from(message)[2] != WELCOME:
            self.close()
            raise ConnectionRefusedError(message)
        self.epoch = struct.unpack_from("<Q", message, HEAD.size)[0]

    def write(self, records):
        """All in the ring of events, with headers as they are to be; how many bytes."""
        at = 0
        for sequence, record in enumerate(records, 1):
            if at + len(record) > EVENT_BYTES:
                break
            size, kind, flags, _, _, time_ns = RECORD.unpack_from(record)
            self.intake.map[INTAKE_HEAD + at:INTAKE_HEAD + at + len(record)] = record
            self.intake.put(INTAKE_HEAD + at, RECORD.format, size, kind, flags, self.epoch, sequence, time_ns)
            at += len(record)
        return at

    def publish(self, tail):
        self.intake.put(EVENT_TAIL, "<Q", tail)
        self.ring()

    def ring(self):
        self.intake.put(CORE_DOORBELL, "<I", (self.intake.get(CORE_DOORBELL, "<I") + 1) & 0xFFFFFFFF)
        self.intake.wake(CORE_DOORBELL)

    def was_left(self, within_s):
        """Did the core close the connection?"""
        return _was_left(self.socket, within_s)

    def close(self):
        self.socket.close()
        self.intake.close()


def ledger_copy(path, layout):
    """The bytes of a live core's ledger, and its published limits: for a simulated core."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as peer:
        peer.settimeout(60)
        peer.connect(path)
        peer.send(HEAD.pack(MAGIC, layout, HELLO, OBSERVER))
        message, fds, _, _ = socket.recv_fds(peer, 512, 4)
        with mmap.mmap(fds[0], 0, prot=mmap.PROT_READ) as view:
            copy = bytes(view)
        for fd in fds:
            os.close(fd)
    return copy, message[HEAD.size + 8:HEAD.size + 8 + LIMITS_BYTES]


class Core:
    """Serves a socket for a real frontend; the ledger is a copy of a real one."""

    def __init__(self, path, layout, ledger, limits):
        self.layout, self.limits, self.copy = layout, limits, ledger
        self.ledger, self.peer, self.epoch, self.sequence, self.tail = None, None, 1000, 0, 0
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        self.listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listening.bind(path)
        self.listening.listen(4)
        self.listening.settimeout(60)

    def accept(self, damage=None):
        """Let the frontend in; damage(segment) is done to the ledger before it is passed."""
        self.leave()
        self.peer, _ = self.listening.accept()
        self.peer.settimeout(60)
        _, fds, _, _ = socket.recv_fds(self.peer, 512, 4)
        for fd in fds:
            os.close(fd)
        self.epoch, self.sequence, self.tail = self.epoch + 1, 0, 0
        self.ledger = Segment(len(self.copy))
        self.ledger.map[:] = self.copy
        self.ledger.put(EPOCH, "<Q", self.epoch)
        self.ledger.put(COMMAND_TAIL, "<Q", 0)
        if damage:
            damage(self.ledger)
        welcome = HEAD.pack(MAGIC, self.layout, WELCOME, 0) + struct.pack("<Q", self.epoch) + self.limits
        with contextlib.suppress(OSError):
            socket.send_fds(self.peer, [welcome], [self.ledger.fd])

    def say(self, kind, body, **header):
        """One command; the header as it should be, but for what is given."""
        ring, size = struct.unpack_from("<QQ", self.copy, COMMAND_RING)
        length = RECORD.size + len(body)
        place = self.tail % size
        if place + length > size:  # a pad fills the end
            self.ledger.put(ring + place, "<IHH", size - place, 0, 0)
            self.tail, place = self.tail + size - place, 0
        self.sequence += 1
        self.ledger.put(ring + place, RECORD.format, header.get("bytes", length), kind, header.get("flags", 0),
                        header.get("epoch", self.epoch), header.get("sequence", self.sequence), header.get("time_ns", 1))
        self.ledger.map[ring + place + RECORD.size:ring + place + length] = body
        self.tail += length
        self.ledger.put(COMMAND_TAIL, "<Q", header.get("tail", self.tail))
        self.ledger.put(FRONTEND_DOORBELL, "<I", (self.ledger.get(FRONTEND_DOORBELL, "<I") + 1) & 0xFFFFFFFF)
        self.ledger.wake(FRONTEND_DOORBELL)

    def was_left(self, within_s):
        return _was_left(self.peer, within_s)

    def leave(self):
        if self.peer:
            self.peer.close()
            self.ledger.close()
            self.peer = None

    def close(self):
        self.leave()
        self.listening.close()
