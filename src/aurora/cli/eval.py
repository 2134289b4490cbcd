"""`aur eval`: the quality of searches on labelled questions, or on the names of the user's code."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import click

from aurora.cli.session import find_places, settings_files, tell
from aurora.cli.terminal import has_colour, print_json, print_text, width_of
from aurora.config import Places, SettingsFiles
from aurora.config.places import shown
from aurora.display.measurements import measured_record, names_record, render_measured, render_names
from aurora.display.plot import render_svg
from aurora.display.table import Paint
from aurora.engine import Memory
from aurora.engine.location import shown_name
from aurora.engine.temporary_memory import TemporaryMemory
from aurora.errors import SourceError
from aurora.evaluation.compare import compare, read_baseline, write_run
from aurora.evaluation.datasets import read_set
from aurora.evaluation.runner import Evaluated, System, evaluate, fill, make_systems, summarise
from aurora.evaluation.self_check import (
    ask_names,
    find_names,
    measure_forms,
    misses,
    read_repository,
    sample,
)
from aurora.report_types import Compared, MeasuredNames, MeasuredSet
from aurora.retrieval.config import FUSIONS
from aurora.sources.git import find_root
from aurora.types import Event, Mode, Note

_FILE = click.Path(path_type=Path, dir_okay=False)
_NAMES = 500  # of --self
_IN_ALL_FORMS = 200  # names; the others are searched as written, to end within a minute


@dataclass(frozen=True, slots=True)
class _Output:
    """The options about the measured numbers."""

    category: bool = False
    run: Path | None = None
    compare: bool = False
    baseline: Path | None = None
    plot: Path | None = None
    as_json: bool = False


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
    help="Search for the names of your own code, in the repository DIR or here.",
)  # fmt: skip
@click.option(
    "--mode", "modes", multiple=True, type=click.Choice(list(Mode), case_sensitive=False),
    help="What to search by; may be repeated.",
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
@click.option("--provider", metavar="NAME", help="Provider of the vectors, as embedding.provider.")
@click.option("--model", metavar="NAME", help="Model of the vectors, as embedding.model.")
@click.option("--category", is_flag=True, help="A table for each category of questions, too.")
@click.option(
    "--run", metavar="FILE", type=_FILE,
    help="Write the results as a TREC run, 100 documents per question.",
)  # fmt: skip
@click.option("--compare", is_flag=True, help="Test the chosen systems against the default.")
@click.option(
    "--baseline", metavar="FILE", type=_FILE, help="Test it against an earlier --run instead."
)
@click.option(
    "--plot", metavar="FILE", type=_FILE,
    help="Draw quality against time, as an .svg file.",
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
    **options: object,
) -> None:
    """Measure searches on labelled questions: nDCG, MRR, recall, and milliseconds.

    The documents of each set DIR go into a temporary memory with default settings; of your
    settings only those about embedding count. Your own memory is not touched.
    """
    click.get_current_context().call_on_close(tell.finish)
    files, output = _files(provider, model), _Output(**options)  # type: ignore[arg-type]
    if own:
        plain = _Output(as_json=output.as_json)
        if len(folders) > 1 or modes or fusions or every or output != plain:
            raise click.UsageError("--self takes one DIR, --most, --provider, --model and --json.")
        _eval_names(folders[0] if folders else None, files, most or _NAMES, as_json=output.as_json)
        return
    if not folders:
        raise click.UsageError("Name the folder of a set, or --self.")
    systems = _systems(files, modes, fusions, every=every)
    _check(output, sets=len(folders), systems=len(systems))
    _eval_sets(folders, files, systems, most, output)


def _files(provider: str | None, model: str | None) -> SettingsFiles:
    """The user's settings with the options about embedding. A new provider resets the model."""
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
    if every:
        return make_systems([Mode.KEYWORD, Mode.SEMANTIC, Mode.HYBRID], list(FUSIONS))
    default = TemporaryMemory(files).settings.search
    wanted = [Mode(mode) for mode in modes] or [Mode.HYBRID if fusions else Mode(default.mode)]
    return make_systems(wanted, fusions or [default.fusion])


def _check(output: _Output, *, sets: int, systems: int) -> None:
    """Refuse at the start what could not be done at the end."""
    if output.compare and systems < 2 and output.baseline is None:
        raise click.UsageError(
            "There is nothing to compare: name another --mode or --fusion, --all, or a --baseline."
        )
    if output.baseline is not None and sets > 1:
        raise click.UsageError("A --baseline is a run of one set: name that one alone.")
    for option, file in (("--run", output.run), ("--plot", output.plot)):
        if file is not None and not file.absolute().parent.is_dir():
            raise click.BadParameter(f"There is no folder {file.parent}", param_hint=option)
    if output.plot is not None and output.plot.suffix.lower() != ".svg":
        raise click.BadParameter(
            f"{output.plot} does not end in .svg: name an .svg file, which browsers show and "
            "image programs convert",
            param_hint="--plot",
        )


# --- Labelled sets ---


def _eval_sets(
    folders: Sequence[Path],
    files: SettingsFiles,
    systems: Sequence[System],
    most: int | None,
    output: _Output,
) -> None:
    temporary = TemporaryMemory(files)
    sets = [read_set(folder) for folder in folders]  # all of them: errors come before any work
    several = len(folders) * len(systems) > 1
    measured_sets: list[MeasuredSet] = []
    for labelled in (labelled.draw(most) if most else labelled for labelled in sets):
        evaluated = evaluate(labelled, systems, temporary.memory, listen=tell)
        tell.finish()
        compared = _compare(evaluated, temporary.settings.search.fusion, output)
        measured = replace(summarise(evaluated), compared=compared)
        for warning in measured.warnings:
            tell(Note(f"{measured.name}: {warning}", warning=True))
        if output.run is not None:
            _write_runs(output.run, evaluated, several=several)
        if not output.as_json:
            _print_set(measured, categories=output.category, is_first=not measured_sets)
        measured_sets.append(measured)
    if output.as_json:
        print_json({"version": 1, "sets": [measured_record(one) for one in measured_sets]})
    if output.plot is not None:
        _write_plot(output.plot, measured_sets)


def _compare(evaluated: Evaluated, default_fusion: str, output: _Output) -> tuple[Compared, ...]:
    """Compare with an earlier run, or else with the default system, or else with the first."""
    if output.baseline is not None:
        run = read_baseline(output.baseline, evaluated.labelled, tell)
        return compare(evaluated, output.baseline.name, run)
    if not output.compare:
        return ()
    default, first = f"{Mode.HYBRID}/{default_fusion}", next(iter(evaluated.answers))
    return compare(evaluated, default if default in evaluated.answers else first)


def _print_set(measured: MeasuredSet, *, categories: bool, is_first: bool) -> None:
    width = width_of(sys.stdout, os.environ)
    paint = Paint(has_colour(sys.stdout, os.environ))
    text = render_measured(measured, width=width, categories=categories, paint=paint)
    print_text(text if is_first else f"\n{text}")


def _write_runs(file: Path, evaluated: Evaluated, *, several: bool) -> None:
    """Write a TREC run; of several sets or systems, a file with its own name for each."""
    for system, answers in evaluated.answers.items():
        label = re.sub(r"[^\w.]+", "-", f"{evaluated.labelled.name}-{system}")
        path = file.with_name(f"{file.stem}-{label}{file.suffix}") if several else file
        if write_run(path, system, answers):
            tell(Note(f"{path}: spaces in ids are written as %20", warning=True))
        if several:
            tell(Note(f"Wrote {path}"))


def _write_plot(file: Path, measured_sets: Sequence[MeasuredSet]) -> None:
    try:
        file.write_text(render_svg(measured_sets), encoding="utf-8")
    except OSError as exc:
        raise SourceError(
            f"{file} cannot be written: {exc.strerror}", hint="name a file in a folder of yours"
        ) from exc


# --- Names of the user's own code ---


def _eval_names(folder: Path | None, files: SettingsFiles, most: int, *, as_json: bool) -> None:
    """Search for names of the project's memory, or of a repository without a memory."""
    here = (folder or Path()).absolute()
    if not here.is_dir():
        raise SourceError(f"There is no folder {here}", hint="name a repository, or go to one")
    with _own_memory(here, files) as (memory, where):
        chunks = list(memory.admin.chunks())
        names = find_names(chunks)
        wanted = sample(names.definitions, most)
        if not wanted:
            raise SourceError(
                f"{where} holds no function, method or class with a name of its own",
                hint="name a repository of code: aur eval --self DIR",
            )
        placed = list(ask_names(memory, names, wanted, in_all_forms=_IN_ALL_FORMS, listen=tell))
    tell.finish()
    measured = MeasuredNames(
        where,
        len(chunks),
        len(names.definitions),
        len(wanted),
        measure_forms(placed),
        misses(placed),
    )
    if as_json:
        print_json(names_record(measured))
    else:
        print_text(render_names(measured, paint=Paint(has_colour(sys.stdout, os.environ))))


@contextmanager
def _own_memory(here: Path, files: SettingsFiles) -> Iterator[tuple[Memory, str]]:
    """The project's memory, only read; or a temporary memory of the repository."""
    places = Places.find(here, {"AURORA_HOME": str(files.places.home)})
    own = SettingsFiles(places, files.environ, files.flags)
    with Memory(places, own, listen=_warnings) as memory:
        if places.project is not None and memory.exists:
            yield memory, shown_name(memory.name)
            return
    top = find_root(here) or here
    tell(Note(f"There is no memory of {shown(top)}: reading it into a temporary one"))
    with TemporaryMemory(files).memory(_warnings) as memory:
        fill(memory, read_repository(top))
        yield memory, shown(top)


def _warnings(event: Event) -> None:
    """Pass on warnings and progress; other notes are about a query that no person typed."""
    if not isinstance(event, Note) or event.warning:
        tell(event)
