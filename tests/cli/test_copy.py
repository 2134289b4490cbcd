"""`aur mem copy`, as a person uses it, and killed in the middle of its work."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest

from aurora.packing import pack_vector
from aurora.stores.base import Embedder, FileState, Reasoning, Record, Store
from aurora.stores.postgres.store import PostgresStore
from aurora.stores.sqlite.store import SQLiteStore
from aurora.types import Kind
from tests.builders import NOW, make_chunk
from tests.cli.conftest import Shell
from tests.cli.test_bad_input import error_and_hint
from tests.indexing.exports import everything
from tests.postgres.processes import wait_until

pytestmark = pytest.mark.one_store("each test names the stores it is about")

MODEL = Embedder("tiny", 3, "abc")
COUNT = 3000


def database(shell: Shell) -> Path:
    return shell.cwd / ".aurora" / "memory.db"


def held_in_file(path: Path) -> tuple[object, ...]:
    with closing(SQLiteStore(path)) as store:
        return everything(store)


def held_on_server(url: str) -> tuple[object, ...]:
    with closing(PostgresStore.open(url)) as store:
        return everything(store)


def fill(store: Store) -> None:
    """More than a copy takes in before it can be killed."""
    store.maintenance.put_records(
        (
            Record(
                make_chunk(
                    f"text {n} 用户\0", f"f{n % 50}.py", f"g{n}", metadata={"n": n},
                    kind=Kind.REASONING if n % 7 == 0 else Kind.FUNCTION,
                ),
                Reasoning("pattern", 0.2, n, NOW) if n % 7 == 0 else None,
                (NOW, NOW, NOW + timedelta(seconds=n)) if n % 3 == 0 else (),
                vector=pack_vector([1.0, n, 0.5]),
            )
            for n in range(COUNT)
        ),
        embedder=MODEL,
    )  # fmt: skip
    store.chunks.add_files(FileState(f"f{n}.py", n, n, "4:x") for n in range(50))
    store.chunks.put_indexed_at(NOW)


def test_to_a_server_and_back(indexed: Shell, memory_url: str) -> None:
    indexed.ok("mem", "learn", "guess the upload", "--score", "0.2")
    indexed.ok("mem", "get", "auth_manager.py:authenticate_user")
    before = indexed.ok("mem", "search", "login")
    done = indexed.run("mem", "copy", "--to", memory_url)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("Copied 8 chunks (8 new), 4 files to postgresql://postgres@")
    assert [line.split() for line in lines[1:]] == [
        ["chunks", "8", "sent,", "8", "there", "now"],
        ["accesses", "1", "sent,", "1", "there", "now"],
        ["reasoning", "1", "sent,", "1", "there", "now"],
        ["vectors", "8", "sent,", "8", "there", "now"],
    ]
    assert held_on_server(memory_url) == held_in_file(database(indexed))
    indexed.ok("mem", "copy", "--from", memory_url, "--to", "back.db")
    assert held_in_file(indexed.cwd / "back.db") == held_in_file(database(indexed))
    indexed.environ["AURORA_STORE_URL"] = memory_url
    assert "auth_manager.py" in before
    assert "auth_manager.py" in indexed.ok("mem", "search", "login")
    assert "(0 new)" in indexed.ok("mem", "copy", "--from", "back.db")


def test_into_another_schema(indexed: Shell, postgres_url: str) -> None:
    indexed.ok("mem", "copy", "--to", f"{postgres_url}#api")
    with closing(PostgresStore.open(postgres_url, "api")) as store:
        assert everything(store) == held_in_file(database(indexed))
    indexed.ok("mem", "copy", "--from", f"{postgres_url}#api", "--to", f"{postgres_url}#web")
    with closing(PostgresStore.open(postgres_url, "web")) as store:
        assert everything(store) == held_in_file(database(indexed))


def test_a_target_with_something_in_it_is_merged_and_that_is_told(
    indexed: Shell, memory_url: str
) -> None:
    with closing(PostgresStore.open(memory_url)) as store:
        store.chunks.put_chunks([make_chunk(name="own")])
    done = indexed.run("mem", "copy", "--to", memory_url)
    assert done.returncode == 0
    assert "the two memories are merged" in done.stderr
    assert "        7 sent,         8 there now" in done.stdout


def test_vectors_of_another_model(indexed: Shell, memory_url: str) -> None:
    with closing(PostgresStore.open(memory_url)) as store:
        record = Record(make_chunk(name="own"), vector=pack_vector([1, 2, 3]))
        store.maintenance.put_records([record], embedder=MODEL)
    error, hint = error_and_hint(indexed.fails("mem", "copy", "--to", memory_url))
    assert "vectors of tiny (3 dimensions)" in error
    assert "--no-vectors" in hint
    assert "8 there now" in indexed.ok("mem", "copy", "--to", memory_url, "--no-vectors")


@pytest.mark.parametrize("schema", ["", "#api"])
def test_a_memory_onto_itself(indexed: Shell, postgres_url: str, schema: str) -> None:
    place = f"{postgres_url}{schema}"
    indexed.ok("mem", "copy", "--to", place)
    spelt = f"{postgres_url}?application_name=x{schema}"
    link = indexed.cwd / "link.db"
    link.symlink_to(database(indexed))
    for words in (
        ("--to", ".aurora/memory.db"), ("--from", "link.db"),
        ("--from", place, "--to", place), ("--from", place, "--to", spelt),
    ):  # fmt: skip
        error, hint = error_and_hint(indexed.fails("mem", "copy", *words))
        assert "the same memory" in error
        assert "--to" in hint
    assert "needs another place" in indexed.fails("mem", "copy")


def test_a_file_that_is_not_there_is_not_made(indexed: Shell, memory_url: str) -> None:
    words = ("mem", "copy", "--from", "typo.db", "--to", memory_url)
    error, _ = error_and_hint(indexed.fails(*words))
    assert "typo.db" in error
    assert not (indexed.cwd / "typo.db").exists()


def test_a_copied_file_that_went_its_own_way_is_another_memory(indexed: Shell) -> None:
    shutil.copy(database(indexed), indexed.cwd / "twin.db")
    indexed.ok("mem", "learn", "something else")
    assert "(0 new)" in indexed.ok("mem", "copy", "--from", "twin.db")
    assert "(1 new)" in indexed.ok("mem", "copy", "--to", "twin.db")


def killed_again_and_again(shell: Shell, words: tuple[str, ...], count: Callable[[], int]) -> int:
    """Kill the command each time it has got a little further; how often that was."""
    kills = 0
    for step in range(1, 5):
        process = shell.start(*words)
        wait_until(
            lambda step=step, process=process: (  # type: ignore[misc]
                count() >= step * COUNT // 6 or process.poll() is not None
            ),
            "some chunks",
        )
        process.kill()
        process.communicate()
        kills += process.returncode == -9
    return kills


@pytest.fixture
def filled(shell: Shell) -> Shell:
    shell.ok("init")
    with closing(SQLiteStore(database(shell))) as store:
        fill(store)
    return shell


@pytest.mark.long
def test_killed_on_its_way_to_a_server(filled: Shell, memory_url: str) -> None:
    words = ("mem", "copy", "--to", memory_url)
    with psycopg.connect(memory_url, autocommit=True) as connection:

        def count() -> int:
            row = connection.execute("SELECT count(*) FROM aurora.chunks").fetchone()
            return int(row[0]) if row else 0

        kills = killed_again_and_again(filled, words, count)
    assert kills >= 2
    filled.ok(*words)
    assert held_on_server(memory_url) == held_in_file(database(filled))


@pytest.fixture
def filled_url(memory_url: str) -> Iterator[str]:
    with closing(PostgresStore.open(memory_url)) as store:
        fill(store)
    return memory_url


@pytest.mark.long
def test_killed_on_its_way_from_a_server(shell: Shell, filled_url: str) -> None:
    shell.ok("init")
    target = database(shell)
    words = ("mem", "copy", "--from", filled_url)

    def count() -> int:
        if not target.exists():
            return 0
        with closing(sqlite3.connect(f"file:{target}?mode=ro", uri=True)) as connection:
            try:
                return int(connection.execute("SELECT count(*) FROM chunks").fetchone()[0])
            except sqlite3.Error:  # not made yet
                return 0

    kills = killed_again_and_again(shell, words, count)
    assert kills >= 2
    shell.ok(*words)
    assert held_in_file(target) == held_on_server(filled_url)
