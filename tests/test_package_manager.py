"""Install commands in messages fit what made the environment. test_packaging.py runs them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from aurora.package_manager import (
    Installer,
    find_installer,
    install_command,
    lasting_command,
    repair_command,
    upgrade_command,
)
from tests.builders import write_tree

RECEIPT = """[tool]
requirements = [{ name = "aurora-memory", extras = ["mcp"] }, { name = "rich" }]
"""
PIPX = '{"main_package": {"package_or_url": "aurora-memory[mcp,watch]"}}'
FOLDERS: dict[Installer, tuple[str, dict[str, str | bytes]]] = {
    Installer.PIP: ("venv", {"pyvenv.cfg": "home = /usr/bin\n"}),
    Installer.UV_PIP: ("venv", {"pyvenv.cfg": "home = /usr/bin\nuv = 0.13.8\n"}),
    Installer.UV_TOOL: ("tools/aurora-memory", {"uv-receipt.toml": RECEIPT}),
    Installer.PIPX: ("venvs/aurora-memory", {"pipx_metadata.json": PIPX, "pyvenv.cfg": "uv = 1\n"}),
    Installer.UVX: ("archive-v0/qjAoKz3z98qxPJ67", {"pyvenv.cfg": "uv = 0.13.8\n"}),
    Installer.HOMEBREW: ("Cellar/aurora-memory/1.0.0/libexec", {"pyvenv.cfg": "home = /usr\n"}),
}


@pytest.fixture
def prefix(tmp_path: Path, installer: Installer) -> Path:
    folder, files = FOLDERS[installer]
    return write_tree(tmp_path / folder, files)


@pytest.mark.parametrize("installer", list(Installer))
def test_an_environment_is_recognised(installer: Installer, prefix: Path) -> None:
    assert find_installer(prefix) is installer


@pytest.mark.parametrize(
    ("installer", "add", "upgrade", "repair"),
    [
        (
            Installer.PIP,
            "pip install 'aurora-memory[onnx]'",
            "pip install --upgrade aurora-memory",
            "pip install --force-reinstall aurora-memory",
        ),
        (
            Installer.UV_PIP,
            "uv pip install 'aurora-memory[onnx]'",
            "uv pip install --upgrade aurora-memory",
            "uv pip install --reinstall aurora-memory",
        ),
        (
            Installer.UV_TOOL,
            "uv tool install 'aurora-memory[mcp,onnx]'",
            "uv tool upgrade aurora-memory",
            "uv tool install --reinstall 'aurora-memory[mcp]'",
        ),
        (
            Installer.PIPX,
            "pipx install --force 'aurora-memory[mcp,onnx,watch]'",
            "pipx upgrade aurora-memory",
            "pipx reinstall aurora-memory",
        ),
        (
            Installer.UVX,
            "uvx --from 'aurora-memory[onnx]' aur",
            "uvx --refresh --from aurora-memory aur",
            "uvx --refresh --from aurora-memory aur",
        ),
        (
            Installer.HOMEBREW,
            "brew uninstall aurora-memory && pipx install 'aurora-memory[onnx]'",
            "brew upgrade aurora-memory",
            "brew reinstall aurora-memory",
        ),
    ],
)
def test_commands_keep_the_extras_that_are_there(
    prefix: Path, add: str, upgrade: str, repair: str
) -> None:
    """From an index; where a wheel or a folder was installed, the commands name it."""
    source = {"source": ""}
    assert install_command("onnx", prefix, **source) == add
    assert upgrade_command(prefix) == upgrade
    assert repair_command(prefix=prefix, **source) == repair


@pytest.mark.parametrize("installer", [Installer.UV_TOOL])
def test_an_address_that_was_installed_is_named(prefix: Path) -> None:
    wheel = "file:///dist/aurora_memory-1.0.0-py3-none-any.whl"
    command = install_command("watch", prefix, source=wheel)
    assert command == f"uv tool install 'aurora-memory[mcp,watch] @ {wheel}'"


@pytest.mark.parametrize("installer", list(Installer))
def test_only_what_uvx_made_is_started_by_another_command(
    installer: Installer, prefix: Path
) -> None:
    words = ("uvx", "--from", "aurora-memory[mcp]", "aur")
    assert lasting_command(prefix, source="") == (words if installer is Installer.UVX else ())


@pytest.mark.parametrize("installer", [Installer.UV_TOOL, Installer.PIPX])
@pytest.mark.parametrize("text", ["", "[[", '{"main_package": []}', 'tool = "other"'])
def test_a_record_in_another_form_has_no_extras(prefix: Path, text: str) -> None:
    for name in ("uv-receipt.toml", "pipx_metadata.json"):
        if (prefix / name).exists():
            (prefix / name).write_text(text, encoding="utf-8")
    assert "'aurora-memory[onnx]'" in install_command("onnx", prefix, source="")


def test_one_package_is_repaired_where_the_environment_allows_it() -> None:
    assert find_installer(Path(sys.prefix)) in (Installer.PIP, Installer.UV_PIP)
    assert repair_command("numpy").endswith("reinstall numpy")
