"""The branches for Linux, macOS and Windows, each on any of them.

The module is loaded again with the name of another system. Windows' own module for locks is there
a small one that locks bytes of a file, as the real one does.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import platform
import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import aurora.platforms

SYSTEMS = ("linux", "darwin", "win32")


@pytest.fixture
def on(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A function that loads the module as another system would."""

    def load(system: str) -> Any:
        monkeypatch.setattr(sys, "platform", system)
        if system == "win32" and "msvcrt" not in sys.modules:
            monkeypatch.setitem(sys.modules, "msvcrt", byte_locks())
        spec = importlib.util.spec_from_file_location("platforms", aurora.platforms.__file__)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


def byte_locks() -> ModuleType:
    """`msvcrt.locking`: exclusive, for bytes from where the file stands, also between handles of
    one process. Linux has such locks, too."""
    import fcntl
    import struct

    def locking(handle: int, mode: int, size: int) -> None:
        start = os.lseek(handle, 0, os.SEEK_CUR)
        wanted = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, start, size, 0)
        fcntl.fcntl(handle, OFD_SETLKW if mode == module.LK_LOCK else OFD_SETLK, wanted)  # type: ignore[attr-defined]

    module = ModuleType("msvcrt")
    module.__dict__.update(locking=locking, LK_LOCK=1, LK_NBLCK=2)
    return module


OFD_SETLK, OFD_SETLKW = 37, 38  # Linux' fcntl.h

on_this = pytest.mark.skipif(sys.platform != "linux", reason="stands in for others on Linux only")


@on_this
@pytest.mark.parametrize("system", SYSTEMS)
def test_a_lock_is_exclusive_until_its_file_is_closed(on: Any, tmp_path: Path, system: str) -> None:
    lock, path = on(system).lock, tmp_path / "lock"
    path.touch()
    with path.open("r+b") as first, path.open("r+b") as second:
        lock(first)
        with pytest.raises(OSError, match="unavailable"):
            lock(second)
        first.close()
        lock(second, wait=True)


@on_this
@pytest.mark.parametrize(("system", "is_shared"), [("linux", True), ("win32", False)])
def test_windows_has_no_shared_locks(on: Any, tmp_path: Path, system: str, is_shared: bool) -> None:
    lock, path = on(system).lock, tmp_path / "lock"
    path.touch()
    with path.open("r+b") as first, path.open("r+b") as second:
        lock(first, shared=True)
        if is_shared:
            lock(second, shared=True)
        else:
            with pytest.raises(OSError, match="unavailable"):
                lock(second, shared=True)


@on_this
@pytest.mark.parametrize("system", SYSTEMS)
def test_owners_and_modes_are_of_posix(on: Any, tmp_path: Path, system: str) -> None:
    platforms, file = on(system), tmp_path / "file"
    file.touch(mode=0o600)
    with file.open() as opened:
        platforms.set_mode(opened.fileno(), 0o640)
    posix = system != "win32"
    assert platforms.effective_user() == (os.geteuid() if posix else None)
    assert file.stat().st_mode & 0o777 == (0o640 if posix else 0o600)


@pytest.mark.parametrize(
    ("system", "program", "host", "whole_trees", "line"),
    [
        ("linux", "aur", "box", False, "'/a b/aur' mcp"),
        ("darwin", "aur", "box", True, "'/a b/aur' mcp"),
        ("win32", "aur.exe", "", True, '"/a b/aur" mcp'),
    ],
)
def test_names_lines_and_watches(
    on: Any, system: str, *, program: str, host: str, whole_trees: bool, line: str
) -> None:
    platforms = on(system)
    assert platforms.program_file("aur") == program
    assert platforms.link_host("box") == host
    assert platforms.follows_whole_trees() is whole_trees
    assert platforms.shell_line(("/a b/aur", "mcp")) == line


@on_this
@pytest.mark.parametrize("system", SYSTEMS)
def test_bytes_of_a_file_are_read_in_place_or_not_at_all(
    on: Any, tmp_path: Path, system: str
) -> None:
    (tmp_path / "file").write_bytes(b"0123456789")
    with (tmp_path / "file").open("rb") as file:
        content = on(system).read_at(file.fileno(), 2, [6, 0])
    assert content == (b"6701" if hasattr(os, "pread") else None)


@on_this
@pytest.mark.parametrize("system", SYSTEMS)
def test_space_and_processors_are_known_everywhere(on: Any, tmp_path: Path, system: str) -> None:
    platforms = on(system)
    platforms.sync_folder(tmp_path)
    assert platforms.free_bytes(tmp_path) > 0
    assert platforms.processors() >= 1


@on_this
@pytest.mark.parametrize("system", SYSTEMS)
def test_an_ended_process_does_not_run_where_that_can_be_known(on: Any, system: str) -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    platforms = on(system)
    assert platforms.is_running(os.getpid())
    assert platforms.is_running(child.pid) is (system == "win32")


@on_this
@pytest.mark.parametrize(
    ("system", "is_limited"), [("linux", True), ("darwin", False), ("win32", False)]
)
def test_only_linux_limits_the_memory_of_another_process(
    on: Any, system: str, is_limited: bool
) -> None:
    import resource

    child = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    with child:
        on(system).limit_memory(child.pid, 64 << 20)
        limits = resource.prlimit(child.pid, resource.RLIMIT_DATA)
    assert (limits == (64 << 20, 64 << 20)) is is_limited
    on(system).limit_memory(child.pid, 64 << 20)  # it has ended


def test_windows_has_no_limit_of_files(on: Any) -> None:
    assert on("win32").raise_file_limit() is None


@pytest.mark.parametrize("system", ["darwin", "win32"])
def test_a_heap_is_left_alone_without_glibc(on: Any, system: str) -> None:
    on(system).share_heap(1 << 18)


@on_this
@pytest.mark.parametrize(("system", "calls"), [("linux", 1), ("win32", 0)])
def test_a_loop_hears_signals_except_on_windows(on: Any, system: str, calls: int) -> None:
    async def hear() -> list[str]:
        heard: list[str] = []
        loop = asyncio.get_running_loop()
        usual = signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        on(system).call_on_signals(loop, [signal.SIGUSR1], lambda: heard.append("usr1"))
        os.kill(os.getpid(), signal.SIGUSR1)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        loop.remove_signal_handler(signal.SIGUSR1)
        signal.signal(signal.SIGUSR1, usual)
        return heard

    assert len(asyncio.run(hear())) == calls


@on_this
@pytest.mark.parametrize("system", ["linux", "darwin"])
def test_a_program_in_the_background_has_a_session_of_its_own(
    on: Any, tmp_path: Path, system: str
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    script = f"import os; open({str(pipe)!r}, 'w').write(f'{{os.getpid()}} {{os.getsid(0)}}')"
    number = on(system).start_in_background([sys.executable, "-c", script])
    assert pipe.read_text() == f"{number} {number}"


@on_this
@pytest.mark.parametrize("system", ["linux", "darwin"])
def test_background_work_has_the_lowest_priority(on: Any, system: str) -> None:
    platforms, before = on(system), os.nice(0)
    if not (child := os.fork()):
        platforms.yield_to_others()
        os._exit(os.nice(0))
    _, status = os.waitpid(child, 0)
    assert (os.waitstatus_to_exitcode(status), os.nice(0)) == (19, before)


def test_windows_has_no_child_to_leave_work_to(on: Any) -> None:
    assert on("win32").leave_to_child() is False


def test_the_kind_of_processor_is_that_of_the_standard_library(on: Any) -> None:
    assert {on(system).processor_kind() for system in SYSTEMS} == {platform.machine()}
