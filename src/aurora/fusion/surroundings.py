"""What a fusion may know of the candidates beside their scores: where they stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple


class Surroundings(NamedTuple):
    """Of rows. What is not known of one has no effect on it."""

    best: Set[int]  # the first of words and of meaning in the whole memory: others are measured by
    homes: Mapping[int, str]  # the file or the document that a chunk is a part of
    code: Set[int] = frozenset()
    aside: Set[int] = frozenset()  # tests, examples and what others wrote, unless asked for
    beside: Mapping[int, Sequence[int]] = {}  # the turns of a conversation before and after


NOWHERE = Surroundings(frozenset(), {})
