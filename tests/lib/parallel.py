# SPDX-License-Identifier: Apache-2.0
"""Runs many tests at a time, each in a process of its own: they mostly wait."""
import contextlib
import io
import multiprocessing
import signal
import time
import traceback
from concurrent.futures import ProcessPoolExecutor, as_completed

from .harness import Skip


def run_one(name, play, limit_s):
    """(verdict, seconds, output); in a process of its own."""
    def too_long(*_):
        raise TimeoutError(f"longer than {limit_s} s")

    said, start = io.StringIO(), time.monotonic()
    with contextlib.redirect_stdout(said):
        signal.signal(signal.SIGALRM, too_long)
        signal.alarm(limit_s)
        try:
            play(name)
            verdict = "passed"
        except Skip as why:
            print(f"skipped: {name}: {why}")
            verdict = "not run"
        except Exception:
            print(traceback.format_exc())
            verdict = "failed"
        finally:
            signal.alarm(0)
    return verdict, time.monotonic() - start, said.getvalue()


def run_all(names, play, jobs, limit_s, took=None, verbose=False):
    """{name: (verdict, seconds, output)}; play(name) runs one.  limit_s: for one, a number
    or a function of the name.  took: {name: seconds} of an earlier run: the longest start first, so
    that none remains alone at the end."""
    ends = {}
    order = sorted(names, key=lambda name: -(took or {}).get(name, 30))
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("fork")) as pool:
        runs = {pool.submit(run_one, name, play, limit_s(name) if callable(limit_s) else limit_s): name for name in order}
        for done in as_completed(runs):
            name = runs[done]
            ends[name] = done.result()
            verdict, seconds, said = ends[name]
            if verdict != "passed" or verbose:
                print(said, flush=True)
            print(f"{'ok' if verdict == 'passed' else verdict.upper()} {name} ({seconds:.1f} s)", flush=True)
    return ends


def last_line(ends, missing=0):
    """How many passed and failed, for tests/run.sh; the exit code."""
    counted = [verdict for verdict, _, _ in ends.values()]
    failed = counted.count("failed") + missing
    tail = f", {counted.count('not run')} skipped" if "not run" in counted else ""
    print(f"{counted.count('passed')} passed, {failed} failed{tail}", flush=True)
    return 1 if failed else 0
