"""Both depths as sums over the places of a text, beside the same sums done one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from aurora.embeddings.aurora import model as deep
from aurora.embeddings.aurora.model import NumpyLayers, deep_sums, shallow_sums
from aurora.embeddings.aurora.weights import Floats
from aurora.embeddings.compute import unit_rows
from tests.embeddings.own.making import Tensors, make_tensors

TEXTS = [[0], [5, 6, 7], [5] * 9 + [6], list(range(70)) * 4, [3] * 300, [9, 8] * 64]


@pytest.fixture(scope="module")
def tensors() -> Tensors:
    return make_tensors()


@pytest.fixture(scope="module")
def layers(tensors: Tensors) -> NumpyLayers:
    return NumpyLayers(tensors)


def pooled(tensors: Tensors, pieces: list[int], rows: NDArray[np.floating]) -> Floats:
    counts = Counter(pieces)
    total = np.zeros(256)
    for piece, row in zip(pieces, rows, strict=True):
        total += counts[piece] ** -0.5 * float(tensors["weight"][piece]) * row
    return total.astype(np.float32)


def vectors_of(tensors: Tensors, pieces: list[int]) -> Floats:
    scales = tensors["scale"][pieces].astype(np.float32)
    return tensors["table"][pieces].astype(np.float32) * scales[:, None]


def near(a: Floats, b: Floats) -> bool:
    return bool(np.abs(unit_rows(a) - unit_rows(b)).max() < 1e-5)


def test_shallow_sums_up_pieces_by_weight_and_root_of_count(tensors: Tensors) -> None:
    expected = [pooled(tensors, text, vectors_of(tensors, text)) for text in TEXTS]
    assert near(shallow_sums(tensors, TEXTS), np.array(expected))


def test_deep_adds_what_the_layers_make_of_each_window(
    tensors: Tensors, layers: NumpyLayers
) -> None:
    expected = []
    for text in TEXTS:
        rows = vectors_of(tensors, text)
        windows = [rows[start : start + 128].copy() for start in range(0, len(rows), 128)]
        understood = np.concatenate([layers(window, [len(window)]) for window in windows])
        expected.append(pooled(tensors, text, rows + understood))
    assert near(deep_sums(tensors, layers, TEXTS), np.array(expected))


def test_layers_that_add_nothing_leave_the_shallow_sum(tensors: Tensors) -> None:
    found = deep_sums(tensors, lambda rows, lengths: rows[: sum(lengths)], TEXTS)
    assert near(found, shallow_sums(tensors, TEXTS))


def test_windows_are_run_a_bounded_number_at_a_time(
    tensors: Tensors, layers: NumpyLayers, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = deep_sums(tensors, layers, TEXTS)
    seen: list[Sequence[int]] = []

    def run(rows: Floats, lengths: Sequence[int]) -> Floats:
        seen.append(lengths)
        assert len(rows) == sum(lengths)
        return layers(rows, lengths)

    monkeypatch.setattr(deep, "_WINDOWS_AT_ONCE", 4)
    assert near(deep_sums(tensors, run, TEXTS), whole)
    assert seen == [[1, 3, 10, 128], [128, 24, 128, 128], [44, 128]]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_text_has_the_same_sum_whatever_is_beside_it(
    tensors: Tensors, layers: NumpyLayers, count: int
) -> None:
    for at in range(0, len(TEXTS), count):
        some = slice(at, at + count)
        assert near(
            deep_sums(tensors, layers, TEXTS[some]), deep_sums(tensors, layers, TEXTS)[some]
        )


def test_no_texts_have_no_sums(tensors: Tensors, layers: NumpyLayers) -> None:
    assert shallow_sums(tensors, []).shape == (0, 256)
    assert deep_sums(tensors, layers, []).shape == (0, 256)
