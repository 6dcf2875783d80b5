# SPDX-License-Identifier: Apache-2.0
"""The README's commands for one's own cluster, pasted line by line as they are written, with a real kubectl and a
real kube-apiserver; and those of the quick start that make an account."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import kube, muster, objects  # noqa: E402
from lib.harness import Skip, check, equal, main, until  # noqa: E402
from real.cluster import Cluster  # noqa: E402


def blocks(page, heading):
    """The commands of a section, block by block, without their comments."""
    text = (muster.ROOT / page).read_text(encoding="utf-8")
    section = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", text, re.M | re.S).group(1)
    return [[re.sub(r"\s+#.*$", "", line) for line in block.splitlines() if line.strip() and not line.startswith("#")]
            for block in re.findall(r"^```sh\n(.*?)^```", section, re.M | re.S)]


class Shell:
    """A user's: the tree is the folder, the kubeconfig at its usual place."""

    def __init__(self, home, kubeconfig):
        os.makedirs(f"{home}/.kube")
        shutil.copy(kubeconfig, f"{home}/.kube/config")
        self.env = {**os.environ, "HOME": home, "KUBECONFIG": f"{home}/.kube/config", "XDG_RUNTIME_DIR": home, "TMPDIR": home}
        self.env.pop("MUSTER_SOCKET", None)
        self.background = []

    def __call__(self, line, codes=(0,)):
        done = subprocess.run(["sh", "-c", line], cwd=muster.ROOT, env=self.env, capture_output=True, text=True, timeout=60)
        check(done.returncode in codes, f"$ {line}: exit {done.returncode}", done.stdout[-1500:], done.stderr[-1500:])
        return done.stdout

    def start(self, line):
        log = tempfile.TemporaryFile("w+")
        self.background.append(subprocess.Popen(["sh", "-c", "exec " + line], cwd=muster.ROOT, env=self.env, stdout=log, stderr=log))
        return log

    def stop(self):
        for child in self.background:
            child.terminate()
            child.wait(20)


def said(log):
    log.seek(0)
    return log.read()


def test_the_readme_as_it_is_written():
    if not shutil.which("kubectl"):
        raise Skip("kubectl is not there")
    first, offline = blocks("README.md", "On your own cluster")[:2]
    with tempfile.TemporaryDirectory() as folder, Cluster(folder + "/cluster") as cluster:
        admin = kube.Client(cluster.admin_kubeconfig)
        for i in range(2):
            admin.create(objects.node(f"node-{i}", cpu="8"))
        shell = Shell(folder + "/home", cluster.admin_kubeconfig)
        try:
            for line in first:
                if "musterctl up" in line:
                    log = shell.start(line)
                    until(lambda: "muster is ready" in said(log), 60, lambda: said(log)[-2000:])
                elif "musterctl gangs" in line:
                    until(lambda: "Running" in shell(line), 30, lambda: shell(line))
                else:
                    shell(line)
            equal(sum(bool(p["spec"].get("nodeName")) for p in admin.list("Pod")), 3, "pods with a node")
            for line in offline:
                shell(line)
            check(len(first) >= 6 and len(offline) == 3, first, offline)
        finally:
            shell.stop()


def test_the_account_of_the_quick_start():
    if not shutil.which("kubectl") or subprocess.run(["kubectl", "create", "token", "--help"], capture_output=True, check=False).returncode:
        raise Skip("no kubectl here, or one from before 1.24, which makes no tokens")
    block, = blocks("docs/quick-start.md", "2. Give it an account")
    with tempfile.TemporaryDirectory() as folder, Cluster(folder + "/cluster") as cluster:
        shell = Shell(folder + "/home", cluster.admin_kubeconfig)
        for line in block:
            shell(line.replace("/tmp/muster.token", f"{folder}/muster.token"))
        # The token is one of an account that may do what muster does, and no more.
        token = f"kubectl --token=$(cat {folder}/muster.token)"
        anonymous = f"{folder}/no-user"
        shell(f"kubectl config view --raw --minify > {anonymous} && kubectl --kubeconfig {anonymous} config unset users")
        equal(shell(f"{token} --kubeconfig {anonymous} auth can-i create pods --subresource=binding").strip(), "yes")
        equal(shell(f"{token} --kubeconfig {anonymous} auth can-i create pods", codes=(0, 1)).strip(), "no")


if __name__ == "__main__":
    main(globals())
