# SPDX-License-Identifier: Apache-2.0
"""tests/history.py as a process next to a test: it follows the API server from now on.

    with Outsider(kubeconfig, folder) as judge:
        ...
        judge.rest()        nothing is under way: gangs are judged here
"""
import os
import shutil
import subprocess
import sys

from . import harness, muster

CHECKER = muster.ROOT / "tests" / "history.py"
KEPT = muster.ROOT / "build" / "histories"  # of tests with a violation


class Outsider:
    def __init__(self, kubeconfig, folder):
        self.path = os.path.join(folder, "history.jsonl.gz")
        self.ended = None
        self.process = subprocess.Popen(
            [*muster.DIES_WITH_US, sys.executable, str(CHECKER), "watch", "--kubeconfig", str(kubeconfig), "--out", self.path],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
        self._wait_for("watching")

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        found = self.end()
        self.stop()
        if kind is None:
            harness.check(not found, "history:", *found)

    def _wait_for(self, word):
        line = self.process.stdout.readline()
        harness.check(line.startswith(word), f"tests/history.py: {line!r} instead of {word}")

    def rest(self):
        """Every write so far is judged as a state that stays."""
        print("rest", file=self.process.stdin, flush=True)
        self._wait_for("rest")

    def end(self):
        """The violations, while the server is there; prints the last line."""
        if self.ended is None:
            said, _ = self.process.communicate()
            lines = said.splitlines()
            self.ended = [line for line in lines if line.startswith(("violation", "not judged"))]
            if self.process.returncode != 0:
                self.ended = self.ended or [f"tests/history.py: exit {self.process.returncode}"]
                self._keep()
            print("\n".join([f"history: {line}" for line in lines[-20:]]), flush=True)
        return list(self.ended)

    def _keep(self):
        os.makedirs(KEPT, exist_ok=True)
        kept = KEPT / f"{os.path.basename(sys.argv[0])}-{os.getpid()}-{self.process.pid}.jsonl.gz"
        if os.path.exists(self.path):
            shutil.copy(self.path, kept)
            print(f"history: kept as {kept}; judge it again with tests/history.py judge", flush=True)

    def stop(self):
        """Without a verdict."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()
