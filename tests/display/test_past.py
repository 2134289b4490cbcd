"""When a result was last changed, and by how many commits, in the words of the requirements."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from aurora.display.table import commits_cell, is_stale, modified_cell, relative_time
from aurora.types import ChunkHistory, Kind, SearchResult, Tracking
from tests.builders import NOW, make_chunk

CODE = [Kind.FUNCTION, Kind.METHOD, Kind.CLASS, Kind.CODE]
PROSE = [Kind.KNOWLEDGE, Kind.REASONING]
DAY = int(timedelta(days=1).total_seconds())
MARCH = datetime(2025, 3, 4, tzinfo=UTC)


def result(
    history: ChunkHistory | None, kind: Kind = Kind.FUNCTION, **fields: object
) -> SearchResult:
    return SearchResult(make_chunk(kind=kind, **fields), 0.5, (), history)


def touched(*days_ago: int, uncommitted: bool = False) -> ChunkHistory:
    now = int(NOW.timestamp())
    times = tuple(now - days * DAY for days in sorted(days_ago, reverse=True))
    return ChunkHistory(commits=times, uncommitted=uncommitted)


@pytest.mark.parametrize("kind", CODE)
@pytest.mark.parametrize(
    ("history", "commits", "modified"),
    [
        pytest.param(touched(2, 9, 40), "3", "2 days ago", id="three-commits"),
        pytest.param(touched(21), "1", "3 weeks ago", id="one-commit"),
        pytest.param(touched(2, uncommitted=True), "1", "2 days ago", id="changed-since"),
        pytest.param(touched(uncommitted=True), "0", "- (uncommitted)", id="all-new"),
        pytest.param(
            ChunkHistory(Tracking.UNTRACKED), "- (untracked)", "- (untracked)", id="untracked"
        ),
        pytest.param(
            ChunkHistory(Tracking.UNAVAILABLE), "- (unavailable)", "- (unavailable)", id="failed"
        ),
        pytest.param(None, "-", "-", id="not-read-yet"),
    ],
)
def test_the_past_of_code(
    kind: Kind, history: ChunkHistory | None, commits: str, modified: str
) -> None:
    """FR-5.3 and FR-5.4; what git was not asked yet is a bare dash."""
    shown = result(history, kind)
    assert (commits_cell(shown), modified_cell(shown, NOW)) == (commits, modified)


@pytest.mark.parametrize("kind", PROSE)
@pytest.mark.parametrize("history", [None, touched(5), ChunkHistory(Tracking.UNTRACKED)])
def test_what_is_no_code_has_a_date_and_no_commits(
    kind: Kind, history: ChunkHistory | None
) -> None:
    shown = result(history, kind, created_at=MARCH)
    assert (commits_cell(shown), modified_cell(shown, NOW)) == ("-", "2025-03-04")


@pytest.mark.parametrize(
    ("history", "modified"),
    [(None, "-"), (ChunkHistory(Tracking.UNTRACKED), "-"), (touched(5, 9), "2026-11-10")],
)
def test_a_note_without_a_date_has_that_of_its_last_commit(
    history: ChunkHistory | None, modified: str
) -> None:
    assert modified_cell(result(history, Kind.KNOWLEDGE), NOW) == modified


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (-5000, "just now"), (0, "just now"), (59, "just now"), (60, "1 minute ago"),
        (3599, "59 minutes ago"), (3600, "1 hour ago"), (2 * DAY - 1, "1 day ago"),
        (2 * DAY, "2 days ago"), (7 * DAY, "1 week ago"), (29 * DAY, "4 weeks ago"),
        (30 * DAY, "1 month ago"), (364 * DAY, "12 months ago"), (365 * DAY, "1 year ago"),
        (4000 * DAY, "10 years ago"),
    ],
)  # fmt: skip
def test_an_age_as_a_person_would_say_it(seconds: int, said: str) -> None:
    assert relative_time(timedelta(seconds=seconds)) == said


@pytest.mark.parametrize(
    ("days", "stale"), [([], False), ([None], False), ([7], False), ([1, 7.01], True)]
)
def test_what_was_read_a_week_ago_is_stale(days: list[float | None], stale: bool) -> None:
    """Seed 000, 6.4."""
    read = [None if age is None else NOW - timedelta(days=age) for age in days]
    results = [result(None), *(result(ChunkHistory(read_at=at)) for at in read)]
    assert is_stale(results, NOW) is stale
