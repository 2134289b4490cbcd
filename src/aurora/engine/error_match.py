"""Whether two texts tell the same error: numbers, paths, addresses and kinds of quotes aside.

What a message quotes is what it is about: `No module named 'yaml'` and `No module named 'numpy'`
are two errors. So all quoted names and all names of exceptions have to agree, and most other words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from aurora.lazy_patterns import lazy_pattern
from aurora.quick_classes import NamedTuple

SAME = 0.83  # the share of telling words that two lines of the same error have: all of five
_FEWEST = 2  # words that a line needs to tell an error
_MOST_LINES, _LONGEST = 400, 500  # lines that are compared, characters of each
_KEY_LINES = 12
_MANY = 4  # words from which a shorter line may stand for a longer one

_ERROR = lazy_pattern(
    r"error|exception|\bfail(?:ed|ure)?\b|fatal|panic|denied|refused|not found|cannot|can't"
    r"|could not|undefined|unresolved|invalid|missing|no such|unable|timed? ?out"
    r"|segmentation|unexpected",
    re.IGNORECASE,
)
_ESCAPES = lazy_pattern(r"\x1b\[[0-9;?]*[A-Za-z]")
_QUOTES = str.maketrans("‘’‚“”„`´«»", "'''\"\"\"''\"\"")
_REPLACED = (  # a path stands for its last part
    (lazy_pattern(r"\b[a-z][a-z0-9+.-]*://[^\s'\"]+", re.IGNORECASE), "<url>"),
    (lazy_pattern(r"(?<![\w.])(?:[A-Za-z]:)?[\\/](?:[\w.@+~-]+[\\/])*([\w.@+~-]*)"), r"\1"),
    (lazy_pattern(r"(?<![\w.])(?:\.{1,2}/)?(?:[\w.@+~-]+/)+([\w.@+~-]+)"), r"\1"),
    (lazy_pattern(r"\b0x[0-9a-f]+\b", re.IGNORECASE), "#"),
    (lazy_pattern(r"\b(?=[0-9a-f-]*[0-9])[0-9a-f]{7,}(?:-[0-9a-f]+)*\b", re.IGNORECASE), "#"),
    (lazy_pattern(r"(?<![A-Za-z_])[0-9]+(?:[.:,][0-9]+)*"), "#"),
)  # fmt: skip
_QUOTED = lazy_pattern(r"""(['"])([^'"\n]{1,120})\1""")
_NAMED = lazy_pattern(
    r"\b(?:\w+\.)*(\w+(?:Error|Exception|Warning)|[A-Z]{1,4}\d{3,5}|E[A-Z]{4,})\b"
)
_WORD = lazy_pattern(r"[^\W\d_][\w-]*|_\w+")
_COMMON = frozenset(re.findall(r"\w+", """
    error errors failed failure fatal warning exception the a an of to in at on for is was be not it
    this that with by line file exit status code traceback most recent call last"""))  # fmt: skip


class ErrorLine(NamedTuple):
    """A line of an outcome: its telling words, and those that must agree."""

    text: str  # in lower case
    words: Counter[str]  # that tell one error from another
    subjects: frozenset[str]  # quoted names, and names of exceptions


def read_line(line: str) -> ErrorLine:
    """A line without what differs from run to run."""
    text = _ESCAPES.sub("", line).translate(_QUOTES).strip()[:_LONGEST]
    named = {match[1].lower() for match in _NAMED.finditer(text)}
    for pattern, instead in _REPLACED:
        text = pattern.sub(instead, text)
    text = text.lower()
    quoted = {match[2].strip() for match in _QUOTED.finditer(text)}
    subjects = {name for name in quoted if any(map(str.isalpha, name))} | named
    words = Counter(word for word in _WORD.findall(text) if word not in _COMMON)
    return ErrorLine(text, words, frozenset(subjects))


def tells_error(text: str) -> bool:
    """Whether a text has the words or the name of an error."""
    return any(pattern.search(text) for pattern in (_ERROR, _NAMED))


def key_lines(text: str) -> list[ErrorLine]:
    """The lines that tell the error; all of them where none looks like an error, or those that do
    are only its heading."""
    lines = [line for line in text.splitlines() if line.strip()][:_MOST_LINES]
    telling = [line for line in lines if _ERROR.search(line)]
    return _read_keys(telling) or _read_keys(lines)


def _read_keys(lines: Sequence[str]) -> list[ErrorLine]:
    read = (read_line(line) for line in reversed(lines))  # the last line of a traceback tells
    return [line for line in read if line.words.total() >= _FEWEST or line.subjects][:_KEY_LINES]


def similarity(asked: ErrorLine, line: ErrorLine) -> float:
    """How much of one line the other has, from 0 to 1; 0 where they are about different things."""
    shared = sum((asked.words & line.words).values())
    if not _names(line, asked.subjects):
        return 0.0
    if not _names(asked, line.subjects):  # the line may only be a special case of what is asked
        return float(shared == asked.words.total())
    is_part = _MANY <= line.words.total() < asked.words.total()
    return shared / max((line if is_part else asked).words.total(), 1)


def _names(line: ErrorLine, subjects: Iterable[str]) -> bool:
    """Whether a line names all of these, in quotes or without."""
    return all(
        subject in line.subjects
        or subject in line.words
        or (" " in subject and subject in line.text)
        for subject in subjects
    )


def best_match(asked: Iterable[ErrorLine], text: str) -> tuple[float, str]:
    """The similarity of the nearest line of an outcome, and that line."""
    wanted = list(asked)
    best, where = 0.0, ""
    for line in _lines(text):
        read = read_line(line)
        score = max((similarity(key, read) for key in wanted), default=0.0)
        if score > best:
            best, where = score, line.strip()
    return best, where


def _lines(text: str) -> Iterator[str]:
    lines = (line for line in text.splitlines() if line.strip())
    for count, line in enumerate(lines):
        if count == _MOST_LINES:
            return
        yield line
