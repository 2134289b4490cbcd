"""`aur mem reembed`: from one embedding model to another."""

from __future__ import annotations

import click

from aurora.cli.session import end_in_part, open_memory, tell
from aurora.text import many, printable
from aurora.types import Note

_SHOWN_WARNINGS = 5
_KEPT = "What was made so far is kept; `aur mem reembed` goes on from there."


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
            made = memory.reembed()
        except KeyboardInterrupt:
            raise KeyboardInterrupt(_KEPT) from None
        finally:
            tell.finish()
    counted, name = made.embedded, printable(made.wanted.name)
    for warning in counted.warnings[:_SHOWN_WARNINGS]:
        tell(Note(warning, warning=True))
    if not made.is_done:
        tell(
            Note(f"{counted.failed:,} of {many(counted.wanted, 'chunk')} are still to do. {_KEPT}")
        )
        end_in_part()
    old = f", not {printable(made.before.name)}'s" if made.before not in (None, made.wanted) else ""
    click.echo(f"The vectors are {name}'s{old}: {many(counted.made, 'chunk')} embedded")
    if counted.failed:
        end_in_part()
