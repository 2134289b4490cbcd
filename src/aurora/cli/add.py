"""`aur mem add`: put documents into the memory by hand."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from aurora.cli.completing import complete_files, complete_namespaces
from aurora.cli.session import end_in_part, open_memory, tell
from aurora.cli.terminal import is_terminal
from aurora.engine import Memory
from aurora.errors import LabelError, SourceError
from aurora.indexing.documents import Added
from aurora.indexing.labels import DOCUMENT, Labels
from aurora.sources.document import read_document, read_stream
from aurora.text import many
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
    tell(Note(f"{added.outcome.capitalize()}: {added.title} ({many(added.pieces, 'piece')})"))
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
