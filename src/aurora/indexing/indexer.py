"""Files into the store, reading only what changed.

A file whose size and time are as remembered is not opened; one whose content is as remembered is
not parsed. Writes go in batches, each whole: a run that is stopped leaves a smaller memory, and the
next run goes on from there. One bad file never stops a run: it is counted and named.
"""

from __future__ import annotations

import hashlib
import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from aurora.parsers.registry import parser_for
from aurora.sources.walk import Skipped, SourceFile, read_text, walk_files
from aurora.stores.base import FileState, Store
from aurora.types import Chunk, Document, Listener, Progress, ignore_events

logger = logging.getLogger(__name__)

PARSER_VERSION = 3  # grows when the same file would give other chunks: all are then parsed again
_BATCH_ROWS = 2000  # files and chunks written in one transaction


@dataclass(frozen=True, slots=True)
class IndexReport:
    """What one run did."""

    scanned: int
    parsed: int
    unchanged: int
    removed: int
    skipped: Mapping[str, int]
    warnings: tuple[str, ...]


@dataclass(slots=True)
class _Run:
    """The counters and the waiting batch of one run."""

    known: Mapping[str, FileState]
    seen: set[str] = field(default_factory=set)
    shut: list[Path] = field(default_factory=list)  # files and folders that could not be read
    batch: list[tuple[FileState, Sequence[Chunk]]] = field(default_factory=list)
    waiting: int = 0  # rows of the batch
    skipped: Counter[str] = field(default_factory=Counter)
    warnings: list[str] = field(default_factory=list)
    parsed: int = 0
    unchanged: int = 0


class Indexer:
    """Keeps the chunks of files in step with the files.

    Paths below `root` are stored relative to it, so that a project can move; others are absolute.
    """

    def __init__(
        self, store: Store, root: Path | None, *, listen: Listener = ignore_events
    ) -> None:
        self._store, self._listen = store, listen
        self._root = root.resolve() if root is not None else None

    def index(self, target: Path) -> IndexReport:
        """Bring everything at or below a path up to date."""
        target = target.resolve()
        files = list(walk_files(target))
        run = _Run(self._store.file_states())
        for done, file in enumerate(files, start=1):
            self._visit(file, run)
            self._listen(Progress("Indexing", done, len(files)))
        self._write(run)
        removed = self._forget_missing(target, run)
        return IndexReport(
            scanned=len(files),
            parsed=run.parsed,
            unchanged=run.unchanged,
            removed=removed,
            skipped=run.skipped,
            warnings=tuple(run.warnings),
        )

    def _visit(self, file: SourceFile | Skipped, run: _Run) -> None:
        name = self._name(file.path)
        if isinstance(file, Skipped):
            self._leave_out(file, name, run)
            return
        known = run.known.get(name)
        stamp = (file.size, file.modified_ns)
        if known and _is_ours(known) and stamp == (known.size, known.modified_ns):
            run.seen.add(name)
            run.unchanged += 1
            return
        text = read_text(file.path)
        if isinstance(text, Skipped):
            self._leave_out(text, name, run)
            return
        run.seen.add(name)
        state = FileState(name, file.size, file.modified_ns, _digest(text))
        if known and known.digest == state.digest:
            self._store.put_file_state(state)
            run.unchanged += 1
        else:
            self._parse(Document(name, text), state, run)

    def _leave_out(self, skipped: Skipped, name: str, run: _Run) -> None:
        run.skipped[skipped.reason.partition(":")[0]] += 1
        if skipped.reason.startswith("unreadable"):
            run.shut.append(self._path(name))
            run.warnings.append(f"{name}: {skipped.reason}")

    def _parse(self, document: Document, state: FileState, run: _Run) -> None:
        try:
            parsed = parser_for(document.path).parse(document)
        except Exception as exc:
            logger.exception("cannot parse %s", document.path)
            run.warnings.append(f"{document.path}: cannot be parsed ({exc!r})")
            run.skipped["cannot be parsed"] += 1
            return
        if parsed.problem:
            run.warnings.append(parsed.problem)
        run.parsed += 1
        run.batch.append((state, parsed.chunks))
        run.waiting += 1 + len(parsed.chunks)  # an empty file is a row to write, too
        if run.waiting >= _BATCH_ROWS:
            self._write(run)

    def _write(self, run: _Run) -> None:
        with self._store.transaction():
            for state, chunks in run.batch:
                self._store.replace_file(state, chunks)
        run.batch.clear()
        run.waiting = 0

    def _forget_missing(self, target: Path, run: _Run) -> int:
        """Files of an earlier run at or below the target that are no longer there."""
        gone = [
            name for name in run.known if name not in run.seen and self._left(name, target, run)
        ]
        self._store.forget_files(gone)
        return len(gone)

    def _left(self, name: str, target: Path, run: _Run) -> bool:
        """True for what should be there and is not; what is shut may open again tomorrow."""
        path = self._path(name)
        return path.is_relative_to(target) and not any(map(path.is_relative_to, run.shut))

    def _name(self, path: Path) -> str:
        inside = self._root is not None and path.is_relative_to(self._root)
        return (path.relative_to(self._root) if inside and self._root else path).as_posix()

    def _path(self, name: str) -> Path:
        return self._root / name if self._root is not None else Path(name)


def _digest(text: str) -> str:
    return f"{PARSER_VERSION}:{hashlib.sha256(text.encode()).hexdigest()}"


def _is_ours(state: FileState) -> bool:
    return state.digest.startswith(f"{PARSER_VERSION}:")
