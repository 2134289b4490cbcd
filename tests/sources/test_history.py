"""Commits and dates of lines, over what people do with files in a repository."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from aurora.sources.blame.history import History, Unavailable, Untracked
from aurora.sources.blame.replay import LineHistory
from aurora.types import Lines
from tests.builders import write_tree
from tests.sources.blamed import blame_lines
from tests.sources.dated import ALL, TEN, Told, ask, commit, day, start, told, touching
from tests.sources.repository import git, make_repository
from tests.sources.test_git import listing


def test_lines_have_the_commits_that_last_touched_them_and_the_newest_authors_date(
    tmp_path: Path, way: int
) -> None:
    root = start(tmp_path, {"a.py": TEN})
    commit(root, 2, {"a.py": TEN.replace("line 3\n", "line three\n")})
    commit(root, 3, {"a.py": TEN.replace("line 3\n", "line three\nand more\n")})

    assert touching(root, "a.py", Lines(1, 2), way) == Told(1, day(1))
    assert touching(root, "a.py", Lines(3, 3), way) == Told(1, day(2))
    assert touching(root, "a.py", Lines(2, 4), way) == Told(3, day(3))
    assert touching(root, "a.py", Lines(5, 11), way) == Told(1, day(1))


def test_a_renamed_file_keeps_its_past(tmp_path: Path, way: int) -> None:
    root = start(tmp_path, {"notes.txt": TEN})
    (root / "notes.txt").rename(root / "b.py")
    commit(root, 2, {"b.py": TEN.replace("line 9\n", "")})

    assert touching(root, "b.py", way=way) == Told(1, day(1))


def test_a_name_that_is_used_again_is_another_file(tmp_path: Path, way: int) -> None:
    root = start(tmp_path, {"a.py": TEN})
    (root / "a.py").rename(root / "b.py")
    commit(root, 2)
    commit(root, 3, {"a.py": "new\n"})

    assert touching(root, "a.py", Lines(1, 1), way) == Told(1, day(3))
    assert touching(root, "b.py", way=way) == Told(1, day(1))


def test_a_merge_takes_lines_from_a_branch_that_knows_the_file_by_its_old_name(
    tmp_path: Path, way: int
) -> None:
    root = start(tmp_path, {"old.py": TEN})
    git(root, "checkout", "--quiet", "-b", "other")
    commit(root, 2, {"old.py": TEN.replace("line 2\n", "line two\n")})
    git(root, "checkout", "--quiet", "main")
    (root / "old.py").rename(root / "new.py")
    commit(root, 3, {"new.py": TEN.replace("line 9\n", "line nine\n")})
    git(root, "merge", "--quiet", "--no-edit", "other")

    assert touching(root, "new.py", Lines(2, 2), way) == Told(1, day(2))
    assert touching(root, "new.py", Lines(1, 10), way) == Told(3, day(3))


def test_a_new_mode_is_not_a_new_line(tmp_path: Path, way: int) -> None:
    root = start(tmp_path, {"a.py": TEN})
    (root / "a.py").chmod(0o755)
    commit(root, 2)

    assert touching(root, "a.py", way=way) == Told(1, day(1))


def test_a_binary_file_has_lines_too(tmp_path: Path, way: int) -> None:
    root = start(tmp_path, {"a.bin": b"\0one\ntwo\nthree\n"})
    commit(root, 2, {"a.bin": b"\0one\ntwo\nTHREE\n"})

    assert touching(root, "a.bin", Lines(1, 2), way) == Told(1, day(1))
    assert touching(root, "a.bin", Lines(3, 3), way) == Told(1, day(2))


def test_lines_changed_on_disk_belong_to_no_commit(tmp_path: Path) -> None:
    root = start(tmp_path, {"a.py": TEN, "b.py": TEN})
    write_tree(root, {"a.py": "new\n" + TEN.replace("line 5\n", "")})
    git(root, "add", "a.py")
    write_tree(root, {"a.py": "new\n" + TEN.replace("line 5\n", ""), "b.py": "other\n"})

    assert touching(root, "a.py", Lines(1, 1)) == Told(0, None, uncommitted=True)
    assert touching(root, "a.py", Lines(1, 2)) == Told(1, day(1), uncommitted=True)
    assert touching(root, "a.py", Lines(2, 9)) == Told(1, day(1))
    assert touching(root, "b.py", Lines(1, 1)) == Told(0, None, uncommitted=True)


def test_a_file_that_was_only_written_again_is_not_changed(tmp_path: Path) -> None:
    root = start(tmp_path, {"a.py": TEN})
    os.utime(root / "a.py", ns=(1, 1))

    assert touching(root, "a.py") == Told(1, day(1))


def test_other_line_ends_on_disk_are_no_change_where_git_converts_them(tmp_path: Path) -> None:
    root = start(tmp_path, {"a.py": TEN, ".gitattributes": "*.py text eol=crlf\n"})
    write_tree(root, {"a.py": TEN.replace("\n", "\r\n").replace("line 2", "line two")})

    assert touching(root, "a.py", Lines(2, 2)) == Told(0, None, uncommitted=True)
    assert touching(root, "a.py", Lines(3, 10)) == Told(1, day(1))


def test_a_staged_rename_keeps_its_past(tmp_path: Path) -> None:
    root = start(tmp_path, {"a.py": TEN})
    git(root, "mv", "a.py", "b.py")
    write_tree(root, {"b.py": TEN + "more\n"})

    assert touching(root, "b.py", ALL) == Told(1, day(1))
    assert touching(root, "b.py", Lines(11, 11)) == Told(0, None, uncommitted=True)


def test_a_file_in_conflict_has_the_lines_of_its_own_side(tmp_path: Path) -> None:
    root = start(tmp_path, {"a.py": TEN})
    git(root, "checkout", "--quiet", "-b", "other")
    commit(root, 2, {"a.py": TEN.replace("line 5\n", "theirs\n")})
    git(root, "checkout", "--quiet", "main")
    commit(root, 3, {"a.py": TEN.replace("line 5\n", "ours\n")})
    with pytest.raises(subprocess.CalledProcessError):
        git(root, "merge", "--quiet", "other")

    assert touching(root, "a.py", Lines(1, 4)) == Told(1, day(1))
    assert touching(root, "a.py", Lines(5, 9)) == Told(1, day(3), uncommitted=True)


def test_files_that_were_never_committed_are_untracked(tmp_path: Path) -> None:
    root = start(tmp_path, {"a.py": TEN, ".gitignore": "*.log\n"})
    write_tree(root, {"new.py": "1\n", "x.log": "2\n", "staged.py": "3\n", "meant.py": "4\n"})
    git(root, "add", "staged.py")
    git(root, "add", "--intent-to-add", "meant.py")
    names = ["new.py", "x.log", "staged.py", "meant.py", "gone.py", "../a.py", "/a.py", ""]

    found = History(root, cache=None).of(names)

    assert found == dict.fromkeys(names, Untracked())


def test_what_lies_in_a_submodule_or_is_a_link_is_unavailable(tmp_path: Path) -> None:
    inner = make_repository(tmp_path / "inner", {"x.py": TEN})
    root = start(tmp_path / "outer", {"a.py": TEN})
    (root / "link.py").symlink_to("a.py")
    git(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "sub")
    commit(root, 2)

    reason = "{} is a submodule or a link"
    assert ask(root, "sub/x.py") == Unavailable(reason.format("sub"))
    assert ask(root, "link.py") == Unavailable(reason.format("link.py"))
    assert touching(root, "a.py") == Told(1, day(1))
    assert isinstance(ask(root / "sub", "x.py"), LineHistory)


def test_a_link_in_place_of_a_file_is_not_followed(tmp_path: Path) -> None:
    root = start(tmp_path, {"a.py": TEN, "b.py": "other\n"})
    (root / "a.py").unlink()
    (root / "a.py").symlink_to("b.py")

    assert touching(root, "a.py") == Told(1, day(1))


def test_paths_are_relative_to_the_folder_that_was_given(tmp_path: Path, way: int) -> None:
    root = start(tmp_path, {"sub/a.py": TEN, "a.py": "x\n"})
    commit(root, 2, {"a.py": "y\n"})
    write_tree(root, {"sub/a.py": "new\n" + TEN})

    assert touching(root / "sub", "a.py", Lines(2, 11), way) == Told(1, day(1))
    assert touching(root / "sub", "a.py", Lines(1, 1), way).uncommitted


@pytest.mark.parametrize(
    "name",
    [b"two words", b"new\nline", b'"quoted"', b"-n", b"*", b"back\\slash", "é走".encode(), b"\xff",
     b"a:b", b":(top)x", b"tab\there"],
    ids=ascii,
)  # fmt: skip
def test_any_name_will_do(tmp_path: Path, name: bytes, way: int) -> None:
    """For the file, and for the folder that the repository lies in."""
    file = os.fsdecode(name)
    root = start(tmp_path / file, {f"{file}/{file}": TEN, "b.py": TEN})
    commit(root, 2, {f"{file}/{file}": TEN.replace("line 2\n", "line two\n")})
    write_tree(root, {f"{file}/{file}": TEN.replace("line 2\n", "line two\n") + "more\n"})

    assert touching(root, f"{file}/{file}", Lines(1, 11), way) == Told(2, day(2), True)


def test_a_linked_worktree_has_the_past_of_its_own_branch(tmp_path: Path, way: int) -> None:
    root = start(tmp_path / "main", {"a.py": TEN})
    git(root, "worktree", "add", "--quiet", "-b", "other", str(tmp_path / "linked"))
    commit(tmp_path / "linked", 2, {"a.py": TEN.replace("line 1\n", "first\n")})

    assert touching(tmp_path / "linked", "a.py", way=way) == Told(2, day(2))
    assert touching(root, "a.py", way=way) == Told(1, day(1))


def test_a_shallow_clone_answers_as_far_as_it_goes_and_further_when_deepened(
    tmp_path: Path, way: int
) -> None:
    full = start(tmp_path / "full", {"a.py": TEN})
    for number in (2, 3):
        commit(full, number, {"a.py": TEN.replace(f"line {number}\n", "changed\n")})
    root, cache = tmp_path / "shallow", tmp_path / "history"
    git(tmp_path, "clone", "--quiet", "--depth", "1", full.as_uri(), str(root))
    history = History(root, cache=cache, blame_at_most=way)

    def answer() -> Told:
        found = history.of(["a.py"])["a.py"]
        assert isinstance(found, LineHistory)
        return told(found.touching(ALL))

    assert answer() == told(blame_lines(root, "a.py", ALL)) == Told(1, day(3))
    git(root, "fetch", "--quiet", "--unshallow")
    assert answer() == told(blame_lines(root, "a.py", ALL)) == Told(3, day(3))


@pytest.mark.parametrize(
    "settings",
    [
        {"diff.noprefix": "true", "diff.mnemonicPrefix": "true", "diff.context": "9"},
        {"diff.algorithm": "histogram", "diff.interHunkContext": "9", "diff.indentHeuristic": "no"},
        {"color.ui": "always", "color.diff": "always", "core.quotepath": "true"},
        {"diff.renames": "false", "diff.renameLimit": "1", "diff.relative": "true"},
        {"diff.external": "false", "diff.suppressBlankEmpty": "true"},
        {"blame.ignoreRevsFile": "ignored", "log.showSignature": "true"},
    ],
    ids=["prefixes", "algorithm", "colour", "renames", "external", "blame"],
)  # fmt: skip
def test_the_users_own_settings_of_git_change_nothing(
    tmp_path: Path, settings: dict[str, str], way: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = start(tmp_path, {"a.py": TEN, "sub/x": "x\n"})
    (root / "a.py").rename(root / "b.py")
    commit(root, 2, {"b.py": TEN.replace("line 2\n", "two\n").replace("line 6\n", "six\n")})
    write_tree(root, {"b.py": (root / "b.py").read_text().replace("line 9", "nine")})
    write_tree(root, {"ignored": git(root, "rev-parse", "HEAD")})
    for name, value in settings.items():
        git(root, "config", name, value)
    monkeypatch.setenv("GIT_DIFF_OPTS", "--unified=5")
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", "false")

    assert touching(root, "b.py", Lines(3, 5), way) == Told(1, day(1))
    assert touching(root, "b.py", ALL, way) == Told(2, day(2), uncommitted=True)


def test_the_repository_is_not_written_to(tmp_path: Path, way: int) -> None:
    root = start(tmp_path / "r", {"a.py": TEN, "b.py": TEN})
    commit(root, 2, {"a.py": TEN + "x\n"})
    write_tree(root, {"b.py": "new\n" + TEN})
    os.utime(root / "a.py", ns=(1, 1))  # git would like to refresh its index
    before = listing(root)

    History(root, cache=tmp_path / "history", blame_at_most=way).of(["a.py", "b.py", "c.py"])

    assert listing(root) == before
