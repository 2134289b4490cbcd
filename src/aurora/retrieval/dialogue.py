"""How exchanges with agents are ranked: by their neighbours, by what they answer, the newest first.

An exchange is a question and its answer (`indexing/session_chunks.py`). All rules read the text
that is stored, so that every store gives the same answer. Memories without sessions are not
affected. The numbers are measured by benchmarks/quality/sessions.py.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from datetime import UTC, datetime
from functools import lru_cache
from itertools import islice

from aurora.fusion.base import CandidateContext, Order, Part, Turns
from aurora.quick_classes import NamedTuple
from aurora.stores.base import SearchedStore
from aurora.text import is_stop_word, stem, tokenize
from aurora.types import Chunk, Place, Ranking

UNANSWERED = "unanswered"  # the contribution that lowers a question that nothing answers
NEWEST = "newest"  # the one that raises the newest exchange to the place of an earlier one
_READ = 20  # exchanges of one search: the cost does not grow with their number
_COMPARED = 1000  # characters of a question or an answer
# A question that says the same as the query shares this much of all words of the two.
_REPEATED = 0.6
_LOST = 0.99  # of its score: with 0.8, a question comes before an answer in other words
# The share of words of the shorter question, times that of the shorter answer. Of 100 pairs of one
# matter, 77 have it, and 1 of 1,125 pairs of different ones; cosines cannot tell them apart.
_ALIKE = 0.4
_FEWEST = 2  # words that can be compared
_OLDEST = datetime.min.replace(tzinfo=UTC)
# Words of an answer that says only that there is none yet.
_NOTHING = frozenset(
    map(
        stem,
        """429 500 502 503 504 529 again answer api begin check code codebase could couldn didn don
        error explore file find first fix get give go good got help hmm idea interrupted investigate
        know let ll look m minute moment need now ok okay overloaded please project question re read
        repository request s search see some sorry start sure t take tell think try understand
        unfortunately unknown user ve work would yes yet""".split(),  # noqa: SIM905
    )
)


def turns_beside(places: Mapping[int, Place]) -> dict[int, Turns]:
    """The candidates of the turns right before and after each candidate of a conversation, and
    the other pieces of its own turn."""
    turns: defaultdict[tuple[str, int], list[int]] = defaultdict(list)
    for row, place in places.items():
        if place.conversation:
            turns[place.conversation, place.turn].append(row)
    return {row: _beside(row, places, turns) for row in places if places[row].conversation}


def _beside(
    row: int, places: Mapping[int, Place], turns: Mapping[tuple[str, int], Sequence[int]]
) -> Turns:
    place = places[row]
    talk, turn = place.conversation, place.turn
    around = turns.get((talk, turn - 1), ()), turns.get((talk, turn + 1), ())
    own = turns[talk, turn]
    pieces = [other for other in own if other != row and places[other].home == place.home]
    return [rows for rows in (*around, pieces) if rows]


class Said(NamedTuple):
    """The words of an exchange, its session and its time."""

    session: str
    asked: frozenset[str]
    answered: frozenset[str]
    time: datetime


def read_exchange(chunk: Chunk) -> Said | None:
    """What was said in an exchange; None for other chunks, and for later pieces of a long one."""
    facts = chunk.metadata
    if (facts.get("source"), facts.get("form")) != ("session", "exchange"):
        return None
    asked, _, rest = chunk.content.partition("\n\nAnswered: ")
    if not asked.startswith("Asked: "):
        return None
    time = chunk.created_at or _OLDEST
    return Said(str(facts.get("session")), _words(asked[len("Asked: ") :]), _words(rest), time)


def _words(text: str) -> frozenset[str]:
    return _stems(text[:_COMPARED])


@lru_cache(maxsize=128)  # the rows of a search are read twice: to place them, and to collapse them
def _stems(text: str) -> frozenset[str]:
    return frozenset(stem(token) for token in {*tokenize(text)} if not is_stop_word(token))


def read_exchanges(
    store: SearchedStore, ordered: Sequence[int], context: CandidateContext
) -> dict[int, Said]:
    """What the first exchanges say, in their order: those of the whole memory, and of those that
    only a filter has brought in as many."""
    rows = [row for row in ordered if row in context.exchanges]
    best = islice((row for row in rows if row in context.best), _READ)
    others = islice((row for row in rows if row not in context.best), _READ)
    wanted = [*best, *others]
    chunks = store.chunks.get_rows(wanted) if wanted else {}
    said = {row: read_exchange(chunks[row]) for row in wanted if row in chunks}
    return {row: each for row, each in said.items() if each is not None}


def find_unanswered(exchanges: Mapping[int, Said], query: str) -> frozenset[int]:
    """The rows of exchanges that repeat the query and say nothing more."""
    words = _words(query)
    return frozenset(
        row
        for row, said in exchanges.items()
        if _share(said.asked & words, said.asked | words) >= _REPEATED
        and not said.answered - said.asked - words - _NOTHING
    )


def lower(order: Order, rows: Set[int]) -> Order:
    """Take most of the score of these rows: they match because they ask the same."""
    lost = {row: -_LOST * score for row, score in order.scores.items() if row in rows}
    return order.plus(Part(UNANSWERED, lost)).best_first()


def without(ranking: Ranking, rows: Set[int]) -> Ranking:
    """A ranking without these rows: a question is the name of its exchange."""
    return ranking._replace(hits=tuple(hit for hit in ranking.hits if hit.row not in rows))


def newest_first(
    rows: Sequence[int], exchanges: Mapping[int, Said], best: Set[int]
) -> tuple[list[int], frozenset[int]]:
    """Put the newest exchange about a matter before the best one; also returns the moved rows.

    The results show one of them. What only a filter has brought in is compared by itself, so that a
    filter moves nothing else.
    """
    groups: dict[int, list[int]] = {}  # the first row of a matter → later ones
    for row, said in exchanges.items():
        firsts = (first for first in groups if (first in best) == (row in best))
        alike = (first for first in firsts if is_same_matter(exchanges[first], said))
        groups.setdefault(next(alike, row), []).append(row)
    newest = {  # of equal times the first
        first: max(same, key=lambda row: exchanges[row].time) for first, same in groups.items()
    }
    before = {
        first: new for first, new in newest.items() if exchanges[new].time > exchanges[first].time
    }
    moved = frozenset(before.values())
    placed: list[int] = []
    for row in rows:
        if row not in moved:
            placed += [before[row], row] if row in before else [row]
    return placed, moved


def is_same_matter(one: Said, other: Said) -> bool:
    """Whether two exchanges of different sessions are near-identical in what they say."""
    if one.session == other.session:
        return False
    return _overlap(one.asked, other.asked) * _overlap(one.answered, other.answered) >= _ALIKE


def _overlap(one: Set[str], other: Set[str]) -> float:
    """The share of the smaller set that is in both; 0 where a set says too little."""
    least = min(len(one), len(other))
    return len(one & other) / least if least >= _FEWEST else 0.0


def _share(part: Set[str], whole: Set[str]) -> float:
    return len(part) / len(whole) if whole else 0.0
