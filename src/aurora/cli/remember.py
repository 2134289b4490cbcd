"""`aur mem learn` and `forget`: put into the memory by hand, and take out of it."""

from __future__ import annotations

import sys

import click

from aurora.cli.completing import complete_forgettable
from aurora.cli.session import end_in_part, open_memory, tell
from aurora.cli.terminal import is_terminal
from aurora.errors import ChunkNotFoundError, QueryError
from aurora.text import many, printable
from aurora.types import Note

_SHOWN = 10  # ids named before a question is asked


@click.command(
    epilog="""\b
Examples:
  aur mem learn "retry the upload with backoff" --type recovery --score 0.9
  aur mem learn "split the migration in two" --context "users table, 40 M rows"
\b
A pattern learned again counts as used again. One below 0.5 is kept, but not found."""
)
@click.argument("text", nargs=-1, required=True)
@click.option("--type", "pattern_type", default="pattern", show_default=True, help="What kind.")
@click.option(
    "--score", type=click.FloatRange(0.0, 1.0), default=1.0, show_default=True,
    help="How well it worked, from 0 to 1.",
)  # fmt: skip
@click.option("--context", default="", help="Where and when it applies.")
def learn(text: tuple[str, ...], pattern_type: str, score: float, context: str) -> None:
    """Remember a pattern of reasoning: what was done, and how well it worked."""
    with open_memory() as memory:
        chunk = memory.learn(
            " ".join(text), pattern_type=pattern_type, score=score, context=context
        )
    click.echo(chunk.id)


@click.command(
    epilog="""\b
Examples:
  aur mem forget src/old.py:helper     one chunk
  aur mem forget src/generated         all files below a folder
  aur mem forget namespace:trial       all documents of a namespace
\b
A file that is still there comes back with the next index: name it in .auroraignore."""
)
@click.argument("what", nargs=-1, required=True, shell_complete=complete_forgettable)
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
def forget(what: tuple[str, ...], *, yes: bool) -> None:
    """Remove chunks by id, by file or folder, or by namespace:NAME."""
    with open_memory() as memory:
        found = sorted({id_ for word in what for id_ in memory.find_to_forget(word)})
        if not found:
            raise ChunkNotFoundError(
                f"Nothing is remembered of {', '.join(what)}",
                hint="name an id, a file, a folder or namespace:NAME",
            )
        if not yes and not _agreed(found):
            tell(Note("Nothing was forgotten."))
            end_in_part()
        gone = memory.forget(found)
        click.echo(f"Forgot {many(gone, 'chunk')}")


def _agreed(found: list[str]) -> bool:
    for id_ in found[:_SHOWN]:
        click.echo(f"  {printable(id_)}", err=True)
    if len(found) > _SHOWN:
        click.echo(f"  … and {len(found) - _SHOWN} more", err=True)
    chunks = many(len(found), "chunk")
    if not is_terminal(sys.stdin):
        raise QueryError(f"This would forget {chunks}", hint="say so with --yes")
    return click.confirm(f"Forget {chunks} for good?", err=True)
