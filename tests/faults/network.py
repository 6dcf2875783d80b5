# SPDX-License-Identifier: Apache-2.0
"""No name, no connection, no TLS, a wrong certificate."""
import os
import re
import time

from lib.cluster import Cluster
from lib.harness import check, until

from .catalog import MOMENTS
from .frame import at

PATIENCE_S = 8
MOST_TRIES = 7  # of one resource in that time: after 0.8 to 1.6 s, then twice as much each time


@at(*MOMENTS)
def fault_38_refused(t):
    """no server listens for 6 s; each resource is retried after 0.8 s and more, then all continue"""
    with t.moment_of("gang"):
        t.proxy.away()
        time.sleep(6)
        t.proxy.listen()
    t.settles(within_s=60)
    t.same_daemons()
    check(t.c.metric("muster_http_not_sent_total") <= 40 * MOST_TRIES, "tries:", t.c.metric("muster_http_not_sent_total"))


def reaches_nobody(c, server, words, ca_data=None, name=None):
    """A frontend with that kubeconfig says why, is not ready, and does not try all the time."""
    text = open(c.kubeconfig, encoding="utf-8").read()
    text = re.sub(r"server: .*", f"server: {server}", text)
    if ca_data:
        text = re.sub(r"certificate-authority-data: .*", f"certificate-authority-data: {ca_data}", text)
    if name:
        text = re.sub(r"( *)server: ", rf"\1tls-server-name: {name}\n\1server: ", text)
    path = os.path.join(c.folder, "wrong.kubeconfig")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    core = c.start_core()
    frontend = c.start_frontend(kubeconfig=path)
    try:
        until(lambda: re.search(words, frontend.log()), 15, lambda: f"{words} in {frontend.log()[-600:]}")
        time.sleep(PATIENCE_S)
        check(c.fetch("/readyz")[0] == 503, "it is ready")
        tries = c.metrics()
        failures = [v for k, v in tries.items() if k.startswith("muster_watch_failures_total")]
        check(failures and max(failures) <= MOST_TRIES, "failures of a resource:", max(failures, default=None))
    finally:
        frontend.stop()
        core.stop()


def fault_38_no_name(t):
    """a host name that does not exist"""
    with Cluster() as c:
        reaches_nobody(c, "https://nowhere.invalid:6443", "resolve")


def fault_38_no_tls(t):
    """a server that speaks no TLS, and one that speaks nothing else"""
    with Cluster() as c:
        reaches_nobody(c, f"https://127.0.0.1:{c.apisim.port}", "SSL|TLS|ssl")
    with Cluster(apisim=["--tls"]) as c:
        reaches_nobody(c, f"http://127.0.0.1:{c.apisim.port}", "can't list")


def fault_38_wrong_certificate(t):
    """signed by another CA; for another name"""
    with Cluster(apisim=["--tls"]) as c, Cluster(apisim=["--tls"]) as other:
        theirs = re.search(r"certificate-authority-data: (\S+)", open(other.kubeconfig, encoding="utf-8").read())[1]
        reaches_nobody(c, f"https://127.0.0.1:{c.apisim.port}", "TLS|SSL", ca_data=theirs)
        reaches_nobody(c, f"https://127.0.0.1:{c.apisim.port}", "TLS|SSL", name="elsewhere.example.com")
