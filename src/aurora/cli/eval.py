"""`aur eval`: how good searches are, on labelled questions or on the user's own names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from aurora.cli.session import find_places, settings_files, tell
from aurora.config import SettingsFiles
from aurora.retrieval.config import FUSIONS
from aurora.types import Mode

if TYPE_CHECKING:
    from aurora.evaluation.asking import System
    from aurora.evaluation.measuring import Evaluated
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
        from aurora.cli.eval_self import eval_self

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
    from aurora.engine.throw_away import ThrowAway
    from aurora.evaluation.asking import make_systems

    usual = ThrowAway(files).settings.search
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
        from aurora.cli.eval_outputs import require_plot

        require_plot(asked.plot)


def _eval_sets(
    folders: Sequence[Path],
    files: SettingsFiles,
    systems: Sequence[System],
    most: int | None,
    asked: _Wanted,
) -> None:
    from aurora.cli.eval_outputs import print_all, print_set, tell_warnings, write_plot, write_runs
    from aurora.engine.throw_away import ThrowAway
    from aurora.evaluation.measuring import evaluate, summarise
    from aurora.evaluation.sets import read_set

    throw_away = ThrowAway(files)
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
    from aurora.evaluation.comparing import compare, read_baseline

    if asked.baseline is not None:
        run = read_baseline(asked.baseline, evaluated.labelled, tell)
        return compare(evaluated, asked.baseline.name, run)
    if not asked.compare:
        return ()
    default, first = f"{Mode.HYBRID}/{usual}", next(iter(evaluated.answers))
    return compare(evaluated, default if default in evaluated.answers else first)
