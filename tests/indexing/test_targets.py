"""What a run covers: which files come, under which names, and which leave."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from aurora.errors import SourceError
from aurora.indexing.indexer import index_files
from aurora.indexing.reader import scan
from aurora.sources.reading import MAX_BYTES
from aurora.stores.sqlite.store import SQLiteStore
from tests.builders import NOW, write_tree
from tests.sources.repository import make_repository


def known(store: SQLiteStore) -> set[str]:
    """Paths that are remembered, and that the chunks and the file states agree on."""
    paths = {path for path, state in store.chunks.file_states().items() if not state.left_out}
    assert {chunk.path for chunk in store.chunks.iter_chunks()} == paths
    return paths


def replace(path: Path, make: Callable[[Path], object]) -> None:
    path.unlink()
    make(path)


@pytest.mark.parametrize(
    "happens",
    [
        pytest.param(lambda path: path.unlink(), id="deleted"),
        pytest.param(lambda path: path.write_bytes(b"\0\1\2"), id="became-binary"),
        pytest.param(lambda path: path.write_bytes(b"caf\xe9"), id="became-latin-1"),
        pytest.param(lambda path: path.write_bytes(b"x" * (MAX_BYTES + 1)), id="became-huge"),
        pytest.param(lambda path: replace(path, Path.mkdir), id="became-a-folder"),
        pytest.param(
            lambda path: replace(path, lambda p: p.symlink_to("kept.py")), id="became-a-link"
        ),
        pytest.param(
            lambda path: (path.parent / ".gitignore").write_text("gone.py\n"), id="became-ignored"
        ),
        pytest.param(lambda path: path.rename(path.with_name(".env")), id="became-a-secret"),
    ],
)
def test_a_file_that_is_no_longer_text_leaves(
    store: SQLiteStore, root: Path, happens: Callable[[Path], object]
) -> None:
    make_repository(root, {".gitignore": "x\n", "kept.py": "x = 1\n"})
    write_tree(root, {"gone.py": "def f(): pass\n"})
    index_files(store, root, scan(root))
    assert known(store) == {".gitignore", "kept.py", "gone.py"}

    happens(root / "gone.py")

    assert index_files(store, root, scan(root)).removed == 1
    assert known(store) == {".gitignore", "kept.py"}
    assert store.maintenance.check() == []


def test_a_renamed_file_keeps_what_hangs_on_its_chunks(store: SQLiteStore, root: Path) -> None:
    write_tree(root, {"old.py": "def f(): pass\n", "other.py": "x = 1\n"})
    index_files(store, root, scan(root))
    store.chunks.record_access("old.py:f", NOW)
    (root / "sub").mkdir()
    (root / "old.py").rename(root / "sub" / "new.py")

    report = index_files(store, root, scan(root))

    assert (report.parsed, report.unchanged, report.removed) == (1, 1, 0)
    assert known(store) == {"sub/new.py", "other.py"}
    assert {chunk.id for chunk in store.chunks.iter_chunks()} == {"sub/new.py:f", "other.py:module"}
    assert store.chunks.get_accesses(["sub/new.py:f"]) == {"sub/new.py:f": (NOW,)}
    assert store.maintenance.check() == []


def test_a_copy_is_no_rename(store: SQLiteStore, root: Path) -> None:
    write_tree(root, {"old.py": "def f(): pass\n"})
    index_files(store, root, scan(root))
    store.chunks.record_access("old.py:f", NOW)
    shutil.copy(root / "old.py", root / "new.py")

    assert index_files(store, root, scan(root)).removed == 0
    assert known(store) == {"old.py", "new.py"}
    assert store.chunks.get_accesses(["old.py:f", "new.py:f"]) == {"old.py:f": (NOW,)}


def test_of_two_copies_that_are_gone_one_is_renamed_and_one_forgotten(
    store: SQLiteStore, root: Path
) -> None:
    write_tree(root, dict.fromkeys(["a.py", "b.py"], "def f(): pass\n"))
    index_files(store, root, scan(root))
    (root / "a.py").unlink()
    (root / "b.py").rename(root / "c.py")

    assert index_files(store, root, scan(root)).removed == 1
    assert known(store) == {"c.py"}


def test_a_folder_that_is_gone_leaves_with_all_its_files(store: SQLiteStore, root: Path) -> None:
    write_tree(root, {"a.py": "x = 1\n", "sub/b.py": "x = 1\n", "sub/deep/c.py": "x = 1\n"})
    index_files(store, root, scan(root))
    shutil.rmtree(root / "sub")

    assert index_files(store, root, scan(root)).removed == 2
    assert known(store) == {"a.py"}


def test_a_subfolder_forgets_nothing_outside_itself(store: SQLiteStore, root: Path) -> None:
    files = ["a.py", "sub/b.py", "sub/c.py", "subway/d.py"]
    write_tree(root, dict.fromkeys(files, "x = 1\n"))
    index_files(store, root, scan(root))
    for name in ("a.py", "sub/b.py", "subway/d.py"):
        (root / name).unlink()

    report = index_files(store, root, scan(root / "sub"))

    assert (report.scanned, report.unchanged, report.removed) == (1, 1, 1)
    assert known(store) == {"a.py", "sub/c.py", "subway/d.py"}
    index_files(store, root, scan(root))
    assert known(store) == {"sub/c.py"}


def test_a_single_file_forgets_nothing_beside_itself(store: SQLiteStore, root: Path) -> None:
    write_tree(root, {"a.py": "x = 1\n", "b.py": "x = 1\n"})
    index_files(store, root, scan(root))
    (root / "b.py").unlink()
    write_tree(root, {"a.py": "x = 1000\n"})

    report = index_files(store, root, scan(root / "a.py"))

    assert (report.scanned, report.parsed, report.removed) == (1, 1, 0)
    assert known(store) == {"a.py", "b.py"}


def test_two_targets_live_side_by_side(store: SQLiteStore, root: Path, tmp_path: Path) -> None:
    write_tree(root, {"a.py": "x = 1\n"})
    other = write_tree(tmp_path / "other", {"a.py": "x = 2\n"})

    index_files(store, root, scan(root))
    index_files(store, root, scan(other))
    assert known(store) == {"a.py", (other / "a.py").as_posix()}

    (other / "a.py").unlink()
    index_files(store, root, scan(root))
    assert len(known(store)) == 2
    index_files(store, root, scan(other))
    assert known(store) == {"a.py"}


def test_without_a_project_paths_are_absolute(store: SQLiteStore, root: Path) -> None:
    write_tree(root, {"sub/a.py": "x = 1\n"})

    index_files(store, None, scan(root))

    assert known(store) == {(root / "sub" / "a.py").as_posix()}
    assert index_files(store, None, scan(root / "sub")).unchanged == 1


def test_a_target_may_be_relative_or_lead_through_a_link(
    store: SQLiteStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_tree(root, {"sub/a.py": "x = 1\n"})
    (root / "link").symlink_to("sub")
    monkeypatch.chdir(root / "sub")

    assert index_files(store, root, scan(Path())).parsed == 1
    assert index_files(store, root, scan(Path("..", "sub", "a.py"))).unchanged == 1
    assert index_files(store, root, scan(root / "link")).unchanged == 1
    assert known(store) == {"sub/a.py"}


@pytest.mark.parametrize("given", ["link", ".", "sub/.."])
def test_paths_are_relative_however_the_root_is_spelled(
    store: SQLiteStore, root: Path, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    write_tree(root, {"sub/a.py": "x = 1\n"})
    (root / "link").symlink_to(".")
    monkeypatch.chdir(root)

    index_files(store, Path(given), scan(root))

    assert known(store) == {"sub/a.py"}


def test_a_project_that_moved_is_known_again(
    store: SQLiteStore, root: Path, tmp_path: Path
) -> None:
    write_tree(root, {"a.py": "def f(): pass\n"})
    index_files(store, root, scan(root))
    store.chunks.record_access("a.py:f", NOW)
    moved = root.rename(tmp_path / "moved")

    assert index_files(store, moved, scan(moved)).unchanged == 1
    assert store.chunks.get_accesses(["a.py:f"]) == {"a.py:f": (NOW,)}


def test_what_is_left_out_is_counted_by_reason(store: SQLiteStore, root: Path) -> None:
    write_tree(
        root,
        {"a.py": "x = 1\n", ".env": "", "b.key": "", "c.lock": "", "d.bin": b"\0", "e.py": b"\xe9"},
    )
    (root / os.fsdecode(b"\xff.py")).write_text("x = 1\n")

    report = index_files(store, root, scan(root))

    assert (report.scanned, report.parsed) == (7, 1)
    assert report.skipped == {
        "looks like a secret": 2,
        "generated": 1,
        "binary": 1,
        "not UTF-8": 1,
        "file name is not UTF-8": 1,
    }
    assert known(store) == {"a.py"}


def test_fifty_megabytes_are_left_out_by_their_size_whatever_they_are(
    store: SQLiteStore, root: Path
) -> None:
    suffixes = ["py", "go", "sh", "md", "rst", "txt", "zzz"]
    for suffix in suffixes:
        with (root / f"a.{suffix}").open("wb") as file:
            file.truncate(50_000_000)

    report = index_files(store, root, scan(root))

    assert report.skipped == {"larger than 2048 KiB": len(suffixes)}
    assert (known(store), report.is_partial) == (set(), False)


def test_a_missing_target_changes_nothing(store: SQLiteStore, root: Path) -> None:
    write_tree(root, {"a.py": "x = 1\n"})
    index_files(store, root, scan(root))

    with pytest.raises(SourceError):
        index_files(store, root, scan(root / "nothing"))

    assert known(store) == {"a.py"}
