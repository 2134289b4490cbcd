"""Okapi BM25: how well the words of a query fit a document."""

import math
from collections import Counter

from atlas.memory.tokenizer import tokenize


class BM25Scorer:
    """Scores documents by the words they share with a query."""

    def __init__(self, k1=1.5, b=0.75):
        self.k1 = k1
        self.b = b
        self.documents: list[Counter] = []
        self.frequency: Counter = Counter()

    def add(self, text):
        counts = Counter(tokenize(text))
        self.documents.append(counts)
        self.frequency.update(counts.keys())

    def idf(self, word):
        n, seen = len(self.documents), self.frequency[word]
        return math.log(1 + (n - seen + 0.5) / (seen + 0.5))

    def score(self, query, number):
        counts = self.documents[number]
        average = sum(map(Counter.total, self.documents)) / len(self.documents)
        norm = self.k1 * (1 - self.b + self.b * counts.total() / average)
        return sum(
            self.idf(word) * counts[word] * (self.k1 + 1) / (counts[word] + norm)
            for word in tokenize(query)
        )
