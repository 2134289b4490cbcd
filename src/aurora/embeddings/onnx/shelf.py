"""The folder of models: one folder each, which is there as a whole or not at all.

A model is made in a folder `.pull-…` beside the others and renamed when it is ready. One process
at a time may change the shelf; what one that was killed left behind is cleared by the next.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp

from aurora.embeddings.onnx.catalogue import KNOWN, KnownModel
from aurora.embeddings.onnx.from_package import package_folder
from aurora.embeddings.onnx.installed import MANIFEST, Manifest, model_folder, read_manifest
from aurora.errors import EmbeddingError
from aurora.files import lock, make_folder
from aurora.types import ModelEntry, ModelState

_LOCK, _WORK, _OLD = ".lock", ".pull-", ".old-"


@contextmanager
def working_folder(models: Path) -> Iterator[Path]:
    """An empty folder on the shelf, for the only one who changes it; gone in the end."""
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


def put(made: Path, models: Path, name: str) -> None:
    """Give a model that is ready its place; the one that was there before goes."""
    folder, old = model_folder(models, name), models / f"{_OLD}{name}"
    if folder.exists() or folder.is_symlink():
        folder.rename(old)
    try:
        made.rename(folder)  # killed just before: `_tidy` brings the old one back
    except OSError:
        if old.exists():
            old.rename(folder)
        raise
    _delete(old)


def require_model(models: Path, name: str) -> Path:
    """The folder of a model, whole or not. Raises `EmbeddingError` when there is none."""
    folder = model_folder(models, name)
    if not (folder.exists() or folder.is_symlink()):
        raise EmbeddingError(
            f"The model {name} is not installed", hint="`aur models list` names those that are"
        )
    return folder


def remove_model(models: Path, name: str) -> None:
    """Delete a model, whole or not."""
    folder = require_model(models, name)
    with working_folder(models) as work:
        try:
            folder.rename(work / name)
        except OSError as exc:
            raise EmbeddingError(f"{folder} cannot be removed: {exc.strerror}") from exc
        _delete(work / name)


def list_models(models: Path) -> list[ModelEntry]:
    """Those that are known by name, and all that are installed."""
    names = {folder.name for folder in _folders(models)}
    known = [_entry(models, name) for name in KNOWN]
    return known + [_entry(models, name) for name in sorted(names - {*KNOWN})]


def _entry(models: Path, name: str) -> ModelEntry:
    folder = models / name
    if not folder.exists():
        return _known(KNOWN[name])
    try:
        manifest = read_manifest(folder)
        size = _size(folder, manifest)
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


def _known(model: KnownModel) -> ModelEntry:
    at_hand = package_folder(model) is not None
    return ModelEntry(
        model.name,
        ModelState.AT_HAND if at_hand else ModelState.KNOWN,
        model.dimension,
        model.window,
        source=f"package {model.requirement}",
        licence=model.licence,
    )


def _size(folder: Path, manifest: Manifest) -> int:
    return sum((folder / name).stat().st_size for name in (MANIFEST, *manifest.files))


def _folders(models: Path) -> Iterator[Path]:
    with suppress(OSError):  # nothing was pulled yet
        yield from (path for path in models.iterdir() if path.name[:1] != "." and path.is_dir())


def _tidy(models: Path) -> None:
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
