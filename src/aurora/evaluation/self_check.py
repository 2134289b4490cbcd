"""How often the definition comes first when its name is typed: in anybody's own repository.

Names of definitions as people ask for them: whoever types one wants its definition first.

Drawn are names of functions, methods and classes that no other definition has: at least four
letters, and not `__dunder__`. The pieces of a definition that is too long for one chunk are one
definition; any of them will do.
"""

from __future__ import annotations

import random
import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest
from pathlib import Path, PurePosixPath

from aurora.engine import Memory
from aurora.errors import SourceError
from aurora.evaluation.datasets import Item
from aurora.evaluation.runner import WARM_UP, percentile
from aurora.sources.walk import SourceFile, read_text, walk_files
from aurora.types import (
    DEFAULT_LIMIT,
    Chunk,
    Kind,
    Listener,
    MeasuredForm,
    Missed,
    Progress,
    ignore_events,
)

KINDS = (Kind.FUNCTION, Kind.METHOD, Kind.CLASS)
NAME = "name"
FORMS = (NAME, "snake_case", "camelCase", "PascalCase", "qualified", "with module", "words")

_SEED = 20260101
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
class Names:
    """The definitions whose name no other has, and how many have a name in any spelling."""

    definitions: tuple[Definition, ...]
    taken: Mapping[str, int]


def definition_id(chunk: Chunk) -> str:
    return _PIECE.sub("", chunk.id)


def find_names(chunks: Iterable[Chunk], repository: str = "") -> Names:
    """The names of one memory."""
    found: dict[str, dict[str, Chunk]] = defaultdict(dict)
    for chunk in chunks:
        if chunk.kind in KINDS:
            found[chunk.name].setdefault(definition_id(chunk), chunk)
    definitions = [
        Definition(repository, one, chunk.kind, name, chunk.qualified_name, chunk.path)
        for name, same in found.items()
        if len(same) == 1 and _IDENTIFIER.fullmatch(name) and not name.startswith("__")
        for one, chunk in same.items()
    ]
    taken: Counter[str] = Counter()
    for name, same in found.items():
        taken[_folded(name)] += len(same)
    return Names(tuple(definitions), taken)


def sample(every: Sequence[Definition], count: int) -> list[Definition]:
    """In turn one of each repository, and of those in turn one of each kind, until enough."""
    draw = random.Random(_SEED)  # noqa: S311 - not for secrets
    groups: dict[str, dict[str, list[Definition]]] = defaultdict(lambda: defaultdict(list))
    for one in sorted(every, key=lambda one: (one.repository, one.kind, one.id)):
        groups[one.repository][one.kind].append(one)
    for kinds in groups.values():
        for group in kinds.values():
            draw.shuffle(group)
    return _in_turn([_in_turn(list(kinds.values())) for kinds in groups.values()])[:count]


def _in_turn(lists: Sequence[Sequence[Definition]]) -> list[Definition]:
    return [one for turn in zip_longest(*lists) for one in turn if one is not None]


def forms(one: Definition, taken: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """The ways to ask for it, without those that are the same or could mean another definition."""
    yield NAME, one.name
    words = [word.lower() for word in _WORD.findall(one.name)]
    if not words:
        return
    rest = "".join(word.capitalize() for word in words[1:])
    spellings = {"snake_case": "_".join(words), "camelCase": words[0] + rest}
    spellings["PascalCase"] = words[0].capitalize() + rest
    for form, text in spellings.items():
        if text != one.name and taken[_folded(text)] == 1:
            yield form, text
    if one.qualified_name not in ("", one.name):
        yield "qualified", one.qualified_name
    if not one.path.startswith("/"):  # where somebody keeps a repository is no module
        yield "with module", f"{_module(one)}{one.qualified_name or one.name}"
    if len(words) > 1 and taken[_folded(one.name)] == 1:
        yield "words", " ".join(words)


def _folded(name: str) -> str:
    """A name without its spelling."""
    return name.replace("_", "").lower()


def _module(one: Definition) -> str:
    """As it is imported: `src/flask/app.py` is `flask.app.`; a Java class is its own file."""
    parts = list(PurePosixPath(one.path).with_suffix("").parts)
    for root in _ROOTS:
        if root in parts[:-1]:
            parts = parts[parts.index(root) + 1 :]
    if parts[-1] in {"__init__", "index", re.split(r"\W", one.qualified_name)[0]}:
        parts.pop()
    return "".join(f"{part}." for part in parts)


@dataclass(frozen=True, slots=True)
class Placed:
    """The place of a definition among ten results (0: it is not there), and what came first."""

    definition: Definition
    form: str
    query: str
    place: int
    first: str
    milliseconds: float


def read_repository(folder: Path) -> list[Item]:
    """What an index of a folder would read, as documents: for a memory that is not inside it."""
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


def ask_names(
    memory: Memory,
    names: Names,
    wanted: Sequence[Definition],
    *,
    in_all_forms: int | None = None,
    listen: Listener = ignore_events,
) -> Iterator[Placed]:
    """Ask for each in all its forms; or only for so many, and for the others by the bare name."""
    for words in WARM_UP:
        memory.search(words)
    for done, definition in enumerate(wanted, start=1):
        every = in_all_forms is None or done <= in_all_forms
        for form, query in islice(forms(definition, names.taken), None if every else 1):
            yield _ask(memory, definition, form, query)
        listen(Progress("Asking", done, len(wanted)))


def _ask(memory: Memory, definition: Definition, form: str, query: str) -> Placed:
    start = time.perf_counter()
    found = memory.search(query, limit=DEFAULT_LIMIT).results
    milliseconds = 1e3 * (time.perf_counter() - start)
    ids = [definition_id(result.chunk) for result in found]
    place = ids.index(definition.id) + 1 if definition.id in ids else 0
    return Placed(definition, form, query, place, ids[0] if ids else "", milliseconds)


def measure_forms(placed: Sequence[Placed]) -> tuple[MeasuredForm, ...]:
    """The numbers of each form that was asked."""
    by_form = {form: [one for one in placed if one.form == form] for form in FORMS}
    return tuple(_measure(form, same) for form, same in by_form.items() if same)


def _measure(form: str, placed: Sequence[Placed]) -> MeasuredForm:
    times = sorted(one.milliseconds for one in placed)
    return MeasuredForm(
        form,
        len(placed),
        sum(one.place == 1 for one in placed) / len(placed),
        sum(1 / one.place for one in placed if one.place) / len(placed),
        percentile(times, 50),
        percentile(times, 95),
    )


def misses(placed: Sequence[Placed]) -> tuple[Missed, ...]:
    """Those that are not first: by form, the farthest from it at the top."""
    missed = sorted(
        (one for one in placed if one.place != 1),
        key=lambda one: (FORMS.index(one.form), -(one.place or DEFAULT_LIMIT + 1), one.query),
    )
    return tuple(
        Missed(one.form, one.query, one.definition.id, one.place, one.first) for one in missed
    )
