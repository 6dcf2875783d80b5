# SPDX-License-Identifier: Apache-2.0
"""The 90 scenarios of tests/scenarios on one real kube-apiserver, several at a time:
each has a muster of its own, with the shipped rights and only its own nodes.

    tests/real/test_scenarios.py [NAME...] [--jobs N] [--verbose]     cos, cos_3, cos_3b; all without one

The results go to build/scenarios; tests/scenarios/run.py --table makes the page of them."""
import argparse
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import muster  # noqa: E402
from lib.outsider import Outsider  # noqa: E402
from real.cluster import Cluster  # noqa: E402
from real.version import has_native_gangs  # noqa: E402
from real.faults import FaultProxy  # noqa: E402
from scenarios import runner, servers  # noqa: E402

JOBS = int(os.environ.get("MUSTER_SCENARIO_JOBS", "8"))


class World(servers.RealWorld):
    def __init__(self, server, how):
        self.faults = None
        super().__init__(server)
        self.fails = how.get("faults")

    def start_apisim(self):
        super().start_apisim()
        if self.fails:
            self.faults = FaultProxy(self.kubeconfig, self.folder).__enter__()
            self.kubeconfig = self.faults.kubeconfig

    def arm(self, fault, **how):
        self.faults.arm(fault, **how)

    def close(self):
        if self.faults:
            self.faults.__exit__()
        super().close()


class Server(servers.RealServer):
    def world(self, how):
        return World(self, how)


def still_namespaces():
    """Of scenarios whose pods are not run."""
    return [name.replace("_", "-") for name, f in runner.scenarios().items()
            if not getattr(f, "given", {}).get("kubelet", True)]


def main():
    parser = argparse.ArgumentParser(description="Runs scenarios against a real kube-apiserver.")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--jobs", type=int, default=JOBS)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    muster.exit_on_sigterm()
    folder = muster.scratch("muster-scenarios-")
    with Cluster(os.path.join(folder, "cluster"), gates=has_native_gangs()) as cluster:
        kubelets = [sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "kubelet.py"),
                    cluster.admin_kubeconfig, *[f"--except={name}" for name in still_namespaces()]]
        with muster.Process(kubelets, os.path.join(folder, "kubelets.log")) as nodes, \
                Outsider(cluster.admin_kubeconfig, folder) as judge:
            code = runner.run_all(Server(cluster.admin_kubeconfig, cluster.muster_kubeconfig), options.names,
                                  options.jobs, options.verbose)
            judge.rest()
            if not nodes.running():
                print(f"kubelets ended:\n{nodes.log()}")
                return 1
        if cluster.refusals():
            print(f"{cluster.refusals()} requests were not allowed")
            return 1
        return code


if __name__ == "__main__":
    sys.exit(main())
