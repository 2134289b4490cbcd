"""Histories when git is away, refuses, or dies, and when what was remembered does not hold."""

from __future__ import annotations

import logging
import shutil
import subprocess
from pathlib import Path

import pytest

from aurora.sources.blame.cache import drop_oldest
from aurora.sources.blame.history import History, Unavailable, Untracked
from aurora.sources.blame.replay import LineHistory
from tests.builders import write_tree
from tests.sources.dated import ALL, TEN, Told, ask, commit, day, start, told, touching
from tests.sources.repository import git, make_repository

REAL_GIT = shutil.which("git") or ""


def stand_in(folder: Path, monkeypatch: pytest.MonkeyPatch, first: str) -> None:
    """A git that does something of its own before, or instead of, what it is asked."""
    folder.mkdir()
    script = folder / "git"
    script.write_text(f'#!/bin/sh\n{first}\nexec "{REAL_GIT}" "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")


def answers(root: Path, cache: Path, paths: list[str], way: int = 0) -> list[Told]:
    found = History(root, cache=cache, blame_at_most=way).of(paths)
    assert all(isinstance(each, LineHistory) for each in found.values()), found
    return [told(each.touching(ALL)) for each in found.values() if isinstance(each, LineHistory)]


def test_before_the_first_commit_everything_is_untracked(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    write_tree(tmp_path, {"a.py": TEN})
    git(tmp_path, "add", "a.py")

    assert ask(tmp_path, "a.py") == Untracked()


def test_outside_a_repository_everything_is_untracked(tmp_path: Path) -> None:
    write_tree(tmp_path, {"a.py": TEN})

    assert ask(tmp_path, "a.py") == Untracked()
    assert ask(tmp_path / "gone", "a.py") == Untracked()


def test_without_git_only_a_repository_is_unavailable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_repository(tmp_path / "repository", {"sub/a.py": TEN})
    write_tree(tmp_path / "plain", {"a.py": TEN})
    monkeypatch.setenv("PATH", str(tmp_path))

    reason = "git cannot be run: No such file or directory"
    assert ask(root / "sub", "a.py") == Unavailable(reason)
    assert ask(tmp_path / "plain", "a.py") == Untracked()


def test_a_repository_of_somebody_else_is_unavailable_and_the_log_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    root = make_repository(tmp_path, {"a.py": TEN})
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")

    found = ask(root, "a.py")

    reason = f"detected dubious ownership in repository at '{root}'"
    assert found == Unavailable(reason)
    assert caplog.messages == [f"Git blame failed for {root}: {reason}"]


@pytest.mark.parametrize(
    ("way", "victim"),
    [
        (0, "*rev-list*"),
        (0, "*diff-tree*-l1000*"),
        (0, "*diff-tree*-U0*"),
        (0, "*mktree*"),
        (0, "*ls-tree*"),
        (100, "*blame*"),
    ],
    ids=["commits", "changes", "lines", "trees", "files", "blame"],
)
def test_a_git_that_is_killed_makes_files_unavailable_for_this_time_only(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    way: int,
    victim: str,
) -> None:
    root, cache = start(tmp_path / "r", {"a.py": TEN}), tmp_path / "history"
    commit(root, 2, {"a.py": TEN.replace("line 2\n", "two\n")})
    with monkeypatch.context() as patch:
        stand_in(tmp_path / "bin", patch, f'case "$*" in {victim}) kill -9 $$;; esac')
        found = History(root, cache=cache, blame_at_most=way).of(["a.py", "new.py"])

    assert found["a.py"] == Unavailable("git ended with status -9")
    assert caplog.messages[0].endswith(": git ended with status -9")
    assert answers(root, cache, ["a.py"], way) == [Told(2, day(2))]


def test_a_git_that_dies_in_the_middle_of_its_answer_is_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = start(tmp_path / "r", {"a.py": TEN})
    for number in range(2, 9):
        commit(root, number, {"a.py": TEN.replace(f"line {number}\n", "changed\n")})
    half = f'case "$*" in *-U0*) "{REAL_GIT}" "$@" | head -c 600; exit 3;; esac'
    stand_in(tmp_path / "bin", monkeypatch, half)

    assert ask(root, "a.py") == Unavailable("git ended with status 3")


def test_a_damaged_repository_is_unavailable(tmp_path: Path) -> None:
    root = start(tmp_path, {"a.py": TEN})
    blob = git(root, "rev-parse", "HEAD:a.py").strip()
    commit(root, 2, {"a.py": TEN + "x\n"})
    (root / ".git" / "objects" / blob[:2] / blob[2:]).unlink()

    found = ask(root, "a.py")

    assert isinstance(found, Unavailable)
    assert blob in found.reason


def test_a_file_that_cannot_be_read_is_unavailable_and_others_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    root = start(tmp_path / "r", {"a.py": TEN, "b.py": TEN})
    write_tree(root, {"a.py": "x\n" + TEN, "b.py": "x\n" + TEN})
    refusal = 'case "$*" in *hash-object*a.py*) echo "fatal: no access" >&2; exit 128;; esac'
    stand_in(tmp_path / "bin", monkeypatch, refusal)

    found = History(root, cache=None).of(["a.py", "b.py"])

    assert found["a.py"] == Unavailable("no access")
    assert isinstance(found["b.py"], LineHistory)
    assert caplog.messages == ["Git blame failed for a.py: no access"]


def test_a_partial_clone_is_unavailable_and_nothing_is_fetched(tmp_path: Path) -> None:
    full = start(tmp_path / "full", {"a.py": TEN})
    commit(full, 2, {"a.py": TEN + "x\n"})
    git(full, "config", "uploadpack.allowFilter", "true")
    root = tmp_path / "partial"
    git(tmp_path, "clone", "--quiet", "--filter=blob:none", full.as_uri(), str(root))

    assert ask(root, "a.py") == Unavailable("a partial clone does not hold its whole history")


def test_an_unchanged_repository_costs_no_walk_through_its_past(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, cache = start(tmp_path / "r", {"a.py": TEN, "b.py": TEN}), tmp_path / "history"
    commit(root, 2, {"a.py": TEN.replace("line 2\n", "two\n")})
    before = answers(root, cache, ["a.py", "b.py"])
    [file] = cache.iterdir()
    saved = file.read_bytes()
    stand_in(tmp_path / "bin", monkeypatch, f'echo "$*" >> "{tmp_path}/log"')

    assert answers(root, cache, ["a.py", "b.py"]) == before
    asked = (tmp_path / "log").read_text()
    assert not any(word in asked for word in ("blame", "rev-list", "diff-tree", "hash-object"))
    assert file.read_bytes() == saved


def test_a_branch_switched_back_costs_no_walk_through_its_past(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: int
) -> None:
    """Nor does a clone: a commit is the same commit everywhere."""
    root, cache = start(tmp_path / "r", {"a.py": TEN, "b.py": TEN}), tmp_path / "history"
    git(root, "checkout", "--quiet", "-b", "other")
    commit(root, 2, {"a.py": TEN.replace("line 2\n", "two\n")})
    git(root, "checkout", "--quiet", "main")
    commit(root, 3, {"a.py": TEN.replace("line 3\n", "three\n")})
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", "--branch", "other", root.as_uri(), str(clone))
    expected = {}
    for branch in ("main", "other"):
        git(root, "checkout", "--quiet", branch)
        expected[branch] = answers(root, cache, ["a.py", "b.py"], way)
    assert expected["main"] != expected["other"]
    stand_in(tmp_path / "bin", monkeypatch, f'echo "$*" >> "{tmp_path}/log"')

    for branch in ("main", "other"):
        git(root, "checkout", "--quiet", branch)
        assert answers(root, cache, ["a.py", "b.py"], way) == expected[branch]
    assert answers(clone, cache, ["a.py", "b.py"], way) == expected["other"]
    asked = (tmp_path / "log").read_text()
    assert not any(word in asked for word in ("blame", "rev-list", "diff-tree", "hash-object"))


def test_a_new_commit_goes_by_the_nearest_known_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another branch was read last."""
    root, cache = start(tmp_path / "r", {"a.py": TEN, "b.py": TEN}), tmp_path / "history"
    answers(root, cache, ["a.py", "b.py"])
    git(root, "checkout", "--quiet", "--orphan", "other")
    commit(root, 2, {"a.py": "x\n", "b.py": "x\n"})
    answers(root, cache, ["a.py", "b.py"])
    git(root, "checkout", "--quiet", "main")
    commit(root, 3, {"a.py": TEN.replace("line 3\n", "three\n")})
    stand_in(tmp_path / "bin", monkeypatch, f'echo "$*" >> "{tmp_path}/log"')

    assert answers(root, cache, ["a.py", "b.py"]) == [Told(2, day(3)), Told(1, day(1))]
    assert "blame" not in (tmp_path / "log").read_text()


def test_the_oldest_files_are_dropped(tmp_path: Path) -> None:
    root, cache = start(tmp_path / "r", {"a.py": TEN}), tmp_path / "history"
    for number in range(2, 6):
        commit(root, number, {"a.py": TEN.replace(f"line {number}\n", "new\n")})
        answers(root, cache, ["a.py"])
    files = sorted(cache.iterdir(), key=lambda file: file.stat().st_mtime_ns)
    drop_oldest(cache, most=sum(file.stat().st_size for file in files[2:]))
    assert sorted(cache.iterdir()) == sorted(files[2:])


def test_a_commit_on_top_costs_only_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, cache = start(tmp_path / "r", {"a.py": TEN, "b.py": TEN}), tmp_path / "history"
    answers(root, cache, ["a.py", "b.py"])
    (root / "a.py").rename(root / "c.py")
    commit(root, 2, {"c.py": TEN.replace("line 2\n", "two\n")})
    stand_in(tmp_path / "bin", monkeypatch, f'echo "$*" >> "{tmp_path}/log"')

    found = answers(root, cache, ["b.py", "c.py"])

    assert found == [Told(1, day(1)), Told(2, day(2))]
    walks = [line for line in (tmp_path / "log").read_text().split("\n") if "rev-list" in line]
    assert all("--first-parent" in line for line in walks)
    assert "blame" not in (tmp_path / "log").read_text()


def test_a_rewritten_commit_is_noticed_although_the_contents_are_the_same(
    tmp_path: Path, way: int
) -> None:
    root, cache = start(tmp_path / "r", {"a.py": TEN, "b.py": TEN}), tmp_path / "history"
    commit(root, 2, {"a.py": TEN.replace("line 2\n", "two\n")})
    answers(root, cache, ["a.py", "b.py"], way)
    git(root, "commit", "--quiet", "--amend", "--no-edit", "--date", day(20).isoformat())

    expected = [Told(2, day(20)), Told(1, day(1))]
    assert answers(root, cache, ["a.py", "b.py"], way) == expected
    git(root, "reflog", "expire", "--expire=now", "--all")
    git(root, "commit", "--quiet", "--amend", "--no-edit", "--date", day(21).isoformat())
    git(root, "reflog", "expire", "--expire=now", "--all")
    git(root, "gc", "--quiet", "--prune=now")  # the remembered commit is gone altogether
    assert answers(root, cache, ["a.py", "b.py"], way)[0] == Told(2, day(21))


def test_a_past_without_a_common_commit_is_read_anew(tmp_path: Path, way: int) -> None:
    root, cache = start(tmp_path / "r", {"a.py": TEN}), tmp_path / "history"
    answers(root, cache, ["a.py"], way)
    git(root, "checkout", "--quiet", "--orphan", "other")
    commit(root, 5)

    assert answers(root, cache, ["a.py"], way) == [Told(1, day(5))]


@pytest.mark.parametrize(
    "damage",
    [
        lambda _: b"",
        lambda content: content[:-1],
        lambda content: content[:40] + bytes([content[40] ^ 1]) + content[41:],
        lambda content: content.replace(b"history 1", b"history 2", 1),
        lambda _: b"\x80\x04pickle",
    ],
    ids=["empty", "truncated", "flipped", "version", "foreign"],
)
def test_a_damaged_memory_of_histories_is_made_anew(tmp_path: Path, damage: object) -> None:
    root, cache = start(tmp_path / "r", {"a.py": TEN}), tmp_path / "in" / "history"
    before = answers(root, cache, ["a.py"])
    [file] = cache.iterdir()
    whole = file.read_bytes()
    file.write_bytes(damage(whole))  # type: ignore[operator]

    assert answers(root, cache, ["a.py"]) == before
    assert file.read_bytes() == whole


def test_a_memory_that_cannot_be_written_is_only_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    root = start(tmp_path / "r", {"a.py": TEN})
    (tmp_path / "file").write_text("")

    found = answers(root, tmp_path / "file" / "history", ["a.py"])

    assert found == [Told(1, day(1))]
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


def test_files_asked_for_later_join_those_that_are_remembered(tmp_path: Path, way: int) -> None:
    root, cache = start(tmp_path / "r", {"a.py": TEN, "b.py": TEN}), tmp_path / "history"
    commit(root, 2, {"b.py": TEN.replace("line 2\n", "two\n")})

    assert answers(root, cache, ["a.py"], way) == [Told(1, day(1))]
    commit(root, 3, {"b.py": TEN.replace("line 2\n", "two\n").replace("line 3\n", "three\n")})
    both = [Told(1, day(1)), Told(3, day(3))]
    assert answers(root, cache, ["a.py", "b.py"], way) == both
    assert answers(root, cache, ["a.py", "b.py"], way) == both


def test_a_thousand_commits_are_no_trouble(tmp_path: Path) -> None:
    """Made by fast-import: every commit changes one line of ten."""
    git(tmp_path, "init", "--quiet")
    parts = []
    for number in range(1000):
        text = "".join(f"line {max(0, number - (number - at) % 10)}.{at}\n" for at in range(10))
        parts.append(
            f"commit refs/heads/main\ncommitter A <a@b.c> {number} +0000\ndata 1\nx\n"
            f"M 100644 inline a.py\ndata {len(text)}\n{text}\n"
        )
    (tmp_path / "stream").write_text("".join(parts))
    with (tmp_path / "stream").open("rb") as given:
        subprocess.run(["git", "fast-import", "--quiet"], cwd=tmp_path, stdin=given, check=True)
    git(tmp_path, "reset", "--quiet", "--hard", "main")

    found = touching(tmp_path, "a.py", ALL)

    assert (found.commits, found.uncommitted) == (10, False)
    assert found.last_modified is not None
    assert found.last_modified.timestamp() == 999


@pytest.mark.parametrize("kind", ["clean", "process"])
def test_no_program_that_a_repository_names_is_run(tmp_path: Path, kind: str) -> None:
    """It may come from an archive, with a configuration that nobody has looked at."""
    root = start(tmp_path / "r", {"a.py": TEN, ".gitattributes": "*.py filter=odd=name\n"})
    trace = tmp_path / "trace"
    git(root, "config", f"filter.odd=name.{kind}", f"touch '{trace}'; cat")
    git(root, "config", "filter.odd=name.required", "true")
    write_tree(root, {"a.py": TEN.replace("line 3\n", "line three\n")})

    assert touching(root, "a.py") == Told(1, day(1), uncommitted=True)
    assert not trace.exists()


def test_a_shallow_file_that_never_ends_is_read_up_to_a_bound(tmp_path: Path) -> None:
    root = start(tmp_path, {"a.py": TEN})
    (root / ".git" / "shallow").symlink_to("/dev/zero")

    assert isinstance(ask(root, "a.py"), Unavailable | Untracked)
    assert History(root, cache=None).stamp() in ("", "no commit")
