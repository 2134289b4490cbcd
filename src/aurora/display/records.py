"""The JSON of `aur mem search`, `aur mem get` and `aur recall`: see docs/reference/json.md.

While `version` stays the same, fields may be added, but not removed or changed in meaning.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from enum import Enum
from pathlib import Path

from aurora.display.snippet import snippet
from aurora.quick_classes import dataclass
from aurora.session_facts import SessionFacts
from aurora.types import (
    SKETCHES,
    SYMBOLS,
    Chunk,
    Criteria,
    Json,
    Moment,
    Recall,
    SearchResult,
    SearchResults,
)

VERSION = 1
_SIGNALS = ("bm25", "semantic", "activation")  # in every result; 0 for one that took no part


@dataclass(frozen=True, slots=True)
class Source:
    """The searched memory. Relative paths start at `root`."""

    memory: Path | str
    root: Path | None
    indexed_at: datetime | None


def search_record(
    answer: SearchResults,
    source: Source,
    *,
    now: datetime,
    context: int | None = None,
    past: bool = True,
) -> dict[str, Json]:
    """Search results as JSON values. With a `context`, each result has a snippet."""
    return {
        "version": VERSION,
        "query": answer.query.text,
        "limit": answer.query.limit,
        "mode": str(answer.mode),
        "fusion": answer.fusion,
        "signals": list(answer.signals),
        "filters": _filters(answer.query.criteria),
        "index": {
            "memory": str(source.memory),
            "root": str(source.root) if source.root else None,
            "indexed_at": _time(source.indexed_at),
            "age_seconds": round((now - source.indexed_at).total_seconds())
            if source.indexed_at
            else None,
        },
        "notes": [note.text for note in answer.notes],
        "nearest": list(answer.nearest),
        "results": [
            _result(result, rank, context=context, past=past)
            for rank, result in enumerate(answer.results, start=1)
        ],
        "weak": _result(answer.weak, 1, context=context, past=past) if answer.weak else None,
    }


def chunk_record(chunk: Chunk) -> dict[str, Json]:
    """A chunk without its text."""
    return {
        "id": chunk.id,
        "kind": str(chunk.kind),
        "name": chunk.name,
        "qualified_name": chunk.qualified_name,
        "path": chunk.path or None,
        "lines": list(chunk.lines) if chunk.lines else None,
        "language": chunk.language or None,
        "namespace": chunk.namespace or None,
        "document_type": chunk.document_type or None,
        "created_at": _time(chunk.created_at),
        "session": _session(chunk.session),
        "metadata": {key: value for key, value in chunk.metadata.items() if key != SKETCHES},
    }


def chunk_text_record(
    chunk: Chunk, text: str, note: str, remarks: Sequence[str]
) -> dict[str, Json]:
    """A chunk with its text, and a sentence if that is not what the file has."""
    return {**chunk_record(chunk), "content": text, "note": note or None, "remarks": [*remarks]}


def _session(facts: SessionFacts | None) -> dict[str, Json] | None:
    if facts is None:
        return None
    known = {"short_id": facts.short_id, "time": _time(facts.time)}
    lists = {"edited": list(facts.edited), "files": list(facts.files)}
    return {**facts._asdict(), **known, **lists}


def recall_record(recalled: Recall) -> dict[str, Json]:
    """What a session is told, and what was left out."""
    situation = recalled.situation
    return {
        "version": VERSION,
        "moment": str(situation.moment),
        "prompt": situation.text if situation.moment is Moment.PROMPT else None,
        "file": situation.file or None,
        "command": situation.command or None,
        "error": situation.text if situation.moment is Moment.FAILURE else None,
        "budget": recalled.budget,
        "tokens": recalled.tokens,
        "text": recalled.text,
        "items": [
            {
                "id": item.id,
                "kind": item.kind,
                "title": item.title or None,
                "text": item.text,
                "date": _time(item.date),
                "reason": item.reason,
                "tokens": item.tokens,
                "memory": item.memory,
            }
            for item in recalled.items
        ],
        "left_out": [dict(row._asdict()) for row in recalled.left_out],
        "notes": [note.text for note in recalled.notes],
    }


def _result(result: SearchResult, rank: int, *, context: int | None, past: bool) -> dict[str, Json]:
    symbol, metadata = result.symbol, result.metadata.items()
    record: dict[str, Json] = {
        "rank": rank,
        **chunk_record(result.chunk),
        "metadata": {key: value for key, value in metadata if key not in (SYMBOLS, SKETCHES)},
        "symbol": symbol and {**symbol._asdict(), "lines": list(symbol.lines)},
        "more": result.more,
        "memory": result.memory,
        "remarks": list(result.remarks),
        "sessions": result.sessions,
        "score": result.score,
        "scores": {signal: result.normalised(signal) for signal in _SIGNALS},
        "contributions": [dict(part._asdict()) for part in result.contributions],
        "terms": list(result.terms),
        "accesses": result.accesses,
        "last_used": _time(result.last_used),
    }
    if past:
        record["git"] = _git(result)
    if context is not None:
        record["snippet"] = [
            {"line": line.number, "text": line.text, "matches": [list(span) for span in line.spans]}
            for line in snippet(result.chunk, result.terms, context=context, symbol=symbol)
        ]
    return record


def _git(result: SearchResult) -> dict[str, Json] | None:
    history = result.history
    if history is None:
        return None
    return {
        "tracking": str(history.tracking),
        "commits": len(history.commits),
        "last_modified": _time(history.last_modified),
        "uncommitted": history.uncommitted,
        "read_at": _time(history.read_at),
    }


def _filters(criteria: Criteria) -> dict[str, Json]:
    """The given filters, by the field names of `Criteria`."""
    plain = {
        name: _plain(value) for name in criteria.__slots__ if (value := getattr(criteria, name))
    }
    return plain | ({"metadata": dict(criteria.metadata)} if criteria.metadata else {})


def _plain(value: object) -> Json:
    if isinstance(value, datetime):
        return _time(value)
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return str(value.value) if isinstance(value, Enum) else str(value)


def _time(at: datetime | None) -> str | None:
    return at.isoformat() if at else None
