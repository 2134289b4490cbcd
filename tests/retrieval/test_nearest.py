"""Names like the one asked for: what is near, in which order, and that gibberish is not."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora.retrieval.lookup import edits, nearest_names

NAMES = (
    "Avg", "Count", "ForeignKey", "HttpResponse", "ModelAdmin", "Paginator", "QuerySet",
    "SessionMiddleware", "WSGIRequestHandler", "annotate", "authenticate", "bulk_create",
    "forms", "get_absolute_url", "get_or_create", "login_required", "pathspec", "slugify",
    "user_has_paid", "用户认证",
)  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("QuerySte", "QuerySet"),
        ("authentcate", "authenticate"),
        ("slugifyy", "slugify"),
        ("anmotate", "annotate"),
        ("sessionmiddlewear", "SessionMiddleware"),
        ("agv", "Avg"),
        ("coutn", "Count"),
        ("QUERYSET", "QuerySet"),
        ("getOrCreate", "get_or_create"),
        ("login-required", "login_required"),
        ("http_response", "HttpResponse"),
        ("authent", "authenticate"),
        ("Paginators", "Paginator"),
        ("form", "forms"),
        ("admin", "ModelAdmin"),
        ("requesthandler", "WSGIRequestHandler"),
        ("paid", "user_has_paid"),
        ("gatekey bulk_crete", "bulk_create"),
        ("get or craete", "get_or_create"),
        ("where is the foriegn key", "ForeignKey"),
        ("models.QuerySett", "QuerySet"),
        ("认证", "用户认证"),
    ],
    ids=[
        "swapped", "missing", "doubled", "wrong", "two-edits", "short-swap", "swap-at-the-end",
        "case", "camel-for-snake", "hyphen", "snake-for-camel", "beginning", "plural", "singular",
        "part", "two-parts", "part-at-the-end", "one-of-two-words", "words-joined",
        "words-of-a-sentence", "dotted", "cjk",
    ],
)  # fmt: skip
def test_what_was_meant_comes_first(asked: str, name: str) -> None:
    assert nearest_names(asked, NAMES)[:1] == (name,)


@pytest.mark.parametrize(
    "asked",
    [
        "xqzvwk",
        "asdfghjk",
        "zz",
        "",
        "  ",
        "?!",
        "-",
        "the",
        "or",
        "xyz",
        "avx",
        "paxxxator",
        "x" * 5000,
    ],
)
def test_gibberish_is_near_nothing(asked: str) -> None:
    assert nearest_names(asked, NAMES) == ()


@pytest.mark.parametrize(
    ("asked", "near"),
    [
        ("ars", False),
        ("spec", False),
        ("ser", False),
        ("http", True),
        ("tunn", True),
        ("aginat", True),
        ("httprespo", True),
    ],
    ids=[
        "across-parts",
        "inside-a-part",
        "short",
        "beginning",
        "after-capitals",
        "long-inside",
        "long-beginning",
    ],
)
def test_a_few_letters_within_a_part_are_no_part(asked: str, near: bool) -> None:
    assert bool(nearest_names(asked, [*NAMES, "data_rst", "HTTPTunnel"])) is near


def test_fewer_edits_come_first_then_the_shorter_then_the_alphabet() -> None:
    names = ["loaderxx", "loader_tests", "my_loader", "Loaders", "boader", "aoader", "loade"]
    assert nearest_names("loader", names, limit=9) == (
        *("loade", "aoader", "boader", "Loaders"),  # one edit: a sixth of the letters
        *("loaderxx", "loader_tests"),  # begin so
        "my_loader",
    )


def test_a_name_like_all_words_comes_before_one_like_a_single_word() -> None:
    assert nearest_names("user datas", ["user", "data", "user_data"]) == (
        "user_data", "user", "data",
    )  # fmt: skip


def test_no_more_than_the_limit_and_none_twice() -> None:
    names = [f"load_{letter}" for letter in "abcdef"] * 2
    assert nearest_names("load", names, limit=2) == ("load_a", "load_b")
    assert len(nearest_names("load", iter(names), limit=9)) == 6


def test_nothing_is_near_when_there_are_no_names() -> None:
    assert nearest_names("load", []) == ()


@given(st.text(max_size=30), st.lists(st.text(max_size=12), max_size=6))
def test_any_question_is_answered_with_names_there_are(asked: str, names: list[str]) -> None:
    assert set(nearest_names(asked, names)) <= set(names)


@given(st.sampled_from(NAMES), st.data())
def test_a_name_with_two_neighbours_swapped_is_near(name: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(name) - 2))
    asked = name[:at] + name[at + 1] + name[at] + name[at + 2 :]
    assert name in nearest_names(asked, NAMES)


@cache
def slow_edits(first: str, second: str) -> int:
    """The definition itself, without a table or a band."""
    if not first or not second:
        return len(first) + len(second)
    ways = [
        slow_edits(first[:-1], second) + 1,
        slow_edits(first, second[:-1]) + 1,
        slow_edits(first[:-1], second[:-1]) + (first[-1] != second[-1]),
    ]
    if first[-2:] == second[-2:][::-1] and len(first) > 1 and len(second) > 1:
        ways.append(slow_edits(first[:-2], second[:-2]) + 1)
    return min(ways)


words = st.text("abc", max_size=9)


@given(words, words, st.integers(0, 10))
def test_edits_are_those_of_the_definition(first: str, second: str, most: int) -> None:
    assert edits(first, second, most=most) == min(slow_edits(first, second), most + 1)


@given(st.text("abcd", min_size=3, max_size=8), st.lists(st.text("abcd", max_size=9), max_size=9))
def test_no_name_within_reach_is_passed_over(asked: str, names: list[str]) -> None:
    """The quick look at lengths and letters leaves out nothing that edits would keep."""
    reach = 0 if len(asked) < 4 else 1 if len(asked) < 6 else 2
    near = {name for name in names if slow_edits(asked, name) <= reach}
    assert near <= set(nearest_names(asked, names, limit=99))
