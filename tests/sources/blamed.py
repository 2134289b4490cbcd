"""What `git blame -L` says, read from its porcelain: the truth our histories are held to."""

from __future__ import annotations

import subprocess
from pathlib import Path

from aurora.types import ChunkHistory, Lines

NOBODY = "0" * 40  # git's name for what is not committed yet


def blame_lines(root: Path, path: str, lines: Lines) -> ChunkHistory:
    """The history of some lines of a file as it is on disk."""
    command = ["git", "blame", "--line-porcelain", f"-L{lines.start},{lines.end}", "--", path]
    answer = subprocess.run(command, cwd=root, check=True, capture_output=True).stdout
    times: dict[str, int] = {}
    commit = ""
    for line in answer.decode(errors="replace").split("\n"):
        if line[:1] != "\t" and len(line.split(" ")[0]) == len(NOBODY):
            commit = line.split(" ")[0]
        elif line.startswith("author-time "):
            times[commit] = int(line.split(" ")[1])
    uncommitted = times.pop(NOBODY, None) is not None
    return ChunkHistory(commits=tuple(sorted(times.values())), uncommitted=uncommitted)


def line_count(path: Path) -> int:
    content = path.read_bytes()
    return content.count(b"\n") + (not content.endswith(b"\n") and content != b"")
