# SPDX-License-Identifier: Apache-2.0
"""tests/shim, preloaded into muster's programs: clocks that jump or run fast, calls that are interrupted,
an allocation that fails.

    shim = Shim(folder)
    c.up(env=shim.env)
    shim.set(wall_s=-3600)
    shim.set(every=3, spoils=EINTR | SHORT)
"""
import mmap
import os
import struct

from . import muster

EINTR, EAGAIN, SHORT = 1, 2, 4
_LAYOUT = "qIIII"  # struct orders


def _map(path, layout):
    with open(path, "wb") as f:
        f.write(bytes(struct.calcsize(layout)))
    with open(path, "r+b") as f:
        return mmap.mmap(f.fileno(), 0)


class Shim:
    def __init__(self, folder, name="shim"):
        path = os.path.join(folder, name)
        self._at = _map(path, _LAYOUT)
        self.env = {"LD_PRELOAD": str(muster.BUILD / "lib" / "muster-shim.so"), "MUSTER_SHIM": path}

    def set(self, wall_s=0, rate=0, every=0, spoils=0):
        """wall_s: to the wall clock; rate: of the monotonic ones, in percent; one call in `every` is spoiled."""
        struct.pack_into(_LAYOUT[:-1], self._at, 0, wall_s * 10**9, rate, every, spoils)

    def spoiled(self):
        return struct.unpack_from(_LAYOUT, self._at, 0)[4]


class FailingMemory:
    """One allocation of a program fails, once: the nth that it makes from now on."""
    _LAYOUT = "32sII"  # struct orders of tests/shim/memory.c

    def __init__(self, folder):
        path = os.path.join(folder, "memory")
        self._at = _map(path, self._LAYOUT)
        self.env = {"LD_PRELOAD": str(muster.BUILD / "lib" / "muster-memory.so"), "MUSTER_MEMORY": path}

    def fail(self, program, nth):
        struct.pack_into(self._LAYOUT, self._at, 0, program.encode(), nth, 0)

    def failed(self):
        return struct.unpack_from(self._LAYOUT, self._at, 0)[2] > 0
