"""Over random pasts, every way to a history gives what `git blame -L` gives."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from aurora.sources.blame.history import History
from aurora.sources.blame.replay import LineHistory
from aurora.types import Lines
from tests.sources.blamed import blame_lines, line_count
from tests.sources.random_repository import RandomRepository

REPLAY, BLAME = 0, 10_000


def faults(root: Path, history: History, paths: list[str]) -> list[str]:
    """Where a history differs from git's."""
    found = []
    choice = random.Random(0)  # noqa: S311
    for path, ours in history.of(paths).items():
        assert isinstance(ours, LineHistory), (path, ours)
        count = line_count(root / path)
        for _ in range(4 if count else 0):
            low = choice.randint(1, count)
            lines = Lines(low, choice.randint(low, min(count, low + 5)))
            theirs = blame_lines(root, path, lines)
            if ours.touching(lines) != theirs:
                found.append(f"{path} {lines}: {ours.touching(lines)}, git says {theirs}")
    return found


@pytest.mark.parametrize("seed", range(3))
def test_a_replay_of_the_whole_past_is_what_git_blame_says(tmp_path: Path, seed: int) -> None:
    repository = RandomRepository(tmp_path / "r", seed)
    repository.grow(50)

    history = History(repository.root, cache=None, blame_at_most=REPLAY)

    assert faults(repository.root, history, repository.files()) == []


@pytest.mark.parametrize("way", [REPLAY, BLAME], ids=["replay", "blame"])
@pytest.mark.parametrize("seed", range(100, 102))
def test_what_is_remembered_stays_right_while_the_past_grows(
    tmp_path: Path, seed: int, way: int
) -> None:
    """Commits, merges, other branches, and changes on disk, with one memory all along."""
    repository = RandomRepository(tmp_path / "r", seed)
    history = History(repository.root, cache=tmp_path / "history", blame_at_most=way)
    for step in range(5):
        repository.grow(step + 1)
        assert faults(repository.root, history, repository.files()) == []
        repository.scribble()
        assert faults(repository.root, history, repository.files()) == []
