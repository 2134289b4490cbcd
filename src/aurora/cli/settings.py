"""`aur config`: read, change and approve settings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from aurora.cli.completers import complete_keys
from aurora.cli.session import confirm, find_places, set_setting, settings_files
from aurora.config.load import LARGEST, as_typed, is_approved, needing_approval, without_password
from aurora.config.load import approve as approve_file
from aurora.config.places import shown
from aurora.config.schema import CATALOGUE, known_setting, value_of
from aurora.errors import ConfigError
from aurora.files import read_file, require_own
from aurora.text import printable


@click.group()
def config() -> None:
    """Read and change settings: flag, environment, project file, user file, default."""


@config.command("get", epilog="Without a key, every setting is listed with where it comes from.")
@click.argument("key", required=False, shell_complete=complete_keys)
def get(key: str | None) -> None:
    """Print a setting, or all of them."""
    loaded = settings_files(find_places()).current()
    if key is not None:
        key = known_setting(key).key
    for name in CATALOGUE if key is None else [key]:
        shown_value = without_password(as_typed(value_of(loaded.settings, name)))
        origin = loaded.origins.get(name, "default")
        click.echo(shown_value if key else f"{name} = {shown_value}  ({origin})")


@config.command(
    "set",
    epilog="\b\nExamples:\n  aur config set search.bm25.k1 1.2",
    context_settings={"ignore_unknown_options": True},  # -1 is a value
)
@click.argument("key", shell_complete=complete_keys)
@click.argument("value")
@click.option("--project", is_flag=True, help="Write the project's file, not the user's.")
def set_(key: str, value: str, *, project: bool) -> None:
    """Set a value in the user's file; comments and order in it stay."""
    places = find_places()
    file = places.user_config if not project else places.project_config
    if file is None:
        raise ConfigError("There is no project here", hint="start one with `aur init`")
    if project:
        require_own(file.parent)
    is_new = file == places.user_config and not file.exists()
    set_setting(file, key, value)
    if is_new:  # of this version: its user has seen no other format
        set_setting(file, "ui.shown_search_format_notice", "true")
    click.echo(f"Set {key} in {shown(file)}", err=True)


@config.command()
def path() -> None:
    """Print the settings files, the stronger one first."""
    places = find_places()
    for file in (places.project_config, places.user_config):
        if file is not None:
            click.echo(shown(file) if file.exists() else f"{shown(file)} (not there)")


@config.command()
def approve() -> None:
    """Let this project's settings file choose models, endpoints and outside paths, as it is now.

    It shows these settings and asks. Without a terminal, nothing can be approved.
    """
    places = find_places()
    file = places.project_config
    if file is None or not file.exists():
        raise ConfigError("This project has no settings file to approve")
    require_own(file.parent)
    try:
        content = read_file(file, most=LARGEST)  # once: the shown content is approved
    except OSError as exc:
        raise ConfigError(f"Cannot approve {shown(file)}: {exc.strerror}") from exc
    chosen = needing_approval(places, file, content)
    if not chosen:
        click.echo(f"Nothing in {shown(file)} needs your approval", err=True)
    elif is_approved(places.home, file, content):
        click.echo(f"{shown(file)} is approved already", err=True)
    else:
        _confirm(file, chosen)
        approve_file(places.home, file, content)
        click.echo(f"Approved {shown(file)}", err=True)


def _confirm(file: Path, chosen: Mapping[str, object]) -> None:
    """Show the settings and ask. An agent or a script has no terminal, and cannot approve."""
    click.echo(f"{shown(file)} has settings that need your approval:", err=True)
    for key, value in chosen.items():
        click.echo(f"  {key} = {printable(without_password(as_typed(value)))}", err=True)
    confirm(
        "Let it set these, as the file is now?",
        refused="Nothing was approved.",
        error=ConfigError(
            "Only a person can approve settings",
            hint="run `aur config approve` in a terminal, or set what you want in your own file: "
            "aur config set KEY VALUE",
        ),
    )
