"""Vectors of any model that sentence-transformers runs, with torch (extra of the same name).

No code that comes with a model is run, and only weights in safetensors are read, which cannot hold
code. The package has no types where this project's tools run; `SentenceModel` declares what is
used.
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
from aurora.embeddings.compute import join_windows, split_windows
from aurora.errors import EmbeddingError
from aurora.package_manager import install_command

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DEFAULT_MODEL = "sentence-transformers/all-MiniLM-L6-v2"
RECIPE = 1  # of the vectors; raise it when the same text would give another one
_SLACK = 2  # tokens: a word that is cut may have one more on each side
_FIRST_SAFE = 6  # older versions run the code in a local folder despite `trust_remote_code`
_EXTRA = "sentence-transformers"
_LONE_SURROGATES = re.compile("[\ud800-\udfff]")  # tokenizers refuse them

Encode = Callable[..., "NDArray[np.float32]"]


class SentenceTransformersProvider:
    """The vectors of a model from the hub or a folder; `name` ends with the folder's name.

    A prefix of the settings replaces the prompt that a model has for queries or documents. The
    library cuts a text at the end of the model's window without a word; a longer text is split here
    into windows, as `compute` describes. Threads may share one object; they take turns.
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
        prompts = map(self._model.prompts.get, ("document", "passage", "corpus"))
        return self._prefixes[1] or next(filter(None, prompts), "")

    def _embed(self, texts: Sequence[str], prompt: str, encode: Encode) -> list[list[float]]:
        windows = [self._split(_LONE_SURROGATES.sub("\ufffd", text), prompt) for text in texts]
        try:
            vectors = encode(
                list(chain(*windows)),
                prompt=prompt,
                batch_size=self.batch_size,
                show_progress_bar=False,
                normalize_embeddings=True,
            )
        except Exception as exc:  # torch, its devices and a model's parts fail in many ways
            reason = (str(exc) or repr(exc)).splitlines()[0]
            raise EmbeddingError(f"{self.name} failed: {reason}") from exc
        ends = list(accumulate(map(len, windows), initial=0))
        # Characters stand for tokens as weights: all windows but the last are full.
        return [
            join_windows(vectors[start:stop], [len(window) or 1 for window in text]).tolist()
            for text, (start, stop) in zip(windows, pairwise(ends), strict=True)
        ]

    def _split(self, text: str, prompt: str) -> list[str]:
        limit = self._model.max_seq_length or math.inf
        if limit == math.inf:  # static embeddings, bags of words
            return [text]
        tokenizer = self._model.tokenizer
        around = len(tokenizer(prompt)["input_ids"])  # with the special tokens
        return cut_windows(text, find_tokens(tokenizer, text), max(1, int(limit) - around))


def find_tokens(tokenizer: Any, text: str) -> list[int]:
    """The character where each token begins; even steps if the tokenizer has no offsets."""
    has_offsets = bool(getattr(tokenizer, "is_fast", False))
    tokens = tokenizer(
        text,
        add_special_tokens=False,
        truncation=False,
        return_offsets_mapping=has_offsets,
        verbose=False,  # no warning about long texts
    )
    if has_offsets:
        return [start for start, _ in tokens["offset_mapping"]]
    count = len(tokens["input_ids"])
    return [len(text) * number // count for number in range(count)]


def cut_windows(text: str, starts: Sequence[int], size: int) -> list[str]:
    """The windows of a text whose tokens begin at `starts`; the text itself if it fits in one."""
    if len(starts) <= size:
        return [text]
    firsts = [window[0] for window in split_windows(starts, max(1, size - _SLACK))]
    cuts = pairwise([0, *firsts[1:], len(text)])
    return [text[start:stop] for start, stop in cuts if start < stop]  # a character of many tokens


class SentenceModel(Protocol):
    """The part of `sentence_transformers.SentenceTransformer` that is used here."""

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
    """Load the model of a folder, of the local copy of a hub's model, or of the hub.

    The hub is asked only for a model that the user's settings name and that has no local copy.
    torch chooses the device.
    """
    package, progress = _import(name)
    try:
        progress.disable_progress_bar()  # loading takes a second, and would write over the output
        return _load(package, name, is_offline=True)
    except Exception as exc:  # an incomplete or foreign model raises anything
        if is_folder(name):
            raise _failed(name, exc) from exc
    try:
        progress.enable_progress_bar()  # a download takes minutes
        return _load(package, name, is_offline=False)
    except Exception as exc:  # as above, or there is no network
        raise _failed(name, exc) from exc
    finally:
        progress.disable_progress_bar()


def is_folder(name: str) -> bool:
    """Whether it is the path of a model, and not its name."""
    path = Path(name)
    return path.is_absolute() or path.is_dir()


def fingerprint_model(model: SentenceModel, settings: Sequence[str]) -> str:
    """A digest of everything that a vector depends on, first of all the weights."""
    digest = hashlib.sha256()
    modules = [f"{type(module).__name__}{_pooling(module)}" for module in model]
    digest.update(json.dumps([*modules, model.max_seq_length, *settings]).encode())
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(_bytes(tensor).data)
    return digest.hexdigest()[:16]


def _pooling(module: object) -> str:
    """The mode of a pooling module, which the weights do not show."""
    mode = getattr(module, "pooling_mode", "")
    return f" {mode}" if mode else ""


def _bytes(tensor: Any) -> NDArray[np.uint8]:
    """The bytes in memory, since numpy does not have all of torch's number types."""
    torch = import_module("torch")
    raw: NDArray[np.uint8] = (
        tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy()
    )
    return raw


def _import(name: str) -> tuple[Any, Any]:
    """The package, and the module that switches its progress bars."""
    try:
        package = import_module("sentence_transformers")
        progress = import_module("transformers.utils.logging")
    except ImportError as exc:
        raise EmbeddingError(
            f"The model {name} needs the package sentence-transformers: {exc}",
            hint=install_command(_EXTRA),
        ) from exc
    if int(package.__version__.partition(".")[0]) < _FIRST_SAFE:
        raise EmbeddingError(
            f"sentence-transformers {package.__version__} runs code that comes with a model",
            hint=install_command(_EXTRA),
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
