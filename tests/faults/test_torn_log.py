"""SQLite's log of a process that was killed, torn or flipped: a moment of the past, or an error."""

from __future__ import annotations

import io
import json
import logging
import shutil
from collections import Counter
from pathlib import Path

import pytest

from aurora import Memory
from tests.faults.children import Children
from tests.faults.conftest import some
from tests.faults.damage import PAGE, SECTOR, Damage, Vandal
from tests.faults.questions import ask
from tests.faults.world import World, make_world

logger = logging.getLogger(__name__)

LOG = "memory.db-wal"
STEPS = ("Measure twice", "Cut once", "Sand at last")
_HEADER = 32 + 24  # bytes: of the log, and of its first frame
Texts = dict[str, object]


def make_killed(folder: Path) -> tuple[World, list[Texts]]:
    """A memory as a process leaves it that is killed, and what it was after each of its steps."""
    world = make_world(folder)
    shutil.rmtree(world.folder / "whole")
    with world.memory() as memory:
        moments = [texts(export(memory))]
        for step in STEPS:
            memory.learn(step)
            moments.append(texts(export(memory)))
        world.keep()
    return world, moments


def export(memory: Memory) -> bytes:
    stream = io.BytesIO()
    memory.export(stream)
    return stream.getvalue()


def texts(exported: bytes) -> Texts:
    """Vectors are made afterwards, in a transaction of their own."""
    lines = [json.loads(line) for line in exported.splitlines()]
    chunks = (line for line in lines if line.get("type") == "chunk")
    return {chunk["id"]: chunk | {"vector": None} for chunk in chunks}


def read_damaged(world: World, damage: Damage | None) -> Texts | str:
    """What is remembered, or the error."""
    world.restore()
    if damage is not None:
        damage.inflict(world.memory_folder / LOG)
    reply = ask(world, "export")
    if reply.error:
        return reply.error
    assert isinstance(reply.answer, bytes), reply.raw
    assert ask(world, "check").answer == []
    return texts(reply.answer)


@pytest.fixture(scope="module")
def killed(
    children: Children, tmp_path_factory: pytest.TempPathFactory
) -> tuple[World, list[Texts]]:
    return children.run(make_killed, tmp_path_factory.mktemp("killed"))


def test_a_whole_log_is_read_to_its_end(
    children: Children, killed: tuple[World, list[Texts]]
) -> None:
    world, moments = killed
    assert children.run(read_damaged, world, None) == moments[-1]


def test_a_damaged_log_gives_the_memory_of_a_moment_and_nothing_else(
    children: Children, killed: tuple[World, list[Texts]]
) -> None:
    """SQLite takes damage for the end of the log: what came after it is gone without a word."""
    world, moments = killed
    data = (world.folder / "whole" / LOG).read_bytes()
    vandal, seen = Vandal(data, 7), Counter[int | str]()
    damages = [
        *vandal.cuts(some(1, 30)),
        *vandal.overwritten(some(1, 20), SECTOR),
        *vandal.overwritten(some(1, 20), PAGE),
        *vandal.swaps(some(1, 20)),
        *vandal.flips(some(4, 100)),
        *map(vandal.flip_at, range(0, _HEADER, some(20, 1))),
    ]
    for damage in damages:
        found = children.run(read_damaged, world, damage)
        assert isinstance(found, str) or found in moments, damage
        seen["error" if isinstance(found, str) else moments.index(found)] += 1
    logger.info("moments that were found: %s", seen)
    assert len(seen) > 1  # or nothing was damaged
