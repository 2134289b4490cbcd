"""`aur mem index`: read files into the memory."""

from __future__ import annotations

import logging
from collections import Counter
from pathlib import Path

import click

from aurora.cli.init import start_project
from aurora.cli.session import find_places, open_memory, tell
from aurora.config.places import Places, shown
from aurora.display.summary import render_index_line, render_index_summary
from aurora.indexing.indexer import IndexReport
from aurora.sources.git import find_root
from aurora.sources.walk import require_path
from aurora.types import Note

logger = logging.getLogger(__name__)

_SHOWN_WARNINGS = 10


@click.command(
    epilog="""\b
Examples:
  aur mem index           everything here
  aur mem index src docs  only these
\b
Only what changed since the last time is read. What git ignores is left out; so are,
counted in the report, what an .auroraignore names, vendored, generated and minified
files, binaries, very large files and files that look like secrets."""
)
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
def index(paths: tuple[Path, ...]) -> None:
    """Read files and folders into the memory (default: the working directory).

    Inside a git repository the first run starts a memory for the project; elsewhere the user's
    own memory is used.
    """
    targets = paths or (Path(),)
    for target in targets:
        require_path(target)
    with open_memory(_places_for_index()) as memory:
        reports = [memory.index(target) for target in targets]
        warnings = [text for report in reports for text in report.warnings]
        _tell_skipped(reports)
        _tell_warnings(warnings)
        stats = memory.stats()
        saved_to = shown(stats.index_path) if memory.index_saved else ""
        click.echo(
            render_index_summary(
                files=sum(report.scanned for report in reports),
                chunks=stats.chunks,
                warnings=len(warnings),
                errors=0,  # a run with a fatal error ends before its summary
                index=render_index_line(sum(stats.chunks.values()), saved_to),
            )
        )


def _places_for_index() -> Places:
    places = find_places()
    root = find_root(Path.cwd()) if places.project is None else None
    return start_project(places, root) if root else places


def _tell_warnings(warnings: list[str]) -> None:
    for text in warnings[:_SHOWN_WARNINGS]:
        tell(Note(text, warning=True))
    for text in warnings[_SHOWN_WARNINGS:]:
        logger.warning("%s", text)
    if len(warnings) > _SHOWN_WARNINGS:
        tell(Note(f"{len(warnings) - _SHOWN_WARNINGS} more warnings are in the log file"))


def _tell_skipped(reports: list[IndexReport]) -> None:
    skipped: Counter[str] = Counter()
    for report in reports:
        skipped.update(report.skipped)
    if skipped:
        reasons = ", ".join(f"{count} {reason}" for reason, count in skipped.most_common())
        tell(Note(f"Left out {skipped.total()} files: {reasons}"))
