"""What a session should know now, without asking for it, within a budget of tokens.

At the start of a session there is no question: `recall_start` chooses. Before a file is changed,
before a command is run and after one failed, `recall_tools` looks for what is known of that file,
command or error. For a prompt, `recall_prompt` searches. Silence is a good answer, and the same
state gives the same lines.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from pathlib import Path

from aurora.engine.opening import OpenedMemory
from aurora.engine.recall_prompt import recall_prompt
from aurora.engine.recall_rows import exchange_of
from aurora.engine.recall_start import recall_start
from aurora.engine.recall_tools import recall_command, recall_edit, recall_failure
from aurora.errors import QueryError
from aurora.quick_classes import replace
from aurora.text import count_tokens, pluralize
from aurora.types import (
    LeftOut,
    Listener,
    Moment,
    Note,
    Recall,
    RecallItem,
    SearchResults,
    Situation,
    ignore_events,
)

_GIVEN = "given before"
_LONGEST = 8000  # characters of a command, and of the end of what it printed


def recall(
    situation: Situation,
    budget: int,
    memories: Mapping[str, OpenedMemory],
    *,
    root: Path | None,
    now: datetime,
    search: Callable[[str], SearchResults],
    given: Collection[str] = (),
    listen: Listener = ignore_events,
) -> Recall:
    """The lines for a situation. `memories` are read by name; git is asked about `root` at the
    start. Rows that were `given` before are left out."""
    if budget < 1:
        raise QueryError(
            f"A budget of {budget} tokens has room for nothing",
            hint="give at least 100: a line takes 30 to 120",
        )
    items: Iterable[RecallItem] = ()
    unsure, notes = tuple[LeftOut, ...](), tuple[Note, ...]()
    match situation.moment:
        case Moment.START:
            items, notes = recall_start(memories, root, now)
            for note in notes:
                listen(note)
        case Moment.PROMPT:
            items, unsure, notes = recall_prompt(situation.text, search)
        case Moment.EDIT:
            items = recall_edit(situation.file, memories, root)
        case Moment.COMMAND:
            items = recall_command(situation.command[:_LONGEST], memories, root)
        case Moment.FAILURE:
            error, command = situation.text[-_LONGEST:], situation.command[:_LONGEST]
            items = recall_failure(error, command, memories, root)
    kept, left_out = _fit(items, budget, given)
    return Recall(situation, budget, kept, (*left_out, *unsure), notes)


def _fit(
    items: Iterable[RecallItem], budget: int, given: Collection[str]
) -> tuple[tuple[RecallItem, ...], tuple[LeftOut, ...]]:
    """As many items as the budget allows. A shorter one may follow one that does not fit. Of an
    exchange that was given, no other piece is given."""
    kept: list[RecallItem] = []
    left_out: list[LeftOut] = []
    seen, left = set[tuple[str, str]](), budget
    known = set(map(exchange_of, given))
    for item in items:
        if (item.title, item.text) in seen:  # for another reason, or in another memory
            continue
        seen.add((item.title, item.text))
        tokens = count_tokens(f"{item.line}\n")
        if exchange_of(item.id) in known:
            left_out.append(LeftOut(item.id, item.title or item.text, _GIVEN))
        elif tokens <= left:
            kept.append(replace(item, tokens=tokens))
            left -= tokens
        else:
            reason = f"no room: {pluralize(tokens, 'token')}, {left} left"
            left_out.append(LeftOut(item.id, item.title or item.text, reason))
    return tuple(kept), tuple(left_out)
