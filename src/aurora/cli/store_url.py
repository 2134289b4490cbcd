"""Where a server is written down: in settings, without its password."""

from __future__ import annotations

from pathlib import Path

import click

from aurora.cli.session import settings_files, tell
from aurora.config import Places
from aurora.config.layers import LARGEST
from aurora.config.places import shown
from aurora.config.trust import approve, is_approved
from aurora.engine.whereabouts import OnServer
from aurora.private import read_file, require_own
from aurora.types import Note


def remember_server(places: Places, server: OnServer, *, schema: str | None) -> None:
    """Write the address into the project's settings, or the user's outside a project."""
    from aurora.config.edit import set_value  # it needs the YAML library

    file = places.project_config or places.user_config
    if places.project is not None:
        require_own(places.memory_folder)
    may_approve = _may_approve(places, file)
    address = server.openly()
    set_value(file, "store.url", address.url)
    if schema is not None:
        set_value(file, "store.schema", schema)
    if file == places.project_config:
        _approve(places, file, may_approve=may_approve)
    click.echo(f"Set store.url in {shown(file)}", err=True)
    if address.pgpass:
        tell(
            Note(
                "The password was not written there. Put it into ~/.pgpass (chmod 600) as "
                f"{address.pgpass}, or into the environment variable PGPASSWORD",
                warning=True,
            )
        )
    loaded = settings_files(places).current()
    if loaded.settings.store.url != address.url and "store.url" in loaded.origins:
        origin = loaded.origins["store.url"]
        tell(Note(f"store.url of {origin} is stronger, and names another place", warning=True))


def _may_approve(places: Places, file: Path) -> bool:
    """A file that came with a clone may hold more than the person who types here has read."""
    try:
        content = read_file(file, most=LARGEST, follow=file == places.user_config)
    except OSError:
        return True  # there is none: all that it will hold is ours
    ignored = [text for text in settings_files(places).current().warnings if shown(file) in text]
    return not ignored or is_approved(places.home, file, content)


def _approve(places: Places, file: Path, *, may_approve: bool) -> None:
    if may_approve:
        approve(places.home, file)
        return
    tell(
        Note(
            f"{shown(file)} chooses more than that, and nobody has approved it: read it, then run "
            "`aur config approve`",
            warning=True,
        )
    )
