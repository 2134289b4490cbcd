"""All that differs between Linux, macOS and Windows. No other module asks which system it runs on.

`tests/test_platforms.py` runs the branches of all three, on any of them.
"""

from __future__ import annotations

import os
import shlex
import signal
import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from aurora.quick_classes import NamedTuple

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl
    import resource
    from mmap import MADV_DONTNEED, PAGESIZE

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from mmap import mmap

_PROC = Path("/proc")
_TICKS = 100  # a second, for programs on every Linux
_LOWEST = 19  # priority, as `nice` counts
_IDLE_PRIORITY = 0x40  # of Windows
_M_ARENA_MAX, _M_MMAP_THRESHOLD = -8, -3  # of glibc's malloc.h


# Locks between processes and threads, released when their process ends

if sys.platform == "win32":

    def lock(file: BinaryIO, *, shared: bool = False, wait: bool = False) -> None:  # noqa: ARG001
        """Lock an open file until it is closed. `OSError` when it is locked, after ten seconds
        with `wait`. Windows has no shared locks."""
        msvcrt.locking(file.fileno(), msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
else:

    def lock(file: BinaryIO, *, shared: bool = False, wait: bool = False) -> None:
        """Lock an open file until it is closed, exclusively or shared. While another lock is in
        the way: `OSError`, or wait. An exclusive lock can become a shared one."""
        kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        fcntl.flock(file.fileno(), kind if wait else kind | fcntl.LOCK_NB)


# Files and users


def effective_user() -> int | None:
    """The user as whom this process acts; None on Windows, whose files have no owner's number and
    no permission bits."""
    if sys.platform == "win32":
        return None
    else:
        return os.geteuid()


def set_mode(handle: int, mode: int) -> None:
    """Set the permission bits of an open file or folder."""
    if sys.platform != "win32":
        os.fchmod(handle, mode)


def sync_folder(folder: Path) -> None:
    """Sync a folder to disk: only then does a new name in it survive a power cut."""
    if sys.platform != "win32":  # which cannot open a folder and needs no sync
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def read_parts(handle: int, starts: Sequence[int], size: int) -> bytes | None:
    """Parts of an open file, one after the other; None on Windows, which has no call for it."""
    if sys.platform == "win32":
        return None
    else:
        return b"".join([os.pread(handle, size, start) for start in starts])


def release_pages(file: mmap, start: int, size: int) -> None:
    """Give back the memory of a part of a mapped file. The system reads it again when asked."""
    if sys.platform != "win32":
        first = start // PAGESIZE * PAGESIZE
        file.madvise(MADV_DONTNEED, first, start + size - first)


def free_bytes(path: Path) -> int:
    """The space for this user on the disk of a file or folder."""
    if sys.platform == "win32":
        import shutil  # noqa: PLC0415 - a start should not wait for it

        return shutil.disk_usage(path).free
    else:
        disk = os.statvfs(path)
        return disk.f_bavail * disk.f_frsize


def program_file(name: str) -> str:
    """The name of an installed program's file."""
    return f"{name}.exe" if sys.platform == "win32" else name


def shell_line(words: Collection[str]) -> str:
    """The words of a command as the shells of this system read them."""
    if sys.platform == "win32":
        return " ".join(f'"{word}"' if " " in word else word for word in words)
    else:
        return shlex.join(words)


def link_host(node: str) -> str:
    """The host in a `file:` address of this machine. On Windows a host would be a share."""
    return "" if sys.platform == "win32" else node


def follows_whole_trees() -> bool:
    """Whether the system reports changes anywhere below a folder. Linux needs a watch for each,
    and has a limit; other systems have none, and follow no links."""
    return sys.platform != "linux"


# Processes


def processor_kind() -> str:
    """The processor's family, as `platform.machine` names it."""
    if sys.platform == "win32":
        import platform  # noqa: PLC0415 - a start should not wait for it

        return platform.machine()
    else:
        return os.uname().machine


def leave_to_child() -> bool:
    """Start a child that goes on from here, outlives the program that waits for this process, and
    holds none of its pipes. True in this process; False in the child, and where none starts."""
    if sys.platform == "win32":
        return False
    else:
        with suppress(OSError):
            if os.fork():
                return True
            os.setsid()
            nothing = os.open(os.devnull, os.O_RDWR)
            for stream in range(3):
                os.dup2(nothing, stream)
        return False


def start_in_background(words: Sequence[str]) -> int:
    """Start a program that goes on when this one ends and its terminal is closed; its number."""
    import subprocess  # noqa: PLC0415 - most commands start none

    nothing = subprocess.DEVNULL
    start = partial(subprocess.Popen, words, stdin=nothing, stdout=nothing, stderr=nothing)
    if sys.platform == "win32":
        apart = subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP
        process = start(creationflags=apart)
    else:
        process = start(start_new_session=True)
    process.returncode = 0  # or Python would warn that nothing waits for it
    return process.pid


def yield_to_others() -> None:
    """Give this process the lowest priority."""
    if sys.platform == "win32":
        import ctypes  # noqa: PLC0415 - only background work needs it

        kernel = ctypes.windll.kernel32
        kernel.SetPriorityClass(kernel.GetCurrentProcess(), _IDLE_PRIORITY)
    else:
        os.nice(_LOWEST)
        if os.getsid(0) == os.getpid():  # Linux weighs sessions first; this one has its own
            with suppress(OSError):
                Path("/proc/self/autogroup").write_text(str(_LOWEST), encoding="ascii")


def is_running(process: int) -> bool:
    if sys.platform == "win32":  # there, `os.kill` would end the process
        return True
    else:
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return False
        except (OSError, OverflowError):
            return True  # it belongs to another user
        return True


def processors() -> int:
    """The processors that this process may use, or those of the machine."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    else:
        return os.cpu_count() or 1


def limit_memory(process: int, most: int) -> None:
    """Limit the data of a running process to some bytes. Only Linux can."""
    if sys.platform == "linux":
        with suppress(OSError):  # it has ended, or has a lower limit
            resource.prlimit(process, resource.RLIMIT_DATA, (most, most))


def raise_file_limit() -> int | None:
    """Raise the limit of open files as far as the system allows; None if there is none."""
    if sys.platform == "win32":
        return None
    else:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        except (OSError, ValueError):  # macOS has a lower limit
            hard = soft
        return None if hard == resource.RLIM_INFINITY else hard


def share_heap(large: int) -> None:
    """Make glibc's threads share one heap, and return blocks of `large` bytes to the system.

    With its defaults many threads need up to twice the memory, and more over time.
    """
    if sys.platform == "linux":
        import ctypes  # noqa: PLC0415 - only servers and index runs need it

        with suppress(OSError, AttributeError):  # of another C library
            adjust = ctypes.CDLL(None).mallopt
            adjust(_M_ARENA_MAX, 1)
            adjust(_M_MMAP_THRESHOLD, large)


def call_on_signals(
    loop: AbstractEventLoop, numbers: Collection[signal.Signals], call: Callable[[], object]
) -> None:
    """Have a loop call a function for a signal. On Windows its loop takes none: Ctrl-C raises
    KeyboardInterrupt there, and SIGTERM ends a program."""
    if sys.platform != "win32":
        for number in numbers:
            loop.add_signal_handler(number, call)


class Process(NamedTuple):
    """A running process of this user."""

    number: int
    words: tuple[str, ...]  # its command line
    cwd: Path
    since: float  # seconds since 1970
    open_files: frozenset[Path]


def list_processes(
    is_wanted: Callable[[tuple[str, ...]], bool], proc: Path = _PROC
) -> Iterator[Process]:
    """Other processes of this user whose command line is wanted, as Linux shows them. None on
    other systems. Only of these it reads the open files: that takes most of the time."""
    for folder in sorted(proc.glob("[0-9]*")):
        with suppress(OSError, ValueError):  # it belongs to another user, or has just ended
            words = _command_line(folder)
            if int(folder.name) != os.getpid() and words and is_wanted(words):
                files = frozenset(_links(folder / "fd"))
                cwd = (folder / "cwd").readlink()
                yield Process(int(folder.name), words, cwd, _start_time(folder, proc), files)


def _command_line(folder: Path) -> tuple[str, ...]:
    words = (folder / "cmdline").read_bytes().split(b"\0")
    return tuple(os.fsdecode(word) for word in words[:-1])


def _links(folder: Path) -> Iterator[Path]:
    for link in folder.iterdir():
        with suppress(OSError):  # just closed
            yield link.readlink()


def _start_time(folder: Path, proc: Path) -> float:
    """From the ticks since the start of the machine, the 22nd field of `stat`."""
    fields = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
    uptime = float((proc / "uptime").read_text().split()[0])
    return time.time() - uptime + int(fields[19]) / _TICKS
