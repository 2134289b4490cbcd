"""The folder of models: whole models or none, whoever is killed in between."""

from __future__ import annotations

from pathlib import Path

import pytest

from aurora.embeddings.model_folders import (
    KNOWN,
    Manifest,
    install_folder,
    list_models,
    remove_model,
    working_folder,
)
from aurora.errors import EmbeddingError
from aurora.report_types import ModelState


def make_model(folder: Path, content: str = "graph") -> Path:
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_text(content)
    Manifest(folder.name, 384, 256, source="here", files={"model.onnx": "…"}).save(folder)
    return folder


def names(models: Path) -> list[str]:
    return sorted(path.name for path in models.iterdir())


def test_a_model_gets_its_place_and_replaces_the_one_before(tmp_path: Path) -> None:
    for content in ("first", "second"):
        with working_folder(tmp_path) as work:
            install_folder(make_model(work / "mine", content), tmp_path, "mine")
        assert (tmp_path / "mine" / "model.onnx").read_text() == content
        assert names(tmp_path) == [".lock", "mine"]


def test_what_goes_wrong_leaves_the_shelf_as_it_was(tmp_path: Path) -> None:
    make_model(tmp_path / "mine", "first")
    with pytest.raises(FileExistsError), working_folder(tmp_path) as work:
        make_model(make_model(work / "mine", "second"))
    assert names(tmp_path) == [".lock", "mine"]
    assert (tmp_path / "mine" / "model.onnx").read_text() == "first"


def test_the_next_one_clears_what_a_killed_one_left(tmp_path: Path) -> None:
    make_model(tmp_path / ".pull-abc" / "mine")
    with working_folder(tmp_path) as work:
        assert names(tmp_path) == [".lock", work.name]
    assert names(tmp_path) == [".lock"]


def test_a_model_comes_back_whose_successor_did_not_come(tmp_path: Path) -> None:
    """The moment between two renames."""
    make_model(tmp_path / ".old-mine", "first")
    with working_folder(tmp_path):
        assert (tmp_path / "mine" / "model.onnx").read_text() == "first"


def test_the_old_model_stays_when_the_new_one_cannot_be_put(tmp_path: Path) -> None:
    make_model(tmp_path / "mine", "first")
    with working_folder(tmp_path) as work, pytest.raises(FileNotFoundError):
        install_folder(work / "nothing", tmp_path, "mine")
    assert (tmp_path / "mine" / "model.onnx").read_text() == "first"


def test_a_model_that_was_replaced_does_not_come_back(tmp_path: Path) -> None:
    make_model(tmp_path / ".old-mine", "first")
    make_model(tmp_path / "mine", "second")
    with working_folder(tmp_path):
        pass
    assert names(tmp_path) == [".lock", "mine"]
    assert (tmp_path / "mine" / "model.onnx").read_text() == "second"


def test_two_do_not_work_at_once(tmp_path: Path) -> None:
    with (
        working_folder(tmp_path),
        pytest.raises(EmbeddingError, match="Another process is changing"),
        working_folder(tmp_path),
    ):
        pass


def test_a_model_is_removed_whole_or_not(tmp_path: Path) -> None:
    make_model(tmp_path / "mine")
    (tmp_path / "half").mkdir()
    for name in ("mine", "half"):
        remove_model(tmp_path, name)
    assert names(tmp_path) == [".lock"]


def test_removing_a_link_leaves_what_it_leads_to(tmp_path: Path) -> None:
    elsewhere = make_model(tmp_path / "elsewhere")
    models = tmp_path / "models"
    models.mkdir()
    (models / "mine").symlink_to(elsewhere)
    remove_model(models, "mine")
    assert names(models) == [".lock"]
    assert (elsewhere / "model.onnx").exists()


@pytest.mark.parametrize("name", ["../mine", "..", ".", "", "/etc", "a/b", ".lock", "A"])
def test_no_name_leads_out_of_the_folder(tmp_path: Path, name: str) -> None:
    make_model(tmp_path / "mine")
    models = tmp_path / "models"
    models.mkdir()
    with pytest.raises(EmbeddingError, match="is not the name of a model"):
        remove_model(models, name)
    assert names(tmp_path) == ["mine", "models"]


def test_removing_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingError, match="The model mine is not installed"):
        remove_model(tmp_path / "models", "mine")


def test_the_list_has_the_known_first_and_then_all_others(tmp_path: Path) -> None:
    models = tmp_path / "models"
    assert [entry.name for entry in list_models(models)] == list(KNOWN)
    make_model(models / "mine")
    (models / "half").mkdir()
    (models / ".pull-x").mkdir()
    (models / "a file").touch()

    *known, half, mine = list_models(models)

    assert [entry.name for entry in known] == list(KNOWN)
    assert {entry.state for entry in known} == {ModelState.KNOWN}
    assert (half.name, half.state) == ("half", ModelState.DAMAGED)
    assert mine[:4] == ("mine", ModelState.INSTALLED, 384, 256)
    assert mine.size == sum(file.stat().st_size for file in (models / "mine").iterdir())


def test_a_model_whose_graph_is_gone_is_damaged(tmp_path: Path) -> None:
    (make_model(tmp_path / "mine") / "model.onnx").unlink()
    assert list_models(tmp_path)[-1].state is ModelState.DAMAGED
