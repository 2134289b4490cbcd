"""`aur mem get`, `stats` and `rebuild-bm25`: look into the memory and mend its index."""

from __future__ import annotations

import click

from aurora.cli.session import open_memory, tell
from aurora.config.places import shown
from aurora.display.summary import human_size, render_index_line, render_stats
from aurora.types import Note


@click.command(
    epilog="""\b
Examples:
  aur mem get src/app.py:main
  aur mem get app.py:main           an ending is enough while only one chunk has it"""
)
@click.argument("chunk_id", metavar="ID")
def get(chunk_id: str) -> None:
    """Print one chunk. Its id is FILE:NAME as in the results table. Counts as a use of it."""
    with open_memory() as memory:
        chunk = memory.get(chunk_id)
    lines = f", lines {chunk.lines.start}-{chunk.lines.end}" if chunk.lines else ""
    pieces = chunk.metadata.get("parts", 1)
    piece = f", piece {chunk.metadata.get('part', '?')} of {pieces}" if pieces != 1 else ""
    click.echo(f"{chunk.id} ({chunk.kind}{lines}{piece})", err=True)
    click.echo(chunk.content)


@click.command()
def stats() -> None:
    """Tell what the memory holds and where it is."""
    with open_memory() as memory:
        found = memory.stats()
    facts = {
        "Memory": f"{shown(found.path)} ({human_size(found.bytes)})",
        "BM25 index": f"{shown(found.index_path)} ({human_size(found.index_bytes)})",
        "Files": str(found.files),
    }
    click.echo(render_stats(facts, found.chunks))


@click.command("rebuild-bm25")
def rebuild_bm25() -> None:
    """Build the keyword index anew from the stored chunks."""
    with open_memory() as memory:
        count = sum(memory.stats().chunks.values())
        tell(Note(f"Rebuilding BM25 index for {count} chunks..."))
        built = memory.rebuild_bm25()
        click.echo(render_index_line(built, shown(memory.index_path)))
