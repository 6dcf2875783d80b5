# SPDX-License-Identifier: Apache-2.0
"""A proxy in front of the real API server that makes bindings fail as apisim's faults do:
500, 504, 409, or a cut connection, without or with effect.

    with FaultProxy(kubeconfig, folder) as proxy: ... proxy.kubeconfig, proxy.arm("bind-500-after", count=1)
"""
import re

from lib.proxy import Proxy, is_binding

FAULT = re.compile(r"bind-(500|504|409|cut)-(before|after)")
WORDS = {500: "Internal error occurred: armed fault",
         504: "Timeout: request did not complete within the allotted timeout",
         409: 'Operation cannot be fulfilled on pods/binding "{}": etcdserver: request timed out'}


class FaultProxy(Proxy):
    def arm(self, fault, count=1):
        """For the next `count` bindings; the fault armed last is used first."""
        match = FAULT.fullmatch(fault)
        if not match:
            raise ValueError(f"no fault {fault} of a real server")
        what, when = match.groups()

        def act(call):
            if when == "after":
                call.forward()
            if what == "cut":
                call.cut()
            call.status(int(what), WORDS[int(what)].format(call.name))

        self.rule(is_binding, act, count)
