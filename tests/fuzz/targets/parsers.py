"""Every parser: the first line is the path of a file, the rest its text. Chunks lie inside the
file, hold its text, and together are not much longer than it."""

from __future__ import annotations

import json
import re

from aurora.parsers.conversation import iter_chunks, without_date
from aurora.parsers.markdown import read_front_matter
from aurora.parsers.prose import find_title
from aurora.parsers.registry import parser_for
from aurora.text import find_date
from aurora.types import Chunk, Document
from tests.fuzz.inputs import head_and_rest, text_of

_NOTHING = re.compile(r"\s+")
_GAP = re.compile(r" \.\.\.|\n\.\.\.\n")  # in an outline; between joined pieces of a module
_CHUNK_COSTS = 2_500  # characters a chunk may take beside its text: names, a path, a signature


def check(data: bytes) -> None:
    head, rest = head_and_rest(data)
    path, text = _path(head), text_of(rest)
    document = Document(path, text)
    parsed = parser_for(path).parse(document)
    _check_chunks(parsed.chunks, text)
    assert parser_for(path).parse(document) == parsed  # nothing is left of the file before
    _check_notes(text)


def _path(head: str) -> str:
    """One that a walk may give: below the project, and of bounded length."""
    parts = [part for part in head.replace("\0", "").split("/") if part not in ("", ".", "..")]
    return "/".join(parts)[:200].rstrip("/") or "a.txt"


def _check_chunks(chunks: tuple[Chunk, ...], text: str) -> None:
    last = text.count("\n") + 1
    assert len({chunk.id for chunk in chunks}) == len(chunks)
    lines = text.split("\n")
    for chunk in chunks:
        assert chunk.name
        assert chunk.content.strip()
        assert chunk.lines is not None
        start, end = chunk.lines
        assert 1 <= start <= end <= last
        _check_content(chunk, "\n".join(lines[start - 1 : end]))
        chunk.content.encode()
    total = sum(len(chunk.content) + _about(chunk) for chunk in chunks)
    assert total <= 4 * len(text) + _CHUNK_COSTS * len(chunks)


def _check_content(chunk: Chunk, there: str) -> None:
    """All of a chunk stands on its lines; an outline and joined pieces have gaps."""
    near = _NOTHING.sub("", there)
    at = 0
    for piece in _GAP.split(chunk.content):
        bare = _NOTHING.sub("", piece)
        found = near.find(bare, at)
        if found < 0:  # its own text may hold what looks like a gap
            assert _NOTHING.sub("", chunk.content) in near
            return
        at = found + len(bare)


def _about(chunk: Chunk) -> int:
    names = len(chunk.name) + len(chunk.qualified_name) + len(chunk.id)
    return names + len(json.dumps(dict(chunk.metadata), ensure_ascii=False))


def _check_notes(text: str) -> None:
    lines = text.split("\n")
    matter = read_front_matter(lines)
    assert 0 <= matter.end <= len(lines)
    for language in ("markdown", "restructuredtext", "text"):
        assert "\n" not in find_title(text, language)
    date = find_date(text)
    assert without_date(text) == text or date is not None
    streamed = tuple(iter_chunks("logs/a.md", text.splitlines(keepends=True)))
    assert len({chunk.id for chunk in streamed}) == len(streamed)
