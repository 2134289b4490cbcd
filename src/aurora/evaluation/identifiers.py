"""Names of definitions as people ask for them: whoever types one wants its definition first.

Drawn are names of functions, methods and classes that no other definition has: at least four
letters, and not `__dunder__`. The pieces of a definition that is too long for one chunk are one
definition; any of them will do.
"""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import PurePosixPath

from aurora.types import Chunk, Kind

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
