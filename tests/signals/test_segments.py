"""Indexes in segments: answers are those of an index in one piece, and a stop harms nothing."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from aurora.errors import IndexFileError
from aurora.platforms import lock
from aurora.signals import bm25, bm25_index, segments
from aurora.signals.base import Question
from aurora.signals.bm25 import BM25Signal
from aurora.signals.segments import open_segments, pick_merges
from aurora.types import Chunk, Hit, IndexState, Note
from tests.builders import NOW, hide, make_chunk
from tests.signals.merging import Bench

WORDS = ["parse", "token", "read", "file", "index", "merge", "segment", "common", "word", "config"]
QUESTIONS = ("parse", "the common config word", "getToken9", "file index of token7 parsing", "none")
CORRUPTED = Note("BM25 index corrupted, rebuilding...", warning=True)


@pytest.fixture
def small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a memory that is a thousand times as large."""
    monkeypatch.setattr(bm25_index, "MOST_DOCUMENTS", 40)
    monkeypatch.setattr(bm25, "_SMALL", 0)
    monkeypatch.setattr(segments, "_MOST_INSIDE", 0)


@pytest.fixture
def bench(tmp_path: Path, small_segments: None) -> Iterator[Bench]:  # noqa: ARG001
    bench = Bench(tmp_path)
    yield bench
    bench.store.close()


def some_chunk(number: int, draw: random.Random) -> Chunk:
    words = draw.choices(WORDS, k=draw.randint(1, 30))
    return make_chunk(" ".join([*words, f"token{number % 13}"]), f"m{number // 9}.py", f"f{number}")


def answers(signal: BM25Signal) -> list[object]:
    """Rows, scores, ranks, known words and coverage, of the first question and of later ones."""
    found: list[object] = []
    for text in QUESTIONS:
        scores = signal.score(Question(text, NOW))
        best = scores.best(30)
        hits: list[Hit] = sorted(scores.hits(range(1, 400)))
        words = [(sorted(scores.terms(row)), scores.coverage(row)) for row in best]
        found.append((best, hits, scores.ceiling, scores.known, words))
        found.append(signal.count(Question(text, NOW)))
    return found


def files(bench: Bench) -> set[str]:
    return {file.name for file in bench.folder.iterdir() if file.name.startswith("bm25.idx")}


def named(bench: Bench) -> set[str]:
    tokens = open_segments(bench.path, kind="bm25").facts["segments"]
    assert isinstance(tokens, list)
    return {"bm25.idx", *(f"bm25.idx.{token}.seg" for token in tokens)}


def fill(bench: Bench, count: int = 150) -> None:
    draw = random.Random(0)  # noqa: S311 - not for secrets
    bench.store.chunks.put_chunks(some_chunk(number, draw) for number in range(count))
    bench.signal().refresh()


@pytest.mark.parametrize("seed", range(4))
def test_after_any_edits_the_answers_are_those_of_a_rebuild(bench: Bench, seed: int) -> None:
    fill(bench)
    draw = random.Random(seed)  # noqa: S311 - not for secrets
    signal = bench.signal()
    most = 0
    for _ in range(12):
        chosen = draw.sample(range(200), draw.choice([1, 2, 5, 40]))
        match draw.choice(["put", "put", "delete", "hide"]):
            case "put":
                bench.store.chunks.put_chunks(some_chunk(number, draw) for number in chosen)
            case "delete":
                gone = [some_chunk(number, draw).id for number in chosen]
                bench.store.chunks.delete_chunks(gone)
            case _:
                ids = [chunk.id for chunk in bench.store.chunks.iter_chunks()][:3]
                hide(bench.store, draw.choice(ids))
        signal = bench.signal() if draw.random() < 0.5 else signal
        signal.refresh()
        most = max(most, len(named(bench)))
        other = bench.signal(bench.path.with_name("rebuilt.idx"))
        other.rebuild()
        assert answers(signal) == answers(bench.signal()) == answers(other)
        assert bench.saved() == bench.rebuilt()
        assert files(bench) == named(bench)
    assert most > 4
    assert bench.events == []


def test_one_changed_chunk_writes_one_segment(bench: Bench) -> None:
    fill(bench)
    before = named(bench)
    bench.store.chunks.put_chunks([make_chunk("changed", "m0.py", "f7")])
    bench.signal().refresh()
    assert len(named(bench) - before) == 1
    assert before <= named(bench)


def test_a_newer_index_keeps_the_segments_that_are_open(bench: Bench) -> None:
    fill(bench)
    before = open_segments(bench.path, kind="bm25")
    bench.store.chunks.put_chunks([make_chunk("changed", "m0.py", "f7")])
    bench.signal().refresh()
    after = open_segments(bench.path, kind="bm25")
    assert [arrays for arrays, _ in before.segments] == [
        arrays for arrays, _ in after.segments[:-1]
    ]


def test_a_bit_that_flips_in_an_open_segment_is_detected(bench: Bench) -> None:
    fill(bench)
    index = open_segments(bench.path, kind="bm25")
    index.check()
    with sorted(bench.folder.glob("*.seg"))[0].open("r+b") as file:
        file.seek(8192)
        flipped = file.read(1)[0] ^ 1
        file.seek(8192)
        file.write(bytes([flipped]))
    with pytest.raises(IndexFileError, match="damaged"):
        index.check()


def test_a_flipped_bit_in_any_segment_is_detected_and_the_index_rebuilt(bench: Bench) -> None:
    fill(bench)
    expected = answers(bench.signal())
    for number in range(len(named(bench))):
        path = sorted(bench.folder.glob("bm25.idx*"))[number]
        content = bytearray(path.read_bytes())
        content[8192] ^= 1
        path.write_bytes(content)
        assert bench.signal().check(whole=True).state is IndexState.DAMAGED
        assert answers(bench.signal()) == expected
        bench.signal().rebuild()


@pytest.mark.parametrize(
    "harm",
    [
        lambda path, _: path.unlink(),
        lambda path, _: path.write_bytes(path.read_bytes()[:9000]),
        lambda path, other: path.write_bytes(other.read_bytes()),
    ],
    ids=["missing", "cut short", "another segment"],
)
def test_a_lost_segment_is_detected_when_the_index_is_opened(
    bench: Bench, harm: Callable[[Path, Path], object]
) -> None:
    fill(bench)
    expected = answers(bench.signal())
    first, second, *_ = sorted(bench.folder.glob("*.seg"))
    harm(first, second)
    with pytest.raises(IndexFileError):
        open_segments(bench.path, kind="bm25")
    assert answers(bench.signal()) == expected
    assert bench.events == [CORRUPTED]
    assert files(bench) == named(bench)


@pytest.mark.parametrize("step", ["write_arrays", "_rename", "write_index_file", "open_segments"])
def test_a_kill_at_any_step_leaves_the_old_index_or_the_new(
    bench: Bench, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(bench)
    bench.store.chunks.put_chunks([make_chunk("changed", "m0.py", "f7")])

    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(segments, step, stop)
        patch.setattr(segments, "discard", lambda _: None)  # a killed process does not tidy up
        with pytest.raises(KeyboardInterrupt):
            bench.signal().refresh()

    assert open_segments(bench.path, kind="bm25").segments
    bench.signal().refresh()
    assert bench.saved() == bench.rebuilt()
    assert {name for name in files(bench) if name.endswith(".seg")} <= named(bench)


def test_two_processes_that_update_one_index_leave_a_valid_one(bench: Bench) -> None:
    fill(bench)
    one, two = bench.signal(), bench.signal()
    one.refresh(), two.refresh()
    base = two._held[0]
    assert base is not None
    bench.store.chunks.put_chunks([make_chunk("first change", "m0.py", "f7")])
    bench.store.chunks.delete_chunks([chunk.id for chunk in bench.store.chunks.iter_chunks()][:60])
    one.refresh()  # merges segments that the other one still has

    base.save_index(bench.path, base.facts)

    assert len(bench.signal()._load()) == 150
    assert files(bench) == named(bench)
    two.refresh()
    assert answers(two) == answers(bench.signal())
    assert bench.saved() == bench.rebuilt()


def test_forgetting_keeps_what_another_thread_has_just_indexed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(bench)
    signal = bench.signal()
    signal.refresh()
    bench.store.chunks.delete_chunks([chunk.id for chunk in bench.store.chunks.iter_chunks()][:3])
    current = signal.current

    def current_and_then_another_thread() -> object:
        index = current()
        bench.store.chunks.put_chunks([make_chunk("just written", "new.py", "f")])
        current()
        return index

    monkeypatch.setattr(signal, "current", current_and_then_another_thread)
    signal.scrub()

    assert bench.saved() == bench.rebuilt()


def test_a_stopped_process_that_has_the_lock_stops_no_search(bench: Bench) -> None:
    fill(bench)
    bench.signal().refresh()
    bench.store.chunks.put_chunks([make_chunk("first change", "m0.py", "f7")])
    with (bench.folder / "bm25.lock").open("ab") as file:
        lock(file)
        bench.signal().refresh()
    assert bench.saved() == bench.rebuilt()


def test_a_reader_that_meets_a_writer_opens_the_newer_index(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(bench)
    writer = bench.signal()
    open_segment, met = segments._open_segment, []

    def meet(*given: object) -> object:
        if not met:
            met.append(1)
            writer.rebuild()
        return open_segment(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(segments, "_open_segment", meet)
    assert len(bench.signal()._load()) == 150


def test_what_was_forgotten_is_in_no_segment(bench: Bench) -> None:
    fill(bench)
    bench.store.chunks.put_chunks([make_chunk("zanzibar", "m0.py", "secret")])
    signal = bench.signal()
    signal.refresh()
    bench.store.chunks.delete_chunks(["m0.py:secret"])
    signal.refresh()
    before = answers(signal)
    signal.scrub()
    assert not any(b"zanzibar" in file.read_bytes() for file in bench.folder.glob("bm25.idx*"))
    assert answers(signal) == answers(bench.signal()) == before


@pytest.mark.parametrize(
    ("sizes", "merged"),
    [
        ([], None),
        ([(10, 0)], None),
        ([(10, 0), (1, 0)], None),
        ([(10, 0), (2, 0), (1, 0)], [0, 1, 2]),
        ([(90, 0), (2, 0), (1, 0)], [1, 2]),
        ([(99, 0), (98, 0)], None),
        ([(99, 30), (98, 0)], [0]),
        ([(99, 80), (60, 0)], [0, 1]),
    ],
)
def test_neighbours_of_like_size_are_merged(
    sizes: list[tuple[int, int]], merged: list[int] | None
) -> None:
    found = pick_merges(sizes, most=100)
    assert (found and list(range(len(sizes)))[found]) == merged
