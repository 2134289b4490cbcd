"""`aur mcp config`: what a client must know to start the server, printed or written."""

from __future__ import annotations

import click


@click.command()
def config() -> None:
    """Print the configuration that makes a client start Aurora's server."""
