"""A search of several memories answers as one memory that holds everything."""

from __future__ import annotations

import os
import random
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from itertools import chain, cycle
from pathlib import Path

import pytest

from aurora.embeddings.base import EmbeddingProvider
from aurora.indexing.embedding import embed_missing
from aurora.indexing.indexer import index_files
from aurora.indexing.reader import scan
from aurora.retrieval.config import HybridConfig
from aurora.retrieval.joined import Layer
from aurora.retrieval.retriever import HybridRetriever
from aurora.stores.base import Embedder, Record, Store
from aurora.stores.postgres.store import PostgresStore
from aurora.stores.sqlite.store import SQLiteStore
from aurora.types import Criteria, Kind, Mode, Query, SearchResults
from tests.builders import NOW, make_chunk
from tests.embedders import WordsProvider
from tests.retrieval.meaning import index_folder

SOURCE = Path(__file__).parents[2]
QUESTIONS = (
    "what to do before the ranking of a filter is merged",
    "BM25Scorer",
    "where is the score of a chunk computed",
    "merge changed documents into the index",
    "rank rows by cosine",
    "HybridRetriever.retrieve",
    "frozen dataclass of weights",
    "how much does a filter change the score",
    "xylophone",
)
LESSONS = (
    "Rank before you merge: a filter after the ranking is cheaper.",
    "Sort the rows by cosine only once.",
    "Water the plants on Monday.",
)
FILTERS = (Criteria(), Criteria(kinds=(Kind.METHOD,)), Criteria(paths=("src/**",)))


@pytest.fixture(scope="module")
def provider() -> EmbeddingProvider:
    return WordsProvider(dimension=256)


@pytest.fixture(scope="module")
def records(
    tmp_path_factory: pytest.TempPathFactory, provider: EmbeddingProvider
) -> Sequence[Record]:
    """The chunks of a part of this repository, with vectors."""
    store = SQLiteStore(tmp_path_factory.mktemp("corpus") / "memory.db")
    folders = [SOURCE / "src/aurora" / name for name in ("signals", "fusion")]
    files = scan(*folders, logs=Path("/nonexistent"))
    index_files(store, SOURCE, files)
    lessons = [
        make_chunk(text, "", text[:9], id=f"lesson-{n}", kind=Kind.REASONING, lines=None)
        for n, text in enumerate(LESSONS)
    ]
    store.chunks.put_chunks(lessons)
    embed_missing(store, provider)
    read = list(store.maintenance.iter_records())
    store.close()
    return read


SPLITS = int(os.environ.get("AURORA_SPLITS", "3"))  # `make stress` tries 200


def put(store: Store, records: Iterable[Record]) -> Store:
    words = WordsProvider(dimension=256)
    embedder = Embedder(words.name, words.dimension, words.fingerprint)
    store.maintenance.put_records(records, embedder=embedder)
    return store


def split(records: Sequence[Record], parts: int, seed: int) -> list[list[Record]]:
    """Files go whole into one memory, as they do in life."""
    chance = random.Random(seed)  # noqa: S311 - not for secrets
    part_of = {
        path: chance.randrange(parts) for path in dict.fromkeys(r.chunk.path for r in records)
    }
    return [[r for r in records if part_of[r.chunk.path] == part] for part in range(parts)]


def retriever(stores: Sequence[Store], mode: Mode) -> HybridRetriever:
    words = WordsProvider(dimension=256)
    first, *others = (
        Layer(store, index_folder(store), lambda _: words, f"memory {n}")
        for n, store in enumerate(stores)
    )
    return HybridRetriever(
        first.store,
        HybridConfig(mode=mode, min_score=0.0),
        index_folder=first.index_folder,
        now=lambda: NOW,
        embedders=first.embedders,
        name=first.name,
        others=others,
    )


def shown(answer: SearchResults) -> list[tuple[str, float]]:
    return [(result.chunk_id, result.score) for result in answer.results]


def assert_same(parts: Sequence[Store], whole: Store) -> None:
    """The same rows with the same scores; rows of one score may change places, because a server
    adds in double precision."""
    for mode in Mode:
        joined, merged = retriever(parts, mode), retriever([whole], mode)
        for question, criteria in zip(QUESTIONS, cycle(FILTERS), strict=False):
            query = Query(question, 20, criteria=criteria)
            one, other = joined.retrieve(query), merged.retrieve(query)
            mine, its = dict(shown(one)), dict(shown(other))
            assert list(mine.values()) == pytest.approx(list(its.values()), abs=1e-6)
            last = min(its.values(), default=0.0)
            assert mine == pytest.approx({id_: its.get(id_, last) for id_ in mine}, abs=1e-6)
            assert one.signals == other.signals
            assert len(one.notes) == len(other.notes)


def test_the_answer_of_several_files_is_that_of_one(
    records: Sequence[Record], tmp_path: Path
) -> None:
    for seed in range(SPLITS):
        parts = split(records, 2 + seed % 4, seed)
        with ExitStack() as stack:
            folder = tmp_path / str(seed)
            stores = [
                put(SQLiteStore(folder / f"{n}/memory.db"), part)
                for n, part in enumerate([*parts, list(chain(*parts))])
            ]
            for store in stores:
                stack.callback(store.close)
            assert_same(stores[:-1], stores[-1])


def test_the_answer_of_a_server_and_files_is_that_of_one(
    records: Sequence[Record], tmp_path: Path, memory_url: str
) -> None:
    parts = split(records, 3, 7)
    with ExitStack() as stack:
        stores = [
            put(PostgresStore.open(memory_url), parts[0]),
            put(SQLiteStore(tmp_path / "1/memory.db"), parts[1]),
            put(SQLiteStore(tmp_path / "2/memory.db"), parts[2]),
            put(SQLiteStore(tmp_path / "all/memory.db"), list(chain(*parts))),
        ]
        for store in stores:
            stack.callback(store.close)
        assert_same(stores[:-1], stores[-1])


def test_each_result_names_its_memory_and_the_same_file_of_two_is_two(tmp_path: Path) -> None:
    stores = [SQLiteStore(tmp_path / f"{n}/memory.db") for n in range(2)]
    texts = ("def load_settings(): return yaml.load(open(PATH))", "class load_settings: url = None")
    for text, store in zip(texts, stores, strict=True):
        store.chunks.put_chunks([make_chunk(text, "src/app.py", "load_settings")])
        store.chunks.record_access("src/app.py:load_settings", NOW)
    store.chunks.record_access("src/app.py:load_settings", NOW)
    results = retriever(stores, Mode.KEYWORD).retrieve(Query("load_settings", 5)).results
    assert [(r.chunk_id, r.memory, r.accesses) for r in results] == [
        ("src/app.py:load_settings", "memory 0", 1),
        ("src/app.py:load_settings", "memory 1", 2),
    ]
    for store in stores:
        store.close()
