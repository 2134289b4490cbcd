"""Where the last session with an agent ended, in the working copies of a repository."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

from aurora.config.worktrees import names_of_checkouts
from aurora.session_facts import SESSION
from aurora.stores.base import Store
from aurora.types import Chunk, Criteria

_DAYS = (1, 7, 60)  # looked at one after the other, so that few chunks are read
_READ = 300  # the last stored chunks that are read where all are older
_ANSWERED, _EDITED = "\n\nAnswered: ", "\n\nEdited: "
_LEAST_TOLD = 20  # words of an answer that explains something
_STEP = 12  # words that an agent says before it uses a tool, at most
_QUESTION, _WORDS = 80, 150  # characters of the question, and of the answer


def find_last_exchange(store: Store, root: Path, now: datetime) -> Chunk | None:
    """The newest exchange of a session that began in a working copy, or in a folder of one.

    Sessions that another one started are left out: nobody asked them.
    """
    wanted = Criteria(sources=(SESSION,), projects=tuple(sorted(names_of_checkouts(root))))
    rows = store.search.find_rows(wanted)
    for days in _DAYS if rows else ():
        created = store.search.rows_created(now - timedelta(days=days), None)
        if newest := _newest(store, sorted(created & set(rows))):
            return newest
    return _newest(store, rows[-_READ:])


def find_last_command(store: Store, last: Chunk) -> Chunk | None:
    """The command that the session of an exchange ran last; those that only show something are not
    stored."""
    session = last.session.id if last.session else ""
    rows = store.search.find_rows(Criteria(metadata=((SESSION, session),)))
    chunks = store.chunks.get_rows(rows).items()
    runs = [
        (row, chunk) for row, chunk in chunks if chunk.session and chunk.session.form == "command"
    ]
    newest = max(runs, key=lambda run: (_seconds(run[1]), run[0]), default=None)
    return newest[1] if newest else None


def _newest(store: Store, rows: Sequence[int]) -> Chunk | None:
    chunks = store.chunks.get_rows(rows).values() if rows else ()
    own = (chunk for chunk in chunks if not (chunk.session and chunk.session.parent))
    exchanges = [chunk for chunk in own if has_question(chunk)]
    return max(exchanges, key=lambda chunk: (_seconds(chunk), chunk.id), default=None)


def has_question(chunk: Chunk) -> bool:
    """Whether it has the question of an exchange: the first piece, if there are several."""
    session = chunk.session
    is_exchange = session is not None and session.form == "exchange"
    return is_exchange and chunk.content.startswith("Asked: ")


def _seconds(chunk: Chunk) -> float:
    return chunk.created_at.timestamp() if chunk.created_at else 0.0


def exchange_text(chunk: Chunk) -> str:
    """The beginnings of the question and of the answer, on one line."""
    asked, answered = question_in(chunk), answer_in(chunk)
    if answered and chunk.session and chunk.session.title == asked:
        return f"answered: {answered}"  # the title is the question
    return f"asked: {asked}; answered: {answered}" if answered else f"asked: {asked}"


def question_in(chunk: Chunk) -> str:
    asked = chunk.content.partition(_ANSWERED)[0].partition(_EDITED)[0]
    return _start(asked.removeprefix("Asked: "), _QUESTION)


def answer_in(chunk: Chunk, most: int = _WORDS) -> str:
    """The beginning of the answer; empty if there was none."""
    return _start(_answer(chunk), most)


def explains(chunk: Chunk) -> bool:
    """Whether the answer of an exchange is more than `Done.`"""
    return len(_answer(chunk).split()) >= _LEAST_TOLD


def _answer(chunk: Chunk) -> str:
    """Without the short paragraphs before it, which an agent says between its steps."""
    paragraphs = chunk.content.partition(_ANSWERED)[2].partition(_EDITED)[0].split("\n\n")
    tells = (at for at, part in enumerate(paragraphs) if len(part.split()) > _STEP)
    return "\n\n".join(paragraphs[next(tells, 0) :])


def _start(text: str, most: int) -> str:
    words = " ".join(text.split())
    return words if len(words) <= most else words[:most].rpartition(" ")[0] + " …"
