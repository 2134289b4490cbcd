"""The two places a memory can be kept in, for tests that hold wherever it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from aurora.config.load import approve
from tests.builders import write_tree

BACKENDS = ("sqlite", "postgres")

# Why a test is about one of them only.
in_a_file = pytest.mark.one_store("about the file that a memory is kept in")
with_index_files = pytest.mark.one_store("about index files, which a server's memory has none of")
without_memory = pytest.mark.one_store("asks no memory")
about_streams = pytest.mark.one_store("about what a terminal or a pipe shows, whoever answers")
without_home = pytest.mark.one_store("who may choose a server is known at home, which is missing")


def keep_on_server(project: Path, home: Path, url: str) -> None:
    """Settings of the project that its user approved: its paths stay relative to it."""
    settings = f"store:\n  url: {json.dumps(url)}\n"
    write_tree(project / ".aurora", {".gitignore": "*\n", "config.yml": settings})
    approve(home, project / ".aurora" / "config.yml")
