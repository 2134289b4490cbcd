"""Imports only go down: the table of docs/architecture.md, read from the source."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import aurora

SOURCE = Path(aurora.__file__).parent

FLOORS = {
    "__main__": 9,
    "cli": 8,  # it starts the other doors
    "mcp": 7, "hooks": 7, "install": 7, "web": 7,
    "display": 6, "evaluation": 6, "serving": 6,
    "engine": 5,
    "indexing": 4, "retrieval": 4,
    "fusion": 3,
    "signals": 2,
    "sources": 1, "parsers": 1, "stores": 1, "embeddings": 1, "llm": 1, "config": 1,
    "types": 0, "report_types": 0, "errors": 0, "text": 0, "files": 0, "globs": 0, "redaction": 0,
    "endpoints": 0, "endpoint_client": 0, "concurrency": 0, "packing": 0,
    "session_facts": 0, "marks": 0, "given": 0, "usage_log": 0, "platforms": 0,
    "package_manager": 0, "quick_classes": 0, "lazy_patterns": 0, "trail_types": 0,
}  # fmt: skip

# Floors 2 to 4 may know what a store promises, but not which one it is.
PROTOCOLS = {"stores.base", "embeddings.base"}
CONCRETE = {"stores", "embeddings"}
SETTINGS_READERS = {"engine", "cli", "mcp", "hooks", "install", "web", "serving", "config"}


# Names that files of several packages have. Only ever take one out.
SHARED_NAMES = {
    "cache": {"llm", "sources/blame"},
    "registry": {"embeddings", "parsers"},
    "schema": {"config", "stores"},
    "search": {"cli", "stores"},
}
STORES = {"stores/postgres", "stores/sqlite"}
MOST_IMPORTS_INSIDE = 32  # only ever lower it


def room(module: str) -> str:
    return module.split(".")[1]


def imports(file: Path) -> Iterator[str]:
    """Every module of ours that a file imports, wherever in the file."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("aurora."))
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative import"
            if node.module == "aurora":
                yield from (f"aurora.{alias.name}" for alias in node.names)
            elif node.module is not None and node.module.startswith("aurora."):
                yield node.module


def imports_inside_functions(file: Path) -> set[int]:
    """Lines on which a function imports a module of ours."""
    text = file.read_text(encoding="utf-8")
    if not re.search(r"^\s+(from|import) +aurora", text, re.MULTILINE):
        return set()  # reading the tree takes ten times as long
    return {
        node.lineno
        for function in ast.walk(ast.parse(text))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if (isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "aurora")
        or (isinstance(node, ast.Import) and any(a.name.startswith("aurora") for a in node.names))
    }


def faults(file: Path) -> Iterator[str]:
    inside = file.relative_to(SOURCE).with_suffix("").as_posix().replace("/", ".")
    here = inside.split(".")[0]
    for module in imports(file):
        there = room(module)
        target = module.removeprefix("aurora.")
        if there == here:
            continue
        if FLOORS[there] > FLOORS[here]:
            yield f"{inside} looks up to {target}"
        elif FLOORS[there] == FLOORS[here] != 0:
            yield f"{inside} looks sideways to {target}"
        elif 2 <= FLOORS[here] <= 4 and there in CONCRETE and target not in PROTOCOLS:
            yield f"{inside} knows the backend {target}"
        elif there == "config" and here not in SETTINGS_READERS:
            yield f"{inside} reads settings"
        elif here == "display" and FLOORS[there] != 0:
            yield f"{inside} knows more than types: {target}"


def source_files() -> list[Path]:
    return [file for file in sorted(SOURCE.rglob("*.py")) if file != SOURCE / "__init__.py"]


def test_imports_only_go_down() -> None:
    assert [fault for file in source_files() for fault in faults(file)] == []


def test_no_two_files_of_different_packages_share_a_name() -> None:
    """A name finds one file. Every package may have a `base`; the stores mirror each other."""
    places: dict[str, set[str]] = {}
    for file in source_files():
        package = file.parent.relative_to(SOURCE).as_posix()
        mirrored = "stores" if package in STORES else package
        places.setdefault(file.stem, set()).add(mirrored)
    shared = {name: packages for name, packages in places.items() if len(packages) > 1}
    assert {name: shared[name] for name in shared if name not in {"__init__", "base"}} == {
        name: shared[name] & packages for name, packages in SHARED_NAMES.items() if name in shared
    }


def test_imports_inside_functions_do_not_grow() -> None:
    """Those of our own modules; only an optional package or a quick start justifies one."""
    inside = [
        f"{file.relative_to(SOURCE).as_posix()}:{line}"
        for file in source_files()
        for line in imports_inside_functions(file)
    ]
    assert len(inside) <= MOST_IMPORTS_INSIDE, "\n".join(inside)


@pytest.mark.parametrize(
    ("place", "line", "fault"),
    [
        ("signals/x.py", "from aurora.engine import Memory", "signals.x looks up to engine"),
        ("stores/x.py", "import aurora.config.schema", "stores.x looks sideways to config.schema"),
        ("retrieval/x.py", "from aurora import cli", "retrieval.x looks up to cli"),
        (
            "fusion/x.py",
            "def f():\n    from aurora.stores.sqlite.store import SQLiteStore",
            "fusion.x knows the backend stores.sqlite",
        ),
        ("display/x.py", "from aurora.stores.base import Store", "knows more than types"),
    ],
)
def test_the_guard_sees_a_wrong_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, line: str, fault: str
) -> None:
    file = tmp_path / place
    file.parent.mkdir()
    file.write_text(line, encoding="utf-8")
    monkeypatch.setattr("tests.test_layers.SOURCE", tmp_path)

    found = list(faults(file))

    assert len(found) == 1
    assert fault in found[0]


def test_only_git_and_workers_are_run() -> None:
    runners = {
        file.relative_to(SOURCE).as_posix()
        for file in source_files()
        if "subprocess" in file.read_text(encoding="utf-8")
    }
    assert runners == {"sources/git.py", "mcp/workers.py", "platforms.py"}


def test_only_one_file_asks_which_system_it_runs_on() -> None:
    question = re.compile(
        r"sys\.platform|os\.name\b|platform\.system|import (msvcrt|fcntl|resource|winreg|pwd)\b"
        r"|hasattr\((os|signal|socket),"
    )
    asking = {
        file.relative_to(SOURCE).as_posix()
        for file in source_files()
        if question.search(file.read_text(encoding="utf-8"))
    }
    assert asking == {"platforms.py"}


def test_only_stores_write_sql() -> None:
    """One other file opens databases: those in which agents keep sessions, and only to read."""
    places = {
        file.relative_to(SOURCE).as_posix()
        for file in source_files()
        if "sqlite3" in file.read_text(encoding="utf-8")
    }
    foreign = "sources/sessions/foreign_database.py"
    assert {place.partition("/")[0] for place in places - {foreign}} == {"stores"}
    text = (SOURCE / foreign).read_text(encoding="utf-8")
    assert re.findall(r"sqlite3\.connect\((\w+), uri=True", text) == ["uri"]
    assert re.findall(r"as_uri\(\)\}\?(mode=\w+)", text) == ["mode=ro", "mode=ro"]


@pytest.mark.parametrize("module", ["pickle", "marshal", "shelve"])
def test_nothing_is_unpickled(module: str) -> None:
    assert [file for file in source_files() if f"import {module}" in file.read_text()] == []


def test_nothing_below_the_doors_prints_or_reads_the_environment() -> None:
    doors = {"cli", "mcp", "hooks"}
    guilty = [
        file.relative_to(SOURCE).as_posix()
        for file in source_files()
        if file.relative_to(SOURCE).parts[0] not in doors
        and file.name != "git.py"  # hands the user's environment to git
        and file != SOURCE / "engine" / "opening.py"  # the default of `Memory.open`
        and re.search(r"\bprint\(|os\.environ|sys\.stdout", file.read_text())
    ]
    assert guilty == []
