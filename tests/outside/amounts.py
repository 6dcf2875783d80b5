# SPDX-License-Identifier: Apache-2.0
"""Quantities and what a pod takes from its node, for tests/history.py."""
import functools
import re
from fractions import Fraction

_SUFFIX = {"": 0, "n": (10, -9), "u": (10, -6), "m": (10, -3), "k": (10, 3), "M": (10, 6), "G": (10, 9), "T": (10, 12),
           "P": (10, 15), "E": (10, 18), "Ki": (2, 10), "Mi": (2, 20), "Gi": (2, 30), "Ti": (2, 40), "Pi": (2, 50),
           "Ei": (2, 60)}


@functools.lru_cache(maxsize=65536)
def quantity(text):
    match = re.fullmatch(r"([+-]?[0-9.]+)(?:[eE]([+-]?[0-9]+)|([A-Za-z]*))", text)
    if not match or (match[3] or "") not in _SUFFIX:
        raise ValueError(f"not a quantity: {text!r}")
    base, power = (10, int(match[2])) if match[2] else _SUFFIX[match[3] or ""] or (10, 0)
    return Fraction(match[1]) * Fraction(base) ** power


def amounts(resources):
    return {name: quantity(str(amount)) for name, amount in (resources or {}).items()}


def requested(resources):
    """Requests; a limit without a request is one."""
    resources = resources or {}
    return amounts({**(resources.get("limits") or {}), **(resources.get("requests") or {})})


def most(*parts):
    return {name: max(p.get(name, 0) for p in parts) for p in parts for name in p}


def plus(*parts):
    return {name: sum(p.get(name, 0) for p in parts) for p in parts for name in p}


def container_request(container, statuses, infeasible):
    """During a resize in place: the largest of spec, actual and allocated; of an infeasible one not the spec."""
    status = statuses.get(container.get("name"))
    wanted = requested(container.get("resources"))
    if not status or not status.get("resources"):
        return wanted
    there = most(amounts(status["resources"].get("requests")), amounts(status.get("allocatedResources")))
    return there if infeasible else most(wanted, there)


def request_of(pod):
    """{resource: amount}, as kube-scheduler counts it, with one of "pods"."""
    spec, status = pod["spec"], pod.get("status") or {}
    infeasible = any(c.get("reason") == "Infeasible" for c in status.get("conditions") or ())
    statuses = {s["name"]: s for part in ("containerStatuses", "initContainerStatuses") for s in status.get(part) or ()}
    sidecars, init = {}, {}
    for container in spec.get("initContainers") or ():
        if container.get("restartPolicy") == "Always":
            sidecars = plus(sidecars, container_request(container, statuses, infeasible))
            init = most(init, sidecars)
        else:
            init = most(init, plus(sidecars, requested(container.get("resources"))))
    total = most(init, plus(sidecars, *(container_request(c, statuses, infeasible) for c in spec["containers"])))
    whole = requested(spec.get("resources"))
    if whole:
        actual = most(amounts(status.get("allocatedResources")), amounts((status.get("resources") or {}).get("requests")))
        total = {**total, **{name: max(amount, actual.get(name, 0)) for name, amount in whole.items()}}
    return plus(total, amounts(spec.get("overhead")), {"pods": Fraction(1)})
