"""Puts the pairs of all readers together, shuffled, in parts.

    python -m training.assemble RAW OUTPUT --evaluation FOLDER [--parts 8]

Duplicates are dropped, and what the evaluation sets know: a pair of which either side shares nine
words in a row with a text or question there (thirteen signs in a row where the writing has no
spaces), or that comes from a project that is itself searched there.
"""

import argparse
import random
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import TypeVar

import numpy as np

from aurora.evaluation.datasets import Record, read_records
from training.corpus import Pair, read_pairs, write_pairs

WORDS_IN_A_ROW = 9
SIGNS_IN_A_ROW = 13
MOST_ALIKE = 2  # times one question or one passage may come
FACTOR = np.uint64(0x9E3779B97F4A7C15)
WORD = re.compile(r"[^\W_]+")
CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af]")

T = TypeVar("T")


def rolling(values: np.ndarray, length: int) -> np.ndarray:
    """One number for every `length` values in a row."""
    if len(values) < length:
        return np.empty(0, np.uint64)
    total = np.zeros(len(values) - length + 1, np.uint64)
    for offset in range(length):
        total = total * FACTOR + values[offset : len(total) + offset]
        total ^= total >> np.uint64(29)
    return total


def text_runs(texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """All runs of all texts, and the place of the text each belongs to."""
    words = [
        [zlib.crc32(word.encode("utf-8", "replace")) for word in split(text)] for text in texts
    ]
    signs = [[ord(sign) for sign in "".join(split(text))] if is_cjk(text) else [] for text in texts]
    of_words = _runs_within(words, WORDS_IN_A_ROW)
    of_signs = _runs_within(signs, SIGNS_IN_A_ROW)
    return np.concatenate([of_words[0], of_signs[0]]), np.concatenate([of_words[1], of_signs[1]])


def _runs_within(rows: list[list[int]], length: int) -> tuple[np.ndarray, np.ndarray]:
    """Runs over all rows at once; those that go from one row into the next are left out."""
    lengths = np.array([len(row) for row in rows], np.int64)
    values = np.fromiter(chain.from_iterable(rows), np.uint64, int(lengths.sum()))
    owners = np.repeat(np.arange(len(rows)), lengths)
    found = rolling(values, length)
    first, last = owners[: len(found)], owners[length - 1 :]
    inside = first == last
    return found[inside], first[inside]


class Evaluation:
    """What must not be learnt: the runs of all texts, sorted, and names of searched projects."""

    def __init__(self, folder: Path) -> None:
        self.projects: set[str] = set()
        self.whole: set[str] = set()
        found = [np.empty(0, np.uint64)]
        for records in batched(self._records(folder), 2000):
            found.append(text_runs([f"{r.word('title')} {r.word('text')}" for r in records])[0])
            self.whole.update(normalised(record.word("text")) for record in records)
            self.projects.update(
                record.word("group").rpartition("/")[2].lower()
                for record in records
                if record.word("path") and record.word("group")
            )
        self.runs = np.unique(np.concatenate(found))

    @staticmethod
    def _records(folder: Path) -> Iterator[Record]:
        """Of all files, whether a question is judged or not."""
        for name in ("corpus.jsonl", "corpus.jsonl.gz", "queries.jsonl"):
            for path in sorted(folder.glob(f"*/{name}")):
                yield from read_records(path)

    def known(self, texts: Sequence[str]) -> set[int]:
        """The places of the texts that share a run with the sets, or are one of their texts."""
        asked, owners = text_runs(texts)
        places = np.searchsorted(self.runs, asked)
        places[places == len(self.runs)] = 0
        shared = self.runs[places] == asked if len(self.runs) else np.zeros(len(asked), bool)
        equal = (place for place, text in enumerate(texts) if normalised(text) in self.whole)
        return {*owners[shared].tolist(), *equal}

    def searches(self, source: str) -> bool:
        """Whether a project of the evaluation sets is the source, whatever version and registry."""
        name = re.sub(r"-v?\d[^-]*(-\d[^-]*)?$", "", source).lower()
        names = {name, name.partition("/")[0].lstrip("@")}
        if re.match(r"(librust|golang|ruby|php)-", name):
            names.add(name.removesuffix("-dev").rpartition("-")[2])
        return not names.isdisjoint(self.projects)


def split(text: str) -> list[str]:
    return WORD.findall(text.lower())


def is_cjk(text: str) -> bool:
    return len(CJK.findall(text)) >= SIGNS_IN_A_ROW // 2


def batched(things: Iterable[T], size: int) -> Iterator[list[T]]:
    waiting = iter(things)
    while batch := list(islice(waiting, size)):
        yield batch


def normalised(text: str) -> str:
    return " ".join(split(text))


def assemble(
    pairs: Iterable[Pair], evaluation: Evaluation, dropped: Counter[tuple[str, str]]
) -> Iterator[Pair]:
    """The pairs that may be learnt from; `dropped` counts the others by reason and kind."""
    questions: Counter[int] = Counter()
    passages: Counter[int] = Counter()
    seen: set[int] = set()
    for batch in batched(pairs, 2000):
        known = evaluation.known([text for pair in batch for text in (pair.a, pair.b)])
        for place, pair in enumerate(batch):
            a, b = normalised(pair.a), normalised(pair.b)
            if not a or not b or a == b:
                dropped["nothing to learn", pair.kind] += 1
            elif evaluation.searches(pair.source):
                dropped["searched project", pair.kind] += 1
            elif known.intersection((2 * place, 2 * place + 1)):
                dropped["evaluation", pair.kind] += 1
            elif hash((a, b)) in seen or max(questions[hash(a)], passages[hash(b)]) >= MOST_ALIKE:
                dropped["duplicate", pair.kind] += 1
            else:
                seen.add(hash((a, b)))
                questions[hash(a)] += 1
                passages[hash(b)] += 1
                yield pair


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("raw", type=Path, help="folder of the readers' *.jsonl.gz")
    parser.add_argument("output", type=Path)
    parser.add_argument("--evaluation", type=Path, required=True, help="folder of evaluation sets")
    parser.add_argument("--parts", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    evaluation = Evaluation(options.evaluation)
    print(
        f"{len(evaluation.runs):,} runs and {len(evaluation.projects)} projects to stay away from",
        flush=True,
    )
    dropped: Counter[tuple[str, str]] = Counter()
    read = chain.from_iterable(map(read_pairs, sorted(options.raw.glob("*.jsonl.gz"))))
    pairs = list(assemble(read, evaluation, dropped))
    random.Random(options.seed).shuffle(pairs)  # noqa: S311 - an order, not a secret
    options.output.mkdir(parents=True, exist_ok=True)
    for part in range(options.parts):
        write_pairs(options.output / f"pairs-{part}.jsonl.gz", pairs[part :: options.parts])
    print(f"kept {dict(Counter(pair.kind for pair in pairs))}")
    print(
        "dropped "
        + ", ".join(
            f"{kind} {reason} {count:,}" for (reason, kind), count in sorted(dropped.items())
        )
    )


if __name__ == "__main__":
    main()
