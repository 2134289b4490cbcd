"""`aur init`: start a project's memory."""

from __future__ import annotations

from pathlib import Path

import click

from aurora.cli.session import find_places
from aurora.config.places import Places, make_project, shown
from aurora.sources.git import find_root


@click.command(
    epilog="""\b
Examples:
  aur init          at the top of this git repository, or here without git"""
)
def init() -> None:
    """Start a memory for this project: a folder .aurora that git ignores."""
    places = find_places()
    if places.project is None:
        places = start_project(places, find_root(Path.cwd()) or Path.cwd())
    click.echo(f"The memory of this project is in {shown(places.memory_folder)}")
    click.echo("Next: aur mem index .", err=True)


def start_project(places: Places, root: Path) -> Places:
    """Make the project's folder, unless it would be the user's own."""
    make_project(root)
    found = Places.find(root, {"AURORA_HOME": str(places.home)})
    return found if found.project == root else places
