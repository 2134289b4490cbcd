"""`aur mem get`, `stats`, `repair` and `rebuild-bm25`: look into the memory and mend it."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime

import click

from aurora.cli.completion import complete_ids
from aurora.cli.session import open_memory, tell
from aurora.cli.terminal import can_show, print_json, print_stored, print_text, width_of
from aurora.display.records import chunk_record
from aurora.display.reports import human_size, render_index_line
from aurora.engine import Stats
from aurora.engine.location import shown_name
from aurora.text import printable
from aurora.types import IndexState, Json, Kind, Note

_AS_JSON = "Print one JSON object, for programs: docs/reference/json.md."


@click.command(
    epilog="""\b
Examples:
  aur mem get src/app.py:main
  aur mem get app.py:main           an ending is enough while only one chunk has it
  aur mem get app.py:main --json    with all that is known of it"""
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
    """Tell what the memory holds, where it is, and whether its keyword index is up to date."""
    with open_memory() as memory:
        found = memory.stats()
    if as_json:
        print_json(_record(found))
        return
    from aurora.display.reports import BLOCKS, HASHES, render_stats

    blocks = BLOCKS if can_show(BLOCKS) else HASHES
    width = width_of(sys.stdout, os.environ)
    print_text(
        render_stats(_facts(found), found.chunks, found.namespaces, width=width, blocks=blocks)
    )


def _facts(found: Stats) -> dict[str, str]:
    from aurora.display.reports import embedder_words, moment_words

    now, at, made_by = datetime.now(UTC), found.indexed_at, found.embedder
    size = f" ({human_size(found.index_bytes)})" if found.index_bytes else ""
    return {
        "Memory": f"{shown_name(found.name)} ({human_size(found.bytes)})",
        "Keyword index": f"{shown_name(found.index_path)}{size}",
        "  freshness": found.index.state.told,
        "Last indexed": moment_words(at.astimezone() if at else None, now),
        "Files": f"{found.files:,}",
        "Embedder": embedder_words(
            made_by.name if made_by else "",
            dimension=made_by.dimension if made_by else 0,
            embedded=found.embedded,
            chunks=sum(found.chunks.values()),
        ),
    }


def _record(found: Stats) -> dict[str, Json]:
    """What docs/reference/json.md promises."""
    made_by = found.embedder
    return {
        "path": str(found.name),
        "bytes": found.bytes,
        "generation": found.generation,
        "indexed_at": found.indexed_at.isoformat() if found.indexed_at else None,
        "files": found.files,
        "chunks": sum(found.chunks.values()),
        "kinds": {str(kind): found.chunks.get(kind, 0) for kind in Kind},
        "namespaces": dict(found.namespaces),
        "index": {
            "path": str(found.index_path) if found.index_path else None,
            "bytes": found.index_bytes,
            "state": str(found.index.state),
            "current": found.index.state is IndexState.CURRENT,
        },
        "embedder": None
        if made_by is None
        else {
            "name": made_by.name,
            "dimension": made_by.dimension,
            "fingerprint": made_by.fingerprint,
        },
        "embedded": found.embedded,
    }


@click.command()
def repair() -> None:
    """Make a damaged memory whole again: all that can be read is kept, and indexes are made anew.

    A chunk of a file comes back with the next `aur mem index`. Documents and lessons that cannot
    be read do not: they are named, if their names are known, to be added again.
    """
    with open_memory() as memory:
        reclaimed = memory.admin.reclaim()
        problems = ["it could not be opened"] if reclaimed else memory.admin.check()
        gone = [*(reclaimed.lost if reclaimed else ()), *memory.admin.repair()]
    if reclaimed:
        kept = f"The file as it was is {shown_name(reclaimed.kept)}"
        tell(Note(f"{kept}: `aur mem forget` does not reach it", warning=True))
    for problem in problems:
        click.echo(f"Was damaged: {problem}")
    for id_ in gone:
        click.echo(f"Taken out: {id_}")
    if problems:
        tell(Note("`aur mem index` reads the files again; what is gone of the rest is lost"))
    else:
        click.echo("Nothing is damaged; all indexes were made anew")


@click.command("rebuild-bm25")
def rebuild_bm25() -> None:
    """Build the keyword index anew from the stored chunks."""
    with open_memory() as memory:
        count = sum(memory.stats().chunks.values())
        tell(Note(f"Rebuilding BM25 index for {count} chunks..."))
        built = memory.admin.rebuild_bm25()
        click.echo(render_index_line(built, shown_name(memory.admin.index_path)))
