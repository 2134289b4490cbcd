"""`aur mem index`: read files into the memory.

`aur mem watch`: keep the memory fresh while files change.

`aur init`: start a project's memory.

`aur mem reembed`: from one embedding model to another.

`aur db import-aurorakb`: the documents of an AuroraKB into this memory.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import click

from aurora.cli.session import end_in_part, ended_by_signals, find_places, open_memory, tell
from aurora.config.places import Places, shown
from aurora.display.reports import render_index_line, render_index_summary, render_refresh
from aurora.engine import Memory
from aurora.engine.location import places_to_index, shown_name, start_project
from aurora.indexing.freshness import Refresh
from aurora.indexing.indexer import IndexReport
from aurora.sources.git import find_root
from aurora.sources.walk import require_path
from aurora.sources.watch import require_watchfiles
from aurora.text import pluralize, printable
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
    saved_to = shown_name(stats.index_path) if memory.admin.index_saved else ""
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


@click.command(
    epilog="""\b
Examples:
  aur init          at the top of this git repository, or here without git"""
)
def init() -> None:
    """Start a memory for this project: a folder .aurora that git ignores."""
    places = find_places()
    if places.project is None:
        places = start_project(places, find_root(Path.cwd()) or Path.cwd())
    click.echo(f"The memory of this project is in {shown(places.memory_folder)}")
    click.echo("Next: aur mem index .", err=True)


_SHOWN_FAILURES = 5
_REEMBED_KEPT = "What was made so far is kept; `aur mem reembed` goes on from there."


@click.command(
    epilog="""\b
Examples:
  aur models pull all-minilm-l6-v2
  aur config set embedding.provider onnx
  aur mem reembed
\b
Searches go by the old vectors until all the new ones are there. A run that was
stopped, or killed, goes on where it was."""
)
def reembed() -> None:
    """Make the vectors anew, by the provider and model that the settings choose.

    Exits with 1 when some chunks could not be embedded, or when the provider went away.
    """
    with open_memory() as memory:
        try:
            made = memory.admin.reembed()
        except KeyboardInterrupt:
            raise KeyboardInterrupt(_REEMBED_KEPT) from None
        finally:
            tell.finish()
    counted, name = made.embedded, printable(made.wanted.name)
    for warning in counted.warnings[:_SHOWN_FAILURES]:
        tell(Note(warning, warning=True))
    if not made.is_done:
        tell(
            Note(
                f"{counted.failed:,} of {pluralize(counted.wanted, 'chunk')} are still to do. "
                f"{_REEMBED_KEPT}"
            )
        )
        end_in_part()
    old = f", not {printable(made.before.name)}'s" if made.before not in (None, made.wanted) else ""
    click.echo(f"The vectors are {name}'s{old}: {pluralize(counted.made, 'chunk')} embedded")
    if counted.failed:
        end_in_part()


_AURORAKB_KEPT = "What was taken in so far is kept; the same command goes on from there."


@click.command(
    "import-aurorakb",
    epilog="""\b
Examples:
  aur db import-aurorakb --from postgresql://ada@db.example.org/aurorakb
  aur db import-aurorakb --from postgresql://db/kb --table kb.documents --namespace-prefix kb/
\b
Reads the columns id, content, metadata_json, namespace, document_type, source and created_at;
only the first two must be there. Nothing is written to it. The id is kept as the metadata
aurorakb_id, so the same again changes nothing, and an edited document takes its own place.
Vectors are made anew by this memory's own model. Exits with 1 when a document was left out.""",
)
@click.option("--from", "url", metavar="URL", required=True, help="The database of AuroraKB.")
@click.option("--table", default="documents", show_default=True, help="Its table of documents.")
@click.option(
    "--namespace-prefix", "prefix", default="", metavar="TEXT",
    help="What comes before each namespace.",
)  # fmt: skip
def import_aurorakb(url: str, *, table: str, prefix: str) -> None:
    """Take the documents of an AuroraKB into this memory, wherever it is kept."""
    with open_memory(places_for_index()) as memory:
        try:
            taken = memory.admin.import_aurorakb(url, table=table, prefix=prefix)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(_AURORAKB_KEPT) from None
        finally:
            tell.finish()
    click.echo(
        f"Took in {pluralize(taken.documents, 'document')} "
        f"({taken.added} new, {taken.replaced} changed, {taken.unchanged} as they were)"
    )
    if taken.left_out:
        click.echo(f"Left out {pluralize(taken.left_out, 'document')}", err=True)
        end_in_part()
