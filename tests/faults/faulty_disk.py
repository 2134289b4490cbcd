"""A disk that fails when it is told to, put under SQLite: a VFS around the one that is in use.

Only for processes made for it: whatever SQLite opens after `install` goes through here.
"""

from __future__ import annotations

import _sqlite3
import ctypes
from collections import Counter
from collections.abc import Callable
from ctypes import CFUNCTYPE, POINTER, Structure, c_char_p, c_int, c_int64, c_void_p
from dataclasses import dataclass, field

FULL, IOERR_READ, IOERR_WRITE, IOERR_FSYNC = 13, 10 | 1 << 8, 10 | 3 << 8, 10 | 4 << 8
IOERR_TRUNCATE = 10 | 6 << 8
_MAIN, _LOG = 0x100, 0x80000  # what SQLite says a file is for, when it opens one

_OPEN = CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_int, c_void_p)
_TRANSFER = CFUNCTYPE(c_int, c_void_p, c_void_p, c_int, c_int64)  # xRead and xWrite
_TRUNCATE = CFUNCTYPE(c_int, c_void_p, c_int64)
_SYNC = CFUNCTYPE(c_int, c_void_p, c_int)


class _Vfs(Structure):
    _fields_ = [
        ("version", c_int), ("file_size", c_int), ("longest_path", c_int), ("next", c_void_p),
        ("name", c_char_p), ("data", c_void_p), ("open", _OPEN), ("others", c_void_p * 15),
    ]  # fmt: skip


class _Methods(Structure):
    _fields_ = [
        ("version", c_int), ("close", c_void_p), ("read", _TRANSFER), ("write", _TRANSFER),
        ("truncate", _TRUNCATE), ("sync", _SYNC), ("others", c_void_p * 13),
    ]  # fmt: skip


class _File(Structure):
    _fields_ = [("methods", POINTER(_Methods))]


@dataclass(frozen=True, slots=True)
class Fault:
    """The `nth` call of a kind fails; all that follow, too, if it is `lasting`."""

    call: str  # read, write, sync or truncate
    nth: int
    code: int
    file: str = ""  # database or log; either if empty
    torn: bool = False  # half of what was to be written arrives
    lasting: bool = False

    def hits(self, call: str, file: str, count: int) -> bool:
        mine = call == self.call and self.file in ("", file)
        return mine and (count == self.nth or (self.lasting and count > self.nth))


@dataclass
class FaultyDisk:
    """Counts what SQLite asks of it, and fails by plan."""

    fault: Fault | None = None
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    struck: bool = False
    _kept: list[object] = field(default_factory=list)  # C holds pointers to these
    _roles: dict[int, str] = field(default_factory=dict)  # address of an open file → what it is
    _wrapped: dict[int, object] = field(default_factory=dict)

    def install(self) -> FaultyDisk:
        """From now on all that this process opens is on this disk."""
        library = find_library()
        assert library
        library.sqlite3_vfs_find.restype = POINTER(_Vfs)
        usual = library.sqlite3_vfs_find(None)
        ours = _Vfs.from_buffer_copy(usual.contents)
        ours.name, ours.next, ours.open = b"faulty", None, _OPEN(self._opening(usual))
        self._kept += [usual, ours]
        assert library.sqlite3_vfs_register(ctypes.byref(ours), 1) == 0
        return self

    def heal(self) -> None:
        self.fault = None

    def _opening(self, usual: ctypes._Pointer[_Vfs]) -> Callable[..., int]:
        opened = usual.contents.open

        def open_(_: int, name: int, file: int, flags: int, told: int) -> int:
            status = opened(ctypes.addressof(usual.contents), name, file, flags, told)
            handle = _File.from_address(file)
            role = "database" if flags & _MAIN else "log" if flags & _LOG else ""
            if status == 0 and handle.methods and role:
                self._roles[file] = role
                handle.methods = ctypes.pointer(self._around(handle.methods.contents))
            return int(status)

        return open_

    def _around(self, real: _Methods) -> _Methods:
        """The methods of a file, made to fail; SQLite shares them among files."""
        address = ctypes.addressof(real)
        if address not in self._wrapped:
            own = _Methods.from_buffer_copy(real)
            own.read = _TRANSFER(self._failing("read", real.read))
            own.write = _TRANSFER(self._failing("write", real.write))
            own.truncate = _TRUNCATE(self._failing("truncate", real.truncate))
            own.sync = _SYNC(self._failing("sync", real.sync))
            self._wrapped[address] = own
            self._kept.append(real)
        return self._wrapped[address]  # type: ignore[return-value]

    def _failing(self, call: str, real: Callable[..., int]) -> Callable[..., int]:
        def method(file: int, *args: int) -> int:
            fault, role = self.fault, self._roles[file]
            self.counts[call, role] += 1
            self.counts[call, ""] += 1
            if fault is None or not fault.hits(call, role, self.counts[call, fault.file]):
                return int(real(file, *args))
            self.struck = True
            if fault.torn:
                data, length, offset = args
                real(file, data, length // 2, offset)
            return fault.code

        return method


def find_library() -> ctypes.CDLL | None:
    """The SQLite that `sqlite3` uses; none where it is built in and its names are hidden."""
    try:
        library = ctypes.CDLL(_sqlite3.__file__)
        library.sqlite3_vfs_find, library.sqlite3_vfs_register  # noqa: B018 - are they there?
    except (AttributeError, OSError):
        return None
    return library
