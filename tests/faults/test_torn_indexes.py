"""Index files that are torn, flipped or somebody else's: the same answers, or none at all."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from aurora.signals.index_file import FORMAT
from tests.builders import write_tree
from tests.faults.children import Children
from tests.faults.conftest import THOROUGH, some
from tests.faults.damage import PAGE, SECTOR, Damage, Vandal
from tests.faults.questions import Fate, ruin, summed_up
from tests.faults.world import World, make_world
from tests.sources.repository import git

logger = logging.getLogger(__name__)

SEARCHES = ("hybrid", "keyword", "semantic")
_HEADER = 8192  # an index has a page of its own for it
_VERSION = 8  # where the number of the format stands, behind the magic


def damages(data: bytes, seed: int, header: int) -> Iterator[Damage]:
    vandal = Vandal(data, seed)
    yield from vandal.cuts(some(1, 12))
    for size in (SECTOR, PAGE):
        yield from vandal.overwritten(some(1, 12), size)
    yield from vandal.swaps(some(1, 12))
    yield from vandal.flips(some(3, 60))
    yield from vandal.flips(2, stop=header)


@pytest.mark.parametrize("name", ["bm25.idx", "vectors.idx"])
def test_a_damaged_index_is_made_again_and_gives_the_same_answers(
    children: Children, world: World, name: str
) -> None:
    file = f"indexes/{name}"
    data = (world.folder / "whole" / file).read_bytes()
    header = data.rindex(b"}", 0, _HEADER) + 1
    questions = (*SEARCHES, "index") if THOROUGH else ("hybrid",)
    cases = ruin(children, world, file, damages(data, 1, header), questions)
    every = map(Vandal(data).flip_at, range(0, header, some(header // 2, 1)))
    cases += ruin(children, world, file, every, ("hybrid",))
    logger.info("%s: %s", name, summed_up(cases))
    assert not [str(case) for case in cases if case.fate is not Fate.SAME]
    assert any(case.reply.warnings for case in cases)  # or nothing was damaged


def test_a_damaged_book_of_histories_tells_nothing_untrue(
    children: Children, tmp_path: Path
) -> None:
    """Files have changed since, so that the next run goes by what the book says of them."""
    world = children.run(make_world, tmp_path)
    source = world.project / "src" / "atlas"
    for path in sorted(source.rglob("*.py"))[::4]:
        path.write_text(f"{path.read_text(encoding='utf-8')}\nEXTRA = 1\n", encoding="utf-8")
    git(world.project, "commit", "--quiet", "--all", "--message", "more")
    [book] = (world.cache / "history").glob("history-*.book")
    wanted = islice(damages(book.read_bytes(), 2, header=26), 0, None, some(3, 1))
    cases = ruin(children, world, f"../../home/cache/history/{book.name}", wanted, ("index",))
    logger.info("book: %s", summed_up(cases))
    assert not [str(case) for case in cases if case.fate is not Fate.SAME]


def test_files_of_another_memory_are_of_no_use(
    children: Children, world: World, tmp_path: Path
) -> None:
    """The same names, the same chunks but one, and indexes that are whole."""
    other = World(tmp_path)
    shutil.copytree(world.project, other.project, ignore=shutil.ignore_patterns(".aurora"))
    write_tree(other.project, {"src/atlas/cli.py": "def main():\n    return 'login session'\n"})
    children.run(index_and_search, other)
    for name in ("bm25.idx", "vectors.idx"):
        foreign = (other.memory_folder / "indexes" / name).read_bytes()
        cases = ruin(children, world, f"indexes/{name}", [replaced_by(foreign)], SEARCHES)
        assert {case.fate for case in cases} == {Fate.SAME}


def replaced_by(data: bytes) -> Damage:
    return Damage("another file", 0, ((0, data),), cut=len(data))


def index_and_search(world: World) -> None:
    with world.memory() as memory:
        memory.index(world.project)
        memory.search("login")


@pytest.mark.parametrize("version", [0, FORMAT + 1], ids=["older", "newer"])
@pytest.mark.parametrize("name", ["bm25.idx", "vectors.idx"])
def test_an_index_of_another_format_is_made_again(
    children: Children, world: World, name: str, version: int
) -> None:
    number = Damage("version", _VERSION, ((_VERSION, version.to_bytes(4, "little")),))
    cases = ruin(children, world, f"indexes/{name}", [number], SEARCHES)
    assert {case.fate for case in cases} == {Fate.SAME}


def test_an_index_in_the_place_of_the_other_is_made_again(children: Children, world: World) -> None:
    folder = world.folder / "whole" / "indexes"
    for name, other in (("bm25.idx", "vectors.idx"), ("vectors.idx", "bm25.idx")):
        data = (folder / other).read_bytes()
        cases = ruin(children, world, f"indexes/{name}", [replaced_by(data)], SEARCHES)
        assert {case.fate for case in cases} == {Fate.SAME}
