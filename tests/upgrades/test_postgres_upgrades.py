"""A memory on a server, of every schema there ever was, becomes one of today and loses nothing."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from aurora import Memory, Places
from aurora.errors import StoreFormatError
from aurora.stores.postgres.address import parse_address
from aurora.stores.postgres.connection import Connections
from aurora.stores.postgres.migrate import current_version
from aurora.stores.postgres.schema import MIGRATIONS
from aurora.stores.postgres.store import PostgresStore
from aurora.types import Lines, ignore_events
from tests.backends import keep_on_server
from tests.upgrades.make import SPLIT
from tests.upgrades.memories import kept, number
from tests.upgrades.project import build
from tests.upgrades.server import ask, catalogue, held, load

if TYPE_CHECKING:
    from tests.postgres.databases import Databases

every_memory = pytest.mark.parametrize("name", kept("postgres"))
# The first step was still edited in its first hour, before any release: other storage of words and
# another index of namespaces, which no later step makes up for. What they hold and answer is alike.
EDITED = ("postgres-1-early.sql.gz", "postgres-1-split-early.sql.gz", "postgres-1-stored.sql.gz")


def test_the_newest_schema_has_a_memory() -> None:
    """`python -m tests.upgrades.make` makes it, best before a further migration is written."""
    assert {number(name) for name in kept("postgres")} == set(range(1, len(MIGRATIONS) + 1))


@pytest.fixture
def old(name: str, postgres_databases: Databases) -> Iterator[str]:
    """The address of a memory as it was kept."""
    with postgres_databases.fresh(loaded(name, postgres_databases)) as url:
        yield url


@pytest.fixture
def migrated(name: str, postgres_databases: Databases) -> Iterator[str]:
    """The same, brought up to date."""
    template = f"migrated_{database(name)}"
    source = loaded(name, postgres_databases)
    with postgres_databases.fresh(
        postgres_databases.prepare(template, migrate, source=source)
    ) as url:
        yield url


def loaded(name: str, databases: Databases) -> str:
    return databases.prepare(f"old_{database(name)}", lambda url: load(name, url))


def database(name: str) -> str:
    return name.partition(".")[0].replace("-", "_")


def migrate(url: str) -> None:
    """Older ones are refused until somebody says so, because others may share them."""
    if current_version(Connections(parse_address(url))).is_older:
        with pytest.raises(StoreFormatError, match="older Aurora"):
            PostgresStore.open(url)
        assert PostgresStore.migrate(url, listen=ignore_events) != []


@every_memory
def test_it_holds_what_it_held(old: str, migrated: str) -> None:
    assert all(held(old).values())
    assert held(migrated) == held(old)
    with closing(PostgresStore.open(migrated)) as store:
        assert store.maintenance.check() == []


@pytest.mark.parametrize(
    "name",
    [one for one in kept("postgres") if one not in EDITED],
)
def test_its_tables_are_those_of_a_new_one(
    migrated: str, postgres_databases: Databases, name: str
) -> None:
    with postgres_databases.memory(SPLIT if "-split" in name else 0) as new:
        assert catalogue(migrated) == catalogue(new)


@pytest.mark.parametrize("name", kept("postgres")[:1])
def test_what_it_holds_is_found_and_it_goes_on(migrated: str, tmp_path: Path) -> None:
    ids = {str(id_) for (id_,) in ask(migrated, "SELECT id FROM chunks")}
    project, home = build(tmp_path), tmp_path / "home"
    keep_on_server(project, home, migrated)
    with Memory(Places(home, project)) as memory:
        for words, best in {
            "authenticate_user": "auth.py:authenticate_user",
            "认证流程": "用户.py:认证流程",
            "rotate every night": "conv-session-keys-2026-03-14-phase9",
            "milestone4": "doc-plan-2382ff8331c0@5",
        }.items():
            found = memory.search(words, mode="keyword").results
            assert [result.chunk_id for result in found[:1]] == [best]
        [failed] = memory.search("guess pid", mode="keyword").results  # not found by older ones
        assert failed.remarks == ("did not work",)

        assert memory.forget(memory.admin.find_to_forget("auth.py")) == 4
        memory.index(project)
        assert ids <= {str(id_) for (id_,) in ask(migrated, "SELECT id FROM chunks")}
        assert memory.export(io.BytesIO()).chunks >= len(ids)
        assert memory.admin.check() == []


@pytest.mark.parametrize("name", ["postgres-2-late.sql.gz"])
def test_its_constants_are_found_by_name_after_the_next_index(
    migrated: str, tmp_path: Path
) -> None:
    """It is the last one without an index of symbols."""
    project, home = build(tmp_path), tmp_path / "home"
    keep_on_server(project, home, migrated)
    lessons = "SELECT pattern_type, success_score, usage_count FROM reasoning ORDER BY 1, 2"
    before = ask(migrated, lessons)
    with Memory(Places(home, project)) as memory:
        assert memory.search("SESSION_MINUTES").results[0].symbol is None
        memory.index(project)
        for written, line in (("SESSION_MINUTES", 5), ("maxAttempts", 6), ("Role.GUEST", 13)):
            first = memory.search(written).results[0]
            assert (first.chunk.path, first.lines) == ("settings.py", Lines(line, line))
        found = memory.search("upload backoff", mode="keyword").results[0]
        assert found.chunk_id == "reasoning-retry-the-upload-with-backoff-09506751"
        assert memory.admin.check() == []
    assert ask(migrated, lessons) == before
