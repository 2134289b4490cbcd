"""Where a memory is kept: in a file of its own, or on a PostgreSQL server.

Where a first index puts a memory: at the top of the git repository around a folder.
"""

from __future__ import annotations

import re
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from aurora.config.places import Places, make_project, shown
from aurora.errors import ConfigError, StoreError, StoreFormatError
from aurora.sources.git import find_root
from aurora.stores.base import Reclaimed, Store
from aurora.types import Listener, Note, ignore_events

if TYPE_CHECKING:
    from aurora.stores.postgres.address import Openly
    from aurora.stores.postgres.status import ServerStatus
    from aurora.stores.postgres.store import PostgresStore
    from aurora.stores.sqlite.store import SQLiteStore


INDEXES = "indexes"  # the folder beside a memory
_LOOKS, _PAUSE = 10, 0.1  # seconds
# In libpq's other form, or without the scheme: neither is an address here, nor a file's name.
_HAS_PASSWORD = re.compile(
    r"(?i)^(?!postgres(?:ql)?://).*password\s*=|^/{0,2}[\w.-]+:[^/@]+@[\w.-]+/"
)
_LARGE = 100 << 20  # bytes of a file: to check so many takes a second or more


class StoreLocation(Protocol):
    """Two that are equal are the same place; what is there may change all the same."""

    @property
    def name(self) -> Path | str:
        """A file, or what a server is called: never with its password."""
        ...

    def stamp(self) -> object:
        """Tells one database from another at this place; None where there is none yet."""
        ...

    def open(self, listen: Listener = ignore_events) -> Store:
        """Who listens is told if the first reading will take long."""
        ...

    def make(self) -> None:
        """Make the database, if it is not there."""
        ...

    def reclaim(self) -> Reclaimed | None:
        """Make a file that cannot be opened usable again, with all that can be read of it."""
        ...

    def scrub(self) -> None:
        """Overwrite what was removed in all of its files, however long that takes."""
        ...


@dataclass(frozen=True, slots=True)
class SqliteLocation:
    """SQLite. Rows up to `waiting` are hidden but for those of files."""

    path: Path
    waiting: int = 0

    @property
    def name(self) -> Path:
        return self.path

    def stamp(self) -> tuple[int, int] | None:
        try:
            status = self.path.stat()
        except (OSError, ValueError):
            return None
        return status.st_dev, status.st_ino

    def open(self, listen: Listener = ignore_events) -> SQLiteStore:
        from aurora.stores.sqlite.store import SQLiteStore  # noqa: PLC0415 - or that of a server

        if self._was_emptied():
            raise StoreFormatError(
                f"{self.path} is empty, though indexes were made of it",
                hint="put a backup in its place; or keep what is left "
                f"(`mv {self.path} {self.path}.empty`), then index again and `aur mem import` an "
                "export",
            )
        store, size = SQLiteStore(self.path, waiting=self.waiting), self._size()
        if size >= _LARGE and not store.is_sealed:
            listen(
                Note(f"Checking {size / 2**20:,.0f} MiB for damage: it is not as Aurora left it...")
            )
        return store

    def make(self) -> None:
        if not self.path.exists():
            self.open().close()

    def reclaim(self) -> Reclaimed | None:
        from aurora.stores.sqlite.store import SQLiteStore  # noqa: PLC0415 - or that of a server

        return None if self.stamp() is None else SQLiteStore.reclaim(self.path)

    def scrub(self) -> None:
        with closing(self.open()) as store:
            store.maintenance.scrub()

    def _was_emptied(self) -> bool:
        """By a disk that lost it. One that another process is making is soon filled."""
        for _ in range(_LOOKS):
            if not self._is_empty() or not self.path.with_name(INDEXES).exists():
                return False
            time.sleep(_PAUSE)
        return True

    def _is_empty(self) -> bool:
        return 0 <= self._size() <= 1  # of one byte SQLite makes a new database, too

    def _size(self) -> int:
        """-1 where there is none."""
        try:
            return self.path.stat().st_size
        except (OSError, ValueError):
            return -1


@dataclass(frozen=True, slots=True, repr=False)
class PostgresLocation:
    """PostgreSQL. Opening asks the server: whether a memory is there is known only then."""

    url: str
    schema: str

    @property
    def name(self) -> str:
        require_driver()
        from aurora.stores.postgres.address import parse_address  # noqa: PLC0415 - an extra

        return parse_address(self.url, self.schema).shown

    def stamp(self) -> object:
        return self.url, self.schema

    def open(self, listen: Listener = ignore_events) -> PostgresStore:  # noqa: ARG002
        require_driver()
        from aurora.stores.postgres.store import PostgresStore  # noqa: PLC0415

        return PostgresStore.open(self.url, self.schema)

    def make(self, *, partitions: int = 0) -> None:
        require_driver()
        from aurora.stores.postgres.store import PostgresStore  # noqa: PLC0415

        PostgresStore.create(self.url, self.schema, partitions=partitions).close()

    def set_up(self, *, partitions: int = 0) -> list[str]:
        """Make what a memory needs, where it is missing; the names of the steps."""
        require_driver()
        from aurora.stores.postgres.address import parse_address  # noqa: PLC0415
        from aurora.stores.postgres.connection import Connections  # noqa: PLC0415
        from aurora.stores.postgres.migrate import migrate  # noqa: PLC0415

        return migrate(Connections(parse_address(self.url, self.schema)), partitions=partitions)

    def migrate(self, listen: Listener = ignore_events) -> list[str]:
        """Bring the memory there up to date; the names of the steps."""
        require_driver()
        from aurora.stores.postgres.store import PostgresStore  # noqa: PLC0415

        return PostgresStore.migrate(self.url, self.schema, listen=listen)

    def reclaim(self) -> Reclaimed | None:
        return None

    def scrub(self) -> None:
        with closing(self.open()) as store:
            store.maintenance.rewrite()

    def status(self) -> ServerStatus:
        require_driver()
        from aurora.stores.postgres.address import parse_address  # noqa: PLC0415
        from aurora.stores.postgres.status import read_status  # noqa: PLC0415

        return read_status(parse_address(self.url, self.schema))

    def openly(self) -> Openly:
        """The address as it may be written down."""
        require_driver()
        from aurora.stores.postgres.address import without_password  # noqa: PLC0415

        return without_password(self.url, self.schema)

    def __repr__(self) -> str:
        return "OnServer(hidden)"


def require_driver() -> None:
    try:
        import psycopg  # noqa: PLC0415
        import psycopg_pool  # noqa: PLC0415
    except ImportError as exc:
        raise StoreError(
            "store.url names a PostgreSQL server, and its driver is not installed",
            hint="pip install 'aurora-memory[postgres]'",
        ) from exc
    del psycopg, psycopg_pool


def shown_name(name: Path | str | None) -> str:
    """As a person would type it; what has no file of its own is in the database."""
    return shown(name) if isinstance(name, Path) else name or "the database"


def parse_place(word: str) -> StoreLocation:
    """A place that was typed: a file, or an address with the schema behind a `#`."""
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


def start_project(places: Places, root: Path) -> Places:
    """Make the project's folder, unless it would be the user's own."""
    make_project(root)
    found = Places.find(root, {"AURORA_HOME": str(places.home)})
    return found if found.project == root else places


def places_to_index(places: Places, here: Path) -> Places:
    """The memory to index a folder into: inside a git repository the project's own, made if need
    be."""
    root = find_root(here) if places.project is None else None
    # A repository may call any folder its work tree; a memory is made only around us.
    inside = root is not None and here.resolve().is_relative_to(root.resolve())
    return start_project(places, root) if root is not None and inside else places
