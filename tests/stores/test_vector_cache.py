"""The vectors that all memories of a user share: whole ones or none, and never an error."""

from __future__ import annotations

import os
import sqlite3
import stat
import sys
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest

from aurora.stores.base import Embedder
from aurora.stores.vector_cache import VectorCache

WORDS = Embedder("words", 4, "1")
ONE, TWO = b"abcdefgh", b"ABCDEFGH"


def put(cache: VectorCache, vectors: Mapping[bytes, bytes], origin: int = 1) -> None:
    with cache.open(WORDS) as cached:
        cached.put((key, origin, vector) for key, vector in vectors.items())


def get(cache: VectorCache, *keys: bytes, embedder: Embedder = WORDS) -> Mapping[bytes, bytes]:
    with cache.open(embedder) as cached:
        return cached.get(keys)


@pytest.fixture
def cache(tmp_path: Path) -> VectorCache:
    cache = VectorCache(tmp_path / "cache" / "vectors")
    put(cache, {b"one": ONE, b"two": TWO})
    return cache


def file_of(cache: VectorCache) -> Path:
    [file] = cache.folder.glob("*.db")
    return file


def test_a_vector_is_found_by_its_text_and_its_embedder(cache: VectorCache) -> None:
    assert get(cache, b"one", b"three") == {b"one": ONE}
    assert get(cache, *(b"%d" % n for n in range(2_000)), b"two") == {b"two": TWO}
    for other in (("word", 4, "1"), ("words", 5, "1"), ("words", 4, "2")):
        assert get(cache, b"one", embedder=Embedder(*other)) == {}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no permission bits")
def test_only_its_owner_may_read_it(cache: VectorCache) -> None:
    paths = [cache.folder.parent, cache.folder, *cache.folder.iterdir()]
    assert {stat.S_IMODE(path.stat().st_mode) & 0o077 for path in paths} == {0}


@pytest.mark.parametrize("at", range(64))
def test_a_flipped_bit_is_no_vector(cache: VectorCache, at: int) -> None:
    wrong = bytearray(ONE)
    wrong[at // 8] ^= 1 << at % 8
    with closing(sqlite3.connect(file_of(cache))) as file, file:
        file.execute("UPDATE vectors SET vector = ? WHERE key = ?", (bytes(wrong), b"one"))
    assert get(cache, b"one", b"two") == {b"two": TWO}
    put(cache, {b"one": ONE})
    assert get(cache, b"one") == {b"one": ONE}


@pytest.mark.parametrize("value", [None, 7, "text", ONE[:-1], ONE + b"x", b""])
def test_a_value_that_is_no_vector_is_not_used(cache: VectorCache, value: object) -> None:
    with closing(sqlite3.connect(file_of(cache))) as file, file:
        file.execute("PRAGMA ignore_check_constraints = ON")
        file.execute("UPDATE vectors SET checksum = 'x' WHERE key = ?", (b"two",))
        if value is not None:
            file.execute("UPDATE vectors SET vector = ? WHERE key = ?", (value, b"one"))
    assert get(cache, b"one", b"two") == ({} if value is not None else {b"one": ONE})


def test_a_damaged_file_is_deleted_and_made_again(cache: VectorCache) -> None:
    file = file_of(cache)
    for content in (b"", b"no database", b"SQLite format 3\0" + os.urandom(8_000)):
        for path in cache.folder.iterdir():
            path.unlink()
        file.write_bytes(content)
        assert get(cache, b"one") == {}
        put(cache, {b"one": ONE})
        assert get(cache, b"one") == {b"one": ONE}


def test_a_table_of_another_program_is_left_alone(cache: VectorCache) -> None:
    with closing(sqlite3.connect(file_of(cache))) as file, file:
        file.execute("DROP TABLE vectors")
        file.execute("CREATE TABLE vectors (other TEXT, origin TEXT)")
    put(cache, {b"one": ONE})
    assert get(cache, b"one") == {}


def test_a_link_in_the_way_is_not_followed(cache: VectorCache, tmp_path: Path) -> None:
    file, target = file_of(cache), tmp_path / "elsewhere.db"
    file.rename(target)
    file.symlink_to(target)
    before = target.read_bytes()
    put(cache, {b"three": ONE})
    assert get(cache, b"one") == {}
    assert target.read_bytes() == before


def test_a_folder_that_cannot_be_made_is_no_cache(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file is in the way")
    cache = VectorCache(tmp_path / "cache" / "vectors")
    put(cache, {b"one": ONE})
    assert get(cache, b"one") == {}
    cache.forget([b"one"], [1])


def test_a_locked_file_is_not_waited_for_twice(
    cache: VectorCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aurora.stores.vector_cache._SECONDS", 0.01)
    other = sqlite3.connect(file_of(cache), isolation_level=None)
    with closing(other), cache.open(WORDS) as cached:
        other.execute("BEGIN EXCLUSIVE")
        cached.put([(b"three", 1, ONE)])
        other.execute("ROLLBACK")
        cached.put([(b"four", 1, ONE)])
        assert cached.get([b"one"]) == {}
    assert get(cache, b"one", b"three", b"four") == {b"one": ONE}


def test_the_oldest_vectors_are_dropped_over_the_limit(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path, most_bytes=200_000)
    keys = [b"%06d" % n for n in range(8_000)]
    for at in range(0, len(keys), 100):
        put(cache, dict.fromkeys(keys[at : at + 100], ONE))
    kept = get(cache, *keys)
    assert 1_000 < len(kept) < 5_000
    assert list(kept) == keys[-len(kept) :]
    assert cache.size() < 400_000


def test_vectors_of_models_out_of_use_are_dropped_first(tmp_path: Path) -> None:
    old, keys = Embedder("old", 4, "1"), [b"%06d" % n for n in range(3_000)]
    cache = VectorCache(tmp_path, most_bytes=200_000)
    with cache.open(old) as cached:
        cached.put((key, 1, ONE) for key in keys)
    put(cache, dict.fromkeys(keys, TWO))
    assert len(get(cache, *keys)) == len(keys)
    assert get(cache, *keys, embedder=old) == {}


def test_forgotten_vectors_are_overwritten_with_all_versions_of_their_file(
    cache: VectorCache,
) -> None:
    put(cache, {b"earlier": b"qwertyui"}, origin=2)
    put(cache, {b"now": b"QWERTYUI"}, origin=3)
    cache.forget([b"now"], [2])
    assert get(cache, b"one", b"earlier", b"now") == {b"one": ONE}
    raw = b"".join(path.read_bytes() for path in cache.folder.iterdir())
    assert ONE in raw
    assert b"qwertyui" not in raw.lower()


def test_a_file_from_which_nothing_can_be_removed_is_deleted(cache: VectorCache) -> None:
    file_of(cache).write_bytes(b"no database")
    cache.forget([b"one"], [1])
    assert list(cache.folder.glob("*.db*")) == []
