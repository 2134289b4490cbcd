"""One project for all shell tests, built by the installed `aur`."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.shell.scripts import HERE, environment

collect_ignore = ["project"]  # it has tests of its own, of code that nobody runs


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the project and the home of whoever works on it."""
    folder = tmp_path_factory.mktemp("shell")
    command = ["bash", HERE / "build_project.sh", folder]
    subprocess.run(command, env=environment(), check=True, stdin=subprocess.DEVNULL)
    return folder
