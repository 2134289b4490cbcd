"""`aur mem watch`: keep the memory fresh while files change."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from aurora.cli.index import places_for_index, tell_troubles
from aurora.cli.session import open_memory, tell
from aurora.cli.stopping import ended_by_signals
from aurora.config.places import shown
from aurora.display.summary import render_refresh
from aurora.indexing.freshness import Refresh
from aurora.indexing.report import IndexReport
from aurora.sources.walk import require_path
from aurora.sources.watching import require_watchfiles
from aurora.types import Note


@click.command(
    epilog="""\b
Examples:
  aur mem watch           everything here, until Ctrl-C
  aur mem watch src docs  only these
  aur mem watch --no-git  without the commits behind each chunk
\b
One line on stdout tells of every run that changed the memory; a commit is a change, too.
Needs the package watchfiles: pip install 'aurora-memory[watch]'"""
)
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("--no-git", is_flag=True, help="Do not read who changed what, and when, from git.")
def watch(paths: tuple[Path, ...], *, no_git: bool) -> None:
    """Index files and folders (default: the working directory), and again whenever they change.

    The memory is the one that `aur mem index` uses. Your conversation logs are watched, too. What
    git ignores, an .auroraignore names or an editor leaves behind wakes nobody.

    Exits with 0 when stopped by Ctrl-C or SIGTERM, and with 2 when nothing can be watched.
    """
    require_watchfiles()
    targets = paths or (Path(),)
    for target in targets:
        require_path(target)
    with ended_by_signals() as stop, open_memory(places_for_index()) as memory:
        watching = memory.watch(*targets, git=not no_git, stop=stop)
        last = next(watching)
        tell_troubles(last.report)
        click.echo(_line(last))
        tell(Note(f"Watching {', '.join(shown(path.resolve()) for path in targets)}"))
        for refresh in watching:
            tell_troubles(_news(refresh.report, last.report))
            if refresh.changed:
                click.echo(_line(refresh))
            last = refresh


def _line(refresh: Refresh) -> str:
    report = refresh.report
    return render_refresh(
        refresh.at.astimezone(),
        read=report.parsed,
        removed=report.removed,
        left_out=sum(report.skipped.values()),
        histories=report.histories,
        seconds=refresh.seconds,
    )


def _news(report: IndexReport, before: IndexReport) -> IndexReport:
    """Only what the run before did not tell: a trouble that stays is told once."""
    return replace(
        report,
        skipped={},
        warnings=tuple(text for text in report.warnings if text not in before.warnings),
        errors=tuple(text for text in report.errors if text not in before.errors),
    )
