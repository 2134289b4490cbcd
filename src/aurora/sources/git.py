"""The only module that runs git. The user's repository is never written to."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from aurora.errors import SourceError

_QUIET = ("-c", "core.quotepath=off", "-c", "core.fsmonitor=false")
# Variables with which a hook or a script names another repository than the folder's own.
_ELSEWHERE = {
    "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
}  # fmt: skip
# Where git has nothing to say. Any other complaint (a damaged index, a stranger's repository) is an
# error: without git's word, ignored files would be read and hidden ones forgotten.
_NO_WORK_TREE = (b"not a git repository (or any", b"must be run in a work tree")


def find_root(path: Path) -> Path | None:
    """The top of the work tree that holds a path, or nothing where there is none (or no git)."""
    folder = path if path.is_dir() else path.parent
    answer = _run(folder, "rev-parse", "--show-toplevel")
    return Path(os.fsdecode(answer.removesuffix(b"\n"))) if answer else None


def list_files(folder: Path) -> list[str] | None:
    """Paths below a folder that git tracks or would add, or nothing outside a work tree."""
    answer = _run(folder, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    if answer is None:
        return None
    return sorted({os.fsdecode(name) for name in answer.split(b"\0") if name})


def _run(folder: Path, *arguments: str) -> bytes | None:
    environment = {k: v for k, v in os.environ.items() if k not in _ELSEWHERE}
    try:
        done = subprocess.run(  # noqa: S603 - fixed words and a path, no shell
            ["git", *_QUIET, *arguments],  # noqa: S607 - the git the user has
            cwd=folder,
            env=environment | {"GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"},
            capture_output=True,
            check=False,
        )
    except OSError:  # git is not installed, or the folder went away
        return None
    if done.returncode == 0:
        return done.stdout
    if any(words in done.stderr for words in _NO_WORK_TREE):
        return None
    complaint = os.fsdecode(done.stderr).strip().partition("\n")[0]
    raise SourceError(
        f"git cannot tell which files of {folder} count: {complaint}",
        hint="run `git status` there and do what it says",
    )
