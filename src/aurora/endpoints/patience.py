"""How long a request may take, how often it is tried, and how long to wait between two tries."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from typing import NamedTuple

_FIRST_WAIT = 0.5  # seconds; twice as long each time
_LONGEST_WAIT = 30.0
_LONGEST_ASKED = 60.0  # what a server may ask us to wait, at most
_SECONDS = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")


class Timing(NamedTuple):
    """Where time and chance come from."""

    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    chance: Callable[[], float] = random.random


class Patience(NamedTuple):
    """What one request gets, with all its tries."""

    attempts: int
    seconds: float
    silence: float  # seconds in which a server must say something


INDEXING = Patience(attempts=5, seconds=300.0, silence=120.0)  # 64 chunks are slow without a GPU
ASKING = Patience(attempts=2, seconds=10.0, silence=6.0)  # somebody waits, and keywords still find


def wait_before_next(attempt: int, headers: Mapping[str, str], chance: float) -> float:
    """Seconds to wait after the attempt of that number: as the server says, else longer each time.

    Half of it is left to chance (0 to 1), so that many who failed together do not return together.
    """
    asked = _retry_after(headers)
    if asked is not None:
        return min(asked, _LONGEST_ASKED)
    return min(_FIRST_WAIT * 2.0 ** (attempt - 1), _LONGEST_WAIT) * (0.5 + 0.5 * chance)


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds, or until a date. The server's own `Date` is now: its clock is not ours."""
    said = headers.get("retry-after", "").strip()
    if _SECONDS.fullmatch(said):
        return float(said)
    try:
        wanted, now = (parsedate_to_datetime(date) for date in (said, headers.get("date", "")))
        return max(0.0, (wanted - now).total_seconds())
    except (ValueError, TypeError):  # no date, or only one of the two knows its zone
        return None
