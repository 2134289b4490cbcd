"""LanceDB's hybrid search: its own full-text index beside vectors of our default model.

Words are as its index takes them by default (English stems and stop words); CJK goes by pairs of
characters. Combined by both of its rerankers that need no model.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from functools import partial

import lancedb
from asking import PLACES, Ask, Text, documents, main, pieces
from lancedb.index import FTS
from lancedb.rerankers import LinearCombinationReranker, Reranker, RRFReranker
from with_model import PROVIDER, embed

CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]")
PAIRS = {
    "base_tokenizer": "ngram",
    "ngram_min_length": 2,
    "ngram_max_length": 2,
    "stem": False,
    "remove_stop_words": False,
}


def open_texts(texts: Sequence[Text], reranker: Reranker) -> Ask:
    cut = list(pieces(texts))
    vectors = embed([piece.text for piece in cut])
    rows = [
        {"at": at, "text": piece.text, "vector": vector}
        for at, (piece, vector) in enumerate(zip(cut, vectors, strict=True))
    ]
    folder = tempfile.mkdtemp(prefix="lancedb-")  # below the one that the run removes
    table = lancedb.connect(folder).create_table("texts", rows)
    is_cjk = sum(bool(CJK.search(piece.text)) for piece in cut) > len(cut) / 2
    table.create_index("text", config=FTS(**(PAIRS if is_cjk else {})))

    def ask(question: str) -> list[str]:
        search = table.search(query_type="hybrid").vector(PROVIDER.embed_query(question))
        words = " ".join(re.findall(r"\w+", question))  # its query language has signs of its own
        found = search.text(words).distance_type("cosine").rerank(reranker).limit(PLACES).to_list()
        return documents([cut[row["at"]] for row in found])

    return ask


if __name__ == "__main__":
    ways = {
        "LanceDB hybrid, RRF": partial(open_texts, reranker=RRFReranker()),
        "LanceDB hybrid, linear": partial(open_texts, reranker=LinearCombinationReranker()),
    }
    main(ways, packages=("lancedb",))
