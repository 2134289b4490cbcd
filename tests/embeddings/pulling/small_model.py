"""An encoder of two layers with random weights, in the layout of the hub."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

from training.onnx_model import EncoderShape, write_encoder

SHAPE = EncoderShape(layers=2, width=32, heads=4, inner=64, positions=40)
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "def", "parse", "path", "return", "(", ")"]


def small_model(folder: Path, width: int = SHAPE.width, **files: object) -> Path:
    """`files` are further ones, with `__` for `/` in their names."""
    folder.mkdir(parents=True)
    shape = SHAPE._replace(width=width)
    write_encoder(random_tensors(shape, len(WORDS)), shape, folder / "model.onnx")
    _tokenizer().save(str(folder / "tokenizer.json"))
    for name, content in {"config": {"max_position_embeddings": 40}, **files}.items():
        file = folder / f"{name.replace('__', '/')}.json"
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps(content), encoding="utf-8")
    return folder


def random_tensors(shape: EncoderShape, words: int) -> dict[str, np.ndarray]:
    """Random weights by the names that they have in a BERT."""
    random = np.random.default_rng(1)
    width, inner = shape.width, shape.inner
    sizes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (words, width),
        "embeddings.position_embeddings.weight": (shape.positions, width),
        "embeddings.token_type_embeddings.weight": (2, width),
        "embeddings.LayerNorm.weight": (width,),
        "embeddings.LayerNorm.bias": (width,),
    }
    for number in range(shape.layers):
        at = f"encoder.layer.{number}"
        for name, (out, into) in {
            "attention.self.query": (width, width),
            "attention.self.key": (width, width),
            "attention.self.value": (width, width),
            "attention.output.dense": (width, width),
            "intermediate.dense": (inner, width),
            "output.dense": (width, inner),
        }.items():
            sizes |= {f"{at}.{name}.weight": (out, into), f"{at}.{name}.bias": (out,)}
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            sizes |= {f"{at}.{name}.weight": (width,), f"{at}.{name}.bias": (width,)}
    # Norms near 1, so that what comes out is made by the layers, not by biases.
    return {
        name: random.normal("Norm.weight" in name, 0.2, size).astype(np.float32)
        for name, size in sizes.items()
    }


def _tokenizer() -> Tokenizer:
    tokenizer = Tokenizer(WordLevel({word: id_ for id_, word in enumerate(WORDS)}, "[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return tokenizer
