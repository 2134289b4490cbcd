"""Files into chunks into the store: reads only what changed, writes in batches, each whole.

A file whose size, time and identity are as remembered is not opened; one whose content is as
remembered is not parsed. One that is left out for its content is remembered, too. A new file with
the content of one that is gone is that file under another name: what hangs on its chunks goes with
it.

What the memory calls a file.
"""

from __future__ import annotations

import hashlib
import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from aurora.errors import AuroraError
from aurora.parsers.conversation import iter_chunks
from aurora.parsers.registry import parser_for
from aurora.redaction import Redactor, tell
from aurora.sources.conversations import hash_log, read_lines
from aurora.sources.reading import MAX_BYTES
from aurora.sources.walk import Skipped, SourceFile, look_at, read_text
from aurora.stores.base import FileState, Store
from aurora.types import Chunk, Document

logger = logging.getLogger(__name__)


class Names:
    """Paths below the root are relative to it, so that a project can move; others are absolute."""

    def __init__(self, root: Path | None) -> None:
        self._root = root.resolve() if root is not None else None
        # Of text, because pathlib takes ten times as long and there is a name for every file.
        self._prefix = f"{self._root.as_posix().rstrip('/')}/" if self._root is not None else ""

    def of(self, path: Path) -> str:
        return path.as_posix().removeprefix(self._prefix)

    def path(self, name: str) -> Path:
        return self._root / name if self._root is not None else Path(name)


PARSER_VERSION = 6  # grows when the same file would give other chunks: all are then parsed again
_BATCH_ROWS = 2000  # files and chunks written in one transaction


@dataclass(slots=True)
class Tally:
    """What was met so far."""

    seen: set[str] = field(default_factory=set)
    shut: list[Path] = field(default_factory=list)  # files and folders that could not be read
    moved: set[str] = field(default_factory=set)  # old names
    skipped: Counter[str] = field(default_factory=Counter)
    warnings: list[str] = field(default_factory=list)
    parsed: int = 0
    unchanged: int = 0
    removed: int = 0
    failed: int = 0


@dataclass(frozen=True, slots=True)
class _Read:
    """A file to write. Without chunks to replace, only its state is new."""

    state: FileState
    chunks: Sequence[Chunk] | None
    moved_from: str = ""


class FileReader:
    """Takes one file after the other. `gone` are the states of files that are no longer there."""

    def __init__(
        self,
        store: Store,
        names: Names,
        known: Mapping[str, FileState],
        gone: Iterable[FileState],
        redactor: Redactor,
    ) -> None:
        self._redactor, self._version = redactor, version_of(redactor)
        self._store, self._names, self._known = store, names, known
        self._gone = {state.digest: state.path for state in gone if not state.left_out}
        self._batch: list[_Read] = []
        self._rows = 0
        self.tally = Tally()

    def visit(self, file: SourceFile | Skipped) -> None:
        """Bring the memory of one file up to date."""
        name = self._names.of(file.path)
        if isinstance(file, Skipped):
            self._leave_out(file, name)
            return
        known = self._known.get(name)
        if known is not None and is_as_remembered(file, known, self._version):
            self._keep(known)
        elif file.size > MAX_BYTES:  # only logs come this large
            self._read_log(file, name)
        else:
            self._read(file, name)

    def flush(self) -> None:
        """Write what is waiting."""
        with self._store.transaction():
            self._store.chunks.put_file_states(
                read.state for read in self._batch if read.chunks is None
            )
            for read in self._batch:
                if read.moved_from:
                    self._store.chunks.move_file(read.moved_from, read.state.path)
                if read.chunks is not None:
                    self._store.chunks.replace_file(read.state, read.chunks)
        self._batch.clear()
        self._rows = 0

    def _keep(self, known: FileState) -> None:
        self.tally.seen.add(known.path)
        if known.left_out:
            self.tally.skipped[known.left_out] += 1
        else:
            self.tally.unchanged += 1

    def _leave_out(self, skipped: Skipped, name: str) -> None:
        self.tally.skipped[skipped.reason.partition(":")[0]] += 1
        if skipped.is_unreadable:
            self.tally.shut.append(skipped.path)
            self.tally.failed += 1
            self.tally.warnings.append(f"{name}: {skipped.reason}")

    def _read(self, file: SourceFile, name: str) -> None:
        text = read_text(file.path, any_words=file.is_log)
        if isinstance(text, Skipped):
            self._remember_left_out(file, name, text)
            return
        digest = hashlib.sha256(text.encode()).hexdigest()
        state = _state(file, name, self._version + digest)
        if not self._is_touched_only(state):
            with self._telling_of_secrets(name):
                self._parse(Document(name, self._redactor.text(text)), state)

    def _remember_left_out(self, file: SourceFile, name: str, skipped: Skipped) -> None:
        if skipped.is_unreadable and look_at(file.path) is None:
            return  # gone since it was listed
        self._leave_out(skipped, name)
        if skipped.is_unreadable:
            return
        known = self._known.get(name)
        self.tally.seen.add(name)
        self.tally.removed += known is not None and not known.left_out
        state = replace(_state(file, name, self._version), left_out=skipped.reason)
        self._write(_Read(state, ()))

    def _is_touched_only(self, state: FileState) -> bool:
        """True for a file with the content it had; its new time is remembered."""
        known = self._known.get(state.path)
        if known is None or known.digest != state.digest:
            return False
        self.tally.seen.add(state.path)
        self.tally.unchanged += 1
        size, time, identity = state.size, state.modified_ns, state.identity
        fresh = replace(known, size=size, modified_ns=time, identity=identity)
        self._write(_Read(fresh, None))
        return True

    def _parse(self, document: Document, state: FileState) -> None:
        try:
            parsed = parser_for(document.path).parse(document)
        except Exception as exc:  # a parser's mistake must not cost the other files
            self._fail(document.path, exc)
            return
        if parsed.problem:
            self.tally.warnings.append(parsed.problem)
        self._count(state)
        self._write(_Read(state, parsed.chunks, self._moved_from(state)))

    def _read_log(self, file: SourceFile, name: str) -> None:
        """A log too large to be held: its chunks go to the store as they are made."""
        digest = hash_log(file.path)
        if isinstance(digest, Skipped):
            self._remember_left_out(file, name, digest)
            return
        state = _state(file, name, self._version + digest)
        if self._is_touched_only(state):
            return
        self.flush()
        try:
            with self._telling_of_secrets(name):
                lines = self._redactor.lines(read_lines(file.path))
                self._store.chunks.replace_file(state, iter_chunks(name, lines))
        except AuroraError:
            raise  # of the store, and of no file
        except Exception as exc:
            self._fail(name, exc)
        else:
            self._count(state)

    @contextmanager
    def _telling_of_secrets(self, name: str) -> Iterator[None]:
        """Which file to look at, and never what was found there."""
        before = self._redactor.kinds.copy()
        yield
        if told := tell(self._redactor.kinds - before):
            self.tally.warnings.append(f"{name}: {told}")

    def _moved_from(self, state: FileState) -> str:
        old = self._gone.pop(state.digest, "") if state.path not in self._known else ""
        if old:
            self.tally.moved.add(old)
        return old

    def _count(self, state: FileState) -> None:
        self.tally.seen.add(state.path)
        self.tally.parsed += 1

    def _fail(self, name: str, exc: Exception) -> None:
        logger.error("cannot parse %s", name, exc_info=exc)
        self.tally.warnings.append(f"{name}: cannot be parsed ({exc!r})")
        self.tally.skipped["cannot be parsed"] += 1
        self.tally.shut.append(self._names.path(name))  # what is known of it stays
        self.tally.failed += 1

    def _write(self, read: _Read) -> None:
        self._batch.append(read)
        self._rows += 1 + len(read.chunks or ())  # an empty file is a row to write, too
        if self._rows >= _BATCH_ROWS:
            self.flush()


def version_of(redactor: Redactor) -> str:
    """What a file's digest begins with: another one, and the file is read again."""
    return f"{PARSER_VERSION}:" if redactor.on else f"{PARSER_VERSION}-unredacted:"


def _state(file: SourceFile, name: str, digest: str) -> FileState:
    return FileState(name, file.size, file.modified_ns, digest, identity=file.identity)


def is_as_remembered(file: SourceFile, known: FileState, version: str) -> bool:
    """True for a file that need not be opened."""
    return file.identity == known.identity and _looks_alike(file, known, version)


def recognise(
    files: Iterable[SourceFile], known: Mapping[str, FileState], names: Names, version: str
) -> Iterator[FileState]:
    """New states of files that have another identity, and the content that is remembered.

    So a copy of a project, or a file system whose inodes change, costs the reading of its files
    and nothing else. A memory of an older version knows no identity: there, size and time decide.
    """
    for file in files:
        state = known.get(names.of(file.path))
        if (
            state is not None
            and state.identity != file.identity
            and _looks_alike(file, state, version)
            and (not state.identity or _holds(file, state, version))
        ):
            yield replace(state, identity=file.identity)


def _looks_alike(file: SourceFile, known: FileState, version: str) -> bool:
    stamp = (file.size, file.modified_ns)
    return stamp == (known.size, known.modified_ns) and known.digest.startswith(version)


def _holds(file: SourceFile, known: FileState, version: str) -> bool:
    """True for a file with the content that is remembered."""
    if file.size > MAX_BYTES:
        text = hash_log(file.path)
    else:
        text = read_text(file.path, any_words=file.is_log)
    if isinstance(text, Skipped):
        return text.reason == known.left_out
    digest = text if file.size > MAX_BYTES else hashlib.sha256(text.encode()).hexdigest()
    return known.digest == version + digest
