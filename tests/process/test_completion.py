# SPDX-License-Identifier: Apache-2.0
"""Completion in a real bash, and musterctl as a plugin of kubectl."""
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import muster, objects  # noqa: E402
from lib.cluster import Cluster, run  # noqa: E402
from lib.harness import check, equal, main, until  # noqa: E402
from lib.objects import node, pod  # noqa: E402

COMMANDS = [line.split()[0] for line in run("musterctl", "--help")[1].splitlines()
            if line.startswith("  ") and len(line.split()) > 1]
IN_BASH = """
source <("$PROGRAM" completion bash) || exit
COMP_WORDS=("$PROGRAM" "$@")
COMP_CWORD=$(($# ))
"_musterctl" "$PROGRAM" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


def completed(*words, cwd=None):
    """What bash offers for the last word."""
    done = subprocess.run(["bash", "--norc", "-c", IN_BASH, "bash", *words], cwd=cwd, capture_output=True, text=True,
                          timeout=180, env={**os.environ, "PROGRAM": muster.program("musterctl")})
    equal((done.returncode, done.stderr), (0, ""), words)
    return done.stdout.split()


def test_commands():
    check(len(COMMANDS) >= 8 and "completion" in COMMANDS, COMMANDS)
    equal(completed(""), COMMANDS, "commands")
    equal(completed("rep"), ["replay"], "a beginning")
    equal(completed("-"), ["--help", "--version"], "flags of all")
    equal(completed("nothing", ""), [], "no such command")


def test_flags_are_those_of_the_help():
    for command in COMMANDS:
        text = run("musterctl", command, "--help")[1]
        flags = completed(command, "--")
        check(flags and "--help" in flags, command, flags)
        check(all(flag in text or flag == "--help" for flag in flags), command, flags)
    check(set(completed("verdict", "--")) == {"--pod", "--live", "--listen", "--socket", "--score", "--help"}, completed("verdict", "--"))
    equal(completed("gangs", "--soc"), ["--socket"], "a beginning")


def test_values():
    equal(completed("verdict", "--score", ""), ["kube", "pack", "bestfit", "fgd", "muster"], "one of these")
    equal(completed("verdict", "--score", "=", "pa"), ["pack"], "as bash splits --score=pa")
    equal(completed("top", "--sort", ""), ["queue", "name", "age", "priority", "members"], "on the second line of the usage")
    equal(completed("status", "-o", ""), ["json"], "output")
    equal(completed("completion", "b"), ["bash"], "shells")
    equal(completed("verdict", "--pod", ""), [], "nobody knows")


def test_files():
    folder = muster.scratch()
    for name in ("one file.yaml", "other.json"):
        pathlib.Path(folder, name).touch()
    equal(completed("simulate", "-f", "oth", cwd=folder), ["other.json"], "a flag's")
    equal(completed("replay", "oth", cwd=folder), ["other.json"], "an argument")
    equal(completed("simulate", "-f", "one", cwd=folder), ["one", "file.yaml"], "one answer with a space in it")


def test_names_of_the_live_scheduler():
    with Cluster(node("n1", cpu="4")) as c:
        c.up("--socket", c.socket)
        for name in ("train", "tune", "other"):
            c.create(objects.pod_group(name, 2), *(pod(f"{name}-{i}", group=name) for i in range(2)))
        until(lambda: len(completed("gangs", "--socket", c.socket, "")) == 3, 10, "all of them")
        equal(completed("gangs", "--socket", c.socket, "default/t"), ["default/train", "default/tune"], "a beginning")
        for words in ((f"--socket={c.socket}",), ("--socket", "=", c.socket)):
            code, out, _ = run("musterctl", "completion", "--", "gangs", *words, "default/o")
            equal((code, out), (0, "default/other\n"), words)
    equal(completed("gangs", "--socket", c.socket, ""), [], "nobody there")


def test_plugin_of_kubectl():
    folder = pathlib.Path(muster.scratch())
    for name in ("kubectl-muster", "kubectl_complete-muster"):
        (folder / name).symlink_to(muster.program("musterctl"))

    def ran(name, *words):
        done = subprocess.run([folder / name, *words], capture_output=True, text=True, timeout=180)
        return done.returncode, done.stdout, done.stderr

    code, out, err = ran("kubectl-muster", "--help")
    equal((code, err), (0, ""), "--help")
    check(out.startswith("kubectl muster COMMAND"), out)
    equal(ran("kubectl-muster", "nothing")[2], 'kubectl muster: no command named "nothing"; see kubectl muster --help\n', "")
    check(ran("kubectl-muster", "simulate")[2].startswith("kubectl muster simulate: "), ran("kubectl-muster", "simulate"))
    equal(ran("kubectl_complete-muster", "si"), (0, "simulate\n:4\n", ""), "no files")
    equal(ran("kubectl_complete-muster", "replay", ""), (0, ":0\n", ""), "files")


def test_usage():
    equal(run("musterctl", "completion")[0], 2, "no shell")
    equal(run("musterctl", "completion", "tcsh")[2], 'musterctl completion: "tcsh" is none of bash, zsh, fish\n', "another")
    for shell in ("bash", "zsh", "fish"):
        code, out, _ = run("musterctl", "completion", shell)
        equal(code, 0, shell)
        check("completion -- " in out, out)


if __name__ == "__main__":
    main(globals())
