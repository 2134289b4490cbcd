"""Install an ONNX model from a folder or from a hub such as huggingface.co.

The files are found, copied with their digests, tried with one text, and then moved into place. The
layout is the hub's, and only `tokenizer.json` and the graph are required in a folder:

    config.json                         the number of positions
    tokenizer.json
    model.onnx or onnx/model.onnx       the graph, with its weights inside
    1_Pooling/config.json               mean or cls; mean by default
    sentence_bert_config.json           the window; all positions by default
    config_sentence_transformers.json   prefixes of queries and of documents
    modules.json                        the layers after the encoder
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from shutil import copyfile

from aurora.embeddings.base import ProviderOptions
from aurora.embeddings.hub import HUB, HubModel, most_bytes, require_digest
from aurora.embeddings.model_folders import (
    GRAPH,
    KNOWN,
    MANIFEST,
    TOKENIZER,
    KnownModel,
    Manifest,
    ModelUse,
    file_digest,
    install_folder,
    model_folder,
    pull_command,
    read_manifest,
    working_folder,
)
from aurora.embeddings.onnx import OUTPUT, OnnxProvider, check_packages, open_session
from aurora.errors import EmbeddingError
from aurora.types import Listener, Note, ignore_events

GRAPHS = ("model.onnx", "onnx/model.onnx")
_SAMPLE = "def parse(path): return 1  # 認証"


def pull_model(
    models: Path,
    name: str,
    source: str = "",
    *,
    endpoint: str = HUB,
    listen: Listener = ignore_events,
) -> Manifest:
    """Install a model under a name, replacing the one that has it.

    `source` is a folder, `hub` for a known name, or `hub:OWNER/NAME[@REVISION]`. Only the hub uses
    the network.
    """
    model_folder(models, name)  # refuses a name that leads elsewhere
    check_packages()
    with working_folder(models) as work:
        downloads, new = work / ".raw", work / name
        try:
            downloads.mkdir()
            new.mkdir()
            folder, shown, known = _find_files(name, source, downloads, endpoint, listen)
            listen(Note(f"Installing {name} from {shown}"))
            manifest = _copy_model(folder, new, known, shown)
            manifest.save(new)
            _try_out(new)
            install_folder(new, models, name)
        except OSError as exc:  # a full disk, for example
            raise EmbeddingError(f"{name} cannot be put into {models}: {exc}") from exc
    return manifest


def _find_files(
    name: str, source: str, downloads: Path, endpoint: str, listen: Listener
) -> tuple[Path, str, KnownModel | None]:
    """The folder with the files, the source as it is shown, and the model if its name is known."""
    known = KNOWN.get(name)
    if source == "pypi" or source.endswith(".whl"):
        raise EmbeddingError(
            f"Aurora no longer converts models of PyPI packages ({source})",
            hint=f"get a ready ONNX model with {pull_command(name)}",
        )
    if source in ("", "hub") and known is None:
        raise EmbeddingError(
            f"{name} is not a known model ({', '.join(KNOWN)})",
            hint="say where it is: --from FOLDER, or --from hub:OWNER/NAME",
        )
    if source == "hub" and known is not None:
        hub = HubModel(known.repository, endpoint=endpoint)
    elif source.startswith("hub:"):
        repository, _, revision = source.removeprefix("hub:").partition("@")
        hub, known = HubModel(repository, revision or "main", endpoint), None
    elif source:
        folder = Path(source)
        if not folder.is_dir():
            raise EmbeddingError(
                f"There is no folder {folder}",
                hint="--from takes a folder, hub, or hub:OWNER/NAME[@REVISION]",
            )
        return folder, f"folder {folder.absolute()}", known
    else:
        raise EmbeddingError(
            f"No source is given for the model {name}",
            hint=f"download it with {pull_command(name)}, or give a folder: --from FOLDER",
        )
    _download(hub, downloads, listen, with_settings=known is None)
    return downloads, f"hub {hub}", known


def _download(hub: HubModel, folder: Path, listen: Listener, *, with_settings: bool) -> None:
    for file in ("config.json", TOKENIZER):
        if not hub.get(file, folder / file, listen=listen):
            raise EmbeddingError(
                f"{hub} has no {file}", hint="name the repository of an encoder: hub:OWNER/NAME"
            )
    for file in _SETTINGS if with_settings else ():
        hub.get(file, folder / file, listen=listen)
    if not any(hub.get(file, folder / file, listen=listen) for file in GRAPHS):
        raise EmbeddingError(
            f"{hub} has none of {', '.join(GRAPHS)}", hint="name a repository with an ONNX model"
        )


def _copy_model(folder: Path, new: Path, known: KnownModel | None, source: str) -> Manifest:
    """Copy graph and tokenizer to `new`, and return the manifest."""
    if (folder / MANIFEST).is_file():  # installed elsewhere before
        manifest = read_manifest(folder)
        for file in (GRAPH, TOKENIZER):
            expected = manifest.files.get(file, "")
            require_digest(str(folder / file), file_digest(folder / file), expected)
            copyfile(folder / file, new / file)
        return replace(manifest, name=new.name)
    use = _read_use(folder) if known is None else known.use
    _copy_files(folder, new)
    dimension = _dimension(folder, new / GRAPH)
    if known is not None and known.dimension != dimension:
        raise EmbeddingError(f"{new.name} has vectors of {known.dimension}, not {dimension}")
    return Manifest(
        new.name,
        dimension,
        **use._asdict(),
        source=source,
        licence=known.licence if known else "",
        files={file: file_digest(new / file) for file in (GRAPH, TOKENIZER)},
    )


def _copy_files(folder: Path, new: Path) -> None:
    graph = next((folder / name for name in GRAPHS if (folder / name).is_file()), None)
    if graph is None:
        raise EmbeddingError(
            f"There is no ONNX model in {folder}",
            hint=f"it needs {TOKENIZER} and {' or '.join(GRAPHS)}; "
            "the provider sentence-transformers reads other formats",
        )
    if not (folder / TOKENIZER).is_file():
        raise EmbeddingError(
            f"There is no {folder / TOKENIZER}",
            hint="export the tokenizer in the format of the package tokenizers",
        )
    for file, target in ((graph, new / GRAPH), (folder / TOKENIZER, new / TOKENIZER)):
        if file.stat().st_size > most_bytes(file.name):
            raise EmbeddingError(f"{file} is too large")
        copyfile(file, target)


def _dimension(folder: Path, graph: Path) -> int:
    """The length of the vectors of a copied graph, which sees no other file of its folder."""
    try:
        outputs = open_session(graph).get_outputs()
    except EmbeddingError as exc:
        raise EmbeddingError(
            f"The graph in {folder} is not an ONNX file with its weights inside: {exc.__cause__}",
            hint="export it again as one file, or get it again",
        ) from exc
    shapes = [output.shape for output in outputs if output.name == OUTPUT] or [[]]
    length = shapes[0][-1] if shapes[0] else None
    if not isinstance(length, int) or length < 1:
        raise EmbeddingError(
            f"The graph in {folder} does not declare vectors as its output {OUTPUT}",
            hint="use a model of the kind that sentence-transformers exports",
        )
    return length


def _try_out(folder: Path) -> None:
    """Embed one text: a valid graph may still not fit its tokenizer."""
    provider = OnnxProvider(ProviderOptions(model=folder.name, models=folder.parent))
    (vector,) = provider.embed_batch([_SAMPLE])
    if len(vector) != provider.dimension or not math.isclose(math.hypot(*vector), 1, rel_tol=1e-3):
        raise EmbeddingError(
            f"{folder.name} does not give vectors of {provider.dimension} numbers and of length 1",
            hint="it may be damaged, or no encoder: pull another one",
        )


_SETTINGS = (
    "1_Pooling/config.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
    "modules.json",
)
_USUAL_POSITIONS = 512  # of a graph without a config.json
_MOST_SETTINGS = 1_000_000  # bytes of a settings file
_MODULES = {"Transformer", "Pooling", "Normalize"}  # the layers that OnnxProvider computes


def _read_use(folder: Path) -> ModelUse:
    """How sentence-transformers would run the model, by the settings beside it."""
    modules = _read_json(folder / "modules.json")
    kinds = [
        str(module.get("type", "")).rpartition(".")[2]
        for module in (modules if isinstance(modules, list) else [])
        if isinstance(module, dict)
    ]
    if unknown := [kind for kind in kinds if kind not in _MODULES]:
        raise EmbeddingError(
            f"{folder / 'modules.json'} has a layer that is not known here: {', '.join(unknown)}",
            hint="use the provider sentence-transformers for this model",
        )
    positions = _read_dict(folder / "config.json").get("max_position_embeddings")
    if not isinstance(positions, int) or positions <= 2:
        positions = _USUAL_POSITIONS
    window = _read_dict(folder / "sentence_bert_config.json").get("max_seq_length")
    if not isinstance(window, int) or not 2 < window <= positions:
        window = positions
    prompts = _read_dict(folder / "config_sentence_transformers.json").get("prompts")
    return ModelUse(
        window,
        _read_pooling(folder / "1_Pooling/config.json"),
        _prompt(prompts, "query"),
        _prompt(prompts, "document", "passage", "corpus"),
    )


def _read_pooling(file: Path) -> str:
    poolings = {
        key.removeprefix("pooling_mode_").removesuffix("_tokens").removesuffix("_token")
        for key, value in _read_dict(file).items()
        if key.startswith("pooling_mode_") and value is True
    }
    if poolings - {"mean", "cls"} or len(poolings) > 1:
        wanted = ", ".join(sorted(poolings))
        raise EmbeddingError(
            f"{file} wants a pooling of {wanted}, and only mean or cls is supported",
            hint="use the provider sentence-transformers for this model",
        )
    return next(iter(poolings), "mean")


def _prompt(prompts: object, *names: str) -> str:
    if not isinstance(prompts, dict):
        return ""
    return next((str(prompts[name]) for name in names if prompts.get(name)), "")


def _read_dict(file: Path) -> Mapping[str, object]:
    content = _read_json(file)
    return content if isinstance(content, dict) else {}


def _read_json(file: Path) -> object:
    """None where there is no such file."""
    try:
        with file.open("rb") as stream:
            text = stream.read(_MOST_SETTINGS + 1)
        if len(text) > _MOST_SETTINGS:
            raise EmbeddingError(f"{file} is too large for a settings file")
        return json.loads(text)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as exc:
        raise EmbeddingError(f"{file} cannot be read: {exc}") from exc
