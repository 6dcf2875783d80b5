#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Puts each bug of tests/mutations.py alone into a copy of the tree, builds the part of the suite that should find it, and
runs it: a table of the findings and their times.  A bug that is not found, or whose text is missing, is a failure.

    tests/mutate.py --check                             only check that the text of each exists, in a second
    tests/mutate.py [--only PATTERN] [--finder PATTERN] [--table FILE]
                                                        those whose GROUP:NAME matches, a bug by itself has no group, and
                                                        whose finder does, KIND:NAME
    --workers N   copies of the tree, each with a build and a run of its own
    --passed      the suite passed on this tree: it is not run without a bug first"""
import argparse
import fcntl
import os
import queue
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import chain

import mutations

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WORKERS = 2
TRIES = 10  # of a stress program: the CPU has to reorder, which it does not on a busy machine
STRESS_FILES = "ipc/ring.c ipc/wake.c ipc/segment.c ipc/abi.c core/daemon/recorder.c core/daemon/policy.c ipc/logline.c ipc/memory.c"


class Missed(Exception):
    pass


def command(finder):
    """(folder of the build, SAN, target, command)"""
    if finder.kind == "fuzzer":
        target = f"build-address/fuzz/fuzz_{finder.name}"
        return "build-address", "address", target, [target, *finder.arguments]
    if finder.kind == "unit test":
        target = f"build-address/unit/{finder.name}"
        return "build-address", "address", target, [target, *finder.arguments]
    if finder.kind == "model":
        return "", "", "", ["tests/model/run.sh", finder.name]
    if finder.kind == "simulator":
        return "build", "", "build/bin/muster-sim", ["build/bin/muster-sim", *finder.arguments]
    folder = "build-mutated-thread" if "TSan" in finder.kind else "build-mutated"
    target = f"{folder}/stress/{finder.name}"
    return folder, "thread" if "TSan" in finder.kind else "", target, [target, *finder.arguments]


def build(tree, finder):
    folder, san, target, _ = command(finder)
    if not target:
        return
    # A bug may leave something unused.  Stress programs need few files of their libraries.
    flags = [f"B={folder}", f"SAN={san}", "CFLAGS=-w"]
    if "stress" in finder.kind:
        flags += ["LIB_core=", f"lib_src={STRESS_FILES}"]
    made = subprocess.run(["make", "--no-print-directory", *flags, target], cwd=tree, capture_output=True, text=True, errors="replace")
    if made.returncode != 0:
        raise Missed("does not build:\n" + (made.stdout + made.stderr)[-1500:])


def find(tree, finder, tries=TRIES):
    """(seconds, output) of the run that failed as expected; None when all runs passed, or one did not end."""
    start = time.monotonic()
    for _ in range(tries if "stress" in finder.kind else 1):
        try:
            ran = subprocess.run(command(finder)[3], cwd=tree, timeout=finder.limit + 30, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 env={**os.environ, "TSAN_OPTIONS": "halt_on_error=1", "CRITERION_FAIL_FAST": "1"})
        except subprocess.TimeoutExpired:
            continue
        said = ran.stdout.decode(errors="replace")
        if ran.returncode < 0:
            return time.monotonic() - start, f"ended by signal {-ran.returncode}\n{said}"
        if ran.returncode != 0 and re.search(finder.pattern, said):
            return time.monotonic() - start, said
    return None


def said_shortly(finder, said):
    """The first line that shows the failure; of the simulator also the seed."""
    if finder.kind == "simulator":
        match = re.search(r"seed (\d+)[^\n]*?: ([^\n]*)", said)
        return f"seed {match.group(1)}: {match.group(2)[:90]}" if match else said.strip().splitlines()[0][:100]
    lines = [line for line in said.splitlines() if line.strip()]
    telling = [line for line in lines if re.search(r"runtime error|SUMMARY|Assertion|data race|a wake was lost|FAIL|[Aa]ssertion|Unexpected", line)]
    line = (telling or lines or [""])[0].strip()
    return re.sub(r"(\[----\] |(?<![\w.])/[^ ]*/|\(pid=\d+\)|==\d+==)", "", line)[:100]


def occurrences(text, part):
    """The places of `part` in the text, whatever the white space between its tokens: the formatter breaks lines."""
    tokens = re.findall(r"\w+|[^\w\s]", part)
    return [m.span() for m in re.finditer(r"\s*".join(re.escape(t) for t in tokens), text)]


def put(tree, edits):
    """Puts them in; returns {path: text as it was}."""
    before = {}
    try:
        for path, *edit in edits:
            full = os.path.join(tree, path)
            with open(full, encoding="utf-8") as file:
                text = file.read()
            before.setdefault(path, text)
            if len(edit) == 3:  # of the source as it is
                first, last, new = edit
                text = text[:first] + new + text[last:]
            else:
                places = occurrences(text, edit[0])
                if len(places) != 1:
                    raise Missed(f"{path} has its text {len(places)} times")
                first, last = places[0]
                text = text[:first] + edit[1].strip() + text[last:]
            write(full, text)
    except Missed:
        take_out(tree, before)
        raise
    return before


def take_out(tree, before):
    for path, text in before.items():
        write(os.path.join(tree, path), text)


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def copy_tree(to):
    """Files that git tracks, and objects, with their times."""
    shutil.rmtree(to, ignore_errors=True)
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    for path in files:
        if os.path.isfile(os.path.join(ROOT, path)):
            os.makedirs(os.path.dirname(os.path.join(to, path)), exist_ok=True)
            shutil.copy2(os.path.join(ROOT, path), os.path.join(to, path))
    for folder in ("build/obj", "build/lib", "build-address/obj", "build-address/lib"):
        if os.path.isdir(os.path.join(ROOT, folder)):
            shutil.copytree(os.path.join(ROOT, folder), os.path.join(to, folder), copy_function=shutil.copy2)
    return to


def try_one(trees, bug):
    """(bug, seconds or None, text)"""
    tree = trees.get()
    try:
        before = put(tree, bug.edits)
        try:
            build(tree, bug.finder)
            found = find(tree, bug.finder)
        finally:
            take_out(tree, before)
    except Missed as e:
        return bug, None, str(e)
    finally:
        trees.put(tree)
    return (bug, found[0], said_shortly(bug.finder, found[1])) if found else (bug, None, "not found")


SOUND = {"fuzzer": ("--seconds", "15"), "simulator": ("--no-shrink", "--seeds", "300")}


def sound(tree, finders):
    """Without a bug nothing is found, else finding means nothing."""
    for finder in dict.fromkeys(f._replace(arguments=SOUND.get(f.kind, f.arguments)) for f in finders):
        build(tree, finder)
        found = find(tree, finder, 1)
        if found:
            sys.exit(f"{finder.kind} {finder.name} fails without a bug: {said_shortly(finder, found[1])}")


def rows(results):
    """Markdown: bugs one by one, then the worst of each group."""
    yield "| bug | found by | after | as |"
    yield "| --- | --- | --- | --- |"
    groups = {}
    for bug, seconds, text in results:
        if bug.group:
            groups.setdefault(bug.group, []).append((seconds, text))
            continue
        name = os.path.basename(command(bug.finder)[2]) or bug.finder.name
        how = f"{bug.finder.kind}, `{name}`"
        yield f"| {bug.name} | {how} | {'**not found**' if seconds is None else f'{seconds:.1f} s'} | {text.replace('|', '/')} |"
    for group, of in groups.items():
        took = sorted(s for s, _ in of if s is not None)
        yield (f"| {group}: each of {len(of)} removed, one at a time | fuzzer, `fuzz_records` | {len(took)} found: median {took[len(took) // 2]:.1f} s, "
               f"worst {took[-1]:.1f} s | |" if took else f"| {group} | fuzzer | none of {len(of)} found | |")


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def check(bugs):
    """Is the text of each edit in its file, once?"""
    failed = 0
    for bug in bugs:
        for path, *edit in bug.edits:
            there = 1 if len(edit) == 3 else len(occurrences(read(path), edit[0]))
            if there != 1:
                failed += 1
                print(f"{bug.name}: {path} has its text {there} times: {edit[0][:100]!r}")
                break
    print(f"{len(bugs) - failed} passed, {failed} failed")
    return failed > 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    parser.add_argument("--finder", default="")
    parser.add_argument("--table")
    parser.add_argument("--workers", type=int, default=WORKERS)
    parser.add_argument("--passed", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    bugs = [b for b in [*mutations.BUGS, *mutations.checks(read)] if re.search(options.only, f"{b.group}:{b.name}")
            and re.search(options.finder, f"{b.finder.kind}:{b.finder.name}")]
    if options.check:
        return check(bugs)
    os.makedirs(os.path.join(ROOT, "build", "mutations"), exist_ok=True)
    lock = os.open(os.path.join(ROOT, "build", "mutations", "lock"), os.O_CREAT | os.O_RDWR)
    fcntl.flock(lock, fcntl.LOCK_EX)  # of one run at a time
    trees, results, start = queue.Queue(), [], time.monotonic()
    copies = [copy_tree(os.path.join(ROOT, "build", "mutations", str(i))) for i in range(options.workers)]
    if not options.passed:
        sound(copies[0], [b.finder for b in bugs])
    for copy in copies:
        trees.put(copy)
    alone = [b for b in bugs if b.finder.kind == "stress"]  # it needs two CPUs
    with ThreadPoolExecutor(options.workers) as pool:
        together = pool.map(lambda bug: try_one(trees, bug), [b for b in bugs if b not in alone])
        for result in chain(together, (try_one(trees, b) for b in alone)):
            bug, seconds, text = result
            results.append(result)
            print(f"{'ok  ' if seconds is not None else 'FAIL'} {'' if seconds is None else f'{seconds:5.1f} s '}{bug.group or bug.finder.name}: "
                  f"{bug.name}: {text}", flush=True)
    table = "\n".join(rows(results))
    print("\n" + table)
    if options.table:
        write(options.table, table + "\n")
    missed = sum(seconds is None for _, seconds, _ in results)
    print(f"\n{len(results)} bugs in {time.monotonic() - start:.0f} s\n{len(results) - missed} passed, {missed} failed")
    return 1 if missed or not results else 0


if __name__ == "__main__":
    sys.exit(main())
