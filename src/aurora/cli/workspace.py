"""`aur workspace`: the repositories that a search can ask together."""

from __future__ import annotations

from pathlib import Path

import click

from aurora.cli.session import find_places
from aurora.config.places import FOLDER, shown
from aurora.engine.layers import Workspace


@click.group(
    epilog="""\b
Examples:
  aur workspace add ../api
  aur search "session cookie" --workspace
  aur search "session cookie" --memory api"""
)
def workspace() -> None:
    """The repositories that a search asks together, by `--workspace` or by their names."""


@workspace.command()
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--name", default="", help="Another name than that of the folder.")
def add(folders: tuple[Path, ...], name: str) -> None:
    """Add repositories that are indexed."""
    if name and len(folders) > 1:
        raise click.UsageError("A name is for one folder: add the others without --name.")
    listed = Workspace(find_places().home)
    for folder in folders:
        click.echo(f"Added {listed.add(folder, name)}", err=True)


@workspace.command("list")
def list_() -> None:
    """Print the names and folders."""
    for name, folder in Workspace(find_places().home).list().items():
        missing = "" if (folder / FOLDER).is_dir() else f"  ({_missing(folder)})"
        click.echo(f"{name}  {shown(folder)}{missing}")


def _missing(folder: Path) -> str:
    return "has no memory any more" if folder.is_dir() else "is gone"


@workspace.command()
@click.argument("names", nargs=-1, required=True)
def remove(names: tuple[str, ...]) -> None:
    """Remove repositories by name or folder. Their memories stay."""
    listed = Workspace(find_places().home)
    for name in names:
        click.echo(f"Removed {listed.remove(name)}", err=True)
