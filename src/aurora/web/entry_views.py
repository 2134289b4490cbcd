"""Views of lessons and documents, and what a person may change: learn, replace, forget."""

from __future__ import annotations

from aurora.engine.listed_entries import (
    ListedEntry,
    forget_entry,
    list_entries,
    preview_forget,
    replace_entry,
)
from aurora.errors import QueryError
from aurora.types import Json
from aurora.web.door import Door

_MOST = 500
_LONGEST = 2_000  # characters of a listed text
_STATES = ("", "current", "replaced", "stale", "failed")


def lessons(door: Door, *, state: str = "", limit: int = _MOST) -> dict[str, Json]:
    """Lessons and documents, newest first; `state` is current, replaced, stale or failed.

    Of a long text the first 2,000 characters are listed; `cut` says how many are left out.
    """
    if state not in _STATES:
        raise QueryError(f"There is no state {state!r}", hint="current, replaced, stale or failed")
    most = max(1, min(limit, _MOST))
    entries = list_entries(door.memory, most=most, replaced=state == "replaced")
    kept = [
        entry
        for entry in entries
        if (state != "failed" or entry.version.has_failed)
        and (state != "stale" or any(remark.startswith("stale") for remark in entry.remarks))
    ]
    return {"lessons": [_list_entry(entry) for entry in kept], "more": len(entries) == most}


def _list_entry(entry: ListedEntry) -> Json:
    record, text = entry.as_record(), entry.version.text
    return {**record, "text": text[:_LONGEST], "cut": max(0, len(text) - _LONGEST)}


def entry_history(door: Door, *, id_: str) -> dict[str, Json]:
    """All versions of a lesson or document, as `aur mem history --json` prints them."""
    return {"versions": [version.as_record() for version in door.memory.history(id_)]}


def learn(
    door: Door,
    *,
    text: str,
    title: str = "",
    kind: str = "lesson",
    score: float = 1.0,
    private: bool = False,
    files: tuple[str, ...] = (),
) -> dict[str, Json]:
    """Keep a lesson; or with another `kind`, such as decision or plan, a document with a title."""
    memory = door.memory
    if not 0.0 <= score <= 1.0:
        raise QueryError(f"score must be from 0 to 1, not {score}")
    if kind == "lesson":
        learned = memory.learn(text, score=score, private=private, files=files)
        id_, outcome, entries = learned.id, "learned", learned.similar
    else:
        full = f"# {title}\n\n{text}" if title else text
        added = memory.add(full, document_type=kind, private=private, files=files)
        id_, outcome, entries = added.id, str(added.outcome), added.similar
    return {
        "id": id_,
        "outcome": outcome,
        "similar": [
            {"id": each.id, "title": each.title, "text": each.text, "relation": each.relation}
            for each in entries
        ],
    }


def replace(door: Door, *, id_: str, text: str, title: str = "") -> dict[str, Json]:
    """Write a new version of a lesson or document. The old one is kept as history."""
    return {"id": replace_entry(door.memory, id_, text, title=title), "outcome": "replaced"}


def forget_preview(door: Door, *, id_: str) -> dict[str, Json]:
    """What forgetting a lesson or document removes. Changes nothing."""
    chunks, sentences = preview_forget(door.memory, id_)
    return {"chunks": chunks, "what": [*sentences]}


def forget(door: Door, *, id_: str) -> dict[str, Json]:
    """Remove a lesson or document for good."""
    return {"forgotten": forget_entry(door.memory, id_)}
