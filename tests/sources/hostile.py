"""Repositories that are small on the disk and expensive to ask about."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.sources.repository import git

SMALL = b"x = 1\n"


def import_commits(root: Path, commits: Iterable[Mapping[str, bytes]]) -> Path:
    """A repository whose commits hold these files and no others. The first one is of day 0."""
    root.mkdir()
    git(root, "init", "--quiet")
    git(root, "config", "core.compression", "1")  # quicker, and still a hundredth
    command = ["git", "fast-import", "--quiet"]
    with subprocess.Popen(command, cwd=root, stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        for day, files in enumerate(commits):
            head = b"commit refs/heads/main\ncommitter A <a@b.c> %d +0000\ndata 1\nx\ndeleteall\n"
            process.stdin.write(head % (day * 86400))
            for name, content in files.items():
                row = b"M 100644 inline %s\ndata %d\n" % (name.encode(), len(content))
                process.stdin.writelines((row, content, b"\n"))
    assert process.returncode == 0
    git(root, "reset", "--quiet", "--hard", "main")
    return root


def with_huge_version(root: Path, *, mebibytes: int, files: int = 1) -> Path:
    """One version of `a0.py` has millions of lines. Comparing it takes git 20 times its size."""
    names = [f"a{number}.py" for number in range(files)]
    huge = b"y\n" * (mebibytes << 19)
    start = dict.fromkeys(names, SMALL + b"second\n")
    return import_commits(
        root,
        [start, start | {names[0]: huge}, dict.fromkeys(names, SMALL + b"changed\n")],
    )


def with_many_renames(root: Path, *, files: int) -> Path:
    """Each file is renamed and changed in one commit, so git compares each with each."""
    lines = b"".join(b"line %d\n" % number for number in range(8))
    return import_commits(
        root,
        [
            {f"old{n}.txt": lines + b"file %d\n" % n for n in range(files)},
            {f"new{n}.txt": lines + b"file %d\nend\n" % n for n in range(files)},
        ],
    )


def with_endless_tree(root: Path) -> Path:
    """The last commit has ten billion files: a tree of ten trees, ten times over."""
    import_commits(root, [{"a.py": SMALL}])
    tree = git(root, "rev-parse", "HEAD^{tree}").strip()
    for _ in range(10):
        rows = "".join(f"040000 tree {tree}\t{n}\n" for n in range(10))
        command = ["git", "mktree"]
        tree = subprocess.run(
            command, cwd=root, input=rows, capture_output=True, text=True, check=True
        ).stdout.strip()
    commit = git(root, "commit-tree", "-m", "x", "-p", "HEAD", tree).strip()
    git(root, "update-ref", "HEAD", commit)  # the index and the disk keep the one file
    return root
