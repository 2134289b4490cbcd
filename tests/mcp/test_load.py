"""Fifty agents at once, and a process that indexes beside them: no error, no lost write."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_fifty_clients_make_two_thousand_calls_while_another_process_indexes() -> None:
    """The benchmark's own run, on a smaller memory: it fails on any error or lost write."""
    done = subprocess.run(
        [sys.executable, "benchmarks/speed/mcp_load.py", "--chunks", "500"],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 errors, 0 lost writes" in done.stdout
    assert "50 clients, beside an index: " in done.stdout
