# SPDX-License-Identifier: Apache-2.0
"""The version of Kubernetes that the real cluster is built from, and what depends on it."""
import os
import pathlib
import re
import subprocess

HERE = pathlib.Path(__file__).resolve().parent

# Fields of devices that 1.36 serves by default; of 1.34 and 1.35 the API server drops them without these.
DEVICE_GATES = ["--feature-gates=" + ",".join(f"{gate}=true" for gate in (
    "DRAConsumableCapacity", "DRADeviceBindingConditions", "DRADeviceTaints", "DRAExtendedResource",
    "DRAPartitionableDevices"))]


def pinned():
    """The version of Kubernetes that k8s/go.mod names."""
    return re.search(r"\sk8s.io/kubernetes v([0-9.]*)", (HERE / "k8s" / "go.mod").read_text()).group(1)


def version():
    """Of Kubernetes: KUBE, else the pinned one."""
    return os.environ.get("KUBE") or pinned()


def is_at_least(minor):
    return tuple(map(int, version().split(".")[:2])) >= (1, minor)


def has_native_gangs():
    """Whether the native gang API is the version of it that muster reads."""
    return is_at_least(36)


def streams_lists():
    """Whether kube-apiserver has streaming lists over the etcd on PATH."""
    text = subprocess.run(["etcd", "--version"], capture_output=True, text=True, check=True).stdout
    return tuple(map(int, re.search(r"etcd Version: ([0-9]+)\.([0-9]+)\.([0-9]+)", text).groups())) >= (3, 5, 13)


def gates_of_devices():
    return DEVICE_GATES if is_at_least(34) and not is_at_least(36) else []
