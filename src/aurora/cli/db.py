"""`aur db`: the database of a memory on a PostgreSQL server; and `aur adopt`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click

from aurora.cli.session import confirm, find_places, open_memory, settings_files, tell
from aurora.cli.terminal import print_json, print_text
from aurora.config import Places
from aurora.config.edit import set_value
from aurora.config.load import LARGEST, approve, is_approved
from aurora.config.places import shown
from aurora.display.reports import render_database
from aurora.engine.adoption import Offer
from aurora.engine.location import PostgresLocation, StoreLocation, file_status, shown_name
from aurora.engine.memory import Memory
from aurora.errors import ConfigError, QueryError
from aurora.files import read_file, require_own
from aurora.stores.base import KnownCheckout
from aurora.text import pluralize, printable
from aurora.types import Chunk, Kind, Note

_WIDTH = 100  # letters of a row that are shown
_AS_JSON = "Print one JSON object, for programs: docs/reference/json.md."


@click.command(
    epilog="""\b
Examples:
  aur db init postgresql://ada@db.example.org/team
  aur db init postgresql://ada@db.example.org/team --schema api --partitions 8
  aur db init --no-config postgresql://ada@db.example.org/team
\b
Creates pgvector, the schema and its tables where they are missing, and prints them. The
address goes into the project's settings, or yours outside a project, without a password: keep
that in PGPASSWORD or ~/.pgpass. Partitions are by namespace and cannot be changed later."""
)
@click.argument("url", required=False)
@click.option("--schema", metavar="NAME", help="Schema of this memory; a database holds many.")
@click.option(
    "--partitions", metavar="N", type=click.IntRange(0, 256), default=0,
    help="Split the large tables; useful from some million chunks on.",
)  # fmt: skip
@click.option("--no-config", is_flag=True, help="Leave the settings as they are.")
def init(url: str | None, *, schema: str | None, partitions: int, no_config: bool) -> None:
    """Create a memory on the PostgreSQL server at URL, or at `store.url`."""
    places = find_places()
    if url is None:
        with open_memory(places) as memory:
            server = _server(memory.admin.location)
            server = PostgresLocation(server.url, schema or server.schema)
    else:
        server = PostgresLocation(url, schema or "aurora")
        server.openly()  # refuses an invalid address before it connects
    created = server.set_up(partitions=partitions)
    click.echo(f"Made {', '.join(created)}" if created else "All of it was there already")
    click.echo(f"The memory is {server.name}")
    if url is not None and not no_config:
        _remember_server(places, server, schema=schema)


def _server(at: StoreLocation) -> PostgresLocation:
    if at.server is not None:
        return at.server
    raise ConfigError(
        f"No server is named: the memory is the file {shown_name(at.name)}",
        hint="name one: `aur db init postgresql://USER@HOST/DATABASE`",
    )


def _remember_server(places: Places, server: PostgresLocation, *, schema: str | None) -> None:
    """Write the address, without its password, to the project's settings or the user's."""
    file = places.project_config or places.user_config
    if places.project is not None:
        require_own(places.memory_folder)
    may_approve = _may_approve(places, file)
    address = server.openly()
    set_value(file, "store.url", address.url)
    if schema is not None:
        set_value(file, "store.schema", schema)
    if file == places.project_config:
        if may_approve:
            approve(places.home, file)
        else:
            message = "chooses more than that, and is not approved: read it, then run"
            tell(Note(f"{shown(file)} {message} `aur config approve`", warning=True))
    click.echo(f"Set store.url in {shown(file)}", err=True)
    if address.pgpass:
        tell(
            Note(
                "The password was not written there. Put it into ~/.pgpass (chmod 600) as "
                f"{address.pgpass}, or into the environment variable PGPASSWORD",
                warning=True,
            )
        )
    loaded = settings_files(places).current()
    if loaded.settings.store.url != address.url and "store.url" in loaded.origins:
        origin = loaded.origins["store.url"]
        tell(Note(f"store.url of {origin} overrides it with another place", warning=True))


def _may_approve(places: Places, file: Path) -> bool:
    """Whether the user knows the file's content: a file of a clone may hold unread settings."""
    try:
        content = read_file(file, most=LARGEST, follow=file == places.user_config)
    except OSError:
        return True  # there is no file yet
    ignored = [text for text in settings_files(places).current().warnings if shown(file) in text]
    return not ignored or is_approved(places.home, file, content)


@click.command(
    epilog="""\b
Examples:
  aur db migrate
\b
Each step is done whole or not at all. An older Aurora cannot use the memory afterwards: have
all its users upgrade, too."""
)
def migrate() -> None:
    """Bring the memory's tables and keyword index up to date."""
    with open_memory() as memory:
        at = memory.admin.location
        if server := at.server:
            try:
                done = server.migrate(tell)
            finally:
                tell.finish()
            click.echo(f"Done: {', '.join(done)}" if done else f"{at.name} is up to date")
            return
        status = file_status(at)
    click.echo(f"{shown_name(at.name)} is a file: every command brings it up to date by itself")
    click.echo(f"Schema {status['schema_version']} of {status['newest_schema']}")


@click.command(
    epilog="""\b
Examples:
  aur db grant reader ben
  aur db grant writer ci
\b
A reader searches, opens chunks and sees statistics; what it opens is not remembered as a use.
A writer also indexes, adds, learns and forgets. Neither can alter or drop tables, or gets rights in
other schemas. The role must exist. Tables of later versions are included."""
)
@click.argument("right", type=click.Choice(["reader", "writer"]))
@click.argument("role")
def grant(right: str, role: str) -> None:
    """Let another ROLE of the PostgreSQL server read or write the memory.

    Only the owner of the memory can. A writer that becomes a reader loses the other rights.
    """
    with open_memory() as memory:
        server = _server(memory.admin.location)
        server.grant(role, writes=right == "writer")
    can = "read and write" if right == "writer" else "read"
    click.echo(f"{printable(role)} can {can} {server.name}")


@click.command(
    epilog="""\b
Examples:
  aur db revoke ben
\b
The role can still connect to the database: `REVOKE CONNECT` or `DROP ROLE` is for its
administrator."""
)
@click.argument("role")
def revoke(role: str) -> None:
    """Take all rights in the memory from a ROLE."""
    with open_memory() as memory:
        server = _server(memory.admin.location)
        server.revoke(role)
    click.echo(f"{printable(role)} has no rights in {server.name}")


@click.command(
    epilog="""\b
Examples:
  aur db checkouts
  aur db checkouts --forget "ben@laptop main"
\b
Worktrees share the file of their repository, and people share a server. Each index run removes only
files of its own checkout; a file is kept until no checkout has it."""
)
@click.option("--forget", "name", help="Remove a checkout, and the files that no other one has.")
@click.option("--json", "as_json", is_flag=True, help=_AS_JSON)
def checkouts(*, name: str | None, as_json: bool) -> None:
    """List the worktrees or people that share this memory, with their last index run."""
    with open_memory() as memory:
        known = memory.admin.store.checkouts.known()
        if name is not None:
            _forget_checkout(memory, known, name)
            return
        own = memory.admin.checkout
    if as_json:
        print_json({"checkouts": [
            {"name": each.checkout.name, "indexed_at": each.indexed_at.isoformat(),
             "here": each.checkout == own}
            for each in known
        ]})  # fmt: skip
        return
    for each in known:
        here = "  (here)" if each.checkout == own else ""
        click.echo(f"{each.indexed_at:%Y-%m-%d %H:%M}  {printable(each.checkout.name)}{here}")
    if not known:
        click.echo("Only this checkout uses the memory", err=True)


def _forget_checkout(memory: Memory, known: Sequence[KnownCheckout], name: str) -> None:
    numbers = [each.number for each in known if each.checkout.name == name]
    if not numbers:
        raise QueryError(f"There is no checkout {name!r}", hint="`aur db checkouts` lists them")
    removed = sum(memory.admin.store.checkouts.forget(number) for number in numbers)
    count = pluralize(removed, "chunk")
    click.echo(f"Forgot {printable(name)}: {count} that no other checkout has")


@click.command(
    epilog="""\b
Examples:
  aur db scrub
\b
On a server the tables are rewritten, by their owner, and cannot be searched meanwhile: until then
its files keep words of removed rows. `aur mem forget` does the same for small tables.
The server's log (WAL) and its backups are not touched."""
)
def scrub() -> None:
    """Overwrite what was removed from the memory, in all files of the database."""
    with open_memory() as memory:
        memory.admin.scrub_all()
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
    """Show the state of the database: its servers, versions, sizes and connections."""
    with open_memory() as memory:
        at = memory.admin.location
        if at.server is None:
            _print_file_status(at, as_json=as_json)
            return
        server = at.server.status()
    if as_json:
        usable = server.trouble is None
        error = None if usable else str(server.trouble)
        print_json({
            "address": server.address, "kind": "postgresql", "usable": usable, "error": error,
            "hosts": [*server.hosts], **server.answers, "untold": {**server.unanswered},
        })  # fmt: skip
    else:
        print_text(render_database(server.address, server.hosts, server.answers, server.unanswered))
    if server.trouble is not None:
        raise server.trouble


def _print_file_status(at: StoreLocation, *, as_json: bool) -> None:
    status = file_status(at)
    if as_json:
        print_json({"address": str(at.name), "kind": "sqlite", **status})
        return
    click.echo(f"The memory is a file: {shown_name(at.name)}")
    click.echo(f"Schema {status['schema_version']} of {status['newest_schema']}")


@click.command(
    epilog="""\b
Examples:
  aur adopt         shows every lesson and document, then asks
\b
A memory from an archive or another computer shows only the chunks of its files. Agents get its
lessons and documents as yours once you adopt them: read them first."""
)
def adopt() -> None:
    """Show the lessons and documents of a memory that another user made, and take them over.

    Without a terminal they are only shown: no agent and no script can adopt for you.
    """
    with open_memory() as memory, memory.admin.adoption() as offer:
        if offer is None:
            click.echo("All of this memory is yours: there is nothing to adopt", err=True)
        else:
            _confirm(offer)
            offer.adopt()
            click.echo(f"Adopted {pluralize(len(offer.chunks), 'chunk')}", err=True)


def _confirm(offer: Offer) -> None:
    for chunk in offer.chunks:
        click.echo(f"  {_what(chunk):8}  {printable(_line(chunk))[:_WIDTH]}")
    if offer.foreign:
        names = printable(", ".join(offer.foreign))
        tell(Note(f"Left out, as Aurora never creates it: {names}", warning=True))
    counts = Counter(map(_what, offer.chunks))
    counted = ", ".join(pluralize(count, what) for what, count in sorted(counts.items()))
    confirm(
        f"Adopt {counted or 'no rows'} of {shown(offer.path)} as yours?",
        refused="Nothing was adopted.",
        error=ConfigError(
            f"Only a person can adopt {counted or 'a memory'}", hint="run `aur adopt` in a terminal"
        ),
    )


def _what(chunk: Chunk) -> str:
    if chunk.kind is Kind.REASONING:
        return "lesson"
    return "log" if chunk.metadata.get("source") == "conversation" else "document"


def _line(chunk: Chunk) -> str:
    text = " ".join(chunk.content.split())
    return text if chunk.kind is Kind.REASONING else f"{chunk.name or chunk.id}: {text}"
