"""How often the definition comes first when its name is searched for.

    python benchmarks/quality/identifiers.py REPO [REPO …] [--count 500] [--show 15]

Each repository (the path of a git work tree) is cloned into a temporary folder and indexed there by
`Memory`, without git's histories and without vectors. From what was indexed, names of functions,
methods and classes are drawn, always the same ones: evenly over repositories and kinds; at least
four letters, not `__dunder__`, and no other definition in the repository has that name (tests are
part of a repository: their names are drawn as well, and may come before what they test). The
pieces of a definition that is too long for one chunk are one definition; any of them will do.

Then each is asked for, as it is and in the ways people remember it:

    name          url_for, toJson
    snake_case, camelCase, PascalCase     where that is another spelling, and no other definition
                  has the name in any spelling
    qualified     Blueprint.register: where it is in something
    with module   flask.sansio.blueprints.Blueprint.register
    words         blueprint setup state: where there are several; as for the spellings

Told are the shares of those that come first and within the first three, and the median time of a
search. The goal is 99 % first for the bare name. What is missed is listed with what came first
instead. A complete run (three repositories or more, 500 names) writes
benchmarks/results/identifiers-<commit>.json.
"""

from __future__ import annotations

import argparse
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path, PurePosixPath

from aurora.config import Places
from aurora.engine import Memory
from aurora.stores.sqlite import SQLiteStore
from aurora.types import Chunk, Kind

sys.path.append(str(Path(__file__).resolve().parents[1]))
import record

KINDS = (Kind.FUNCTION, Kind.METHOD, Kind.CLASS)
COUNT = 500
LIMIT = 10
GOAL = 0.99
SEED = 20260101
NAME = "name"
VARIANTS = (NAME, "snake_case", "camelCase", "PascalCase", "qualified", "with module", "words")

_IDENTIFIER = re.compile(r"[A-Za-z_]\w{3,}")
_PIECE = re.compile(r"@\d+$")
_WORD = re.compile(r"[A-Z]+(?![a-z])\d*|[A-Z]?[a-z]+\d*|\d+")
_ROOTS = ("src", "lib", "java")  # folders that are no part of a module's name


@dataclass(frozen=True, slots=True)
class Definition:
    """What should be found: its id, without the number of a piece."""

    repository: str
    id: str
    kind: str
    name: str
    qualified_name: str
    path: str


@dataclass(frozen=True, slots=True)
class Answer:
    """The place of the definition (0: not in the first ten), and what came first."""

    definition: Definition
    variant: str
    query: str
    place: int
    first: str
    milliseconds: float


def definition_id(chunk: Chunk) -> str:
    return _PIECE.sub("", chunk.id)


def definitions(chunks: Sequence[Chunk], repository: str) -> list[Definition]:
    """The functions, methods and classes whose name no other has."""
    found: dict[str, dict[str, Chunk]] = defaultdict(dict)
    for chunk in chunks:
        if chunk.kind in KINDS:
            found[chunk.name].setdefault(definition_id(chunk), chunk)
    return [
        Definition(repository, one, chunk.kind, name, chunk.qualified_name, chunk.path)
        for name, same in found.items()
        if len(same) == 1 and _IDENTIFIER.fullmatch(name) and not name.startswith("__")
        for one, chunk in same.items()
    ]


def sample(every: Sequence[Definition], count: int) -> list[Definition]:
    """In turn one of each repository, and of those in turn one of each kind, until enough."""
    draw = random.Random(SEED)  # noqa: S311 - not for secrets
    groups: dict[str, dict[str, list[Definition]]] = defaultdict(lambda: defaultdict(list))
    for one in sorted(every, key=lambda one: (one.repository, one.kind, one.id)):
        groups[one.repository][one.kind].append(one)
    for kinds in groups.values():
        for group in kinds.values():
            draw.shuffle(group)
    return in_turn([in_turn(list(kinds.values())) for kinds in groups.values()])[:count]


def in_turn(lists: Sequence[Sequence[Definition]]) -> list[Definition]:
    return [one for turn in zip_longest(*lists) for one in turn if one is not None]


def variants(one: Definition, taken: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """The ways to ask for it, without those that are the same or could mean another definition."""
    yield NAME, one.name
    words = [word.lower() for word in _WORD.findall(one.name)]
    if not words:
        return
    rest = "".join(word.capitalize() for word in words[1:])
    spellings = {"snake_case": "_".join(words), "camelCase": words[0] + rest}
    spellings["PascalCase"] = words[0].capitalize() + rest
    for variant, text in spellings.items():
        if text != one.name and taken[folded(text)] == 1:
            yield variant, text
    if one.qualified_name not in ("", one.name):
        yield "qualified", one.qualified_name
    yield "with module", f"{module(one)}{one.qualified_name or one.name}"
    if len(words) > 1 and taken[folded(one.name)] == 1:
        yield "words", " ".join(words)


def folded(name: str) -> str:
    """A name without its spelling."""
    return name.replace("_", "").lower()


def module(one: Definition) -> str:
    """As it is imported: `src/flask/app.py` is `flask.app.`; a Java class is its own file."""
    parts = list(PurePosixPath(one.path).with_suffix("").parts)
    for root in _ROOTS:
        if root in parts[:-1]:
            parts = parts[parts.index(root) + 1 :]
    if parts[-1] in {"__init__", "index", re.split(r"\W", one.qualified_name)[0]}:
        parts.pop()
    return "".join(f"{part}." for part in parts)


def search(memory: Memory, text: str) -> list[Chunk]:
    """The one place that asks."""
    return [result.chunk for result in memory.search(text, limit=LIMIT).results]


def ask(memory: Memory, one: Definition, variant: str, query: str) -> Answer:
    start = time.perf_counter()
    found = search(memory, query)
    milliseconds = 1e3 * (time.perf_counter() - start)
    ids = [definition_id(chunk) for chunk in found]
    place = ids.index(one.id) + 1 if one.id in ids else 0
    return Answer(one, variant, query, place, ids[0] if ids else "", milliseconds)


class Repository:
    """A clone with a memory of its own, in a folder that is thrown away."""

    def __init__(self, path: Path, folder: Path) -> None:
        self.name = path.resolve().name.rpartition("+")[2]
        clone = folder / self.name
        git(path, "clone", "--quiet", "--local", ".", str(clone.resolve()))
        self.head = git(clone, "rev-parse", "--short=12", "HEAD")
        (clone / ".aurora").mkdir()
        self.memory = Memory(Places(folder / "home", clone))
        start = time.perf_counter()
        self.memory.index(clone, git=False)
        store = SQLiteStore(self.memory.path)
        chunks = list(store.iter_chunks())
        store.close()
        took = time.perf_counter() - start
        self.chunks, self.definitions = len(chunks), definitions(chunks, self.name)
        ids = {definition_id(chunk): chunk.name for chunk in chunks if chunk.kind in KINDS}
        self.taken = Counter(map(folded, ids.values()))
        unique = f"{len(self.definitions):,} unique names"
        print(f"{self.name} at {self.head}: {self.chunks:,} chunks, {unique}, {took:.0f} s")

    def answers(self, wanted: Sequence[Definition]) -> Iterator[Answer]:
        search(self.memory, "the first search opens the index, the second one loads numpy")
        search(self.memory, "so neither of them is measured")
        for one in wanted:
            for variant, query in variants(one, self.taken):
                yield ask(self.memory, one, variant, query)


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def shares(answers: Sequence[Answer]) -> dict[str, float]:
    count = len(answers)
    return {
        "count": count,
        "first": round(sum(one.place == 1 for one in answers) / count, 4),
        "top3": round(sum(1 <= one.place <= 3 for one in answers) / count, 4),
        "top10": round(sum(one.place > 0 for one in answers) / count, 4),
        "median_ms": round(statistics.median(one.milliseconds for one in answers), 3),
    }


def grouped(answers: Sequence[Answer]) -> dict[str, dict[str, dict[str, float]]]:
    """By variant of all; then the bare names by repository and by kind."""
    bare = [one for one in answers if one.variant == NAME]
    groups: dict[str, dict[str, list[Answer]]] = {"variants": {}, "repositories": {}, "kinds": {}}
    for one in sorted(answers, key=lambda one: VARIANTS.index(one.variant)):
        groups["variants"].setdefault(one.variant, []).append(one)
    for one in bare:
        groups["repositories"].setdefault(one.definition.repository, []).append(one)
        groups["kinds"].setdefault(one.definition.kind, []).append(one)
    return {
        title: {name: shares(group) for name, group in rows.items()}
        for title, rows in groups.items()
    }


def report(answers: Sequence[Answer], show: int) -> None:
    print(f"{'':<14}{'asked':>7}{'first':>9}{'top 3':>9}{'top 10':>9}{'median ms':>11}")
    for title, rows in grouped(answers).items():
        if title != "variants":
            print(f"the name, by {title}:")
        for name, row in rows.items():
            parts = "".join(f"{row[part]:>9.1%}" for part in ("first", "top3", "top10"))
            print(f"{name:<14}{row['count']:>7}{parts}{row['median_ms']:>11.2f}")
    first = grouped(answers)["variants"][NAME]["first"]
    verdict = "reached" if first >= GOAL else "NOT reached"
    print(f"goal: {GOAL:.0%} of the names first: {first:.1%}, {verdict}")
    for variant in VARIANTS:
        missed = misses(answers, variant)
        if missed:
            print(f"\n{variant}: {len(missed)} not first; place, query, definition <- what was")
        for one in missed[: None if variant == NAME else show]:
            print(f"{one.place or '-':>4}  {told(one)}")


def told(miss: Answer) -> str:
    return f"{miss.query}  {miss.definition.id}  <-  {miss.first or 'nothing'}"


def misses(answers: Sequence[Answer], variant: str) -> list[Answer]:
    """Those that are not first; the farthest from it at the top."""
    missed = [one for one in answers if one.variant == variant and one.place != 1]
    return sorted(missed, key=lambda one: (-(one.place or LIMIT + 1), one.query))


def save(repositories: Sequence[Repository], answers: Sequence[Answer]) -> None:
    about = [{"name": one.name, "head": one.head, "chunks": one.chunks} for one in repositories]
    missed = {
        variant: [f"{one.place or '-'}  {told(one)}" for one in found]
        for variant in VARIANTS
        if (found := misses(answers, variant))
    }
    measured = {"repositories": about, "shares": grouped(answers), "misses": missed}
    record.save("identifiers", measured)


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("repositories", metavar="REPO", type=Path, nargs="+")
    options.add_argument("--count", type=int, default=COUNT, help="names in all")
    options.add_argument("--show", type=int, default=15, help="misses listed of each variant")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        repositories = [Repository(path, Path(folder).resolve()) for path in given.repositories]
        every = [one for repository in repositories for one in repository.definitions]
        wanted = sample(every, given.count)
        answers = [
            answer
            for repository in repositories
            for answer in repository.answers(
                [one for one in wanted if one.repository == repository.name]
            )
        ]
        report(answers, given.show)
        if len(repositories) >= 3 and given.count >= COUNT:
            save(repositories, answers)
        else:
            print("no file written: that takes three repositories and 500 names")


if __name__ == "__main__":
    main()
