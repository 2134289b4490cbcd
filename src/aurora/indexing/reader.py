"""Finds the files of an index run, and reads the changed ones into the store.

A file with the stored size, time and identity is not opened; one with the stored content is not
parsed. A file that is left out for its content is stored as such. A new file with the content of a
removed one is that file under a new name, and keeps what belongs to its chunks.
"""

from __future__ import annotations

import hashlib
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from aurora.errors import AuroraError, GitStartError, SourceError
from aurora.indexing.team_lessons import replace_files
from aurora.parsers.conversation import iter_chunks
from aurora.parsers.registry import parser_for
from aurora.quick_classes import dataclass, replace
from aurora.redaction import Redactor, describe_secrets
from aurora.sources.conversations import find_logs, hash_log, read_lines
from aurora.sources.git import find_unasked_root
from aurora.sources.reading import MAX_BYTES, Skipped
from aurora.sources.walk import SourceFile, look_at, read_text, walk_files
from aurora.stores.base import FileState, Store
from aurora.types import READING, Chunk, Document, Listener, Progress

logger = logging.getLogger(__name__)

PARSER_VERSION = 9  # grows when the same file would give other chunks: all are then parsed again
_BATCH_ROWS = 2000  # files and chunks written in one transaction


class Names:
    """Names of files in a memory: relative below the root, absolute elsewhere."""

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


def scan(*targets: Path, logs: Path | None = None) -> Scan:
    """List all files and logs without opening them. Raises only if no target can be walked."""
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


class _Write(NamedTuple):
    """A file to write. Without chunks, only its state is new."""

    state: FileState
    chunks: Sequence[Chunk] | None
    moved_from: str = ""


class FileReader:
    """Brings the memory of scanned files up to date, and counts what it does."""

    def __init__(
        self, store: Store, names: Names, states: Mapping[str, FileState], redactor: Redactor
    ) -> None:
        self._redactor, self._version = redactor, digest_version(redactor)
        self._store, self._names, self._states = store, names, states
        self._gone: dict[str, str] = {}  # names of removed files, by digest
        self._moved: set[str] = set()  # old names
        self._seen: set[str] = set()
        self._shut: list[Path] = []  # files and folders that could not be read
        self._batch: list[_Write] = []
        self._rows = 0
        self.unread: tuple[SourceFile | Skipped, ...] = ()  # those after the time was over
        self.skipped: Counter[str] = Counter()
        self.warnings: list[str] = []
        self.parsed = self.unchanged = self.removed = self.failed = 0

    def read(
        self, scan: Scan, listen: Listener, *, is_over: Callable[[], bool] = lambda: False
    ) -> None:
        """Read all changed files, and remove files that are gone.

        When `is_over`, the other files are left `unread`, and nothing is removed: one of them may
        be a gone file under its new name.
        """
        files = tuple(scan.files.values())
        self._shut = [f.path for f in files if isinstance(f, Skipped) and f.is_unreadable]
        gone = self._find_gone(scan, set(map(self._names.of, scan.files)))
        self._gone = {state.digest: state.path for state in gone if not state.left_out}
        for done, file in enumerate(files, start=1):
            if is_over():
                self.unread = files[done - 1 :]
                self._flush()
                return
            self._visit(file)
            listen(Progress(READING, done, len(files)))
        self._flush()
        gone = self._find_gone(scan, self._seen)
        self._store.chunks.forget_files(state.path for state in gone)
        self.removed += sum(not (s.left_out or s.path in self._moved) for s in gone)

    def _find_gone(self, scan: Scan, seen: Set[str]) -> list[FileState]:
        """The states of files not seen, but for those that an unreadable folder may hide."""
        gone = []
        for name in self._states.keys() - seen:
            path = self._names.path(name)
            below = any(map(path.is_relative_to, scan.places))
            if below and not (any(map(path.is_relative_to, self._shut)) or _is_shut(path)):
                gone.append(self._states[name])
        return gone

    def _visit(self, file: SourceFile | Skipped) -> None:
        name = self._names.of(file.path)
        if isinstance(file, Skipped):
            self._leave_out(file, name)
            return
        state = self._states.get(name)
        if state is not None and is_unchanged(file, state, self._version):
            self._seen.add(name)
            if state.left_out:
                self.skipped[state.left_out] += 1
            else:
                self.unchanged += 1
        elif file.size > MAX_BYTES:  # only logs are this large
            self._read_log(file, name)
        else:
            self._read(file, name)

    def _leave_out(self, skipped: Skipped, name: str) -> None:
        self.skipped[skipped.reason.partition(":")[0]] += 1
        if skipped.is_unreadable:
            self.failed += 1
            self.warnings.append(f"{name}: {skipped.reason}")

    def _read(self, file: SourceFile, name: str) -> None:
        text = read_text(file.path, any_words=file.is_log)
        if isinstance(text, Skipped):
            self._store_left_out(file, name, text)
            return
        state = self._new_state(file, name, _digest(text))
        if self._is_touched_only(state):
            return
        parsed = None
        with self._reporting(name):
            parsed = parser_for(name).parse(Document(name, self._redactor.text(text)))
            if parsed.problem:
                self.warnings.append(parsed.problem)
        if parsed is not None:
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
        self._flush()
        with self._reporting(name):
            lines = self._redactor.lines(read_lines(file.path))
            self._store.chunks.replace_file(state, iter_chunks(name, lines))

    def _store_left_out(self, file: SourceFile, name: str, skipped: Skipped) -> None:
        if skipped.is_unreadable and look_at(file.path) is None:
            return  # removed since the scan
        self._leave_out(skipped, name)
        if skipped.is_unreadable:
            self._shut.append(file.path)
            return
        before = self._states.get(name)
        self._seen.add(name)
        self.removed += before is not None and not before.left_out
        self._write(_Write(replace(self._new_state(file, name, ""), left_out=skipped.reason), ()))

    def _new_state(self, file: SourceFile, name: str, digest: str) -> FileState:
        digest = self._version + digest
        return FileState(name, file.size, file.modified_ns, digest, identity=file.identity)

    def _is_touched_only(self, state: FileState) -> bool:
        """True for a file with its stored content; its new time is stored."""
        before = self._states.get(state.path)
        if before is None or before.digest != state.digest:
            return False
        self._seen.add(state.path)
        self.unchanged += 1
        size, time, identity = state.size, state.modified_ns, state.identity
        touched = replace(before, size=size, modified_ns=time, identity=identity)
        self._write(_Write(touched, None))
        return True

    @contextmanager
    def _reporting(self, name: str) -> Iterator[None]:
        """Count a parsed file; warn of secrets, without showing them, or of a parser's error."""
        before = self._redactor.kinds.copy()
        try:
            yield
        except AuroraError:
            raise  # an error of the store, not of this file
        except Exception as exc:  # an error in a parser must not cost the other files
            logger.exception("cannot parse %s", name)
            self.warnings.append(f"{name}: cannot be parsed ({exc!r})")
            self.skipped["cannot be parsed"] += 1
            self._shut.append(self._names.path(name))  # its stored chunks stay
            self.failed += 1
        else:
            self._seen.add(name)
            self.parsed += 1
        if warning := describe_secrets(self._redactor.kinds - before):
            self.warnings.append(f"{name}: {warning}")

    def _moved_from(self, state: FileState) -> str:
        old = self._gone.pop(state.digest, "") if state.path not in self._states else ""
        if old:
            self._moved.add(old)
        return old

    def _write(self, write: _Write) -> None:
        self._batch.append(write)
        self._rows += 1 + len(write.chunks or ())  # a file without chunks is a row, too
        if self._rows >= _BATCH_ROWS:
            self._flush()

    def _flush(self) -> None:
        """Write the waiting batch."""
        chunks = self._store.chunks
        with self._store.transaction():
            chunks.put_file_states(write.state for write in self._batch if write.chunks is None)
            for write in self._batch:
                if write.moved_from:
                    chunks.move_file(write.moved_from, write.state.path)
            files = ((write.state, write.chunks) for write in self._batch)
            replace_files(self._store, [(s, chunks) for s, chunks in files if chunks is not None])
        self._batch.clear()
        self._rows = 0


def _is_shut(path: Path) -> bool:
    """True if permissions hide whether the file exists: git does not list untracked ones then."""
    try:
        path.lstat()
    except PermissionError:
        return True
    except OSError:
        return False
    return False


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


def find_shared(
    files: Iterable[SourceFile],
    states: Mapping[str, FileState],
    others: Mapping[str, Sequence[FileState]],
    names: Names,
    version: str,
) -> Iterator[FileState]:
    """States of new and changed files that another checkout has with the same content."""
    for file in files:
        name = names.of(file.path)
        state = states.get(name)
        if state is not None and is_unchanged(file, state, version):
            continue
        for other in others.get(name, ()):
            is_alike = other.size == file.size and other.digest.startswith(version)
            if is_alike and _has_content(file, other, version):
                yield replace(other, modified_ns=file.modified_ns, identity=file.identity)
                break


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
