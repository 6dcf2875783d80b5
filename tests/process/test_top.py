# SPDX-License-Identifier: Apache-2.0
"""musterctl top: the text, and the terminal."""
import contextlib
import fcntl
import itertools
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import muster  # noqa: E402
from lib.cluster import Cluster, run  # noqa: E402
from lib.harness import becomes, check, equal, eventually, main, until  # noqa: E402
from lib.objects import gang, node, pod  # noqa: E402

DONE, NO, USAGE = 0, 1, 2
SEVEN = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "seven"}, "value": 7}


@contextlib.contextmanager
def cluster():
    """Six nodes: full, half full, empty ...; gangs placed, waiting and incomplete."""
    with Cluster(*[node(f"n{i}", cpu="8") for i in range(5)], node("n5", unschedulable=True), SEVEN) as c:
        c.up()
        for group, pods in (gang("small", 2, cpu="8"), gang("big", 9, cpu="8", priorityClassName="seven"), gang("waits", 4, cpu="6")):
            c.create(group, *pods)
        group, pods = gang("half", 4)
        c.create(group, *pods[:2])
        until(lambda: c.bound("small") == 2 and c.bound("waits") == 0, 20, "placed")
        until(lambda: states(c) == {"small": "Running", "big": "Waiting", "waits": "Waiting", "half": "Pending"}, 10,
              lambda: states(c))
        yield c


def states(c):
    return {g["gang"].split("/")[1]: g["state"] for g in c.ask_json("gangs")[1]["gangs"]}


def once(c, *flags):
    code, out, err = c.ask("top", "--once", "-n", "0.2", *flags)
    equal((code, err), (DONE, ""))
    return out


def rows(out):
    """[[cell, ...]] of the gangs."""
    lines = out.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("GANG "))
    return [line.split() for line in lines[at + 1:]]


def names(out):
    return [row[0].split("/")[1] for row in rows(out)]


def test_text():
    with cluster() as c:
        eventually(lambda: whole_text(c, once(c)))


def whole_text(c, out):
    check(out.startswith(f"muster on {c.socket}: in step with the cluster\nrates "), out)
    check(re.search(r"rates +0\.0 binds/s +[0-9.]+ plans/s +[0-9.]+ events/s", out), out)
    # 16 of 48 cpus; 17 pods of which two run.
    check(re.search(r"nodes +6 +cpu 33\.3 %", out), out)
    check("pods    17: 15 pending, 2 bound\n" in out, out)
    check("gangs   4: 1 pending, 2 waiting, 1 running\n" in out, out)
    cells = out.splitlines()[out.splitlines().index(next(x for x in out.splitlines() if x.startswith("NODES"))) + 1]
    equal(sorted(cells), sorted("##...c"), "a cell for each node")
    equal(names(out), ["big", "waits", "half", "small"])
    by_name = {row[0]: row for row in rows(out)}
    equal(by_name["default/big"][1:6], ["Waiting", "3/9", "0", "9", "7"])
    check("Insufficient cpu" in out and "3 of 9 members have room" in out, out)
    equal(by_name["default/small"][1:5], ["Running", "2", "2", "0"])


def test_order_and_filter():
    with cluster() as c:
        def ordered():
            equal(names(once(c, "--sort", "name")), ["big", "half", "small", "waits"])
            equal(names(once(c, "--sort", "members")), ["big", "half", "waits", "small"][:1] + ["waits", "half", "small"])
            equal(names(once(c, "--sort", "priority"))[0], "big")
            equal(names(once(c, "--waiting", "--sort", "name")), ["big", "half", "waits"])
            equal(names(once(c, "--filter", "WAIT", "--sort", "name")), ["big", "waits"])
            equal(names(once(c, "--filter", "no-such")), [])

        eventually(ordered)
        c.delete("PodGroup", "small")
        c.delete("Pod", "small-0", "small-1")
        time.sleep(1.1)  # times have whole seconds
        group, pods = gang("young", 1)
        c.create(group, *pods)
        until(lambda: c.bound("young") == 1, 10, "young")
        becomes(lambda: names(once(c, "--sort", "age"))[-1], "young")


def test_a_map_of_many_nodes():
    """More than fit: a cell represents several, and shows the fullest."""
    with Cluster(apisim=("--nodes", "9000", "--node-cpu", "8")) as c:
        c.up("--max-nodes", "10000")
        c.create(pod("full", cpu="8"))
        until(lambda: c.bound() == 1, 20, "bound")

        def drawn():
            lines = once(c).splitlines()
            head = next(i for i, line in enumerate(lines) if line.startswith("NODES"))
            check(", 3 to a cell" in lines[head], lines[head])
            cells = "".join(lines[head + 1:lines.index("", head)])
            equal((len(cells), cells.count("#"), cells.count(".")), (3000, 1, 2999))

        eventually(drawn)


def test_batch_goes_on_until_the_core_ends():
    with cluster() as c:
        out = os.path.join(c.folder, "batch")
        process = muster.Process([muster.program("musterctl"), "top", "--socket", c.socket, "--batch", "-n", "0.1"], out)
        with process:
            until(lambda: process.log().count("muster on ") >= 3, 10, "three times")
            os.kill(c.daemons()["muster-core"], signal.SIGKILL)
            equal(process.child.wait(60), NO)
            check("muster-core went away" in process.log(), process.log()[-300:])


def test_bad_usage():
    for flags, said in ((["x"], '"x"'), (["-n", "0"], "-n 0:"), (["-n", "nan"], "-n nan"), (["--sort", "size"], "--sort size"),
                        (["--filter", "x" * 64], "longer than 63"), ([], "no terminal")):
        code, out, err = run("musterctl", "top", "--socket", "/nowhere", *flags)
        equal((code, out), (USAGE, ""), flags)
        check(said in err, f"{said!r} is not in {err!r}")
    equal(run("musterctl", "top", "--socket", "/nowhere", "--once")[0], NO)


# ---- the terminal ---------------------------------------------------------------------------

class Terminal:
    """A program under a terminal of 30 lines, and what a VT100 would show of it."""

    def __init__(self, argv, term="vt100", lines=30, columns=110):
        self.size = lines, columns
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ["TERM"] = term
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
            os.execv(argv[0], argv)
        self.before = termios.tcgetattr(self.fd)
        self.cells = [[" "] * columns for _ in range(lines)]
        self.raw = b""

    def read(self, seconds=0.1):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if select.select([self.fd], [], [], 0.02)[0]:
                try:
                    got = os.read(self.fd, 65536)
                except OSError:  # it ended
                    return
                self.raw += got
        self._draw()

    def _draw(self):
        """All from the start on: a piece may end within a sequence."""
        lines, columns = self.size
        self.cells = [[" "] * columns for _ in range(lines)]
        y = x = top = 0
        bottom = lines - 1
        for m in re.finditer(rb"\x1b\[(\??[0-9;]*)([A-Za-z])|\x1b[()].|\x1b([^\[()])|[\x0e\x0f]|(.)", self.raw, re.DOTALL):
            numbers = [int(n) if n.isdigit() else 0 for n in (m[1] or b"").split(b";")] + [0]
            n, ends, plain = max(numbers[0], 1), m[2], m[4]
            if ends == b"H":
                y, x = n - 1, max(numbers[1], 1) - 1
            elif ends == b"J":
                self._blank(y, x if numbers[0] == 0 else 0)
            elif ends == b"K":
                first, last = (0, x + 1) if numbers[0] == 1 else (x, columns)
                self.cells[y][first:last] = [" "] * (last - first)
            elif ends == b"r":
                top, bottom, y, x = n - 1, (numbers[1] or lines) - 1, 0, 0
            elif ends in (b"A", b"B", b"C", b"D"):
                y += {b"A": -n, b"B": n}.get(ends, 0)
                x += {b"C": n, b"D": -n}.get(ends, 0)
            elif m[3] == b"M" and y > top:
                y -= 1
            elif m[3] == b"M":
                self.cells.insert(top, [" "] * columns)
                del self.cells[bottom + 1]
            elif plain == b"\n" and y == bottom:
                self.cells.insert(bottom + 1, [" "] * columns)
                del self.cells[top]
            elif plain == b"\n":
                y = min(y + 1, lines - 1)
            elif plain == b"\t":
                x = (x // 8 + 1) * 8
            elif plain == b"\r":
                x = 0
            elif plain == b"\b":
                x -= 1
            elif plain and plain >= b" " and y < lines and x < columns:
                self.cells[y][x] = plain.decode("latin-1")
                x += 1

    def _blank(self, y, x):
        columns = self.size[1]
        self.cells[y][x:] = [" "] * (columns - x)
        for row in range(y + 1, self.size[0]):
            self.cells[row] = [" "] * columns

    def text(self):
        self.read()
        return "\n".join("".join(row).rstrip() for row in self.cells)

    def press(self, keys):
        os.write(self.fd, keys.encode())

    def end(self):
        """The exit code of one that ends by itself."""
        code = []

        def ended():
            self.read(0.02)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                code.append(os.waitstatus_to_exitcode(status))
            return pid

        until(ended, 10, "it ends")
        return code[0]


@contextlib.contextmanager
def terminal(c, *flags, **how):
    t = Terminal([muster.program("musterctl"), "top", "--socket", c.socket, "-n", "0.2", *flags], **how)
    try:
        yield t
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(t.pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(t.pid, 0)
        os.close(t.fd)


def test_keys_and_a_screen_that_goes_on():
    with cluster() as c, terminal(c) as t:
        until(lambda: "GANGS 4 of 4 by queue" in t.text() and "default/small" in t.text(), 10, t.text)
        until(lambda: "q ends" in t.text().splitlines()[-1], 10, t.text)
        until(lambda: names_shown(t) == ["big", "waits", "half", "small"], 10, t.text)
        t.press("n")
        until(lambda: names_shown(t) == ["big", "half", "small", "waits"], 5, t.text)
        t.press("n")
        until(lambda: names_shown(t) == ["waits", "small", "half", "big"], 5, t.text)
        t.press("/smaxx\x7f\x7f\n")
        until(lambda: names_shown(t) == ["small"] and 'with "sma"' in t.text(), 5, t.text)
        t.press("/\x1b")
        until(lambda: len(names_shown(t)) == 4, 5, t.text)
        t.press("w")
        until(lambda: names_shown(t) == ["waits", "half", "big"], 5, t.text)
        t.press("\x1bOB")  # arrow down
        until(lambda: names_shown(t) == ["half", "big"], 5, t.text)
        # The cluster changes, and so does the screen.
        c.delete("Pod", "small-0", "small-1")
        until(lambda: "pods    15: 11 pending, 4 bound" in t.text(), 10, t.text)
        t.press("q")
        equal(t.end(), DONE)
        check(t.raw.rstrip().endswith((b"\x1b[?1l\x1b>", b"\x1b[?1l\x1b>\x1b[m")) or b"\x1b[?1l" in t.raw[-60:], t.raw[-80:])
        equal(termios.tcgetattr(t.fd)[:4], t.before[:4], "the terminal is as it was")


def names_shown(t):
    lines = t.text().splitlines()
    at = [i for i, line in enumerate(lines) if line.startswith("GANG ")]
    below = itertools.takewhile(bool, lines[at[0] + 1:] if at else [])  # the first one's reason is below the gap
    return [line.split()[0].split("/")[1] for line in below if line.startswith("default/")]


def test_the_core_goes_and_comes():
    with cluster() as c, terminal(c) as t:
        until(lambda: "in step" in t.text(), 10, t.text)
        os.kill(c.daemons()["muster-core"], signal.SIGSTOP)
        stopped = c.daemons()["muster-core"]
        os.kill(stopped, signal.SIGKILL)
        until(lambda: c.daemons().get("muster-core", stopped) != stopped, 10, "another core")
        until(lambda: "in step" in t.text() and "GANGS 4 of 4" in t.text(), 15, t.text)
        os.kill(t.pid, signal.SIGINT)
        t.end()
        equal(termios.tcgetattr(t.fd)[:4], t.before[:4], "the terminal is as it was")


def test_an_unknown_terminal_is_refused():
    with cluster() as c:
        for term in ("no-such-terminal", "dumb"):
            with terminal(c, term=term) as t:
                equal(t.end(), USAGE)
                check(f'$TERM is "{term}"'.encode() in t.raw and b"\x1b" not in t.raw, t.raw)


def test_a_small_screen_tells_the_reason():
    with cluster() as c:
        group, pods = gang("a-long-name-" + "x" * 43, 9, cpu="8")
        c.create(group, *pods)
        with terminal(c, lines=24, columns=80) as t:
            until(lambda: "default/a-long-name-xxxxx~   Waiting" in t.text(), 10, t.text)

            def why():
                shown = t.text().splitlines()
                first = next((i for i, line in enumerate(shown) if line.startswith("default/big: ")), len(shown))
                return " ".join(shown[first:-1])
            # Before the others are placed it has another one.
            until(lambda: "3 of 9 members have room" in why() and "Insufficient cpu" in why(), 10, t.text)
            becomes(lambda: t.text().splitlines()[-1], "q ends  s n a p m sort  w waiting  / filter  arrows")

            def heads():
                return next((line.split() for line in t.text().splitlines() if line.startswith("GANG ")), [])
            equal(heads(), ["GANG", "STATE", "FIT/NEED", "AGE", "REASON"], t.text())
            check("3 of 9 members have ro" in t.text(), t.text())
            t.press("p")
            becomes(lambda: heads()[3:6], ["PLACED", "MEMBERS", "PRIORITY"])


if __name__ == "__main__":
    main(globals())
