"""The two places a memory can be kept in, for tests that hold wherever it is."""

from __future__ import annotations

import json
from pathlib import Path

from aurora.config.trust import approve
from tests.builders import write_tree

BACKENDS = ("sqlite", "postgres")


def keep_on_server(project: Path, home: Path, url: str) -> None:
    """Settings of the project that its user approved: its paths stay relative to it."""
    settings = f"store:\n  url: {json.dumps(url)}\n"
    write_tree(project / ".aurora", {".gitignore": "*\n", "config.yml": settings})
    approve(home, project / ".aurora" / "config.yml")
