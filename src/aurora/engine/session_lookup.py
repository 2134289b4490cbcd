"""Finds what agents' sessions did: which edited a file, and which ran a command.

Sessions are chunks of the person's memory. The index of words selects them, by the name of a file
or the words of a command, and their metadata decide. A path is compared below the folders of all
working copies of the repository: a session has the paths of the one where it ran.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from aurora.config.worktrees import list_checkouts
from aurora.lazy_patterns import lazy_pattern
from aurora.quick_classes import NamedTuple
from aurora.session_facts import SESSION, SessionFacts
from aurora.stores.base import Store
from aurora.types import Chunk, Criteria

MOST_ROWS = 3000  # of one phrase that are read, the last imported ones
_RECENT_ROWS = 200  # of one phrase where nobody wants to wait for an answer
_NO_SESSION = SessionFacts("", "")
_TALK = ("exchange", "summary")
# Worktrees that agents make inside of the project, and that are gone afterwards.
_INNER_CHECKOUT = lazy_pattern(r"(?:\.\w+/)?\.?worktrees/[^/]+/")


class Edit(NamedTuple):
    """An exchange that edited a file, by the name that the file had."""

    chunk: Chunk
    name: str  # from the top of the repository


def facts_of(chunk: Chunk) -> SessionFacts:
    """The session of a chunk; nothing is known of other chunks."""
    return chunk.session or _NO_SESSION


def has_sessions(store: Store) -> bool:
    return bool(store.chunks.find_ids_from(f"{SESSION}:", limit=1))


def checkout_folders(root: Path, known: Iterable[str] = ()) -> list[str]:
    """The folders where this repository is checked out, and those `known` from earlier index runs,
    the innermost first."""
    paths = [*list_checkouts(root), *map(Path, filter(None, known))]
    folders = {path for each in paths for path in (each, each.resolve())}
    return sorted((folder.as_posix() for folder in folders), key=lambda path: -len(path))


def name_in(folders: Sequence[str], path: str, project: str) -> str:
    """The name of a session's file from the top of the repository; empty for other files."""
    path = path.replace("\\", "/")
    if not path.startswith("/") and path[1:2] != ":":
        path = f"{project.rstrip('/')}/{path}" if project else path
    for folder in folders:
        if path.startswith(f"{folder}/"):
            return _INNER_CHECKOUT.sub("", path[len(folder) + 1 :], count=1)
    return ""


def is_inside(folders: Sequence[str], chunk: Chunk) -> bool:
    """Whether a session ran in a checkout of the repository, or in a folder of it."""
    project = facts_of(chunk).project
    return any(f"{project}/".startswith(f"{folder}/") for folder in folders)


def find_edits(store: Store, names: Collection[str], folders: Sequence[str]) -> list[Edit]:
    """The exchanges that edited files of these names, each exchange once for each name."""
    phrases = {name.rpartition("/")[2] for name in names}
    return _edits_in(find_chunks(store, phrases, _TALK), names, folders)


def count_sessions(store: Store, names: Collection[str], folders: Sequence[str]) -> dict[str, int]:
    """How many sessions edited each file, without those that none did."""
    sessions: defaultdict[str, set[str]] = defaultdict(set)
    for edit in find_recent_edits(store, names, folders):
        sessions[edit.name].add(facts_of(edit.chunk).id)
    return {name: len(ids) for name, ids in sessions.items()}


def find_recent_edits(store: Store, names: Collection[str], folders: Sequence[str]) -> list[Edit]:
    """As `find_edits`, but quick: of a file that very many exchanges edited, the last ones.

    The text of an exchange ends with the files that it edited. They are looked for with the folder
    that holds them, which a session has left out if it began there.
    """
    phrases = {"/".join(name.split("/")[-2:]) for name in names}
    return _edits_in(find_chunks(store, phrases, _TALK, most=_RECENT_ROWS), names, folders)


def _edits_in(
    chunks: Iterable[Chunk], names: Collection[str], folders: Sequence[str]
) -> list[Edit]:
    edits: dict[tuple[str, str], Edit] = {}
    for chunk in chunks:
        facts = facts_of(chunk)
        for name in {name_in(folders, file, facts.project) for file in facts.edited}:
            if name in names:
                edits.setdefault((name, facts.exchange), Edit(chunk, name))
    return list(edits.values())


def find_chunks(
    store: Store, phrases: Iterable[str], forms: Collection[str], *, most: int = MOST_ROWS
) -> list[Chunk]:
    """The chunks of sessions in these forms that have one of the phrases, in no order."""
    rows: set[int] = set()
    for phrase in phrases:
        if any(map(str.isalnum, phrase)):  # a phrase without words would find everything
            rows.update(store.search.find_rows(Criteria(phrases=(phrase,)))[-most:])
    chunks = store.chunks.get_rows(sorted(rows)).values()
    return [chunk for chunk in chunks if is_form(chunk, forms)]


def find_in_session(store: Store, session: str, forms: Collection[str]) -> list[Chunk]:
    """The chunks of a session in these forms, oldest first."""
    rows = store.search.find_rows(Criteria(metadata=((SESSION, session),)))
    chunks = store.chunks.get_rows(rows).values()
    return sorted((chunk for chunk in chunks if is_form(chunk, forms)), key=_order)


def is_form(chunk: Chunk, forms: Collection[str]) -> bool:
    return facts_of(chunk).form in forms


def newest_first(chunks: Iterable[Chunk]) -> list[Chunk]:
    return sorted(chunks, key=_order, reverse=True)


def _order(chunk: Chunk) -> tuple[float, str]:
    at = chunk.created_at
    return (at.timestamp() if at else 0.0, chunk.id)


def asked_in(chunk: Chunk) -> str:
    """The first line of what was asked; empty if nothing was."""
    name, title = chunk.name, facts_of(chunk).title
    return "" if name in (title, "Session") and is_form(chunk, ("summary",)) else name
