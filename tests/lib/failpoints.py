# SPDX-License-Identifier: Apache-2.0
"""Daemons that are killed or stopped at a probe by tests/probe (muster-killat): the programs of the build under
`musterctl up`, with a tracer for each life of a daemon while there are rules.

    daemons = Killable(folder)
    daemons.rule(CORE, "reserved", 3)         # the first life of muster-core ends there, ...
    daemons.rule(CORE, "ring_out", 1)         # ... the second one there
    c.up(bin=daemons.bin)
    daemons.lives()                           # [Life(CORE, "reserved", 3, done=True, ...), ...]
"""
import collections
import os
import shutil
import subprocess

from . import muster

CORE, FRONTEND = "muster-core", "muster-frontend"

Life = collections.namedtuple("Life", "program probe hit act done hits")
Hit = collections.namedtuple("Hit", "ns probe arguments")


def probes(program):
    """Names of the probes of a program of the build."""
    said = subprocess.run([muster.program("muster-killat"), "--list", muster.program(program)], capture_output=True,
                          text=True, check=True).stdout
    return sorted({line.split()[1] for line in said.splitlines()})


class Killable:
    def __init__(self, folder, searchers=0):
        """A world (searchers above 0) comes by the probes of the core's loop a second time."""
        self.folder, self.searchers = os.path.join(folder, "killable"), searchers
        self.bin = os.path.join(self.folder, "bin")
        os.makedirs(self.bin)
        # It searches the daemons in its own folder, whichever link it was started by.
        shutil.copy(muster.program("musterctl"), self.bin)
        for name in (CORE, FRONTEND):
            self._wrap(name)

    def _wrap(self, name):
        real, path = muster.program(name), os.path.join(self.bin, name)
        flags = f"--searchers {self.searchers}" if name == CORE else ""
        with open(path, "w") as f:  # musterctl up reads the flags of both first
            f.write(f'#!/bin/sh\n[ "$1" != --help ] || exec {real} --help\n'
                    f'exec {muster.program("muster-killat")} {self._rules(name)} {self._log(name)} {real} {flags} "$@"\n')
        os.chmod(path, 0o755)

    def _rules(self, name):
        return os.path.join(self.folder, name + ".rules")

    def _log(self, name):
        return os.path.join(self.folder, name + ".lives")

    def rule(self, program, probe, hit=1, act="kill"):
        """For the next life that has none; act may be "stop MS"."""
        with open(self._rules(program), "a") as f:
            f.write(f"{probe} {hit} {act}\n")

    def trace(self):
        for program in (CORE, FRONTEND):
            self.rule(program, "-", 1, "trace")

    def open(self, program):
        """How many rules no life has taken yet."""
        try:
            with open(self._rules(program)) as f:
                return len(f.readlines())
        except FileNotFoundError:
            return 0

    def lives(self):
        """Those that ended and had a rule."""
        out = []
        for program in (CORE, FRONTEND):
            if os.path.exists(self._log(program)):
                with open(self._log(program)) as f:
                    for line in f:
                        name, probe, hit, act, end, hits = line.split()
                        out.append(Life(name, probe, int(hit), act, end == "done", int(hits)))
        return out

    def hits(self, program):
        """What a trace saw, in order."""
        with open(self._log(program) + ".trace") as f:
            lines = [line.split() for line in f]
        return [Hit(int(ns), probe, [int(a) for a in arguments]) for ns, probe, *arguments in lines]
