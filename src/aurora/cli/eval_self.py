"""`aur eval --self`: are the definitions of the user's own code found by their names?"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from aurora.cli.printing import print_json, print_text
from aurora.cli.session import tell
from aurora.cli.terminal import has_colour
from aurora.config import Places, SettingsFiles
from aurora.config.places import shown
from aurora.display.names import names_record, render_names
from aurora.display.paint import Paint
from aurora.engine import Memory
from aurora.engine.throw_away import ThrowAway
from aurora.engine.whereabouts import shown_name
from aurora.errors import SourceError
from aurora.evaluation.filling import fill
from aurora.evaluation.identifiers import find_names, sample
from aurora.evaluation.own_code import ask_names, measure_forms, misses, read_repository
from aurora.sources.git import find_root
from aurora.types import Event, MeasuredNames, Note

_IN_ALL_FORMS = 200  # names; the others are asked as they are written, to be done in a minute


def eval_self(folder: Path | None, files: SettingsFiles, *, most: int, as_json: bool) -> None:
    """Ask for names of the project's memory, or of a repository that has none."""
    here = (folder or Path()).absolute()
    if not here.is_dir():
        raise SourceError(f"There is no folder {here}", hint="name a repository, or go to one")
    with _memory(here, files) as (memory, where):
        chunks = list(memory.chunks())
        names = find_names(chunks)
        wanted = sample(names.definitions, most)
        if not wanted:
            raise SourceError(
                f"{where} holds no function, method or class with a name of its own",
                hint="name a repository of code: aur eval --self DIR",
            )
        asked = ask_names(memory, names, wanted, in_all_forms=_IN_ALL_FORMS, listen=tell)
        placed = list(asked)
    tell.finish()
    found = MeasuredNames(
        where,
        len(chunks),
        len(names.definitions),
        len(wanted),
        measure_forms(placed),
        misses(placed),
    )
    if as_json:
        print_json(names_record(found))
    else:
        print_text(render_names(found, paint=Paint(has_colour(sys.stdout, os.environ))))


@contextmanager
def _memory(here: Path, files: SettingsFiles) -> Iterator[tuple[Memory, str]]:
    """The project's own, which is only asked; or one to throw away, of the repository around."""
    places = Places.find(here, {"AURORA_HOME": str(files.places.home)})
    own = SettingsFiles(places, files.environ, files.flags)
    with Memory(places, own, listen=_warnings) as memory:
        if places.project is not None and memory.exists:
            yield memory, shown_name(memory.name)
            return
    top = find_root(here) or here
    tell(Note(f"There is no memory of {shown(top)}: reading it into one to throw away"))
    with ThrowAway(files).memory(_warnings) as memory:
        fill(memory, read_repository(top))
        yield memory, shown(top)


def _warnings(event: Event) -> None:
    """What a search says of its words is for whoever typed them."""
    if not isinstance(event, Note) or event.warning:
        tell(event)
