"""Learning and forgetting, through the Memory that does it (seed 000, FR-4)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from aurora import Memory, Places
from aurora.errors import QueryError
from aurora.stores.base import Reasoning
from aurora.types import Kind
from tests.builders import NOW, make_chunk, write_tree


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write_tree(tmp_path / "project", {
        "a.py": "def first(): pass\n\n\ndef second(): pass\n", "sub/b.py": "def third(): pass\n",
        "sub/deep/c.py": "def fourth(): pass\n", "subway.py": "def fifth(): pass\n",
    })  # fmt: skip


@pytest.fixture
def memory(project: Path, tmp_path: Path) -> Iterator[Memory]:
    with Memory(Places(tmp_path / "home", project), now=lambda: NOW) as memory:
        yield memory


def names(memory: Memory, query: str) -> list[str]:
    return [result.chunk.name for result in memory.search(query).results]


def test_a_lesson_can_be_found(memory: Memory) -> None:
    chunk = memory.learn(
        "Retry uploads with backoff\nand jitter", pattern_type="recovery", context="S3 only"
    ).chunk
    assert (chunk.id, chunk.kind, chunk.name, chunk.created_at) == (
        "reasoning-retry-uploads-with-backoff-f8cc6ce1",
        Kind.REASONING,
        "Retry uploads with backoff",
        NOW,
    )
    for query in ("backoff", "jitter", "S3"):
        assert names(memory, query) == ["Retry uploads with backoff"], query


def test_a_repeated_success_raises_the_use_count(memory: Memory) -> None:
    """FR-4.3: the score is the mean of the tries, failures do not count as use."""
    seen = []
    for score in (1.0, 0.8, 0.0):
        chunk = memory.learn("split the work", pattern_type="decomposition", score=score)
        seen.append(memory.admin.store.chunks.get_reasoning(chunk.id))
    assert seen == [
        Reasoning("decomposition", 1.0, 1, NOW),
        Reasoning("decomposition", 0.9, 2, NOW),
        Reasoning("decomposition", pytest.approx(0.6), 2, NOW),
    ]
    assert memory.stats().chunks == {Kind.REASONING: 1}


def test_the_score_is_the_mean_of_all_tries_failed_ones_too(memory: Memory) -> None:
    for score in (0.2, 0.2, 0.2, 0.2, 1.0):
        chunk = memory.learn("guess the port", score=score)
    reasoning = memory.admin.store.chunks.get_reasoning(chunk.id)
    assert reasoning == Reasoning("pattern", pytest.approx(0.36), 1, NOW)
    assert memory.get(chunk.id).metadata["tries"] == 5


def test_the_tries_of_an_older_memory_are_its_successes(memory: Memory) -> None:
    chunk = memory.learn("split the work", score=0.5).chunk
    chunks = memory.admin.store.chunks
    chunks.put_chunks([replace(chunk, metadata={"source": "reasoning"})])
    chunks.put_reasoning(chunk.id, Reasoning("pattern", 1.0, 3, NOW))
    memory.learn("split the work", score=0.0)
    assert chunks.get_reasoning(chunk.id) == Reasoning("pattern", 0.75, 3, NOW)


def test_lessons_are_found_by_their_type(memory: Memory) -> None:
    memory.learn("split the work", pattern_type="decomposition")
    memory.learn("split the bill", pattern_type="recovery-plan")
    assert names(memory, "split meta.pattern_type:recovery-plan") == ["split the bill"]
    assert names(memory, "meta.pattern_type:decomposition") == ["split the work"]


def test_the_first_time_stays_the_date(memory: Memory, project: Path, tmp_path: Path) -> None:
    memory.learn("split the work")
    later = NOW + timedelta(days=3)
    with Memory(Places(tmp_path / "home", project), now=lambda: later) as other:
        assert other.learn("split the work").chunk.created_at == NOW


def test_the_same_words_of_another_kind_are_another_lesson(memory: Memory) -> None:
    ids = {memory.learn("split the work", pattern_type=kind).id for kind in ("plan", "review")}
    assert len(ids) == 2


def test_what_failed_is_found_with_a_remark(memory: Memory) -> None:
    """FR-4.4 is overruled: agents ask what failed before. A later success takes the remark away."""
    chunk = memory.learn("guess the password", score=0.1).chunk
    assert memory.get(chunk.id) == chunk
    for score, remarks in ((0.2, ("did not work",)), (1.0, ("did not work",)), (1.0, ())):
        memory.learn("guess the password", score=score)
        assert [result.remarks for result in memory.search("guess").results] == [remarks]


@pytest.mark.parametrize("score", [-0.1, 1.1, float("nan")])
def test_a_score_is_between_nothing_and_one(memory: Memory, score: float) -> None:
    with pytest.raises(ValueError, match="lies in"):
        memory.learn("x", score=score)


def test_nothing_cannot_be_learned(memory: Memory) -> None:
    with pytest.raises(QueryError, match="nothing to learn"):
        memory.learn("  \n")


def test_a_lesson_stays_when_files_are_indexed_again(memory: Memory, project: Path) -> None:
    memory.learn("split the work")
    memory.index(project)
    memory.index(project)
    by_words = memory.search("split", mode="keyword").results
    assert [result.chunk.name for result in by_words] == ["split the work"]
    assert names(memory, "split")[0] == "split the work"


@pytest.mark.parametrize(
    ("what", "gone"),
    [
        ("a.py:first", {"first"}),
        ("a.py", {"first", "second"}),
        ("sub", {"third", "fourth"}),
        ("sub/", {"third", "fourth"}),
        ("sub/deep", {"fourth"}),
    ],
)
def test_forgetting_by_id_file_and_folder(
    memory: Memory, project: Path, monkeypatch: pytest.MonkeyPatch, what: str, gone: set[str]
) -> None:
    memory.index(project)
    everything = {chunk.name for chunk in memory.admin.store.chunks.iter_chunks()}
    monkeypatch.chdir(project)

    assert memory.forget(memory.admin.find_to_forget(what)) == len(gone)

    assert {chunk.name for chunk in memory.admin.store.chunks.iter_chunks()} == everything - gone
    assert memory.admin.store.maintenance.check() == []


def test_a_file_below_the_working_directory_is_meant(
    memory: Memory, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.index(project)
    monkeypatch.chdir(project / "sub")
    assert memory.admin.find_to_forget("b.py") == ["sub/b.py:third"]
    assert memory.admin.find_to_forget("../a.py") == ["a.py:first", "a.py:second"]


def test_a_forgotten_file_comes_back_with_the_next_index(memory: Memory, project: Path) -> None:
    memory.index(project)
    memory.forget(memory.admin.find_to_forget(str(project / "a.py")))
    assert memory.index(project).parsed == 1
    assert "first" in names(memory, "first")


def test_forgetting_a_namespace(memory: Memory, project: Path) -> None:
    memory.index(project)
    memory.admin.store.chunks.put_chunks(
        [make_chunk(path="", name="n", id="doc-1", namespace="trial")]
    )
    assert memory.admin.find_to_forget("namespace:trial") == ["doc-1"]
    assert memory.admin.find_to_forget("namespace:other") == []
