"""The tokenizer: seed 000's UT-BM25-01 to 07, then what real text holds."""

from __future__ import annotations

import unicodedata
from itertools import chain
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora.text import (
    _SLICE,
    MAX_TOKEN,
    fold_name,
    fold_names,
    has_cjk,
    normalized,
    tokenize,
)


def test_ut_bm25_01_tokenize_camelcase() -> None:
    """getUserData → [get, user, data, getuserdata]"""
    assert tokenize("getUserData") == ["getuserdata", "get", "user", "data"]


def test_ut_bm25_02_tokenize_snake_case() -> None:
    """user_manager → [user, manager, user_manager]"""
    assert tokenize("user_manager") == ["user_manager", "user", "manager"]


def test_ut_bm25_03_tokenize_dot_notation() -> None:
    """auth.oauth.client → its words and, as the seed allows, the full path"""
    assert tokenize("auth.oauth.client") == ["auth.oauth.client", "auth", "oauth", "client"]


def test_ut_bm25_04_tokenize_acronyms() -> None:
    """HTTPRequest → [http, request, httprequest]"""
    assert tokenize("HTTPRequest") == ["httprequest", "http", "request"]


def test_ut_bm25_05_tokenize_mixed() -> None:
    """getUserData.auth_token → splits dots, camelCase and snake_case"""
    assert tokenize("getUserData.auth_token") == [
        "getuserdata.auth_token",
        *("getuserdata", "get", "user", "data"),
        *("auth_token", "auth", "token"),
    ]


def test_ut_bm25_06_tokenize_empty() -> None:
    """Empty string → empty list"""
    assert tokenize("") == []


def test_ut_bm25_07_tokenize_special_characters() -> None:
    """user@email.com → splits on special characters, and stays whole beside"""
    assert tokenize("user@email.com") == ["user@email.com", "user", "email", "com"]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("HTTPSConnection", ["httpsconnection", "https", "connection"]),
        ("BM25Scorer", ["bm25scorer", "bm25", "scorer"]),
        ("sha256sum", ["sha256sum", "sha256", "sum"]),
        ("utf8", ["utf8"]),
        ("__init__", ["__init__", "init"]),
        ("get_the_user", ["get_the_user", "get", "the", "user"]),
        ("the running runners", ["the", "running", "runners"]),
        ("x=f(y)[0]", ["x", "f", "y", "0"]),
        ("_ ___ . @ -- '' ()", []),
        ("scikit-learn", ["scikit", "learn"]),
        ("a..b", ["a", "b"]),
    ],
    ids=[
        "acronym", "digits", "digits-inside", "one-part", "dunder", "no-stop-words", "no-stems",
        "code", "punctuation", "hyphen", "double-dot",
    ],
)  # fmt: skip
def test_code_and_prose(text: str, tokens: list[str]) -> None:
    assert tokenize(text) == tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("用户认证", ["用户", "户认", "认证"]),
        ("重跑gen_itgc后", ["重跑", "gen_itgc", "gen", "itgc", "后"]),
        ("한국어 검색", ["한국", "국어", "검색"]),
        ("ｶﾀｶﾅ ＡＢＣ", ["カタ", "タカ", "カナ", "abc"]),
        ("größeÄnderung", ["grösseänderung", "grösse", "änderung"]),
        ("cafe\u0301 CAFÉ", ["café", "café"]),
        ("हिन्दी", ["हिन्दी"]),
        ("用户.认证", ["用户", "认证"]),
        ("😀 ok 🎉", ["ok"]),
    ],
    ids=["zh", "mixed", "ko", "width", "german", "accents", "hindi", "dotted-zh", "emoji"],
)
def test_other_scripts(text: str, tokens: list[str]) -> None:
    assert tokenize(text) == tokens


def test_words_too_long_to_be_words_are_left_out() -> None:
    assert tokenize("x" * MAX_TOKEN) == ["x" * MAX_TOKEN]
    assert tokenize("x" * (MAX_TOKEN + 1)) == []
    assert tokenize("ab." * 60 + "cd_ef") == ["ab"] * 60 + ["cd_ef", "cd", "ef"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", False),
        ("naïve Привет", False),
        ("词", True),
        ("カ", True),
        ("ｶ", True),
        ("가", True),
    ],
)
def test_has_cjk(text: str, expected: bool) -> None:
    assert has_cjk(text) is expected


@given(st.text(max_size=200))
def test_any_text_gives_lower_case_tokens_of_bounded_length(text: str) -> None:
    for token in tokenize(text):
        assert 0 < len(token) <= 3 * MAX_TOKEN  # case folding may lengthen: ŉ becomes ʼn
        assert token == token.casefold()
        assert not any(letter.isspace() for letter in token)


@given(st.text(max_size=80), st.text(max_size=80))
def test_tokens_of_two_lines_are_the_tokens_of_each(first: str, second: str) -> None:
    assert tokenize(f"{first}\n{second}") == tokenize(first) + tokenize(second)


@given(st.from_regex(r"[a-z]{1,8}(_[a-z]{1,8}){1,3}", fullmatch=True))
def test_an_identifier_is_found_whole_and_by_each_part(identifier: str) -> None:
    assert tokenize(identifier) == [identifier, *identifier.split("_")]


@pytest.mark.parametrize("name", ["getUserData", "get_user_data", "Get user-data", "GETUSERDATA"])
def test_a_name_is_the_same_however_it_is_spelt(name: str) -> None:
    assert fold_name(name) == "getuserdata"


@given(st.lists(st.text(st.characters(exclude_characters="\n"), max_size=20), max_size=8))
def test_many_names_fold_as_each_does(names: list[str]) -> None:
    assert fold_names(names) == [fold_name(name) for name in names]


def test_a_line_break_in_a_name_keeps_the_names_in_step() -> None:
    assert fold_names(["get\nUser", "b\ud800", "Ünit", ""]) == ["getuser", "b\ud800", "Ünit", ""]


# What joins, moves or unfolds when it is normalised, and letters that stand apart.
JOINING = "e\u0301\u0316\u0345가\u1100\u1161\u11a8か\u3099ｶﾞ\u0915\u093cﬁ\ufdfa½é"
joined = st.text(st.sampled_from(JOINING + "用 \n"), max_size=12) | st.text(max_size=12)
long_texts = st.builds(
    lambda parts, apart, times: (
        "".join(chain.from_iterable(zip(parts, apart, strict=False))) * times
    ),
    st.lists(joined, min_size=2, max_size=8),
    st.lists(st.sampled_from(["a", " ", "\n", "_", "用"]), min_size=8, max_size=8),
    st.integers(1, 300),
)


@given(long_texts, st.sampled_from(["NFKC", "NFD"]))
def test_a_long_text_is_normalised_as_a_whole(text: str, form: Literal["NFKC", "NFD"]) -> None:
    assert normalized(form, text) == unicodedata.normalize(form, text)


@given(st.text("\u0301\u0316é\u0f71", max_size=50), st.integers(1, 200), joined)
def test_a_run_of_marks_is_cut_alike_wherever_it_stands(run: str, times: int, before: str) -> None:
    marks = run * times
    assert normalized("NFKC", f"{before} {marks}") == (
        normalized("NFKC", f"{before} ") + normalized("NFKC", marks)
    )


def test_a_run_of_marks_that_nobody_writes_is_sorted_in_parts() -> None:
    """As a whole it would take the square of its length: minutes for a megabyte."""
    part = "\u0316" * (_SLICE // 2) + "\u0301" * (_SLICE // 2)
    assert normalized("NFD", "\u0301\u0316" * _SLICE) == part * 2
