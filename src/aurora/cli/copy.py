"""`aur mem copy`: a whole memory from one place to another."""

from __future__ import annotations

import click

from aurora.cli.session import find_places, open_memory, tell
from aurora.errors import ConfigError
from aurora.text import many
from aurora.types import Note

_HERE = "."
_KEPT = "What was copied so far is kept; the same command goes on from there."


@click.command(
    epilog="""\b
Examples:
  aur mem copy --to postgresql://ada@db.example.org/team     this memory, to a server
  aur mem copy --from postgresql://ada@db.example.org/team   and back into this one
  aur mem copy --from old.db --to postgresql://db/team#api   a file into the schema api
\b
A place is a database file, an address with the schema behind a #, or . for the memory of the
working directory, which is also meant where one of the two is left out. What is there already
is merged: chunks of the same id are replaced, accesses united, and nothing is taken away. A
copy that was stopped, or killed, goes on where it was. Keep passwords in PGPASSWORD or
~/.pgpass: what is typed here can be seen by others on this machine."""
)
@click.option("--from", "source", metavar="PLACE", default=_HERE, help="What to copy.")
@click.option("--to", "target", metavar="PLACE", default=_HERE, help="Where to.")
@click.option("--no-vectors", is_flag=True, help="Leave out what an embedding model made.")
def copy(source: str, target: str, *, no_vectors: bool) -> None:
    """Copy a memory into another: chunks, uses, reasoning, metadata, vectors, states of files.

    It is the memory of one moment; others may go on using it.
    """
    from aurora.engine.copying import copy_between
    from aurora.engine.whereabouts import parse_place, shown_name

    if source == target == _HERE:
        raise ConfigError("A copy needs another place", hint="name one by --from or --to")
    with open_memory(find_places()) as memory:
        places = [
            memory.whereabouts if word == _HERE else parse_place(word) for word in (source, target)
        ]
        try:
            copied = copy_between(*places, vectors=not no_vectors, listen=tell)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(_KEPT) from None
        finally:
            tell.finish()
    sent, there = copied.source, copied.target
    click.echo(
        f"Copied {many(sent.chunks, 'chunk')} ({copied.new:,} new), {many(copied.files, 'file')} "
        f"to {shown_name(places[1].name)}"
    )
    for name, before, after in zip(sent._fields, sent, there, strict=True):
        click.echo(f"  {name:9} {before:>9,} sent, {after:>9,} there now")
    if copied.is_merged and not (no_vectors and there == sent._replace(vectors=there.vectors)):
        tell(Note("It holds more than was copied: the two were merged"))
