"""What a killed process leaves lying around: nothing for ever, and nothing half."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from aurora.errors import NoMemoryError
from aurora.indexing.import_export import Export
from aurora.stores.postgres.store import PostgresStore
from tests.crash.operations import index
from tests.crash.points import Point
from tests.crash.trying import Trial, staged
from tests.sources.repository import git

LAST = [
    Point("create out.jsonl.*.*.tmp"),
    Point("fsync: before"),
    Point("rename out.jsonl.*.*.tmp"),
]


@pytest.fixture
def exporting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trial]:
    with staged("export", "sqlite", tmp_path_factory.mktemp("crash"), None) as trial:
        yield trial


@pytest.fixture
def files(exporting: Trial) -> set[str]:
    """Names in the project before there is any export."""
    exporting.put_back()
    for left in exporting.world.project.glob("out.jsonl*"):
        left.unlink()
    return names(exporting.world.project)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.mark.parametrize("point", LAST)
def test_an_export_is_there_whole_or_not_at_all(
    exporting: Trial, files: set[str], point: Point
) -> None:
    target = exporting.world.project / "out.jsonl"
    assert exporting.kill(at=point).killed
    assert names(exporting.world.project) >= files
    assert not target.exists()
    exporting.kill()
    with target.open("rb") as stream:
        deque(Export(stream), maxlen=0)  # raises where it is not whole


@pytest.mark.parametrize("point", LAST[1:])
def test_the_next_export_clears_away_what_a_killed_one_left(
    exporting: Trial, files: set[str], point: Point
) -> None:
    assert exporting.kill(at=point).killed
    exporting.kill()
    assert names(exporting.world.project) == files | {"out.jsonl"}


def test_who_finds_no_memory_on_a_server_leaves_no_connection(postgres_url: str) -> None:
    before = len(psutil.Process().net_connections("tcp"))
    with pytest.raises(NoMemoryError):
        PostgresStore.open(postgres_url)
    assert len(psutil.Process().net_connections("tcp")) == before


@pytest.fixture
def beginning(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trial]:
    with staged("first index", "sqlite", tmp_path_factory.mktemp("crash"), None) as trial:
        yield trial


@pytest.mark.parametrize("done", ["nothing yet", "half"])
def test_git_does_not_see_a_memory_whose_first_moment_was_its_makers_last(
    beginning: Trial, done: str
) -> None:
    beginning.put_back()
    assert beginning.kill(at=Point(f"write .gitignore.*.*.tmp: {done}")).killed
    with beginning.world.opened() as own:
        index(own)
    assert git(beginning.world.project, "status", "--porcelain", "--", ".aurora") == ""
