"""Whether a memory changes its mind: decisions that are replaced, and lessons that contradict.

    python benchmarks/quality/decisions.py [--entries 2000] [--no-embedder] [--save]

The texts are in benchmarks/questions/memory/decisions.json. Of twenty decisions that were made
anew, only the new one must be found. Among two hundred unrelated entries, a write must name the
entry that it contradicts; an unrelated write must name none. `--entries` adds copies of the
unrelated texts with other numbers, to see what the search for similar entries costs. Exits with 1
if a limit is missed.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))
import record

from aurora import Memory, NewDocument
from aurora.indexing.similar import find_similar

TEXTS = Path(__file__).resolve().parents[1] / "questions" / "memory" / "decisions.json"
LEAST_NAMED, MOST_FALSE = 16, 3  # of 20


@contextmanager
def empty_memory(*, embedder: bool) -> Iterator[Memory]:
    with tempfile.TemporaryDirectory(prefix="aurora-") as folder:
        environ = {"AURORA_HOME": str(Path(folder) / "home")}
        if not embedder:
            environ["AURORA_EMBEDDING_PROVIDER"] = "none"
        with Memory.open(folder, environ=environ) as memory:
            yield memory


def fill(memory: Memory, texts: Sequence[str]) -> None:
    """Lessons and documents in turns."""
    memory.add_all(NewDocument(text) for text in texts[1::2])
    for text in texts[::2]:
        memory.learn(text)


def count_replaced(memory: Memory, decisions: Sequence[Mapping[str, str]]) -> tuple[int, int]:
    """Decisions of which the new version is found, the old one is not, and both are kept; and how
    often the new one is the first row."""
    count = first_rows = 0
    for decision in decisions:
        old, new = (f"# {decision['title']}\n\n{decision[version]}" for version in ("old", "new"))
        by_id = decision["by"] == "replaces"
        first = memory.add(old)
        second = memory.add(decision["new"] if by_id else new, replaces=first.id if by_id else "")
        ids = [result.chunk_id for result in memory.search(decision["question"]).results]
        versions = [version.id for version in memory.history(first.id)]
        is_right = second.id in ids and first.id not in ids
        count += is_right and versions == [second.id, first.id]
        first_rows += ids[:1] == [second.id]
    return count, first_rows


def count_contradictions(memory: Memory, pairs: Sequence[Mapping[str, str]]) -> list[str]:
    """The new texts whose answer does not name the old one as contradicting."""
    olds = [memory.learn(pair["old"]).id for pair in pairs]
    answers = [memory.learn(pair["new"]).similar for pair in pairs]
    return [
        pair["new"]
        for pair, old, similar in zip(pairs, olds, answers, strict=True)
        if not any(entry.id == old and entry.may_contradict for entry in similar)
    ]


def count_false(memory: Memory, texts: Sequence[str]) -> list[str]:
    """The unrelated texts whose answer names a contradiction."""
    return [
        text for text in texts if any(entry.may_contradict for entry in memory.learn(text).similar)
    ]


def measure_cost(memory: Memory, texts: Sequence[str]) -> tuple[float, float]:
    """Median milliseconds of a write, and of the search for similar entries in it."""
    writes, searches = [], []
    for number, text in enumerate(texts):
        begun = time.perf_counter()
        id_ = memory.learn(f"{text} Case {number}.").id
        written = time.perf_counter()
        find_similar(memory.admin.store, id_)
        searches.append(time.perf_counter() - written)
        writes.append(written - begun)
    return statistics.median(writes) * 1000, statistics.median(searches) * 1000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--entries", type=int, default=0, help="further entries, for the cost")
    parser.add_argument("--no-embedder", action="store_true")
    parser.add_argument("--save", action="store_true")
    given = parser.parse_args()
    texts: dict[str, Any] = json.loads(TEXTS.read_text(encoding="utf-8"))
    pairs, held_out = texts["contradictions"], texts["held_out"]
    with empty_memory(embedder=not given.no_embedder) as memory:
        replaced, first_rows = count_replaced(memory, texts["decisions"])
    with empty_memory(embedder=not given.no_embedder) as memory:
        fill(memory, texts["unrelated"])
        missed = count_contradictions(memory, pairs)
        false = count_false(memory, texts["unrelated_writes"])
        unseen = count_contradictions(memory, held_out["contradictions"])
        compatible = count_false(memory, [pair["new"] for pair in held_out["compatible"]])
        memory.add_all(
            NewDocument(f"{text} See case {number}.")
            for number in range(given.entries // len(texts["unrelated"]))
            for text in texts["unrelated"]
        )
        write, search = measure_cost(memory, texts["unrelated"][:30])
        entries = sum(memory.stats().chunks.values())
    measured: dict[str, object] = {
        "decisions replaced": f"{replaced} of {len(texts['decisions'])}",
        "of these, first row": first_rows,
        "contradictions named": f"{len(pairs) - len(missed)} of {len(pairs)}",
        "false alarms": f"{len(false)} of {len(texts['unrelated_writes'])}",
        "of the second set, named": f"{len(held_out['contradictions']) - len(unseen)} of 12",
        "of the second set, false alarms": f"{len(compatible)} of 12",
        "entries": entries,
        "a write, ms": round(write, 1),
        "of it for similar entries, ms": round(search, 1),
    }
    for name, value in measured.items():
        print(f"{name}: {value}")
    for text in (*missed, *unseen):
        print(f"  missed: {text}")
    for text in (*false, *compatible):
        print(f"  false alarm: {text}")
    if given.save:
        record.save("decisions", {"embedder": not given.no_embedder, **measured})
    is_enough = len(missed) <= len(pairs) - LEAST_NAMED and len(false) <= MOST_FALSE
    is_right = replaced == len(texts["decisions"]) or given.no_embedder  # words alone find less
    return 0 if is_enough and is_right else 1


if __name__ == "__main__":
    sys.exit(main())
