"""What there is to tell of a memory in a file, where others would ask their server."""

from __future__ import annotations

from aurora.engine.whereabouts import InFile, shown_name
from aurora.errors import NoMemoryError
from aurora.stores.sqlite_connection import schema_of
from aurora.stores.sqlite_schema import MIGRATIONS
from aurora.types import Json


def file_status(at: InFile) -> dict[str, Json]:
    """How far its tables are; any command that opens it brings them up to date."""
    if at.stamp() is None:
        raise NoMemoryError(
            f"There is no memory yet at {shown_name(at.name)}",
            hint="make one with `aur mem index .`, or on a server with `aur db init URL`",
        )
    return {"schema_version": schema_of(at.path), "newest_schema": len(MIGRATIONS)}
