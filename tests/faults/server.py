"""The API server goes, comes back, forgets, and answers with errors."""
import time

from .frame import at

EVERY = ("idle", "mid-plan", "mid-bind", "mid-relist")


@at(*EVERY)
def fault_13_server_restarts(t):
    """all connections break and none opens for 2 s, then each request is answered 429 with Retry-After for another"""
    with t.moment_of("gang"):
        lists = t.c.metric("muster_relists_total")
        t.proxy.away()
        time.sleep(2)
        starting = t.proxy.rule(lambda call: True, lambda call: call.answer(
            429, b"storage is (re)initializing\n", {"Retry-After": "1", "Content-Type": "text/plain", "Connection": "close"}))
        t.proxy.listen()
        time.sleep(1)
        t.proxy.remove(starting)
    t.settles()
    t.same_daemons()
    assert t.c.metric("muster_relists_total") == lists
