"""Nearness: words of a question that stand near each other say more than scattered ones.

It is part of the keyword signal (seed 004's reason for `ts_rank_cd`): of the best chunks by
keyword, each gains up to `GAIN` of its score. The text decides, so that all stores agree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from aurora.text import has_cjk, is_stop_word, stem, tokenize
from aurora.types import Chunk, Ranking

FIRST = 20  # chunks that are compared
GAIN = 0.2
_WINDOW = 160  # characters: two lines
_BESIDE = 3  # characters between neighbours: a space, a bracket, a separator
_SHORT = 4  # letters: a shorter word is part of many others
_MOST_WORDS = 12


def comparable(text: str) -> tuple[str, ...]:
    """The words of a question that can be near each other; none if there is only one."""
    words = (word for word in tokenize(text) if not is_stop_word(word) and word.isalnum())
    stems = tuple(dict.fromkeys(stem(word) for word in words))[:_MOST_WORDS]
    return stems if len(stems) > 1 and not has_cjk(text) else ()


def with_nearness(keyword: Ranking, words: Sequence[str], chunks: Mapping[int, Chunk]) -> Ranking:
    """Raise the scores of chunks in which the words stand near each other.

    Only chunks among the `FIRST` of the memory gain. So a filter changes no score, and the others
    keep their ranks.
    """
    first = [
        hit._replace(score=hit.score * (1.0 + GAIN * _nearness(chunks[hit.row], words)))
        for hit in keyword.hits
        if hit.rank <= FIRST and hit.row in chunks
    ]
    scores = sorted((hit.score for hit in first), reverse=True)
    raised = {hit.row: hit._replace(rank=1 + scores.index(hit.score)) for hit in first}
    hits = [raised.get(hit.row, hit) for hit in keyword.hits]
    return keyword._replace(hits=tuple(sorted(hits, key=lambda hit: (-hit.score, hit.row))))


def near_rows(keyword: Ranking) -> list[int]:
    """The rows whose texts `with_nearness` reads."""
    return [hit.row for hit in keyword.hits if hit.rank <= FIRST]


def _find_words(text: str, words: Sequence[str]) -> list[tuple[int, int, int]]:
    """Start, end and number of every word in a text, in order. Of words inside each other the
    longer one counts. `str.find` takes a twentieth of the time of a regular expression."""
    places = []
    for number, word in enumerate(words):
        start = text.find(word)
        while start >= 0:
            if len(word) >= _SHORT or not (start and text[start - 1].isalnum()):
                places.append((start, -len(word), number))
            start = text.find(word, start + len(word))
    found, last = [], 0
    for start, length, number in sorted(places):
        if start >= last:
            last = start - length
            found.append((start, last, number))
    return found


def _nearness(chunk: Chunk, words: Sequence[str]) -> float:
    """The mean of two shares: words in one window, and pairs that follow each other as asked."""
    found = _find_words(f"{chunk.name}\n{chunk.content}".lower(), words)
    pairs = {
        (one, other)
        for (_, end, one), (start, _, other) in pairwise(found)
        if other == one + 1 and start - end <= _BESIDE + len(words[one])
    }
    most, before = 0, -1
    last: dict[int, int] = {}  # word → where it was last
    for start, _, word in found:
        last[word] = start
        if word != before:  # the same word again adds none to the window
            most = max(most, sum([start - at <= _WINDOW for at in last.values()]))
            if most == len(words):
                break
        before = word
    window = (most - 1) / (len(words) - 1) if most else 0.0
    return (window + len(pairs) / (len(words) - 1)) / 2.0
