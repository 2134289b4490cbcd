"""Small things to remember: a project with a past, documents, lessons."""

from __future__ import annotations

from pathlib import Path

from tests.builders import write_tree
from tests.sources.repository import git, make_repository

_LOGS = "logs/conversations/2025/12"


def module(name: str, word: str, functions: int = 3) -> str:
    """A module of functions that say one word each."""
    parts = (f"def {name}_{n}(value):\n    return {word}, {n}\n" for n in range(functions))
    return "\n\n".join(parts)


PROJECT: dict[str, str | bytes] = {
    **{f"part{n}.py": module(f"part{n}", "apple") for n in range(5)},
    "kept.py": module("kept", "apple"),
    "notes.md": "# Orchard\n\nHow apples grow.\n\n# Harvest\n\nWhen apples are picked.\n",
    "用户.py": "def 认证流程():\n    '用户认证 apple'\n",
}
LOG = "# Conversation: Trees\nDate: 2025-12-15\n\n" + "".join(
    f"## Phase {n}: Assessment\nThe {word} phase about apples.\n\n"
    for n, word in enumerate(("first", "second", "third"), start=1)
)
QUERIES = (("apple", "keyword"), ("how apples grow", "semantic"), ("part1_1 pear 认证", "hybrid"))

LESSONS = tuple(f"Prune apple tree {n % 6} before spring" for n in range(9))  # three of them twice
LONG = "\n\n".join(f"# Chapter {n}\n\n" + f"Apples of chapter {n}. " * 60 for n in range(4))
SHORT = "# Chapter 0\n\nNothing is left of the apples but pears."


def plant(folder: Path) -> None:
    """The project with two commits, and a conversation log at home."""
    root = make_repository(folder / "project", PROJECT)
    write_tree(root, {"part0.py": module("part0", "plum")})
    git(root, "commit", "--quiet", "--all", "--message", "plums")
    write_tree(folder / "home" / _LOGS, {"trees-2025-12-15.md": LOG})


def change(folder: Path) -> None:
    """Edits that make files longer and shorter, renames with and without edits, a deletion."""
    root = folder / "project"
    write_tree(
        root, {"part1.py": module("part1", "pear", 5), "part2.py": module("part2", "pear", 1)}
    )
    git(root, "commit", "--quiet", "--all", "--message", "pears")
    (root / "part3.py").rename(root / "moved3.py")
    (root / "part4.py").unlink()
    write_tree(root, {"moved4.py": module("part4", "pear"), "fresh.py": module("fresh", "pear")})
    (folder / "home" / _LOGS / "trees-2025-12-15.md").write_text(
        LOG.replace("apples", "pears"), encoding="utf-8"
    )
