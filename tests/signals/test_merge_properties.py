"""Merging any changes gives the index of a rebuild, array for array."""

from __future__ import annotations

import sysconfig
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aurora.signals import bm25 as bm25_signal
from aurora.signals.base import Entry, Question
from aurora.signals.bm25_index import (
    build_segments,
    changed_generations,
    compare,
    find_changed,
    merge,
)
from aurora.signals.index_file import Array, MemoryArrays
from aurora.signals.segments import Segment
from aurora.stores.base import Revision, RevisionGroup
from aurora.text import chunk_text
from tests.builders import NOW, hide, make_chunk, parse
from tests.properties import examples
from tests.signals.merging import FOUR, Bench

WORDS = ["alpha", "beta", "getUserData", "auth.token", "用户认证", "Ünïcode", "x", "ﬁ", "\0"]
texts = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)
moments = st.dictionaries(st.integers(1, 15), st.integers(1, 3), max_size=15)  # row → generation


def merged(before: Sequence[Entry], after: Sequence[Entry]) -> dict[str, Array]:
    """The index of `after`, made of the one of `before` and the entries with other revisions."""
    old = segments_of(before)
    stored = dict(entry.revision for entry in after)
    generations = changed_generations(old, groups_of(stored))
    assert generations or stored == dict(entry.revision for entry in before)
    affected = {row: at for row, at in stored.items() if at in generations}
    removed, rows = compare(old, generations, affected)
    fresh = segments_of(entry for entry in after if entry.revision.row in rows)
    kept = [(arrays, gone) for (arrays, _), gone in zip(old, removed, strict=True)]
    result = merge([*kept, *fresh]) if kept or fresh else {}
    return result if len(result.get("rows", ())) else {}


def segments_of(entries: Iterable[Entry]) -> list[Segment]:
    return [Segment(MemoryArrays(arrays)) for arrays in build_segments(entries)]


def groups_of(stored: Mapping[int, int], old: int = -1) -> dict[int, RevisionGroup]:
    """As a store groups its rows."""
    groups = {}
    for group in {max(at, old) for at in stored.values()}:
        rows = {row: at for row, at in stored.items() if max(at, old) == group}
        mixed = sum(row * ((row + at) & 1023) for row, at in rows.items())
        groups[group] = RevisionGroup(len(rows), sum(rows), mixed)
    return groups


def built(entries: Sequence[Entry]) -> dict[str, Array]:
    return next(build_segments(entries), {})


def assert_same(found: dict[str, Array], expected: dict[str, Array]) -> None:
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        ours, theirs = np.asarray(found[name]), np.asarray(array)
        assert (ours.dtype.char, ours.tobytes()) == (theirs.dtype.char, theirs.tobytes()), name


@settings(max_examples=examples(300))
@given(moments, moments, st.lists(texts, min_size=1, max_size=30))
def test_any_two_moments_of_a_store(
    before: dict[int, int], after: dict[int, int], pool: list[str]
) -> None:
    def entries(moment: dict[int, int]) -> list[Entry]:
        """As a store promises: a revision has one text."""
        return [
            Entry(f"id{row}", pool[(3 * row + generation) % len(pool)], Revision(row, generation))
            for row, generation in sorted(moment.items())
        ]

    assert_same(merged(entries(before), entries(after)), built(entries(after)))


@given(moments, st.sets(st.integers(1, 15)), st.dictionaries(st.integers(1, 20), st.integers(4, 6)))
def test_only_what_is_newer_than_an_index_is_compared(
    indexed: dict[int, int], removed: set[int], written: dict[int, int]
) -> None:
    """A row that changes has a newer generation."""
    segments = segments_of(Entry(f"id{row}", "", Revision(row, at)) for row, at in indexed.items())
    kept = {row: at for row, at in indexed.items() if row not in removed}
    stored = {**kept, **written}

    def groups(old: int = -1) -> dict[int, RevisionGroup]:
        return groups_of(stored, old)

    found = find_changed(segments, groups, {"generation": 3})
    changed = {*indexed.items()} ^ {*stored.items()}
    assert {*found} == {generation for _, generation in changed}


def test_numbers_that_are_one_to_a_float_are_told_apart() -> None:
    far = 1 << 60
    index = Segment(
        MemoryArrays({"rows": np.array([far, far + 1]), "generations": np.array([far, far])})
    )
    removed, rows = compare([index], [far, far + 1], {far: far, far + 1: far + 1})
    assert ([each.tolist() for each in removed], rows) == ([[1]], [far + 1])


def test_two_versions_of_real_code() -> None:
    top = Path(sysconfig.get_path("stdlib"))
    chunks = [
        chunk
        for name in ("argparse.py", "ast.py", "inspect.py", "subprocess.py", "typing.py")
        for chunk in parse((top / name).read_text(encoding="utf-8"), name)
    ]
    assert len(chunks) > 500
    before = [
        Entry(chunk.id, chunk_text(chunk), Revision(row, 1)) for row, chunk in enumerate(chunks)
    ]
    after = [entry for entry in before if entry.revision.row % 7]
    after[::11] = [
        Entry(entry.id, entry.text[::-1], Revision(entry.revision.row, 2)) for entry in after[::11]
    ]
    after += [
        Entry(f"{entry.id}#2", entry.text * 2, Revision(len(before) + row, 2))
        for row, entry in enumerate(before[::13])
    ]
    assert_same(merged(before, after), built(after))


names = st.sampled_from("abcdefgh")
chunks = st.builds(
    lambda name, content, path: make_chunk(content, path, name, id=name), names, texts, names
)
steps = st.one_of(
    st.tuples(
        st.just(lambda store, *given: store.chunks.put_chunks(*given)),
        st.tuples(st.lists(chunks, max_size=4)),
    ),
    st.tuples(
        st.just(lambda store, *given: store.chunks.delete_chunks(*given)),
        st.tuples(st.lists(names, max_size=4)),
    ),
    st.tuples(
        st.just(lambda store, name, by: hide(store, name, by=by)),
        st.tuples(names, st.sampled_from(["another", None])),
    ),
)


@pytest.fixture
def always_merged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bm25_signal, "_UPDATE_SHARE", 1.0)


@pytest.mark.usefixtures("always_merged")
@settings(deadline=None, max_examples=examples(25))
@given(
    st.lists(st.tuples(st.booleans(), st.lists(steps, max_size=5)), min_size=1, max_size=4), texts
)
def test_a_store_that_lives(
    rounds: list[tuple[bool, list[tuple[Callable[..., object], tuple[object, ...]]]]], question: str
) -> None:
    """Put, replaced, deleted, hidden and found again; the files and the answers are the same."""
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder))
        bench.store.chunks.put_chunks(FOUR)
        signal = bench.signal()
        signal.refresh()
        for new_process, changes in rounds:
            with bench.store.transaction():
                for change, arguments in changes:
                    change(bench.store, *arguments)
            bench.rows_read()
            signal = bench.signal() if new_process else signal
            signal.refresh()
            assert None not in bench.rows_read()
            assert bench.saved() == bench.rebuilt()
            anew = bench.signal(bench.path.with_name("rebuilt.idx"))
            asked = Question(f"{question} alpha number", NOW)
            mine, theirs = signal.score(asked), anew.score(asked)
            assert mine.best(99) == theirs.best(99)
            assert mine.hits(mine.best(99)) == theirs.hits(theirs.best(99))
        assert bench.events == []
        bench.store.close()
