"""TREC runs: what is written is what others read, and what others write is read as they do."""

from __future__ import annotations

from pathlib import Path

import ir_measures
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import nDCG

from aurora.errors import SourceError
from aurora.evaluation.compare import read_run, write_run
from aurora.evaluation.metrics import ndcg
from aurora.evaluation.runner import Answer

GRADES = {f"d{n}": n % 3 for n in range(0, 40, 2)}


def judged() -> list[ir_measures.Qrel]:
    return [ir_measures.Qrel("q", document, grade) for document, grade in GRADES.items()]


def test_a_line_has_six_fields(tmp_path: Path) -> None:
    answers = {"q1": Answer(("a", "b"), (0.75, 0.5), 1.0), "q2": Answer((), (), 1.0)}
    assert not write_run(tmp_path / "x.run", "hybrid/rrf", answers)
    assert (tmp_path / "x.run").read_text().splitlines() == [
        "q1 Q0 a 1 0.7500000 hybrid/rrf",
        "q1 Q0 b 2 0.5000000 hybrid/rrf",
    ]


@pytest.mark.parametrize("largest", [0.9, 40.0, -3.0])
def test_others_read_the_order_that_was_meant(tmp_path: Path, largest: float) -> None:
    """Scores that are alike, or that rise because something else decided, keep their places."""
    documents = tuple(f"d{n}" for n in range(60))
    scores = tuple(largest if n < 50 else largest + 1 for n in range(60))
    write_run(tmp_path / "x.run", "s", {"q": Answer(documents, scores, 1.0)})

    assert read_run(tmp_path / "x.run") == {"q": documents}
    theirs = ir_measures.calc_aggregate(
        [nDCG @ 10], judged(), list(ir_measures.read_trec_run(str(tmp_path / "x.run")))
    )
    assert theirs[nDCG @ 10] == pytest.approx(ndcg(documents, GRADES, at=10))


@given(st.dictionaries(st.sampled_from([*sorted(GRADES), "x1", "x2"]), st.integers(0, 3)))
def test_what_has_the_same_score_is_read_as_trec_eval_does(scores: dict[str, int]) -> None:
    scores = {"d4": 1} | scores
    run = [ir_measures.ScoredDoc("q", document, score) for document, score in scores.items()]
    theirs = ir_measures.calc_aggregate([nDCG @ 10], judged(), run)[nDCG @ 10]
    ordered = sorted(scores, key=lambda one: (scores[one], one), reverse=True)
    assert ndcg(ordered, GRADES, at=10) == pytest.approx(theirs)


def test_a_space_in_an_id_is_told(tmp_path: Path) -> None:
    answers = {"q 1": Answer(("a\tb",), (1.0,), 1.0)}
    assert write_run(tmp_path / "x.run", "s", answers)
    assert read_run(tmp_path / "x.run") == {"q%201": ("a%20b",)}


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("q Q0 d 1 0.5", "line 2: has 5 fields"),
        ("q Q0 d 1 high s", "line 2: 'high' is not a score"),
        ("q Q0 a 1 nan s", "line 2: 'nan' is not a score"),
        ("q Q0 a 9 0.25 s", "line 2: 'a' is listed twice"),
    ],
)
def test_what_is_no_run_is_refused(tmp_path: Path, line: str, told: str) -> None:
    (tmp_path / "x.run").write_text(f"q Q0 a 1 0.5 s\n{line}\n")
    with pytest.raises(SourceError, match=told):
        read_run(tmp_path / "x.run")


def test_a_file_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="cannot be written"):
        write_run(tmp_path / "gone" / "x.run", "s", {})
