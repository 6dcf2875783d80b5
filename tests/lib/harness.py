# SPDX-License-Identifier: Apache-2.0
"""Runs the test_* functions of a module and prints how many passed.

    from lib.harness import main, check
    if __name__ == "__main__": main(globals())

Options: names of tests to run; --full for the long form."""
import signal
import sys
import time
import traceback
from collections import Counter
from concurrent.futures import ThreadPoolExecutor


class Skip(Exception):
    """Raised by a test that can't be run here; printed loudly, never silently."""


class Failed(AssertionError):
    pass


def check(holds, *what):
    if not holds:
        raise Failed(" ".join(str(w) for w in what))


def equal(got, wanted, what=""):
    check(got == wanted, f"{what}: {got!r} instead of {wanted!r}")


def option(name, default):
    """The last --NAME=VALUE of the command line, of the default's type."""
    given = [a.split("=", 1)[1] for a in sys.argv[1:] if a.startswith(f"--{name}=")]
    return type(default)(given[-1]) if given else default


PATIENCE_S = 60  # a wait that is over early costs nothing, and other tests may use the CPUs
NOT_YET = (LookupError, TypeError, AttributeError, StopIteration)  # a field or an object that comes later


def until(question, timeout_s=PATIENCE_S, what="", every_s=0.05, exactly=False):
    """Call until the result is true; returns the result.  what may be a function, called at the end.

    The limit is at least PATIENCE_S unless it is to be exactly that: it ends a test that can't pass any more
    and asserts no speed.  A test of a speed measures it.  An answer without what is looked for in it (NOT_YET,
    or 404 of the API server) is no answer yet."""
    limit_s = timeout_s if exactly else max(timeout_s, PATIENCE_S)
    end = time.monotonic() + limit_s
    while True:
        missing = ""
        try:
            answer = question()
        except Exception as error:
            if not isinstance(error, NOT_YET) and getattr(error, "status", None) != 404:
                raise
            answer, missing = None, f" ({error!r})"
        if answer:
            return answer
        if time.monotonic() > end:
            raise Failed(f"not within {limit_s} s: {_said(what)}{missing}")
        time.sleep(every_s)


def _said(what):
    try:
        return what() if callable(what) else what
    except Exception as error:
        return f"no more is known: {error!r}"


def becomes(read, wanted, what="", timeout_s=PATIENCE_S):
    """until() the result of the call is that; a failure shows the last one."""
    last = ["nothing"]

    def same():
        last[0] = read()
        return last[0] == wanted

    until(same, timeout_s, lambda: f"{what}: {last[0]!r} instead of {wanted!r}")


def eventually(assertions, timeout_s=PATIENCE_S, every_s=0.1):
    """Call until it passes; a failure is its last one.  For what several sources say of a state that doesn't change
    any more: it only reads, and has none of what must hold at once."""
    last = [None]

    def passes():
        try:
            assertions()
        except Failed as error:
            last[0] = error
            return False
        return True

    until(passes, timeout_s, lambda: last[0], every_s)


def steady(question, seconds, what="", every_s=0.1):
    """The result of the call stays true throughout."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        check(question(), "not all through", what)
        time.sleep(every_s)


full = "--full" in sys.argv


def run_one(name, test):
    """"passed", "failed" or "skipped"; prints the outcome."""
    start = time.monotonic()
    try:
        test()
        verdict, said = "passed", "ok"
    except Skip as e:
        print(f"skipped: {name}: {e}", flush=True)
        return "skipped"
    except Exception:
        verdict, said = "failed", "FAIL"
        print(traceback.format_exc(), flush=True)
    print(f"{said} {name} ({time.monotonic() - start:.1f} s)", flush=True)
    return verdict


def main(names, jobs=1):
    """Run the tests in source order, `jobs` at a time: most of them wait more than
    they work.  Sets the exit code.

    One at a time runs in this thread: a child dies with the thread that started it, and what a test
    started again, as an API server, is needed until the end."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    wanted = [a for a in sys.argv[1:] if not a.startswith("-")]
    unknown = [a for a in wanted if not a.startswith("test_") or a not in names]
    if unknown:
        sys.exit(f"{sys.argv[0]}: there is no test {' '.join(unknown)}")
    tests = [(n, f) for n, f in names.items()
             if n.startswith("test_") and callable(f) and (not wanted or n in wanted)]
    if jobs == 1:
        ends = Counter([run_one(*t) for t in tests])
    else:
        with ThreadPoolExecutor(jobs) as pool:
            ends = Counter(pool.map(lambda t: run_one(*t), tests))
    tail = f", {ends['skipped']} skipped" if ends["skipped"] else ""
    print(f"{ends['passed']} passed, {ends['failed']} failed{tail}", flush=True)
    sys.exit(1 if ends["failed"] or not ends else 0)


def figure(text):
    print(f"figure: {text}", flush=True)
