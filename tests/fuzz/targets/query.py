"""Queries, moments and filters: any text is a query, and none of its words is lost."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from aurora.engine.memory import read_choice
from aurora.errors import QueryError
from aurora.retrieval.query import (
    parse_query,
    parse_since,
    parse_until,
    read_criteria,
    read_kinds,
)
from aurora.text import tokenize
from aurora.types import Criteria, Mode, Query, Rerank
from tests.fuzz.inputs import require_told

NOW = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)


_KEYS = ("path", "name", "agent", "session", "branch", "source")


def check(data: bytes) -> None:
    text = data.decode("utf-8", "surrogateescape")  # as a command line has it
    _check_query(text)
    _check_since(text)
    _check_criteria(text)


def _check_query(text: str) -> None:
    words, criteria = parse_query(text, now=NOW)
    Query(words, criteria=criteria)
    if not criteria:
        assert words == text
    told = " ".join((words, *_told(criteria)))
    if not (criteria.since or criteria.until or criteria.languages or criteria.kinds):
        assert set(tokenize(told)) >= set(tokenize(_without_keys(text)))
    assert parse_query(f"plain words {text}", now=NOW).words.startswith("plain words")
    for phrase in (*criteria.phrases, *criteria.without):
        assert tokenize(phrase)


def _told(criteria: Criteria) -> tuple[str, ...]:
    return (
        *criteria.phrases,
        *criteria.without,
        *criteria.paths,
        *criteria.names,
        *criteria.agents,
        *criteria.sessions,
        *criteria.branches,
    )


def _without_keys(text: str) -> str:
    """What a query says beside the names of filters."""
    lowered = text.lower()
    has_filter = any(f"{key}:" in lowered for key in _KEYS)
    return "" if has_filter else text


def _check_since(text: str) -> None:
    moment = parse_since(text, now=NOW)
    if moment is not None:
        assert moment.tzinfo is UTC
        assert parse_since(moment.isoformat(), now=NOW) == moment
        assert parse_since(f"  {text.upper()} ", now=NOW) == moment


def _check_criteria(text: str) -> None:
    _in_words(lambda: read_criteria(now=NOW, since=text))
    _in_words(lambda: read_criteria(now=NOW, until=text, sources=[text]))
    until, since = parse_until(text, now=NOW), parse_since(text, now=NOW)
    assert until is None if since is None else until is not None and until >= since
    _in_words(lambda: read_kinds([text]))
    _in_words(lambda: read_choice(Mode, text, "search mode"))
    _in_words(lambda: read_choice(Rerank, text, "reranker"))
    listed = read_criteria(now=NOW, languages=[text], paths=[text], names=[text])
    assert (listed.paths, listed.names) == ((text,), (text,))
    assert all(language == language.strip() for language in listed.languages)


def _in_words(read: Callable[[], object]) -> None:
    """It reads, or says what is wrong."""
    try:
        read()
    except QueryError as exc:
        require_told(exc)
