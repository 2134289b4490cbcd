"""`aur eval`: how good searches are, on labelled questions or on the user's own names.

Where the numbers of `aur eval` go: the terminal, runs, a picture.

`aur eval --self`: are the definitions of the user's own code found by their names?
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from aurora.cli.session import find_places, settings_files, tell
from aurora.cli.terminal import has_colour, print_json, print_text, width_of
from aurora.config import Places, SettingsFiles
from aurora.config.places import shown
from aurora.display.measurements import measured_record, names_record, render_measured, render_names
from aurora.display.table import Paint
from aurora.engine import Memory
from aurora.engine.location import shown_name
from aurora.engine.temporary_memory import TemporaryMemory
from aurora.errors import SourceError
from aurora.evaluation.runner import fill
from aurora.evaluation.self_check import (
    ask_names,
    find_names,
    measure_forms,
    misses,
    read_repository,
    sample,
)
from aurora.retrieval.config import FUSIONS
from aurora.sources.git import find_root
from aurora.types import Event, MeasuredNames, MeasuredSet, Mode, Note

if TYPE_CHECKING:
    from aurora.evaluation.runner import Evaluated, System
    from aurora.types import Compared, MeasuredSet


_FILE = click.Path(path_type=Path, dir_okay=False)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What is to become of the numbers."""

    category: bool
    run: Path | None
    compare: bool
    baseline: Path | None
    plot: Path | None
    as_json: bool


@click.command(
    name="eval",
    epilog="""\b
Examples:
  aur eval sets/cosqa                          the default search, all questions
  aur eval sets/* --all --most 200             every mode and fusion, 200 questions of each set
  aur eval sets/cosqa --mode keyword --mode hybrid --compare
  aur eval sets/cosqa --run before.run         and after a change:
  aur eval sets/cosqa --baseline before.run
  aur eval sets/* --all --plot quality.svg
  aur eval --self                              names of your own code, in under a minute
\b
A set is a folder: corpus.jsonl or corpus.jsonl.gz (id, text; optional title, path, lang, group,
date …), queries.jsonl (id, text; optional group, category) and qrels.tsv (a header; query,
document and grade between tabs). What has a path or a programming language is read as code, and
questions are asked inside their group alone. docs/guide/evaluation.md has more.""",
)
@click.argument("folders", metavar="[DIR]...", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--self", "own", is_flag=True,
    help="Ask for the names of your own code, in the repository DIR or here.",
)  # fmt: skip
@click.option(
    "--mode", "modes", multiple=True, type=click.Choice(list(Mode), case_sensitive=False),
    help="By what to find; may be repeated.",
)  # fmt: skip
@click.option(
    "--fusion", "fusions", multiple=True, type=click.Choice(list(FUSIONS), case_sensitive=False),
    help="How to combine the signals; may be repeated.",
)  # fmt: skip
@click.option("--all", "every", is_flag=True, help="Every mode and every fusion.")
@click.option(
    "--most", metavar="N", type=click.IntRange(min=1),
    help="Ask no more questions of a set, always the same ones; with --self, names (500).",
)  # fmt: skip
@click.option("--provider", metavar="NAME", help="Who makes the vectors, as embedding.provider.")
@click.option("--model", metavar="NAME", help="Which of its models, as embedding.model.")
@click.option("--category", is_flag=True, help="A table for each category of questions, too.")
@click.option(
    "--run", metavar="FILE", type=_FILE,
    help="Write what was found as a TREC run, 100 documents a question.",
)  # fmt: skip
@click.option("--compare", is_flag=True, help="Test what was asked for against the default.")
@click.option(
    "--baseline", metavar="FILE", type=_FILE, help="Test it against an earlier --run instead."
)
@click.option(
    "--plot", metavar="FILE", type=_FILE,
    help="Draw quality against time: .svg, or .png with the extra `plot`.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, for programs.")
def eval_(
    folders: tuple[Path, ...],
    *,
    own: bool,
    modes: tuple[str, ...],
    fusions: tuple[str, ...],
    every: bool,
    most: int | None,
    provider: str | None,
    model: str | None,
    **wanted: object,
) -> None:
    """Tell how good searches are on labelled questions: nDCG, MRR, recall, and milliseconds.

    The documents of each set DIR go into a throw-away memory, made with the settings that are the
    default; of yours only those about embedding count. Your own memory is not touched.
    """
    click.get_current_context().call_on_close(tell.finish)
    files, asked = _files(provider, model), _Wanted(**wanted)  # type: ignore[arg-type]
    if own:
        if len(folders) > 1 or modes or fusions or every or asked != _only_json(asked):
            raise click.UsageError("--self takes one DIR, --most, --provider, --model and --json.")
        eval_self(folders[0] if folders else None, files, most=most or 500, as_json=asked.as_json)
        return
    if not folders:
        raise click.UsageError("Name the folder of a set, or --self.")
    systems = _systems(files, modes, fusions, every=every)
    _check(asked, sets=len(folders), systems=len(systems))
    _eval_sets(folders, files, systems, most, asked)


def _only_json(asked: _Wanted) -> _Wanted:
    return _Wanted(
        category=False, run=None, compare=False, baseline=None, plot=None, as_json=asked.as_json
    )


def _files(provider: str | None, model: str | None) -> SettingsFiles:
    """The user's settings, and what was said of embedding: a model is one of its provider."""
    files = settings_files(find_places())
    flags = dict(files.flags)
    if provider is not None:
        flags |= {"embedding.provider": provider, "embedding.model": model or ""}
    elif model is not None:
        flags["embedding.model"] = model
    return SettingsFiles(files.places, files.environ, flags)


def _systems(
    files: SettingsFiles, modes: Sequence[str], fusions: Sequence[str], *, every: bool
) -> list[System]:
    from aurora.engine.temporary_memory import TemporaryMemory
    from aurora.evaluation.runner import make_systems

    usual = TemporaryMemory(files).settings.search
    if every:
        return make_systems([Mode.KEYWORD, Mode.SEMANTIC, Mode.HYBRID], list(FUSIONS))
    wanted = [Mode(mode) for mode in modes] or [Mode.HYBRID if fusions else Mode(usual.mode)]
    return make_systems(wanted, fusions or [usual.fusion])


def _check(asked: _Wanted, *, sets: int, systems: int) -> None:
    """What could not be done at the end is refused at the beginning."""
    if asked.compare and systems < 2 and asked.baseline is None:
        raise click.UsageError(
            "There is nothing to compare: name another --mode or --fusion, --all, or a --baseline."
        )
    if asked.baseline is not None and sets > 1:
        raise click.UsageError("A --baseline is a run of one set: name that one alone.")
    for option, file in (("--run", asked.run), ("--plot", asked.plot)):
        if file is not None and not file.absolute().parent.is_dir():
            raise click.BadParameter(f"There is no folder {file.parent}", param_hint=option)
    if asked.plot is not None:
        require_plot(asked.plot)


def _eval_sets(
    folders: Sequence[Path],
    files: SettingsFiles,
    systems: Sequence[System],
    most: int | None,
    asked: _Wanted,
) -> None:
    from aurora.engine.temporary_memory import TemporaryMemory
    from aurora.evaluation.datasets import read_set
    from aurora.evaluation.runner import evaluate, summarise

    throw_away = TemporaryMemory(files)
    read = [read_set(folder) for folder in folders]  # what is wrong is told before work begins
    found: list[MeasuredSet] = []
    for labelled in (one.draw(most) if most else one for one in read):
        evaluated = evaluate(labelled, systems, throw_away.memory, listen=tell)
        tell.finish()
        compared = _compare(evaluated, throw_away.settings.search.fusion, asked)
        found.append(replace(summarise(evaluated), compared=compared))
        tell_warnings(found[-1])
        if asked.run is not None:
            write_runs(asked.run, evaluated, several=len(folders) * len(systems) > 1)
        if not asked.as_json:
            print_set(found[-1], categories=asked.category, is_first=len(found) == 1)
    if asked.as_json:
        print_all(found)
    if asked.plot is not None:
        write_plot(asked.plot, found)


def _compare(evaluated: Evaluated, usual: str, asked: _Wanted) -> tuple[Compared, ...]:
    """Against an earlier run; or against the default, if it was asked, or whatever was first."""
    from aurora.evaluation.compare import compare, read_baseline

    if asked.baseline is not None:
        run = read_baseline(asked.baseline, evaluated.labelled, tell)
        return compare(evaluated, asked.baseline.name, run)
    if not asked.compare:
        return ()
    default, first = f"{Mode.HYBRID}/{usual}", next(iter(evaluated.answers))
    return compare(evaluated, default if default in evaluated.answers else first)


_PICTURES = (".svg", ".png")


def tell_warnings(found: MeasuredSet) -> None:
    for warning in found.warnings:
        tell(Note(f"{found.name}: {warning}", warning=True))


def print_set(found: MeasuredSet, *, categories: bool, is_first: bool) -> None:
    width = width_of(sys.stdout, os.environ)
    paint = Paint(has_colour(sys.stdout, os.environ))
    text = render_measured(found, width=width, categories=categories, paint=paint)
    print_text(text if is_first else f"\n{text}")


def print_all(found: Sequence[MeasuredSet]) -> None:
    print_json({"version": 1, "sets": [measured_record(one) for one in found]})


def write_runs(file: Path, evaluated: Evaluated, *, several: bool) -> None:
    """One file; where there are several sets or systems one for each, and their names are told."""
    from aurora.evaluation.compare import write_run

    for system, answers in evaluated.answers.items():
        label = re.sub(r"[^\w.]+", "-", f"{evaluated.labelled.name}-{system}")
        named = file.with_name(f"{file.stem}-{label}{file.suffix}") if several else file
        if write_run(named, system, answers):
            tell(Note(f"{named}: spaces in ids are written as %20", warning=True))
        if several:
            tell(Note(f"Wrote {named}"))


def require_plot(file: Path) -> None:
    """Refuse a picture that nobody could draw."""
    if file.suffix.lower() not in _PICTURES:
        raise click.BadParameter(f"{file} ends in neither .svg nor .png", param_hint="--plot")
    if file.suffix.lower() == ".png":
        from aurora.display.plot import require_matplotlib

        require_matplotlib()


def write_plot(file: Path, found: Sequence[MeasuredSet]) -> None:
    if file.suffix.lower() == ".png":
        from aurora.display.plot import render_png

        picture = render_png(found)
    else:
        from aurora.display.plot import render_svg

        picture = render_svg(found).encode()
    try:
        file.write_bytes(picture)
    except OSError as exc:
        raise SourceError(
            f"{file} cannot be written: {exc.strerror}", hint="name a file in a folder of yours"
        ) from exc


_IN_ALL_FORMS = 200  # names; the others are asked as they are written, to be done in a minute


def eval_self(folder: Path | None, files: SettingsFiles, *, most: int, as_json: bool) -> None:
    """Ask for names of the project's memory, or of a repository that has none."""
    here = (folder or Path()).absolute()
    if not here.is_dir():
        raise SourceError(f"There is no folder {here}", hint="name a repository, or go to one")
    with _memory(here, files) as (memory, where):
        chunks = list(memory.admin.chunks())
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
    with TemporaryMemory(files).memory(_warnings) as memory:
        fill(memory, read_repository(top))
        yield memory, shown(top)


def _warnings(event: Event) -> None:
    """What a search says of its words is for whoever typed them."""
    if not isinstance(event, Note) or event.warning:
        tell(event)
