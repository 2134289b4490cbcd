"""A process that opens the database a second time must not lose the locks of the first.

POSIX drops all of a process's locks on a file when it closes any descriptor of it. SQLite knows and
takes care; anybody else in the process who opens and closes the file undoes that. Another process
then takes itself for the last one, and removes the log that is still in use.
"""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from pathlib import Path

from aurora.stores.sqlite.store import SQLiteStore
from tests.builders import make_chunk
from tests.threads import together

COME_AND_GO = """
import sys
from pathlib import Path
from aurora.stores.sqlite.store import SQLiteStore

SQLiteStore(Path(sys.argv[1])).close()
"""


def test_a_second_thread_does_not_cost_the_first_one_its_locks(tmp_path: Path) -> None:
    database = tmp_path / "memory.db"
    log = tmp_path / "memory.db-wal"
    with closing(SQLiteStore(database)) as store:
        store.chunks.put_chunks([make_chunk()])
        together(1, store.chunks.count_chunks)  # a connection of its own, opened and closed
        before = log.stat().st_ino

        subprocess.run([sys.executable, "-c", COME_AND_GO, str(database)], check=True)

        assert log.exists(), "the other process removed the log that this one writes to"
        assert log.stat().st_ino == before
        store.chunks.put_chunks([make_chunk(path="b.py")])
        assert len(store.chunks.get_chunks(["a.py:f", "b.py:f"])) == 2
