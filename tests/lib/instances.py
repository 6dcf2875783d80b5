# SPDX-License-Identifier: Apache-2.0
"""Several instances of muster on one cluster, of which one leads."""
import os

from . import kube, muster
from .harness import until
from .kube import namespace

TIMES = ("--leader-elect-lease-duration", "4s", "--leader-elect-renew-deadline", "3", "--leader-elect-retry-period", "1")
ELECTED = ("--leader-elect", *TIMES)


class Instance:
    """Core and frontend, side by side with others'."""

    def __init__(self, c, number, times=TIMES):
        self.socket = os.path.join(c.folder, f"{number}.sock")
        self.listen = f"127.0.0.1:{muster.free_port()}"
        self.core = c.spawn("muster-core", "--socket", self.socket)
        self.frontend = c.spawn("muster-frontend", "--socket", self.socket, "--kubeconfig", c.kubeconfig, "--listen",
                                self.listen, "--leader-elect", *times, *c.frontend_flags)

    def fetch(self, c, path):
        c.listen = self.listen
        return c.fetch(path)

    def leads(self, c):
        c.listen = self.listen
        return c.metric("muster_leading") == 1

    def ready(self, c):
        until(lambda: self.fetch(c, "/readyz")[0] == 200, 30, "readyz")


class Pair:
    """Core and frontend with an address of the API server of their own, as of a proxy before it.

    c: has folder and spawn(), which owns the processes."""

    def __init__(self, c, number, kubeconfig, *flags):
        self.listen = f"127.0.0.1:{muster.free_port()}"
        socket = os.path.join(c.folder, f"{number}.sock")
        self.core = c.spawn("muster-core", "--socket", socket)
        self.frontend = c.spawn("muster-frontend", "--socket", socket, "--kubeconfig", kubeconfig, "--listen",
                                self.listen, *flags)

    def fetch(self, path):
        return kube.fetch(self.listen, path)

    def ready(self):
        until(lambda: self.fetch("/readyz")[0] == 200, 30, lambda: f"readyz: {self.fetch('/readyz')}")
        return self

    def metric(self, name):
        """Of a single one, by its name with its labels; 0 without a response."""
        return kube.metrics(self.listen).get(name, 0)

    def leads(self):
        return self.metric("muster_leading") == 1

    def kill(self):
        for process in (self.frontend, self.core):
            process.kill()


def started(c, n=2):
    """That many instances; the first one leads."""
    all_of_them = []
    c.create(namespace("muster-system"))
    for i in range(n):
        all_of_them.append(Instance(c, i))
        if i == 0:
            until(lambda: all_of_them[0].leads(c), 20, "a leader")
    for i in all_of_them:
        i.ready(c)
    return all_of_them
