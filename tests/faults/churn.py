# SPDX-License-Identifier: Apache-2.0
"""Very many groups in very little time."""
import time

from lib import load, muster, objects
from lib.harness import check, figure, until

from .frame import at

GROUPS, WAVES = 10000, 20
SECONDS = 60
GROWTH_KIB = 24 << 10  # of a daemon from one quarter to the last


@at("idle", proxy=False, limit_s=200, nodes=[objects.node(f"n{i:02}", cpu="64", pods="500") for i in range(20)],
    apisim=["--no-kubelet"], why="it covers all moments at once")
def fault_40_ten_thousand_groups(t):
    """10,000 groups of one or two pods, half of which never fit, are created and deleted in 60 s"""
    each, start, sizes = GROUPS // WAVES, time.monotonic(), []
    for wave in range(WAVES):
        made = [wave_group(wave, i) for i in range(each)]
        load.submit(t.client, load.flat(made))
        until(lambda: t.c.bound(f"w{wave}-fits") >= bound_of(made), 30, "what fits is bound", every_s=0.1)
        t.client.in_parallel(t.c.delete_object, load.flat(made), 8)
        sizes.append([muster.memory_kib(pid) for pid in t.c.daemons().values()])
        check(t.c.daemons() == t.daemons, "a daemon was started again")
    took = time.monotonic() - start
    t.settles()
    for before, after in zip(sizes[WAVES // 4], sizes[-1]):
        check(after - before <= GROWTH_KIB, "memory grew:", sizes[WAVES // 4], sizes[-1])
    requests = sum(n for what, n in t.c.stats()["requests"].items() if what.startswith("POST pods/binding"))
    figure(f"{GROUPS} groups in {took:.0f} s; {requests} Bindings; memory {sizes[WAVES // 4]} to {sizes[-1]} KiB")
    check(requests <= 3 * t.c.stats()["binds"], f"{requests} Bindings for {t.c.stats()['binds']} pods")


def wave_group(wave, i):
    fits, n = i % 2 == 0, 1 + i // 2 % 2
    name = f"w{wave}-{'fits' if fits else 'waits'}{i}"
    group, pods = objects.gang(name, n, cpu="500m" if fits else "100", memory="0")
    return group, pods


def bound_of(made):
    return sum(len(pods) for group, pods in made if "-fits" in group["metadata"]["name"])
