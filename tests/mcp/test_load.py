"""Fifty agents at once, and a process that indexes beside them: no error, no lost write."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.long
def test_fifty_clients_lose_nothing_while_another_process_indexes(
    backend: str, request: pytest.FixtureRequest
) -> None:
    """Less of it than the benchmark has, on a smaller memory: an error or a lost write fails it."""
    calls, place = "150", []
    if backend == "postgres":
        calls, place = "100", ["--store-url", request.getfixturevalue("postgres_url")]
    done = subprocess.run(
        [
            sys.executable,
            "benchmarks/load/scenes.py",
            "--crowd",
            "--chunks",
            "300",
            "--calls",
            calls,
            *place,
        ],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 errors, 0 lost writes" in done.stdout
    assert "50 clients, beside an index: " in done.stdout
