"""`aur mem export`, `import` and `copy`: a whole memory to a file, a pipe or another place."""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import click

from aurora.cli.index import finishing, places_for_index
from aurora.cli.session import find_places, open_memory, tell
from aurora.cli.terminal import is_terminal
from aurora.engine.admin import copy_between
from aurora.engine.location import parse_place, shown_name
from aurora.errors import ConfigError, SourceError
from aurora.files import replacing
from aurora.indexing.import_export import Export, Writer
from aurora.text import pluralize
from aurora.types import Note

_PIPE = "-"
_HERE = "."
_KEPT = "What was copied so far is kept; the same command continues."


@click.command(
    epilog="""\b
Examples:
  aur mem export backup.jsonl
  aur mem export | gzip > backup.jsonl.gz
  aur mem export | ssh other 'cd project && aur mem import -'
\b
A line of JSON for every file and every chunk: docs/reference/export.md has the format."""
)
@click.argument("file", default=_PIPE)
@click.option("--force", is_flag=True, help="Replace the file if there is one.")
def export(file: str, *, force: bool) -> None:
    """Write the whole memory to FILE, or to standard output, for `aur mem import`.

    The export is a snapshot; the memory can be used meanwhile. Only you can read the file, because
    it holds the text of everything that was indexed.
    """
    with open_memory() as memory:
        with _standard_output() if file == _PIPE else _new_file(Path(file), force=force) as stream:
            counts = memory.export(stream)
        tell.finish()
        chunks, files = pluralize(counts.chunks, "chunk"), pluralize(counts.files, "file")
        tell(Note(f"Exported {chunks}, {files}"))


@click.command(
    "import",
    epilog="""\b
Examples:
  aur mem import backup.jsonl
  zcat backup.jsonl.gz | aur mem import -
\b
Existing chunks of the same id are replaced, and none is removed. Importing the same file
again changes nothing.""",
)
@click.argument("file")
@click.option("--no-vectors", is_flag=True, help="Leave out the vectors.")
def import_(file: str, *, no_vectors: bool) -> None:
    """Import what `aur mem export` wrote to FILE, or - for standard input: all of it or nothing.

    Inside a git repository without a memory one is started, as by `aur mem index`.
    """
    with finishing("Nothing was imported."), _readable(file) as stream:
        start = stream.tell()
        _require_export(stream)
        stream.seek(start)
        with open_memory(places_for_index()) as memory:
            imported = memory.admin.import_(stream, vectors=not no_vectors)
    chunks, files = pluralize(imported.chunks, "chunk"), pluralize(imported.files, "file")
    tell(Note(f"Imported {chunks} ({imported.new} new), {files}"))


def _require_export(stream: BinaryIO) -> None:
    """Check the whole file before a new memory is started for it: an invalid file must not leave
    an empty project memory, which would hide the user's own."""
    export, places = Export(stream), find_places()
    if not (places.memory_folder / "memory.db").exists():
        deque(export, maxlen=0)  # read up to the last line


@contextmanager
def _standard_output() -> Iterator[Writer]:
    if sys.stdout is None:
        raise SourceError("Standard output is closed", hint="name a file")
    # A separate buffer: Python does not flush it again at its end.
    with _writing("Standard output"), open(sys.stdout.fileno(), "wb", closefd=False) as stream:
        yield _Lines(stream) if is_terminal(sys.stdout) else stream


class _Lines:
    """Standard output on a terminal: the progress line is removed before each write."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def write(self, line: bytes) -> int:
        tell.finish()
        return self._stream.write(line)


@contextmanager
def _new_file(path: Path, *, force: bool) -> Iterator[Writer]:
    """Write a file that appears when it is complete."""
    target = path.resolve()
    with _writing(str(path)):
        if target.exists() and not target.is_file():
            raise SourceError(f"{path} is not a regular file", hint="leave it out, and use a pipe")
        if target.exists() and not force:
            raise SourceError(f"{path} already exists", hint="replace it with --force")
        with replacing(target, durable=True) as stream:
            yield stream


@contextmanager
def _writing(name: str) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise  # the reader has closed the pipe, which is not an error
    except OSError as exc:
        raise SourceError(
            f"{name} cannot be written: {exc.strerror}",
            hint="check the folder and the space left on it",
        ) from exc


@contextmanager
def _readable(file: str) -> Iterator[BinaryIO]:
    """A seekable stream.

    Input from a pipe is collected first: an import is one transaction, and a slow pipe must not
    keep other writers waiting.
    """
    try:
        with _opened(file) as stream:
            if stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                yield stream
                return
            with tempfile.TemporaryFile() as collected:
                shutil.copyfileobj(stream, collected)
                collected.seek(0)
                yield cast("BinaryIO", collected)
    except FileNotFoundError as exc:
        hint = "name a file that `aur mem export` wrote, or - for standard input"
        raise SourceError(f"There is no file {file}", hint=hint) from exc
    except OSError as exc:
        hint = "name a file" if isinstance(exc, IsADirectoryError) else "check its owner and mode"
        raise SourceError(f"{file} cannot be read: {exc.strerror}", hint=hint) from exc


@contextmanager
def _opened(file: str) -> Iterator[BinaryIO]:
    if file != _PIPE:
        with Path(file).open("rb") as stream:
            yield stream
    elif sys.stdin is None:
        raise SourceError("Standard input is closed", hint="name a file, or pipe an export")
    else:
        if is_terminal(sys.stdin):
            tell(Note("Reading an export from the terminal: it ends with Ctrl-D"))
        yield sys.stdin.buffer


@click.command(
    epilog="""\b
Examples:
  aur mem copy --to postgresql://ada@db.example.org/team     this memory, to a server
  aur mem copy --from postgresql://ada@db.example.org/team   and back into this one
  aur mem copy --from old.db --to postgresql://db/team#api   a file into the schema api
\b
A place is a database file, an address with the schema behind a #, or . for the memory of the
working directory, which is the default of both. A copy merges: chunks of the same id are
replaced, accesses united, and nothing is removed. A copy that was stopped, or killed,
continues where it was. Keep passwords in PGPASSWORD or ~/.pgpass: other users of this machine
can see the arguments of commands."""
)
@click.option("--from", "source", metavar="PLACE", default=_HERE, help="What to copy.")
@click.option("--to", "target", metavar="PLACE", default=_HERE, help="Where to.")
@click.option("--no-vectors", is_flag=True, help="Leave out the vectors.")
def copy(source: str, target: str, *, no_vectors: bool) -> None:
    """Copy a memory into another: chunks, uses, reasoning, metadata, vectors, states of files.

    The copy is a snapshot; the memory can be used meanwhile.
    """
    if source == target == _HERE:
        raise ConfigError("A copy needs another place", hint="name one by --from or --to")
    with open_memory(find_places()) as memory:
        places = [
            memory.admin.location if word == _HERE else parse_place(word)
            for word in (source, target)
        ]
        with finishing(_KEPT):
            copied = copy_between(*places, vectors=not no_vectors, listen=tell)
    sent, there = copied.source, copied.target
    click.echo(
        f"Copied {pluralize(sent.chunks, 'chunk')} ({copied.new:,} new), "
        f"{pluralize(copied.files, 'file')} to {shown_name(places[1].name)}"
    )
    for name, before, after in zip(sent._fields, sent, there, strict=True):
        click.echo(f"  {name:9} {before:>9,} sent, {after:>9,} there now")
    if copied.is_merged and not (no_vectors and there == sent._replace(vectors=there.vectors)):
        tell(Note("The target holds more than was copied: the two memories are merged"))
