"""The documents of a set go into a memory, and what is found there goes back to them.

What has a path, or is code, becomes a file that our parsers cut; everything else is a document.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from aurora.engine import Memory
from aurora.errors import SourceError
from aurora.evaluation.sets import Item
from aurora.parsers.languages import GRAMMARS, LANGUAGES
from aurora.text import many
from aurora.types import Chunk, NewDocument

ITEM = "item"  # the metadata that says which document of the set a chunk is of
_FORBIDDEN = {".git", ".aurora"}  # git would do what they say, and we, too
_SHOWN = 3  # names of files that are left out
_ALSO = {"c++": "cpp", "c#": "csharp", "js": "javascript", "ts": "typescript", "shell": "bash"}
_SUFFIXES = {language: suffix for suffix, language in LANGUAGES.items()} | {
    grammar.language: suffix for suffix, grammar in list(GRAMMARS.items())[::-1]
}


@dataclass(frozen=True, slots=True)
class Troubles:
    """What could not be taken in, and so cannot be found."""

    empty: tuple[str, ...] = ()  # ids of documents
    unread: tuple[str, ...] = ()  # files that the indexer wants nothing of
    unembedded: int = 0  # chunks that are found by words alone

    def __add__(self, other: Troubles) -> Troubles:
        return Troubles(
            self.empty + other.empty,
            self.unread + other.unread,
            self.unembedded + other.unembedded,
        )

    def told(self) -> Iterator[str]:
        if self.empty:
            yield f"{many(len(self.empty), 'document')} without text: {_some(self.empty)}"
        if self.unread:
            why = "empty, generated, minified, very large, or named like a secret"
            yield f"{many(len(self.unread), 'file')} not indexed ({why}): {_some(self.unread)}"
        if self.unembedded:
            yield f"{many(self.unembedded, 'chunk')} without a vector, found by words alone"


@dataclass(frozen=True, slots=True)
class Filled:
    """Which document a chunk is of."""

    files: Mapping[str, str]  # path → id
    are_cut: bool  # several chunks may be of one document
    troubles: Troubles

    def item_of(self, chunk: Chunk) -> str:
        item = chunk.metadata.get(ITEM)
        return item if isinstance(item, str) else self.files.get(chunk.path, "")


def fill(memory: Memory, items: Sequence[Item]) -> Filled:
    """Put all documents of a group into an empty memory."""
    root = memory.root
    if root is None:
        raise ValueError("a memory to be filled has a folder of its own")
    files = _files(items)
    as_files = {item.id for item in files.values()}
    documents = [item for item in items if item.id not in as_files]
    added = memory.add_all(_document(item) for item in documents if _text(item).strip())
    troubles = Troubles(tuple(item.id for item in documents if not _text(item).strip()))
    if files:
        _write(root, files)
        troubles += _index(memory, root, list(files))
    are_cut = bool(files) or any(one.pieces > 1 for one in added)
    return Filled({path: item.id for path, item in files.items()}, are_cut, troubles)


def _document(item: Item) -> NewDocument:
    return NewDocument(
        _text(item),
        title=item.title,
        key=item.id,
        metadata={ITEM: item.id, **item.about},
        created_at=item.date,
    )


def _text(item: Item) -> str:
    return item.text if item.text.strip() else item.title


def _files(items: Sequence[Item]) -> dict[str, Item]:
    """The documents that become files. A name that we choose says nothing of the content."""
    files: dict[str, Item] = {}
    for number, item in enumerate(items):
        suffix = _SUFFIXES.get(_ALSO.get(item.language, item.language), "")
        if not (item.path or suffix):
            continue
        path = _inside(item) if item.path else f"{number:06}{suffix}"
        if path in files:
            raise SourceError(
                f"The documents {files[path].id!r} and {item.id!r} have the same path {path}",
                hint="give each its own, or another `group`: a group is a memory of its own",
            )
        files[path] = item
    return files


def _inside(item: Item) -> str:
    path = PurePosixPath(item.path)
    if path.is_absolute() or ".." in path.parts or not path.parts or "\0" in item.path:
        raise SourceError(
            f"The document {item.id!r} has the path {item.path!r}, which leads out of its folder",
            hint="write paths relative to the folder of the set's own files, such as src/app.py",
        )
    if not _FORBIDDEN.isdisjoint(part.lower() for part in path.parts):
        raise SourceError(
            f"The document {item.id!r} has the path {item.path!r}, which no document may have",
            hint="leave out what lies in .git and .aurora",
        )
    return path.as_posix()


def _write(root: Path, files: Mapping[str, Item]) -> None:
    for path, item in files.items():
        try:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(item.text.encode())
        except OSError as exc:
            raise SourceError(
                f"The document {item.id!r} cannot be written to {path}: {exc.strerror}",
                hint="give it another `path`, or see whether the disk is full",
            ) from exc


def _index(memory: Memory, root: Path, paths: Sequence[str]) -> Troubles:
    """All that can be read. What an index of a folder passes over is named to it, file by file:
    hidden, ignored and vendored files are in the set because somebody wants them found."""
    failed = memory.index(root, git=False).embedded.failed
    unread = _unread(memory, paths)
    if unread:
        # The vectors of the first run that failed are tried again.
        failed = memory.index(*(root / path for path in unread), git=False).embedded.failed
        unread = _unread(memory, unread)
    return Troubles(unread=tuple(unread), unembedded=failed)


def _unread(memory: Memory, paths: Sequence[str]) -> list[str]:
    there = {chunk.path for chunk in memory.chunks()}
    return [path for path in paths if path not in there]


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")
