"""The tables of a memory in SQLite, as numbered migrations, and conditions on their rows.

A released migration is never edited. `rowid` numbers are never used again (AUTOINCREMENT), so that
an index can tell new rows from old ones. The text indexes are external-content FTS5 tables. Their
triggers delete and insert, because an update trigger on such a table corrupts it. Trigrams exist
only for rows with CJK text: only CJK queries need them, and they take three times their text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from aurora.lazy_patterns import lazy_pattern
from aurora.quick_classes import NamedTuple
from aurora.types import REPLACED_BY, Kind

APPLICATION_ID = 0x41555241  # "AURA", tells Aurora's databases from those of other programs


class Migration(NamedTuple):
    """One step to the next version: SQL statements that run in one transaction."""

    name: str
    statements: Sequence[str]


_CHUNKS = """
CREATE TABLE chunks (
    rowid           INTEGER PRIMARY KEY AUTOINCREMENT,
    id              TEXT    NOT NULL UNIQUE,
    kind            TEXT    NOT NULL,
    name            TEXT    NOT NULL,
    qualified_name  TEXT    NOT NULL,
    path            TEXT    NOT NULL,
    start_line      INTEGER,
    end_line        INTEGER,
    language        TEXT    NOT NULL,
    content         TEXT    NOT NULL,
    namespace       TEXT    NOT NULL,
    document_type   TEXT    NOT NULL,
    created_at      REAL,              -- seconds since 1970, UTC
    metadata        TEXT    NOT NULL,  -- JSON object
    has_cjk         INTEGER NOT NULL,
    generation      INTEGER NOT NULL   -- above the store's generation before this row last changed
)"""

TEXT_INDEXES = ("chunks_words", "chunks_trigrams")

# `text.fold_name` in SQL. An index uses this expression, so queries must use the same wording.
FOLDED_NAME = "lower(replace(replace(replace(name, '_', ''), '-', ''), ' ', ''))"

_ADD = "INSERT INTO {table}(rowid, name, content) VALUES (new.rowid, new.name, new.content)"
_REMOVE = (
    "INSERT INTO {table}({table}, rowid, name, content) "
    "VALUES ('delete', old.rowid, old.name, old.content)"
)


def _triggers(table: str, only: str = "") -> list[str]:
    """Keep an FTS5 table in step with `chunks`."""

    def trigger(suffix: str, event: str, row: str, statement: str) -> str:
        when = f"WHEN {row}.{only}" if only else ""
        return (
            f"CREATE TRIGGER {table}_{suffix} AFTER {event} ON chunks {when} "
            f"BEGIN {statement.format(table=table)}; END"
        )

    changed = "UPDATE OF name, content, has_cjk"
    return [
        trigger("insert", "INSERT", "new", _ADD),
        trigger("delete", "DELETE", "old", _REMOVE),
        trigger("before_update", changed, "old", _REMOVE).replace("AFTER", "BEFORE", 1),
        trigger("after_update", changed, "new", _ADD),
    ]


# Without OR IGNORE: in a trigger, the statement that fires it decides about conflicts.
_ADD_SYMBOLS = "INSERT INTO symbols"


def _symbols(row: str, source: str = "FROM") -> str:
    """A query of the rows of `symbols`. Python also writes JSON that SQLite cannot read.

    `printf` ends a name at a NUL, as `json_extract` does in some versions of SQLite.
    """
    folded = FOLDED_NAME.replace("name", "printf('%s', json_extract(symbol.value, '$[0]'))")
    return f"""
        SELECT DISTINCT {folded}, {row}.rowid
        {source} json_each(
            iif(json_valid({row}.metadata), {row}.metadata, '{{}}'), '$.symbols') AS symbol
        WHERE symbol.type = 'array' AND json_extract(symbol.value, '$[0]') IS NOT NULL"""


_ALL_SYMBOLS = _symbols("chunks", "FROM main.chunks AS chunks,")
LIST_SYMBOLS = f"{_ADD_SYMBOLS} {_ALL_SYMBOLS}"

NEXT_EMBEDDINGS = """
CREATE TABLE next_embeddings (
    chunk   INTEGER PRIMARY KEY REFERENCES chunks(rowid) ON DELETE CASCADE,
    vector  BLOB NOT NULL  -- little-endian float16
)"""

# The table after m006, created again whenever another model has taken over.
CHECKED_EMBEDDINGS = """
CREATE TABLE next_embeddings (
    chunk     INTEGER PRIMARY KEY REFERENCES chunks(rowid) ON DELETE CASCADE,
    vector    BLOB    NOT NULL,  -- little-endian float16
    checksum  INTEGER NOT NULL DEFAULT 0
)"""

# The columns of the checksum in the order of `rows.chunk_values`. Texts are cast to bytes, with the
# same checksum, because a damaged text may not be UTF-8.
_TEXTS = {name: f"CAST({name} AS BLOB)" for name in (
    "id", "kind", "name", "qualified_name", "path", "language", "content", "namespace",
    "document_type", "metadata",
)}  # fmt: skip
_SUMMED = (
    "id", "kind", "name", "qualified_name", "path", "start_line", "end_line", "language",
    "content", "namespace", "document_type", "created_at", "metadata",
)  # fmt: skip
_FIRST_CHECKSUMS = {
    "chunks": f"checksum({', '.join(_TEXTS.get(name, name) for name in _SUMMED)})",
    "embeddings": "checksum(chunk, vector)",
    "next_embeddings": "checksum(chunk, vector)",
    "histories": "checksum(chunk, CAST(tracking AS BLOB), commits, uncommitted)",
}
# With table names, because these are used in joins.
_LATER_CHECKSUMS = {
    "facts": "checksum(CAST(facts.name AS BLOB), CAST(facts.value AS BLOB))",
    "files": """checksum(
        CAST(files.path AS BLOB), files.size, files.modified_ns, CAST(files.digest AS BLOB),
        CAST(files.left_out AS BLOB), CAST(files.history_stamp AS BLOB), files.history_read_at)""",
    "reasoning": """checksum(
        reasoning.chunk, CAST(reasoning.pattern_type AS BLOB), reasoning.success_score,
        reasoning.usage_count, reasoning.created_at)""",
    "accesses": "access_checksum(accesses.chunk, accesses.at)",
}
_FILE_CHECKSUM = _LATER_CHECKSUMS["files"].removesuffix(")") + ", CAST(files.identity AS BLOB))"
_CHECKOUT_FILE_CHECKSUM = (
    _FILE_CHECKSUM.removesuffix(")") + ", CAST(files.variant AS BLOB), files.checkout)"
)
CHECKSUMS = {**_FIRST_CHECKSUMS, **_LATER_CHECKSUMS, "files": _CHECKOUT_FILE_CHECKSUM}
HANGING = tuple(CHECKSUMS.keys() - {"chunks", "facts", "files"})  # tables that refer to chunks
_INVALID = f"""
    OR chunks.kind NOT IN ({", ".join(f"'{kind}'" for kind in Kind)})
    OR coalesce(abs(chunks.created_at), 0) > 2.6e11 OR typeof(chunks.created_at) = 'text'
    OR NOT (json_valid(chunks.metadata)  -- Python also writes these
        OR chunks.metadata GLOB '*NaN*' OR chunks.metadata GLOB '*Infinity*')"""
SUM_UP = f"UPDATE main.chunks SET checksum = {CHECKSUMS['chunks']}"


def is_damaged(table: str) -> str:
    """A condition: the row is not as it was written, or Aurora never writes such a row."""
    invalid = _INVALID if table == "chunks" else ""
    return f"({table}.checksum IS NOT {CHECKSUMS[table]}{invalid})"


# A partial index has this condition, so queries must use the same wording. The first test excludes
# nearly all rows without reading JSON.
_REPLACED = f"""iif(instr(metadata, '"{REPLACED_BY}"') AND json_valid(metadata),
    json_extract(metadata, '$.{REPLACED_BY}'), NULL) IS NOT NULL"""
HIDDEN_ROWS = f"SELECT rowid FROM main.chunks WHERE {_REPLACED}"
# Follows a list of columns and precedes `AND …`.
SEARCHABLE = f"FROM chunks WHERE chunks.rowid NOT IN ({HIDDEN_ROWS})"


def _fact(key: str) -> str:
    """A text in the metadata, or `[` where SQLite cannot read JSON that Python wrote. The first
    test excludes most rows without reading JSON."""
    return f"""iif(instr(metadata, '"{key}"'),
    iif(json_valid(metadata), json_extract(metadata, '$.{key}'), '['), NULL)"""


# Partial indexes have these expressions, so queries must use the same wording.
FACTS = {key: _fact(key) for key in ("source", "agent", "session", "branch", "project")}

EVERY_ROW = 1 << 62  # above any row number

# Rows of files. Lessons, documents and conversation logs have no path inside the project.
_OF_A_FILE = """
    kind <> 'reasoning' AND path IN (SELECT path FROM main.files)
    AND path NOT LIKE '/%' AND path NOT LIKE '../%' AND path NOT LIKE '_:%'"""


def hide_waiting(last: int) -> str:
    """A statement that hides rows up to `last`, except those of files.

    The view replaces the table in statements with `chunks`; statements with `main.chunks` see it.
    """
    return f"""
        CREATE TEMP VIEW chunks AS
        SELECT * FROM main.chunks WHERE rowid > {int(last)} OR ({_OF_A_FILE})"""


def list_waiting(last: int) -> str:
    """A query for the numbers of these hidden rows."""
    return f"SELECT rowid FROM main.chunks WHERE rowid <= {int(last)} AND NOT ({_OF_A_FILE})"


def _sum_up(checksums: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(
        statement
        for table, checksum in checksums.items()
        for statement in (
            f"ALTER TABLE {table} ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0",
            f"UPDATE {table} SET checksum = {checksum}",
        )
    )


MIGRATIONS: Sequence[Migration] = (
    Migration(
        "m001_create_memory",
        (
            _CHUNKS,
            "CREATE INDEX chunks_path ON chunks(path)",
            "CREATE INDEX chunks_namespace ON chunks(namespace)",
            "CREATE INDEX chunks_generation ON chunks(generation)",
            "CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
            "INSERT INTO facts VALUES ('identity', lower(hex(randomblob(16))))",
            """CREATE TABLE embeddings (
                   chunk   INTEGER PRIMARY KEY REFERENCES chunks(rowid) ON DELETE CASCADE,
                   vector  BLOB NOT NULL  -- little-endian float32
               )""",
            """CREATE TABLE accesses (
                   chunk  INTEGER NOT NULL REFERENCES chunks(rowid) ON DELETE CASCADE,
                   at     REAL    NOT NULL
               )""",
            "CREATE INDEX accesses_chunk ON accesses(chunk, at)",
            """CREATE TABLE reasoning (
                   chunk          INTEGER PRIMARY KEY REFERENCES chunks(rowid) ON DELETE CASCADE,
                   pattern_type   TEXT    NOT NULL,
                   success_score  REAL    NOT NULL,
                   usage_count    INTEGER NOT NULL,
                   created_at     REAL    NOT NULL
               )""",
            """CREATE TABLE files (
                   path         TEXT PRIMARY KEY,
                   size         INTEGER NOT NULL,
                   modified_ns  INTEGER NOT NULL,
                   digest       TEXT    NOT NULL
               ) WITHOUT ROWID""",
            """CREATE VIRTUAL TABLE chunks_words USING fts5(
                   name, content, content='chunks', content_rowid='rowid', tokenize='unicode61'
               )""",
            "CREATE VIEW cjk_chunks AS SELECT rowid, name, content FROM chunks WHERE has_cjk",
            """CREATE VIRTUAL TABLE chunks_trigrams USING fts5(
                   name, content, content='cjk_chunks', content_rowid='rowid', tokenize='trigram'
               )""",
            *_triggers("chunks_words"),
            *_triggers("chunks_trigrams", only="has_cjk"),
        ),
    ),
    Migration(
        "m002_remember_what_git_told",
        (
            """CREATE TABLE histories (
                   chunk        INTEGER PRIMARY KEY REFERENCES chunks(rowid) ON DELETE CASCADE,
                   tracking     TEXT    NOT NULL,
                   commits      BLOB    NOT NULL,  -- seconds since 1970, 64 bits, little-endian
                   uncommitted  INTEGER NOT NULL
               )""",
            "ALTER TABLE files ADD COLUMN left_out TEXT NOT NULL DEFAULT ''",
            "ALTER TABLE files ADD COLUMN history_stamp TEXT NOT NULL DEFAULT ''",
            "ALTER TABLE files ADD COLUMN history_read_at REAL",
            "CREATE INDEX chunks_kind ON chunks(kind)",  # counts without reading the texts
        ),
    ),
    Migration(
        # Two copies of a memory could use one generation for two changes. From here on they cannot
        # (`Revision`), and all older rows count as written now.
        "m003_number_revisions",
        (
            """UPDATE facts SET value = CAST(value + 1 + abs(random() % 4294967296) AS TEXT)
               WHERE name = 'generation'""",
            """UPDATE chunks SET generation =
                   (SELECT CAST(value AS INTEGER) FROM facts WHERE name = 'generation')""",
        ),
    ),
    Migration(
        # Finds names and criteria without reading the texts.
        "m004_find_by_name",
        (
            f"CREATE INDEX chunks_name ON chunks({FOLDED_NAME}, name, qualified_name)",
            "CREATE INDEX chunks_labels ON chunks(kind, language, namespace, document_type)",
            "DROP INDEX IF EXISTS chunks_kind",  # the start of the one above
            "CREATE INDEX chunks_created ON chunks(created_at) WHERE created_at IS NOT NULL",
            "CREATE INDEX chunks_cjk ON chunks(has_cjk) WHERE has_cjk = 1",
        ),
    ),
    Migration(
        # Half the width, and a second table for reembedding. The next index run makes the vectors
        # again.
        "m005_change_embedders",
        (
            "DELETE FROM embeddings",
            "DELETE FROM facts WHERE name LIKE 'embedder.%'",
            NEXT_EMBEDDINGS,
        ),
    ),
    Migration("m006_checksum_rows", _sum_up(_FIRST_CHECKSUMS)),
    Migration(
        "m007_checksum_every_row",
        (
            *_sum_up(_LATER_CHECKSUMS),
            # The first memories of schema 6 had another formula.
            *(f"UPDATE {table} SET checksum = {sum_}" for table, sum_ in _FIRST_CHECKSUMS.items()),
            "DROP INDEX accesses_chunk",
            "CREATE INDEX accesses_chunk ON accesses(chunk, at, checksum)",  # all of a row
        ),
    ),
    Migration(
        # Change time and inode: size and modification time alone do not tell an edited file.
        "m008_identify_files",
        (
            "ALTER TABLE files ADD COLUMN identity TEXT NOT NULL DEFAULT ''",
            f"UPDATE files SET checksum = {_FILE_CHECKSUM}",
        ),
    ),
    Migration(
        # Derived from the metadata by triggers, so that no writer can forget it. They come first,
        # because a file whose end is missing can be repaired unless the schema was there.
        "m009_find_symbols",
        (
            f"""CREATE TRIGGER symbols_insert AFTER INSERT ON chunks
                WHEN instr(new.metadata, '"symbols"') BEGIN
                    {_ADD_SYMBOLS} {_symbols("new")}; END""",
            f"""CREATE TRIGGER symbols_update AFTER UPDATE OF metadata ON chunks
                WHEN old.metadata <> new.metadata BEGIN
                    DELETE FROM symbols WHERE chunk = old.rowid;
                    {_ADD_SYMBOLS} {_symbols("new")}; END""",
            """CREATE TRIGGER symbols_delete AFTER DELETE ON chunks
               BEGIN DELETE FROM symbols WHERE chunk = old.rowid; END""",
            """CREATE TABLE symbols (
                   folded_name  TEXT    NOT NULL,
                   chunk        INTEGER NOT NULL,
                   PRIMARY KEY (folded_name, chunk)
               ) WITHOUT ROWID""",
            "CREATE INDEX symbols_chunk ON symbols(chunk)",
            LIST_SYMBOLS,  # an import may have brought chunks of a newer Aurora
        ),
    ),
    Migration(
        # Several checkouts of one repository share a memory, each with its own files.
        "m010_share_among_checkouts",
        (
            "ALTER TABLE files RENAME TO files_of_one",
            """CREATE TABLE files (
                   path             TEXT    NOT NULL,
                   size             INTEGER NOT NULL,
                   modified_ns      INTEGER NOT NULL,
                   digest           TEXT    NOT NULL,
                   left_out         TEXT    NOT NULL,
                   history_stamp    TEXT    NOT NULL,
                   history_read_at  REAL,
                   identity         TEXT    NOT NULL,
                   variant          TEXT    NOT NULL,
                   checkout         INTEGER NOT NULL,
                   checksum         INTEGER NOT NULL,
                   PRIMARY KEY (path, checkout)
               ) WITHOUT ROWID""",
            """INSERT INTO files
                   SELECT path, size, modified_ns, digest, left_out, history_stamp,
                       history_read_at, identity, '', 0, 0 FROM files_of_one""",
            f"UPDATE files SET checksum = {_CHECKOUT_FILE_CHECKSUM}",
            "DROP TABLE files_of_one",
        ),
    ),
    Migration(
        # A document or lesson that was replaced is kept and not found. A lesson that failed is
        # found from here on: with another generation, the indexes look for rows that they lack.
        "m011_replace_entries",
        (
            f"CREATE INDEX chunks_replaced ON chunks(id) WHERE {_REPLACED}",
            """UPDATE facts SET value = CAST(value + 1 + abs(random() % 4294967296) AS TEXT)
               WHERE name = 'generation'
                   AND EXISTS (SELECT 1 FROM reasoning WHERE success_score < 0.5)""",
            f"UPDATE facts SET checksum = {CHECKSUMS['facts']} WHERE name = 'generation'",
        ),
    ),
    Migration(
        # Finds what was said in a session without reading the metadata of all chunks.
        "m012_find_sessions",
        tuple(
            f"CREATE INDEX chunks_{key} ON chunks({fact}) WHERE {fact} IS NOT NULL"
            for key, fact in FACTS.items()
        ),
    ),
)
STRAY_SYMBOLS = f"""
    SELECT count(*) FROM (
        SELECT * FROM ({_ALL_SYMBOLS} EXCEPT SELECT * FROM symbols)
        UNION ALL SELECT * FROM (SELECT * FROM symbols EXCEPT {_ALL_SYMBOLS}))"""

_FTS5_TABLES = ("data", "idx", "content", "docsize", "config")  # made by FTS5 for each index
_COMPUTED = lazy_pattern(r"\b(?:CHECK|GENERATED|AS)\b", re.IGNORECASE)  # expressions in a table
# All allowed entries of `sqlite_schema`. SQLite would run any other trigger, view or index.
_OBJECTS = frozenset(
    statement.strip()
    for migration in MIGRATIONS
    for statement in migration.statements
    if statement.strip().startswith("CREATE") and "CREATE TABLE" not in statement
)
_TABLES = frozenset(
    {"symbols", *CHECKSUMS, *(f"{table}_{part}" for table in TEXT_INDEXES for part in _FTS5_TABLES)}
)


@lru_cache(maxsize=8)  # all connections of a process have the same rows
def find_foreign(objects: tuple[tuple[str, str, str | None], ...]) -> tuple[str, ...]:
    """Objects that no migration makes, among rows of `sqlite_schema` (type, name, statement)."""
    return tuple(
        f"{kind} {name}"
        for kind, name, statement in objects
        if not name.startswith("sqlite_")  # reserved by SQLite
        and not (kind == "table" and name in _TABLES and not _COMPUTED.search(statement or ""))
        and (statement or "").strip() not in _OBJECTS
    )
