"""SQLite's own full-text search: any of the words, best by its bm25().

CJK goes by trigrams, any of those of the question: a whole run of it is in no text.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from functools import partial

from asking import PLACES, Ask, Text, documents, main, pieces

CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]")
SQL = "SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY bm25(texts) LIMIT ?"


def terms(question: str, *, trigrams: bool) -> str:
    words = re.findall(r"\w+", question)
    if trigrams:
        words = [word[at : at + 3] for word in words for at in range(max(len(word) - 2, 1))]
    return " OR ".join(f'"{word}"' for word in dict.fromkeys(words))


def open_texts(texts: Sequence[Text], usual: str) -> Ask:
    cut = list(pieces(texts))
    trigrams = sum(bool(CJK.search(piece.text)) for piece in cut) > len(cut) / 2
    memory = sqlite3.connect(":memory:")
    tokenizer = "trigram" if trigrams else usual
    memory.execute(f"CREATE VIRTUAL TABLE texts USING fts5(text, tokenize='{tokenizer}')")
    rows = ((at, piece.text) for at, piece in enumerate(cut))
    memory.executemany("INSERT INTO texts(rowid, text) VALUES (?, ?)", rows)

    def ask(question: str) -> list[str]:
        wanted = terms(question, trigrams=trigrams)
        found = memory.execute(SQL, (wanted, PLACES)).fetchall() if wanted else []
        return documents([cut[row] for (row,) in found])

    return ask


if __name__ == "__main__":
    ways = {
        "SQLite FTS5, unicode61": partial(open_texts, usual="unicode61"),
        "SQLite FTS5, porter": partial(open_texts, usual="porter unicode61"),
    }
    main(ways)
