"""The model's layers as an ONNX graph, for onnxruntime.

    h, mask  →  out        windows × places × 256 in and out; a mask of 0 is no place

Matrices stay the int8 of the model's file. What they are multiplied with becomes 8 bits while it
runs, each place by a scale of its own, so that no vector depends on what it is computed beside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from aurora.embeddings.aurora.weights import LAYERS, WIDTH

HEADS = 4
EPSILON = 1e-6
_OPSET, _IR = 18, 9  # what onnxruntime has read since 1.15
_FUSED = "com.microsoft"  # the domain of onnxruntime's own operators

Tensors = Mapping[str, NDArray[np.generic]]


def write_layers(tensors: Tensors, path: Path) -> None:
    """Write the graph of the tensors that `model.safetensors` holds."""
    graph = _Graph(tensors)
    rows = "h"
    for number in range(LAYERS):
        rows = graph.layer(f"{number}.", rows)
    graph.node("Identity", [rows], "out")
    graph.save(path)


class _Graph:
    """Nodes and constants put together; every method gives the name of what it computes."""

    def __init__(self, tensors: Tensors) -> None:
        self._tensors = tensors
        self._nodes: list[onnx.NodeProto] = []
        self._constants: dict[str, onnx.TensorProto] = {}
        self._constant("last", np.array([-1], np.int64))
        self._constant("first", np.array([0], np.int64))
        self._constant("least", np.array(1e-12, np.float32))
        self._floats("position")
        self.node("Shape", ["h"], "length", start=1, end=2)
        self.node("Slice", ["position", "first", "length"], "places")
        self.node("Cast", ["mask"], "seen", to=TensorProto.INT32)

    def layer(self, at: str, rows: str) -> str:
        """Attention, then the wider layer; each adds to what came in."""
        placed = self.node("Add", [rows, "places"], f"{at}placed")
        near = self._normed(f"{at}gain1", placed)
        split = [f"{at}query", f"{at}key", f"{at}value"]
        self.node("Split", [self._product(f"{at}qkv", near)], *split, axis=-1, num_outputs=3)
        inputs = [*split, "", "seen"]
        heads = self.node("MultiHeadAttention", inputs, f"{at}heads", fused=True, num_heads=HEADS)
        rows = self.node("Add", [rows, self._product(f"{at}out", heads)], f"{at}mixed")
        wide = self._product(f"{at}up", self._normed(f"{at}gain2", rows))
        bent = self.node("Relu", [wide], f"{at}relu")
        added = self._product(f"{at}down", bent, positive=True)
        return self.node("Add", [rows, added], f"{at}done")

    def _normed(self, gain: str, rows: str) -> str:
        """By the root of the mean square: a layer norm that does not centre."""
        inputs = [rows, self._floats(gain)]
        return self.node(
            "SimplifiedLayerNormalization", inputs, f"{gain}.out", axis=-1, epsilon=EPSILON
        )

    def _product(self, name: str, rows: str, *, positive: bool = False) -> str:
        """Rows of 8 bits times the matrix, and its bias.

        Signs are told by a zero of 128: where both factors are signed, processors of today take
        three times as long. What is never negative has all 255 steps for itself.
        """
        steps, zero = (255, 0) if positive else (127, 128)
        step = self._constant(f"step{steps}", np.array(1 / steps, np.float32))
        middle = self._constant(f"zero{zero}", np.array(zero, np.uint8))
        sizes = rows if positive else self.node("Abs", [rows], f"{name}.sizes")
        largest = self.node("ReduceMax", [sizes, "last"], f"{name}.largest")
        scale = self.node("Max", [largest, "least"], f"{name}.row")  # a row of zeros stays one
        shares = self.node("Div", [rows, scale], f"{name}.shares")
        whole = self.node("QuantizeLinear", [shares, step, middle], f"{name}.whole")
        matrix = self._constant(name, np.asarray(self._tensors[name]))
        inputs = [whole, matrix, step, self._floats(f"{name}.scale"), middle]
        product = self.node("MatMulIntegerToFloat", inputs, f"{name}.product", fused=True)
        scaled = self.node("Mul", [product, scale], f"{name}.scaled")
        return self.node("Add", [scaled, self._floats(f"{name}.bias")], f"{name}.done")

    def _floats(self, name: str) -> str:
        return self._constant(name, self._tensors[name].astype(np.float32))

    def _constant(self, name: str, array: NDArray[np.generic]) -> str:
        self._constants[name] = numpy_helper.from_array(np.ascontiguousarray(array), name)
        return name

    def node(
        self, kind: str, inputs: Sequence[str], *outputs: str, fused: bool = False, **options: Any
    ) -> str:
        domain = _FUSED if fused else ""
        self._nodes.append(helper.make_node(kind, inputs, outputs, domain=domain, **options))
        return outputs[0]

    def save(self, path: Path) -> None:
        sizes: list[str | int | None] = ["windows", "places"]
        rows = [*sizes, WIDTH]
        graph = helper.make_graph(
            self._nodes,
            "layers",
            [
                helper.make_tensor_value_info("h", TensorProto.FLOAT, rows),
                helper.make_tensor_value_info("mask", TensorProto.FLOAT, sizes),
            ],
            [helper.make_tensor_value_info("out", TensorProto.FLOAT, rows)],
            list(self._constants.values()),
        )
        opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid(_FUSED, 1)]
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=_IR), str(path))
