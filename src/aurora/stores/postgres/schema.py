"""The tables of a memory in PostgreSQL, as numbered migrations. A released one is never edited.

The namespace is part of every key, so that tables can be partitioned by it, or distributed by an
extension such as Citus. Only one process writes at a time, which keeps ids unique in all
namespaces. Words and vectors have their own tables, so that ranking reads no texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from string import ascii_lowercase, ascii_uppercase
from typing import NamedTuple

VECTORS = "vector"  # the extension; 0.8 has `halfvec` and iterative scans
LEAST_VECTORS = (0, 8)
TRIGRAMS = "pg_trgm"  # the extension for an index of parts of words
SYMBOL_START = 200  # characters of a symbol's name in the index
LEAST_SERVER = 15  # rows can move between partitions with their references


class Migration(NamedTuple):
    """One step to the next version: SQL statements that run in one transaction.

    `{partition}` marks a table that can be partitioned.
    """

    name: str
    statements: Sequence[str]


_KEY = """
    PRIMARY KEY ("row", namespace),
    FOREIGN KEY ("row", namespace) REFERENCES chunks ON DELETE CASCADE ON UPDATE CASCADE"""

# Two slots for the vectors of two embedders during reembedding. A fact names the slot in use, so
# that the change blocks no reader. Each slot is a table with its own index.
_EMBEDDINGS = (
    f"""CREATE TABLE embeddings (
            "row"      bigint   NOT NULL,
            namespace  text     COLLATE "C" NOT NULL,
            slot       smallint NOT NULL,
            vector     halfvec  NOT NULL,
            {_KEY.replace("namespace)", "namespace, slot)", 1)}
        ) PARTITION BY LIST (slot)""",
    "CREATE TABLE vectors_0 PARTITION OF embeddings FOR VALUES IN (0) {partition}",
    "CREATE TABLE vectors_1 PARTITION OF embeddings FOR VALUES IN (1) {partition}",
    *(
        f"""CREATE VIEW {view}_vectors AS SELECT "row", namespace, vector FROM embeddings
            WHERE slot = (SELECT {slot} FROM facts WHERE name = 'slot')"""
        for view, slot in (("used", "value::smallint"), ("next", "1 - value::smallint"))
    ),
)

# Triggers keep the statistics, once per statement.
_COUNT = """
CREATE OR REPLACE FUNCTION count_{event}_words() RETURNS trigger LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO terms AS known (term, namespace, chunks)
        SELECT word.lexeme, changed.namespace, {sign}count(*)
        FROM changed, {words} GROUP BY word.lexeme, changed.namespace
    ON CONFLICT (term, namespace) DO UPDATE SET chunks = known.chunks + excluded.chunks;
    INSERT INTO totals AS known (namespace, chunks, tokens)
        SELECT namespace, {sign}count(*), {sign}sum(length) FROM changed GROUP BY namespace
    ON CONFLICT (namespace) DO UPDATE
        SET chunks = known.chunks + excluded.chunks, tokens = known.tokens + excluded.tokens;
    RETURN NULL;
END $$"""
_TRIGGER = """
CREATE TRIGGER words_{event} AFTER {operation} ON words REFERENCING {table} TABLE AS changed
FOR EACH STATEMENT EXECUTE FUNCTION count_{event}_words()"""


def _functions(words: str) -> Iterator[str]:
    for event, sign in (("added", ""), ("removed", "-")):
        yield _COUNT.format(event=event, sign=sign, words=words)


def _counting() -> Iterator[str]:
    yield from _functions("unnest(changed.tsv) AS word")
    yield _TRIGGER.format(event="added", operation="INSERT", table="NEW")
    yield _TRIGGER.format(event="removed", operation="DELETE", table="OLD")


MIGRATIONS: Sequence[Migration] = (
    Migration(
        "m001_create_memory",
        (
            "CREATE TABLE facts (name text PRIMARY KEY, value text NOT NULL)",
            "CREATE SEQUENCE chunk_rows",
            """CREATE TABLE chunks (
                   "row"           bigint  NOT NULL DEFAULT nextval('chunk_rows'),
                   namespace       text    COLLATE "C" NOT NULL,
                   id              text    COLLATE "C" NOT NULL,
                   kind            text    NOT NULL,
                   name            text    COLLATE "C" NOT NULL,
                   folded_name     text    COLLATE "C" NOT NULL,  -- `text.fold_name`
                   qualified_name  text    COLLATE "C" NOT NULL,
                   path            text    COLLATE "C" NOT NULL,
                   start_line      bigint,
                   end_line        bigint,
                   language        text    COLLATE "C" NOT NULL,
                   content         text    NOT NULL,
                   document_type   text    NOT NULL,
                   created_at      timestamptz,
                   metadata        jsonb   NOT NULL,
                   has_cjk         boolean NOT NULL,
                   is_found        boolean NOT NULL DEFAULT true,  -- false: it was replaced
                   generation      bigint  NOT NULL,
                   PRIMARY KEY ("row", namespace),
                   UNIQUE (id, namespace)
               ) {partition}""",
            "CREATE INDEX ON chunks (path)",
            # Without the unnamed namespace, which may hold all rows: keys would use this index.
            "CREATE INDEX ON chunks (namespace) WHERE namespace <> ''",
            "CREATE INDEX ON chunks (folded_name)",
            "CREATE INDEX ON chunks (kind, language, document_type)",
            "CREATE INDEX ON chunks (created_at) WHERE created_at IS NOT NULL",
            'CREATE INDEX ON chunks ("row") WHERE has_cjk',
            'CREATE INDEX ON chunks ("row") WHERE NOT is_found',
            "CREATE INDEX ON chunks USING gin (metadata jsonb_path_ops)",
            f"""CREATE TABLE words (
                   "row"      bigint   NOT NULL,
                   namespace  text     COLLATE "C" NOT NULL,
                   length     integer  NOT NULL,  -- tokens, each name as often as it counts
                   weights    real[]   NOT NULL,  -- of D, C, B and A, in times of the name's
                   tsv        tsvector NOT NULL,
                   {_KEY}
               ) {{partition}}""",
            # Uncompressed, because every query reads thousands of them.
            "ALTER TABLE words ALTER COLUMN tsv SET STORAGE EXTERNAL",
            "CREATE INDEX ON words USING gin (tsv)",
            """CREATE TABLE terms (
                   term       text   COLLATE "C" NOT NULL,
                   namespace  text   COLLATE "C" NOT NULL,
                   chunks     bigint NOT NULL,
                   PRIMARY KEY (term, namespace)
               ) WITH (fillfactor = 70)""",
            """CREATE TABLE totals (
                   namespace  text   COLLATE "C" PRIMARY KEY,
                   chunks     bigint NOT NULL,
                   tokens     bigint NOT NULL
               )""",
            *_counting(),
            *_EMBEDDINGS,
            "INSERT INTO facts VALUES ('slot', '0')",
            """CREATE TABLE accesses (
                   "row"      bigint      NOT NULL,
                   namespace  text        COLLATE "C" NOT NULL,
                   at         timestamptz NOT NULL,
                   FOREIGN KEY ("row", namespace) REFERENCES chunks
                       ON DELETE CASCADE ON UPDATE CASCADE
               )""",
            'CREATE INDEX ON accesses ("row", namespace, at)',
            f"""CREATE TABLE reasoning (
                   "row"          bigint      NOT NULL,
                   namespace      text        COLLATE "C" NOT NULL,
                   pattern_type   text        NOT NULL,
                   success_score  float8      NOT NULL,
                   usage_count    bigint      NOT NULL,
                   created_at     timestamptz NOT NULL,
                   {_KEY}
               )""",
            f"""CREATE TABLE histories (
                   "row"        bigint   NOT NULL,
                   namespace    text     COLLATE "C" NOT NULL,
                   tracking     text     NOT NULL,
                   commits      bigint[] NOT NULL,  -- seconds since 1970, oldest first
                   uncommitted  boolean  NOT NULL,
                   {_KEY}
               )""",
            """CREATE TABLE files (
                   path             text    COLLATE "C" PRIMARY KEY,
                   size             bigint  NOT NULL,
                   modified_ns      bigint  NOT NULL,
                   digest           text    NOT NULL,
                   left_out         text    NOT NULL,
                   history_stamp    text    NOT NULL,
                   history_read_at  timestamptz
               )""",
        ),
    ),
    Migration(
        # Change time and inode: size and modification time alone do not tell an edited file.
        "m002_identify_files",
        ("ALTER TABLE files ADD COLUMN identity text NOT NULL DEFAULT ''",),
    ),
    Migration(
        # Finds symbols inside chunks by the start of `text.fold_name` of their names: the
        # server refuses longer keys of an index.
        "m003_find_symbols",
        (
            f"""CREATE FUNCTION symbol_names(metadata jsonb) RETURNS text[]
                LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
                    SELECT coalesce(array_agg(left(translate(
                        symbol ->> 0, '{ascii_uppercase}_- ', '{ascii_lowercase}'),
                        {SYMBOL_START})), '{{}}')
                    FROM jsonb_path_query(metadata, '$.symbols[*]') AS symbol
                    WHERE jsonb_typeof(symbol) = 'array' AND symbol ->> 0 IS NOT NULL
                $$""",
            "CREATE INDEX ON chunks USING gin (symbol_names(metadata))",
        ),
    ),
    Migration(
        # Several checkouts of one repository share a memory, each with its own files.
        "m004_share_among_checkouts",
        (
            """ALTER TABLE files
                   ADD COLUMN variant text COLLATE "C" NOT NULL DEFAULT '',
                   ADD COLUMN checkout bigint NOT NULL DEFAULT 0,
                   DROP CONSTRAINT files_pkey,
                   ADD PRIMARY KEY (path, checkout)""",
        ),
    ),
    Migration(
        # A lesson that failed is found from here on. Making the words again gives it its words.
        "m005_find_what_failed",
        (
            """UPDATE facts SET value = '' WHERE name = 'words'
                   AND EXISTS (SELECT 1 FROM chunks WHERE NOT is_found)""",
            """UPDATE facts SET value = (value::bigint + 1 + floor(random() * 4294967296))::text
                   WHERE name = 'generation'
                       AND EXISTS (SELECT 1 FROM chunks WHERE NOT is_found)""",
            "UPDATE chunks SET is_found = true WHERE NOT is_found",
        ),
    ),
    Migration(
        # What each word adds to a score, which one function of pgvector sums up for a query.
        # Making the words again fills it.
        "m006_add_impacts",
        (
            "ALTER TABLE words ADD COLUMN impacts sparsevec",
            # Without the positions, which take longer than the words.
            *_functions("unnest(tsvector_to_array(changed.tsv)) AS word (lexeme)"),
        ),
    ),
)


def statements_of(migration: Migration, partitions: int) -> Iterator[str]:
    """The statements of a migration, and those for the partitions of new tables."""
    for statement in migration.statements:
        if "{partition}" not in statement:
            yield statement
            continue
        table = statement.split()[2]
        options = "WITH (toast_tuple_target = 8160)" if table == "words" else ""
        clause = "PARTITION BY HASH (namespace)" if partitions else options
        yield statement.replace("{partition}", clause)
        for number in range(partitions):
            yield (
                f"CREATE TABLE {table}_{number} PARTITION OF {table} "
                f"FOR VALUES WITH (MODULUS {partitions}, REMAINDER {number}) {options}"
            )
