"""Which folders are watched, and which changes in them are news."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from aurora.sources.watch import Rules, WatchScope, drop_ignored, survey
from tests.builders import write_tree
from tests.sources.repository import as_ordinary_user, git, make_repository

TOP = Path("/p")
GROUND = WatchScope(
    folders=dict.fromkeys([TOP, TOP / "src", TOP / "data"], Rules(TOP, by_git=True)),
    heads=frozenset(
        TOP / ".git" / name
        for name in (".", "logs", "reftable", "refs/heads", "refs/heads/feature")
    ),
    files=frozenset({Path("/notes/todo.md")}),
    own=("/p/data/memory.db", "/p/data/indexes"),
)


@pytest.mark.parametrize(
    "path",
    [
        "/p/app.py", "/p/src/app.py", "/p/src/用户.py", "/p/Makefile", "/p/.github",
        "/p/.env.example",
        "/p/src/new_folder", "/p/src", "/p", "/p/.gitignore", "/p/src/.auroraignore", "/p/.git",
        "/p/src/swp", "/p/src/a.swp.py", "/p/src/HEAD", "/p/src/x.lock", "/p/a#b", "/p/~a",
        "/p/49130",
        "/p/data/memory.txt", "/p/build", "/notes/todo.md",
        "/p/.git/HEAD", "/p/.git/packed-refs", "/p/.git/logs/HEAD", "/p/.git/refs/heads/main",
        "/p/.git/refs/heads/feature", "/p/.git/refs/heads/feature/x",
        "/p/.git/reftable/tables.list",
    ],
)  # fmt: skip
def test_news(path: str) -> None:
    assert GROUND.is_news(Path(path))


@pytest.mark.parametrize(
    "path",
    [
        # the memory's own
        "/p/.aurora", "/p/.aurora/memory.db", "/p/.aurora/memory.db-wal", "/p/.aurora/indexes/x",
        "/p/data/memory.db", "/p/data/memory.db-wal", "/p/data/memory.db-indexing",
        "/p/data/indexes", "/p/data/indexes/bm25.idx",
        # git at work
        "/p/.git/index", "/p/.git/index.lock", "/p/.git/HEAD.lock", "/p/.git/ORIG_HEAD",
        "/p/.git/FETCH_HEAD", "/p/.git/COMMIT_EDITMSG", "/p/.git/config", "/p/.git/objects",
        "/p/.git/objects/ab/cdef", "/p/.git/refs/heads/main.lock",
        "/p/.git/refs/remotes/origin/main",
        "/p/.git/logs/refs/remotes/origin/HEAD", "/p/.git/packed-refs.lock", "/p/.git/refs/stash",
        "/p/.git/reftable/0x000000000001-0x000000000002-abcdef.ref",
        # folders nobody watches
        "/p/node_modules", "/p/node_modules/left-pad/index.js", "/p/src/__pycache__",
        "/p/src/__pycache__/app.cpython-311.pyc", "/p/vendor", "/p/build/app.o",
        "/elsewhere/app.py",
        # what editors leave behind
        "/p/src/app.py~", "/p/src/.app.py.swp", "/p/src/.app.py.swo", "/p/src/.app.py.swx",
        "/p/4913",
        "/p/#app.py#", "/p/.#app.py", "/p/app.py.kate-swp", "/p/.~lock.plan.odt#",
        "/p/app.py___jb_tmp___", "/p/app.py___jb_old___", "/p/.goutputstream-AB12CD", "/p/a.crswap",
        "/p/app.pyc", "/p/.DS_Store", "/p/Thumbs.db",
        # neighbours of a single file
        "/notes/todo.md~", "/notes/other.md", "/notes",
    ],
)  # fmt: skip
def test_no_news(path: str) -> None:
    assert not GROUND.is_news(Path(path))


def below(root: Path, *targets: Path, logs: Path | None = None) -> set[str]:
    """Names of the watched folders below a root."""
    watched = survey(targets or [root], logs=logs).watched
    return {path.relative_to(root).as_posix() for path in watched}


HEADS = {".git", ".git/logs", ".git/refs/heads"}


def test_folders_of_a_repository(tmp_path: Path) -> None:
    root = make_repository(
        tmp_path / "p",
        {
            ".gitignore": "target/\n*.log\n",
            ".auroraignore": "fixtures/\n",
            "src/deep/a.py": "",
            "fixtures/x/a.py": "",
            "vendor/b.py": "",
            ".github/workflows/ci.yml": "",
        },
    )
    write_tree(root, {"target/debug/a.o": "", "src/target/x/y": "", "src/__pycache__/a.pyc": ""})
    (root / "new" / "empty").mkdir(parents=True)
    (root / "src" / "link").symlink_to("/")
    folders = {".", "src", "src/deep", ".github", ".github/workflows", "new", "new/empty"}
    assert below(root) == folders | HEADS


def test_a_folder_that_holds_only_ignored_files_is_watched_for_others(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "p", {".gitignore": "*.log\ncache/\n"})
    write_tree(root, {"logs/today.log": "", "logs/cache/x": ""})
    assert below(root) == {".", "logs"} | HEADS


def test_folders_without_git(tmp_path: Path) -> None:
    root = write_tree(
        tmp_path / "p",
        {
            ".gitignore": "out/\n", ".auroraignore": "old/\n", "src/a.py": "", "out/a": "",
            "old/a.py": "", "build/a": "", ".hidden/a": "", "node_modules/a/b.js": "",
        },
    )  # fmt: skip
    assert below(root) == {".", "src"}


def test_a_part_of_a_repository_hears_of_its_commits(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "p", {"src/a.py": "", "docs/a.md": ""})
    assert below(root, root / "src") == {"src"} | HEADS
    assert below(root, root / "src" / "a.py") == {"src"} | HEADS


def test_repositories_inside(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "p", {"a.py": ""})
    make_repository(root / "one", {"out/a.py": "", ".gitignore": "tmp/\n"})
    write_tree(root / "one", {"tmp/a": ""})
    inside = {f"one/{name}" for name in HEADS}
    assert below(root) == {".", "one", "one/out"} | inside


def test_an_added_work_tree_hears_of_its_own_and_of_the_shared_branches(tmp_path: Path) -> None:
    first = make_repository(tmp_path / "first", {"a.py": ""})
    git(first, "worktree", "add", "--quiet", str(tmp_path / "second"), "-b", "topic/x")
    ground = survey([tmp_path / "second"])
    assert {path.relative_to(tmp_path).as_posix() for path in ground.heads} == {
        "first/.git", "first/.git/refs/heads", "first/.git/refs/heads/topic",
        "first/.git/worktrees/second", "first/.git/worktrees/second/logs",
    }  # fmt: skip
    assert ground.is_news(first / ".git" / "worktrees" / "second" / "HEAD")
    assert ground.is_news(first / ".git" / "refs" / "heads" / "topic" / "x")


def test_the_logs_are_watched_whatever_git_says_of_them(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "p", {".gitignore": ".aurora/\n"})
    logs = root / ".aurora" / "logs" / "conversations"
    write_tree(logs, {"2025/11/talk.md": "# Talk\n"})
    ground = survey([root], logs=logs)
    talk = logs / "2025" / "11" / "talk.md"
    assert ground.is_news(talk)
    assert drop_ignored(ground, [talk]) == {talk}
    assert not ground.is_news(logs.parent / "aurora.log")


def test_missing_targets_and_logs_are_left_out(tmp_path: Path) -> None:
    ground = survey([tmp_path / "gone" / "x"], logs=tmp_path / "no" / "logs")
    assert ground.watched == frozenset()


def test_a_folder_that_may_not_be_read_is_left_out() -> None:
    with tempfile.TemporaryDirectory() as name:
        root = write_tree(Path(name), {"open/a.py": "", "shut/a.py": ""})
        root.chmod(0o755)
        (root / "shut").chmod(0)
        with as_ordinary_user():
            assert below(root) == {".", "open"}


def test_a_damaged_repository_is_watched_like_a_plain_folder(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "p", {"src/a.py": ""})
    (root / ".git" / "HEAD").write_text("nonsense")
    assert {".", "src"} <= below(root)


def test_ignored_files_are_dropped_also_when_they_are_gone(tmp_path: Path) -> None:
    root = make_repository(
        tmp_path / "p",
        {".gitignore": "*.log\n!keep.log\n", ".auroraignore": "*.csv\n", "src/a.py": ""},
    )
    write_tree(root, {"forced.log": "x"})
    git(root, "add", "--force", "forced.log")
    names = (
        "a.log",
        "keep.log",
        "forced.log",
        "src/b.log",
        "src/a.py",
        ":(top)c",
        ":(bad)d.log",
        "a.csv",
    )
    kept = drop_ignored(survey([root]), [root / name for name in names])
    assert {path.relative_to(root).as_posix() for path in kept} == {
        "keep.log", "forced.log", "src/a.py", ":(top)c",
    }  # fmt: skip


def test_ignored_files_are_dropped_where_there_is_no_git(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "p", {".gitignore": "*.log\n", "src/.auroraignore": "*.csv\n"})
    names = ("a.log", "a.csv", "src/a.csv", "src/a.py", ".hidden", ".gitignore", ".git")
    kept = drop_ignored(survey([root]), [root / name for name in names])
    assert {path.relative_to(root).as_posix() for path in kept} == {
        "a.csv", "src/a.py", ".gitignore", ".git",
    }  # fmt: skip


def test_a_single_file_is_never_dropped(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "p", {".gitignore": "*.log\n"})
    wanted = write_tree(root, {"a.log": "x"}) / "a.log"
    ground = survey([wanted])
    assert drop_ignored(ground, [wanted]) == {wanted}
    assert not ground.is_news(root / "b.py")


def test_a_repository_that_git_cannot_read_drops_nothing(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "p", {".gitignore": "*.log\n"})
    ground = survey([root])
    (root / ".git" / "HEAD").unlink()
    assert drop_ignored(ground, [root / "a.log"]) == {root / "a.log"}


@pytest.mark.skipif(os.name != "posix", reason="names of any bytes")
def test_a_folder_whose_name_is_not_utf8_is_left_out(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "p", {"a.py": ""})
    try:
        Path(os.fsdecode(os.fsencode(root) + b"/\xff")).mkdir()
    except OSError:
        pytest.skip("this file system refuses such names")
    assert below(root) == {"."}
