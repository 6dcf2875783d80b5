# SPDX-License-Identifier: Apache-2.0
"""docs/faults.md, generated from the docstrings of the functions and the results of their last runs."""
import re

from lib import kept
from lib.kept import ROOT

from .catalog import FAULTS

KEPT = ROOT / "build" / "faults" / "runs.json"
PAGE = ROOT / "docs" / "faults.md"

HEAD = """# The 44 faults

After this page you know which faults muster is tested against, how each is injected, and what must hold. Each fault is a function of its number in
[tests/faults](../tests/README.md), or a line with the reason why it has none; `make faults` runs them all.

A fault is injected at moments: *idle*, all pods are placed and the gang is created afterwards; *mid-plan*, the gang is planned and reserved, and no
Binding has reached the server; *mid-bind*, a part of its Bindings has taken effect; *mid-relist*, the same while an older list of pods
is being read. A function without moments creates its own. After the fault, all pods that fit must be placed, and
an independent checker of the API server's history must find at each version no node over its allocatable and no pod on two nodes, and at rest no partially
bound gang, no pod without a reason, sums of the core equal to those of the pods, and at most 8 lists and one more for each 4 s.

`tests/faults/run.py --table` writes this page from the last results; the commit is the one that was run.

"""


def rows(functions, why_not):
    """{number: cells without the result}"""
    made = {}
    for number, (fault, holds) in FAULTS.items():
        mine = {name: f for name, f in functions.items() if int(name[6:8]) == number}
        how = "<br>".join(said_of(f) for f in mine.values())
        if number in why_not:
            how = "<br>".join(filter(None, (how, f"not: {why_not[number]}")))
        made[number] = [str(number), fault, how, holds]
    return made


def said_of(function):
    said = re.sub(r"\s+", " ", (function.__doc__ or "").strip().split("\n\n")[0])
    moments = ", ".join(getattr(function, "moments", None) or ())
    why = getattr(function, "why", "")
    tail = f" ({moments}{': ' if why else ''}{why})" if moments else ""
    return (said + tail).replace("|", "\\|")


def result(names, ends, before):
    """Of all runs of a number; the page's own where none was run here."""
    if not names:
        return "none"
    got = [ends.get(name, {"verdict": "not run"}) for name in names]
    if before and not any(name in ends for name in names):
        return before
    for verdict in ("failed", "not run", "passed"):
        found = [one for one in got if one["verdict"] == verdict]
        if found:
            many = f", {len(names)} runs" if len(names) > 1 else ""
            return verdict + many + (f' ({found[0]["commit"]})' if "commit" in found[0] else "")
    return "not run"


def read():
    """{number: cells} of the page as it is."""
    text = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    found = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) == 5 and cells[0].isdigit():
            found[int(cells[0])] = cells
    return found


def write(functions, names_of, why_not):
    ends, old = kept.read(KEPT), read()
    table = ["| number | fault | how, and at which moments | what must hold | result |", "| --- | --- | --- | --- | --- |"]
    for number, cells in rows(functions, why_not).items():
        table.append(f"| {' | '.join([*cells, result(names_of(number), ends, old.get(number, [''])[-1])])} |")
    PAGE.write_text(HEAD + "\n".join(table) + "\n", encoding="utf-8")
    print(f"{PAGE.relative_to(ROOT)}: {len(table) - 2} numbers")


def wrong(functions, why_not):
    """What the page says otherwise than the functions, and numbers with neither test nor reason."""
    page = read()
    for number, cells in rows(functions, why_not).items():
        if number not in page:
            yield f"{number} is not in docs/faults.md"
        elif page[number][:4] != cells:
            yield f"{number} differs from docs/faults.md: tests/faults/run.py --table"
        if not cells[2]:
            yield f"{number} has neither a function nor a line that says why not"
