"""Index files: any bytes, and files that are whole but lie.

An input that begins with `{` is a header and, behind its line, the arrays, page after page. It is
made a file with lengths and checksums as they should be, wherever the header says that they are: so
what is wrong in it is met behind the checksums. All else is a file as it is.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

from aurora.errors import IndexFileError
from aurora.signals.bm25 import BM25Scorer
from aurora.signals.cosine_scores import Matrix
from aurora.signals.index_file import FORMAT, IndexFile
from aurora.signals.vector_index import open_vectors_file, vectors_in
from aurora.text import WORDS
from tests.fuzz.inputs import require_told, scratch_file

PAGE = 8192
BETWEEN = b"\n--\n"  # the arrays of an input
_PREFIX = struct.Struct("<8sIIIQ")
_MOST = 1 << 20  # bytes of a file


def check(data: bytes) -> None:
    path = scratch_file("fuzzed.idx", sealed(data) if data.startswith(b"{") else data)
    for use in (_check_arrays, _ask_words, _ask_meaning):
        try:
            use(path)
        except IndexFileError as exc:
            require_told(exc)  # and the index is made anew


def _check_arrays(path: Path) -> None:
    for kind in ("bm25", "vectors"):
        try:
            file = IndexFile(path, kind=kind)
            file.check()
        except IndexFileError as exc:
            require_told(exc)


def _ask_words(path: Path) -> None:
    scorer = BM25Scorer(analysis=WORDS)
    scorer.load_index(path)
    for _ in ("in plain Python", "with numpy"):  # the first question, and all further ones
        found = scorer.rank("parse the index file", pool=10)
        assert all(id_.encode() for id_, _ in found)
    assert len(list(scorer.idf)) == len(scorer.idf)


def _ask_meaning(path: Path) -> None:
    vectors = vectors_in(open_vectors_file(path))
    assert all(len(vector) == vectors.dimension for _, _, vector in vectors.items())
    if len(vectors):
        Matrix(vectors).compare([1.0] * vectors.dimension).best(10)


def sealed(data: bytes) -> bytes:
    """A file of this header and these arrays, checksums and all."""
    header, _, body = data.partition(b"\n")
    content = bytearray(max(PAGE, _PREFIX.size + len(header)))
    for array in body.split(BETWEEN):
        content += array.ljust(-(-(len(array) + 4) // PAGE) * PAGE, b"\0")
    for offset, size in _places(header):
        for page, low in enumerate(range(offset, offset + size, PAGE)):
            high, at = min(low + PAGE, offset + size), offset + size + 4 * page
            content[at : at + 4] = zlib.crc32(content[low:high]).to_bytes(4, "little")
    prefix = _PREFIX.pack(b"AURORAIX", FORMAT, len(header), zlib.crc32(header), len(content))
    content[: _PREFIX.size + len(header)] = prefix + header
    return bytes(content)


def _places(header: bytes) -> Iterator[tuple[int, int]]:
    """Where the header says that arrays are, as far as that is inside the file."""
    try:
        places = json.loads(header)["arrays"].values()
        for code, count, offset in places:
            size = count * struct.calcsize(code)
            if offset >= PAGE and size >= 0 and offset + size < _MOST:
                yield offset, size
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, struct.error):
        return


def unsealed(file: bytes) -> bytes:
    """The input that `sealed` makes a file of, for seeds."""
    _, _, length, _, _ = _PREFIX.unpack(file[: _PREFIX.size])
    header = file[_PREFIX.size : _PREFIX.size + length]
    arrays = sorted(json.loads(header)["arrays"].values(), key=lambda place: place[2])
    parts = (file[at : at + count * struct.calcsize(code)] for code, count, at in arrays)
    return header + b"\n" + BETWEEN.join(parts)
