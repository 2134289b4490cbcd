"""Where a first index puts a memory: at the top of the git repository around a folder."""

from __future__ import annotations

from pathlib import Path

from aurora.config.places import Places, make_project
from aurora.sources.git import find_root


def start_project(places: Places, root: Path) -> Places:
    """Make the project's folder, unless it would be the user's own."""
    make_project(root)
    found = Places.find(root, {"AURORA_HOME": str(places.home)})
    return found if found.project == root else places


def places_to_index(places: Places, here: Path) -> Places:
    """The memory to index a folder into: inside a git repository the project's own, made if need
    be."""
    root = find_root(here) if places.project is None else None
    # A repository may call any folder its work tree; a memory is made only around us.
    inside = root is not None and here.resolve().is_relative_to(root.resolve())
    return start_project(places, root) if root is not None and inside else places
