"""What `aur mem why`, `how` and `fix` print, for people, agents and programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import datetime

from aurora.display.table import PLAIN, Paint
from aurora.text import pluralize, printable
from aurora.trail_types import CommandRun, Fixes, How, Mend, Why, WhyEntry
from aurora.types import Json, Lines, Note

_VERSION = 1
_SHORT = 8  # digits of a commit
_INDENT = "  "


def render_why(why: Why, paint: Paint = PLAIN) -> str:
    """The place, then three lines for each entry: what it is, why it is there, where to read it."""
    title = " ".join(filter(None, [f"{why.file}{_lines(why.lines)}", why.name]))
    parts = [paint.path(printable(title)), *(_entry(entry, paint) for entry in why.entries)]
    if not why.entries:
        parts.append("No commit, session or decision is known for it")
    if why.left_out:
        parts.append(f"{pluralize(why.left_out, 'older entry')} left out; --limit shows more")
    return "\n".join(parts)


def _lines(lines: Lines | None) -> str:
    if lines is None:
        return ""
    return f":{lines.start}" if lines.start == lines.end else f":{lines.start}-{lines.end}"


def _entry(entry: WhyEntry, paint: Paint) -> str:
    about = [entry.who, entry.branch]
    commit = f" {entry.id[:_SHORT]}" if entry.kind == "commit" else ""
    head = f"{_day(entry.time)}  {entry.kind}{commit}  {paint.name(entry.title)}".rstrip()
    lines = [head + _in_brackets(about), f"{_INDENT}{entry.reason}"]
    lines += [f"{_INDENT}{entry.text}"] if entry.text else []
    lines += [] if commit else [f"{_INDENT}{paint.faint(entry.id)}"]
    return "\n".join(lines)


def render_how(how: How, paint: Paint = PLAIN) -> str:
    """The last success and the last failure of a command, or what is near."""
    parts: list[str] = []
    if how.worked:
        parts += ["Last worked", *_run(how.worked, paint)]
    elif how.failed:
        parts.append(f"It never worked: {pluralize(how.failures, 'failure')} and no success")
    else:
        parts.append("No session ran this command")
    if how.failed:
        parts += ["Last failed", *_run(how.failed, paint)]
    if how.mended:
        parts += ["What mended a failure", *_mend(how.mended, paint)]
    elif how.failed:
        parts.append("Nothing is known that mended it")
    if how.similar:
        parts.append("The same program ran as")
        parts += [f"{_INDENT}$ {run.command}{_outcome(run)}" for run in how.similar]
    return "\n".join(parts)


def render_fixes(fixes: Fixes, paint: Paint = PLAIN) -> str:
    """What mended an error, the best first; a sentence where nothing is known."""
    parts: list[str] = []
    for mend in fixes.mends:
        parts += [f"Mended {_day(mend.time)}", *_mend(mend, paint)]
    if fixes.unmended and not fixes.mends:
        parts.append("It was seen, and nothing is known that mended it")
        for run in fixes.unmended:
            parts += _run(run, paint)
    return "\n".join(parts) or "No session had this error"


def _run(run: CommandRun, paint: Paint) -> Iterator[str]:
    where = [run.agent, run.title, run.branch]
    yield f"{_INDENT}{_day(run.time)}{_in_brackets(where)}{_outcome(run)}"
    yield f"{_INDENT}{paint.name(f'$ {run.command}')}"
    yield from _indented(run.outcome)
    yield f"{_INDENT}{paint.faint(run.id)}"


def _mend(mend: Mend, paint: Paint) -> Iterator[str]:
    if mend.error:
        yield f"{_INDENT}{mend.error}"
    yield f"{_INDENT}$ {mend.command}{_in_brackets([mend.agent, mend.title])}"
    yield from _indented(mend.change)
    yield f"{_INDENT}{paint.faint(mend.id)}"


def _outcome(run: CommandRun) -> str:
    if run.exit_status:
        return f": exit status {run.exit_status}"
    return ": failed" if run.failed else ""


def _indented(text: str) -> list[str]:
    return [f"{_INDENT * 2}{line}".rstrip() for line in text.splitlines()]


def _in_brackets(words: Sequence[str]) -> str:
    known = ", ".join(filter(None, words))
    return f" ({known})" if known else ""


def _day(at: datetime | None) -> str:
    return f"{at.astimezone():%Y-%m-%d %H:%M}" if at else "unknown date"


# As JSON: docs/reference/json.md


def trail_record(answer: Why | How | Fixes) -> dict[str, Json]:
    """All fields of an answer. Unknown texts are empty, unknown dates and numbers null."""
    fields = {name: _plain(value) for name, value in asdict(answer).items()}
    return {"version": _VERSION, **fields, "notes": _texts(answer.notes)}


def _texts(notes: Sequence[Note]) -> list[Json]:
    return [note.text for note in notes]


def _plain(value: object) -> Json:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, dict):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value if isinstance(value, str | int | float | bool) else None
