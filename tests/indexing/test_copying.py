"""From one memory into another: nothing lost, nothing twice, whatever keeps them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from aurora.errors import EmbedderMismatchError, StoreUnreachableError, TransferError
from aurora.indexing.import_export import copy_memory
from aurora.packing import pack_vector
from aurora.stores.base import Embedder, FileState, Reasoning, Record, RecordCounts, Store
from aurora.stores.postgres.store import PostgresStore
from aurora.stores.sqlite.store import SQLiteStore
from aurora.types import ChunkHistory, Event, Kind, Note, Progress, Tracking
from tests.builders import NOW, make_chunk
from tests.indexing.exports import FILES, LATER, MODEL, RECORDS, VECTOR, everything, fill
from tests.postgres.server import PostgresServer
from tests.properties import examples

OTHER = Embedder("other", 3, "abc")


@pytest.fixture
def in_file(tmp_path: Path) -> Iterator[Store]:
    store = SQLiteStore(tmp_path / "memory.db")
    yield store
    store.close()


@pytest.fixture
def on_server(memory_url: str) -> Iterator[Store]:
    store = PostgresStore.open(memory_url)
    yield store
    store.close()


@pytest.fixture(params=["to the server", "from the server"])
def pair(request: pytest.FixtureRequest, in_file: Store, on_server: Store) -> tuple[Store, Store]:
    return (in_file, on_server) if request.param == "to the server" else (on_server, in_file)


def test_all_of_it_arrives(pair: tuple[Store, Store]) -> None:
    source, target = pair
    fill(source)
    told: list[Event] = []
    copied = copy_memory(source, target, listen=told.append)
    assert everything(target) == everything(source)
    counts = RecordCounts(chunks=4, accesses=3, reasoning=1, vectors=2)
    assert (copied.files, copied.new, copied.source, copied.target) == (2, 4, counts, counts)
    assert not copied.is_merged
    assert told == [Progress("Copying", 4, 4)]


def test_the_same_again_changes_nothing(pair: tuple[Store, Store]) -> None:
    source, target = pair
    fill(source)
    copy_memory(source, target)
    generation = target.generation()
    assert copy_memory(source, target).new == 0
    assert target.generation() == generation
    assert everything(target) == everything(source)


def test_it_is_the_memory_of_one_moment(pair: tuple[Store, Store]) -> None:
    """What is written to the source while it is copied is not in the copy."""
    source, target = pair
    source.chunks.put_chunks([make_chunk("old", name=f"f{n}") for n in range(1200)])

    def disturb(_: Event) -> None:
        source.chunks.put_chunks([make_chunk("new", name=f"f{n}") for n in range(1300)])

    copy_memory(source, target, listen=disturb)
    assert {chunk.content for chunk in target.chunks.iter_chunks()} == {"old"}
    assert target.maintenance.count_records().chunks == 1200


def test_what_the_target_has_is_kept_and_told(pair: tuple[Store, Store]) -> None:
    source, target = pair
    fill(source)
    target.maintenance.put_records(
        [
            Record(make_chunk("mine", name="own"), accesses=(NOW,)),
            replace(RECORDS[1], accesses=(NOW, LATER, LATER + timedelta(days=1)), vector=None),
        ]
    )
    copied = copy_memory(source, target)
    assert copied.is_merged
    assert (copied.new, copied.target) == (3, RecordCounts(5, 5, 1, 2))
    assert target.chunks.get_accesses(["a.py:a"])["a.py:a"] == (
        NOW, NOW, LATER, LATER + timedelta(days=1)
    )  # fmt: skip


def test_a_file_with_other_content_is_read_again(pair: tuple[Store, Store]) -> None:
    source, target = pair
    fill(source)
    target.chunks.add_files([replace(FILES[0], digest="4:y"), FileState("own.py", 1, 2, "3")])
    copy_memory(source, target)
    states = target.chunks.file_states()
    assert states["a.py"].digest == ""
    assert states["own.py"].digest == "3"
    assert states["b.bin"] == FILES[1]


def test_no_state_of_a_file_is_there_before_its_chunks(pair: tuple[Store, Store]) -> None:
    """Or an index after a copy that was killed would believe that it has all of a file."""
    source, target = pair
    source.chunks.put_chunks([make_chunk(name=f"f{n}") for n in range(1200)])
    source.chunks.add_files(FILES)
    seen = []

    def look(event: Event) -> None:
        assert isinstance(event, Progress)
        seen.append((event.done, dict(target.chunks.file_states())))

    copy_memory(source, target, listen=look)
    assert seen == [(500, {}), (1000, {}), (1200, {})]
    assert target.chunks.file_states() == source.chunks.file_states()


def test_vectors_of_another_model_are_refused_or_left_out(pair: tuple[Store, Store]) -> None:
    source, target = pair
    fill(source)
    target.maintenance.put_records([Record(make_chunk(name="own"), vector=VECTOR)], embedder=OTHER)
    before = everything(target)
    with pytest.raises(EmbedderMismatchError, match="vectors of other") as failure:
        copy_memory(source, target)
    assert "--no-vectors copies" in failure.value.hint
    assert everything(target) == before
    copied = copy_memory(source, target, vectors=False)
    assert (copied.target.chunks, copied.target.vectors) == (5, 1)
    assert target.vectors.embedder() == OTHER


def test_a_page_that_does_not_arrive_is_sent_again(in_file: Store, tmp_path: Path) -> None:
    """The answer to a commit may be lost, too: what arrived already is not written twice."""

    class Shaky(SQLiteStore):
        times = 0

        def __init__(self, path: Path) -> None:
            super().__init__(path)
            put_records = self.maintenance.put_records

            def counted(records: object, **more: object) -> int:
                new = put_records(records, **more)  # type: ignore[arg-type]
                self.times += 1
                return new

            self.maintenance.put_records = counted  # type: ignore[method-assign]

        def transaction(self):  # type: ignore[no-untyped-def]
            if self.times == 2:
                self.times += 1
                raise StoreUnreachableError("gone for a moment")
            return super().transaction()

    in_file.chunks.put_chunks([make_chunk(name=f"f{n}") for n in range(1200)])
    target = Shaky(tmp_path / "shaky.db")
    told: list[Event] = []
    copied = copy_memory(in_file, target, listen=told.append)
    assert (copied.new, copied.target.chunks) == (1200, 1200)
    assert [event for event in told if isinstance(event, Note)] == [
        Note("gone for a moment. Going on in 1 s...", warning=True)
    ]
    target.close()


@pytest.mark.long
def test_a_server_that_crashes_midway_is_waited_for(
    in_file: Store, own_postgres: PostgresServer
) -> None:
    in_file.maintenance.put_records(
        [Record(make_chunk(name=f"f{n}"), accesses=(NOW, NOW)) for n in range(2500)]
    )
    target = PostgresStore.create(own_postgres.url())
    crashed: list[int] = []

    def crash(event: Event) -> None:
        if isinstance(event, Progress) and event.done == 1000:
            crashed.append(event.done)
            own_postgres.kill()
            own_postgres.start()

    copied = copy_memory(in_file, target, listen=crash)
    assert crashed == [1000]
    assert copied.target == copied.source == RecordCounts(2500, 5000, 0, 0)
    assert list(target.maintenance.iter_records()) == list(in_file.maintenance.iter_records())
    target.close()


def test_a_copy_that_lost_something_says_so(pair: tuple[Store, Store]) -> None:
    source, target = pair
    source.chunks.put_chunks([make_chunk(name=f"f{n}") for n in range(1200)])

    def lose(event: Event) -> None:
        assert isinstance(event, Progress)
        if event.done == 1000:
            target.chunks.delete_chunks(["a.py:f7"])

    with pytest.raises(TransferError, match="1,199 chunks of 1,200"):
        copy_memory(source, target, listen=lose)
    assert copy_memory(source, target).new == 1


texts = st.text(st.characters(codec="utf-8"), max_size=40) | st.sampled_from(
    [
        "\0",
        "a\0b",
        "用户认证",
        "\ufdd0",
        "\ufdd00",
        "'; DROP TABLE chunks; --",
        "\\",
        "%s",
        "\u2028",
    ]
)
moments = st.datetimes(timezones=st.just(UTC))
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
vectors = st.none() | st.lists(st.floats(-1, 1, width=16), min_size=3, max_size=3).map(
    lambda numbers: pack_vector(numbers) if any(numbers) else VECTOR
)


@st.composite
def records(draw: st.DrawFn) -> list[Record]:
    return [
        Record(
            make_chunk(
                draw(texts), draw(texts), draw(texts), id=f"{number}-{draw(texts)}",
                kind=draw(st.sampled_from(Kind)), namespace=draw(texts),
                created_at=draw(st.none() | moments), document_type=draw(texts),
                language=draw(texts),
                metadata=draw(st.dictionaries(texts, json_values, max_size=3)),
            ),
            draw(
                st.none()
                | st.builds(Reasoning, texts, st.floats(0, 1), st.integers(0, 2**40), moments)
            ),
            tuple(sorted(draw(st.lists(moments | st.just(NOW), max_size=4)))),
            draw(
                st.none()
                | st.builds(
                    ChunkHistory, st.sampled_from(Tracking),
                    st.lists(st.integers(-(2**40), 2**40), max_size=3).map(sorted).map(tuple),
                    st.booleans(),
                )
            ),
            draw(vectors),
        )
        for number in range(draw(st.integers(0, 3)))
    ]  # fmt: skip


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    max_examples=examples(40),
    phases=[Phase.generate],
)
@given(given_records=records())
def test_there_and_back_again_is_the_same(
    given_records: list[Record], on_server: Store, fresh_file: Callable[[], Store]
) -> None:
    on_server.chunks.delete_chunks(
        [record.chunk.id for record in on_server.maintenance.iter_records()]
    )
    first, last = fresh_file(), fresh_file()
    first.maintenance.put_records(given_records, embedder=MODEL)
    copy_memory(first, on_server)
    copy_memory(on_server, last)
    assert list(last.maintenance.iter_records()) == list(first.maintenance.iter_records())
    assert last.maintenance.check() == []


@pytest.fixture
def fresh_file(tmp_path: Path) -> Iterator[Callable[[], Store]]:
    opened: list[SQLiteStore] = []

    def make() -> Store:
        opened.append(SQLiteStore(tmp_path / f"{len(opened)}.db"))
        return opened[-1]

    yield make
    for store in opened:
        store.close()
