"""`aur completion`: the script that teaches a shell to complete `aur`."""

from __future__ import annotations

import os
from pathlib import PurePath

import click

from aurora.cli.shells import PROGRAM, SHELLS, VARIABLE


@click.command(
    epilog="""\b
To install it, once:
  bash   echo 'eval "$(aur completion bash)"' >> ~/.bashrc
  zsh    echo 'eval "$(aur completion zsh)"' >> ~/.zshrc      after compinit
  fish   aur completion fish > ~/.config/fish/completions/aur.fish
\b
Examples:
  aur completion zsh
  aur completion             for the shell that $SHELL names
\b
Commands, options and settings are completed, and from the memory of the working directory
ids, languages and namespaces."""
)
@click.argument("shell", required=False, type=click.Choice(list(SHELLS)))
def completion(shell: str | None) -> None:
    """Print the completion script of a shell: bash, zsh or fish."""
    name = shell or PurePath(os.environ.get("SHELL", "")).name
    if name not in SHELLS:
        told = f"$SHELL is {name!r}, which" if name else "$SHELL is not set, and a shell"
        raise click.UsageError(f"{told} is none of {', '.join(SHELLS)}: name one of them.")
    root = click.get_current_context().find_root().command
    click.echo(SHELLS[name](root, {}, PROGRAM, VARIABLE).source(), nl=False)
