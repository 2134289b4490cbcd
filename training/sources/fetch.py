"""Fetches the packages whose texts the model learns from.

    python -m training.sources.fetch FOLDER            the versions in packages.tsv, checked
    python -m training.sources.fetch FOLDER --record   the newest versions; rewrites packages.tsv

Recording begins with the names of Debian's Python and Node packages, because somebody looks after
those, goes on with what the fetched ones require, and takes Debian's own packages for Go, Rust,
Ruby and PHP. Archives that lie in the folder already are not fetched again.
"""

import argparse
import csv
import hashlib
import json
import re
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, dataclass, fields
from pathlib import Path

from training.sources.archives import SUFFIXES, read_named
from training.sources.licences import METADATA, licence_of
from training.sources.registries import UnavailableError, debian_names, download

LIST = Path(__file__).with_name("packages.tsv")
THREADS = 12
LIMITS = {"pypi": 4500, "npm": 2500, "debian": 4000}
PREFIXES = {"pypi": "python3-", "npm": "node-"}
SHALLOWEST = 2  # packages that must require a name before it is fetched too


@dataclass(frozen=True, slots=True, order=True)
class Package:
    registry: str
    name: str
    version: str
    licence: str
    sha256: str

    @property
    def file_stem(self) -> str:
        return f"{self.name.replace('/', '__')}-{self.version.replace(':', '~')}"


class DigestError(Exception):
    """An archive is not the one that was recorded."""


def read_list(path: Path = LIST) -> list[Package]:
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as lines:
        return [Package(**row) for row in csv.DictReader(lines, delimiter="\t")]


def write_list(packages: Iterable[Package], path: Path = LIST) -> None:
    with path.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.writer(lines, delimiter="\t", lineterminator="\n")
        writer.writerow(field.name for field in fields(Package))
        writer.writerows(astuple(package) for package in sorted(packages))


def find_archive(folder: Path, package: Package) -> Path | None:
    """Where the archive of a package lies, if it is there."""
    stems = (folder / package.registry / f"{package.file_stem}{suffix}" for suffix in SUFFIXES)
    return next((path for path in stems if path.exists()), None)


def fetch_recorded(folder: Path, package: Package) -> Path:
    """The recorded archive, from the folder or the registry."""
    path = find_archive(folder, package)
    if path is None:
        archive = download(package.registry, package.name, package.version)
        path = folder / package.registry / f"{package.file_stem}{archive.suffix}"
        path.write_bytes(archive.content)
    if hashlib.sha256(path.read_bytes()).hexdigest() != package.sha256:
        raise DigestError(f"{path.name} is not the archive that was recorded")
    return path


def fetch_newest(folder: Path, registry: str, name: str) -> Package:
    """Downloads the newest release and keeps it if its licence allows."""
    archive = download(registry, name)
    unjudged = Package(registry, name, archive.version, "", archive.sha256)
    path = folder / registry / f"{unjudged.file_stem}{archive.suffix}"
    path.write_bytes(archive.content)
    licence = licence_of(path)
    if licence is None:
        path.unlink()
        raise UnavailableError("licence")
    return Package(registry, name, archive.version, licence, archive.sha256)


class Recording:
    """A search for packages; knows what was found and refused before, so it can be run again."""

    def __init__(self, folder: Path, list_path: Path) -> None:
        self.folder = folder
        self.list_path = list_path
        known = [package for package in read_list(list_path) if find_archive(folder, package)]
        self.found = {(package.registry, package.name): package for package in known}
        self.refusals = list_path.with_suffix(".refused")
        lines = self.refusals.read_text("utf-8").splitlines() if self.refusals.exists() else []
        self.refused = {tuple(line.split("\t")[:2]) for line in lines}

    def take(self, registry: str, names: Iterable[str]) -> None:
        room = LIMITS[registry] - sum(key[0] == registry for key in self.found)
        known = dict.fromkeys(spelled(registry, name) for name in names)
        unseen = [name for name in known if self._is_unseen(registry, name)]
        with ThreadPoolExecutor(THREADS) as pool:
            for start in range(0, len(unseen), 200):
                if room <= 0:
                    break
                batch = unseen[start : start + 200]
                for name, outcome in zip(
                    batch, pool.map(lambda n: self._try(registry, n), batch), strict=True
                ):
                    if isinstance(outcome, Package):
                        self.found[registry, name] = outcome
                        room -= 1
                    else:
                        self._refuse(registry, name, outcome)
                write_list(self.found.values(), self.list_path)
                tried = start + len(batch)
                print(
                    f"{registry}: {tried} of {len(unseen)} tried, {len(self.found)} in all",
                    flush=True,
                )

    def _is_unseen(self, registry: str, name: str) -> bool:
        return (registry, name) not in self.found and (registry, name) not in self.refused

    def _try(self, registry: str, name: str) -> Package | str:
        try:
            return fetch_newest(self.folder, registry, name)
        except (UnavailableError, ValueError, KeyError) as exc:
            return str(exc)

    def _refuse(self, registry: str, name: str, reason: str) -> None:
        self.refused.add((registry, name))
        with self.refusals.open("a", encoding="utf-8") as lines:
            lines.write(f"{registry}\t{name}\t{' '.join(reason.split())}\n")

    def required_names(self, registry: str) -> list[str]:
        """What the found packages require, the most often required first."""
        counted: Counter[str] = Counter()
        for package in self.found.values():
            path = find_archive(self.folder, package)
            if package.registry == registry and path is not None:
                counted.update(set(required_by(path)))
        return [name for name, count in counted.most_common() if count >= SHALLOWEST]


def spelled(registry: str, name: str) -> str:
    """The one spelling of a name: PyPI takes `Oslo.Policy` and `oslo_policy` for the same."""
    return re.sub(r"[-_.]+", "-", name).lower() if registry == "pypi" else name


def required_by(archive: Path) -> Iterator[str]:
    found = read_named(archive, METADATA)
    if found is None:
        return
    if found.path.endswith("package.json"):
        try:
            manifest = json.loads(found.text)
        except ValueError:
            return
        for field in ("dependencies", "devDependencies", "peerDependencies"):
            yield from manifest.get(field) or {}
    else:
        yield from re.findall(r"^Requires-Dist: ([\w.-]+)", found.text, re.M)


def upstream_names(prefix: str) -> Iterator[str]:
    """How Debian's `prefix` packages are probably registered: as Debian or the repository says."""
    listing = subprocess.run(["apt-cache", "dumpavail"], capture_output=True, text=True, check=True)
    for stanza in listing.stdout.split("\n\n"):
        name = re.search(rf"^Package: {prefix}(\S+)", stanza, re.M)
        if name is None or name[1].endswith(("-doc", "-dbg", "-dev")):
            continue
        yield name[1]
        repository = re.search(
            r"^Homepage: \S*(?:github|gitlab|pypi|npm)\S*/([^/\s]+)/?$", stanza, re.M
        )
        if repository:
            yield repository[1].removesuffix(".git").removesuffix(".js").lower()


def record(folder: Path, list_path: Path, registries: Iterable[str], more: Path | None) -> None:
    recording = Recording(folder, list_path)
    for registry in registries:
        if registry == "debian":
            recording.take(registry, debian_names())
            continue
        recording.take(registry, _names_in(more, registry) if more else [])
        recording.take(registry, upstream_names(PREFIXES[registry]))
        for _ in range(2):
            recording.take(registry, recording.required_names(registry))


def _names_in(path: Path, registry: str) -> list[str]:
    lines = [line.split("\t") for line in path.read_text("utf-8").splitlines()]
    return [name for there, name in lines if there == registry]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--record", action="store_true", help="look for packages and rewrite the list"
    )
    parser.add_argument("--list", type=Path, default=LIST)
    parser.add_argument(
        "--registry", choices=LIMITS, action="append", help="with --record: only this"
    )
    parser.add_argument(
        "--names", type=Path, help="with --record: more names, registry<TAB>name a line"
    )
    options = parser.parse_args()
    for registry in LIMITS:
        (options.folder / registry).mkdir(parents=True, exist_ok=True)
    if options.record:
        record(options.folder, options.list, options.registry or LIMITS, options.names)
        return
    with ThreadPoolExecutor(THREADS) as pool:
        done = list(
            pool.map(
                lambda package: fetch_recorded(options.folder, package), read_list(options.list)
            )
        )
    print(f"{len(done)} archives in {options.folder}")


if __name__ == "__main__":
    main()
