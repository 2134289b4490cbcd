"""A disk that fails at any write, sync or read: a clear error, and nothing lost or half done."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.faults.children import Children
from tests.faults.conftest import THOROUGH, some
from tests.faults.faulty_disk import (
    FULL,
    IOERR_FSYNC,
    IOERR_READ,
    IOERR_TRUNCATE,
    IOERR_WRITE,
    Fault,
    find_library,
)
from tests.faults.operations import (
    OPERATIONS,
    State,
    disturb,
    make_disturbable,
    repeat,
    state_of,
)
from tests.faults.world import World

pytestmark = pytest.mark.skipif(find_library() is None, reason="SQLite is built into Python here")

logger = logging.getLogger(__name__)

FAULTS = {
    "the disk is full": Fault("write", 0, FULL, "log", lasting=True),
    "the disk is full for a moment": Fault("write", 0, FULL, "log", torn=True),
    "a write to the log fails": Fault("write", 0, IOERR_WRITE, "log"),
    "half of a write arrives in the log": Fault("write", 0, IOERR_WRITE, "log", torn=True),
    "a write to the database fails": Fault("write", 0, IOERR_WRITE, "database", lasting=True),
    "half of a write arrives there": Fault("write", 0, IOERR_WRITE, "database", torn=True),
    "nothing more reaches the disk": Fault("sync", 0, IOERR_FSYNC, lasting=True),
    "a sync fails": Fault("sync", 0, IOERR_FSYNC),
    "the log cannot be read": Fault("read", 0, IOERR_READ, "log"),
    "the database cannot be read": Fault("read", 0, IOERR_READ, "database"),
    "a file cannot be cut": Fault("truncate", 0, IOERR_TRUNCATE),
}  # fmt: skip


def moments(fault: Fault, last: int, wanted: int, shift: int) -> Iterator[Fault]:
    """The fault at calls from the first to the last, evenly; `shift` moves them all."""
    wanted = min(wanted, last)
    step = last / wanted if wanted else 0.0
    for number in range(wanted):
        yield replace(fault, nth=1 + int(number * step + shift * step / len(FAULTS)))


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_fault_at_any_moment_is_told_and_leaves_what_can_be_completed(
    children: Children, tmp_path: Path, name: str
) -> None:
    world = children.run(make_disturbable, tmp_path, name)
    before = children.run(state_of, world, name)
    undisturbed = children.run(disturb, world, name, None)
    after = children.run(state_of, world, name)
    struck = 0
    turn = list(OPERATIONS).index(name)
    for shift, (title, kind) in enumerate(FAULTS.items()):
        if not THOROUGH and (shift + turn) % 2:
            continue  # the next operation meets it
        last = undisturbed.counts.get((kind.call, kind.file), 0)
        for number, fault in enumerate(moments(kind, last, some(1, 8), shift)):
            again = (number + shift) % 2 == 0
            disturbed = children.run(disturb, world, name, fault, again=again)
            struck += disturbed.struck
            if disturbed.error:
                assert str(world.memory_folder) in disturbed.error, title
                assert "\n\nhint: " in disturbed.error, title
            acknowledged = again or not disturbed.error
            check_aftermath(children, world, name, before, after, acknowledged=acknowledged)
    logger.info("%s: %d faults", name, struck)
    assert struck > len(FAULTS) // 4  # or this has tested nothing


def test_a_lesson_that_was_stored_is_not_told_as_one_that_was_not(
    children: Children, tmp_path: Path
) -> None:
    """Who is told so learns it again, and it counts as used twice."""
    world = children.run(make_disturbable, tmp_path, "learn")
    before = children.run(state_of, world, "learn")
    reads = children.run(disturb, world, "learn", None).counts["read", "database"]
    for nth in range(max(1, reads - 5), reads + 1):
        fault = Fault("read", nth, IOERR_READ, "database")
        if children.run(disturb, world, "learn", fault).error:
            assert children.run(state_of, world, "learn").texts == before.texts, nth


def check_aftermath(
    children: Children, world: World, name: str, before: State, after: State, *, acknowledged: bool
) -> None:
    found = children.run(state_of, world, name)
    if acknowledged:
        assert found.texts == after.texts
        assert found.files == after.files
    elif OPERATIONS[name].whole:
        assert found.texts in (before.texts, after.texts)
    else:
        for place in before.texts | after.texts | found.texts:
            assert found.texts.get(place) in (before.texts.get(place), after.texts.get(place))
    if found != after:
        # Of what was stored vectors may be missing: the next index makes them.
        stored = acknowledged or (name == "learn" and found.texts == after.texts)
        children.run(repeat, world, "index" if stored else name)
        assert children.run(state_of, world, name) == after
