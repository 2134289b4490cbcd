"""Tests of paths, names, metadata and texts, as both stores make them, and the words of a query."""

from __future__ import annotations

import fnmatch
import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby, islice, pairwise
from operator import attrgetter
from typing import Any

from aurora.globs import Rule, parse_rule
from aurora.lazy_patterns import lazy_pattern
from aurora.session_facts import SESSION
from aurora.text import CJK, MAX_TOKEN, fold_name, has_cjk
from aurora.types import Chunk, Json, Kind, Lines, Place, is_recorded

# Criteria


def fitting_paths(paths: Iterable[str], globs: Sequence[str]) -> list[str]:
    """The paths that match globs of `.gitignore`; a folder matches everything below it.

    An empty path and an invalid glob match nothing.
    """
    rules = [rule for glob in globs if (rule := parse_rule(_as_rule(glob)))]
    return [path for path in paths if path and _fits(path.removeprefix("/"), rules)]


def _fits(path: str, rules: Sequence[Rule]) -> bool:
    """The last rule for the file decides, else the last rule for a folder above it."""
    verdict = None
    for rule in reversed(rules):
        match = rule.regex.match(path)
        if match is not None and match.end() == len(path):
            return not rule.negated
        if match is not None and verdict is None:
            verdict = not rule.negated
    return bool(verdict)


def _as_rule(glob: str) -> str:
    """A glob as a line of `.gitignore`. Users also write `./src`, `.` and `#1.md`."""
    inside = glob.removeprefix("./")
    if inside in ("", "."):
        return "**" if glob else ""
    return f"\\{inside}" if inside.startswith("#") else inside


_MOST_PARTS, _LONGEST_PART = 32, 128  # of a LIKE pattern, which may have 50,000 bytes
_WILDCARD = lazy_pattern(r"[*?\[]")


def has_wildcard(glob: str) -> bool:
    return _WILDCARD.search(glob) is not None


def literal_parts(glob: str) -> list[str]:
    """ASCII texts that every matching name contains in this order, in any case."""
    parts = re.split(r"[*?]+", glob.partition("[")[0])
    return [part for part in parts if part and part.isascii()]


def like(*parts: str) -> str:
    """A pattern for `LIKE … ESCAPE '!'`: these texts in this order, with anything around them.

    SQLite ignores text after a NUL, so the pattern ends there. A pattern that is too long is cut,
    which finds no less.
    """
    short = (part[:_LONGEST_PART] for part in parts[:_MOST_PARTS])
    plain = (part.replace("!", "!!").replace("%", "!%").replace("_", "!_") for part in short)
    return f"%{'%'.join(plain).partition(chr(0))[0]}%"


def name_test(glob: str) -> Callable[[str, str], bool]:
    """A test of name and qualified name: by wildcards, or by equality up to spelling."""
    if has_wildcard(glob):
        fits = re.compile(fnmatch.translate(glob), re.IGNORECASE).match
        return lambda name, qualified: bool(fits(name) or fits(qualified))
    folded, lowered = fold_name(glob), glob.casefold()
    return lambda name, qualified: fold_name(name) == folded or qualified.casefold() == lowered


def metadata_fits(metadata: Mapping[str, Json], key: str, value: str) -> bool:
    """Whether a top-level key has this value, or a list with it."""
    if key not in metadata:
        return False
    own = metadata[key]
    return any(_as_text(item) == value for item in (own if isinstance(own, list) else [own]))


def _as_text(value: Json) -> str | None:
    """A value as a user types it; None for objects and lists."""
    if isinstance(value, dict | list):
        return None
    return value if isinstance(value, str) else json.dumps(value)


# Chunks and places

FILE_FIELDS = (
    "path", "size", "modified_ns", "digest", "left_out", "history_stamp", "history_read_at",
    "identity", "variant",
)  # fmt: skip
READ_AT = FILE_FIELDS.index("history_read_at")
file_values = attrgetter(*FILE_FIELDS)
_KINDS = {str(kind): kind for kind in Kind}


def chunk_of(
    columns: Sequence[Any], created_at: datetime | None, metadata: Mapping[str, Json]
) -> Chunk:
    """A chunk from the columns that both databases read first."""
    (
        id_, kind, name, qualified_name, path, start, end, language, content, namespace,
        document_type,
    ) = columns  # fmt: skip
    return Chunk(
        id=id_,
        kind=Kind(kind),
        name=name,
        content=content,
        qualified_name=qualified_name,
        path=path,
        lines=None if start is None else Lines(start, end),
        language=language,
        namespace=namespace,
        document_type=document_type,
        created_at=created_at,
        metadata=metadata,
    )


def place_of(columns: Sequence[Any]) -> Place:
    """The place of a chunk, from row, id, kind, path, namespace, four metadata values, and the
    qualified name.

    Pieces of a document have its id before `@`. Turns without a number are numbered by row.
    """
    row, id_, kind, path, namespace, source, session, seq, project, qualified_name = columns
    known_kind = _KINDS.get(kind, Kind.CODE)  # reading the chunk reports damage
    home = path or id_.partition("@")[0]
    if session is not None:
        turn = int(seq) if seq is not None and seq.isdecimal() else row
        talk, is_exchange = f"{namespace}\0{session}", source == SESSION
        folder = str(project or "") if is_exchange else ""
        return Place(known_kind, path, home, talk, turn, "", False, is_exchange, folder)
    if source == "conversation":
        return Place(known_kind, path, home, path, row)
    if not known_kind.is_prose:
        return Place(known_kind, path, home, "", 0, qualified_name or "")
    return Place(known_kind, path, home, "", 0, "", is_recorded(known_kind, source))


# Words of a query for the database's own text search. An underscore between letters or digits is
# part of a word. Han, Kana and Hangul are written without spaces: a run of them is its own word.

MAX_TERMS = 32  # words of one query; a longer text is a document, and its start is enough

_WORD = lazy_pattern(r"[^\W_]+(?:_+[^\W_]+)*")
_PART = lazy_pattern(r"[^\W_]+")
_LETTER = rf"[^\W_{CJK}]"
_BETWEEN = r"[\W_]"


def find_terms(text: str) -> list[str]:
    """The first distinct words of a text, in order, without regard to case."""
    terms: dict[str, str] = {}
    for word in _words(text, _WORD):
        terms.setdefault(word.casefold(), word)
        if len(terms) == MAX_TERMS:
            break
    return list(terms.values())


def phrase_words(text: str) -> list[str]:
    """The words of a phrase in order, with repetitions; `get_user` is two words."""
    return list(islice(_words(text, _PART), MAX_TERMS))


def phrase_pattern(words: Sequence[str]) -> re.Pattern[str]:
    """A pattern for these words next to each other, in any case.

    Words are whole, except in scripts without spaces, where any part is a word.
    """
    start = "" if has_cjk(words[0]) else f"(?<!{_LETTER})"
    end = "" if has_cjk(words[-1]) else f"(?!{_LETTER})"
    middle = re.escape(words[0])
    for before, word in pairwise(words):
        apart = "*" if has_cjk(before) or has_cjk(word) else "+"
        middle += f"{_BETWEEN}{apart}{re.escape(word)}"
    return re.compile(start + middle + end, re.IGNORECASE)


def _words(text: str, shape: re.Pattern[str]) -> Iterator[str]:
    # A combining accent would end the word, so it is composed with its letter first.
    composed = text if text.isascii() else unicodedata.normalize("NFC", text)
    for match in shape.finditer(composed):
        word = match[0][:MAX_TOKEN]
        if not has_cjk(word):
            yield word
            continue
        for _, run in groupby(word, key=has_cjk):
            yield "".join(run).strip("_")
