"""What the tests of settings share: a home directory that is not the developer's."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.config.world import World


@pytest.fixture(autouse=True)
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """`~` is the test's own folder; no test here can read or write the real one."""
    monkeypatch.setenv("HOME", str(tmp_path))
    return World(tmp_path)
