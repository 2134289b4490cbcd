"""A BERT of two layers with weights of chance, as a folder of the hub has it."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

CONFIG: Mapping[str, object] = {
    "model_type": "bert",
    "hidden_act": "gelu",
    "num_hidden_layers": 2,
    "hidden_size": 32,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": 40,
    "layer_norm_eps": 1e-12,
}
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "def", "parse", "path", "return", "(", ")"]


def small_bert(folder: Path, prefix: str = "", **files: object) -> Path:
    """`files` are further ones, `config` instead of the usual: names with `__` for `/`."""
    folder.mkdir(parents=True)
    config = files.pop("config", CONFIG)
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    write_safetensors(folder / "model.safetensors", _tensors(prefix))
    _tokenizer().save(str(folder / "tokenizer.json"))
    for name, content in files.items():
        file = folder / f"{name.replace('__', '/')}.json"
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps(content), encoding="utf-8")
    return folder


def write_safetensors(file: Path, tensors: Mapping[str, np.ndarray]) -> None:
    header, data = {}, b""
    for name, array in tensors.items():
        ends = [len(data), len(data) + array.nbytes]
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": ends}
        data += array.tobytes()
    text = json.dumps(header).encode()
    file.write_bytes(struct.pack("<Q", len(text)) + text + data)


def _tensors(prefix: str) -> dict[str, np.ndarray]:
    chance = np.random.default_rng(7)
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (len(WORDS), 32),
        "embeddings.position_embeddings.weight": (40, 32),
        "embeddings.token_type_embeddings.weight": (2, 32),
        "embeddings.LayerNorm.weight": (32,),
        "embeddings.LayerNorm.bias": (32,),
    }
    for layer in range(2):
        at = f"encoder.layer.{layer}."
        for part, out, into in (
            ("attention.self.query", 32, 32), ("attention.self.key", 32, 32),
            ("attention.self.value", 32, 32), ("attention.output.dense", 32, 32),
            ("intermediate.dense", 64, 32), ("output.dense", 32, 64),
        ):  # fmt: skip
            shapes |= {f"{at}{part}.weight": (out, into), f"{at}{part}.bias": (out,)}
        for part in ("attention.output", "output"):
            shapes |= {f"{at}{part}.LayerNorm.{kind}": (32,) for kind in ("weight", "bias")}
    return {
        f"{prefix}{name}": chance.normal(size=shape).astype(np.float32)
        for name, shape in shapes.items()
    }


def _tokenizer() -> Tokenizer:
    tokenizer = Tokenizer(WordLevel({word: id_ for id_, word in enumerate(WORDS)}, "[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return tokenizer
