"""`aur mcp config`: what a client must know to start the server, printed or written."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path

import click

from aurora.cli.session import find_places, tell
from aurora.config.places import shown
from aurora.errors import ConfigError
from aurora.mcp.clients.address import remote_at
from aurora.mcp.clients.known import CLIENTS, TOKEN, Client, Local, Scope, Server
from aurora.sources.git import find_root
from aurora.types import Note


@click.command(
    epilog=f"""\b
Examples:
  aur mcp config claude-code --write             for this project: .mcp.json
  aur mcp config codex --write                   for you: ~/.codex/config.toml
  aur mcp config cursor                          only print it
  aur mcp config vscode --http https://memory.example.org/mcp
\b
A file that is there keeps all else that it holds, and a copy as FILE.bak. The token of
--http is never written: an entry names {TOKEN}, or VS Code asks for it. A project's
file says `aur`, which others have elsewhere; yours the whole path, for editors may not
know your PATH."""
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
        server: Server = Local(_command(where))
    else:
        server = remote_at(url, with_token=with_token)
    file = _file(chosen, where)
    if write:
        _write(file, chosen, server, where)
    else:
        # Both syntaxes are UTF-8, whatever the terminal speaks.
        click.echo(chosen.snippet(server).encode(errors="replace"))
        way = f"it belongs in {shown(file)}; --write puts it there" if file else chosen.user_way
        tell(Note(f"For {chosen.title}: {way}."))
    _tell_needs(chosen, server)
    tell(Note(f"Next: {chosen.next_step}."))


def _write(file: Path | None, client: Client, server: Server, scope: Scope) -> None:
    from aurora.mcp.clients.files import write_entry

    if file is None:
        raise ConfigError(
            f"Where {client.title} keeps a user's servers is for it alone to know",
            hint=f"{client.user_way}, and add what is printed without --write",
        )
    written = write_entry(file, client, server, private=scope is Scope.USER)
    _tell_conflict(client, server, scope)
    if not written.changed:
        tell(Note(f"It is already there: {shown(file)} was left as it is."))
        return
    kept = f"; as it was, it is in {shown(written.backup)}" if written.backup else ""
    tell(Note(f"Wrote {shown(file)}{kept}."))
    if written.lost:
        names = ", ".join(written.lost)
        tell(Note(f"The entry had {names}, too: now only the backup has", warning=True))


def _tell_conflict(client: Client, server: Server, scope: Scope) -> None:
    """A command in one file and an address in the other: Codex does not start with both."""
    from aurora.mcp.clients.entries import tells_otherwise

    other = _file(client, Scope.USER if scope is Scope.PROJECT else Scope.PROJECT)
    if not client.merges or other is None:
        return
    try:
        source = other.read_text(encoding="utf-8", errors="replace")
    except OSError:  # mostly there is none
        return
    if tells_otherwise(source, client, server):
        both = f"{shown(other)} names {'an address' if isinstance(server, Local) else 'a command'}"
        fix = f"write it there, too, or {client.title} will not start"
        tell(Note(f"{client.title} puts its files together, and {both}: {fix}", warning=True))


def _file(client: Client, scope: Scope) -> Path | None:
    if scope is Scope.PROJECT:
        return _project() / client.project_file
    if client.user_file is None:
        return None
    try:
        return client.user_file.path(Path.home(), os.environ)
    except RuntimeError as exc:
        raise ConfigError("There is no home directory", hint="set HOME to yours") from exc


def _project() -> Path:
    """The top of what the working directory belongs to, as far as it is around it."""
    places, here = find_places(), Path.cwd()
    root = places.project or find_root(here)
    inside = root is not None and here.resolve().is_relative_to(root.resolve())
    return root if root is not None and inside else here


def _command(scope: Scope) -> tuple[str, ...]:
    own = Path(sysconfig.get_path("scripts"), "aur.exe" if os.name == "nt" else "aur")
    found = shutil.which("aur")
    is_own = found is not None and own.exists() and own.samefile(found)
    if scope is Scope.PROJECT:
        if not is_own:
            what = f"on your PATH is another one, {found}" if found else "is not on your PATH"
            hint = f"put {own.parent} there, or use --scope user"
            tell(Note(f"The `aur` that the file names {what}: {hint}", warning=True))
        return "aur", "mcp"
    if found is not None and is_own:  # a link in a folder for programs outlives what it leads to
        return str(Path(found).absolute()), "mcp"
    return (str(own), "mcp") if own.exists() else (sys.executable, "-P", "-m", "aurora", "mcp")


def _tell_needs(client: Client, server: Server) -> None:
    if isinstance(server, Local):
        if find_spec("mcp") is None:
            hint = "pip install 'aurora-memory[mcp]'"
            tell(Note(f"The server needs the package mcp: {hint}", warning=True))
        return
    if server.token and client.inputs:
        tell(Note(f"{client.title} will ask for the token."))
    elif server.token:
        tell(Note(f"Set {TOKEN} where {client.title} is started; the file only names it."))
    if server.is_exposed:
        tell(Note("The token goes to this address unencrypted: prefer https", warning=True))
