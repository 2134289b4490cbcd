"""Where a memory is stored: in a SQLite file, or in a schema of a PostgreSQL server.

Both kinds have the same methods, so that no caller asks which kind it has. `path` is None for a
server, `server` for a file. Equal locations are the same place.
"""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from aurora import stores
from aurora.config.places import shown
from aurora.errors import ConfigError, NoMemoryError, StoreError, StoreFormatError
from aurora.lazy_patterns import lazy_pattern
from aurora.package_manager import install_command
from aurora.quick_classes import dataclass
from aurora.stores.base import Reclaimed
from aurora.stores.sqlite.database_file import schema_of
from aurora.stores.sqlite.repair import reclaim
from aurora.stores.sqlite.schema import MIGRATIONS
from aurora.stores.sqlite.store import SQLiteStore
from aurora.types import Json, Listener, Note, ignore_events

if TYPE_CHECKING:
    from aurora.stores.postgres.address import Address, Openly
    from aurora.stores.postgres.status import ServerStatus
    from aurora.stores.postgres.store import PostgresStore

INDEXES = "indexes"  # the folder beside a database file
_EMPTY_CHECKS, _EMPTY_PAUSE = 10, 0.1  # seconds between two looks at an empty file
# A password in libpq's keyword form, or an address without its scheme.
_HAS_PASSWORD = lazy_pattern(
    r"(?i)^(?!postgres(?:ql)?://).*password\s*=|^/{0,2}[\w.-]+:[^/@]+@[\w.-]+/"
)
_LARGE = 100 << 20  # bytes of a file whose check takes a second or more


@dataclass(frozen=True, slots=True)
class SqliteLocation:
    """A SQLite file. Rows up to `waiting` are hidden, except those of files."""

    path: Path
    waiting: int = 0
    read_only: bool = False
    server: ClassVar[None] = None

    @property
    def name(self) -> Path:
        """The file, or the address of the server without its password."""
        return self.path

    def stamp(self) -> object:
        """Identifies the database at this location; None while there is none."""
        try:
            status = self.path.stat()
        except (OSError, ValueError):
            return None
        return status.st_dev, status.st_ino

    def open(self, listen: Listener = ignore_events) -> SQLiteStore:
        """The store. `listen` receives a note if the first read will take long."""
        if self._was_emptied():
            raise StoreFormatError(
                f"{self.path} is empty, though indexes were made of it",
                hint="put a backup in its place; or keep what is left "
                f"(`mv {self.path} {self.path}.empty`), then index again and `aur mem import` an "
                "export",
            )
        store = SQLiteStore(self.path, waiting=self.waiting, read_only=self.read_only)
        size = self._size()
        if size >= _LARGE and not store.is_sealed:
            megabytes = f"{size / 2**20:,.0f} MiB"
            listen(Note(f"Checking {megabytes} for damage: the file changed outside of Aurora..."))
        return store

    def make(self) -> None:
        """Create the database, if it does not exist."""
        if not self.path.exists():
            self.open().close()

    def reclaim(self) -> Reclaimed | None:
        """Rebuild a file that cannot be opened, from all rows that can be read."""
        return None if self.stamp() is None else reclaim(self.path)

    def scrub(self) -> None:
        """Overwrite removed data in all files of the database, however long that takes."""
        with closing(self.open()) as store:
            store.maintenance.scrub()

    def _was_emptied(self) -> bool:
        """True for an empty file beside indexes. A process that creates it fills it soon."""
        for _ in range(_EMPTY_CHECKS):
            is_empty = 0 <= self._size() <= 1  # SQLite makes a new database of one byte, too
            if not is_empty or not self.path.with_name(INDEXES).exists():
                return False
            time.sleep(_EMPTY_PAUSE)
        return True

    def _size(self) -> int:
        """Bytes of the file; -1 if it does not exist."""
        try:
            return self.path.stat().st_size
        except (OSError, ValueError):
            return -1


@dataclass(frozen=True, slots=True, repr=False)
class PostgresLocation:
    """A schema of a PostgreSQL server. Only opening shows whether a memory exists."""

    url: str
    schema: str
    read_only: bool = False
    path: ClassVar[None] = None

    @property
    def _address(self) -> Address:
        require_driver()
        return stores.postgres.address.parse_address(self.url, self.schema)

    @property
    def _store(self) -> type[PostgresStore]:
        require_driver()
        return stores.postgres.store.PostgresStore

    @property
    def name(self) -> str:
        return self._address.shown

    @property
    def server(self) -> PostgresLocation:
        return self

    def stamp(self) -> object:
        return self.url, self.schema

    def open(self, listen: Listener = ignore_events) -> PostgresStore:  # noqa: ARG002
        return self._store.open(self.url, self.schema, read_only=self.read_only)

    def make(self, *, partitions: int = 0) -> None:
        self._store.create(self.url, self.schema, partitions=partitions).close()

    def set_up(self, *, partitions: int = 0) -> list[str]:
        """Create what a memory needs and the server lacks; the names of the steps."""
        address = self._address
        connections = stores.postgres.connection.Connections(address)
        return stores.postgres.migrate.migrate(connections, partitions=partitions)

    def migrate(self, listen: Listener = ignore_events) -> list[str]:
        """Bring the memory's tables up to date; the names of the steps."""
        return self._store.migrate(self.url, self.schema, listen=listen)

    def grant(self, role: str, *, writes: bool) -> None:
        """Let another role of the server read the memory, or write it too."""
        address = self._address
        stores.postgres.grants.grant(address, role, writes=writes)

    def revoke(self, role: str) -> None:
        address = self._address
        stores.postgres.grants.revoke(address, role)

    def reclaim(self) -> Reclaimed | None:
        return None

    def scrub(self) -> None:
        with closing(self.open()) as store:
            store.maintenance.rewrite()

    def status(self) -> ServerStatus:
        address = self._address
        return stores.postgres.status.read_status(address)

    def openly(self) -> Openly:
        """The address without its password, as settings may hold it."""
        require_driver()
        return stores.postgres.address.without_password(self.url, self.schema)

    def __repr__(self) -> str:
        return "PostgresLocation(hidden)"


StoreLocation: TypeAlias = SqliteLocation | PostgresLocation


def require_driver() -> None:
    """Load `stores.postgres`. Raise `StoreError` if its driver, an extra, is not installed."""
    try:
        from aurora.stores.postgres import aurorakb, grants, status, store  # noqa: F401, PLC0415
    except ImportError as exc:
        raise StoreError(
            "store.url names a PostgreSQL server, and its driver is not installed",
            hint=install_command("postgres"),
        ) from exc


def shown_name(name: Path | str | None) -> str:
    """A location's name as a person would type it."""
    return shown(name) if isinstance(name, Path) else name or "the database"


def parse_place(word: str) -> StoreLocation:
    """The location that a person typed: a file, or an address with the schema after a `#`."""
    if _HAS_PASSWORD.search(word):
        raise ConfigError(
            "A password stands in what should be a file or an address",
            hint="write postgresql://USER@HOST:PORT/DATABASE, and put the password into PGPASSWORD "
            "or ~/.pgpass",
        )
    if "://" not in word:
        return SqliteLocation(Path(word).expanduser())
    url, _, schema = word.partition("#")
    return PostgresLocation(url, schema or "aurora")


def file_status(location: StoreLocation) -> dict[str, Json]:
    """The schema version of a database file, and the newest one. Empty for a server."""
    if location.path is None:
        return {}
    if location.stamp() is None:
        raise NoMemoryError(
            f"There is no memory yet at {shown_name(location.name)}",
            hint="make one with `aur mem index .`, or on a server with `aur db init URL`",
        )
    return {"schema_version": schema_of(location.path), "newest_schema": len(MIGRATIONS)}
