"""What a memory on a server holds and how it is made, read by plain SQL."""

from __future__ import annotations

import psycopg

from tests.upgrades.memories import content

Rows = list[tuple[object, ...]]

# How a server describes its tables, each as rows of words that another one would have, too.
_CATALOGUE = {
    "columns": """
        SELECT relname, attname, format_type(atttypid, atttypmod), attnotnull, attstorage,
            reloptions, pg_get_expr(adbin, adrelid), collname
        FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
            LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
            LEFT JOIN pg_collation ON pg_collation.oid = attcollation
        WHERE relnamespace = 'aurora'::regnamespace AND attnum > 0 AND relkind IN ('r', 'p', 'v')
            AND NOT attisdropped""",
    "indexes": "SELECT tablename, indexdef FROM pg_indexes WHERE schemaname = 'aurora'",
    "constraints": """
        SELECT conrelid::regclass::text, pg_get_constraintdef(oid) FROM pg_constraint
        WHERE connamespace = 'aurora'::regnamespace""",
    "views": "SELECT viewname, definition FROM pg_views WHERE schemaname = 'aurora'",
    "triggers": """
        SELECT pg_get_triggerdef(pg_trigger.oid) FROM pg_trigger
            JOIN pg_class ON pg_class.oid = tgrelid
        WHERE relnamespace = 'aurora'::regnamespace AND NOT tgisinternal""",
    "functions": """
        SELECT pg_get_functiondef(oid) FROM pg_proc
        WHERE pronamespace = 'aurora'::regnamespace""",
}
# Of which what hangs on chunks is made again by nobody.
_HELD = {
    "chunks": '"row", namespace, id, kind, name, content, path, metadata, created_at, generation',
    "accesses": '"row", namespace, at',
    "reasoning": '"row", pattern_type, success_score, usage_count, created_at',
    "histories": '"row", tracking, commits, uncommitted',
    "files": "path, size, modified_ns, digest, left_out, history_stamp, history_read_at",
    "embeddings": '"row", slot, vector::text',
    "facts": "name, value",
}


def load(name: str, url: str) -> None:
    """Make a kept memory in a database that has none."""
    with psycopg.connect(url) as connection:
        connection.execute(content(name).decode())  # type: ignore[arg-type]


def ask(url: str, statement: str) -> Rows:
    with psycopg.connect(url, options="-c search_path=aurora,public") as connection:
        return connection.execute(statement).fetchall()  # type: ignore[arg-type]


def held(url: str) -> dict[str, Rows]:
    """All but words, which are derived, and the facts that say how far it is."""
    found = {
        table: sorted(ask(url, f"SELECT {columns} FROM {table}"), key=repr)
        for table, columns in _HELD.items()
    }
    changing = ("words", "schema", "generation")
    found["facts"] = [row for row in found["facts"] if row[0] not in changing]
    return found


def catalogue(url: str) -> dict[str, Rows]:
    return {part: sorted(ask(url, statement), key=repr) for part, statement in _CATALOGUE.items()}
