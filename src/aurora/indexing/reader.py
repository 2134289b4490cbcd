"""Finds the files of an index run, and reads the changed ones into the store.

A file with the stored size, time and identity is not opened; one with the stored content is not
parsed. A file that is left out for its content is stored as such. A new file with the content of a
removed one is that file under a new name, and keeps what belongs to its chunks.
"""

from __future__ import annotations

import hashlib
import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from aurora.errors import AuroraError, GitStartError, SourceError
from aurora.parsers.conversation import iter_chunks
from aurora.parsers.registry import parser_for
from aurora.redaction import Redactor, describe_secrets
from aurora.sources.conversations import find_logs, hash_log, read_lines
from aurora.sources.git import find_unasked_root
from aurora.sources.reading import MAX_BYTES
from aurora.sources.walk import Skipped, SourceFile, look_at, read_text, walk_files
from aurora.stores.base import FileState, Store
from aurora.types import Chunk, Document

logger = logging.getLogger(__name__)

PARSER_VERSION = 6  # grows when the same file would give other chunks: all are then parsed again
_BATCH_ROWS = 2000  # files and chunks written in one transaction


class Names:
    """Names of files in a memory: relative below the root, so that a project can move; absolute
    elsewhere."""

    def __init__(self, root: Path | None) -> None:
        self._root = root.resolve() if root is not None else None
        # Text, because pathlib takes ten times as long and every file needs a name.
        self._prefix = f"{self._root.as_posix().rstrip('/')}/" if self._root is not None else ""

    def of(self, path: Path) -> str:
        return path.as_posix().removeprefix(self._prefix)

    def path(self, name: str) -> Path:
        return self._root / name if self._root is not None else Path(name)


@dataclass(frozen=True, slots=True)
class Scan:
    """Files by path. A stored file below `places` that is not among them is gone."""

    places: tuple[Path, ...]
    files: Mapping[Path, SourceFile | Skipped]
    logs: int = 0
    warnings: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()

    @property
    def shut(self) -> list[Path]:
        """Files and folders that could not be read."""
        return [
            file.path
            for file in self.files.values()
            if isinstance(file, Skipped) and file.is_unreadable
        ]


def scan(*targets: Path, logs: Path | None = None) -> Scan:
    """List all files of the targets and all conversation logs, without opening them.

    A target that cannot be walked is one of `errors`; if there is no other, it is raised.
    """
    places: list[Path] = []
    files: dict[Path, SourceFile | Skipped] = {}
    failures: list[SourceError] = []
    for target in dict.fromkeys(target.resolve() for target in targets):
        try:
            files |= {file.path: file for file in walk_files(target)}
            places.append(target)
        except GitStartError:
            raise  # the system lacks a resource, whatever the path
        except SourceError as exc:
            failures.append(exc)
    if failures and not places:
        raise failures[0]
    log_files = find_logs(logs) if logs is not None else []
    files |= {log.path: log for log in log_files}
    without_git = (
        f"There is no git program: the files of {place} are chosen by its ignore files alone, "
        "and their history is not known. Install git"
        for place in places
        if find_unasked_root(place) is not None
    )
    return Scan(
        (*places, logs) if logs is not None else tuple(places),
        files,
        len(log_files),
        tuple(without_git),
        tuple(exc.message for exc in failures),
    )


@dataclass(slots=True)
class Tally:
    """The counts of a run so far."""

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
class _Write:
    """A file to write. Without chunks, only its state is new."""

    state: FileState
    chunks: Sequence[Chunk] | None
    moved_from: str = ""


class FileReader:
    """Reads one file after the other. `gone` are the states of removed files."""

    def __init__(
        self,
        store: Store,
        names: Names,
        states: Mapping[str, FileState],
        gone: Iterable[FileState],
        redactor: Redactor,
    ) -> None:
        self._redactor, self._version = redactor, digest_version(redactor)
        self._store, self._names, self._states = store, names, states
        self._gone = {state.digest: state.path for state in gone if not state.left_out}
        self._batch: list[_Write] = []
        self._rows = 0
        self.tally = Tally()

    def visit(self, file: SourceFile | Skipped) -> None:
        """Bring the memory of one file up to date."""
        name = self._names.of(file.path)
        if isinstance(file, Skipped):
            self._leave_out(file, name)
            return
        state = self._states.get(name)
        if state is not None and is_unchanged(file, state, self._version):
            self._keep(state)
        elif file.size > MAX_BYTES:  # only logs are this large
            self._read_log(file, name)
        else:
            self._read(file, name)

    def flush(self) -> None:
        """Write the waiting batch."""
        with self._store.transaction():
            self._store.chunks.put_file_states(
                write.state for write in self._batch if write.chunks is None
            )
            for write in self._batch:
                if write.moved_from:
                    self._store.chunks.move_file(write.moved_from, write.state.path)
                if write.chunks is not None:
                    self._store.chunks.replace_file(write.state, write.chunks)
        self._batch.clear()
        self._rows = 0

    def _keep(self, state: FileState) -> None:
        self.tally.seen.add(state.path)
        if state.left_out:
            self.tally.skipped[state.left_out] += 1
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
            self._store_left_out(file, name, text)
            return
        state = self._new_state(file, name, _digest(text))
        if not self._is_touched_only(state):
            with self._warning_of_secrets(name):
                self._parse(Document(name, self._redactor.text(text)), state)

    def _store_left_out(self, file: SourceFile, name: str, skipped: Skipped) -> None:
        if skipped.is_unreadable and look_at(file.path) is None:
            return  # removed since the scan
        self._leave_out(skipped, name)
        if skipped.is_unreadable:
            return
        before = self._states.get(name)
        self.tally.seen.add(name)
        self.tally.removed += before is not None and not before.left_out
        self._write(_Write(replace(self._new_state(file, name, ""), left_out=skipped.reason), ()))

    def _new_state(self, file: SourceFile, name: str, digest: str) -> FileState:
        digest = self._version + digest
        return FileState(name, file.size, file.modified_ns, digest, identity=file.identity)

    def _is_touched_only(self, state: FileState) -> bool:
        """True for a file with its stored content; its new time is stored."""
        before = self._states.get(state.path)
        if before is None or before.digest != state.digest:
            return False
        self.tally.seen.add(state.path)
        self.tally.unchanged += 1
        size, time, identity = state.size, state.modified_ns, state.identity
        touched = replace(before, size=size, modified_ns=time, identity=identity)
        self._write(_Write(touched, None))
        return True

    def _parse(self, document: Document, state: FileState) -> None:
        try:
            parsed = parser_for(document.path).parse(document)
        except Exception as exc:  # an error in a parser must not cost the other files
            self._fail(document.path, exc)
            return
        if parsed.problem:
            self.tally.warnings.append(parsed.problem)
        self._count(state)
        self._write(_Write(state, parsed.chunks, self._moved_from(state)))

    def _read_log(self, file: SourceFile, name: str) -> None:
        """Store a log that is too large for memory: chunk by chunk."""
        digest = hash_log(file.path)
        if isinstance(digest, Skipped):
            self._store_left_out(file, name, digest)
            return
        state = self._new_state(file, name, digest)
        if self._is_touched_only(state):
            return
        self.flush()
        try:
            with self._warning_of_secrets(name):
                lines = self._redactor.lines(read_lines(file.path))
                self._store.chunks.replace_file(state, iter_chunks(name, lines))
        except AuroraError:
            raise  # an error of the store, not of this file
        except Exception as exc:
            self._fail(name, exc)
        else:
            self._count(state)

    @contextmanager
    def _warning_of_secrets(self, name: str) -> Iterator[None]:
        """Name the file that holds secrets, never the secrets."""
        before = self._redactor.kinds.copy()
        yield
        if warning := describe_secrets(self._redactor.kinds - before):
            self.tally.warnings.append(f"{name}: {warning}")

    def _moved_from(self, state: FileState) -> str:
        old = self._gone.pop(state.digest, "") if state.path not in self._states else ""
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
        self.tally.shut.append(self._names.path(name))  # its stored chunks stay
        self.tally.failed += 1

    def _write(self, write: _Write) -> None:
        self._batch.append(write)
        self._rows += 1 + len(write.chunks or ())  # a file without chunks is a row, too
        if self._rows >= _BATCH_ROWS:
            self.flush()


def digest_version(redactor: Redactor) -> str:
    """The prefix of every digest. A new prefix makes the next run read all files."""
    return f"{PARSER_VERSION}:" if redactor.on else f"{PARSER_VERSION}-unredacted:"


def is_unchanged(file: SourceFile, state: FileState, version: str) -> bool:
    """True for a file that need not be opened."""
    return file.identity == state.identity and _looks_alike(file, state, version)


def recognise(
    files: Iterable[SourceFile], states: Mapping[str, FileState], names: Names, version: str
) -> Iterator[FileState]:
    """New states of files that have another identity and their stored content.

    A copy of a project, or a file system whose inodes change, costs reading the files and nothing
    else. Older memories have no identities: there, size and time decide.
    """
    for file in files:
        state = states.get(names.of(file.path))
        if (
            state is not None
            and state.identity != file.identity
            and _looks_alike(file, state, version)
            and (not state.identity or _has_content(file, state, version))
        ):
            yield replace(state, identity=file.identity)


def _looks_alike(file: SourceFile, state: FileState, version: str) -> bool:
    stamp = (file.size, file.modified_ns)
    return stamp == (state.size, state.modified_ns) and state.digest.startswith(version)


def _has_content(file: SourceFile, state: FileState, version: str) -> bool:
    """True for a file with its stored content."""
    is_large = file.size > MAX_BYTES
    text = hash_log(file.path) if is_large else read_text(file.path, any_words=file.is_log)
    if isinstance(text, Skipped):
        return text.reason == state.left_out
    return state.digest == version + (text if is_large else _digest(text))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
