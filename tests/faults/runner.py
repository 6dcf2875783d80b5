# SPDX-License-Identifier: Apache-2.0
"""Finds faults and runs them, each at each of its moments, many at a time."""
import importlib
import inspect
import pathlib
import re

from lib import kept, muster, parallel

from . import pages
from .catalog import FAULTS
from .frame import Fault

NOT_FAULTS = ("run", "frame", "runner", "catalog", "pages", "__init__")
LIMIT_S = 270  # for one run
QUICK = (13, 14, 17, 19, 20, 22, 26, 28)  # in `make test`, at one moment each


def modules():
    folder = pathlib.Path(__file__).parent
    return [importlib.import_module(f"faults.{path.stem}") for path in sorted(folder.glob("*.py"))
            if path.stem not in NOT_FAULTS]


def number_of(name):
    """Of a function or of a run of it."""
    return int(re.match(r"fault_(\d\d)_", name)[1])


def functions():
    """{name: function} in the order of the numbers."""
    found = {}
    for module in modules():
        for name, function in inspect.getmembers(module, inspect.isfunction):
            if function.__module__ != module.__name__ or not name.startswith("fault_"):
                continue
            if not re.match(r"fault_\d\d_", name) or number_of(name) not in FAULTS:
                raise SystemExit(f"{module.__name__}.{name}: a fault is named fault_NN_..., NN from 01 to {len(FAULTS)}")
            if name in found:
                raise SystemExit(f"two functions {name}")
            found[name] = function
    return dict(sorted(found.items()))


def why_not():
    """{number: why it has no test}"""
    return {number: why for module in modules() for number, why in getattr(module, "WHY_NOT", {}).items()}


def runs(every):
    """{"function moment" or "function": (function, moment)}"""
    return {" ".join(filter(None, (name, moment))): (function, moment)
            for name, function in every.items() for moment in getattr(function, "moments", None) or [None]}


def chosen(wanted):
    """Runs whose number or name is named: 13, fault_13, fault_13_server_restarts, "... mid-bind"."""
    every = runs(functions())
    if not wanted:
        return every
    got = {name: run for name, run in every.items() if any(fits(name, w) for w in wanted)}
    if not got:
        raise SystemExit(f"no fault of these names: {wanted}")
    return got


def fits(name, wanted):
    return number_of(name) == int(wanted) if wanted.isdigit() else name.startswith(wanted)


def quick():
    """One run of each of these numbers: of different moments."""
    every, got = runs(functions()), {}
    for turn, number in enumerate(QUICK):
        of_number = [name for name in every if number_of(name) == number]
        if of_number:
            name = of_number[turn % len(of_number)]
            got[name] = every[name]
    return got


def play(name):
    """In a process of its own."""
    function, moment = runs(functions())[name]
    t = Fault(name, moment, getattr(function, "given", {}))
    if moment is None:
        function(t)
        return
    with t.world():
        function(t)


def limit_of(name):
    function, _ = runs(functions())[name]
    return getattr(function, "given", {}).get("limit_s", LIMIT_S)


def run_all(wanted, jobs, verbose):
    """The exit code; closes on a line for tests/run.sh."""
    muster.exit_on_sigterm()
    took = {**{name: limit_of(name) / 10 for name in wanted}, **kept.seconds(pages.KEPT)}
    ends = parallel.run_all(wanted, play, jobs, limit_of, took, verbose)
    kept.keep(pages.KEPT, ends, ["tests/faults"])
    failed = sorted(name for name, end in ends.items() if end[0] == "failed")
    if failed:
        print("failed:", *failed, sep="\n  ")
    return parallel.last_line(ends)
