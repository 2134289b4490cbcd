"""Many vectors: the nearest are found by the first numbers of each, and compared in full."""

from __future__ import annotations

from array import array
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from aurora.errors import IndexFileError
from aurora.signals.dense_scores import Matrix
from aurora.signals.semantic import SHORT, open_vectors_file, vectors_in
from tests.builders import make_chunk
from tests.signals.vectored import CORRUPTED, VectorBench, vectors_of

MANY, DIMENSION = 12_000, 2 * SHORT


def made_up(*, spread: float) -> NDArray[np.float32]:
    """Vectors around some centres, mostly in their first numbers, or `spread` over all."""
    random = np.random.default_rng(7)
    centres = random.standard_normal((60, DIMENSION))
    values = centres[random.integers(60, size=MANY)]
    values = (1.0 - spread) * values + 0.5 * random.standard_normal((MANY, DIMENSION))
    values[:, SHORT:] *= 0.3 + spread
    return np.ascontiguousarray(values, np.float32)


TELLING, EVEN = made_up(spread=0.0), made_up(spread=0.9)


def test_the_best_by_the_first_numbers_are_the_best_of_all() -> None:
    values = TELLING
    vectors = vectors_of(values.tolist())
    assert vectors.is_shortened
    lengths = np.linalg.norm(values, axis=1)
    kept = 0
    for place in range(0, MANY, 601):
        question = values[place] + 0.1
        cosines = values @ question / lengths / np.linalg.norm(question)
        best = np.argsort(-cosines, kind="stable")[:100]
        scores = Matrix(vectors).compare(question.tolist())
        rows = [10 + 3 * int(each) for each in best]
        kept += len({*rows} & {*scores.best(100)})
        assert scores.best(10) == rows[:10]
        hits = {hit.row: hit for hit in scores.hits(rows)}
        assert [hits[row].score for row in rows[:10]] == pytest.approx(cosines[best[:10]].tolist())
        assert [hits[row].rank for row in rows[:10]] == [*range(1, 11)]
    assert kept >= 0.98 * 20 * 100


def test_deep_and_filtered_answers_are_exact() -> None:
    vectors, values = vectors_of(TELLING.tolist()), TELLING.astype(np.float64)
    cosines = values @ values[5] / np.linalg.norm(values, axis=1) / np.linalg.norm(values[5])
    order = np.argsort(-cosines, kind="stable")
    rows = [10 + 3 * int(place) for place in order]
    scores = Matrix(vectors).compare(TELLING[5].tolist())
    assert scores.best(3_000) == rows[:3_000]
    assert scores.best(50, among=sorted(rows[100:200])) == rows[100:150]
    far = {hit.row: hit.score for hit in scores.hits(rows[2_500:2_510])}
    assert [far[row] for row in rows[2_500:2_510]] == pytest.approx(cosines[order[2_500:2_510]])


def test_a_vector_that_is_read_late_is_checked(tmp_path: Path) -> None:
    path, question = tmp_path / "vectors.idx", TELLING[5]
    far = np.tile(-question, (64, 1)).astype(np.float32)
    values = np.vstack([TELLING, far])
    vectors_of(values.tolist()).save_index(path, {})
    content = bytearray(path.read_bytes())
    content[content.index(far.tobytes()) + far.nbytes - 1] ^= 1
    path.write_bytes(content)
    scores = Matrix(vectors_in(open_vectors_file(path))).compare(question.tolist())
    assert len(scores.best(10)) == 10
    with pytest.raises(IndexFileError, match="checksum of matrix"):
        scores.hits([10 + 3 * (len(values) - 1)])


def test_a_damaged_vector_is_mended_on_request(tmp_path: Path) -> None:
    bench = VectorBench(tmp_path)
    bench.store.chunks.put_chunks([make_chunk("aaa", "_", "_a")])
    bench.embed()
    bench.find("aa")
    whole = bench.path.read_bytes()
    at = whole.index(array("f", [1.0, 0.0, 0.0, 0.0, 0.0]).tobytes())
    bench.path.write_bytes(whole[:at] + b"\1" + whole[at + 1 :])
    bench.signal().mend()
    assert (bench.events, bench.path.read_bytes()) == ([CORRUPTED], whole)
    bench.store.close()


def test_vectors_whose_first_numbers_tell_little_are_all_compared() -> None:
    assert not vectors_of(EVEN.tolist()).is_shortened


def test_a_few_vectors_are_all_compared() -> None:
    assert not vectors_of(TELLING[:9_000].tolist()).is_shortened
