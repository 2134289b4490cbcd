"""Views of what agents are told: a preview of the recall, and the log of their calls."""

from __future__ import annotations

import math

from aurora.display.records import recall_record
from aurora.display.usage_table import savings_record
from aurora.errors import QueryError
from aurora.types import RECALL_BUDGET, Json, Moment, Situation
from aurora.usage_log import memory_key, read_usage
from aurora.web.door import Door

_MOST = 1_000  # calls of one answer


def recall(
    door: Door, *, moment: str = "start", text: str = "", command: str = "",
    budget: int = RECALL_BUDGET,
) -> dict[str, Json]:  # fmt: skip
    """What a session would be told at a moment: start, prompt, edit, command or failure.

    `text` is the prompt, the file, the command or the error; `command` the one that failed. The
    object of `aur recall --json`.
    """
    situations = {
        "start": Situation(),
        "prompt": Situation(Moment.PROMPT, text),
        "edit": Situation(Moment.EDIT, file=text),
        "command": Situation(Moment.COMMAND, command=text),
        "failure": Situation(Moment.FAILURE, text, command=command),
    }
    if moment not in situations:
        raise QueryError(f"There is no moment {moment!r}", hint=f"name {', '.join(situations)}")
    if moment != "start" and not text.strip():
        raise QueryError("text is missing", hint="say what the agent asks, edits or runs")
    return recall_record(door.memory.recall(situations[moment], max(1, budget)))


def calls(door: Door, *, limit: int = 200, before: float = math.inf) -> dict[str, Json]:
    """The calls of tools and hooks, newest first: when, which, how long, how many tokens.

    `before` is the `time` of the last call shown, in seconds since 1970.
    """
    records = [each for each in read_usage(door.memory.places.home) if each.time < before]
    records.reverse()
    key = memory_key(door.memory.places.memory_folder)
    shown = records[: max(1, min(limit, _MOST))]
    rows: list[Json] = [{**record._asdict(), "here": record.memory == key} for record in shown]
    return {"calls": rows, "more": len(records) > len(shown)}


def savings(door: Door) -> dict[str, Json]:
    """What agents asked and were given, as `aur savings --json` prints it."""
    return savings_record(list(read_usage(door.memory.places.home)))
