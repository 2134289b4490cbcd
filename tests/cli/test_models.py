"""`aur models`, as a person uses it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from aurora.display.reports import megabytes
from tests.cli.conftest import AUR, Shell
from tests.cli.screen import Terminal
from tests.cli.test_completion import offered
from tests.embeddings.pulling.hub import running_hub
from tests.embeddings.pulling.small_model import small_model

pytestmark = pytest.mark.one_store("about models")


MINILM, E5 = "all-minilm-l6-v2", "multilingual-e5-small"


def entries(shell: Shell) -> dict[str, dict[str, object]]:
    listed = json.loads(shell.ok("models", "list", "--json"))
    assert listed["folder"] == str(shell.home / "models")
    return {entry["name"]: entry for entry in listed["models"]}


@pytest.fixture
def small(tmp_path: Path) -> str:
    return str(small_model(tmp_path / "small"))


def test_the_list_names_the_known_models_before_any_is_there(shell: Shell) -> None:
    titles, *lines = shell.ok("models", "list").splitlines()
    assert titles.split() == ["Name", "State", "Dimension", "Window", "Size", "Licence", "Source"]
    assert [line.split()[0] for line in lines] == [MINILM, E5]
    assert not (shell.home / "models").exists()


def test_a_model_is_pulled_listed_and_removed(shell: Shell, tmp_path: Path) -> None:
    assert entries(shell)[MINILM]["state"] == "known"
    folder = small_model(tmp_path / "minilm", width=384)

    pulled = shell.run("models", "pull", MINILM, "--from", str(folder))

    assert (pulled.returncode, pulled.stdout) == (0, "")
    size = sum(file.stat().st_size for file in (shell.home / "models" / MINILM).iterdir())
    assert pulled.stderr.splitlines() == [
        f"Installing all-minilm-l6-v2 from folder {folder}",
        f"{MINILM} is ready: 384 numbers a vector, {megabytes(size)}, in ~/home/models/{MINILM}",
    ]
    assert entries(shell)[MINILM] == {
        "name": MINILM, "state": "installed", "dimension": 384, "window": 256, "bytes": size,
        "licence": "Apache-2.0", "source": f"folder {folder}",
    }  # fmt: skip
    assert megabytes(size) in shell.ok("models", "list").splitlines()[1]

    assert shell.ok("models", "remove", MINILM, "--yes") == "Removed all-minilm-l6-v2\n"
    assert entries(shell)[MINILM]["state"] == "known"


def test_a_model_of_ones_own_stands_below_the_known(shell: Shell, small: str) -> None:
    shell.ok("models", "pull", "mine", "--from", small)
    assert list(entries(shell)) == [MINILM, E5, "mine"]
    line = shell.ok("models", "list").splitlines()[-1]
    assert line.split()[:4] == ["mine", "installed", "32", "40"]
    assert line.endswith(f"-           folder {small}")


def test_pull_again_replaces(shell: Shell, small: str) -> None:
    for _ in range(2):
        shell.ok("models", "pull", "mine", "--from", small)
    assert sorted(path.name for path in (shell.home / "models").iterdir()) == [".lock", "mine"]


def test_a_folder_is_meant_as_seen_from_here(shell: Shell) -> None:
    small_model(shell.cwd / "sub" / "small")
    shell.ok("models", "pull", "mine", "--from", "small", cwd=shell.cwd / "sub")
    assert entries(shell)["mine"]["source"] == f"folder {shell.cwd}/sub/small"


def test_the_hub_is_the_one_that_the_environment_names(shell: Shell, small: str) -> None:
    with running_hub() as hub:
        hub.serve("owner/small", {file.name: file.read_bytes() for file in Path(small).iterdir()})
        shell.environ["HF_ENDPOINT"] = f"{hub.address}/"
        shell.ok("models", "pull", "mine", "--from", "hub:owner/small")
        assert {path.split("/")[1] for path, _ in hub.asked} == {"owner"}
    assert entries(shell)["mine"]["source"] == "hub owner/small@main"


def test_without_a_source_nothing_is_asked_of_the_network(shell: Shell) -> None:
    with running_hub() as hub:
        shell.environ |= {"HF_ENDPOINT": hub.address, "PIP_INDEX_URL": f"{hub.address}/simple"}
        assert "mine is not a known model" in shell.fails("models", "pull", "mine")
        assert shell.fails("models", "pull", E5) == (
            f"Error: No source is given for the model {E5}\n\n"
            f"hint: download it with `aur models pull {E5} --from hub`, "
            "or give a folder: --from FOLDER\n"
        )
        assert shell.fails("models", "pull", E5, "--from", "pypi") == (
            "Error: Aurora no longer converts models of PyPI packages (pypi)\n\n"
            f"hint: get a ready ONNX model with `aur models pull {E5} --from hub`\n"
        )
        assert hub.asked == []


@pytest.mark.parametrize("command", ["pull", "remove"])
@pytest.mark.parametrize("name", ["../x", "/etc", "."])
def test_no_name_leads_elsewhere(shell: Shell, command: str, name: str) -> None:
    assert "is not the name of a model" in shell.fails("models", command, name)
    assert not (shell.home / "models").exists()


def test_removing_asks_and_in_a_pipe_wants_yes(shell: Shell, small: str) -> None:
    shell.ok("models", "pull", "mine", "--from", small)
    refusal = shell.fails("models", "remove", "mine")
    assert "This would remove the model mine" in refusal
    assert "hint: confirm with --yes" in refusal
    for answer, status in (("n\n", 1), ("y\n", 0)):
        assert entries(shell)["mine"]["state"] == "installed"
        terminal = Terminal([AUR, "models", "remove", "mine"], cwd=shell.cwd, env=shell.environment)
        terminal.read(lambda written: "Remove the model mine? [y/N]" in written)
        terminal.press(answer)
        assert terminal.wait() == status
    assert "mine" not in entries(shell)


def test_removing_what_is_not_there(shell: Shell) -> None:
    assert f"The model {E5} is not installed" in shell.fails("models", "remove", E5, "--yes")


def test_a_damaged_model_is_listed_as_such_and_can_be_pulled_again(
    shell: Shell, small: str
) -> None:
    shell.ok("models", "pull", "mine", "--from", small)
    manifest = shell.home / "models" / "mine" / "model.json"
    for content in ("", "[]", "{}", '{"name": 1, "dimension": "x", "window": 3}'):
        manifest.write_text(content)
        assert entries(shell)["mine"]["state"] == "damaged"
        assert "damaged" in shell.ok("models", "list").splitlines()[-1]
    shell.ok("models", "pull", "mine", "--from", small)
    assert entries(shell)["mine"]["state"] == "installed"


def test_a_folder_that_may_not_be_written_is_told(shell: Shell, small: str) -> None:
    shell.home.mkdir(parents=True)
    (shell.home / "models").write_text("a file")
    assert f"Cannot write to {shell.home}/models" in shell.fails(
        "models", "pull", "mine", "--from", small
    )


def test_names_are_offered_to_the_shell(shell: Shell, small: str) -> None:
    shell.ok("models", "pull", "mine", "--from", small)
    assert offered(shell, "aur models pull ") == [MINILM, E5, "mine"]
    assert offered(shell, "aur models remove ") == ["mine"]


def test_listing_imports_nothing_heavy(shell: Shell) -> None:
    program = (
        "import sys, aurora.cli.models, aurora.embeddings.model_folders\n"
        "print([m for m in ('numpy', 'onnx', 'onnxruntime', 'tokenizers') if m in sys.modules])"
    )
    assert shell.bash(f'{sys.executable} -c "{program}"').stdout == "[]\n"
