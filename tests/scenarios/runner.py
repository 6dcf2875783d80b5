"""Finds scenarios and runs them, each in a process of its own: they mostly wait."""
import contextlib
import inspect
import io
import multiprocessing
import re
import signal
import time
import traceback
from concurrent.futures import ProcessPoolExecutor, as_completed

from lib import muster
from lib.harness import Skip

from . import batch, cm, cos, results, wp
from .frame import Scenario, number_of

MODULES = (cos, cm, batch, wp)
NUMBERS = [f"{system}-{n}" for system, last in (("COS", 25), ("CM", 20), ("BATCH", 20), ("WP", 25))
           for n in range(1, last + 1)]
LIMIT_S = 90  # for one scenario


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


def run_one(name, server):
    """(verdict, seconds, what it said); in a process of its own."""
    said = io.StringIO()
    start = time.monotonic()
    with contextlib.redirect_stdout(said):
        verdict = play(name, server)
    return verdict, time.monotonic() - start, said.getvalue()


def play(name, server):
    def too_long(*_):
        raise TimeoutError(f"longer than {LIMIT_S} s")

    function = scenarios()[name]
    how = getattr(function, "given", {})
    signal.signal(signal.SIGALRM, too_long)
    signal.alarm(LIMIT_S)
    try:
        with server.world(how) as world:
            t = Scenario(name, world)
            with t.running(how.get("muster", ()), how.get("config")):
                function(t)
        return "passed"
    except Skip as why:
        print(f"skipped: {name}: {why}")
        return "not run"
    except Exception:
        print(traceback.format_exc())
        return "failed"
    finally:
        signal.alarm(0)


def run_all(server, names=(), jobs=8, verbose=False):
    """The exit code; closes on a line for tests/run.sh."""
    muster.exit_on_sigterm()
    wanted = chosen(names)
    ends = {}
    context = multiprocessing.get_context("fork")
    # The longest first, so that none is left over at the end.
    took = results.seconds(server.name)
    order = sorted(wanted, key=lambda name: -took.get(name, 30))
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        runs = {pool.submit(run_one, name, server): name for name in order}
        for done in as_completed(runs):
            name = runs[done]
            ends[name] = done.result()
            verdict, seconds, said = ends[name]
            if verdict != "passed" or verbose:
                print(said, flush=True)
            print(f"{'ok' if verdict == 'passed' else verdict.upper()} {name} ({seconds:.1f} s)", flush=True)
    results.keep(server.name, ends)
    counted = [verdict for verdict, _, _ in ends.values()]
    missing = [] if names else sorted(set(NUMBERS) - {number_of(name) for name in wanted}, key=NUMBERS.index)
    for number in missing:
        print(f"FAILED {number}: it has no scenario")
    failed = counted.count("failed") + len(missing)
    if failed:
        print("failed:", *(name for name in wanted if ends[name][0] == "failed"), *missing)
    tail = f", {counted.count('not run')} skipped" if "not run" in counted else ""
    print(f"{counted.count('passed')} passed, {failed} failed{tail}", flush=True)
    return 1 if failed else 0
