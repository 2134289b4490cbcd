"""onnxruntime runs the layers where it can, and numpy wherever it cannot."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, save_model

from aurora.embeddings.aurora.model import LayerRunner, NumpyLayers, OnnxLayers, window_sums
from aurora.embeddings.aurora.weights import GRAPH, Floats, piece_vectors
from aurora.embeddings.compute import unit_rows
from tests.embeddings.own.making import Tensors, make_model, make_tensors
from training.model.graph import write_layers

LENGTHS = [3, 128, 1, 40, 41, 5, 7, 128, 2, 60, 61, 62, 63, 64, 12, 11, 10, 90]


@pytest.fixture(scope="module")
def tensors() -> Tensors:
    return make_tensors()


@pytest.fixture(scope="module")
def folder(tensors: Tensors, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = make_model(tmp_path_factory.mktemp("model"), tensors)
    write_layers(tensors, folder / GRAPH)
    return folder


def rows(tensors: Tensors, lengths: list[int]) -> Floats:
    pieces = np.random.default_rng(3).integers(0, len(tensors["table"]), sum(lengths))
    return piece_vectors(tensors, pieces)


def equal(lengths: list[int]) -> Floats:
    return np.ones(sum(lengths), np.float32)


def by_numpy(tensors: Tensors, given: Floats, lengths: list[int] = LENGTHS) -> Floats:
    return NumpyLayers(tensors)(given.copy(), lengths, equal(lengths))


def test_both_ways_give_the_same_vectors(tensors: Tensors, folder: Path) -> None:
    given = rows(tensors, LENGTHS)
    found = OnnxLayers(folder / GRAPH, threads=2)(given, LENGTHS)
    assert found is not None
    sums = window_sums(found, LENGTHS, equal(LENGTHS))
    assert (unit_rows(sums) * unit_rows(by_numpy(tensors, given))).sum(axis=1).min() > 0.999


def test_the_number_of_threads_changes_nothing(tensors: Tensors, folder: Path) -> None:
    given = rows(tensors, LENGTHS)
    one, three = (OnnxLayers(folder / GRAPH, threads=threads)(given, LENGTHS) for threads in (1, 3))
    assert one is not None
    assert three is not None
    assert np.array_equal(one, three)


@pytest.mark.parametrize("is_quick", [True, False])
def test_many_windows_go_to_the_graph_where_that_is_quick(
    tensors: Tensors, folder: Path, is_quick: bool
) -> None:
    given = rows(tensors, LENGTHS)
    found = LayerRunner(tensors, folder, threads=1, use_onnx=is_quick)(
        given.copy(), LENGTHS, equal(LENGTHS)
    )
    assert np.array_equal(found, by_numpy(tensors, given)) is not is_quick


def test_few_windows_do_not_wait_for_the_package(tensors: Tensors, folder: Path) -> None:
    few = LENGTHS[:15]
    given = rows(tensors, few)
    found = LayerRunner(tensors, folder, threads=1, use_onnx=True)(given.copy(), few, equal(few))
    assert np.array_equal(found, by_numpy(tensors, given, few))


def test_without_the_package_there_is_no_graph_and_no_word_about_it(
    tensors: Tensors,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)  # as Python is told that there is none
    given = rows(tensors, LENGTHS)
    found = LayerRunner(tensors, folder, threads=1, use_onnx=True)(
        given.copy(), LENGTHS, equal(LENGTHS)
    )
    assert np.array_equal(found, by_numpy(tensors, given))
    assert caplog.records == []


def no_graph(path: Path) -> None:
    path.write_bytes(b"no graph")


def another_graph(path: Path) -> None:
    """It opens, but takes something else."""
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in ("in", "out")]
    nodes = [helper.make_node("Identity", ["in"], ["out"])]
    made = helper.make_graph(nodes, "another", ports[:1], ports[1:])
    opsets = [helper.make_opsetid("", 17)]
    save_model(helper.make_model(made, opset_imports=opsets, ir_version=8), str(path))


@pytest.mark.parametrize("damage", [Path.unlink, no_graph, another_graph])
def test_a_graph_that_cannot_be_run_leaves_the_work_to_numpy(
    tensors: Tensors,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    damage: Callable[[Path], None],
) -> None:
    damage(make_model(tmp_path, tensors) / GRAPH)
    given = rows(tensors, LENGTHS)
    runtime = LayerRunner(tensors, tmp_path, threads=1, use_onnx=True)
    for _ in range(2):
        assert np.array_equal(
            runtime(given.copy(), LENGTHS, equal(LENGTHS)), by_numpy(tensors, given)
        )
    (told,) = caplog.records  # once
    assert told.levelno == logging.WARNING
    assert GRAPH in told.message
