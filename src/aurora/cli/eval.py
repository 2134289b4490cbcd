"""`aur eval`: the quality of searches on labelled questions, or on the names of the user's code."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from aurora.cli.session import find_places, settings_files, tell
from aurora.cli.terminal import has_colour, print_json, print_text, width_of
from aurora.config import Places, SettingsFiles
from aurora.config.places import shown
from aurora.config.schema import SearchSettings
from aurora.display.measurements import (
    measured_record,
    render_measured,
    render_self_check,
    self_check_record,
)
from aurora.display.plot import render_svg
from aurora.display.table import Paint
from aurora.engine import Memory
from aurora.engine.location import shown_name
from aurora.engine.temporary_memory import TemporaryMemory
from aurora.errors import SourceError
from aurora.evaluation.compare import compare, read_baseline, write_run
from aurora.evaluation.datasets import read_set
from aurora.evaluation.runner import Evaluated, System, evaluate, fill, make_systems, summarise
from aurora.evaluation.self_check import QUESTIONS, check_self, read_repository
from aurora.report_types import Compared, MeasuredSet
from aurora.retrieval.config import FUSIONS
from aurora.sources.git import find_root
from aurora.types import Event, Mode, Note

_FILE = click.Path(path_type=Path, dir_okay=False)


@dataclass(frozen=True, slots=True)
class _Options:
    """The options, by their names."""

    own: bool = False
    modes: tuple[str, ...] = ()
    fusions: tuple[str, ...] = ()
    every: bool = False
    most: int | None = None
    provider: str | None = None
    model: str | None = None
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
  aur eval --self                              your own memory, in under a minute
\b
A set is a folder: corpus.jsonl or corpus.jsonl.gz (id, text; optional title, path, lang, group,
date …), queries.jsonl (id, text; optional group, category) and qrels.tsv (a header; query,
document and grade between tabs). What has a path or a programming language is read as code, and
questions are asked inside their group alone. docs/guide/evaluation.md has more.""",
)
@click.argument("folders", metavar="[DIR]...", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--self", "own", is_flag=True,
    help="Ask your own memory, or the repository DIR, about itself. Status 1: it failed.",
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
    help="Ask no more questions, always the same ones; with --self, 200 by default.",
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
def eval_(folders: tuple[Path, ...], **typed: Any) -> None:  # Any: as click parses them
    """Measure searches on labelled questions: nDCG, MRR, recall, and milliseconds.

    The documents of each set DIR go into a temporary memory with default settings; of your
    settings only those about embedding count. Your own memory is not touched.
    """
    click.get_current_context().call_on_close(tell.finish)
    options = _Options(**typed)
    files = _files(options.provider, options.model)
    if options.own:
        _eval_self(folders, files, options)
        return
    if not folders:
        raise click.UsageError("Name the folder of a set, or --self.")
    temporary = TemporaryMemory(files)
    systems = _systems(temporary.settings.search, options)
    _check(options, sets=len(folders), systems=len(systems))
    _eval_sets(folders, temporary, systems, options)


def _files(provider: str | None, model: str | None) -> SettingsFiles:
    """The user's settings with the options about embedding. A new provider resets the model."""
    files = settings_files(find_places())
    flags = dict(files.flags)
    if provider is not None:
        flags |= {"embedding.provider": provider, "embedding.model": model or ""}
    elif model is not None:
        flags["embedding.model"] = model
    return SettingsFiles(files.places, files.environ, flags)


def _systems(default: SearchSettings, options: _Options) -> list[System]:
    if options.every:
        return make_systems([Mode.KEYWORD, Mode.SEMANTIC, Mode.HYBRID], list(FUSIONS))
    mode = Mode.HYBRID if options.fusions else Mode(default.mode)
    wanted = [Mode(mode) for mode in options.modes] or [mode]
    return make_systems(wanted, options.fusions or [default.fusion])


def _check(options: _Options, *, sets: int, systems: int) -> None:
    """Refuse at the start what could not be done at the end."""
    if options.compare and systems < 2 and options.baseline is None:
        raise click.UsageError(
            "There is nothing to compare: name another --mode or --fusion, --all, or a --baseline."
        )
    if options.baseline is not None and sets > 1:
        raise click.UsageError("A --baseline is a run of one set: name that one alone.")
    for option, file in (("--run", options.run), ("--plot", options.plot)):
        if file is not None and not file.absolute().parent.is_dir():
            raise click.BadParameter(f"There is no folder {file.parent}", param_hint=option)
    if options.plot is not None and options.plot.suffix.lower() != ".svg":
        raise click.BadParameter(
            f"{options.plot} does not end in .svg: name an .svg file, which browsers show and "
            "image programs convert",
            param_hint="--plot",
        )


# --- Labelled sets ---


def _eval_sets(
    folders: Sequence[Path],
    temporary: TemporaryMemory,
    systems: Sequence[System],
    options: _Options,
) -> None:
    sets = [read_set(folder) for folder in folders]  # all of them: errors come before any work
    several, most = len(folders) * len(systems) > 1, options.most
    measured_sets: list[MeasuredSet] = []
    for labelled in (labelled.draw(most) if most else labelled for labelled in sets):
        evaluated = evaluate(labelled, systems, temporary.memory, listen=tell)
        tell.finish()
        compared = _compare(evaluated, temporary.settings.search.fusion, options)
        measured = replace(summarise(evaluated), compared=compared)
        for warning in measured.warnings:
            tell(Note(f"{measured.name}: {warning}", warning=True))
        if options.run is not None:
            _write_runs(options.run, evaluated, several=several)
        if not options.as_json:
            _print_set(measured, categories=options.category, is_first=not measured_sets)
        measured_sets.append(measured)
    if options.as_json:
        print_json({"version": 1, "sets": list(map(measured_record, measured_sets))})
    if options.plot is not None:
        _write_plot(options.plot, measured_sets)


def _compare(evaluated: Evaluated, default_fusion: str, options: _Options) -> tuple[Compared, ...]:
    """Compare with an earlier run, or else with the default system, or else with the first."""
    if options.baseline is not None:
        run = read_baseline(options.baseline, evaluated.labelled, tell)
        return compare(evaluated, options.baseline.name, run)
    if not options.compare:
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


# --- The user's own memory ---


def _eval_self(folders: Sequence[Path], files: SettingsFiles, options: _Options) -> None:
    """Ask the project's memory about itself, or a repository without a memory."""
    others = replace(options, own=False, most=None, provider=None, model=None, as_json=False)
    if len(folders) > 1 or others != _Options():
        raise click.UsageError("--self takes one DIR, --most, --provider, --model and --json.")
    here = Path(*folders).absolute()
    if not here.is_dir():
        raise SourceError(f"There is no folder {here}", hint="name a repository, or go to one")
    with _own_memory(here, files) as (memory, where, folder):
        check = check_self(memory, where, folder, most=options.most or QUESTIONS, listen=tell)
    tell.finish()
    if options.as_json:
        print_json(self_check_record(check))
    else:
        print_text(render_self_check(check, paint=Paint(has_colour(sys.stdout, os.environ))))
    if not check.is_passed:
        click.get_current_context().exit(1)


@contextmanager
def _own_memory(here: Path, files: SettingsFiles) -> Iterator[tuple[Memory, str, Path | None]]:
    """The project's memory, only read, or a temporary memory of the repository; and its folder."""
    places = Places.find(here, {"AURORA_HOME": str(files.places.home)})
    own = SettingsFiles(places, files.environ, files.flags)
    with Memory(places, own, listen=_warnings) as memory:
        if places.project is not None and memory.exists:
            yield memory, shown_name(memory.name), memory.root
            return
    top = find_root(here) or here
    tell(Note(f"There is no memory of {shown(top)}: reading it into a temporary one"))
    with TemporaryMemory(files).memory(_warnings) as memory:
        fill(memory, read_repository(top))
        yield memory, shown(top), top


def _warnings(event: Event) -> None:
    """Pass on warnings and progress; other notes are about a query that no person typed."""
    if not isinstance(event, Note) or event.warning:
        tell(event)
