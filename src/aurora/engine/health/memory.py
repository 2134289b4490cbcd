"""The memory: where it is, whether it can be used, and whether all that is in it is whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from aurora.config.places import shown
from aurora.engine.health.checking import Check, carry_out
from aurora.engine.health.embedding import compare_embedders
from aurora.engine.health.surroundings import AREA, SURROUNDINGS
from aurora.engine.memory import Memory
from aurora.engine.whereabouts import InFile, shown_name
from aurora.errors import NoMemoryError, StoreError, StoreFormatError
from aurora.private import require_own
from aurora.stores.sqlite_connection import schema_of
from aurora.stores.sqlite_schema import MIGRATIONS
from aurora.types import (
    Finding,
    IndexCheck,
    IndexState,
    Level,
    Listener,
    Note,
    ignore_events,
)

_MANY_BYTES = 100 << 20  # from here on a check takes long enough to say so
_SHOWN = 3  # problems named of a damaged memory
_LEVELS = {IndexState.CURRENT: Level.OK, IndexState.DAMAGED: Level.FAIL}


@dataclass(frozen=True, slots=True)
class _Subject:
    memory: Memory
    quick: bool
    listen: Listener


def examine_memory(
    memory: Memory, *, quick: bool = False, listen: Listener = ignore_events
) -> Iterator[Finding]:
    """`quick` reads no more than the beginnings of the files."""
    subject = _Subject(memory, quick, listen)
    stages = STAGES if isinstance(memory.whereabouts, InFile) else SERVER_STAGES
    for checks in stages:
        found = list(carry_out(checks, subject, area=AREA))
        yield from found
        if any(finding.level in (Level.NOTE, Level.FAIL) for finding in found):
            break  # there is nothing to open, or it is damaged
    yield from carry_out(SURROUNDINGS, memory, area=AREA)


def _place(subject: _Subject) -> Iterator[Finding]:
    path, places = subject.memory.path, subject.memory.places
    if places.project is not None:
        require_own(places.memory_folder)
    try:
        size = path.stat().st_size
    except (FileNotFoundError, NotADirectoryError):
        text = f"There is no memory yet at {shown(path)}"
        yield Finding(Level.NOTE, AREA, text, "make one with `aur mem index .`")
    except OSError as exc:
        text = f"{shown(path)} cannot be looked at: {exc.strerror}"
        yield Finding(Level.FAIL, AREA, text, "check who owns the folders above it")
    else:
        yield Finding(Level.OK, AREA, f"Memory: {shown(path)} ({size / 2**20:,.1f} MiB)")


def _schema(subject: _Subject) -> Iterator[Finding]:
    version, ours = schema_of(subject.memory.path), len(MIGRATIONS)
    if version == ours:
        yield Finding(Level.OK, AREA, f"Schema {version}, as this Aurora writes it")
    else:
        text = f"Schema {version}, older than {ours}, which this Aurora writes; not checked further"
        hint = "any other command brings it up to date, such as `aur mem stats`"
        yield Finding(Level.NOTE, AREA, text, hint)


def _server(subject: _Subject) -> Iterator[Finding]:
    """A server that is away, or has no memory yet, says so by the error it is opened with."""
    try:
        size = subject.memory.stats().bytes
    except NoMemoryError as exc:
        yield Finding(Level.NOTE, AREA, exc.message, exc.hint)
    else:
        yield Finding(Level.OK, AREA, f"Memory: {subject.memory.name} ({size / 2**20:,.1f} MiB)")


def _contents(subject: _Subject) -> Iterator[Finding]:
    stats = subject.memory.stats()
    chunks, files = sum(stats.chunks.values()), stats.files
    yield Finding(Level.OK, AREA, f"Holds {chunks:,} chunks of {files:,} files")


def _integrity(subject: _Subject) -> Iterator[Finding]:
    if subject.quick:
        if damage := subject.memory.damage():
            yield Finding(Level.FAIL, AREA, damage)
        return
    _say_if_long(subject)
    try:
        problems = subject.memory.check()
    except StoreFormatError:
        raise
    except StoreError as exc:  # busy, or on a disk that is mounted read-only
        text = f"The database could not be checked for damage: {exc.message}"
        yield Finding(Level.WARN, AREA, text, exc.hint)
    else:
        yield judge_problems(problems, subject.memory.name)


def _left_out(subject: _Subject) -> Iterator[Finding]:
    if subject.quick:
        yield Finding(Level.NOTE, AREA, "Database not checked for damage (--quick)")


def judge_problems(problems: Sequence[str], name: Path | str) -> Finding:
    """Whatever was found wrong, in one finding."""
    if not problems:
        return Finding(Level.OK, AREA, "Database and text indexes are whole")
    more = [f"… and {len(problems) - _SHOWN:,} more"] if len(problems) > _SHOWN else []
    called = shown_name(name)
    text = "\n".join([f"{called} is damaged:", *problems[:_SHOWN], *more])
    mend = (
        "`aur mem repair` keeps all that can be read; `aur mem export` writes it to a file"
        if isinstance(name, Path)
        else "`aur mem rebuild-bm25` makes all words anew; `REINDEX` mends an index"
    )
    return Finding(Level.FAIL, AREA, text, mend)


def _say_if_long(subject: _Subject) -> None:
    memory = subject.memory
    is_file = isinstance(memory.whereabouts, InFile)  # which may be damaged
    size = memory.path.stat().st_size if is_file else memory.stats().bytes
    if size >= _MANY_BYTES:
        note = f"Checking {size / 2**20:,.0f} MiB takes a while; --quick leaves it out..."
        subject.listen(Note(note))


def _keyword_index(subject: _Subject) -> Iterator[Finding]:
    check = subject.memory.retriever.bm25.check(whole=not subject.quick)
    yield _judge_index("Keyword index", check, "or build it now with `aur mem rebuild-bm25`")


def _vector_index(subject: _Subject) -> Iterator[Finding]:
    check = subject.memory.retriever.vectors.check(whole=not subject.quick)
    if check.state is not IndexState.MISSING or subject.memory.stats().embedded:
        yield _judge_index("Vector index", check, "")


def _vectors(subject: _Subject) -> Iterator[Finding]:
    return compare_embedders(subject.memory)


def _judge_index(name: str, check: IndexCheck, hint: str) -> Finding:
    level = _LEVELS.get(check.state, Level.NOTE)
    reason = f" ({check.reason})" if check.reason else ""
    return Finding(
        level, AREA, f"{name}: {check.state.told}{reason}", "" if level is Level.OK else hint
    )


STAGES: tuple[tuple[Check[_Subject], ...], ...] = (
    (_place,),
    (_schema,),
    (_integrity,),
    (_contents,),
    (_left_out, _keyword_index, _vector_index, _vectors),
)
SERVER_STAGES: tuple[tuple[Check[_Subject], ...], ...] = (
    (_server,),
    (_integrity,),
    (_contents,),
    (_left_out, _vectors),
)
