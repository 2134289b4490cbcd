"""Both depths as sums over the places of a text, beside the same sums done one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from aurora.embeddings.aurora import model as deep
from aurora.embeddings.aurora.model import (
    READ,
    NumpyLayers,
    deep_sums,
    shallow_sums,
    window_sums,
)
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


def test_deep_adds_what_the_layers_make_of_the_beginning(
    tensors: Tensors, layers: NumpyLayers
) -> None:
    context = []
    for text in TEXTS:
        head = text[:READ]
        counts = Counter(head)
        weights = [counts[piece] ** -0.5 * float(tensors["weight"][piece]) for piece in head]
        amounts = np.array(weights, np.float32)
        context += [*layers(vectors_of(tensors, head), [len(head)], amounts)]
    expected = shallow_sums(tensors, TEXTS) + np.array(context)
    assert near(deep_sums(tensors, layers, TEXTS), expected)


def test_layers_that_add_nothing_leave_the_shallow_sum(tensors: Tensors) -> None:
    found = deep_sums(tensors, window_sums, [text[:READ] for text in TEXTS])
    assert near(found, shallow_sums(tensors, [text[:READ] for text in TEXTS]))


def test_a_text_may_be_read_to_its_end_in_windows(tensors: Tensors, layers: NumpyLayers) -> None:
    text, counts = TEXTS[3], Counter(TEXTS[3])
    amounts = [counts[piece] ** -0.5 * float(tensors["weight"][piece]) for piece in text]
    expected = shallow_sums(tensors, [text])
    for at in range(0, len(text), 128):
        part, some = text[at : at + 128], np.array(amounts[at : at + 128], np.float32)
        expected += layers(vectors_of(tensors, part), [len(part)], some)
    assert near(deep_sums(tensors, layers, [[7], text], whole={1})[1:], expected)


def test_a_long_text_counts_to_its_end(tensors: Tensors, layers: NumpyLayers) -> None:
    short, long = [1] * READ, [1] * READ + [2] * 900
    assert not near(deep_sums(tensors, layers, [short]), deep_sums(tensors, layers, [long]))


def test_windows_are_run_a_bounded_number_at_a_time(
    tensors: Tensors, layers: NumpyLayers, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = deep_sums(tensors, layers, TEXTS)
    seen: list[Sequence[int]] = []

    def run(rows: Floats, lengths: Sequence[int], amounts: Floats) -> Floats:
        seen.append(lengths)
        assert len(rows) == len(amounts) == sum(lengths)
        return layers(rows, lengths, amounts)

    monkeypatch.setattr(deep, "_WINDOWS_AT_ONCE", 4)
    assert near(deep_sums(tensors, run, TEXTS), whole)
    assert seen == [[1, 3, 10, READ], [READ, READ]]


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
