"""The keyword index kept in step with a store (seed 000, FR-8; seed 003, lazy loading)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from aurora.signals.base import Question
from aurora.signals.bm25 import BM25Scorer, BM25Signal
from aurora.signals.bm25_formula import BM25Parameters
from aurora.stores.sqlite.store import SQLiteStore
from aurora.text import WORDS, chunk_summary, chunk_text
from aurora.types import Event, Kind, Note, Progress
from tests.builders import NOW, make_chunk
from tests.threads import together

AUTH = make_chunk("def login(): check the password", name="login")
FIRST = make_chunk("no secret word", name="login")
PARSE = make_chunk("def parse(): read the config", name="parse")
SECOND = make_chunk("def parse(): read the password", name="parse")
CORRUPTED = Note("BM25 index corrupted, rebuilding...", warning=True)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteStore]:
    store = SQLiteStore(tmp_path / "memory.db")
    store.chunks.put_chunks([AUTH, PARSE])
    yield store
    store.close()


class Bench:
    """Signals on one store and one index file, and everything they say."""

    def __init__(self, store: SQLiteStore, path: Path) -> None:
        self.store, self.path, self.events = store, path, list[Event]()

    def signal(self, **parameters: object) -> BM25Signal:
        return BM25Signal(
            self.store,
            self.path,
            now=lambda: NOW,
            parameters=BM25Parameters(**parameters),  # type: ignore[arg-type]
            listen=self.events.append,
        )

    def find(self, text: str, signal: BM25Signal | None = None) -> list[str]:
        rows = (signal or self.signal()).score(Question(text, NOW)).best(10)
        chunks = self.store.chunks.get_rows(rows)
        return [chunks[row].id for row in rows]

    def score(self, text: str, signal: BM25Signal) -> float:
        """What the best chunk for a text scores."""
        answer = signal.score(Question(text, NOW))
        return answer.hits(answer.best(1))[0].score


@pytest.fixture
def bench(store: SQLiteStore, tmp_path: Path) -> Bench:
    return Bench(store, tmp_path / "indexes" / "bm25.idx")


def test_where_somebody_keeps_conversation_logs_says_nothing_of_them(bench: Bench) -> None:
    """A user called git is not in every log about git; the file's own name counts."""
    path = "/home/git/.aurora/logs/conversations/2025/12/oauth-impl.md"
    log = make_chunk("Why we did it.", path, "Retrieval", metadata={"source": "conversation"})
    bench.store.chunks.put_chunks([log, make_chunk("Why.", "/home/git/notes/plan.md", "Plan")])
    assert bench.find("oauth") == [log.id]
    assert bench.find("git") == ["/home/git/notes/plan.md:Plan"]


def test_name_signature_path_and_content_can_all_be_found(bench: Bench) -> None:
    chunk = make_chunk("body", "lib/tools.py", "run", qualified_name="Engine.run",
                       metadata={"signature": "def run(speed)"})  # fmt: skip
    bench.store.chunks.put_chunks([chunk])
    for word in ("run", "engine", "tools", "speed", "body", "Engine.run"):
        assert bench.find(word) == [chunk.id], word


def test_a_name_counts_more_the_longer_the_body() -> None:
    """Otherwise BM25's discount of length would drown the names of long chunks."""
    assert chunk_text(make_chunk("x" * 49)).count("f\n") == 4  # three, and as qualified name
    assert chunk_text(make_chunk("x" * 500)).count("f\n") == 14


def test_a_name_that_is_how_a_text_begins_counts_no_more_than_the_text() -> None:
    untitled = make_chunk("Ada: I sold the car", "", "Ada: I sold the", kind=Kind.KNOWLEDGE)
    assert chunk_text(untitled).split() == ["Ada:", "I", "sold", "the", "car"]
    method = make_chunk("area() { return 1 }", kind=Kind.METHOD, name="area")
    assert chunk_text(method).count("area\n") == 4  # of code it is a name


def test_how_a_long_text_begins_counts_twice_where_it_has_no_title() -> None:
    text = f"Ada sold {'very ' * 40}fast"
    untitled = make_chunk(text, "", "Ada sold", kind=Kind.KNOWLEDGE, qualified_name="")
    assert chunk_text(untitled).count("Ada") == 2
    later = make_chunk(text, "", "What we sold", kind=Kind.KNOWLEDGE, qualified_name="")
    assert chunk_text(later).split() == chunk_text(untitled).split()
    in_a_file = make_chunk(text, "cars.md", "cars.md", kind=Kind.KNOWLEDGE, qualified_name="")
    assert chunk_text(in_a_file).count("cars.md") == 8  # seven times, and once as the path
    titled = make_chunk(text, "", "Cars", kind=Kind.KNOWLEDGE)
    assert (chunk_text(titled).count("Ada"), chunk_text(titled).count("Cars")) == (1, 8)


@pytest.mark.parametrize(
    ("code", "summary"),
    [
        ("  /* one */ int a;", " one "),
        ("/** two **/", " two *"),
        ("/**/ int a; /* b */", ""),
        ("/***/ int a;", ""),
        ("/*/ three */", "/ three "),
        ("\n# four\n  # five\na = 1", "# four\n  # five\n"),
        ("/*" + "*" * 100_000, ""),  # soon, though it is never closed
    ],
)
def test_the_comment_that_code_begins_with_is_its_summary(code: str, summary: str) -> None:
    assert chunk_summary(make_chunk(code)) == summary


def test_creating_a_signal_opens_nothing(bench: Bench) -> None:
    bench.store.close()
    bench.signal()
    assert not bench.path.exists()
    assert bench.events == []


def test_the_first_search_builds_the_index_and_its_folder(bench: Bench) -> None:
    """FR-8.5"""
    assert bench.find("password") == [AUTH.id]
    assert bench.path.exists()
    assert bench.events == []


def test_a_second_process_uses_the_saved_index(bench: Bench) -> None:
    bench.find("password")
    stamp = bench.path.stat().st_mtime_ns
    assert bench.find("config") == [PARSE.id]
    assert bench.path.stat().st_mtime_ns == stamp
    assert bench.events == []


@pytest.mark.parametrize(
    ("change", "note", "found"),
    [
        (
            lambda store: store.chunks.put_chunks(
                [make_chunk("password " * 2, name=one) for one in "ghi"]
            ),
            "Rebuilding BM25 index (detected 3 new chunks)...",
            ["a.py:g", "a.py:h", "a.py:i", "a.py:login"],
        ),
        (
            lambda store: store.chunks.put_chunks(
                [make_chunk("password " * 3, name="g"), FIRST, SECOND]
            ),
            "Rebuilding BM25 index (detected 1 new chunks)...",
            ["a.py:g", PARSE.id],
        ),
        (
            lambda store: (
                store.chunks.delete_chunks([AUTH.id]),
                store.chunks.put_chunks([SECOND]),
            ),
            "Rebuilding BM25 index (detected 1 removed chunks)...",
            [PARSE.id],
        ),
        (
            lambda store: store.chunks.put_chunks([FIRST, SECOND]),
            "Rebuilding BM25 index (chunks changed)...",
            [PARSE.id],
        ),
    ],
    ids=["new", "one-new", "removed", "same-count"],
)
@pytest.mark.parametrize("fresh", [True, False], ids=["new-process", "long-running"])
def test_an_index_of_which_most_changed_is_rebuilt(
    bench: Bench, change: Callable[[SQLiteStore], object], note: str, found: list[str], fresh: bool
) -> None:
    """FR-8.1 and 8.2, by the store's generation: an edit that keeps the count is stale too."""
    signal = bench.signal()
    bench.find("password", signal)
    change(bench.store)
    assert bench.find("password", bench.signal() if fresh else signal) == found
    assert bench.events == [Note(note)]


@pytest.mark.parametrize(
    ("more", "told"), [(2500, [1000, 2000, 2502]), (1998, [1000, 2000]), (997, [])]
)
def test_progress_is_told_every_thousand_chunks(bench: Bench, more: int, told: list[int]) -> None:
    """FR-8.2"""
    bench.store.chunks.put_chunks([make_chunk(name=f"f{number}") for number in range(more)])
    bench.find("password")
    assert bench.events == [Progress("Building BM25 index", done, more + 2) for done in told]


@pytest.mark.parametrize(
    "damage",
    [
        lambda _: b"not a pickle",
        lambda _: b"",
        lambda content: content[: len(content) // 2],
        lambda content: os.urandom(len(content)),
        lambda content: content.replace(b"password", b"passwort"),
    ],
    ids=["garbage", "empty", "truncated", "random", "flipped-inside"],
)
def test_a_damaged_index_is_rebuilt_with_the_seeds_warning(
    bench: Bench, damage: Callable[[bytes], bytes]
) -> None:
    """FR-8.4, FR-10.4: warned, deleted, rebuilt, searched."""
    bench.find("password")
    whole = bench.path.read_bytes()
    bench.path.write_bytes(damage(whole))

    assert bench.find("password") == [AUTH.id]

    assert bench.events == [CORRUPTED]
    assert bench.path.read_bytes() == whole


def test_an_index_of_another_store_is_not_used(bench: Bench, tmp_path: Path) -> None:
    other = SQLiteStore(tmp_path / "other.db")
    other.chunks.put_chunks([make_chunk("password of another store", name="x"), PARSE])
    with other.transaction():
        other.database.set_fact("generation", str(bench.store.generation()))
    Bench(other, bench.path).find("password")
    assert other.generation() == bench.store.generation()
    other.close()
    assert bench.find("password") == [AUTH.id]


def test_an_index_of_another_recipe_is_rebuilt(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A newer Aurora that indexes other words of a chunk does not use the old index."""
    bench.find("password")
    monkeypatch.setattr("aurora.signals.bm25.CHUNK_TEXT_VERSION", 99)
    assert bench.find("password") == [AUTH.id]
    assert bench.events == [Note("Rebuilding BM25 index (chunks changed)...")]


def test_an_index_of_another_version_is_rebuilt_without_alarm(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.find("password")
    monkeypatch.setattr("aurora.signals.bm25.WORDS", WORDS._replace(name="words-99"))
    assert bench.find("password") == [AUTH.id]
    assert bench.events == [Note("Rebuilding BM25 index (made by another version)...")]


def test_the_index_says_when_it_was_made(bench: Bench) -> None:
    """FR-1.3"""
    bench.find("password")
    scorer = BM25Scorer(analysis=WORDS)
    scorer.load_index(bench.path)
    assert (scorer.facts["created_at"], scorer.facts["chunks"]) == (NOW.isoformat(), 2)


def test_an_index_serves_all_parameters(bench: Bench) -> None:
    plain = bench.score("login", bench.signal())
    whole = bench.path.read_bytes()
    assert bench.score("login", bench.signal(k1=0.0)) < plain
    assert bench.path.read_bytes() == whole
    assert bench.events == []


def test_an_index_that_cannot_be_saved_still_answers(bench: Bench) -> None:
    bench.path.parent.parent.joinpath("indexes").write_text("a file where the folder should be")
    signal = bench.signal()
    assert bench.find("password", signal) == [AUTH.id]
    assert not signal.saved
    assert len(bench.events) == 1
    assert "Cannot save the BM25 index" in str(bench.events[0])


def test_ten_threads_load_one_index(bench: Bench) -> None:
    """Seed 003: ten concurrent first searches, one load."""
    bench.store.chunks.put_chunks([make_chunk(name=f"f{number}") for number in range(1000)])
    signal = bench.signal()
    assert together(10, lambda: bench.find("password", signal)) == [[AUTH.id]] * 10
    progress = [Progress("Building BM25 index", done, 1002) for done in (1000, 1002)]
    assert bench.events == progress


def test_rebuild_builds_whatever_there_is(bench: Bench) -> None:
    """FR-8.3"""
    signal = bench.signal()
    bench.find("password", signal)
    inode = bench.path.stat().st_ino
    assert len(signal.rebuild()) == 2
    assert bench.path.stat().st_ino != inode


def test_threads_that_meet_one_damage_rebuild_once(bench: Bench) -> None:
    bench.find("password")
    content = bench.path.read_bytes()
    bench.path.write_bytes(content.replace(b"password", b"passwort"))
    signal = bench.signal()
    assert together(5, lambda: bench.find("password", signal)) == [[AUTH.id]] * 5
    assert bench.events == [CORRUPTED]
