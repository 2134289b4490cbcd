"""Whether use helps: a repository's commits, replayed as questions.

    python benchmarks/quality/replay.py REPO [REPO …] [--moments 8] [--questions 25] [--save]

A clone walks through moments of the last half of its main line. At each it is indexed as a user
would, with the histories that git tells and a clock that stands at that moment. Questions are the
subjects of the commits that come after; right are the files they touch, if they are there already.
Told is nDCG@10 by files, where a file stands where its best chunk does, for the ways below. A
difference is that to the same without use, with the interval that holds 95 % of 2,000 resamplings
of the questions.

Left out are releases, dependencies, reverts and typos, subjects of one word, and commits that touch
more than ten files. `code` counts only files of a programming language as right, `unnamed` only
questions that do not name a right file. A changelog is a right answer, too, where a commit wrote
in it. `--save` writes benchmarks/results/replay-<commit>.json: numbers, no text of a repository.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import product
from pathlib import Path

import numpy as np

from aurora.config import Places, SettingsFiles
from aurora.engine import Memory
from aurora.parsers.languages import GRAMMARS

sys.path.append(str(Path(__file__).resolve().parents[1]))
import record
from embedders import default_embedder
from quality.sets import ndcg

AUTO, WEIGHTED = "search.auto.activation", "search.weighted.activation"
NO_MODEL: Mapping[str, object] = {"embedding.provider": "none"}
WAYS: Mapping[str, Mapping[str, object]] = {
    **{f"auto, use {n:g}": {AUTO: n} for n in (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)},
    **{f"weighted, use {n:g}": {"search.fusion": "weighted", WEIGHTED: n} for n in (0.0, 0.1)},
    **{f"no model, use {n:g}": {**NO_MODEL, AUTO: n} for n in (0.0, 0.3)},
}
CHUNKS = 100  # asked for, so that ten files are among them
FILES = 10  # a commit that touches more is about no place
RESAMPLINGS = 2000

_NUMBER = re.compile(r"\(?(?:gh-)?#\d+\)?|\b[0-9a-f]{7,40}\b", re.IGNORECASE)
_PREFIX = re.compile(r"^(?:fix|feat|chore|docs?|test|refactor|style|perf|ci|build)(?:\(.*?\))?!?:")
_ROUTINE = re.compile(
    r"^(?:merge|revert|release|prepare|back to dev|start version|v?\d+\.\d)"
    r"|\bbump\b|\bdeps?\b|dependenc|\bversion \d|\bv?\d+\.\d+\.\d+|changelog|pre-commit|typo",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Asked:
    """A commit as a question."""

    words: str
    right: frozenset[str]

    @property
    def code(self) -> frozenset[str]:
        return frozenset(name for name in self.right if Path(name).suffix.lower() in GRAMMARS)

    @property
    def is_named(self) -> bool:
        return any(Path(name).stem.lower() in self.words.lower() for name in self.right)


Found = Mapping[str, Sequence[str]]  # way → files, best first
Scores = Mapping[str, "np.ndarray"]  # way → nDCG@10 of each question


def git(clone: Path, *words: str) -> str:
    argv = ["git", "-C", str(clone), *words]
    return subprocess.run(argv, check=True, capture_output=True, text=True, errors="replace").stdout


def moments(clone: Path, count: int) -> list[str]:
    """Commits of the main line, spread evenly from the middle of it to before its end."""
    line = git(clone, "rev-list", "--first-parent", "--reverse", "HEAD").split()
    return [line[len(line) * (count + place) // (2 * count)] for place in range(count)]


def commits_after(clone: Path, moment: str, head: str) -> Iterator[tuple[str, list[str]]]:
    """Subject and files of what is not there yet at a moment, oldest first."""
    shown = ("--no-merges", "--no-renames", "--reverse", "--name-only", "--format=%x01%s%x02")
    for entry in git(clone, "log", *shown, f"{moment}..{head}").split("\x01")[1:]:
        subject, _, names = entry.partition("\x02")
        yield subject, names.split("\n")


def questions(clone: Path, moment: str, head: str, count: int) -> list[Asked]:
    there = set(git(clone, "ls-tree", "-r", "--name-only", moment).splitlines())
    found: dict[str, Asked] = {}  # by its words: none twice
    for subject, names in commits_after(clone, moment, head):
        words = _PREFIX.sub("", _NUMBER.sub("", subject)).strip()
        touched = frozenset(filter(None, names))
        if len(words.split()) < 2 or len(touched) > FILES or _ROUTINE.search(subject):
            continue
        if right := touched & there:
            found.setdefault(words, Asked(words, right))
        if len(found) == count:
            break
    return list(found.values())


def replay(clone: Path, home: Path, count: int, each: int) -> Iterator[tuple[Asked, Found]]:
    """The clone moves on, and its memory with it, as that of a user who pulls."""
    places, head = Places(home, clone), git(clone, "rev-parse", "HEAD").strip()
    for moment in moments(clone, count):
        git(clone, "checkout", "--quiet", "--force", moment)
        now = datetime.fromtimestamp(int(git(clone, "log", "-1", "--format=%ct")), UTC)
        asked = questions(clone, moment, head, each)
        print(f"  {clone.name} {now:%Y-%m-%d}: {len(asked)} questions", file=sys.stderr)
        yield from zip(asked, ask(places, now, asked), strict=True)


def ask(places: Places, now: datetime, asked: Sequence[Asked]) -> Sequence[Found]:
    embedder = default_embedder()
    assert places.project
    with Memory(places, now=lambda: now, embedder=embedder) as memory:
        memory.index(places.project)
    found: list[dict[str, list[str]]] = [{} for _ in asked]
    for way, settings in WAYS.items():
        files = SettingsFiles(places, {}, dict(settings))
        with Memory(places, files, now=lambda: now, embedder=embedder) as memory:
            for question, ways in zip(asked, found, strict=True):
                results = memory.search(question.words, limit=CHUNKS).results
                ways[way] = list(dict.fromkeys(one.chunk.path for one in results))
    return found


def score(answers: Sequence[tuple[Asked, Found]], counted: str) -> Scores:
    scores: dict[str, list[float]] = {way: [] for way in WAYS}
    for asked, found in answers:
        right = asked.code if counted == "code" else asked.right
        if right and not (counted == "unnamed" and asked.is_named):
            for way, files in found.items():
                scores[way].append(ndcg(files, dict.fromkeys(right, 1.0)))
    return {way: np.array(values) for way, values in scores.items()}


def without(way: str) -> str:
    return f"{way.partition(',')[0]}, use 0"


def summary(scores: Scores) -> dict[str, dict[str, float]]:
    """Way → nDCG@10, what use added to it, and between what that lies."""
    lot, told = np.random.default_rng(0), {}
    for way, values in scores.items():
        gain = values - scores[without(way)]
        means = lot.choice(gain, (RESAMPLINGS, len(gain))).mean(axis=1)
        low, high = np.quantile(means, (0.025, 0.975))
        numbers = {"ndcg10": values.mean(), "gain": gain.mean(), "low": low, "high": high}
        told[way] = {name: round(float(number), 4) for name, number in numbers.items()}
    return told


def report(title: str, told: Mapping[str, Mapping[str, float]], count: int) -> None:
    print(f"\n{title}, {count} questions\n\n| nDCG@10 | | use adds | 95 % |\n|---|---|---|---|")
    for way, one in told.items():
        added = f"{one['gain']:+.4f} | {one['low']:+.4f} … {one['high']:+.4f}"
        print(f"| {way} | {one['ndcg10']:.4f} | {' | ' if way == without(way) else added} |")


def run(repository: Path, count: int, each: int) -> list[tuple[Asked, Found]]:
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder).resolve()
        clone = scratch / repository.resolve().name
        git(scratch, "clone", "--quiet", "--local", str(repository.resolve()), str(clone))
        (clone / ".aurora").mkdir()
        return list(replay(clone, scratch / "home", count, each))


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("repositories", metavar="REPO", type=Path, nargs="+")
    options.add_argument("--moments", type=int, default=8, help="of each repository")
    options.add_argument("--questions", type=int, default=25, help="at each moment")
    options.add_argument("--save", action="store_true", help="keep the numbers")
    given = options.parse_args()
    answers = {
        path.resolve().name: run(path, given.moments, given.questions)
        for path in given.repositories
    }
    answers["together"] = [one for some in answers.values() for one in some]
    told: dict[str, object] = {}
    for name, counted in product(answers, ("all", "code", "unnamed")):
        scores = score(answers[name], counted)
        title, size, numbers = f"{name}, {counted}", len(scores["auto, use 0"]), summary(scores)
        report(title, numbers, size)
        told[title] = {"questions": size, "ways": numbers}
    if given.save:
        shape = {"moments": given.moments, "questions": given.questions}
        record.save("replay", {**shape, "files": told}, packages=("numpy",))


if __name__ == "__main__":
    main()
