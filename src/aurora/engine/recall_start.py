"""What a session should know at its start, when there is no question yet.

The first lines are where the last session in this project ended, and what failed at its end. Then
come, in turns, lessons and decisions about the files that changed lately, open plans, recent
decisions, lessons, and the last conversation about the project.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from itertools import chain, zip_longest
from pathlib import Path

from aurora.engine.command_runs import command_line, last_failure
from aurora.engine.exchange_text import answer_in
from aurora.engine.last_session import find_last_command, find_last_exchange
from aurora.engine.opening import OpenedMemory
from aurora.engine.recall_rows import (
    RECORDED,
    Row,
    is_about,
    is_plan,
    make_item,
    outcome_of,
    read_rows,
)
from aurora.engine.recall_tools import failure_item, folders_of
from aurora.errors import SourceError
from aurora.quick_classes import replace
from aurora.sources.git import list_changes, list_uncommitted
from aurora.stores.base import Store
from aurora.types import Criteria, Note, RecallItem

_EACH = 4  # rows for one reason, so that no reason takes the whole budget
_COMMITS = 10  # whose files count as changed lately
_TALKS = (Criteria(metadata=(("source", "conversation"),)),)


def recall_start(
    memories: Mapping[str, OpenedMemory], root: Path | None, now: datetime
) -> tuple[Iterator[RecallItem], tuple[Note, ...]]:
    """The items, the most important first, and a note where git cannot tell what changed."""
    changed, notes = _changed_files(root)
    items = chain(
        _last_session(memories, root, now), _in_turns(memories, changed, root.name if root else "")
    )
    return items, notes


def _last_session(
    memories: Mapping[str, OpenedMemory], root: Path | None, now: datetime
) -> Iterator[RecallItem]:
    if root is None:
        return
    for name, opened in memories.items():
        for item in opened.read(partial(_ends_in, opened.store, root, now))[0]:
            yield replace(item, memory=name)


def _ends_in(store: Store, root: Path, now: datetime) -> list[RecallItem]:
    """Where the last session ended, and its last command if that has not passed since."""
    last = find_last_exchange(store, root, now)
    if last is None:
        return []
    unanswered = "" if answer_in(last) else ", without an answer"
    items = [make_item(last, "", f"where the last session ended{unanswered}")]
    command = find_last_command(store, last)
    run = last_failure(store, command_line(command), folders_of(root)) if command else None
    if command and run and run.id == command.id:
        items.append(failure_item(run, store, "failed at the end of it"))
    return items


def _in_turns(
    memories: Mapping[str, OpenedMemory], changed: Mapping[str, str], project: str
) -> Iterator[RecallItem]:
    """The first row for each reason before the second for any."""
    recorded = [row for row in read_rows(memories, RECORDED) if row.is_open]
    lessons = [row for row in recorded if row.is_lesson]
    documents = [row for row in recorded if not row.is_lesson]
    by_reason: tuple[list[tuple[Row, str]], ...] = (
        [
            (row, f"about {path}, {changed[path]}")
            for row in recorded
            if (path := is_about(row.chunk, changed))
        ],
        [(row, "open plan") for row in documents if is_plan(row.chunk)],
        [(row, "recent") for row in documents if not is_plan(row.chunk)],
        [(row, "") for row in sorted(lessons, key=lambda row: -row.uses)],
        [(row, "last conversation") for row in _last_talk(read_rows(memories, _TALKS), project)],
    )
    for turn in zip_longest(*(rows[:_EACH] for rows in by_reason)):
        for row, why in filter(None, turn):
            reasons = filter(None, (why, outcome_of(memories[row.memory], row)))
            yield make_item(row.chunk, row.memory, ", ".join(reasons))


def _last_talk(talks: Sequence[Row], project: str) -> list[Row]:
    """The phases of the newest conversation that names the project, the last phase first."""
    name = re.compile(rf"(?<!\w){re.escape(project)}(?!\w)", re.IGNORECASE)
    path = next((row.chunk.path for row in talks if name.search(row.chunk.content)), "")
    phases = [row for row in talks if row.chunk.path == path]
    return sorted(phases, key=lambda row: -(row.chunk.lines.start if row.chunk.lines else 0))


def _changed_files(root: Path | None) -> tuple[dict[str, str], tuple[Note, ...]]:
    """The files that changed lately, and how; a note where git cannot tell."""
    if root is None:
        return {}, ()
    try:
        uncommitted, commits = list_uncommitted(root) or (), list_changes(root, _COMMITS) or ()
    except SourceError as exc:
        text = f"It is not known which files changed: {exc.in_one_line}"
        return {}, (Note(text, warning=True),)
    committed = dict.fromkeys((path for each in commits for path in each.paths), "changed lately")
    return dict.fromkeys(uncommitted, "not committed yet") | {
        path: why for path, why in committed.items() if path not in uncommitted
    }, ()
