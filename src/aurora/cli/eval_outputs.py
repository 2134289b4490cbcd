"""Where the numbers of `aur eval` go: the terminal, runs, a picture."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from aurora.cli.printing import print_json, print_text
from aurora.cli.session import tell
from aurora.cli.terminal import has_colour, width_of
from aurora.display.measured import measured_record, render_measured
from aurora.display.paint import Paint
from aurora.errors import SourceError
from aurora.types import MeasuredSet, Note

if TYPE_CHECKING:
    from aurora.evaluation.measuring import Evaluated

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
    from aurora.evaluation.runs import write_run

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
        from aurora.display.plot_png import require_matplotlib

        require_matplotlib()


def write_plot(file: Path, found: Sequence[MeasuredSet]) -> None:
    if file.suffix.lower() == ".png":
        from aurora.display.plot_png import render_png

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
