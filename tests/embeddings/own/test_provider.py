"""Aurora's own provider, with a small model in the place of the real one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from aurora.embeddings.aurora.provider import AuroraProvider
from aurora.embeddings.aurora.weights import weights_digest
from aurora.embeddings.base import ProviderOptions
from aurora.embeddings.compute import unit_rows
from aurora.errors import EmbeddingError
from tests.embeddings.own.making import make_model, make_tensors, write_tensors
from tests.threads import together

TEXTS = ["parsing the config", "用户认证", "", "x" * 5000, "parsing  the\nconfig!", "🙂 \0 \ud800",
         "getHTTPResponse_code " * 100]  # fmt: skip


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Never the same twice: a process keeps the model of a folder that it has opened."""
    return make_model(tmp_path_factory.mktemp("model"))


def provider(folder: Path, model: str = "") -> AuroraProvider:
    return AuroraProvider(ProviderOptions(model), folder=folder, weights=weights_digest(folder))


@pytest.mark.parametrize(("model", "batch", "recipe"), [("deep", 128, 2), ("shallow", 256, 1)])
def test_it_is_what_it_says(folder: Path, model: str, batch: int, recipe: int) -> None:
    made = provider(folder, model)
    assert (made.name, made.dimension, made.batch_size) == (f"aurora/{model}", 256, batch)
    assert made.fingerprint == f"{weights_digest(folder)}-{recipe}"
    vectors = np.asarray(made.embed_batch(TEXTS))
    assert vectors.shape == (len(TEXTS), 256)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0)
    assert np.array_equal(made.embed_query(TEXTS[0]), made.embed_batch(TEXTS[:1])[0])


def test_deep_is_meant_where_no_model_is_named() -> None:
    assert AuroraProvider(ProviderOptions()).name == "aurora/deep"


def test_another_model_is_refused() -> None:
    with pytest.raises(EmbeddingError, match="no model 'wide'") as refused:
        AuroraProvider(ProviderOptions("wide"))
    assert "deep or shallow" in refused.value.hint


@pytest.mark.parametrize("model", ["deep", "shallow"])
def test_a_text_has_the_same_vector_whatever_is_beside_it(folder: Path, model: str) -> None:
    made = provider(folder, model)
    beside = np.asarray(made.embed_batch(TEXTS))
    alone = np.asarray([made.embed_query(text) for text in TEXTS])
    assert np.abs(beside - alone).max() < 1e-5
    assert np.abs(beside[0] - beside[4]).max() < 1e-5  # signs between words mean nothing
    assert np.abs(beside[2] - beside[5]).max() < 1e-5  # and nothing is one unknown piece
    assert len(made.embed_batch([])) == 0


def test_the_order_of_words_means_something_to_deep_alone(folder: Path) -> None:
    for model, matters in (("deep", True), ("shallow", False)):
        there, back = np.asarray(provider(folder, model).embed_batch(["get code", "code get"]))
        assert bool(np.abs(there - back).max() > 1e-4) is matters


def test_a_vector_may_be_cut_short(folder: Path) -> None:
    """The first numbers are a vector too, once they have length 1 again."""
    long = np.asarray(provider(folder).embed_batch(TEXTS))
    short = unit_rows(long[:, :64])
    assert np.linalg.norm(short, axis=1) == pytest.approx(1.0)
    assert short[0] @ short[4] == pytest.approx(1.0)


def test_many_threads_get_what_one_gets(folder: Path, tmp_path: Path) -> None:
    texts = [f"question number {number} about files" for number in range(50)]
    one, fresh = provider(folder).embed_batch(texts), provider(make_model(tmp_path))
    found = together(8, lambda: fresh.embed_batch(texts))
    assert len(found) == 8
    for vectors in found:
        assert np.abs(np.asarray(vectors) - one).max() < 1e-3


def test_the_table_stays_a_map_of_the_file(folder: Path) -> None:
    made = provider(folder)
    made.embed_query("where is the config")
    assert not made._model._opened[0]["table"].flags.owndata


def cut_off(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1])


def more_pieces(file: Path) -> None:
    write_tensors(make_tensors(9), file)


def other_numbers(file: Path) -> None:
    tensors = make_tensors()
    write_tensors({**tensors, "1.up": tensors["1.up"].astype(np.float16)}, file)


def one_missing(file: Path) -> None:
    write_tensors({k: v for k, v in make_tensors().items() if k != "0.qkv.bias"}, file)


@pytest.mark.parametrize(
    ("name", "damage", "fault"),
    [
        ("model.safetensors", Path.unlink, "model.safetensors cannot be read"),
        ("model.safetensors", cut_off, "model.safetensors is cut off"),
        (
            "model.safetensors",
            more_pieces,
            r"belongs to another.*table is int8 of \(9, 256\)",
        ),
        ("model.safetensors", other_numbers, "1.up is float16 of"),
        ("model.safetensors", one_missing, "0.qkv.bias is missing"),
        ("pieces.txt", Path.unlink, "pieces.txt cannot be read"),
        ("pieces.txt", lambda file: file.write_text("[unknown]\na"), r"should be int8 of \(2, 256"),
    ],
)
def test_a_model_that_does_not_fit_together_is_refused(
    folder: Path, name: str, damage: Callable[[Path], None], fault: str
) -> None:
    made = provider(folder)
    damage(folder / name)
    with pytest.raises(EmbeddingError, match=fault) as refused:
        made.embed_query("the config")
    assert "pip install" in refused.value.hint


@pytest.mark.parametrize("name", ["model.safetensors", "pieces.txt", "layers.onnx"])
def test_a_changed_file_is_found_before_anything_is_indexed(folder: Path, name: str) -> None:
    made = provider(folder)
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    for _ in range(2):
        with pytest.raises(EmbeddingError, match="is damaged") as refused:
            made.embed_batch(["the config", "the file"])
        assert "pip install" in refused.value.hint
    (folder / name).write_bytes(content)
    assert len(made.embed_batch(["the config", "the file"])) == 2
    (folder / name).unlink()  # looked at once
    assert len(made.embed_batch(["the config", "the file"])) == 2


def test_a_missing_graph_is_named_before_anything_is_indexed(folder: Path) -> None:
    made = provider(folder)
    (folder / "layers.onnx").unlink()
    assert len(made.embed_query("the config")) == 256
    with pytest.raises(EmbeddingError, match=r"layers.onnx cannot be read"):
        made.embed_batch(["the config", "the file"])


@pytest.mark.parametrize("model", ["deep", "shallow"])
def test_a_question_imports_nothing_heavier_than_numpy(folder: Path, model: str) -> None:
    code = f"""
import sys
from pathlib import Path
from aurora.embeddings.base import ProviderOptions
from aurora.embeddings.aurora.provider import AuroraProvider
provider = AuroraProvider(ProviderOptions({model!r}), folder=Path({str(folder)!r}))
assert "numpy" not in sys.modules  # making it costs nothing
provider.embed_query("where is the config")
assert not {{"onnxruntime", "onnx", "tokenizers"}} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True)
