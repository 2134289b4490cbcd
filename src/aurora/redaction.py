"""Secrets in a text: found by how they look, and replaced before anything is stored or logged.

What looks like one by `secret_rules` is replaced by its kind. Lines keep their number.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from aurora.secret_rules import RULES, Rule
from aurora.text import many
from aurora.types import Json

_KEY_BEGINS = re.compile(r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_KEY_ENDS = re.compile(r"-----END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_KEY_LINE = re.compile(r"[\s\"'+]*[\w+/=:,. -]{0,120}[\s\"'\\+,]*")  # base64, or headers
_KEY_TEXT = re.compile(r"[A-Za-z0-9+/]{16}")  # a beginning in prose has none behind it
_LONGEST_KEY = 400  # lines: a beginning without an end hides no more
_KEY = "private key"
_LEAST_BITS = 3.0  # of chance in each sign: English words have fewer
_PLACEHOLDERS = frozenset({"pass", "password", "passwd", "pwd", "secret", "token", "key", "xxx"})


class Redactor:
    """Takes secrets out of what is to be stored, and counts them. Switched off, it does nothing."""

    def __init__(self, *, on: bool = True) -> None:
        self.on = on
        self.kinds: Counter[str] = Counter()

    def text(self, text: str) -> str:
        """The text with every secret replaced by its kind."""
        if not self.on:
            return text
        if "PRIVATE KEY" in text:
            text = "".join(self._without_keys(text.splitlines(keepends=True)))
        lines, folded = text.split("\n"), text.lower()
        starts: list[int] = []  # of lines
        for rule in RULES:
            if any(hint in folded for hint in rule.hints):
                starts = starts or [0, *(end.end() for end in re.finditer("\n", folded))]
                for at in _lines_with(rule.hints, folded, starts):
                    lines[at] = self._applied(rule, lines[at])
        return "\n".join(lines)

    def lines(self, lines: Iterable[str]) -> Iterator[str]:
        """The same for a text that is too large to be held, line by line."""
        return map(self.text, self._without_keys(lines) if self.on else lines)

    def json(self, value: Json) -> Json:
        """The same for all texts in a value."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {key: self.json(inner) for key, inner in value.items()}
        if isinstance(value, Sequence):
            return [self.json(inner) for inner in value]
        return value

    @property
    def told(self) -> str:
        """What was taken out so far, for people; nothing if nothing was."""
        return tell(self.kinds)

    def _applied(self, rule: Rule, line: str) -> str:
        return rule.pattern.sub(lambda match: self._replaced(match, rule), line)

    def _replaced(self, match: re.Match[str], rule: Rule) -> str:
        group = match.lastindex or 0  # of several only one can have matched
        secret = match[group]
        if "[" in secret or secret.lower() in _PLACEHOLDERS:  # as in a manual, or seen to already
            return match[0]
        if rule.is_random and not looks_random(secret):
            return match[0]
        self.kinds[rule.name] += 1
        start, end = match.start(group) - match.start(), match.end(group) - match.start()
        return match[0][:start] + _mark(rule.name) + match[0][end:]

    def _without_keys(self, lines: Iterable[str]) -> Iterator[str]:
        """Lines, with those inside a private key replaced one by one: their number stays."""
        left, counted = 0, False
        for line in lines:
            body = line.rstrip("\r\n")
            begin, end = _KEY_BEGINS.search(body), _KEY_ENDS.search(body)
            start, stop = begin.end() if begin else 0, len(body)
            if begin:
                stop = end.start() if end and end.start() > start else stop
                left, counted = 0 if end else _LONGEST_KEY, False
                hides = _KEY_TEXT.search(body, start, stop) is not None
            else:
                left = left - 1 if left and not end and _KEY_LINE.fullmatch(body) else 0
                hides = left > 0 and bool(body.strip("\"'+,\\ "))
            if hides and not counted:
                self.kinds[_KEY] += 1
                counted = True
            yield body[:start] + _mark(_KEY) + body[stop:] + line[len(body) :] if hides else line


def tell(kinds: Counter[str]) -> str:
    """Secrets by their kinds, for people; nothing if there are none."""
    named = ", ".join(sorted(kinds))
    return f"{many(kinds.total(), 'secret')} redacted before storing ({named})" if kinds else ""


def _lines_with(hints: Iterable[str], folded: str, starts: Sequence[int]) -> set[int]:
    """Where a pattern is worth trying: elsewhere it would cost the most."""
    found = set()
    for hint in hints:
        at = folded.find(hint)
        while at >= 0:
            line = bisect_right(starts, at)
            found.add(line - 1)
            at = folded.find(hint, starts[line]) if line < len(starts) else -1
    return found


def _mark(kind: str) -> str:
    return f"[redacted: {kind}]"


def looks_random(text: str) -> bool:
    """Has digits and letters, repeats little, and is no name, path or placeholder."""
    if not (any(map(str.isdigit, text)) and any(map(str.isalpha, text))):
        return False
    counts = Counter(text).values()
    bits = -sum(count / len(text) * math.log2(count / len(text)) for count in counts)
    return bits >= _LEAST_BITS and not _is_worded(text)


def _is_worded(text: str) -> bool:
    """Mostly made of words, as `test-token-number-1` and a path of modules are."""
    pieces = re.findall(r"[A-Za-z]+", text)
    words = (piece for piece in pieces if len(piece) > 2 and (piece.islower() or piece.istitle()))
    return sum(map(len, words)) > len(text) / 2
