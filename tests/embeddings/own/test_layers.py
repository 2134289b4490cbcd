"""The layers in numpy, beside the same sums done one by one."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from aurora.embeddings.aurora.model import NumpyLayers
from aurora.embeddings.aurora.weights import Floats
from tests.embeddings.own.making import Tensors, make_tensors

Rows = NDArray[np.float64]


def reference(tensors: Tensors, window: Rows) -> Rows:
    """One window, one place, one head after the other, with 64 bits."""

    @cache
    def matrix(name: str) -> Rows:
        return wide(name) * wide(f"{name}.scale")

    def wide(name: str) -> Rows:
        return tensors[name].astype(np.float64)

    def affine(row: Rows, name: str) -> Rows:
        return np.asarray(row @ matrix(name) + wide(f"{name}.bias"))

    def rms(row: Rows) -> Rows:
        return np.asarray(row / math.sqrt(row @ row / 256 + 1e-6))

    h = [np.array(row) for row in window]
    for i in ("0", "1"):
        near = [rms(h[n] + wide("position")[n]) * wide(f"{i}.gain1") for n in range(len(h))]
        qkv = [affine(row, f"{i}.qkv") for row in near]
        for n in range(len(h)):
            joined = np.zeros(256)
            for head in range(0, 256, 64):
                query = qkv[n][head : head + 64]
                scores = [math.exp(query @ each[256 + head : 320 + head] / 8) for each in qkv]
                values = [each[512 + head : 576 + head] for each in qkv]
                joined[head : head + 64] = np.array(scores) / sum(scores) @ np.array(values)
            h[n] = h[n] + affine(joined, f"{i}.out")
        for n in range(len(h)):
            inner = affine(rms(h[n]) * wide(f"{i}.gain2"), f"{i}.up")
            h[n] = h[n] + affine(np.where(inner > 0, inner, 0), f"{i}.down")
    return np.array(h)


@pytest.fixture(scope="module")
def tensors() -> Tensors:
    return make_tensors()


def run(layers: NumpyLayers, given: Floats, lengths: list[int]) -> Floats:
    """The sum of each window, each row by another weight."""
    return layers(given.copy(), lengths, weights(len(given)))


def weights(count: int) -> Floats:
    return np.random.default_rng(8).uniform(0.5, 1.5, count).astype(np.float32)


def rows(*lengths: int) -> Floats:
    return np.random.default_rng(7).normal(0, 0.5, (sum(lengths), 256)).astype(np.float32)


@pytest.mark.parametrize("length", [1, 2, 9, 128])
def test_they_do_what_the_formula_says(tensors: Tensors, length: int) -> None:
    given = rows(length)
    expected = reference(tensors, given.astype(np.float64))
    assert np.abs(expected - given).max() > 0.5  # they do something
    found = run(NumpyLayers(tensors), given, [length])
    assert np.abs(found - weights(length) @ expected).max() < 1e-4 * length


def test_a_window_does_not_see_its_neighbours(tensors: Tensors) -> None:
    layers, lengths = NumpyLayers(tensors), [5, 128, 1, 40, 40]
    given, ends = rows(*lengths), np.cumsum(lengths)[:-1]
    amounts = np.split(weights(len(given)), ends)
    alone = [
        layers(part.copy(), [len(part)], some)
        for part, some in zip(np.split(given, ends), amounts, strict=True)
    ]
    assert np.abs(run(layers, given, lengths) - np.concatenate(alone)).max() < 1e-3


def test_the_number_of_threads_changes_nothing(tensors: Tensors) -> None:
    lengths = [40] * 50 + [128] * 5
    given = rows(*lengths)
    alone = run(NumpyLayers(tensors), given, lengths)
    for threads in (2, 7):
        found = run(NumpyLayers(tensors, threads=threads), given, lengths)
        assert np.abs(found - alone).max() < 1e-3


def test_a_piece_sees_its_window_and_where_it_stands(tensors: Tensors) -> None:
    layers, given = NumpyLayers(tensors), rows(6)
    equal = np.ones(6, np.float32)
    found = layers(given.copy(), [6], equal)
    turned = layers(given[::-1].copy(), [6], equal)
    apart = layers(given.copy(), [3, 3], equal).sum(axis=0)
    assert np.abs(found - turned).max() > 1e-3
    assert np.abs(found - apart).max() > 1e-3


def test_large_scores_and_empty_rows_stay_numbers(tensors: Tensors) -> None:
    steep = {**tensors, "0.qkv.scale": np.full(768, 10, np.float16)}
    given = rows(4)
    given[2] = 0
    assert np.isfinite(run(NumpyLayers(steep), given, [4])).all()
    still = {**tensors, "position": np.zeros_like(tensors["position"])}
    assert np.isfinite(run(NumpyLayers(still), np.zeros((3, 256), np.float32), [3])).all()


def test_layers_of_zeros_change_nothing(tensors: Tensors) -> None:
    zeros = {
        name: np.zeros_like(tensor) if ".out" in name or ".down" in name else tensor
        for name, tensor in tensors.items()
    }
    given = rows(10)
    assert np.allclose(run(NumpyLayers(zeros), given, [10]), weights(10) @ given, atol=1e-5)
