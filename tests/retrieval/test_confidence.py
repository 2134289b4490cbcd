"""A score is a confidence: the same in every fusion and mode, whatever the limit and the filter."""

from __future__ import annotations

from itertools import pairwise
from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora.embeddings.aurora.provider import AuroraProvider
from aurora.embeddings.base import ProviderOptions
from aurora.retrieval.confidence import (
    CALIBRATIONS,
    MIN_RELEVANCE,
    RELEVANCE,
    Evidence,
    gather,
    never_rising,
    with_score,
)
from aurora.retrieval.config import FUSIONS
from aurora.signals.base import SparseScores
from aurora.types import (
    Chunk,
    Contribution,
    Criteria,
    Fused,
    Hit,
    Kind,
    Mode,
    Query,
    Ranking,
    SearchResults,
)
from tests.builders import make_chunk
from tests.embedders import WordsProvider
from tests.retrieval.conftest import Searched

every_fusion = pytest.mark.parametrize("fusion", FUSIONS)
every_mode = pytest.mark.parametrize("mode", Mode)

QUESTIONS = ("login password", "delete a file", "where is read_settings", "read_settings", "sheep")


def corpus() -> list[Chunk]:
    """Sixty chunks of different length that share words, in files of code, tests and prose."""
    topics = ["login password user", "delete file folder", "settings config read", "sheep wolf"]
    chunks = [
        make_chunk(
            f"{topics[n % 4]} " * (n % 7 + 1) + f"word{n} {'pad ' * n}", f"src/m{n % 5}.py", f"f{n}"
        )
        for n in range(50)
    ]
    notes = [
        make_chunk(
            f"note {n} about {topics[n % 4]} and more", f"docs/2026-0{n % 8 + 1}-01.md", f"n{n}",
            kind=Kind.KNOWLEDGE, qualified_name="", language="markdown",
        )
        for n in range(9)
    ]  # fmt: skip
    definition = make_chunk("def read_settings(path): ...", "src/settings.py", "read_settings")
    return [*chunks, *notes, definition]


@pytest.fixture
def filled(memory: Searched) -> Searched:
    memory.put(*corpus(), provider=WordsProvider())
    return memory


def ask(
    memory: Searched,
    text: str,
    mode: Mode,
    fusion: str,
    *,
    limit: int = 100,
    criteria: Criteria | None = None,
    min_score: float | None = 0.0,
) -> SearchResults:
    query = Query(text, limit, mode, criteria=criteria or Criteria(), min_score=min_score)
    return memory.retriever(fusion=fusion).retrieve(query)


def scores(answer: SearchResults) -> dict[str, float]:
    return {result.chunk_id: result.score for result in answer.results}


@every_fusion
@every_mode
def test_contributions_sum_to_the_score_and_scores_never_rise(
    filled: Searched, fusion: str, mode: Mode
) -> None:
    for text in QUESTIONS:
        results = ask(filled, text, mode, fusion).results
        assert results, text
        for result in results:
            total = sum(part.value for part in result.contributions)
            assert total == pytest.approx(result.score, abs=1e-12)
            assert 0.0 <= result.score <= 1.0
        assert all(one.score >= other.score for one, other in pairwise(results))


@every_fusion
@every_mode
def test_a_score_depends_neither_on_the_limit_nor_on_a_filter(
    filled: Searched, fusion: str, mode: Mode
) -> None:
    wanted = Criteria(paths=("docs/**", "src/m3.py", "src/settings.py"))
    for text in QUESTIONS:
        whole = scores(ask(filled, text, mode, fusion))
        for limit in (1, 2, 7):
            few = scores(ask(filled, text, mode, fusion, limit=limit))
            assert list(few.items()) == list(whole.items())[:limit]
        kept = scores(ask(filled, text, mode, fusion, criteria=wanted))
        assert kept
        assert list(kept.items()) == [(id_, whole[id_]) for id_ in whole if id_ in kept]


@every_fusion
def test_a_minimum_cuts_by_the_score_that_is_shown(filled: Searched, fusion: str) -> None:
    for text in QUESTIONS:
        whole = scores(ask(filled, text, Mode.HYBRID, fusion))
        for least in (0.05, 0.3, 0.9, *list(whole.values())[:3]):
            kept = scores(ask(filled, text, Mode.HYBRID, fusion, min_score=least))
            assert kept == {id_: score for id_, score in whole.items() if score >= least}


@every_fusion
def test_all_fusions_give_a_first_row_the_same_score(filled: Searched, fusion: str) -> None:
    """Where words alone are asked, they order chunks alike."""
    same = ask(filled, "login password", Mode.KEYWORD, "weighted").results[0]
    other = ask(filled, "login password", Mode.KEYWORD, fusion).results[0]
    assert other.score == pytest.approx(same.score, rel=0.2)


def test_below_the_minimum_nothing_is_relevant_and_the_best_row_is_offered(
    filled: Searched,
) -> None:
    text = "blockchain consensus of login"
    everything = filled.search(text, "keyword").results
    assert 0.0 < everything[0].relevance < MIN_RELEVANCE
    weak = filled.search(text, "keyword", least=MIN_RELEVANCE)
    assert weak.results == ()
    assert weak.weak == everything[0]
    answered = filled.search("login password", "keyword", least=MIN_RELEVANCE)
    assert (bool(answered.results), answered.weak) == (True, None)


def test_half_of_the_minimum_is_enough_for_prose(memory: Searched) -> None:
    for kind, share in ((Kind.FUNCTION, 1.0), (Kind.KNOWLEDGE, 0.5)):
        chunks = [
            make_chunk(f"delete old folder {n}", f"{kind}{n}.x", f"f{n}", kind=kind)
            for n in range(9)
        ]
        memory.put(*chunks)
        query = "folder of quantum teleporters"
        criteria = f"type:{kind.value} {query}"
        found = memory.search(criteria, "keyword", least=0.0).results[0]
        least = found.relevance / share
        assert memory.search(criteria, "keyword", least=0.999 * least).results
        assert not memory.search(criteria, "keyword", least=1.001 * least).results


def test_a_minimum_of_the_query_offers_a_weak_row_too(filled: Searched) -> None:
    weak = filled.search("login password", min_score=1.0)
    assert weak.results == ()
    assert weak.weak is not None
    assert weak.weak.score < 1.0
    assert filled.search("zzyzx", "keyword").weak is None  # nothing was found at all


def test_a_definition_that_the_query_names_is_never_refused(filled: Searched) -> None:
    found = filled.search("read_settings", least=1.0)
    assert found.results[0].chunk.name == "read_settings"
    assert filled.search("where is read_settings of zebras", least=1.0).results == ()


@pytest.mark.parametrize("mode", ["hybrid", "keyword"])  # meaning alone has no words
@pytest.mark.parametrize("known", ["login password", "delete a file"])
def test_a_question_whose_words_do_not_occur_is_less_sure(
    memory: Searched, mode: str, known: str
) -> None:
    """With the default model: how far a cosine stands out is fitted on its cosines."""
    memory.put(*corpus(), provider=AuroraProvider(ProviderOptions()))
    sure = memory.search(known, mode).results[0].score
    for strange in (f"{known} blockchain consensus", f"{known} zebra crossing of neurons"):
        assert memory.search(strange, mode).results[0].score < sure


def test_an_identifier_that_no_chunk_has_makes_a_question_less_relevant(filled: Searched) -> None:
    known = filled.search("where is read_settings used", "keyword").results[0]
    unknown = filled.search("where is read_passwords used", "keyword").results[0]
    words = filled.search("where is read passwords used", "keyword").results[0]
    assert unknown.relevance < words.relevance < known.relevance


def ranked(count: int) -> tuple[range, dict[str, Ranking]]:
    hits = tuple(Hit(row, 1.0 / (row + 1), row + 1) for row in range(count))
    return range(count), {"semantic": Ranking("semantic", hits)}


def test_places_count_as_evidence_up_to_the_tenth_and_without_what_a_filter_brings_in() -> None:
    rows, rankings = ranked(14)
    scores = {"semantic": SparseScores({hit.row: hit.score for hit in rankings["semantic"].hits})}
    whole = gather(rows, "words", scores, rankings, unfiltered=set(range(14)))
    assert [evidence.place for evidence in whole] == [log(min(n, 10)) for n in range(1, 15)]
    some = gather(rows, "words", scores, rankings, unfiltered={0, 2, 4})
    assert [evidence.place for evidence in some[:5]] == [0.0, 0.0, log(2), log(2), log(3)]


def test_a_cosine_stands_out_by_no_more_than_the_fit_has_seen() -> None:
    rows, rankings = ranked(3)
    scores = {"semantic": SparseScores({hit.row: hit.score for hit in rankings["semantic"].hits})}
    evidence = gather(rows, "words", scores, rankings, unfiltered={0, 1, 2})
    assert (evidence[0].meaning, evidence[0].best_meaning) == (0.3, 0.3)


def test_a_calibration_is_a_logistic_function() -> None:
    words = log(3)  # a question of two words, and a chunk that has both
    sure = Evidence(
        coverage=1.0, meaning=0.2, both=0.2, best_coverage=1.0, best_meaning=0.2, words=words,
        known=1.0, of_known=1.0, best_of_known=1.0, coverage_words=words, best_words=words,
    )  # fmt: skip
    for calibration in (*CALIBRATIONS.values(), *RELEVANCE.values()):
        assert 0.0 < calibration.confidence(Evidence()) < MIN_RELEVANCE
        assert MIN_RELEVANCE < calibration.confidence(sure) < 1.0
    for calibration in CALIBRATIONS.values():
        later = sure._replace(place=1.0)
        assert calibration.confidence(later) < calibration.confidence(sure)


fused = st.lists(st.floats(0.01, 1.0), max_size=8).map(
    lambda values: [
        Fused(row, value, (Contribution("bm25", 1, 1.0, 1.0, value),))
        for row, value in enumerate(values)
    ]
)


@given(fused)
def test_scores_are_lowered_to_the_lowest_before_them(chunks: list[Fused]) -> None:
    lowered = never_rising(chunks)
    assert [chunk.row for chunk in lowered] == [chunk.row for chunk in chunks]
    lowest = 1.0
    for chunk, given_ in zip(lowered, chunks, strict=True):
        lowest = min(lowest, given_.score)
        assert chunk.score == lowest
        assert chunk.contributions[0].value == pytest.approx(lowest)
    assert never_rising(lowered) == lowered


def test_a_score_of_nothing_stays_nothing() -> None:
    assert with_score(Fused(1, 0.0, ()), 0.5) == Fused(1, 0.0, ())
