"""`Memory` on a PostgreSQL server: what a user of the engine meets when the server fails."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from aurora import Memory, Places
from aurora.config import SettingsFiles
from aurora.errors import StoreUnreachableError
from aurora.types import Event, Note, ignore_events
from tests.builders import write_tree
from tests.postgres.server import PostgresServer

FILES: dict[str, str | bytes] = {
    f"src/module{n}.py": "".join(
        f"def function_{n}_{m}(value):\n    'Words of {n} and {m}.'\n    return value + {m}\n\n\n"
        for m in range(60)
    )
    for n in range(60)
}


@pytest.fixture
def open_memory(
    tmp_path: Path, own_postgres: PostgresServer
) -> Iterator[Callable[[Callable[[Event], None]], Memory]]:
    root = write_tree(tmp_path / "project", FILES)
    (root / ".aurora").mkdir()
    places = Places(tmp_path / "home", root)
    opened: list[Memory] = []

    def open_(listen: Callable[[Event], None]) -> Memory:
        files = SettingsFiles(places, {"AURORA_STORE_URL": own_postgres.url()})
        opened.append(Memory(places, files, listen=listen))
        return opened[-1]

    yield open_
    for memory in opened:
        memory.close()


@pytest.mark.long
@pytest.mark.parametrize("task", ["Indexing", "Embedding"])
def test_an_index_run_goes_on_when_its_server_was_killed(
    open_memory: Callable[[Callable[[Event], None]], Memory],
    own_postgres: PostgresServer,
    task: str,
) -> None:
    told: list[str] = []
    killed = threading.Event()

    def listen(event: Event) -> None:
        if isinstance(event, Note):
            told.append(event.text)
        elif event.task == task and event.done > event.total / 3 and not killed.is_set():
            killed.set()
            own_postgres.kill()
            threading.Timer(0.3, own_postgres.start).start()

    memory = open_memory(listen)
    memory.index(memory.places.project or Path(), git=False)

    assert killed.is_set()
    # A question in between waits for the server by itself, and then there is nothing to tell.
    assert task == "Embedding" or any("Going on in" in text for text in told)
    assert not any(own_postgres.password in text for text in told)
    stats = memory.stats()
    assert sum(stats.chunks.values()) == stats.embedded == 3600
    assert memory.admin.check() == []
    (first, *_) = memory.search("function_59_59").results
    assert first.chunk.name == "function_59_59"


def test_a_search_without_its_server_is_told_at_once(
    open_memory: Callable[[Callable[[Event], None]], Memory], own_postgres: PostgresServer
) -> None:
    own_postgres.stop()
    with pytest.raises(
        StoreUnreachableError, match="Cannot reach postgresql://postgres@127"
    ) as caught:
        open_memory(ignore_events).search("anything")
    assert own_postgres.password not in str(caught.value)
