# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium, controlled over its debugging pipe: JSON, each message ended by a NUL byte."""
import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import time

from . import muster
from .harness import Failed, Skip


def program():
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if shutil.which(name):
            return name
    raise Skip("no Chromium here; apt-get install chromium")


class Browser:
    """One page.  .complaints has what went wrong in it: requests, exceptions, the console."""

    def __init__(self):
        name, self.folder = program(), muster.scratch("muster-browser-")
        self.complaints, self.requests = [], []
        self._number, self._rest = 0, b""
        down, self._write = os.pipe()
        self._read, up = os.pipe()
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
                 "--disable-component-update", "--disable-dev-shm-usage", f"--user-data-dir={self.folder}",
                 "--remote-debugging-pipe", "--window-size=1280,900", "about:blank"]

        # It reads from 3 and writes to 4, whatever the numbers are here.
        def numbered():
            a, b = os.dup2(down, 103), os.dup2(up, 104)
            os.dup2(a, 3), os.dup2(b, 4)

        self._child = subprocess.Popen([name, *flags], preexec_fn=numbered, close_fds=False, start_new_session=True,
                                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(down)
        os.close(up)
        self._session = None
        page = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self._session = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._child.pid, signal.SIGKILL)
        self._child.wait()
        os.close(self._write)
        os.close(self._read)

    def call(self, method, timeout_s=30, **params):
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + timeout_s
        while time.monotonic() < end:
            answer = self._next(end - time.monotonic())
            if answer and answer.get("id") == self._number:
                if "error" in answer:
                    raise Failed(f"{method}: {answer['error']}")
                return answer["result"]
        raise Failed(f"Chromium did not answer {method} within {timeout_s} s")

    def _next(self, timeout_s):
        while b"\0" not in self._rest:
            if not select.select([self._read], [], [], timeout_s)[0]:
                return None
            got = os.read(self._read, 1 << 20)
            if not got:
                raise Failed("Chromium ended")
            self._rest += got
        text, self._rest = self._rest.split(b"\0", 1)
        message = json.loads(text)
        self._note(message.get("method"), message.get("params"))
        return message

    def _note(self, method, params):
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Network.loadingFailed":
            self.complaints.append(params["errorText"])
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(params["exceptionDetails"])
        elif method == "Log.entryAdded":
            self.complaints.append(params["entry"]["text"])

    def open(self, url):
        self.call("Page.navigate", url=url)

    def ask(self, expression):
        """The value of a JavaScript expression in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise Failed(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")
