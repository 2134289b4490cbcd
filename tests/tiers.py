"""The tier of every test: core, full or stress.

`make test` runs the core: what carries no mark. `make test-full` runs what is marked `full`: slow
ways, the rest of PostgreSQL, other programs. `make stress` runs what is marked `stress` for longer;
those tests are `full` too and run there briefly. A test gets its marks from the tables below, by
the beginning of its name below `tests/`. A mark on the test itself works as well.
"""

from __future__ import annotations

import pytest

CORE = "not full and not stress"  # what `make test` selects

STRESS = ("concurrency/", "crash/", "faults/", "fuzz/")

FULL = (
    *STRESS,
    "benchmarks/",  # every script, on a tiny size
    "shell/",  # the twenty shell scripts of seed 000, and the page about them
    # other programs: the MCP Inspector, shells, pip, Ray
    "cli/test_hostile_completion.py",
    "indexing/test_ray_cluster.py",
    "mcp/test_inspector.py",
    "test_packaging.py",
    # servers and processes for longer, or killed
    "cli/test_copy.py::test_killed",
    "indexing/test_kill.py",
    "mcp/test_load.py",
    "mcp/test_long_running.py",
    "postgres/",  # the tests' own server
    "stores/test_postgres_faults.py",
    # models that are made or converted first
    "embeddings/pulling/",
    "embeddings/test_onnx",
    "embeddings/test_sentences.py",
    "training/",
)

# What the core runs on PostgreSQL: the conformance suite, every command and every tool.
CORE_ON_SERVER = (
    "cli/test_commands.py",
    "cli/test_index.py",
    "cli/test_transfer.py",
    "mcp/test_every_tool.py",
    "stores/test_postgres.py",
    "stores/test_server_addresses.py",
)

_SERVERS = {"memory_url", "own_postgres", "postgres", "postgres_databases", "postgres_url"}


def mark(item: pytest.Item) -> None:
    name = item.nodeid.removeprefix("tests/")
    if name.startswith(FULL) or (is_on_server(item) and not name.startswith(CORE_ON_SERVER)):
        item.add_marker("full")
    if name.startswith(STRESS):
        item.add_marker("stress")


def is_on_server(item: pytest.Item) -> bool:
    """Whether a test needs a PostgreSQL server: by a fixture, or by the parameter `postgres`."""
    called = getattr(item, "callspec", None)
    parameters = called.params.values() if called else ()
    return "postgres" in parameters or not _SERVERS.isdisjoint(getattr(item, "fixturenames", ()))


def is_left_out(path: str, expression: str) -> bool:
    """Whether the core need not even read this file or folder, by its path below `tests/`."""
    return expression == CORE and path.startswith(tuple(name for name in FULL if "::" not in name))
