#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Numbers of docs/bench/figures.json that other pages repeat: each stands before a comment that says which it is,

    decided in 128 us<!--= [decide gang-1000/5000] --> by the core

a median by bench and row, or arithmetic of some; [goals] and [reached] count the rows with a goal.

    bench/prose.py           a line for each that is another number now; exit 1 if there is one
    bench/prose.py --renew   write them anew, with as many digits behind the point as before"""
import ast
import json
import operator
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGES = ["README.md", "docs/performance.md", "docs/comparison.md", "docs/operations.md"]
MARK = re.compile(r"(\d[\d,]*(?:\.\d+)?)([^\d\n]*?)<!--= (.*?) -->")
SUMS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}


def reached(row):
    more_is_better = row["unit"] in ("per_s", "percent")
    return row["median"] >= row["goal"] if more_is_better else row["median"] <= row["goal"]


def known():
    """{"BENCH ROW": median}"""
    figures = json.loads((ROOT / "docs/bench/figures.json").read_text())
    rows = [(name, row) for name, bench in figures.items() for row in bench.get("rows", [])]
    values = {f"{name} {row['name']}": row["median"] for name, row in rows}
    aims = [row for _, row in rows if row.get("goal")]
    return {**values, "goals": len(aims), "reached": sum(map(reached, aims))}


def worth(node):
    if isinstance(node, ast.Expression):
        return worth(node.body)
    if isinstance(node, ast.BinOp) and type(node.op) in SUMS:
        return SUMS[type(node.op)](worth(node.left), worth(node.right))
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return node.value
    raise ValueError("only + - * / of numbers")


def value_of(text, values):
    return worth(ast.parse(re.sub(r"\[([^]]*)\]", lambda m: repr(values[m.group(1)]), text), mode="eval"))


def look(path, values, renew):
    """What is wrong in a page; or nothing, and it is written anew."""
    wrong = []

    def one(mark):
        said, between, text = mark.groups()
        digits = len(said.partition(".")[2])
        try:
            now = f"{value_of(text, values):,.{digits}f}"
        except (KeyError, ValueError, SyntaxError, ZeroDivisionError) as error:
            wrong.append(f"{path}: <!--= {text} -->: {error}")
            return mark.group(0)
        if not renew and now != said:
            wrong.append(f"{path}: {said} is {now} by now: {text}; bench/prose.py --renew")
        return f"{now if renew else said}{between}<!--= {text} -->"

    old = (ROOT / path).read_text()
    if len(MARK.findall(old)) != old.count("<!--= "):
        wrong.append(f"{path}: a mark without a number before it")
    new = MARK.sub(one, old)
    if new != old:
        (ROOT / path).write_text(new)
    return wrong


def main():
    values = known()
    wrong = [line for path in PAGES for line in look(path, values, "--renew" in sys.argv)]
    print("\n".join(wrong), end="\n" if wrong else "")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
