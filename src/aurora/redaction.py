"""Secrets in a text: found by how they look, and replaced before anything is stored or logged.

What looks like one by `secret_rules` is replaced by its kind. Lines keep their number.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, partial

from aurora.secret_rules import ANY_KEY, KEY, KEY_KINDS, MAYBE_KEY, NAME, PLACES, Kind
from aurora.secret_values import MARK, looks_random, may_be_secret
from aurora.text import many
from aurora.types import Json

_KEY_BEGINS = re.compile(r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_KEY_ENDS = re.compile(r"-----END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_KEY_LINE = re.compile(r"[\s\"'+]*[\w+/=:,. -]{0,120}[\s\"'\\+,]*")  # base64, or headers
_KEY_TEXT = re.compile(r"[A-Za-z0-9+/]{16}")  # a beginning in prose has none behind it
_LONGEST_KEY = 400  # lines: a beginning without an end hides no more
_KEY, _SECRET = "private key", "secret"


class _Lines:
    """Lines of a text by where they begin. Only lines that a pattern is worth trying on are cut."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._folded = text.replace("\u0130", "i").lower()  # the sign that grows in lower case
        self._by_hint: dict[str, list[int]] = {}
        self._changed: dict[int, str] = {}

    def __getitem__(self, start: int) -> str:
        changed = self._changed.get(start)
        return self._text[start : self._end(start)] if changed is None else changed

    def __setitem__(self, start: int, line: str) -> None:
        if line != self[start]:
            self._changed[start] = line

    def having(self, pattern: re.Pattern[str]) -> Iterator[int]:
        """Lines in which the pattern is found."""
        match = pattern.search(self._text)
        while match:
            yield self._start(match.start())
            match = pattern.search(self._text, self._end(match.start()))

    def with_hint(self, hints: Iterable[str]) -> set[int]:
        """Lines with one of the hints, which are in lower case."""
        return {line for hint in hints for line in self._with(hint)}

    def joined(self) -> str:
        pieces: list[str] = []
        at = 0
        for start in sorted(self._changed):
            pieces += self._text[at:start], self._changed[start]
            at = self._end(start)
        return "".join([*pieces, self._text[at:]])

    def _with(self, hint: str) -> list[int]:
        if hint not in self._by_hint:
            lines, at = [], self._folded.find(hint)
            while at >= 0:
                lines.append(self._start(at))
                at = self._folded.find(hint, self._end(at))
            self._by_hint[hint] = lines
        return self._by_hint[hint]

    def _start(self, at: int) -> int:
        return self._text.rfind("\n", 0, at) + 1

    def _end(self, at: int) -> int:
        end = self._text.find("\n", at)
        return end if end >= 0 else len(self._text)


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
        lines = _Lines(text)
        for line in lines.having(_compiled(MAYBE_KEY)):
            if _compiled(ANY_KEY).search(lines[line]):
                lines[line] = _compiled(KEY).sub(self._without_key, lines[line])
        for place in PLACES:
            replaced = partial(self._replaced, place.kind)
            for line in lines.with_hint(place.hints):
                lines[line] = _compiled(place.pattern).sub(replaced, lines[line])
        return lines.joined()

    def lines(self, lines: Iterable[str]) -> Iterator[str]:
        """The same for a text that is too large to be held, line by line."""
        return map(self.text, self._without_keys(lines) if self.on else lines)

    def json(self, value: Json, name: str = "") -> Json:
        """The same for all texts in a value, which may have a name."""
        if isinstance(value, str):
            return self._named(name, value)
        if isinstance(value, Mapping):
            return self.mapping(value)
        if isinstance(value, Sequence):
            return [self.json(inner, name) for inner in value]
        return value

    def mapping(self, values: Mapping[str, Json]) -> dict[str, Json]:
        """The same for names and their values: `api_key` tells that its value is a secret."""
        return {self.text(name): self.json(value, name) for name, value in values.items()}

    @property
    def told(self) -> str:
        """What was taken out so far, for people; nothing if nothing was."""
        return tell(self.kinds)

    def _named(self, name: str, text: str) -> str:
        safe = self.text(text)
        if not self.on or safe != text or not _compiled(NAME).search(name):
            return safe
        if not may_be_secret(text) or not looks_random(text) or any(map(str.isspace, text)):
            return safe
        self.kinds[_SECRET] += 1
        return _mark(_SECRET)

    def _without_key(self, match: re.Match[str]) -> str:
        return self._replaced(KEY_KINDS[(match.lastindex or 1) - 1], match)

    def _replaced(self, kind: Kind, match: re.Match[str]) -> str:
        group = match.lastindex or 0  # only one of them matches
        secret = match[group]
        if not may_be_secret(secret) or (kind.is_random and not looks_random(secret)):
            return match[0]
        self.kinds[kind.name] += 1
        start, end = match.start(group) - match.start(), match.end(group) - match.start()
        return match[0][:start] + _mark(kind.name) + match[0][end:]

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


def _mark(kind: str) -> str:
    return f"{MARK} {kind}]"


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
