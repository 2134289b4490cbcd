"""Index files with right checksums that lie all the same: they are no use, and are made anew."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from aurora.errors import IndexFileError
from aurora.signals.base import Entry
from aurora.signals.bm25 import BM25Scorer
from aurora.signals.index_file import Array, IndexFile, write_index_file
from aurora.stores.base import Revision
from aurora.types import Json, Note
from tests.builders import make_chunk
from tests.signals.vectored import CORRUPTED, VectorBench

DOCUMENTS = [("a", "def login(): check"), ("b", "def parse(): check"), ("c", "login twice")]
HUGE = 10**15


def retell(
    path: Path, kind: str, *, lie: Mapping[str, Array], facts: Mapping[str, Json] | None = None
) -> None:
    """The same file, but for some arrays and facts."""
    file = IndexFile(path, kind=kind)
    arrays = {name: file.read(name, 0, file.size(name)) for name in file._sections}
    told = file.facts if facts is None else facts
    write_index_file(path, kind=kind, facts=told, arrays={**arrays, **lie})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    scorer = BM25Scorer()
    scorer.build_index(DOCUMENTS)
    scorer.save_index(tmp_path / "bm25.idx")
    return tmp_path / "bm25.idx"


LIES: dict[str, dict[str, Array]] = {
    "fewer-rows": {"rows": array("q", [1])},
    "no-offsets": {"term_offsets": array("q"), "posting_offsets": array("q")},
    "fewer-offsets": {"posting_offsets": array("q", [0, 3])},
    "fewer-frequencies": {"frequencies": array("H", [1])},
    "a-place-too-many": {"removed": array("i", [3]), "removed_ends": array("q", [1])},
    "places-that-are-no-numbers": {"documents": array("f", [0.0] * 8)},
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
def test_arrays_that_do_not_fit_each_other_are_refused(path: Path, lie: dict[str, Array]) -> None:
    retell(path, "bm25", lie=lie)
    with pytest.raises(IndexFileError, match="do not fit each other"):
        BM25Scorer().load_index(path)


def test_an_index_without_its_facts_is_refused(path: Path) -> None:
    facts = dict(IndexFile(path, kind="bm25").facts)
    del facts["tokens"]
    retell(path, "bm25", lie={}, facts=facts)
    with pytest.raises(IndexFileError, match="has invalid data"):
        BM25Scorer().load_index(path)


@pytest.mark.parametrize("number", [-HUGE, 1000, HUGE])
@pytest.mark.parametrize("name", ["term_offsets", "posting_offsets", "documents"])
def test_numbers_that_lead_outside_are_an_error_of_the_file(
    path: Path, name: str, number: int
) -> None:
    """Whether they are asked for or weighed anew, in plain Python or with numpy."""
    size = IndexFile(path, kind="bm25").size(name)
    retell(path, "bm25", lie={name: array("q", [number] * size)})
    for k1 in (1.5, 1.2):
        with pytest.raises(IndexFileError):
            _ask_twice(path, k1)


@pytest.mark.parametrize("name", ["term_offsets", "documents"])
def test_an_index_that_lies_is_not_merged(path: Path, name: str) -> None:
    size = IndexFile(path, kind="bm25").size(name)
    retell(path, "bm25", lie={name: array("q", [0, *[1000] * (size - 1)])})
    base = BM25Scorer()
    base.load_index(path)
    difference = base.compare([0, 7], {0: 0, 1: 0, 2: 7})
    with pytest.raises(IndexFileError):
        BM25Scorer().update_index(base, difference, [Entry("c", "login", Revision(2, 7))])


def test_ids_that_are_no_text_are_an_error_of_the_file(path: Path) -> None:
    retell(path, "bm25", lie={"id_bytes": array("B", [255, 255, 255])})
    scorer = BM25Scorer()
    scorer.load_index(path)
    with pytest.raises(IndexFileError, match="has invalid data"):
        scorer.rank("login", pool=9)


def _ask_twice(path: Path, k1: float) -> None:
    scorer = BM25Scorer(k1)
    scorer.load_index(path)
    scorer.score_all("login")
    scorer.score_all("login")


def test_an_error_of_ours_is_not_blamed_on_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    scorer = BM25Scorer()
    scorer.build_index(DOCUMENTS)
    monkeypatch.setattr(scorer, "_match", lambda *_: [].pop())
    with pytest.raises(IndexError):
        scorer.score_all("login")


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[VectorBench]:
    bench = VectorBench(tmp_path)
    bench.store.chunks.put_chunks([make_chunk(letter * 9, name=f"_{letter}") for letter in "aei"])
    bench.embed()
    yield bench
    bench.store.close()


@pytest.mark.parametrize(
    "lie",
    [
        {"matrix": array("f", [1.0] * 14)},
        {"matrix": array("d", [1.0] * 15)},
        {"generations": array("q", [1])},
        {"rows": array("f", [1.0, 2.0, 3.0])},
    ],
    ids=["a-number-less", "twice-as-wide", "fewer-generations", "rows-that-are-no-numbers"],
)
def test_vectors_that_do_not_fit_are_made_anew(bench: VectorBench, lie: dict[str, Array]) -> None:
    found = bench.find("aa")
    whole = bench.path.read_bytes()
    retell(bench.path, "vectors", lie=lie)
    bench.events.clear()
    assert bench.find("aa") == found
    assert [event for event in bench.events if isinstance(event, Note)] == [CORRUPTED]
    assert bench.path.read_bytes() == whole
