"""What was forgotten is in no file of the memory any more: the raw bytes are searched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from aurora.sources.past.book import load_book
from aurora.stores.postgres.store import PostgresStore
from aurora.stores.sqlite import SQLiteStore
from aurora.stores.sqlite_connection import connect
from tests.builders import make_chunk, write_tree
from tests.cli.conftest import Shell
from tests.sources.repository import git

# Words that nothing else in a memory has, in the code, the note, the document and the lesson.
SECRETS = ("zanzibarquux", "xylophonicine", "奇异鸟类学", "quetzalworthy", "umbrageousness")


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
    [book] = (shell.cwd / ".aurora" / "indexes").glob("*.book")
    assert {"kept.py", "m1.py"} <= load_book(book).files.keys()

    write_tree(shell.cwd, {".auroraignore": "zanz*\n", "zanzibarquux.py": "more = 1\n"})
    git(shell.cwd, "commit", "-qam", "more")
    shell.run("mem", "index", ".")
    assert [name for name, _ in found_in(shell.cwd / ".aurora")] == []


def test_threes_of_forgotten_characters_are_in_no_index(tmp_path: Path) -> None:
    """Such an index has no word as a whole, and what it has begins with what the one before has."""

    def has(store: SQLiteStore, part: str) -> bool:
        blocks = store._rows("SELECT block FROM chunks_trigrams_data")
        return part.encode()[1:] in b" ".join(block for (block,) in blocks)

    kept, gone = make_chunk("用户认证", "a.md"), make_chunk("奇异鸟类学", "b.md")
    with closing(SQLiteStore(tmp_path / "memory.db")) as store:
        store.put_chunks([kept, gone])
        assert has(store, "鸟类学")

        store.delete_chunks([gone.id])
        store.scrub()

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


def test_a_server_forgets_the_words_too(memory_url: str) -> None:
    with closing(PostgresStore.open(memory_url)) as store:
        store.put_chunks([make_chunk("zanzibarquux", "s.py"), make_chunk("other", "o.py")])
        store.delete_chunks([make_chunk("zanzibarquux", "s.py").id])
        store.scrub()

        left = [word for (word,) in store._rows("SELECT term FROM terms")]
        assert "other" in left
        assert not any("zanzibar" in word for word in left)
        assert store.check() == []
