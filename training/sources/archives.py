"""Reads the text files of package archives without unpacking them to the disk.

Knows source distributions (.tar.gz, .tar.bz2, .tar.xz, .zip), wheels, npm tarballs and Debian
packages. Leaves out what nobody wrote for a reader: tests, vendored and generated code, minified
files, data.
"""

import io
import re
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from lzma import LZMAError
from pathlib import Path

MEMBER_LIMIT = 400_000  # bytes; longer files are tables and bundles, not writing
SUFFIXES = (".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".zip", ".whl", ".deb")
BROKEN = (
    OSError,
    EOFError,
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    LZMAError,
    ValueError,
)

Wanted = Callable[[str], bool]  # whether a path is to be read

SKIPPED_FOLDER = re.compile(
    r"(^|/)(tests?|testing|__tests__|spec|specs|fixtures?|testdata|test_data|mocks?|vendor|vendored|_vendor|"
    r"third_?party|thirdparty|extern|external|externals|node_modules|bower_components|generated|"
    r"gen|migrations|locale|locales|i18n|build|dist-info|egg-info|min|umd|bundles?|snapshots?|__snapshots__|"
    r"benchmarks?|cassettes|debug|site-packages/pip)/",
    re.IGNORECASE,
)
SKIPPED_FILE = re.compile(
    r"(\.min\.(js|css)|[-.]bundle\.js|\.umd\.js|_pb2(_grpc)?\.py|\.pb\.go|_generated\.\w+|\.gen\.\w+|"
    r"(^|/)(test_[^/]*|[^/]*_tests?|tests?|conftest)\.\w+|\.(spec|test)\.[jt]sx?|_version\.py|versioneer\.py)$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Member:
    """A text file of an archive; the folder that wraps the whole archive is not part of `path`."""

    path: str
    text: str


def read_texts(archive: Path, suffixes: frozenset[str]) -> Iterator[Member]:
    """The readable files whose names end in one of `suffixes`; a damaged archive ends early."""
    try:
        for path, content in _read_members(archive, suffixes):
            text = decode(content)
            if text is not None:
                yield Member(path, text)
    except BROKEN:
        return


def read_named(archive: Path, names: re.Pattern[str]) -> Member | None:
    """The first file whose path without the wrapping folder matches `names` entirely."""
    try:
        for path, content in _open_members(archive, lambda path: names.fullmatch(path) is not None):
            return Member(path, content.decode("utf-8", "replace"))
    except BROKEN:
        pass  # as good as an archive without the file
    return None


def decode(content: bytes) -> str | None:
    """UTF-8 text with plain line ends, or None when it is not a text for people."""
    if b"\0" in content[:4096]:
        return None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    lines = text.count("\n") + 1
    if len(text) / lines > 200:  # minified, or a table
        return None
    return text.replace("\r\n", "\n")


def is_worth_reading(path: str) -> bool:
    return not (SKIPPED_FOLDER.search(path) or SKIPPED_FILE.search(path))


def _read_members(archive: Path, suffixes: frozenset[str]) -> Iterator[tuple[str, bytes]]:
    def wanted(path: str) -> bool:
        return Path(path).suffix.lower() in suffixes and is_worth_reading(path)

    yield from _open_members(archive, wanted)


def _open_members(archive: Path, wanted: Wanted) -> Iterator[tuple[str, bytes]]:
    if archive.name.endswith((".zip", ".whl")):
        yield from _zip_members(archive, wanted)
    elif archive.name.endswith(".deb"):
        yield from _tar_members(_data_of_deb(archive), wanted, wrapped=False)
    else:
        yield from _tar_members(archive.read_bytes(), wanted, wrapped=True)


def _zip_members(archive: Path, wanted: Wanted) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(archive) as opened:
        for info in opened.infolist():
            path = info.filename if archive.suffix == ".whl" else _unwrapped(info.filename)
            if not info.is_dir() and info.file_size <= MEMBER_LIMIT and wanted(path):
                yield path, opened.read(info)


def _tar_members(content: bytes, wanted: Wanted, *, wrapped: bool) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(fileobj=io.BytesIO(content), mode="r:*") as opened:
        for info in opened:
            path = _unwrapped(info.name) if wrapped else info.name.removeprefix("./")
            if info.isfile() and info.size <= MEMBER_LIMIT and wanted(path):
                stream = opened.extractfile(info)
                if stream is not None:
                    yield path, stream.read()


def _unwrapped(path: str) -> str:
    return path.removeprefix("./").partition("/")[2] or path


def _data_of_deb(archive: Path) -> bytes:
    """The file tree inside a Debian package, which is an `ar` archive of three members."""
    content = archive.read_bytes()
    place = 8  # after the magic "!<arch>\n"
    while place + 60 <= len(content):
        header = content[place : place + 60]
        size = int(header[48:58])
        if header.startswith(b"data.tar"):
            return content[place + 60 : place + 60 + size]
        place += 60 + size + size % 2  # members begin at even places
    raise ValueError(f"no data in {archive.name}")
