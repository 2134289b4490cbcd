"""Where a chunk stands, from what a store's row says of it."""

from __future__ import annotations

from typing import NamedTuple

from aurora.types import Kind, Place


class Told(NamedTuple):
    """The columns and the metadata that tell it, as text where there is any."""

    row: int
    id: str
    kind: str
    path: str
    namespace: str
    source: str | None
    session: str | None
    seq: str | None


_KINDS = frozenset(map(str, Kind))


def place_of(told: Told) -> Place:
    """Pieces of a document have its id in front. Who numbers no turns adds them in order, as the
    phases of a conversation log are: then rows number them."""
    kind = Kind(told.kind) if told.kind in _KINDS else Kind.CODE  # who reads it tells of damage
    home = told.path or told.id.partition("@")[0]
    if told.session is not None:
        numbered = told.seq is not None and told.seq.isdecimal()
        turn = int(told.seq or 0) if numbered else told.row
        return Place(kind, told.path, home, f"{told.namespace}\0{told.session}", turn)
    if told.source == "conversation":
        return Place(kind, told.path, home, told.path, told.row)
    return Place(kind, told.path, home)
