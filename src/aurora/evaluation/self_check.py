"""`aur eval --self`: asks a memory about itself and measures how far its answers can be trusted."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from aurora.engine import Memory
from aurora.errors import SourceError
from aurora.evaluation.datasets import Item
from aurora.evaluation.runner import WARM_UP, percentile
from aurora.evaluation.self_questions import (
    COMMIT,
    DEFINITION,
    FOREIGN,
    SHARES,
    SYMBOL,
    SelfQuestion,
    draw_questions,
)
from aurora.report_types import Bin, Check, MeasuredKind, Missed, SelfCheck
from aurora.sources.git import list_changes
from aurora.sources.walk import SourceFile, read_text, walk_files
from aurora.types import Listener, Progress, SearchResult, ignore_events

QUESTIONS = 200  # by default
_LIMIT = 5  # rows of an answer
_CHANGES = 1000  # newest commits to draw from
_BINS = 10
# A check needs this many questions, or chance decides.
_LEAST_QUESTIONS = 20
# Loose enough that a sample of 40 questions does not fail by chance.
_LEAST_FIRST = {DEFINITION: 0.9, SYMBOL: 0.8}
_LEAST_IN_FIVE = {DEFINITION: 0.95, SYMBOL: 0.9}
_MOST_FALSE_ANSWERS = 0.25
_MOST_REFUSED = 0.1
_MOST_OVERCONFIDENCE = 0.15  # a score that is too low does no harm


def read_repository(folder: Path) -> list[Item]:
    """The files that an index of a folder would read, as items for a temporary memory."""
    top = folder.resolve()
    items = []
    for file in walk_files(top):
        text = read_text(file.path) if isinstance(file, SourceFile) else None
        if isinstance(text, str):
            path = file.path.relative_to(top).as_posix()
            items.append(Item(path, text, path=path))
    if not items:
        raise SourceError(f"There is nothing to read in {folder}", hint="name a repository")
    return items


@dataclass(frozen=True, slots=True)
class Answered:
    """A question, the place of its right row (0: not in the first five), and its first row."""

    question: SelfQuestion
    place: int
    first: SearchResult | None
    milliseconds: float

    @property
    def score(self) -> float:
        return self.first.score if self.first else 0.0


def check_self(
    memory: Memory,
    where: str,
    folder: Path | None,
    *,
    most: int = QUESTIONS,
    listen: Listener = ignore_events,
) -> SelfCheck:
    """Ask a memory about its own chunks and the git history of the folder that it is of."""
    chunks = list(memory.admin.chunks())
    changes = list_changes(folder, _CHANGES) if folder else None
    questions = draw_questions(chunks, changes or (), most)
    if not any(question.name for question in questions):
        raise SourceError(
            f"{where} holds no function, method or class with a name of its own",
            hint="name a repository of code: aur eval --self DIR",
        )
    notes = [f"no {kind} questions: {why}" for kind, why in _left_out(questions, changes)]
    return measure(where, len(chunks), list(ask_all(memory, questions, listen)), notes)


def _left_out(
    questions: Sequence[SelfQuestion], changes: Sequence[object] | None
) -> Iterator[tuple[str, str]]:
    asked = {question.kind for question in questions}
    for kind in (kind for kind in SHARES if kind not in asked):
        has_repository = kind != COMMIT or changes is not None
        yield kind, "there are none" if has_repository else "there is no git repository"


def ask_all(
    memory: Memory, questions: Sequence[SelfQuestion], listen: Listener = ignore_events
) -> Iterator[Answered]:
    for words in WARM_UP:
        memory.search(words, memories=[memory.label])
    for done, question in enumerate(questions, start=1):
        yield _ask(memory, question)
        listen(Progress("Asking", done, len(questions)))


def _ask(memory: Memory, question: SelfQuestion) -> Answered:
    start = time.perf_counter()
    rows = memory.search(question.text, limit=_LIMIT, memories=[memory.label]).results
    milliseconds = 1e3 * (time.perf_counter() - start)
    right = (place for place, row in enumerate(rows, 1) if question.is_answered_by(row))
    return Answered(question, next(right, 0), rows[0] if rows else None, milliseconds)


def measure(
    where: str, chunks: int, answered: Sequence[Answered], notes: Sequence[str] = ()
) -> SelfCheck:
    """The numbers of all answers."""
    own = [one for one in answered if one.question.kind != FOREIGN]
    foreign = [one for one in answered if one.question.kind == FOREIGN]
    by_kind = {kind: [one for one in own if one.question.kind == kind] for kind in SHARES}
    kinds = tuple(_measure(kind, same) for kind, same in by_kind.items() if same)
    bins = make_bins([(one.score, one.place == 1) for one in answered if one.first])
    refused, false_answers = (
        _share(not one.first for one in own),
        _share(one.first for one in foreign),
    )
    error, too_high = calibration_error(bins)
    checks = (
        *_check_kinds(kinds),
        *_check("answerable questions refused", refused, _MOST_REFUSED, len(own)),
        *_check("false answers", false_answers, _MOST_FALSE_ANSWERS, len(foreign)),
        *_check("overconfidence", too_high, _MOST_OVERCONFIDENCE, sum(b.rows for b in bins)),
    )
    return SelfCheck(
        where,
        chunks,
        len(answered),
        kinds,
        refused,
        len(foreign),
        false_answers,
        error,
        too_high,
        bins,
        checks,
        _misses(answered),
        tuple(notes),
    )


def _share(marks: Iterator[object]) -> float:
    values = [bool(mark) for mark in marks]
    return sum(values) / max(len(values), 1)


def _measure(kind: str, answered: Sequence[Answered]) -> MeasuredKind:
    times = sorted(one.milliseconds for one in answered)
    return MeasuredKind(
        kind,
        len(answered),
        _share(one.place == 1 for one in answered),
        _share(one.place for one in answered),
        percentile(times, 50),
        percentile(times, 95),
    )


def make_bins(rows: Sequence[tuple[float, bool]]) -> tuple[Bin, ...]:
    """Ten bins of equal width over the scores, without the empty ones."""
    bins: dict[int, list[tuple[float, bool]]] = {}
    for score, is_right in rows:
        bins.setdefault(min(int(score * _BINS), _BINS - 1), []).append((score, is_right))
    return tuple(
        Bin(
            number / _BINS,
            (number + 1) / _BINS,
            sum(score for score, _ in same) / len(same),
            sum(is_right for _, is_right in same) / len(same),
            len(same),
        )
        for number, same in sorted(bins.items())
    )


def calibration_error(bins: Sequence[Bin]) -> tuple[float, float]:
    """The mean distance of score and share right, by rows; and its part from scores too high.

    Naeini, Cooper and Hauskrecht, *Obtaining Well Calibrated Probabilities Using Bayesian Binning*
    (2015).
    """
    rows = max(sum(group.rows for group in bins), 1)
    distances = [(group.score - group.right) * group.rows / rows for group in bins]
    return sum(map(abs, distances)), sum(max(distance, 0.0) for distance in distances)


def _check_kinds(kinds: Sequence[MeasuredKind]) -> Iterator[Check]:
    for kind in kinds:
        if kind.asked >= _LEAST_QUESTIONS and kind.kind in _LEAST_FIRST:
            yield Check(f"{kind.kind} first", kind.first, _LEAST_FIRST[kind.kind], True)
            yield Check(f"{kind.kind} in five", kind.in_five, _LEAST_IN_FIVE[kind.kind], True)


def _check(what: str, value: float, limit: float, count: int) -> Iterator[Check]:
    if count >= _LEAST_QUESTIONS:
        yield Check(what, value, limit, False)


def _misses(answered: Sequence[Answered]) -> tuple[Missed, ...]:
    """The questions whose first row is wrong, by kind, the worst place first."""
    kinds = list(SHARES)
    wrong = [one for one in answered if one.place != 1 and (one.first or one.question.places)]
    wrong.sort(
        key=lambda one: (
            kinds.index(one.question.kind),
            -(one.place or _LIMIT + 1),
            one.question.text,
        )
    )
    return tuple(map(_missed, wrong))


def _missed(one: Answered) -> Missed:
    question = one.question
    right = "".join(f"{path}:{line}" if line else path for path, line in question.places[:1])
    first = one.first.chunk.id if one.first else ""
    return Missed(question.kind, question.text, right, one.place, first, one.score)
