"""The semantic signal: the cosine of the question's vector and each chunk's vector.

Raw scores lie in (0, 1]; a chunk at a right angle or beyond has no score. `dense_scores` multiplies
the whole matrix with numpy and computes the best again in double precision. Without numpy, plain
Python computes every cosine. Both ways return the same numbers (seed 001).

The vectors of a memory are in one index file, in float32. It is derived from the store: in an
outdated file, unchanged vectors are copied, and new ones are converted from the store's half
precision.
"""

from __future__ import annotations

import math
import threading
from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from aurora.embeddings.base import EmbeddingProvider
from aurora.errors import (
    AuroraError,
    EmbeddingError,
    IndexFileError,
    IndexVersionError,
    NoVectorsError,
)
from aurora.packing import VECTOR_WIDTH, pack_vector, unit_vector, unpack_vector
from aurora.signals.base import Question, RankedScores, SparseScores, import_dense_scores
from aurora.signals.derived_index import DerivedIndex
from aurora.signals.index_file import Array, Arrays, IndexFile, MemoryArrays, write_index_file
from aurora.stores.base import Embedder
from aurora.types import Json

if TYPE_CHECKING:
    from aurora.signals.dense_scores import Matrix  # imports numpy

DIGITS = 9  # of a cosine: sums in another order differ only in the sixteenth
FAINTEST = 1e-4  # smaller cosines are right angles, as far as float32 can tell
SHORT = 64  # first numbers of a vector, by which the nearest are looked for among many
_LAYOUT = 3  # increased when an index has other arrays; older files are then rebuilt
_ARRAYS = ("rows", "generations", "matrix")
_NO_EMBEDDER = Embedder("", 1, "")  # of a memory without vectors

# Returns the provider that embeds questions for vectors of an embedder, or raises `AuroraError`.
Embedders = Callable[[Embedder], EmbeddingProvider]
Parts = dict[int, tuple[int, bytes | memoryview]]  # generation and float32 numbers, by row


class Vectors:
    """Ascending rows with their generations and their vectors, all made by one embedder."""

    def __init__(self, arrays: Arrays, facts: Mapping[str, Json], embedder: Embedder) -> None:
        self._arrays, self.facts, self.embedder = arrays, facts, embedder

    @property
    def dimension(self) -> int:
        return self.embedder.dimension

    def __len__(self) -> int:
        return self._arrays.size("rows")

    def check(self) -> None:
        """Raise `IndexFileError` if the mapped file was truncated."""
        self._arrays.read("rows", 0, 0)

    @property
    def rows(self) -> Array:
        return self._arrays.read("rows", 0, len(self))

    def generations(self) -> dict[int, tuple[int, int]]:
        """Row → place and generation."""
        generations = self._arrays.read("generations", 0, len(self)).tolist()
        places = enumerate(zip(self.rows.tolist(), generations, strict=True))
        return {row: (place, generation) for place, (row, generation) in places}

    def matrix(self) -> Array:
        """All vectors, one after the other: float32, `dimension` numbers each."""
        return self._arrays.read("matrix", 0, self._arrays.size("matrix"))

    @property
    def is_shortened(self) -> bool:
        return bool(self.facts.get("short"))

    def short(self) -> Array:
        """The first numbers of all vectors, scaled to length 1."""
        return self._arrays.read("short", 0, self._arrays.size("short"))

    def unchecked(self) -> Array:
        """As `matrix`. `check_places` comes before a vector of it is used."""
        return self._arrays.unchecked("matrix")

    def check_places(self, places: Sequence[int]) -> None:
        self._arrays.check_groups("matrix", places, self.dimension)

    def vector(self, place: int) -> Array:
        return self._arrays.read("matrix", place * self.dimension, (place + 1) * self.dimension)

    def save_index(self, path: Path, facts: Mapping[str, Json]) -> None:
        names = (*_ARRAYS, "short") if self.is_shortened else _ARRAYS
        arrays = {name: self._arrays.read(name, 0, self._arrays.size(name)) for name in names}
        own = {"layout": _LAYOUT, "short": self.facts.get("short", 0)}
        self.facts = {**facts, **own, **embedder_facts(self.embedder)}
        write_index_file(path, kind="vectors", facts=self.facts, arrays=arrays)


def join_vectors(parts: Parts, embedder: Embedder) -> Vectors:
    """Vectors of (generation, float32 numbers) by row."""
    rows = sorted(parts)
    arrays: dict[str, Array] = {
        "rows": array("q", rows),
        "generations": array("q", (parts[row][0] for row in rows)),
        "matrix": memoryview(b"".join(parts[row][1] for row in rows)).cast("f"),
    }
    numpy = import_dense_scores()
    short = numpy and numpy.shorten(arrays["matrix"], embedder.dimension)
    if short is None:
        return Vectors(MemoryArrays(arrays), {}, embedder)
    return Vectors(MemoryArrays(arrays | {"short": short}), {"short": SHORT}, embedder)


def open_vectors_file(path: Path) -> IndexFile:
    """A saved index; raises `IndexVersionError` when another version made it."""
    file = IndexFile(path, kind="vectors")
    dimension = file.facts.get("dimension")
    if file.facts.get("layout") != _LAYOUT or type(dimension) is not int:
        raise IndexVersionError(f"{path} was made by another version of Aurora")
    sizes, codes = ([of(name) for name in _ARRAYS] for of in (file.size, file.code))
    has_types = {"f", "d"}.isdisjoint(codes[:2]) and codes[2] == "f"
    if not has_types or dimension < 1 or sizes != [sizes[0], sizes[0], sizes[0] * dimension]:
        raise IndexFileError(f"{path} has arrays that do not fit each other")
    if file.facts.get("short") and (file.code("short"), file.size("short")) != (
        "f",
        sizes[0] * SHORT,
    ):
        raise IndexFileError(f"{path} has shortened vectors that do not fit the others")
    return file


def vectors_in(file: IndexFile) -> Vectors:
    name, dimension, fingerprint = (str(file.facts.get(fact)) for fact in embedder_facts())
    return Vectors(file, file.facts, Embedder(name, int(dimension), fingerprint))


class VectorIndex(DerivedIndex[Vectors]):
    """The vectors that one embedder made of a store's chunks."""

    title = "vector index"

    def _open_file(self) -> IndexFile:
        return open_vectors_file(self._path)

    def _load(self) -> Vectors:
        return vectors_in(self._open_file())

    def _origin(self) -> dict[str, Json]:
        return {"store": self._store.identity, **embedder_facts(self._owner())}

    def _owner(self) -> Embedder:
        return self._store.vectors.embedder() or _NO_EMBEDDER

    def _merge(self, base: Vectors) -> Vectors:
        """Copy unchanged vectors from the index and read only the new ones from the store."""
        revisions, indexed = self._store.vectors.vector_revisions(), base.generations()
        matrix, width = memoryview(base.matrix().tobytes()), 4 * base.dimension  # float32
        kept: Parts = {
            row: (generation, matrix[width * indexed[row][0] :][:width])
            for row, generation in revisions.items()
            if row in indexed and indexed[row][1] == generation
        }
        new = [row for row in revisions if row not in kept]
        return self._read_store(base.embedder, kept, new) or self._make()

    def _make(self) -> Vectors:
        while True:
            vectors = self._read_store(self._owner(), {}, None)
            if vectors is not None:
                return vectors

    def _read_store(self, owner: Embedder, parts: Parts, rows: list[int] | None) -> Vectors | None:
        """Add the store's vectors to `parts`. None when the embedder changed meanwhile: the
        vectors may then be of both."""
        for revision, packed in self._store.vectors.iter_vectors(rows):
            if len(packed) == VECTOR_WIDTH * owner.dimension:
                # Float32 in the machine's own byte order.
                numbers = array("f", unpack_vector(packed)).tobytes()
                parts[revision.row] = (revision.generation, numbers)
        return join_vectors(parts, owner) if owner == self._owner() else None

    def _difference(self, index: Vectors) -> str:
        if not len(index):
            return "detected the first vectors"
        is_other = index.embedder != self._owner()
        return "vectors of another model" if is_other else "vectors of other chunks"


def embedder_facts(embedder: Embedder = _NO_EMBEDDER) -> dict[str, Json]:
    return {
        "embedder": embedder.name,
        "dimension": embedder.dimension,
        "fingerprint": embedder.fingerprint,
    }


class MeaningSignal(ABC):
    """Embeds questions with the model that embedded the chunks."""

    name = "semantic"

    def __init__(self, embedders: Embedders) -> None:
        self._embedders = embedders
        self._loaded: EmbeddingProvider | None = None
        self._loading = threading.Lock()

    @abstractmethod
    def _owner(self) -> Embedder | None:
        """The embedder of the memory's vectors; None while there are none."""

    @property
    def reads_cjk(self) -> bool:
        """False when the model knows little of CJK. True while there are no vectors."""
        return bool(getattr(self._provider(), "reads_cjk", True))

    def knows(self, question: Question) -> bool:
        """False when the model knows no word of the question. True while there are no vectors."""
        knows = getattr(self._provider(), "knows", None)
        return knows is None or bool(knows(question.text))

    @abstractmethod
    def score(
        self, question: Question, vectors: dict[Embedder, Sequence[float]] | None = None
    ) -> RankedScores:
        """The cosines. `vectors` keeps the question's vectors for the next memory.

        Raises `EmbeddingError` without vectors of chunks or without one of the question.
        """

    def mend(self) -> None:
        """Build a damaged index again."""
        return

    def _provider(self) -> EmbeddingProvider | None:
        owner = self._owner()
        return None if owner is None else self._embedders(owner)

    def _embed(
        self,
        question: Question,
        owner: Embedder | None,
        vectors: dict[Embedder, Sequence[float]] | None,
    ) -> Sequence[float]:
        """The question's vector, rounded as the stored vectors are. Raises `EmbeddingError`."""
        if owner is None:
            raise NoVectorsError("No chunk has a vector yet", hint="make them with `aur mem index`")
        vectors = {} if vectors is None else vectors
        if owner not in vectors:
            vectors[owner] = self._embed_for(question, owner)
        return vectors[owner]

    def _embed_for(self, question: Question, owner: Embedder) -> Sequence[float]:
        provider = self._embedders(owner)
        try:
            numbers = self._embed_query(provider, question.text)
            model = Embedder(provider.name, provider.dimension, provider.fingerprint)
        except AuroraError:
            raise
        except Exception as exc:  # a provider may raise anything
            raise EmbeddingError(f"The question could not be embedded: {exc}") from exc
        owner.require(model)
        if len(numbers) != model.dimension or not all(map(math.isfinite, numbers)):
            raise EmbeddingError(
                f"{model.name} did not return a vector of {model.dimension} finite numbers"
            )
        vector = unpack_vector(pack_vector(unit_vector(numbers)))
        if not any(vector):
            raise EmbeddingError(f"{model.name} knows none of these words")
        return vector

    def _embed_query(self, provider: EmbeddingProvider, text: str) -> list[float]:
        """The first call loads the model, once for all threads; other threads wait for it."""
        if self._loaded is provider:
            return list(map(float, provider.embed_query(text)))
        with self._loading:
            numbers = list(map(float, provider.embed_query(text)))
            self._loaded = provider
            return numbers


class SemanticSignal(MeaningSignal):
    """Ranks by meaning, with the vectors of one memory and the model that embedded them."""

    def __init__(self, index: VectorIndex, embedders: Embedders) -> None:
        super().__init__(embedders)
        self._index = index
        self._matrix: tuple[Vectors, Matrix] | None = None
        self._lock = threading.Lock()

    def _owner(self) -> Embedder | None:
        vectors = self._index.usable()
        return vectors.embedder if vectors is not None and len(vectors) else None

    def score(
        self, question: Question, vectors: dict[Embedder, Sequence[float]] | None = None
    ) -> RankedScores:
        index = self._index.usable()
        if index is None or not len(index):
            raise NoVectorsError("No chunk has a vector yet", hint="make them with `aur mem index`")
        vector = self._embed(question, index.embedder, vectors)
        try:
            return self._compare(index, vector)
        except IndexFileError as exc:  # a damaged page is detected when it is first read
            return self._compare(self._index.mend(index, exc), vector)

    def mend(self) -> None:
        vectors = self._index.usable()
        if vectors is None:
            return
        try:
            vectors.matrix()
        except IndexFileError as exc:
            self._index.mend(vectors, exc)

    def _compare(self, vectors: Vectors, vector: Sequence[float]) -> RankedScores:
        vectors.check()
        numpy = import_dense_scores()
        if numpy is None:
            return compare_one_by_one(vectors, vector)
        with self._lock:
            if self._matrix is None or self._matrix[0] is not vectors:
                self._matrix = (vectors, numpy.Matrix(vectors))
            matrix = self._matrix[1]
        return matrix.compare(vector)


def compare_one_by_one(vectors: Vectors, vector: Sequence[float]) -> SparseScores:
    """Every cosine in plain Python."""
    rows = enumerate(vectors.rows.tolist())
    cosines = {row: cosine(vectors.vector(place).tolist(), vector) for place, row in rows}
    return SparseScores({row: score for row, score in cosines.items() if score >= FAINTEST})


def cosine(first: Sequence[float], second: Sequence[float]) -> float:
    product = math.fsum(a * b for a, b in zip(first, second, strict=True))
    lengths = [
        math.sqrt(math.fsum(value * value for value in vector)) for vector in (first, second)
    ]
    return round(product / (lengths[0] * lengths[1] or 1.0), DIGITS)
