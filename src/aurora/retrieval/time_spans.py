"""Times in questions: `last week`, `in October`, `on 3 November`, `two weeks ago`, `since Monday`.

`find_time_span` reads English phrases and ISO dates. A day, a week and a month are those of the
calendar, in the zone of `now`. Without a year, the last one that has begun is meant. What is no
phrase of time is ignored: `last_week`, `in 2026-11-03.md`, `this may fail`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from typing import TypeAlias

from aurora.quick_classes import NamedTuple

_DAY = timedelta(days=1)
_ONE_WEEK = timedelta(weeks=1)


class TimeSpan(NamedTuple):
    """From `start` until before `end`, in UTC; None is an open end. `words` are the question's."""

    start: datetime | None
    end: datetime | None
    words: str
    first: date | None = None  # the days where the question was asked
    last: date | None = None

    @property
    def text(self) -> str:
        """`2026-11-09 to 2026-11-15`, `since 2026-11-09`, or `until 2026-11-15`."""
        if self.first is None:
            return f"until {self.last}"
        if self.last is None:
            return f"since {self.first}"
        return str(self.first) if self.first == self.last else f"{self.first} to {self.last}"


class _Days(NamedTuple):
    """Days from the first one until before `end`."""

    start: date
    end: date


_Read: TypeAlias = Callable[[re.Match[str], date], "_Days | None"]

_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
)  # fmt: skip
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NUMBERS = {
    word: number
    for number, words in enumerate(
        ("a an one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
         "eleven", "twelve"), start=1,
    )
    for word in words.split()
}  # fmt: skip
_LAST = ("last", "past", "previous")
_VAGUE = {"couple": (1, 3), "few": (2, 6), "several": (2, 8)}  # at least and at most so many
_LONGEST = 2_000  # characters; a longer text is pasted, and its dates are those of a log
# A question without any of these has no time.
_SIGNS = ("day", "week", "month", "year", "night", "morning", "20", *(m[:3] for m in _MONTHS))

# Months and days of the week are times only after one of these.
_HOW = (
    r"(?i:(?P<how>in|on|over|during|since|after|until|till|before|between|from|last|this|past"
    r"|previous)\s+)"
)
# `may`, `dec` and `oct` are other words as well: they need a capital letter.
_MONTH = (
    rf"(?P<month>(?i:{'|'.join(m for m in _MONTHS if m != 'may')})|May|"
    r"(?:Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\b\.?)"
)
_YEAR = r"(?:,?\s+(?P<year>20\d\d))"
_DAY_OF_MONTH = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?"
_WEEKDAY = rf"(?i:(?P<weekday>{'|'.join(_WEEKDAYS)}))"
_COUNT = (
    rf"(?i:(?P<count>\d{{1,3}}|{'|'.join(_NUMBERS)}|(?:a\s+)?(?:couple(?:\s+of)?|few)|several))"
)
_UNIT = r"(?i:(?P<unit>day|week|month|year)s?)"


def find_time_span(text: str, *, now: datetime) -> TimeSpan | None:
    """The time that a question names; None without one, or for one in the future."""
    lowered = text.lower()
    if len(text) > _LONGEST or not any(sign in lowered for sign in _SIGNS):
        return None
    here = now if now.tzinfo else now.replace(tzinfo=UTC)
    try:
        found = _first(text, here.date())
        return _span(*found, text, here) if found else None
    except (ValueError, OverflowError):  # before the first day of the calendar
        return None


def _span(match: re.Match[str], days: _Days, text: str, here: datetime) -> TimeSpan | None:
    opening = (match["how"] or "").lower()
    start: date | None = days.start
    end: date | None = days.end
    if opening in ("since", "after"):
        end = None
    elif opening in ("until", "till", "before"):
        start, end = None, days.start if opening == "before" else days.end
    elif opening in ("between", "from"):
        end = _end_of_range(text[match.end() :], here.date()) or end
    if start is not None and start > here.date():
        return None
    words, last = " ".join(match[0].split()), end - _DAY if end else None
    return TimeSpan(_midnight(start, here), _midnight(end, here), words, start, last)


def _midnight(day: date | None, here: datetime) -> datetime | None:
    return datetime.combine(day, time(), here.tzinfo).astimezone(UTC) if day else None


def _end_of_range(rest: str, today: date) -> date | None:
    """The end of `… and 5 November`."""
    second = re.match(r"\s*(?:and|to|until|till|-|–)\s+", rest)
    found = _first(f"in {rest[second.end() :]}", today) if second else None
    return found[1].end if found and found[0].start() == 0 else None


def _first(text: str, today: date) -> tuple[re.Match[str], _Days] | None:
    """The phrase that begins first, and of those the longest."""
    readings = list(_readings(text, today))
    return min(readings, key=lambda each: (each[0].start(), -each[0].end()), default=None)


def _readings(text: str, today: date) -> Iterator[tuple[re.Match[str], _Days]]:
    for pattern, read in _rules():
        for match in pattern.finditer(text):
            try:
                days = read(match, today)
            except ValueError:  # a day that no calendar has
                continue
            if days:
                yield match, days


@cache
def _rules() -> tuple[tuple[re.Pattern[str], _Read], ...]:
    """Compiled for the first question that may need them."""
    rules: dict[str, _Read] = {
        r"(?i:(?:the\s+)?(?P<word>day\s+before\s+yesterday|yesterday|today|last\s+night"
        r"|this\s+(?:morning|afternoon|evening)))": _named_day,
        r"(?i:(?P<which>last|this|past|previous|the)\s+(?P<unit>week|weekend|month|year))": _unit,
        rf"(?i:(?:the\s+)?(?:last|past|previous)\s+){_COUNT}\s+{_UNIT}": _last_units,
        rf"{_COUNT}\s+{_UNIT}\s+(?i:ago)": _units_ago,
        _WEEKDAY: _weekday,
        rf"{_DAY_OF_MONTH}\s+(?:of\s+)?{_MONTH}{_YEAR}?": _day,
        rf"{_MONTH}\s+{_DAY_OF_MONTH}{_YEAR}?": _day,
        rf"(?i:(?:early|late|mid|the\s+(?:end|start|beginning)\s+of)\s+)?{_MONTH}{_YEAR}?": _month,
        r"(?P<year>20\d\d)-(?P<month>\d\d)-(?P<day>\d\d)(?:T[\d:.]+Z?)?(?!\.\w)": _day,
        r"(?P<year>20\d\d)(?:-(?P<month>\d\d))?": _month,
    }
    return tuple(
        (re.compile(rf"(?<![\w/.-]){_HOW}?(?:{pattern})(?![\w/-])"), read)
        for pattern, read in rules.items()
    )


def _named_day(match: re.Match[str], today: date) -> _Days:
    word = " ".join(match["word"].lower().split())
    ago = {"yesterday": 1, "last night": 1, "day before yesterday": 2}.get(word, 0)
    day = today - ago * _DAY
    return _Days(day, today + _DAY if word == "last night" else day + _DAY)


def _unit(match: re.Match[str], today: date) -> _Days | None:
    """`last week` is the one before this one, `past week` the last seven days."""
    which, unit = match["which"].lower(), match["unit"].lower()
    if unit == "weekend":
        saturday = _monday(today) + 5 * _DAY
        is_over = which in _LAST or today < saturday
        return _Days(start := saturday - (_ONE_WEEK if is_over else 0 * _DAY), start + 2 * _DAY)
    if which == "the":
        return None
    if which == "past":
        return _Days(_back(today, 1, unit), today + _DAY)
    this = _calendar(today, unit)
    return this if which == "this" else _calendar(this.start - _DAY, unit)


def _last_units(match: re.Match[str], today: date) -> _Days:
    most = _count(match["count"])[1]
    return _Days(_back(today, most, match["unit"].lower()), today + _DAY)


def _units_ago(match: re.Match[str], today: date) -> _Days:
    """A week ago is loosely meant: the three days before and after count, too."""
    (least, most), unit = _count(match["count"]), match["unit"].lower()
    if least < most:
        return _Days(_back(today, most, unit), _back(today, least, unit) + _DAY)
    day = _back(today, most, unit)
    if unit == "week":
        return _Days(day - 3 * _DAY, day + 4 * _DAY)
    return _calendar(day, unit)


def _weekday(match: re.Match[str], today: date) -> _Days | None:
    """The last one. `last Monday`, said on a Monday, is a week ago."""
    if not match["how"]:
        return None
    back = (today.weekday() - _WEEKDAYS.index(match["weekday"].lower())) % 7
    if back == 0 and match["how"].lower() in _LAST:
        back = 7
    day = today - back * _DAY
    return _Days(day, day + _DAY)


def _day(match: re.Match[str], today: date) -> _Days:
    month, number, year = _month_number(match["month"]), int(match["day"]), match["year"]
    day = date(int(year), month, number) if year else _last_such_day(today, month, number)
    return _Days(day, day + _DAY)


def _last_such_day(today: date, month: int, number: int) -> date:
    """The last one that has begun; February 29 is not in every year."""
    for year in range(today.year, today.year - 9, -1):
        try:
            day = date(year, month, number)
        except ValueError:
            continue
        if day <= today:
            return day
    raise ValueError(f"no year has a day {number} of month {month}")


def _month(match: re.Match[str], today: date) -> _Days | None:
    """A month with its year, or after a word such as `in`; or a year after such a word."""
    how, name, year = (match["how"] or "").lower(), match["month"], match["year"]
    if not how and not (name and year and not name.isdecimal()):
        return None
    if not name:
        return _calendar(date(int(year), 1, 1), "year")
    month = _month_number(name)
    if year:
        return _calendar(date(int(year), month, 1), "month")
    first = date(today.year, month, 1)
    is_before = first > today or (month == today.month and how in _LAST)
    return _calendar(first.replace(year=first.year - is_before), "month")


def _month_number(name: str) -> int:
    if name.isdecimal():
        return int(name)
    return next(n for n, m in enumerate(_MONTHS, start=1) if m.startswith(name[:3].lower()))


def _count(words: str) -> tuple[int, int]:
    """At least and at most so many."""
    last = words.lower().replace(" of", "").split()[-1]
    exact = int(last) if last.isdecimal() else _NUMBERS.get(last, 0)
    return _VAGUE.get(last, (exact, exact))


def _calendar(day: date, unit: str) -> _Days:
    """The day, week, month or year of the calendar with this day."""
    match unit:
        case "day":
            return _Days(day, day + _DAY)
        case "week":
            return _Days(monday := _monday(day), monday + _ONE_WEEK)
        case "month":
            first = day.replace(day=1)
            return _Days(first, (first + 31 * _DAY).replace(day=1))
    return _Days(date(day.year, 1, 1), date(day.year + 1, 1, 1))


def _monday(day: date) -> date:
    return day - day.weekday() * _DAY


def _back(day: date, count: int, unit: str) -> date:
    """So many days, weeks, months or years before a day. Months have their last day at most."""
    if unit in ("day", "week"):
        return day - count * (_DAY if unit == "day" else _ONE_WEEK)
    months = day.year * 12 + day.month - 1 - count * (12 if unit == "year" else 1)
    first = date(months // 12, months % 12 + 1, 1)
    return min(first + (day.day - 1) * _DAY, _calendar(first, "month").end - _DAY)
