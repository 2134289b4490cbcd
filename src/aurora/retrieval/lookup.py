"""Finding by name: one chunk by its id, and the names nearest to a query that found nothing.

`find_chunk` takes an id, a unique ending of an id, or FILE:NAME as results show it. `nearest_names`
handles typos, beginnings and parts; it compares names as `text.fold_name` returns them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from heapq import nsmallest
from itertools import islice

from aurora.errors import ChunkNotFoundError
from aurora.stores.base import Store
from aurora.text import MAX_TOKEN, fold_name, fold_names, has_cjk
from aurora.types import Chunk

_CANDIDATES = 5  # ids shown when an ending fits several chunks
_COLONS = 10  # tried as the separator between a file and a name

_WORD = re.compile(r"[\w-]+")
_MOST_WORDS = 6  # the longest words of a query; each is compared with all names
_SHORTEST = 3  # letters: shorter words are part of half of all names
_TELLING = 6  # letters: a common run of this length is not a coincidence
_BEGINS, _CONTAINS = 0.2, 0.3  # distances: one wrong letter in five, in three
_ONE_OF_SEVERAL = 1.0  # a name like the whole query comes before a name like one of its words
# Where a part of an identifier starts: after `_` or `.`, at the S and the R of HTTPServerRequest.
_PART = r"(?-i:(?<![^\W_])|(?<![A-Z])(?=[A-Z])|(?=[A-Z][a-z]))"


def find_chunk(store: Store, chunk_id: str) -> Chunk:
    chunks = store.chunks.get_chunks([chunk_id]) or store.chunks.get_chunks(
        [_complete(store, chunk_id)]
    )
    if not chunks:  # deleted by another process meanwhile
        raise _not_found(chunk_id)
    return chunks[0]


def _complete(store: Store, ending: str) -> str:
    """The only id with this ending."""
    limit = _CANDIDATES + 1
    # Ids contain `/` on every system; on Windows a user may type backslashes.
    ids = (
        store.chunks.find_ids(ending, limit=limit)
        or store.chunks.find_ids(ending.replace("\\", "/"), limit=limit)
        or _find_shown(store, ending)
    )
    if not ids:
        raise _not_found(ending)
    if len(ids) > 1:
        shown = ", ".join(ids[:_CANDIDATES])
        more = ", …" if len(ids) > _CANDIDATES else ""
        raise ChunkNotFoundError(
            f"{ending!r} could be {shown}{more}", hint="name more of the id's beginning"
        )
    return ids[0]


def _find_shown(store: Store, text: str) -> list[str]:
    """The ids of chunks that results show as FILE:NAME; ids of logs have another form.

    Both names may contain colons: the first colon with a known file and name counts.
    """
    for at in islice((at for at, letter in enumerate(text) if letter == ":"), _COLONS):
        path, name = text[:at], text[at + 1 :]
        chunks = store.chunks.get_chunks(store.chunks.find_below(path)) if path else []
        ids = [chunk.id for chunk in chunks if (chunk.path, chunk.qualified_name) == (path, name)]
        if ids:
            return ids
    return []


def _not_found(chunk_id: str) -> ChunkNotFoundError:
    return ChunkNotFoundError(
        f"There is no chunk {chunk_id!r}",
        hint="an id is FILE:NAME as `aur mem search` shows them, such as app.py:main",
    )


def nearest_names(query: str, names: Iterable[str], *, limit: int = 5) -> tuple[str, ...]:
    """Names a few edits away, or that begin with or contain the query; the nearest first.

    Of several words, all of them joined are tried, then each alone. Equally near names are ordered
    by length, then by the alphabet.
    """
    all_names = list(names)
    folds = fold_names(all_names)
    distances: dict[str, float] = {}
    for form, handicap in _forms(query):
        for place, distance in (*_alike(form, folds), *_containing(form, all_names, folds)):
            name = all_names[place]
            distances[name] = min(distances.get(name, 2.0), distance + handicap)
    near = ((distance, len(name), name) for name, distance in distances.items())
    return tuple(name for _, _, name in nsmallest(limit, near))


def _forms(query: str) -> Iterator[tuple[str, float]]:
    """All words as one name; then, if there are several, the longest of them alone."""
    words = [fold for word in _WORD.findall(query[: 10 * MAX_TOKEN]) if (fold := fold_name(word))]
    if 0 < len(whole := "".join(words)) <= MAX_TOKEN:
        yield whole, 0.0
    if len(words) > 1:
        fitting = {word for word in words if _is_telling(word) and len(word) <= MAX_TOKEN}
        for word in sorted(fitting, key=lambda word: (-len(word), word))[:_MOST_WORDS]:
            yield word, _ONE_OF_SEVERAL


def _alike(form: str, folds: Sequence[str]) -> Iterator[tuple[int, float]]:
    """Places of the names a few edits away, with the share of wrong letters."""
    most = 0 if len(form) < 3 else 1 if len(form) < 6 else 2  # edits that keep a word recognisable
    shortest, longest = len(form) - most, len(form) + most
    # An edit removes or adds at most one letter: this excludes nearly all names. A word of three
    # letters with one changed is another word; its letters may only be swapped or doubled.
    strange = most if len(form) > 3 else 0
    letters = frozenset(form)
    for place, fold in enumerate(folds):
        if (
            shortest <= len(fold) <= longest
            and len(letters.difference(fold)) <= strange
            and len(frozenset(fold).difference(letters)) <= strange
            and (count := edits(form, fold, most=most)) <= most
        ):
            yield place, count / len(form)


def _containing(
    form: str, names: Sequence[str], folds: Sequence[str]
) -> Iterator[tuple[int, float]]:
    """Places of the names that begin with the form, or have it as a part."""
    if not _is_telling(form):
        return
    anywhere = len(form) >= _TELLING or has_cjk(form)
    part = re.compile(_PART + "[_ -]*".join(map(re.escape, form)), re.IGNORECASE)
    for place, fold in enumerate(folds):
        if form in fold:
            if fold.startswith(form):
                yield place, _BEGINS
            elif anywhere or part.search(names[place]):
                yield place, _CONTAINS


def _is_telling(form: str) -> bool:
    return len(form) >= _SHORTEST or has_cjk(form)


def edits(first: str, second: str, *, most: int) -> int:
    """Letters to add, drop, change or swap with a neighbour; `most` + 1 when it takes more.

    This is the optimal string alignment distance: Damerau and Levenshtein's, but no part is edited
    twice. Only a band around the diagonal is computed: O(length · most).
    """
    if abs(len(first) - len(second)) > most:
        return most + 1
    two_up: list[int] = []
    above = list(range(len(second) + 1))
    for i, letter in enumerate(first, 1):
        start, end = max(1, i - most), min(len(second), i + most)
        row = [most + 1] * (len(second) + 1)
        row[0] = i
        for j in range(start, end + 1):
            cost = min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (letter != second[j - 1]))
            if i > 1 and j > 1 and letter == second[j - 2] and first[i - 2] == second[j - 1]:
                cost = min(cost, two_up[j - 2] + 1)
            row[j] = cost
        if min(row[start - 1 : end + 1]) > most:
            return most + 1
        two_up, above = above, row
    return min(above[-1], most + 1)
