"""Patterns of `.gitignore`, matched in time bounded by the lengths of pattern and path.

`parse_rule` translates a pattern into a regular expression whose atomic groups `(?>…)` do not
backtrack into a star. The result is the same: a star, and `**/`, may always take the shortest text
up to what follows, as the next star takes the rest.

The semantics are git's: `**` that is not alone between slashes is a plain star.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import groupby

from aurora.quick_classes import NamedTuple

LONGEST_GLOB = 1024  # characters; matching takes at most this many steps per character of a path

_MEMBER = r"(?:\\.|[^\\\]])"  # a character of a class
_ITEM = rf"\[:[^\]]{{0,16}}?:\]|{_MEMBER}(?:-{_MEMBER})?"
_TOKEN = rf"""\\(?P<escaped>.)
    | (?P<stars>\*+)
    | \[(?P<class>(?>[!^]?(?:\](?:-{_MEMBER})?)?(?:{_ITEM})*))\]
    | (?P<broken>\[|\\)
    | (?P<plain>.)"""
_ITEMS = r"(?s)\[:([^\]]{0,16}?):\]|(\\.|[^\\])(?:-(\\.|[^\\]))?"
_POSIX = {
    "alnum": "a-zA-Z0-9", "alpha": "a-zA-Z", "blank": " \t", "cntrl": "\0-\x1f\x7f",
    "digit": "0-9", "graph": "!-~", "lower": "a-z", "print": " -~", "punct": r"!-/:-@\[-`{-~",
    "space": " \t-\r", "upper": "A-Z", "xdigit": "0-9A-Fa-f",
}  # fmt: skip
_STAR, _STARS, _SLASH = "*", "**", "/"
_FOLDERS = "(?:[^/]++/)"


class Rule(NamedTuple):
    """A pattern of an ignore file. A negated rule (`!`) reverts earlier rules."""

    negated: bool
    regex: re.Pattern[str]

    def matches(self, path: str) -> bool:
        """True if the pattern matches the path itself; the path of a folder ends with a slash."""
        match = self.regex.match(path)
        return match is not None and match.end() == len(path)


def parse_rule(line: str) -> Rule | None:
    """Parse one line; None for a comment, a blank line and a pattern that matches nothing."""
    if line.startswith("#"):
        return None
    negated = line.startswith("!")
    pattern = _without_trailing_spaces(line[negated:])
    folders_only = pattern.endswith("/")
    try:
        tokens = list(_tokens(pattern.removesuffix("/")))
    except ValueError:
        return None
    segments = [list(group) for is_slash, group in groupby(tokens, _SLASH.__eq__) if not is_slash]
    if not segments or "//" in pattern:
        return None
    if "/" not in pattern[:-1]:
        segments.insert(0, [_STARS])
    end = "/" if folders_only else r"(?:/|\Z)"
    return Rule(negated, re.compile(_translate(segments) + end, re.DOTALL))


@cache
def _token() -> re.Pattern[str]:
    """Compile on first use: this takes 2 ms, and most searches have no glob."""
    return re.compile(_TOKEN, re.DOTALL | re.VERBOSE)


def _without_trailing_spaces(pattern: str) -> str:
    bare = pattern.rstrip(" ")
    backslashes = len(bare) - len(bare.rstrip("\\"))
    return bare + " " if backslashes % 2 and bare != pattern else bare


def _tokens(pattern: str) -> Iterator[str]:
    """Yield stars, slashes, and an expression for each other character.

    `ValueError` for patterns that git never matches: an unclosed class, a lone backslash.
    """
    for token in _token().finditer(pattern):
        if token["broken"]:
            raise ValueError(pattern)
        if token["stars"]:
            yield _STAR if len(token["stars"]) == 1 else _STARS
        elif token["class"]:
            negated = token["class"][0] in "!^"
            yield _character_class(token["class"][negated:], negated=negated)
        elif token["plain"] == "?":
            yield "[^/]"
        else:
            letter = token["escaped"] or token["plain"]
            yield _SLASH if letter == "/" else re.escape(letter)


def _character_class(items: str, *, negated: bool) -> str:
    members = ""
    for posix, low, high in re.findall(_ITEMS, items):
        if posix or not low:
            if posix not in _POSIX:
                raise ValueError(items)
            members += _POSIX[posix]
        else:
            members += re.escape(low[-1])
            members += f"-{re.escape(high[-1])}" if high and low[-1] <= high[-1] else ""
    return f"(?!/)[{'^' * negated}{members}]"


def _translate(segments: Sequence[Sequence[str]]) -> str:
    """Translate runs of segments with `**` between them."""
    runs: list[list[str]] = [[]]
    for segment in segments:
        if segment == [_STARS]:
            runs.append([])
        else:
            runs[-1].append(_translate_segment(segment))
    if len(runs) == 1:
        return "/".join(runs[0])
    first, *between, last = runs
    regex = "".join(f"{segment}/" for segment in first)
    regex += "".join(f"(?>{_FOLDERS}*?{'/'.join(run)}/)" for run in between if run)
    return regex + (f"{_FOLDERS}*{'/'.join(last)}" if last else ".+")


def _translate_segment(tokens: Sequence[str]) -> str:
    letters: list[list[str]] = [[]]
    for token in tokens:
        if token in (_STAR, _STARS):
            letters.append([])
        else:
            letters[-1].append(token)
    pieces = ["".join(piece) for piece in letters]
    if len(pieces) == 1:
        return pieces[0]
    if not any(pieces):
        return "[^/]++"
    first, *between, last = pieces
    middle = "".join(f"(?>[^/]*?{piece})" for piece in between if piece)
    return rf"(?>{first}{middle}[^/]*{last}(?=/|\Z))"
