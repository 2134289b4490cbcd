"""Answers on disk: kept, found, let go; and never a reason to fail."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

from aurora.llm.cache import AnswerCache

ON_WINDOWS = sys.platform == "win32"


def test_an_answer_is_found_by_its_question_alone(tmp_path: Path) -> None:
    cache = AnswerCache(tmp_path / "indexes" / "llm")
    assert cache.get((1, "model", "url", "?")) is None
    cache.put((1, "model", "url", "?"), "ü, 3")
    assert cache.get((1, "model", "url", "?")) == "ü, 3"
    for other in [(2, "model", "url", "?"), (1, "m", "url", "?"), (1, "model", "u", "?"), (1,)]:
        assert cache.get(other) is None


@pytest.mark.skipif(ON_WINDOWS, reason="there are no such permissions")
def test_only_its_owner_may_read_it_and_no_question_is_written(tmp_path: Path) -> None:
    folder = tmp_path / "llm"
    AnswerCache(folder).put(("who is ada?",), "a, b")
    [file] = folder.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert "ada" not in file.name + file.read_text()


def test_the_oldest_go_and_files_of_others_stay(tmp_path: Path) -> None:
    cache = AnswerCache(tmp_path, most=3)
    other = tmp_path / "letter.txt"
    other.write_text("Dear Ada")
    os.utime(other, (0, 0))
    for number in range(5):
        cache.put((number,), str(number))
        file = max(tmp_path.glob("[0-9a-f]" * 64), key=lambda one: one.stat().st_mtime_ns)
        os.utime(file, (number + 1, number + 1))
    assert [cache.get((number,)) for number in range(5)] == [None, None, "2", "3", "4"]
    assert other.exists()


@pytest.mark.parametrize("damage", [b"", b"\xff\xfe", b"x" * 100_000])
def test_what_is_damaged_harms_nobody(tmp_path: Path, damage: bytes) -> None:
    cache = AnswerCache(tmp_path)
    cache.put(("?",), "a")
    [file] = tmp_path.iterdir()
    file.write_bytes(damage)
    found = cache.get(("?",))
    assert found is None or len(found) <= 65_536
    cache.put(("?",), "again")
    assert cache.get(("?",)) == "again"


def test_a_folder_that_cannot_be_written_keeps_nothing(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("no folder")
    cache = AnswerCache(file / "llm")
    cache.put(("?",), "a")
    assert cache.get(("?",)) is None


def test_a_folder_in_the_place_of_an_answer_is_none(tmp_path: Path) -> None:
    cache = AnswerCache(tmp_path)
    cache.put(("?",), "a")
    [file] = tmp_path.iterdir()
    file.unlink()
    file.mkdir()
    assert cache.get(("?",)) is None
    cache.put(("?",), "a")
    assert cache.get(("?",)) is None


def test_what_a_killed_process_left_is_no_obstacle(tmp_path: Path) -> None:
    cache = AnswerCache(tmp_path)
    cache.put(("?",), "a")
    [file] = tmp_path.iterdir()
    file.rename(tmp_path / f"{file.name}.{os.getpid()}.tmp")
    assert cache.get(("?",)) is None
    cache.put(("?",), "b")
    assert cache.get(("?",)) == "b"
