"""`aur mem learn` and `forget`: put into the memory by hand, and take out of it.

`aur mem add`: put documents into the memory by hand.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from aurora.cli.completion import complete_files, complete_forgettable, complete_namespaces
from aurora.cli.session import end_in_part, open_memory, tell
from aurora.cli.terminal import is_terminal
from aurora.engine import Memory
from aurora.errors import ChunkNotFoundError, LabelError, QueryError, SourceError
from aurora.indexing.documents import DOCUMENT, Added, Labels
from aurora.sources.reading import read_document, read_stream
from aurora.text import pluralize, printable
from aurora.types import Note

_STDIN = "-"


@click.command(
    epilog="""\b
Examples:
  aur mem add docs/spec.md --namespace billing
  aur mem add plan.md notes.txt --document-type decision --meta status=agreed
  git log -5 | aur mem add - --source "git log"
\b
A file added again takes the place of what it was; the same text is kept once. Aurora does
not look at the file again: `aur mem index` is for what should follow its files."""
)
@click.argument("files", nargs=-1, required=True, metavar="FILE...", shell_complete=complete_files)
@click.option(
    "--namespace", default="", help="A name that a group of documents shares.",
    shell_complete=complete_namespaces,
)  # fmt: skip
@click.option("--document-type", default=DOCUMENT, show_default=True, help="What kind it is.")
@click.option("--source", default="", help="Where it comes from; by default the file's path.")
@click.option(
    "--meta", multiple=True, metavar="KEY=VALUE",
    help="Anything else to know of it; may be repeated. Of one key, the last value counts.",
)  # fmt: skip
def add(
    files: tuple[str, ...], namespace: str, document_type: str, source: str, meta: tuple[str, ...]
) -> None:
    """Remember documents: files, or - for text from standard input. Prints their ids."""
    labels = Labels(namespace, document_type, source, dict(map(_pair, meta)))
    if files.count(_STDIN) > 1:
        raise click.UsageError("Standard input can be read only once: name - one time.")
    added, refused = [], []
    with open_memory() as memory:
        for file in files:
            try:
                added.append(_add(memory, file, labels))
            except SourceError as exc:
                refused.append(exc)
                if len(files) > 1:
                    tell(Note(f"{exc.message} ({exc.hint})", warning=True))
    for document in added:
        click.echo(document.id)
    if refused:
        _end(refused, tried=len(files))


def _end(refused: list[SourceError], *, tried: int) -> None:
    if tried == 1:
        raise refused[0]
    if len(refused) < tried:
        end_in_part()
    raise SourceError(f"None of the {tried} documents could be added", hint="the warnings say why")


def _add(memory: Memory, file: str, labels: Labels) -> Added:
    path = None if file == _STDIN else Path(file)
    added = memory.add(
        _read_stdin() if path is None else read_document(path),
        path=path,
        namespace=labels.namespace,
        document_type=labels.document_type,
        source=labels.source,
        metadata=labels.metadata,
    )
    tell(Note(f"{added.outcome.capitalize()}: {added.title} ({pluralize(added.pieces, 'piece')})"))
    return added


def _read_stdin() -> str:
    if sys.stdin is None:
        raise SourceError("Standard input is closed", hint="name a file, or pipe a text")
    if is_terminal(sys.stdin):
        tell(Note("Reading the text from the terminal: end it with Ctrl-D on a line of its own"))
    try:
        return read_stream(sys.stdin.buffer, "Standard input")
    except OSError as exc:
        raise SourceError(
            f"Standard input cannot be read: {exc.strerror}", hint="name a file, or pipe a text"
        ) from exc


def _pair(written: str) -> tuple[str, str]:
    key, equals, value = written.partition("=")
    if not equals:
        raise LabelError(
            f"--meta {written!r} says nothing", hint="write KEY=VALUE, such as --meta status=agreed"
        )
    return key, value


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
        found = sorted({id_ for word in what for id_ in memory.admin.find_to_forget(word)})
        if not found:
            raise ChunkNotFoundError(
                f"Nothing is remembered of {', '.join(what)}",
                hint="name an id, a file, a folder or namespace:NAME",
            )
        if not yes and not _agreed(found):
            tell(Note("Nothing was forgotten."))
            end_in_part()
        gone = memory.forget(found)
        click.echo(f"Forgot {pluralize(gone, 'chunk')}")


def _agreed(found: list[str]) -> bool:
    for id_ in found[:_SHOWN]:
        click.echo(f"  {printable(id_)}", err=True)
    if len(found) > _SHOWN:
        click.echo(f"  … and {len(found) - _SHOWN} more", err=True)
    chunks = pluralize(len(found), "chunk")
    if not is_terminal(sys.stdin):
        raise QueryError(f"This would forget {chunks}", hint="say so with --yes")
    return click.confirm(f"Forget {chunks} for good?", err=True)
