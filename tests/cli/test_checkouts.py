"""Worktrees of one repository, and people on one server, share a memory."""

from __future__ import annotations

import getpass
import json
import shutil
import socket
from pathlib import Path

import pytest

from aurora import Memory, Places
from aurora.indexing.indexer import IndexReport
from tests.backends import in_a_file
from tests.builders import write_tree
from tests.cli.conftest import Shell, settle
from tests.sources.repository import git, make_repository

APP = (
    "def parse_quokka(text):\n    return text.split()\n\n\ndef feed_wombat(hay):\n    return hay\n"
)
NEWER = APP.replace("return text.split()", "return text.split(',')  # by commas")


@pytest.fixture
def shell(backend: str, tmp_path: Path, request: pytest.FixtureRequest) -> Shell:
    """An indexed repository."""
    root = make_repository(
        tmp_path / "web", {"app.py": APP, "docs/wombats.md": "# Wombats\n\nBig."}
    )
    shell = settle(Shell(root, tmp_path / "user" / "home"), backend, request)
    shell.ok("mem", "index")
    return shell


def add_worktree(shell: Shell, name: str = "side") -> Path:
    folder = shell.cwd.parent / name
    git(shell.cwd, "worktree", "add", "--quiet", "-b", name, str(folder))
    return folder


def index(shell: Shell, cwd: Path) -> IndexReport:
    with Memory.open(cwd, environ=shell.environment) as memory:
        return memory.index()


def chunks(shell: Shell) -> int:
    counted: int = json.loads(shell.ok("mem", "stats", "--json"))["chunks"]
    return counted


def found(shell: Shell, *words: str, cwd: Path | None = None) -> dict[str, str]:
    """The memory of each result, by id."""
    done = json.loads(shell.ok("mem", "search", *words, "--json", cwd=cwd))
    return {result["id"]: result["memory"] for result in done["results"]}


def name_of(backend: str) -> str:
    """How results call the worktree `side`."""
    if backend == "sqlite":
        return "side side"
    return f"{getpass.getuser()}@{socket.gethostname()} side"


def text_of(shell: Shell, id_: str, cwd: Path) -> str:
    return shell.ok("mem", "get", id_, cwd=cwd)


def test_a_new_worktree_has_everything_without_reading_it(shell: Shell) -> None:
    side = add_worktree(shell)
    report = index(shell, side)
    assert not (side / ".aurora").exists()
    assert (report.parsed, report.unchanged) == (0, 2)
    assert found(shell, "parse_quokka", cwd=side) == found(shell, "parse_quokka")
    assert chunks(shell) == 3


def test_each_worktree_has_its_own_version_of_a_file(shell: Shell, backend: str) -> None:
    side = add_worktree(shell)
    index(shell, side)
    write_tree(side, {"app.py": NEWER, "new.py": "def brush_numbat():\n    pass\n"})
    index(shell, side)
    for here, wanted in ((side, "by commas"), (shell.cwd, "text.split()\n")):
        ids = [id_ for id_ in found(shell, "parse_quokka", cwd=here) if "parse_quokka" in id_]
        assert len(ids) == 1
        assert wanted in text_of(shell, ids[0], here)
        assert wanted in text_of(shell, "app.py:parse_quokka", here)
        assert wanted in text_of(shell, "app.py:1", here)
    assert found(shell, "brush_numbat", cwd=side)["new.py:brush_numbat"] == "web"
    assert found(shell, "brush_numbat")["new.py:brush_numbat"] == name_of(backend)
    index(shell, shell.cwd)  # removes nothing of the other
    assert "new.py:brush_numbat" in found(shell, "brush_numbat", cwd=side)


def test_a_worktree_that_takes_the_other_version_needs_no_reading(shell: Shell) -> None:
    side = add_worktree(shell)
    write_tree(side, {"app.py": NEWER})
    index(shell, side)
    assert chunks(shell) == 5
    write_tree(side, {"app.py": APP})
    report = index(shell, side)
    assert report.parsed == 0
    assert chunks(shell) == 3


def test_removing_a_worktree_loses_nothing(shell: Shell) -> None:
    side = add_worktree(shell)
    write_tree(side, {"app.py": NEWER, "new.py": "def brush_numbat():\n    pass\n"})
    index(shell, side)
    lesson = shell.ok("mem", "learn", "brush numbats from the tail", cwd=side).strip()
    shell.ok("mem", "get", "app.py:parse_quokka", cwd=side)
    shell.ok("mem", "get", "app.py:parse_quokka", cwd=side)
    assert lesson in found(shell, "brush numbats")
    git(shell.cwd, "worktree", "remove", "--force", str(side))
    index(shell, shell.cwd)
    assert "new.py:brush_numbat" not in found(shell, "brush_numbat")
    assert lesson in found(shell, "brush numbats")
    with shell.store() as store:
        assert len(store.chunks.get_accesses(["app.py:parse_quokka"])["app.py:parse_quokka"]) == 2
        assert chunks(shell) == 4


def test_a_repository_whose_worktree_is_indexed_first_has_the_memory(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "web", {"app.py": APP})
    shell = Shell(root, tmp_path / "user" / "home")
    side = add_worktree(shell)
    shell.ok("mem", "index", cwd=side)
    assert (root / ".aurora" / "memory.db").exists()
    assert not (side / ".aurora").exists()
    assert "app.py:parse_quokka" in found(shell, "parse_quokka")


def test_a_worktree_below_its_repository(shell: Shell) -> None:
    """As agents make them: its files are not those of the repository around it."""
    side = shell.cwd / ".trees" / "side"
    git(shell.cwd, "worktree", "add", "--quiet", "-b", "side", str(side))
    report = index(shell, side)
    assert report.parsed == 0
    assert found(shell, "parse_quokka", cwd=side) == found(shell, "parse_quokka")


def test_a_file_that_only_names_a_repository_does_not_reach_its_memory(shell: Shell) -> None:
    """An archive may hold any file `.git`."""
    stray = shell.cwd.parent / "stray"
    side = add_worktree(shell)
    shutil.copytree(side, stray)
    assert "There is no memory yet" in shell.fails("mem", "search", "parse_quokka", cwd=stray)


def test_a_worktree_of_a_bare_repository(tmp_path: Path) -> None:
    origin = make_repository(tmp_path / "origin", {"app.py": APP})
    git(tmp_path, "clone", "--quiet", "--bare", str(origin), "web.git")
    git(tmp_path / "web.git", "worktree", "add", "--quiet", "-b", "one", str(tmp_path / "one"))
    git(tmp_path / "web.git", "worktree", "add", "--quiet", "-b", "two", str(tmp_path / "two"))
    shell = Shell(tmp_path / "one", tmp_path / "user" / "home")
    shell.ok("mem", "index")
    lesson = shell.ok("mem", "learn", "brush numbats from the tail").strip()
    index(shell, tmp_path / "two")
    git(tmp_path / "web.git", "worktree", "remove", "--force", str(tmp_path / "one"))
    index(shell, tmp_path / "two")
    assert lesson in found(shell, "brush numbats", cwd=tmp_path / "two")
    assert "app.py:parse_quokka" in found(shell, "parse_quokka", cwd=tmp_path / "two")


def test_a_lesson_for_the_team_is_written_where_the_branch_is(shell: Shell) -> None:
    side = add_worktree(shell)
    index(shell, side)
    lesson = shell.ok("mem", "learn", "--team", "brush numbats from the tail", cwd=side).strip()
    assert [file.parent for file in side.rglob("*numbats*.md")] == [side / "docs" / "lessons"]
    assert not list(shell.cwd.rglob("*numbats*.md"))
    assert lesson in found(shell, "brush numbats", cwd=side)
    assert lesson in found(shell, "brush numbats")


@in_a_file
def test_a_worktree_of_an_older_version_is_moved_to_its_repository(shell: Shell) -> None:
    side = add_worktree(shell)
    older = Places(shell.home, side)
    with Memory(older) as memory:
        memory.index(side)
        old = memory.learn("brush numbats from the head").id
        lesson = memory.learn("brush numbats from the tail", replaces=old).id
        memory.get("app.py:parse_quokka")
    assert lesson not in found(shell, "brush numbats")
    assert "This worktree has a memory of its own" in shell.ok("doctor", cwd=side)
    done = shell.run("doctor", "--fix", cwd=side)
    assert "Moved to the memory of" in done.stderr
    assert "2 chunks of lessons and documents" in done.stderr
    assert (side / ".aurora" / "memory.db.moved").exists()
    assert lesson in found(shell, "brush numbats")
    assert old not in found(shell, "brush numbats")
    assert lesson in found(shell, "brush numbats", cwd=side)
    assert f"{old}  brush numbats from the head" in shell.ok("mem", "history", lesson)
    with shell.store() as store:
        assert len(store.chunks.get_accesses(["app.py:parse_quokka"])["app.py:parse_quokka"]) == 1
    assert "Moved" not in shell.run("doctor", "--fix", cwd=side).stderr
