"""Runs the test_* functions of a module and says how many passed.

    from lib.harness import main, check
    if __name__ == "__main__": main(globals())

Options: names of tests to run; --full for the long form; -v."""
import signal
import sys
import time
import traceback


class Skip(Exception):
    """Raised by a test that can't be run here; printed loudly, never silently."""


class Failed(AssertionError):
    pass


def check(holds, *what):
    if not holds:
        raise Failed(" ".join(str(w) for w in what))


def equal(got, wanted, what=""):
    check(got == wanted, f"{what}: {got!r} instead of {wanted!r}")


def until(question, timeout_s, what="", every_s=0.05):
    """Ask until the answer is true; the answer."""
    end = time.monotonic() + timeout_s
    while True:
        answer = question()
        if answer:
            return answer
        if time.monotonic() > end:
            raise Failed(f"not within {timeout_s} s: {what}")
        time.sleep(every_s)


def steady(question, seconds, what="", every_s=0.1):
    """The question's answer stays true all through."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        check(question(), "not all through", what)
        time.sleep(every_s)


full = "--full" in sys.argv
verbose = "-v" in sys.argv


def main(names):
    """Run the tests in the order they are written; the exit code tells."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    wanted = [a for a in sys.argv[1:] if not a.startswith("-")]
    tests = [(n, f) for n, f in names.items() if n.startswith("test_") and callable(f)]
    passed = failed = skipped = 0
    for name, f in tests:
        if wanted and name not in wanted:
            continue
        start = time.monotonic()
        try:
            f()
            passed += 1
            verdict = "ok"
        except Skip as e:
            skipped += 1
            print(f"skipped: {name}: {e}")
            continue
        except Exception:
            failed += 1
            verdict = "FAIL"
            traceback.print_exc(file=sys.stdout)
        print(f"{verdict} {name} ({time.monotonic() - start:.1f} s)", flush=True)
    tail = f", {skipped} skipped" if skipped else ""
    print(f"{passed} passed, {failed} failed{tail}", flush=True)
    sys.exit(1 if failed or passed + skipped == 0 else 0)


def figure(text):
    print(f"figure: {text}", flush=True)
