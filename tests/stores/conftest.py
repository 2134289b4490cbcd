"""A memory that a person has filled by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Shell


@pytest.fixture
def filled(tmp_path: Path) -> Shell:
    """With a function of a file, which can be read again, and a lesson, which cannot."""
    root = tmp_path / "project"
    root.mkdir()
    (root / "a.py").write_text("def find_me():\n    return 1\n")
    shell = Shell(root, tmp_path / "home")
    shell.ok("init")
    shell.ok("mem", "index", ".")
    shell.ok("mem", "learn", "a lesson that stays")
    return shell
