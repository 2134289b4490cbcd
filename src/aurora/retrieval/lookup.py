"""Finding by name: one chunk by its id, and the names nearest to a query that found nothing.

`find_chunk` takes an id, FILE:LINE, FILE:NAME as results show it, a unique ending of an id, or the
id that an imported document had. `nearest_names` handles typos, beginnings and parts; it compares
names as `text.fold_name` returns them.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from heapq import nsmallest
from itertools import islice

from aurora.errors import ChunkNotFoundError
from aurora.lazy_patterns import lazy_pattern
from aurora.stores.base import Store
from aurora.text import MAX_TOKEN, fold_name, fold_names, has_cjk
from aurora.types import FOREIGN_ID, Chunk, Criteria

_CANDIDATES = 5  # ids shown when an ending fits several chunks
_COLONS = 10  # tried as the separator between a file and a name
_FILE_LINE = lazy_pattern(r"(.+?):([0-9]{1,9})(?::[0-9]+)?", re.DOTALL)

_WORD = lazy_pattern(r"[\w-]+")
_MOST_WORDS = 6  # the longest words of a query; each is compared with all names
_SHORTEST = 3  # letters: shorter words are part of half of all names
_TELLING = 6  # letters: a common run of this length is not a coincidence
_BEGINS, _CONTAINS = 0.2, 0.3  # distances: one wrong letter in five, in three
_ONE_OF_SEVERAL = 1.0  # a name like the whole query comes before a name like one of its words
# Where a part of an identifier starts: after `_` or `.`, at the S and the R of HTTPServerRequest.
_PART = r"(?-i:(?<![^\W_])|(?<![A-Z])(?=[A-Z])|(?=[A-Z][a-z]))"


def relative_path(path: str, here: str) -> str:
    """A stored path as seen from a folder; one of another file tree stays absolute."""
    if here in ("", "."):
        return path
    if posixpath.isabs(path) != posixpath.isabs(here):
        return path
    relative = posixpath.relpath(path, here)
    return path if posixpath.isabs(path) and relative.startswith("../") else relative


def relative_id(chunk: Chunk, here: str) -> str:
    """A chunk's id with its path as seen from a folder."""
    if not chunk.path or not chunk.id.startswith(chunk.path):
        return chunk.id
    return relative_path(chunk.path, here) + chunk.id.removeprefix(chunk.path)


def find_chunk(store: Store, text: str, *, here: str = ".") -> Chunk:
    """The chunk that a text names. Paths start at the folder `here`, or at the memory's root.

    An id comes before FILE:LINE, which is the smallest chunk around the line, and that before the
    ending of an id, or of a path with a line.
    """
    typed = text.replace("\\", "/")  # ids contain `/` on every system
    forms = dict.fromkeys((_joined(here, typed), text, typed))
    chunks = store.checkouts.own_versions(store.chunks.get_chunks(list(forms)))
    if not chunks:
        ids = (
            _find_line(store, forms)
            or _find_ending(store, forms)
            or _find_line_below(store, text)
            or _find_shown(store, forms)
            or _find_imported(store, text)
        )
        chunks = store.chunks.get_chunks(ids[: _CANDIDATES + 1])
        chunks = store.checkouts.own_versions(chunks)
        if len(chunks) > 1:
            shown = ", ".join(relative_id(chunk, here) for chunk in chunks[:_CANDIDATES])
            more = ", …" if len(chunks) > _CANDIDATES else ""
            hint = "name more of the id's beginning"
            raise ChunkNotFoundError(f"{text!r} could be {shown}{more}", hint=hint)
    if not chunks:
        raise _not_found(store, text, forms)
    return chunks[0]


def _joined(here: str, text: str) -> str:
    return posixpath.normpath(posixpath.join(here, text)) if text else text


def _find_line(store: Store, forms: Iterable[str]) -> list[str]:
    """The id of the smallest chunk around FILE:LINE, if there is one."""
    for path, line in filter(None, map(_read_line, forms)):
        around = [
            (lines.end - lines.start, id_)
            for id_, lines in store.chunks.iter_lines(path)
            if lines.start <= line <= lines.end
        ]
        if around:
            return [min(around)[1]]
    return []


def _find_line_below(store: Store, text: str) -> list[str]:
    """As `_find_line`, for a path without its first folders; an id for each file that fits."""
    if not (typed := _read_line(text)):
        return []
    ending = f"/{typed[0]}"
    paths = [path for path in store.chunks.file_states() if path.endswith(ending)]
    ids = (_find_line(store, [f"{path}:{typed[1]}"]) for path in paths[: _CANDIDATES + 1])
    return [id_ for found in ids for id_ in found]


def _read_line(text: str) -> tuple[str, int] | None:
    """Path and line of `a.py:12`, or of `a.py:12:5` as compilers write it."""
    match = _FILE_LINE.fullmatch(text)
    return (match[1], int(match[2])) if match else None


def _find_ending(store: Store, endings: Iterable[str]) -> list[str]:
    for ending in endings:
        if ids := store.chunks.find_ids(ending, limit=_CANDIDATES + 1):
            return ids
    return []


def _find_imported(store: Store, foreign_id: str) -> list[str]:
    """The ids of documents that had this id in another program: of each, the first piece."""
    criteria = Criteria(metadata=((FOREIGN_ID, foreign_id.lower()),))
    chunks = store.chunks.get_rows(store.search.find_rows(criteria)).values()
    return [chunk.id for chunk in chunks if chunk.metadata.get("part") == 1]


def _find_shown(store: Store, forms: Iterable[str]) -> list[str]:
    """The ids of chunks that results show as FILE:NAME; ids of logs and symbols have another form.

    Both names may contain colons: the first colon with a known file and name counts.
    """
    for text in forms:
        for at in islice((at for at, letter in enumerate(text) if letter == ":"), _COLONS):
            path, name = text[:at], text[at + 1 :]
            below = store.chunks.get_chunks(store.chunks.find_below(path)) if path else []
            chunks = [chunk for chunk in below if chunk.path == path]
            ids = [chunk.id for chunk in chunks if chunk.qualified_name == name] or [
                chunk.id for chunk in chunks if name in {symbol.name for symbol in chunk.symbols}
            ]
            if ids:
                return ids
    return []


def _not_found(store: Store, text: str, forms: Iterable[str]) -> ChunkNotFoundError:
    if not (typed := _read_line(text)):
        return ChunkNotFoundError(
            f"There is no chunk {text!r}",
            hint="an id is FILE:NAME as `aur mem search` shows them, such as app.py:main; "
            "FILE:LINE works, too",
        )
    file, line = typed
    places = filter(None, map(_read_line, forms))
    known = [lines for path, _ in places for _, lines in store.chunks.iter_lines(path)]
    if not known:
        return ChunkNotFoundError(
            f"There is no chunk {text!r}, and no file {file} in the memory",
            hint="name a file as results show it; `aur mem index` reads new files",
        )
    last = max(lines.end for lines in known)
    if line > last:
        return ChunkNotFoundError(
            f"There is no line {line} of {file} in the memory: it has the lines 1-{last}",
            hint="name one of them; if the file has grown, `aur mem index` reads it again",
        )
    near = min(known, key=lambda lines: max(lines.start - line, line - lines.end))
    return ChunkNotFoundError(
        f"No chunk has line {line} of {file}",
        hint=f"the nearest has the lines {near.start}-{near.end}: {file}:{near.start}",
    )


def nearest_names(query: str, names: Iterable[str], *, limit: int = 5) -> tuple[str, ...]:
    """As `Names.nearest`."""
    return Names(names).nearest(query, limit=limit)


class Names:
    """Names to be compared with queries."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = list(names)
        self._folds = fold_names(self._names)

    def nearest(self, query: str, *, limit: int = 5) -> tuple[str, ...]:
        """Names a few edits away, or that begin with or contain the query; the nearest first.

        Of several words, all of them joined are tried, then each alone. Equally near names are
        ordered by length, then by the alphabet.
        """
        names, folds = self._names, self._folds
        distances: dict[str, float] = {}
        for form, handicap in _forms(query):
            for place, distance in (*_alike(form, folds), *_containing(form, names, folds)):
                name = names[place]
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
