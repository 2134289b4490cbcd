"""`aur ui`: a page in the browser that shows the memory, or a file of a search or session."""

from __future__ import annotations

import os
import threading
import webbrowser
from functools import partial
from pathlib import Path

import click

from aurora.cli.doctor import examine
from aurora.cli.session import ended_by_signals, find_places, settings_files, tell
from aurora.config.places import shown
from aurora.errors import AuroraError, SourceError
from aurora.files import replacing
from aurora.package_manager import install_command
from aurora.serving.listening import listen_at
from aurora.serving.pool import MemoryPool, name_folders
from aurora.types import Note


@click.command(
    epilog="""\b
Examples:
  aur ui                                   the memory of this folder, in your browser
  aur ui --read-only                       nothing can be changed, and no use is noted
  aur ui --no-open --port 8080             only print the link
  aur ui --export found.html "retry"       a search as one file, for a colleague
  aur ui --export talk.html --session 3f2b8c1e
\b
The link opens the page in one browser; there, you can copy a link for another. Only this
machine can reach it. An exported file is redacted, and asks no server anything."""
)
@click.argument("query", nargs=-1)
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=0,
    help="Port to listen at; a free one by default.",
)  # fmt: skip
@click.option("--no-open", is_flag=True, help="Do not start the browser.")
@click.option("--read-only", is_flag=True, help="Change nothing: no lesson, no use, no index.")
@click.option(
    "--export", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
    help="Write the search QUERY or a session to one HTML file instead.",
)  # fmt: skip
@click.option(
    "--session", default="", metavar="ID", help="The session to export: the beginning of its id."
)
def ui(
    query: tuple[str, ...],
    *,
    port: int,
    no_open: bool,
    read_only: bool,
    export: Path | None,
    session: str,
) -> None:
    """Open a page in the browser that shows the memory: search, sessions, lessons, a map, health.

    It serves this machine alone, until Ctrl-C. Needs the extra ui: `aur doctor` shows how to add
    it.
    """
    if export and bool(query) == bool(session):
        raise click.UsageError("--export takes a QUERY or --session ID.")
    if not export and (query or session):
        raise click.UsageError("A QUERY and --session need --export FILE: search in the page.")
    places = find_places()
    files = settings_files(places)
    for warning in files.current().warnings:
        tell(Note(warning, warning=True))
    folders = name_folders([Path.cwd()])
    pool = MemoryPool(folders, os.environ, files.flags, read_only=read_only or export is not None)
    try:
        from aurora.web.application import Page, export_page
    except ImportError as exc:
        raise AuroraError(f"The page needs a package: {exc}", hint=install_command("ui")) from exc
    if export:
        _write(export, export_page(pool, query=" ".join(query), session=session))
        return
    page = Page(
        pool, listen_at("127.0.0.1", port), examine=partial(examine, places, files, quick=True)
    )
    link = page.new_link()
    tell(Note(f"Aurora is at {link}"))
    tell(Note("The link works once. Ctrl-C ends"))
    if not no_open:
        threading.Thread(target=webbrowser.open, args=(link,), daemon=True).start()  # it may wait
    with ended_by_signals():
        page.serve()
    pool.close()


def _write(file: Path, text: str) -> None:
    try:
        with replacing(file) as out:
            out.write(text.encode())
    except OSError as exc:
        raise SourceError(
            f"{file} cannot be written: {exc.strerror}", hint="name a file in a folder of yours"
        ) from exc
    tell(Note(f"Wrote {shown(file)}: one file, which opens in every browser"))
