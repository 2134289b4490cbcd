"""An index that follows the store by merging: the same, array for array, as one built anew."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

import pytest

from aurora.signals import bm25
from aurora.signals.base import Question
from aurora.stores.base import FileState
from aurora.stores.sqlite.store import SQLiteStore
from aurora.types import Kind, Note, Progress
from tests.builders import NOW, hide, make_chunk
from tests.signals.merging import FOUR, Bench, reasoning

CHANGES: dict[str, tuple[Callable[[SQLiteStore], object], list[int]]] = {
    "changed": (
        lambda store: store.chunks.put_chunks([make_chunk("other words", name="two")]),
        [2],
    ),
    "new": (lambda store: store.chunks.put_chunks([make_chunk("number five", name="five")]), [5]),
    "deleted": (lambda store: store.chunks.delete_chunks(["a.py:one"]), []),
    "put again": (
        lambda store: (store.chunks.delete_chunks(["a.py:one"]), store.chunks.put_chunks(FOUR[:1])),
        [5],
    ),
    "no longer found": (lambda store: hide(store, "a.py:two"), []),
    "no other text": (lambda store: store.chunks.put_reasoning("a.py:two", reasoning(0.9)), []),
    "a file": (
        lambda store: store.chunks.replace_file(
            FileState("a.py", 1, 2, "x"), [FOUR[0], FOUR[2], make_chunk(name="six")]
        ),
        [5],
    ),
    "half of all": (
        lambda store: store.chunks.put_chunks(
            [replace(chunk, content="same") for chunk in FOUR[1:3]]
        ),
        [2, 3],
    ),
}


@pytest.mark.parametrize(("change", "rows"), CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("fresh", [True, False], ids=["new-process", "long-running"])
def test_a_change_is_merged_in_silence_and_only_what_changed_is_read(
    bench: Bench, change: Callable[[SQLiteStore], object], rows: list[int], fresh: bool
) -> None:
    signal = bench.signal()
    signal.refresh()
    change(bench.store)
    bench.rows_read()

    count = (bench.signal() if fresh else signal).refresh()

    assert (bench.rows_read(), bench.events) == ([rows], [])
    assert count == len(bench.store.chunks.revisions())
    assert bench.saved() == bench.rebuilt()


def test_a_log_tells_how_much_was_merged(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    bench.signal().refresh()
    bench.store.chunks.put_chunks([make_chunk("number five", name="five")])
    with caplog.at_level(logging.DEBUG, logger="aurora.signals.bm25"):
        bench.signal().refresh()
    assert caplog.messages == ["merging 1 of 5 chunks into the BM25 index"]


def test_a_merge_of_many_chunks_tells_how_far_it_is(bench: Bench) -> None:
    bench.store.chunks.put_chunks([make_chunk(name=f"f{number}") for number in range(2500)])
    bench.signal().refresh()
    bench.events.clear()
    bench.store.chunks.put_chunks(
        [make_chunk("other", name=f"f{number}") for number in range(1100)]
    )
    bench.signal().refresh()
    assert bench.events == [
        Progress("Building BM25 index", 1000, 1100),
        Progress("Building BM25 index", 1100, 1100),
    ]


def test_more_than_half_changed_is_built_anew(bench: Bench) -> None:
    bench.signal().refresh()
    bench.store.chunks.put_chunks([replace(chunk, content="same") for chunk in FOUR[:3]])
    bench.rows_read()
    bench.signal().refresh()
    assert bench.rows_read() == [None]
    assert bench.events == [Note("Rebuilding BM25 index (chunks changed)...")]


def test_a_chunk_that_may_be_found_again_comes_back_to_its_place(bench: Bench) -> None:
    hide(bench.store, "a.py:two")
    bench.signal().refresh()
    hide(bench.store, "a.py:two", by=None)
    bench.rows_read()
    assert bench.signal().refresh() == 4
    assert bench.rows_read() == [[2]]
    assert bench.saved() == bench.rebuilt()


def test_from_nothing_to_a_few_to_nothing(bench: Bench) -> None:
    signal = bench.signal()
    for chunks in ([], FOUR, [], FOUR[:1], []):
        bench.store.chunks.delete_chunks([chunk.id for chunk in FOUR])
        bench.store.chunks.put_chunks(chunks)
        assert signal.refresh() == len(chunks)
        assert bench.saved() == bench.rebuilt()
        assert len(signal.score(Question("number", NOW)).best(9)) == len(chunks)


def test_an_index_that_cannot_be_saved_is_merged_in_memory(bench: Bench) -> None:
    bench.path.mkdir()  # where the file should be
    signal = bench.signal()
    signal.refresh()
    bench.store.chunks.put_chunks([make_chunk("number five", name="five")])
    bench.rows_read()
    assert signal.refresh() == 5
    assert bench.rows_read() == [[5]]
    assert not signal.saved


def test_the_index_that_another_process_brought_up_to_date_is_used(bench: Bench) -> None:
    signal = bench.signal()
    signal.refresh()
    bench.store.chunks.put_chunks([make_chunk("number five", name="five")])
    bench.signal().refresh()
    bench.rows_read()
    assert signal.refresh() == 5
    assert bench.rows_read() == []


def test_an_index_of_other_arrays_is_of_another_version(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(bm25, "LAYOUT", 1)
        bench.signal().refresh()
    bench.store.chunks.put_chunks([make_chunk("number five", name="five")])
    assert bench.signal().refresh() == 5
    assert bench.events == [Note("Rebuilding BM25 index (made by another version)...")]


def test_what_was_learned_and_replaced_is_not_merged(bench: Bench) -> None:
    bench.signal().refresh()
    bench.store.chunks.put_chunks([make_chunk("learned", name="five", kind=Kind.REASONING)])
    hide(bench.store, "a.py:five")
    assert bench.signal().refresh() == 4
    assert bench.saved() == bench.rebuilt()
