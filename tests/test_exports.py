"""What `import aurora` offers, and what it costs."""

from __future__ import annotations

import inspect
import subprocess
import sys
import typing
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from importlib.metadata import version
from pathlib import Path

import pytest

import aurora
from aurora import Memory
from aurora.engine import memory as module

VERBS = ("open", "index", "search", "get", "add", "add_all", "learn", "history", "forget", "stats",
         "export", "watch", "close", "locate", "layers", "workspace", "recall",
         "improve")  # fmt: skip
PROPERTIES = ("admin", "exists", "indexed_at", "label", "name", "personal", "places", "root",
              "sessions", "settings", "trail", "is_improvable")  # fmt: skip


def test_every_public_name_is_there() -> None:
    assert aurora.__all__ == sorted(aurora.__all__)
    for name in aurora.__all__:
        found = getattr(aurora, name)
        assert not inspect.isclass(found) or found.__name__ == name
    assert aurora.__version__ == version("aurora-memory")


def test_a_memory_has_these_verbs_and_no_others() -> None:
    memory = Memory(aurora.Places(Path("nowhere")))
    assert {name for name in dir(memory) if not name.startswith("_")} == {*VERBS, *PROPERTIES}


def of_ours(hint: object) -> Iterator[type]:
    """The classes of Aurora in an annotation, such as `Sequence[SearchResult] | None`."""
    for part in typing.get_args(hint):
        yield from of_ours(part)
    if inspect.isclass(hint) and hint.__module__.startswith("aurora."):
        yield hint


@pytest.mark.parametrize("verb", ["__init__", *VERBS])
def test_every_type_that_a_verb_takes_or_returns_is_exported(verb: str) -> None:
    """With the types of their fields. Settings have sections, which nobody passes alone."""
    public = {name: getattr(aurora, name) for name in aurora.__all__}
    # What `memory` imports only for type checkers must be found among the exports.
    hints = typing.get_type_hints(getattr(Memory, verb), {**vars(module), **public})
    waiting = [kind for hint in hints.values() for kind in of_ours(hint)]
    seen: set[type] = set()
    while waiting:
        kind = waiting.pop()
        if kind in seen:
            continue
        seen.add(kind)
        names = [field.name for field in fields(kind)] if is_dataclass(kind) else []
        if kind is not aurora.SettingsFiles:  # read by Aurora, not by callers
            inner = {
                name: hint for name, hint in typing.get_type_hints(kind).items() if name in names
            }
            waiting += [part for hint in inner.values() for part in of_ours(hint)]
    assert sorted(kind.__name__ for kind in seen if kind not in public.values()) == []


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Memori'"):
        _ = aurora.Memori  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("program", "absent"),
    [
        ("import aurora", ["aurora.engine", "importlib.metadata", "click", "numpy"]),
        (
            "from aurora import Memory\nMemory.open()",
            ["numpy", "tree_sitter", "ruamel", "rich", "click", "aurora.indexing.indexer",
             "aurora.retrieval.retriever", "aurora.parsers"],
        ),
        (
            "from aurora.retrieval.retriever import HybridConfig, HybridRetriever\n"
            "from pathlib import Path\n"
            "from types import SimpleNamespace\n"
            "store = SimpleNamespace(ranking=None, chunks=None, search=None)\n"
            "HybridRetriever(store, HybridConfig(), index_folder=Path('x'), now=None)",
            ["numpy", "tree_sitter"],
        ),
        ("import aurora.cli.main", ["numpy", "tree_sitter", "ruamel", "rich", "sqlite3"]),
        ("import aurora.cli.index", ["numpy", "ruamel", "rich", "watchfiles"]),
        ("import aurora.cli.export", ["numpy", "tree_sitter", "ruamel", "rich"]),
        ("import aurora.cli.inspect", ["numpy", "tree_sitter", "ruamel", "rich"]),
        ("import aurora.cli.eval", ["numpy", "tree_sitter", "ruamel", "rich", "matplotlib"]),
    ],
    ids=["package", "memory", "retriever", "help", "watch", "export", "stats", "eval"],
)  # fmt: skip
def test_nothing_heavy_is_imported_before_it_is_needed(program: str, absent: list[str]) -> None:
    check = f"{program}\nimport sys\nprint([m for m in {absent!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
