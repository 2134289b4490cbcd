"""A model of the package sentence-transformers: loading it, and telling it from any other.

No code that came with a model is run, and no weights are read that could hold some: only
safetensors. The package is untyped where this project's tools run; `SentenceModel` says what is
used of it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

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
