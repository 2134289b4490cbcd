"""What a search says of its filters for sessions, and which talk is of the time of a question.

Talk is what sessions and conversation logs have. Code and documents are of no time: a question
about last week may be about code that is older.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import filterfalse

from aurora.retrieval.lookup import nearest_names
from aurora.retrieval.time_spans import TimeSpan
from aurora.session_facts import SESSION, TALK
from aurora.stores.base import Search
from aurora.types import Criteria, Note, SearchResult

_TALK = Criteria(sources=TALK)
_FITS = 0.1  # confidence: talk about something else has 0.03 to 0.08


def without_other_times(
    span: TimeSpan,
    eligible: Sequence[int] | None,
    find: Callable[[Criteria], Sequence[int]],
    search: Search,
) -> Sequence[int] | None:
    """The rows that may be results, but for talk of another time. `find` returns the rows of a
    filter, from a cache."""
    talk = find(_TALK)
    outside = set(talk).difference(search.rows_created(span.start, span.end)) if talk else ()
    if not outside:
        return eligible
    rows = find(Criteria()) if eligible is None else eligible
    return array("q", filterfalse(outside.__contains__, rows))


def fits_talk(result: SearchResult) -> bool:
    """Whether a result is talk about the question, and not only the best of its time."""
    return result.chunk.is_talk and result.score >= _FITS


def note_span(span: TimeSpan, found: Iterable[SearchResult], *, fits: bool) -> Iterator[Note]:
    """What a search did with the time of a question; nothing where no talk is shown."""
    if fits:
        yield Note(f'"{span.words}": of sessions and conversations only those of {span.text}')
    elif any(result.chunk.is_talk for result in found):
        yield Note(
            f'"{span.words}": no session or conversation of {span.text} fits, so those of other '
            "times are shown"
        )


def note_sessions(
    filters: Iterable[Criteria], find: Callable[[Criteria], object], search: Search
) -> Iterator[Note]:
    """Notes on agents, branches and sessions that no chunk has, and on beginnings of several ids.

    `find` returns the rows of a filter, from a cache.
    """
    for criteria in filters:
        wanted = {"agent": criteria.agents, "branch": criteria.branches}
        for key, value in ((key, value) for key, values in wanted.items() for value in values):
            if not find(Criteria(metadata=((key, value),))):
                yield _unknown(search, key, value)
        for session in criteria.sessions:
            if not find(Criteria(metadata=((SESSION, session),))):
                yield from _note_beginning(search, session)


def _note_beginning(search: Search, start: str) -> Iterator[Note]:
    ids = [id_ for id_ in search.list_metadata(SESSION) if start and id_.startswith(start)]
    if not ids:
        yield _unknown(search, SESSION, start)
    elif len(ids) > 1:
        yield Note(f"{len(ids):,} sessions begin with {start!r}: all of them were searched")


def _unknown(search: Search, key: str, value: str) -> Note:
    near = nearest_names(value, search.list_metadata(key), limit=1)
    then = f": did you mean {near[0]}?" if near else ""
    return Note(f"No chunk has the {key} {value!r}{then}", warning=True)
