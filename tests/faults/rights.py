# SPDX-License-Identifier: Apache-2.0
"""Who muster is, and what it may do: tokens, certificates, rights."""
import os
import ssl
import subprocess
import time

from lib import kube
from lib.harness import check, until
from lib.proxy import is_binding, is_list, is_watch

from .catalog import MOMENTS
from .frame import at


def token_of_a_file(t):
    """A kubeconfig with a tokenFile; the server takes one token, t.wanted."""
    t.token_file = os.path.join(t.c.folder, "token")
    write_token(t, "one")
    t.wanted = "one"
    with open(t.c.kubeconfig, encoding="utf-8") as file:
        text = file.read()
    t.c.kubeconfig = os.path.join(t.c.folder, "token.kubeconfig")
    with open(t.c.kubeconfig, "w", encoding="utf-8") as file:
        file.write("".join(f"    tokenFile: {t.token_file}\n" if "token:" in line else line
                           for line in text.splitlines(keepends=True)))
    t.guard = lambda call: call.token() != t.wanted
    t.door = t.proxy.rule(t.guard, lambda call: call.status(401, "Unauthorized"))


def write_token(t, text):
    """As the kubelet does: another file in its place."""
    with open(t.token_file + ".new", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(t.token_file + ".new", t.token_file)


@at(*MOMENTS, prepare=token_of_a_file)
def fault_24_tokens_are_rotated(t):
    """the token is refused while its file is old, then empty, then missing; finally the file has a valid one"""
    with t.moment_of("gang"):
        t.proxy.cut_all(lambda call: call.watch)
        t.wanted = "two"
        time.sleep(1)
        write_token(t, "")
        time.sleep(1)
        os.unlink(t.token_file)
        time.sleep(1)
        write_token(t, "two")
    # calm() would take the guard away: the right token has to be enough.
    until(lambda: not t.unbound(), 60, "bound with the new token", every_s=0.2)
    t.settles()
    t.same_daemons()
    check(t.door.hits > 0 and t.c.metric("muster_token_renewals_total") > 0, "no token was refused")
    check(t.door.hits < 150, f"{t.door.hits} requests with a token that is not taken")


@at(*MOMENTS, prepare=token_of_a_file)
def fault_24_tokens_are_rotated_in_time(t):
    """a new token is in the file before the old one expires: at most one 401 for each request"""
    with t.moment_of("gang"):
        write_token(t, "two")
        t.wanted = "two"
        t.proxy.cut_all(lambda call: call.watch)
    until(lambda: not t.unbound(), 30, "bound with the new token", every_s=0.2)
    t.settles()
    t.same_daemons()
    check(t.door.hits < 80, f"{t.door.hits} requests with the old token")


def certificate(folder, name):
    """One that signs itself, for 127.0.0.1: (file, context of a server)."""
    pem, key = os.path.join(folder, name + ".pem"), os.path.join(folder, name + ".key")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                    "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", pem],
                   check=True, stderr=subprocess.DEVNULL)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem, key)
    return pem, context


def behind_tls(t):
    """The proxy speaks TLS, and the kubeconfig names a file for the CA."""
    t.ca = os.path.join(t.c.folder, "ca.pem")
    first, t.proxy.tls = certificate(t.c.folder, "first")
    os.link(first, t.ca)
    t.proxy.away()
    t.proxy.listen()
    kube.write_kubeconfig(t.c.kubeconfig, f"https://127.0.0.1:{t.proxy.port}", t.client.token, ca_file=t.ca)


@at(*MOMENTS, prepare=behind_tls)
def fault_24_the_ca_is_rotated(t):
    """the server has a certificate of another CA for 2 s before the CA file exists; all connections are reopened"""
    with t.moment_of("gang"):
        t.proxy.away()
        second, t.proxy.tls = certificate(t.c.folder, "second")
        t.proxy.listen()
        time.sleep(2)
        os.replace(second, t.ca)
    t.settles(within_s=60)
    t.same_daemons()
    t.log_has("is another one; its certificates are taken")


def in_place(t, part, name):
    """That part of another certificate, as a rotator puts it there: one file after the other."""
    os.replace(os.path.join(t.c.folder, f"{name}.{part}"), os.path.join(t.c.folder, f"client.{part}"))


def trust(context, *files):
    """A server that takes clients with these certificates alone."""
    for file in files:
        context.load_verify_locations(file)
    context.verify_mode = ssl.CERT_REQUIRED


def behind_client_tls(t):
    """The proxy wants a certificate of its clients too, and the kubeconfig names files for one."""
    server, t.proxy.tls = certificate(t.c.folder, "server")
    client, _ = certificate(t.c.folder, "client")
    trust(t.proxy.tls, client)
    t.proxy.away()
    t.proxy.listen()
    t.server = server
    kube.write_kubeconfig(t.c.kubeconfig, f"https://127.0.0.1:{t.proxy.port}", t.client.token, ca_file=server,
                          pair=(client, client.replace(".pem", ".key")))


@at(*MOMENTS, prepare=behind_client_tls)
def fault_24_the_client_certificate_is_rotated(t):
    """the server accepts only another client certificate, 2 s before the key and 3 s before the certificate are in
    their files"""
    with t.moment_of("gang"):
        t.proxy.away()
        next_pem, _ = certificate(t.c.folder, "next")
        t.proxy.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        t.proxy.tls.load_cert_chain(t.server, t.server.replace(".pem", ".key"))
        trust(t.proxy.tls, next_pem)
        t.proxy.listen()
        time.sleep(2)
        in_place(t, "key", "next")
        time.sleep(1)
        in_place(t, "pem", "next")
    t.settles(within_s=60)
    t.same_daemons()
    t.log_has("is shown from now on")


@at(*MOMENTS, prepare=behind_client_tls)
def fault_24_the_client_certificate_ends(t):
    """the old certificate is answered 401 once the new one is in its file: connections that were made with the old
    one are closed"""
    next_pem, _ = certificate(t.c.folder, "next")
    with open(next_pem, encoding="ascii") as file:
        wanted = ssl.PEM_cert_to_DER_cert(file.read())
    with t.moment_of("gang"):
        t.proxy.away()
        trust(t.proxy.tls, next_pem)
        t.proxy.listen()
        in_place(t, "key", "next")
        in_place(t, "pem", "next")
        door = t.proxy.rule(lambda call: call.handler.connection.getpeercert(True) != wanted,
                            lambda call: call.status(401, "Unauthorized"))
    until(lambda: not t.unbound(), 60, "bound with the new certificate", every_s=0.2)
    t.settles()
    t.same_daemons()
    t.log_has("is shown from now on")
    check(door.hits < 80, f"{door.hits} requests with the old certificate")


def forbid(t, fits, seconds, most):
    """403 for those, for so long: it is told, they are few, and all comes right."""
    with t.moment_of("gang"):
        rule = t.proxy.rule(fits, lambda call: call.status(403, f'{call.resource} is forbidden: User "muster" cannot do that'))
    time.sleep(seconds)
    check(0 < rule.hits <= most, f"{rule.hits} requests that are forbidden in {seconds} s")
    t.log_has("403")
    t.proxy.remove(rule)
    t.settles(within_s=80)
    t.same_daemons()


@at(*MOMENTS, limit_s=150)
def fault_25_no_bindings(t):
    """403 for every Binding for 6 s"""
    forbid(t, is_binding, 6, 8 * 5)


@at(*MOMENTS, limit_s=150)
def fault_25_no_reports(t):
    """403 for conditions, statuses of groups and events for 6 s: bindings are not affected"""
    def report(call):
        return call.method in ("PATCH", "POST") and (call.sub == "status" or call.resource == "events")

    with t.moment_of("gang"):
        rule = t.proxy.rule(report, lambda call: call.status(403, f"{call.resource} is forbidden"))
        t.gang("big", 2, cpu="50")
        t.never.add("big")
    until(lambda: not t.unbound(), 30, "bound without reports")
    time.sleep(6)
    check(0 < rule.hits <= 120, f"{rule.hits} reports that are forbidden")
    t.log_has("forbidden")
    t.proxy.remove(rule)
    t.settles(within_s=80)
    t.same_daemons()


@at("idle", "mid-bind", limit_s=150, why="lists at other moments are the same")
def fault_25_no_lists(t):
    """403 for the watch and then the list of pods, for 4 s"""
    with t.moment_of("gang"):
        rule = t.proxy.rule(lambda call: is_watch("pods")(call) or is_list("pods")(call),
                            lambda call: call.status(403, 'pods is forbidden: User "muster" cannot watch resource "pods"'))
        t.proxy.cut_all(is_watch("pods"))
        time.sleep(4)
        check(0 < rule.hits <= 8, f"{rule.hits} requests that are forbidden in 4 s")
        t.proxy.remove(rule)
    t.log_has("403")
    t.settles(within_s=60)
    t.same_daemons()
