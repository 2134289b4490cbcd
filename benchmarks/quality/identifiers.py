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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path, PurePosixPath

from aurora.config import Places
from aurora.engine import Memory
from aurora.evaluation.runner import WARM_UP
from aurora.types import Chunk, Kind

sys.path.append(str(Path(__file__).resolve().parents[1]))
import record

COUNT = 500
LIMIT = 10
GOAL = 0.99
KINDS = (Kind.FUNCTION, Kind.METHOD, Kind.CLASS)
NAME = "name"
FORMS = (NAME, "snake_case", "camelCase", "PascalCase", "qualified", "with module", "words")

SEED = 20260101
IDENTIFIER = re.compile(r"[A-Za-z_]\w{3,}")
PIECE = re.compile(r"@\d+$")
WORD = re.compile(r"[A-Z]+(?![a-z])\d*|[A-Z]?[a-z]+\d*|\d+")
ROOTS = ("src", "lib", "java")  # folders that are not part of a module's name


@dataclass(frozen=True, slots=True)
class Definition:
    """A definition to find. Its id has no piece number."""

    repository: str
    id: str
    kind: str
    name: str
    qualified_name: str
    path: str


@dataclass(frozen=True, slots=True)
class Names:
    """The definitions with a unique name, and how many definitions have each folded name."""

    definitions: tuple[Definition, ...]
    taken: Mapping[str, int]


def definition_id(chunk: Chunk) -> str:
    return PIECE.sub("", chunk.id)


def find_names(chunks: Iterable[Chunk], repository: str = "") -> Names:
    """The names of one memory."""
    by_name: dict[str, dict[str, Chunk]] = defaultdict(dict)
    for chunk in chunks:
        if chunk.kind in KINDS:
            by_name[chunk.name].setdefault(definition_id(chunk), chunk)
    definitions = [
        Definition(repository, id_, chunk.kind, name, chunk.qualified_name, chunk.path)
        for name, same in by_name.items()
        if len(same) == 1 and IDENTIFIER.fullmatch(name) and not name.startswith("__")
        for id_, chunk in same.items()
    ]
    taken: Counter[str] = Counter()
    for name, same in by_name.items():
        taken[folded(name)] += len(same)
    return Names(tuple(definitions), taken)


def sample(every: Sequence[Definition], count: int) -> list[Definition]:
    """A fixed sample that takes repositories in turn, and in each repository kinds in turn."""
    draw = random.Random(SEED)  # noqa: S311 - not for secrets
    groups: dict[str, dict[str, list[Definition]]] = defaultdict(lambda: defaultdict(list))
    for definition in sorted(every, key=lambda d: (d.repository, d.kind, d.id)):
        groups[definition.repository][definition.kind].append(definition)
    for kinds in groups.values():
        for group in kinds.values():
            draw.shuffle(group)
    return in_turn([in_turn(list(kinds.values())) for kinds in groups.values()])[:count]


def in_turn(lists: Sequence[Sequence[Definition]]) -> list[Definition]:
    turns = zip_longest(*lists)
    return [definition for turn in turns for definition in turn if definition is not None]


def forms(definition: Definition, taken: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """The queries for a definition, without duplicates and ambiguous ones."""
    name, qualified_name = definition.name, definition.qualified_name
    yield NAME, name
    words = [word.lower() for word in WORD.findall(name)]
    if not words:
        return
    rest = "".join(word.capitalize() for word in words[1:])
    spellings = {"snake_case": "_".join(words), "camelCase": words[0] + rest}
    spellings["PascalCase"] = words[0].capitalize() + rest
    for form, text in spellings.items():
        if text != name and taken[folded(text)] == 1:
            yield form, text
    if qualified_name not in ("", name):
        yield "qualified", qualified_name
    if not definition.path.startswith("/"):  # an absolute path gives no module name
        yield "with module", f"{module(definition)}{qualified_name or name}"
    if len(words) > 1 and taken[folded(name)] == 1:
        yield "words", " ".join(words)


def folded(name: str) -> str:
    """A name without underscores and case."""
    return name.replace("_", "").lower()


def module(definition: Definition) -> str:
    """The module of a definition with a dot: `src/flask/app.py` is `flask.app.`.

    The file of a Java class is not repeated.
    """
    parts = list(PurePosixPath(definition.path).with_suffix("").parts)
    for root in ROOTS:
        if root in parts[:-1]:
            parts = parts[parts.index(root) + 1 :]
    if parts[-1] in {"__init__", "index", re.split(r"\W", definition.qualified_name)[0]}:
        parts.pop()
    return "".join(f"{part}." for part in parts)


@dataclass(frozen=True, slots=True)
class Placed:
    """The place of a definition among ten results (0: not found), and the first result."""

    definition: Definition
    form: str
    query: str
    place: int
    first: str
    milliseconds: float


def ask_names(memory: Memory, names: Names, wanted: Sequence[Definition]) -> Iterator[Placed]:
    """Search for definitions in all forms."""
    for words in WARM_UP:
        memory.search(words)
    for definition in wanted:
        for form, query in forms(definition, names.taken):
            yield ask(memory, definition, form, query)


def ask(memory: Memory, definition: Definition, form: str, query: str) -> Placed:
    start = time.perf_counter()
    results = memory.search(query, limit=LIMIT).results
    milliseconds = 1e3 * (time.perf_counter() - start)
    ids = [definition_id(result.chunk) for result in results]
    place = ids.index(definition.id) + 1 if definition.id in ids else 0
    return Placed(definition, form, query, place, ids[0] if ids else "", milliseconds)


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
        chunks = list(self.memory.admin.chunks())
        took = time.perf_counter() - start
        self.chunks, self.names = len(chunks), find_names(chunks, self.name)
        unique = f"{len(self.names.definitions):,} unique names"
        print(f"{self.name} at {self.head}: {self.chunks:,} chunks, {unique}, {took:.0f} s")

    def answers(self, wanted: Sequence[Definition]) -> Iterator[Placed]:
        return ask_names(self.memory, self.names, wanted)


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def shares(answers: Sequence[Placed]) -> dict[str, float]:
    count = len(answers)
    return {
        "count": count,
        "first": round(sum(one.place == 1 for one in answers) / count, 4),
        "top3": round(sum(1 <= one.place <= 3 for one in answers) / count, 4),
        "top10": round(sum(one.place > 0 for one in answers) / count, 4),
        "median_ms": round(statistics.median(one.milliseconds for one in answers), 3),
    }


def grouped(answers: Sequence[Placed]) -> dict[str, dict[str, dict[str, float]]]:
    """By form of all; then the bare names by repository and by kind."""
    bare = [one for one in answers if one.form == NAME]
    groups: dict[str, dict[str, list[Placed]]] = {"variants": {}, "repositories": {}, "kinds": {}}
    for one in sorted(answers, key=lambda one: FORMS.index(one.form)):
        groups["variants"].setdefault(one.form, []).append(one)
    for one in bare:
        groups["repositories"].setdefault(one.definition.repository, []).append(one)
        groups["kinds"].setdefault(one.definition.kind, []).append(one)
    return {
        title: {name: shares(group) for name, group in rows.items()}
        for title, rows in groups.items()
    }


def report(answers: Sequence[Placed], show: int) -> None:
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
    for form in FORMS:
        missed = misses(answers, form)
        if missed:
            print(f"\n{form}: {len(missed)} not first; place, query, definition <- what was")
        for one in missed[: None if form == NAME else show]:
            print(f"{one.place or '-':>4}  {told(one)}")


def told(miss: Placed) -> str:
    return f"{miss.query}  {miss.definition.id}  <-  {miss.first or 'nothing'}"


def misses(answers: Sequence[Placed], form: str) -> list[Placed]:
    """Those that are not first; the farthest from it at the top."""
    missed = [one for one in answers if one.form == form and one.place != 1]
    return sorted(missed, key=lambda one: (-(one.place or LIMIT + 1), one.query))


def save(repositories: Sequence[Repository], answers: Sequence[Placed]) -> None:
    about = [{"name": one.name, "head": one.head, "chunks": one.chunks} for one in repositories]
    missed = {
        form: [f"{one.place or '-'}  {told(one)}" for one in found]
        for form in FORMS
        if (found := misses(answers, form))
    }
    measured = {"repositories": about, "shares": grouped(answers), "misses": missed}
    record.save("identifiers", measured)


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("repositories", metavar="REPO", type=Path, nargs="+")
    options.add_argument("--count", type=int, default=COUNT, help="names in all")
    options.add_argument("--show", type=int, default=15, help="misses listed of each form")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        repositories = [Repository(path, Path(folder).resolve()) for path in given.repositories]
        every = [one for repository in repositories for one in repository.names.definitions]
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
