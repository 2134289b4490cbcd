"""Fits the numbers of `aurora.retrieval.confidence`, and shows how reliable they are.

    python benchmarks/quality/calibration.py FOLDER [--memories FOLDER] [--questions FOLDER …]
        [--sets FOLDER …]

FOLDER holds the repositories of answers.py; by default both sets of questions are asked. `--sets`
are labelled sets in the form of `aur eval`: memories of prose, where questions are longer. The
evidence for each row is what a search gathers itself. Questions of a repository or set are judged
by numbers that were fitted without it: the tables show those. `--memories` keeps the
indexed memories for the next run. At the end stand the numbers fitted on everything, as code.

A right row counts 1 and a wrong one 0. The weights of rows and questions are those of `weight`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random
from typing import NamedTuple, TypeAlias, TypeVar
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from aurora import Memory, Places, SearchResult
from aurora.evaluation.datasets import Group, Item, LabelledSet, read_set
from aurora.evaluation.runner import Filled, Problems, fill
from aurora.retrieval import candidates
from aurora.retrieval.confidence import Evidence, gather
from aurora.types import Mode

sys.path.append(str(Path(__file__).resolve().parents[1]))
import record
from quality.answers import (
    QUESTIONS,
    Place,
    auc,
    calibration_error,
    folder_of_memories,
    open_memory,
)

ROWS = 10
RIDGE = 2.0
EVERY = 8  # questions of other repositories
GROUPS, OF_SET, OF_OTHERS = 4, 120, 60  # of each set: groups, questions, questions of other sets
OTHERS = 1.6  # weight of questions that the memory does not answer, together
DOCUMENTS = 6500  # of a set's group at most
WORDS = (
    "coverage best_coverage is_named is_inside is_mentioned is_unknown words place known of_known "
    "best_of_known coverage_words best_words"
)
WAYS = {
    Mode.HYBRID: f"meaning both best_meaning {WORDS}",
    Mode.KEYWORD: WORDS,
    Mode.SEMANTIC: "meaning best_meaning words place",
}


class Judged(NamedTuple):
    """A question, and for each row its evidence and whether it is right."""

    memory: str  # repository or set
    kind: str  # as in answers.py; of sets: labelled, strange
    rows: list[tuple[Evidence, bool]]

    @property
    def is_own(self) -> bool:
        return self.kind not in ("unanswerable", "foreign", "strange")

    @property
    def is_of_set(self) -> bool:
        return self.kind in ("labelled", "strange")

    @property
    def weight_as_answer(self) -> float:
        """For the relevance: questions of sets are of eight memories, others of sixteen."""
        return 0.3 if self.is_of_set else 1.0

    def weight(self, place: int) -> float:
        """The first row decides what is shown. There are more questions of others than own."""
        first = 1.0 if place == 0 else 0.1
        return first * (1.0 if self.is_own else 0.3) * (0.3 if self.is_of_set else 1.0)


class Listener:
    """Keeps what the last search gathered."""

    def __init__(self) -> None:
        self._judge = candidates.judge
        self.evidence: dict[int, Evidence] = {}

    def __call__(self, order, text, scores, rankings, *, unfiltered, most, **places):
        rows = order.rows[:most]
        gathered = gather(rows, text, scores, rankings, unfiltered=unfiltered)
        self.evidence = dict(zip(rows, gathered, strict=True))
        places |= {"unfiltered": unfiltered, "most": most}
        return self._judge(order, text, scores, rankings, **places)


T = TypeVar("T")
Floats: TypeAlias = NDArray[np.float64]
IsRight: TypeAlias = Callable[[SearchResult], bool]


def judge(memory: Memory, heard: Listener, text: str, mode: Mode, is_right: IsRight) -> list:
    heard.evidence = {}
    results = memory.search(text, limit=ROWS, mode=mode, min_score=0.0).results
    chunks = memory.admin.store.chunks.get_rows(list(heard.evidence))
    by_id = {chunk.id: heard.evidence[row] for row, chunk in chunks.items()}
    return [(by_id[row.chunk.id], is_right(row)) for row in results if row.chunk.id in by_id]


def ask_all(
    roots: Path, sets: dict[str, dict], folder: Path, heard: Listener, mode: Mode
) -> Iterator[Judged]:
    for name, given in sets.items():
        asked = [
            (question["kind"], question["text"], [Place(**place) for place in question["answers"]])
            for question in given["questions"]
        ]
        asked += [("unanswerable", text, []) for text in given["unanswerable"]]
        asked += [
            ("foreign", question["text"], [])
            for other, those in sets.items()
            if other != name
            for question in those["questions"][::EVERY]
        ]
        with open_memory(roots / name, given, folder) as memory:
            for kind, text, places in asked:
                is_right = partial(is_at, places)
                if rows := judge(memory, heard, text, mode, is_right):
                    yield Judged(name, kind, rows)


def is_at(places: Sequence[Place], row: SearchResult) -> bool:
    return any(place.is_in(row) for place in places)


def ask_sets(
    sets: Sequence[LabelledSet], folder: Path, heard: Listener, mode: Mode
) -> Iterator[Judged]:
    """Some questions of each set, and some of the others."""
    drawn = {labelled.name: draw_groups(labelled) for labelled in sets}
    texts = {
        name: [q.text for group in those for q in group.questions] for name, those in drawn.items()
    }
    for name, groups in drawn.items():
        strange = [text for other in texts if other != name for text in texts[other]]
        for number, group in enumerate(groups):
            drawn_items = crc32("\n".join(item.id for item in group.items).encode())
            with open_set(folder / f"{name}-{drawn_items:08x}", group.items) as (memory, filled):
                for question in group.questions:
                    is_right = partial(has_grade, filled, question.grades)
                    if rows := judge(memory, heard, question.text, mode, is_right):
                        yield Judged(name, "labelled", rows)
                for text in sample(strange, OF_OTHERS // len(groups), number):
                    if rows := judge(memory, heard, text, mode, lambda _: False):
                        yield Judged(name, "strange", rows)


def has_grade(filled: Filled, grades: Mapping[str, float], row: SearchResult) -> bool:
    return grades.get(filled.item_of(row.chunk), 0.0) > 0.0


def sample(things: Sequence[T], most: int, seed: int = 0) -> list[T]:
    """At most so many of them, always the same ones."""
    return Random(seed).sample(list(things), min(most, len(things)))  # noqa: S311


def draw_groups(labelled: LabelledSet) -> list[Group]:
    """A few groups, with some questions and with all documents that answer these."""
    drawn = sample(list(labelled.by_group()), GROUPS)
    return [_drawn(group, OF_SET // len(drawn)) for group in drawn]


def _drawn(group: Group, most: int) -> Group:
    questions = sample(list(group.questions), most)
    wanted = {document for question in questions for document in question.grades}
    others = [item for item in group.items if item.id not in wanted]
    items = [item for item in group.items if item.id in wanted]
    return Group([*items, *sample(others, DOCUMENTS)], questions)


@contextmanager
def open_set(folder: Path, items: Sequence[Item]) -> Iterator[tuple[Memory, Filled]]:
    home, files, filled = folder / "home", folder / "files", folder / "filled.json"
    for new in (home, files):
        new.mkdir(parents=True, exist_ok=True)
    with Memory(Places(home, files)) as memory:
        if not filled.exists():
            made = fill(memory, items)
            filled.write_text(json.dumps([dict(made.files), made.are_cut]), "utf-8")
        paths, are_cut = json.loads(filled.read_text("utf-8"))
        yield memory, Filled(paths, are_cut, Problems())


Fitted: TypeAlias = tuple[dict[str, float], float]


def fit(asked: Sequence[Judged], columns: Sequence[str]) -> Fitted:
    """The weights for the confidence that a row is right, and what is added."""
    evidence, right, weights = [], [], []
    for one in asked:
        for place, (each, is_right) in enumerate(one.rows):
            evidence.append([getattr(each, name) for name in columns])
            right.append(float(is_right))
            weights.append(one.weight(place))
    return regress(np.array(evidence), np.array(right), np.array(weights), columns)


def fit_relevance(asked: Sequence[Judged], columns: Sequence[str]) -> Fitted:
    """Those for the confidence that the memory answers the question, by its first row.

    Others weigh more than own questions, so that the best threshold is 0.1, as in seed 001.
    """
    columns = [name for name in columns if name != "place"]
    evidence = [[getattr(one.rows[0][0], name) for name in columns] for one in asked]
    own = np.array([float(one.is_own) for one in asked])
    weights = np.array([one.weight_as_answer for one in asked])
    others = OTHERS * own.sum() / max(len(own) - own.sum(), 1.0)
    return regress(np.array(evidence), own, weights * np.where(own > 0.0, 1.0, others), columns)


def regress(x: Floats, y: Floats, w: Floats, columns: Sequence[str]) -> Fitted:
    """Logistic regression by Newton's method."""
    mean, spread = x.mean(axis=0), x.std(axis=0) + 1e-9
    z = np.column_stack([(x - mean) / spread, np.ones(len(x))])
    ridge = RIDGE * np.diag([*[1.0] * len(columns), 1e-3])  # few questions may be separable
    b: Floats = np.zeros(z.shape[1])
    for _ in range(50):
        p = 1.0 / (1.0 + np.exp(-(z @ b)))
        gradient = z.T @ (w * (y - p)) - ridge @ b
        b = b + np.linalg.solve((z * (w * p * (1 - p))[:, None]).T @ z + ridge, gradient)
    scale = b[:-1] / spread
    return dict(zip(columns, scale.tolist(), strict=True)), float(b[-1] - scale @ mean)


def confidence(evidence: Evidence, weights: dict[str, float], base: float) -> float:
    total = base + sum(weight * getattr(evidence, name) for name, weight in weights.items())
    return float(1.0 / (1.0 + np.exp(-total)))


class Measured(NamedTuple):
    asked: Judged
    score: float  # of the first row
    relevance: float


def cross_validated(asked: Sequence[Judged], columns: Sequence[str]) -> list[Measured]:
    """Each question with the numbers of its first row, by weights of other memories."""
    found = []
    for memory in sorted({one.memory for one in asked}):
        others = [one for one in asked if one.memory != memory] or list(asked)
        right, relevant = fit(others, columns), fit_relevance(others, columns)
        for one in (one for one in asked if one.memory == memory):
            first = one.rows[0][0]
            found.append(Measured(one, confidence(first, *right), confidence(first, *relevant)))
    return found


KINDS = ("symbol", "where", "vague", "labelled", "unanswerable", "foreign", "strange")


def report(judged: Sequence[Measured]) -> dict[str, object]:
    own = [one for one in judged if one.asked.is_own]
    by_kind = {kind: [one for one in judged if one.asked.kind == kind] for kind in KINDS}
    right = [one for one in own if one.asked.rows[0][1]]
    wrong = [one.score for one in own if not one.asked.rows[0][1]]
    shown = [(one.score, one.asked.rows[0][1]) for one in (*own, *by_kind["unanswerable"])]
    groups = {"own": own, "right": right, **by_kind}
    measured: dict[str, object] = {"questions": len(own)}
    for kind in ("foreign", "unanswerable", "strange"):
        if others := by_kind[kind]:
            measured[f"AUC own, {kind}"] = {
                "score": auc([one.score for one in own], [one.score for one in others]),
                "relevance": auc([one.relevance for one in own], [one.relevance for one in others]),
            }
    return measured | {
        "AUC right, wrong": auc([one.score for one in right], wrong),
        "ECE": calibration_error(shown),
        "refused below": {
            str(least): {
                kind: sum(one.relevance < least for one in those) / len(those)
                for kind, those in groups.items()
                if those
            }
            for least in (0.05, 0.07, 0.1, 0.15)
        },
        "reliability": [_bin(shown, at) for at in range(10)],
    }


def _bin(shown: Sequence[tuple[float, bool]], at: int) -> list[float]:
    """The mean confidence of the rows in one of ten bins, the share of right ones, their number."""
    rows = [one for one in shown if min(int(one[0] * 10), 9) == at]
    most = max(len(rows), 1)
    mean, share = sum(score for score, _ in rows) / most, sum(right for _, right in rows) / most
    return [round(mean, 3), round(share, 3), len(rows)]


def shown_code(fitted: Fitted) -> str:
    weights, base = fitted
    shown = ", ".join(f"{name}={weight:.2f}" for name, weight in weights.items())
    return f"Calibration(Evidence({shown}), {base:.2f})"


def rounded(value: object) -> object:
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    return round(value, 4) if isinstance(value, float) else value


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("folder", type=Path)
    options.add_argument("--memories", type=Path, help="keep the indexed clones here")
    options.add_argument("--questions", type=Path, action="append")
    options.add_argument("--sets", type=Path, nargs="*", default=[])
    given = options.parse_args()
    folders = given.questions or [QUESTIONS, QUESTIONS / "held-out"]
    files = [file for folder in folders for file in sorted(folder.glob("*.json"))]
    sets = {file.stem: json.loads(file.read_text("utf-8")) for file in files}
    labelled = [read_set(folder) for folder in given.sets]
    measured: dict[str, object] = {}
    candidates.judge = heard = Listener()
    with folder_of_memories(given.memories) as memories:
        for mode, named in WAYS.items():
            asked = list(ask_all(given.folder, sets, memories, heard, mode))
            asked += ask_sets(labelled, memories, heard, mode)
            judged = cross_validated(asked, named.split())
            parts = {
                "repositories": report([one for one in judged if not one.asked.is_of_set]),
                "sets": report([one for one in judged if one.asked.is_of_set]),
            }
            measured[mode] = rounded(parts)
            print(mode, json.dumps(measured[mode], indent=1))
            print("confidence", shown_code(fit(asked, named.split())))
            print("relevance", shown_code(fit_relevance(asked, named.split())))
    if labelled and not given.questions:
        record.save("calibration", measured)


if __name__ == "__main__":
    main()
