"""A ready ONNX model with meaning, for tests: the bundled model as one graph with a tokenizer.

It is installed under the name of the default model of the provider `onnx`. Pieces are cut by the
tokenizers library, without the splitting of humps.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from aurora.embeddings.aurora.provider import FOLDER
from aurora.embeddings.aurora.tokens import PIECES
from aurora.embeddings.aurora.weights import GRAPH as LAYERS
from aurora.embeddings.aurora.weights import WINDOW, read_tensors
from aurora.embeddings.model_folders import GRAPH, TOKENIZER, Manifest
from aurora.embeddings.onnx import DEFAULT_MODEL, OUTPUT

DIMENSION = 256


def install_model(models: Path) -> Path:
    """Put the model into a folder of models, unless it is there; give its own folder.

    Of processes that do so at the same time one wins: the bytes are the same.
    """
    for package in ("onnxruntime", "tokenizers", "onnx"):
        pytest.importorskip(package)
    folder = models / DEFAULT_MODEL
    if not folder.exists():
        half = models / f"{DEFAULT_MODEL}.{os.getpid()}"
        half.mkdir(parents=True)
        pieces = (FOLDER / PIECES).read_text(encoding="utf-8").removesuffix("\n").split("\n")
        _write_graph(len(pieces), half / GRAPH)
        _write_tokenizer(pieces, half / TOKENIZER)
        make_manifest(half)
        try:
            half.rename(folder)
        except OSError:  # another process was faster
            shutil.rmtree(half)
    return folder


def make_manifest(folder: Path, **others: str) -> None:
    """For the files as they now are."""
    digests = {
        name: hashlib.sha256((folder / name).read_bytes()).hexdigest()
        for name in (GRAPH, TOKENIZER)
    }
    Manifest(DEFAULT_MODEL, DIMENSION, WINDOW, files=digests, **others).save(folder)


def _write_graph(pieces: int, path: Path) -> None:
    """The table before the shipped layers, and what both say added up."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    tensors, model = read_tensors(FOLDER, pieces), onnx.load(FOLDER / LAYERS)
    graph, sizes = model.graph, ["batch", "tokens"]
    node, port = helper.make_node, helper.make_tensor_value_info
    scale = tensors["scale"].astype(np.float32)[:, None]
    graph.initializer.extend(
        numpy_helper.from_array(array, name)
        for name, array in {"table": tensors["table"], "table.scale": scale}.items()
    )
    nodes = [
        node("Gather", ["table", "input_ids"], ["whole"]),
        node("Cast", ["whole"], ["wide"], to=TensorProto.FLOAT),
        node("Gather", ["table.scale", "input_ids"], ["scales"]),
        node("Mul", ["wide", "scales"], ["h"]),
        node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
        *graph.node,
        node("Add", ["out", "h"], [OUTPUT]),
    ]
    for field, values in {
        "node": nodes,
        "input": [port(name, TensorProto.INT64, sizes) for name in ("input_ids", "attention_mask")],
        "output": [port(OUTPUT, TensorProto.FLOAT, [*sizes, DIMENSION])],
    }.items():
        graph.ClearField(field)
        getattr(graph, field).extend(values)
    onnx.save(model, path)


def _write_tokenizer(pieces: list[str], path: Path) -> None:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token=pieces[0]))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{pieces[0]} $A {pieces[0]}", special_tokens=[(pieces[0], 0)]
    )
    tokenizer.save(str(path))
