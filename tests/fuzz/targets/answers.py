"""What endpoints and language models say: the first line is the question, the rest the answer. It
is understood, within bounds, or told to be no answer."""

from __future__ import annotations

import numpy as np

from aurora.embeddings.openai import read_vectors
from aurora.endpoints import BadAnswerError, read_code, write_body
from aurora.errors import LlmError
from aurora.llm.chat import read_message
from aurora.llm.expander import LONGEST, MOST, read_terms
from aurora.llm.reranker import read_ranks
from aurora.text import tokenize
from tests.fuzz.inputs import head_and_rest, require_told, text_of

_LONGEST_CODE = 60
_LONGEST_TERM, _MOST_WORDS = 60, 5


def check(data: bytes) -> None:
    head, rest = head_and_rest(data)
    _check_said(" ".join(head.split())[:LONGEST], text_of(rest))
    try:
        said = read_message(rest)
    except BadAnswerError as exc:
        require_told(exc)
    else:
        assert said.strip()
        _check_said(" ".join(head.split())[:LONGEST], said)
        write_body({"said": said})
    assert len(read_code(rest)) < _LONGEST_CODE
    for count in range(3):
        _check_vectors(rest, count)


def _check_said(query: str, said: str) -> None:
    try:
        terms = read_terms(query, said)
    except LlmError as exc:
        require_told(exc)
    else:
        assert 1 <= len(terms) <= MOST
        for term in terms:
            assert term == " ".join(term.split())
            assert term.isprintable()
            assert len(term) <= _LONGEST_TERM
            assert len(term.split()) <= _MOST_WORDS
            assert not set(tokenize(term)) <= set(tokenize(query))
    for count in (1, 5, 20):
        try:
            places = read_ranks(count, said)
        except LlmError as exc:
            require_told(exc)
        else:
            assert 1 <= len(places) == len(set(places)) <= count
            assert set(places) <= set(range(count))


def _check_vectors(answer: bytes, count: int) -> None:
    try:
        vectors = read_vectors(answer, count)
    except BadAnswerError as exc:
        require_told(exc)
    else:
        assert len(vectors) == count
        assert len({len(vector) for vector in vectors}) <= 1
        assert all(np.isfinite(vector).all() for vector in vectors)
