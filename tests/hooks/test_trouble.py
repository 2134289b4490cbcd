"""Whatever is wrong with a memory, in every event: status 0, no output, and it stays whole."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from aurora import Memory
from tests.cli.conftest import AUR
from tests.full_disk import files_no_longer_than
from tests.hooks.conftest import LESSON, Shop, text_of
from tests.hooks.events import STARTS, Sent, all_events


def answers(shop: Shop) -> set[str]:
    """What every event of every agent prints."""
    return {shop.answer(sent) for sent in all_events(shop.folder)}


def database(shop: Shop) -> Path:
    return shop.folder / ".aurora" / "memory.db"


def is_whole(shop: Shop) -> bool:
    with closing(sqlite3.connect(database(shop))) as file:
        return bool(file.execute("PRAGMA integrity_check").fetchone() == ("ok",))


def test_no_memory(shop: Shop) -> None:
    shutil.rmtree(shop.folder / ".aurora")
    assert answers(shop) == {""}
    assert not (shop.folder / ".aurora").exists()


@pytest.mark.parametrize("damage", ["zeros", "cut", "other", "links", "folder"])
def test_damaged_memory(shop: Shop, damage: str) -> None:
    """What can still be read may be told; nothing else is."""
    file = database(shop)
    content = file.read_bytes()
    for each in file.parent.glob("memory.db*"):
        each.unlink()
    if damage == "zeros":
        file.write_bytes(bytes(len(content)))
    elif damage == "cut":
        file.write_bytes(content[: len(content) // 3])
    elif damage == "other":
        file.write_bytes(b"This is no database. " * 1000)
    elif damage == "links":
        file.symlink_to("/etc/passwd")
    else:
        file.mkdir()
    assert all(output == "" or LESSON in text_of(output) for output in answers(shop))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.parametrize("name", [".", "memory.db", "indexes"])
def test_a_memory_of_another_user(shop: Shop, name: str) -> None:
    os.chown(shop.folder / ".aurora" / name, 12345, 12345)
    assert answers(shop) == {""}


def test_a_full_disk(shop: Shop) -> None:
    """What cannot be noted as given is not given: it would be given again and again."""
    with files_no_longer_than(0):
        assert answers(shop) == {""}
    assert is_whole(shop)


@contextmanager
def locked(shop: Shop) -> Iterator[None]:
    """Another program holds the whole database, and nobody may even read."""
    with closing(sqlite3.connect(database(shop), isolation_level=None)) as file:
        file.execute("PRAGMA locking_mode = EXCLUSIVE")
        file.execute("BEGIN EXCLUSIVE")
        yield


@pytest.mark.full
def test_a_hang_ends_in_silence(shop: Shop) -> None:
    """A pipe in place of a file that is read: whoever opens it waits for ever."""
    settings = shop.folder / ".aurora" / "config.yml"
    settings.unlink(missing_ok=True)
    os.mkfifo(settings)
    del shop.shell.environ["AURORA_HOOK_SECONDS"]
    for sent in some_events(shop):
        begun = time.monotonic()
        assert shop.send(sent) == ""
        assert time.monotonic() - begun < 60


def some_events(shop: Shop) -> list[Sent]:
    return [sent for sent in all_events(shop.folder) if sent.agent == "claude-code"]


@pytest.mark.full
def test_a_locked_database(shop: Shop) -> None:
    del shop.shell.environ["AURORA_HOOK_SECONDS"]
    with locked(shop):
        outputs = [shop.send(sent) for sent in some_events(shop)[:1]]
    assert all(output == "" or LESSON in text_of(output) for output in outputs)
    assert is_whole(shop)


@pytest.mark.full
def test_killed_at_any_moment(shop: Shop) -> None:
    """The memory is whole, and the next hook answers."""
    start = next(sent for sent in all_events(shop.folder) if sent.event in STARTS)
    for step in range(12):
        payload = {**start.payload, "session_id": f"s{step}"}
        hook = subprocess.Popen(
            [AUR, "hook", start.agent, start.event],
            cwd=shop.folder,
            env=shop.shell.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert hook.stdin is not None
        hook.stdin.write(json.dumps(payload).encode())
        hook.stdin.close()
        time.sleep(0.05 * step)
        hook.send_signal(signal.SIGKILL)
        hook.wait()
        assert hook.stdout is not None
        output = hook.stdout.read().decode()
        hook.stdout.close()
        assert output == "" or LESSON in text_of(output)
    assert is_whole(shop)
    assert LESSON in text_of(shop.answer(start))


@pytest.mark.full
def test_no_room_in_the_memory_of_the_machine(shop: Shop) -> None:
    start, outputs = json.dumps(all_events(shop.folder)[0].payload), set[str]()
    for kilobytes in (32_000, 36_000, 40_000, 44_000, 50_000):
        run = "echo '$START' | aur hook claude-code SessionStart".replace("$START", start)
        done = shop.shell.bash(f"ulimit -v {kilobytes}; {run}")
        assert (kilobytes, done.returncode) == (kilobytes, 0)
        outputs.add(done.stdout and text_of(done.stdout))
    assert all(output == "" or LESSON in output for output in outputs)
    assert "" in outputs


def test_a_read_only_home(shop: Shop) -> None:
    """Nothing can be noted there; root may write anyway."""
    (shop.home / "given").write_text("a file where a folder belongs")
    shutil.rmtree(shop.home / "logs", ignore_errors=True)
    (shop.home / "logs").write_text("a file where a folder belongs")
    assert answers(shop) == {""}


def test_a_memory_that_came_with_a_clone_tells_nothing_of_its_own(shop: Shop) -> None:
    """Rows that the user did not make are hidden until they are adopted."""
    (shop.home / "memories.json").unlink()
    start = all_events(shop.folder)[0]
    assert shop.answer(start) == ""
    with Memory.open(shop.folder, environ=shop.shell.environment) as memory:
        assert memory.exists
