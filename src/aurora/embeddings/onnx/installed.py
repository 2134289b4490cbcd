"""Models that are ready to run: one folder each, with a manifest that tells how to use it.

models/all-minilm-l6-v2/{model.json, model.onnx, tokenizer.json}
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from aurora.errors import EmbeddingError

MANIFEST, GRAPH, TOKENIZER = "model.json", "model.onnx", "tokenizer.json"
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")


@dataclass(frozen=True, slots=True)
class Manifest:
    """What must be known to run a model, and where it came from."""

    name: str
    dimension: int
    window: int  # tokens that are read at once, with the two around them
    pooling: str = "mean"  # or "cls"
    query_prefix: str = ""
    document_prefix: str = ""
    source: str = ""
    licence: str = ""
    files: Mapping[str, str] = field(default_factory=dict)  # name → sha256

    def __post_init__(self) -> None:
        """Raises `ValueError` for what a file may say and no model is."""
        numbers = (self.dimension, self.window)
        texts = (self.name, self.pooling, self.query_prefix, self.document_prefix, self.source)
        if not all(isinstance(number, int) and number > 0 for number in numbers):
            raise ValueError(f"a dimension and a window of {numbers}")
        if not all(isinstance(text, str) for text in (*texts, self.licence)):
            raise ValueError("something that is no text")
        if not isinstance(self.files, dict) or not all(map(_is_file, self.files.items())):
            raise ValueError("files that are none")

    def save(self, folder: Path) -> None:
        text = json.dumps(asdict(self), ensure_ascii=False, indent=2)
        (folder / MANIFEST).write_text(f"{text}\n", encoding="utf-8")


def _is_file(item: tuple[object, object]) -> bool:
    name, sha256 = item
    return name in (GRAPH, TOKENIZER) and isinstance(sha256, str)


def model_folder(models: Path, name: str) -> Path:
    """Where a model of that name is, or would be. A name never leads out of the folder."""
    if not _NAME.fullmatch(name):
        raise EmbeddingError(
            f"{name!r} is no name of a model", hint="use small letters, digits, dots and hyphens"
        )
    return models / name


def read_manifest(folder: Path) -> Manifest:
    """Raises `EmbeddingError` where there is no model, or half of one."""
    try:
        return Manifest(**json.loads((folder / MANIFEST).read_text(encoding="utf-8")))
    except FileNotFoundError as exc:
        raise EmbeddingError(
            f"The model {folder.name} is not installed",
            hint=f"get it with `aur models pull {folder.name}`",
        ) from exc
    except (OSError, ValueError, TypeError) as exc:
        raise EmbeddingError(
            f"The model in {folder} cannot be read: {exc}",
            hint=f"get it again with `aur models pull {folder.name}`",
        ) from exc
