"""What the files beside a model's weights say of it, in the layout that the hub has.

config.json                         the shape of the encoder
tokenizer.json
1_Pooling/config.json               mean or cls; mean where there is none
sentence_bert_config.json           the window; all positions where there is none
config_sentence_transformers.json   what is put before a question, and before what is found
modules.json                        what comes after the encoder
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from aurora.embeddings.onnx.graph import EncoderShape
from aurora.errors import EmbeddingError

CONFIG = "config.json"
SETTINGS = (
    "1_Pooling/config.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
    "modules.json",
)
READY = ("model.onnx", "onnx/model.onnx")  # graphs that are taken as they are
BERT = "bert"
_ONLY = {"model_type": BERT, "hidden_act": "gelu", "position_embedding_type": "absolute"}
_UNSAID = {"hidden_act": "gelu", "position_embedding_type": "absolute"}
_MOST = 100_000  # layers, heads, numbers: no real encoder has more of any
_LARGEST = 1_000_000  # bytes of a file of settings
_AFTER = {"Transformer", "Pooling", "Normalize"}  # what we do, too
_QUESTION, _FOUND = ("query",), ("document", "passage", "corpus")  # names of prompts


class Use(NamedTuple):
    """How a model is used."""

    window: int
    pooling: str = "mean"
    query_prefix: str = ""
    document_prefix: str = ""


def read_config(folder: Path) -> Mapping[str, object]:
    """What `config.json` says; nothing without one."""
    return _read(folder / CONFIG)


def read_shape(folder: Path) -> EncoderShape:
    """Of a BERT. Raises `EmbeddingError` for an encoder that is built in another way."""
    file, config = folder / CONFIG, read_config(folder)
    for key, wanted in _ONLY.items():
        if (said := config.get(key, _UNSAID.get(key))) != wanted:
            raise EmbeddingError(
                f"{file} says {key}: {said!r}, which cannot be converted here",
                hint="give a folder that has it as ONNX: onnx/model.onnx beside tokenizer.json",
            )
    shape = EncoderShape(
        layers=_count(config, "num_hidden_layers", file),
        width=_count(config, "hidden_size", file),
        heads=_count(config, "num_attention_heads", file),
        inner=_count(config, "intermediate_size", file),
        positions=_count(config, "max_position_embeddings", file),
        epsilon=_epsilon(config, file),
    )
    if shape.width % shape.heads:
        raise EmbeddingError(f"{file} says {shape.heads} heads for {shape.width} numbers")
    return shape


def read_use(folder: Path, positions: int) -> Use:
    """How sentence-transformers would use it."""
    _require_nothing_after(folder / "modules.json")
    said = _read(folder / "sentence_bert_config.json").get("max_seq_length")
    window = said if isinstance(said, int) and 2 < said <= positions else positions
    prompts = _read(folder / "config_sentence_transformers.json").get("prompts")
    return Use(
        window,
        _pooling(folder / "1_Pooling" / CONFIG),
        _prompt(prompts, _QUESTION),
        _prompt(prompts, _FOUND),
    )


def _pooling(file: Path) -> str:
    chosen = {
        key.removeprefix("pooling_mode_").removesuffix("_tokens").removesuffix("_token")
        for key, value in _read(file).items()
        if key.startswith("pooling_mode_") and value is True
    }
    if chosen - {"mean", "cls"} or len(chosen) > 1:
        raise EmbeddingError(f"{file} wants a pooling of {', '.join(sorted(chosen))}: mean or cls")
    return next(iter(chosen), "mean")


def _require_nothing_after(file: Path) -> None:
    modules = _read_json(file)
    kinds = [
        str(module.get("type", "")).rpartition(".")[2]
        for module in (modules if isinstance(modules, list) else [])
        if isinstance(module, dict)
    ]
    if unknown := [kind for kind in kinds if kind not in _AFTER]:
        raise EmbeddingError(
            f"{file} has a layer that is not known here: {', '.join(unknown)}",
            hint="use the provider sentence-transformers for this model",
        )


def _prompt(prompts: object, names: tuple[str, ...]) -> str:
    if not isinstance(prompts, dict):
        return ""
    return next((str(prompts[name]) for name in names if prompts.get(name)), "")


def _count(config: Mapping[str, object], key: str, file: Path) -> int:
    value = config.get(key)
    if not isinstance(value, int) or not 0 < value <= _MOST:
        raise EmbeddingError(f"{file} says {key}: {value!r}", hint="it must be a whole number")
    return value


def _epsilon(config: Mapping[str, object], file: Path) -> float:
    value = config.get("layer_norm_eps", 1e-12)
    if not isinstance(value, float) or not 0 < value < 1:
        raise EmbeddingError(f"{file} says layer_norm_eps: {value!r}", hint="1e-12 is usual")
    return value


def _read(file: Path) -> Mapping[str, object]:
    content = _read_json(file)
    return content if isinstance(content, dict) else {}


def _read_json(file: Path) -> object:
    """None where there is no such file."""
    try:
        with file.open("rb") as stream:
            text = stream.read(_LARGEST + 1)
        if len(text) > _LARGEST:
            raise EmbeddingError(f"{file} is too large for a file of settings")
        return json.loads(text)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as exc:
        raise EmbeddingError(f"{file} cannot be read: {exc}") from exc
