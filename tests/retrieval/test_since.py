"""Since when: every way to write it, and that anything else is no moment."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora.retrieval.query import parse_since, parse_until

NOW = datetime(2026, 3, 31, 12, 30, 15, tzinfo=UTC)


def at(*numbers: int) -> datetime:
    return datetime(*numbers, tzinfo=UTC)  # type: ignore[arg-type,misc]


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026", at(2026, 1, 1)),
        ("2026-02", at(2026, 2, 1)),
        ("2026-01-31", at(2026, 1, 31)),
        ("20260131", at(2026, 1, 31)),
        ("2026-01-31T10:00", at(2026, 1, 31, 10)),
        ("2026-01-31t10:00:05", at(2026, 1, 31, 10, 0, 5)),
        ("2026-01-31 10:00", at(2026, 1, 31, 10)),
        ("2026-01-31T10:00Z", at(2026, 1, 31, 10)),
        ("2026-01-31T10:00+02:00", at(2026, 1, 31, 8)),
        ("2026-01-31 00:30 -0800", at(2026, 1, 31, 8, 30)),
        (" 2026-01-31\n", at(2026, 1, 31)),
    ],
    ids=[
        "year", "month", "day", "compact", "minute", "second", "space", "utc", "east", "west",
        "padded",
    ],
)  # fmt: skip
def test_dates(text: str, moment: datetime) -> None:
    found = parse_since(text, now=NOW)
    assert found == moment
    assert found.tzinfo is UTC


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("7d", NOW - timedelta(days=7)),
        ("2w", NOW - timedelta(weeks=2)),
        ("12h", NOW - timedelta(hours=12)),
        ("30min", NOW - timedelta(minutes=30)),
        ("0d", NOW),
        ("1m", at(2026, 2, 28, 12, 30, 15)),
        ("1mo", at(2026, 2, 28, 12, 30, 15)),
        ("3m", at(2025, 12, 31, 12, 30, 15)),
        ("25 months", at(2024, 2, 29, 12, 30, 15)),
        ("1y", at(2025, 3, 31, 12, 30, 15)),
        ("3 days", NOW - timedelta(days=3)),
        ("3 DAYS  ago", NOW - timedelta(days=3)),
        ("1 hour ago", NOW - timedelta(hours=1)),
        ("today", at(2026, 3, 31)),
        ("Yesterday", at(2026, 3, 30)),
        ("last week", NOW - timedelta(days=7)),
        ("last month", at(2026, 2, 28, 12, 30, 15)),
        ("last year", at(2025, 3, 31, 12, 30, 15)),
    ],
)
def test_ages(text: str, moment: datetime) -> None:
    assert parse_since(text, now=NOW) == moment


def test_a_year_before_the_day_that_only_leap_years_have() -> None:
    assert parse_since("1y", now=at(2024, 2, 29)) == at(2023, 2, 28)


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "soon", "d", "7", "7x", "-7d", "7.5d", "days", "ago", "3 ago", "last", "last x",
        "last week ago", "last 3", "7d7d", "2026-13", "2026-02-30", "0000", "0000-01-01",
        "2026-1-1", "2026-01-31x10:00", "2026-01-31T25:00", "2026-01-31T", "2026-01-31T10:00+99:00",
        "2026-01-31Z", "0001-01-01T00:00+05:00", "999999d", "999999w", "9999y", "99999m",
        "1" * 5000 + "d", "٣d", "２０２６", "12:30", "2026/01/31",
    ],
)  # fmt: skip
def test_nonsense_and_what_no_calendar_has_is_nothing(text: str) -> None:
    assert parse_since(text, now=NOW) is None


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2025", at(2026, 1, 1)),
        ("2026-02", at(2026, 3, 1)),
        ("2025-12", at(2026, 1, 1)),
        ("2026-02-28", at(2026, 3, 1)),
        ("20260228", at(2026, 3, 1)),
        ("2026-02-28T10:00", at(2026, 2, 28, 10)),
        ("yesterday", at(2026, 3, 31)),
        ("today", at(2026, 4, 1)),
        ("7d", NOW - timedelta(days=7)),
        ("9999", at(9999, 1, 1)),
        ("soon", None),
    ],
)
def test_until_is_the_end_of_what_is_named(text: str, moment: datetime | None) -> None:
    assert parse_until(text, now=NOW) == moment


def test_today_begins_at_midnight_where_the_asker_is() -> None:
    east = datetime(2026, 3, 31, 1, tzinfo=timezone(timedelta(hours=9)))
    assert parse_since("today", now=east) == at(2026, 3, 30, 15)


def test_hours_are_counted_across_a_change_of_the_clocks() -> None:
    summer = datetime(2026, 3, 29, 12, tzinfo=ZoneInfo("Europe/Berlin"))  # clocks went on at two
    assert parse_since("12h", now=summer) == at(2026, 3, 28, 22)


def test_a_clock_without_a_zone_is_utc() -> None:
    assert parse_since("1h", now=NOW.replace(tzinfo=None)) == NOW - timedelta(hours=1)


@given(st.text(max_size=40), st.datetimes(timezones=st.timezones()))
def test_any_text_is_a_moment_in_utc_or_nothing(text: str, now: datetime) -> None:
    found = parse_since(text, now=now)
    assert found is None or found.tzinfo is UTC
    until = parse_until(text, now=now)
    assert until is None or found is None or until >= found


@given(st.from_regex(r"[0-9]{1,7} ?(min|h|d|w|m|y)", fullmatch=True), st.datetimes())
def test_an_age_is_never_in_the_future(text: str, now: datetime) -> None:
    found = parse_since(text, now=now)
    assert found is None or found <= now.replace(tzinfo=UTC)


@given(st.datetimes(timezones=st.just(UTC)))
def test_a_moment_is_read_as_python_writes_it(moment: datetime) -> None:
    assert parse_since(moment.isoformat(), now=NOW) == moment


@given(st.integers(0, 20_000), st.datetimes(min_value=datetime(1700, 1, 1)))  # noqa: DTZ001
def test_months_are_counted_by_the_calendar(months: int, now: datetime) -> None:
    found = parse_since(f"{months} months", now=now)
    assert found is not None
    assert (now.year * 12 + now.month) - (found.year * 12 + found.month) == months
    tomorrow = found + timedelta(days=1)
    assert found.day == now.day or (found.day < now.day and tomorrow.day == 1)
