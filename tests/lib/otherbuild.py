# SPDX-License-Identifier: Apache-2.0
"""Programs of "another version": those of the build with another layout of the shared memory, which is all
that muster checks of a peer.  The function that returns it is overwritten in a copy."""
import os
import re
import shutil
import subprocess

from . import muster

OTHER_HASH = 0x0123456789ABCDEF


def _place(path):
    """Where abi_layout_hash() lies in the file."""
    def lines(*argv):
        return subprocess.run([*argv, path], capture_output=True, text=True, check=True).stdout.splitlines()

    address = next(int(line.split()[0], 16) for line in lines("nm") if line.endswith(" T abi_layout_hash"))
    for line in lines("readelf", "-SW"):
        row = re.match(r"\s*\[ *\d+\] \.text\s+PROGBITS\s+(\w+) (\w+) (\w+)", line)
        if row:
            return address - int(row[1], 16) + int(row[2], 16)
    raise AssertionError(f"{path} has no .text")


def make(folder):
    """A folder with musterctl, muster-core and muster-frontend of that build."""
    bin = os.path.join(folder, "other-build")
    os.makedirs(bin)
    for name in ("musterctl", "muster-core", "muster-frontend"):
        path = shutil.copy(muster.program(name), bin)
        with open(path, "r+b") as f:
            f.seek(_place(path))
            f.write(b"\x48\xb8" + OTHER_HASH.to_bytes(8, "little") + b"\xc3")  # mov $OTHER_HASH, %rax; ret
    return bin
