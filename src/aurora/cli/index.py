"""`aur mem index`: read files into the memory."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from aurora.cli.session import end_in_part, find_places, open_memory, tell
from aurora.config.places import Places
from aurora.display.summary import render_index_line, render_index_summary
from aurora.engine import Memory
from aurora.engine.projects import places_to_index
from aurora.engine.whereabouts import shown_name
from aurora.indexing.report import IndexReport
from aurora.sources.walk import require_path
from aurora.text import printable
from aurora.types import Kind, Note

logger = logging.getLogger(__name__)

_SHOWN_WARNINGS = 10
_KEPT = "What was stored so far is kept; `aur mem index` goes on from there."
_NO_KNOWLEDGE = (
    "Note: No conversation logs found. Run SOAR queries to generate knowledge chunks."  # FR-11.6
)


@click.command(
    epilog="""\b
Examples:
  aur mem index           everything here
  aur mem index src docs  only these
  aur mem index --no-git  without the commits behind each chunk
  aur mem index --force   every file again, and all of git's history
\b
Only what changed since the last time is read. What git ignores is left out; so are,
counted in the report, what an .auroraignore names, vendored, generated and minified
files, binaries, links, very large files and files that look like secrets."""
)
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("--no-git", is_flag=True, help="Do not read who changed what, and when, from git.")
@click.option("--force", is_flag=True, help="Read every file, also those that look unchanged.")
def index(paths: tuple[Path, ...], *, no_git: bool, force: bool) -> None:
    """Read files and folders into the memory (default: the working directory).

    Inside a git repository the first run starts a memory for the project; elsewhere the user's
    own memory is used. Your conversation logs are read into it, too.

    Exits with 0 when all is in the memory, with 1 when some files could not be read, and with 2
    when the run failed.
    """
    targets = paths or (Path(),)
    for target in targets:
        require_path(target)
    with open_memory(places_for_index()) as memory:
        report = index_into(memory, targets, git=not no_git, force=force)
    if report.is_partial:
        end_in_part()


def index_into(
    memory: Memory,
    targets: Sequence[Path],
    *,
    git: bool = True,
    force: bool = False,
    talk: bool = False,
) -> IndexReport:
    """Read files and tell what came of it: on stdout, or on stderr where that is only talk."""
    report = _read(memory, targets, git=git, force=force)
    tell_troubles(report)
    stats = memory.stats()
    saved_to = shown_name(stats.index_path) if memory.index_saved else ""
    click.echo(
        render_index_summary(
            files=report.scanned,
            chunks=stats.chunks,
            warnings=len(report.warnings),
            errors=len(report.errors),
            index=render_index_line(sum(stats.chunks.values()), saved_to),
        ),
        err=talk,
    )
    _tell_afterwards(report, stats.chunks)
    return report


def _read(memory: Memory, targets: Sequence[Path], *, git: bool, force: bool) -> IndexReport:
    try:
        return memory.index(*targets, git=git, force=force)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(_KEPT) from None
    finally:
        tell.finish()  # what follows goes to stdout


def places_for_index() -> Places:
    """The memory to index into: inside a git repository the project's own, made if need be."""
    return places_to_index(find_places(), Path.cwd())


def tell_troubles(report: IndexReport) -> None:
    """What was left out, and what is not as it should be, on stderr."""
    if report.skipped:
        counts = Counter(report.skipped)
        reasons = ", ".join(f"{count} {reason}" for reason, count in counts.most_common())
        tell(Note(f"Left out {counts.total()} files: {reasons}"))
    for text in report.errors:
        click.echo(f"Error: {printable(text)}", err=True)
    for text in report.warnings[:_SHOWN_WARNINGS]:
        tell(Note(text, warning=True))
    for text in report.warnings[_SHOWN_WARNINGS:]:
        logger.warning("%s", text)
    if len(report.warnings) > _SHOWN_WARNINGS:
        tell(Note(f"{len(report.warnings) - _SHOWN_WARNINGS} more warnings are in the log file"))


def _tell_afterwards(report: IndexReport, chunks: Mapping[Kind, int]) -> None:
    """The last words of FR-10.2 and FR-11.6."""
    wanted, failed = report.embedded.wanted, report.embedded.failed
    if failed:
        tell(Note(f"Indexed {wanted - failed}/{wanted} chunks ({failed} failed)"))
    if not chunks.get(Kind.KNOWLEDGE):
        tell(Note(_NO_KNOWLEDGE))
