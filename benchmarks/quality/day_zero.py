"""What Aurora finds on its first day of the sessions that agents left on the machine.

    python benchmarks/quality/day_zero.py [--only shop] [--seed 1] [--home FOLDER] [--misses]

benchmarks/questions/sessions has invented projects: what people asked their agents and what came of
it, and a hundred questions as people ask them months later, in other words, by time, branch or a
half remembered error. They were written before any search. generated_sessions.py makes sessions of
Claude Code, Codex and Gemini CLI out of them, most of whose exchanges are routine. These go into
the person's memory, and each question is asked with the default settings: from the folder of its
project, where sessions of other projects count less, and from an empty folder, where they are all
alike. A hit is a row of an exchange that answers it.

`words` is a baseline: exchanges by the share of the question's words that they have, the newest
first among equals; in the folder of a project, only those of that project. `overlap` tells how near
the questions are to the texts: the share of a question's words that an answer has, and of questions
whose rarest word an answer has. Words are those that are no stop words; the rarest is the one that
the fewest exchanges have, of those that any has.

Without options, the numbers are written to benchmarks/results/day-zero-<commit>.json.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

sys.path.append(str(Path(__file__).resolve().parents[1]))
sys.path.append(str(Path(__file__).resolve().parent))
import generated_sessions
import record
from generated_sessions import Exchange, Session

from aurora import Memory, Places
from aurora.config import SettingsFiles
from aurora.config.places import make_project
from aurora.text import is_stop_word
from aurora.types import Chunk

QUESTIONS = record.BENCHMARKS / "questions"
NOW = datetime(2026, 11, 20, 9, tzinfo=UTC)  # when the questions are asked
LIMIT = 10
EMPTY = "new"  # a folder of the home
SEED = 1  # of what is saved
DEPTHS = (1, 5, 10)
_WORD = re.compile(r"\w+")

Key = tuple[str, datetime]  # the session of an exchange, and when it was asked


class Question(NamedTuple):
    text: str
    kind: str
    project: str
    folder: str  # of its project, below the home
    answers: frozenset[Key]


class Row(NamedTuple):
    """A row of an answer: the exchange that it is of, and what it shows."""

    key: Key
    shown: str


class Asked(NamedTuple):
    question: Question
    rows: Sequence[Row]

    @property
    def place(self) -> int:
        """The place of the first right row, or 0."""
        right = (n for n, row in enumerate(self.rows, 1) if row.key in self.question.answers)
        return next(right, 0)


def load(names: Sequence[str], seed: int) -> tuple[list[Session], list[Question]]:
    """The sessions and the questions of these projects, or of all."""
    routine = generated_sessions.read_yaml(QUESTIONS / "routine.yaml")
    random = Random(seed)  # noqa: S311 - not for secrets
    sessions, questions = list[Session](), list[Question]()
    for file in sorted((QUESTIONS / "sessions").glob("*.yaml")):
        if file.stem not in (names or [file.stem]):
            continue
        project = generated_sessions.read_yaml(file)
        folder = "/".join(Path(project["folder"]).parts[3:])
        own = generated_sessions.sessions_of(project, routine, random)
        sessions += [replace(session, folder=folder) for session in own]
        keys = {e.matter: (s.id, e.time) for s in own for e in s.exchanges if e.matter}
        for given in project["questions"]:
            answers = frozenset(keys[name] for name in given["answers"])
            questions.append(Question(given["text"], given["kind"], file.stem, folder, answers))
    return sessions, questions


@contextmanager
def folder_of_home(kept: Path | None) -> Iterator[Path]:
    with TemporaryDirectory() as temporary:
        yield kept or Path(temporary)


def open_memory(home: Path, folder: str) -> Memory:
    """The memory as it is seen from a folder of the home."""
    environ = {"HOME": str(home), "AURORA_HOME": str(home / ".aurora")}
    places = Places.find(home / folder, environ)
    return Memory(places, SettingsFiles(places, environ), folder=home / folder, now=lambda: NOW)


def import_all(home: Path, sessions: Sequence[Session]) -> dict[str, Any]:
    """Import the sessions as `aur sessions import` does, and index a file of each project."""
    for session in sessions:
        generated_sessions.write(replace(session, folder=str(home / session.folder)), home)
        (project := home / session.folder).mkdir(parents=True, exist_ok=True)
        (project / "README.md").write_text(f"# {project.name}\n", "utf-8")
    (home / EMPTY).mkdir()
    for folder in {session.folder for session in sessions}:
        make_project(home / folder)
        with open_memory(home, folder) as memory:
            memory.index()
    with open_memory(home, EMPTY) as memory:
        started = time.perf_counter()
        report = memory.sessions.import_(sorted({session.agent for session in sessions}))
        seconds = round(time.perf_counter() - started, 1)
        chunks = sum(memory.stats().chunks.values())
    expected = sum(len(session.exchanges) for session in sessions)
    if (report.sessions, report.exchanges) != (len(sessions), expected) or report.failed:
        raise SystemExit(f"{len(sessions)} sessions, {expected} exchanges were written: {report}")
    return {"chunks": chunks, "import seconds": seconds}


def ask_all(home: Path, questions: Sequence[Question], *, own: bool) -> list[Asked]:
    """The answers to the questions, from the folders of their projects or from an empty one."""
    answers = list[Asked]()
    for folder in dict.fromkeys(question.folder for question in questions):
        with open_memory(home, folder if own else EMPTY) as memory:
            asked = [question for question in questions if question.folder == folder]
            answers += [Asked(question, search(memory, question.text)) for question in asked]
    return answers


def search(memory: Memory, text: str) -> list[Row]:
    return [_row(result.chunk) for result in memory.search(text, limit=LIMIT).results]


def _row(chunk: Chunk) -> Row:
    session, moment = (str(chunk.metadata.get(name, "")) for name in ("session", "time"))
    asked = datetime.fromisoformat(moment) if moment else datetime.min.replace(tzinfo=UTC)
    return Row((session, asked), f"{chunk.metadata.get('form')}: {chunk.name}")


# Words


def words_of(text: str) -> set[str]:
    return {word for word in _WORD.findall(text.lower()) if not is_stop_word(word)}


class Words:
    """Ranks exchanges by the share of the question's words that they have."""

    def __init__(self, sessions: Sequence[Session]) -> None:
        self._words: dict[Key, set[str]] = {}
        self._exchanges: dict[Key, Exchange] = {}
        self._folders = {session.id: session.folder for session in sessions}
        for session in sessions:
            for exchange in session.exchanges:
                key = (session.id, exchange.time)
                self._words[key], self._exchanges[key] = words_of(exchange.text), exchange
        self.counts = Counter(word for words in self._words.values() for word in words)

    def search(self, text: str, folder: str = "") -> list[Row]:
        wanted = words_of(text)
        keys = [key for key in self._words if folder in ("", self._folders[key[0]])]
        scored = [(len(wanted & self._words[key]), key[1], key) for key in keys]
        best = sorted((each for each in scored if each[0]), reverse=True)[:LIMIT]
        return [Row(key, self._exchanges[key].asked.partition("\n")[0]) for _, _, key in best]

    def overlap(self, question: Question) -> tuple[float, bool]:
        """The share of the question's words in its answers, and whether they have the rarest."""
        wanted = sorted(words_of(question.text))
        own = set().union(*(self._words[key] for key in question.answers))
        known = [word for word in wanted if self.counts[word]]
        rarest = min(known, key=lambda word: self.counts[word], default="")
        return sum(word in own for word in wanted) / len(wanted), rarest in own

    def nearness(self, questions: Sequence[Question]) -> dict[str, float]:
        overlaps = [self.overlap(question) for question in questions]
        return {
            "words in the answer": round(sum(share for share, _ in overlaps) / len(overlaps), 3),
            "rarest word in the answer": round(
                sum(rare for _, rare in overlaps) / len(overlaps), 3
            ),
        }


# Numbers


def shares(answers: Sequence[Asked]) -> dict[str, float]:
    counted = {f"hit@{n}": sum(1 <= each.place <= n for each in answers) for n in DEPTHS}
    of_all = {name: round(100 * count / len(answers), 1) for name, count in counted.items()}
    return {"questions": len(answers), **of_all}


def tables(answers: Sequence[Asked]) -> dict[str, Mapping[str, float]]:
    """The hits of all questions, and of those of each project and kind."""
    groups: dict[str, list[Asked]] = {"all": [*answers]}
    for part in ("project", "kind"):
        for each in answers:
            groups.setdefault(f"{part} {getattr(each.question, part)}", []).append(each)
    return {name: shares(group) for name, group in groups.items()}


def show(name: str, table: Mapping[str, Mapping[str, float]]) -> None:
    print(f"{name:22}{'questions':>10}" + "".join(f"{f'hit@{n}':>8}" for n in DEPTHS))
    for group, numbers in table.items():
        print(f"{group:22}{numbers['questions']:>10}" + "".join(
            f"{numbers[f'hit@{n}']:>8}" for n in DEPTHS))  # fmt: skip
    print()


def show_misses(answers: Sequence[Asked]) -> None:
    """Questions without a right row in five, with what was found instead."""
    for each in answers:
        if not 1 <= each.place <= 5:
            question = each.question
            print(f"{question.project}, {question.kind}, {each.place or '-'}: {question.text}")
            print("".join(f"    {row.shown}\n" for row in each.rows[:3]), end="")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--only", action="append", default=[])
    options.add_argument("--seed", type=int, default=SEED)
    options.add_argument("--home", type=Path, help="keep the transcripts and the memory here")
    options.add_argument("--misses", action="store_true", help="list what is not in five")
    given = options.parse_args()
    sessions, questions = load(given.only, given.seed)
    exchanges = [exchange for session in sessions for exchange in session.exchanges]
    routine = sum(not exchange.matter for exchange in exchanges)
    with folder_of_home(given.home) as home:
        sizes = import_all(home, sessions)
        answers = {
            "Aurora, in the project": ask_all(home, questions, own=True),
            "Aurora, elsewhere": ask_all(home, questions, own=False),
        }
    words = Words(sessions)
    answers |= {
        "words, in the project": [Asked(q, words.search(q.text, q.folder)) for q in questions],
        "words, elsewhere": [Asked(q, words.search(q.text)) for q in questions],
    }
    tables_of = {name: tables(asked) for name, asked in answers.items()}
    measured = {
        "sizes": {"sessions": len(sessions), "exchanges": len(exchanges), **sizes},
        "routine": round(routine / len(exchanges), 3),
        "overlap": words.nearness(questions),
        **tables_of,
    }
    print({name: measured[name] for name in ("sizes", "routine", "overlap")}, end="\n\n")
    for name, table in tables_of.items():
        show(name, table)
    if given.misses:
        show_misses(answers["Aurora, in the project"])
    if not given.only and given.seed == SEED:
        record.save("day-zero", measured)


if __name__ == "__main__":
    main()
