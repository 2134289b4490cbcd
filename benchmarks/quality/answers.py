"""Whether single answers can be trusted: questions over eight repositories, judged by hand.

    python benchmarks/quality/answers.py FOLDER [--only gin] [--questions FOLDER …]
        [--memories FOLDER]

FOLDER holds a git repository for each file of benchmarks/questions, under the file's name. Each is
cloned at the commit of its questions and indexed with the defaults, into a temporary folder or into
that of `--memories`, which later runs use again. A
question is answered by a row that overlaps one of its places. The places were written down by
reading the code, before any search.

The table has hits in the first and the first five rows, by kind of question; how many questions
that nothing in the repository answers get an empty answer; how well the score and the relevance of
the first row separate (area under the ROC curve) questions of the repository from questions of the
others, and how well the score separates right from wrong first rows; and the expected calibration
error of first rows that were shown. A run of all repositories writes
benchmarks/results/answers-<commit>.json.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from aurora import Memory, Places, SearchResult

sys.path.append(str(Path(__file__).resolve().parents[1]))
import record

QUESTIONS = Path(__file__).resolve().parents[1] / "questions"
LIMIT = 5


class Place(NamedTuple):
    path: str
    start: int
    end: int

    def is_in(self, result: SearchResult) -> bool:
        lines = result.lines
        return (
            result.chunk.path == self.path
            and lines is not None
            and lines.start <= self.end
            and self.start <= lines.end
        )


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, its kind, and the rows that answered it. `hit` is the place of the right row."""

    repository: str
    kind: str  # symbol, where or vague; unanswerable; foreign: a question of another repository
    text: str
    hit: int  # from 1; 0: not among the first five
    score: float  # of the first row, or of the weak one where nothing is relevant
    relevance: float  # of the same row
    is_refused: bool

    @property
    def is_own(self) -> bool:
        return self.kind not in ("unanswerable", "foreign")


def ask(memory: Memory, repository: str, kind: str, text: str, places: Sequence[Place]) -> Asked:
    answer = memory.search(text, limit=LIMIT)
    rows = answer.results
    right = (n for n, row in enumerate(rows, 1) if any(place.is_in(row) for place in places))
    best = rows[0] if rows else answer.weak
    score, relevance = (best.score, best.relevance) if best else (0.0, 0.0)
    return Asked(repository, kind, text, next(right, 0), score, relevance, not rows)


@contextmanager
def open_memory(root: Path, given: dict, folder: Path) -> Iterator[Memory]:
    """The memory of a repository at the commit of its questions, made if it is not there yet."""
    clone = folder / given["repository"].replace("/", "+")
    is_new = not clone.exists()
    if is_new:
        git(root, "clone", "--quiet", "--shared", ".", str(clone.resolve()))
        git(clone, "checkout", "--quiet", given["commit"])
        (clone / ".aurora").mkdir()
    with Memory(Places(folder / "home", clone)) as memory:
        if is_new:
            memory.index(clone)
        yield memory


@contextmanager
def folder_of_memories(wanted: Path | None) -> Iterator[Path]:
    """The wanted folder, or a temporary one."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = wanted or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        yield folder


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)


def ask_all(root: Path, given: dict, foreign: Sequence[str], folder: Path) -> Iterator[Asked]:
    name = given["repository"]
    with open_memory(root, given, folder) as memory:
        for question in given["questions"]:
            places = [Place(**place) for place in question["answers"]]
            yield ask(memory, name, question["kind"], question["text"], places)
        for text in given["unanswerable"]:
            yield ask(memory, name, "unanswerable", text, ())
        for text in foreign:
            yield ask(memory, name, "foreign", text, ())


def auc(higher: Sequence[float], lower: Sequence[float]) -> float:
    """How often a score of the first group is above one of the second; equal ones count half."""
    pairs = [(a > b) + (a == b) / 2 for a in higher for b in lower]
    return sum(pairs) / len(pairs) if pairs else 0.0


def calibration_error(judged: Sequence[tuple[float, bool]], bins: int = 10) -> float:
    """The mean distance of score and share of right rows, over bins of the score."""
    rows = [[one for one in judged if min(int(one[0] * bins), bins - 1) == n] for n in range(bins)]
    gaps = (abs(sum(score for score, _ in row) - sum(right for _, right in row)) for row in rows)
    return sum(gaps) / max(len(judged), 1)


def summary(asked: Sequence[Asked]) -> dict[str, float]:
    own = [one for one in asked if one.is_own]
    unanswerable = [one for one in asked if one.kind == "unanswerable"]
    foreign = [one for one in asked if one.kind == "foreign"]
    found = {"questions": len(own), "hit@1": share(own, 1), "hit@5": share(own, LIMIT)}
    for kind in ("symbol", "where", "vague"):
        found[f"{kind} hit@1"] = share([one for one in own if one.kind == kind], 1)
    found["unanswerable refused"] = sum(one.is_refused for one in unanswerable) / len(unanswerable)
    found["answerable refused"] = sum(one.is_refused for one in own) / len(own)
    for name in ("score", "relevance"):
        of_own, of_foreign = ([getattr(one, name) for one in group] for group in (own, foreign))
        found[f"AUC own, foreign ({name})"] = auc(of_own, of_foreign)
    right = [one.score for one in own if one.hit == 1]
    found["AUC right, wrong"] = auc(right, [one.score for one in own if one.hit != 1])
    given = [one for one in (*own, *unanswerable) if not one.is_refused]
    found["ECE"] = calibration_error([(one.score, one.hit == 1) for one in given])
    return {name: round(value, 4) for name, value in found.items()}


def share(asked: Sequence[Asked], within: int) -> float:
    return sum(1 <= one.hit <= within for one in asked) / max(len(asked), 1)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folder", type=Path)
    options.add_argument("--only", action="append", default=[])
    options.add_argument("--questions", type=Path, default=QUESTIONS)
    options.add_argument("--memories", type=Path, help="keep the indexed clones here")
    options.add_argument("--misses", action="store_true", help="list what was not first")
    given = options.parse_args()
    files = sorted(given.questions.glob("*.json"))
    sets = {file.stem: json.loads(file.read_text("utf-8")) for file in files}
    asked: list[Asked] = []
    with folder_of_memories(given.memories) as folder:
        for name, questions in sets.items():
            if given.only and name not in given.only:
                continue
            foreign = [
                text["text"]
                for other, those in sets.items()
                if other != name
                for text in those["questions"]
                if text["kind"] != "symbol"
            ][::7]
            answers = list(ask_all(given.folder / name, questions, foreign, folder))
            print(name, summary(answers))
            asked += answers
    print("all", summary(asked))
    for one in asked if given.misses else ():
        if one.is_own and one.hit != 1:
            print(f"{one.repository:26}{one.kind:8}{one.hit or '-':>3} {one.score:.3f}  {one.text}")
    if not given.only and given.questions == QUESTIONS:
        record.save("answers", {"all": summary(asked)})


if __name__ == "__main__":
    main()
