"""Words first, meaning fills up: against brute force."""

from __future__ import annotations

from hypothesis import given

from aurora.fusion.cascade import Cascade
from aurora.types import Contribution, Fused, Hit, Ranking
from tests.fusion.rankings import Memory, checked, memories, rankings_of, rows_of

BM25 = Ranking("bm25", (Hit(1, 4.0, 1), Hit(2, 0.0008, 2)), ceiling=8.0)
MEANING = Ranking("semantic", (Hit(3, 1.0, 1), Hit(2, 0.9, 2), Hit(4, 0.5, 3)), ceiling=1.0)


def brute_force(memory: Memory) -> list[int]:
    """Keyword hits in keyword order, then the others by meaning."""
    words, meaning = memory.get("bm25", {}), memory.get("semantic", {})
    filling = {row: score for row, score in meaning.items() if row not in words}
    return [
        row
        for found in (words, filling)
        for row in sorted(found, key=lambda row: (-found[row], row))
    ]


def test_the_faintest_keyword_hit_comes_before_a_perfect_fill_up() -> None:
    assert rows_of(Cascade()([BM25, MEANING])) == [1, 2, 3, 4]


def test_words_speak_first_whatever_the_other_signal_is_called() -> None:
    other = Ranking("activation", MEANING.hits, ceiling=1.0)  # before "bm25" by its name
    fused = Cascade()([other, BM25])
    assert rows_of(fused) == [1, 2, 3, 4]
    assert [part.signal for part in fused[1].contributions] == ["bm25"]


def test_words_have_the_upper_half_of_the_scores_and_meaning_the_lower() -> None:
    first, _, third, _ = Cascade()([BM25, MEANING])
    assert first == Fused(1, 0.75, (Contribution("bm25", 1, 4.0, 0.5, 0.75),))
    assert third == Fused(3, 0.499, (Contribution("semantic", 1, 1.0, 1.0, 0.499),))


def test_what_words_have_found_meaning_says_nothing_about() -> None:
    """It need not be asked while words find enough; asking it must not change what they found."""
    assert list(Cascade()([BM25, MEANING]))[:2] == list(Cascade()([BM25]))


def test_without_words_everything_is_a_fill_up() -> None:
    assert rows_of(Cascade()([Ranking("bm25", (), 8.0), MEANING])) == [3, 2, 4]
    assert all(one.score < 0.5 for one in Cascade()([MEANING]))


def test_only_meaning_waits_until_it_is_needed() -> None:
    assert Cascade().fill_ups == {"semantic"}


@checked
@given(memories("bm25", "semantic"))
def test_keyword_order_first_and_then_the_order_of_meaning(memory: Memory) -> None:
    fused = Cascade()(rankings_of(memory))
    assert rows_of(fused) == brute_force(memory)
    assert all((one.score >= 0.5) == (one.row in memory.get("bm25", {})) for one in fused)
