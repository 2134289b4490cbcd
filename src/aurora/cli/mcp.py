"""`aur mcp`: serve the memory to agents. `aur mcp config`: configure a client to start it."""

from __future__ import annotations

import logging
import os
from contextlib import AbstractContextManager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from aurora.cli.main import LazyGroup
from aurora.cli.own_command import own_command
from aurora.cli.session import ended_by_signals, find_places, run_until_signal, settings_files, tell
from aurora.config import SettingsFiles
from aurora.config.places import Places, shown
from aurora.endpoints import is_loopback
from aurora.engine import Memory
from aurora.errors import AuroraError, ConfigError, NoMemoryError
from aurora.hooks.local_server import answering_hooks
from aurora.install.clients import (
    CLIENTS,
    TOKEN,
    Client,
    Local,
    Scope,
    Server,
    remote_at,
    tells_otherwise,
    write_entry,
)
from aurora.mcp.lifetime import Lifetime
from aurora.package_manager import install_command
from aurora.serving.listening import listen_at
from aurora.serving.pool import MemoryPool, name_folders
from aurora.sources.git import find_root
from aurora.types import Note

_PORT = 8765
_RATE = 200.0  # calls per second: more than an agent makes


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    lazy={"config": ("mcp:config", "Configure a client to start the server.")},
    epilog="""\b
Examples:
  aur mcp config claude-code --write   have Claude Code start it
  aur mcp                              the memory of this folder, over stdio
  aur mcp --memory api --memory web    two projects at once
  aur mcp --http                       listen at http://127.0.0.1:8765/mcp
\b
The token of --http is read from AURORA_MCP_TOKEN or from --token-file; without either, it is
created once in ~/.aurora/mcp-token.""",
)
@click.option(
    "--memory", "memories", multiple=True, metavar="DIR", type=click.Path(path_type=Path),
    help="A project's folder to serve; may be repeated. Default: the working directory.",
)  # fmt: skip
@click.option(
    "--read-only",
    is_flag=True,
    help="Write nothing: no file, no use, no index; offer no tool that writes.",
)
@click.option("--http", is_flag=True, help="Listen for HTTP instead of using stdio.")
@click.option(
    "--host", default="127.0.0.1", show_default=True,
    help="Address to listen at; any but this machine's own needs a token.",
)  # fmt: skip
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=_PORT, show_default=True,
    help="Port to listen at; 0 takes a free one.",
)  # fmt: skip
@click.option(
    "--allow-host", "names", multiple=True, metavar="NAME",
    help="A host name that clients use for this machine; may be repeated.",
)  # fmt: skip
@click.option(
    "--token-file", type=click.Path(path_type=Path), metavar="FILE",
    help="The file of the token that clients must send.",
)  # fmt: skip
@click.option("--no-token", is_flag=True, help="Accept every program of this machine, of any user.")
@click.option(
    "--rate", type=click.FloatRange(min=0), default=_RATE, show_default=True, metavar="CALLS",
    help="Calls per second that one client may make; 0 is no limit.",
)  # fmt: skip
@click.option(
    "--trusted-proxy", "proxies", multiple=True, metavar="ADDRESS",
    help="A proxy whose X-Forwarded-For names its clients; may be repeated.",
)  # fmt: skip
def mcp(
    *,
    memories: tuple[Path, ...],
    read_only: bool,
    http: bool,
    token_file: Path | None,
    no_token: bool,
    **listening: Any,  # the other fields of `HttpSettings`, as click parses them
) -> None:
    """Serve the memory to agents, over stdio or HTTP.

    Without an option it uses the Model Context Protocol on stdin and stdout, for clients that start
    it. With --http it listens for clients, on this machine only, and needs a token.

    Needs the extra mcp: `aur doctor` shows how to add it.
    """
    if click.get_current_context().invoked_subcommand is not None:
        return
    # Threads of numpy wait for work in a loop: a search would take twice the processor time.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    files = settings_files(find_places())
    pool = _open_pool(memories, files, read_only=read_only)
    try:
        from aurora.mcp.server import create_server
    except ImportError as exc:
        raise AuroraError(
            f"The server needs the package mcp: {exc}", hint=install_command("mcp")
        ) from exc
    # Before the SDK does it with rich, which imports more to show an error.
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    idle_minutes = files.current().settings.mcp.idle_minutes
    if not http:
        lifetime = Lifetime(idle_minutes=idle_minutes, has_parent=True)
        server = create_server(pool, lifetime=lifetime)
        with _answering_hooks(pool, lifetime):
            run_until_signal(server.run_stdio_async(), reason_to_end=lifetime.reason_to_end)
        return
    from aurora.mcp.http import HttpSettings, address_of, own_token, serve

    token = "" if no_token else _token(token_file)
    file = find_places().home / "mcp-token"
    is_own = not (token or no_token) and is_loopback(listening["host"])
    token = own_token(file) if is_own else token
    settings = HttpSettings(token=token, no_token=no_token, **listening)
    lifetime = Lifetime(idle_minutes=0 if settings.is_for_others else idle_minutes)
    socket = listen_at(settings.host, settings.port)
    tell(Note(f"Serving {', '.join(pool.names)} at {address_of(settings, socket)}"))
    if is_own:
        tell(Note(f"Clients need the token in {shown(file)}: set {TOKEN} to it for them"))
    with ended_by_signals(), _answering_hooks(pool, lifetime):
        serve(pool, settings, socket, lifetime)
    if reason := lifetime.reason_to_end():
        tell(Note(reason))


def _answering_hooks(pool: MemoryPool, lifetime: Lifetime) -> AbstractContextManager[None]:
    """Answer the hooks of the memories that are served. A read-only server notes nothing."""
    names = [] if pool.read_only else pool.names
    found = {Places.find(pool.folders[name], pool.environ): name for name in names}

    def open_memory(places: Places) -> Memory:
        if places not in found:
            raise NoMemoryError(f"This server was not opened for {places.memory_folder}")
        lifetime.note_request()
        return pool.memory(found[places])

    folders = {places.memory_folder: open_memory for places in found}
    return answering_hooks(folders, pool.environ)


def _open_pool(memories: tuple[Path, ...], files: SettingsFiles, *, read_only: bool) -> MemoryPool:
    for folder in memories:
        if not folder.is_dir():
            raise ConfigError(
                f"{folder} is not a folder", hint="name the folder of a project, or leave it out"
            )
    for warning in files.current().warnings:
        tell(Note(warning, warning=True))
    folders = name_folders(memories or (Path.cwd(),))
    return MemoryPool(folders, os.environ, files.flags, read_only=read_only)


def _token(file: Path | None) -> str:
    """Read the token from a file or the environment: other users can see arguments."""
    if file is None:
        token = os.environ.get(TOKEN)
        if token is not None and not token.strip():
            raise ConfigError(f"{TOKEN} is empty", hint="unset it, or set it to the token")
        return (token or "").strip()
    try:
        token = file.read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as exc:
        raise ConfigError(f"The token file {file} cannot be read: {exc}") from exc
    if not token:
        raise ConfigError(f"The token file {file} is empty")
    return token


@click.command(
    epilog=f"""\b
Examples:
  aur mcp config claude-code --write             for this project: .mcp.json
  aur mcp config codex --write                   for you: ~/.codex/config.toml
  aur mcp config cursor                          only print it
  aur mcp config vscode --http https://memory.example.org/mcp
\b
An existing file keeps everything else, and a copy as FILE.bak. The token of --http is
never written: an entry names {TOKEN}, or VS Code asks for it. A project's file says
`aur`, which other users have elsewhere; your own file has the whole path, because
editors may not know your PATH."""
)
@click.argument("client", type=click.Choice(list(CLIENTS)))
@click.option("--write", is_flag=True, help="Write it to the client's file.")
@click.option(
    "--scope", type=click.Choice([scope.value for scope in Scope]),
    help="The project's file, or yours for all projects. Default: user for codex, else project.",
)  # fmt: skip
@click.option("--http", "url", metavar="URL", help="Use a server that runs at an address.")
@click.option("--with-token", is_flag=True, help="Send a token to this machine's own server, too.")
def config(
    client: str, *, write: bool, scope: str | None, url: str | None, with_token: bool
) -> None:
    """Print the configuration that makes a client start Aurora's server, or write it."""
    if with_token and url is None:
        raise click.UsageError("--with-token needs --http.")
    chosen = CLIENTS[client]
    where = Scope(scope) if scope else chosen.default
    if url is None:
        server: Server = Local((*own_command(where, "--scope user"), "mcp"))
    else:
        server = remote_at(url, with_token=with_token)
    file = _file(chosen, where)
    if write:
        _write(file, chosen, server, where)
    else:
        # JSON and TOML are always UTF-8.
        click.echo(chosen.snippet(server).encode(errors="replace"))
        way = f"it belongs in {shown(file)}; --write puts it there" if file else chosen.user_way
        tell(Note(f"For {chosen.title}: {way}."))
    _print_needs(chosen, server)
    tell(Note(f"Next: {chosen.next_step}."))


def _write(file: Path | None, client: Client, server: Server, scope: Scope) -> None:
    if file is None:
        raise ConfigError(
            f"The user's file of {client.title} is not known",
            hint=f"{client.user_way}, and add what is printed without --write",
        )
    written = write_entry(file, client, server, private=scope is Scope.USER)
    _warn_of_conflict(client, server, scope)
    if not written.changed:
        tell(Note(f"It is already there: {shown(file)} was left as it is."))
        return
    backup = f"; the old file is {shown(written.backup)}" if written.backup else ""
    tell(Note(f"Wrote {shown(file)}{backup}."))
    if written.lost:
        names = ", ".join(written.lost)
        tell(Note(f"The entry also had {names}, which only the backup has now", warning=True))


def _warn_of_conflict(client: Client, server: Server, scope: Scope) -> None:
    """Warn of a command in one file and an address in the other: Codex does not start then."""
    other = _file(client, Scope.USER if scope is Scope.PROJECT else Scope.PROJECT)
    if not client.merges or other is None:
        return
    try:
        source = other.read_text(encoding="utf-8", errors="replace")
    except OSError:  # usually there is no such file
        return
    if tells_otherwise(source, client, server):
        both = f"{shown(other)} names {'an address' if isinstance(server, Local) else 'a command'}"
        fix = f"write it there, too, or {client.title} will not start"
        tell(Note(f"{client.title} merges its files, and {both}: {fix}", warning=True))


def _file(client: Client, scope: Scope) -> Path | None:
    if scope is Scope.PROJECT:
        return _project() / client.project_file
    if not client.user_file:
        return None
    try:
        return client.user_path(Path.home(), os.environ)
    except RuntimeError as exc:
        raise ConfigError("There is no home directory", hint="set HOME to yours") from exc


def _project() -> Path:
    """The root of the project or repository around the working directory, or the directory."""
    here = Path.cwd()
    root = find_places().root or find_root(here)
    is_inside = root is not None and here.resolve().is_relative_to(root.resolve())
    return root if root is not None and is_inside else here


def _print_needs(client: Client, server: Server) -> None:
    if isinstance(server, Local):
        if find_spec("mcp") is None:
            hint = install_command("mcp")
            tell(Note(f"The server needs the package mcp: {hint}", warning=True))
        return
    if server.token and client.inputs:
        tell(Note(f"{client.title} will ask for the token."))
    elif server.token:
        tell(Note(f"Set {TOKEN} where {client.title} is started; the file only names it."))
    if server.is_exposed:
        tell(Note("The token goes to this address unencrypted: prefer https", warning=True))
