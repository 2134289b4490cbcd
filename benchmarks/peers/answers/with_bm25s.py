"""bm25s: as it comes, with its English stop words and PyStemmer, and with words for code.

CJK runs are bigrams in both, as Lucene's CJKAnalyzer makes them; bm25s itself has nothing for them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial

import bm25s
import Stemmer
from asking import PLACES, Ask, Text, documents, main, pieces

CJK = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
RUN = re.compile(rf"[{CJK}]+|[^\W{CJK}]+")
IDENTIFIER_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
STOP_WORDS = frozenset(bm25s.tokenization.STOPWORDS_EN)

Words = Callable[[str], list[str]]


def bigrams(text: str) -> list[str]:
    words: list[str] = []
    for run in RUN.findall(text.lower()):
        is_cjk = re.match(f"[{CJK}]", run) is not None and len(run) > 1
        words += [run[at : at + 2] for at in range(len(run) - 1)] if is_cjk else [run]
    return words


def parts(text: str) -> list[str]:
    """Identifiers whole and in parts, no stems."""
    words: list[str] = []
    for word in re.findall(r"\w+", text):
        found = IDENTIFIER_PART.findall(word)
        words += [word.lower(), *(map(str.lower, found) if len(found) > 1 else ())]
    return [word for word in words if word not in STOP_WORDS]


def stems(text: str) -> list[str]:
    """The library's own tokenizer, for one text."""
    (found,) = bm25s.tokenize(
        [text],
        stopwords="en",
        stemmer=Stemmer.Stemmer("english"),
        return_ids=False,
        show_progress=False,
    )
    return list(found)


def open_texts(texts: Sequence[Text], usual: Words, k1: float = 1.5) -> Ask:
    cut = list(pieces(texts))
    is_cjk = sum(bool(re.search(f"[{CJK}]", piece.text)) for piece in cut) > len(cut) / 2
    words = bigrams if is_cjk else usual
    if words is stems:  # all at once is many times faster, and the same
        corpus = bm25s.tokenize(
            [piece.text for piece in cut],
            stopwords="en",
            stemmer=Stemmer.Stemmer("english"),
            return_ids=False,
            show_progress=False,
        )
    else:
        corpus = [words(piece.text) for piece in cut]
    index = bm25s.BM25(k1=k1)
    index.index(corpus, show_progress=False)
    most = min(PLACES, len(cut))

    def ask(question: str) -> list[str]:
        found, scores = index.retrieve([words(question)], k=most, show_progress=False)
        return documents([cut[at] for at, score in zip(found[0], scores[0]) if score > 0])  # noqa: B905

    return ask


if __name__ == "__main__":
    ways = {
        "bm25s": partial(open_texts, usual=stems),
        "bm25s, words for code": partial(open_texts, usual=parts),
    }
    main(ways, packages=("bm25s", "PyStemmer"))
