# SPDX-License-Identifier: Apache-2.0
"""BATCH: tasks by the annotations group-name and group-pod-num."""
from lib.dialects import TASK_NAME, TASK_NUMBER

from .frame import given


def task(t, n, name, of=None, first=0, **rest):
    """n pods of a task that declares so many; 1 GPU each by default."""
    t.pods(n, name, first=first, quorum=of or n, dialect="annotations", **{"gpu": 1, **rest})


def members(t, name, n, of=None, **rest):
    return [t.a_pod(f"{name}-{i}", group=name, quorum=of or n, dialect="annotations", **{"gpu": 1, **rest})
            for i in range(n)]


def machines(t, *gpus, first=0, **rest):
    """A node with each of these numbers of GPUs."""
    for i, gpu in enumerate(gpus):
        t.node(f"n{first + i:03}", gpu=gpu, **rest)


def hundred(t, nodes):
    machines(t, *[1] * nodes)
    t.create(*members(t, "task", 100))


def batch_1(t):
    "99 GPUs for a task of 100: nothing, and the reason names the shortage"
    hundred(t, 99)
    said = t.reason("task-99", "Insufficient nvidia.com/gpu", "99 of 100")
    assert said["reason"] == "Unschedulable", said
    t.still("task")


def batch_2(t):
    "100 GPUs: all"
    hundred(t, 100)
    t.settles("task", 100)


def batch_3(t):
    "a task whose pods alternate with ordinary ones: completely, never in part"
    a = members(t, "a", 3)
    t.create(a[0])
    t.pods(2, "plain", group=None, gpu=1)
    t.create(*a[1:])
    t.waits("")
    machines(t, 3)
    t.stays("a", 3)
    t.still("plain", 0, 0)


@given(config={"disabledDialects": ["volcano"]})
def batch_4(t):
    "one annotation alone, or a number that is none: ordinary pods (where the name alone is not Volcano's)"
    machines(t, 8)
    marks = ({TASK_NAME: "task"}, {TASK_NUMBER: "3"}, {TASK_NAME: "task", TASK_NUMBER: "0"},
             {TASK_NAME: "task", TASK_NUMBER: "x"})
    for i, annotations in enumerate(marks):
        t.pod(f"pod-{i}", gpu=1, annotations=annotations)
    t.settles("pod", 4)


def batch_5(t):
    "a member that comes later"
    machines(t, 3)
    task(t, 2, "task", of=3)
    t.blocked("task", f"{t.ns}/task", "2 of 3")
    task(t, 1, "task", of=3, first=2)
    t.settles("task", 3, 5)


def batch_6(t):
    "a member that is never created: an ordinary pod gets the capacity"
    machines(t, 3)
    task(t, 2, "task", of=3)
    t.still("task")
    t.leaves("task", gpu=3)


def batch_7(t):
    "a task without GPUs is a gang as well"
    t.node("n1", 2)
    task(t, 3, "task", cpu=1, gpu=None)
    t.blocked("task", "Insufficient cpu")


def batch_8(t):
    "GPUs of all containers of a pod count, on one node"
    machines(t, 3, 3)
    made = members(t, "task", 3)
    for pod in made:
        first = pod["spec"]["containers"][0]
        pod["spec"]["containers"].append({**first, "name": "second"})
    t.create(*made)
    t.blocked("task", "Insufficient nvidia.com/gpu")


def batch_9(t):
    "one free GPU on each node is no capacity for pods of two"
    machines(t, 1, 1, 1, 1)
    task(t, 2, "task", gpu=2)
    t.blocked("task", "Insufficient nvidia.com/gpu")


def batch_10(t):
    "a task over two nodes"
    machines(t, 2, 1)
    task(t, 3, "task")
    t.settles("task", 3)


def batch_11(t):
    "a node without the resource has no capacity"
    t.node("none")
    machines(t, 1)
    task(t, 2, "task")
    t.blocked("task", "Insufficient nvidia.com/gpu")


def batch_12(t):
    "a member without GPUs among those with"
    machines(t, 2, cpu=4)
    t.pod("master", group="task", quorum=3, dialect="annotations", cpu=1)
    for i in range(2):
        t.pod(f"worker-{i}", group="task", quorum=3, dialect="annotations", cpu=1, gpu=1)
    t.settles("", 3)


def batch_13(t):
    "two tasks, pods alternating: one completely, the other nothing"
    t.alternate(members(t, "a", 3), members(t, "b", 3))
    t.waits("")
    machines(t, 4)
    t.one_of("a-", "b-", 3)


def batch_14(t):
    "an ordinary pod is not blocked by a task that waits"
    machines(t, 3)
    task(t, 2, "task", of=3)
    t.waits("task")
    t.pod("plain", cpu=1)
    t.settles("plain", 1, 5)
    t.still("task", 0, 0.5)


def batch_15(t):
    "a member is deleted and two are created: complete"
    machines(t, 3)
    task(t, 2, "task", of=3)
    t.waits("task")
    t.delete_pods("task-0")
    t.still("task", 0, 0.5)
    task(t, 2, "task", of=3, first=2)
    t.settles("task", 3)


def more_than_its_number(t, gpus, bound):
    machines(t, gpus)
    task(t, 5, "task", of=3)
    t.stays("task", bound)


def batch_16(t):
    "five pods of a task of three with capacity for three: three"
    more_than_its_number(t, 3, 3)


def batch_16b(t):
    "with capacity for five: five"
    more_than_its_number(t, 5, 5)


def batch_17(t):
    "a pod of a running task that is created again is bound alone"
    machines(t, 3)
    task(t, 3, "task")
    t.settles("task", 3)
    t.delete_pods("task-1")
    task(t, 1, "task", of=3, first=1)
    t.settles("task", 3, 5)


def batch_18(t):
    "members that declare different numbers: nothing, and the reason names it"
    machines(t, 4)
    for i, of in enumerate((3, 3, 4)):
        task(t, 1, "task", of=of, first=i)
    for i in range(3):
        t.reason(f"task-{i}", "3", "4", "group-pod-num")
    t.still("task")


@given(faults=True)
def batch_19(t):
    "the first binding of a member fails once: complete in the end"
    machines(t, 3)
    t.fail("bind-500-before", count=1)
    task(t, 3, "task")
    t.settles("task", 3)


def batch_20(t):
    "tasks of the same name in two namespaces are two"
    machines(t, 3)
    spaces = [t.namespace("one"), t.namespace("two")]
    for ns in spaces:
        task(t, 1, "task", of=2, ns=ns)
    for ns in spaces:
        t.blocked("task", "1 of 2", ns=ns)
