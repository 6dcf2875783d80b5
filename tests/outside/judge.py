# SPDX-License-Identifier: Apache-2.0
"""The judge of tests/history.py: what its records show to be wrong, and whose doing it is."""
from collections import defaultdict

from .amounts import amounts, request_of
from .facts import GROUPS, group_of, key, quorum_of

RACE_S = 5.0  # how old a change may be and yet unknown to a scheduler: its watch, and a Binding under way
MARK = "-"  # kind of records that are not about an object


class Pod:
    """A pod as its last judged write has it."""

    def __init__(self, obj, before=None):
        self.obj, self.key, self.uid = obj, key(obj), obj["metadata"]["uid"]
        self.node, self.scheduler = obj["spec"].get("nodeName"), obj["spec"].get("schedulerName")
        self.finished = (obj.get("status") or {}).get("phase") in ("Succeeded", "Failed")
        self.ending = bool(obj["metadata"].get("deletionTimestamp"))
        self.request, self.group = request_of(obj), group_of(obj)
        self.by_hand = before.by_hand if before else False  # created with its node
        self.bound_at = before.bound_at if before else None

    def takes(self):
        return bool(self.node) and not self.finished


class Group:
    """The members of a group that exist, and what happened to it."""

    def __init__(self):
        self.quorum, self.members = 0, {}
        self.first_bound = self.whole = self.lost = self.lost_bound = self.raised = None  # revisions

    def bound(self):
        return [p for p in self.members.values() if p.node]

    def look(self, rv):
        n = len(self.bound())
        if n and self.first_bound is None:
            self.first_bound = rv
        if self.quorum and n >= self.quorum and self.whole is None:
            self.whole = rv


class Judge:
    """apply() takes the records in order of their revisions."""

    def __init__(self, start, gaps):
        self.start, self.gaps = start, gaps  # [(since, until)] in which the order is unknown
        self.nodes, self.pods, self.groups = {}, {}, defaultdict(Group)
        self.on = defaultdict(dict)  # node -> {uid: Pod} of pods that take from it
        self.shrunk = {}             # node -> (when, allocatable before), the last one
        self.withdrawn = {}          # node -> (when, what) deleted or cordoned
        self.lessened = []           # (revision, text) of nodes that have less than before
        self.foreign = []            # (revision, text) of pods that were created with their node
        self.deferred = {}           # uid of pods bound in a gap
        self.listed = defaultdict(dict)  # kind -> {uid: object}, what exists
        self.violations, self.excused, self.notes = {}, {}, {}
        self.revisions = self.bindings = 0

    def apply(self, record):
        kind, rv, at = record["kind"], record["rv"], record["at"]
        self.revisions += 1
        if kind == MARK:
            self.rest(rv)
        elif record["type"] == "LIST":
            there = {o["metadata"]["uid"]: o for o in record["items"]}
            for uid in [u for u in self.listed[kind] if u not in there]:
                self.change(kind, self.listed[kind][uid], rv, at, "DELETED")
            for obj in there.values():
                self.change(kind, obj, rv, at, "LIST")
        else:
            self.change(kind, record["object"], rv, at, record["type"])
        if self.deferred and not self.in_gap(rv):
            for uid in [u for u in self.deferred if u in self.pods]:
                self.check_capacity(self.pods[uid], rv, at, self.deferred[uid])
            self.deferred.clear()

    def in_gap(self, rv):
        return any(since < rv < until for since, until in self.gaps)

    def change(self, kind, obj, rv, at, how):
        uid = obj["metadata"]["uid"]
        if how == "DELETED":
            self.listed[kind].pop(uid, None)
        else:
            self.listed[kind][uid] = obj
        gone = how == "DELETED"
        if kind == "Node":
            self.change_node(obj, rv, at, gone)
        elif kind == "Pod":
            self.remove_pod(obj, rv) if gone else self.change_pod(obj, rv, at, how)
        else:
            self.change_group(kind, obj, rv, gone)

    def change_node(self, node, rv, at, gone):
        name, before = node["metadata"]["name"], self.nodes.get(node["metadata"]["name"])
        room = amounts((node.get("status") or {}).get("allocatable"))
        cordoned = bool((node.get("spec") or {}).get("unschedulable"))
        if gone:
            self.nodes.pop(name, None)
            self.withdrawn[name] = at, "was deleted"
            self.lessened.append((rv, f"node {name} was deleted"))
            return
        self.nodes[name] = room, cordoned
        if cordoned and not (before and before[1]) and rv > self.start:
            self.withdrawn[name] = at, "was cordoned"
            self.lessened.append((rv, f"node {name} was cordoned"))
        if before and any(room.get(resource, 0) < amount for resource, amount in before[0].items()):
            self.shrunk[name] = at, before[0]
            self.lessened.append((rv, f"node {name} shrank"))

    def change_group(self, kind, obj, rv, gone):
        at = GROUPS[kind], obj["metadata"].get("namespace", "default"), obj["metadata"]["name"]
        group, quorum = self.groups[at], 0 if gone else quorum_of(kind, obj)
        if gone or not group.quorum:  # another one of that name begins anew
            group.whole = group.raised = group.first_bound = group.lost = group.lost_bound = None
        elif quorum > group.quorum:
            group.raised = rv
        group.quorum = quorum
        group.look(rv)

    def remove_pod(self, obj, rv):
        pod = self.pods.pop(obj["metadata"]["uid"], None)
        if pod is None:
            return
        self.on[pod.node].pop(pod.uid, None)
        if pod.group:
            self.lose(self.groups[pod.group], pod, rv)
            self.groups[pod.group].members.pop(pod.uid, None)

    @staticmethod
    def lose(group, pod, rv):
        """Someone deletes a member: no scheduler of gangs does."""
        group.lost = rv
        if pod.node:
            group.lost_bound = rv

    def change_pod(self, obj, rv, at, how):
        before = self.pods.get(obj["metadata"]["uid"])
        pod = Pod(obj, before)
        judged = rv > self.start
        self.pods[pod.uid] = pod
        if before:
            self.on[before.node].pop(pod.uid, None)
        if pod.takes():
            self.on[pod.node][pod.uid] = pod
        if before and before.node and pod.node != before.node:
            self.violate("moved", rv, f"{pod.key} was on node {before.node}, now on {pod.node}")
        if pod.node and not (before and before.node):
            pod.bound_at, pod.by_hand = at, how == "ADDED"
            if pod.by_hand:
                self.foreign.append((rv, f"{pod.key} was created with its node"))
            if judged:
                self.bindings += 1
                self.check_node(pod, rv, at)
                self.check_later(pod, rv, at, "bound")
        elif judged and pod.takes() and any(a > before.request.get(r, 0) for r, a in pod.request.items()):
            self.check_later(pod, rv, at, "resized")
        self.count_member(pod, before, rv)

    def count_member(self, pod, before, rv):
        if before and before.group and before.group != pod.group:
            self.groups[before.group].members.pop(pod.uid, None)
        if pod.group:
            group = self.groups[pod.group]
            group.members[pod.uid] = pod
            if pod.ending and not (before and before.ending):
                self.lose(group, pod, rv)
            group.look(rv)

    # ---- what is judged ----

    def violate(self, what, rv, text, excuse=None):
        """Once each: a rest repeats what the last one found."""
        kept = self.excused if excuse else self.violations
        kept.setdefault((what, text), f"revision {rv}: {what}: {text}" + (f" ({excuse})" if excuse else ""))

    def check_node(self, pod, rv, at):
        room, cordoned = self.nodes.get(pod.node, (None, False))
        if room is not None and (not cordoned or tolerates_cordon(pod.obj)):
            return
        when, what = self.withdrawn.get(pod.node, (None, "does not exist" if room is None else "is cordoned"))
        text = f"{pod.key} was bound to node {pod.node}, which {what}"
        if pod.by_hand:
            self.violate("nowhere", rv, text, "it was created with its node")
        elif self.in_gap(rv) or (when is not None and at - when <= RACE_S):
            self.notes.setdefault(text, f"revision {rv}: {text} shortly before")
        else:
            self.violate("nowhere", rv, text)

    def check_later(self, pod, rv, at, what):
        if self.in_gap(rv):
            self.deferred[pod.uid] = what
        else:
            self.check_capacity(pod, rv, at, what)

    def check_capacity(self, pod, rv, at, what):
        room = self.nodes.get(pod.node, (None,))[0]
        over = excess(self.on[pod.node].values(), room, pod.request) if room is not None and pod.takes() else None
        if not over:
            return
        others = sorted(p.key for p in self.on[pod.node].values() if p is not pod)
        text = f"{pod.key} {what}: node {pod.node} has " + ", ".join(over) + " taken, also by " + \
            ", ".join(others[:6]) + (f" and {len(others) - 6} more" if len(others) > 6 else "")
        self.violate("overfull", rv, text, self.excuse_overfull(pod, at, what))

    def excuse_overfull(self, pod, at, what):
        """Another writer caused it, or changed the node too recently to be known."""
        if what == "resized":
            return "a person resized it in place"
        if pod.by_hand:
            return "it was created with its node"
        when, before = self.shrunk.get(pod.node, (None, None))
        on = list(self.on[pod.node].values())
        if when is not None and at - when <= RACE_S and not excess(on, before, pod.request):
            return f"the node shrank {at - when:.1f} s before"
        known = [p for p in on if p is pod or not (p.by_hand or p.scheduler != pod.scheduler) or at - p.bound_at > RACE_S]
        if len(known) < len(on) and not excess(known, self.nodes[pod.node][0], pod.request):
            return "another scheduler or a person bound " + next(p.key for p in on if p not in known) + " there just before"
        return None

    def rest(self, rv):
        if self.in_gap(rv):
            self.notes[f"rest {rv}"] = f"revision {rv}: rest: not judged, a watch expired just then"
            return
        for (_, namespace, name), group in self.groups.items():
            bound = group.bound()
            if not 0 < len(bound) < group.quorum:
                continue
            waiting = sorted(p.key for p in group.members.values() if not p.node)
            text = f"group {namespace}/{name} has {len(bound)} of minMember {group.quorum} bound: " + \
                ", ".join(sorted(f"{p.key} on {p.node}" for p in bound)[:6]) + f"; {len(waiting)} wait: " + ", ".join(waiting[:6])
            self.violate("torn", rv, text, self.excuse_torn(group, bound))

    def excuse_torn(self, group, bound):
        """A person took members or capacity away after the gang had begun, or raised its quorum; or another
        scheduler bound the members."""
        if group.first_bound <= self.start and not group.whole:
            return "it was so before the history begins"
        if group.whole and group.lost_bound and group.lost_bound > group.whole:
            return f"it was whole at revision {group.whole}; bound members were deleted at {group.lost_bound}"
        if group.raised and group.raised > group.first_bound:
            return f"minMember was raised at revision {group.raised}, after the first binding"
        waiting = [p for p in group.members.values() if not p.node]
        if all(p.by_hand or any(w.scheduler != p.scheduler for w in waiting) for p in bound):
            return "another scheduler or a person bound these"
        if group.lost and group.lost > group.first_bound and \
                (group.lost_bound or len([p for p in group.members.values() if not p.ending]) < group.quorum):
            return f"members were deleted at revision {group.lost}, after the first binding"
        later = [text for rv, text in self.lessened + self.foreign if rv > group.first_bound]
        missing = sorted(waiting, key=lambda p: sum(p.request.values()))[:group.quorum - len(bound)]
        if later and not self.fit(missing):
            return f"{later[-1]} after the first binding, and the members that wait no longer fit"
        return None

    def fit(self, pods):
        """All of them find capacity on existing nodes, first fit; rules other than capacity don't count."""
        free = {name: {r: a - sum(p.request.get(r, 0) for p in self.on[name].values()) for r, a in room.items()}
                for name, (room, cordoned) in self.nodes.items() if not cordoned}
        for pod in pods:
            into = next((f for f in free.values() if all(f.get(r, 0) >= a for r, a in pod.request.items())), None)
            if into is None:
                return False
            for resource, amount in pod.request.items():
                into[resource] = into.get(resource, 0) - amount
        return True


def excess(pods, room, of):
    """Resources among `of` of which these pods request more than there is: ["8 cpu of 4"]."""
    found = []
    for resource, wanted in sorted(of.items()):
        taken = sum(p.request.get(resource, 0) for p in pods) if wanted else 0
        if wanted and taken > room.get(resource, 0):
            found.append(f"{float(taken):g} {resource} of {float(room.get(resource, 0)):g}")
    return found


def tolerates_cordon(pod):
    return any(t.get("operator") == "Exists" and t.get("key", "") in ("", "node.kubernetes.io/unschedulable") and
               t.get("effect", "NoSchedule") in ("", "NoSchedule") for t in pod["spec"].get("tolerations") or ())
