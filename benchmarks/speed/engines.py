"""The engines that search.py compares, each built, opened and asked in processes of its own.

    python benchmarks/speed/engines.py first ENGINE FOLDER TEXT    one fresh question, as JSON
    python benchmarks/speed/engines.py serve ENGINE FOLDER         questions from stdin, see `serve`
    python benchmarks/speed/engines.py build ENGINE FOLDER

A peer answers the places of its best ten. Nothing heavy is imported before an engine is opened.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import sys
import time
from collections.abc import Callable, Sequence
from importlib import util
from pathlib import Path
from typing import Any, NamedTuple

sys.path.append(str(Path(__file__).resolve().parents[1]))
import ours
from ours import LIMIT, Ask

K1, B = 1.5, 0.75


class Engine(NamedTuple):
    """How to make an index of a memory's folder, and how to open it."""

    build: Callable[[Path], object]
    open: Callable[[Path], Ask]
    file: str  # what it is asked from, in the folder
    needs: str = ""  # a module that need not be installed


def build_bm25s(folder: Path) -> None:
    import bm25s  # noqa: PLC0415

    texts = ours.indexed_texts(folder)
    tokens = [list(map(sys.intern, ours.document_terms(text))) for text in texts]
    index = bm25s.BM25(k1=K1, b=B, method="lucene")
    index.index(tokens, show_progress=False)
    index.save(str(folder / "bm25s"))


def open_bm25s(folder: Path, *, backend: str = "numpy") -> Ask:
    """Mapped, as ours is: reading it whole would make every start slower."""
    import bm25s  # noqa: PLC0415

    index = bm25s.BM25.load(str(folder / "bm25s"), mmap=True, show_progress=False)
    if backend == "numba":
        index.backend = backend
        index.activate_numba_scorer()

    def ask(text: str) -> Sequence[int]:
        tokens = [ours.query_terms(text)]
        places, scores = index.retrieve(tokens, k=LIMIT, show_progress=False, n_threads=0)
        pairs = zip(places[0].tolist(), scores[0].tolist(), strict=True)
        return [place for place, score in pairs if score > 0]

    return ask


def open_bm25s_numba(folder: Path) -> Ask:
    return open_bm25s(folder, backend="numba")


def build_fts5(folder: Path) -> None:
    (folder / "fts5.db").unlink(missing_ok=True)
    database = sqlite3.connect(folder / "fts5.db")
    database.execute("CREATE VIRTUAL TABLE words USING fts5(text, content='', tokenize=unicode61)")
    rows = enumerate(ours.indexed_texts(folder))
    database.executemany("INSERT INTO words(rowid, text) VALUES (?, ?)", rows)
    database.execute("INSERT INTO words(words) VALUES ('optimize')")
    database.commit()
    database.close()


def open_fts5(folder: Path) -> Ask:
    database = sqlite3.connect(folder / "fts5.db")
    sql = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?"

    def ask(text: str) -> Sequence[int]:
        words = " OR ".join(f'"{word}"' for word in dict.fromkeys(re.findall(r"\w+", text)))
        return [place for (place,) in database.execute(sql, (words, LIMIT))]

    return ask


def open_tantivy_index(folder: Path) -> Any:
    """One field of words split at spaces, without positions; and the place, to be told."""
    import tantivy  # noqa: PLC0415

    schema = tantivy.SchemaBuilder()
    schema.add_text_field("text", tokenizer_name="spaces", index_option="freq")
    schema.add_unsigned_field("place", stored=True)
    (folder / "tantivy").mkdir(exist_ok=True)
    index = tantivy.Index(schema.build(), path=str(folder / "tantivy"))
    spaces = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()
    index.register_tokenizer("spaces", spaces)
    return index


def build_tantivy(folder: Path) -> None:
    import tantivy  # noqa: PLC0415

    shutil.rmtree(folder / "tantivy", ignore_errors=True)
    index = open_tantivy_index(folder)
    writer = index.writer(heap_size=1 << 30, num_threads=1)
    for place, text in enumerate(ours.indexed_texts(folder)):
        terms = " ".join(ours.document_terms(text))
        writer.add_document(tantivy.Document(text=terms, place=place))
    writer.commit()
    writer.wait_merging_threads()


class TantivyAsk:
    """Terms in an OR, given as they are: no query parser is in the way."""

    def __init__(self, folder: Path) -> None:
        import tantivy  # noqa: PLC0415

        index = open_tantivy_index(folder)
        self._searcher, self._schema = index.searcher(), index.schema
        self._query, self._should = tantivy.Query, tantivy.Occur.Should

    def __call__(self, text: str) -> Sequence[Any]:
        words = ours.query_terms(text)
        terms = [self._query.term_query(self._schema, "text", word) for word in words]
        whole = self._query.boolean_query([(self._should, term) for term in terms])
        return [hit for _, hit in self._searcher.search(whole, LIMIT, count=False).hits]

    def places(self, hits: Sequence[Any]) -> list[int]:
        """Where its addresses lie among the chunks. Not timed: the others know by themselves."""
        return [self._searcher.doc(hit)["place"][0] for hit in hits]


HYBRID = "aurora, hybrid"
RANKING = "aurora, ranking"  # what the peers are compared with
ENGINES = {
    "aurora, keyword": Engine(ours.refresh_index, ours.open_keyword, "indexes/bm25.idx"),
    RANKING: Engine(ours.refresh_index, ours.open_ranking, "indexes/bm25.idx"),
    "aurora, fallback": Engine(ours.refresh_index, ours.open_fallback, "indexes/bm25.idx"),
    HYBRID: Engine(ours.refresh_index, ours.open_hybrid, "indexes/"),
    "bm25s": Engine(build_bm25s, open_bm25s, "bm25s", "bm25s"),
    "bm25s, numba": Engine(build_bm25s, open_bm25s_numba, "bm25s", "numba"),
    "SQLite FTS5": Engine(build_fts5, open_fts5, "fts5.db"),
    "tantivy": Engine(build_tantivy, TantivyAsk, "tantivy", "tantivy"),
}


def available(folder: Path) -> list[str]:
    """The engines that can be asked here."""
    there = [name for name, one in ENGINES.items() if not one.needs or util.find_spec(one.needs)]
    return [name for name in there if name != HYBRID or ours.can_search_by_meaning(folder)]


def first(name: str, folder: Path, text: str) -> None:
    """From nothing imported to the first answer."""
    start = time.perf_counter()
    ask = ENGINES[name].open(folder)
    opened, numpy_after_opening = time.perf_counter(), "numpy" in sys.modules
    found = len(ask(text))
    done = time.perf_counter()
    told = {"open_ms": 1e3 * (opened - start), "answer_ms": 1e3 * (done - start), "found": found}
    numpy = {"numpy_after_opening": numpy_after_opening, "numpy": "numpy" in sys.modules}
    print(json.dumps(told | numpy))


def create(folder: Path) -> None:
    """Making a retriever, apart from importing what it is made of."""
    start = time.perf_counter()
    import aurora.retrieval.retriever  # noqa: PLC0415
    import aurora.stores.sqlite.store  # noqa: F401, PLC0415

    imported = time.perf_counter()
    store = ours.open_store(folder)
    opened = time.perf_counter()
    ours.open_retriever(store, folder)
    done = time.perf_counter()
    told = {"import_ms": 1e3 * (imported - start), "store_ms": 1e3 * (opened - imported)}
    print(json.dumps(told | {"create_ms": 1e3 * (done - opened), "numpy": "numpy" in sys.modules}))


def serve(name: str, folder: Path) -> None:
    """The questions come as one line of JSON; then every line asks for one thing, also as JSON:
    `round` (wall and CPU ms of each question), `answers` (of the last round), `peak` (MB)."""
    from cost import memory  # noqa: PLC0415

    questions, ask = json.loads(sys.stdin.readline()), ENGINES[name].open(folder)
    found: dict[str, Sequence[Any]] = {}

    def timed(text: str) -> tuple[float, float]:
        start, before = time.perf_counter(), time.process_time()
        found[text] = ask(text)
        cpu, wall = time.process_time() - before, time.perf_counter() - start
        return 1e3 * wall, 1e3 * cpu

    doing = {
        "round": lambda: [timed(text) for text in questions],
        "answers": lambda: [getattr(ask, "places", list)(found[text]) for text in questions],
        "peak": lambda: memory(os.getpid())[0] / 1024,
    }
    for line in sys.stdin:
        print(json.dumps(doing[line.strip()]()), flush=True)


def main() -> None:
    if len(sys.argv) < 4:
        raise SystemExit(__doc__)
    what, name, folder, *text = sys.argv[1:]
    if what == "build":
        ENGINES[name].build(Path(folder))
    elif what == "create":
        create(Path(folder))
    elif what == "first":
        first(name, Path(folder), *text)
    else:
        serve(name, Path(folder))


if __name__ == "__main__":
    main()
