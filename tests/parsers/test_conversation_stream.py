"""Logs of any size are read as a stream, and no text can break the reading."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import example, given, settings
from hypothesis import strategies as st

from aurora.parsers.conversation import KnowledgeParser, iter_chunks
from aurora.types import Chunk, Document
from tests.properties import examples

PATH = "logs/conversations/2025/12/long-2025-12-15.md"
LONGEST = 16_000

FRAGMENTS = [
    "# Conversation: A", "# Conversation:", "Date: 2025-12-20", "Date: 0000-00-00", "Query: why",
    "Query:", "## Phase 1: One", "## Phase 2", "## Phase 1: One ##", "## Phas 1", "##", "#", "```",
    "~~~~", "``` `", "---", "===", "", " ", "\t", "\r", "word", "走る", "\ufeff", "\0", "\x85",
    "\u2028", "    ## Phase 3: Code", "## Phase " + "9" * 5000 + ": x", "x" * 1100, "y" * 17_000,
]  # fmt: skip
logs = st.one_of(
    st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=20), max_size=40).map("\n".join),
    st.text(max_size=300),
)
checked = settings(max_examples=examples(300), deadline=None, derandomize=True, database=None)


def read(text: str) -> list[Chunk]:
    return list(KnowledgeParser().parse(Document(PATH, text)).chunks)


class Counted:
    """Lines made when asked for, and how many were."""

    def __init__(self, count: int, phase_every: int) -> None:
        self.taken = 0
        self._count, self._phase_every = count, phase_every

    def __iter__(self) -> Iterator[str]:
        for number in range(self._count):
            self.taken += 1
            start = number % self._phase_every == 0
            yield f"## Phase {number // self._phase_every + 1}: P\n" if start else "a few words\n"


def test_millions_of_lines_are_never_held_together() -> None:
    """24 MB in three phases: a chunk comes before the lines of the next one are asked for."""
    lines = Counted(2_000_000, phase_every=700_000)
    largest = end = held = 0
    for chunk in iter_chunks(PATH, lines):
        assert chunk.lines is not None
        assert chunk.lines.start == end + 1
        end, largest = chunk.lines.end, max(largest, len(chunk.content))
        held = max(held, lines.taken - end)

    assert end == lines.taken == 2_000_000
    assert LONGEST - 100 < largest <= LONGEST
    assert held <= 1  # the line that found the window full


def test_the_pieces_of_a_long_phase_are_numbered_and_know_their_phase() -> None:
    chunks = list(iter_chunks(PATH, Counted(4000, phase_every=2500)))

    assert [chunk.id.removeprefix("conv-long-2025-12-15-") for chunk in chunks] == [
        "phase1", "phase1#2", "phase2", "phase2#2",
    ]  # fmt: skip
    assert [chunk.metadata["phase_number"] for chunk in chunks] == [1, 1, 2, 2]
    assert {chunk.name for chunk in chunks} == {"P"}


def test_a_long_phase_is_cut_between_paragraphs() -> None:
    paragraph = "\n".join(["eleven char"] * 100)
    chunks = read("## Phase 1: One\n\n" + "\n\n".join([paragraph] * 30))

    assert len(chunks) > 1
    assert all(chunk.content.endswith(paragraph) for chunk in chunks)
    assert all(chunk.content.startswith(paragraph) for chunk in chunks[1:])


def test_a_log_that_is_one_endless_line_is_cut_by_length() -> None:
    text = "".join(f"{number:07} " for number in range(500_000))  # 4 MB
    chunks = read(text)

    assert "".join(chunk.content for chunk in chunks) == text
    assert {chunk.lines for chunk in chunks} == {(1, 1)}


@checked
@given(logs)
@example("## Phase 1: One\n" * 3 + "y" * 17_000)
@example("x" * 1100 + "\n## Phase 1: One")
def test_ids_are_unique_and_pieces_are_bounded(text: str) -> None:
    chunks = read(text)

    assert len({chunk.id for chunk in chunks}) == len(chunks)
    assert all(chunk.name and chunk.content.strip() for chunk in chunks)
    assert all(len(chunk.content) <= LONGEST for chunk in chunks)


@checked
@given(logs)
def test_every_line_is_in_one_chunk_as_it_was(text: str) -> None:
    lines = text.removeprefix("\ufeff").split("\n")
    covered: list[int] = []
    for chunk in read(text):
        assert chunk.lines is not None
        start, end = chunk.lines
        whole = "\n".join(lines[start - 1 : end])
        assert chunk.content == whole or (chunk.content in whole and len(whole) > LONGEST)
        covered += range(start, end + 1)

    assert covered == sorted(covered)
    assert {n for n, line in enumerate(lines, start=1) if line.strip()} <= set(covered)


@checked
@given(logs)
def test_lines_with_or_without_their_ends_read_the_same(text: str) -> None:
    assert list(iter_chunks(PATH, iter(text.split("\n")))) == read(text)
