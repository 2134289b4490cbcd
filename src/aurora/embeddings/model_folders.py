"""The installed ONNX models: one folder each, with a manifest that says how to run it.

    models/all-minilm-l6-v2/{model.json, model.onnx, tokenizer.json}

A model is written to a folder `.pull-…` beside the others and renamed when it is complete. One
process at a time changes the folder of models; the next one removes what a killed process left.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import NamedTuple

from aurora.errors import EmbeddingError
from aurora.files import make_folder
from aurora.platforms import lock
from aurora.report_types import ModelEntry, ModelState

MANIFEST, GRAPH, TOKENIZER = "model.json", "model.onnx", "tokenizer.json"
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")
_LOCK, _WORK, _OLD = ".lock", ".pull-", ".old-"


class ModelUse(NamedTuple):
    """How a model is run: tokens read at once, pooling, and texts to put before each input."""

    window: int
    pooling: str = "mean"  # or "cls"
    query_prefix: str = ""
    document_prefix: str = ""


class KnownModel(NamedTuple):
    """A model that `aur models pull NAME --from hub` finds by its name alone."""

    repository: str  # on the hub
    dimension: int
    licence: str
    use: ModelUse
    reads_cjk: bool = True


KNOWN: Mapping[str, KnownModel] = {
    "all-minilm-l6-v2": KnownModel(
        "sentence-transformers/all-MiniLM-L6-v2",
        384,
        "Apache-2.0",
        ModelUse(256),
        reads_cjk=False,  # its vocabulary is English
    ),
    "multilingual-e5-small": KnownModel(
        "intfloat/multilingual-e5-small",
        384,
        "MIT",
        ModelUse(512, query_prefix="query: ", document_prefix="passage: "),
    ),
}


@dataclass(frozen=True, slots=True)
class Manifest:
    """The content of `model.json`: how to run a model, and where it came from."""

    name: str
    dimension: int
    window: int  # tokens, with the special ones around a text
    pooling: str = "mean"  # or "cls"
    query_prefix: str = ""
    document_prefix: str = ""
    source: str = ""
    licence: str = ""
    files: Mapping[str, str] = field(default_factory=dict)  # name → sha256

    def __post_init__(self) -> None:
        """Raises `ValueError` for values that no model has."""
        numbers = (self.dimension, self.window)
        texts = (self.name, self.pooling, self.query_prefix, self.document_prefix, self.source)
        if not all(isinstance(number, int) and number > 0 for number in numbers):
            raise ValueError(f"a dimension and a window of {numbers}")
        if not all(isinstance(text, str) for text in (*texts, self.licence)):
            raise ValueError("a text field holds something else")
        if not isinstance(self.files, dict) or not all(map(_is_file, self.files.items())):
            raise ValueError("`files` does not map file names to digests")

    def save(self, folder: Path) -> None:
        text = json.dumps(asdict(self), ensure_ascii=False, indent=2)
        (folder / MANIFEST).write_text(f"{text}\n", encoding="utf-8")


def _is_file(item: tuple[object, object]) -> bool:
    name, sha256 = item
    return name in (GRAPH, TOKENIZER) and isinstance(sha256, str)


def read_manifest(folder: Path) -> Manifest:
    """Raises `EmbeddingError` where a model is missing or incomplete."""
    try:
        return Manifest(**json.loads((folder / MANIFEST).read_text(encoding="utf-8")))
    except FileNotFoundError as exc:
        raise EmbeddingError(
            f"The model {folder.name} is not installed",
            hint=f"get it with {pull_command(folder.name)}",
        ) from exc
    except (OSError, ValueError, TypeError) as exc:
        raise EmbeddingError(
            f"The model in {folder} cannot be read: {exc}",
            hint=f"get it again with {pull_command(folder.name)}",
        ) from exc


def file_digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def pull_command(name: str) -> str:
    """The command that installs a model, for hints."""
    return f"`aur models pull {name} --from {'hub' if name in KNOWN else 'FOLDER'}`"


def model_folder(models: Path, name: str) -> Path:
    """Where a model of that name is, or would be. No name leads out of the folder of models."""
    if not _NAME.fullmatch(name):
        raise EmbeddingError(
            f"{name!r} is not the name of a model",
            hint="use small letters, digits, dots and hyphens",
        )
    return models / name


@contextmanager
def working_folder(models: Path) -> Iterator[Path]:
    """Lock the folder of models, and give an empty folder in it, which is deleted at the end."""
    try:
        make_folder(models)
        file = (models / _LOCK).open("ab")
    except OSError as exc:
        raise EmbeddingError(
            f"Cannot write to {models}: {exc.strerror}", hint="check who owns the folder"
        ) from exc
    with file:
        try:
            lock(file)
        except OSError as exc:
            raise EmbeddingError(
                f"Another process is changing the models in {models}",
                hint="wait until it is done, then try again",
            ) from exc
        _tidy(models)
        work = Path(mkdtemp(prefix=_WORK, dir=models))
        try:
            yield work
        finally:
            rmtree(work, ignore_errors=True)


def install_folder(new: Path, models: Path, name: str) -> None:
    """Move a complete model to its place, and delete the one that was there before."""
    folder, old = model_folder(models, name), models / f"{_OLD}{name}"
    if folder.exists() or folder.is_symlink():
        folder.rename(old)
    try:
        new.rename(folder)  # after a kill just before this, `_tidy` brings the old one back
    except OSError:
        if old.exists():
            old.rename(folder)
        raise
    _delete(old)


def require_model(models: Path, name: str) -> Path:
    """The folder of a model, complete or not. Raises `EmbeddingError` when there is none."""
    folder = model_folder(models, name)
    if not (folder.exists() or folder.is_symlink()):
        raise EmbeddingError(
            f"The model {name} is not installed",
            hint="`aur models list` shows the installed models",
        )
    return folder


def remove_model(models: Path, name: str) -> None:
    """Delete a model, complete or not."""
    folder = require_model(models, name)
    with working_folder(models) as work:
        try:
            folder.rename(work / name)
        except OSError as exc:
            raise EmbeddingError(f"{folder} cannot be removed: {exc.strerror}") from exc
        _delete(work / name)


def list_models(models: Path) -> list[ModelEntry]:
    """The models known by name, then all others that are installed."""
    names: set[str] = set()
    with suppress(OSError):  # no model was pulled yet
        names = {path.name for path in models.iterdir() if path.name[:1] != "." and path.is_dir()}
    return [_entry(models, name) for name in (*KNOWN, *sorted(names - {*KNOWN}))]


def _entry(models: Path, name: str) -> ModelEntry:
    folder = models / name
    if not folder.exists():
        known = KNOWN[name]
        return ModelEntry(
            name,
            ModelState.KNOWN,
            known.dimension,
            known.use.window,
            source=f"hub {known.repository}",
            licence=known.licence,
        )
    try:
        manifest = read_manifest(folder)
        size = sum((folder / file).stat().st_size for file in (MANIFEST, *manifest.files))
    except (EmbeddingError, OSError):
        return ModelEntry(name, ModelState.DAMAGED)
    return ModelEntry(
        name,
        ModelState.INSTALLED,
        manifest.dimension,
        manifest.window,
        size,
        manifest.source,
        manifest.licence,
    )


def _tidy(models: Path) -> None:
    """Remove what a killed process left, and restore a model that it was about to replace."""
    for path in models.glob(f"{_OLD}*"):
        folder = models / path.name.removeprefix(_OLD)
        if folder.exists():
            _delete(path)
        else:
            path.rename(folder)
    for path in models.glob(f"{_WORK}*"):
        _delete(path)


def _delete(path: Path) -> None:
    if path.is_symlink():
        path.unlink()
    else:
        rmtree(path, ignore_errors=True)
