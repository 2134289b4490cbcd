"""Questions with a time: what is read of their words, and which sessions they narrow to."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora import Memory, Places
from aurora.indexing.embedding import embed_missing
from aurora.retrieval.time_spans import TimeSpan, find_time_span
from aurora.types import Criteria, Kind, SearchResults
from tests.builders import make_chunk, make_exchange
from tests.retrieval.meaning import WordProvider

NOW = datetime(2026, 11, 19, 10, tzinfo=UTC)  # a Thursday


def read(text: str, now: datetime = NOW) -> TimeSpan | None:
    return find_time_span(text, now=now)


@pytest.mark.parametrize(
    ("text", "words", "days"),
    [
        ("what failed today?", "today", "2026-11-19"),
        ("yesterday's error", "yesterday", "2026-11-18"),
        ("from the day  before yesterday", "from the day before yesterday", "2026-11-17"),
        ("last night", "last night", "2026-11-18 to 2026-11-19"),
        ("this week", "this week", "2026-11-16 to 2026-11-22"),
        ("decided LAST WEEK about it", "LAST WEEK", "2026-11-09 to 2026-11-15"),
        ("the past week", "past week", "2026-11-12 to 2026-11-19"),
        ("over the weekend", "over the weekend", "2026-11-14 to 2026-11-15"),
        ("last month", "last month", "2026-10-01 to 2026-10-31"),
        ("this year", "this year", "2026-01-01 to 2026-12-31"),
        ("in the last 3 days", "in the last 3 days", "2026-11-16 to 2026-11-19"),
        ("the past two weeks", "the past two weeks", "2026-11-05 to 2026-11-19"),
        ("3 days ago", "3 days ago", "2026-11-16"),
        ("two weeks ago", "two weeks ago", "2026-11-02 to 2026-11-08"),
        ("a month ago", "a month ago", "2026-10-01 to 2026-10-31"),
        ("a couple of days ago", "a couple of days ago", "2026-11-16 to 2026-11-18"),
        ("a few weeks ago", "a few weeks ago", "2026-10-08 to 2026-11-05"),
        ("on Monday", "on Monday", "2026-11-16"),
        ("on thursday", "on thursday", "2026-11-19"),
        ("last Thursday", "last Thursday", "2026-11-12"),
        ("on 3 November", "on 3 November", "2026-11-03"),
        ("on November 3rd, 2025", "on November 3rd, 2025", "2025-11-03"),
        ("Dec 3", "Dec 3", "2025-12-03"),
        ("the 29th of February", "29th of February", "2024-02-29"),
        ("in October", "in October", "2026-10-01 to 2026-10-31"),
        ("in december", "in december", "2025-12-01 to 2025-12-31"),
        ("last November", "last November", "2025-11-01 to 2025-11-30"),
        ("in late October", "in late October", "2026-10-01 to 2026-10-31"),
        ("in March 2025", "in March 2025", "2025-03-01 to 2025-03-31"),
        ("on 2026-11-03", "on 2026-11-03", "2026-11-03"),
        ("2026-11-03T10:00 boom", "2026-11-03T10:00", "2026-11-03"),
        ("in 2026-10", "in 2026-10", "2026-10-01 to 2026-10-31"),
        ("in 2025", "in 2025", "2025-01-01 to 2025-12-31"),
        ("since Monday", "since Monday", "since 2026-11-16"),
        ("since last week", "since last week", "since 2026-11-09"),
        ("before October", "before October", "until 2026-09-30"),
        ("until October", "until October", "until 2026-10-31"),
        ("between 3 November and 5 November", "between 3 November", "2026-11-03 to 2026-11-05"),
        ("from January to March", "from January", "2026-01-01 to 2026-03-31"),
        ("the last week function", "last week", "2026-11-09 to 2026-11-15"),
    ],
)  # fmt: skip
def test_a_time_in_words_is_a_span(text: str, words: str, days: str) -> None:
    span = read(text)
    assert span is not None
    assert (span.words, span.text) == (words, days)


@pytest.mark.parametrize(
    "text",
    [
        "", "parse the config", "last_week", "lastWeek()", "this may fail", "may 3 requests",
        "print in dec and oct", "March", "the summary of march", "Monday", "the month parser",
        "last day", "weeks", "3 weeks", "ago", "open memory/2026-03-01.md", "2026-03-01.md",
        "2026-13-01", "2026-11", "2025", "port 2025", "in 2030", "on 2027-01-01", "30 February",
        "January 32", "in 20255", "since the refactoring", "today_total", "sunday-driver",
        "last week " + "x" * 2000,
    ],
)  # fmt: skip
def test_what_is_no_time_or_in_the_future_is_none(text: str) -> None:
    assert read(text) is None


def test_days_begin_at_midnight_where_the_question_is_asked() -> None:
    east = datetime(2026, 11, 19, 1, tzinfo=timezone(timedelta(hours=9)))
    span = read("yesterday", east)
    assert span is not None
    assert (span.start, span.end) == (
        datetime(2026, 11, 17, 15, tzinfo=UTC), datetime(2026, 11, 18, 15, tzinfo=UTC),
    )  # fmt: skip


def test_a_day_may_have_another_number_of_hours() -> None:
    summer = datetime(2026, 3, 30, 12, tzinfo=ZoneInfo("Europe/Berlin"))  # the clocks went on
    span = read("yesterday", summer)
    assert span is not None
    assert span.start
    assert span.end
    assert span.end - span.start == timedelta(hours=23)


WORDS = """
    a an two 3 999 0 last this past the in on since until before between and from ago day days
    week weeks weekend month months years year Monday sunday October May march Feb 31 30 29th
    2024 2026 9999 2026-11-03 2026-02-30 2020-01 of , - yesterday couple few"""
phrases = st.lists(st.sampled_from(WORDS.split()), max_size=8).map(" ".join)


@given(st.text(max_size=60) | phrases, st.datetimes(timezones=st.timezones()))
def test_any_text_has_a_span_that_has_begun_or_none(text: str, now: datetime) -> None:
    span = read(text, now)
    if span is not None:
        assert span.words
        assert span.text
        assert span.start or span.end
        assert span.first is None or span.first <= now.date()
        if span.start and span.end:
            assert span.start < span.end
        for moment in filter(None, (span.start, span.end)):
            assert moment.tzinfo is UTC


@given(st.dates(date(2000, 1, 1), date(2090, 1, 1)))
def test_a_day_that_was_is_found_by_its_date_and_by_its_name(day: date) -> None:
    now = datetime(day.year, day.month, day.day, 12, tzinfo=UTC) + timedelta(days=2)
    for text in (f"on {day:%d} {day:%B}", f"on {day:%A}", f"{day}", "2 days ago"):
        span = read(text, now)
        assert span is not None
        assert (span.first, span.last) == (day, day), text


# What a search makes of it

CODE = make_chunk("def last_week(): 'retry with backoff'", name="last_week")
DOCUMENT = make_chunk(
    "We retry with backoff.", name="Retries", path="", id="doc", kind=Kind.KNOWLEDGE,
    metadata={"source": "document"}, created_at=NOW - timedelta(days=300),
)  # fmt: skip
LAST_WEEK, LONG_AGO = (
    make_exchange(
        "Shall we retry with backoff?", f"Retry {answer}.", session=name,
        time=NOW - timedelta(days=days),
    )
    for name, days, answer in (("recent", 8, "three times"), ("old", 60, "until noon, then stop"))
)  # fmt: skip


@pytest.fixture
def memory(places: Places) -> Iterator[Memory]:
    with Memory(places, now=lambda: NOW, embedder=WordProvider()) as memory:
        memory.admin.create()
        memory.admin.store.chunks.put_chunks([CODE, DOCUMENT, *LAST_WEEK, *LONG_AGO])
        embed_missing(memory.admin.store, WordProvider())
        yield memory


def names(answer: SearchResults) -> set[str]:
    return {r.chunk.session.id if r.chunk.session else r.chunk.name for r in answer.results}


def notes(answer: SearchResults) -> list[str]:
    return [note.text for note in answer.notes if not note.warning and "keyword" not in note.text]


def test_a_question_with_a_time_narrows_sessions_and_nothing_else(memory: Memory) -> None:
    answer = memory.search("retry with backoff last week", min_score=0.0)
    assert names(answer) == {"last_week", "Retries", "recent"}
    assert notes(answer) == [
        '"last week": of sessions and conversations only those of 2026-11-09 to 2026-11-15'
    ]


def test_a_time_of_which_nothing_fits_hides_nothing_and_says_so(memory: Memory) -> None:
    answer = memory.search("retry with backoff yesterday", min_score=0.0)
    assert names(answer) == {"last_week", "Retries", "recent", "old"}
    assert notes(answer) == [
        '"yesterday": no session or conversation of 2026-11-18 fits, so those of other times are '
        "shown"
    ]


def test_talk_of_that_time_about_something_else_does_not_fit(memory: Memory) -> None:
    other = make_exchange("Which bird?", "A heron.", session="other", time=NOW - timedelta(days=1))
    memory.admin.store.chunks.put_chunks(other)
    answer = memory.search("retry with backoff yesterday", min_score=0.0)
    assert {"recent", "old"} <= names(answer)
    assert notes(answer)[0].startswith('"yesterday": no session or conversation of 2026-11-18 fits')


def test_a_filter_for_dates_is_the_time_of_a_question(memory: Memory) -> None:
    for text, criteria in (
        ("retry with backoff last week since:2026-09", Criteria()),
        ("retry with backoff last week", Criteria(since=NOW - timedelta(days=80))),
    ):
        answer = memory.search(text, criteria=criteria, min_score=0.0)
        assert {"recent", "old"} <= names(answer)
        assert notes(answer) == []


def test_where_nothing_was_said_a_time_is_words(memory: Memory) -> None:
    memory.forget([chunk.id for chunk in (*LAST_WEEK, *LONG_AGO)])
    timed = memory.search("the last week function", min_score=0.0)
    assert timed.results[0].chunk == CODE
    assert notes(timed) == []
    assert not timed.filtered


def test_the_first_results_of_a_time_do_not_depend_on_the_limit(memory: Memory) -> None:
    many = memory.search("retry with backoff last week", min_score=0.0).results
    few = memory.search("retry with backoff last week", limit=1, min_score=0.0).results
    assert [result.chunk_id for result in few] == [many[0].chunk_id]
