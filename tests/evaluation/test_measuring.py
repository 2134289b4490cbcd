"""A set from beginning to end, in real throw-away memories."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pytest

from aurora import Memory
from aurora.evaluation.datasets import Item, read_set
from aurora.evaluation.runner import (
    DEPTH,
    System,
    ask,
    evaluate,
    fill,
    make_systems,
    percentile,
    summarise,
)
from aurora.types import Event, Listener, Mode, Note, Progress, ignore_events
from tests.evaluation.small_sets import throw_away, write_set

KEYWORD = System(Mode.KEYWORD)
HYBRID = System(Mode.HYBRID, "weighted")


def test_the_numbers_of_a_small_set(tmp_path: Path) -> None:
    labelled = read_set(write_set(tmp_path / "birds"))

    found = summarise(evaluate(labelled, [KEYWORD, HYBRID], throw_away(tmp_path).memory))

    assert (found.name, found.documents, found.groups, found.questions) == ("birds", 3, 1, 2)
    assert found.embedder == "aurora/deep"
    assert [one.system for one in found.systems] == ["keyword", "hybrid/weighted"]
    by_words = {name: score.mean for name, score in found.systems[0].scores.items()}
    assert by_words == pytest.approx(
        {"nDCG@10": 1, "MRR@10": 1, "R@1": 0.75, "R@5": 1, "R@10": 1, "R@100": 1}
    )
    for one in found.systems:
        assert one.questions == 2
        assert 0 < one.p50_milliseconds <= one.p95_milliseconds
        assert one.unanswered == 0


def test_a_group_is_a_memory_of_its_own(tmp_path: Path) -> None:
    items = [{"id": f"{g}{n}", "text": f"heron {n}", "group": g} for g in "ab" for n in (1, 2)]
    questions = [
        {"id": f"q{group}", "text": "heron", "group": group, "category": f"of {group}"}
        for group in "ab"
    ]
    grades = [("qa", "a1", 1), ("qb", "b2", 1)]
    labelled = read_set(write_set(tmp_path / "groups", items, questions, grades))

    evaluated = evaluate(labelled, [KEYWORD], throw_away(tmp_path).memory)

    answers = evaluated.answers["keyword"]
    assert {id_: set(answer.documents) for id_, answer in answers.items()} == {
        "qa": {"a1", "a2"},
        "qb": {"b1", "b2"},
    }
    measured = summarise(evaluated)
    assert (measured.groups, measured.documents) == (2, 4)
    assert {name: one[0].questions for name, one in measured.categories.items()} == {
        "of a": 1,
        "of b": 1,
    }


def test_nothing_is_left_behind_whatever_happens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    labelled = read_set(write_set(tmp_path / "birds"))
    seen: list[list[Path]] = []

    def interrupt(_: Event) -> None:
        seen.append(list(scratch.iterdir()))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluate(labelled, [KEYWORD], throw_away(tmp_path).memory, listen=interrupt)
    assert len(seen[0]) == 1
    assert list(scratch.iterdir()) == []


def test_asking_is_no_use_of_what_is_found(tmp_path: Path) -> None:
    labelled = read_set(write_set(tmp_path / "birds"))
    uses: list[int] = []
    maker = throw_away(tmp_path)

    @contextmanager
    def watched(listen: Listener) -> Iterator[Memory]:
        with maker.memory(listen) as memory:
            yield memory
            ids = [chunk.id for chunk in memory.admin.chunks()]
            results = memory.search("heron kettle water").results
            assert {result.chunk_id for result in results} == set(ids)
            uses.extend(result.accesses for result in results)

    evaluate(labelled, [KEYWORD, HYBRID], watched)

    assert uses == [0, 0, 0]


def test_a_hundred_documents_are_found_however_many_chunks_they_have(tmp_path: Path) -> None:
    items = [Item(f"f{n}", herons(n), path=f"f{n}.py") for n in range(DEPTH + 20)]
    with throw_away(tmp_path, embedding_provider="none").memory() as memory:
        answer = ask(memory, fill(memory, items), "heron", KEYWORD)
    assert len(answer.documents) == len(set(answer.documents)) == len(answer.scores) == DEPTH
    assert all(one >= other for one, other in pairwise(answer.scores))


def herons(number: int) -> str:
    """Code of eight functions. None is the same as one of another number."""
    return "\n\n".join(f"def heron_{n}():\n    return {number}, {n}\n" for n in range(8))


def test_a_question_that_nothing_answers_is_counted(tmp_path: Path) -> None:
    texts = ("heron", "xyzzy plugh", '""')
    questions = [{"id": f"q{n}", "text": text} for n, text in enumerate(texts)]
    grades = [(f"q{n}", "d1", 1) for n in range(3)]
    labelled = read_set(write_set(tmp_path, questions=questions, grades=grades))
    found = summarise(evaluate(labelled, [KEYWORD], throw_away(tmp_path).memory))
    assert found.systems[0].unanswered == 2
    assert found.systems[0].scores["R@100"].mean == pytest.approx(1 / 3)


def test_a_warning_is_told_once_and_what_a_search_says_is_not(tmp_path: Path) -> None:
    """Without vectors every hybrid search says so: here one does, and how far the asking is."""
    items = [{"id": f"d{n}", "text": f"heron {n}", "group": f"g{n}"} for n in range(3)]
    questions = [{"id": f"q{n}", "text": "heron", "group": f"g{n}"} for n in range(3)]
    grades = [(f"q{n}", f"d{n}", 1) for n in range(3)]
    labelled = read_set(write_set(tmp_path, items, questions, grades))
    told: list[Event] = []

    maker = throw_away(tmp_path, embedding_provider="none")
    evaluate(labelled, [HYBRID], maker.memory, listen=told.append)

    notes = [event.text for event in told if isinstance(event, Note)]
    assert len(notes) == 1
    assert notes[0].startswith("Embedding model unavailable")
    assert [event for event in told if isinstance(event, Progress)] == [
        Progress("Asking", n, 3) for n in (1, 2, 3)
    ]


def test_systems_are_every_mode_with_every_fusion_where_there_is_one() -> None:
    modes = [Mode.KEYWORD, Mode.HYBRID, Mode.SEMANTIC, Mode.KEYWORD]
    labels = [system.label for system in make_systems(modes, ["rrf", "staged"])]
    assert labels == ["keyword", "hybrid/rrf", "hybrid/staged", "semantic"]


def test_percentiles_are_numbers_that_were_measured() -> None:
    assert [percentile([1, 2, 3, 4], share) for share in (50, 95)] == [2, 4]
    assert percentile([7], 50) == 7
    assert percentile(range(1, 101), 95) == 95


def test_what_a_user_set_does_not_count_but_for_embedding(tmp_path: Path) -> None:
    (tmp_path / "config.yml").write_text(
        "search:\n  fusion: rrf\nstore:\n  path: elsewhere.db\nembedding:\n  provider: none\n"
    )
    maker = throw_away(tmp_path, search_mode="keyword", store_path="other.db")
    assert maker.settings.search.fusion != "rrf"
    assert maker.settings.search.mode == "keyword"  # said for this command alone
    assert maker.settings.embedding.provider == "none"
    assert maker.embedder is None
    with maker.memory(ignore_events) as memory:
        assert memory.admin.path.name == "memory.db"
        assert not memory.admin.path.is_relative_to(tmp_path / "home")
