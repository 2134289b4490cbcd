"""`aur db`: the database behind a memory, where that is a PostgreSQL server."""

from __future__ import annotations

import click

from aurora.cli.printing import print_json, print_text
from aurora.cli.session import find_places, open_memory, tell
from aurora.cli.store_url import remember_server
from aurora.engine.database import file_status
from aurora.engine.whereabouts import InFile, OnServer, Whereabouts, shown_name
from aurora.errors import ConfigError

_AS_JSON = "Print one JSON object, for programs: docs/reference/json.md."


@click.command(
    epilog="""\b
Examples:
  aur db init postgresql://ada@db.example.org/team
  aur db init postgresql://ada@db.example.org/team --schema api --partitions 8
  aur db init --no-config postgresql://ada@db.example.org/team
\b
Makes pgvector, the schema and its tables where they are missing, and says what it made. The
address goes into the project's settings, or yours outside a project, without a password: keep
that in PGPASSWORD or ~/.pgpass. Partitions are by namespace, and for good."""
)
@click.argument("url", required=False)
@click.option("--schema", metavar="NAME", help="Schema of this memory; a database holds many.")
@click.option(
    "--partitions", metavar="N", type=click.IntRange(0, 256), default=0,
    help="Split the large tables; pays from some million chunks on.",
)  # fmt: skip
@click.option("--no-config", is_flag=True, help="Leave the settings as they are.")
def init(url: str | None, *, schema: str | None, partitions: int, no_config: bool) -> None:
    """Make a memory on the PostgreSQL server at URL, or at `store.url`."""
    places = find_places()
    if url is None:
        with open_memory(places) as memory:
            server = _server(memory.whereabouts)
            server = OnServer(server.url, schema or server.schema)
    else:
        server = OnServer(url, schema or "aurora")
        server.openly()  # what is no address is refused before anybody is asked
    made = server.set_up(partitions=partitions)
    click.echo(f"Made {', '.join(made)}" if made else "All of it was there already")
    click.echo(f"The memory is {server.name}")
    if url is not None and not no_config:
        remember_server(places, server, schema=schema)


def _server(at: Whereabouts) -> OnServer:
    if isinstance(at, OnServer):
        return at
    raise ConfigError(
        f"No server is named: the memory is the file {shown_name(at.name)}",
        hint="name one: `aur db init postgresql://USER@HOST/DATABASE`",
    )


@click.command(
    epilog="""\b
Examples:
  aur db migrate
\b
Each step is done whole or not at all. An older Aurora cannot use the memory afterwards: have
everybody who shares it upgrade, too."""
)
def migrate() -> None:
    """Bring the memory's tables, and the words that searches go by, up to date."""
    with open_memory() as memory:
        at = memory.whereabouts
        if isinstance(at, OnServer):
            try:
                done = at.migrate(tell)
            finally:
                tell.finish()
            click.echo(f"Done: {', '.join(done)}" if done else f"{at.name} is up to date")
            return
        status = file_status(at) if isinstance(at, InFile) else {}
    click.echo(f"{shown_name(at.name)} is a file: every command brings it up to date by itself")
    click.echo(f"Schema {status['schema_version']} of {status['newest_schema']}")


@click.command(
    epilog="""\b
Examples:
  aur db scrub
\b
On a server the tables are written anew, by their owner, while nobody can search: its files keep
words of removed rows until then. `aur mem forget` does the same where that takes a moment.
The server's log (WAL) and its backups are not touched."""
)
def scrub() -> None:
    """Overwrite what was removed from the memory, in all files of the database."""
    with open_memory() as memory:
        memory.scrub_all()
        click.echo(f"Nothing that was removed is left in {shown_name(memory.name)}")


@click.command(
    epilog="""\b
Examples:
  aur db status
  aur db status --json | jq .hosts
\b
Exits with 2 when the memory cannot be used, and says why."""
)
@click.option("--json", "as_json", is_flag=True, help=_AS_JSON)
def status(*, as_json: bool) -> None:
    """Tell how the database is: its servers, versions, sizes and connections."""
    from aurora.display.database import render_database

    with open_memory() as memory:
        at = memory.whereabouts
        if not isinstance(at, OnServer):
            _tell_file(at, as_json=as_json)
            return
        found = at.status()
    if as_json:
        usable = found.trouble is None
        error = None if usable else str(found.trouble)
        print_json({
            "address": found.address, "kind": "postgresql", "usable": usable, "error": error,
            "hosts": [*found.hosts], **found.told, "untold": {**found.untold},
        })  # fmt: skip
    else:
        print_text(render_database(found.address, found.hosts, found.told, found.untold))
    if found.trouble is not None:
        raise found.trouble


def _tell_file(at: Whereabouts, *, as_json: bool) -> None:
    status = file_status(at) if isinstance(at, InFile) else {}
    if as_json:
        print_json({"address": str(at.name), "kind": "sqlite", **status})
        return
    click.echo(f"The memory is a file: {shown_name(at.name)}")
    click.echo(f"Schema {status['schema_version']} of {status['newest_schema']}")
