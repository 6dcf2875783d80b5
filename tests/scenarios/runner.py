# SPDX-License-Identifier: Apache-2.0
"""Finds scenarios and runs them, each in a process of its own: they mostly wait."""
import functools
import inspect
import re

from lib import muster, parallel

from . import batch, cm, cos, results, wp
from .frame import Scenario, number_of

MODULES = (cos, cm, batch, wp)
NUMBERS = [f"{system}-{n}" for system, last in (("COS", 25), ("CM", 20), ("BATCH", 20), ("WP", 25))
           for n in range(1, last + 1)]
LIMIT_S = 270  # for one scenario; the whole run has 300


def scenarios():
    """{name: function} in the order of the table."""
    found = {}
    for module in MODULES:
        system = module.__name__.rpartition(".")[2]
        for name, function in inspect.getmembers(module, inspect.isfunction):
            if re.fullmatch(f"{system}_[0-9]+[a-z]?", name):
                found[name] = function
    return dict(sorted(found.items(), key=lambda one: place(one[0])))


def place(name):
    return NUMBERS.index(number_of(name)), name


def chosen(names):
    every = scenarios()
    if not names:
        return every
    got = {name: f for name, f in every.items()
           if any(re.fullmatch(f"{wanted}(_[0-9]+)?[a-z]?", name) for wanted in names)}
    if not got:
        raise SystemExit(f"no scenario of these names: {names}")
    return got


def play(name, server):
    """In a process of its own."""
    function = scenarios()[name]
    how = getattr(function, "given", {})
    with server.world(how) as world:
        t = Scenario(name, world)
        with t.running(how.get("muster", ()), how.get("config")):
            function(t)


def run_all(server, names=(), jobs=8, verbose=False):
    """The exit code; closes on a line for tests/run.sh."""
    muster.exit_on_sigterm()
    wanted = chosen(names)
    ends = parallel.run_all(wanted, functools.partial(play, server=server), jobs, LIMIT_S, results.seconds(server.name), verbose)
    results.keep(server.name, ends)
    missing = [] if names else sorted(set(NUMBERS) - {number_of(name) for name in wanted}, key=NUMBERS.index)
    for number in missing:
        print(f"FAILED {number}: it has no scenario")
    failed = [name for name in wanted if ends[name][0] == "failed"] + missing
    if failed:
        print("failed:", *failed)
    return parallel.last_line(ends, len(missing))
