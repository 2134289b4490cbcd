"""The texts of growth.py, and how each engine is built, opened and given a changed file.

Texts and vectors are those of `vectors.py`; twenty texts in a row are a file. Every engine gets the
same texts, and those that search by meaning the same vectors, except semble, which cuts files and
embeds by itself. Its model is the stand-in of `peers/answers/with_semble.py`.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import timedelta
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import engines
import ours
import vectors
from ours import LIMIT, Ask

from aurora.types import Chunk, Kind

sys.path.append(str(Path(__file__).resolve().parents[1]))
sys.path.append(str(Path(__file__).resolve().parents[1] / "peers" / "answers"))
from embedders import make_embedder

CACHE = Path(__file__).resolve().parents[1] / ".cache" / "growth"
FILE = 20  # chunks
EVERY = 3  # of the questions of `vectors.py`
BATCH = 5_000
WORD = "zebrafinch"  # of the changed file, and of no other
CHANGED = f"def {WORD}():\n    return 'what has changed'"
_NAME = re.compile(r"\b(?:def|class|func|fn|function|struct|interface) ([A-Za-z_]\w+)")
_IDENTIFIER = re.compile(r"([A-Za-z_]\w{3,})")
_COARSE = 100_000  # rows from which LanceDB gets an index of vectors; it searches fewer one by one


class Engine(NamedTuple):
    """`update` changes a file and finds it; without it, the index has to be built again."""

    open: Callable[[Path], Ask]
    files: Sequence[str]  # of the index, in the folder of a size
    build: Callable[[Path, int], object] | None = None  # None: it is that of the memory
    update: Callable[[Path, Ask], object] | None = None
    needs: str = ""  # a package that need not be installed


def make_texts(folders: Sequence[Path], count: int) -> None:
    """A line for each text, so that a build need not hold all of them."""
    vectors.make_vectors(folders, count)
    CACHE.mkdir(parents=True, exist_ok=True)
    if not (CACHE / "questions.json").exists():
        texts = json.loads((vectors.CACHE / "texts.json").read_text(encoding="utf-8"))
        lines = "".join(f"{json.dumps(text)}\n" for text in texts)
        (CACHE / "texts.jsonl").write_text(lines, encoding="utf-8")
        (CACHE / "questions.json").write_text(json.dumps(vectors.find_questions(texts)))


def questions() -> list[str]:
    asked: list[str] = json.loads((CACHE / "questions.json").read_text())
    return asked[::EVERY]


def chunks(count: int) -> Iterator[Chunk]:
    path = ""
    with (CACHE / "texts.jsonl").open(encoding="utf-8") as lines:
        for number, line in enumerate(islice(lines, count)):
            file, _, text = json.loads(line).partition("\n")
            if number % FILE == 0:
                path = f"files/{number // FILE}/{file}"
            match = _NAME.search(text) or _IDENTIFIER.search(text)
            name = match[1] if match else "part"
            yield Chunk(f"{path}:{name}#{number % FILE}", Kind.FUNCTION, name, text, name, path)


def read_vectors() -> Any:
    import numpy as np  # noqa: PLC0415

    return np.load(vectors.CACHE / "vectors.npy", mmap_mode="r")


def batches(size: int) -> Iterator[tuple[list[Chunk], list[bytes]]]:
    """Chunks with their packed vectors."""
    found, values, start = chunks(size), read_vectors(), 0
    while batch := list(islice(found, BATCH)):
        yield batch, [values[start + n].tobytes() for n in range(len(batch))]
        start += len(batch)


# Aurora


def build_memory(folder: Path, size: int) -> None:
    store, embedder = ours.open_store(folder), vectors.embedder_of()
    for batch, packed in batches(size):
        store.chunks.put_chunks(batch)
        pairs = zip((chunk.id for chunk in batch), packed, strict=True)
        store.vectors.put_embeddings(embedder, pairs)
    store.close()
    open_memory(folder, mode="hybrid")("build both indexes")


def open_memory(folder: Path, *, mode: str) -> Ask:
    """The whole search of a program that runs on. The folder is the home of a user."""
    from aurora import Memory  # noqa: PLC0415

    nowhere = folder / "nowhere"
    nowhere.mkdir(exist_ok=True)
    memory = Memory.open(nowhere, environ={"AURORA_HOME": str(folder), "HOME": str(folder)})

    def ask(text: str) -> Sequence[str]:
        found = memory.search(text, limit=LIMIT, mode=mode)
        return [result.chunk.id for result in found.results]

    return ask


def update_memory(folder: Path, ask: Ask) -> None:
    store = ours.open_store(folder)
    with closing(store):
        put_changed(store)
    assert WORD in ask(WORD)[0]


def put_changed(store: Any) -> None:
    """The chunks of the first file give way to others with the same vectors."""
    old, _ = next(batches(FILE))
    store.chunks.delete_files([old[0].path])
    new = [
        Chunk(f"{old[0].path}:{WORD}#{n}", Kind.FUNCTION, WORD, CHANGED, WORD, old[0].path)
        for n in range(FILE)
    ]
    store.chunks.put_chunks(new)
    values = read_vectors()
    pairs = ((chunk.id, values[n].tobytes()) for n, chunk in enumerate(new))
    store.vectors.put_embeddings(vectors.embedder_of(), pairs)


# Peers


def build_peer(name: str, folder: Path, _: int) -> None:
    engines.ENGINES[name].build(folder)


def update_tantivy(folder: Path, _: Ask) -> None:
    """The new chunks are added; the old ones stay."""
    import tantivy  # noqa: PLC0415

    index = engines.open_tantivy_index(folder)
    writer = index.writer(num_threads=1)
    for place in range(FILE):
        writer.add_document(tantivy.Document(text=WORD, place=place))
    writer.commit()
    assert len(engines.TantivyAsk(folder)(WORD))


def lance_rows(size: int) -> Iterator[Any]:
    import numpy as np  # noqa: PLC0415
    import pyarrow as pa  # noqa: PLC0415

    for batch, packed in batches(size):
        values = np.frombuffer(b"".join(packed), np.float16).astype(np.float32)
        columns = {
            "id": [chunk.id for chunk in batch],
            "path": [chunk.path for chunk in batch],
            "text": [f"{chunk.name}\n{chunk.content}" for chunk in batch],
            "vector": pa.FixedSizeListArray.from_arrays(values, len(values) // len(batch)),
        }
        yield pa.RecordBatch.from_pydict(columns)


def build_lance(folder: Path, size: int) -> None:
    import lancedb  # noqa: PLC0415
    import pyarrow as pa  # noqa: PLC0415

    rows = lance_rows(size)
    first, database = pa.Table.from_batches([next(rows)]), lancedb.connect(folder / "lance")
    table = database.create_table("texts", first, mode="overwrite")
    for batch in rows:
        table.add(pa.Table.from_batches([batch]))
    table.create_fts_index("text", replace=True)
    if size >= _COARSE:
        table.create_index(metric="cosine")
    table.optimize(cleanup_older_than=timedelta(0))


def open_lance(folder: Path) -> Ask:
    import lancedb  # noqa: PLC0415
    from lancedb.rerankers import RRFReranker  # noqa: PLC0415

    table = lancedb.connect(folder / "lance").open_table("texts")
    embedder, reranker = make_embedder("aurora:shallow", Path()), RRFReranker()

    def ask(text: str) -> Sequence[str]:
        search = table.search(query_type="hybrid").vector(list(embedder.embed_query(text)))
        search = search.text(" ".join(re.findall(r"\w+", text))).distance_type("cosine")
        return [row["id"] for row in search.rerank(reranker).limit(LIMIT).to_list()]

    return ask


def update_lance(folder: Path, _: Ask) -> None:
    import lancedb  # noqa: PLC0415

    table = lancedb.connect(folder / "lance").open_table("texts")
    rows = next(lance_rows(FILE)).to_pylist()
    table.delete(f"path = '{rows[0]['path']}'")
    table.add([{**row, "id": f"{row['path']}:{WORD}", "text": WORD} for row in rows])
    table.optimize()
    assert any(WORD in id_ for id_ in open_lance(folder)(WORD))


def build_semble(folder: Path, size: int) -> None:
    files = chunks(size)
    while file := list(islice(files, FILE)):
        target = folder / "semble" / "texts" / file[0].path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("\n\n".join(chunk.content for chunk in file), encoding="utf-8")
    open_semble(folder)


def open_semble(folder: Path) -> Ask:
    from semble import SembleIndex  # noqa: PLC0415
    from semble.cache import save_index_to_cache  # noqa: PLC0415
    from semble.types import ContentType  # noqa: PLC0415
    from with_semble import stand_in  # noqa: PLC0415

    (folder / "semble" / "cache").mkdir(exist_ok=True)
    os.environ["SEMBLE_CACHE_LOCATION"] = str(folder / "semble" / "cache")
    kinds = (ContentType.CODE, ContentType.DOCS, ContentType.CONFIG)
    model = folder.parent / "semble-model"
    if not model.exists():
        Path(stand_in()).rename(model)
    texts = str(folder / "semble" / "texts")
    index = SembleIndex.from_path(texts, kinds, model_path=str(model))
    save_index_to_cache(index, texts)
    return lambda text: [str(one.chunk.location) for one in index.search(text, top_k=LIMIT)]


def update_semble(folder: Path, _: Ask) -> None:
    file = folder / "semble" / "texts" / next(chunks(1)).path
    file.write_text("\n\n".join([CHANGED] * FILE), encoding="utf-8")
    open_semble(folder)(WORD)


_MEMORY = ("memory.db", "indexes")
ENGINES = {
    "words and meaning": Engine(
        partial(open_memory, mode="hybrid"), _MEMORY, build_memory, update_memory
    ),
    "words": Engine(partial(open_memory, mode="keyword"), _MEMORY),
    "bm25s": Engine(
        engines.open_bm25s, ("bm25s",), partial(build_peer, "bm25s"), needs="bm25s"
    ),
    "tantivy": Engine(
        engines.TantivyAsk, ("tantivy",), partial(build_peer, "tantivy"), update_tantivy, "tantivy"
    ),
    "LanceDB": Engine(open_lance, ("lance",), build_lance, update_lance, "lancedb"),
    "semble": Engine(open_semble, ("semble/cache",), build_semble, update_semble, "semble"),
}  # fmt: skip
