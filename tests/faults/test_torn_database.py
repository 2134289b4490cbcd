"""A database that is torn or flipped: the same answers, others with a warning, or an error that a
person can read.

SQLite has no checksums. Whatever changes the file breaks its seal, and then all of it is looked at.
Damage below the file system breaks none: what the rows' own checksums see of it is tested by value;
what they cannot see (keys, and what leads to a row) is measured, with AURORA_FAULTS=thorough and
`--log-cli-level=info`.
"""

from __future__ import annotations

import logging
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import pytest

from tests.faults.children import Children
from tests.faults.conftest import THOROUGH, some
from tests.faults.damage import PAGE, SECTOR, Damage, Vandal
from tests.faults.questions import READING, WRITING, Case, Fate, ruin, summed_up
from tests.faults.world import World

logger = logging.getLogger(__name__)

FILE = "memory.db"
QUESTIONS = (*READING, *WRITING) if THOROUGH else (*READING, "forget")
_HEADER = 100  # bytes at the beginning of the first page

VALUES = [
    "SELECT content FROM chunks WHERE path LIKE '%session.py'",
    "SELECT metadata FROM chunks WHERE metadata LIKE '%signature%'",
    "SELECT path FROM chunks WHERE path LIKE '%session.py'",
    "SELECT vector FROM embeddings WHERE length(trim(hex(vector), '0')) > 16",
    "SELECT commits FROM histories WHERE length(commits) > 0",
    "SELECT tracking FROM histories",
    "SELECT pattern_type FROM reasoning",
    "SELECT value FROM facts WHERE name = 'embedder.name'",
]
WORDS = [
    ("chunks", b"function"),
    ("chunks_labels", b"function"),
    ("facts", b"embedder.fingerprint"),
]


class Damaged(Protocol):
    """What becomes of all questions after each damage."""

    def __call__(self, damages: Iterable[Damage], **how: bool) -> list[Case]: ...


@pytest.fixture(scope="module")
def whole(world: World) -> Path:
    return world.folder / "whole" / FILE


@pytest.fixture(scope="module")
def data(whole: Path) -> bytes:
    return whole.read_bytes()


@pytest.fixture
def damaged(children: Children, world: World) -> Damaged:
    return lambda damages, **how: ruin(children, world, FILE, damages, QUESTIONS, **how)


@pytest.fixture(scope="module")
def pages(whole: Path) -> dict[str, list[int]]:
    """Where the pages of each table and index begin."""
    found = defaultdict(list)
    with closing(sqlite3.connect(whole)) as connection:
        try:
            rows = connection.execute("SELECT name, pgoffset FROM dbstat").fetchall()
        except sqlite3.OperationalError:
            pytest.skip("this SQLite does not tell what its pages are of")
    for name, offset in rows:
        found[name].append(offset)
    return dict(found)


def place(data: bytes, word: bytes, offsets: Iterable[int]) -> int:
    """Where a word stands in the first of these pages that has it."""
    places = (data.find(word, offset, offset + PAGE) for offset in offsets)
    return next(at for at in places if at >= 0)


def with_fate(cases: Sequence[Case], *fates: Fate) -> list[str]:
    logger.info("%s", summed_up(cases))
    found = [case for case in cases if case.fate in fates]
    for kind, count in Counter(case.damage.kind for case in found).items():
        logger.info("  %s: %d %s", kind, count, " or ".join(fates))
    return [str(case) for case in found]


@pytest.mark.parametrize("select", VALUES)
@pytest.mark.parametrize("unnoticed", [True, False], ids=["below the seal", "above it"])
def test_a_flipped_bit_of_a_value_is_told(
    damaged: Damaged, whole: Path, data: bytes, pages: dict[str, list[int]], select: str,
    *, unnoticed: bool,
) -> None:  # fmt: skip
    with closing(sqlite3.connect(whole)) as connection:
        value = connection.execute(f"{select} LIMIT 1").fetchone()[0]
    word = value.encode() if isinstance(value, str) else value
    at = place(data, word[:64], pages[select.split()[3]])
    flip = Vandal(data).flip_at(at + min(len(word), 64) // 2)
    cases = damaged([flip], unnoticed=unnoticed)
    assert not with_fate(cases, Fate.SILENT, Fate.RAW)
    fates = {case.question: case for case in cases}
    assert fates["export"].fate is Fate.TOLD, fates["export"]  # with all that is left
    assert unnoticed or fates["forget"].fate is Fate.ERROR


@pytest.mark.parametrize(("table", "word"), WORDS)
def test_a_word_that_nobody_wrote_is_told_as_damage(
    damaged: Damaged, data: bytes, pages: dict[str, list[int]], table: str, word: bytes
) -> None:
    at = place(data, word, pages[table])
    cases = damaged([Damage("word", at, ((at, b"T"),))], unnoticed=True)
    assert not with_fate(cases, Fate.RAW)
    assert {Fate.ERROR, Fate.TOLD} & {case.fate for case in cases}


def test_a_damaged_header_never_gives_another_answer(damaged: Damaged, data: bytes) -> None:
    cases = damaged(map(Vandal(data, 3).flip_at, range(0, _HEADER, some(50, 1))))
    assert not with_fate(cases, Fate.SILENT, Fate.RAW)


def test_a_database_cut_short_never_gives_another_answer(damaged: Damaged, data: bytes) -> None:
    cuts = Vandal(data, 4).cuts(some(1, 12))
    # Who meets an emptied file waits a second for who might be making it: `test_sqlite_damage`.
    cases = damaged(cut for cut in cuts if THOROUGH or cut.at > 1)
    assert not with_fate(cases, Fate.SILENT, Fate.RAW)


DAMAGES: dict[str, Callable[[Vandal], Iterator[Damage]]] = {
    "bits": lambda vandal: vandal.flips(some(2, 60)),
    "sectors": lambda vandal: vandal.overwritten(some(1, 15), SECTOR),
    "pages": lambda vandal: vandal.overwritten(some(1, 15), PAGE),
    "swaps": lambda vandal: vandal.swaps(some(2, 25)),
}


@pytest.mark.parametrize("kind", DAMAGES)
def test_damage_anywhere_never_gives_another_answer(
    damaged: Damaged, data: bytes, kind: str
) -> None:
    assert not with_fate(damaged(DAMAGES[kind](Vandal(data, 5))), Fate.SILENT, Fate.RAW)


@pytest.mark.parametrize("kind", DAMAGES)
def test_damage_below_the_seal_ends_in_an_answer_or_in_an_error_for_people(
    damaged: Damaged, data: bytes, kind: str
) -> None:
    """In no signal, no hang, and no exception that is not ours."""
    cases = damaged(DAMAGES[kind](Vandal(data, 5)), unnoticed=True)
    silent = with_fate(cases, Fate.SILENT)
    logger.info("%d of them nobody notices", len(silent))
    assert not with_fate(cases, Fate.RAW)


@pytest.mark.skipif(not THOROUGH, reason="for minutes, with AURORA_FAULTS=thorough")
@pytest.mark.parametrize("indexes", ["kept", "made again"])
def test_a_flipped_bit_of_any_table_never_gives_another_answer(
    children: Children, world: World, data: bytes, pages: dict[str, list[int]], indexes: str
) -> None:
    kept = indexes == "kept"
    questions = QUESTIONS if kept else ("hybrid", "keyword", "semantic")
    damages = flips(data, pages, 6)
    cases = ruin(children, world, FILE, damages, questions, keep_indexes=kept)
    assert not with_fate(cases, Fate.SILENT, Fate.RAW)


def flips(data: bytes, pages: dict[str, list[int]], count: int) -> Iterator[Damage]:
    """Single bits of every table, where its pages hold something."""
    vandal = Vandal(data, 1)
    for table, offsets in pages.items():
        for start in vandal.choose(offsets, count):
            used = [at for at in range(start, start + PAGE) if data[at]]
            yield replace(vandal.flip_at(*vandal.choose(used, 1)), kind=f"bit of {table}")
