# SPDX-License-Identifier: Apache-2.0
"""docs/migration.md: its files are refused and accepted as it says, and its texts of others are in no program."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import muster, yamlsub  # noqa: E402
from lib.cluster import run  # noqa: E402
from lib.harness import check, equal, main  # noqa: E402

PAGE = (muster.ROOT / "docs" / "migration.md").read_text(encoding="utf-8")


def section(heading):
    return re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S)[1]


def files():
    """Of kube-scheduler, and of muster, as the page has them."""
    return re.findall(r"^```yaml\n(.*?)^```", section("A KubeSchedulerConfiguration"), re.M | re.S)


def written(text):
    path = os.path.join(muster.scratch(), "config.yaml")
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


def test_a_file_of_kube_scheduler_is_refused():
    path = written(files()[0])
    for command in (["muster-frontend", "--config"], ["muster-frontend", "--check-config"], ["musterctl", "up", "--config"]):
        code, out, err = run(*command, path)
        equal((code, out), (2, ""), command)
        check(err.startswith(f'{path}:1:13: "kubescheduler.config.k8s.io/v1": a configuration of kube-scheduler'), err)
        named, = re.findall(r"docs/\S+\.md", err)
        check((muster.ROOT / named).exists() and "A KubeSchedulerConfiguration" in PAGE, named)


def test_what_becomes_of_it_is_accepted():
    theirs, ours = (yamlsub.load(text) for text in files())
    profile, = theirs["profiles"]
    equal(ours["coscheduling"], profile["pluginConfig"][0]["args"], "the block of args")
    equal(ours["schedulerNames"], [profile["schedulerName"]], "names")
    code, out, err = run("muster-frontend", "--check-config", written(files()[1]))
    equal((code, err), (0, ""), "--check-config")
    for line in ("  permitWaitingTimeSeconds: 300", "  leaderElect: true", "schedulerNames: [scheduler-plugins-scheduler]"):
        check(line in out.splitlines(), line, out)


def test_every_key_of_theirs_has_a_row():
    rows = " ".join(line.split("|")[1] for line in section("A KubeSchedulerConfiguration").splitlines() if line.startswith("| `"))
    theirs = yamlsub.load(files()[0])
    names = [*theirs, *theirs["leaderElection"], *theirs["clientConnection"], *theirs["profiles"][0]]
    equal([n for n in names if n not in rows], [], "keys without a row")


def test_keys_of_ours_are_keys():
    """What the right column names in the style of a key is one: --help-config has it."""
    known = set(re.findall(r"#?(\w+):", run("muster-frontend", "--help-config")[1]))
    ours = "leaseDurationSeconds renewDeadlineSeconds retryPeriodSeconds bindConnections reportQPS healthListen listen dialects".split()
    equal([n for n in ours if n not in known or f"`{n}`" not in PAGE], [], "no such key, or not on the page")


def test_texts_that_are_never_written():
    texts = [t for line in section("Texts that muster never writes").splitlines() if line.startswith("| `")
             for t in re.findall(r"`([^`]+)`", line.split("|")[1])]
    check(len(texts) >= 10, texts)
    for program in ("muster-frontend", "muster-core", "musterctl"):
        image = (muster.BUILD / "bin" / program).read_bytes()
        # The timeout's sentence is put together: its end tells it from that of ConfigMap groups.
        found = [t for t in texts if t.split("10s ")[-1].encode() in image]
        equal(found, [], program)
        check(program != "muster-frontend" or b"cannot find enough sibling pods" in image, "texts are in the program as they are")


if __name__ == "__main__":
    sys.exit(main(globals()))
