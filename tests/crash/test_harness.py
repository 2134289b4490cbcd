"""What kills and checks can be trusted: it dies where it is told to, and sees what is wrong."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.crash.choosing import choose_points
from tests.crash.points import Point
from tests.crash.projects import LESSONS
from tests.crash.trying import Trial, staged
from tests.rewriting import rewrite

# What no kill may do; each is seen by another check.
DAMAGE = {
    "half": "DELETE FROM chunks WHERE id LIKE '%@2'",
    "lost": "DELETE FROM chunks WHERE namespace = 'books'",
    "older": "UPDATE chunks SET content = 'apple' WHERE id = 'kept.py:kept_1'",
    "half an index": "DELETE FROM chunks WHERE id = 'kept.py:kept_1'",
    "another's vector": "UPDATE embeddings SET vector = (SELECT max(vector) FROM embeddings)",
    "no vector": "DELETE FROM embeddings WHERE chunk = 2",
    "no use": "DELETE FROM accesses",
    "words of nothing": "INSERT INTO chunks_words(chunks_words) VALUES ('delete-all')",
}


@pytest.fixture(scope="module")
def learning(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trial]:
    with staged("learn", "sqlite", tmp_path_factory.mktemp("crash"), None) as trial:
        yield trial


@pytest.fixture(scope="module")
def adding(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trial]:
    with staged("add", "sqlite", tmp_path_factory.mktemp("crash"), None) as trial:
        yield trial


def alter(trial: Trial, sql: str) -> None:
    path = trial.world.memory_folder / "memory.db"
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("PRAGMA foreign_keys = ON")
        assert file.execute(sql).rowcount != 0


@pytest.mark.parametrize(("when", "learned"), [("before", 2), ("after", 3)])
def test_it_dies_at_the_very_point(learning: Trial, when: str, learned: int) -> None:
    learning.put_back()
    outcome = learning.kill(at=Point(f"sqlite COMMIT of learn: {when}", 3))
    assert (outcome.killed, outcome.acknowledged) == (True, 2)
    assert learning.require_whole(2, by_searching=False) == learned


def test_a_call_that_was_not_made_is_not_taken_for_one_that_was(learning: Trial) -> None:
    learning.put_back()
    learning.kill(at=Point("sqlite COMMIT of learn: before", 3))
    for claimed in (0, 4):  # of two
        with pytest.raises(AssertionError, match="half of a change"):
            learning.require_whole(claimed, by_searching=False)


def test_every_call_passes_its_points(learning: Trial) -> None:
    for name in ("BEGIN of learn: after", "COMMIT of learn: before", "INSERT INTO chunks"):
        assert learning.points.count(f"sqlite {name}") >= len(LESSONS) - 3  # three come again


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_what_is_damaged_is_seen(adding: Trial, damage: str) -> None:
    adding.put_back()
    done = adding.kill().acknowledged
    adding.require_whole(done, by_searching=True)
    alter(adding, damage)
    with pytest.raises(AssertionError):
        adding.require_whole(done, by_searching=False)


def test_answers_of_an_index_that_only_claims_to_be_new_are_seen(adding: Trial) -> None:
    adding.put_back()
    done = adding.kill().acknowledged
    newest = "SELECT value FROM facts WHERE name = 'generation'"
    memory = adding.world.memory_folder / "memory.db"
    with closing(sqlite3.connect(memory)) as file:
        (after,) = file.execute(newest).fetchone()
    adding.put_back()
    rewrite(memory, "facts", f"value = '{after}' WHERE name = 'generation'")
    with adding.world.opened() as own:
        own.memory.admin.rebuild_bm25()
    claiming = (adding.world.memory_folder / "indexes" / "bm25.idx").read_bytes()
    adding.put_back()
    adding.kill()
    rewrite(memory, "facts", f"value = '{after}' WHERE name = 'generation'")
    (adding.world.memory_folder / "indexes" / "bm25.idx").write_bytes(claiming)
    with pytest.raises(AssertionError):
        adding.require_whole(done, by_searching=True)


def test_what_is_left_behind_is_seen(adding: Trial) -> None:
    adding.put_back()
    done = adding.kill().acknowledged
    (adding.world.memory_folder / "indexes" / "left.tmp").touch()
    with pytest.raises(AssertionError):
        adding.require_end(done, by_searching=False)


def test_every_name_is_tried_before_one_is_tried_twice() -> None:
    passed = ["a"] * 7 + ["b", "c"] + ["a"] * 3
    assert {point.name for point in choose_points(passed, 3)} == {"a", "b", "c"}
    assert sorted(choose_points(passed, 99)) == [
        *(Point("a", n) for n in range(1, 11)), Point("b"), Point("c"),
    ]  # fmt: skip
    chosen = choose_points(passed, 6)
    assert len(set(chosen)) == 6
    assert all(1 <= point.number <= passed.count(point.name) for point in chosen)
