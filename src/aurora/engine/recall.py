"""What a session should know now, without asking for it, within a budget of tokens.

At the start of a session there is no question. The first line is where the last session in this
project ended. Then come, in turns, lessons and decisions about the files that changed lately, open
plans, recent decisions, lessons, and the last conversation about the project. For a prompt it is a
search, of which only sure rows count: silence is a good answer. The same state gives the same
lines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import chain, zip_longest
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from aurora.engine.last_session import exchange_text, find_last_exchange, has_question
from aurora.engine.opening import OpenedMemory
from aurora.errors import QueryError, SourceError
from aurora.retrieval.confidence import LESSON
from aurora.retrieval.query import without_filters
from aurora.retrieval.session_filters import TALK
from aurora.session_facts import AGENT_MEMORY
from aurora.sources.git import list_changes, list_uncommitted
from aurora.stores.base import Store
from aurora.text import count_tokens, pluralize, printable
from aurora.types import (
    LEAST_SUCCESS,
    Chunk,
    Criteria,
    Kind,
    LeftOut,
    Listener,
    Moment,
    Note,
    Recall,
    RecallItem,
    SearchResult,
    SearchResults,
    Situation,
    ignore_events,
)

_SURE = 0.5  # confidence of a row for a prompt: more likely right than wrong
# 24 % of the questions about a lesson find it with as much, and 5 % of those about other things
# find any (benchmarks/quality/lessons.py).
_SURE_LESSON = 0.25
_EACH = 4  # rows for one reason, so that no reason takes the whole budget
_READ = 300  # the newest lessons, documents and phases of a memory that are looked at
_COMMITS = 10  # whose files count as changed lately
_LONGEST = 240  # characters of a text
_RECORDED = (Criteria(kinds=(Kind.REASONING,)), Criteria(metadata=(("source", "document"),)))
_TALKS = (Criteria(metadata=(("source", "conversation"),)),)
_DONE = frozenset(("done", "completed", "finished", "closed", "cancelled", "abandoned", "rejected"))
_PATHS = re.compile(r"[\w./-]*\w")  # a word that may be a path, without a full stop after it


class _Row(NamedTuple):
    """A chunk of a memory, and how often it was learnt or opened."""

    chunk: Chunk
    memory: str
    uses: int


class _Candidate(NamedTuple):
    chunk: Chunk
    memory: str
    reason: str


def recall(
    situation: Situation,
    budget: int,
    memories: Mapping[str, OpenedMemory],
    *,
    root: Path | None,
    now: datetime,
    search: Callable[[str], SearchResults],
    listen: Listener = ignore_events,
    given: Collection[str] = (),
) -> Recall:
    """The lines for a situation. `memories` are read by name; git is asked about `root`."""
    if budget < 1:
        raise QueryError(
            f"A budget of {budget} tokens has room for nothing",
            hint="give at least 100: a line takes 30 to 120",
        )
    if situation.moment is Moment.PROMPT:
        return _for_prompt(situation, budget, search, given)
    if situation.moment is not Moment.START:
        return Recall(situation, budget)
    changed, notes = _changed_files(root)
    for note in notes:
        listen(note)
    candidates = chain(
        _last_session(memories, root, now), _at_start(memories, changed, root.name if root else "")
    )
    return replace(_fit(situation, budget, candidates, given), notes=notes)


# For a prompt


def _for_prompt(
    situation: Situation,
    budget: int,
    search: Callable[[str], SearchResults],
    given: Collection[str],
) -> Recall:
    text = without_filters(situation.text)
    if not text.strip():
        return Recall(situation, budget)
    found = search(text)
    sure, unsure = [], []
    for result in found.results:
        chunk, confidence = result.chunk, _own_confidence(result)
        least = _SURE_LESSON if chunk.is_recorded else _SURE
        if confidence >= least:
            sure.append(_Candidate(chunk, result.memory, f"fits the prompt, {confidence:.2f}"))
        else:
            reason = f"not sure enough: {confidence:.2f} of {least:.2f}"
            unsure.append(LeftOut(chunk.id, _title(chunk), reason))
    recalled = _fit(situation, budget, sure, given)
    return replace(recalled, left_out=(*recalled.left_out, *unsure), notes=found.notes)


def _own_confidence(result: SearchResult) -> float:
    """The score without what the place of a lesson adds to it."""
    return result.score - sum(part.value for part in result.contributions if part.signal == LESSON)


# At the start of a session


def _last_session(
    memories: Mapping[str, OpenedMemory], root: Path | None, now: datetime
) -> Iterator[_Candidate]:
    if root is None:
        return
    for name, opened in memories.items():
        last = opened.read(partial(find_last_exchange, opened.store, root, now))[0]
        if last is not None:
            yield _Candidate(last, name, "where the last session ended")


def _at_start(
    memories: Mapping[str, OpenedMemory], changed: Mapping[str, str], project: str
) -> Iterator[_Candidate]:
    """The candidates: the first for each reason before the second for any."""
    read = _read(memories, _RECORDED)
    recorded = [each for each in read if not (_is_done(each.chunk) or _is_of_agent(each.chunk))]
    lessons = [each for each in recorded if each.chunk.kind is Kind.REASONING]
    documents = [each for each in recorded if each.chunk.kind is not Kind.REASONING]
    by_reason: tuple[list[tuple[_Row, str]], ...] = (
        [(each, why) for each in recorded if (why := _touched(each.chunk, changed))],
        [(each, "open plan") for each in documents if _is_plan(each.chunk)],
        [(each, "recent") for each in documents if not _is_plan(each.chunk)],
        [(each, "") for each in sorted(lessons, key=lambda each: -each.uses)],
        [(each, "last conversation") for each in _last_talk(_read(memories, _TALKS), project)],
    )
    for row in zip_longest(*(rows[:_EACH] for rows in by_reason)):
        for each, why in filter(None, row):
            reasons = filter(None, (why, _outcome(memories[each.memory], each)))
            yield _Candidate(each.chunk, each.memory, ", ".join(reasons))


def _read(memories: Mapping[str, OpenedMemory], filters: Sequence[Criteria]) -> list[_Row]:
    """The newest chunks that pass one of the filters, the newest first. Of a document, the first
    piece. Stores leave out what is superseded."""
    rows: list[_Row] = []
    for name, opened in memories.items():
        for chunk, uses in opened.read(partial(_read_store, opened.store, filters))[0]:
            if chunk.metadata.get("part", 1) == 1:
                rows.append(_Row(chunk, name, uses))
    return sorted(rows, key=lambda each: (-_seconds(each.chunk), each.chunk.id))


def _read_store(store: Store, filters: Sequence[Criteria]) -> list[tuple[Chunk, int]]:
    rows = {row for each in filters for row in store.search.find_rows(each)[-_READ:]}
    chunks = store.chunks.get_rows(sorted(rows - store.checkouts.hidden_rows())).values()
    accesses = store.chunks.get_accesses([chunk.id for chunk in chunks])
    return [(chunk, _tries(chunk) + len(accesses.get(chunk.id, ()))) for chunk in chunks]


def _tries(chunk: Chunk) -> int:
    tries = chunk.metadata.get("tries")
    return tries if isinstance(tries, int) else 0


def _seconds(chunk: Chunk) -> float:
    return chunk.created_at.timestamp() if chunk.created_at else 0.0


def _touched(chunk: Chunk, changed: Mapping[str, str]) -> str:
    """Why a chunk is about a changed file: it names the file, its path, or a folder above it."""
    words = {word.removeprefix("./") for word in _PATHS.findall(chunk.content)}
    for path, why in changed.items():
        above = map(str, PurePosixPath(path).parents)
        names = {path, PurePosixPath(path).name, *(folder for folder in above if "/" in folder)}
        if path == chunk.path or not words.isdisjoint(names):
            return f"about {path}, {why}"
    return ""


def _is_plan(chunk: Chunk) -> bool:
    return chunk.document_type.lower() == "plan"


def _is_of_agent(chunk: Chunk) -> bool:
    """Agents read the files in which they remember by themselves, those of this project alone."""
    return chunk.document_type == AGENT_MEMORY


def _is_done(chunk: Chunk) -> bool:
    """A plan is done by its `status`, or when all of its boxes are ticked."""
    status, text = str(chunk.metadata.get("status", "")).strip().lower(), chunk.content.lower()
    is_ticked = "[x]" in text and "[ ]" not in text
    return _is_plan(chunk) and (status in _DONE or is_ticked)


def _last_talk(talks: Sequence[_Row], project: str) -> list[_Row]:
    """The phases of the newest conversation that names the project, the last phase first."""
    name = re.compile(rf"(?<!\w){re.escape(project)}(?!\w)", re.IGNORECASE)
    path = next((each.chunk.path for each in talks if name.search(each.chunk.content)), "")
    phases = [each for each in talks if each.chunk.path == path]
    return sorted(phases, key=lambda each: -(each.chunk.lines.start if each.chunk.lines else 0))


def _outcome(opened: OpenedMemory, row: _Row) -> str:
    """Whether a lesson worked, and how often it was used."""
    if row.chunk.kind is not Kind.REASONING:
        return ""
    reasoning = opened.read_again(partial(opened.store.chunks.get_reasoning, row.chunk.id))
    has_worked = reasoning is None or reasoning.success_score >= LEAST_SUCCESS
    times = f", used {row.uses} times" if row.uses > 1 else ""
    return f"{'worked' if has_worked else 'did not work'}{times}"


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


# Lines


def _fit(
    situation: Situation,
    budget: int,
    candidates: Iterable[_Candidate],
    given: Collection[str] = (),
) -> Recall:
    """As many lines as the budget allows. A shorter one may follow one that does not fit."""
    items: list[RecallItem] = []
    left_out: list[LeftOut] = []
    seen, left = set[tuple[str, str]](), budget
    for candidate in candidates:
        item = _item(candidate)
        if (item.title, item.text) in seen:  # for another reason, or in another memory
            continue
        seen.add((item.title, item.text))
        if item.id in given:
            left_out.append(LeftOut(item.id, item.title or item.text, "given before"))
            continue
        if item.tokens <= left:
            items.append(item)
            left -= item.tokens
        else:
            reason = f"no room: {pluralize(item.tokens, 'token')}, {left} left"
            left_out.append(LeftOut(item.id, item.title or item.text, reason))
    return Recall(situation, budget, tuple(items), tuple(left_out))


def _item(candidate: _Candidate) -> RecallItem:
    chunk, memory, reason = candidate
    is_lesson = chunk.kind is Kind.REASONING  # its name is the beginning of its text
    title = "" if is_lesson else _title(chunk)
    content = exchange_text(chunk) if has_question(chunk) else chunk.content
    text = printable(" ".join(content.split())).lstrip("# ").removeprefix(title).lstrip()
    if len(text) > _LONGEST:
        text = text[:_LONGEST].rpartition(" ")[0] + " …"
    item = RecallItem(chunk.id, _kind(chunk), title, text, chunk.created_at, reason, 0, memory)
    return replace(item, tokens=count_tokens(f"{item.line}\n"))


def _title(chunk: Chunk) -> str:
    title = chunk.metadata.get("title")
    return printable(title if isinstance(title, str) else chunk.qualified_name or chunk.name)


def _kind(chunk: Chunk) -> str:
    if chunk.kind is Kind.REASONING:
        return "lesson"
    source = chunk.metadata.get("source")
    named = str(source) if source in TALK else chunk.document_type
    return printable(named or str(chunk.kind))
