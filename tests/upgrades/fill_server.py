"""Take an export into a memory on a server, by the program of its time: run by `make`."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path

from aurora.indexing.import_export import Export, import_memory
from aurora.stores.postgres.store import PostgresStore


def fill(url: str, export: Path, partitions: int) -> None:
    with (
        closing(PostgresStore.create(url, partitions=partitions)) as store,
        export.open("rb") as lines,
    ):
        import_memory(store, Export(lines))


if __name__ == "__main__":
    fill(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
