# SPDX-License-Identifier: Apache-2.0
"""Results of numbered tests, stored between runs in build/."""
import json
import pathlib
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


def commit(*parts):
    """The commit under test, with a + when a part of it is not committed; parts: folders that count
    in addition to the programs' own."""
    def git(*arguments):
        done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False)
        return done.stdout.strip()

    changed = git("status", "--porcelain", "-uno", "--", "core", "frontend", "ipc", "ctl", "tests/lib", "tests/apisim", *parts)
    return (git("rev-parse", "--short", "HEAD") or "no commit") + ("+" if changed else "")


def read(path):
    """{name: {verdict, seconds, commit, day}}"""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def keep(path, ends, parts=()):
    """ends: {name: (verdict, seconds, output)}"""
    kept, now = read(path), commit(*parts)
    for name, (verdict, took, _) in ends.items():
        kept[name] = {"verdict": verdict, "seconds": round(took, 1), "commit": now, "day": time.strftime("%Y-%m-%d")}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(kept, indent=1), encoding="utf-8")


def seconds(path):
    return {name: one["seconds"] for name, one in read(path).items()}
