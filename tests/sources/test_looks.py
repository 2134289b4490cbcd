"""How often a search looks at files for changes."""

from __future__ import annotations

import time
from pathlib import Path

from aurora.sources.looks import FILE, Looks


def rests(folder: Path, seconds: float) -> bool:
    looks = Looks(folder)
    looks.write("memory", {"/project": {"a.py": "1 2 3"}})
    begun = time.time()
    looks.rest_after(seconds)
    return (folder / FILE).stat().st_mtime > begun  # the end of the rest


def test_a_quick_look_is_followed_by_another_one(tmp_path: Path) -> None:
    assert not rests(tmp_path, 0.001)


def test_after_a_slow_look_the_next_searches_do_not_look(tmp_path: Path) -> None:
    assert rests(tmp_path, 60.0)
