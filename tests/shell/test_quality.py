"""docs/search-quality.md is what `aur` prints today, and its judgements are those of the seed."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.shell.scripts import HERE

DOCS = HERE.parents[1] / "docs"

PAGE = """
File | Type     | Name | Lines | Score
-----+----------+------+-------+------
a.py | function | f    | 1-2   | 0.500
b.py | function | g    | 1-2   | 0.250
"""


@pytest.fixture
def quality(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(DOCS)
    return importlib.import_module("quality")


def test_the_document_is_what_aur_prints_today(world: Path) -> None:
    """M-5. What to do when it is not stands in the output."""
    done = subprocess.run(
        [sys.executable, DOCS / "quality.py", "--check", world],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("0.500", "0.496", []),
        ("0.500", "0.300", ["+ a.py | function | f    | 1-2   | 0.300"]),
        ("function | g   ", "function | h   ", ["+ b.py | function | h    | 1-2   | 0.250"]),
        ("b.py", "c.py", ["+ c.py | function | g    | 1-2   | 0.250"]),
    ],
    ids=["a score that faded", "a score that fell", "another name", "another file"],
)
def test_only_a_score_may_change_and_only_a_little(
    quality: ModuleType, old: str, new: str, told: list[str]
) -> None:
    assert quality.differences(PAGE, PAGE.replace(old, new)) == told


def test_another_order_is_a_difference(quality: ModuleType) -> None:
    lines = PAGE.splitlines()
    other = "\n".join([*lines[:-2], lines[-1], lines[-2]])
    assert quality.differences(PAGE, other) == [f"+ {lines[-1]}", f"+ {lines[-2]}"]


def test_a_row_more_is_a_difference(quality: ModuleType) -> None:
    row = "c.py | function | h    | 1-2   | 0.200"
    assert quality.differences(PAGE, PAGE + row) == ["+ c.py | function | h    | 1-2  "]


@pytest.mark.parametrize(
    ("answer", "met"),
    [
        ("File | …\n---\na.py | class | A | 1-2 | 0.9\nb.md | know | B | - | 0.5\n", True),
        ("File | …\n---\nb.md | know | B | - | 0.9\na.py | class | A | 1-2 | 0.5\n", False),
        ("File | …\n---\na.py | class | A | 1-2 | 0.9\n", False),
        ("File | …\n---\na.py | class | A | 1-2 | 0.9\nb.md | know | C | - | 0.5\n", False),
        ("File | …\n---\n", False),
        ("No relevant results found\n", False),
    ],
    ids=["as expected", "not first", "one missing", "one that does not fit", "no row", "no table"],
)
def test_a_judgement_wants_all_that_was_expected(
    quality: ModuleType, answer: str, met: bool
) -> None:
    question = quality.Question(
        "A, then B", "", first=r"^a\.py \| class", among=(r"\| know \|",), every=r"\| [AB]$"
    )
    assert question.is_met(answer, quality.read_rows(answer)) is met
