"""The words of a memory on a server are made anew while others write: none of theirs is lost."""

from __future__ import annotations

import threading
from contextlib import closing
from dataclasses import replace

import psycopg

from aurora.stores.postgres.store import PostgresStore
from tests.builders import make_chunk
from tests.postgres.processes import wait_until

WAITS = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"


def rebuild_behind(store: PostgresStore, url: str, write: str) -> None:
    """Have a rebuild wait for a writer that has not ended yet: it has read what was before."""
    other = PostgresStore.open(url)
    old = make_chunk("def first(): return oldword")
    store.chunks.put_chunks([old, make_chunk(path="b.py")])
    with closing(other), psycopg.connect(url, autocommit=True) as watching:
        rebuilding = threading.Thread(target=other.ranking.rebuild_words)
        with store.transaction():
            if write == "replace":
                store.chunks.put_chunks([replace(old, content="def first(): return newword")])
            else:
                store.chunks.delete_chunks([old.id])
            rebuilding.start()
            wait_until(lambda: watching.execute(WAITS).fetchone() == (1,), "the rebuild to wait")
        rebuilding.join()


def test_a_text_that_was_replaced_meanwhile_is_found_by_its_own_words(memory_url: str) -> None:
    with closing(PostgresStore.open(memory_url)) as store:
        rebuild_behind(store, memory_url, "replace")
        assert store.maintenance.check() == []
        assert [row for row, _ in store.search.find_text("newword", limit=5)]
        assert not store.search.find_text("oldword", limit=5)


def test_what_was_removed_meanwhile_has_no_words_any_more(memory_url: str) -> None:
    with closing(PostgresStore.open(memory_url)) as store:
        rebuild_behind(store, memory_url, "remove")
        assert store.maintenance.check() == []
        assert not store.search.find_text("oldword", limit=5)
