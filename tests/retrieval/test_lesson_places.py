"""Lessons and documents that fit a question are among the first three rows, and no others are."""

from __future__ import annotations

from dataclasses import replace
from math import fsum

import pytest

from aurora.retrieval.lesson_places import place_lessons
from aurora.types import Chunk, Criteria, Hit, Kind, Query, Ranking
from tests.builders import make_chunk
from tests.embedders import WordsProvider
from tests.retrieval.conftest import Searched

QUESTION = "why does the upload of a large video fail"
LESSON = "Cut a large video into parts before its upload."
# In two namespaces, so that a test tells lessons and documents apart by their ids.
lesson = make_chunk(
    LESSON, "", "Cut a large video", id="lesson", kind=Kind.REASONING, lines=None, language="",
    metadata={"source": "reasoning"},
)  # fmt: skip
decision = replace(
    lesson, id="decision", kind=Kind.KNOWLEDGE, name="Uploads", document_type="decision",
    content="A large video comes by its own upload, which may fail and be taken up again.",
    metadata={"source": "document", "part": 1, "parts": 1},
)  # fmt: skip
unrelated = replace(
    lesson, id="unrelated", name="Sort keys", content="Sort the keys before you compare two dumps."
)


def code() -> list[Chunk]:
    """Functions that have more words of the question than the lesson, and others."""
    others = [
        make_chunk(f"def parse_{n}(line):\n    # the {n} of it", f"src/parse_{n}.py", f"parse_{n}")
        for n in range(30)
    ]
    return others + [
        make_chunk(
            f"def upload_{n}(video):\n    # why an upload of a large video does fail: {n}\n"
            f"    raise UploadError({'video, ' * (n % 3)}large)",
            f"src/upload_{n}.py",
            f"upload_{n}",
        )
        for n in range(12)
    ]


def put(memory: Searched, *chunks: Chunk) -> Searched:
    memory.put(*code(), *chunks, provider=WordsProvider())
    return memory


def ids(memory: Searched, text: str = QUESTION, **options: object) -> list[str]:
    answer = memory.search(text, **options)  # type: ignore[arg-type]
    return [result.chunk_id for result in answer.results]


def test_a_lesson_and_a_decision_that_fit_have_the_second_and_the_third_place(
    memory: Searched,
) -> None:
    without = ids(put(memory))
    first = ids(put(memory, lesson, decision, unrelated))
    assert set(first[1:3]) == {"lesson", "decision"}
    assert first[0] == without[0]
    assert [id_ for id_ in first if id_.startswith("src")] == without[:8]


def test_one_lesson_that_fits_has_the_third_place(memory: Searched) -> None:
    assert ids(put(memory, lesson, unrelated)).index("lesson") == 2


def test_a_lesson_that_does_not_fit_has_no_place(memory: Searched) -> None:
    without = ids(put(memory))
    assert ids(put(memory, unrelated)) == without


def test_contributions_sum_to_the_score_and_no_score_rises(memory: Searched) -> None:
    results = put(memory, lesson, decision).search(QUESTION).results
    for result in results:
        assert fsum(part.value for part in result.contributions) == pytest.approx(result.score)
    scores = [result.score for result in results]
    assert scores == sorted(scores, reverse=True)
    (moved,) = [part for part in results[2].contributions if part.signal == "lesson"]
    assert moved.value > 0.0


def test_the_first_three_of_ten_are_the_three_of_three(memory: Searched) -> None:
    put(memory, lesson, decision, unrelated)
    assert ids(memory, limit=3) == ids(memory, limit=10)[:3]
    assert ids(memory, limit=30)[:10] == ids(memory, limit=10)


def test_a_filter_leaves_lessons_out_and_changes_no_score(memory: Searched) -> None:
    put(memory, lesson, decision)
    everything = memory.search(QUESTION, limit=50).results
    functions = memory.retriever().retrieve(
        Query(QUESTION, 50, criteria=Criteria(kinds=(Kind.FUNCTION,)))
    )
    scores = {result.chunk_id: result.score for result in functions.results}
    assert scores.keys() == {result.chunk_id for result in everything} - {"lesson", "decision"}
    assert scores == pytest.approx({r.chunk_id: r.score for r in everything if r.chunk.path})


def test_without_a_model_words_decide(memory: Searched) -> None:
    memory.put(*code(), lesson, unrelated)
    assert ids(memory).index("lesson") == 2
    assert ids(memory, mode="keyword") == ids(memory)


def test_a_definition_that_the_query_names_keeps_its_place(memory: Searched) -> None:
    named = [make_chunk(f"def upload(): {name}{name}()", f"{name}.py", "upload") for name in "abc"]
    memory.put(*named, lesson, provider=WordsProvider())
    assert set(ids(memory, "upload")[:3]) == {chunk.id for chunk in named}


def test_a_lesson_makes_an_answer_where_no_code_is_relevant(memory: Searched) -> None:
    others = [make_chunk(f"def parse_{n}(line): return line", f"{n}.py", f"p{n}") for n in range(9)]
    memory.put(*others, lesson, provider=WordsProvider())
    assert ids(memory, QUESTION, least=0.1)[0] == "lesson"


def rank(signal: str, scores: dict[int, float]) -> Ranking:
    hits = sorted(scores.items(), key=lambda item: -item[1])
    return Ranking(signal, tuple(Hit(row, value, n) for n, (row, value) in enumerate(hits, 1)))


def in_places(scores: dict[int, float], lessons: set[int]) -> tuple[list[int], frozenset[int]]:
    """The order of rows with these cosines."""
    rows = sorted(scores, key=lambda row: -scores[row])
    return place_lessons(rows, lessons, {}, {"semantic": rank("semantic", scores)})


@pytest.mark.parametrize(
    ("lessons", "order"),
    [
        ({4}, [0, 1, 4, 2, 3]),
        ({3, 4}, [0, 3, 4, 1, 2]),
        ({0, 4}, [0, 1, 4, 2, 3]),  # a lesson that is first stays there
        ({1, 2, 4}, [0, 1, 2, 3, 4]),
        (set(), [0, 1, 2, 3, 4]),
    ],
)
def test_lessons_have_the_last_of_the_first_places(lessons: set[int], order: list[int]) -> None:
    rows, placed = in_places({n: 1.0 - n / 100 for n in range(5)}, lessons)
    assert rows == order
    assert placed == set(order[1:3]) & lessons - {1, 2}


def test_a_lesson_must_be_almost_as_near_as_the_best_chunk() -> None:
    scores = {n: 1.0 - n / 100 for n in range(5)}
    assert in_places(scores | {9: 0.79}, {9})[1] == frozenset()
    assert in_places(scores | {9: 0.81}, {9})[1] == {9}
