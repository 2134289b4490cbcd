"""What happens to a memory on a server when the server, the way to it or its disk fails.

Real servers: killed, cut off, lagging, full. Nothing that was acknowledged is lost, what is told is
clear, and what comes back is used again without help.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import TypeVar

import psycopg
import pytest

from aurora.errors import AuroraError, StoreError, StoreUnreachableError
from aurora.packing import pack_vector
from aurora.stores.base import Embedder, Store
from aurora.stores.postgres.address import parse_address
from aurora.stores.postgres.connection import Connections
from aurora.stores.postgres.store import PostgresStore
from aurora.types import Chunk
from tests.builders import NOW, make_chunk
from tests.postgres.proxy import Proxy
from tests.postgres.server import PostgresServer
from tests.postgres.small_disk import small_disk

MODEL = Embedder("tiny", 3, "abc")
T = TypeVar("T")
VECTOR = pack_vector([0.5, -1.0, 0.25])


def batch(number: int) -> list[Chunk]:
    return [make_chunk(f"words of batch{number}", name=f"f{number}_{n}") for n in range(50)]


@contextmanager
def opened(url: str) -> Iterator[PostgresStore]:
    store = PostgresStore.create(url)
    try:
        yield store
    finally:
        store.close()


class Writer(threading.Thread):
    """Puts one batch after the other until it is told to stop, and again what was not kept."""

    def __init__(self, store: Store) -> None:
        super().__init__()
        self._store, self._ended = store, threading.Event()
        self.kept: list[int] = []
        self.told: list[AuroraError] = []
        self.others: list[BaseException] = []

    def run(self) -> None:
        number = 0
        while not self._ended.is_set() or not self.kept or self.kept[-1] < number - 1:
            try:
                self._store.chunks.put_chunks(batch(number))
            except AuroraError as exc:
                self.told.append(exc)
                time.sleep(0.05)
            except BaseException as exc:
                self.others.append(exc)
                break
            else:
                self.kept.append(number)
                number += 1

    def finish(self) -> None:
        self._ended.set()
        self.join(timeout=60)
        assert not self.is_alive()


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def require_kept(store: Store, writer: Writer) -> None:
    """Every batch that was acknowledged is there, and no half one."""
    assert writer.others == []
    names = [chunk.name for chunk in store.chunks.iter_chunks()]
    assert len(names) == len(set(names))
    batches = {int(name[1:].partition("_")[0]) for name in names}
    assert batches >= set(writer.kept)
    assert len(names) == 50 * len(batches)
    assert store.maintenance.check() == []


@pytest.mark.long
def test_a_server_killed_while_it_is_written_loses_nothing_that_was_acknowledged(
    own_postgres: PostgresServer,
) -> None:
    with opened(own_postgres.url()) as store:
        writer = Writer(store)
        writer.start()
        for times in range(1, 4):
            wait_until(lambda times=times: len(writer.kept) > 3 * times)  # type: ignore[misc]
            own_postgres.kill()
            own_postgres.start()
        wait_until(lambda: len(writer.kept) > 15)
        writer.finish()
        require_kept(store, writer)
        assert all(isinstance(exc, StoreUnreachableError) for exc in writer.told)
        assert store.search.find_text("batch0", limit=100)


@pytest.mark.long
def test_a_search_waits_for_a_server_that_comes_back(own_postgres: PostgresServer) -> None:
    """Killed between two questions and during one: the answer is the same, a little later."""
    with opened(own_postgres.url()) as store:
        store.chunks.put_chunks(batch(1))
        expected = store.search.find_text("batch1", limit=10)
        own_postgres.kill()
        comeback = threading.Timer(0.5, own_postgres.start)
        comeback.start()
        assert store.search.find_text("batch1", limit=10) == expected
        comeback.join()

        kill = threading.Timer(0.2, own_postgres.kill)
        kill.start()
        asked = threading.Thread(target=lambda: store.database.rows("SELECT pg_sleep(1)"))
        asked.start()
        kill.join()
        own_postgres.start()
        asked.join(timeout=30)
        assert not asked.is_alive()
        assert store.search.find_text("batch1", limit=10) == expected


def test_a_server_that_stays_away_is_told_with_its_address_and_without_its_password(
    own_postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aurora.stores.postgres.connection.PAUSES", (0.01, 0.02))
    monkeypatch.setattr("aurora.stores.postgres.connection.CONNECT_SECONDS", 1)
    with opened(own_postgres.url()) as store:
        store.chunks.put_chunks(batch(1))
        own_postgres.kill()
        for ask in (
            lambda: store.search.find_text("batch1", limit=1),
            lambda: store.chunks.put_chunks(batch(2)),
            lambda: PostgresStore.open(own_postgres.url()),
        ):
            with pytest.raises(StoreUnreachableError) as caught:
                ask()
            assert f"127.0.0.1:{own_postgres.port}" in caught.value.message
            assert own_postgres.password not in str(caught.value)
            assert "check that the server runs" in caught.value.hint
        own_postgres.start()
        assert once_back(lambda: store.search.find_text("batch1", limit=1))
        assert store.search.find_text("batch2", limit=1) == []


def once_back(ask: Callable[[], T], seconds: float = 60.0) -> T:
    """What `ask` answers when the pool, which waits longer after each failure, tries again."""
    end = time.monotonic() + seconds
    while True:
        try:
            return ask()
        except StoreUnreachableError:
            if time.monotonic() > end:
                raise


def test_a_connection_that_is_cut_is_made_again(own_postgres: PostgresServer) -> None:
    with Proxy(own_postgres.port) as proxy, opened(own_postgres.url(port=proxy.port)) as store:
        store.chunks.put_chunks(batch(1))
        proxy.cut()
        threading.Timer(0.3, proxy.mend).start()
        assert len(store.search.find_text("batch1", limit=100)) == 50
        proxy.cut()
        proxy.mend()
        with pytest.raises(
            StoreUnreachableError
        ):  # a change is not sent twice behind its writer's back
            store.chunks.put_chunks(batch(2))
        assert store.chunks.put_chunks(batch(2)) == 50
        assert store.maintenance.check() == []


def test_a_cut_in_the_middle_of_a_transaction_keeps_nothing_of_it(
    own_postgres: PostgresServer,
) -> None:
    with Proxy(own_postgres.port) as proxy, opened(own_postgres.url(port=proxy.port)) as store:
        store.chunks.put_chunks(batch(1))
        before = store.generation()

        def write_and_lose() -> None:
            with store.transaction():
                store.chunks.put_chunks(batch(2))
                proxy.cut()
                proxy.mend()
                store.chunks.put_chunks(batch(3))

        with pytest.raises(StoreUnreachableError):
            write_and_lose()
        assert sum(store.chunks.count_chunks().values()) == 50
        assert store.generation() == before


def fill(store: Store) -> tuple[int, StoreError]:
    """How many batches found room, and what was told of the first that did not."""
    for number in range(1000):
        try:
            store.chunks.put_chunks(batch(number))
        except StoreError as exc:
            return number, exc
    pytest.fail("the disk has no end")


def test_a_full_disk_is_told_and_room_is_all_it_takes(own_postgres: PostgresServer) -> None:
    with small_disk(own_postgres, mebibytes=24) as disk:
        with psycopg.connect(own_postgres.url(), autocommit=True) as connection:
            connection.execute(f"CREATE TABLESPACE small LOCATION '{disk.folder}'")
            connection.execute("CREATE DATABASE small TABLESPACE small")
        with opened(own_postgres.url("small")) as store:
            kept, caught = fill(store)
            assert "cannot write" in caught.message
            assert "free some space" in caught.hint
            assert kept > 0
            assert sum(store.chunks.count_chunks().values()) == 50 * kept
            assert len(store.search.find_text("batch0", limit=100)) == 50
            disk.grow(100)
            assert store.chunks.put_chunks(batch(kept)) == 50
            assert sum(store.chunks.count_chunks().values()) == 50 * (kept + 1)
            assert store.maintenance.check() == []


# A primary and its replica


@pytest.fixture
def pair(own_postgres: PostgresServer) -> Iterator[tuple[PostgresServer, PostgresServer]]:
    PostgresStore.create(own_postgres.url()).close()
    with own_postgres.make_standby() as standby:
        standby.catch_up(own_postgres)
        yield own_postgres, standby


def several(primary: PostgresServer, standby: PostgresServer, which: str) -> str:
    login, _, rest = primary.url().partition("@")
    database = rest.partition("/")[2]
    hosts = f"127.0.0.1:{standby.port},127.0.0.1:{primary.port}"
    return f"{login}@{hosts}/{database}?target_session_attrs={which}"


def served_by(store: PostgresStore) -> int:
    return int(store.database.rows("SELECT inet_server_port()")[0][0])


@pytest.mark.long
def test_reads_go_to_the_replica_and_writes_to_the_primary(
    pair: tuple[PostgresServer, PostgresServer],
) -> None:
    primary, standby = pair
    with opened(several(primary, standby, "prefer-standby")) as store:
        assert served_by(store) == standby.port
        store.chunks.put_chunks(batch(1))
        standby.catch_up(primary)
        assert served_by(store) == standby.port
        assert len(store.search.find_text("batch1", limit=100)) == 50
        store.chunks.record_access("a.py:f1_1", NOW)
        standby.catch_up(primary)
        assert store.chunks.get_accesses(["a.py:f1_1"]) == {"a.py:f1_1": (NOW,)}


@pytest.mark.long
def test_readers_are_spread_over_hosts_as_the_address_says(
    pair: tuple[PostgresServer, PostgresServer],
) -> None:
    """By chance: sixteen connections all to one of two would be one case in 32,768."""
    url = f"{several(*pair, 'any')}&load_balance_hosts=random"
    connections = Connections(parse_address(url))
    seen = set()
    for _ in range(16):
        with connections.connect() as connection:
            seen.add(connection.info.port)
    assert seen == {server.port for server in pair}
    with connections.connect(to_write=True) as connection:
        assert connection.info.port == pair[0].port


@pytest.mark.long
def test_who_has_written_reads_it_though_the_replica_lags(
    pair: tuple[PostgresServer, PostgresServer],
) -> None:
    """Others see the memory as it was a moment ago, and whole."""
    primary, standby = pair
    url = several(primary, standby, "prefer-standby")
    with opened(url) as writer, closing(PostgresStore.open(standby.url())) as reader:
        with psycopg.connect(standby.url(), autocommit=True) as connection:
            connection.execute("SELECT pg_wal_replay_pause()")
            writer.chunks.put_chunks(batch(1))
            writer.vectors.put_embeddings(MODEL, [("a.py:f1_1", VECTOR)])
            assert served_by(writer) == primary.port
            assert len(writer.search.find_text("batch1", limit=100)) == 50
            assert writer.vectors.embedder() == MODEL
            assert reader.search.find_text("batch1", limit=100) == []
            assert reader.maintenance.check() == []
            connection.execute("SELECT pg_wal_replay_resume()")
        standby.catch_up(primary)
        assert len(reader.search.find_text("batch1", limit=100)) == 50
        assert reader.generation() == writer.generation()
        assert served_by(writer) == standby.port


@pytest.mark.long
def test_a_replica_alone_can_be_searched_and_says_that_it_cannot_be_written(
    pair: tuple[PostgresServer, PostgresServer],
) -> None:
    primary, standby = pair
    with closing(PostgresStore.open(primary.url())) as store:
        store.chunks.put_chunks(batch(1))
    standby.catch_up(primary)
    with closing(PostgresStore.open(standby.url())) as store:
        assert len(store.search.find_text("batch1", limit=100)) == 50
        with pytest.raises(StoreError, match="can only be read") as caught:
            store.chunks.put_chunks(batch(2))
        assert "name the primary" in caught.value.hint


@pytest.mark.long
def test_the_replica_takes_over_when_the_primary_dies(
    pair: tuple[PostgresServer, PostgresServer],
) -> None:
    primary, standby = pair
    with opened(several(primary, standby, "any")) as store:
        store.chunks.put_chunks(batch(1))
        standby.catch_up(primary)
        primary.kill()
        standby.promote()
        assert len(store.search.find_text("batch1", limit=100)) == 50
        for _ in range(3):  # the first may find the old connection
            try:
                store.chunks.put_chunks(batch(2))
                break
            except StoreUnreachableError:
                continue
        assert len(store.search.find_text("batch2", limit=100)) == 50
        assert store.maintenance.check() == []
