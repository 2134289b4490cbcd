"""BM25Scorer: seed 000's UT-BM25-08 to 15, seed 002's list, and a reference library as oracle."""

from __future__ import annotations

import math
from array import array
from pathlib import Path

import bm25s
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from aurora.errors import IndexFileError, IndexVersionError
from aurora.signals.bm25 import BM25Scorer
from aurora.signals.bm25_formula import BM25Parameters, Match, sum_sparse
from aurora.signals.bm25_segment import KeywordSegment
from aurora.signals.dense_scores import all_discounts, best_places, segment_rows, sum_dense
from aurora.signals.index_file import MemoryArrays
from aurora.text import EXACT, WORDS, Analysis, chunk_text, tokenize
from tests.signals.corpus import standard_library_chunks

DOCUMENTS = [("d1", "auth user"), ("d2", "auth token"), ("d3", "config")]


def scorer_of(documents: list[tuple[str, str]], **parameters: object) -> BM25Scorer:
    scorer = BM25Scorer(**parameters)  # type: ignore[arg-type]
    scorer.build_index(documents)
    return scorer


def test_ut_bm25_08_idf_calculation() -> None:
    """ln((N−n+½)/(n+½)): what the seed computes is `idf="robertson"`.

    The default adds 1 inside the logarithm, as the seed's own Appendix B does: without it
    UT-BM25-09 could not hold, because a term that every document has would count against a match.
    """
    assert scorer_of(DOCUMENTS, idf="robertson").idf["auth"] == pytest.approx(math.log(0.6))
    assert scorer_of(DOCUMENTS).idf["auth"] == pytest.approx(math.log(1.6))


def test_ut_bm25_09_score_exact_match() -> None:
    """Query term in doc scores > 0"""
    scorer = scorer_of([("d1", "authenticate user")], k1=1.5, b=0.75)
    assert scorer.score("authenticate", "authenticate user") > 0


def test_ut_bm25_10_score_no_match() -> None:
    """Query term not in doc scores 0"""
    assert scorer_of([("d1", "authenticate user")]).score("oauth", "authenticate user") == 0


def test_ut_bm25_11_length_normalization() -> None:
    """Shorter doc with term scores higher than longer doc (b parameter)"""
    long = "auth " + " ".join(["word"] * 100)
    scorer = scorer_of([("short", "auth"), ("long", long)], k1=1.5, b=0.75)
    assert scorer.score("auth", "auth") > scorer.score("auth", long)
    assert [id_ for id_, _ in scorer.rank("auth", pool=9)] == ["short", "long"]


def test_ut_bm25_12_saturation() -> None:
    """Term frequency saturates: less than 10x for 100x frequency"""
    often = " ".join(["auth"] * 100)
    scorer = scorer_of([("d1", "auth"), ("d100", often)], k1=1.5, b=0.0)
    assert 1 < scorer.score("auth", often) / scorer.score("auth", "auth") < 10


def test_ut_bm25_13_index_save(tmp_path: Path) -> None:
    """Index saves to a file; ours is no pickle (design section 3)"""
    path = tmp_path / "deep" / "bm25.idx"
    scorer_of(DOCUMENTS).save_index(path)
    assert path.read_bytes().startswith(b"AURORAIX")
    assert [file.name for file in path.parent.iterdir()] == ["bm25.idx"]


def test_ut_bm25_14_index_load(tmp_path: Path) -> None:
    """A loaded index scores and ranks as the one that was saved"""
    built, loaded = scorer_of(DOCUMENTS), BM25Scorer()
    built.save_index(tmp_path / "bm25.idx", {"note": "kept"})

    loaded.load_index(tmp_path / "bm25.idx")

    assert loaded.score("auth", "auth user") == built.score("auth", "auth user")
    assert loaded.rank("auth config", pool=9) == built.rank("auth config", pool=9)
    assert dict(loaded.idf) == dict(built.idf)
    assert loaded.facts["note"] == "kept"
    assert (loaded.facts["chunks"], len(loaded)) == (3, 3)


def test_ut_bm25_15_index_corruption(tmp_path: Path) -> None:
    """A corrupted file raises IndexFileError: there is no pickle to be UnpicklingError"""
    path = tmp_path / "corrupted.idx"
    path.write_bytes(b"not a pickle")
    with pytest.raises(IndexFileError, match="not an index file"):
        BM25Scorer().load_index(path)


def test_a_scorer_that_has_indexed_nothing_yet_finds_nothing() -> None:
    scorer = BM25Scorer()
    assert (len(scorer), dict(scorer.idf), scorer.facts) == (0, {}, {})
    assert scorer.rank("auth", pool=9) == []
    assert scorer.parameters == BM25Parameters()


def test_texts_and_questions_become_the_same_terms() -> None:
    scorer = scorer_of([("a", "passwords"), ("b", "config")], analysis=WORDS)
    assert [id_ for id_, _ in scorer.rank("password", pool=9)] == ["a"]


def test_scores_equal_a_reference_library_on_real_chunks() -> None:
    """bm25s, the same tokens and parameters, every score of every query within 1e-4."""
    chunks = standard_library_chunks()
    assert len(chunks) > 5000
    texts = [chunk_text(chunk) for chunk in chunks]
    ours = scorer_of([(chunk.id, text) for chunk, text in zip(chunks, texts, strict=True)])
    theirs = bm25s.BM25(k1=1.5, b=0.75, method="lucene")
    theirs.index([tokenize(text) for text in texts], show_progress=False)
    place, known = {chunk.id: number for number, chunk in enumerate(chunks)}, ours.idf.keys()
    for query in [
        "getUserData", "parse_args", "open a file and read lines", "HTTPSConnection close",
        "json.loads", "the", "raise error when the value is not an integer", "_", "event loop",
        *(chunk.name for chunk in chunks[::97]),
    ]:  # fmt: skip
        tokens = [token for token in tokenize(query) if token in known]
        # bm25s leaves the factor k1 + 1 out, which changes no order
        expected = theirs.get_scores(tokens) * 2.5 if tokens else np.zeros(len(chunks))
        found = np.zeros(len(chunks))
        for id_, score in ours.rank(query, pool=len(chunks)):
            found[place[id_]] = score
        np.testing.assert_allclose(found, expected, atol=1e-4, err_msg=query)


@pytest.mark.parametrize("idf", ["lucene", "robertson"])
@given(
    documents=st.lists(st.lists(st.sampled_from("abcdef"), max_size=12), min_size=1, max_size=12),
    query=st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=5),
    k1=st.floats(0, 3),
    b=st.floats(0, 1),
)
def test_ranking_is_the_formula(
    idf: str, documents: list[list[str]], query: list[str], k1: float, b: float
) -> None:
    """Ten lines of the formula as written, against the index."""
    named = [(f"d{number:02}", " ".join(words)) for number, words in enumerate(documents)]
    average = sum(map(len, documents)) / len(documents) or 1
    expected = {}
    for (name, _), words in zip(named, documents, strict=True):
        score = 0.0
        for term in query:
            n = sum(term in other for other in documents)
            odds = (len(documents) - n + 0.5) / (n + 0.5)
            f = words.count(term)
            share = f * (k1 + 1) / (f + k1 * (1 - b + b * len(words) / average)) if f else 0.0
            score += math.log(odds if idf == "robertson" else 1 + odds) * share
        expected[name] = score

    scorer = scorer_of(named, k1=k1, b=b, idf=idf)
    found = dict(scorer.rank(" ".join(query), pool=99))

    for name, text in named:
        assert found.get(name, 0.0) == pytest.approx(expected[name], abs=1e-5)
        assert scorer.score(" ".join(query), text) == pytest.approx(expected[name], abs=1e-9)


def test_the_first_do_not_depend_on_how_many_are_asked_for() -> None:
    scorer = scorer_of([(f"d{n}", "same words " + "x " * (n % 3)) for n in range(50)])
    everything = scorer.rank("same words", pool=50)
    for pool in (1, 3, 10, 49):
        assert scorer.rank("same words", pool=pool) == everything[:pool]


def test_no_score_exceeds_the_ceiling_and_a_full_match_comes_near() -> None:
    scorer = scorer_of([("a", "alpha " * 50), ("b", "beta"), ("c", "gamma")])
    answer = scorer.score_all("alpha")
    assert 0.9 < answer.hits([0])[0].score / answer.ceiling <= 1.0
    with_unknown = scorer.score_all("alpha unheard_of")
    assert with_unknown.hits([0]) == answer.hits([0])
    assert with_unknown.ceiling > 2 * answer.ceiling


def test_the_ceiling_of_a_question_is_the_sum_of_those_of_its_words() -> None:
    scorer = scorer_of(DOCUMENTS)
    one, other = scorer.score_all("auth").ceiling, scorer.score_all("config").ceiling
    assert scorer.score_all("auth config").ceiling == pytest.approx(one + other)


@pytest.mark.parametrize(
    ("query", "idf", "rarity"),
    [
        ("auth", "lucene", math.log(1.6)),
        ("nowhere", "lucene", math.log(1 + 3.5 / 0.5)),
        ("auth", "robertson", 0.0),  # it counts against a match
    ],
)
def test_the_ceiling_of_a_word_is_its_rarity_without_end(
    query: str, idf: str, rarity: float
) -> None:
    assert scorer_of(DOCUMENTS, idf=idf).score_all(query).ceiling == pytest.approx(rarity * 2.5)


def test_an_answer_tells_which_words_of_the_question_a_document_has() -> None:
    answer = scorer_of(DOCUMENTS).score_all("auth user config nowhere")
    assert [answer.terms(row) for row in (0, 1, 2, 3)] == [
        {"auth", "user"}, {"auth"}, {"config"}, set(),
    ]  # fmt: skip
    assert [answer.has(0, term) for term in ("auth", "config", "aut")] == [True, False, False]
    assert not answer.is_empty
    nothing = scorer_of(DOCUMENTS).score_all("nowhere")
    assert (nothing.is_empty, nothing.coverage(0), nothing.known) == (True, 0.0, 0.0)


def test_rare_words_count_more_in_what_a_document_covers() -> None:
    """By their rarity: in two of three documents, in one, in none."""
    answer = scorer_of(DOCUMENTS).score_all("auth user config nowhere")
    auth, user, nowhere = math.log(1 + 1.5 / 2.5), math.log(1 + 2.5 / 1.5), math.log(1 + 3.5 / 0.5)
    total = auth + 2 * user + nowhere
    assert [answer.coverage(row) for row in (0, 1, 2, 3)] == pytest.approx(
        [(auth + user) / total, auth / total, user / total, 0.0]
    )
    assert answer.known == pytest.approx((auth + 2 * user) / total)
    whole = scorer_of(DOCUMENTS).score_all("user auth")
    assert (whole.coverage(0), whole.known) == (pytest.approx(1.0), pytest.approx(1.0))


@pytest.mark.parametrize("query", ["", "...", "unknown", "😀"])
def test_a_query_that_matches_nothing_has_no_hits(query: str) -> None:
    assert scorer_of(DOCUMENTS).rank(query, pool=9) == []


@pytest.mark.parametrize(
    "documents", [[], [("a", "")], [("a", ""), ("b", "...")]], ids=["none", "empty", "no-tokens"]
)
def test_an_index_of_nothing_works(tmp_path: Path, documents: list[tuple[str, str]]) -> None:
    scorer = scorer_of(documents)
    scorer.save_index(tmp_path / "bm25.idx")
    scorer.load_index(tmp_path / "bm25.idx")
    assert (len(scorer), scorer.rank("word", pool=9)) == (len(documents), [])
    assert math.isfinite(scorer.score("word", "word word"))


def test_a_very_long_query_is_only_a_long_query() -> None:
    scorer = scorer_of(DOCUMENTS)
    megabyte = " ".join(f"word{number}" for number in range(100_000)) + " auth"
    assert {id_ for id_, _ in scorer.rank(megabyte, pool=9)} == {"d1", "d2"}


@pytest.mark.parametrize("parameters", [{"k1": 0.5}, {"b": 0.0}, {"idf": "robertson"}])
def test_an_index_serves_all_parameters(tmp_path: Path, parameters: dict[str, object]) -> None:
    scorer_of(DOCUMENTS).save_index(tmp_path / "bm25.idx")
    loaded = BM25Scorer(**parameters)  # type: ignore[arg-type]
    loaded.load_index(tmp_path / "bm25.idx")
    assert loaded.rank("config auth", pool=9) == scorer_of(DOCUMENTS, **parameters).rank(
        "config auth", pool=9
    )


@pytest.mark.parametrize("analysis", [WORDS, EXACT._replace(name="tokens-0")])
def test_an_index_of_other_terms_is_refused(tmp_path: Path, analysis: Analysis) -> None:
    """With stems and without, by this version of `tokenize` and by another."""
    scorer_of(DOCUMENTS).save_index(tmp_path / "bm25.idx")
    with pytest.raises(IndexVersionError, match="of other terms"):
        BM25Scorer(analysis=analysis).load_index(tmp_path / "bm25.idx")


def test_an_index_of_other_arrays_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scorer_of(DOCUMENTS).save_index(tmp_path / "bm25.idx")
    monkeypatch.setattr("aurora.signals.bm25_segment.LAYOUT", 99)
    with pytest.raises(IndexVersionError, match="made by another version of Aurora"):
        BM25Scorer().load_index(tmp_path / "bm25.idx")


def test_many_blocks_count_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    documents = [(f"d{n}", f"common word{n % 7} " * (n % 5 + 1)) for n in range(100)]
    whole = scorer_of(documents)
    monkeypatch.setattr("aurora.signals.bm25_index._BLOCK_WORDS", 37)
    assert scorer_of(documents).rank("common word3", pool=99) == whole.rank("common word3", pool=99)


@given(st.lists(st.sampled_from([0.0, 1.0, 2.0, -1.0, 0.5]), max_size=30), st.integers(1, 40))
@example([0.0, 1.0, 0.0], 2)
def test_best_is_a_stable_sort_cut_short(values: list[float], limit: int) -> None:
    expected = sorted((n for n, v in enumerate(values) if v), key=lambda n: -values[n])[:limit]
    scores = np.array(values, np.float64)
    some = [np.flatnonzero(scores)[::2], np.flatnonzero(scores)]
    cancelled = [np.arange(len(scores))[::2], np.arange(len(scores))]  # terms may sum up to 0
    rows = np.arange(len(scores))
    assert best_places(scores, limit, rows=rows).tolist() == expected
    for postings in (some, cancelled):
        best = best_places(scores, limit, rows=rows, postings=postings)
        assert best.tolist() == expected


@given(
    st.lists(
        st.tuples(
            st.integers(1, 3),
            st.floats(-5, 5),
            st.dictionaries(st.integers(0, 29), st.integers(1, 60_000), max_size=30),
        ),
        max_size=6,
    ),
    st.lists(st.integers(1, 500), min_size=30, max_size=30),
    st.integers(0, 30),
    st.integers(1, 35),
    st.integers(1, 35),
)
def test_with_and_without_numpy_the_numbers_are_the_same(
    terms: list[tuple[int, float, dict[int, int]]],
    lengths: list[int],
    cut: int,
    pool: int,
    counted: int,
) -> None:
    """To the last bit: otherwise the second search could order ties unlike the first. The second
    segment has rows before those of the first."""
    parts = [range(cut), range(cut, 30)]
    rows = [array("q", (100 + place - 60 * (n == 1) for place in p)) for n, p in enumerate(parts)]
    segments = [
        KeywordSegment(
            MemoryArrays({"rows": rows[n], "lengths": array("i", (lengths[at] for at in part))}),
            array("i"),
        )
        for n, part in enumerate(parts)
    ]

    def postings(found: dict[int, int]) -> list[tuple[array[int], array[int]]]:
        places = [[at for at in sorted(found) if at in part] for part in parts]
        return [
            (array("i", (at - part.start for at in each)), array("H", (found[at] for at in each)))
            for part, each in zip(parts, places, strict=True)
        ]

    matches = [Match("x", asked, idf, 1.0, postings(found)) for asked, idf, found in terms]
    matches.sort(key=len)
    discounts = all_discounts([each.lengths for each in segments], 30.0, BM25Parameters())
    dense = sum_dense(
        matches,
        discounts,
        segment_rows(segments),
        parameters=BM25Parameters(),
        ceiling=1.0,
        counted=counted,
    )
    sparse = sum_sparse(
        matches,
        segments,
        average=30.0,
        parameters=BM25Parameters(),
        ceiling=1.0,
        counted=counted,
    )
    everything = {row for part in rows for row in part}
    among = sorted(everything)[::3]
    assert dense.best(pool) == sparse.best(pool)
    assert dense.best(pool, among=among) == sparse.best(pool, among=among)
    assert sorted(dense.hits(everything)) == sorted(sparse.hits(everything))
    terms = {row: [*there] for row, there in dense.find_terms(everything).items()}
    assert terms == sparse.find_terms(everything)


def test_a_term_more_frequent_than_sixteen_bits_hold() -> None:
    scorer = scorer_of([("a", "word " * 70_000), ("b", "other")])
    assert scorer.rank("word", pool=1) == [("a", pytest.approx(1.7, abs=0.1))]
