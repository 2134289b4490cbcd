"""What is read without the library means the same to the library."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from aurora.config.yaml import NotPlainError, parse_plain, parse_yaml
from tests.properties import examples

INDENTS = ("", "", " ", "  ", "  ", "    ", "      ")
KEYS = (
    "a",
    "b",
    "ui",
    "search",
    "k1",
    "x_2",
    "y",
    "no",
    "null",
    "true",
    "e1",
    "Key",
    "1",
    "-",
    "?",
)
VALUES = (
    "", "1", "0", "-1", "-0", "007", "1.5", "-0.25", "1.", ".5", "1e3", "1.5e3", "0x1F", "0o17",
    "1_000", "12:30", "2025-01-02", "true", "false", "True", "FALSE", "null", "Null", "NULL", "~",
    "yes", "No", "on", "off", "y", "n", "hybrid", "two words", "a-b", "a_b", "-", "- a", ".inf",
    "-.inf", ".nan", "nan", "inf", "'x'", '"x"', "[]", "{}", "&a", "*a", "!x", "|", ">", "%", "@",
    "x:", "x: y", "x#y", "x #y", "#", "# y", "=", "<<", "123456789", "12345678901234567890", "é",
    "0.1234567891234", "word" * 30, "b\tc", "-1-", "1a", "a,b", "a.b", "0b11", "+1", "e5", "E5",
)  # fmt: skip
ENDS = ("", "", "", " ", "  ", " # said", "  #", "# glued", "\t", " \t# x", "\r", "\x85", "\u2028")

some_line = st.one_of(
    st.builds(
        "{}{}:{}{}{}".format,
        st.sampled_from(INDENTS),
        st.sampled_from(KEYS),
        st.sampled_from((" ", " ", "  ", "", "\t")),
        st.sampled_from(VALUES),
        st.sampled_from(ENDS),
    ),
    st.builds("{}{}:".format, st.sampled_from(INDENTS), st.sampled_from(KEYS)),
    st.sampled_from(("", "  ", "# a", "   # b", "---", "...", "\t", "- a", "word", "#", "%YAML 1")),
)  # fmt: skip
plain_line = st.builds(
    "{}{}:{}{}".format,
    st.sampled_from(("", "", "  ", "    ")),
    st.sampled_from(("a", "b", "c", "d", "y", "no")),
    st.sampled_from(("", "", " 1", " 0.5", " true", " on", " Null", " word")),
    st.sampled_from(("", "", "  ", " # said", "\n", "\n  # more", "\n# less")),
)


def by_library(text: str) -> object:
    return YAML(typ="safe", pure=True).load(text)


def compare(text: str) -> None:
    try:
        read = parse_plain(text)
    except NotPlainError:
        return
    known = by_library(text)
    assert (repr(read), type(read)) == (repr(known), type(known))


@given(st.lists(some_line, max_size=5).map("\n".join))
@settings(max_examples=examples(500), deadline=None)
def test_what_is_read_means_the_same_to_the_library(text: str) -> None:
    compare(text)


@given(st.lists(plain_line, max_size=8).map("\n".join))
@settings(max_examples=examples(500), deadline=None)
def test_sections_are_nested_as_in_the_library(text: str) -> None:
    compare(text)


@given(st.text("ab1:# -.\n\t'\"[]{}&*!|>%@`,?~0eExyn_\r\x00\x7f\xa0é", max_size=25))
@settings(max_examples=examples(500), deadline=None)
def test_any_text_means_the_same_to_the_library(text: str) -> None:
    compare(text)


@pytest.mark.parametrize("value", VALUES)
def test_a_value_alone_means_the_same_to_the_library(value: str) -> None:
    compare(value)
    compare(f"a:\n  b: {value}")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("\n# nothing said\n", None),
        ("1.2", 1.2),
        ("hybrid", "hybrid"),
        ("ui:\n  shown_search_format_notice: true\n", {"ui": {"shown_search_format_notice": True}}),
        ("search:\n\n  # why\n  rrf:\n    k: 60 # as usual\n  mode: keyword\nui:\n",
         {"search": {"rrf": {"k": 60}, "mode": "keyword"}, "ui": None}),
    ],
)  # fmt: skip
def test_plain_settings_are_read_here(text: str, value: object) -> None:
    assert parse_plain(text) == value == parse_yaml(text.encode()) == by_library(text)


@pytest.mark.parametrize(
    "text",
    ["a: [1]", "a: 'x'", "a: ~", "a:\tx", "a: 1\na: 2", "a: 1\n  b: 2", "a:\n  b: 1\n c: 2",
     " a: 1", "a: True", "Null", "a: x y", "- a", "---\na: 1", "a: 1\r\n", "ä: 1", "null: 1"],
)  # fmt: skip
def test_all_else_is_left_to_the_library(text: str) -> None:
    with pytest.raises(NotPlainError):
        parse_plain(text)
