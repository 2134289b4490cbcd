"""Killed at any point and at any moment, a memory is whole, and what was begun can be completed.

A few kills for each operation; AURORA_CRASH_KILLS=300 makes it 300 moments and as many points, and
`-o log_cli=true --log-cli-level=INFO` tells how often which point was the last.
"""

from __future__ import annotations

import logging
import random
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.crash.choosing import SECONDS, choose_moments, choose_points
from tests.crash.operations import OPERATIONS
from tests.crash.trying import Trial, staged
from tests.postgres.databases import Databases

logger = logging.getLogger(__name__)
pytestmark = [pytest.mark.long, pytest.mark.timeout(SECONDS)]

CASES = [(name, store) for name, operation in OPERATIONS.items() for store in operation.stores]
every_case = pytest.mark.parametrize(
    "trial",
    CASES,
    indirect=True,
    ids=[f"{name.replace(' ', '-')}-{store}" for name, store in CASES],
)


@pytest.fixture(scope="module")
def trial(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Trial]:
    name, store = request.param
    databases: Databases | None = None
    if store == "postgres" or "server" in name:
        databases = request.getfixturevalue("postgres_databases")
    with staged(name, store, tmp_path_factory.mktemp("crash"), databases) as made:
        yield made


@every_case
def test_killed_at_any_point_it_is_whole_and_goes_on(trial: Trial) -> None:
    killed: Counter[str] = Counter()
    for number, point in enumerate(choose_points(trial.points, trial.times[0])):
        trial.put_back()
        outcome = trial.kill(at=point)
        assert outcome.killed, f"{point} was not passed this time"
        killed[point.name] += 1
        logger.debug("killed at %s", point)
        # A search mends what it meets, so others go on without one.
        searched = number % 4 == 0 or "COMMIT" in point.name
        done = trial.require_whole(outcome.acknowledged, by_searching=searched)
        trial.require_end(done, by_searching=number % 4 == 1)
    for name, times in sorted(killed.items()):
        logger.info("%4d of %4d  %s", times, trial.points.count(name), name)


@every_case
def test_killed_at_any_moment_it_is_whole_and_goes_on(trial: Trial) -> None:
    """Some are killed again where the last one was, before anybody completes it."""
    dice = random.Random(20251215)  # noqa: S311 - the same every time
    killed = done = 0
    trial.put_back()
    for number, seconds in enumerate(choose_moments(trial.seconds, trial.times[1])):
        outcome = trial.kill(begin=done, after=seconds)
        killed += outcome.killed
        done = trial.require_whole(done + outcome.acknowledged, by_searching=number % 3 == 0)
        if not outcome.killed or dice.random() < 0.6:
            trial.require_end(done, by_searching=number % 3 == 1)
            trial.put_back()
            done = 0
    trial.require_end(done, by_searching=True)
    logger.info("killed %d times", killed)
    assert killed or trial.times[1] < 20  # few may all come too late
