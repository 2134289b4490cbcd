"""Rows of the PostgreSQL tables into values and back, and nothing else.

Texts that PostgreSQL does not hold: it has no NUL. Written, a NUL is two letters that mean it.

The first of them is no character of any script. A text that has it anyway gets it back, too.

The words of a chunk as a tsvector: our own tokens, none of which the server takes apart.

Name, labels, content and summary have weights A to D. `ts_rank_cd` of a single word is the sum of
the weights of its places, so that it tells how often a word is there: the name's places count as
often as `chunk_words.name_times` says.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from itertools import repeat
from typing import Any, NamedTuple, TypeAlias

import psycopg
from psycopg.adapt import AdaptersMap
from psycopg.types.json import Json as Json_
from psycopg.types.string import StrDumper

from aurora.errors import StoreFormatError
from aurora.stores.base import FileState, Reasoning
from aurora.text import (
    SHORTEST,
    SUMMARY_TIMES,
    chunk_labels,
    chunk_summary,
    document_terms,
    fold_name,
    has_cjk,
    name_times,
)
from aurora.types import Chunk, ChunkHistory, Json, Kind, Lines, Tracking

MARK = "\ufdd0"
_NUL, _ITSELF = f"{MARK}0", f"{MARK}1"


def hide(text: str) -> str:
    """As it is written."""
    if "\0" not in text and MARK not in text:
        return text
    return text.replace(MARK, _ITSELF).replace("\0", _NUL)


def show(text: str) -> str:
    """As it was before."""
    if MARK not in text:
        return text
    return text.replace(_NUL, "\0").replace(_ITSELF, MARK)


def in_all_texts(value: Json, change: Callable[[str], str]) -> Json:
    """The same value with every text in it changed, keys too."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [in_all_texts(item, change) for item in value]
    if isinstance(value, dict):
        return {change(key): in_all_texts(item, change) for key, item in value.items()}
    return value


class _Hiding(StrDumper):
    def dump(self, obj: str) -> Any:
        return super().dump(hide(obj))


ADAPTERS = AdaptersMap(psycopg.adapters)
ADAPTERS.register_dumper(str, _Hiding)


Row: TypeAlias = tuple[Any, ...]

# As they are read: JSON is taken apart in Python, which wrote it.
COLUMNS = (
    "id, kind, name, qualified_name, path, start_line, end_line, language, content, namespace, "
    "document_type, created_at, metadata::text"
)
WRITTEN = {
    "id": "text", "namespace": "text", "kind": "text", "name": "text", "folded_name": "text",
    "qualified_name": "text", "path": "text", "start_line": "bigint", "end_line": "bigint",
    "language": "text", "content": "text", "document_type": "text", "created_at": "timestamptz",
    "metadata": "jsonb", "has_cjk": "boolean",
}  # fmt: skip
_EXPONENT = 1e16  # floats from here on are written with one
_FLOAT = re.compile(f'"{MARK}f([^"]*)"')
FILE_COLUMNS = "path, size, modified_ns, digest, left_out, history_stamp, history_read_at, identity"


def chunk_values(chunk: Chunk) -> dict[str, object]:
    """The values of WRITTEN."""
    start, end = chunk.lines or (None, None)
    return {
        "id": chunk.id, "namespace": chunk.namespace, "kind": str(chunk.kind),
        "name": chunk.name, "folded_name": fold_name(chunk.name),
        "qualified_name": chunk.qualified_name, "path": chunk.path,
        "start_line": start, "end_line": end, "language": chunk.language,
        "content": chunk.content, "document_type": chunk.document_type,
        "created_at": chunk.created_at.isoformat() if chunk.created_at else None,
        "metadata": dict(chunk.metadata),
        "has_cjk": has_cjk(chunk.name) or has_cjk(chunk.content),
    }  # fmt: skip


def as_json(rows: Iterable[Mapping[str, object]]) -> Json_:
    """Many rows as one value."""
    given: list[Any] = list(rows)
    written = json.dumps(given, ensure_ascii=False)
    if "\\u0000" in written or MARK in written or "e+" in written:
        hidden: Any = in_all_texts(given, hide)
        written = _FLOAT.sub(r"\1", json.dumps(_with_floats(hidden), ensure_ascii=False))
    return Json_(written, _as_it_is)


def _with_floats(value: Any) -> Any:
    """The server makes whole numbers of floats like 1e+16, and those come back as other values:
    here they are texts of all their digits, which lose their quotes once all is written."""
    if isinstance(value, float) and abs(value) >= _EXPONENT:
        return f"{MARK}f{value:.1f}"
    if isinstance(value, list):
        return list(map(_with_floats, value))
    if isinstance(value, dict):
        return {key: _with_floats(item) for key, item in value.items()}
    return value


def _as_it_is(written: Any) -> bytes:
    return str(written).encode()


def read_metadata(written: str) -> dict[str, Json]:
    if written == "{}":
        return {}
    read: Any = json.loads(written)
    return in_all_texts(read, show) if MARK in written else read  # type: ignore[return-value]


def chunk_from(row: Row) -> Chunk:
    """A chunk from a row that starts with COLUMNS."""
    (
        id_, kind, name, qualified_name, path, start, end, language, content, namespace,
        document_type, created_at, metadata,
    ) = row[:13]  # fmt: skip
    try:
        return Chunk(
            id=show(id_),
            kind=Kind(kind),
            name=show(name),
            content=show(content),
            qualified_name=show(qualified_name),
            path=show(path),
            lines=None if start is None else Lines(start, end),
            language=show(language),
            namespace=show(namespace),
            document_type=show(document_type),
            created_at=_if_any(created_at),
            metadata=read_metadata(metadata),
        )
    except (ValueError, TypeError) as exc:  # nobody writes such a row
        raise StoreFormatError(
            f"The chunk {id_!r} is damaged: {exc}", hint="`aur doctor` tells what else is"
        ) from exc


def reasoning_from(row: Row) -> Reasoning:
    pattern_type, success_score, usage_count, created_at = row
    return Reasoning(show(pattern_type), success_score, usage_count, moment(created_at))


def history_from(row: Row) -> ChunkHistory:
    tracking, commits, uncommitted, read_at = row
    return ChunkHistory(Tracking(tracking), tuple(commits), uncommitted, _if_any(read_at))


def file_values(state: FileState) -> tuple[object, ...]:
    """The values of FILE_COLUMNS."""
    return (
        state.path, state.size, state.modified_ns, state.digest, state.left_out,
        state.history_stamp, state.history_read_at, state.identity,
    )  # fmt: skip


def file_state_from(row: Row) -> FileState:
    path, size, modified_ns, digest, left_out, stamp, read_at, identity = row
    return FileState(
        show(path),
        size,
        modified_ns,
        show(digest),
        show(left_out),
        show(stamp),
        _if_any(read_at),
        show(identity),
    )


def moment(at: datetime) -> datetime:
    """The server tells times in its own zone."""
    return at.astimezone(UTC)


def _if_any(at: datetime | None) -> datetime | None:
    return None if at is None else moment(at)


def like(*parts: str) -> str:
    """A pattern for `LIKE … ESCAPE '!'`: these texts, in this order, with anything around them."""
    plain = (part.replace("!", "!!").replace("%", "!%").replace("_", "!_") for part in parts[:32])
    return f"%{'%'.join(part[:128] for part in plain)}%"


_LAST_PLACE = 16_383  # places of a tsvector; what comes later is there once
_MOST_PLACES = 255  # of one word; BM25 has long had enough by then
_MOST_BYTES = 1_000_000  # of all words; the server takes no more than 1,048,575
_QUOTED = str.maketrans({"'": "''", "\\": "\\\\"})


class Words(NamedTuple):
    """What is stored of a chunk for its words to be found."""

    length: int  # terms, those of the name as often as they count
    weights: list[float]  # of D, C, B and A, none above 1
    tsv: str


def words_of(chunk: Chunk) -> Words:
    times = name_times(chunk)
    name = document_terms(chunk.name) if times else []
    labels, content = document_terms(chunk_labels(chunk)), document_terms(chunk.content)
    summary = document_terms(chunk_summary(chunk))
    places: dict[str, list[str]] = {}
    at = size = 1
    for weight, tokens in (("A", name), ("B", labels), ("C", content), ("D", summary)):
        for place, token in zip(_places(weight, at, len(tokens)), tokens, strict=True):
            known = places.get(token)
            if known is None:
                size += 4 * len(token) + 2
                if size < _MOST_BYTES:  # a text this long is data; its start says enough
                    places[token] = [place]
            elif len(known) < _MOST_PLACES and known[-1] is not place:
                known.append(place)
                size += 2
        at += len(tokens) + 1  # no phrase goes on from one field into the next
    length = len(name) * times + len(labels) + len(content) + len(summary) * SUMMARY_TIMES
    share = 1.0 / max(times, SUMMARY_TIMES)
    tsv = " ".join(f"{quote(token)}:{','.join(found)}" for token, found in places.items())
    weights = [SUMMARY_TIMES * share, share, share, times * share]
    return Words(max(length, SHORTEST), weights, tsv)


def _places(weight: str, first: int, count: int) -> Iterator[str]:
    """Places from the first on, as they are written; all behind the last there is are that one."""
    written = _written(weight)
    yield from written[first : first + count]
    yield from repeat(written[-1], count - max(0, min(count, len(written) - first)))


@cache
def _written(weight: str) -> list[str]:
    return [f"{place}{weight}" for place in range(_LAST_PLACE + 1)]


def quote(token: str) -> str:
    """A word as both tsvector and tsquery read it, whatever it is made of."""
    return f"'{hide(token).translate(_QUOTED)}'" if not token.isalnum() else f"'{token}'"


def any_of(tokens: Iterable[str]) -> str:
    return " | ".join(map(quote, tokens))


def in_a_row(tokens: Iterable[str]) -> str:
    """Next to each other: how pairs of characters make a longer run."""
    return "(" + " <-> ".join(map(quote, tokens)) + ")"
