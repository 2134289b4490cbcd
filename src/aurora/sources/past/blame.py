"""The last commit of every line of a few files, from `git blame` itself."""

from __future__ import annotations

import re

from aurora.sources.git import Git

_ENTRY = re.compile(rb"^([0-9a-f]{40,64}) \d+ (\d+) (\d+)$")


def blame(git: Git, path: str, *, commit: str) -> tuple[list[bytes], dict[bytes, int]]:
    """The commit of each line, and every commit's time."""
    answer = git.ask(
        "blame", "--incremental", "--no-textconv", "--ignore-revs-file=",
        commit, "--", path,
    )  # fmt: skip
    owners: dict[int, bytes] = {}
    times: dict[bytes, int] = {}
    current = b""
    for line in answer.split(b"\n"):
        if entry := _ENTRY.match(line):
            current, first, count = entry[1], int(entry[2]), int(entry[3])
            owners.update(dict.fromkeys(range(first, first + count), current))
        elif line.startswith(b"author-time "):
            times[current] = int(line[12:])
    return [owners[number] for number in sorted(owners)], times
