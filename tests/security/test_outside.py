"""Nothing outside the folder is read, whatever stands in it or in a file that is imported."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from aurora import Memory, Places
from tests.builders import write_tree
from tests.cli.conftest import Shell
from tests.sources.repository import git

OUTSIDE = "outsidequux"


@pytest.fixture
def world(tmp_path: Path) -> Path:
    """A project full of ways out of it, and what lies outside."""
    write_tree(
        tmp_path / "outside", {"notes.md": f"# {OUTSIDE}\n", "deep/more.py": f"{OUTSIDE} = 1\n"}
    )
    root = write_tree(tmp_path / "project", {"a.py": "def inside():\n    return 1\n"})
    outside = tmp_path / "outside"
    (root / "file.md").symlink_to(outside / "notes.md")
    (root / "folder").symlink_to(outside)
    (root / "relative.md").symlink_to("../outside/notes.md")
    (root / "loop").symlink_to(root)
    (root / "sub").mkdir()
    (root / "sub" / "up").symlink_to("../../outside/deep")
    (root / "hard.md").write_text("# plain\n")
    return root


@pytest.mark.parametrize("with_git", [True, False], ids=["git", "plain"])
def test_links_are_not_followed(world: Path, tmp_path: Path, with_git: bool) -> None:
    if with_git:
        git(world, "init", "--quiet")
        git(world, "add", "--all")
        git(world, "commit", "--quiet", "--message", "links")
    with Memory(Places(tmp_path / "home", world)) as memory:
        report = memory.index(world)
        texts = [chunk.content + chunk.path for chunk in memory.admin.chunks()]

    assert any("inside" in text for text in texts)
    assert not any(OUTSIDE in text or "outside" in text for text in texts)
    assert report.skipped["link"] >= 3


def test_a_link_that_takes_a_files_place_is_not_followed(world: Path, tmp_path: Path) -> None:
    with Memory(Places(tmp_path / "home", world)) as memory:
        memory.index(world)
        (world / "a.py").unlink()
        (world / "a.py").symlink_to(tmp_path / "outside" / "deep" / "more.py")
        memory.index(world)
        assert not any(OUTSIDE in chunk.content for chunk in memory.admin.chunks())


@pytest.mark.parametrize(
    "path", ["../outside/notes.md", "/etc/passwd", "folder/notes.md", "a/../../x"]
)
def test_a_path_in_an_import_opens_nothing(world: Path, tmp_path: Path, path: str) -> None:
    """It is a name: neither importing, searching, reading nor indexing opens what it leads to."""
    shell = Shell(world, tmp_path / "home")
    shell.ok("init")
    shell.ok("mem", "index", ".")
    lines = [json.loads(line) for line in shell.ok("mem", "export").splitlines()]
    for line in lines:
        if line.get("path") == "a.py":
            line["path"] = path
        if line.get("chunk", {}).get("path") == "a.py":
            line["chunk"]["path"] = path
    changed = "\n".join(map(json.dumps, lines)) + "\n"
    (tmp_path / "changed.jsonl").write_text(changed, encoding="utf-8")

    assert shell.run("mem", "import", str(tmp_path / "changed.jsonl")).returncode in (0, 2)
    shell.ok("mem", "search", "inside")
    shell.ok("mem", "index", ".")
    with Memory(Places(shell.home, world)) as memory:
        stream = io.BytesIO()
        memory.export(stream)
    assert OUTSIDE.encode() not in stream.getvalue()
    assert b"root:x:" not in stream.getvalue()
