"""A model's tokenizer and graph: texts into ids, ids into the vectors of their tokens.

Every window of tokens is run alone. A graph of 8-bit weights quantises all that it is given at once
by one scale, so in a batch a text's vector would depend on its neighbours.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from aurora.embeddings.onnx.installed import GRAPH, TOKENIZER, read_manifest
from aurora.embeddings.onnx.packages import load_package
from aurora.embeddings.onnx.processors import usable_processors
from aurora.embeddings.onnx.session import Session, open_session
from aurora.embeddings.pooling import split_windows
from aurora.errors import EmbeddingError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

T = TypeVar("T")
Rows = NDArray[np.float32]

_INPUTS = {"input_ids", "attention_mask", "token_type_ids"}
_OUTPUT = "last_hidden_state"


class Window(NamedTuple):
    """What is run at once: the model's beginning, a prefix, some of the text, the model's end."""

    ids: Sequence[int]
    start: int  # where the text's own tokens are
    stop: int


class _Opened(NamedTuple):
    tokenizer: Tokenizer
    begin: Sequence[int]
    end: Sequence[int]
    session: Session
    inputs: Sequence[str]


class Encoder:
    """The model in a folder: opened with the first text, once for all threads."""

    def __init__(self, folder: Path, *, threads: int = 0) -> None:
        self.manifest = read_manifest(folder)
        self._folder = folder
        self._threads = threads or usable_processors()
        self._opening = threading.Lock()
        self._opened: _Opened | None = None

    def tokens(self, text: str, prefix: str = "") -> list[Window]:
        """The text in windows that fit the model, each with the prefix before it."""
        begin, end = self._open().begin, self._open().end
        before = [*begin, *self._ids(prefix.rstrip())]
        parts = split_windows(self._ids(text), self.manifest.window - len(before) - len(end))
        return [
            Window([*before, *part, *end], len(before), len(before) + len(part)) for part in parts
        ]

    def hidden(self, ids: Sequence[int]) -> Rows:
        """One row a token, of the model's width."""
        opened, row = self._open(), np.array([ids], np.int64)
        given = {name: np.ones_like(row) for name in opened.inputs}
        given["input_ids"] = row
        if "token_type_ids" in given:
            given["token_type_ids"] = np.zeros_like(row)
        try:
            rows: Rows = opened.session.run([_OUTPUT], given)[0][0]
        except Exception as exc:  # the runtime's errors have no base of their own
            raise EmbeddingError(f"The model {self.manifest.name} failed: {exc}") from exc
        return rows

    def each(self, work: Callable[[Window], T], windows: Sequence[Window]) -> list[T]:
        """What the work makes of every window, in order; as many at a time as there are cores."""
        threads = min(self._threads, len(windows))
        if threads < 2:
            return [work(window) for window in windows]
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(work, windows))

    def _ids(self, text: str) -> list[int]:
        whole = text.encode("utf-8", "replace").decode("utf-8")  # half a surrogate pair is no text
        ids: list[int] = self._open().tokenizer.encode(whole, add_special_tokens=False).ids
        return ids

    def _open(self) -> _Opened:
        with self._opening:
            if self._opened is None:
                self._opened = self._open_files()
            return self._opened

    def _open_files(self) -> _Opened:
        tokenizer = _open_tokenizer(self._checked(TOKENIZER))
        around = tokenizer.encode("").ids
        session = open_session(self._checked(GRAPH))
        inputs = [each.name for each in session.get_inputs()]
        outputs = [each.name for each in session.get_outputs()]
        if "input_ids" not in inputs or set(inputs) - _INPUTS or _OUTPUT not in outputs:
            ends = f"{', '.join(inputs)} into {', '.join(outputs)}"
            raise EmbeddingError(
                f"The model {self.manifest.name} turns {ends}",
                hint=f"a model is needed that turns input_ids into {_OUTPUT}",
            )
        return _Opened(tokenizer, around[:1], around[1:], session, inputs)

    def _checked(self, name: str) -> Path:
        """The file, if it is the one that was installed: its vectors go by the manifest's name."""
        file = self._folder / name
        try:
            with file.open("rb") as stream:
                digest = hashlib.file_digest(stream, "sha256").hexdigest()
        except OSError as exc:
            raise _damaged(self._folder, f"{file} cannot be read: {exc.strerror or exc}") from exc
        if digest != self.manifest.files.get(name):
            raise _damaged(self._folder, f"{file} is damaged: it is not what was installed")
        return file


def _open_tokenizer(file: Path) -> Tokenizer:
    tokenizers = load_package("tokenizers")
    try:
        tokenizer: Tokenizer = tokenizers.Tokenizer.from_file(str(file))
    except Exception as exc:  # it raises nothing more particular
        raise _damaged(file.parent, f"{file} is no tokenizer: {exc}") from exc
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def _damaged(folder: Path, what: str) -> EmbeddingError:
    return EmbeddingError(what, hint=f"get it again with `aur models pull {folder.name}`")
