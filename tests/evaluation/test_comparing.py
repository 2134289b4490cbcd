"""Two systems, question by question."""

from __future__ import annotations

from pathlib import Path

import pytest

from aurora.errors import SourceError
from aurora.evaluation.compare import compare, read_baseline, write_run
from aurora.evaluation.datasets import Item, LabelledSet, Question
from aurora.evaluation.runner import Answer, Evaluated, Problems
from aurora.types import Event, Note, ignore_events

QUESTIONS = tuple(Question(f"q {n}", "?", {f"d {n}": 1.0}) for n in range(20))
LABELLED = LabelledSet("x", tuple(Item(f"d {n}", "text") for n in range(20)), QUESTIONS)


def answers(right: range) -> dict[str, Answer]:
    """The answer is first for these questions, and second for the others."""
    return {
        f"q {n}": Answer((f"d {n}", "x") if n in right else ("x", f"d {n}"), (0.9, 0.8), 1.0)
        for n in range(20)
    }


EVALUATED = Evaluated(
    LABELLED, 1, 20, "", {"good": answers(range(15)), "bad": answers(range(12, 18))}, Problems()
)
SECOND = 0.6309297535714575  # 1 / log2(3)


def test_wins_ties_losses_and_their_difference() -> None:
    (found,) = compare(EVALUATED, "bad")
    assert (found.system, found.against) == ("good", "bad")
    assert (found.wins, found.ties, found.losses) == (12, 5, 3)
    assert found.difference.mean == pytest.approx((12 - 3) * (1 - SECOND) / 20)
    assert found.difference.low < found.difference.mean < found.difference.high
    assert found.p_value == pytest.approx(0.0352, abs=0.006)  # of 15 coins, 12 alike or more


def test_the_other_way_round_it_is_the_same_with_another_sign() -> None:
    (one,), (other,) = compare(EVALUATED, "bad"), compare(EVALUATED, "good")
    assert other.difference.mean == -one.difference.mean
    assert (other.wins, other.losses, other.p_value) == (one.losses, one.wins, one.p_value)


def test_an_earlier_run_is_compared_as_if_it_were_asked_now(tmp_path: Path) -> None:
    """Its ids have no spaces."""
    write_run(tmp_path / "bad.run", "bad", EVALUATED.answers["bad"])
    run = read_baseline(tmp_path / "bad.run", LABELLED, ignore_events)
    good, bad = compare(EVALUATED, "bad.run", run)
    (now,) = compare(EVALUATED, "bad")
    assert (good.difference, good.p_value, good.wins) == (now.difference, now.p_value, now.wins)
    assert (good.against, bad.wins, bad.ties, bad.losses) == ("bad.run", 0, 20, 0)
    assert bad.p_value == 1.0


def test_a_run_of_fewer_questions_is_compared_on_those(tmp_path: Path) -> None:
    some = dict(list(EVALUATED.answers["bad"].items())[:8])
    write_run(tmp_path / "bad.run", "bad", some)
    told: list[Event] = []
    run = read_baseline(tmp_path / "bad.run", LABELLED, told.append)
    good = compare(EVALUATED, "bad.run", run)[0]
    assert (good.wins, good.ties, good.losses) == (8, 0, 0)
    assert told == [
        Note(f"12 questions not in {tmp_path}/bad.run: compared are the other 8", warning=True)
    ]


def test_a_run_of_another_set_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other.run").write_text("z Q0 d 1 0.5 s\n")
    with pytest.raises(SourceError, match="about other questions than x"):
        read_baseline(tmp_path / "other.run", LABELLED, ignore_events)
