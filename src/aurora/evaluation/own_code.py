"""How often the definition comes first when its name is typed: in anybody's own repository."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from aurora.engine import Memory
from aurora.errors import SourceError
from aurora.evaluation.asking import WARM_UP, percentile
from aurora.evaluation.identifiers import FORMS, Definition, Names, definition_id, forms
from aurora.evaluation.sets import Item
from aurora.sources.walk import SourceFile, read_text, walk_files
from aurora.types import (
    DEFAULT_LIMIT,
    Listener,
    MeasuredForm,
    Missed,
    Progress,
    ignore_events,
)


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
