"""Index files: named arrays of numbers with checksums, and sorted strings in such arrays.

    prefix   magic, format, length and checksum of the header, length of the file
    header   JSON: kind, byte order, facts about the contents, and the place of each array
    arrays   each on a page boundary, followed by one CRC-32 a page

The file is mapped, not read. A page's checksum is compared when the page is first touched: opening
costs the same for a thousand chunks as for a million, and a flipped bit never reaches a result.
Writing goes to a temporary name and is renamed into place. Numbers have the machine's own byte
order: on another machine the index is built again. Readers must still validate the numbers, because
correct checksums do not prove that the writer was correct.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import sys
import weakref
import zlib
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from aurora.errors import IndexFileError, IndexVersionError
from aurora.files import make_folder, open_file, replacing
from aurora.platforms import read_parts, release_pages
from aurora.types import Json

FORMAT = 1
_MAGIC = b"AURORAIX"
_PREFIX = struct.Struct("<8sIIIQ")
_PAGE = 8192
_CODES = frozenset("bBhHiIlLqQfd")  # the numbers of `struct` that a memoryview can be cast to


class Array(Protocol):
    """A memoryview or a numpy array."""

    def __len__(self) -> int: ...

    def __getitem__(self, part: int | slice, /) -> Any: ...

    def tolist(self) -> list[Any]: ...

    def tobytes(self) -> bytes: ...


class Arrays(Protocol):
    """Named arrays, in memory or in a file, that can be read in part."""

    def size(self, name: str) -> int: ...

    def read(self, name: str, start: int, stop: int) -> Array: ...

    def unchecked(self, name: str) -> Array:
        """A whole array. `read` comes before any part of it is used."""

    def read_groups(self, name: str, places: Sequence[int], width: int) -> bytes:
        """Groups of `width` numbers at these places, one after the other."""


class MemoryArrays:
    """Arrays in memory."""

    def __init__(self, arrays: Mapping[str, Array]) -> None:
        self._arrays = arrays

    def size(self, name: str) -> int:
        return len(self._arrays[name])

    def read(self, name: str, start: int, stop: int) -> Array:
        part: Array = self._arrays[name][start:stop]
        return part

    def unchecked(self, name: str) -> Array:
        return self._arrays[name]

    def read_groups(self, name: str, places: Sequence[int], width: int) -> bytes:
        array = self._arrays[name]
        return b"".join(array[place * width : (place + 1) * width].tobytes() for place in places)


class IndexFile:
    """An index file opened for reading. Raises `IndexFileError` when the file is damaged."""

    def __init__(self, path: Path, *, kind: str) -> None:
        with open_file(path) as file:
            size = os.fstat(file.fileno()).st_size
            header = _read_header(file, size, path)
            self._file = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            self._handle = os.dup(file.fileno())  # for `read_groups`
        weakref.finalize(self, os.close, self._handle)
        self._map = memoryview(self._file)
        if header.get("kind") != kind:
            raise IndexFileError(f"{path} is not a {kind} index")
        if header.get("byteorder") != sys.byteorder:
            raise IndexVersionError(f"{path} was made on a machine with another byte order")
        self.facts: Mapping[str, Json] = header["facts"]
        self.path, self.kind = path, kind
        self._sections = {name: _Section(*place) for name, place in header["arrays"].items()}

    def size(self, name: str) -> int:
        return self._section(name).count

    def code(self, name: str) -> str:
        """The type of an array's numbers, in the letters of `struct`."""
        return self._section(name).code

    def check(self) -> None:
        """Compare every checksum, also those that were compared before."""
        for name, section in self._sections.items():
            section.checked = bytearray(len(section.checked))
            self.read(name, 0, section.count)

    def read(self, name: str, start: int, stop: int) -> Array:
        """Part of an array, straight from the mapped file, after its checksums are compared."""
        self._require_whole()
        section = self._sections[name]  # without `_section`: this is called very often
        if not 0 <= start <= stop <= section.count:
            raise IndexFileError(f"{self.path} has no {start} to {stop} in {name}")
        width = section.width
        for page in section.unchecked(start * width, stop * width):
            self._check_page(name, section, page)
        low, high = section.offset + start * width, section.offset + stop * width
        part: Array = self._map[low:high].cast(section.code)  # type: ignore[call-overload]
        return part

    def unchecked(self, name: str) -> Array:
        """A whole array. `read` comes before any part of it is used."""
        section = self._section(name)
        end = section.offset + section.nbytes
        part: Array = self._map[section.offset : end].cast(section.code)  # type: ignore[call-overload]
        return part

    def read_groups(self, name: str, places: Sequence[int], width: int) -> bytes:
        """Groups of `width` numbers, one after the other, after their checksums are compared.

        They are copied by system calls where there are such: around each group that is read from
        the mapped file, up to a megabyte becomes resident.
        """
        self._require_whole()
        section = self._section(name)
        size = width * section.width
        offsets = (0, size - 1) if size <= _PAGE else (*range(0, size, _PAGE), size - 1)
        pages = {(place * size + offset) // _PAGE for place in places for offset in offsets}
        new = [page for page in pages if not section.checked[page]]
        for page in new:
            self._check_page(name, section, page)
        starts = [section.offset + place * size for place in places]
        content = read_parts(self._handle, starts, size)
        if content is None:
            return b"".join(self._map[start : start + size] for start in starts)
        if new:
            release_pages(self._file, section.offset, section.nbytes)
        if len(content) < size * len(starts):
            raise IndexFileError(f"{self.path} was truncated while in use")
        return content

    def _require_whole(self) -> None:
        if self._file.size() < len(self._map):
            # Touching a missing page would end the process, not raise an error.
            raise IndexFileError(f"{self.path} was truncated while in use")

    def _check_page(self, name: str, section: _Section, page: int) -> None:
        low = section.offset + page * _PAGE
        high = min(low + _PAGE, section.offset + section.nbytes)
        stored = self._map[section.checksums + 4 * page : section.checksums + 4 * page + 4]
        if zlib.crc32(self._map[low:high]) != int.from_bytes(stored, "little"):
            raise IndexFileError(f"{self.path} is damaged: checksum of {name} page {page}")
        section.checked[page] = 1

    def _section(self, name: str) -> _Section:
        try:
            return self._sections[name]
        except KeyError:
            raise IndexFileError(f"{self.path} has no {name}") from None


class _Section:
    """The place of one array, and which of its pages were already checked."""

    def __init__(self, code: str, count: int, offset: int) -> None:
        self.code, self.count, self.offset = code, count, offset
        self.width = struct.calcsize(code)
        self.nbytes = count * self.width
        self.checksums = offset + self.nbytes
        self.checked = bytearray(-(-self.nbytes // _PAGE))

    def unchecked(self, low: int, high: int) -> Iterator[int]:
        """The pages between two byte positions that were not checked yet."""
        first, last = low // _PAGE, -(-high // _PAGE)
        page = self.checked.find(0, first, last)
        while page >= 0:
            yield page
            page = self.checked.find(0, page + 1, last)


def _read_header(file: BinaryIO, size: int, path: Path) -> dict[str, Any]:
    prefix = file.read(_PREFIX.size)
    if len(prefix) < _PREFIX.size or not prefix.startswith(_MAGIC):
        raise IndexFileError(f"{path} is not an index file")
    _, version, length, checksum, total = _PREFIX.unpack(prefix)
    if version != FORMAT:
        raise IndexVersionError(f"{path} has format {version}, this Aurora reads {FORMAT}")
    header = file.read(length)
    if total != size or zlib.crc32(header) != checksum:
        raise IndexFileError(f"{path} is truncated or damaged")
    try:
        parsed = json.loads(header)
    except (ValueError, RecursionError) as exc:
        raise IndexFileError(f"{path} has a header that is not JSON: {exc}") from exc
    match parsed:
        case {"facts": dict(), "arrays": dict(places)} if _are_inside(places, size):
            return dict(parsed)
    raise IndexFileError(f"{path} has a header that does not fit it")


def _are_inside(places: Mapping[str, object], size: int) -> bool:
    """True when all arrays and their checksums are inside the file."""
    for place in places.values():
        match place:
            case [str(code), int(count), int(offset)] if code in _CODES and count >= 0:
                nbytes = count * struct.calcsize(code)
                if not _PAGE <= offset <= size - nbytes - _checksum_bytes(nbytes):
                    return False
            case _:
                return False
    return True


def _checksum_bytes(nbytes: int) -> int:
    return 4 * -(-nbytes // _PAGE)


def write_index_file(
    path: Path, *, kind: str, facts: Mapping[str, Json], arrays: Mapping[str, Array]
) -> None:
    """Write all arrays to a temporary file and rename it into place."""
    make_folder(path.parent)
    # Without fsync: after a power cut the checksums detect the damage, and the index is rebuilt.
    with replacing(path) as file:
        write_arrays(file, kind=kind, facts=facts, arrays=arrays)


def write_arrays(
    file: BinaryIO, *, kind: str, facts: Mapping[str, Json], arrays: Mapping[str, Array]
) -> None:
    """Write an index file."""
    views = {name: memoryview(array) for name, array in arrays.items()}  # type: ignore[arg-type]
    places, end = _layout(views)
    described = {"kind": kind, "byteorder": sys.byteorder, "facts": facts, "arrays": places}
    header = json.dumps(described).encode()
    if _PREFIX.size + len(header) > _PAGE:
        raise ValueError(f"header of {kind} index is too long")
    prefix = (_MAGIC, FORMAT, len(header), zlib.crc32(header), end)
    file.write(_PREFIX.pack(*prefix) + header)
    for name, view in views.items():
        file.seek(places[name][2])
        _write_array(file, view)
    file.truncate(end)  # an empty array at the end writes nothing


def _layout(views: Mapping[str, memoryview]) -> tuple[dict[str, tuple[str, int, int]], int]:
    """The place of each array, and the end of the file. The header has the first page."""
    places, end = {}, _PAGE
    for name, view in views.items():
        offset = -(-end // _PAGE) * _PAGE
        places[name] = (view.format, len(view), offset)
        end = offset + view.nbytes + _checksum_bytes(view.nbytes)
    return places, end


def _write_array(file: BinaryIO, view: memoryview) -> None:
    data = view.cast("B") if view.nbytes else b""  # an empty view cannot be cast
    file.write(data)
    for low in range(0, len(data), _PAGE):
        file.write(zlib.crc32(data[low : low + _PAGE]).to_bytes(4, "little"))


class Strings:
    """A list of strings, stored as one array of bytes and one of offsets."""

    def __init__(self, arrays: Arrays, name: str) -> None:
        self._arrays, self._bytes, self._offsets = arrays, f"{name}_bytes", f"{name}_offsets"

    def __len__(self) -> int:
        return self._arrays.size(self._offsets) - 1

    def bytes_at(self, place: int) -> bytes:
        start, stop = self._arrays.read(self._offsets, place, place + 2).tolist()
        return self._arrays.read(self._bytes, start, stop).tobytes()

    def __getitem__(self, place: int) -> str:
        return self.bytes_at(place).decode()

    def find(self, value: str) -> int | None:
        """The place of a value in the sorted list."""
        wanted = value.encode()
        place = bisect_left(range(len(self)), wanted, key=self.bytes_at)
        return place if place < len(self) and self.bytes_at(place) == wanted else None


class Lexicon:
    """Sorted strings in memory: a lookup takes 2 µs instead of 20."""

    def __init__(self, arrays: Arrays, name: str) -> None:
        offsets = f"{name}_offsets"
        whole = arrays.read(offsets, 0, arrays.size(offsets))
        self._offsets = memoryview(whole)  # type: ignore[arg-type] # faster than numpy's numbers
        self._bytes = arrays.read(f"{name}_bytes", 0, arrays.size(f"{name}_bytes")).tobytes()

    def find(self, value: str) -> int | None:
        wanted, offsets, letters = value.encode(), self._offsets, self._bytes
        low, high = 0, len(offsets) - 1
        while low < high:  # inlined bisection: this is the inner loop of a search
            middle = (low + high) // 2
            if letters[offsets[middle] : offsets[middle + 1]] < wanted:
                low = middle + 1
            else:
                high = middle
        at_end = low >= len(offsets) - 1
        return None if at_end or letters[offsets[low] : offsets[low + 1]] != wanted else low
