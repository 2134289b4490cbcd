"""`aur init`, `aur mem index`, `watch` and `reembed`, and `aur db import-aurorakb`."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import click

from aurora.cli.improving import LARGE_BLOCK, WAIT, leaves_work, start_improving
from aurora.cli.paths import shown_place, shown_problem
from aurora.cli.session import end_in_part, ended_by_signals, find_places, open_memory, tell
from aurora.config.places import Places
from aurora.display.reports import render_index_line, render_index_summary
from aurora.engine import Memory
from aurora.engine.projects import places_to_index, start_project
from aurora.indexing.freshness import Refresh
from aurora.indexing.indexer import NO_LOGS, IndexReport
from aurora.platforms import share_heap
from aurora.sources.git import find_root
from aurora.sources.walk import require_path
from aurora.sources.watch import require_watchfiles
from aurora.text import pluralize, printable
from aurora.types import Kind, Note

logger = logging.getLogger(__name__)

_SHOWN_WARNINGS = 10
_LIST_LEFT_OUT = "aur mem stats --left-out"
_SHOWN_FAILURES = 5
_KEPT = "What was stored so far is kept; `aur mem index` continues."
_REEMBED_KEPT = "What was made so far is kept; `aur mem reembed` continues."
_AURORAKB_KEPT = "What was imported so far is kept; the same command continues."
# Requirement: these exact words.
_NO_KNOWLEDGE = "Note: No conversation logs found. Run SOAR queries to generate knowledge chunks."


@contextmanager
def finishing(on_interrupt: str) -> Iterator[None]:
    """End the progress line after a task; an interrupt carries a sentence about the task."""
    try:
        yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt(on_interrupt) from None
    finally:
        tell.finish()  # before anything goes to stdout


_PATHS = click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
_NO_GIT = click.option("--no-git", is_flag=True, help="Do not read the history of files from git.")


def _targets(paths: tuple[Path, ...]) -> tuple[Path, ...]:
    """The given paths, which must exist; by default the working directory."""
    for path in paths:
        require_path(path)
    return paths or (Path(),)


@click.command(
    epilog="""\b
Examples:
  aur mem index           everything here
  aur mem index src docs  only these
  aur mem index --wait    end when the better vectors are made, too
  aur mem index --quick   leave the better vectors to the next run
  aur mem index --no-git  without the commits behind each chunk
  aur mem index --force   every file again, and all of git's history
\b
Only what changed since the last time is read. What git ignores is left out; so are,
counted in the report, what an .auroraignore names, vendored, generated and minified
files, binaries, links, very large files and files that look like secrets."""
)
@_PATHS
@_NO_GIT
@click.option("--force", is_flag=True, help="Read every file, also those that look unchanged.")
@click.option("--quick", is_flag=True, help="Leave better vectors to the next run.")
@WAIT
def index(
    paths: tuple[Path, ...], *, no_git: bool, force: bool, quick: bool, wait: bool | None
) -> None:
    """Read files and folders into the memory (default: the working directory).

    Inside a git repository the first run starts a memory for the project; elsewhere your own memory
    is used. Your conversation logs are read, too.

    Of many new chunks, quick vectors are made first. On a terminal the command ends when
    everything can be found; the better vectors follow in the background.

    Exits with 0 on success, with 1 when some files could not be read, and with 2 when the run
    failed.
    """
    targets = _targets(paths)
    with open_memory(places_for_index()) as memory:
        later = not quick and leaves_work(wait=wait)
        report = index_into(memory, targets, git=not no_git, force=force, quick=quick or later)
        if later:
            start_improving(memory)
    if report.is_partial:
        end_in_part()


def index_into(
    memory: Memory,
    targets: Sequence[Path],
    *,
    git: bool = True,
    force: bool = False,
    quick: bool = False,
    talk: bool = False,
) -> IndexReport:
    """Index files and print a summary, on stderr if it is only `talk`."""
    share_heap(LARGE_BLOCK)
    with finishing(_KEPT):
        report = memory.index(*targets, git=git, force=force, quick=quick)
    _print_problems(report, memory.root)
    stats, chunks = memory.stats(), Counter[Kind]()
    for layer in memory.layers().values():  # the logs are in the person's memory
        chunks += Counter(layer.stats().chunks)
    saved_to = shown_place(stats.index_path, memory.root) if memory.admin.index_saved else ""
    click.echo(
        render_index_summary(
            files=report.scanned,
            chunks=chunks,
            warnings=len(report.warnings),
            errors=len(report.errors),
            index=render_index_line(sum(stats.chunks.values()), saved_to),
        ),
        err=talk,
    )
    wanted, failed = report.embedded.wanted, report.embedded.failed
    if failed:
        tell(Note(f"Indexed {wanted - failed}/{wanted} chunks ({failed} failed)"))
    misses_logs = any(text.startswith(NO_LOGS) for text in report.warnings)  # once
    if misses_logs and not chunks.get(Kind.KNOWLEDGE):
        tell(Note(_NO_KNOWLEDGE))
    return report


def places_for_index() -> Places:
    """The places to index into: in a git repository the project's own, created if need be."""
    return places_to_index(find_places(), Path.cwd())


def _print_problems(report: IndexReport, root: Path | None) -> None:
    """Print the files that were left out, errors and warnings on stderr."""
    if report.skipped:
        counts = Counter(report.skipped)
        reasons = ", ".join(f"{count} {reason}" for reason, count in counts.most_common())
        tell(Note(f"Left out {counts.total()} files: {reasons} (`{_LIST_LEFT_OUT}`)"))
    for text in report.errors:
        click.echo(f"Error: {printable(shown_problem(text, root))}", err=True)
    for text in report.warnings[:_SHOWN_WARNINGS]:
        tell(Note(shown_problem(text, root), warning=True))
    for text in report.warnings[_SHOWN_WARNINGS:]:
        logger.warning("%s", text)
    if len(report.warnings) > _SHOWN_WARNINGS:
        tell(Note(f"{len(report.warnings) - _SHOWN_WARNINGS} more warnings are in the log file"))


@click.command(
    epilog="""\b
Examples:
  aur mem watch           everything here, until Ctrl-C
  aur mem watch src docs  only these
  aur mem watch --no-git  without the commits behind each chunk
\b
Every run that changed the memory prints one line on stdout; a commit is a change, too.
Needs the extra watch: `aur doctor` shows how to add it."""
)
@_PATHS
@_NO_GIT
def watch(paths: tuple[Path, ...], *, no_git: bool) -> None:
    """Index files and folders (default: the working directory), and again whenever they change.

    The memory is the one that `aur mem index` uses. Your conversation logs are watched, too. Files
    that git or an .auroraignore ignores, and temporary files of editors, start no run.

    Exits with 0 when stopped by Ctrl-C or SIGTERM, and with 2 when nothing can be watched.
    """
    require_watchfiles()
    targets = _targets(paths)
    with ended_by_signals() as stop, open_memory(places_for_index()) as memory:
        watching = memory.watch(*targets, git=not no_git, stop=stop)
        last = next(watching)
        _print_problems(last.report, memory.root)
        _print_refresh(last)
        tell(Note(f"Watching {', '.join(map(str, targets))}"))
        for refresh in watching:
            _print_problems(_new_problems(refresh.report, last.report), memory.root)
            if refresh.changed:
                _print_refresh(refresh)
            last = refresh


def _print_refresh(refresh: Refresh) -> None:
    report = refresh.report
    click.echo(
        f"{refresh.at.astimezone():%Y-%m-%d %H:%M:%S}  read {report.parsed}, removed "
        f"{report.removed}, left out {sum(report.skipped.values())}, histories {report.histories}, "
        f"{refresh.seconds:.2f} s"
    )


def _new_problems(report: IndexReport, before: IndexReport) -> IndexReport:
    """The report without problems that the run before had, too."""
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
    folder = shown_place(places.memory_folder, places.root)
    click.echo(f"The memory of this project is in {folder}")
    click.echo("Next: aur mem index .", err=True)


@click.command(
    epilog="""\b
Examples:
  aur models pull all-minilm-l6-v2
  aur config set embedding.provider onnx
  aur mem reembed
\b
Searches use the old vectors until all the new ones are there. A run that was stopped,
or killed, continues where it was."""
)
def reembed() -> None:
    """Rebuild the vectors with the provider and model of the settings.

    Exits with 1 when some chunks could not be embedded, or when the provider went away.
    """
    with open_memory() as memory, finishing(_REEMBED_KEPT):
        result, root = memory.admin.reembed(), memory.root
    counts, name = result.embedded, printable(result.wanted.name)
    for warning in counts.warnings[:_SHOWN_FAILURES]:
        tell(Note(shown_problem(warning, root), warning=True))
    if not result.is_done:
        left = f"{counts.failed:,} of {pluralize(counts.wanted, 'chunk')} are still to do."
        tell(Note(f"{left} {_REEMBED_KEPT}"))
        end_in_part()
    before = result.before.name if result.before else result.wanted.name
    old = f", not {printable(before)}'s" if before != result.wanted.name else ""
    click.echo(f"The vectors are {name}'s{old}: {pluralize(counts.made, 'chunk')} embedded")
    if counts.failed:
        end_in_part()


@click.command(
    "import-aurorakb",
    epilog="""\b
Examples:
  aur db import-aurorakb --from postgresql://ada@db.example.org/aurorakb
  aur db import-aurorakb --from postgresql://db/kb --table kb.documents --namespace-prefix kb/
\b
Reads the columns id, content, metadata_json, namespace, document_type, source and created_at;
only the first two are required. Nothing is written to it. The id is kept as the metadata
aurorakb_id, so a second import changes nothing, and an edited document is replaced. Vectors are
computed by this memory's own model. Exits with 1 when a document was left out.""",
)
@click.option("--from", "url", metavar="URL", required=True, help="The database of AuroraKB.")
@click.option("--table", default="documents", show_default=True, help="Its table of documents.")
@click.option(
    "--namespace-prefix", "prefix", default="", metavar="TEXT",
    help="Prefix of each namespace.",
)  # fmt: skip
def import_aurorakb(url: str, *, table: str, prefix: str) -> None:
    """Import the documents of an AuroraKB into this memory."""
    with open_memory(places_for_index()) as memory, finishing(_AURORAKB_KEPT):
        imported = memory.admin.import_aurorakb(url, table=table, prefix=prefix)
    click.echo(
        f"Imported {pluralize(imported.documents, 'document')} "
        f"({imported.added} new, {imported.replaced} changed, {imported.unchanged} unchanged)"
    )
    if imported.left_out:
        click.echo(f"Left out {pluralize(imported.left_out, 'document')}", err=True)
        end_in_part()
