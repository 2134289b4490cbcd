"""The wheel, in an empty environment: what a user installs is what we test."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import aurora
from aurora.platforms import lock
from tests.builders import write_tree
from tests.guide.pages import read_steps, run_steps

ROOT = Path(__file__).parents[1]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR")  # of the network of this machine
BIN = Path(sys.executable).parent  # of the environment, with uv and pipx


def run(*words: str | Path, cwd: Path, home: Path | None = None) -> str:
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(home or cwd)}
    done = subprocess.run(
        words, cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel and the source distribution, built as a release would be, once for all workers."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if base.name.startswith("popen-") else base  # pytest-xdist
    with (shared / "built.lock").open("wb") as file:
        lock(file, wait=True)
        folder = shared / "built" / "aurora"
        if (folder / "dist").exists():
            return folder / "dist"
        return build(folder, epoch=1_800_000_000, umask=0o022)


@pytest.fixture(scope="module")
def wheel(dist: Path) -> Path:
    return next(dist.glob("*.whl"))


def build(folder: Path, *, epoch: int, umask: int) -> Path:
    """Build from a copy of the sources with other times and permissions; the folder of results."""
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    for path in folder.rglob("*"):
        path.chmod((0o777 if path.is_dir() else 0o666) & ~umask)
        os.utime(path, (epoch, epoch))
    subprocess.run(
        [sys.executable, "-m", "build", "--installer=uv", "--outdir", folder / "dist", folder],
        check=True, capture_output=True, umask=umask,
        env={**os.environ, "UV_CONSTRAINT": str(ROOT / "constraints.txt")},
    )  # fmt: skip
    return folder / "dist"


@pytest.mark.long
def test_a_build_elsewhere_and_later_has_the_same_bytes(dist: Path, tmp_path: Path) -> None:
    again = build(tmp_path / "elsewhere", epoch=1_900_000_000, umask=0o077)
    files = [{file.name: digest(file) for file in folder.iterdir()} for folder in (dist, again)]
    assert files[0] == files[1]
    name = f"aurora_memory-{VERSION}"
    assert files[0].keys() == {f"{name}-py3-none-any.whl", f"{name}.tar.gz"}


def digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def test_the_version_stands_in_one_place_and_the_changelog_begins_with_it() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", VERSION)
    assert aurora.__version__ == VERSION, "run `make` again: the installed version is another one"
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(r"^## (.*?)( |$)", changes, re.MULTILINE)[1] == VERSION  # type: ignore[index]


@pytest.mark.long
def test_the_wheel_has_the_package_alone_and_works_in_an_empty_environment(
    wheel: Path, tmp_path: Path
) -> None:
    require_the_package_alone(wheel)
    require_it_works(wheel, tmp_path)


def require_the_package_alone(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names} == {
        "aurora", f"aurora_memory-{VERSION}.dist-info",
    }  # fmt: skip
    assert "aurora/py.typed" in names
    model = {name.rpartition("/")[2] for name in names if "/aurora/model/" in name}
    assert model - {""} == {"model.safetensors", "pieces.txt", "layers.onnx"}
    assert not [name for name in names if "__pycache__" in name]


def require_it_works(wheel: Path, tmp_path: Path) -> None:
    venv = tmp_path / "venv"
    subprocess.run([BIN / "uv", "venv", "--quiet", venv], check=True)
    # pip takes ten times as long; pipx below installs with it.
    subprocess.run(
        [
            *(BIN / "uv", "pip", "install", "--quiet", "--python", venv / "bin" / "python"),
            *("--constraints", ROOT / "constraints.txt", wheel),
        ],
        check=True,
        capture_output=True,
    )
    project = write_tree(tmp_path / "project", {"a.py": "def find_me(): pass\n"})
    aur = venv / "bin" / "aur"

    assert "Usage: aur" in run(aur, "--help", cwd=project)
    assert run(aur, "--version", cwd=project) == f"aur, version {VERSION}\n"
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
        Path(own["HOME"]).mkdir(parents=True)
        environment = {**os.environ, **own}
        require_hint_works(install.format(wheel=wheel), aur.format(wheel=wheel), environment)


def require_hint_works(install: str, aur: str, environment: dict[str, str]) -> None:
    def bash(line: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-c", line], cwd=environment["HOME"], env=environment,
            capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False,
        )  # fmt: skip

    installed = bash(install)
    assert installed.returncode == 0, installed.stderr
    assert "Usage: aurora" in bash(f"{aur.removesuffix('aur')}aurora --help").stdout
    refused = bash(f"{aur} mcp")
    assert refused.returncode == 2
    hint = refused.stderr.partition("hint: ")[2].strip()
    aur = hint if hint.startswith("uvx") else aur
    done = bash(f"{aur} mcp" if hint.startswith("uvx") else f"{hint} && {aur} mcp")
    assert done.returncode == 0, (hint, done.stderr)
    connected = bash(f"{aur} install claude-code --yes --no-hooks")
    assert "it answers, with " in connected.stderr + connected.stdout, connected.stderr
    entry = Path(environment["HOME"], ".claude.json").read_text(encoding="utf-8")
    assert environment["UV_CACHE_DIR"] not in entry, "uv may remove it at any time"


@pytest.mark.long
def test_the_first_five_minutes_of_the_readme(dist: Path, tmp_path: Path) -> None:
    """Every command of its block, with the built wheel, uv and git, and without this repository."""
    home = tmp_path / "home"
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "uv").symlink_to(BIN / "uv")
    project = write_tree(
        home / "my-project",
        {
            "app.py": "def parse_config(path):\n    return open(path).read()\n",
            ".gitignore": "*.log\n",
        },
    )
    subprocess.run(["git", "init", "--quiet", project], check=True)
    environment = {
        "HOME": str(home),
        "PATH": os.pathsep.join([str(home / ".local/bin"), str(programs), "/usr/bin", "/bin"]),
        "LANG": "C.UTF-8",
        "UV_FIND_LINKS": str(dist),  # in place of the index, for Aurora alone
        "UV_CONSTRAINT": str(ROOT / "constraints.txt"),
        "UV_PYTHON": str(Path(sys.executable).resolve()),
        **{name: os.environ[name] for name in CERTIFICATES if name in os.environ},
    }
    steps = read_steps((ROOT / "README.md").read_text(encoding="utf-8"))
    commands = [step.command for step in steps]
    printed = dict(zip(commands, run_steps(commands, cwd=home, env=environment), strict=True))

    [search] = [text for command, text in printed.items() if command.startswith("aur search")]
    assert search.startswith("app.py:1  parse_config")
    [recall] = [text for command, text in printed.items() if command.startswith("aur recall")]
    assert "the config is read once" in recall
    assert "FAIL" not in printed["aur doctor"]
    [installed] = [text for command, text in printed.items() if command.startswith("aur install")]
    assert "it answers, with " in installed
    entry = json.loads((home / ".claude.json").read_text(encoding="utf-8"))["mcpServers"]["aurora"]
    assert entry["command"] == str(home / ".local" / "bin" / "aur")
