"""`--json`: the object, field by field, as docs/reference/json.md tells it."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from aurora.display.records import Source, chunk_record, search_record
from aurora.types import Criteria, Kind, Mode, Note, Query, SearchResults
from tests.builders import NOW, SESSION_ID, make_exchange
from tests.display.answers import LESSON, SEED, make_answer

SOURCE = Source(Path("/p/.aurora/memory.db"), Path("/p"), NOW - timedelta(minutes=5))


def test_a_whole_answer() -> None:
    record = search_record(make_answer(SEED), SOURCE, now=NOW, context=0)
    assert record == {
        "version": 1,
        "query": "authenticate",
        "limit": 10,
        "mode": "hybrid",
        "fusion": "weighted",
        "signals": ["bm25", "semantic", "activation"],
        "filters": {},
        "index": {
            "memory": str(Path("/p/.aurora/memory.db")),
            "root": str(Path("/p")),
            "indexed_at": "2026-11-15T11:55:00+00:00",
            "age_seconds": 300,
        },
        "notes": [],
        "nearest": [],
        "results": [
            {
                "rank": 1,
                "id": "auth_manager.py:authenticate_user",
                "kind": "function",
                "name": "authenticate_user",
                "qualified_name": "authenticate_user",
                "path": "auth_manager.py",
                "lines": [45, 67],
                "language": "python",
                "namespace": None,
                "document_type": None,
                "created_at": None,
                "session": None,
                "metadata": {},
                "symbol": None,
                "more": 0,
                "memory": "",
                "remarks": [],
                "sessions": 0,
                "score": 0.856,
                "scores": {"bm25": 0.95, "semantic": 0.82, "activation": 0.65},
                "contributions": [
                    {"signal": "bm25", "rank": 1, "raw": 9.5, "normalised": 0.95,
                     "value": 0.95 / 3},
                    {"signal": "semantic", "rank": 1, "raw": 0.82, "normalised": 0.82,
                     "value": 0.82 / 3},
                    {"signal": "activation", "rank": 1, "raw": 6.5, "normalised": 0.65,
                     "value": 0.65 / 3},
                ],
                "terms": ["authenticate"],
                "accesses": 3,
                "last_used": "2026-11-13T12:00:00+00:00",
                "git": {
                    "tracking": "tracked",
                    "commits": 23,
                    "last_modified": "2026-11-13T12:00:00+00:00",
                    "uncommitted": False,
                    "read_at": "2026-11-15T12:00:00+00:00",
                },
                "snippet": [
                    {"line": None, "text": "def authenticate_user(name, password):",
                     "matches": [[4, 16]]}
                ],
            }
        ],
        "weak": None,
    }  # fmt: skip
    assert json.loads(json.dumps(record, allow_nan=False)) == record


def test_a_symbol_and_the_rows_behind_a_result_are_told() -> None:
    """The symbols of the whole chunk are left out: there may be hundreds."""
    symbols = [["LIMIT", "constant", 46, 46], ["SIZE", "constant", 47, 47]]
    chunk = replace(SEED.chunk, metadata={"symbols": symbols, "signature": "x"})
    result = replace(SEED, chunk=chunk, symbol=chunk.symbols[0], more=2)
    (record,) = search_record(make_answer(result), SOURCE, now=NOW)["results"]
    assert record["symbol"] == {"name": "LIMIT", "kind": "constant", "lines": [46, 46]}
    assert (record["more"], record["metadata"]) == (2, {"signature": "x"})
    assert chunk_record(chunk)["metadata"] == {"symbols": symbols, "signature": "x"}


def test_the_best_weak_row_stands_beside_the_results() -> None:
    answer = replace(make_answer(), results=(), weak=SEED)
    record = search_record(answer, SOURCE, now=NOW)
    assert (record["results"], record["weak"]["id"]) == ([], "auth_manager.py:authenticate_user")


def test_what_is_unknown_is_null() -> None:
    record = search_record(make_answer(LESSON), Source(Path("m.db"), None, None), now=NOW)
    (result,) = record["results"]
    assert (result["path"], result["lines"], result["git"]) == (None, None, None)
    assert result["created_at"] == "2025-12-20T12:00:00+00:00"
    assert "snippet" not in result
    assert record["index"] == {
        "memory": "m.db", "root": None, "indexed_at": None, "age_seconds": None,
    }  # fmt: skip


def test_without_git_there_is_no_such_field() -> None:
    (result,) = search_record(make_answer(SEED), SOURCE, now=NOW, past=False)["results"]
    assert "git" not in result


def test_filters_notes_and_nearest_names_are_told() -> None:
    criteria = Criteria(
        kinds=(Kind.CLASS,),
        paths=("src/**",),
        metadata=(("owner", "ana"),),
        since=datetime(2026, 1, 31, tzinfo=UTC),
    )
    answer = SearchResults(
        Query("teardwn", 3, criteria=criteria), (), "rrf", ("bm25",), Mode.KEYWORD,
        (Note("no model"),), ("teardown",),
    )  # fmt: skip
    record = search_record(answer, SOURCE, now=NOW)
    assert record | {"index": None} == {
        "version": 1,
        "query": "teardwn",
        "limit": 3,
        "mode": "keyword",
        "fusion": "rrf",
        "signals": ["bm25"],
        "filters": {
            "kinds": ["class"],
            "paths": ["src/**"],
            "metadata": {"owner": "ana"},
            "since": "2026-01-31T00:00:00+00:00",
        },
        "index": None,
        "notes": ["no model"],
        "nearest": ["teardown"],
        "results": [],
        "weak": None,
    }


def test_a_chunk_of_a_session_has_its_facts() -> None:
    [chunk] = make_exchange("Why?", title="Herons", commit="abc")
    assert chunk_record(chunk)["session"] == {
        "agent": "codex", "id": SESSION_ID, "short_id": "5e551011", "title": "Herons",
        "form": "exchange", "time": "2026-11-15T12:00:00+00:00", "project": "/code/shop",
        "branch": "main", "commit": "abc", "model": "gpt-6", "exchange": f"codex:{SESSION_ID}:Why?",
        "parent": "", "edited": [], "files": [],
    }  # fmt: skip


def test_ranks_count_from_one() -> None:
    answer = make_answer(SEED, replace(SEED, score=0.5))
    assert [r["rank"] for r in search_record(answer, SOURCE, now=NOW)["results"]] == [1, 2]
