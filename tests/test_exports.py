"""What `import aurora` offers, and what it costs."""

from __future__ import annotations

import subprocess
import sys

import pytest

import aurora


def test_every_public_name_is_there() -> None:
    assert sorted(aurora.__all__) == [
        "AuroraError", "Chunk", "Criteria", "Memory", "Places", "Query", "SearchResult", "Settings",
    ]  # fmt: skip
    for name in aurora.__all__:
        assert getattr(aurora, name).__name__ == name


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Memori'"):
        _ = aurora.Memori  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("program", "absent"),
    [
        ("import aurora", ["aurora.engine", "click", "numpy"]),
        ("from aurora import Memory", ["numpy", "tree_sitter", "ruamel", "rich", "click"]),
        (
            "from aurora.retrieval.retriever import Retriever, SearchConfig\n"
            "from pathlib import Path\n"
            "Retriever(None, SearchConfig(), index_folder=Path('x'), now=None)",
            ["numpy", "tree_sitter"],
        ),
        ("import aurora.cli.main", ["numpy", "tree_sitter", "ruamel", "rich", "sqlite3"]),
        ("import aurora.cli.index", ["numpy", "ruamel", "rich", "watchfiles"]),
        ("import aurora.cli.export", ["numpy", "tree_sitter", "ruamel", "rich"]),
        ("import aurora.cli.inspect", ["numpy", "tree_sitter", "ruamel", "rich"]),
        ("import aurora.cli.eval", ["numpy", "tree_sitter", "ruamel", "rich", "matplotlib"]),
    ],
    ids=["package", "memory", "retriever", "help", "watch", "export", "stats", "eval"],
)
def test_nothing_heavy_is_imported_before_it_is_needed(program: str, absent: list[str]) -> None:
    check = f"{program}\nimport sys\nprint([m for m in {absent!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
