"""`aur recall`, `aur mem get`, `history`, `stats`, `repair` and `rebuild-bm25`."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import click

from aurora.cli.completers import complete_ids
from aurora.cli.paths import seen_from, shown_place
from aurora.cli.session import open_memory, tell
from aurora.cli.terminal import can_show, print_json, print_stored, print_text, width_of
from aurora.display.records import chunk_text_record, recall_record
from aurora.display.reports import (
    BLOCKS,
    HASHES,
    embedder_words,
    human_size,
    moment_words,
    render_index_line,
    render_recall,
    render_stats,
)
from aurora.engine import Stats
from aurora.engine.own_lines import as_whole, read_chunk_text
from aurora.engine.remarks import remarks_of
from aurora.indexing.provenance import provenance_of
from aurora.retrieval.lookup import relative_id, relative_path
from aurora.text import pluralize, printable
from aurora.types import (
    AT_START,
    RECALL_BUDGET,
    IndexState,
    Json,
    Moment,
    Note,
    Situation,
)

_AS_JSON = "Print one JSON object, for programs: docs/reference/json.md."


@click.command(
    epilog="""\b
Examples:
  aur recall                                       at the start of a session
  aur recall "the upload of a large video fails"   for a prompt
  aur recall --file src/upload.py                  before an edit
  aur recall --command "npm run build"             before a command
  aur recall --error "$(cat error.txt)"            after a failure
  aur recall --budget 1000 --json
\b
Each line has its tokens before it, and at its end why it is there. At the start, these are where
the last session ended, lessons and decisions about files that changed lately, open plans, recent
decisions, lessons, and the last conversation about the project. Otherwise only what surely fits
is shown, and often nothing."""
)
@click.argument("prompt", nargs=-1)
@click.option("--file", help="What is told before this file is changed.")
@click.option(
    "--command", metavar="LINE",
    help="What is told before this command is run; with --error, the one that failed.",
)  # fmt: skip
@click.option("--error", metavar="TEXT", help="What is told after a command printed this error.")
@click.option(
    "--budget", type=click.IntRange(min=1), default=RECALL_BUDGET, show_default=True,
    help="How many tokens there is room for.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help=_AS_JSON)
def recall(
    prompt: tuple[str, ...],
    file: str | None,
    command: str | None,
    error: str | None,
    budget: int,
    *,
    as_json: bool,
) -> None:
    """Show what an agent is told at the start of a session, with a prompt, before an edit or a
    command, or after a failure.

    It does not count as a use.
    """
    situation = _situation(" ".join(prompt), file or "", command or "", error or "")
    with open_memory() as memory:
        recalled = memory.recall(situation, budget)
    if as_json:
        print_json(recall_record(recalled))
        return
    print_text(render_recall(recalled))


def _situation(prompt: str, file: str, command: str, error: str) -> Situation:
    """The one situation that the options describe."""
    if sum(map(bool, (prompt, file, error or command))) > 1:
        raise click.UsageError("Give a prompt, --file, --command or --error, and not several")
    if error:
        return Situation(Moment.FAILURE, error, command=command)
    if command:
        return Situation(Moment.COMMAND, command=command)
    if file:
        return Situation(Moment.EDIT, file=os.path.abspath(file))  # noqa: PTH100 - keeps links
    return Situation(Moment.PROMPT, prompt) if prompt else AT_START


@click.command(
    epilog="""\b
Examples:
  aur mem get src/app.py:main
  aur mem get src/app.py:12         the smallest chunk around a line
  aur mem get app.py:main           the end of an id, if only one chunk has it
  aur mem get app.py:main --json    with all its fields"""
)
@click.argument("chunk_id", metavar="ID", shell_complete=complete_ids)
@click.option("--json", "as_json", is_flag=True, help=_AS_JSON)
def get(chunk_id: str, *, as_json: bool) -> None:
    """Print one chunk by its id, FILE:NAME or FILE:LINE. Counts as a use of it.

    The lines are those of the file. If it has changed since it was indexed, or is gone, the stored
    text is printed, and a line on stderr says so.
    """
    with open_memory() as opened:
        memory, chunk = opened.locate(chunk_id, here=seen_from(opened.root))
        here = seen_from(memory.root)
        text, note, whole = read_chunk_text(memory, chunk, here=here)
        remarks = remarks_of(memory, chunk)
    chunk = as_whole(chunk, whole)
    if as_json:
        print_json(chunk_text_record(chunk, text, note, remarks))
        return
    lines = f", lines {chunk.lines.start}-{chunk.lines.end}" if chunk.lines else ""
    pieces = chunk.metadata.get("parts", 1)
    piece = f", piece {chunk.metadata.get('part', '?')} of {pieces}" if pieces != 1 else ""
    title = f"{relative_id(chunk, here)} ({chunk.kind}{lines}{piece})"
    click.echo(printable(title), err=True)
    for words in (*filter(None, [provenance_of(chunk).words]), *remarks):
        click.echo(f"  {printable(words)}", err=True)
    if note:
        tell(Note(note))
    print_stored(text)


@click.command(
    epilog="""\b
Examples:
  aur mem history doc-session-store-fb23eadf5406
  aur mem history reasoning-never-retry-uploads-413ce909 --json"""
)
@click.argument("entry_id", metavar="ID", shell_complete=complete_ids)
@click.option("--json", "as_json", is_flag=True, help=_AS_JSON)
def history(entry_id: str, *, as_json: bool) -> None:
    """Print all versions of a document or lesson, newest first, by the ID of any of them."""
    with open_memory() as memory:
        versions = memory.history(entry_id)
    if as_json:
        print_json({"versions": [version.as_record() for version in versions]})
        return
    for number, version in enumerate(versions):
        if number:
            print_text("")
        print_text(printable(f"{version.id}  {version.title}"))
        print_text(printable(f"  {version.state}"))
        if origin := version.provenance.words:
            print_text(printable(f"  {origin}"))
        print_stored("\n".join(f"    {line}" for line in version.text.split("\n")))


@click.command(
    epilog="""\b
Examples:
  aur mem stats
  aur mem stats --json | jq .chunks
  aur mem stats --left-out          files that are not indexed, and why"""
)
@click.option("--left-out", is_flag=True, help="List the files that are left out, and why.")
@click.option("--json", "as_json", is_flag=True, help=_AS_JSON)
def stats(*, left_out: bool, as_json: bool) -> None:
    """Show what the memory holds, where it is, and whether its keyword index is up to date."""
    with open_memory() as memory:
        if left_out:
            _print_left_out(memory.admin.left_out(), seen_from(memory.root), as_json=as_json)
            return
        layers = {name: layer.stats() for name, layer in memory.layers(workspace=True).items()}
        root, label = memory.root, memory.label
        numbers = layers.pop(label, None) or memory.stats()
    if as_json:
        others: dict[str, Json] = {name: other.as_record() for name, other in layers.items()}
        print_json({**numbers.as_record(), "name": label, "others": others})
        return
    blocks = BLOCKS if can_show(BLOCKS) else HASHES
    width, facts = width_of(sys.stdout, os.environ), _facts(numbers, root)
    for name, other in layers.items():
        chunks = pluralize(sum(other.chunks.values()), "chunk")
        facts[name.capitalize()] = f"{shown_place(other.name, root)} ({chunks})"
    print_text(render_stats(facts, numbers.chunks, numbers.namespaces, width=width, blocks=blocks))


def _print_left_out(reasons: Mapping[str, str], here: str, *, as_json: bool) -> None:
    if as_json:
        files: list[Json] = [{"path": path, "reason": reasons[path]} for path in reasons]
        print_json({"left_out": files})
        return
    for path, reason in reasons.items():
        print_text(printable(f"{relative_path(path, here)}: {reason}"))
    if not reasons:
        tell(Note("No file is left out"))


def _facts(stats: Stats, root: Path | None) -> dict[str, str]:
    at, embedder = stats.indexed_at, stats.embedder
    running = stats.run.ready_part if stats.run else ""
    size = f" ({human_size(stats.index_bytes)})" if stats.index_bytes else ""
    return {
        "Memory": f"{shown_place(stats.name, root)} ({human_size(stats.bytes)})",
        "Keyword index": f"{shown_place(stats.index_path, root)}{size}",
        "  freshness": _freshness(stats),
        "Last indexed": f"now: {running}"
        if running
        else moment_words(at.astimezone() if at else None, datetime.now(UTC)),
        "Files": f"{stats.files:,}",
        "Embedder": embedder_words(
            embedder.name if embedder else "",
            dimension=embedder.dimension if embedder else 0,
            embedded=stats.embedded,
            chunks=sum(stats.chunks.values()),
        ),
        **({"  better ones": _improvement(stats)} if stats.is_improvable else {}),
    }


def _improvement(stats: Stats) -> str:
    """How far the better vectors are."""
    if run := stats.improving:
        return f"{run.share} made in the background" if run.total else "being made"
    return "not made yet; `aur mem index` makes them"


def _freshness(stats: Stats) -> str:
    """The state of the keyword index, or how far the memory is behind the files."""
    if stats.index.state is not IndexState.CURRENT:
        return stats.index.state.description
    if stats.changed:
        return f"{pluralize(stats.changed, 'file')} changed since the last index run"
    if stats.changed is None and stats.files:
        return "as the memory; `aur index` looks for changed files"
    return stats.index.state.description


@click.command()
def repair() -> None:
    """Repair a damaged memory: keep everything readable, and rebuild the indexes.

    A lost chunk of a file comes back with the next `aur mem index`. Lost documents and lessons do
    not: their names are printed if they are known, so that you can add them again.
    """
    with open_memory() as memory:
        reclaimed = memory.admin.reclaim()
        problems = ["it could not be opened"] if reclaimed else memory.admin.check()
        gone = [*(reclaimed.lost if reclaimed else ()), *memory.admin.repair()]
    if reclaimed:
        kept = f"The damaged file is kept as {shown_place(reclaimed.kept, memory.root)}"
        tell(Note(f"{kept}: `aur mem forget` does not reach it", warning=True))
    for problem in problems:
        click.echo(f"Was damaged: {problem}")
    for id_ in gone:
        click.echo(f"Taken out: {id_}")
    if problems:
        tell(Note("`aur mem index` reads the files again; other lost chunks cannot be restored"))
    else:
        click.echo("Nothing is damaged; all indexes were rebuilt")


@click.command("rebuild-bm25")
def rebuild_bm25() -> None:
    """Rebuild the keyword index from the stored chunks."""
    with open_memory() as memory:
        count = sum(memory.stats().chunks.values())
        tell(Note(f"Rebuilding BM25 index for {count} chunks..."))
        built = memory.admin.rebuild_bm25()
        click.echo(render_index_line(built, shown_place(memory.admin.index_path, memory.root)))
