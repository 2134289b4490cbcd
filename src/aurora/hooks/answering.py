"""Answers one event of an agent: reads what it tells, recalls, and leaves out what it was given.

The same function answers in a hook's own process and in a server that it asks. Nothing here stops
an agent: trouble is an exception, of which the callers write a line to the log.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from aurora.config import Places, SettingsFiles
from aurora.engine import Memory
from aurora.errors import AuroraError, UnsafeFolderError
from aurora.given import given_file, note_given, read_given
from aurora.hooks.agents import FORMS, HookEvent, read_event
from aurora.hooks.occasions import occasion_of
from aurora.marks import Marks
from aurora.quick_classes import dataclass
from aurora.text import count_tokens
from aurora.types import Json, RecallItem
from aurora.usage_log import UsageRecord, memory_key, write_usage

_MARKS = 40  # tokens of the marks and the notice around what is given
_LEAST = 20  # tokens: the shortest line


_SILENCE = UsageRecord(0.0, "hook", "", "")


class UnknownEventError(AuroraError):
    """An agent or event that no answer is known for."""


@dataclass(frozen=True, slots=True)
class HookRequest:
    """One call of a hook. `folder` is where the agent works."""

    agent: str
    event: str
    payload: Json
    folder: str
    environ: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class HookAnswer:
    """What the agent is told, in its form; empty for silence. And what the log is told of it."""

    output: str = ""
    record: UsageRecord = _SILENCE


OpenMemory = Callable[[Places], Memory]


def answer_hook(request: HookRequest, open_memory: OpenMemory | None = None) -> str:
    """What to print for a call; a line goes to the log, also for what goes wrong.

    `open_memory` gives an open memory for the places of the request, which is not closed.
    """
    begun, answer = time.perf_counter(), HookAnswer()
    places = Places.find(Path(request.folder), request.environ)
    try:
        answer = _answer(request, places, open_memory)
    except Exception as exc:
        answer = HookAnswer(record=answer.record._replace(error=type(exc).__name__))
    record = answer.record._replace(
        time=time.time(),
        agent=request.agent,
        event=request.event,
        milliseconds=round((time.perf_counter() - begun) * 1000),
        memory=memory_key(places.memory_folder),
    )
    write_usage(places.home, record)
    return answer.output


def _answer(request: HookRequest, places: Places, open_memory: OpenMemory | None) -> HookAnswer:
    occasion = occasion_of(request.agent, request.event)
    if occasion is None:
        raise UnknownEventError(f"{request.agent} takes no answer at {request.event}")
    if places.project is None and places.foreign:
        raise UnsafeFolderError(f"{places.foreign[0]} belongs to another user")
    event = read_event(occasion, request.payload, request.folder)
    if not (event.situations or event.follows):
        return HookAnswer()
    if open_memory is not None:
        return _use(open_memory(places), request, event)
    with _open(request, places) as memory:
        return _use(memory, request, event)


def _open(request: HookRequest, places: Places) -> Memory:
    """A memory for one answer: changed files are read by searches and servers, not by a hook."""
    files = SettingsFiles(places, request.environ, {"indexing.auto": False})
    return Memory(places, files, folder=Path(request.folder))


def _use(memory: Memory, request: HookRequest, event: HookEvent) -> HookAnswer:
    if event.follows:
        report = memory.sessions.follow_one(
            request.agent,
            session=event.session,
            transcript=event.transcript,
            always=memory.settings.hooks.sessions,
        )
        return HookAnswer(record=_record("follow", rows=report.exchanges))
    return _recall(memory, request, event)


def _recall(memory: Memory, request: HookRequest, event: HookEvent) -> HookAnswer:
    file = None
    if event.session:
        file = given_file(memory.places.home, request.agent, event.session)
    given = read_given(file) if file else frozenset[str]()
    items: dict[str, RecallItem] = {}
    left_out, left = 0, memory.settings.hooks.budget - _MARKS
    for situation in event.situations:
        if left < _LEAST:
            break
        recalled = memory.recall(situation, left, given=given.union(items))
        items |= {item.id: item for item in recalled.items}
        left_out += len(recalled.left_out)
        left -= recalled.tokens
    if file and items:
        new = note_given(file, list(items))
        items = {id_: item for id_, item in items.items() if id_ in new}
    moment = event.situations[0].moment
    if not items:
        return HookAnswer(record=_record(moment, left_out=left_out))
    text = Marks.make().quote("\n".join(item.line for item in items.values()))
    record = _record(moment, rows=len(items), left_out=left_out, tokens=count_tokens(text))
    form = FORMS[request.agent](request.event, text)
    return HookAnswer(json.dumps(form, ensure_ascii=True), record)


def _record(moment: str, *, rows: int = 0, left_out: int = 0, tokens: int = 0) -> UsageRecord:
    return _SILENCE._replace(moment=str(moment), rows=rows, left_out=left_out, tokens=tokens)
