# SPDX-License-Identifier: Apache-2.0
"""What gcovr counted, as a table of folders and of the files that are below their goal.

    tests/coverage.py COVERAGE.json

Exit 1 when a folder misses its goal."""
import json
import sys
from collections import defaultdict

GOALS = {"core": (95, 85), "ipc": (90, 0), "frontend": (90, 0), "ctl": (85, 0)}  # per cent of lines, of branches
FILE_LINES, MANY = 10, 25  # a file is named when so many lines are missing


def share(covered, total):
    return 100 * covered / total if total else 100.0


def row(name, counts):
    lines, branches = counts[:2], counts[2:]
    return (f"{name:32} {share(*lines):6.1f} % of {lines[1]:6} lines   {share(*branches):6.1f} % of {branches[1]:6} "
            f"branches")


def main(path):
    with open(path) as file:
        files = json.load(file)["files"]
    folders, below = defaultdict(lambda: [0, 0, 0, 0]), []
    for entry in files:
        counts = [entry[k] for k in ("line_covered", "line_total", "branch_covered", "branch_total")]
        folder = entry["filename"].split("/")[0]
        folders[folder] = [a + b for a, b in zip(folders[folder], counts)]
        if share(*counts[:2]) < GOALS[folder][0] and counts[1] - counts[0] >= FILE_LINES:
            below.append((counts[1] - counts[0], entry["filename"], counts))
    below.sort(reverse=True)
    for missing, name, counts in below[:MANY]:
        print(row(name, counts) + f"   {missing} lines missing")
    missed = 0
    for folder, (lines, branches) in GOALS.items():
        counts = folders[folder]
        short = share(*counts[:2]) < lines or share(*counts[2:]) < branches
        missed += short
        goal = f"goal {lines}{f' and {branches}' if branches else ''} %"
        print(f"figure: {row(folder + '/', counts)}; {goal}{': missed' if short else ''}")
    print(f"{len(GOALS) - missed} passed, {missed} failed")
    return missed > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
