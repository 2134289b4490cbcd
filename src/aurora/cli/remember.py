"""`aur mem add`, `learn` and `forget`: change the memory by hand."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from aurora.cli.completers import complete_files, complete_forgettable, complete_namespaces
from aurora.cli.paths import from_root, seen_from
from aurora.cli.session import confirm, end_in_part, open_memory, tell
from aurora.cli.terminal import is_terminal
from aurora.engine import Memory
from aurora.errors import ChunkNotFoundError, LabelError, QueryError, SourceError
from aurora.indexing.documents import Added, Labels, SimilarEntry
from aurora.indexing.replacing import DOCUMENT
from aurora.retrieval.lookup import relative_id
from aurora.sources.reading import read_document, read_stream
from aurora.text import pluralize, printable
from aurora.types import Note

_PRIVATE = click.option(
    "--private", is_flag=True, help="Keep it in your own memory, on this machine."
)
_REPLACES = click.option(
    "--replaces", default="", metavar="ID",
    help="The document or lesson that this one replaces; it is kept, and not found.",
)  # fmt: skip
_ABOUT = click.option(
    "--about", multiple=True, metavar="PATH", shell_complete=complete_files,
    help="A file of the project that it is about; may be repeated. By default, those it names.",
)  # fmt: skip
_AGENT = click.option("--agent", default="", help="The agent that writes it; by default, you do.")
_MODEL = click.option("--model", default="", help="The model of the agent.")
_STDIN = "-"
_SHOWN = 10  # ids listed before the question


@click.command(
    epilog="""\b
Examples:
  aur mem add docs/spec.md --namespace billing
  aur mem add plan.md notes.txt --document-type decision --meta status=agreed
  git log -5 | aur mem add - --source "git log"
  aur mem add decision.md --replaces doc-session-store-fb23eadf5406
\b
A file that is added again replaces its older version; the same text is kept once. A text
from standard input replaces an earlier one with the same heading: `aur mem history` shows
both. Aurora does not read the file again: use `aur mem index` for files that change."""
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
    help="More about it; may be repeated. Of one key, the last value counts.",
)  # fmt: skip
@_ABOUT
@_AGENT
@_MODEL
@_REPLACES
@_PRIVATE
def add(files: tuple[str, ...], *, meta: tuple[str, ...], **given: Any) -> None:
    """Remember documents: files, or - for text from standard input. Prints their ids.

    Inside a git repository they belong to the project, elsewhere to you.
    """
    metadata = dict(map(_pair, meta))
    labels = Labels(given["namespace"], given["document_type"], given["source"], metadata)
    written = {name: given[name] for name in ("agent", "model", "replaces", "private")}
    written["files"] = _in_full(given["about"])
    if len(files) > 1 and given["replaces"]:
        raise click.UsageError("--replaces is for one document: name one file.")
    if files.count(_STDIN) > 1:
        raise click.UsageError("Standard input can be read only once: name - one time.")
    added = []
    with open_memory() as memory:
        for file in files:
            try:
                added.append(_add(memory, file, labels, **written))
            except SourceError as exc:
                if len(files) == 1:
                    raise
                tell(Note(f"{exc.message} ({exc.hint})", warning=True))
    for document in added:
        click.echo(document.id)
    if not added:
        raise SourceError(
            f"None of the {len(files)} documents could be added", hint="the warnings say why"
        )
    if len(added) < len(files):
        end_in_part()


def _add(memory: Memory, file: str, labels: Labels, **written: Any) -> Added:
    path = None if file == _STDIN else Path(file)
    added = memory.add(
        read_stdin() if path is None else read_document(path),
        path=path,
        namespace=labels.namespace,
        document_type=labels.document_type,
        source=labels.source,
        metadata=labels.metadata,
        **written,
    )
    tell(Note(f"{added.outcome.capitalize()}: {added.title} ({pluralize(added.pieces, 'piece')})"))
    _tell_relations(added.replaces, added.similar, "aur mem add FILE")
    return added


def _in_full(paths: tuple[str, ...]) -> tuple[Path, ...]:
    """Paths as typed in the working directory, so that they can be found from anywhere."""
    return tuple(Path(path).absolute() for path in paths)


def _tell_relations(
    replaces: tuple[str, ...], similar: Sequence[SimilarEntry], command: str
) -> None:
    """What a new entry replaces, and what it resembles or may contradict."""
    for id_ in replaces:
        tell(Note(f"replaces: {id_}"))
    for entry in similar:
        how = f"; to replace it: {command} --replaces {entry.id}" if entry.may_contradict else ""
        tell(Note(f"{entry.relation}: {entry.id} {printable(entry.title)}{how}"))


def read_stdin() -> str:
    """The text of standard input; on a terminal, a person is told how to end it."""
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


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise LabelError(
            f"--meta {text!r} has no value", hint="write KEY=VALUE, such as --meta status=agreed"
        )
    return key, value


@click.command(
    epilog="""\b
Examples:
  aur mem learn "retry the upload with backoff" --type recovery --score 0.9
  aur mem learn "split the migration in two" --context "users table, 40 M rows"
  aur mem learn --team "reviews need a changelog entry" --type decision
  aur mem learn "uploads resume by themselves" --replaces reasoning-retry-the-upload-1a2b3c4d
  aur mem search "meta.pattern_type:recovery upload"
\b
A pattern learned again counts as used again. One below 0.5 is shown with "did not work"."""
)
@click.argument("text", nargs=-1, required=True)
@click.option("--type", "pattern_type", default="pattern", show_default=True, help="What kind.")
@click.option(
    "--score", type=click.FloatRange(0.0, 1.0), default=1.0, show_default=True,
    help="How well it worked, from 0 to 1.",
)  # fmt: skip
@click.option("--context", default="", help="Where and when it applies.")
@_ABOUT
@_AGENT
@_MODEL
@_REPLACES
@_PRIVATE
@click.option(
    "--team", is_flag=True, help="Write it to docs/lessons, a file that git shares with the team."
)
def learn(
    text: tuple[str, ...],
    pattern_type: str,
    score: float,
    context: str,
    *,
    about: tuple[str, ...],
    private: bool,
    team: bool,
    **written: Any,  # who wrote it, and what it replaces
) -> None:
    """Remember a pattern: what was done, and how well it worked.

    Inside a git repository it belongs to the project, elsewhere to you.
    """
    if private and team:
        raise click.UsageError("A lesson is --private or for the --team, not both.")
    with open_memory() as memory:
        learned = memory.learn(
            " ".join(text),
            pattern_type=pattern_type,
            score=score,
            context=context,
            private=private,
            team=team,
            files=_in_full(about),
            **written,
        )
    _tell_relations(learned.replaces, learned.similar, "aur mem learn …")
    click.echo(learned.id)


@click.command(
    epilog="""\b
Examples:
  aur mem forget src/old.py:helper     one chunk
  aur mem forget src/generated         all files below a folder
  aur mem forget namespace:trial       all documents of a namespace
\b
What a forgotten entry had replaced stays replaced: add it again to find it again.
A file that is still there comes back with the next index: name it in .auroraignore."""
)
@click.argument("what", nargs=-1, required=True, shell_complete=complete_forgettable)
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
def forget(what: tuple[str, ...], *, yes: bool) -> None:
    """Remove chunks by id, by file or folder, or by namespace:NAME."""
    with open_memory() as opened:
        memory, ids = _find_in_layers(opened, what)
        here = seen_from(memory.root)
        if not ids:
            raise ChunkNotFoundError(
                f"Nothing is remembered of {', '.join(what)}",
                hint="name an id, a file, a folder or namespace:NAME",
            )
        if not yes:
            chunks = memory.admin.store.chunks.get_chunks(ids[:_SHOWN])
            _confirm([relative_id(chunk, here) for chunk in chunks], len(ids))
        click.echo(f"Forgot {pluralize(memory.forget(ids), 'chunk')}")


def _find_in_layers(memory: Memory, what: tuple[str, ...]) -> tuple[Memory, list[str]]:
    """The first of the project's and the person's memory that has something of it."""
    for layer in memory.layers().values():
        here, find = seen_from(layer.root), layer.admin.find_to_forget
        if ids := sorted({id_ for word in what for id_ in _find(find, word, here)}):
            return layer, ids
    return memory, []


def _find(find: Callable[[str], list[str]], word: str, here: str) -> list[str]:
    """The ids that a word stands for. A path starts in the folder `here`, or else at the root."""
    forms = (word, from_root(word, here))
    return next(filter(None, map(find, forms if here == "." else reversed(forms))), [])


def _confirm(shown: list[str], count: int) -> None:
    for id_ in shown:
        click.echo(f"  {printable(id_)}", err=True)
    if count > _SHOWN:
        click.echo(f"  … and {count - _SHOWN} more", err=True)
    chunks = pluralize(count, "chunk")
    error = QueryError(f"This would forget {chunks}", hint="confirm with --yes")
    confirm(f"Forget {chunks} for good?", error=error, refused="Nothing was forgotten.")
