#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the scenarios of the table against apisim, several at a time.

    tests/scenarios/run.py [NAME...]     cos, cos_3 (with its variants), cos_3b; all without one
        --jobs N      at a time (12)
        --verbose     the output of each, also when it passed
        --table       write docs/scenarios.md from the results of all runs so far

Results are stored in build/scenarios/, those of real servers (tests/real) as well."""
import argparse
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from scenarios import results, runner  # noqa: E402
from scenarios.servers import ApisimServer  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description="Runs scenarios against apisim.")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--jobs", type=int, default=int(os.environ.get("MUSTER_SCENARIO_JOBS", "12")))
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    if options.table:
        results.write_table()
        return 0
    return runner.run_all(ApisimServer(), options.names, options.jobs, options.verbose)


if __name__ == "__main__":
    sys.exit(main())
