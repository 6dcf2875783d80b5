#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the faults of the table, several at a time.

    tests/faults/run.py [WHAT...]     13, fault_13_server_restarts, "fault_13_server_restarts mid-bind"; all without one
        --quick       a few of them, in seconds
        --jobs N      at a time (8)
        --verbose     what each said, also when it passed
        --list        what there is
        --table       write docs/faults.md from the results of all runs so far
        --check       does docs/faults.md say what the functions do, and is each of the 44 there?

Results are kept in build/faults/."""
import argparse
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from faults import pages, runner  # noqa: E402


def names_of(number):
    return [name for name in runner.runs(runner.functions()) if runner.number_of(name) == number]


def check():
    wrong = list(pages.wrong(runner.functions(), runner.why_not()))
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description="Runs faults against apisim.")
    parser.add_argument("what", nargs="*")
    parser.add_argument("--jobs", type=int, default=int(os.environ.get("MUSTER_FAULT_JOBS", "8")))
    parser.add_argument("--seed")  # of lib.load
    for flag in ("quick", "verbose", "list", "table", "check"):
        parser.add_argument("--" + flag, action="store_true")
    options = parser.parse_args()
    if options.check:
        return check()
    ran = 0
    if not options.table or options.what:
        wanted = runner.quick() if options.quick else runner.chosen(options.what)
        if options.list:
            print(*wanted, sep="\n")
            return 0
        ran = runner.run_all(wanted, options.jobs, options.verbose)
    if options.table:
        pages.write(runner.functions(), names_of, runner.why_not())
    return ran


if __name__ == "__main__":
    sys.exit(main())
