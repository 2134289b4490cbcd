"""The statements that rank: which words propose, what each chunk scores, all values bound.

`ts_rank_cd` of one word is the sum of the weights of its places (see `words`). Times what the name
counts it is the frequency that BM25 is made of, to the last bit that BM25 can tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from aurora.stores.postgres.words import any_of, quote
from aurora.stores.ranking import WeighedTerm, WordsAsked

# Chunks times terms that are judged, a microsecond each; more only where those do not suffice.
_WORK = (20_000, 100_000, 400_000)
_MOST_TERMS = 64  # of a question; the rarest


class Statement(NamedTuple):
    sql: str
    values: dict[str, object]


class Proposal(NamedTuple):
    """Words that propose chunks, and the most that a chunk without them can score."""

    query: str
    rest: float


def proposals(words: WordsAsked | None) -> list[Proposal]:
    """The cheapest first; the last is all words, for when even the best few are missing.

    A chunk that has only common words of a question is worth little beside one that has a rare one.
    """
    if words is None or not words.terms:
        return [Proposal("", 0.0)]
    terms = words.terms[:_MOST_TERMS]
    made = (_propose(terms, work // len(terms), words.k1) for work in _WORK)
    return list(dict.fromkeys((*made, Proposal(any_of(term.text for term in terms), 0.0))))


def _propose(terms: Sequence[WeighedTerm], most: int, k1: float) -> Proposal:
    chosen, chunks = 1, terms[0].chunks
    while chosen < len(terms) and chunks + terms[chosen].chunks <= most:
        chunks += terms[chosen].chunks
        chosen += 1
    rest = sum(max(term.weight, 0.0) * (k1 + 1.0) for term in terms[chosen:])
    query = any_of(term.text for term in terms[:chosen])
    if chunks > most and len(terms) > 1:
        # Even the rarest is everywhere: then the best have it beside another.
        query = f"{query} & ({any_of(term.text for term in terms[1:])})"
    return Proposal(query, rest)


def rank_statement(
    words: WordsAsked | None,
    proposing: str,
    vector: Sequence[float] | None,
    *,
    slot: int,
    by_index: bool,
    pool: int,
    among: Sequence[int] | None,
) -> Statement:
    values: dict[str, object] = {"pool": pool, **_word_values(words), **_vector_values(vector)}
    filtered = ""
    if among is not None:
        values["among"], filtered = list(among), 'AND "row" = ANY(%(among)s)'
    parts, unions = [], []
    if proposing:
        values["proposing"] = proposing
        parts.append(_proposed(words, filtered))
        unions.append(f'(SELECT "row" FROM proposed {_BEST_WORDS})')
    if vector is not None:
        parts.append(_near(len(vector), slot, filtered, by_index=by_index))
        unions.append(f'(SELECT "row" FROM near {_NEAREST})')
    if not unions:
        return Statement("SELECT 1 WHERE false", {})
    sql = f"""
        WITH {", ".join(parts)}, best AS ({" UNION ".join(unions)})
        SELECT best."row", {_known(words)},
            {"proposed.rank" if proposing else "NULL"},
            {"1 - near.distance" if vector is not None and not by_index else _cosine(vector)},
            {"near.rank" if vector is not None else "NULL"},
            {"proposed.score" if proposing else "NULL"}
        FROM best LEFT JOIN words ON words."row" = best."row"
        {'LEFT JOIN proposed ON proposed."row" = best."row"' if proposing else ""}
        {_vectors(vector, slot, by_index=by_index)}"""
    return Statement(sql, values)


def score_statement(
    words: WordsAsked | None, vector: Sequence[float] | None, *, slot: int, rows: Sequence[int]
) -> Statement:
    values = {"rows": list(rows), **_word_values(words), **_vector_values(vector)}
    sql = f"""
        SELECT best."row", {_known(words)}, NULL, {_cosine(vector)}, NULL, NULL
        FROM unnest(%(rows)s::bigint[]) AS best ("row")
            JOIN words ON words."row" = best."row"
        {_vectors(vector, slot, by_index=True, with_places=False)}"""
    return Statement(sql, values)


def _proposed(words: WordsAsked | None, filtered: str) -> str:
    return f"""
        judged AS MATERIALIZED (
            SELECT "row", {_score(words)} AS score FROM words
            WHERE tsv @@ %(proposing)s::tsquery {filtered}),
        proposed AS MATERIALIZED (
            SELECT "row", score, rank() OVER (ORDER BY score DESC) AS rank
            FROM judged WHERE score > 0)"""


def _near(dimension: int, slot: int, filtered: str, *, by_index: bool) -> str:
    """Hidden chunks have vectors, too. In the index' own order, or all of them compared."""
    compared = f"""
        SELECT "row", vector::halfvec({dimension}) <=> %(vector)s::halfvec({dimension}) AS distance
        FROM vectors_{slot} WHERE slot = {slot} AND "row" <> ALL(ARRAY(
            SELECT chunks."row" FROM chunks WHERE NOT chunks.is_found)) {filtered}"""
    if by_index:
        compared += " ORDER BY distance LIMIT %(pool)s"
    return f"""
        compared AS MATERIALIZED ({compared}),
        near AS MATERIALIZED (
            SELECT "row", distance, rank() OVER (ORDER BY distance) AS rank
            FROM compared WHERE distance < 'NaN')"""


_BEST_WORDS = 'ORDER BY score DESC, "row" LIMIT %(pool)s'
_NEAREST = 'ORDER BY distance, "row" LIMIT %(pool)s'


def _vectors(
    vector: Sequence[float] | None, slot: int, *, by_index: bool, with_places: bool = True
) -> str:
    if vector is None:
        return ""
    near = 'LEFT JOIN near ON near."row" = best."row"' if with_places else ""
    made = f'LEFT JOIN vectors_{slot} AS made ON made."row" = best."row"' if by_index else ""
    return f"{near} {made}"


def _cosine(vector: Sequence[float] | None) -> str:
    if vector is None:
        return "NULL"
    return f"1 - (made.vector::halfvec({len(vector)}) <=> %(vector)s::halfvec({len(vector)}))"


def _known(words: WordsAsked | None) -> str:
    """What BM25 is made of, to be put together as it is for every store."""
    return f"words.length, ARRAY[{', '.join(_frequencies(words))}]::real[]"


def _score(words: WordsAsked | None) -> str:
    """The same put together here, so that the best can be told: f / (f + d) is 1 − d / (f + d),
    which asks for the frequency once."""
    shares = (
        f"%(w{at})s * coalesce(1 - {_DISCOUNT} / nullif({one} + {_DISCOUNT}, 0), 0)"
        for at, one in enumerate(_frequencies(words))
    )
    return " + ".join(shares) or "0"


_DISCOUNT = "%(k1)s * (1 - %(b)s + %(b)s * length / %(average)s)"


def _frequencies(words: WordsAsked | None) -> Iterator[str]:
    count = len(words.terms[:_MOST_TERMS]) if words is not None else 0
    for at in range(count):
        yield f"(ts_rank_cd(words.weights, words.tsv, %(t{at})s::tsquery) / words.weights[2])"


def _word_values(words: WordsAsked | None) -> dict[str, object]:
    if words is None:
        return {}
    terms = words.terms[:_MOST_TERMS]
    return {
        "k1": words.k1,
        "b": words.b,
        "average": words.average_length or 1.0,
        **{f"t{at}": quote(term.text) for at, term in enumerate(terms)},
        **{f"w{at}": term.weight * (words.k1 + 1.0) for at, term in enumerate(terms)},
    }


def _vector_values(vector: Sequence[float] | None) -> dict[str, object]:
    return {} if vector is None else {"vector": "[" + ",".join(map(repr, vector)) + "]"}
