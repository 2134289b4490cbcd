"""`aur mcp`: serve the memory to agents, and tell their clients how to start it."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from aurora.cli.main import LazyGroup
from aurora.cli.session import find_places, settings_files, tell
from aurora.cli.stopping import ended_by_signals, run_until_signal
from aurora.config.places import shown
from aurora.errors import AuroraError, ConfigError
from aurora.types import Note

if TYPE_CHECKING:
    from aurora.mcp.desk import Desk

_PORT = 8765
_RATE = 200.0  # no agent calls as often, and no script can take all of the server
_TOKEN = "AURORA_MCP_TOKEN"  # noqa: S105 - the variable's name


def _serve(
    *,
    memories: tuple[Path, ...],
    read_only: bool,
    http: bool,
    host: str,
    port: int,
    names: tuple[str, ...],
    token_file: Path | None,
    no_token: bool,
    rate: float,
    proxies: tuple[str, ...],
) -> None:
    if click.get_current_context().invoked_subcommand is not None:
        return
    desk = _open_desk(memories)
    try:
        from aurora.mcp.server import create_server
    except ImportError as exc:
        raise AuroraError(
            f"The server needs the package mcp: {exc}", hint="pip install 'aurora-memory[mcp]'"
        ) from exc
    # Before the SDK does it, with rich: that imports more to show an error, also without a file.
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    server = create_server(desk, read_only=read_only)
    if not http:
        run_until_signal(server.run_stdio_async())
        return
    from aurora.mcp.clients.address import is_loopback
    from aurora.mcp.http import Door, address_of, listen_at, own_token, serve

    token = "" if no_token else _token(token_file)
    kept = find_places().home / "mcp-token"
    made = not (token or no_token) and is_loopback(host)
    token = own_token(kept) if made else token
    door = Door(host, port, token, names, rate, proxies, no_token=no_token)
    listening = listen_at(door)
    tell(Note(f"Serving {', '.join(desk.names)} at {address_of(door, listening)}"))
    if made:
        tell(Note(f"Clients bring the token in {shown(kept)}: set {_TOKEN} to it for them"))
    with ended_by_signals():
        serve(server, door, listening)


def _open_desk(memories: tuple[Path, ...]) -> Desk:
    from aurora.mcp.desk import Desk, name_folders

    places = find_places()  # from here on, what goes wrong is logged
    for folder in memories:
        if not folder.is_dir():
            raise ConfigError(
                f"{folder} is no folder", hint="name the folder of a project, or leave it out"
            )
    files = settings_files(places)
    for warning in files.current().warnings:
        tell(Note(warning, warning=True))
    return Desk(name_folders(memories or (Path.cwd(),)), os.environ, files.flags)


def _token(file: Path | None) -> str:
    """From a file or the environment: an argument could be read by anybody on this machine."""
    if file is None:
        token = os.environ.get(_TOKEN)
        if token is not None and not token.strip():
            raise ConfigError(f"{_TOKEN} is empty", hint="unset it, or set it to the token")
        return (token or "").strip()
    try:
        token = file.read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as exc:
        raise ConfigError(f"The token file {file} cannot be read: {exc}") from exc
    if not token:
        raise ConfigError(f"The token file {file} is empty")
    return token


mcp = LazyGroup(
    name="mcp",
    help="""Serve the memory to agents, over stdio or HTTP.

    Without an option it speaks the Model Context Protocol on stdin and stdout, as clients that
    start it expect. With --http it listens for them, on this machine alone, and asks for a token.

    Needs the package mcp: pip install 'aurora-memory[mcp]'""",
    epilog="""\b
Examples:
  aur mcp config claude-code --write   have Claude Code start it
  aur mcp                              the memory of this folder, over stdio
  aur mcp --memory api --memory web    two projects at once
  aur mcp --http                       listen at http://127.0.0.1:8765/mcp
\b
The token of --http is read from AURORA_MCP_TOKEN or from --token-file; without either, one is made
once and kept in ~/.aurora/mcp-token.""",
    context_settings={"help_option_names": ["-h", "--help"]},
    invoke_without_command=True,
    callback=_serve,
    lazy={
        "config": ("aurora.cli.mcp_config:config", "Tell a client how to start the server."),
    },
    params=[
        click.Option(
            ["--memory", "memories"], multiple=True, metavar="DIR",
            type=click.Path(path_type=Path),
            help="A project's folder to serve; may be repeated. Default: the working directory.",
        ),
        click.Option(
            ["--read-only"], is_flag=True, help="Offer no tool that changes what is remembered."
        ),
        click.Option(["--http"], is_flag=True, help="Listen for HTTP instead of using stdio."),
        click.Option(
            ["--host"], default="127.0.0.1", show_default=True,
            help="Address to listen at; any but this machine's own needs a token.",
        ),
        click.Option(
            ["--port"], type=click.IntRange(0, 65_535), default=_PORT, show_default=True,
            help="Port to listen at; 0 takes a free one.",
        ),
        click.Option(
            ["--allow-host", "names"], multiple=True, metavar="NAME",
            help="A name by which clients ask for this machine; may be repeated.",
        ),
        click.Option(
            ["--token-file"], type=click.Path(path_type=Path), metavar="FILE",
            help="Where the token stands that clients must bring.",
        ),
        click.Option(
            ["--no-token"], is_flag=True,
            help="Let in every program of this machine, whoever runs it.",
        ),
        click.Option(
            ["--rate"], type=click.FloatRange(min=0), default=_RATE, show_default=True,
            metavar="CALLS", help="Calls per second that one client may make; 0 is no limit.",
        ),
        click.Option(
            ["--trusted-proxy", "proxies"], multiple=True, metavar="ADDRESS",
            help="A proxy whose X-Forwarded-For names its clients; may be repeated.",
        ),
    ],
)  # fmt: skip
