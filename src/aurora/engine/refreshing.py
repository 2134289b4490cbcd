"""Keeps the answers of one memory as fresh as its files, for up to a second before a search.

Only what an index run has read is looked at, and of a project's memory only what is below its
folder: the memory may have come with a clone. The look compares sizes and times and starts no
process. Whatever goes wrong here becomes a note: a search answers from what is stored.

`check_results` looks at the files of the results themselves, with or without a refresh.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from aurora.errors import AuroraError, NoMemoryError, StoreBusyError
from aurora.quick_classes import replace
from aurora.sources.looks import Look, Looks, is_same, stamp_of
from aurora.text import pluralize
from aurora.types import Chunk, Lines, Note, Query, SearchResult, SearchResults

if TYPE_CHECKING:
    from aurora.engine.opening import OpenedMemory
    from aurora.engine.writing import MemoryWriter
    from aurora.stores.base import FileState

logger = logging.getLogger(__name__)

Homes: TypeAlias = "Mapping[str, tuple[OpenedMemory, str]]"
Writer: TypeAlias = "Callable[[], MemoryWriter]"  # loads git and the parsers

BUDGET = 1.0  # seconds that a search spends on reading changed files
READER = "aurora-reader"  # the thread that reads on
_MANY = 3_000  # files and folders: to look at them takes longer than to search
_TIMES, _LONGEST_REST = 20, 1.0  # in a process, a look at so many takes a twentieth of its time
_SPARE = 5  # times as many further rows are looked up as were left out


class Refresher:
    """Reads changed files of one memory before a search.

    A program that runs on `reads_on`: what takes longer is read by a thread of its own.
    """

    def __init__(self, opened: OpenedMemory, writer: Writer, *, reads_on: bool) -> None:
        self._opened, self._writer, self._reads_on = opened, writer, reads_on
        self._turn = threading.Lock()
        self._thread: threading.Thread | None = None
        self._is_closed = threading.Event()
        self._rests_until = 0.0

    def refresh(self, until: float) -> Note | None:
        """Read changed files until a moment of `time.monotonic`. Returns what is left to say."""
        if not self._opened.settings.indexing.auto:
            return None
        if not self._turn.acquire(timeout=max(until - time.monotonic(), 0)):
            return None  # another thread is at it
        try:
            with suppress(NoMemoryError):  # the search says so
                return self._refresh(until)
        except StoreBusyError:
            return Note("Files have changed, and another process is writing to the memory")
        except AuroraError as exc:
            text = f"Files have changed, and cannot be read now: {exc.in_one_line}"
            return Note(text, warning=True)
        except Exception:  # an answer from what is stored is better than none
            logger.exception("a refresh failed")
        finally:
            self._turn.release()
        return None

    def _refresh(self, until: float) -> Note | None:
        if self._is_reading():
            return Note("Files have changed, and are being read")
        places = self._changed_places()
        if not places:
            return None
        writer = self._writer()
        done = writer.read_changes([*places], is_over=lambda: time.monotonic() >= until)
        for warning in done.warnings:
            self._opened.warn(warning)
        if not done.unread:
            return None
        count = f"{pluralize(done.unread, 'more file')} changed"
        if not self._reads_on:
            return Note(f"{count}: `aur index` reads them")
        self._read_on(places)
        return Note(f"{count}, being read")

    def _changed_places(self) -> dict[Path, bool]:
        """The places that no longer look as they did, and whether git was asked about them."""
        opened = self._opened
        if not opened.may_refresh:
            return {}
        begun, file = time.monotonic(), Looks(opened.index_folder)
        if begun < self._rests_until or file.are_resting or not (places := self._places()):
            return {}
        looks = file.read(opened.store.identity)
        changed = {place: git for place, git in places.items() if not _is_known(place, looks)}
        if not changed:
            taken = time.monotonic() - begun
            file.rest_after(taken)
            if sum(map(len, looks.values())) > _MANY:
                self._rests_until = begun + min(_TIMES * taken, _LONGEST_REST)
        return changed

    def _places(self) -> dict[Path, bool]:
        """The indexed files and folders that a search may read, and that are still there."""
        opened = self._opened
        if not opened.store.checkouts.is_known:
            return {}  # others have indexed, but not this checkout
        root = opened.root.resolve() if opened.root else None
        within = root or opened.places.project
        if within is None and opened.location.path is None:
            return {}  # a server that several projects share: its paths may be of other machines
        paths = {
            (root / name if root else Path(name)): git
            for name, git in opened.store.chunks.indexed_places().items()
        }
        return {
            path: git
            for path, git in paths.items()
            if path.is_absolute()
            and ".." not in path.parts
            and (within is None or path.is_relative_to(within))
            and path.exists()
        }

    def _read_on(self, places: Mapping[Path, bool]) -> None:
        """Read the rest in a thread. Vectors and commits are left to the next index run."""
        if self._is_reading():
            return
        self._is_closed.clear()
        read = partial(self._read_all, [*places])
        self._thread = threading.Thread(target=read, name=READER, daemon=True)
        self._thread.start()

    def _is_reading(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def _read_all(self, places: Sequence[Path]) -> None:
        try:
            self._writer().read_changes(places, is_over=self._is_closed.is_set)
        except Exception as exc:
            logger.warning("reading changed files failed: %r", exc)

    def close(self) -> None:
        """Stop reading after the present file: its connection is about to be closed."""
        self._is_closed.set()
        if self._thread is not None:
            self._thread.join()

    def count_changes(self) -> int | None:
        """How many indexed files changed or are gone; None where that cannot be known."""
        try:
            places = self._places()
            looks = Looks(self._opened.index_folder).read(self._opened.store.identity)
            changed = [place for place in places if not _is_known(place, looks)]
            if not changed:
                return 0 if places else None
            return self._writer().count_changes(changed)
        except (AuroraError, OSError) as exc:
            logger.warning("changed files cannot be counted: %r", exc)
            return None


def _is_known(place: Path, looks: Mapping[str, Look]) -> bool:
    look = looks.get(str(place))
    return look is not None and is_same(place, look)


# The files of results


def search_present(
    query: Query,
    search: Callable[[Query], SearchResults],
    memories: Homes,
    writer: Writer,
) -> SearchResults:
    """The results of a search without rows whose file is gone, or no longer has their text."""
    check = partial(check_results, memories=memories, writer=writer)
    found = search(query)
    kept = check(found.results)
    if missing := len(found.results) - len(kept):
        wider = search(replace(query, limit=query.limit + _SPARE * missing))
        kept = check(wider.results)[: query.limit]
    weak = check([found.weak]) if found.weak else []
    return replace(found, results=tuple(kept), weak=weak[0] if weak else None)


def check_results(
    results: Sequence[SearchResult], memories: Homes, writer: Writer
) -> list[SearchResult]:
    """The results whose text is in their files, with the lines where it is now.

    `memories` are the memories of the results by name, each with the prefix of its paths. The files
    of another checkout are not here.
    """
    names: dict[str, set[str]] = {name: set() for name in memories}
    for result in results:
        if result.chunk.path and result.memory in memories:
            names[result.memory].add(result.chunk.path.removeprefix(memories[result.memory][1]))
    states = {
        memory: opened.store.chunks.file_states(names[memory])
        for memory, (opened, _) in memories.items()
        if names[memory]
    }
    roots = {memory: root.resolve() for memory in states if (root := memories[memory][0].root)}
    kept = []
    for result in results:
        if result.memory not in memories:
            kept.append(result)
            continue
        prefix = memories[result.memory][1]
        name = result.chunk.path.removeprefix(prefix)
        state = states[result.memory].get(name) if name else None
        root = roots.get(result.memory)
        chunk = result.chunk if state is None else _as_in_file(root, result.chunk, state, writer)
        if chunk is not None:
            kept.append(_with_chunk(result, chunk))
    return kept


def _as_in_file(root: Path | None, chunk: Chunk, state: FileState, writer: Writer) -> Chunk | None:
    path = os.path.join(root or "", state.path)  # noqa: PTH118 - Path takes ten times as long
    if stamp_of(path) == f"{state.size} {state.modified_ns} {state.identity}":
        return chunk
    return writer().find_in_file(Path(path), chunk, state)


def _with_chunk(result: SearchResult, chunk: Chunk) -> SearchResult:
    """The result with its text at other lines."""
    if chunk is result.chunk:
        return result
    was, now, symbol = result.chunk.lines, chunk.lines, result.symbol
    if was and now and symbol is not None:
        by = now.start - was.start
        symbol = symbol._replace(lines=Lines(symbol.lines.start + by, symbol.lines.end + by))
    return replace(result, chunk=chunk, symbol=symbol)
