# SPDX-License-Identifier: Apache-2.0
"""A core that makes no progress: it is noticed, disconnected and, where another instance stands by, replaced.  The tests
of LONG_S have the bound that is the default, the others one of BOUND_S; they all run at a time, since they wait."""
import os
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import objects  # noqa: E402
from lib.cluster import Cluster  # noqa: E402
from lib.harness import becomes, check, equal, figure, main, until  # noqa: E402
from lib.instances import started  # noqa: E402
from lib.objects import node, pod_group  # noqa: E402

BOUND_S = 2
FLAGS = ("--core-stall-seconds", str(BOUND_S))
LONG_S, DEFAULT_BOUND_S = 45, 10
SAID = "muster-core makes no progress"


def gang(c, name, n=3):
    c.create(pod_group(name, n), *(objects.pod(f"{name}-{i}", group=name) for i in range(n)))


def stops(process):
    os.kill(process.pid, signal.SIGSTOP)


def goes_on(process):
    os.kill(process.pid, signal.SIGCONT)


def left(start):
    """What remains of LONG_S since then."""
    return start + LONG_S - time.monotonic()


def test_45_s_without_another_instance():
    with Cluster(node("n1"), judged=True) as c:
        c.pair()
        gang(c, "a")
        until(lambda: c.bound("a") == 3, 20, "a bound")
        stops(c.core)
        start = time.monotonic()
        gang(c, "b")
        until(lambda: c.fetch("/livez") == (500, SAID + "\n"), left(start), "/livez", exactly=True)
        noticed_s = time.monotonic() - start
        check(noticed_s > DEFAULT_BOUND_S - 1, f"noticed after {noticed_s:.1f} s")
        becomes(lambda: c.fetch("/readyz"), (503, SAID + "\n"))
        time.sleep(max(0, left(start)))
        equal((c.bound("b"), c.metric("muster_core_stalled")), (0, 1), "bound by a core that is stopped, and stalled")
        goes_on(c.core)
        start = time.monotonic()
        until(lambda: c.bound("b") == 3, 30, "b bound")
        figure(f"a core stopped for {LONG_S} s: noticed after {noticed_s:.1f} s; {time.monotonic() - start:.1f} s after it went on all is bound")
        until(lambda: c.fetch("/livez")[0] == 200 and c.fetch("/readyz")[0] == 200, 20, "healthy")
        becomes(lambda: c.metric("muster_core_stalled"), 0, "stalled")
        c.well(c.core, c.frontend)


def test_45_s_with_another_instance():
    with Cluster(*(node(f"n{i}") for i in range(2)), judged=True) as c:
        one, two = started(c, 2)
        gang(c, "a")
        until(lambda: c.bound("a") == 3, 20, "a bound")
        stops(one.core)
        start = time.monotonic()
        gang(c, "b")
        until(lambda: two.leads(c), left(start), "the other one leads", exactly=True)
        until(lambda: c.bound("b") == 3, left(start), "b bound", exactly=True)
        figure(f"a leader's core stopped for {LONG_S} s: the other instance has bound all after {time.monotonic() - start:.1f} s")
        time.sleep(max(0, left(start)))
        check(two.leads(c) and not one.leads(c), "two leads")
        goes_on(one.core)
        one.ready(c)
        gang(c, "c")
        until(lambda: c.bound("c") == 3, 20, "c bound")
        check(two.leads(c) and not one.leads(c), "the lease moved again")
        c.well(one.core, one.frontend, two.core, two.frontend)


def test_without_another_instance_it_is_reported_and_taken_on_again():
    with Cluster(node("n1")) as c:
        c.pair(frontend=FLAGS)
        gang(c, "a")
        until(lambda: c.bound("a") == 3, 20, "a bound")
        becomes(lambda: c.ask("status", "--progress", "2")[0], 0, "a core that runs")
        stops(c.core)
        until(lambda: c.fetch("/livez") == (500, SAID + "\n"), 20, "/livez")
        becomes(lambda: c.fetch("/readyz"), (503, SAID + "\n"))
        becomes(lambda: (c.metric("muster_core_stalled"), c.metrics()['muster_core_lost_total{reason="stalled"}']), (1, 1), "metrics")
        equal(c.ask("status", "--progress", "1")[0], 1, "a core that is stopped")
        gang(c, "b")
        goes_on(c.core)
        until(lambda: c.bound("b") == 3, 30, "b bound")
        until(lambda: c.fetch("/livez")[0] == 200 and c.fetch("/readyz")[0] == 200, 20, "healthy")
        becomes(lambda: c.metric("muster_core_stalled"), 0, "stalled")
        check(c.frontend.running() and not c.wrongs(), c.wrongs())
        check("bad record" not in c.core.log(), "the ends of the rings were reset, which is no bad record: " + c.core.log()[-2000:])


def test_another_instance_takes_over():
    with Cluster(*(node(f"n{i}") for i in range(4))) as c:
        c.frontend_flags = FLAGS
        one, two = started(c, 2)
        gang(c, "a")
        until(lambda: c.bound("a") == 3, 20, "a bound")
        stops(one.core)
        gang(c, "b")
        until(lambda: two.leads(c), 30, "the other one leads")
        until(lambda: c.bound("b") == 3, 20, "b bound")
        # It has just started over: until it has waited for its core again it knows of no stall.
        until(lambda: one.fetch(c, "/livez") == (500, SAID + "\n"), 20, "/livez")
        check(one.frontend.running(), "its frontend ended")
        goes_on(one.core)
        one.ready(c)
        until(lambda: two.leads(c) and not one.leads(c), 20, "the lease moved again")
        check(not c.wrongs(), c.wrongs())


def test_a_leader_alone_leads_again():
    with Cluster(node("n1")) as c:
        c.frontend_flags = FLAGS
        one, = started(c, 1)
        stops(one.core)
        until(lambda: one.fetch(c, "/livez")[0] == 500, 20, "/livez")
        gang(c, "a")
        goes_on(one.core)
        until(lambda: c.bound("a") == 3, 40, "a bound")
        until(lambda: one.leads(c) and one.fetch(c, "/livez")[0] == 200, 20, "healthy")


def test_a_pause_of_both_is_no_stall():
    """As of a virtual machine."""
    with Cluster(node("n1")) as c:
        c.pair(frontend=FLAGS)
        for process in (c.frontend, c.core):
            stops(process)
        time.sleep(3 * BOUND_S)
        for process in (c.frontend, c.core):
            goes_on(process)
        gang(c, "a")
        until(lambda: c.bound("a") == 3, 20, "a bound")
        equal(c.metrics()['muster_core_lost_total{reason="stalled"}'], 0, "stalls")


if __name__ == "__main__":
    main(globals(), jobs=6)
