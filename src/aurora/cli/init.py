"""`aur init`: start a project's memory."""

from __future__ import annotations

from pathlib import Path

import click

from aurora.cli.session import find_places
from aurora.config.places import shown
from aurora.engine.projects import start_project
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
