"""What sessions know of a command, and of an error: when it worked, and what mended it.

A command is the same if its words are, also as a step of a longer line, or with further arguments.
How a program is started (`.venv/bin/pytest`, `python -m pytest`, `uv run pytest`) does not matter.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from enum import IntEnum

from aurora.engine.error_match import SAME, ErrorLine, best_match, key_lines
from aurora.engine.session_lookup import (
    MOST_ROWS,
    asked_in,
    facts_of,
    find_chunks,
    find_in_session,
    is_form,
    is_inside,
    newest_first,
)
from aurora.errors import QueryError
from aurora.indexing.session_chunks import MENDED_BY, PASSED_AFTER, only_looks
from aurora.lazy_patterns import lazy_pattern
from aurora.session_facts import SESSION
from aurora.stores.base import Store
from aurora.text import printable
from aurora.trail_types import CommandRun, Fixes, How, Mend
from aurora.types import Chunk, Criteria, Note

_MENDED = lazy_pattern(rf"\n\n(?:{MENDED_BY}|{PASSED_AFTER})\n")
_STEPS = lazy_pattern(r"\|\||&&|[;|\n]")
_ASSIGNMENT = lazy_pattern(r"\w+=\S*")
_STARTERS = (
    ("python", "-m"), ("python3", "-m"), ("py", "-m"), ("uv", "run"), ("poetry", "run"),
    ("pdm", "run"), ("hatch", "run"), ("pipenv", "run"), ("bundle", "exec"), ("pnpm", "exec"),
    ("npx",), ("bunx",), ("uvx",), ("sudo",), ("time",), ("env",), ("nice",),
)  # fmt: skip
_INTERPRETERS = frozenset(("bash", "bun", "deno", "node", "perl", "php", "python", "python3",
                           "ruby", "sh"))  # fmt: skip
_SUBCOMMAND = lazy_pattern(r"[a-z][\w:-]*")
_RUNNERS = frozenset(("compose", "exec", "run", "run-script"))  # what they run names the command
_MOST_SIMILAR, _MOST_MENDS, _MOST_UNMENDED = 3, 5, 3
_PROGRAM_ROWS = 500  # uses of a program that are looked at for similar ones
_RECENT_ROWS = 300  # uses of the words of a command, of which the last one counts
_TEXTS = 300  # rows by words that are compared with an error
_KEYS = 3  # lines of an error that are looked for by their words
_OUTCOME, _CHANGE = 1200, 1500  # characters that are shown


class Fit(IntEnum):
    """How a command line fits the one that is asked for."""

    SAME = 0
    STEP = 1  # a step of it is the same
    MORE = 2  # the same with further arguments
    PROGRAM = 3  # another use of the same program
    NONE = 4


# How


def how_command(store: Store, command: str, folders: Sequence[str]) -> How:
    """When a command last worked and last failed, in this project or else in others."""
    asked = " ".join(command.split())
    fits = _find_runs(store, asked)
    near = {chunk.id: fit for chunk, fit in fits if fit <= Fit.MORE}
    runs, notes = _of_project([chunk for chunk, fit in fits if fit <= Fit.MORE], folders)
    if not runs:
        others = _of_project([chunk for chunk, fit in fits if fit is Fit.PROGRAM], folders)[0]
        return How(command, similar=_distinct(others), notes=notes)
    exact = [chunk for chunk in runs if near[chunk.id] <= Fit.STEP] or runs
    worked, failed = ([c for c in exact if _failed(c) is is_failed] for is_failed in (False, True))
    similar = [] if worked else [c for c in runs if c not in exact and not _failed(c)]
    return How(
        command,
        worked=_run(worked[0]) if worked else None,
        failed=_run(failed[0]) if failed else None,
        mended=_mend(store, failed[0], worked) if failed else _last_fix(store, exact),
        successes=len(worked),
        failures=len(failed),
        similar=_distinct(similar),
        notes=notes,
    )


def _find_runs(store: Store, asked: str) -> list[tuple[Chunk, Fit]]:
    """The commands with these words, newest first, each with its fit."""
    words = _words(asked)
    if not words:
        raise QueryError(
            "There is no command to look for", hint='write one, as in aur mem how "pytest -q"'
        )
    chunks = _commands_with(store, words, MOST_ROWS)
    if not any(_fit(command_line(chunk), asked) <= Fit.MORE for chunk in chunks):
        chunks = find_chunks(store, words[:1], ("command",), most=_PROGRAM_ROWS)
    fits = ((chunk, _fit(command_line(chunk), asked)) for chunk in newest_first(chunks))
    return [(chunk, fit) for chunk, fit in fits if fit < Fit.NONE]


def _commands_with(store: Store, words: Sequence[str], most: int) -> list[Chunk]:
    told = tuple(word for word in words if any(map(str.isalnum, word)))
    rows = store.search.find_rows(Criteria(phrases=told))[-most:] if told else ()
    return [chunk for chunk in store.chunks.get_rows(rows).values() if is_form(chunk, ("command",))]


def last_failure(store: Store, command: str, folders: Sequence[str]) -> CommandRun | None:
    """The last run of this very command in this project, if it failed."""
    asked = " ".join(command.split())
    chunks = newest_first(_commands_with(store, _words(asked), _RECENT_ROWS))
    own = (chunk for chunk in chunks if is_inside(folders, chunk))
    last = next((chunk for chunk in own if _fit(command_line(chunk), asked) <= Fit.STEP), None)
    return _run(last) if last is not None and _failed(last) else None


def command_names(command: str) -> list[str]:
    """How people name the steps of a command line: `git push`, `npm run build`, `pytest`."""
    steps = (_words(step) for step in _STEPS.split(command) if not only_looks(step))
    return list(dict.fromkeys(_name_of(words) for words in steps if words))


def _name_of(words: list[str]) -> str:
    """The program and its subcommand, or the script and its subcommand."""
    if len(words) > 1 and words[0] in _INTERPRETERS and not words[1].startswith("-"):
        words = words[1:]
    count = 1
    while words[count : count + 1] and _SUBCOMMAND.fullmatch(words[count]):
        count += 1
        if words[count - 1] not in _RUNNERS:
            break
    return " ".join(words[:count])


def _fit(line: str, asked: str) -> Fit:
    line = " ".join(line.split())
    if line == asked:
        return Fit.SAME
    steps = [step.strip() for step in _STEPS.split(line)]
    if asked in steps or (_STEPS.search(asked) and asked in line):
        return Fit.STEP
    wanted, best = _words(asked), Fit.NONE
    for words in filter(None, map(_words, steps)):
        if words[0] != wanted[0]:
            continue
        if words == wanted:
            return Fit.STEP
        has_all = Counter(wanted) <= Counter(words)
        is_use = has_all or len(wanted) < 2 or words[1:2] == wanted[1:2]
        best = min(best, Fit.MORE if has_all else Fit.PROGRAM if is_use else Fit.NONE)
    return best


def _words(step: str) -> list[str]:
    """The program and its arguments, without how the program is started."""
    try:
        words = shlex.split(step)
    except ValueError:  # an open quote
        words = step.split()
    while words and _ASSIGNMENT.fullmatch(words[0]):
        words = words[1:]
    if words:
        words[0] = words[0].rpartition("/")[2]
    for starter in _STARTERS:
        if len(words) > len(starter) and tuple(words[: len(starter)]) == starter:
            return _words(shlex.join(words[len(starter) :]))
    return words


def _of_project(
    chunks: Sequence[Chunk], folders: Sequence[str]
) -> tuple[list[Chunk], tuple[Note, ...]]:
    """The runs in this project; where there are none, those in others, and a note."""
    inside = [chunk for chunk in chunks if is_inside(folders, chunk)]
    if inside or not chunks or not folders:
        return inside or list(chunks), ()
    return list(chunks), (Note("No session of this project ran it; these are of other projects"),)


def _distinct(chunks: Iterable[Chunk]) -> tuple[CommandRun, ...]:
    first: dict[str, Chunk] = {}
    for chunk in chunks:
        first.setdefault(command_line(chunk), chunk)
    return tuple(map(_run, list(first.values())[:_MOST_SIMILAR]))


def command_line(chunk: Chunk) -> str:
    return chunk.content.partition("\n")[0].removeprefix("$ ")


def _failed(chunk: Chunk) -> bool:
    return chunk.metadata.get("failed") is True


def _run(chunk: Chunk) -> CommandRun:
    status = chunk.metadata.get("exit_status")
    outcome = _MENDED.split(chunk.content)[0].partition("\n")[2]
    if isinstance(status, int):
        outcome = outcome.removesuffix(f"exit status {status}")
    return CommandRun(
        printable(command_line(chunk)), _shown(outcome, _OUTCOME), _failed(chunk),
        status if isinstance(status, int) else None, chunk.created_at,
        printable(facts_of(chunk).agent), printable(facts_of(chunk).id),
        printable(facts_of(chunk).title), printable(facts_of(chunk).project),
        printable(facts_of(chunk).branch), chunk.id,
    )  # fmt: skip


def _shown(text: str, most: int) -> str:
    return printable(text.strip("\n").rstrip()[:most], keep="\n")


# What mended a failure


def _last_fix(store: Store, runs: Sequence[Chunk]) -> Mend | None:
    """The newest fix of a command in the exchanges where it passed in the end."""
    exchanges = {facts_of(chunk).exchange: chunk for chunk in runs}
    for exchange, run in exchanges.items():
        for mend in reversed(fixes_in(store, exchange)):
            if mend.command == printable(command_line(run)):
                return mend
    return None


def fixes_in(store: Store, exchange: str) -> list[Mend]:
    """The commands that failed and passed in an exchange, with what was done between."""
    ids = store.chunks.find_ids_from(f"{SESSION}:{exchange}:fix:", limit=_TEXTS)
    return [
        _as_mend(
            chunk,
            _last_line(chunk),
            command_line(chunk),
            _MENDED.split(chunk.content, maxsplit=1)[-1],
        )
        for chunk in store.chunks.get_chunks(ids)
    ]


def _mend(store: Store, failed: Chunk, worked: Sequence[Chunk] = ()) -> Mend | None:
    """What was done between a failure and the next success of the command: the edits of a fix, or
    the exchange in which it passed."""
    if not worked:
        command = command_line(failed)
        runs = find_in_session(store, facts_of(failed).id, ("command",))
        worked = [c for c in runs if not _failed(c) and _fit(command_line(c), command) <= Fit.STEP]
    later = [chunk for chunk in worked if _is_later(chunk, failed)]
    if not later:
        return None
    passed = min(later, key=lambda chunk: (chunk.created_at, chunk.id))
    talks = find_in_session(store, facts_of(passed).id, ("exchange",))
    between = [c for c in talks if _is_later(c, failed) and not _is_later(c, passed)]
    files = dict.fromkeys(file for chunk in between for file in facts_of(chunk).edited)
    asked = dict.fromkeys(filter(None, map(asked_in, between)))
    parts = [f"asked: {'; '.join(asked)}"] if asked else []
    parts += [f"edited {', '.join(files)}"] if files else []
    change = "\n".join(parts) or "it passed later, without an edit"
    return _as_mend(passed, _last_line(failed), command_line(failed), change)


def _is_later(chunk: Chunk, than: Chunk) -> bool:
    first, second = than.created_at, chunk.created_at
    return first is not None and second is not None and second > first


def _last_line(chunk: Chunk) -> str:
    return error_line(_run(chunk).outcome)


def error_line(outcome: str) -> str:
    """The line that tells the error of a failed command; empty if none does."""
    keys = key_lines(outcome)
    return best_match(keys[:1], outcome)[1] if keys else ""


def _as_mend(chunk: Chunk, error: str, command: str, change: str) -> Mend:
    return Mend(
        printable(error), printable(command), _shown(change, _CHANGE), chunk.created_at,
        printable(facts_of(chunk).agent), printable(facts_of(chunk).id),
        printable(facts_of(chunk).title), printable(facts_of(chunk).project), chunk.id,
    )  # fmt: skip


# Fix


def fix_error(store: Store, error: str, folders: Sequence[str]) -> Fixes:
    """What mended this error: the most similar one first, those of this project, the newest.
    Nothing for an error that no session had."""
    keys = key_lines(error)
    if not keys:
        raise QueryError(
            f"{printable(error[:60])!r} says too little of an error",
            hint="give the whole line that tells it, with the name of the error",
        )
    mends: list[tuple[tuple[float, bool, float], Mend]] = []
    unmended: list[Chunk] = []
    for chunk in _error_candidates(store, error):
        outcome, *change = _MENDED.split(chunk.content, maxsplit=1)
        score, line = best_match(keys, outcome.partition("\n")[2])
        if score < SAME:
            continue
        if change:
            mend: Mend | None = _as_mend(chunk, line, command_line(chunk), change[0])
        else:
            mend = _mend(store, chunk)
        if mend is None:
            unmended.append(chunk)
        else:
            at = mend.time.timestamp() if mend.time else 0.0
            mends.append(((round(score, 1), is_inside(folders, chunk), at), mend))
    mends.sort(key=lambda pair: pair[0], reverse=True)
    distinct = {mend.change: mend for _, mend in reversed(mends)}
    best = tuple(reversed(distinct.values()))[:_MOST_MENDS]
    return Fixes(error, best, tuple(map(_run, newest_first(unmended)[:_MOST_UNMENDED])))


def asked_about(store: Store, error: str) -> list[Chunk]:
    """The exchanges in which somebody asked about this error, the most similar first."""
    keys = key_lines(error)
    scored = []
    for chunk in _with_words_of(store, keys):
        if is_form(chunk, ("exchange",)):
            score = best_match(keys, chunk.content.partition("\n\nAnswered: ")[0])[0]
            scored += [(round(score, 1), chunk)] if score >= SAME else []
    newest = {chunk.id: n for n, chunk in enumerate(newest_first(chunk for _, chunk in scored))}
    return [c for _, c in sorted(scored, key=lambda pair: (-pair[0], newest[pair[1].id]))]


def _error_candidates(store: Store, error: str) -> list[Chunk]:
    """Fixes and failed commands that share words with an error."""
    return [
        chunk for chunk in _with_words_of(store, key_lines(error))
        if is_form(chunk, ("fix",)) or (is_form(chunk, ("command",)) and _failed(chunk))
    ]  # fmt: skip


def _with_words_of(store: Store, keys: Sequence[ErrorLine]) -> list[Chunk]:
    rows: set[int] = set()
    for key in keys[:_KEYS]:
        found = store.search.find_text(" ".join(key.words), limit=_TEXTS)
        rows.update(row for row, _ in found)
        names = tuple(name for name in key.subjects if any(map(str.isalnum, name)))
        if names:
            rows.update(store.search.find_rows(Criteria(phrases=names))[-MOST_ROWS:])
    return list(store.chunks.get_rows(sorted(rows)).values())
