"""Whether a plain search shows lessons and decisions, and what they cost the answers about code.

    python benchmarks/quality/lessons.py FOLDER [--only gin] [--questions FOLDER …]
        [--lessons benchmarks/questions/lessons/held-out.json] [--mode keyword] [--memories FOLDER]
        [--rounds 20]

FOLDER and the questions are those of answers.py. Each repository is asked about its code, then gets
twelve lessons and four decisions about other things, and is asked about its code and about each of
them: lessons by what they are about, and all in words that they do not use. They were written
before any search.

The table has the share of lessons and decisions that are first and among the first three, the hits
of questions about code before and after, how many of these lost a right first row to a lesson, how
many have a lesson among the first three, and how many questions that nothing answers get an empty
answer. `--rounds` also measures the time of a warm search with and without lessons, in turns.
Without --only, click, gin and requests are asked, and the numbers are written to
benchmarks/results/lessons-<set>-<commit>.json.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

sys.path.append(str(Path(__file__).resolve().parents[1]))
sys.path.append(str(Path(__file__).resolve().parent))
import record
from answers import QUESTIONS, Place, folder_of_memories, open_memory

from aurora import Criteria, Kind, Memory, NewDocument, SearchResult

LESSONS = QUESTIONS / "lessons" / "tuning.json"
REPOSITORIES = ("click", "gin", "requests")  # Python and Go, two of more than 1,500 chunks
LIMIT = 5
SEEN = 3  # the places that a reader looks at


class Told(NamedTuple):
    """A lesson or a decision in the memory: the start of its chunks' ids, and its questions."""

    kind: str
    id: str
    questions: Sequence[str]

    def is_in(self, row: SearchResult) -> bool:
        return row.chunk.id.partition("@")[0] == self.id


class CodeAnswer(NamedTuple):
    """The first rows for a question about code. `hit` is the place of the right row, or 0."""

    hit: int
    is_refused: bool
    lessons: Sequence[int]  # the places of lessons and decisions


def tell(memory: Memory, given: dict) -> list[Told]:
    """Add all lessons and decisions."""
    told = []
    for lesson in given["lessons"]:
        chunk = memory.learn(lesson["text"], pattern_type=lesson["type"], score=lesson["score"])
        told.append(Told("lessons", chunk.id, lesson["questions"]))
        told.append(Told("topics", chunk.id, [lesson["topic"]]))
    for entry in given["decisions"]:
        document = NewDocument(entry["text"], title=entry["title"], document_type=entry["type"])
        added = memory.add_all([document])[0]
        told.append(Told("decisions", added.id, entry["questions"]))
    return told


def ask_code(
    memory: Memory, given: dict, told: Sequence[Told], mode: str
) -> dict[str, list[CodeAnswer]]:
    answers: dict[str, list[CodeAnswer]] = {"code": [], "unanswerable": []}
    asked = [("code", question["text"], question["answers"]) for question in given["questions"]]
    asked += [("unanswerable", text, []) for text in given["unanswerable"]]
    for kind, text, expected in asked:
        rows = memory.search(text, limit=LIMIT, mode=mode).results
        places = [Place(**place) for place in expected]
        right = (n for n, row in enumerate(rows, 1) if any(place.is_in(row) for place in places))
        lessons = [n for n, row in enumerate(rows, 1) if any(each.is_in(row) for each in told)]
        answers[kind].append(CodeAnswer(next(right, 0), not rows, lessons))
    return answers


def ask_lessons(memory: Memory, told: Sequence[Told], mode: str) -> list[tuple[str, int, str]]:
    """The kind, the place and the question of each lesson; 0 where it is not shown."""
    places = []
    for each in told:
        for question in each.questions:
            rows = enumerate(memory.search(question, mode=mode).results, 1)
            place = next((n for n, row in rows if each.is_in(row)), 0)
            places.append((each.kind, place, question))
    return places


def share_first_of_kind(memory: Memory, told: Sequence[Told], mode: str) -> float:
    """How many lessons are the first lesson: the most that their places can show."""
    only, places = Criteria(kinds=(Kind.REASONING,)), []
    for each in told:
        for question in each.questions if each.kind == "lessons" else ():
            rows = memory.search(question, mode=mode, criteria=only, min_score=0.0).results
            places.append(int(bool(rows) and each.is_in(rows[0])))
    return share(places, 1)


def share(places: Sequence[int], within: int) -> float:
    return round(sum(1 <= place <= within for place in places) / max(len(places), 1), 4)


def summary(
    before: dict[str, list[CodeAnswer]],
    after: dict[str, list[CodeAnswer]],
    places: Sequence[tuple[str, int, str]],
) -> dict[str, float]:
    found: dict[str, float] = {}
    for kind in ("topics", "lessons", "decisions"):
        own = [place for name, place, _ in places if name == kind]
        found |= {f"{kind} first": share(own, 1), f"{kind} in three": share(own, SEEN)}
    for name, answers in (("before", before), ("after", after)):
        hits = [answer.hit for answer in answers["code"]]
        found |= {f"code hit@{n} {name}": share(hits, n) for n in (1, SEEN, LIMIT)}
        refused = [answer.is_refused for answer in answers["unanswerable"]]
        found[f"unanswerable refused {name}"] = round(sum(refused) / max(len(refused), 1), 4)
    pairs = list(zip(before["code"], after["code"], strict=True))
    found["code lost to a lesson"] = sum(a.hit == 1 and 1 in b.lessons for a, b in pairs)
    seen = [any(place <= SEEN for place in answer.lessons) for answer in after["code"]]
    found["code with a lesson in three"] = round(sum(seen) / max(len(seen), 1), 4)
    return found


def measure(without: Memory, beside: Memory, texts: Sequence[str], rounds: int) -> float:
    """How much longer a search takes beside lessons: the median ratio of rounds in turns."""
    ratios = []
    for at in range(rounds + 1):  # the first one loads the indexes
        seconds = {}
        for memory in (without, beside) if at % 2 else (beside, without):
            started = time.process_time()
            for text in texts:
                memory.search(text)
            seconds[memory] = time.process_time() - started
        ratios.append(seconds[beside] / seconds[without])
    return round(statistics.median(ratios[1:]), 4)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folder", type=Path)
    options.add_argument("--only", action="append", default=[])
    options.add_argument("--questions", type=Path, default=QUESTIONS)
    options.add_argument("--lessons", type=Path, default=LESSONS)
    options.add_argument("--mode", default="hybrid")
    options.add_argument("--memories", type=Path, help="keep the indexed clones here")
    options.add_argument("--rounds", type=int, default=0)
    options.add_argument("--misses", action="store_true", help="list what is not in three")
    given = options.parse_args()
    lessons = json.loads(given.lessons.read_text("utf-8"))
    measured: dict[str, dict[str, float]] = {}
    sums: tuple[dict, dict, list] = ({}, {}, [])
    with folder_of_memories(given.memories) as folder, ExitStack() as opened:
        for file in sorted(given.questions.glob("*.json")):
            root, questions = given.folder / file.stem, json.loads(file.read_text("utf-8"))
            if file.stem not in (given.only or REPOSITORIES):
                continue
            plain = opened.enter_context(open_memory(root, questions, folder))
            beside = opened.enter_context(open_memory(root, questions, folder / given.lessons.stem))
            told = tell(beside, lessons)
            before = ask_code(plain, questions, (), given.mode)
            after = ask_code(beside, questions, told, given.mode)
            places = ask_lessons(beside, told, given.mode)
            numbers = {"chunks": sum(plain.stats().chunks.values())}
            numbers |= summary(before, after, places)
            numbers["lessons first of lessons"] = share_first_of_kind(beside, told, given.mode)
            if given.rounds:
                texts = [question["text"] for question in questions["questions"]]
                numbers["time with lessons"] = measure(plain, beside, texts, given.rounds)
            print(file.stem, numbers)
            measured[file.stem] = numbers
            for total, new in zip(sums[:2], (before, after), strict=True):
                for kind, answers in new.items():
                    total.setdefault(kind, []).extend(answers)
            sums[2].extend((kind, place, f"{file.stem}: {text}") for kind, place, text in places)
    measured["all"] = summary(*sums)
    print("all", measured["all"])
    for kind, place, text in sums[2] if given.misses else ():
        if not 1 <= place <= SEEN:
            print(f"{kind:10}{place or '-':>3}  {text}")
    if not given.only and given.mode == "hybrid":
        record.save(f"lessons-{given.lessons.stem}", measured)


if __name__ == "__main__":
    main()
