"""How often a question about a past conversation finds the session, and the exchange, that answers.

    python benchmarks/quality/sessions.py FOLDER [--most 50] [--set locomo]

FOLDER holds the sets `locomo` and `beam_100k` as `aur eval` reads them (`session`, `seq` and `date`
on each text). Their licences forbid redistribution. Two texts in turn are an exchange; it goes
through the redactor and the cutter into a memory of its conversation, as an import would put it
there, and is searched with default settings.

    session      the share of questions with a right session among the first so many sessions
    exchange     with a right exchange among the first so many exchanges
    R@10         the share of the right ones of a question among the first ten, on average

Conversations are split: every second one is for tuning, the others are held out. Nothing was tuned
on those.

The set `matters` is questions/memory/dialogue.json: ten matters, each in five sessions and in other
words, two and two much alike, and eight questions that were asked before without an answer. It
tells how many of the five are one row, with the newest first, how many rows mix two matters, and
how often the answer comes before the question that is repeated. The limits were fitted on it.

A run of all questions of both sets writes benchmarks/results/sessions-<commit>.json.
Vectors are kept in benchmarks/.cache/vectors.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from statistics import fmean

from aurora.indexing.embedding import embed_missing
from aurora.indexing.session_chunks import exchange_chunks
from aurora.redaction import Redactor
from aurora.retrieval.config import HybridConfig
from aurora.retrieval.retriever import HybridRetriever
from aurora.sources.sessions.base import Exchange, Session
from aurora.stores.sqlite.store import SQLiteStore
from aurora.types import Query, SearchResult

sys.path.append(str(Path(__file__).resolve().parents[1]))
import record
from embedders import default_embedder
from quality.sets import Grades, Record, by_group, draw, read_set
from quality.vector_cache import CachedVectors

SETS, MATTERS = ("locomo", "beam_100k"), "matters"
DIALOGUE = record.BENCHMARKS / "questions" / "memory" / "dialogue.json"
HALVES = ("tuning", "held out")
CACHE = record.BENCHMARKS / ".cache" / "vectors"
AGENT, ROWS, DEPTHS = "talk", 50, (1, 5, 10)
NOW = datetime(2026, 1, 1, tzinfo=UTC)

# BEAM's other categories ask for all of a conversation, or about none of its messages.
ASKED = frozenset(
    ("information_extraction", "knowledge_update", "temporal_reasoning",
     "multi_session_reasoning", "contradiction_resolution")
)  # fmt: skip
# LoCoMo by sessions: hit@1 and hit@5 of deja-vu, R@10 of MemPalace, as they publish them.
PUBLISHED = {"locomo": "deja-vu hit@1 .696, hit@5 .857; MemPalace R@10 .889"}


@dataclass(frozen=True, slots=True)
class Asked:
    """Where the right ones are for one question: among sessions, and among exchanges."""

    half: str
    sessions: Sequence[bool]
    exchanges: Sequence[bool]
    right: tuple[int, int]  # sessions and exchanges that are right


def exchanges(texts: Sequence[Record]) -> Iterator[tuple[Session, Exchange, Sequence[str]]]:
    """The exchanges of a conversation, and the ids of their texts."""
    sessions: dict[str, list[Record]] = defaultdict(list)
    for text in sorted(texts, key=lambda text: text["seq"]):
        sessions[text["session"]].append(text)
    for name, turns in sessions.items():
        start = datetime.fromisoformat(turns[0]["date"]).replace(tzinfo=UTC)
        title = turns[0]["text"].strip().partition("\n")[0][:120]
        session = Session(AGENT, name, Path(name), title, started=start, ended=start)
        for seq, at in enumerate(range(0, len(turns), 2), start=1):
            first, *rest = turns[at : at + 2]
            answered = rest[0]["text"] if rest else ""
            time = start + timedelta(minutes=at)
            exchange = Exchange(first["id"], AGENT, name, first["text"], answered, time, seq=seq)
            yield session, exchange, [turn["id"] for turn in (first, *rest)]


def ask_matters() -> dict[str, float]:
    """What the rows of each matter and of each repeated question show."""
    given = json.loads(DIALOGUE.read_text("utf-8"))
    matters, repeated = given["matters"], given["repeated"]
    said = [one["exchanges"] for one in matters]
    said += [[one["empty"], one["answers"]] for one in repeated]
    texts = [
        {"id": f"{n} {at} {side}", "text": text, "seq": side, "session": f"{n} {at}",
         "date": f"2025-{at + 1:02}-01"}
        for n, group in enumerate(said) for at, pair in enumerate(group)
        for side, text in enumerate(pair)
    ]  # fmt: skip
    with Talk(texts) as talk:
        rows = [talk.rows(one["query"]) for one in (*matters, *repeated)]
    firsts = [found[0] for found in rows[: len(matters)]]
    return {
        "matters": len(matters),
        "earlier in the row": fmean(row.more for row in firsts),
        "newest first": fmean(_session(row) == f"{n} 4" for n, row in enumerate(firsts)),
        "rows": fmean(
            sum(_session(row).startswith(f"{n} ") for row in found)
            for n, found in enumerate(rows[: len(matters)])
        ),
        "repeated": len(repeated),
        "answer first": fmean(
            _before(f"{n} 1", f"{n} 0", list(map(_session, found)))
            for n, found in enumerate(rows[len(matters) :], start=len(matters))
        ),
    }


def _session(row: SearchResult) -> str:
    return str(row.chunk.metadata["session"])


def _before(one: str, other: str, found: Sequence[str]) -> bool:
    return one in found and (other not in found or found.index(one) < found.index(other))


def ask_all(folder: Path, most: int) -> Iterator[Asked]:
    corpus, queries, grades = read_set(folder)
    queries = [query for query in queries if folder.name != "beam_100k" or is_explicit(query)]
    for number, (texts, asked) in enumerate(by_group(corpus, draw(queries, most))):
        with Talk(texts) as talk:
            for query in asked:
                yield talk.ask(query, grades, HALVES[number % 2])


def is_explicit(query: Record) -> bool:
    return query.get("category", "information_extraction") in ASKED


class Talk:
    """The memory of one conversation."""

    def __init__(self, texts: Sequence[Record]) -> None:
        self._scratch = tempfile.TemporaryDirectory()
        folder, provider = Path(self._scratch.name), CachedVectors(default_embedder(), CACHE)
        self._store = SQLiteStore(folder / "memory.db")
        self._exchange_of: dict[str, str] = {}  # text → exchange
        self._session_of: dict[str, str] = {}  # exchange → session
        for session, exchange, ids in exchanges(texts):
            self._store.chunks.put_chunks(exchange_chunks(session, exchange, Redactor()))
            self._exchange_of.update(dict.fromkeys(ids, exchange.id))
            self._session_of[exchange.id] = session.id
        embed_missing(self._store, provider)
        self._retriever = HybridRetriever(
            self._store, HybridConfig(), index_folder=folder, now=lambda: NOW,
            embedders=lambda _: provider,
        )  # fmt: skip

    def rows(self, text: str) -> Sequence[SearchResult]:
        return self._retriever.retrieve(Query(text, limit=ROWS)).results

    def ask(self, query: Record, grades: Grades, half: str) -> Asked:
        found = self.rows(query["text"])
        ranked = list(dict.fromkeys(str(row.chunk.metadata["exchange"]) for row in found))
        right = {self._exchange_of[text] for text in grades[query["id"]]}
        sessions = {self._session_of[exchange] for exchange in right}
        by_session = dict.fromkeys(self._session_of[exchange] for exchange in ranked)
        return Asked(
            half,
            [session in sessions for session in islice(by_session, max(DEPTHS))],
            [exchange in right for exchange in ranked[: max(DEPTHS)]],
            (len(sessions), len(right)),
        )

    def __enter__(self) -> Talk:
        return self

    def __exit__(self, *_: object) -> None:
        self._store.close()
        self._scratch.cleanup()


def measures(asked: Sequence[Asked]) -> dict[str, float]:
    shares: dict[str, float] = {"questions": len(asked)}
    for name, places in (
        ("session", [(one.sessions, one.right[0]) for one in asked]),
        ("exchange", [(one.exchanges, one.right[1]) for one in asked]),
    ):
        for depth in DEPTHS:
            shares[f"{name} hit@{depth}"] = fmean(any(found[:depth]) for found, _ in places)
        shares[f"{name} R@10"] = fmean(sum(found) / of for found, of in places)
    return {key: round(share, 4) for key, share in shares.items()}


def show(name: str, halves: Mapping[str, Mapping[str, float]]) -> None:
    heads = list(next(iter(halves.values())))
    print(f"\n| {name} | " + " | ".join(heads) + " |\n" + "|---" * (len(heads) + 1) + "|")
    for half, numbers in halves.items():
        print(f"| {half} | " + " | ".join(f"{numbers[head]:g}" for head in heads) + " |")
    if name in PUBLISHED:
        print("published:", PUBLISHED[name])


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("folder", metavar="FOLDER", type=Path)
    options.add_argument(
        "--set", dest="sets", action="append", default=[], choices=(*SETS, MATTERS)
    )
    options.add_argument("--most", type=int, default=10**6, help="questions of each set")
    given = options.parse_args()
    results = {}
    for name in given.sets or (*SETS, MATTERS):
        if name == MATTERS:
            results[name] = {"all": ask_matters()}
            show(name, results[name])
            continue
        asked = list(ask_all(given.folder / name, given.most))
        groups = {half: [one for one in asked if one.half == half] for half in HALVES}
        results[name] = {half: measures(some) for half, some in groups.items() if some}
        show(name, results[name])
    if not given.sets and given.most == 10**6:
        record.save("sessions", {"sets": results})


if __name__ == "__main__":
    main()
