"""What a session should know before it changes a file or runs a command, and after one failed.

By words and filters alone: an agent waits for it, so no model is loaded. Lessons come first, those
that tell what did not work before all others. What sessions know is of this project; what mended an
error may come from another one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path, PurePath

from aurora.engine.command_runs import (
    asked_about,
    command_names,
    error_line,
    fix_error,
    fixes_in,
    last_failure,
)
from aurora.engine.error_match import ErrorLine, key_lines
from aurora.engine.exchange_text import answer_in, explains, is_of_linter, tells_trouble
from aurora.engine.opening import OpenedMemory
from aurora.engine.recall_rows import (
    RECORDED,
    exchange_of,
    is_about,
    make_exchange_item,
    make_item,
    on_one_line,
    read_rows,
    shortened,
)
from aurora.engine.remarks import DID_NOT_WORK, find_remarks
from aurora.engine.session_lookup import (
    checkout_folders,
    facts_of,
    find_recent_edits,
    has_sessions,
    is_inside,
    name_in,
    newest_first,
)
from aurora.quick_classes import replace
from aurora.session_facts import SESSION
from aurora.stores.base import Store
from aurora.trail_types import CommandRun, Mend
from aurora.types import Chunk, Criteria, RecallItem

FAILURE = "failure"  # the kind of an item: a command that failed, and what mended it
Lookup = Callable[[Store, Sequence[str]], list[RecallItem]]

_MOST_LESSONS = 4
_MOST_SESSIONS = 2  # lines from sessions about one file, command or error
_MOST_EDITS = 30  # of one file, the last ones, whose exchanges are looked at
_MOST_SUBJECTS = 5  # names in an error by which lessons are looked for
_ERROR, _CHANGE = 110, 170  # characters that are shown
_COVERED = 0.6  # the share of the words of an error that a lesson about it has
_FEWEST = 3  # such words
_ENGLISH = frozenset((  # programs and scripts that are plain words, too
    "bench", "build", "check", "clean", "deploy", "dev", "docs", "format", "go", "install", "just",
    "lint", "make", "publish", "release", "run", "serve", "setup", "start", "stop", "task", "test",
    "tests", "time", "update", "watch",
))  # fmt: skip


def recall_edit(
    file: str, memories: Mapping[str, OpenedMemory], root: Path | None
) -> Iterator[RecallItem]:
    """Lessons and decisions about a file, and what failed when sessions changed it."""
    folders = folders_of(root)
    name = _name_of(file, root, folders) if root and file else ""
    if not name:
        return
    base = name.rpartition("/")[2]
    wanted = [*RECORDED, *(_naming(each, base) for each in RECORDED)]
    yield from _lessons(memories, wanted, lambda c: f"about {name}" if is_about(c, [name]) else "")
    yield from _of_sessions(memories, folders, lambda *where: _around_edits(name, *where))


def recall_command(
    command: str, memories: Mapping[str, OpenedMemory], root: Path | None
) -> Iterator[RecallItem]:
    """Lessons that name a command, and its failure if it failed the last time."""
    names = command_names(command)
    if not names:
        return
    yield from _lessons_on(names, memories)
    yield from _of_sessions(
        memories, folders_of(root), lambda *where: _last_failure(command, *where)
    )


def recall_failure(
    error: str, command: str, memories: Mapping[str, OpenedMemory], root: Path | None
) -> Iterator[RecallItem]:
    """Lessons about an error, and what mended it before."""
    keys = key_lines(error)
    if not keys:
        return
    subjects = sorted({subject for key in keys for subject in key.subjects})[:_MOST_SUBJECTS]
    wanted = [*RECORDED, *(_naming(each, name) for name in subjects for each in RECORDED)]
    yield from _lessons(memories, wanted, lambda chunk: _tells(chunk, keys))
    yield from _lessons_on(command_names(command), memories)
    yield from _of_sessions(memories, folders_of(root), lambda *where: _mends(error, *where))


def folders_of(root: Path | None) -> list[str]:
    """Where the sessions of a project ran."""
    return checkout_folders(root.resolve()) if root else []


def _naming(criteria: Criteria, words: str) -> Criteria:
    return replace(criteria, phrases=(words,))


def _name_of(file: str, root: Path, folders: Sequence[str]) -> str:
    """The name of a file from the root, also if a folder above it is a link; empty for others."""
    path = Path(os.path.normpath(root / file))
    try:
        paths = (path, path.parent.resolve() / path.name)
    except (OSError, RuntimeError, ValueError):  # no name of a file, or links in a circle
        return ""
    names = (name_in(folders, each.as_posix(), "") for each in paths)
    return next(filter(None, names), "")


# Lessons and decisions


def _lessons(
    memories: Mapping[str, OpenedMemory],
    wanted: Iterable[Criteria],
    why: Callable[[Chunk], str],
) -> Iterator[RecallItem]:
    """Those for which there is a reason: first what did not work, then the newest."""
    items = []
    for row in read_rows(memories, wanted):
        if row.is_open and (reason := why(row.chunk)):
            remarks = find_remarks(memories[row.memory], row.chunk)
            items.append(make_item(row.chunk, row.memory, ", ".join((reason, *remarks))))
    items.sort(key=lambda item: DID_NOT_WORK not in item.reason)
    yield from items[:_MOST_LESSONS]


def _lessons_on(names: Sequence[str], memories: Mapping[str, OpenedMemory]) -> Iterator[RecallItem]:
    wanted = [*RECORDED, *(_naming(each, name) for name in names for each in RECORDED)]
    yield from _lessons(memories, wanted, lambda chunk: _names_command(chunk, names))


def _names_command(chunk: Chunk, names: Iterable[str]) -> str:
    for name in names:
        written = f"`{name}`" if name in _ENGLISH else re.escape(name)
        before = "" if " " in name else r"(?<![./])"  # a part of a path is no program
        if re.search(rf"(?<![\w-]){before}{written}(?![\w-])", chunk.content):
            return f"about {name}"
    return ""


def _tells(chunk: Chunk, keys: Sequence[ErrorLine]) -> str:
    """Whether a lesson has the names and most words of a line of the error."""
    text = chunk.content.lower()
    words = set(re.findall(r"[\w-]+", text))
    for key in keys:
        telling = set(key.words) | key.subjects
        known = sum(word in words or (" " in word and word in text) for word in telling)
        if known >= max(_FEWEST, _COVERED * len(telling)) and all(
            subject in text for subject in key.subjects
        ):
            return "about this error"
    return ""


# What sessions know


def _of_sessions(
    memories: Mapping[str, OpenedMemory], folders: Sequence[str], look: Lookup
) -> Iterator[RecallItem]:
    for name, opened in memories.items():
        for item in opened.read(partial(_looked, look, opened.store, folders))[0]:
            yield replace(item, memory=name)


def _looked(look: Lookup, store: Store, folders: Sequence[str]) -> list[RecallItem]:
    return look(store, folders)[:_MOST_SESSIONS] if has_sessions(store) else []


def _around_edits(name: str, store: Store, folders: Sequence[str]) -> list[RecallItem]:
    """What failed when a file was changed, the newest first, and then what was decided."""
    edits = newest_first(edit.chunk for edit in find_recent_edits(store, {name}, folders))
    items = [item for chunk in edits[:_MOST_EDITS] for item in _in_exchange(name, chunk, store)]
    return sorted(items, key=lambda item: item.kind != FAILURE)


def _in_exchange(name: str, exchange: Chunk, store: Store) -> Iterator[RecallItem]:
    """The failures that a change of the file mended, or the exchange if it was about trouble, and
    its decisions."""
    base, id_ = name.rpartition("/")[2], facts_of(exchange).exchange
    mends = [mend for mend in fixes_in(store, id_) if base in mend.change]
    mends = [mend for mend in mends if not is_of_linter(mend.command)]
    for mend in mends:
        yield _mend_item(mend, store, f"mended by a change of {base}")
    if not mends and tells_trouble(exchange) and explains(exchange):
        yield make_exchange_item(exchange, "", f"{base} was changed for it")
    for decisions in store.chunks.get_chunks([f"{SESSION}:{id_}:decisions"]):
        yield make_item(decisions, "", f"decided when {base} was changed")


def _last_failure(command: str, store: Store, folders: Sequence[str]) -> list[RecallItem]:
    """The failure of a command that failed the last time, and what mended this error before."""
    run = last_failure(store, command, folders)
    if run is None or is_of_linter(command):
        return []
    mends = fix_error(store, run.outcome, folders).mends if key_lines(run.outcome) else ()
    return [
        failure_item(run, store, "failed the last time"),
        *(_mend_item(mend, store, "mended this error before") for mend in mends[:1]),
    ]


def failure_item(run: CommandRun, store: Store, reason: str) -> RecallItem:
    """A run that failed, its error, and what the agent said about it."""
    parts = filter(None, (shortened(error_line(run.outcome), _ERROR), _why(run.id, store)))
    text = on_one_line("; ".join(parts)) or "it failed"
    title = shortened(run.command, _ERROR)
    return RecallItem(run.id, FAILURE, title, text, run.time, reason, 0)


def _mends(error: str, store: Store, folders: Sequence[str]) -> list[RecallItem]:
    """What was done about an error: after a command, or because somebody asked."""
    items = [
        _mend_item(mend, store, f"mended this error{_elsewhere(mend.project, folders)}")
        for mend in fix_error(store, error, folders).mends
    ]
    known = {exchange_of(item.id) for item in items}
    asked = sorted(asked_about(store, error), key=lambda chunk: not is_inside(folders, chunk))
    items += [make_exchange_item(c, "", "answered this error") for c in asked if c.id not in known]
    return items


def _elsewhere(project: str, folders: Sequence[str]) -> str:
    """The name of another project."""
    is_here = any(f"{project}/".startswith(f"{folder}/") for folder in folders)
    return "" if is_here or not project else f" in {PurePath(project).name}"


def _mend_item(mend: Mend, store: Store, reason: str) -> RecallItem:
    """A failure, and why it happened as the agent told it afterwards, or else the change."""
    text = f"{shortened(mend.error, _ERROR)}; {_why(mend.id, store) or _shown_change(mend)}"
    return RecallItem(
        mend.id, FAILURE, shortened(mend.command, _ERROR), on_one_line(text), mend.time, reason, 0
    )


def _why(id_: str, store: Store) -> str:
    """The beginning of the answer in the exchange of a chunk."""
    exchanges = store.chunks.get_chunks([exchange_of(id_)])
    return next((answer_in(chunk, _CHANGE) for chunk in exchanges), "")


def _shown_change(mend: Mend) -> str:
    return f"mended by: {shortened(on_one_line(mend.change), _CHANGE)}"
