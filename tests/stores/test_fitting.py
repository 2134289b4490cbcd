"""What globs mean, wherever a memory is kept."""

from __future__ import annotations

import pytest

from aurora.stores.matching import fitting_paths

PATHS = ["src/app.py", "notes.md", ""]


@pytest.mark.parametrize("unreadable", ["!", "\\", "src\\"])
@pytest.mark.parametrize("first", [True, False])
def test_a_glob_that_git_cannot_read_fits_nothing_and_spoils_no_other(
    unreadable: str, *, first: bool
) -> None:
    globs = [unreadable, "src"] if first else ["src", unreadable]
    assert fitting_paths(PATHS, [unreadable]) == []
    assert fitting_paths(PATHS, globs) == ["src/app.py"]
