"""An export of any format there ever was is taken in, whatever keeps the memory that takes it."""

from __future__ import annotations

import io
import json
from contextlib import closing
from pathlib import Path

import pytest

from aurora.indexing.export_format import VERSION
from aurora.stores.postgres.store import PostgresStore
from aurora.stores.sqlite.store import SQLiteStore
from tests.indexing.exports import exported, imported
from tests.upgrades.memories import content, kept, number

every_export = pytest.mark.parametrize("name", kept("export"))


def test_the_newest_format_has_an_export() -> None:
    assert {number(name) for name in kept("export")} == set(range(1, VERSION + 1))


@every_export
def test_all_of_it_is_taken_in(tmp_path: Path, memory_url: str, name: str) -> None:
    """Its last line says how much that is; of the rest, only old vectors are written otherwise."""
    old = content(name)
    wanted = read(old)
    for store in (SQLiteStore(tmp_path / "memory.db"), PostgresStore.open(memory_url)):
        with closing(store):
            imported(store, old)
            assert store.maintenance.check() == []
            assert read(exported(store)) == wanted


def read(export: bytes) -> list[dict[str, object]]:
    lines = [json.loads(line) for line in io.BytesIO(export)]
    for line in lines:
        if line.get("vector"):
            line["vector"] = "there is one"
    return lines
