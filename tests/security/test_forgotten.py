"""What was forgotten is in no file of the memory any more: the raw bytes are searched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest

from aurora.errors import StoreBusyError
from aurora.indexing.documents import forget
from aurora.sources.blame.cache import load_cache
from aurora.stores.base import FileState, Reasoning
from aurora.stores.postgres.store import PostgresStore
from aurora.stores.sqlite.database_file import connect
from aurora.stores.sqlite.store import SQLiteStore
from tests.backends import keep_on_server
from tests.builders import make_chunk, write_tree
from tests.cli.conftest import Shell
from tests.postgres.server import PostgresServer
from tests.sources.repository import git

# Words that nothing else in a memory has, in the code, the note, the document and the lesson.
SECRETS = ("zanzibarquux", "xylophonicine", "奇异鸟类学", "quetzalworthy", "umbrageousness")
NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    ordinary = {f"m{n}.py": f"def ordinary_{n}():\n    return {n}\n" for n in range(60)}
    special = {"s.py": "def zanzibarquux():\n    return 1\n", "n.md": "# Xylophonicine\n\nwords\n",
               "cjk.md": "# 新\n\n奇异鸟类学是一门学问\n"}  # fmt: skip
    return Shell(write_tree(tmp_path / "project", {**ordinary, **special}), tmp_path / "home")


def fill(shell: Shell) -> Sequence[str]:
    """Index, add and learn; ids of what is to be forgotten."""
    shell.ok("init")
    shell.ok("mem", "index", ".")
    document = write_tree(shell.home / "..", {"d.txt": "The quetzalworthy plan. " * 300}) / "d.txt"
    added = shell.ok("mem", "add", str(document)).split()[-1]
    learned = shell.ok("mem", "learn", "Do it with umbrageousness").split()[-1]
    for word in SECRETS:
        shell.ok("mem", "search", word)
    return ("s.py", "n.md", "cjk.md", added, learned)


def found_in(*folders: Path) -> Iterator[tuple[str, str]]:
    """Files that have one of the words, in any case and in the encodings we write."""
    for file in sorted(file for folder in folders for file in folder.rglob("*")):
        if file.is_file():
            raw = file.read_bytes().lower()
            for word in SECRETS:
                if word.encode() in raw or word.encode("utf-16-le") in raw:
                    yield file.name, word


def test_forgotten_words_are_in_no_file(shell: Shell) -> None:
    what = fill(shell)
    before = dict.fromkeys(name for name, _ in found_in(shell.cwd / ".aurora"))
    assert {"memory.db", "bm25.idx"} <= before.keys()

    shell.ok("mem", "forget", "--yes", *what)

    assert list(found_in(shell.cwd / ".aurora")) == []
    assert list(found_in(shell.home)) == []
    assert "ordinary_7" in shell.ok("mem", "search", "ordinary_7")


def test_titles_and_file_names_are_in_no_log_and_no_cache(tmp_path: Path) -> None:
    files = {"zanzibarquux.py": "def (:\n", "kept.py": "def (:\n", "m1.py": "x = 1\n"}
    shell = Shell(write_tree(tmp_path / "project", files), tmp_path / "home")
    shell.ok("init")
    git(shell.cwd, "init", "-q")
    git(shell.cwd, "add", "--all")
    git(shell.cwd, "commit", "-qm", "all")
    shell.run("mem", "index", ".")  # which warns of a file by its name
    document = write_tree(shell.home / "..", {"d.md": "# Umbrageousness\n\nAll of it.\n"}) / "d.md"
    added = shell.ok("mem", "add", str(document)).split()[-1]
    shell.run("mem", "search", "umbragousness")  # which asks whether another word was meant
    shell.run("mem", "get", "quetzalworthy")  # which is not there
    logs = shell.home / "logs"
    write_tree(logs, {"aurora.log.1": "INFO aurora: Added: Umbrageousness (1 piece)\nINFO other\n"})
    places = [name for name, word in found_in(shell.home, shell.cwd / ".aurora")]
    assert {"aurora.log", "memory.db"} < set(places)
    assert any(name.endswith(".book") for name in places)

    shell.ok("mem", "forget", "--yes", "zanzibarquux.py", added)

    assert list(found_in(shell.home, shell.cwd / ".aurora")) == []
    assert "kept.py" in (logs / "aurora.log").read_text()  # of what is remembered
    assert (logs / "aurora.log.1").read_text().endswith("\nINFO other\n")
    [book] = (shell.home / "cache" / "history").glob("*.book")
    assert {"kept.py", "m1.py"} <= load_cache(book).files.keys()

    write_tree(shell.cwd, {".auroraignore": "zanz*\n", "zanzibarquux.py": "more = 1\n"})
    git(shell.cwd, "commit", "-qam", "more")
    shell.run("mem", "index", ".")
    assert [name for name, _ in found_in(shell.cwd / ".aurora")] == []


def test_threes_of_forgotten_characters_are_in_no_index(tmp_path: Path) -> None:
    """Such an index has no word as a whole, and what it has begins with what the one before has."""

    def has(store: SQLiteStore, part: str) -> bool:
        blocks = store.database.rows("SELECT block FROM chunks_trigrams_data")
        return part.encode()[1:] in b" ".join(block for (block,) in blocks)

    kept, gone = make_chunk("用户认证", "a.md"), make_chunk("奇异鸟类学", "b.md")
    with closing(SQLiteStore(tmp_path / "memory.db")) as store:
        store.chunks.put_chunks([kept, gone])
        assert has(store, "鸟类学")

        store.chunks.delete_chunks([gone.id])
        store.maintenance.scrub()

        assert not has(store, "鸟类学")
        assert has(store, "用户认")


def test_what_an_edit_or_a_deletion_took_away_goes_with_the_next_forget(shell: Shell) -> None:
    fill(shell)
    (shell.cwd / "s.py").unlink()
    write_tree(shell.cwd, {"n.md": "# Another\n\nwords\n", "cjk.md": "# 新\n"})
    shell.ok("mem", "index", ".")

    shell.ok("mem", "forget", "--yes", "m1.py")

    assert {word for _, word in found_in(shell.cwd / ".aurora")} == set(SECRETS[3:])


def test_while_another_reads_the_old_state_it_is_told(shell: Shell) -> None:
    fill(shell)
    with closing(connect(shell.cwd / ".aurora" / "memory.db")) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM chunks").fetchone()
        done = shell.run("mem", "forget", "--yes", "s.py")

    assert done.returncode == 0
    assert "is being read by another process: what was removed is still in it" in done.stderr
    shell.ok("mem", "forget", "--yes", "m1.py")
    assert ("memory.db", "zanzibarquux") not in list(found_in(shell.cwd / ".aurora"))


def files_of(server: PostgresServer, url: str) -> list[str]:
    """Tables and indexes that have one of the words in their files."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CHECKPOINT")
        tables = connection.execute(
            "SELECT relname, pg_relation_filepath(oid) FROM pg_class "
            "WHERE pg_relation_filepath(oid) LIKE 'base/%'"
        ).fetchall()
    words = [word.encode() for word in SECRETS]
    return [
        name
        for name, path in tables
        for file in (server.folder / path).parent.glob(f"{Path(path).name}*")
        if any(word in file.read_bytes().lower() for word in words)
    ]


def fill_server(url: str) -> list[str]:
    """Chunks whose words the server has in all kinds of places; ids of what is to be forgotten."""
    secret = [
        make_chunk("zanzibarquux " * 900, "zanzibarquux.py", "zanzibarquux", metadata={"by": "me"}),
        make_chunk("quetzalworthy", "s.py", "x", namespace="umbrageousness"),
    ]
    others = [make_chunk(f"other {n} " * 30, f"o{n}.py", f"f{n}") for n in range(300)]
    with closing(PostgresStore.open(url)) as store:
        store.chunks.put_chunks([*others[:150], *secret, *others[150:]])
        store.chunks.replace_file(FileState("zanzibarquux.py", 1, 1, "d"), secret[:1])
        store.chunks.put_reasoning(secret[1].id, Reasoning("xylophonicine", 0.9, 3, NOW))
        store.ranking.renew_statistics()  # as autovacuum does by itself
    return [chunk.id for chunk in secret]


def test_forgotten_words_are_in_no_file_of_a_server(
    postgres: PostgresServer, memory_url: str
) -> None:
    gone = fill_server(memory_url)
    assert {"chunks", "words", "terms", "files", "words_tsv_idx", "reasoning", "pg_statistic"} < {
        *files_of(postgres, memory_url)
    }
    with closing(PostgresStore.open(memory_url)) as store:
        forget(store, gone)
        store.maintenance.scrub()
        assert files_of(postgres, memory_url) == []
        assert (store.maintenance.check(), len(list(store.chunks.iter_chunks()))) == ([], 300)


def test_of_a_large_one_they_are_gone_after_a_scrub(
    postgres: PostgresServer, memory_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = fill_server(memory_url)
    shell = Shell(tmp_path / "project", tmp_path / "home")
    keep_on_server(shell.cwd, shell.home, memory_url)
    monkeypatch.setattr("aurora.stores.postgres.maintenance._QUICK", 0)
    with closing(PostgresStore.open(memory_url)) as store:
        forget(store, gone)
        with pytest.raises(StoreBusyError, match="is still in the files of") as raised:
            store.maintenance.scrub()
    assert raised.value.hint == "`aur db scrub` rewrites them, which blocks searches meanwhile"
    assert files_of(postgres, memory_url) != []

    assert "Nothing that was removed is left in " in shell.ok("db", "scrub")
    assert files_of(postgres, memory_url) == []


def test_while_another_sees_the_old_rows_it_is_told(
    postgres: PostgresServer, memory_url: str
) -> None:
    gone = fill_server(memory_url)
    with closing(PostgresStore.open(memory_url)) as store:
        with store.snapshot():
            forget(store, gone)
            with pytest.raises(StoreBusyError, match="is being read by another process: what was"):
                store.maintenance.scrub()
        store.maintenance.scrub()
        assert files_of(postgres, memory_url) == []


def test_who_does_not_own_the_tables_is_told_that_words_stay(
    postgres: PostgresServer, memory_url: str
) -> None:
    gone = fill_server(memory_url)
    with psycopg.connect(memory_url, autocommit=True) as owner:
        owner.execute("CREATE ROLE guest LOGIN PASSWORD 'guest'")
        owner.execute("GRANT USAGE ON SCHEMA aurora TO guest")
        owner.execute("GRANT ALL ON ALL TABLES IN SCHEMA aurora TO guest")
    try:
        guest = memory_url.replace(f"postgres:{postgres.password}@", "guest:guest@")
        with closing(PostgresStore.open(guest)) as store:
            forget(store, gone)
            with pytest.raises(StoreBusyError) as raised:
                store.maintenance.scrub()
        assert raised.value.hint == "have the owner run `aur db scrub`"
        with closing(PostgresStore.open(memory_url)) as store:
            store.maintenance.scrub()
        assert files_of(postgres, memory_url) == []
    finally:
        with psycopg.connect(memory_url, autocommit=True) as owner:
            owner.execute("DROP OWNED BY guest")
            owner.execute("DROP ROLE guest")


def test_a_server_forgets_the_words_too(memory_url: str) -> None:
    with closing(PostgresStore.open(memory_url)) as store:
        store.chunks.put_chunks([make_chunk("zanzibarquux", "s.py"), make_chunk("other", "o.py")])
        store.chunks.delete_chunks([make_chunk("zanzibarquux", "s.py").id])
        store.maintenance.scrub()

        left = [word for (word,) in store.database.rows("SELECT term FROM terms")]
        assert "other" in left
        assert not any("zanzibar" in word for word in left)
        assert store.maintenance.check() == []
