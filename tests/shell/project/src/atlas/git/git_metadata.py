"""Who changed which lines, and when, as git tells it."""

import subprocess
from dataclasses import dataclass


@dataclass(frozen=True)
class GitMetadata:
    """Commits that touched the lines of a chunk."""

    commit_count: int
    last_modified: int


def blame_lines(root, path, start, end):
    """`git blame` for a range of lines; None for a file that is not tracked."""
    command = ["git", "blame", "--line-porcelain", f"-L{start},{end}", "--", path]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode:
        return None
    lines = done.stdout.splitlines()
    times = [int(line.split()[1]) for line in lines if line.startswith("author-time ")]
    commits = {line.split()[0] for line in lines if len(line.split()[0]) == 40}
    return GitMetadata(len(commits), max(times))
