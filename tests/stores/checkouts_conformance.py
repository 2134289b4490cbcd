"""What every store promises of checkouts that share it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from aurora.stores.base import Checkout, FileState, Store
from aurora.types import Chunk, Criteria
from tests.builders import NOW, make_chunk

ONE, TWO = Checkout("one", "ada@here one"), Checkout("two", "ben@there two")
STATE = FileState(path="a.py", size=3, modified_ns=7, digest="first")


def put(store: Store, checkout: Checkout, digest: str, text: str, path: str = "a.py") -> None:
    store.checkouts.use(checkout)
    store.checkouts.enter(NOW)
    state = replace(STATE, path=path, digest=digest)
    store.chunks.replace_file(state, [make_chunk(path=path, content=text)])


def visible(store: Store, checkout: Checkout | None) -> list[str]:
    """The texts that a checkout finds."""
    store.checkouts.use(checkout)
    rows = set(store.search.find_rows(Criteria())) - store.checkouts.hidden_rows()
    return sorted(chunk.content for chunk in store.chunks.get_rows(sorted(rows)).values())


def texts(chunks: Sequence[Chunk]) -> list[str]:
    return [chunk.content for chunk in chunks]


class CheckoutsConformance:
    def test_equal_files_are_stored_once(self, store: Store) -> None:
        put(store, ONE, "first", "same")
        row = store.chunks.revisions()
        put(store, TWO, "first", "never read: the other has it")
        assert (store.chunks.revisions(), visible(store, ONE)) == (row, ["same"])
        assert visible(store, TWO) == ["same"]

    def test_each_has_its_own_version(self, store: Store) -> None:
        put(store, ONE, "first", "of one")
        put(store, TWO, "second", "of two")
        assert (visible(store, ONE), visible(store, TWO)) == (["of one"], ["of two"])
        found = store.chunks.get_chunks(["a.py:f"])
        assert texts(found) == ["of one"]
        assert texts(store.checkouts.own_versions(found)) == ["of two"]
        assert [id_ for id_, _ in store.chunks.iter_lines("a.py")] == ["a.py:f#2"]
        put(store, TWO, "third", "of two, later")
        put(store, ONE, "fourth", "of one, later")
        assert visible(store, ONE) == ["of one, later"]
        assert visible(store, TWO) == ["of two, later"]
        assert len(store.chunks.revisions()) == 2

    def test_one_that_never_indexed_finds_one_version(self, store: Store) -> None:
        put(store, ONE, "first", "of one")
        put(store, TWO, "second", "of two")
        stranger = Checkout("three", "eve@somewhere")
        assert visible(store, stranger) == ["of one"]
        assert not store.checkouts.is_known
        assert store.chunks.file_states() == {}
        store.chunks.replace_file(replace(STATE, digest="fifth"), [make_chunk(content="of eve")])
        assert store.checkouts.is_known
        assert visible(store, stranger) == ["of eve"]
        assert visible(store, ONE) == ["of one"]

    def test_a_file_stays_until_nobody_has_it(self, store: Store) -> None:
        put(store, ONE, "first", "same")
        put(store, TWO, "first", "same")
        assert store.chunks.forget_files(["a.py"]) == 0
        assert store.checkouts.owners(["a.py", "b.py"]) == {"a.py": "ada@here one"}
        store.checkouts.use(ONE)
        assert store.chunks.forget_files(["a.py"]) == 1
        assert store.chunks.revisions() == {}

    def test_what_is_forgotten_for_all_is_read_again_by_all(self, store: Store) -> None:
        put(store, ONE, "first", "same")
        put(store, TWO, "first", "same")
        store.chunks.forget_files(["a.py"], everywhere=True)
        put(store, ONE, "first", "same again")
        assert visible(store, TWO) == ["same again"]

    def test_uses_follow_a_version_that_goes(self, store: Store) -> None:
        put(store, ONE, "first", "of one")
        put(store, TWO, "second", "of two")
        store.chunks.record_access("a.py:f#2", NOW)
        store.checkouts.adopt([replace(STATE, digest="first")])
        assert visible(store, TWO) == ["of one"]
        assert store.chunks.get_accesses(["a.py:f"]) == {"a.py:f": (NOW,)}

    def test_a_checkout_goes_with_what_only_it_had(self, store: Store) -> None:
        put(store, ONE, "first", "of one")
        put(store, TWO, "second", "of two")
        put(store, TWO, "alone", "only two has it", path="b.py")
        numbers = {each.checkout.name: each.number for each in store.checkouts.known()}
        store.checkouts.use(ONE)
        store.checkouts.enter(NOW, gone=[TWO.key])
        assert sorted(numbers) == ["ada@here one", "ben@there two"]
        assert [each.checkout for each in store.checkouts.known()] == [ONE]
        assert visible(store, ONE) == ["of one"]
        assert list(store.chunks.get_accesses(["b.py:f"])) == []

    def test_the_files_of_a_worktree_are_not_those_of_the_first(self, store: Store) -> None:
        store.chunks.replace_file(STATE, [make_chunk(content="of the first")])
        put(store, Checkout("side", "side", "/"), "second", "of the worktree")
        assert visible(store, None) == ["of the first"]
        store.chunks.forget_files(["a.py"])
        assert store.checkouts.owners(["a.py"]) == {"a.py": "side"}

    def test_a_moved_file_stays_for_others_where_it_was(self, store: Store) -> None:
        put(store, ONE, "first", "same")
        put(store, TWO, "first", "same")
        assert store.chunks.move_file("a.py", "b.py") == 0
        put(store, TWO, "first", "same", path="b.py")
        store.chunks.forget_files(["a.py"])
        assert visible(store, ONE) == ["same", "same"]
        assert store.checkouts.owners(["a.py", "b.py"]) == {"b.py": "ben@there two"}

    @pytest.mark.parametrize("listed", ["no list", "{}", "[1]", '[{"number": 1}]'])
    def test_a_list_of_nobody_is_none(self, store: Store, listed: str) -> None:
        put(store, ONE, "first", "of one")
        with store.transaction():
            store.checkouts._database.set_fact("checkouts", listed)  # type: ignore[attr-defined]
        assert store.checkouts.known() == []
        put(store, ONE, "second", "of one, later")
        assert visible(store, ONE) == ["of one, later"]
