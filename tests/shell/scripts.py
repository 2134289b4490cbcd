"""The shell tests from Python: which there are, and how they are run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.cli.forking import relaying

HERE = Path(__file__).parent
SCRIPTS = sorted(HERE.glob("test_*.sh"))
INSTALLED = Path(sys.executable).parent  # where the `aur` of this environment is


def environment(bin_folder: Path | None = None, **variables: str) -> dict[str, str]:
    """What a script sees: this `aur` before any other, and nothing of the user."""
    path = f"{bin_folder or relaying()}{os.pathsep}{os.environ['PATH']}"
    return {"PATH": path, "LANG": "C.UTF-8", **variables}


def run_script(script: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", script],
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def run_in(
    world: Path, script: Path, bin_folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """A script on a project that is there already."""
    return run_script(script, environment(bin_folder, AURORA_SHELL_PROJECT=str(world)))
