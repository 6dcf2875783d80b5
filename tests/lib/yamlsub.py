# SPDX-License-Identifier: Apache-2.0
"""Reads the part of YAML that this project's own files use: block maps and
lists, flow lists and maps on one line, plain and quoted scalars, literal
blocks, folded paragraphs, several documents.  Anything else is an error, never a guess; the
standard library has no YAML and the tests need no more than this."""

import json
import re

_KEY = re.compile(r'("(?:[^"\\]|\\.)*"|[^\s\'"\[\]{},#&*!|>%@`:-][^:#]*?|-[^\s:#]+):(?:\s+(.*))?$')


def load_all(text):
    """The documents in it, without the empty ones."""
    docs, lines = [], []
    for number, line in enumerate(text.splitlines() + ["---"], 1):
        if line.rstrip() == "---":
            if any(content for _, _, content in map(_split, lines) if not content.startswith("#")):
                docs.append(_Reader(lines).document())
            lines = []
        else:
            if "\t" in line[: len(line) - len(line.lstrip())]:
                raise ValueError(f"line {number}: a tab indents")
            lines.append((number, line))
    return docs


def load(text):
    docs = load_all(text)
    if len(docs) != 1:
        raise ValueError(f"{len(docs)} documents, not one")
    return docs[0]


def _split(numbered):
    number, line = numbered
    content = line.strip()
    return number, len(line) - len(line.lstrip()), content


class _Reader:
    def __init__(self, lines):
        self.raw = lines
        self.at = 0

    def _peek(self):
        """The next line with content, as (number, indent, content)."""
        while self.at < len(self.raw):
            number, indent, content = _split(self.raw[self.at])
            if content and not content.startswith("#"):
                return number, indent, content
            self.at += 1
        return None

    def document(self):
        _, indent, _ = self._peek()
        value = self._block(indent)
        rest = self._peek()
        if rest:
            raise ValueError(f"line {rest[0]}: indentation fits nothing above")
        return value

    def _block(self, indent):
        number, _, content = self._peek()
        if content == "-" or content.startswith("- "):
            return self._list(indent)
        if _KEY.match(content):
            return self._map(indent)
        self.at += 1
        return _scalar(content, number)

    def _list(self, indent):
        items = []
        while (line := self._peek()) and line[1] == indent and (line[2] + " ").startswith("- "):
            number, _, content = line
            rest = content[1:].lstrip()
            if not rest or rest.startswith("#"):
                self.at += 1
                items.append(self._nested(indent, False))
                continue
            # The item's first line becomes a line of its own, indented to
            # where its content starts.
            inner = indent + len(content) - len(rest)
            self.raw[self.at] = (number, " " * inner + rest)
            items.append(self._block(inner))
        return items

    def _map(self, indent):
        found = {}
        while (line := self._peek()) and line[1] == indent:
            number, _, content = line
            match = _KEY.match(content)
            if not match:
                raise ValueError(f"line {number}: not a key: {content}")
            key = _scalar(match[1], number) if match[1].startswith('"') else match[1]
            if key in found:
                raise ValueError(f"line {number}: {key} stands twice")
            self.at += 1
            rest = _without_comment(match[2] or "")
            if not rest:
                found[key] = self._nested(indent, True)
            elif rest in ("|", "|-"):
                found[key] = self._literal(indent) + ("\n" if rest == "|" else "")
            elif rest in (">", ">-"):
                found[key] = self._folded(indent, number) + ("\n" if rest == ">" else "")
            else:
                found[key] = _scalar(rest, number)
        if (line := self._peek()) and line[1] > indent:
            raise ValueError(f"line {line[0]}: indented too far")
        return found

    def _nested(self, indent, in_map):
        line = self._peek()
        if line and line[1] > indent:
            return self._block(line[1])
        # A list may have the indent of the key that contains it.
        if in_map and line and line[1] == indent and (line[2] + " ").startswith("- "):
            return self._list(indent)
        return None

    def _literal(self, indent):
        taken = []
        while self.at < len(self.raw):
            line = self.raw[self.at][1]
            if line.strip() and len(line) - len(line.lstrip()) <= indent:
                break
            taken.append(line)
            self.at += 1
        while taken and not taken[-1].strip():
            taken.pop()
        first = len(taken[0]) - len(taken[0].lstrip()) if taken else 0
        return "\n".join(line[first:] for line in taken)

    def _folded(self, indent, number):
        lines = self._literal(indent).split("\n")
        if any(not line or line.startswith(" ") for line in lines):
            raise ValueError(f"line {number}: a folded block of more than one plain paragraph")
        return " ".join(lines)


def _without_comment(text):
    if text[:1] in "\"'":
        end = re.match(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*'", text)
        if end and re.match(r"\s*(#.*)?$", text[end.end():]):
            return end[0]
        return text
    return re.sub(r"(^|\s)#.*$", "", text).strip()


def _scalar(text, number):
    text = _without_comment(text)
    if text.startswith('"'):
        return json.loads(text)
    if text.startswith("'"):
        if not re.fullmatch(r"'(?:[^']|'')*'", text):
            raise ValueError(f"line {number}: bad quotes: {text}")
        return text[1:-1].replace("''", "'")
    if text[:1] in "[{":
        return _flow(text, number)
    if text in ("null", "~", ""):
        return None
    if text in ("true", "false"):
        return text == "true"
    if re.fullmatch(r"-?(0|[1-9][0-9]*)", text):
        return int(text)
    if re.fullmatch(r"-?[0-9]+\.[0-9]+", text):
        return float(text)
    # What versions of YAML disagree about is refused as well.
    if text[0] in "&*!|>%@`" or ": " in text or re.fullmatch(r"(?i)[-+]?[0-9][0-9_]*|yes|no|on|off|y|n", text):
        raise ValueError(f"line {number}: beyond the YAML that is read here: {text}")
    return text


def _flow(text, number):
    """A flow list or map on one line, without another one inside it."""
    open_, close, inner = text[0], text[-1], text[1:-1].strip()
    if close != {"[": "]", "{": "}"}[open_] or re.search(r"[\[\]{}]", inner):
        raise ValueError(f"line {number}: beyond the YAML that is read here: {text}")
    parts = re.findall(r"(?:\"(?:[^\"\\]|\\.)*\"|'[^']*'|[^,\"'])+", inner)
    if open_ == "[":
        return [_scalar(part.strip(), number) for part in parts]
    pairs = [_KEY.match(part.strip()) for part in parts]
    if not all(pairs):
        raise ValueError(f"line {number}: not a map: {text}")
    return {pair[1].strip('"'): _scalar(pair[2] or "", number) for pair in pairs}
