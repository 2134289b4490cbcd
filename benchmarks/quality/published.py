"""nDCG@10 that others published on the sets of models.py, or on something like them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Published(NamedTuple):
    scores: Mapping[str, float]
    remark: str  # where it is from, and why it is not quite the same


_MTEB = "embeddings-benchmark/results@f4cc6c8b365a"

PUBLISHED = {
    "cosqa_dev": Published(
        {
            "bm25s": 0.1875,
            "all-MiniLM-L6-v2": 0.3302,
            "multilingual-e5-small": 0.2961,
            "bge-small-en-v1.5": 0.3205,
            "potion-code-16M-v2": 0.2436,
            "text-embedding-3-small": 0.2893,
        },
        f"NOT comparable: CosQA of CoIR has other questions and 20,604 texts, some twice ({_MTEB})",
    ),
    "locomo": Published(
        {
            "bm25s": 0.481,
            "bge-m3": 0.463,
            "multilingual-e5-small": 0.404,
            "potion-multilingual-128M": 0.354,
            "all-MiniLM-L6-v2": 0.291,
        },
        f"Same questions; the turns are written in another way, with their dates ({_MTEB})",
    ),
    "korquad_dev": Published(
        {
            "bge-m3": 0.9038,
            "multilingual-e5-small": 0.8965,
            "bm25s": 0.8387,
            "potion-multilingual-128M": 0.6894,
        },
        f"SQuADKorV1Retrieval, also of KorQuAD 1.0 dev ({_MTEB})",
    ),
    "semble_dev": Published(
        {
            "CodeRankEmbed hybrid": 0.8492,
            "semble": 0.8446,
            "CodeRankEmbed": 0.7875,
            "BM25": 0.6914,
            "potion-code-16M": 0.6783,
        },
        "Same repositories and questions; ranked are chunks, a second target counts as the first "
        "(semble's benchmarks/results)",
    ),
}
