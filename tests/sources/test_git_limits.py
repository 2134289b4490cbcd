"""Questions that cost git too much end at a limit, and the history is coarser instead."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from aurora.errors import GitLimitError
from aurora.sources.blame.history import History, Unavailable
from aurora.sources.blame.replay import LineHistory
from aurora.sources.git import HISTORY, Git, Limits
from tests.sources.dated import ALL
from tests.sources.hostile import (
    import_commits,
    with_endless_tree,
    with_huge_version,
    with_many_renames,
)
from tests.sources.repository import make_repository
from tests.sources.test_history_trouble import stand_in

DAY = 86400
LITTLE = replace(HISTORY, memory=64 << 20)
ONE_FOR_ALL = "some files have one commit for all their lines: "


def days_of(history: object) -> list[float]:
    """When the commits were made that own lines of a file."""
    assert isinstance(history, LineHistory), history
    return [at / DAY for at in history.touching(ALL).commits]


def test_a_huge_version_is_left_out_of_a_replay(tmp_path: Path) -> None:
    root = with_huge_version(tmp_path / "r", mebibytes=16, files=2)
    history = History(root, cache=None, blame_at_most=0, limits=LITTLE)

    found = history.of(["a0.py", "a1.py"])

    assert days_of(found["a0.py"]) == [2]  # the huge version lies between day 0 and its lines
    assert days_of(found["a1.py"]) == [0, 2]  # the others are as they would be
    assert history.notes == ("versions over 2048 KiB count as rewritten",)


def test_a_huge_version_ends_a_blame(tmp_path: Path) -> None:
    root = with_huge_version(tmp_path / "r", mebibytes=16, files=2)
    history = History(root, cache=None, blame_at_most=9, limits=LITTLE)

    found = history.of(["a0.py", "a1.py"])

    assert (days_of(found["a0.py"]), days_of(found["a1.py"])) == ([2], [0, 2])
    assert history.notes == (f"{ONE_FOR_ALL}git blame needs more than 64 MiB of memory",)


def test_a_coarse_history_is_kept_until_it_is_asked_for_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = import_commits(tmp_path / "r", [{"a.py": b"1\n2\n"}, {"a.py": b"1\ntwo\n"}])
    cache = tmp_path / "history"
    with monkeypatch.context() as patch:
        stand_in(tmp_path / "bin", patch, 'case "$*" in *blame*) exec sleep 600;; esac')
        coarse = History(root, cache=cache, limits=replace(HISTORY, seconds=1)).of(["a.py"])

    again, anew = (
        History(root, cache=cache, ignore_cache=anew).of(["a.py"]) for anew in (False, True)
    )

    days = [days_of(found["a.py"]) for found in (coarse, again, anew)]
    assert days == [[1], [1], [0, 1]]


def test_more_renames_than_git_compares_are_not_followed(tmp_path: Path) -> None:
    root = with_many_renames(tmp_path / "r", files=1001)
    few = with_many_renames(tmp_path / "few", files=20)
    paths = [f"new{number}.txt" for number in range(20)]
    history, short = History(root, cache=None), History(few, cache=None)

    assert {day for each in history.of(paths).values() for day in days_of(each)} == {1}
    assert history.notes == ("a commit renames more files than git compares",)
    assert {day for each in short.of(paths).values() for day in days_of(each)} == {0, 1}
    assert short.notes == ()


@pytest.mark.parametrize(
    ("way", "slow"), [(0, "*-U0*"), (0, "*diff-tree*-M*"), (0, "*mktree*"), (9, "*blame*")]
)
def test_a_question_that_takes_too_long_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: int, slow: str
) -> None:
    root = import_commits(tmp_path / "r", [{"a.py": b"1\n2\n"}, {"a.py": b"1\ntwo\n"}])
    stand_in(tmp_path / "bin", monkeypatch, f'case "$*" in {slow}) exec sleep 600;; esac')
    history = History(root, cache=None, blame_at_most=way, limits=replace(HISTORY, seconds=1))

    assert days_of(history.of(["a.py"])["a.py"]) == [1]
    (note,) = history.notes
    assert note.startswith(ONE_FOR_ALL)
    assert note.endswith(" took longer than 1 seconds")


def test_a_history_that_cannot_even_be_told_coarsely_is_unavailable_for_good(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_repository(tmp_path / "r", {"a.py": "x\n"})
    stand_in(tmp_path / "bin", monkeypatch, 'case "$*" in *rev-list*) exec sleep 600;; esac')
    history = History(root, cache=None, blame_at_most=0, limits=replace(HISTORY, seconds=1))

    reason = "git rev-list took longer than 1 seconds"
    assert history.of(["a.py"]) == {"a.py": Unavailable(reason, lasting=True)}


def test_staged_renames_that_take_too_long_are_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_repository(tmp_path / "r", {"a.py": "x\n"})
    stand_in(tmp_path / "bin", monkeypatch, 'case "$*" in *-index*-M*) exec sleep 600;; esac')
    history = History(root, cache=None, limits=replace(HISTORY, seconds=1))

    assert isinstance(history.of(["a.py"])["a.py"], LineHistory)
    (note,) = history.notes
    assert note.startswith("renames that are not committed are not followed: git diff-index took")


def test_an_endless_tree_ends_at_the_limit_of_an_answer(tmp_path: Path) -> None:
    root = with_endless_tree(tmp_path / "r")
    history = History(root, cache=None, limits=replace(HISTORY, answer=1 << 20))

    reason = "git ls-tree answers with more than 1 MiB"
    assert history.of(["a.py"]) == {"a.py": Unavailable(reason, lasting=True)}


@pytest.mark.parametrize(
    ("commits", "reason"),
    [
        ([{"a": b"1\n" * 99}, {"a": b"1\n" * 98 + b"2\n"}], "too many lines"),
        ([{"a": b"1\n2\n" * 50}, {"a": b"1\n3\n" * 50}], "differ in too many places"),
        ([{f"{n}.py": b"" for n in range(99)}] * 2, "too many branches"),
    ],
    ids=["lines", "hunks", "paths"],
)
def test_a_replay_holds_no_more_than_it_may(
    tmp_path: Path, commits: list[dict[str, bytes]], reason: str
) -> None:
    root = import_commits(tmp_path / "r", [*commits, commits[-1] | {"b": b"1\n"}])
    limits = replace(HISTORY, numbers=90)
    history = History(root, cache=None, blame_at_most=0, limits=limits)

    found = history.of([*commits[0], "b"])

    assert isinstance(found["b"], LineHistory)
    (note,) = history.notes
    assert reason in note


def test_every_question_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = make_repository(tmp_path / "r", {"a.py": "x\n"})

    with pytest.raises(GitLimitError, match="git ls-files answers with more than 0 MiB"):
        Git(root, Limits(answer=1)).run("ls-files")
    stand_in(tmp_path / "bin", monkeypatch, "exec sleep 600")
    with pytest.raises(GitLimitError, match=r"git ls-files took longer than 0\.5 seconds"):
        Git(root, Limits(seconds=0.5)).run("ls-files")
