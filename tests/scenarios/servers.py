# SPDX-License-Identifier: Apache-2.0
"""The two kinds of server that scenarios run against."""
from lib import kube
from lib.cluster import Cluster
from lib.dialects import CRDS

from .frame import NODE_LABEL


class ApisimWorld(Cluster):
    """One apisim for one scenario."""
    kind = "apisim"

    def make_namespace(self, name):
        self.client.create(kube.namespace(name))

    def muster_flags(self, t):
        return []

    def wrong_of_server(self):
        stats = self.stats()
        return [f"apisim counts {stats[what]} {what}" for what in
                ("overcommitted", "boundToUnknownNode", "kubeletRejected") if stats[what]]


class ApisimServer:
    name = "apisim"

    def world(self, how):
        """A context manager; how: the arguments of @given."""
        flags = [f for crd in CRDS for f in ("--crd", crd)] + ["--gate", "GenericWorkload", "--start-ms", 20,
                                                                "--seed", 1, *how.get("apisim", [])]
        if not how.get("kubelet", True):
            flags.append("--no-kubelet")
        return ApisimWorld(apisim=flags)


class RealWorld(Cluster):
    """A scenario's part of one real server that many share."""
    kind = "real"

    def __init__(self, server):
        super().__init__()
        self.server = server

    def start_apisim(self):
        self.client = kube.Client(self.server.admin)
        self.admin, self.kubeconfig = self.server.admin, self.server.muster

    def make_namespace(self, name):
        self.client.create(kube.namespace(name))

    def muster_flags(self, t):
        return ["--node-selector", f"{NODE_LABEL}={t.id}"]

    def wrong_of_server(self):
        return []


class RealServer:
    """admin, muster: kubeconfigs of a server with all definitions of deploy/crds.
    tests/real adds faults, and a world()."""
    name = "real"

    def __init__(self, admin, muster):
        self.admin, self.muster = admin, muster
