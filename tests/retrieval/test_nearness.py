"""Words near each other in searches, on both stores."""

from __future__ import annotations

from pathlib import Path

import pytest

from aurora.retrieval.config import FUSIONS
from aurora.signals.base import Question
from aurora.stores.postgres.store import PostgresStore
from aurora.stores.sqlite.store import SQLiteStore
from aurora.types import Chunk, Kind
from tests.builders import NOW, make_chunk
from tests.retrieval.conftest import Searched

FILLING = "and then the team writes down what was said there "
ELSE = "but here a group reads aloud words which were heard before "  # no near copy


def note(name: str, content: str) -> Chunk:
    return make_chunk(content, f"{name}.md", name, kind=Kind.KNOWLEDGE, qualified_name="")


TOGETHER = note("together", FILLING * 8 + "Phase 2 plan")
SCATTERED = note("scattered", f"Phase {ELSE * 4} 2 {ELSE * 4} plan")
OTHERS = [note(f"other{n}", f"{FILLING} about topic{n}x of the week") for n in range(20)]
NOTES = (SCATTERED, TOGETHER, *OTHERS)


@pytest.mark.parametrize("fusion", FUSIONS)
@pytest.mark.parametrize("keyword", ["bm25", "fulltext"])
def test_words_together_come_before_the_same_words_scattered(
    memory: Searched, fusion: str, keyword: str
) -> None:
    """Seed 004's reason for `ts_rank_cd`."""
    memory.put(*NOTES)
    found = memory.names("Phase 2 plan", "keyword", fusion=fusion, keyword=keyword, limit=2)
    assert found == ["together", "scattered"]


@pytest.mark.one_store("asks the signal itself, and a server ranks by its own")
def test_one_word_changes_nothing(memory: Searched) -> None:
    memory.put(*NOTES)
    for text in ("plan", "the plan"):
        (found,) = (
            result for result in memory.search(text, "keyword").results if result.chunk == TOGETHER
        )
        [part] = [part for part in found.contributions if part.signal == "bm25"]
        scored = memory.retriever().bm25.score(Question(text, NOW))
        [hit] = [hit for hit in scored.hits(scored.best(99)) if hit.score == part.raw]
        assert memory.store.chunks.get_rows([hit.row])[hit.row] == TOGETHER


def test_both_stores_give_equal_results(tmp_path: Path, memory_url: str) -> None:
    stores = SQLiteStore(tmp_path / "memory.db"), PostgresStore.open(memory_url)
    answers = []
    for store in stores:
        memory = Searched(store)
        memory.put(*NOTES)
        answers.append(memory.search("Phase 2 plan of the team", "keyword", limit=20).results)
        store.close()
    one, other = answers
    assert [result.chunk for result in one] == [result.chunk for result in other]
    assert [result.score for result in one] == pytest.approx(
        [result.score for result in other], abs=1e-6
    )
    assert [part.raw for result in one for part in result.contributions] == pytest.approx(
        [part.raw for result in other for part in result.contributions], abs=1e-5
    )
