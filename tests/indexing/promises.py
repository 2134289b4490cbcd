"""What `Spreader` promises, as checks that every one of them must pass."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from aurora.errors import EmbeddingError
from aurora.indexing.ray import Spreader
from tests.indexing.work import double, refuse_seven


def require_order(spreader: Spreader) -> None:
    batches = [list(range(size)) for size in (5, 0, 700, 1, 3) * 8]
    assert list(spreader.map_batches(double, batches)) == [double(batch) for batch in batches]
    assert list(spreader.map_batches(double, [])) == []


def require_lazy(spreader: Spreader, *, ahead: int) -> None:
    """Of endless work no more is taken than what is given back, and a bit."""
    taken = 0

    def endless() -> Iterator[list[int]]:
        nonlocal taken
        while True:
            taken += 1
            yield [taken]

    made = spreader.map_batches(double, endless())
    assert taken == 0
    for number in range(1, 30):
        assert next(made) == [2 * number]
        assert taken <= number + ahead
    made.close()


def require_errors_in_their_turn(spreader: Spreader) -> None:
    made = spreader.map_batches(refuse_seven, [[number] for number in range(20)])
    assert [next(made) for _ in range(7)] == [[2 * number] for number in range(7)]
    with pytest.raises(EmbeddingError) as raised:
        next(made)
    assert (raised.value.message, raised.value.hint) == ("Seven is not wanted", "take eight")
    assert list(made) == []
