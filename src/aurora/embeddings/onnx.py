"""Embeddings by a transformer encoder that onnxruntime runs (extra `onnx`).

Each window of tokens runs alone. A graph with 8-bit weights quantises all its input with one scale,
so in a batch the vector of a text would depend on its neighbours. One thread runs one window: on
two cores, two windows at a time gave 258 short or 27.9 long texts a second (20 and 200 tokens), and
one at a time with two threads gave 150 and 26.1. It also makes a vector independent of the core
count.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import threading
from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from aurora.embeddings.base import ProviderOptions
from aurora.embeddings.compute import (
    join_windows,
    map_threads,
    products_overflow,
    split_windows,
    unit_rows,
    usable_processors,
)
from aurora.embeddings.model_folders import (
    GRAPH,
    KNOWN,
    TOKENIZER,
    file_digest,
    model_folder,
    pull_command,
    read_manifest,
)
from aurora.errors import EmbeddingError
from aurora.package_manager import install_command

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Rows = NDArray[np.float32]

DEFAULT_MODEL = "all-minilm-l6-v2"
_RECIPE = 1  # raise it when the same files come to give other vectors
_POOLINGS = ("mean", "cls")
_INPUTS = {"input_ids", "attention_mask", "token_type_ids"}
OUTPUT = "last_hidden_state"

# onnxruntime (seen in 1.31) has telemetry, and that is on unless this is set before its import.
_NO_TELEMETRY = ("ORT_DISABLE_TELEMETRY", "1")
_ERRORS_ONLY = 3
_EXACT_PRODUCTS = "session.x64quantprecision"


class OnnxProvider:
    """A model of the folder `models`. Raises `EmbeddingError` where it or a package is missing."""

    batch_size = 32  # windows run one by one, so this only sets how often progress is reported

    def __init__(self, options: ProviderOptions) -> None:
        check_packages()
        self._threads = options.threads
        self._folder = model_folder(options.models, options.model or DEFAULT_MODEL)
        self._manifest = manifest = read_manifest(self._folder)
        if manifest.pooling not in _POOLINGS:
            raise EmbeddingError(
                f"The model {manifest.name} wants the pooling {manifest.pooling!r}",
                hint=f"only {' and '.join(_POOLINGS)} are supported",
            )
        self._query_prefix = options.query_prefix or manifest.query_prefix
        self._document_prefix = options.document_prefix or manifest.document_prefix
        known = KNOWN.get(self._folder.name)
        self.name, self.dimension = f"onnx/{self._folder.name}", manifest.dimension
        self.reads_cjk = known is None or known.reads_cjk

    @property
    def fingerprint(self) -> str:
        model = self._manifest
        prefixes = [self._query_prefix, self._document_prefix]
        facts = [_RECIPE, model.pooling, model.window, prefixes, sorted(model.files.items())]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]

    def embed_batch(self, texts: Sequence[str]) -> list[list[float]]:
        vectors: list[list[float]] = self._encoder.embed(texts, self._document_prefix).tolist()
        return vectors

    def embed_query(self, text: str) -> list[float]:
        vector: list[float] = self._encoder.embed([text], self._query_prefix)[0].tolist()
        return vector

    def token_vectors(self, text: str, *, is_query: bool = False) -> Rows:
        """A vector of length 1 for each token of the text, for late interaction."""
        prefix = self._query_prefix if is_query else self._document_prefix
        return self._encoder.embed_tokens(text, prefix)

    @cached_property
    def _encoder(self) -> Encoder:
        return Encoder(self._folder, threads=self._threads)


class Window(NamedTuple):
    """Token ids that run together: the model's first token, a prefix, text, the model's last."""

    ids: Sequence[int]
    start: int  # where the tokens of the text begin and end
    stop: int


class _OpenModel(NamedTuple):
    tokenizer: Tokenizer
    begin: Sequence[int]
    end: Sequence[int]
    session: Session
    inputs: Sequence[str]


class Encoder:
    """The model in a folder. The first text opens its files, once for all threads."""

    def __init__(self, folder: Path, *, threads: int = 0) -> None:
        self._manifest = read_manifest(folder)
        self._folder = folder
        self._threads = threads or usable_processors()
        self._lock = threading.Lock()
        self._model: _OpenModel | None = None

    def embed(self, texts: Sequence[str], prefix: str) -> Rows:
        """One row of length 1 per text. The windows of all texts share the threads."""
        windows = [self.split(text, prefix) for text in texts]
        flat = [window for text in windows for window in text]
        pooled = iter(map_threads(self._pool, flat, self._threads))
        joined = [
            join_windows(np.stack([next(pooled) for _ in text]), [len(each.ids) for each in text])
            for text in windows
        ]
        return np.array(joined, np.float32)

    def embed_tokens(self, text: str, prefix: str) -> Rows:
        """One row of length 1 per token of the text, without the tokens around it."""

        def rows(window: Window) -> Rows:
            return unit_rows(self.run(window.ids)[window.start : window.stop])

        return np.concatenate(map_threads(rows, self.split(text, prefix), self._threads))

    def split(self, text: str, prefix: str = "") -> list[Window]:
        """The text in windows that fit the model, each with the prefix before it."""
        model = self._open()
        before = [*model.begin, *_tokenize(model.tokenizer, prefix.rstrip())]
        room = self._manifest.window - len(before) - len(model.end)
        return [
            Window([*before, *part, *model.end], len(before), len(before) + len(part))
            for part in split_windows(_tokenize(model.tokenizer, text), room)
        ]

    def run(self, ids: Sequence[int]) -> Rows:
        """The model's output: one row per token."""
        model, row = self._open(), np.array([ids], np.int64)
        inputs = {name: np.ones_like(row) for name in model.inputs}
        inputs["input_ids"] = row
        if "token_type_ids" in inputs:
            inputs["token_type_ids"] = np.zeros_like(row)
        try:
            rows: Rows = model.session.run([OUTPUT], inputs)[0][0]
        except Exception as exc:  # the runtime's errors have no common base
            raise EmbeddingError(f"The model {self._manifest.name} failed: {exc}") from exc
        return rows

    def _pool(self, window: Window) -> Rows:
        rows = self.run(window.ids)
        is_first = self._manifest.pooling == "cls"
        return unit_rows(rows[0] if is_first else rows.mean(axis=0, dtype=np.float64))

    def _open(self) -> _OpenModel:
        with self._lock:
            if self._model is None:
                self._model = self._open_files()
            return self._model

    def _open_files(self) -> _OpenModel:
        tokenizer = _open_tokenizer(self._checked(TOKENIZER))
        around = tokenizer.encode("").ids
        session = open_session(self._checked(GRAPH))
        inputs = [each.name for each in session.get_inputs()]
        outputs = [each.name for each in session.get_outputs()]
        if "input_ids" not in inputs or set(inputs) - _INPUTS or OUTPUT not in outputs:
            ends = f"{', '.join(inputs)} into {', '.join(outputs)}"
            raise EmbeddingError(
                f"The model {self._manifest.name} turns {ends}",
                hint=f"use a model that turns input_ids into {OUTPUT}",
            )
        return _OpenModel(tokenizer, around[:1], around[1:], session, inputs)

    def _checked(self, name: str) -> Path:
        """The file, if it has the digest of the manifest, on which the fingerprint depends."""
        file = self._folder / name
        try:
            digest = file_digest(file)
        except OSError as exc:
            raise _damaged(self._folder, f"{file} cannot be read: {exc.strerror or exc}") from exc
        if digest != self._manifest.files.get(name):
            raise _damaged(self._folder, f"{file} is damaged: it is not what was installed")
        return file


def _tokenize(tokenizer: Tokenizer, text: str) -> list[int]:
    valid = text.encode("utf-8", "replace").decode("utf-8")  # without half surrogate pairs
    ids: list[int] = tokenizer.encode(valid, add_special_tokens=False).ids
    return ids


def _open_tokenizer(file: Path) -> Tokenizer:
    tokenizers = _load("tokenizers")
    try:
        tokenizer: Tokenizer = tokenizers.Tokenizer.from_file(str(file))
    except Exception as exc:  # it raises nothing more specific
        raise _damaged(file.parent, f"{file} is not a tokenizer: {exc}") from exc
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def _damaged(folder: Path, message: str) -> EmbeddingError:
    return EmbeddingError(message, hint=f"get it again with {pull_command(folder.name)}")


class Port(Protocol):
    """An input or output of a graph."""

    @property
    def name(self) -> str: ...

    @property
    def shape(self) -> Sequence[int | str | None]: ...


class Session(Protocol):
    """The part of onnxruntime's session that is used here; the package has no types."""

    def get_inputs(self) -> Sequence[Port]: ...

    def get_outputs(self) -> Sequence[Port]: ...

    def run(
        self, outputs: Sequence[str], inputs: Mapping[str, NDArray[Any]]
    ) -> Sequence[NDArray[np.float32]]: ...


def open_session(graph: Path, cpuinfo: Path = Path("/proc/cpuinfo")) -> Session:
    """Raises `EmbeddingError` where the package is missing or the file is not a graph."""
    runtime = _load("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = _ERRORS_ONLY
    if products_overflow(platform.machine(), cpuinfo):
        options.add_session_config_entry(_EXACT_PRODUCTS, "1")
    try:
        session: Session = runtime.InferenceSession(
            str(graph), options, providers=["CPUExecutionProvider"]
        )
    except Exception as exc:  # the runtime's errors have no common base
        raise _damaged(graph.parent, f"The model {graph} cannot be opened: {exc}") from exc
    return session


def check_packages() -> None:
    """Raises `EmbeddingError` for a package that is not installed; imports none."""
    for name in ("onnxruntime", "tokenizers"):
        if find_spec(name) is None:
            raise _missing(name, "is not installed")


def _load(name: str) -> ModuleType:
    os.putenv(*_NO_TELEMETRY)  # for the library alone, which calls getenv
    try:
        return import_module(name)
    except ImportError as exc:
        state = f"cannot be loaded: {exc}" if find_spec(name) else "is not installed"
        raise _missing(name, state) from exc


def _missing(name: str, state: str) -> EmbeddingError:
    return EmbeddingError(
        f"The package {name} {state}", hint=f"get it with `{install_command('onnx')}`"
    )
