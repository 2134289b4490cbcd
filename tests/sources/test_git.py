"""Which files git knows, asked without touching the repository."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from aurora.errors import SourceError
from aurora.sources.git import (
    Change,
    Git,
    find_root,
    list_changes,
    list_files,
    list_uncommitted,
    open_scratch,
)
from tests.builders import write_tree
from tests.sources.repository import git, make_repository


def test_tracked_and_new_files_are_listed_in_order_and_ignored_ones_are_not(tmp_path: Path) -> None:
    root = make_repository(
        tmp_path, {"b.py": "", "a/deep/c.py": "", ".gitignore": "*.log\n/out/\n"}
    )
    write_tree(
        root, {"new.py": "", "a/new.py": "", "a/x.log": "", "out/y.py": "", "a/out/z.py": ""}
    )

    assert list_files(root) == [
        ".gitignore", "a/deep/c.py", "a/new.py", "a/out/z.py", "b.py", "new.py",
    ]  # fmt: skip


def test_every_ignore_file_counts_where_it_stands(tmp_path: Path) -> None:
    root = make_repository(tmp_path, {"a.txt": "", ".gitignore": "*.txt\n!kept.txt\n"})
    write_tree(
        root,
        {
            "sub/.gitignore": "*.py\n!*.txt\n",
            "sub/a.py": "",
            "sub/b.txt": "",
            "kept.txt": "",
            "other/c.py": "",
            "other/d.txt": "",
            ".git/info/exclude": "private/\n",
            "private/e.py": "",
        },
    )

    assert list_files(root) == [
        ".gitignore",
        "kept.txt",
        "other/c.py",
        "sub/.gitignore",
        "sub/b.txt",
    ]


def test_a_file_that_was_added_by_force_is_listed_although_ignored(tmp_path: Path) -> None:
    root = make_repository(tmp_path, {".gitignore": "*.log\n", "x.log": "", "y.log": ""})
    git(root, "add", "--force", "x.log")

    assert list_files(root) == [".gitignore", "x.log"]


def test_a_subfolder_is_listed_relative_to_itself_under_the_rules_above_it(tmp_path: Path) -> None:
    root = make_repository(tmp_path, {"sub/a.py": "", "b.py": "", ".gitignore": "*.log\n"})
    write_tree(root, {"sub/x.log": "", "sub/in/c.py": ""})

    assert list_files(root / "sub") == ["a.py", "in/c.py"]


def test_a_conflict_lists_its_file_once(tmp_path: Path) -> None:
    root = make_repository(tmp_path, {"a.py": "x = 1\n"})
    git(root, "checkout", "--quiet", "-b", "other")
    write_tree(root, {"a.py": "x = 2\n"})
    git(root, "commit", "--quiet", "--all", "--message", "two")
    git(root, "checkout", "--quiet", "main")
    write_tree(root, {"a.py": "x = 3\n"})
    git(root, "commit", "--quiet", "--all", "--message", "three")
    with pytest.raises(subprocess.CalledProcessError):
        git(root, "merge", "--quiet", "other")

    assert git(root, "ls-files", "--unmerged").count("a.py") == 3
    assert list_files(root) == ["a.py"]


def test_an_empty_repository_has_no_files(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")

    assert list_files(tmp_path) == []


def test_commits_have_their_subject_and_the_paths_below_the_folder(tmp_path: Path) -> None:
    root = make_repository(tmp_path, {"a.py": "", "sub/ü b.py": ""})
    for subject, names in (("Let ü wade\n\nAnd fly.", ["sub/ü b.py"]), ("Both", ["a.py", "sub/c"])):
        write_tree(root, dict.fromkeys(names, "x"))
        git(root, "add", "--all")
        git(root, "commit", "--quiet", "--message", subject)
    git(root, "commit", "--quiet", "--allow-empty", "--message", "Nothing")

    changes = list_changes(root, 10) or []
    assert changes[:2] == [Change("Both", ("a.py", "sub/c")), Change("Let ü wade", ("sub/ü b.py",))]
    assert changes[2].paths == ("a.py", "sub/ü b.py")
    assert [change.paths for change in list_changes(root / "sub", 2) or []] == [("c",), ("ü b.py",)]


def test_what_is_not_committed_is_listed_from_the_folder(tmp_path: Path) -> None:
    root = make_repository(tmp_path, dict.fromkeys(("a.py", "b.py", "sub/c.py", "d.py"), "1"))
    write_tree(
        root,
        {"a.py": "2", "sub/c.py": "2", "sub/ü.py": "new", "sub/x.log": "", ".gitignore": "*.log"},
    )
    git(root, "add", "sub/c.py")
    (root / "b.py").unlink()
    assert list_uncommitted(root) == [".gitignore", "a.py", "b.py", "sub/c.py", "sub/ü.py"]
    assert list_uncommitted(root / "sub") == ["c.py", "ü.py"]


def test_in_a_repository_without_a_commit_everything_is_uncommitted(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    write_tree(tmp_path, {"a.py": "", "b.py": ""})
    git(tmp_path, "add", "a.py")
    assert list_uncommitted(tmp_path) == ["a.py", "b.py"]


def test_merges_are_not_listed_as_changes(tmp_path: Path) -> None:
    root = make_repository(tmp_path, {"a.py": ""})
    git(root, "checkout", "--quiet", "-b", "other")
    write_tree(root, {"b.py": ""})
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "other")
    git(root, "checkout", "--quiet", "main")
    git(root, "merge", "--quiet", "--no-ff", "--message", "merge", "other")
    assert [change.subject for change in list_changes(root, 1) or []] == ["other"]


def test_without_commits_or_a_repository_there_are_no_changes(tmp_path: Path) -> None:
    assert list_changes(tmp_path, 10) is None
    assert list_uncommitted(tmp_path) is None
    git(tmp_path, "init", "--quiet")
    assert list_changes(tmp_path, 10) == []


@pytest.mark.parametrize(
    "name",
    [b"two words", b"new\nline", b'"quoted"', b"-n", b"*", b"back\\slash", "é走".encode(), b"\xff"],
)
def test_any_name_comes_back_as_it_is(tmp_path: Path, name: bytes) -> None:
    (tmp_path / os.fsdecode(name)).write_text("x")
    root = make_repository(tmp_path, {})

    assert list_files(root) == [os.fsdecode(name)]
    git(root, "rm", "--quiet", "--cached", "-r", ".")
    assert list_files(root) == [os.fsdecode(name)]


@pytest.mark.parametrize(
    "name", ["plain", "two words", 'with"quote', "é走", "in\nside", "at the end\n"], ids=ascii
)
def test_the_root_is_found_from_a_folder_and_from_a_file(tmp_path: Path, name: str) -> None:
    root = make_repository(tmp_path / name, {"sub/a.py": ""})

    assert find_root(root) == root
    assert find_root(root / "sub") == root
    assert find_root(root / "sub" / "a.py") == root


def test_a_worktree_is_a_root_of_its_own(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "main", {"a.py": ""})
    git(root, "worktree", "add", "--quiet", str(tmp_path / "linked"))

    assert find_root(tmp_path / "linked") == tmp_path / "linked"
    assert list_files(tmp_path / "linked") == ["a.py"]


def test_a_repository_named_in_the_environment_is_not_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Git sets these for its hooks, and a hook is a good place to index from."""
    other = make_repository(tmp_path / "other", {"other.py": ""})
    root = make_repository(tmp_path / "own", {"own.py": "", ".gitignore": "*.log\n", "x.log": ""})
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / ".git" / "index"))

    assert find_root(root) == root
    assert list_files(root) == [".gitignore", "own.py"]


def test_outside_a_repository_there_is_no_answer(tmp_path: Path) -> None:
    write_tree(tmp_path, {"a.py": ""})

    assert (find_root(tmp_path), list_files(tmp_path)) == (None, None)
    assert find_root(tmp_path / "a.py") is None


def test_without_git_there_is_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = make_repository(tmp_path / "repository", {"a.py": ""})
    monkeypatch.setenv("PATH", str(tmp_path))

    assert (find_root(root), list_files(root)) == (None, None)


def test_a_folder_that_is_not_there_has_no_answer(tmp_path: Path) -> None:
    assert (find_root(tmp_path / "no" / "a.py"), list_files(tmp_path / "no")) == (None, None)


def test_the_repository_is_not_written_to(tmp_path: Path) -> None:
    root = make_repository(tmp_path, {"a.py": "x = 1\n", "b.py": "y = 1\n"})
    write_tree(root, {"a.py": "x = 2\n", "new.py": ""})
    os.utime(
        root / "b.py", ns=(1, 1)
    )  # git's index is out of date now: it would like to refresh it
    before = listing(root / ".git")

    list_files(root)
    find_root(root)

    assert listing(root / ".git") == before


def listing(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Everything below a folder: mode, time and content."""
    return {
        str(path.relative_to(folder)): (
            path.lstat().st_mode,
            path.lstat().st_mtime_ns,
            path.read_bytes() if path.is_file() else b"",
        )
        for path in sorted(folder.rglob("*"))
    }


def test_a_repository_git_cannot_read_is_an_error(tmp_path: Path) -> None:
    """A walk without git's word would read what is ignored and forget what is hidden."""
    root = make_repository(tmp_path, {"a.py": ""})
    (root / ".git" / "index").write_bytes(b"garbage")

    with pytest.raises(SourceError, match="git cannot tell which files"):
        list_files(root)


def test_a_bare_repository_has_no_work_tree(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "--bare")

    assert (find_root(tmp_path), list_files(tmp_path)) == (None, None)


def test_what_killed_runs_left_behind_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_repository(tmp_path / "repository", {"a.py": ""})
    scratch = tmp_path / "scratch"
    old, new = scratch / "aurora-git-old", scratch / "aurora-git-new"
    for folder in (old / "ab", new, scratch / "other"):
        folder.mkdir(parents=True)
    os.utime(old, (1, 1))
    os.utime(scratch / "other", (1, 1))
    monkeypatch.setattr("tempfile.tempdir", str(scratch))

    with open_scratch(Git(root)):
        pass

    assert {path.name for path in scratch.iterdir()} == {"aurora-git-new", "other"}


def test_the_scratch_of_a_killed_run_is_removed_a_day_later_and_that_of_a_living_one_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_repository(tmp_path / "repository", {"a.py": ""})
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    killed = start_scratch(root, scratch)
    killed.kill()
    killed.communicate()
    (left,) = scratch.iterdir()
    os.utime(left, (time.time() - 90_000,) * 2)
    living = start_scratch(root, scratch)
    (left,) = scratch.iterdir()  # the second run has removed the folder of the first

    with open_scratch(Git(root)) as own:
        assert set(scratch.iterdir()) == {left, own.objects}
        assert own.objects.stat().st_mode & 0o777 == 0o700
    living.communicate(b"end")

    assert list(scratch.iterdir()) == []


def start_scratch(root: Path, place: Path) -> subprocess.Popen[bytes]:
    """A process that has a scratch folder open until it can read a line."""
    program = (
        "import sys; from pathlib import Path; from aurora.sources.git import Git, open_scratch\n"
        "with open_scratch(Git(Path(sys.argv[1]))): print(flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", program, str(root)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    process = subprocess.Popen(command, env=os.environ | {"TMPDIR": str(place)}, **pipes)
    assert process.stdout is not None
    process.stdout.readline()
    return process
