"""One chunk by its id, by an ending of it that no other has, or by what results show of it.

The names most like what was asked, for a question that found nothing: typos, beginnings, parts.

Spelling does not count: names are compared as `text.fold_name` gives them.
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

_WORD = re.compile(r"[\w-]+")
_MOST_WORDS = 6  # each asks all names again; the longest are the ones worth it
_SHORTEST = 3  # letters: fewer are a part of half of all names
_TELLING = 6  # letters: so many in a row are no chance, wherever in a name they stand
_BEGINS, _CONTAINS = 0.2, 0.3  # as far away as one wrong letter in five, in three
_ONE_OF_SEVERAL = 1.0  # a name like all that was asked comes before one like a single word of it
# Where a part of an identifier starts: after `_` or `.`, at the S and the R of HTTPServerRequest.
_PART = r"(?-i:(?<![^\W_])|(?<![A-Z])(?=[A-Z])|(?=[A-Z][a-z]))"


def nearest_names(asked: str, names: Iterable[str], *, limit: int = 5) -> tuple[str, ...]:
    """The nearest first, then the shorter, then by the alphabet; none when nothing is near.

    Near is what takes few edits, begins as asked, or contains it. Of several words all joined
    are tried, then each alone.
    """
    known = list(names)
    folds = fold_names(known)
    distances: dict[str, float] = {}
    for form, handicap in _forms(asked):
        for place, distance in (*_alike(form, folds), *_holding(form, known, folds)):
            name = known[place]
            distances[name] = min(distances.get(name, 2.0), distance + handicap)
    found = ((distance, len(name), name) for name, distance in distances.items())
    return tuple(name for _, _, name in nsmallest(limit, found))


def edits(first: str, second: str, *, most: int) -> int:
    """Letters to add, drop, change or swap with a neighbour; `most` + 1 when it takes more.

    The optimal string alignment distance: Damerau and Levenshtein's, but nothing is edited twice.
    Only a band around the diagonal is worked out: O(length · most).
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


def _forms(asked: str) -> Iterator[tuple[str, float]]:
    """All words as one name; then, if there are several, the longest of them alone."""
    words = [fold for word in _WORD.findall(asked[: 10 * MAX_TOKEN]) if (fold := fold_name(word))]
    if 0 < len(whole := "".join(words)) <= MAX_TOKEN:
        yield whole, 0.0
    if len(words) > 1:
        fitting = {word for word in words if _says_enough(word) and len(word) <= MAX_TOKEN}
        for word in sorted(fitting, key=lambda word: (-len(word), word))[:_MOST_WORDS]:
            yield word, _ONE_OF_SEVERAL


def _alike(form: str, folds: Sequence[str]) -> Iterator[tuple[int, float]]:
    """Places of the names a few edits away, with the share of letters that are wrong."""
    most = _allowed(len(form))
    shortest, longest = len(form) - most, len(form) + most
    # An edit takes away or brings at most one letter: nearly all names end here. A word of three
    # letters with one changed is another word; it may have them swapped or doubled.
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


def _holding(form: str, names: Sequence[str], folds: Sequence[str]) -> Iterator[tuple[int, float]]:
    """Places of the names that begin so or have such a part."""
    if not _says_enough(form):
        return
    anywhere = len(form) >= _TELLING or has_cjk(form)
    part = re.compile(_PART + "[_ -]*".join(map(re.escape, form)), re.IGNORECASE)
    for place, fold in enumerate(folds):
        if form in fold:
            if fold.startswith(form):
                yield place, _BEGINS
            elif anywhere or part.search(names[place]):
                yield place, _CONTAINS


def _says_enough(form: str) -> bool:
    return len(form) >= _SHORTEST or has_cjk(form)


def _allowed(length: int) -> int:
    """Edits that leave a word of this length recognisable, and gibberish alone."""
    return 0 if length < 3 else 1 if length < 6 else 2


_CANDIDATES = 5  # ids named when one could mean several chunks
_COLONS = 10  # tried as the one between a file and a name


def find_chunk(store: Store, chunk_id: str) -> Chunk:
    found = store.chunks.get_chunks([chunk_id]) or store.chunks.get_chunks(
        [_complete(store, chunk_id)]
    )
    if not found:  # forgotten by another process a moment ago
        raise _not_found(chunk_id)
    return found[0]


def _complete(store: Store, ending: str) -> str:
    limit = _CANDIDATES + 1
    # Ids are written with `/` everywhere; on Windows people type the other one.
    candidates = (
        store.chunks.find_ids(ending, limit=limit)
        or store.chunks.find_ids(ending.replace("\\", "/"), limit=limit)
        or _shown_so(store, ending)
    )
    if not candidates:
        raise _not_found(ending)
    if len(candidates) > 1:
        shown = ", ".join(candidates[:_CANDIDATES])
        more = ", …" if len(candidates) > _CANDIDATES else ""
        raise ChunkNotFoundError(
            f"{ending!r} could be {shown}{more}", hint="name more of the id's beginning"
        )
    return candidates[0]


def _shown_so(store: Store, words: str) -> list[str]:
    """The ids of what results show as FILE:NAME: those of a log are made otherwise.

    A file's name and a heading may have a colon, too: the first at which both are known counts.
    """
    for at in islice((at for at, letter in enumerate(words) if letter == ":"), _COLONS):
        path, name = words[:at], words[at + 1 :]
        chunks = store.chunks.get_chunks(store.chunks.find_below(path)) if path else []
        ids = [one.id for one in chunks if (one.path, one.qualified_name) == (path, name)]
        if ids:
            return ids
    return []


def _not_found(chunk_id: str) -> ChunkNotFoundError:
    return ChunkNotFoundError(
        f"There is no chunk {chunk_id!r}",
        hint="an id is FILE:NAME as `aur mem search` shows them, such as app.py:main",
    )
