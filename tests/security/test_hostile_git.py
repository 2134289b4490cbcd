"""Git that cannot be started, and repositories made to cost much, through the real `aur`."""

from __future__ import annotations

import os
import subprocess
import sys
import zlib
from contextlib import suppress
from pathlib import Path
from shutil import which

import pytest

from aurora.errors import GitStartError
from aurora.sources.git import find_root
from tests.builders import write_tree
from tests.cli.conftest import AUR, Shell
from tests.sources.hostile import with_huge_version
from tests.sources.repository import make_repository, own_git

__all__ = ["own_git"]

pytestmark = pytest.mark.one_store("it is about git")

TEXT = "correct horse battery staple"
MEASURED = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], check=False)
print("peak", resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10)
raise SystemExit(done.returncode)
"""
WITHOUT_PROCESSES = """
import os, resource, shutil, subprocess, sys, tempfile  # another user may not read them later
from pathlib import Path
from aurora.errors import GitStartError
from aurora.sources.git import find_root
os.chdir(sys.argv[1])
if os.getuid() == 0:
    os.setuid(65534)  # root may have as many processes as it likes
resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
try:
    print(find_root(Path()))
except GitStartError as exc:
    print(exc.message)
"""


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """A project in which git knows better than ignore files which files count."""
    files: dict[str, str | bytes] = {
        "kept.py": "def kept():\n    return 1\n",
        "build/tracked.py": "def built():\n    return 2\n",  # left out where there is no git
        ".gitignore": "private.py\n",
    }
    root = make_repository(tmp_path / "project", files)
    write_tree(root, {"private.py": "def private():\n    return 3\n"})
    (tmp_path / "scratch").mkdir()
    home = tmp_path / "user" / "home"
    return Shell(root, home, {"TMPDIR": str(tmp_path / "scratch")})


def chunks_of(shell: Shell) -> set[str]:
    with shell.store() as store:
        return set(store.chunks.file_states())


def stand_in(folder: Path, first: str) -> Path:
    """A folder with a git that does something of its own before what it is asked."""
    folder.mkdir()
    (folder / "git").write_text(f'#!/bin/sh\n{first}\nexec {which("git")} "$@"\n')
    (folder / "git").chmod(0o755)
    return folder


def test_without_files_to_open_an_index_fails_and_forgets_nothing(shell: Shell) -> None:
    shell.ok("mem", "index")
    before = chunks_of(shell)
    assert before == {".gitignore", "build/tracked.py", "kept.py"}
    outcomes = {}

    for limit in range(7, 20, 2):
        done = shell.bash(f"ulimit -n {limit}; aur mem index")
        assert chunks_of(shell) == before, limit
        outcomes[limit] = (done.returncode, "git cannot be started" in done.stderr)

    assert {code for code, _ in outcomes.values()} == {0, 2}, outcomes
    assert (2, True) in outcomes.values()


def test_without_processes_git_cannot_be_started(shell: Shell) -> None:
    command = [sys.executable, "-c", WITHOUT_PROCESSES, str(shell.cwd)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)

    assert done.stdout.startswith("git cannot be started in .: ")


@pytest.mark.parametrize(
    ("script", "mode"), [("#!/nowhere/sh\n", 0o755), ("#!/bin/sh\n", 0o644)], ids=["broken", "shut"]
)
def test_a_git_that_is_there_and_cannot_be_run_is_an_error(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, mode: int
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "git").write_text(script)
    (tmp_path / "bin" / "git").chmod(mode)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))

    with pytest.raises(GitStartError, match="git cannot be started"):
        find_root(shell.cwd)


def test_a_repository_inside_another_does_not_hide_that_git_cannot_be_started(
    shell: Shell, tmp_path: Path
) -> None:
    """Git works for the outer folder, and not for the inner one."""
    make_repository(shell.cwd / "inner", {"in.py": "def inner():\n    return 4\n"})
    shell.ok("mem", "index")
    before = chunks_of(shell)
    # The first call for the inner folder takes the program away, as an update may.
    gone = f'[ "${{PWD##*/}}" = inner ] && {which("chmod")} 0 "$0"'
    shell.environ["PATH"] = str(stand_in(tmp_path / "bin", gone))

    assert "git cannot be started" in shell.fails("mem", "index")
    assert chunks_of(shell) == before


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits a process that runs")
@pytest.mark.parametrize("files", [1, 20], ids=["blame", "replay"])
def test_a_huge_version_in_the_past_costs_little_memory_and_is_told_once(
    tmp_path: Path, files: int
) -> None:
    root = with_huge_version(tmp_path / "project", mebibytes=128, files=files)
    shell = Shell(root, tmp_path / "user" / "home")
    command = [sys.executable, "-c", MEASURED, str(AUR), "mem", "index"]
    objects = sum(file.stat().st_size for file in (root / ".git" / "objects").rglob("*.pack"))

    done = subprocess.run(
        command, cwd=root, env=shell.environment, capture_output=True, text=True, check=True
    )

    assert objects < 1 << 20
    assert int(done.stdout.rsplit("peak ", 1)[1]) < 1280  # MiB; without limits 2,900
    assert f"The git history of {root} is coarser: " in done.stderr
    assert "coarser" not in shell.run("mem", "index").stderr  # nor is git asked for it again


def test_a_killed_index_leaves_no_text_of_edited_files(shell: Shell, tmp_path: Path) -> None:
    write_tree(shell.cwd, {"kept.py": f"def kept():\n    return '{TEXT}'\n"})
    # The index is killed while it compares the edited file with the committed one.
    kill = 'case "$*" in *-U0*) kill -9 $PPID;; esac'
    path = f"{stand_in(tmp_path / 'bin', kill)}:{os.environ['PATH']}"
    done = subprocess.run(
        [AUR, "mem", "index"], cwd=shell.cwd, env=shell.environment | {"PATH": path}, check=False
    )

    assert done.returncode == -9
    for file in (tmp_path / "scratch").rglob("*"):
        content = file.read_bytes() if file.is_file() else b""
        with suppress(zlib.error):
            content += zlib.decompress(content)
        assert TEXT.encode() not in content, file
    shell.ok("mem", "index")
    assert list((tmp_path / "scratch").iterdir()) == []
