"""Where a document or lesson comes from, and whether the files that it is about have changed since.

A sketch of a file is a sample of its lines: the smallest hashes of them, of which later versions of
the file still have those of the lines that stayed. No git is needed to compare.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path, PurePosixPath

from aurora.errors import SourceError
from aurora.files import read_file
from aurora.lazy_patterns import lazy_pattern
from aurora.quick_classes import dataclass
from aurora.sources.reading import looks_secret
from aurora.text import printable
from aurora.types import PROVENANCE, SKETCHES, Chunk, Json

MOST_FILES = 8  # of one entry
_LONGEST_NAME = 100  # characters of an agent, a model or a person
_LARGEST = 1 << 20  # bytes of a file that is sketched
_SHORT = 8  # digits of a commit that are shown
_SAMPLE = 32  # lines
_DIGITS = 6  # of a line's hash: of 10,000 other lines, none is likely to have it
_MASK = 0xFFFFFF
# Lines that tell one version from another have five letters or digits: not `}` or `else:`.
_TELLING = re.compile(rb"(?:[0-9A-Za-z\x80-\xff][^0-9A-Za-z\x80-\xff]*){5}")
_CHANGED = 0.5  # the share of lines that are gone
_PATH = lazy_pattern(r"[\w.@+-]+(?:/[\w.@+-]+)*")
_LONGEST_TEXT = 100_000  # characters in which paths are looked for
_MOST_WORDS = 300  # that may be paths


@dataclass(frozen=True, slots=True)
class Provenance:
    """Who wrote an entry, when, at which commit, and about which files of the project.

    `person` is empty where an agent is named. Unknown values are empty.
    """

    at: datetime | None = None
    agent: str = ""
    model: str = ""
    person: str = ""
    branch: str = ""
    commit: str = ""
    files: tuple[str, ...] = ()  # relative to the project

    @property
    def who(self) -> str:
        """`claude-code (opus)`, or the person."""
        model = f" ({self.model})" if self.model and self.agent else self.model
        return f"{self.agent}{model}" or self.person

    @property
    def words(self) -> str:
        """`2026-11-19 by claude-code (opus), main 1a2b3c4d, about src/app.py`; empty if unknown."""
        where = f"{self.branch} {self.commit[:_SHORT]}".strip()
        about = f"about {', '.join(self.files)}" if self.files else ""
        return ", ".join(filter(None, [self.when_and_who, where, about]))

    @property
    def when_and_who(self) -> str:
        when = f"{self.at.astimezone():%Y-%m-%d}" if self.at else ""
        return f"{when} {f'by {self.who}' if self.who else ''}".strip()

    def as_metadata(self) -> dict[str, Json]:
        """What is known, for the metadata of a chunk."""
        facts: dict[str, Json] = {
            "at": self.at.isoformat() if self.at else "",
            "agent": _line(self.agent),
            "model": _line(self.model),
            "person": _line(self.person),
            "branch": _line(self.branch),
            "commit": _line(self.commit),
            "files": list(self.files),
        }
        return {name: value for name, value in facts.items() if value}


def _line(text: str) -> str:
    return printable(" ".join(text.split()))[:_LONGEST_NAME]


def provenance_of(chunk: Chunk) -> Provenance:
    """The provenance in a chunk's metadata, which another program may have written."""
    facts = chunk.metadata.get(PROVENANCE)
    facts = facts if isinstance(facts, dict) else {}
    words = {name: str(facts.get(name, "")) for name in ("agent", "model", "person", "branch")}
    files = facts.get("files")
    try:
        at = datetime.fromisoformat(str(facts.get("at", "")))
    except ValueError:
        at = None
    return Provenance(
        at=at,
        commit=str(facts.get("commit", "")),
        files=tuple(map(str, files[:MOST_FILES])) if isinstance(files, list) else (),
        **words,
    )


# Files


def require_files(root: Path, files: Iterable[Path | str]) -> tuple[str, ...]:
    """The names of files inside a project. `SourceError` for any other."""
    names = []
    for file in files:
        name = _name_in(root, str(file))
        if not name:
            raise SourceError(
                f"{printable(str(file))} is not a file of {root.name}",
                hint="name a file of the project, by its path from the root or in full",
            )
        names.append(name)
    if len(names) > MOST_FILES:
        raise SourceError(
            f"An entry is about at most {MOST_FILES} files, not {len(names)}",
            hint="name those whose change would make it wrong",
        )
    return tuple(dict.fromkeys(names))


def find_named_files(root: Path, text: str) -> tuple[str, ...]:
    """The files of a project that a text names by their paths from its root."""
    words = dict.fromkeys(match[0].rstrip(".") for match in _PATH.finditer(text[:_LONGEST_TEXT]))
    likely = [word for word in words if "." in word[1:] or "/" in word][:_MOST_WORDS]
    return tuple(filter(None, (_name_in(root, word) for word in likely)))[:MOST_FILES]


def _name_in(root: Path, word: str) -> str:
    """The name of an existing file below the root; empty for anything else, and behind a link."""
    path = root.resolve() / word
    try:
        if path.is_file() and path.resolve() == Path(os.path.normpath(path)):
            return path.resolve().relative_to(root.resolve()).as_posix()
    except (OSError, ValueError, RuntimeError):
        pass
    return ""


# Sketches


def sketch_files(root: Path, names: Iterable[str]) -> dict[str, Json]:
    """The sketches of files, without those that are likely to hold secrets."""
    sketches = ((name, _sketch(root / name)) for name in names if not _is_secret(name))
    return {name: sketch for name, sketch in sketches if sketch}


def _is_secret(name: str) -> bool:
    return looks_secret(PurePosixPath(name).name)


def _sketch(path: Path) -> str:
    hashes = {_hash(line) for line in _read_lines(path) if _TELLING.search(line)}
    return "".join(f"{number:0{_DIGITS}x}" for number in sorted(hashes)[:_SAMPLE])


def _hash(line: bytes) -> int:
    return zlib.crc32(line.strip()) & _MASK


def _read_lines(path: Path) -> list[bytes]:
    try:
        return read_file(path, most=_LARGEST).split(b"\n")
    except (OSError, ValueError):
        return []


def find_changed(root: Path, chunk: Chunk) -> list[str]:
    """The files of an entry that are gone, or have lost half of their lines since."""
    kept = chunk.metadata.get(SKETCHES)
    sketches: Mapping[str, Json] = kept if isinstance(kept, dict) else {}
    names: Sequence[str] = provenance_of(chunk).files
    return [name for name in names if _has_changed(root, name, str(sketches.get(name, "")))]


def _has_changed(root: Path, name: str, sketch: str) -> bool:
    if ".." in PurePosixPath(name).parts or PurePosixPath(name).is_absolute():
        return False  # Aurora writes no such name; a lesson that came with a clone may have it
    if not _name_in(root, name):
        return True
    sample = _read_sketch(sketch)
    present = set(map(_hash, _read_lines(root / name))) if sample else set()
    kept = sum(number in present for number in sample)
    return bool(sample) and kept <= (1 - _CHANGED) * len(sample)


def _read_sketch(written: str) -> list[int]:
    """The hashes of a sketch; none of what Aurora never writes."""
    starts = range(0, len(written), _DIGITS)
    try:
        return [int(written[at : at + _DIGITS], 16) for at in starts][:_SAMPLE]
    except ValueError:
        return []
