"""Hard negatives: for every pair, four passages of its kind that share words with its question.

    python -m training.negatives PAIRS OUTPUT.npy

PAIRS is a folder of pairs-N.jsonl.gz; rows are numbered through its parts in order. OUTPUT is
int32 [pairs, 4], row numbers of passages. Every kind is cut into blocks and each is searched by
BM25 for itself, which is nearly as hard as searching the whole and takes minutes. Leaving out words
with long lists makes that quicker than a library: 4.2 s of CPU for 20,000 passages and 3,000
questions, where bm25s takes 6.5.
"""

import argparse
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

import numpy as np

from training.assemble import normalised
from training.corpus import pair_files, read_pairs
from training.readers.texts import HUMPS

BLOCK = 20_000
NEGATIVES = 4
LONGEST_LIST = (
    2_000  # passages; a word in more of them tells nothing apart and costs most of the time
)
CONSIDERED = 12  # best passages looked at, of which own and equal ones are left out
OVERLAP = 100  # signs from the beginning of a passage that make it the same text
K1, B = 1.2, 0.75
# Words are runs of letters, a CJK sign is a word of its own.
TERM = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W\d_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2,}|\d+"
)


def terms(text: str) -> list[str]:
    found = TERM.findall(HUMPS.sub(" ", text).lower())
    # Two CJK signs in a row tell more than one.
    return [
        term + after if len(term) == 1 and len(after) == 1 else term
        for term, after in zip_longest(found, found[1:], fillvalue="")
    ]


class BM25:
    """Passages of a block by the terms they hold; scores as in Robertson and Zaragoza (2009)."""

    def __init__(self, passages: list[str]) -> None:
        counted = [Counter(terms(passage)) for passage in passages]
        lengths = np.array([sum(counts.values()) for counts in counted], np.float32)
        penalty = K1 * (1 - B + B * lengths / max(float(lengths.mean()), 1.0))
        places: defaultdict[str, list[int]] = defaultdict(list)
        times: defaultdict[str, list[int]] = defaultdict(list)
        for place, counts in enumerate(counted):
            for term, count in counts.items():
                places[term].append(place)
                times[term].append(count)
        self.size = len(passages)
        self.postings = {
            term: self._weigh(np.array(found, np.int32), np.array(times[term], np.float32), penalty)
            for term, found in places.items()
            if len(found) <= LONGEST_LIST
        }

    def _weigh(
        self, found: np.ndarray, times: np.ndarray, penalty: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        rarity = np.log1p((self.size - len(found) + 0.5) / (len(found) + 0.5))
        return found, rarity * times * (K1 + 1) / (times + penalty[found])

    def best(self, question: str, count: int) -> np.ndarray:
        """The passages with the highest scores, best first; fewer when fewer share a word."""
        lists = [self.postings[term] for term in set(terms(question)) if term in self.postings]
        if not lists:
            return np.empty(0, np.int32)
        found = np.concatenate([places for places, _ in lists])
        scores = np.bincount(found, np.concatenate([weights for _, weights in lists]), self.size)
        top = np.argpartition(-scores, min(count, self.size - 1))[:count]
        return top[np.argsort(-scores[top], kind="stable")][: int((scores[top] > 0).sum())]


def answers(question: str, passage: str, other: str) -> bool:
    """Whether `other` is a wider or narrower cut of the same text; all three normalised."""
    quoted = question.count(" ") >= 3 and question in other
    return quoted or passage[:OVERLAP] in other or other[:OVERLAP] in passage


def block_negatives(
    questions: list[str], passages: list[str], random: np.random.Generator
) -> np.ndarray:
    """The places of NEGATIVES passages for each question, none of them an answer to it."""
    index = BM25(passages)
    same_question = [normalised(question) for question in questions]
    same_passage = [normalised(passage) for passage in passages]
    chosen = np.empty((len(questions), NEGATIVES), np.int32)
    for row, question in enumerate(questions):
        kept: list[int] = []
        seen = {same_passage[row]}
        for place in index.best(question, CONSIDERED).tolist():
            if answers(same_question[row], same_passage[row], same_passage[place]):
                continue
            if same_passage[place] not in seen and same_question[place] != same_question[row]:
                seen.add(same_passage[place])
                kept.append(place)
        kept = kept[:NEGATIVES]
        while len(kept) < NEGATIVES:  # nothing shares a word: any other passage
            place = int(random.integers(len(passages)))
            if place != row or len(passages) == 1:
                kept.append(place)
        chosen[row] = kept
    return chosen


def blocks(kinds: list[str]) -> Iterator[np.ndarray]:
    """Row numbers of each kind, in pieces of equal size of at most BLOCK."""
    for kind in sorted(set(kinds)):
        rows = np.flatnonzero(np.array(kinds) == kind)
        yield from np.array_split(rows, -(-len(rows) // BLOCK))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("pairs", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    pairs = [pair for part in pair_files(options.pairs) for pair in read_pairs(part)]
    random = np.random.default_rng(options.seed)
    chosen = np.empty((len(pairs), NEGATIVES), np.int32)
    for rows in blocks([pair.kind for pair in pairs]):
        questions = [pairs[row].a for row in rows]
        passages = [pairs[row].b for row in rows]
        chosen[rows] = rows[block_negatives(questions, passages, random)]
        print(f"{pairs[rows[0]].kind}: {len(rows)} rows", flush=True)
    np.save(options.output, chosen)


if __name__ == "__main__":
    main()
