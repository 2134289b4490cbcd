"""Who changes a SQLite file keeps its seal, however many are at it, but for a broken one."""

from __future__ import annotations

import errno
import time
from contextlib import ExitStack
from pathlib import Path
from threading import Event, Thread

import pytest

from aurora.stores.sqlite.integrity import Seal, Stamp


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file that was sealed long ago."""
    path = tmp_path / "memory.db"
    path.write_bytes(b"whole")
    path.with_name("memory.db-seal").write_text(f"{' '.join(map(str, stamp(path)))} 1000\n")
    assert is_sealed(path)
    return path


def stamp(path: Path) -> Stamp:
    found = Stamp.of(path)
    assert found is not None
    return found


def is_sealed(path: Path) -> bool:
    """As one sees it who comes now."""
    return Seal(path).holds()


def change(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b", and more")


def test_what_is_changed_is_sealed_and_not_looked_at(path: Path) -> None:
    with Seal(path).changing():
        change(path)
        assert not is_sealed(path)
    assert is_sealed(path)
    assert Seal(path).examined_at == 1000


def test_what_somebody_else_changed_is_not_sealed(path: Path) -> None:
    change(path)
    with Seal(path).changing():
        change(path)
    assert Seal(path).in_doubt


def test_who_comes_while_another_changes_it_breaks_no_seal(path: Path) -> None:
    with Seal(path).changing():
        change(path)
        with Seal(path).changing():
            change(path)
        change(path)
    assert is_sealed(path)


def test_who_came_later_and_stays_longer_seals_it(path: Path) -> None:
    with ExitStack() as first, ExitStack() as second:
        first.enter_context(Seal(path).changing())
        change(path)
        second.enter_context(Seal(path).changing())
        first.close()
        change(path)
    assert is_sealed(path)


def test_who_changes_it_while_it_is_examined_does_not_seal_it(path: Path) -> None:
    with Seal(path).turn() as is_ours:
        assert is_ours
        with Seal(path).changing():
            change(path)
    assert not is_sealed(path)
    assert not Seal(path).in_doubt


def test_who_examines_it_is_waited_for(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aurora.stores.sqlite.integrity._PATIENCE", 60)
    begun = Event()

    def examine() -> None:
        with Seal(path).turn():
            begun.set()
            time.sleep(0.05)

    examiner = Thread(target=examine)
    examiner.start()
    begun.wait()
    with Seal(path).changing():
        change(path)
    examiner.join()
    assert is_sealed(path)


def test_who_doubts_it_while_it_is_changed_is_right(path: Path) -> None:
    with Seal(path).changing():
        change(path)
        Seal(path).doubt()
    assert Seal(path).in_doubt


def test_nobody_examines_what_is_being_changed(path: Path) -> None:
    with Seal(path).changing(), Seal(path).turn(0.01) as is_ours:
        assert not is_ours


def test_a_folder_that_cannot_be_written_has_no_seal_to_keep(path: Path) -> None:
    seal = path.with_name("memory.db-seal")
    seal.unlink()
    seal.mkdir()  # so that even root cannot write it
    with Seal(path).changing():
        change(path)
    with Seal(path).turn() as is_ours:
        assert is_ours
    assert not is_sealed(path)
    assert list(seal.iterdir()) == []


def test_where_there_are_no_locks_nobody_has_one(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("aurora.stores.sqlite.integrity.lock", refuse)
    with Seal(path).changing():
        change(path)
    assert is_sealed(path)
