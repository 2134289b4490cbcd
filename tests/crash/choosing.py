"""Which of all points and moments are tried: few usually, and all where there is time for it."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterator, Sequence

from tests.crash.points import Point

_WISHED = os.environ.get("AURORA_CRASH_KILLS", "")
# Points and moments of each operation; a server is killed less often, for it takes thrice the time.
IN_FILE, ON_SERVER = ((int(_WISHED),) * 2,) * 2 if _WISHED else ((2, 1), (1, 1))
SECONDS = 0 if _WISHED else 300  # that a test may take; 0 is without end


def choose_points(passed: Sequence[str], most: int) -> list[Point]:
    """Every name once, in the middle of the times that it was passed, then an even sample of the
    rest; of too many names an even sample, too."""
    times = Counter(passed)
    once = [Point(name, (count + 1) // 2) for name, count in times.items()]
    rest = [Point(name, n) for name, count in times.items() for n in range(1, count + 1)]
    others = [point for point in rest if point not in set(once)]
    return [*_even(once, most), *_even(others, max(most - len(once), 0))]


def _even(points: Sequence[Point], most: int) -> list[Point]:
    if len(points) <= most:
        return list(points)
    return [points[number * len(points) // most] for number in range(most)]


def choose_moments(seconds: float, count: int) -> Iterator[float]:
    """Spread over the time that an undisturbed run takes."""
    dice = random.Random(count)  # noqa: S311 - the same every time
    for number in range(count):
        yield seconds * (number + dice.random()) / count
