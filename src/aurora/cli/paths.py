"""Paths as a person sees them: relative to the working directory. JSON has them from the root."""

from __future__ import annotations

import os
import posixpath
from pathlib import Path

from aurora.engine.location import shown_name
from aurora.retrieval.lookup import relative_path

_OF_A_CHUNK = "Failed to generate embedding for chunk "  # before an id


def seen_from(root: Path | None) -> str:
    """The working directory, from which paths are shown: relative to a memory's root, if any."""
    cwd = Path.cwd()
    return Path(os.path.relpath(cwd, root.resolve()) if root else cwd).as_posix()


def from_root(path: str, here: str) -> str:
    """A path that was typed in the folder `here`, as the memory has it."""
    return posixpath.normpath(posixpath.join(here, path))


def shown_place(name: Path | str | None, root: Path | None) -> str:
    """Where a memory or its index is: in the project from here, elsewhere from the home."""
    if isinstance(name, Path) and root is not None and name.is_relative_to(root):
        return Path(os.path.relpath(name)).as_posix()
    return shown_name(name)


def shown_problem(text: str, root: Path | None) -> str:
    """A message that begins with a stored path, with the path as seen from here."""
    before = _OF_A_CHUNK if text.startswith(_OF_A_CHUNK) else ""
    for separator in (": ", " has ", " takes ", ":"):  # the last one ends the path of an id
        path, found, rest = text.removeprefix(before).partition(separator)
        if found and (root or Path("/")).joinpath(path).is_file():
            return before + relative_path(path, seen_from(root)) + separator + rest
    return text
