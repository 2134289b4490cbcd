"""`aur eval --self`: how often a definition comes first when its name is searched.

The names are those of functions, methods and classes that only one definition has, with at least
four letters, and without `__dunder__` names. The pieces of a long definition count as one.
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
from aurora.report_types import MeasuredForm, Missed
from aurora.sources.walk import SourceFile, read_text, walk_files
from aurora.types import DEFAULT_LIMIT, Chunk, Kind, Listener, Progress, ignore_events

KINDS = (Kind.FUNCTION, Kind.METHOD, Kind.CLASS)
NAME = "name"
FORMS = (NAME, "snake_case", "camelCase", "PascalCase", "qualified", "with module", "words")

_SEED = 20260101
_IDENTIFIER = re.compile(r"[A-Za-z_]\w{3,}")
_PIECE = re.compile(r"@\d+$")
_WORD = re.compile(r"[A-Z]+(?![a-z])\d*|[A-Z]?[a-z]+\d*|\d+")
_ROOTS = ("src", "lib", "java")  # folders that are not part of a module's name


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
    return _PIECE.sub("", chunk.id)


def find_names(chunks: Iterable[Chunk], repository: str = "") -> Names:
    """The names of one memory."""
    by_name: dict[str, dict[str, Chunk]] = defaultdict(dict)
    for chunk in chunks:
        if chunk.kind in KINDS:
            by_name[chunk.name].setdefault(definition_id(chunk), chunk)
    definitions = [
        Definition(repository, id_, chunk.kind, name, chunk.qualified_name, chunk.path)
        for name, same in by_name.items()
        if len(same) == 1 and _IDENTIFIER.fullmatch(name) and not name.startswith("__")
        for id_, chunk in same.items()
    ]
    taken: Counter[str] = Counter()
    for name, same in by_name.items():
        taken[_folded(name)] += len(same)
    return Names(tuple(definitions), taken)


def sample(every: Sequence[Definition], count: int) -> list[Definition]:
    """A fixed sample that takes repositories in turn, and in each repository kinds in turn."""
    draw = random.Random(_SEED)  # noqa: S311 - not for secrets
    groups: dict[str, dict[str, list[Definition]]] = defaultdict(lambda: defaultdict(list))
    for definition in sorted(every, key=lambda d: (d.repository, d.kind, d.id)):
        groups[definition.repository][definition.kind].append(definition)
    for kinds in groups.values():
        for group in kinds.values():
            draw.shuffle(group)
    return _in_turn([_in_turn(list(kinds.values())) for kinds in groups.values()])[:count]


def _in_turn(lists: Sequence[Sequence[Definition]]) -> list[Definition]:
    turns = zip_longest(*lists)
    return [definition for turn in turns for definition in turn if definition is not None]


def forms(definition: Definition, taken: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """The queries for a definition, without duplicates and ambiguous ones."""
    name, qualified_name = definition.name, definition.qualified_name
    yield NAME, name
    words = [word.lower() for word in _WORD.findall(name)]
    if not words:
        return
    rest = "".join(word.capitalize() for word in words[1:])
    spellings = {"snake_case": "_".join(words), "camelCase": words[0] + rest}
    spellings["PascalCase"] = words[0].capitalize() + rest
    for form, text in spellings.items():
        if text != name and taken[_folded(text)] == 1:
            yield form, text
    if qualified_name not in ("", name):
        yield "qualified", qualified_name
    if not definition.path.startswith("/"):  # an absolute path gives no module name
        yield "with module", f"{_module(definition)}{qualified_name or name}"
    if len(words) > 1 and taken[_folded(name)] == 1:
        yield "words", " ".join(words)


def _folded(name: str) -> str:
    """A name without underscores and case."""
    return name.replace("_", "").lower()


def _module(definition: Definition) -> str:
    """The module of a definition with a dot: `src/flask/app.py` is `flask.app.`.

    The file of a Java class is not repeated.
    """
    parts = list(PurePosixPath(definition.path).with_suffix("").parts)
    for root in _ROOTS:
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


def ask_names(
    memory: Memory,
    names: Names,
    wanted: Sequence[Definition],
    *,
    in_all_forms: int | None = None,
    listen: Listener = ignore_events,
) -> Iterator[Placed]:
    """Search for definitions: the first `in_all_forms` in all forms, the others by bare name."""
    for words in WARM_UP:
        memory.search(words)
    for done, definition in enumerate(wanted, start=1):
        every = in_all_forms is None or done <= in_all_forms
        for form, query in islice(forms(definition, names.taken), None if every else 1):
            yield _ask(memory, definition, form, query)
        listen(Progress("Asking", done, len(wanted)))


def _ask(memory: Memory, definition: Definition, form: str, query: str) -> Placed:
    start = time.perf_counter()
    results = memory.search(query, limit=DEFAULT_LIMIT).results
    milliseconds = 1e3 * (time.perf_counter() - start)
    ids = [definition_id(result.chunk) for result in results]
    place = ids.index(definition.id) + 1 if definition.id in ids else 0
    return Placed(definition, form, query, place, ids[0] if ids else "", milliseconds)


def measure_forms(placed: Sequence[Placed]) -> tuple[MeasuredForm, ...]:
    """The numbers of each form."""
    by_form = {form: [query for query in placed if query.form == form] for form in FORMS}
    return tuple(_measure(form, same) for form, same in by_form.items() if same)


def _measure(form: str, placed: Sequence[Placed]) -> MeasuredForm:
    times = sorted(query.milliseconds for query in placed)
    return MeasuredForm(
        form,
        len(placed),
        sum(query.place == 1 for query in placed) / len(placed),
        sum(1 / query.place for query in placed if query.place) / len(placed),
        percentile(times, 50),
        percentile(times, 95),
    )


def misses(placed: Sequence[Placed]) -> tuple[Missed, ...]:
    """The definitions that are not first: by form, the worst place first."""
    missed = sorted(
        (query for query in placed if query.place != 1),
        key=lambda q: (FORMS.index(q.form), -(q.place or DEFAULT_LIMIT + 1), q.query),
    )
    return tuple(Missed(q.form, q.query, q.definition.id, q.place, q.first) for q in missed)
