"""`aur ui`: a page in the browser that shows the memory."""

from __future__ import annotations

import os
import webbrowser
from functools import partial
from pathlib import Path

import click

from aurora.cli.doctor import examine
from aurora.cli.session import ended_by_signals, find_places, settings_files, tell
from aurora.errors import AuroraError
from aurora.installation import install_command
from aurora.serving.listening import listen_at
from aurora.serving.pool import MemoryPool, name_folders
from aurora.types import Note


@click.command(
    epilog="""\b
Examples:
  aur ui                 the memory of this folder, in your browser
  aur ui --read-only     nothing can be changed, and no use is noted
  aur ui --no-open       only print the link
\b
The link opens the page once. Only this machine can reach it."""
)
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=0,
    help="Port to listen at; a free one by default.",
)  # fmt: skip
@click.option("--no-open", is_flag=True, help="Do not start the browser.")
@click.option("--read-only", is_flag=True, help="Change nothing: no lesson, no use, no index.")
def ui(*, port: int, no_open: bool, read_only: bool) -> None:
    """Open a page in the browser that shows the memory: search, sessions, lessons, a map.

    It serves this machine alone, until Ctrl-C. Needs the extra ui: `aur doctor` shows how to add
    it.
    """
    places = find_places()
    files = settings_files(places)
    for warning in files.current().warnings:
        tell(Note(warning, warning=True))
    pool = MemoryPool(name_folders([Path.cwd()]), os.environ, files.flags, read_only=read_only)
    try:
        from aurora.web.application import Page
    except ImportError as exc:
        raise AuroraError(f"The page needs a package: {exc}", hint=install_command("ui")) from exc
    page = Page(
        pool, listen_at("127.0.0.1", port), examine=partial(examine, places, files, quick=True)
    )
    link = page.new_link()
    tell(Note(f"Aurora is at {link}"))
    tell(Note("The link works once. Ctrl-C ends"))
    if not no_open:
        webbrowser.open(link)
    with ended_by_signals():
        page.serve()
    pool.close()
