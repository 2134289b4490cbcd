"""Many vectors: the nearest are found by short codes, and compared in full."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from aurora.errors import IndexFileError
from aurora.packing import pack_vector
from aurora.signals.cosine_scores import Matrix
from aurora.signals.index_file import Arrays, MemoryArrays
from aurora.signals.segments import Segment
from aurora.signals.vector_codes import MANY
from aurora.signals.vector_index import (
    Vectors,
    join_vectors,
    make_segment,
    open_vectors_file,
    vectors_in,
)
from aurora.stores.base import Embedder
from tests.builders import make_chunk
from tests.signals.vectored import CORRUPTED, VectorBench, vectors_of

COUNT, DIMENSION = MANY + 2_000, 64
OWNER = Embedder("any", DIMENSION, "1")


RANDOM = np.random.default_rng(7)
CENTRES = RANDOM.standard_normal((60, DIMENSION))
NOISE = 0.3 * RANDOM.standard_normal((COUNT, DIMENSION))
VALUES = (CENTRES[RANDOM.integers(60, size=COUNT)] + NOISE).astype(np.float16)
PARTS = {10 + 3 * place: (1, vector.tobytes()) for place, vector in enumerate(VALUES)}
CODED = join_vectors(PARTS, OWNER)


def cosines_of(question: NDArray[np.float16]) -> NDArray[np.float64]:
    values, asked = VALUES.astype(np.float64), question.astype(np.float64)
    cosines: NDArray[np.float64] = values @ asked / np.linalg.norm(values, axis=1)
    return cosines / np.linalg.norm(asked)


def best_rows(cosines: NDArray[np.float64]) -> list[int]:
    return [10 + 3 * int(place) for place in np.argsort(-cosines, kind="stable")]


def test_the_best_by_codes_are_the_best_of_all() -> None:
    assert [segment.has_codes for segment in CODED.segments] == [True]
    matrix, kept = Matrix(CODED), 0
    for place in range(0, COUNT, 1_100):
        question = VALUES[place] + np.float16(0.1)
        cosines = cosines_of(question)
        rows = best_rows(cosines)[:100]
        scores = matrix.compare(question.tolist())
        kept += len({*rows} & {*scores.best(100)})
        assert scores.best(10) == rows[:10]
        hits = {hit.row: hit for hit in scores.hits(rows)}
        best = np.sort(cosines)[:-11:-1]
        assert [hits[row].score for row in rows[:10]] == pytest.approx(best.tolist(), abs=1e-8)
        assert [hits[row].rank for row in rows[:10]] == [*range(1, 11)]
    assert kept >= 0.98 * 20 * 100


def test_filtered_answers_are_exact() -> None:
    question = VALUES[5]
    cosines = cosines_of(question)
    rows, scores = best_rows(cosines), Matrix(CODED).compare(question.tolist())
    assert scores.best(50, among=sorted(rows[100:200])) == rows[100:150]
    assert scores.best(50, among=sorted(rows[100:9_000])) == rows[100:150]
    far = {hit.row: hit for hit in scores.hits(rows[9_000:9_010])}
    ordered = np.sort(cosines)[::-1]
    assert [far[row].score for row in rows[9_000:9_010]] == pytest.approx(
        ordered[9_000:9_010].tolist(), abs=1e-8
    )
    assert all(6_000 < hit.rank < 12_000 for hit in far.values())  # an estimate


def test_a_deep_answer_has_as_many_rows_as_are_asked_for() -> None:
    question = VALUES[5]
    rows = best_rows(cosines_of(question))[:3_000]
    best = Matrix(CODED).compare(question.tolist()).best(3_000)
    assert best[:100] == rows[:100]
    assert len({*best} & {*rows}) > 0.98 * 3_000


@pytest.mark.parametrize("removed", [[], [0, 1, 2, 7, 500, COUNT // 3]], ids=["all", "some"])
def test_segments_and_removals_answer_as_one_segment_does(removed: list[int]) -> None:
    """A large segment, a small one, and one row between those of the others."""
    cut, between = MANY + 500, COUNT // 3
    rows = sorted(PARTS)
    first = [row for place, row in enumerate(rows[:cut]) if place != between]
    gone = np.array([place for place in removed if place < between], np.int32)
    segments = [
        part(first, gone),
        part(rows[cut:], np.zeros(0, np.int32)),
        part([rows[between]], np.array([0] if between in removed else [], np.int32)),
    ]
    split = Vectors(segments, {}, OWNER)
    left = {row: PARTS[row] for place, row in enumerate(rows) if place not in removed}
    one = join_vectors(left, OWNER)
    assert len(split) == len(one) == len(left)
    for place in range(1, COUNT, 2_700):
        question = VALUES[place].tolist()
        answers = [Matrix(vectors).compare(question) for vectors in (split, one)]
        best = [answer.best(10) for answer in answers]
        assert best[0] == best[1]
        among = rows[::2]
        filtered = [answer.best(10, among=among) for answer in answers]
        assert filtered[0] == filtered[1]
        hits = [sorted(answer.hits(best[0])) for answer in answers]
        assert hits[0] == hits[1]


def test_two_large_segments_answer_as_one_segment_does() -> None:
    """A thread for each of them."""
    beside = {row + 1: PARTS[row] for row in PARTS}
    segments = [make_segment({**parts}, DIMENSION) for parts in (PARTS, beside)]
    split, one = Vectors(segments, {}, OWNER), join_vectors(PARTS | beside, OWNER)
    assert [segment.has_codes for segment in split.segments] == [True, True]
    for place in range(1, COUNT, 2_700):
        question = VALUES[place].tolist()
        best = [Matrix(vectors).compare(question).best(10) for vectors in (split, one)]
        assert best[0] == best[1]


def part(rows: list[int], removed: NDArray[np.int32]) -> Segment:
    return Segment(make_segment({row: PARTS[row] for row in rows}, DIMENSION).arrays, removed)


def test_vectors_that_are_alike_are_all_equally_near() -> None:
    """More than are compared in full."""
    packed = pack_vector([1.0, *[0.0] * (DIMENSION - 1)])
    alike = dict.fromkeys(range(1, COUNT), (1, packed))
    other = pack_vector([0.0, 1.0, *[0.0] * (DIMENSION - 2)])
    answer = Matrix(join_vectors({**alike, COUNT: (1, other)}, OWNER)).compare([1.0] * DIMENSION)
    assert answer.best(10) == [*range(1, 11)]


def flipped(path: Path, content: bytes, wanted: bytes) -> None:
    damaged = bytearray(content)
    damaged[content.index(wanted) + len(wanted) - 1] ^= 1
    path.write_bytes(damaged)


@pytest.mark.parametrize("name", ["bytes", "matrix"])
def test_a_vector_that_is_read_late_is_checked(tmp_path: Path, name: str) -> None:
    path, question = tmp_path / "vectors.idx", VALUES[5]
    far = {1_000_000 + n: (1, (-question).tobytes()) for n in range(500)}
    join_vectors(PARTS | far, OWNER).save_index(path, {})
    [segment] = tmp_path.glob("*.seg")
    arrays: Arrays = vectors_in(open_vectors_file(path)).segments[0].arrays
    end = arrays.size(name)
    last = arrays.read(name, end - 400 * DIMENSION, end).tobytes()
    flipped(segment, segment.read_bytes(), last)
    scores = Matrix(vectors_in(open_vectors_file(path))).compare(question.tolist())
    assert len(scores.best(10)) == 10
    with pytest.raises(IndexFileError, match=f"checksum of {name}"):
        scores.best(10, among=[*far]) if name == "bytes" else scores.hits([*far])


def test_a_damaged_vector_is_mended_on_request(tmp_path: Path) -> None:
    bench = VectorBench(tmp_path)
    bench.store.chunks.put_chunks([make_chunk("aaa", "_", "_a")])
    bench.embed()
    bench.find("aa")
    whole = bench.path.read_bytes()
    flipped(bench.path, whole, pack_vector([1.0, 0.0, 0.0, 0.0, 0.0]))
    bench.signal().mend()
    assert (bench.events, bench.path.read_bytes()) == ([CORRUPTED], whole)
    bench.store.close()


def test_vectors_whose_bits_tell_little_are_all_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if less of the nearest were found than is required."""
    monkeypatch.setattr("aurora.signals.vector_codes._KEPT", 1.01)
    assert not join_vectors(PARTS, OWNER).segments[0].has_codes


def test_a_few_vectors_are_all_compared() -> None:
    assert not vectors_of(VALUES[:900].tolist()).segments[0].has_codes


def test_without_numpy_a_segment_with_codes_is_read_all_the_same() -> None:
    [segment] = CODED.segments
    assert isinstance(segment.arrays, MemoryArrays)
    first = next(CODED.items())
    assert (first[0], list(first[2])) == (10, VALUES[0].astype(float).tolist())
