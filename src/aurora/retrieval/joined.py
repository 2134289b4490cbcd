"""Several memories searched as one: the project's, the person's, and those of a workspace.

Row `r` of memory `n` is row `n << _BITS | r` of all of them. Term statistics are added up before a
chunk is scored, so that the answer equals that of one memory that holds everything. A single memory
is used as it is.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from datetime import datetime
from heapq import nsmallest
from itertools import chain
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from aurora.errors import AuroraError, EmbedderMismatchError, EmbeddingError
from aurora.quick_classes import NamedTuple, dataclass, replace
from aurora.signals.base import (
    KeywordScores,
    Question,
    RankedKeywordScores,
    RankedScores,
    SignalScores,
)
from aurora.signals.bm25 import BM25Signal
from aurora.signals.bm25_formula import BM25Parameters, weigh_terms
from aurora.signals.semantic import Embedders, MeaningSignal, SemanticSignal
from aurora.signals.vector_index import VectorIndex
from aurora.stores.base import (
    Definition,
    Embedder,
    Search,
    SearchedChunks,
    Store,
    TermCounts,
    Uses,
)
from aurora.text import query_terms
from aurora.types import Chunk, ChunkHistory, Criteria, Hit, Listener, Place

_BITS = 40  # of a row within its memory
_MASK = (1 << _BITS) - 1

T = TypeVar("T")
S = TypeVar("S", bound=RankedScores)


@dataclass(frozen=True, slots=True)
class Layer:
    """One memory of a search. Its results have its name, and the prefix before relative paths."""

    store: Store
    index_folder: Path
    embedders: Embedders | None = None
    name: str = ""
    prefix: str = ""


def _split(rows: Iterable[int]) -> Mapping[int, list[int]]:
    """Rows by memory, each as its own memory numbers it."""
    parts: defaultdict[int, list[int]] = defaultdict(list)
    for row in rows:
        parts[row >> _BITS].append(row & _MASK)
    return parts


def _merge(parts: Iterable[tuple[int, Mapping[int, T]]]) -> dict[int, T]:
    """What each memory has by row, by the row of all."""
    return {n << _BITS | row: value for n, values in parts for row, value in values.items()}


# What is read of the stores


class Stores:
    """What a search reads of its memories."""

    def __init__(self, layers: Sequence[Layer]) -> None:
        self._layers = layers
        self._stores = stores = [layer.store for layer in layers]
        is_single = len(stores) == 1
        self.chunks: SearchedChunks = stores[0].chunks if is_single else _Chunks(stores)
        self.search: Search = stores[0].search if is_single else _Search(stores)

    def reading_once(self) -> Stores:
        """The same for one search: several stages read the same chunks."""
        stores = Stores(self._layers)
        stores.chunks = _ReadOnce(self.chunks)
        return stores

    def generation(self) -> int:
        """A number that grows with every change of one of them."""
        return sum(store.generation() for store in self._stores)

    def hidden_rows(self) -> Set[int]:
        """The rows of files that a checkout has in another version."""
        if len(self._stores) == 1:
            return self._stores[0].checkouts.hidden_rows()
        return {
            n << _BITS | row
            for n, store in enumerate(self._stores)
            for row in store.checkouts.hidden_rows()
        }

    def owners(self, paths: Mapping[int, str]) -> dict[int, str]:
        """The name of another checkout, by row, for files that only others have."""
        owners: dict[int, str] = {}
        for n, rows in _split(paths).items():
            by_path = self._stores[n].checkouts.owners({paths[n << _BITS | row] for row in rows})
            for row in (n << _BITS | row for row in rows):
                if paths[row] in by_path:
                    owners[row] = by_path[paths[row]]
        return owners

    def name(self, row: int) -> str:
        """The name of the memory that a row belongs to."""
        return self._layers[row >> _BITS].name

    def placed(self, row: int, chunk: Chunk) -> Chunk:
        """A chunk with its path and id as the caller sees them."""
        prefix = self._layers[row >> _BITS].prefix
        if not prefix or not chunk.path or chunk.path.startswith("/"):
            return chunk
        return replace(chunk, path=prefix + chunk.path, id=prefix + chunk.id)

    def histories(self, ids: Mapping[int, str]) -> dict[int, ChunkHistory]:
        """The git histories of chunks, by row, as the ids are."""
        return self._by_row(ids, lambda store, wanted: store.chunks.get_histories(wanted))

    def accesses(self, ids: Mapping[int, str]) -> dict[int, tuple[datetime, ...]]:
        return self._by_row(ids, lambda store, wanted: store.chunks.get_accesses(wanted))

    def embedded(self, ids: Mapping[int, str]) -> frozenset[int]:
        """The rows that have a vector."""
        read = self._by_row(ids, lambda store, wanted: store.vectors.get_embeddings(wanted))
        return frozenset(read)

    def _by_row(
        self, ids: Mapping[int, str], read: Callable[[Store, list[str]], Mapping[str, T]]
    ) -> dict[int, T]:
        """Ids are unique only within a memory."""
        by_row: dict[int, T] = {}
        for n, rows in _split(ids).items():
            by_id = {ids[n << _BITS | row]: n << _BITS | row for row in rows}
            found = read(self._stores[n], list(by_id))
            by_row.update((by_id[id_], value) for id_, value in found.items())
        return by_row


class _Chunks:
    """`SearchedChunks` of several stores."""

    def __init__(self, stores: Sequence[Store]) -> None:
        self._stores = stores

    def get_rows(self, rows: Sequence[int]) -> Mapping[int, Chunk]:
        return _merge((n, self._stores[n].chunks.get_rows(r)) for n, r in _split(rows).items())

    def list_languages(self) -> list[str]:
        return sorted({name for store in self._stores for name in store.chunks.list_languages()})


class _ReadOnce:
    """`SearchedChunks` that keeps what it has read."""

    def __init__(self, chunks: SearchedChunks) -> None:
        self._chunks = chunks
        self._read: dict[int, Chunk | None] = {}

    def get_rows(self, rows: Sequence[int]) -> Mapping[int, Chunk]:
        if missing := [row for row in rows if row not in self._read]:
            self._read.update(dict.fromkeys(missing))
            self._read.update(self._chunks.get_rows(missing))
        return {row: chunk for row in rows if (chunk := self._read[row]) is not None}

    def list_languages(self) -> list[str]:
        return self._chunks.list_languages()


class _Search:
    """`Search` of several stores. Files and conversations of two memories are never the same."""

    def __init__(self, stores: Sequence[Store]) -> None:
        self._stores = stores

    def find_rows(self, criteria: Criteria) -> array[int]:
        rows = array("q")
        for n, store in enumerate(self._stores):
            rows.extend(n << _BITS | row for row in store.search.find_rows(criteria))
        return rows

    def find_text(self, text: str, *, limit: int) -> list[tuple[int, float]]:
        found = (
            (n << _BITS | row, score)
            for n, store in enumerate(self._stores)
            for row, score in store.search.find_text(text, limit=limit)
        )
        return nsmallest(limit, found, key=lambda pair: (-pair[1], pair[0]))

    def find_definitions(self, name: str, *, limit: int) -> list[Definition]:
        found = [
            definition._replace(row=n << _BITS | definition.row)
            for n, store in enumerate(self._stores)
            for definition in store.search.find_definitions(name, limit=limit)
        ]
        return sorted(found, key=lambda definition: definition.symbol is not None)[:limit]

    def iter_names(self) -> Iterator[str]:
        names = chain.from_iterable(store.search.iter_names() for store in self._stores)
        return iter(dict.fromkeys(names))

    def rows_created(self, start: datetime | None, end: datetime | None) -> Set[int]:
        return {
            n << _BITS | row
            for n, store in enumerate(self._stores)
            for row in store.search.rows_created(start, end)
        }

    def list_metadata(self, key: str) -> list[str]:
        return sorted({each for store in self._stores for each in store.search.list_metadata(key)})

    def dated_paths(self) -> Mapping[int, str]:
        return _merge((n, store.search.dated_paths()) for n, store in enumerate(self._stores))

    def get_places(self, rows: Sequence[int]) -> Mapping[int, Place]:
        return _merge((n, self._places(n, part)) for n, part in _split(rows).items())

    def _places(self, n: int, rows: Sequence[int]) -> Mapping[int, Place]:
        return {
            row: place._replace(
                home=place.home and f"{n}\0{place.home}",
                conversation=place.conversation and f"{n}\0{place.conversation}",
            )
            for row, place in self._stores[n].search.get_places(rows).items()
        }

    def get_uses(self, rows: Sequence[int]) -> Mapping[int, Uses]:
        return _merge(
            (n, self._stores[n].search.get_uses(part)) for n, part in _split(rows).items()
        )


# Scores


class JoinedScores(Generic[S]):
    """`SignalScores` of several memories, whose scores mean the same."""

    def __init__(self, parts: Mapping[int, S], errors: Sequence[AuroraError] = ()) -> None:
        """`errors` are those of memories that could not be scored."""
        self._parts, self.errors = parts, errors
        self._best: dict[int, list[int]] = {}

    @property
    def ceiling(self) -> float:
        return max((part.ceiling for part in self._parts.values()), default=1.0)

    def best(self, pool: int, *, among: Sequence[int] | None = None) -> list[int]:
        if among is None and pool in self._best:
            return self._best[pool]
        scored: list[tuple[float, int]] = []
        for n, part in self._parts.items():
            rows = part.best(pool, among=None if among is None else _within(n, among))
            scored += ((-hit.score, n << _BITS | hit.row) for hit in part.hits(rows))
        best = [row for _, row in nsmallest(pool, scored)]
        if among is None:
            self._best[pool] = best
        return best

    def hits(self, rows: Collection[int]) -> list[Hit]:
        hits = []
        for n, wanted in _split(rows).items():
            found = self._parts[n].hits(wanted) if n in self._parts else []
            scores = [hit.score for hit in found]
            others = [part.above(scores) for m, part in self._parts.items() if m != n]
            for hit, *before in zip(found, *others, strict=True):
                hits.append(Hit(n << _BITS | hit.row, hit.score, hit.rank + sum(before)))
        return hits


def _within(n: int, among: Sequence[int]) -> array[int]:
    """Those of ascending rows that belong to a memory, as it numbers them."""
    start, stop = (bisect_left(among, m << _BITS) for m in (n, n + 1))
    return array("q", (row & _MASK for row in among[start:stop]))


class JoinedKeywordScores(JoinedScores[RankedKeywordScores]):
    """`KeywordScores` of several memories."""

    def __init__(self, parts: Mapping[int, RankedKeywordScores], *, known: float) -> None:
        super().__init__(parts)
        self.known = known

    @property
    def is_empty(self) -> bool:
        return all(part.is_empty for part in self._parts.values())

    def terms(self, row: int) -> frozenset[str]:
        return self._parts[row >> _BITS].terms(row & _MASK)

    def has(self, row: int, term: str) -> bool:
        return self._parts[row >> _BITS].has(row & _MASK, term)

    def coverage(self, row: int) -> float:
        return self._parts[row >> _BITS].coverage(row & _MASK)


class CountingSignal(Protocol):
    """A keyword signal that can score by the statistics of more than its own memory."""

    @property
    def name(self) -> str: ...

    def count(self, question: Question) -> TermCounts:
        """The statistics of its own memory for the terms of a question."""

    def score(
        self, question: Question, counts: TermCounts | None = None
    ) -> RankedKeywordScores: ...


class LayerSignals(NamedTuple):
    """The signals of one memory that have indexes."""

    bm25: BM25Signal
    vectors: VectorIndex
    keyword: CountingSignal
    semantic: MeaningSignal | None


def layer_signals(
    layer: Layer, parameters: BM25Parameters, *, now: Callable[[], datetime], listen: Listener
) -> LayerSignals:
    store, folder, embedders = layer.store, layer.index_folder, layer.embedders
    bm25 = BM25Signal(store, folder / "bm25.idx", now=now, parameters=parameters, listen=listen)
    vectors = VectorIndex(store, folder / "vectors.idx", now=now, listen=listen)
    if store.ranking is None:
        semantic = None if embedders is None else SemanticSignal(vectors, embedders)
        return LayerSignals(bm25, vectors, bm25, semantic)
    from aurora.signals.server_ranking import server_signals  # noqa: PLC0415 - PostgreSQL

    ranked = server_signals(store.ranking, store.vectors, parameters, embedders)
    return LayerSignals(bm25, vectors, *ranked)


class JoinedKeywords:
    """Ranks by keyword in several memories, with the sums of their statistics."""

    name = "bm25"

    def __init__(self, signals: Sequence[CountingSignal], parameters: BM25Parameters) -> None:
        self._signals, self._parameters = signals, parameters

    def score(self, question: Question) -> KeywordScores:
        counts = [signal.count(question) for signal in self._signals]
        total = _sum(counts)
        parts = {
            n: signal.score(question, total)
            for n, signal in enumerate(self._signals)
            if counts[n].chunks
        }
        return JoinedKeywordScores(
            parts, known=weigh_terms(query_terms(question.text), total, self._parameters).known
        )


def _sum(counts: Sequence[TermCounts]) -> TermCounts:
    containing: defaultdict[str, int] = defaultdict(int)
    for part in counts:
        for term, chunks in part.containing.items():
            containing[term] += chunks
    return TermCounts(
        sum(part.chunks for part in counts), sum(part.tokens for part in counts), dict(containing)
    )


class JoinedSemantic:
    """Ranks by meaning in several memories. Cosines of one model need no statistics."""

    name = "semantic"

    def __init__(self, signals: Mapping[int, MeaningSignal]) -> None:
        self._signals = signals

    @property
    def reads_cjk(self) -> bool:
        return all(signal.reads_cjk for signal in self._signals.values())

    def knows(self, question: Question) -> bool:
        return any(signal.knows(question) for signal in self._signals.values())

    def mend(self) -> None:
        for signal in self._signals.values():
            signal.mend()

    def score(self, question: Question) -> SignalScores:
        """Raises the first error if no memory can be compared; otherwise all are kept."""
        vectors: dict[Embedder, Sequence[float]] = {}
        parts: dict[int, RankedScores] = {}
        errors: list[EmbeddingError | EmbedderMismatchError] = []
        for n, signal in self._signals.items():
            try:
                parts[n] = signal.score(question, vectors)
            except (EmbeddingError, EmbedderMismatchError) as exc:
                errors.append(exc)
        if errors and not parts:
            raise errors[0]
        return JoinedScores(parts, errors)
