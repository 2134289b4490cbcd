"""The book of committed lines: what was written comes back, what cannot be is as good as none."""

from __future__ import annotations

import json
import zlib
from pathlib import Path

import pytest

from aurora.sources.blame.cache import BlameCache, Entry, load_cache, save_cache
from aurora.sources.blame.replay import LineOwners

WHOLE = {
    "head": "abc",
    "shallow": "",
    "ids": ["", "abc"],
    "times": [0, 1700000000],
    "files": {"a.py": ["blob", "1 1 5 0"]},
}


def load(folder: Path, told: object) -> BlameCache:
    """Of a file whose checksum is right, whatever it says."""
    content = json.dumps(told).encode()
    path = folder / "history"
    path.write_bytes(b"aurora-history 1 %08x\n" % zlib.crc32(content) + content)
    return load_cache(path)


def test_a_book_comes_back(tmp_path: Path) -> None:
    book = BlameCache("abc")
    book.put("a.py", "blob", LineOwners([book.number("abc", 1700000000)] * 4, 0))
    save_cache(tmp_path / "saved", book)
    for again in (load_cache(tmp_path / "saved"), load(tmp_path, WHOLE)):
        assert (again.head, again.ids, again.times) == ("abc", ["", "abc"], [0, 1700000000])
        assert again.files == {"a.py": Entry("blob", "1 1 5 0")}


@pytest.mark.parametrize(
    "lie",
    [
        {"head": 1},
        {"ids": ["", 7]},
        {"ids": [], "times": []},
        {"times": [0]},
        {"times": [0, "yesterday"]},
        {"files": []},
        {"files": {"a.py": ["blob"]}},
        {"files": {"a.py": ["blob", ""]}},
        {"files": {"a.py": ["blob", "1 1 5"]}},
        {"files": {"a.py": ["blob", "1 2"]}},
        {"files": {"a.py": ["blob", "5 1 1 0"]}},
        {"files": {"a.py": ["blob", f"1 1 {10**12} 0"]}},
    ],
    ids=str,
)
def test_a_book_that_lies_is_as_good_as_none(tmp_path: Path, lie: dict[str, object]) -> None:
    book = load(tmp_path, WHOLE | lie)
    assert (book.head, book.ids, book.files) == ("", [""], {})


def test_what_is_no_book_is_as_good_as_none(tmp_path: Path) -> None:
    assert load(tmp_path, [WHOLE]).head == ""
    assert load(tmp_path, {"head": "abc"}).head == ""


def test_a_book_is_read_up_to_a_bound(tmp_path: Path) -> None:
    """One that a clone brings may be a link to a device, or larger than memory."""
    (tmp_path / "device").symlink_to("/dev/zero")
    whole = load(tmp_path, WHOLE | {"shallow": "x" * (31 << 20)})

    assert whole.head == "abc"
    assert load(tmp_path, WHOLE | {"shallow": "x" * (32 << 20)}).head == ""
    assert load_cache(tmp_path / "device").head == ""


def test_a_book_that_could_not_be_read_again_is_not_written(tmp_path: Path) -> None:
    book = BlameCache("abc", shallow="x" * (32 << 20))

    save_cache(tmp_path / "saved", book)

    assert not (tmp_path / "saved").exists()
