#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The image of deploy/Dockerfile, built and run without a container engine: buildah with chroot isolation on bases made
by debootstrap, then both programs of the image as its user in a chroot of it, against muster-apisim. Needs root, a
network for Debian's packages, buildah and debootstrap, some 3 GB and some minutes; no part of `make test`.

    tests/image.py [FOLDER]      what is there already is used again; without one all is removed"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import muster, objects  # noqa: E402
from lib.cluster import Cluster  # noqa: E402
from lib.harness import check, equal, figure, until  # noqa: E402

SUITE, MIRROR = "bookworm", "http://deb.debian.org/debian"
TAG, USER = "muster:0.1.0", 65532
SOCKET = "/var/lib/muster/muster.sock"


class Store:
    """Buildah's, of our own."""

    def __init__(self, folder):
        self.folder = folder
        self.policy = folder / "policy.json"
        self.policy.write_text('{"default": [{"type": "insecureAcceptAnything"}]}')

    def __call__(self, *words, cwd=None, show=False):
        command = ["buildah", "--root", self.folder / "store", "--runroot", self.folder / "run", *words]
        done = subprocess.run([str(w) for w in command], cwd=cwd, text=True, check=False, timeout=1800,
                              stdout=None if show else subprocess.PIPE,
                              env={**os.environ, "STORAGE_DRIVER": "vfs", "BUILDAH_ISOLATION": "chroot"})
        check(done.returncode == 0, *command, "exit", done.returncode)
        return "" if show else done.stdout.strip()


def bases(store):
    """What the Dockerfile calls debian:12 and debian:12-slim: here both are Debian's own minimal system."""
    base = store.folder / "base"
    if not (base / "usr/bin/apt-get").exists():
        subprocess.run(["debootstrap", "--variant=minbase", SUITE, base, MIRROR], check=True, timeout=1200)
    have = store("images", "--format", "{{.Name}}:{{.Tag}}").split()
    for name in ("docker.io/library/debian:12", "docker.io/library/debian:12-slim"):
        if name in have:
            continue
        container = store("from", "scratch")
        store("add", "-q", container, base, "/")
        store("commit", "-q", container, name)
        store("rm", container)


def context(folder):
    """The files of the tree as git knows them, as they are now."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=muster.ROOT, capture_output=True, check=True).stdout.split(b"\0")
    for name in filter(None, names):
        source, to = muster.ROOT / os.fsdecode(name), folder / os.fsdecode(name)
        if source.exists():
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, to)


def runs(root):
    """A gang is placed by the programs of the image, as the user of the image."""
    place = root / SOCKET[1:].rsplit("/", 1)[0]
    place.mkdir(parents=True, exist_ok=True)
    os.chown(place, USER, USER)
    inside = ["chroot", f"--userspec={USER}:{USER}", str(root)]
    with Cluster(objects.node("n0", cpu="4")) as c:
        kubeconfig = place / "kubeconfig"
        shutil.copy(c.kubeconfig, kubeconfig)
        os.chown(kubeconfig, USER, USER)
        c.listen = f"127.0.0.1:{muster.free_port()}"
        for words in (("muster-core", "--socket", SOCKET),
                      ("muster-frontend", "--socket", SOCKET, "--kubeconfig", f"{SOCKET.rsplit('/', 1)[0]}/kubeconfig",
                       "--listen", c.listen)):
            c.processes.append(muster.Process([*inside, *words], os.path.join(c.folder, words[0] + ".log")))
        c.ready(c.processes[-1])
        c.gang("train", 2)
        until(lambda: c.bound("train") == 2, 30, "the gang bound")
        said = subprocess.run([*inside, "musterctl", "gangs", "--socket", SOCKET, "-o", "json"], capture_output=True, text=True,
                              check=True, timeout=30)
        equal(json.loads(said.stdout)["gangs"][0]["state"], "Running", said.stdout)
        check(not c.wrongs(), c.wrongs())


def image(folder):
    store = Store(folder)
    bases(store)
    with tempfile.TemporaryDirectory(dir=folder) as tree:
        context(pathlib.Path(tree))
        store("bud", "--pull-never", "--signature-policy", store.policy, "-f", "deploy/Dockerfile", "-t", TAG, ".", cwd=tree, show=True)
    config = json.loads(store("inspect", "--type", "image", TAG))["OCIv1"]
    equal((config["config"]["User"], config["config"]["Cmd"]), (f"{USER}:{USER}", ["muster-core", "--help"]), "user and command")
    container = store("from", "--pull-never", "--signature-policy", store.policy, TAG)
    try:
        root = pathlib.Path(store("mount", container))
        for program in ("muster-core", "muster-frontend", "musterctl"):
            said = subprocess.run(["chroot", root, "ldd", f"/usr/bin/{program}"], capture_output=True, text=True, check=True).stdout
            check("not found" not in said, program, said)
            figure(f"{program}: {(root / 'usr/bin' / program).stat().st_size} bytes")
        parts = json.loads(subprocess.run([muster.ROOT / "deploy/sbom.py", root], capture_output=True, text=True, check=True).stdout)
        figure(f"bill of materials: {len(parts['packages'])} packages")
        runs(root)
    finally:
        store("rm", container)


def main():
    if os.geteuid() != 0 or not shutil.which("buildah") or not shutil.which("debootstrap"):
        print("skipped: the image: needs root, buildah and debootstrap\n0 passed, 0 failed, 1 skipped")
        return
    kept = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else None
    folder = kept or pathlib.Path(tempfile.mkdtemp(prefix="muster-image-", dir="/var/tmp"))
    folder.mkdir(parents=True, exist_ok=True)
    try:
        image(folder)
    finally:
        if kept is None:
            shutil.rmtree(folder, ignore_errors=True)
    print("1 passed, 0 failed")


if __name__ == "__main__":
    main()
