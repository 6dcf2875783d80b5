# SPDX-License-Identifier: Apache-2.0
"""The real kube-scheduler, on a cluster of tests/real/cluster.py."""
import http.client
import os
import ssl
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import muster  # noqa: E402
from lib.harness import check  # noqa: E402
from real.version import gates_of_devices  # noqa: E402

CONFIG = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {{kubeconfig: {kubeconfig}, qps: 5000, burst: 5000}}
leaderElection: {{leaderElect: false}}
percentageOfNodesToScore: 100
"""


class KubeScheduler(muster.Process):
    def __init__(self, program, kubeconfig, folder, config=None, *flags):
        """flags: more of them."""
        path = os.path.join(folder, "kube-scheduler.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(config or CONFIG.format(kubeconfig=kubeconfig))
        self.port = muster.free_port()
        super().__init__([str(program), f"--config={path}", f"--secure-port={self.port}", "--bind-address=127.0.0.1",
                          f"--cert-dir={folder}/kube-scheduler-certs", f"--authentication-kubeconfig={kubeconfig}",
                          f"--authorization-kubeconfig={kubeconfig}", *gates_of_devices(), *flags],
                         os.path.join(folder, "kube-scheduler.log"))

    def ready(self):
        check(self.running(), "kube-scheduler ended:", self.log()[-3000:])
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=5,
                                                 context=ssl._create_unverified_context())
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()
