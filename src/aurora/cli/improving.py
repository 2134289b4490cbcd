"""`aur mem improve`, and the same in a process of its own that outlives the command."""

from __future__ import annotations

import os
import sys
from itertools import chain

import click

from aurora.cli.session import end_in_part, ended_by_signals, open_memory, tell
from aurora.cli.terminal import is_terminal
from aurora.engine import Memory
from aurora.errors import StoreBusyError
from aurora.platforms import share_heap, start_in_background, yield_to_others
from aurora.text import pluralize
from aurora.types import Note

LARGE_BLOCK = 1 << 20  # bytes that are returned to the system when an array is freed
WAIT = click.option(
    "--wait/--no-wait",
    default=None,
    help="Whether to end only when the better vectors are made, too; by default, on a terminal no.",
)


def leaves_work(*, wait: bool | None) -> bool:
    """Whether a command leaves better vectors to a process in the background.

    By default only where a person waits: a script finds all work done, and no process is left.
    """
    return not wait if wait is not None else is_terminal(sys.stderr) and not os.environ.get("CI")


def _own(memory: Memory) -> list[Memory]:
    """The memory of the working directory, and the person's if there is one."""
    personal = memory.personal
    return [memory, personal] if personal and personal.exists else [memory]


def start_improving(memory: Memory) -> None:
    """Have better vectors made in the background, if there are some to make."""
    if not any(each.admin.is_improvable for each in _own(memory)):
        return
    flags = click.get_current_context().meta["aurora.flags"]
    options = [word for flag in flags for word in ("-c", flag)]
    # -P: no module comes from the working directory, which may be a stranger's clone.
    command = (sys.executable, "-P", "-m", "aurora", *options, "mem", "improve", "--background")
    number = start_in_background(command)
    tell(
        Note(
            "Everything can be found now. Better vectors follow in the background "
            f"(process {number}); `aur mem stats` shows how far they are"
        )
    )


@click.command(
    epilog="""\b
Examples:
  aur mem improve
\b
Searches use the vectors before until all better ones are there. Ctrl-C keeps what was made."""
)
@click.option("--background", is_flag=True, hidden=True)
def improve(*, background: bool) -> None:
    """Make the better vectors that a quick run left to later.

    Exits with 1 when some chunks could not be embedded.
    """
    if background:
        yield_to_others()
    share_heap(LARGE_BLOCK)
    with ended_by_signals(), open_memory(silent=background) as memory:
        try:
            embedded = [each.admin.improve(waits=not background) for each in _own(memory)]
        except StoreBusyError:
            if background:  # another process makes them
                return
            raise
        finally:
            tell.finish()
        for text in chain.from_iterable(each.warnings for each in embedded):
            tell(Note(text, warning=True))
        click.echo(f"{pluralize(sum(each.made for each in embedded), 'better vector')} made")
        if any(each.failed for each in embedded):
            end_in_part()
