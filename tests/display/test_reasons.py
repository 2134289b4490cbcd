"""Why a result has its score: every rule of seed 000, FR-6.2 to 6.4."""

from __future__ import annotations

from datetime import timedelta

import pytest

from aurora.display.boxes import Reason, reasons, sum_of
from aurora.types import Contribution, SearchResults
from tests.builders import NOW, make_chunk
from tests.display.answers import make_answer, make_result, parts, touched

CODE = make_chunk("def getUserData(): return '用户认证'", "src/user_api.py", "getUserData")


def bm25(answer: SearchResults) -> Reason:
    return reasons(answer, answer.results[0], now=NOW)[0]


@pytest.mark.parametrize(
    ("words", "terms", "expected"),
    [
        pytest.param("user", ("user",), 'exact keyword match on "user"', id="part"),
        pytest.param(
            "getUserData", ("getuserdata", "get"), 'exact keyword match on "getUserData"',
            id="identifier",
        ),
        pytest.param("GETUSERDATA", ("getuserdata",), 'exact keyword match on "GETUSERDATA"',
                     id="any-case"),
        pytest.param("is user_api", ("is", "user_api"), 'exact keyword match on "user_api"',
                     id="longest"),
        pytest.param("(user)?", ("user",), 'exact keyword match on "user"', id="punctuation"),
        pytest.param("认证", ("认证",), 'exact keyword match on "认证"', id="cjk"),
        pytest.param("get_user_data", ("get", "user", "data"), "strong term overlap",
                     id="other-spelling"),
        pytest.param("get_user", ("get",), "partial match", id="one-of-three"),
        pytest.param("user_names", ("user", "names"), "strong term overlap", id="two-of-three"),
        pytest.param("http_user", ("user",), "partial match", id="less-than-half"),
        pytest.param("elsewhere", (), "no term of the query", id="nothing"),
    ],
)  # fmt: skip
def test_ut_display_07_words(words: str, terms: tuple[str, ...], expected: str) -> None:
    """FR-6.2. A term that stands in another word only by chance is not one that matched."""
    reason = bm25(make_answer(make_result(CODE, terms=terms), words=words))
    assert reason == Reason("BM25", 0.95, expected, star=expected.startswith("exact"))


def test_half_of_the_terms_is_strong() -> None:
    """FR-6.2 says ≥ 50 %: of get_user, get, user and xyz two are there."""
    answer = make_answer(make_result(CODE, terms=("get", "user")), words="get_user xyz")
    assert bm25(answer).text == "strong term overlap"


def test_a_part_of_a_word_that_did_not_match_is_no_exact_match() -> None:
    """`use` stands in `user`, but only `data` matched."""
    answer = make_answer(make_result(CODE, terms=("data",)), words="use data_x")
    assert bm25(answer).text == "partial match"


@pytest.mark.parametrize("content", ["it is used", "reuse", "user"])
def test_another_form_of_the_word_is_no_exact_match(content: str) -> None:
    """`use` matched by its stem, and stands in another word."""
    chunk = make_chunk(content, "a.py", "f")
    answer = make_answer(make_result(chunk, terms=("use",)), words="use")
    assert bm25(answer).text == "strong term overlap"


def test_the_beginning_of_an_identifier_is_no_exact_match() -> None:
    """`get_cookie` stands in `get_cookie_name`, but what matched is get and cookie."""
    chunk = make_chunk("def get_cookie_name(): ...", "web.py", "get_cookie_name")
    answer = make_answer(make_result(chunk, terms=("get", "cookie")), words="get_cookie")
    assert bm25(answer).text == "strong term overlap"


def test_words_that_only_a_sign_joins_are_an_exact_match() -> None:
    chunk = make_chunk("Set the retry-policy, first.", "notes.md", "Setup")
    answer = make_answer(make_result(chunk, terms=("retry", "policy")), words="Retry-Policy")
    assert bm25(answer).text == 'exact keyword match on "Retry-Policy"'


@pytest.mark.parametrize(
    ("score", "level"),
    [
        (1.0, "very high"), (0.9, "very high"), (0.8996, "very high"), (0.8994, "high"),
        (0.8, "high"), (0.7999, "high"), (0.79, "moderate"), (0.7, "moderate"), (0.699, "low"),
        (0.0, "low"),
    ],
)  # fmt: skip
def test_ut_display_07_meaning(score: float, level: str) -> None:
    """FR-6.3, by the number that is shown: 0.8996 is shown as 0.900."""
    result = make_result(contributions=parts(semantic=score))
    reason = reasons(make_answer(result), result, now=NOW)[1]
    assert reason == Reason("Semantic", score, f"{level} conceptual relevance")


def test_the_words_follow_the_cosine_not_the_place() -> None:
    part = Contribution("semantic", rank=1, raw=0.31, normalised=1.0, value=0.5)
    result = make_result(contributions=(part,))
    reason = reasons(make_answer(result), result, now=NOW)[1]
    assert reason == Reason("Semantic", 1.0, "low conceptual relevance, cosine 0.310")


def test_a_chunk_without_a_vector_says_so() -> None:
    result = make_result(contributions=(), has_vector=False)
    reason = reasons(make_answer(result), result, now=NOW)[1]
    assert reason == Reason("Semantic", 0.0, "no vector yet: `aur mem index` makes it")


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, "accessed 0x, never used"),
        ({"history": touched(2, 9)}, "accessed 0x, 2 commits, last used 2 days ago"),
        ({"history": touched(9)}, "accessed 0x, 1 commit, last used 1 week ago"),
        (
            {"accesses": 3, "last_access": NOW - timedelta(hours=5)},
            "accessed 3x, last used 5 hours ago",
        ),
        (
            {"accesses": 1, "last_access": NOW - timedelta(days=1), "history": touched(30)},
            "accessed 1x, 1 commit, last used 1 day ago",
        ),
        (
            {"accesses": 1, "last_access": NOW - timedelta(days=60), "history": touched(1)},
            "accessed 1x, 1 commit, last used 1 day ago",
        ),
    ],
)
def test_ut_display_07_use(fields: dict[str, object], expected: str) -> None:
    """FR-6.4: openings, commits, and the later of both."""
    result = make_result(**fields)
    reason = reasons(make_answer(result), result, now=NOW)[2]
    assert reason == Reason("Activation", 0.65, expected)


def test_a_signal_that_was_not_asked_says_so() -> None:
    result = make_result(contributions=())
    told = reasons(make_answer(result, signals=()), result, now=NOW)
    assert told == [
        Reason("BM25", 0.0, "took no part"),
        Reason("Semantic", 0.0, "took no part"),
        Reason("Activation", 0.0, "accessed 0x, never used, took no part"),
    ]


def test_the_sum_names_each_share_and_leaves_out_nothing_but_zero() -> None:
    shares = (
        Contribution("bm25", 1, 9.0, 0.5, 0.25),
        Contribution("activation", 4, 0.0, 0.0, 0.0001),
        Contribution("recency", 2, 0.5, 0.5, -0.125),
    )
    assert sum_of(make_result(contributions=shares)) == "0.250 bm25 - 0.125 recency"
    assert sum_of(make_result(contributions=())) == ""


def test_what_came_after_the_fusion_says_which_place_it_gave() -> None:
    shares = (
        Contribution("expansion", 4, 0.5, 0.5, 0.15),
        Contribution("rerank", 2, -0.1, -0.1, -0.1),
    )
    result = make_result(contributions=shares)
    assert reasons(make_answer(result), result, now=NOW)[3:] == [
        Reason("Expansion", 0.5, "place 4 by the words that were added"),
        Reason("Rerank", -0.1, "place 2 in the second look"),
    ]
