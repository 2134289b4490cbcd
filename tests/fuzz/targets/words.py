"""Tokens and terms of any text: a function of it, folded, short, and independent of what stands
behind a space."""

from __future__ import annotations

from aurora.text import (
    MAX_TOKEN,
    chunk_labels,
    chunk_summary,
    chunk_text,
    document_terms,
    fold_name,
    fold_names,
    name_times,
    printable,
    query_terms,
    query_words,
    stem,
    tokenize,
    words_found,
)
from aurora.types import Chunk, Kind
from tests.fuzz.inputs import text_of

_LONGEST_LETTER = 18  # letters that one may be spelt out to: U+FDFA is a sentence


def check(data: bytes) -> None:
    text = text_of(data)
    _check_tokens(text)
    _check_terms(text)
    _check_names(text)
    _check_chunk(text)


def _check_tokens(text: str) -> None:
    tokens = tokenize(text)
    for token in tokens:
        assert token
        assert token == token.casefold()
        assert not any(map(str.isspace, token))
        assert len(token) <= 3 * MAX_TOKEN  # folding a letter gives three at the most
        assert token.encode()  # an index holds UTF-8
    assert len(tokens) <= 2 * _LONGEST_LETTER * len(text)
    middle = len(text) // 2
    first, second = text[:middle], text[middle:]
    assert tokenize(f"{first} {second}") == tokenize(first) + tokenize(second)


def _check_terms(text: str) -> None:
    terms, asked = set(document_terms(text)), query_terms(text)
    tokens = set(tokenize(text))
    assert tokens <= terms
    assert terms == tokens | set(map(stem, tokens))
    assert asked.keys() == terms  # a text answers the question that it is
    assert all(weight > 0 for weight in asked.values())
    assert words_found(query_words(text), terms) == tokens


def _check_names(text: str) -> None:
    names = text.split("\n")
    assert fold_names(names) == list(map(fold_name, names))
    shown = printable(text)
    assert len(shown) == len(text)
    assert printable(shown) == shown


def _check_chunk(text: str) -> None:
    for kind, name in ((Kind.FUNCTION, "f"), (Kind.KNOWLEDGE, text[:20])):
        chunk = Chunk(id="a", kind=kind, name=name, content=text, path="src/a.py")
        whole = chunk_text(chunk)
        assert text in whole
        assert chunk_labels(chunk) in whole
        assert chunk_summary(chunk) in text
        assert len(whole) <= 2_000 + (name_times(chunk) + 1) * (len(name) + 1) + 2 * len(text)
