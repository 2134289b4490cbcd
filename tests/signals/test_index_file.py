"""Index files: what was written comes back, and nothing else ever does."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aurora.errors import IndexFileError, IndexVersionError
from aurora.signals.index_file import IndexFile, write_index_file
from tests.properties import examples

ARRAYS = {
    "numbers": np.arange(5000, dtype=np.int64),
    "weights": np.linspace(0, 1, 3000, dtype=np.float32),
    "empty": np.array([], np.int32),
    "bytes": np.frombuffer(b"some text", np.uint8),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write_index_file(tmp_path / "x.idx", kind="test", facts={"n": 1, "s": "ü"}, arrays=ARRAYS)
    return tmp_path / "x.idx"


def read_everything(path: Path) -> dict[str, list[object]]:
    file = IndexFile(path, kind="test")
    return {name: file.read(name, 0, file.size(name)).tolist() for name in ARRAYS}


def test_arrays_and_facts_come_back(path: Path) -> None:
    assert read_everything(path) == {name: array.tolist() for name, array in ARRAYS.items()}
    assert IndexFile(path, kind="test").facts == {"n": 1, "s": "ü"}


def test_a_part_of_an_array(path: Path) -> None:
    file = IndexFile(path, kind="test")
    assert file.read("numbers", 1020, 1030).tolist() == list(range(1020, 1030))
    assert file.read("numbers", 7, 7).tolist() == []
    assert file.size("numbers") == 5000


def test_only_the_pages_touched_are_checked(path: Path) -> None:
    """Damage far away does not stop a read; touching it does."""
    content = bytearray(path.read_bytes())
    at = content.rindex((4999).to_bytes(8, "little"))
    content[at] ^= 1
    path.write_bytes(content)
    file = IndexFile(path, kind="test")
    assert file.read("numbers", 0, 10).tolist() == list(range(10))
    with pytest.raises(IndexFileError, match="checksum of numbers"):
        file.read("numbers", 4990, 5000)


def test_another_kind_of_index_is_refused(path: Path) -> None:
    with pytest.raises(IndexFileError, match="not a bm25 index"):
        IndexFile(path, kind="bm25")


def test_an_index_of_another_byte_order_is_of_another_version(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Copied from another kind of machine: rebuilt, but not called damaged."""
    other = "big" if sys.byteorder == "little" else "little"
    monkeypatch.setattr(sys, "byteorder", other)
    with pytest.raises(IndexVersionError, match="another byte order"):
        IndexFile(path, kind="test")


def test_a_newer_format_is_refused(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[8] = 9
    path.write_bytes(content)
    with pytest.raises(IndexFileError, match="format 9"):
        IndexFile(path, kind="test")


def test_a_missing_file_is_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        IndexFile(tmp_path / "nowhere.idx", kind="test")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_truncated_file_is_refused(path: Path, data: st.DataObject) -> None:
    content = path.read_bytes()
    cut = path.with_name("cut.idx")
    cut.write_bytes(content[: data.draw(st.integers(0, len(content) - 1))])
    with pytest.raises(IndexFileError):
        IndexFile(cut, kind="test")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(300))
@given(st.data())
def test_a_flipped_bit_is_never_an_answer(path: Path, data: st.DataObject) -> None:
    """Either it is noticed, or it lies where nothing is read from: between the arrays."""
    content = bytearray(path.read_bytes())
    content[data.draw(st.integers(0, len(content) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    flipped = path.with_name("flipped.idx")
    flipped.write_bytes(content)
    try:
        found = read_everything(flipped)
    except IndexFileError:
        return
    assert found == {name: array.tolist() for name, array in ARRAYS.items()}


@given(content=st.binary(max_size=300))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_garbage_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "garbage.idx").write_bytes(content)
    with pytest.raises(IndexFileError):
        IndexFile(tmp_path / "garbage.idx", kind="test")


def test_a_reader_keeps_its_file_while_another_is_put_in_place(path: Path) -> None:
    file = IndexFile(path, kind="test")
    write_index_file(path, kind="test", facts={}, arrays={"numbers": np.zeros(3, np.int64)})
    assert file.read("numbers", 0, 3).tolist() == [0, 1, 2]
    assert IndexFile(path, kind="test").size("numbers") == 3


def test_leftovers_of_dead_processes_are_cleared_away(path: Path) -> None:
    dead = path.with_name("x.idx.999999999.tmp")
    alive = path.with_name(f"x.idx.{os.getppid()}.tmp")
    dead.touch()
    alive.touch()
    write_index_file(path, kind="test", facts={}, arrays=ARRAYS)
    assert not dead.exists()
    assert alive.exists()


def test_a_write_that_fails_leaves_the_old_file_and_no_scratch(path: Path) -> None:
    before = path.read_bytes()
    with pytest.raises(ValueError, match="header of test index is too long"):
        write_index_file(path, kind="test", facts={"long": "x" * 9000}, arrays={})
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == ["x.idx"]


def test_a_file_cut_short_while_in_use_is_an_error_not_a_crash(path: Path) -> None:
    file = IndexFile(path, kind="test")
    os.truncate(path, 100)
    with pytest.raises(IndexFileError, match="truncated"):
        file.read("numbers", 0, 10)


def test_a_check_of_the_whole_file_touches_every_page(path: Path) -> None:
    IndexFile(path, kind="test").check()
    content = bytearray(path.read_bytes())
    content[content.rindex((4999).to_bytes(8, "little"))] ^= 1
    path.write_bytes(content)
    with pytest.raises(IndexFileError, match="checksum of numbers"):
        IndexFile(path, kind="test").check()
