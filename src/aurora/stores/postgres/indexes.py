"""Indexes that are built after a load, when they are worth it: of vectors, and of parts of words.

They are built outside transactions, because that takes time and blocks no reader. A build that was
interrupted is repeated.
"""

from __future__ import annotations

from psycopg import errors

from aurora.errors import StoreError
from aurora.stores.base import Embedder
from aurora.stores.postgres.connection import Database
from aurora.stores.postgres.schema import TRIGRAMS

_EXACT = 50_000  # vectors that are compared one by one; with more, an HNSW index selects
_FEW_WORDS = 50_000  # words that are all read; with more, an index of trigrams selects
_EDGES = 320  # bytes of a vector's edges while an HNSW index is built
_HNSW = """
    SELECT count(*) FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
        JOIN pg_am ON pg_am.oid = relam
    WHERE amname = 'hnsw' AND indisvalid AND relkind = 'i'
        AND relnamespace = current_schema()::regnamespace
        AND indrelid IN (SELECT relid FROM pg_partition_tree(%s::regclass) WHERE isleaf)"""
_LEAVES = """
    SELECT relid::regclass::text, pg_get_userbyid(relowner), pg_has_role(relowner, 'USAGE')
    FROM pg_partition_tree(%s::regclass) JOIN pg_class ON pg_class.oid = relid WHERE isleaf"""
# As much as the vectors need, but no more than the server was given for its own cache.
_MEMORY = """
    SELECT greatest(
        pg_size_bytes(current_setting('maintenance_work_mem')),
        least(%s::bigint * count(*), pg_size_bytes(current_setting('shared_buffers')))) / 1024
    FROM {table}"""
# What was added last lies in lists, which every look into the index reads from end to end.
_SORT_ADDED = """
    SELECT gin_clean_pending_list(indexrelid) FROM pg_index
        JOIN pg_class ON pg_class.oid = indexrelid JOIN pg_am ON pg_am.oid = relam
    WHERE amname = 'gin' AND relkind = 'i' AND pg_has_role(relowner, 'USAGE')
        AND relnamespace = current_schema()::regnamespace"""
_MAY_INDEX_WORDS = """
    SELECT count(*) FROM pg_class, pg_extension
    WHERE pg_class.oid = 'terms'::regclass AND pg_has_role(relowner, 'USAGE') AND extname = %s"""


class Indexes:
    """The indexes of one schema."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def has_hnsw(self, table: str) -> bool:
        return bool(self._database.rows(_HNSW, (table,))[0][0])

    def index_vectors(self, table: str, embedder: Embedder) -> str:
        """Returns a warning if this user cannot build the index; else an empty text."""
        if not self._has_more(table, _EXACT):
            return ""
        owners = set()
        for leaf, owner, is_owner in self._database.rows(_LEAVES, (table,)):
            if is_owner:
                self._make_hnsw(leaf, embedder.dimension)
            elif not self._is_valid(_index_of(leaf)):
                owners.add(owner)
        if not owners:
            return ""
        return (
            "The vectors have no index yet, and searches compare all of them: only the owner of "
            f"the tables can build it. Have {' or '.join(sorted(owners))} run `aur index`"
        )

    def _make_hnsw(self, table: str, dimension: int) -> None:
        name = _index_of(table)
        if self._is_valid(name):
            return
        create = (
            f"CREATE INDEX CONCURRENTLY {name} ON {table} "
            f"USING hnsw ((vector::halfvec({int(dimension)})) halfvec_cosine_ops) "
            "WITH (m = 16, ef_construction = 128)"
        )
        width = 2 * dimension + _EDGES
        memory = f"{self._database.rows(_MEMORY.format(table=table), (width,))[0][0]}kB"
        try:
            self._make(name, create, maintenance_work_mem=memory)
        except StoreError as exc:
            if not isinstance(exc.__cause__, errors.DiskFull):
                raise
            # Parallel workers share memory, of which a container may have little.
            alone = {"max_parallel_maintenance_workers": "0"}
            self._make(name, create, maintenance_work_mem=memory, **alone)

    def index_words(self) -> None:
        """Makes words quick to find, and parts of words, where the server has pg_trgm."""
        self._database.run_alone(_SORT_ADDED)
        name = "terms_trigrams"
        may = bool(self._database.rows(_MAY_INDEX_WORDS, (TRIGRAMS,))[0][0])
        if may and self._has_more("terms", _FEW_WORDS) and not self._is_valid(name):
            kind = "USING gin (term gin_trgm_ops)"
            self._make(name, f"CREATE INDEX CONCURRENTLY {name} ON terms {kind}")

    def _make(self, name: str, create: str, **settings: str) -> None:
        """Build an index, again if an earlier build was interrupted."""
        self._database.run_alone(f"DROP INDEX IF EXISTS {name}")
        self._database.run_alone(create, settings)

    def _is_valid(self, name: str) -> bool:
        """False also for an index whose build was interrupted."""
        sql = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)"
        valid = self._database.rows(sql, (name,))
        return bool(valid and valid[0][0])

    def _has_more(self, table: str, count: int) -> bool:
        sql = f"SELECT count(*) FROM (SELECT 1 FROM {table} LIMIT %s) AS counted"
        return int(self._database.rows(sql, (count,))[0][0]) == count


def _index_of(table: str) -> str:
    return f"{table.rpartition('.')[2]}_hnsw"
