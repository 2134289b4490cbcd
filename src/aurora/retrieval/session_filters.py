"""What a search says of its filters for sessions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from aurora.retrieval.lookup import nearest_names
from aurora.session_facts import SESSION
from aurora.stores.base import Search
from aurora.types import Criteria, Note


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
