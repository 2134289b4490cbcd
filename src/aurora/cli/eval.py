"""`aur eval`: how good searches are, on labelled questions."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from aurora.cli.printing import print_json, print_text
from aurora.cli.session import find_places, settings_files, tell
from aurora.cli.terminal import has_colour, width_of
from aurora.config import SettingsFiles
from aurora.display.paint import Paint
from aurora.retrieval.config import FUSIONS
from aurora.types import MeasuredSet, Mode, Note

if TYPE_CHECKING:
    from aurora.engine.throw_away import ThrowAway
    from aurora.evaluation.asking import System
    from aurora.evaluation.measuring import Evaluated


@click.command(
    name="eval",
    epilog="""\b
Examples:
  aur eval sets/cosqa                          the default search, all questions
  aur eval sets/* --all --most 200             every mode and fusion, 200 questions of each set
  aur eval sets/cosqa --mode keyword --mode hybrid --fusion rrf
  aur eval sets/cosqa --run after.run
\b
A set is a folder: corpus.jsonl or corpus.jsonl.gz (id, text; optional title, path, lang, group,
date …), queries.jsonl (id, text; optional group, category) and qrels.tsv (a header; query,
document and grade between tabs). What has a path or a programming language is read as code, and
questions are asked inside their group alone. docs/guide/evaluation.md has more.""",
)
@click.argument("sets", metavar="DIR...", nargs=-1, type=click.Path(path_type=Path))
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
    help="Ask no more questions of a set, always the same ones.",
)  # fmt: skip
@click.option("--provider", metavar="NAME", help="Who makes the vectors, as embedding.provider.")
@click.option("--model", metavar="NAME", help="Which of its models, as embedding.model.")
@click.option("--category", is_flag=True, help="A table for each category of questions, too.")
@click.option(
    "--run", "run_file", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False),
    help="Write what was found as a TREC run, 100 documents a question.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, for programs.")
def eval_(
    sets: tuple[Path, ...],
    *,
    modes: tuple[str, ...],
    fusions: tuple[str, ...],
    every: bool,
    most: int | None,
    provider: str | None,
    model: str | None,
    category: bool,
    run_file: Path | None,
    as_json: bool,
) -> None:
    """Tell how good searches are on labelled questions: nDCG, MRR, recall, and milliseconds.

    The documents of each set DIR go into a throw-away memory, made with the settings that are the
    default; of yours only those about embedding count. Your own memory is not touched.
    """
    from aurora.engine.throw_away import ThrowAway
    from aurora.evaluation.measuring import evaluate, summarise
    from aurora.evaluation.sets import read_set

    if not sets:
        raise click.UsageError("Name at least one set, or --self.")
    click.get_current_context().call_on_close(tell.finish)
    throw_away = ThrowAway(_files(provider, model))
    systems = _systems(throw_away, modes, fusions, every=every)
    read = [read_set(folder) for folder in sets]  # what is wrong is told before work begins
    found: list[MeasuredSet] = []
    for labelled in (one.draw(most) if most else one for one in read):
        evaluated = evaluate(labelled, systems, throw_away.memory, listen=tell)
        tell.finish()
        measured = summarise(evaluated)
        for warning in measured.warnings:
            tell(Note(f"{measured.name}: {warning}", warning=True))
        if run_file is not None:
            _write_runs(run_file, evaluated, several=len(sets) * len(systems) > 1)
        if not as_json:
            _print(measured, category=category, first=not found)
        found.append(measured)
    if as_json:
        from aurora.display.measured import measured_record

        print_json({"sets": [measured_record(one) for one in found]})


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
    throw_away: ThrowAway, modes: Sequence[str], fusions: Sequence[str], *, every: bool
) -> list[System]:
    from aurora.evaluation.asking import make_systems

    if every:
        return make_systems([Mode.KEYWORD, Mode.SEMANTIC, Mode.HYBRID], list(FUSIONS))
    usual = throw_away.settings.search
    wanted = [Mode(mode) for mode in modes] or [Mode.HYBRID if fusions else Mode(usual.mode)]
    return make_systems(wanted, fusions or [usual.fusion])


def _write_runs(file: Path, evaluated: Evaluated, *, several: bool) -> None:
    from aurora.evaluation.runs import write_run

    for system, answers in evaluated.answers.items():
        label = re.sub(r"[^\w.]+", "-", f"{evaluated.labelled.name}-{system}")
        named = file.with_name(f"{file.stem}-{label}{file.suffix}") if several else file
        if write_run(named, system, answers):
            tell(Note(f"{named}: spaces in ids are written as %20", warning=True))
        if several:
            tell(Note(f"Wrote {named}"))


def _print(measured: MeasuredSet, *, category: bool, first: bool) -> None:
    from aurora.display.measured import render_measured

    width = width_of(sys.stdout, os.environ)
    paint = Paint(has_colour(sys.stdout, os.environ))
    text = render_measured(measured, width=width, categories=category, paint=paint)
    print_text(text if first else f"\n{text}")
