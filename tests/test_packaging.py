"""The wheel, in an empty environment: what a user installs is what we test."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.builders import write_tree

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent  # of the environment, with uv and pipx


def run(*words: str | Path, cwd: Path, home: Path | None = None) -> str:
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(home or cwd)}
    done = subprocess.run(
        words, cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built as a release would be, from a clean checkout of what git knows."""
    out = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--outdir", out, ROOT],
        check=True,
        capture_output=True,
    )
    return next(out.glob("*.whl"))


@pytest.mark.long
def test_the_wheel_has_the_package_alone_and_works_in_an_empty_environment(
    wheel: Path, tmp_path: Path
) -> None:
    require_the_package_alone(wheel)
    require_it_works(wheel, tmp_path)


def require_the_package_alone(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names} == {
        "aurora", "aurora_memory-0.1.0.dist-info",
    }  # fmt: skip
    assert "aurora/py.typed" in names
    model = {name.rpartition("/")[2] for name in names if "/aurora/model/" in name}
    assert model - {""} == {"model.safetensors", "pieces.txt", "layers.onnx"}
    assert not [name for name in names if "__pycache__" in name]


def require_it_works(wheel: Path, tmp_path: Path) -> None:
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    # Our pip, and no bytecode of modules that nobody imports: half of what it takes otherwise.
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "--python", venv / "bin" / "python"),
            *("install", "-q", "--no-compile", "-c", ROOT / "constraints.txt", wheel),
        ],
        check=True,
        capture_output=True,
    )
    project = write_tree(tmp_path / "project", {"a.py": "def find_me(): pass\n"})
    aur = venv / "bin" / "aur"

    assert "Usage: aur" in run(aur, "--help", cwd=project)
    assert run(aur, "--version", cwd=project) == "aur, version 0.1.0\n"
    run(aur, "init", cwd=project)
    run(aur, "mem", "index", cwd=project)
    assert "find_me" in run(aur, "mem", "search", "find_me", cwd=project)


# How each tool installs a wheel, and how `aur` is started then.
TOOLS = {
    "uv tool": ("uv tool install {wheel}", "aur"),
    "pipx": ("pipx install {wheel}", "aur"),
    "uvx": ("true", "uvx --from {wheel} aur"),
}


@pytest.mark.long
def test_what_a_message_says_to_install_works_with_the_tool_that_installed_aurora(
    wheel: Path, tmp_path: Path
) -> None:
    """Without the extra `mcp`, `aur mcp` names a command. Afterwards the server starts."""
    folders = {
        "UV_CACHE_DIR": "cache", "UV_TOOL_DIR": "tools", "UV_TOOL_BIN_DIR": "bin",
        "PIPX_HOME": "pipx", "PIPX_BIN_DIR": "bin", "HOME": "home",
    }  # fmt: skip
    for name, (install, aur) in TOOLS.items():
        own = {key: str(tmp_path / ("cache" if "cache" in each else f"{name}/{each}"))
               for key, each in folders.items()}  # fmt: skip
        own["PATH"] = os.pathsep.join([own["UV_TOOL_BIN_DIR"], str(BIN), "/usr/bin", "/bin"])
        own["UV_CONSTRAINT"] = own["PIP_CONSTRAINT"] = str(ROOT / "constraints.txt")
        environment = {**os.environ, **own}
        require_hint_works(install.format(wheel=wheel), aur.format(wheel=wheel), environment)


def require_hint_works(install: str, aur: str, environment: dict[str, str]) -> None:
    def bash(line: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-c", line], env=environment, capture_output=True, text=True,
            stdin=subprocess.DEVNULL, check=False,
        )  # fmt: skip

    installed = bash(install)
    assert installed.returncode == 0, installed.stderr
    assert "Usage: aurora" in bash(f"{aur.removesuffix('aur')}aurora --help").stdout
    refused = bash(f"{aur} mcp")
    assert refused.returncode == 2
    hint = refused.stderr.partition("hint: ")[2].strip()
    done = bash(f"{hint} mcp" if hint.startswith("uvx") else f"{hint} && {aur} mcp")
    assert done.returncode == 0, (hint, done.stderr)
