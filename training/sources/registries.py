"""PyPI, npm and Debian, asked at the addresses that pip, npm and apt are set up with."""

import hashlib
import json
import re
import ssl
import subprocess
import urllib.request
from dataclasses import dataclass
from functools import cache
from threading import Lock
from urllib.parse import quote, unquote, urljoin

from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import InvalidVersion, Version
from pip._internal.models.index import PyPI

ARCHIVE_LIMIT = 8_000_000  # bytes; larger archives carry data, not writing


DEBIAN_LIBRARIES = re.compile(r"librust-.+-dev|golang-.+-dev|ruby-.+|php-.+")
ASKING_APT = Lock()  # the first thread asks, the others wait for its answer


class UnavailableError(Exception):
    """The registry has no archive of this package that can be used; the message says why."""


@dataclass(frozen=True, slots=True)
class Archive:
    name: str
    version: str
    suffix: str
    content: bytes

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()


def download(registry: str, name: str, version: str | None = None) -> Archive:
    """One archive of a package, the newest release when no version is given."""
    return {"pypi": _from_pypi, "npm": _from_npm, "debian": _from_debian}[registry](name, version)


def _from_pypi(name: str, version: str | None) -> Archive:
    page_address = f"{_pypi_address()}/{name}/"
    releases = _releases(_get(page_address).decode("utf-8"))
    if version is None:
        finals = [release for release in releases if not release[0].is_prerelease]
        if not finals:
            raise UnavailableError("no final release")
        newest = max(release[0] for release in finals)
    else:
        newest = Version(version)
    # A source distribution has documents a wheel has not; a wheel may be small where it is not.
    candidates = sorted((order, link) for found, order, link in releases if found == newest)
    reason = "no archive"
    for _, link in candidates[:3]:
        try:
            content = _get(urljoin(page_address, link), limit=ARCHIVE_LIMIT)
        except UnavailableError as exc:
            reason = str(exc)
            continue
        return Archive(name, str(newest), _suffix(link), content)
    raise UnavailableError(reason)


def _releases(page: str) -> list[tuple[Version, int, str]]:
    """(version, 0 for a source distribution or 1 for a wheel, link) of files not withdrawn."""
    releases = []
    for attributes, file in re.findall(r"<a ([^>]*)>([^<]+)</a>", page):
        link = re.search(r'href="([^"#]+)', attributes)
        if link is None or "data-yanked" in attributes:
            continue
        try:
            if file.endswith(".whl"):
                found = (parse_wheel_filename(file)[1], 1)
            else:
                found = (parse_sdist_filename(file)[1], 0)
        except (InvalidSdistFilename, InvalidWheelFilename, InvalidVersion):
            continue
        releases.append((*found, link[1]))
    return releases


def _from_npm(name: str, version: str | None) -> Archive:
    found = json.loads(_get(f"{_npm_address()}/{quote(name, safe='@')}/{version or 'latest'}"))
    content = _get(found["dist"]["tarball"], limit=ARCHIVE_LIMIT)
    return Archive(name, found["version"], ".tgz", content)


def _from_debian(name: str, version: str | None) -> Archive:
    with ASKING_APT:
        link = _debian_links().get(name)
    if link is None:
        raise UnavailableError("not in apt's list")
    offered = unquote(link).rpartition("/")[2].split("_")[1]
    if version not in (None, offered):
        raise UnavailableError(f"apt offers {name} {offered}, not {version}")
    return Archive(name, offered, ".deb", _get(link, limit=ARCHIVE_LIMIT))


def debian_names() -> list[str]:
    """Debian's packages of libraries that are installed as source: Go, Rust, Ruby, PHP."""
    listing = subprocess.run(["apt-cache", "pkgnames"], capture_output=True, text=True, check=True)
    return sorted(filter(DEBIAN_LIBRARIES.fullmatch, listing.stdout.split()))


@cache
def _debian_links() -> dict[str, str]:
    # All at once: apt reads its whole list for every question.
    listing = subprocess.run(
        ["apt-get", "download", "--print-uris", "-qq", *debian_names()],
        check=True,
        capture_output=True,
        text=True,
    )
    links = re.findall(r"^'([^']+)' ([^_ ]+)_", listing.stdout, re.M)
    return {name: link for link, name in links}


def _get(address: str, *, limit: int = 60_000_000) -> bytes:
    try:
        with urllib.request.urlopen(address, timeout=60, context=_trust()) as answer:  # noqa: S310 - a registry's own link
            if int(answer.headers.get("Content-Length") or 0) > limit:
                raise UnavailableError("too large")
            content: bytes = answer.read(limit + 1)
    except OSError as exc:
        raise UnavailableError(f"{type(exc).__name__} {exc}"[:80]) from exc
    if len(content) > limit:
        raise UnavailableError("too large")
    return content


def _suffix(link: str) -> str:
    return next(
        (end for end in (".tar.gz", ".tar.bz2", ".tar.xz", ".zip", ".whl") if link.endswith(end)),
        ".tar.gz",
    )


@cache
def _trust() -> ssl.SSLContext:
    return (
        ssl.create_default_context()
    )  # once: reading the certificates takes longer than most answers


@cache
def _pypi_address() -> str:
    done = subprocess.run(
        ["pip", "config", "get", "global.index-url"], check=False, capture_output=True, text=True
    )
    return (done.stdout.strip() or PyPI.simple_url).rstrip("/")


@cache
def _npm_address() -> str:
    done = subprocess.run(
        ["npm", "config", "get", "registry"], check=True, capture_output=True, text=True
    )
    return done.stdout.strip().rstrip("/")
