"""A row that is not as it was written is never an answer: it is refused, found and taken out."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from aurora.errors import ForeignSchemaError, StoreFormatError
from aurora.packing import pack_vector as pack
from aurora.stores.base import Embedder, FileState, Reasoning
from aurora.stores.sqlite.repair import copy_foreign
from aurora.stores.sqlite.store import SQLiteStore
from aurora.types import ChunkHistory, Lines, Symbol, Tracking
from tests.builders import make_chunk
from tests.cli.conftest import Shell
from tests.rewriting import rewrite
from tests.stores.conformance import FULL
from tests.stores.older import make_older
from tests.stores.search_conformance import symbols_named, with_symbols

TINY = Embedder("tiny", 3, "abc")
NEXT = Embedder("next", 2, "abc")
OTHER = make_chunk("def g(): pass", "b.py", "g")
NOW = datetime(2026, 1, 1, tzinfo=UTC)
BAD_UTF8 = "x'ff'"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteStore]:
    with closing(SQLiteStore(tmp_path / "memory.db")) as store:
        store.chunks.replace_file(FileState(FULL.path, 1, 1, "d"), [FULL])
        store.chunks.put_chunks([OTHER])
        store.vectors.put_embeddings(
            TINY, [(FULL.id, pack([1.0, 0.0, 0.0])), (OTHER.id, pack([0.0, 1.0, 0.0]))]
        )
        store.chunks.put_histories({FULL.id: ChunkHistory(Tracking.TRACKED, (5, 7), False)})
        store.chunks.put_reasoning(FULL.id, Reasoning("fix", 0.9, 3, NOW))
        store.chunks.record_access(FULL.id, NOW)
        yield store


def alter(store: SQLiteStore, statement: str) -> None:
    """As a disk would: nothing but the bytes of one value."""
    with closing(sqlite3.connect(store.path)) as file, file:
        file.execute(statement)


@pytest.mark.parametrize(
    "column",
    ["id", "kind", "name", "qualified_name", "path", "language", "content", "namespace",
     "document_type", "metadata"],
)  # fmt: skip
@pytest.mark.parametrize("value", ["|| 'x'", BAD_UTF8])
def test_a_damaged_chunk_is_refused_and_taken_out(
    store: SQLiteStore, column: str, value: str
) -> None:
    changed = f"CAST({value} AS TEXT)" if value == BAD_UTF8 else f"{column} {value}"
    alter(store, f"UPDATE chunks SET {column} = {changed} WHERE path = '{FULL.path}'")

    with pytest.raises(StoreFormatError) as raised:
        list(store.chunks.iter_chunks())
    assert "is damaged" in raised.value.message
    assert "aur mem repair" in str(raised.value.hint)
    with pytest.raises(StoreFormatError, match="damaged"):
        list(store.maintenance.iter_records())
    assert "damage in 1 row of chunks" in store.maintenance.check()

    assert len(store.maintenance.repair()) == 1
    assert (list(store.chunks.iter_chunks()), store.maintenance.check()) == ([OTHER], [])
    assert store.chunks.file_states() == {}  # so that the file is read again


@pytest.mark.parametrize("column", ["start_line", "end_line", "created_at"])
def test_a_damaged_number_is_refused(store: SQLiteStore, column: str) -> None:
    alter(store, f"UPDATE chunks SET {column} = coalesce({column}, 0) + 1 WHERE path <> 'b.py'")
    told = f"The chunk '{FULL.id}' is damaged: it is not as it was written"
    with pytest.raises(StoreFormatError, match=told):
        store.chunks.get_chunks([FULL.id])


def vectors(store: SQLiteStore) -> object:
    return list(store.vectors.iter_vectors())


def some_vectors(store: SQLiteStore) -> object:
    return store.vectors.get_embeddings([FULL.id])


def histories(store: SQLiteStore) -> object:
    return store.chunks.get_histories([FULL.id])


def uses(store: SQLiteStore) -> object:
    return store.search.get_uses(list(store.chunks.revisions()))


def judged(store: SQLiteStore) -> object:
    return store.chunks.get_reasoning(FULL.id)


def accesses(store: SQLiteStore) -> object:
    return store.chunks.get_accesses([FULL.id])


def chunks(store: SQLiteStore) -> object:
    return list(store.chunks.iter_chunks())


def records(store: SQLiteStore) -> object:
    return list(store.maintenance.iter_records())


@pytest.mark.parametrize(
    ("statement", "readers"),
    [
        ("UPDATE embeddings SET vector = x'000000000000' WHERE chunk = 1", (vectors, some_vectors)),
        ("UPDATE embeddings SET chunk = chunk - 1 WHERE chunk = 2", ()),
        ("UPDATE histories SET commits = x'0600000000000000'", (histories, uses)),
        ("UPDATE histories SET uncommitted = 1", (histories, uses)),
        ("UPDATE histories SET tracking = 'untracked'", (histories, uses)),
        ("UPDATE accesses SET at = at + 1", (accesses, uses, records)),
        ("UPDATE reasoning SET pattern_type = 'fox'", (judged, records)),
        ("UPDATE reasoning SET success_score = 0.1", (judged, records)),
        ("UPDATE reasoning SET usage_count = 4", (judged, records)),
        ("UPDATE reasoning SET created_at = 1", (judged, records)),
    ],
)
def test_what_hangs_on_a_chunk_is_refused_and_taken_out(
    store: SQLiteStore, statement: str, readers: tuple[Callable[[SQLiteStore], object], ...]
) -> None:
    if "chunk - 1" in statement:  # a vector that came to be another chunk's
        alter(store, "DELETE FROM embeddings WHERE chunk = 1")
        readers = (vectors, some_vectors)
    alter(store, statement)

    for read in readers:
        with pytest.raises(StoreFormatError, match="is damaged"):
            read(store)

    assert store.maintenance.repair() == []
    assert store.maintenance.check() == []
    assert list(store.chunks.iter_chunks()) == [FULL, OTHER]
    for read in readers:
        read(store)


@pytest.mark.parametrize(
    ("statement", "read", "what"),
    [
        (
            "UPDATE embeddings SET vector = x'00' WHERE chunk = 1",
            some_vectors,
            "The vector of row 1",
        ),
        ("UPDATE histories SET uncommitted = 1", histories, "The history of row 1"),
        ("UPDATE accesses SET at = at + 1", accesses, "An access of row 1"),
        ("UPDATE reasoning SET usage_count = 4", judged, "The pattern of row 1"),
    ],
    ids=["vector", "history", "access", "pattern"],
)
def test_it_is_said_what_is_damaged(
    store: SQLiteStore, statement: str, read: Callable[[SQLiteStore], object], what: str
) -> None:
    alter(store, statement)
    with pytest.raises(StoreFormatError, match=f"^{what} is damaged"):
        read(store)


def test_a_row_that_nobody_writes_is_damage_though_its_checksum_is_right(
    store: SQLiteStore,
) -> None:
    rewrite(store.path, "chunks", f"kind = 'nonsense' WHERE path = '{FULL.path}'")
    told = f"^The chunk '{FULL.id}' is damaged: 'nonsense' is not a valid Kind"
    with pytest.raises(StoreFormatError, match=told):
        store.chunks.get_chunks([FULL.id])


@pytest.mark.parametrize(
    "change", ["kind = 'poem'", "metadata = '{'", "created_at = 'x'", "created_at = 1e300"]
)
def test_such_a_row_is_found_left_out_and_taken_out(store: SQLiteStore, change: str) -> None:
    rewrite(store.path, "chunks", f"{change} WHERE path = '{FULL.path}'")
    assert "damage in 1 row of chunks. 1 chunk cannot be read" in store.maintenance.damage(
        look=True
    )
    assert list(store.chunks.iter_chunks()) == [OTHER]
    assert [record.chunk for record in store.maintenance.iter_records()] == [OTHER]
    assert store.maintenance.repair() == [FULL.id]
    assert (store.maintenance.check(), list(store.chunks.iter_chunks())) == ([], [OTHER])


@pytest.mark.parametrize("change", ["kind = 'poem'", "metadata = '{'", "metadata = '[]'"])
def test_such_a_row_is_refused_as_a_definition(store: SQLiteStore, change: str) -> None:
    rewrite(store.path, "chunks", f"{change} WHERE path = '{FULL.path}'")
    with pytest.raises(StoreFormatError, match=r"^The chunk of row 1 is damaged"):
        store.search.find_definitions(FULL.name, limit=5)


def test_numbers_that_json_does_not_have_are_no_damage(store: SQLiteStore) -> None:
    strange = replace(OTHER, metadata={"least": float("-inf"), "score": float("nan")})
    store.chunks.put_chunks([strange])
    assert (store.maintenance.check(), store.maintenance.repair()) == ([], [])
    assert len(list(store.chunks.iter_chunks())) == 2


def test_a_place_that_has_lost_its_path_is_damage(store: SQLiteStore) -> None:
    store.close()
    with closing(sqlite3.connect(store.path)) as file, file:
        file.execute("PRAGMA writable_schema = ON")
        file.execute(
            "UPDATE sqlite_schema SET sql = replace(sql, 'path            TEXT    NOT NULL', "
            "'path            TEXT') WHERE name = 'chunks'"
        )
    assert store.search.get_places([1])
    alter(store, "UPDATE chunks SET path = NULL WHERE rowid = 2")
    assert store.search.get_places([1])
    with pytest.raises(StoreFormatError, match=r"^The chunk of row 2 is damaged"):
        store.search.get_places([1, 2])


@pytest.mark.parametrize(
    "change",
    ["path = 'a.pz'", "size = 2", "modified_ns = 2", "digest = 'e'", "left_out = 'binary'",
     "history_stamp = 'x'", "history_read_at = 1.0", "identity = '1-2'"],
)  # fmt: skip
def test_a_damaged_state_counts_as_none(store: SQLiteStore, change: str) -> None:
    """So its file is read again."""
    alter(store, f"UPDATE files SET {change}")
    assert store.chunks.file_states() == {}
    assert store.chunks.file_states([FULL.path]) == {}
    assert store.chunks.get_histories([FULL.id])[FULL.id].read_at is None
    assert "damage in 1 row of files" in store.maintenance.check()
    assert store.maintenance.repair() == []
    assert store.maintenance.check() == []


@pytest.mark.parametrize("change", ["value = value || '1'", "name = name || 'x'"])
@pytest.mark.parametrize(
    "fact", ["identity", "generation", "indexed_at", "embedder.name", "embedder.dimension"]
)
def test_a_damaged_fact_is_refused_and_taken_out(
    store: SQLiteStore, fact: str, change: str
) -> None:
    store.chunks.put_indexed_at(NOW)
    newest = max(store.chunks.revisions().values())
    alter(store, f"UPDATE facts SET {change} WHERE name = '{fact}'")
    readers: dict[str, Callable[[SQLiteStore], object]] = {
        "identity": lambda store: store.identity,
        "generation": SQLiteStore.generation,
        "indexed_at": lambda store: store.chunks.indexed_at(),
        "embedder.name": lambda store: store.vectors.embedder(),
        "embedder.dimension": lambda store: store.vectors.embedder(),
    }
    with closing(SQLiteStore(store.path)) as again:  # it opens, or nobody could repair it
        with pytest.raises(StoreFormatError, match=f"The fact '{fact}x?' is damaged"):
            readers[fact](again)
        before = again.maintenance.check()
        assert before == ["damage in 1 row of facts"]
        assert again.maintenance.repair() == []
        assert again.maintenance.check() == []
        readers[fact](again)
        assert again.generation() > newest
        if fact.startswith("embedder"):
            assert (again.vectors.embedder(), again.vectors.count_vectors()) == (None, 0)


def test_a_generation_that_is_no_number_is_damage(store: SQLiteStore) -> None:
    with store.transaction():
        store.database.set_fact("generation", "many")
    with pytest.raises(StoreFormatError, match=r"memory\.db is damaged: invalid literal .* 'many'"):
        store.generation()


def test_repairing_gives_a_memory_that_lost_a_fact_another_identity(store: SQLiteStore) -> None:
    """Indexes know what they are made of by it, and are made anew."""
    before = store.identity
    alter(store, "UPDATE facts SET value = '7' WHERE name = 'generation'")
    store.maintenance.repair()
    with closing(SQLiteStore(store.path)) as again:
        assert again.identity != before


@pytest.mark.parametrize(("fact", "left"), [("next_embedder.name", []), ("indexed_at", [OTHER.id])])
def test_vectors_of_the_next_model_stay_while_it_is_known_whose_they_are(
    store: SQLiteStore, fact: str, left: list[str]
) -> None:
    store.chunks.put_indexed_at(NOW)
    store.vectors.start_reembedding(NEXT)
    store.vectors.put_embeddings(NEXT, [(OTHER.id, pack([1.0, 0.0]))])
    alter(store, f"UPDATE facts SET value = value || 'x' WHERE name = '{fact}'")
    store.maintenance.repair()
    store.vectors.start_reembedding(NEXT)
    assert store.vectors.find_unembedded(by_next=True) == [
        id_ for id_ in (FULL.id, OTHER.id) if id_ not in left
    ]


def test_moving_a_file_keeps_its_rows_true(store: SQLiteStore) -> None:
    assert store.chunks.move_file(FULL.path, "moved.py") == 1
    assert [chunk.path for chunk in store.chunks.iter_chunks()] == ["moved.py", "b.py"]
    assert store.maintenance.check() == []


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM symbols",
        "INSERT INTO symbols VALUES ('planted', 1)",
        "UPDATE symbols SET folded_name = 'planted'",
        "UPDATE symbols SET chunk = 2",
    ],
)
def test_symbols_that_differ_from_their_chunks_are_damage_and_listed_again(
    store: SQLiteStore, change: str
) -> None:
    limit = Symbol("LIMIT", "constant", Lines(3, 3))
    listed = replace(FULL, metadata={"symbols": [["LIMIT", "constant", 3, 3]]})
    store.chunks.put_chunks([listed])
    alter(store, change)
    assert [problem.partition(" ")[2] for problem in store.maintenance.check()] in (
        ["name in symbols that no chunk has, or that is missing"],
        ["names in symbols that no chunk has, or that is missing"],
    )
    assert store.maintenance.repair() == []
    assert store.maintenance.check() == []
    assert list(store.chunks.iter_chunks()) == [listed, OTHER]
    assert [found.symbol for found in store.search.find_definitions("limit", limit=5)] == [limit]


def test_symbols_of_a_damaged_chunk_are_taken_out_with_it(store: SQLiteStore) -> None:
    store.chunks.put_chunks([replace(FULL, metadata={"symbols": [["LIMIT", "constant", 3, 3]]})])
    alter(store, f"UPDATE chunks SET content = 'x' WHERE path = '{FULL.path}'")
    assert store.maintenance.repair() == [FULL.id]
    assert store.maintenance.check() == []
    assert store.search.find_definitions("limit", limit=5) == []


def test_symbols_of_numbers_that_json_does_not_have_are_no_damage(store: SQLiteStore) -> None:
    strange = {"symbols": [["LIMIT", "constant", 1, 1]], "score": float("nan")}
    store.chunks.put_chunks([replace(OTHER, metadata=strange)])
    assert (store.maintenance.check(), store.maintenance.repair()) == ([], [])


def test_a_text_index_that_lost_its_words_is_made_anew(store: SQLiteStore) -> None:
    alter(store, "INSERT INTO chunks_words(chunks_words) VALUES ('delete-all')")
    assert store.maintenance.check() != []
    assert store.maintenance.repair() == []
    assert store.maintenance.check() == []


@pytest.mark.parametrize("checksum", [0, 1])
def test_no_checksum_is_right_of_a_time_that_is_none(store: SQLiteStore, checksum: int) -> None:
    alter(store, f"UPDATE accesses SET at = 'never', checksum = {checksum}")
    assert store.maintenance.check() == ["damage in 1 row of accesses"]


def test_what_hangs_on_nothing_is_taken_out(store: SQLiteStore) -> None:
    alter(store, f"DELETE FROM chunks WHERE path = '{OTHER.path}'")  # but not what hangs on it
    assert store.maintenance.check() == ["dangling reference in embeddings"]
    assert store.maintenance.repair() == []
    assert store.maintenance.check() == []
    assert (list(store.chunks.iter_chunks()), store.vectors.count_vectors()) == ([FULL], 1)


def test_a_table_that_is_none_of_ours_is_refused_and_left_behind(store: SQLiteStore) -> None:
    with closing(sqlite3.connect(store.path)) as file, file:
        file.execute("CREATE TABLE another (value)")
    with pytest.raises(ForeignSchemaError, match="table another"):
        store.maintenance.check()
    with copy_foreign(store.path) as copy:
        copy.put_in_place()
    with closing(SQLiteStore(store.path)) as again:
        assert (again.maintenance.check(), list(again.chunks.iter_chunks())) == ([], [FULL, OTHER])


def test_a_file_that_is_no_database_any_more_cannot_be_repaired(store: SQLiteStore) -> None:
    store.close()
    with closing(SQLiteStore(store.path)) as open_before:
        store.path.write_bytes(b"x" * 5000)
        with pytest.raises(StoreFormatError) as raised:
            open_before.maintenance.repair()
    assert f"{store.path} is not a usable database: " in raised.value.message


def test_what_was_taken_out_comes_back_from_its_file(filled: Shell) -> None:
    filled.alter(
        "UPDATE chunks SET content = 'def find_me():\n    return 2' WHERE path = 'a.py'", ""
    )

    found = filled.run("mem", "search", "find_me")
    assert (found.returncode, "a.py" in found.stdout) == (0, False)
    assert "memory.db is damaged: damage in 1 row of chunks. 1 chunk cannot be read" in found.stderr
    assert "aur mem repair" in found.stderr
    assert "aur mem repair" in filled.run("doctor").stdout
    assert "Taken out: a.py:find_me" in filled.ok("mem", "repair")
    assert "find_me" not in filled.ok("mem", "search", "find_me")
    filled.ok("mem", "index", ".")
    assert "return 1" in filled.ok("mem", "get", "a.py:find_me")
    assert "a lesson that stays" in filled.ok("mem", "search", "lesson that stays")
    assert "Nothing is damaged" in filled.ok("mem", "repair")


@pytest.mark.parametrize("left", [b"", b"S"])
def test_a_file_that_a_disk_has_emptied_does_not_pass_for_a_new_one(
    tmp_path: Path, left: bytes
) -> None:
    root = tmp_path / "project"
    root.mkdir()
    shell = Shell(root, tmp_path / "home")
    shell.ok("init")
    shell.ok("mem", "learn", "a lesson that somebody would miss")
    shell.ok("mem", "search", "lesson")
    memory = root / ".aurora" / "memory.db"
    memory.write_bytes(left)

    told = shell.fails("mem", "search", "lesson")
    assert "is empty, though indexes were made of it" in told
    assert f"put a backup in its place; or keep what is left (`mv {memory} {memory}.empty`)" in told
    assert memory.read_bytes() == left

    memory.unlink()
    shell.ok("mem", "learn", "another lesson")


# Symbols


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO symbols VALUES ('stray', 999)",  # no such chunk
        "INSERT INTO symbols SELECT 'stray', chunk FROM symbols",  # no such name in the chunk
        "DELETE FROM symbols",
        "UPDATE symbols SET folded_name = 'other'",
    ],
    ids=["stray-chunk", "stray-name", "missing", "changed"],
)
def test_symbols_out_of_step_are_found_and_mended(store: SQLiteStore, statement: str) -> None:
    store.chunks.put_chunks([replace(OTHER, metadata=with_symbols("MAX_RETRIES"))])
    assert store.maintenance.check() == []
    alter(store, statement)

    [problem] = store.maintenance.check()
    assert "in symbols that no chunk has, or that is missing" in problem

    assert store.maintenance.repair() == []  # no chunk is lost
    assert store.maintenance.check() == []
    assert symbols_named(store, "maxRetries") == ["MAX_RETRIES"]
    assert symbols_named(store, "stray") == symbols_named(store, "other") == []


def test_symbols_of_an_older_schema_are_found(tmp_path: Path) -> None:
    chunk = replace(OTHER, metadata=with_symbols("LIMIT"))
    make_older(tmp_path / "older.db", 5, lambda store: store.chunks.put_chunks([chunk]))
    with closing(SQLiteStore(tmp_path / "older.db")) as store:
        assert symbols_named(store, "limit") == ["LIMIT"]
        assert store.maintenance.check() == []
