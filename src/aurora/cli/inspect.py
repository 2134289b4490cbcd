"""`aur mem get`, `stats`, `repair` and `rebuild-bm25`."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime

import click

from aurora.cli.completers import complete_ids
from aurora.cli.session import open_memory, tell
from aurora.cli.terminal import can_show, print_json, print_stored, print_text, width_of
from aurora.display.records import chunk_record
from aurora.display.reports import (
    BLOCKS,
    HASHES,
    embedder_words,
    human_size,
    moment_words,
    render_index_line,
    render_stats,
)
from aurora.engine import Stats
from aurora.engine.location import shown_name
from aurora.text import printable
from aurora.types import IndexState, Json, Kind, Note

_AS_JSON = "Print one JSON object, for programs: docs/reference/json.md."


@click.command(
    epilog="""\b
Examples:
  aur mem get src/app.py:main
  aur mem get app.py:main           the end of an id, if only one chunk has it
  aur mem get app.py:main --json    with all its fields"""
)
@click.argument("chunk_id", metavar="ID", shell_complete=complete_ids)
@click.option("--json", "as_json", is_flag=True, help=_AS_JSON)
def get(chunk_id: str, *, as_json: bool) -> None:
    """Print one chunk. Its id is FILE:NAME as in the results table. Counts as a use of it."""
    with open_memory() as memory:
        chunk = memory.get(chunk_id)
    if as_json:
        print_json({**chunk_record(chunk), "content": chunk.content})
        return
    lines = f", lines {chunk.lines.start}-{chunk.lines.end}" if chunk.lines else ""
    pieces = chunk.metadata.get("parts", 1)
    piece = f", piece {chunk.metadata.get('part', '?')} of {pieces}" if pieces != 1 else ""
    click.echo(printable(f"{chunk.id} ({chunk.kind}{lines}{piece})"), err=True)
    print_stored(chunk.content)


@click.command(
    epilog="""\b
Examples:
  aur mem stats
  aur mem stats --json | jq .chunks"""
)
@click.option("--json", "as_json", is_flag=True, help=_AS_JSON)
def stats(*, as_json: bool) -> None:
    """Show what the memory holds, where it is, and whether its keyword index is up to date."""
    with open_memory() as memory:
        numbers = memory.stats()
    if as_json:
        print_json(_record(numbers))
        return
    blocks = BLOCKS if can_show(BLOCKS) else HASHES
    width, facts = width_of(sys.stdout, os.environ), _facts(numbers)
    print_text(render_stats(facts, numbers.chunks, numbers.namespaces, width=width, blocks=blocks))


def _facts(stats: Stats) -> dict[str, str]:
    at, embedder = stats.indexed_at, stats.embedder
    size = f" ({human_size(stats.index_bytes)})" if stats.index_bytes else ""
    return {
        "Memory": f"{shown_name(stats.name)} ({human_size(stats.bytes)})",
        "Keyword index": f"{shown_name(stats.index_path)}{size}",
        "  freshness": stats.index.state.description,
        "Last indexed": moment_words(at.astimezone() if at else None, datetime.now(UTC)),
        "Files": f"{stats.files:,}",
        "Embedder": embedder_words(
            embedder.name if embedder else "",
            dimension=embedder.dimension if embedder else 0,
            embedded=stats.embedded,
            chunks=sum(stats.chunks.values()),
        ),
    }


def _record(stats: Stats) -> dict[str, Json]:
    """The object that docs/reference/json.md documents."""
    embedder = stats.embedder
    return {
        "path": str(stats.name),
        "bytes": stats.bytes,
        "generation": stats.generation,
        "indexed_at": stats.indexed_at.isoformat() if stats.indexed_at else None,
        "files": stats.files,
        "chunks": sum(stats.chunks.values()),
        "kinds": {str(kind): stats.chunks.get(kind, 0) for kind in Kind},
        "namespaces": dict(stats.namespaces),
        "index": {
            "path": str(stats.index_path) if stats.index_path else None,
            "bytes": stats.index_bytes,
            "state": str(stats.index.state),
            "current": stats.index.state is IndexState.CURRENT,
        },
        "embedder": embedder
        and {
            "name": embedder.name,
            "dimension": embedder.dimension,
            "fingerprint": embedder.fingerprint,
        },
        "embedded": stats.embedded,
    }


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
        kept = f"The damaged file is kept as {shown_name(reclaimed.kept)}"
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
        click.echo(render_index_line(built, shown_name(memory.admin.index_path)))
