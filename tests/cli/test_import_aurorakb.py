"""`aur db import-aurorakb`: the documents of seed 004, from a real table of its own making."""

from __future__ import annotations

import json
import uuid
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest

from aurora.stores.base import Store
from aurora.stores.postgres.store import PostgresStore
from aurora.stores.sqlite.store import SQLiteStore
from aurora.types import Chunk
from tests.cli.conftest import Shell
from tests.cli.test_bad_input import error_and_hint

pytestmark = pytest.mark.one_store("each test names the stores it is about")

# The model of the seed, then its migration word for word.
TABLE = """
CREATE TABLE documents (
    id uuid PRIMARY KEY, content text NOT NULL, metadata_json jsonb, namespace text,
    document_type text, source text, created_at timestamptz, embedding_vector vector(1536));
ALTER TABLE documents ADD COLUMN content_tsv tsvector;
UPDATE documents SET content_tsv = to_tsvector('english', content);
CREATE INDEX idx_documents_content_tsv ON documents USING GIN(content_tsv);
CREATE TRIGGER documents_content_tsv_update
BEFORE INSERT OR UPDATE ON documents
FOR EACH ROW EXECUTE FUNCTION
tsvector_update_trigger(content_tsv, 'pg_catalog.english', content);
"""
HOSTILE = '\'); DROP TABLE documents; -- {namespace} %s %(x)s \\ $$ \u2028 100% 用户 "q" & | ! :*'
MADE = datetime(2025, 3, 4, 5, 6, 7, 890, tzinfo=UTC)


def key(number: int) -> uuid.UUID:
    return uuid.UUID(int=number)


def put(url: str, number: int, content: str, **columns: object) -> None:
    values = {"id": key(number), "content": content, **columns}
    names = ", ".join(values)
    marks = ", ".join(["%s"] * len(values))
    with psycopg.connect(url) as connection:
        connection.execute(f"INSERT INTO documents ({names}) VALUES ({marks})", [*values.values()])


@pytest.fixture
def knowledge(postgres_url: str) -> str:
    with psycopg.connect(postgres_url) as connection:
        connection.execute(TABLE)
    metadata = {"title": "theirs", "source": "slack", "team": {"name": "db"}, "n": [1, None, 0.5]}
    put(
        postgres_url, 1, "AuroraKB Phase 1 Database Migration execution plan",
        document_type="decision", source="test", namespace="test", created_at=MADE,
        metadata_json=json.dumps(metadata), embedding_vector=str([0.5] * 1536),
    )  # fmt: skip
    put(postgres_url, 2, HOSTILE, namespace="'; DROP TABLE chunks; --")
    put(postgres_url, 3, HOSTILE, namespace="'; DROP TABLE chunks; --")  # the same twice is two
    put(postgres_url, 4, "\n\n".join(f"# Part {n}\n\n{'words ' * 300}" for n in range(8)))
    return postgres_url


def held(shell: Shell) -> dict[str, Chunk]:
    path = shell.cwd / ".aurora" / "memory.db"
    with closing(SQLiteStore(path)) as store:
        return by_origin(store)


def by_origin(store: Store) -> dict[str, Chunk]:
    """First pieces by the id that they had."""
    return {
        str(chunk.metadata["aurorakb_id"]): chunk
        for chunk in store.chunks.iter_chunks()
        if chunk.metadata.get("part") == 1
    }


def generation(shell: Shell) -> int:
    return int(json.loads(shell.ok("mem", "stats", "--json"))["generation"])


def test_everything_known_of_a_document_is_kept(shell: Shell, knowledge: str) -> None:
    done = shell.run("db", "import-aurorakb", "--from", knowledge)
    assert (done.returncode, done.stdout) == (
        0, "Imported 4 documents (4 new, 0 changed, 0 unchanged)\n"
    )  # fmt: skip
    assert "vector(1536)" in done.stderr
    chunks = held(shell)
    assert chunks.keys() == {str(key(number)) for number in (1, 2, 3, 4)}
    first = chunks[str(key(1))]
    assert first.content == "AuroraKB Phase 1 Database Migration execution plan"
    assert (first.namespace, first.document_type, first.created_at) == ("test", "decision", MADE)
    assert first.metadata["origin"] == "test"
    assert first.metadata["team"] == {"name": "db"}
    assert first.metadata["n"] == [1, None, 0.5]
    assert first.metadata["aurorakb_title"] == "theirs"
    assert first.metadata["aurorakb_source"] == "slack"
    second = chunks[str(key(2))]
    assert (second.content, second.namespace) == (HOSTILE, "'; DROP TABLE chunks; --")
    assert second.document_type == "document"
    assert int(str(chunks[str(key(4))].metadata["parts"])) > 1
    stats = json.loads(shell.ok("mem", "stats", "--json"))
    assert stats["embedded"] == stats["chunks"] > 4
    assert stats["embedder"]["dimension"] != 1536
    assert "Phase 1" in shell.ok("mem", "search", "database migration plan", "--namespace", "test")


@pytest.mark.parametrize("target", ["file", "server"])
def test_a_document_is_found_by_the_id_that_it_had(
    shell: Shell, knowledge: str, target: str
) -> None:
    if target == "server":
        shell.environ["AURORA_STORE_URL"] = knowledge
        shell.ok("db", "init")
    shell.ok("db", "import-aurorakb", "--from", knowledge)
    first = "AuroraKB Phase 1 Database Migration execution plan"
    for id_ in (str(key(1)), str(key(1)).upper()):
        assert shell.ok("mem", "get", id_) == f"{first}\n"
    assert shell.ok("mem", "get", str(key(4))).startswith("# Part 0")
    done = shell.run("mem", "get", str(key(9)))
    assert done.returncode == 2
    assert f"There is no chunk '{key(9)}'" in done.stderr


def test_the_same_again_changes_nothing_and_an_edit_takes_its_own_place(
    shell: Shell, knowledge: str
) -> None:
    words = ("db", "import-aurorakb", "--from", knowledge)
    shell.ok(*words)
    before, counted = held(shell), generation(shell)
    assert "(0 new, 0 changed, 4 unchanged)" in shell.ok(*words)
    assert (held(shell), generation(shell)) == (before, counted)
    with psycopg.connect(knowledge) as connection:
        connection.execute("UPDATE documents SET content = 'Another plan' WHERE id = %s", (key(1),))
    assert "(0 new, 1 changed, 3 unchanged)" in shell.ok(*words)
    after = held(shell)
    assert after[str(key(1))].content == "Another plan"
    assert after[str(key(1))].id == before[str(key(1))].id
    assert len(after) == 4


def test_nothing_is_written_to_the_source(shell: Shell, knowledge: str) -> None:
    with psycopg.connect(knowledge, autocommit=True) as connection:
        name = connection.info.dbname
        connection.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        before = connection.execute("SELECT * FROM documents ORDER BY id").fetchall()
    assert "Imported 4" in shell.ok("db", "import-aurorakb", "--from", knowledge)
    with psycopg.connect(knowledge) as connection:
        assert connection.execute("SELECT * FROM documents ORDER BY id").fetchall() == before


def test_into_a_memory_on_a_server_with_a_prefix(
    shell: Shell, knowledge: str, memory_url: str
) -> None:
    shell.environ["AURORA_STORE_URL"] = memory_url
    shell.ok("db", "import-aurorakb", "--from", knowledge, "--namespace-prefix", "kb/")
    with closing(PostgresStore.open(memory_url)) as store:
        chunks = by_origin(store)
        assert store.maintenance.check() == []
    assert chunks[str(key(1))].namespace == "kb/test"
    assert chunks[str(key(2))].content == HOSTILE


def test_a_table_with_two_columns_and_numbers_for_ids(shell: Shell, postgres_url: str) -> None:
    """More than a page of them: none is lost between two."""
    with psycopg.connect(postgres_url) as connection:
        connection.execute("CREATE SCHEMA kb")
        connection.execute('CREATE TABLE kb."Odd; name" (id bigint PRIMARY KEY, content text)')
        connection.execute(
            """INSERT INTO kb."Odd; name"
               SELECT n, 'text number ' || n FROM generate_series(9, 1210) AS n"""
        )
        connection.execute("""UPDATE kb."Odd; name" SET content = '  ' WHERE id = 10""")
        connection.execute("""UPDATE kb."Odd; name" SET content = NULL WHERE id = 11""")
    words = ("db", "import-aurorakb", "--from", postgres_url, "--table", "kb.Odd; name")
    done = shell.run(*words)
    assert done.returncode == 1
    assert "Imported 1200 documents (1200 new" in done.stdout
    assert "Left out 10: The text is empty" in done.stderr
    assert "Left out 2 documents" in done.stderr
    assert held(shell).keys() == {str(n) for n in (9, *range(12, 1211))}


@pytest.mark.parametrize(
    ("metadata", "kept"),
    [
        ('["a", 1]', {"aurorakb_metadata": ["a", 1]}),
        ("7", {"aurorakb_metadata": 7}),
        ('{"": 1, "b": 2}', {"aurorakb_metadata": {"": 1, "b": 2}}),
        ('{"n": 1e400}', {"n": 10**400}),
        ('{"aurorakb_id": "x"}', {"aurorakb_aurorakb_id": "x"}),
        ("null", {}),
    ],
)
def test_metadata_of_every_kind(
    shell: Shell, postgres_url: str, metadata: str, kept: dict[str, object]
) -> None:
    with psycopg.connect(postgres_url) as connection:
        connection.execute(TABLE)
    put(postgres_url, 1, "text", metadata_json=metadata)
    shell.ok("db", "import-aurorakb", "--from", postgres_url)
    found = held(shell)[str(key(1))].metadata
    own = {"source", "title", "part", "parts", "aurorakb_id"}
    assert {name: value for name, value in found.items() if name not in own} == kept


def test_a_table_that_is_not_there(shell: Shell, postgres_url: str) -> None:
    words = ("db", "import-aurorakb", "--from", postgres_url)
    error, hint = error_and_hint(shell.fails(*words))
    assert "no table documents" in error
    assert "--table" in hint
    with psycopg.connect(postgres_url) as connection:
        connection.execute("CREATE TABLE documents (id uuid, text text)")
    error, _ = error_and_hint(shell.fails(*words))
    assert "no column content" in error
    assert not (Path(shell.cwd) / ".aurora" / "memory.db").exists()
