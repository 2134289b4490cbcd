"""What every store must do. A store's own test module subclasses `StoreConformance` and says how
to open one; everything here then runs against it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from aurora.errors import EmbedderMismatchError, StoreBusyError
from aurora.packing import pack_vector, unpack_vector
from aurora.stores.base import (
    Embedder,
    FileFacts,
    FileState,
    Reasoning,
    Revision,
    RevisionGroup,
    Store,
    Work,
)
from aurora.types import Chunk, ChunkHistory, Criteria, Json, Kind, Lines, Progress, Tracking
from tests.builders import NOW, hide, make_chunk
from tests.stores.checkouts_conformance import CheckoutsConformance
from tests.stores.reembedding_conformance import ReembeddingConformance
from tests.stores.search_conformance import SearchConformance
from tests.stores.transfer_conformance import TransferConformance

MODEL = Embedder("tiny", 3, "abc")
VECTOR = pack_vector([0.5, -1.0, 0.25])
PATTERN = Reasoning("decomposition", 0.9, 2, NOW)
STATE = FileState("a.py", 10, 123, "digest", identity=f"{2**63}-{2**64}")

HISTORY = ChunkHistory(commits=(100, 200), uncommitted=True)


def by_id(store: Store) -> dict[str, str]:
    return {chunk.id: chunk.content for chunk in store.chunks.iter_chunks()}


FULL = Chunk(
    id="docs/设计.md:auth",
    kind=Kind.KNOWLEDGE,
    name="认证 ✓",
    content="用户认证流程\nwith 'quotes' and \"more\" and % and _",
    qualified_name="design.auth",
    path="docs/设计.md",
    language="markdown",
    namespace="team",
    document_type="decision",
    created_at=datetime(2025, 12, 15, 8, 30, 0, 123456, tzinfo=UTC),
    metadata={"source": "note", "tags": ["a", "b"], "score": 0.5, "deep": {"x": None}},
)


class StoreConformance(
    SearchConformance, TransferConformance, ReembeddingConformance, CheckoutsConformance
):
    """Subclass it as `TestXStore` with an `open_store` fixture that opens the same store again."""

    @pytest.fixture
    def store(self, open_store: Callable[[], Store]) -> Store:
        return open_store()

    # Chunks

    @pytest.mark.parametrize("chunk", [make_chunk(), FULL], ids=["function", "every-field"])
    def test_a_chunk_comes_back_as_it_was(self, store: Store, chunk: Chunk) -> None:
        assert store.chunks.put_chunks([chunk]) == 1
        assert store.chunks.get_chunks([chunk.id]) == [chunk]

    def test_chunks_survive_closing(self, open_store: Callable[[], Store]) -> None:
        first = open_store()
        first.chunks.put_chunks([FULL])
        before = (first.identity, first.generation())
        first.close()

        again = open_store()

        assert again.chunks.get_chunks([FULL.id]) == [FULL]
        assert (again.identity, again.generation()) == before

    def test_chunks_come_in_the_order_asked_for_without_the_missing(self, store: Store) -> None:
        a, b = make_chunk(name="a"), make_chunk(name="b")
        store.chunks.put_chunks([a, b])
        assert store.chunks.get_chunks([b.id, "nowhere", a.id, b.id]) == [b, a, b]

    def test_many_ids_at_once(self, store: Store) -> None:
        chunks = [make_chunk(name=f"f{number}") for number in range(2500)]
        assert store.chunks.put_chunks(chunks) == 2500
        assert store.chunks.get_chunks([chunk.id for chunk in chunks]) == chunks
        assert list(store.chunks.iter_chunks()) == chunks
        assert store.chunks.delete_chunks([chunk.id for chunk in chunks]) == 2500

    def test_writing_an_id_again_replaces_the_chunk(self, store: Store) -> None:
        store.chunks.put_chunks([make_chunk("old")])
        assert store.chunks.put_chunks([make_chunk("new")]) == 1
        assert [chunk.content for chunk in store.chunks.iter_chunks()] == ["new"]

    def test_writing_the_same_again_changes_nothing(self, store: Store) -> None:
        store.chunks.put_chunks([FULL])
        generation = store.generation()
        assert store.chunks.put_chunks([FULL]) == 0
        assert store.generation() == generation

    def test_deleting_counts_what_was_there(self, store: Store) -> None:
        store.chunks.put_chunks([make_chunk(name="a"), make_chunk(name="b")])
        assert store.chunks.delete_chunks(["a.py:a", "nowhere"]) == 1
        assert [chunk.name for chunk in store.chunks.iter_chunks()] == ["b"]

    def test_counts_by_kind_and_namespace(self, store: Store) -> None:
        store.chunks.put_chunks([make_chunk(name="a"), make_chunk(name="b"), FULL])
        assert store.chunks.count_chunks() == {Kind.FUNCTION: 2, Kind.KNOWLEDGE: 1}
        assert store.chunks.count_namespaces() == {"": 2, "team": 1}

    @pytest.mark.parametrize(
        ("suffix", "found"),
        [
            ("a.py:f_1", ["a.py:f_1", "b/a.py:f_1"]),
            ("b/a.py:f_1", ["b/a.py:f_1"]),
            ("f%1", []),
            ("fx1", ["a.py:fx1"]),
            ("'; DROP TABLE chunks; --", []),
            ("", []),
        ],
        ids=["two", "one", "percent", "underscore-is-plain", "injection", "empty"],
    )
    def test_ids_by_ending(self, store: Store, suffix: str, found: list[str]) -> None:
        store.chunks.put_chunks([
            make_chunk(name="f_1"), make_chunk(name="fx1"), make_chunk(path="b/a.py", name="f_1"),
        ])  # fmt: skip
        assert store.chunks.find_ids(suffix, limit=5) == found
        assert len(store.chunks.find_ids("1", limit=2)) == 2

    @pytest.mark.parametrize(
        ("prefix", "found"),
        [
            ("a.py:f", ["a.py:f_1", "a.py:fx1"]),
            ("a.py:f_", ["a.py:f_1"]),
            ("A.py", []),
            ("用", ["用户.py:认证"]),
            ("f%", []),
            ("\ud800", []),
            ("a\udfff", []),
            ("", ["a.py:f_1", "a.py:fx1", "b/a.py:f_1", "用户.py:认证"]),
        ],
        ids=["two", "underscore-is-plain", "case", "cjk", "percent", "no-text", "half", "empty"],
    )
    def test_ids_by_beginning(self, store: Store, prefix: str, found: list[str]) -> None:
        store.chunks.put_chunks([
            make_chunk(name="f_1"), make_chunk(name="fx1"), make_chunk(path="b/a.py", name="f_1"),
            make_chunk(path="用户.py", name="认证"),
        ])  # fmt: skip
        assert store.chunks.find_ids_from(prefix, limit=5) == found
        assert store.chunks.find_ids_from(prefix, limit=1) == found[:1]

    @pytest.mark.parametrize("half", ["\ud800", "a.py:f\udfff"])
    def test_halves_of_characters_are_nothings_name(self, store: Store, half: str) -> None:
        """As a broken terminal hands them on."""
        store.chunks.put_chunks([make_chunk(name="f", namespace="n")])
        ids = ["a.py:f", half]
        assert [chunk.id for chunk in store.chunks.get_chunks(ids)] == ["a.py:f"]
        assert store.chunks.find_ids(half, limit=5) == []
        assert store.chunks.find_below(half) == []
        assert store.chunks.find_in_namespace(half) == []
        assert (store.chunks.get_reasoning(half), store.chunks.get_accesses([half])) == (None, {})
        assert (store.chunks.get_histories([half]), store.vectors.get_embeddings([half])) == (
            {},
            {},
        )
        assert store.chunks.file_states([half]) == {}

    def test_languages_in_order_without_the_unknown_one(self, store: Store) -> None:
        assert store.chunks.list_languages() == []
        store.chunks.put_chunks([
            make_chunk(name="a"), make_chunk(name="b"), make_chunk(name="c", language="go"),
            make_chunk(name="d", language=""),
        ])  # fmt: skip
        assert store.chunks.list_languages() == ["go", "python"]

    def test_ids_by_file_folder_and_namespace(self, store: Store) -> None:
        store.chunks.put_chunks([
            make_chunk(path="a/x.py"), make_chunk(path="a/b/y.py"), make_chunk(path="ab/z.py"),
            make_chunk(path="a_b/z.py"), make_chunk(path="aX/x.py"), FULL,
        ])  # fmt: skip
        assert store.chunks.find_below("a") == ["a/b/y.py:f", "a/x.py:f"]
        assert store.chunks.find_below("a/") == ["a/b/y.py:f", "a/x.py:f"]
        assert store.chunks.find_below("a/x.py") == ["a/x.py:f"]
        assert store.chunks.find_below("aX") == ["aX/x.py:f"]
        assert store.chunks.find_below("a%") == store.chunks.find_below("nowhere") == []
        assert store.chunks.find_in_namespace("team") == [FULL.id]

    def test_the_folder_of_relative_paths_holds_no_other(self, store: Store) -> None:
        paths = ["a.py", "b/c.py", "/elsewhere/d.py", "C:/windows/e.py", ""]
        store.chunks.put_chunks(make_chunk(path=path, name="f") for path in paths)
        assert store.chunks.find_below(".") == ["a.py:f", "b/c.py:f"]
        assert store.chunks.find_in_namespace("tea_") == []

    @pytest.mark.parametrize(
        "text",
        ["'; DROP TABLE chunks; --", '" OR 1=1 --', "a\0b", "%_\\", "x" * 1_000_000, "𝔘𝔫𝔦"],
        ids=["quote", "or", "nul", "wildcards", "megabyte", "astral"],
    )
    def test_hostile_text_is_only_text(self, store: Store, text: str) -> None:
        chunk = make_chunk(text, name=text[:50], metadata={"k": text[:50]})
        store.chunks.put_chunks([chunk])
        assert store.chunks.get_chunks([chunk.id]) == [chunk]
        assert store.maintenance.check() == []

    # Revisions

    def test_every_chunk_that_may_be_found_has_a_revision(self, store: Store) -> None:
        chunks = [make_chunk(name=f"f{number}") for number in range(2500)]
        store.chunks.put_chunks(chunks)
        revised = list(store.chunks.iter_revised())
        assert [chunk for _, chunk in revised] == chunks == list(store.chunks.iter_chunks())
        assert [revision for revision, _ in revised] == in_order(store)
        assert sorted(store.chunks.revisions()) == list(store.chunks.revisions())

    def test_revisions_stay_while_the_texts_do(self, store: Store) -> None:
        store.chunks.put_chunks([make_chunk(), FULL])
        before = in_order(store)
        store.chunks.put_chunks([FULL])
        store.chunks.record_access(FULL.id, NOW)
        store.chunks.put_file_states([STATE])
        store.vectors.put_embeddings(MODEL, [(FULL.id, VECTOR)])
        store.chunks.put_reasoning(FULL.id, PATTERN)
        assert in_order(store) == before

    def test_a_changed_chunk_has_a_new_revision_in_its_old_row(self, store: Store) -> None:
        store.chunks.put_chunks([make_chunk(), FULL])
        old, other = in_order(store)
        store.chunks.put_chunks([make_chunk("changed")])
        assert in_order(store) == [Revision(old.row, store.generation()), other]

    def test_a_new_chunk_comes_last_also_where_one_was_deleted(self, store: Store) -> None:
        store.chunks.put_chunks([make_chunk(), FULL])
        first, second = in_order(store)
        store.chunks.delete_chunks(["a.py:f"])
        assert in_order(store) == [second]
        store.chunks.put_chunks([make_chunk()])
        assert in_order(store)[0] == second
        assert in_order(store)[1] > max(first, second)

    def test_a_row_is_never_given_again(self, store: Store) -> None:
        store.chunks.put_chunks([make_chunk()])
        first = in_order(store)
        store.chunks.delete_chunks(["a.py:f"])
        assert store.chunks.revisions() == {}
        store.chunks.put_chunks([make_chunk()])
        assert in_order(store)[0].row > first[0].row

    def test_chunks_written_together_share_a_generation(self, store: Store) -> None:
        with store.transaction():
            store.chunks.put_chunks([make_chunk()])
            store.chunks.replace_file(STATE, [make_chunk("again"), make_chunk(name="g")])
        assert set(store.chunks.revisions().values()) == {store.generation()}

    def test_what_is_replaced_moves_out_and_in_to_its_old_row(self, store: Store) -> None:
        store.chunks.put_chunks([make_chunk(kind=Kind.REASONING), FULL])
        both = [revision.row for revision in in_order(store)]
        for by, expected in [("x", both[1:]), (None, both), ("", both[1:]), (None, both)]:
            hide(store, "a.py:f", by=by)
            assert [revision.row for revision in in_order(store)] == expected

    def test_revisions_of_some_generations_and_the_groups_of_all(self, store: Store) -> None:
        for number in range(5):
            store.chunks.put_chunks(
                [make_chunk(f"{number}", name=f"{name}{number // 2}") for name in "fgh"]
            )
        store.chunks.delete_chunks(["a.py:f1"])
        hide(store, "a.py:g2")
        revisions = store.chunks.revisions()
        groups: dict[int, list[int]] = {}
        for row, generation in revisions.items():
            groups.setdefault(generation, []).append(row)
        assert len(groups) == 3
        for generation, rows in groups.items():
            assert list(store.chunks.revisions([generation, 0])) == rows
        assert store.chunks.revisions([]) == {}
        summed = {
            at: RevisionGroup(len(rows), sum(rows), sum(row * ((row + at) % 1024) for row in rows))
            for at, rows in groups.items()
        }
        assert store.chunks.revision_groups() == summed
        *before, last = sorted(groups)
        old = RevisionGroup(*map(sum, zip(*(summed[at] for at in before), strict=True)))
        assert store.chunks.revision_groups(old=before[-1]) == {before[-1]: old, last: summed[last]}

    def test_a_failed_transaction_leaves_the_revisions(self, store: Store) -> None:
        store.chunks.put_chunks([make_chunk(), FULL])
        before = in_order(store)

        def change_and_fail() -> None:
            with store.transaction():
                store.chunks.put_chunks([make_chunk("lost")])
                store.chunks.delete_chunks([FULL.id])
                raise RuntimeError("stop")

        with pytest.raises(RuntimeError, match="stop"):
            change_and_fail()
        assert in_order(store) == before

    def test_chunks_of_some_rows(self, store: Store) -> None:
        """Oldest first, each once, without the missing and the ones that may not be found."""
        chunks = [make_chunk(name=f"f{number}") for number in range(1200)]
        store.chunks.put_chunks(chunks)
        hide(store, "a.py:f7")
        rows = [revision.row for revision in in_order(store)]
        revised = dict(store.chunks.iter_revised([*reversed(rows), rows[3], rows[-1] + 1]))
        assert list(revised.values()) == chunks[:7] + chunks[8:]
        assert list(revised) == in_order(store)
        assert list(store.chunks.iter_revised([])) == []
        assert [chunk for _, chunk in store.chunks.iter_revised(rows[:1])] == chunks[:1]

    # Generations and transactions

    def test_the_generation_grows_with_what_can_be_found(self, store: Store) -> None:
        seen = [store.generation()]
        for change in (
            lambda: store.chunks.put_chunks([make_chunk(), FULL]),
            lambda: store.chunks.put_chunks([make_chunk("changed")]),
            lambda: store.chunks.put_reasoning(FULL.id, PATTERN),
            lambda: store.vectors.put_embeddings(MODEL, [(FULL.id, VECTOR)]),
            lambda: store.chunks.delete_chunks([FULL.id]),
            lambda: store.chunks.replace_file(STATE, []),
        ):
            change()
            seen.append(store.generation())
        assert seen == sorted(set(seen))

    def test_files_that_were_left_out_do_not_count(self, store: Store) -> None:
        assert store.chunks.count_files() == 0
        store.chunks.replace_file(STATE, [])
        store.chunks.replace_file(replace(STATE, path="b.bin", left_out="binary"), [])
        assert (store.chunks.count_files(), len(store.chunks.file_states())) == (1, 2)

    def test_states_of_some_files(self, store: Store) -> None:
        states = {name: replace(STATE, path=name) for name in (f"f{n}.py" for n in range(1200))}
        for state in states.values():
            store.chunks.replace_file(state, [])
        assert (
            store.chunks.file_states()
            == store.chunks.file_states([*states, "nowhere.py"])
            == states
        )
        assert store.chunks.file_states(["f7.py"]) == {"f7.py": states["f7.py"]}
        assert store.chunks.file_states([]) == {}

    def test_states_of_sessions_are_no_files(self, store: Store) -> None:
        states = [replace(STATE, path=path) for path in ("a.py", "sessions:known:x", "sessions:y")]
        store.chunks.add_files(states)
        assert [*store.chunks.file_states()] == ["a.py"]
        assert store.chunks.count_files() == 1
        assert sorted(store.chunks.states_from("sessions:")) == ["sessions:known:x", "sessions:y"]
        assert store.chunks.states_from("sessions:known:") == {"sessions:known:x": states[1]}
        assert store.chunks.states_from("sessions:_nown:") == {}
        store.chunks.forget_files(["sessions:y"])
        assert [*store.chunks.states_from("sessions:")] == ["sessions:known:x"]

    def test_an_access_or_a_file_state_is_no_new_generation(self, store: Store) -> None:
        store.chunks.put_chunks([make_chunk()])
        generation = store.generation()
        store.chunks.record_access("a.py:f", NOW)
        store.chunks.put_file_states([STATE])
        store.chunks.delete_chunks(["nowhere"])
        assert store.generation() == generation

    def test_a_transaction_is_one_generation(self, store: Store) -> None:
        before = store.generation()
        with store.transaction():
            store.chunks.put_chunks([make_chunk(name="a")])
            store.chunks.put_chunks([make_chunk(name="b")])
            assert store.generation() == before
        assert store.generation() > before

    def test_a_failed_transaction_leaves_what_was_there(self, store: Store) -> None:
        store.chunks.put_chunks([make_chunk("kept")])
        generation = store.generation()

        def change_and_fail() -> None:
            with store.transaction():
                store.chunks.put_chunks([make_chunk("lost"), FULL])
                store.chunks.delete_chunks(["a.py:f"])
                raise RuntimeError("stop")

        with pytest.raises(RuntimeError, match="stop"):
            change_and_fail()
        assert [chunk.content for chunk in store.chunks.iter_chunks()] == ["kept"]
        assert store.generation() == generation
        assert store.maintenance.check() == []

    def test_threads_read_while_one_writes(self, store: Store) -> None:
        """Every reader sees whole batches only, never half of one."""
        counts: list[int] = []
        failures: list[BaseException] = []

        def read() -> None:
            try:
                counts.extend(sum(store.chunks.count_chunks().values()) for _ in range(50))
            except BaseException as exc:
                failures.append(exc)

        readers = [threading.Thread(target=read) for _ in range(4)]
        for reader in readers:
            reader.start()
        for batch in range(10):
            store.chunks.put_chunks([make_chunk(name=f"f{batch}_{number}") for number in range(20)])
        for reader in readers:
            reader.join()

        assert failures == []
        assert {count % 20 for count in counts} <= {0}
        assert sum(store.chunks.count_chunks().values()) == 200

    # Files

    def test_a_file_is_replaced_whole(self, store: Store) -> None:
        kept, old = make_chunk(name="kept"), make_chunk(name="old")
        other = make_chunk(path="b.py")
        store.chunks.put_chunks([other])
        store.chunks.replace_file(STATE, [kept, old])
        store.chunks.record_access(kept.id, NOW)
        new_state = replace(STATE, digest="other")

        changed = store.chunks.replace_file(new_state, [kept, make_chunk(name="new")])

        assert changed == 2
        assert {chunk.id for chunk in store.chunks.iter_chunks()} == {
            "a.py:kept",
            "a.py:new",
            "b.py:f",
        }
        assert store.chunks.file_states() == {"a.py": new_state}
        assert store.chunks.get_accesses([kept.id]) == {kept.id: (NOW,)}

    def test_files_are_replaced_together_as_one_by_one(self, store: Store) -> None:
        other = replace(STATE, path="b.py")
        files = [
            (STATE, [make_chunk(name="a"), make_chunk(id="same")]),
            (other, [make_chunk(path="b.py", name=f"f{number}") for number in range(1200)]),
        ]
        assert store.chunks.replace_files(files) == 1202
        assert store.chunks.file_states() == {"a.py": STATE, "b.py": other}
        assert len(by_id(store)) == 1202
        assert store.chunks.replace_files(files) == 0
        third = (replace(STATE, path="c.py"), [make_chunk("third", "c.py", id="same")])
        assert store.chunks.replace_files([(other, []), third]) == 1201
        assert by_id(store).keys() == {"a.py:a", "same", "same#2"}
        assert store.maintenance.check() == []

    def test_a_generation_of_a_chunk_changes_with_its_text(self, store: Store) -> None:
        first, second = make_chunk("one"), make_chunk("two", name="g")
        store.chunks.put_chunks([first, second])
        ids = [first.id, second.id, "unknown"]
        before = store.chunks.generations(ids)
        assert before.keys() == {first.id, second.id}
        store.chunks.put_chunks([make_chunk("another")])
        after = store.chunks.generations(ids)
        assert after[first.id] > before[first.id]
        assert after[second.id] == before[second.id]

    def test_a_file_forgotten_takes_its_chunks_along(self, store: Store) -> None:
        store.chunks.replace_file(STATE, [make_chunk(name="a"), make_chunk(name="b")])
        store.chunks.put_chunks([make_chunk(path="b.py")])
        assert store.chunks.forget_files(["a.py", "nowhere.py"]) == 2
        assert [chunk.id for chunk in store.chunks.iter_chunks()] == ["b.py:f"]
        assert store.chunks.file_states() == {}

    def test_a_file_may_give_its_chunks_as_a_stream(self, store: Store) -> None:
        """More than any page holds, and the first are written before the last is made."""
        written: list[int] = []

        def chunks() -> Iterator[Chunk]:
            for number in range(2500):
                yield make_chunk(name=f"f{number}")
            written.append(len(store.chunks.find_below("a.py")))

        assert store.chunks.replace_file(STATE, chunks()) == 2500
        assert written == [2000]
        assert store.chunks.replace_file(STATE, chunks()) == 0
        assert store.chunks.replace_file(STATE, [make_chunk(name="f7")]) == 2499
        assert [chunk.id for chunk in store.chunks.iter_chunks()] == ["a.py:f7"]

    def test_a_stream_that_breaks_leaves_the_file_as_it_was(self, store: Store) -> None:
        store.chunks.replace_file(STATE, [make_chunk("old")])
        before = (store.chunks.file_states(), store.generation())

        def chunks() -> Iterator[Chunk]:
            yield from (make_chunk("new", name=f"f{number}") for number in range(2500))
            raise OSError("the disk is gone")

        with pytest.raises(OSError, match="the disk is gone"):
            store.chunks.replace_file(replace(STATE, digest="new"), chunks())
        assert [chunk.content for chunk in store.chunks.iter_chunks()] == ["old"]
        assert (store.chunks.file_states(), store.generation()) == before
        assert store.maintenance.check() == []

    def test_an_id_of_another_file_is_never_taken(self, store: Store) -> None:
        mine, theirs = make_chunk("mine", id="same"), make_chunk("theirs", "b.py", id="same")
        store.chunks.replace_file(STATE, [mine])
        store.chunks.record_access("same", NOW)
        store.chunks.replace_file(replace(STATE, path="b.py"), [theirs])
        store.chunks.replace_file(
            replace(STATE, path="c.py"), [make_chunk("third", "c.py", id="same")]
        )

        assert by_id(store) == {"same": "mine", "same#2": "theirs", "same#3": "third"}
        assert store.chunks.replace_file(replace(STATE, path="b.py"), [theirs]) == 0
        assert store.chunks.get_accesses(["same", "same#2"]) == {"same": (NOW,)}
        assert store.chunks.replace_file(STATE, [make_chunk("mine again", id="same")]) == 1
        assert by_id(store) == {"same": "mine again", "same#2": "theirs", "same#3": "third"}

    @pytest.mark.parametrize("between", [0, 1500], ids=["side-by-side", "pages-apart"])
    def test_a_number_behind_an_id_takes_none_of_the_files_own(
        self, store: Store, between: int
    ) -> None:
        """A log of long phases has numbers of its own: `conv-a-phase1#2` is its second piece."""
        store.chunks.put_chunks(
            [make_chunk("theirs", "b.py", id="x"), make_chunk("t", "b.py", id="y")]
        )
        own = [make_chunk(f"piece {n}", id=f"x#{n}") for n in range(2, 5)]
        filler = [make_chunk("filler", name=f"f{n}") for n in range(between)]
        first, last = make_chunk("piece 1", id="x"), make_chunk("y", id="y")

        for chunks in ([first, *filler, *own, last], [*own, *filler, first, last]):
            store.chunks.replace_file(STATE, chunks)
            contents = by_id(store)
            assert len(contents) == between + 7
            assert (contents["x"], contents["y"]) == ("theirs", "t")
            assert sorted(c for c in contents.values() if c.startswith("piece")) == [
                "piece 1", "piece 2", "piece 3", "piece 4",
            ]  # fmt: skip
            if not between:
                assert [contents[chunk.id] for chunk in own] == ["piece 2", "piece 3", "piece 4"]
        generation = store.generation()
        assert store.chunks.replace_file(STATE, chunks) == 0
        assert store.generation() == generation

    def test_a_chunk_under_another_id_loses_the_vector_of_its_old_text(self, store: Store) -> None:
        store.chunks.put_chunks([make_chunk("theirs", "b.py", id="same")])
        store.chunks.replace_file(STATE, [make_chunk("old", id="same")])
        store.vectors.put_embeddings(MODEL, [("same#2", VECTOR)])
        store.chunks.replace_file(STATE, [make_chunk("old", id="same", lines=None)])
        assert store.vectors.get_embeddings(["same#2"]) == {"same#2": VECTOR}
        store.chunks.replace_file(STATE, [make_chunk("new", id="same")])
        assert store.vectors.get_embeddings(["same#2"]) == {}

    def test_a_file_that_moved_takes_all_along(self, store: Store) -> None:
        """All but the vectors: those were made of the path, too."""
        store.chunks.replace_file(STATE, [make_chunk(name="f"), make_chunk("x", id="conv-1")])
        store.chunks.put_chunks([make_chunk(path="aXpy"), make_chunk(path="a.py2")])
        store.chunks.record_access("a.py:f", NOW)
        store.chunks.put_histories({"a.py:f": HISTORY})
        store.vectors.put_embeddings(MODEL, [("a.py:f", VECTOR), ("aXpy:f", VECTOR)])
        generation = store.generation()

        assert store.chunks.move_file("a.py", "sub/b.py") == 2

        assert {chunk.id: chunk.path for chunk in store.chunks.iter_chunks()} == {
            "sub/b.py:f": "sub/b.py", "conv-1": "sub/b.py", "aXpy:f": "aXpy", "a.py2:f": "a.py2",
        }  # fmt: skip
        assert store.chunks.get_accesses(["sub/b.py:f"]) == {"sub/b.py:f": (NOW,)}
        assert store.chunks.get_histories(["sub/b.py:f"]) == {"sub/b.py:f": HISTORY}
        assert store.vectors.get_embeddings(["sub/b.py:f", "aXpy:f"]) == {"aXpy:f": VECTOR}
        assert store.chunks.file_states() == {}  # the new path's state comes with its chunks
        assert store.generation() > generation
        assert store.maintenance.check() == []

    def test_a_move_onto_ids_that_are_taken_takes_none_of_them(self, store: Store) -> None:
        store.chunks.replace_file(
            STATE, [make_chunk("moved", name="f"), make_chunk("too", name="g")]
        )
        store.chunks.put_chunks([make_chunk("in the way", "other.py", id="b.py:f")])

        assert store.chunks.move_file("a.py", "b.py") == 1
        assert by_id(store) == {"b.py:f": "in the way", "b.py:g": "too"}
        store.chunks.replace_file(replace(STATE, path="b.py"), [make_chunk("moved", "b.py")])
        assert by_id(store) == {"b.py:f": "in the way", "b.py:f#2": "moved"}
        assert store.chunks.move_file("nowhere.py", "c.py") == 0
        assert store.maintenance.check() == []

    def test_only_states_of_known_files_are_replaced(self, store: Store) -> None:
        left_out = FileState("b.bin", 5, 6, "1:", left_out="binary")
        store.chunks.replace_file(STATE, [make_chunk()])
        store.chunks.replace_file(left_out, [])
        told = replace(STATE, modified_ns=9, history_stamp="abc", history_read_at=NOW)

        store.chunks.put_file_states([told, FileState("nowhere.py", 1, 2, "x")])

        assert store.chunks.file_states() == {"a.py": told, "b.bin": left_out}

    # Histories

    def test_the_end_of_an_index_run_is_remembered_and_changes_nothing_else(
        self, store: Store, open_store: Callable[[], Store]
    ) -> None:
        before = store.generation()
        assert store.chunks.indexed_at() is None
        store.chunks.put_indexed_at(NOW)
        store.chunks.put_indexed_at(NOW + timedelta(microseconds=1))
        assert open_store().chunks.indexed_at() == NOW + timedelta(microseconds=1)
        assert store.generation() == before

    def test_indexed_places_are_remembered_and_change_nothing_else(
        self, store: Store, open_store: Callable[[], Store]
    ) -> None:
        before = store.generation()
        assert store.chunks.indexed_places() == {}
        store.chunks.put_indexed_places({".": True})
        store.chunks.put_indexed_places({"src": False, "/elsewhere/ä": True})
        assert open_store().chunks.indexed_places() == {"src": False, "/elsewhere/ä": True}
        assert store.generation() == before

    def test_histories_come_back_and_are_no_new_generation(self, store: Store) -> None:
        """What can be found does not change by what git says of it."""
        read = replace(STATE, history_stamp="abc", history_read_at=NOW)
        store.chunks.replace_file(read, [make_chunk(name="f"), make_chunk(name="g")])
        untracked = ChunkHistory(Tracking.UNTRACKED)
        generation = store.generation()

        assert (
            store.chunks.put_histories({"a.py:f": HISTORY, "a.py:g": untracked, "gone": HISTORY})
            == 2
        )
        assert store.chunks.put_histories({"a.py:f": HISTORY, "a.py:g": untracked}) == 0
        assert store.chunks.get_histories(["a.py:f", "a.py:g", "gone"]) == {
            "a.py:f": replace(HISTORY, read_at=NOW), "a.py:g": replace(untracked, read_at=NOW),
        }  # fmt: skip
        committed = replace(HISTORY, commits=(1, 2, 3), uncommitted=False)
        assert store.chunks.put_histories({"a.py:f": committed}) == 1
        assert store.chunks.get_histories(["a.py:f"]) == {"a.py:f": replace(committed, read_at=NOW)}
        assert store.generation() == generation

    def test_files_in_numbers(self, store: Store) -> None:
        """One row for each file, with the distinct commits of its chunks."""
        empty = replace(STATE, path="empty.txt", size=0, left_out="is empty")
        store.chunks.replace_file(STATE, [
            make_chunk(name="f", lines=Lines(1, 5)), make_chunk(name="g", lines=Lines(7, 9)),
        ])  # fmt: skip
        store.chunks.replace_file(replace(STATE, path="sub/b.py"), [make_chunk(path="sub/b.py")])
        store.chunks.replace_file(empty, [])
        store.chunks.record_access("a.py:f", NOW)
        store.chunks.record_access("a.py:f", NOW)
        store.chunks.put_histories({
            "a.py:f": HISTORY, "a.py:g": replace(HISTORY, commits=(200, 2**40)),
        })  # fmt: skip
        [row] = store.search.find_rows(Criteria(paths=("sub/b.py",)))

        assert store.chunks.list_file_facts() == [
            FileFacts("a.py", 10, 123, 2, 9, 2, 3, 2**40),
            FileFacts("sub/b.py", 10, 123, 1, 1, 0, 0, None),
        ]
        assert store.chunks.list_file_facts([row])[1] == FileFacts(
            "sub/b.py", 10, 123, 0, 0, 0, 0, None
        )

    def test_a_history_stays_with_its_chunk_and_goes_with_it(self, store: Store) -> None:
        store.chunks.replace_file(STATE, [make_chunk()])
        store.chunks.put_histories({"a.py:f": HISTORY})
        store.chunks.replace_file(STATE, [make_chunk("new")])
        assert store.chunks.get_histories(["a.py:f"]) == {"a.py:f": HISTORY}
        store.chunks.forget_files(["a.py"])
        store.chunks.replace_file(STATE, [make_chunk("new")])
        assert store.chunks.get_histories(["a.py:f"]) == {}

    @pytest.mark.parametrize("seconds", [0, -1, 2**31, -(2**40), 2**62], ids=str)
    def test_commits_of_any_clock_are_kept(self, store: Store, seconds: int) -> None:
        store.chunks.put_chunks([make_chunk()])
        store.chunks.put_histories({"a.py:f": ChunkHistory(commits=(seconds,))})
        assert store.chunks.get_histories(["a.py:f"])["a.py:f"].commits == (seconds,)

    def test_commits_beyond_any_calendar_are_kept_as_far_as_a_column_holds(
        self, store: Store
    ) -> None:
        store.chunks.put_chunks([make_chunk()])
        store.chunks.put_histories({"a.py:f": ChunkHistory(commits=(-(2**70), 2**70))})
        assert store.chunks.get_histories(["a.py:f"])["a.py:f"].commits == (-(2**63), 2**63 - 1)

    def test_lines_of_a_file_without_those_that_have_none(self, store: Store) -> None:
        chunks = [make_chunk(name="f"), make_chunk(name="g", lines=None), make_chunk(path="b.py")]
        store.chunks.put_chunks(chunks)
        assert dict(store.chunks.iter_lines("a.py")) == {"a.py:f": Lines(1, 1)}
        assert dict(store.chunks.iter_lines("nowhere.py")) == {}

    # One who indexes at a time

    def test_one_handle_is_alone_and_others_are_told_at_once(
        self, open_store: Callable[[], Store]
    ) -> None:
        first, second = open_store(), open_store()
        with first.alone():
            for other in (second, first):
                with (
                    pytest.raises(StoreBusyError, match="is being indexed") as caught,
                    other.alone(),
                ):
                    pass
            assert "has finished" in caught.value.hint
            second.chunks.put_chunks([make_chunk()])  # only indexing is alone
        with second.alone(), pytest.raises(StoreBusyError), first.alone():
            pass

    def test_vectors_are_replaced_by_one_handle_beside_an_index_run(
        self, open_store: Callable[[], Store]
    ) -> None:
        first, second = open_store(), open_store()
        progress = Progress("Embedding", 64, 1_000)
        with first.alone(Work.VECTORS) as tell, second.alone():
            tell(progress)
            assert second.run_progress(Work.VECTORS) == progress
            assert second.run_progress() is None
            with pytest.raises(StoreBusyError, match="replaced"), second.alone(Work.VECTORS):
                pass
        assert second.run_progress(Work.VECTORS) is None

    def test_every_handle_sees_how_far_the_one_that_indexes_is(
        self, open_store: Callable[[], Store]
    ) -> None:
        first, second = open_store(), open_store()
        with first.alone() as tell:
            assert second.run_progress() is None
            for done in (9, 10_412):
                tell(Progress("Indexing", done, 20_640))
                for store in (first, second):
                    assert store.run_progress() == Progress("Indexing", done, 20_640)
        assert [store.run_progress() for store in (first, second)] == [None, None]
        with second.alone():
            assert first.run_progress() is None

    def test_who_fails_while_alone_lets_go(self, store: Store) -> None:
        with pytest.raises(RuntimeError, match="stop"), store.alone():
            raise RuntimeError("stop")
        with store.alone():
            pass

    # Reasoning and accesses

    def test_reasoning_comes_back_and_can_be_replaced(self, store: Store) -> None:
        store.chunks.put_chunks([make_chunk(kind=Kind.REASONING)])
        assert store.chunks.get_reasoning("a.py:f") is None
        store.chunks.put_reasoning("a.py:f", PATTERN)
        used = replace(PATTERN, usage_count=3)
        store.chunks.put_reasoning("a.py:f", used)
        assert store.chunks.get_reasoning("a.py:f") == used

    @pytest.mark.parametrize("score", [0.0, 0.49, 0.5, 1.0])
    def test_reasoning_is_found_whatever_its_success(self, store: Store, score: float) -> None:
        """Seed 000, FR-4.1; FR-4.4 is overruled: what failed before is worth knowing."""
        store.chunks.put_chunks([make_chunk(kind=Kind.REASONING)])
        store.chunks.put_reasoning("a.py:f", replace(PATTERN, success_score=score))
        assert [chunk.id for chunk in store.chunks.iter_chunks()] == ["a.py:f"]
        assert store.chunks.count_chunks() == {Kind.REASONING: 1}

    @pytest.mark.parametrize(
        ("metadata", "found"),
        [
            ({"replaced_by": "another"}, 0),
            ({"replaced_by": ""}, 0),
            ({"replaced_by": None}, 1),
            ({"note": {"replaced_by": "another"}}, 1),
            ({"note": '"replaced_by": "another"'}, 1),
        ],
    )
    def test_what_is_replaced_is_kept_and_not_found(
        self, store: Store, metadata: dict[str, Json], found: int
    ) -> None:
        chunk = make_chunk(metadata=metadata)
        store.chunks.put_chunks([chunk])
        assert len(list(store.chunks.iter_chunks())) == found
        assert sum(store.chunks.count_chunks().values()) == found
        assert len(store.search.find_text("def", limit=5)) == found
        assert store.chunks.get_chunks(["a.py:f"]) == [chunk]
        assert store.maintenance.check() == []

    def test_accesses_are_kept_in_order(self, store: Store) -> None:
        store.chunks.put_chunks([make_chunk(), FULL])
        later = NOW + timedelta(days=1, microseconds=5)
        store.chunks.record_access("a.py:f", later)
        store.chunks.record_access("a.py:f", NOW)
        store.chunks.record_access("nowhere", NOW)
        assert store.chunks.get_accesses(["a.py:f", FULL.id, "nowhere"]) == {"a.py:f": (NOW, later)}

    def test_a_deleted_chunk_leaves_nothing_behind(self, store: Store) -> None:
        store.chunks.put_chunks([make_chunk()])
        store.chunks.record_access("a.py:f", NOW)
        store.chunks.put_reasoning("a.py:f", PATTERN)
        store.vectors.put_embeddings(MODEL, [("a.py:f", VECTOR)])
        store.chunks.delete_chunks(["a.py:f"])
        store.chunks.put_chunks([make_chunk()])
        assert store.chunks.get_accesses(["a.py:f"]) == {}
        assert store.chunks.get_reasoning("a.py:f") is None
        assert store.vectors.get_embeddings(["a.py:f"]) == {}

    # Embeddings

    def test_vectors_come_back_bit_for_bit(self, store: Store) -> None:
        store.chunks.put_chunks([make_chunk(), FULL])
        store.vectors.put_embeddings(MODEL, [("a.py:f", VECTOR), ("nowhere", VECTOR)])
        assert store.vectors.get_embeddings(["a.py:f", FULL.id, "nowhere"]) == {"a.py:f": VECTOR}
        assert list(unpack_vector(VECTOR)) == [0.5, -1.0, 0.25]
        assert store.vectors.embedder() == MODEL

    def test_vectors_are_little_endian_float16(self) -> None:
        assert VECTOR.hex() == "0038" + "00bc" + "0034"

    @pytest.mark.parametrize(
        "other",
        [Embedder("big", 3, "abc"), Embedder("tiny", 4, "abc"), Embedder("tiny", 3, "xyz")],
        ids=["name", "dimension", "fingerprint"],
    )
    def test_vectors_of_two_models_never_mix(self, store: Store, other: Embedder) -> None:
        store.chunks.put_chunks([make_chunk()])
        store.vectors.put_embeddings(MODEL, [("a.py:f", VECTOR)])
        with pytest.raises(EmbedderMismatchError, match="tiny"):
            store.vectors.put_embeddings(other, [("a.py:f", pack_vector([0.0] * other.dimension))])
        assert store.vectors.get_embeddings(["a.py:f"]) == {"a.py:f": VECTOR}
        assert store.vectors.embedder() == MODEL

    def test_an_embedder_that_made_nothing_owns_nothing(self, store: Store) -> None:
        """One that failed for every chunk must not keep the next one out."""
        store.chunks.put_chunks([make_chunk()])
        store.vectors.put_embeddings(Embedder("broken", 8, "x"), [])
        assert store.vectors.embedder() is None
        store.vectors.put_embeddings(MODEL, [("a.py:f", VECTOR)])
        assert store.vectors.embedder() == MODEL
        with pytest.raises(EmbedderMismatchError):
            store.vectors.put_embeddings(Embedder("broken", 8, "x"), [])

    def test_chunks_without_a_vector_are_found_oldest_first(self, store: Store) -> None:
        names = ["c", "a", "b"]
        store.chunks.put_chunks([make_chunk(name=name) for name in names])
        store.chunks.put_chunks([make_chunk(name="old")])
        hide(store, "a.py:old")
        assert store.vectors.find_unembedded() == ["a.py:c", "a.py:a", "a.py:b"]
        store.vectors.put_embeddings(MODEL, [("a.py:a", VECTOR)])
        assert store.vectors.find_unembedded() == ["a.py:c", "a.py:b"]

    def test_a_vector_of_the_wrong_length_is_refused(self, store: Store) -> None:
        store.chunks.put_chunks([make_chunk()])
        with pytest.raises(ValueError, match="has 8 bytes, tiny makes 6"):
            store.vectors.put_embeddings(MODEL, [("a.py:f", b"12345678")])
        assert store.vectors.embedder() is None

    @pytest.mark.parametrize(
        ("change", "stays"),
        [({"lines": None}, True), ({"metadata": {"x": 1}}, True), ({"content": "new"}, False)],
        ids=["moved", "metadata", "text"],
    )
    def test_a_vector_stays_while_its_text_does(
        self, store: Store, change: dict[str, object], stays: bool
    ) -> None:
        store.chunks.put_chunks([make_chunk()])
        store.vectors.put_embeddings(MODEL, [("a.py:f", VECTOR)])
        store.chunks.put_chunks([make_chunk(**change)])  # type: ignore[arg-type]
        assert store.vectors.get_embeddings(["a.py:f"]) == ({"a.py:f": VECTOR} if stays else {})

    def test_a_fresh_store_is_whole_and_empty(self, store: Store) -> None:
        assert store.maintenance.check() == []
        assert list(store.chunks.iter_chunks()) == []
        assert (
            store.chunks.count_chunks(),
            store.chunks.count_namespaces(),
            store.chunks.file_states(),
        ) == ({}, {}, {})
        assert store.vectors.embedder() is None


def in_order(store: Store) -> list[Revision]:
    return [Revision(*pair) for pair in store.chunks.revisions().items()]
