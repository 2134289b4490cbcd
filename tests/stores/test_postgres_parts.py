"""Phrases and parts of words are looked up among the words of the index, and miss nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aurora.stores.matching import find_terms
from aurora.stores.postgres import indexes, search
from aurora.stores.postgres.search import PostgresSearch
from aurora.stores.postgres.store import PostgresStore
from aurora.stores.searching import SearchPart
from aurora.types import Kind
from tests.builders import make_chunk
from tests.properties import examples

TEXTS = [
    "def my_getUser(): return None", "x = getuser", "class GetUserView", f"{'x' * 130}getuser",
    f"{'long_' * 40}getuser", "cafe\u0301 au lait", "ﬁle name", "İstanbul", "a.return_value@b",
    "utf8x codec", "fooไทย", "foo认证bar", "__init__ self", "K degrees", "get user", "GET-USER",
    " ".join(f"w{n}" for n in range(300)), "x\u0301y getuser",
    "getuser\xa0view…return\u202fNone", "GETUSER™ viewⒶ getuser", "the ²getuser²",
]  # fmt: skip
ASKED = [
    "get user", "getuser", "getUser", "my_getUser", "return", "return None", "return_value", "cafe",
    "file name", "istanbul", "utf8x", "foo", "bar", "init self", "k", "w17 w18", "nowhere",
    "get nowhere", "lait cafe",
]  # fmt: skip


class ReadsAll(PostgresSearch):
    """A search that reads all texts."""

    rows_by_text = SearchPart.rows_by_text
    having_words, having_parts = SearchPart.having_words, SearchPart.having_parts


@pytest.fixture
def store(memory_url: str) -> Iterator[PostgresStore]:
    with closing(PostgresStore.open(memory_url)) as store:
        chunks = [make_chunk(text, name=f"n{n}") for n, text in enumerate(TEXTS)]
        module = make_chunk("x = 1", name="imports, getuser", kind=Kind.CODE, qualified_name="")
        store.chunks.put_chunks([*chunks, module])
        yield store


@pytest.mark.parametrize("most", [0, 20_000], ids=["read", "listed"])
def test_a_phrase_is_found_where_reading_all_texts_finds_it(
    store: PostgresStore, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "_MOST_LISTED", most)
    reads_all = ReadsAll(store.database)
    for phrase in ASKED:
        assert store.search.rows_with_phrase(phrase) == reads_all.rows_with_phrase(phrase), phrase


def test_a_part_of_a_word_is_found_where_reading_all_texts_finds_it(store: PostgresStore) -> None:
    reads_all = ReadsAll(store.database)
    for text in (*ASKED, "etuse", "y_getU", "eturn_val", "afe", "stanb", "8x", "imports, get"):
        terms = find_terms(text)
        found = store.search.find_by_like(terms, 100)
        assert found == reads_all.find_by_like(terms, 100), text


@settings(
    max_examples=examples(200),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_any_text_is_found_by_its_parts(store: PostgresStore, data: st.DataObject) -> None:
    alphabet = st.sampled_from("abAB1_.- é\u0301ﬁK认ไ™Ⓐ²\xa0…")
    text = data.draw(st.text(alphabet, min_size=1, max_size=40))
    store.chunks.put_chunks([make_chunk(text, name="drawn")])
    asked = data.draw(st.text(st.sampled_from("abAB1_ "), min_size=3, max_size=8))
    reads_all = ReadsAll(store.database)
    assert store.search.rows_with_phrase(asked) == reads_all.rows_with_phrase(asked)
    terms = find_terms(asked)
    assert store.search.find_by_like(terms, 100) == reads_all.find_by_like(terms, 100)


def test_a_part_of_very_many_words_is_found(store: PostgresStore) -> None:
    text = " ".join(f"getme{n}" for n in range(12_000))
    store.chunks.put_chunks([make_chunk(text, name="many")])
    assert len(store.search._listed("getme", whole=False) or ()) >= 12_000
    assert store.search.find_by_like(["getme"], 10)


def test_after_a_load_no_look_into_the_index_reads_what_was_added_last(
    store: PostgresStore,
) -> None:
    def added_last() -> int:
        rows = store.database.rows("SELECT gin_clean_pending_list('words_tsv_idx')")
        return int(rows[0][0])

    store.ranking.prepare_search()
    assert added_last() == 0
    store.chunks.put_chunks([make_chunk("one more", name="more")])
    assert added_last() > 0


def test_many_words_have_an_index_of_trigrams(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexes, "_FEW_WORDS", 10)
    store.ranking.prepare_search()
    with store.transaction():
        store.database.execute("SET LOCAL enable_seqscan = off")
        asked = "EXPLAIN SELECT term FROM terms WHERE term LIKE ?"
        plan = store.database.rows(asked, ("%getuser%",))
    assert any("terms_trigrams" in line for (line,) in plan)
    store.ranking.prepare_search()
    assert store.search.find_text("etuse", limit=10)
