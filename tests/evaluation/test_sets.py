"""Reading a set: what it holds, what is odd in it, and what is wrong by file and line."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from aurora.errors import SourceError
from aurora.evaluation.datasets import Item, Question, read_set
from tests.evaluation.small_sets import GRADES, ITEMS, QUESTIONS, write_set


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_a_set_is_its_documents_and_the_questions_that_have_an_answer(
    tmp_path: Path, packed: bool
) -> None:
    found = read_set(write_set(tmp_path / "birds", packed=packed))

    assert found.name == "birds"
    assert found.items == (
        Item("d1", "The heron waits in the shallow water."),
        Item("d2", "A kettle boils on the stove."),
        Item("d3", "Storks like water, too.", "Birds"),
    )
    assert found.questions == (
        Question("q1", "heron water", {"d1": 2.0, "d3": 1.0}),
        Question("q2", "kettle on a stove", {"d2": 1.0}),
    )
    assert found.warnings == ()


def test_what_is_said_of_a_dialogue_turn_is_kept(tmp_path: Path) -> None:
    turn = {"id": 7, "text": "Hi", "session": "s1", "seq": 3, "date": "2023-05-08T13:56:00"}
    item = read_set(write_set(tmp_path, [turn], grades=[("q1", "7", 1)])).items[0]

    assert item.id == "7"
    assert item.about == {"session": "s1", "seq": 3, "date": "2023-05-08T13:56:00"}
    assert item.date == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    assert Item("x", "y", about={"date": "last week"}).date is None


def test_what_cannot_be_found_is_told_and_still_counts(tmp_path: Path) -> None:
    items = [{**ITEMS[0], "group": "a"}, {**ITEMS[1], "group": "b"}]
    questions = [{**QUESTIONS[0], "group": "a"}]
    grades = [("q1", "d1", 1), ("q1", "gone", 1), ("q1", "d2", 1), ("q9", "d1", 1)]

    found = read_set(write_set(tmp_path, items, questions, grades))

    assert found.questions[0].grades == {"d1": 1.0, "gone": 1.0, "d2": 1.0}
    assert found.warnings == (
        "1 judgement of missing documents: no search can find them",
        "1 judgement across groups: no search can find the documents",
        "1 question of qrels.tsv missing in queries.jsonl",
    )


def test_the_same_questions_are_drawn_every_time_in_their_order(tmp_path: Path) -> None:
    questions = [{"id": f"q{n}", "text": "heron"} for n in range(50)]
    grades = [(f"q{n}", "d1", 1) for n in range(50)]
    found = read_set(write_set(tmp_path, ITEMS, questions, grades))

    drawn = [one.id for one in found.draw(7).questions]

    assert drawn == [one.id for one in found.draw(7).questions]
    assert drawn == [one.id for one in found.questions if one.id in drawn]
    assert len(set(drawn)) == 7
    assert drawn != [f"q{n}" for n in range(7)]
    assert found.draw(50) == found


def lines(name: str, *content: str) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        (folder / name).write_text("".join(f"{line}\n" for line in content), encoding="utf-8")

    return write


D1, Q1, HEAD = '{"id": "d1", "text": "x"}', '{"id": "q1", "text": "x"}', "q\td\tgrade"


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda folder: (folder / "corpus.jsonl").unlink(), "There is no {}/corpus.jsonl.gz"),
        (lambda folder: (folder / "qrels.tsv").unlink(), "There is no {}/qrels.tsv"),
        (lines("corpus.jsonl", D1, "", "{"), "{}/corpus.jsonl, line 3: is not JSON"),
        (lines("corpus.jsonl", "[" * 9**5), "{}/corpus.jsonl, line 1: is not JSON"),
        (lines("corpus.jsonl", "[]"), "{}/corpus.jsonl, line 1: is a list"),
        (lines("corpus.jsonl", '{"text": "x"}'), "{}/corpus.jsonl, line 1: there is no `id`"),
        (lines("corpus.jsonl", '{"id": "a"}'), "{}/corpus.jsonl, line 1: there is no `text`"),
        (lines("corpus.jsonl", '{"id": "a", "text": {}}'), "line 1: `text` is an object"),
        (lines("corpus.jsonl", '{"id": "a", "text": "\\ud800"}'), "line 1: `text` is not text"),
        (lines("corpus.jsonl", D1, D1), "line 2: the id 'd1' is that of line 1, too"),
        (lines("queries.jsonl", Q1, Q1), "{}/queries.jsonl, line 2: the id 'q1' is that of line 1"),
        (lines("queries.jsonl", '{"id": "q1", "text": " "}'), "line 1: the question is empty"),
        (lines("queries.jsonl", '{"id": "", "text": "x"}'), "line 1: the `id` is empty"),
        (lines("qrels.tsv", HEAD, "q1\td1\tgood"), "{}/qrels.tsv, line 2: 'good' is not a grade"),
        (lines("qrels.tsv", HEAD, "q1\td1\tnan"), "{}/qrels.tsv, line 2: 'nan' is not a grade"),
        (lines("qrels.tsv", HEAD, "q1 d1 1"), "line 2: 'q1 d1 1' has fewer than three fields"),
        (lines("qrels.tsv", "q1\td1\t1"), "{}/qrels.tsv, line 1: is not a header"),
        (lines("qrels.tsv", HEAD, "q1\td1\t1", "q1\td1\t2"), "line 3: 'd1' has another grade"),
        (lines("qrels.tsv", HEAD, "q1\td1\t0"), "No question of {} has an answer"),
        (lines("queries.jsonl", '{"id": "q1", "text": "x", "group": "g"}'), "has the group 'g'"),
        (
            lambda folder: (folder / "queries.jsonl").write_bytes(b'\n{"id": "\xff"}'),
            "{}/queries.jsonl, line 2: is not UTF-8",
        ),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, spoil: Callable[[Path], None], told: str) -> None:
    folder = write_set(tmp_path / "birds")
    spoil(folder)

    with pytest.raises(SourceError) as refused:
        read_set(folder)

    assert told.replace("{}", str(folder)) in refused.value.message
    assert refused.value.hint


def test_a_packed_file_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    folder = write_set(tmp_path, packed=True)
    file = folder / "corpus.jsonl.gz"
    file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(SourceError, match=r"corpus\.jsonl\.gz cannot be read"):
        read_set(folder)


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="There is no folder"):
        read_set(tmp_path / "gone")


def test_judgements_are_of_the_right_question(tmp_path: Path) -> None:
    found = read_set(write_set(tmp_path, grades=GRADES[::-1]))
    assert [one.grades for one in found.questions] == [{"d3": 1.0, "d1": 2.0}, {"d2": 1.0}]
