"""How often a search looks at files for changes."""

from __future__ import annotations

import time
from pathlib import Path

from aurora.sources.looks import FILE, Looks

ONE_LOOK = 0.001  # seconds


def rests(folder: Path, files: int, seconds: float) -> bool:
    looks, known = Looks(folder), {"/project": {f"{n}.py": "1 2 3" for n in range(files)}}
    looks.write("memory", known)
    begun = time.time()
    looks.rest_after(seconds, known)
    return (folder / FILE).stat().st_mtime > begun  # the end of the rest


def test_a_quick_look_at_a_few_files_is_followed_by_another_one(tmp_path: Path) -> None:
    assert not rests(tmp_path, 100, ONE_LOOK)


def test_after_a_slow_look_the_next_searches_do_not_look(tmp_path: Path) -> None:
    assert rests(tmp_path, 100, 60.0)


def test_after_a_look_at_many_files_the_next_searches_do_not_look(tmp_path: Path) -> None:
    assert rests(tmp_path, 4_000, ONE_LOOK)
