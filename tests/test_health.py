"""Single checks, with what cannot be brought about by a real process."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import pytest

from aurora.config.load import without_secrets
from aurora.engine import health
from aurora.engine.health import (
    Line,
    Part,
    check_parts,
    check_sqlite,
    examine_parts,
    judge_problems,
    judge_space,
    run_checks,
)
from aurora.errors import WatchError
from aurora.parsers import languages
from aurora.report_types import Finding, Level
from aurora.stores.sqlite.database_file import SQLiteLibrary, describe_library

FINE = Finding(Level.OK, "memory", "fine")


def fine(_: None) -> Iterator[Line]:
    yield Level.OK, "fine", ""


def refused(_: None) -> Iterator[Line]:
    yield Level.OK, "fine", ""
    raise WatchError("cannot look", hint="look elsewhere")


def _broken_check(_: None) -> Iterator[Line]:
    raise ZeroDivisionError("by zero")
    yield Level.OK, "fine", ""


def test_a_check_that_goes_wrong_is_a_finding_and_the_others_are_carried_out() -> None:
    assert list(run_checks("memory", [refused, _broken_check, fine], None)) == [
        FINE,
        Finding(Level.FAIL, "memory", "cannot look", "look elsewhere"),
        Finding(
            Level.FAIL, "memory", "broken check could not be checked: ZeroDivisionError('by zero')"
        ),
        FINE,
    ]


def test_the_sqlite_of_this_python_has_what_a_memory_needs() -> None:
    library = describe_library()
    assert [level for level, _, _ in check_sqlite(library)] == [Level.OK]
    assert library.version == sqlite3.sqlite_version


@pytest.mark.parametrize(
    ("fts5", "trigrams", "missing"),
    [(False, False, "without FTS5 and trigrams"), (True, False, "without trigrams")],
)
def test_a_sqlite_without_text_search_fails(*, fts5: bool, trigrams: bool, missing: str) -> None:
    library = SQLiteLibrary("3.31.0", has_fts5=fts5, has_trigrams=trigrams)
    [(level, text, hint)] = check_sqlite(library)
    assert level is Level.FAIL
    assert missing in text
    assert "3.34" in hint


def _missing() -> str:
    raise ImportError("No module named 'wings'")


def _found() -> str:
    return "1.2.3"


def test_a_part_is_there_with_its_version_or_missing_with_the_way_to_get_it() -> None:
    parts = (
        Part("wings", "flying", "pip install wings", Level.WARN, _missing),
        Part("legs", "walking", "pip install legs", require=_found),
    )
    missing = "wings: missing, for flying (No module named 'wings')"
    assert list(check_parts(parts)) == [
        (Level.WARN, missing, "pip install wings"),
        (Level.OK, "legs 1.2.3, for walking", ""),
    ]


def test_a_grammar_that_cannot_be_loaded_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    klingon = languages.Grammar("klingon", frozenset())
    monkeypatch.setattr(health, "GRAMMARS", {**languages.GRAMMARS, ".kl": klingon})
    found = [finding for finding in examine_parts() if "grammar" in finding.text]
    assert [finding.level for finding in found] == [Level.WARN, Level.OK]
    assert found[0].text.startswith("The grammar of klingon cannot be loaded: ")
    assert "tree-sitter-klingon" in found[0].hint


def test_of_many_problems_the_first_are_named_and_the_rest_counted() -> None:
    pages = [f"page {number}" for number in range(5)]
    level, text, _ = judge_problems(pages, "memory.db", is_file=True)
    assert level is Level.FAIL
    assert text == "memory.db is damaged:\npage 0\npage 1\npage 2\n… and 2 more"
    assert judge_problems([], "memory.db", is_file=True)[0] is Level.OK


@pytest.mark.parametrize(
    ("free", "size", "low"),
    [(10 << 30, 1 << 30, False), (1 << 30, 1 << 30, True), (100 << 20, 0, True)],
)
def test_little_space_is_told_when_an_index_run_may_need_more(
    *, free: int, size: int, low: bool
) -> None:
    assert [level for level, _, _ in judge_space(free, size)] == [Level.WARN] * low


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("http://localhost:11434/v1", "http://localhost:11434/v1"),
        ("https://ada:hunter2@example.org/v1", "https://***@example.org/v1"),
        ("https://hunter2@example.org", "https://***@example.org"),
        ("https://example.org/v1?key=hunter2&a=hunter2", "https://example.org/v1?key=***&a=***"),
        ("https://example.org/#token=hunter2", "https://example.org/#token=***"),
        ("1.5", "1.5"),
    ],
)
def test_a_value_is_told_without_its_secrets(value: str, told: str) -> None:
    assert without_secrets(value) == told
