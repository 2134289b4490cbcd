"""What indexing did, in the words of seed 000, FR-11."""

from __future__ import annotations

import pytest

from aurora.display.reports import human_size, render_index_summary
from aurora.types import Kind

FR_11_1 = """\
Indexing complete!

Summary:
  Files scanned: 103
  Code chunks: 456
  Reasoning chunks: 23
  Knowledge chunks: 18
  Total chunks: 497

  Errors: 0
  Warnings: 2
"""
CHUNKS = {
    Kind.FUNCTION: 300,
    Kind.METHOD: 100,
    Kind.CLASS: 50,
    Kind.CODE: 6,
    Kind.REASONING: 23,
    Kind.KNOWLEDGE: 18,
}
BUILT = "BM25 index: Built (497 chunks indexed, saved to ~/.aurora/indexes/bm25.idx)"


def test_the_summary_is_that_of_fr_11_1() -> None:
    """Word for word, with the index line of FR-11.5 below; the file's name is ours (design, 3)."""
    told = render_index_summary(files=103, chunks=CHUNKS, warnings=2, errors=0, index=BUILT)
    assert told == f"{FR_11_1}\n{BUILT}"


@pytest.mark.parametrize("kind", [Kind.FUNCTION, Kind.METHOD, Kind.CLASS, Kind.CODE])
def test_every_kind_of_code_counts_as_code(kind: Kind) -> None:
    """FR-11.2, and code that is none of the three as well."""
    told = render_index_summary(files=1, chunks={kind: 7}, warnings=0, errors=0, index=BUILT)
    assert told.splitlines()[4:8] == [
        "  Code chunks: 7",
        "  Reasoning chunks: 0",
        "  Knowledge chunks: 0",
        "  Total chunks: 7",
    ]


def test_nothing_indexed_is_told_in_zeros() -> None:
    """A run over an empty folder has the same lines, errors and warnings in their places."""
    told = render_index_summary(files=0, chunks={}, warnings=3, errors=4, index=BUILT)
    zeros = FR_11_1.replace("103", "0").replace("456", "0").replace("23", "0")
    zeros = zeros.replace("18", "0").replace("497", "0")
    zeros = zeros.replace("Errors: 0", "Errors: 4").replace("Warnings: 2", "Warnings: 3")
    assert told == f"{zeros}\n{BUILT}"


def test_the_parts_sum_to_the_total() -> None:
    """No kind is left out of the three counts."""
    chunks = {kind: 10**place for place, kind in enumerate(Kind)}
    told = render_index_summary(files=1, chunks=chunks, warnings=0, errors=0, index=BUILT)
    code, reasoning, knowledge, total = (
        int(line.split(": ")[1]) for line in told.splitlines()[4:8]
    )
    assert code + reasoning + knowledge == total == 111_111


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (0, "0 B"),
        (1_023, "1023 B"),
        (1_024, "1.0 KiB"),
        (1_536, "1.5 KiB"),
        (1_024**2 - 1, "1.0 MiB"),
        (1_024**2, "1.0 MiB"),
        (5 * 1_024**3, "5.0 GiB"),
        (3_000 * 1_024**3, "3000.0 GiB"),
    ],
)
def test_a_size_is_said_as_a_person_would(count: int, said: str) -> None:
    """Whole bytes, then one decimal; never `1024.0` of a unit that has a next one."""
    assert human_size(count) == said
