"""Terms: stems beside words, and what a word of a question weighs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora.signals.bm25 import BM25Scorer
from aurora.text import (
    AS_WRITTEN,
    EXACT,
    JOINING,
    SHORTEST,
    WORDS,
    document_terms,
    is_stop_word,
    query_terms,
    query_words,
    stem,
    tokenize,
    words_found,
)
from tests.threads import together

texts = st.text() | st.lists(
    st.sampled_from(["parsing", "getUserData", "the", "how", "python", "认证", "os.path", "x2"])
).map(" ".join)


@pytest.mark.parametrize(
    ("words", "root"),
    [
        (["parse", "parses", "parsed", "parsing"], "pars"),
        (["store", "stores", "stored", "storing"], "store"),
        (["query", "queries"], "queri"),
        (["test"], "test"),
    ],
)
def test_forms_of_a_word_have_one_stem(words: list[str], root: str) -> None:
    assert {stem(word) for word in words} == {root}


@pytest.mark.parametrize(
    "word", ["is", "x1s", "os_paths", "über", "用户", "a.items", "Parsing", ""]
)
def test_what_is_no_plain_english_word_is_its_own_stem(word: str) -> None:
    """Identifiers are exact; a language that we do not know is not cut."""
    assert stem(word) == word


def test_a_text_has_its_words_and_their_stems_once_per_word() -> None:
    assert document_terms("Parsing files") == ["parsing", "pars", "files", "file"]
    assert document_terms("a file") == ["a", "file"]
    assert document_terms("parsedUser") == ["parseduser", "parsed", "user", "parsedus", "pars"]


@pytest.mark.parametrize("text", ["用户认证流程", "日本語の検索", "사용자", "ผู้ใช้"])
def test_scripts_without_stems_are_untouched(text: str) -> None:
    assert document_terms(text) == tokenize(text)
    assert query_terms(text) == dict.fromkeys(tokenize(text), 1.0)


@given(texts)
def test_every_token_of_a_text_is_among_its_terms_as_often(text: str) -> None:
    """So that what is found exactly is found with stems too."""
    terms = document_terms(text)
    for token in set(tokenize(text)):
        assert terms.count(token) >= tokenize(text).count(token)


@given(texts)
def test_terms_beyond_the_tokens_are_stems_of_them(text: str) -> None:
    tokens = set(tokenize(text))
    assert set(document_terms(text)) == tokens | {stem(token) for token in tokens}


@given(texts)
def test_a_word_and_its_stem_weigh_together_what_the_word_would(text: str) -> None:
    expected = sum(JOINING if is_stop_word(token) else 1.0 for token in tokenize(text))
    assert sum(query_terms(text).values()) == pytest.approx(expected)


def test_the_stem_has_what_the_word_as_written_has_not() -> None:
    assert query_terms("parsing") == {"parsing": AS_WRITTEN, "pars": 1.0 - AS_WRITTEN}
    assert query_terms("file") == {"file": 1.0}
    assert query_terms("file file") == {"file": 2.0}


def test_a_word_that_is_the_stem_of_another_counts_for_both() -> None:
    assert query_terms("file files") == {
        "file": pytest.approx(1.0 + 1.0 - AS_WRITTEN),
        "files": AS_WRITTEN,
    }


@pytest.mark.parametrize("word", ["the", "how", "does", "Where", "python", "javascript"])
def test_what_joins_words_or_names_the_language_weighs_less(word: str) -> None:
    assert is_stop_word(word.lower())
    assert sum(query_terms(word).values()) == pytest.approx(JOINING)


@pytest.mark.parametrize("word", ["go", "c", "not_the", "use", "get", "self", "return"])
def test_words_that_may_be_what_is_meant_weigh_in_full(word: str) -> None:
    """`go` is a verb more often than a language, and code is made of the others."""
    assert query_terms(word)[word] + query_terms(word).get(stem(word), 0.0) >= 1.0


def test_in_a_text_no_word_weighs_less() -> None:
    """A question says what matters; a text does not know what will be asked."""
    assert document_terms("the how of it") == ["the", "how", "of", "it"]


def test_which_words_of_a_question_a_text_has() -> None:
    asked = query_words("parsing the Files")
    assert asked == {"parsing": "pars", "the": "the", "files": "file"}
    assert words_found(asked, {"pars", "file"}) == {"parsing", "files"}
    assert words_found(asked, {"parsing"}) == {"parsing"}
    assert words_found(asked, {"parse", "them"}) == frozenset()


def test_exact_terms_are_the_tokens_as_they_are() -> None:
    assert EXACT.words.of("parsing files") == ["parsing", "files"]
    assert EXACT.question("parsing the the files") == {"parsing": 1, "the": 2, "files": 1}
    assert (EXACT.shortest, WORDS.shortest) == (0, SHORTEST)
    assert EXACT.name != WORDS.name


def scorer_of(*texts: str) -> BM25Scorer:
    scorer = BM25Scorer(analysis=WORDS)
    scorer.build_index((text, text) for text in texts)
    return scorer


def test_another_form_of_the_word_is_found_and_the_very_word_comes_first() -> None:
    scorer = scorer_of("we parse files", "parsing of files", "something else")
    assert [id_ for id_, _ in scorer.rank("parsing", pool=9)] == [
        "parsing of files", "we parse files",
    ]  # fmt: skip


def test_of_two_short_texts_the_shorter_is_not_the_better() -> None:
    scorer = scorer_of("token", "token " + "filler " * 20, "token " + "filler " * 200)
    first, second, third = scorer.rank("token", pool=9)
    assert first[1] == second[1] > third[1]
    assert scorer.score("token", "token") == pytest.approx(first[1])


@pytest.mark.parametrize("analysis", [EXACT, WORDS], ids=lambda one: one.name)
def test_no_score_exceeds_the_ceiling(analysis: object) -> None:
    scorer = BM25Scorer(analysis=analysis)  # type: ignore[arg-type]
    scorer.build_index([("a", "parsing " * 500), ("b", "files"), ("c", "the")])
    for query in ("parsing", "parsing parsed files", "how is the parsing done"):
        answer = scorer.score_all(query)
        assert all(0.0 < hit.score <= answer.ceiling for hit in answer.hits([0, 1, 2]))


def test_many_threads_have_the_same_stems() -> None:
    """The library's stemmers are not made for that: there is a lock around ours."""
    words = [f"{a}{b}{c}ing" for a in "bcdfg" for b in "aeiou" for c in "lmnprst"]
    expected = [stem(word) for word in words]
    assert together(8, lambda: [stem(word) for word in words]) == [expected] * 8
