"""Vectors of any model that sentence-transformers runs, with torch (that extra).

A model of the package sentence-transformers: loading it, and telling it from any other.

No code that came with a model is run, and no weights are read that could hold some: only
safetensors. The package is untyped where this project's tools run; `SentenceModel` says what is
used of it.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from importlib import import_module
from itertools import accumulate, chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from aurora.embeddings.base import ProviderOptions
from aurora.errors import EmbeddingError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


_FIRST_SAFE = 6  # before, the code in a local folder was run whatever `trust_remote_code` said
_INSTALL = "pip install --upgrade 'aurora-memory[sentence-transformers]'"


class SentenceModel(Protocol):
    """What is used of `sentence_transformers.SentenceTransformer`."""

    prompts: Mapping[str, str | None]
    max_seq_length: int | None
    tokenizer: Any  # of one of three packages

    def encode_query(
        self, texts: Sequence[str], /, *, prompt: str, **options: object
    ) -> NDArray[np.float32]: ...

    def encode_document(
        self, texts: Sequence[str], /, *, prompt: str, **options: object
    ) -> NDArray[np.float32]: ...

    def state_dict(self) -> Mapping[str, Any]: ...  # of torch tensors

    def __iter__(self) -> Iterator[object]: ...  # its modules


def load_model(name: str) -> SentenceModel:
    """The model of a folder or, by its name, of the hub's copy on this machine, else of the hub.

    The hub is asked only here, for a model that the user's own settings name, and once: then there
    is a copy. Device is what torch sees; without any other, the CPU.
    """
    package, progress = _import(name)
    try:
        progress.disable_progress_bar()  # loading takes a second, and writes over who asked
        return _load(package, name, is_offline=True)
    except Exception as here:  # whatever a half copied or a foreign model makes it say
        if is_folder(name):
            raise _failed(name, here) from here
    try:
        progress.enable_progress_bar()  # fetching takes minutes
        return _load(package, name, is_offline=False)
    except Exception as exc:  # as above, or there is no network
        raise _failed(name, exc) from exc
    finally:
        progress.disable_progress_bar()


def is_folder(name: str) -> bool:
    """Is it a model's place, not its name?"""
    path = Path(name)
    return path.is_absolute() or path.is_dir()


def fingerprint_model(model: SentenceModel, settings: Sequence[str]) -> str:
    """Of all that a vector depends on: the weights above all, wherever they came from."""
    digest = hashlib.sha256()
    parts = [type(module).__name__ + _pooling(module) for module in model]
    digest.update(json.dumps([*parts, model.max_seq_length, *settings]).encode())
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(_bytes(tensor).data)
    return digest.hexdigest()[:16]


def _import(name: str) -> tuple[Any, Any]:
    """The package, and how its progress bars are switched."""
    try:
        package = import_module("sentence_transformers")
        progress = import_module("transformers.utils.logging")
    except ImportError as exc:
        raise EmbeddingError(
            f"The model {name} needs the package sentence-transformers: {exc}", hint=_INSTALL
        ) from exc
    if int(package.__version__.partition(".")[0]) < _FIRST_SAFE:
        raise EmbeddingError(
            f"sentence-transformers {package.__version__} runs code that comes with a model",
            hint=_INSTALL,
        )
    return package, progress


def _load(package: Any, name: str, *, is_offline: bool) -> SentenceModel:
    model: SentenceModel = package.SentenceTransformer(
        name,
        trust_remote_code=False,
        local_files_only=is_offline,
        model_kwargs={"use_safetensors": True},
    )
    return model


def _failed(name: str, exc: Exception) -> EmbeddingError:
    reason = (str(exc) or repr(exc)).splitlines()[0]
    return EmbeddingError(
        f"The model {name} cannot be loaded: {reason}",
        hint="set `embedding.model` to a model's name on the hub (it is fetched once) "
        "or to its folder, with weights in safetensors",
    )


def _pooling(module: object) -> str:
    """How the module that makes one vector of many does it; the weights do not tell."""
    mode = getattr(module, "pooling_mode", "")
    return f" {mode}" if mode else ""


def _bytes(tensor: Any) -> NDArray[np.uint8]:
    """As they are in memory, of any number type: numpy does not know all of torch's."""
    torch = import_module("torch")
    raw: NDArray[np.uint8] = (
        tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy()
    )
    return raw


DEFAULT_MODEL = "sentence-transformers/all-MiniLM-L6-v2"
RECIPE = 1  # of the vectors; raise it when the same text would give another one
_SLACK = 2  # tokens: a word that is cut may have one more on each side
Encode = Callable[..., "NDArray[np.float32]"]
_ALONE = re.compile("[\ud800-\udfff]")  # halves of a pair: tokenizers take none


class SentenceTransformersProvider:
    """The vectors of a model from the hub or a folder; `name` ends with the folder's name.

    A prefix of the settings takes the place of the prompt that a model brings for questions or for
    what is found. The library cuts a text off where the model's window ends, unseen; so a longer
    one is cut here into windows by the rule of `long_texts`, and its vector joined of theirs.
    Threads may share one object; they take turns.
    """

    batch_size = 32

    def __init__(self, options: ProviderOptions) -> None:
        self._source = options.model or DEFAULT_MODEL
        shown = Path(self._source).name if is_folder(self._source) else self._source
        self.name = f"sentence-transformers/{shown.removeprefix('sentence-transformers/')}"
        self._prefixes = options.query_prefix, options.document_prefix
        self._lock = threading.RLock()

    @cached_property
    def dimension(self) -> int:
        return len(self.embed_query("dimension"))

    @cached_property
    def fingerprint(self) -> str:
        with self._lock:
            settings = [str(RECIPE), self._query_prompt, self._document_prompt]
            return fingerprint_model(self._model, settings)

    def embed_batch(self, texts: Sequence[str]) -> list[list[float]]:
        if not texts:
            return []
        with self._lock:
            return self._embed(texts, self._document_prompt, self._model.encode_document)

    def embed_query(self, text: str) -> list[float]:
        with self._lock:
            return self._embed([text], self._query_prompt, self._model.encode_query)[0]

    @cached_property
    def _model(self) -> SentenceModel:
        return load_model(self._source)

    @cached_property
    def _query_prompt(self) -> str:
        return self._prefixes[0] or self._model.prompts.get("query") or ""

    @cached_property
    def _document_prompt(self) -> str:
        brought = map(self._model.prompts.get, ("document", "passage", "corpus"))
        return self._prefixes[1] or next(filter(None, brought), "")

    def _embed(self, texts: Sequence[str], prompt: str, encode: Encode) -> list[list[float]]:
        from aurora.embeddings.pooling import join_windows  # noqa: PLC0415 - it needs numpy

        parts = [self._cut(_ALONE.sub("\ufffd", text), prompt) for text in texts]
        try:
            vectors = encode(
                list(chain(*parts)),
                prompt=prompt,
                batch_size=self.batch_size,
                show_progress_bar=False,
                normalize_embeddings=True,
            )
        except Exception as exc:  # torch, its devices and a model's parts fail in many ways
            reason = (str(exc) or repr(exc)).splitlines()[0]
            raise EmbeddingError(f"{self.name} failed: {reason}") from exc
        ends = list(accumulate(map(len, parts), initial=0))
        # A window's characters stand for its tokens: all but the last are full.
        return [
            join_windows(vectors[at:to], [len(window) or 1 for window in windows]).tolist()
            for windows, (at, to) in zip(parts, pairwise(ends), strict=True)
        ]

    def _cut(self, text: str, prompt: str) -> list[str]:
        limit = self._model.max_seq_length or math.inf
        if limit == math.inf:  # static embeddings, bags of words
            return [text]
        tokenizer = self._model.tokenizer
        around = len(tokenizer(prompt)["input_ids"])  # with the two or so that every text gets
        return cut_windows(text, find_tokens(tokenizer, text), max(1, int(limit) - around))


def find_tokens(tokenizer: Any, text: str) -> list[int]:
    """At which character each token begins; a tokenizer that cannot tell gives even steps."""
    is_telling = bool(getattr(tokenizer, "is_fast", False))
    found = tokenizer(
        text,
        add_special_tokens=False,
        truncation=False,
        return_offsets_mapping=is_telling,
        verbose=False,  # or it warns of long texts
    )
    if is_telling:
        return [start for start, _ in found["offset_mapping"]]
    count = len(found["input_ids"])
    return [len(text) * number // count for number in range(count)]


def cut_windows(text: str, starts: Sequence[int], size: int) -> list[str]:
    """The text itself if it has no more tokens than a window, else its windows."""
    from aurora.embeddings.pooling import split_windows  # noqa: PLC0415 - it needs numpy

    if len(starts) <= size:
        return [text]
    firsts = [window[0] for window in split_windows(starts, max(1, size - _SLACK))]
    cuts = pairwise([0, *firsts[1:], len(text)])
    return [text[at:to] for at, to in cuts if at < to]  # several tokens may be one character
