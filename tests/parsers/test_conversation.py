"""Conversation logs become the phases they went through (seed 000, FR-3 and 6.5)."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from aurora.parsers.conversation import KnowledgeParser
from aurora.sources.conversations import find_logs
from aurora.types import Chunk, Document, Kind, Lines
from tests.builders import write_tree

FOLDER = "/home/ada/.aurora/logs/conversations/2025/12"
HEADER = "# Conversation: OAuth\nDate: 2025-12-15\nQuery: implement oauth\n\n"
NAMES = [
    "Assessment", "Decomposition", "Verification", "Retrieval", "Collection", "Synthesis",
    "Recording", "Caching", "Response",
]  # fmt: skip


def log(*phases: int) -> str:
    return HEADER + "\n".join(f"## Phase {n}: {NAMES[n - 1]}\nText of {n}.\n" for n in phases)


def read(text: str, name: str = "oauth-impl-2025-12-15.md") -> list[Chunk]:
    return list(KnowledgeParser().parse(Document(f"{FOLDER}/{name}", text)).chunks)


def phases(chunks: list[Chunk]) -> list[object]:
    return [chunk.metadata["phase_number"] for chunk in chunks]


def test_ut_know_01_parse_all_phases() -> None:
    """All nine phases of a log become chunks, and nothing else does."""
    chunks = read(log(*range(1, 10)))

    assert phases(chunks) == list(range(1, 10))
    assert [chunk.name for chunk in chunks] == NAMES
    assert {chunk.kind for chunk in chunks} == {Kind.KNOWLEDGE}


def test_ut_know_02_parse_missing_phases() -> None:
    """A log may have only some phases."""
    assert phases(read(log(1, 3, 7))) == [1, 3, 7]


@pytest.mark.parametrize(
    "typo",
    [
        "## Phas 2", "##Phase 2: Close", "### Phase 2: Deep", "# Phase 2: High",
        "## Phase two: Word", "## Phase: None", "## Phase 2 steps to take", "## Phase 2.5: Half",
        "Phase 2: Bare", "    ## Phase 2: Code", "## The Phase 2: Late", "## Phase 12345: Far",
        "## Phase ²: Small",
    ],
)  # fmt: skip
def test_ut_know_03_parse_malformed_headers(typo: str) -> None:
    """What is almost a phase header starts none; its text stays with the phase above."""
    first, third = read(f"{HEADER}## Phase 1: One\nfirst\n{typo}\nsecond\n## Phase 3: Three\nthird")

    assert first.content == f"{HEADER}## Phase 1: One\nfirst\n{typo}\nsecond"
    assert third.content == "## Phase 3: Three\nthird"


def test_ut_know_04_extract_date_from_filename() -> None:
    """The date in the file's name counts, also where the header has another."""
    (chunk,) = read("# Conversation: A\nDate: 2020-01-01\n\n## Phase 1: One\nText")

    assert chunk.metadata["conversation_date"] == "2025-12-15"
    assert chunk.created_at == datetime(2025, 12, 15, tzinfo=UTC)


@pytest.mark.parametrize("name", ["oauth.md", "oauth-2025-02-30.md", "oauth-20251215.md"])
def test_ut_know_05_extract_date_from_content(name: str) -> None:
    """Without a date in the name, the header's is taken; a day that is none is no date."""
    (chunk,) = read("# Conversation: A\nDate: 2025-12-20\n\n## Phase 1: One\nText", name)

    assert chunk.metadata["conversation_date"] == "2025-12-20"
    assert chunk.created_at == datetime(2025, 12, 20, tzinfo=UTC)


@pytest.mark.parametrize("text", ["", "\n", " \n\t\r\n\n", "\ufeff\n"], ids=ascii)
def test_ut_know_06_handle_empty_log(text: str) -> None:
    """An empty log gives nothing."""
    assert read(text) == []


@pytest.mark.parametrize("files", [None, {"notes.md": "# A"}, {"2025/12/a.txt": "# A"}])
def test_ut_know_07_no_logs_directory(tmp_path: Path, files: dict[str, str | bytes] | None) -> None:
    """Where there is no log there is an empty list and no error; the index warns (FR-10.1)."""
    folder = tmp_path / "logs" / "conversations"
    write_tree(folder, files or {})

    assert find_logs(folder) == []


def test_ut_know_08_utf8_encoding(tmp_path: Path) -> None:
    """Accents, emoji and Chinese come through as they are."""
    text = "# Conversation: Café\nQuery: où ça ? 🎉\n\n## Phase 1: Évaluation\n认证 – naïve 🚀"
    write_tree(tmp_path, {"2025/12/café-2025-12-15.md": text})
    (log,) = find_logs(tmp_path)
    (chunk,) = read(log.path.read_text(encoding="utf-8"), log.path.name)

    assert (chunk.content, chunk.name) == (text, "Évaluation")
    assert (chunk.id, chunk.metadata["query"]) == ("conv-café-2025-12-15-phase1", "où ça ? 🎉")


@pytest.mark.parametrize(
    ("header", "query"),
    [
        pytest.param("Query: implement oauth", "implement oauth", id="plain"),
        pytest.param("**Query:** implement oauth", "implement oauth", id="bold"),
        pytest.param("query:   a: b  ", "a: b", id="colon"),
        pytest.param("Query: first\nsecond\n\nno more", "first second", id="two"),
        pytest.param("Query:\nbelow", "below", id="below"),
        pytest.param("Date: soon\nMood: fine\n\nQuery: late", "late", id="among-others"),
        pytest.param("---\nQuery: below a rule\n---", "below a rule", id="rules"),
        pytest.param("Query: " + "long " * 900, ("long " * 200).rstrip(), id="cut"),
        pytest.param("Talk.\n\nQuery: quoted", None, id="after-the-header"),
        pytest.param("## Notes\nQuery: quoted", None, id="below-a-heading"),
        pytest.param("Query:", None, id="empty"),
    ],
)  # fmt: skip
def test_ut_know_09_extract_query_from_header(header: str, query: str | None) -> None:
    """The query is what the header says, and not what the talk quotes."""
    chunks = read(f"# Conversation: A\n{header}\n\n## Phase 1: One\nQuery: inside\n")

    assert chunks[-1].metadata["query"] == query


def test_ut_know_10_chunk_id_format() -> None:
    """Ids are `conv-{filename}-phase{N}`; a number that comes again is numbered."""
    text = "## Phase 3: A\na\n## Phase 1: B\nb\n## Phase 3: C\nc\n"

    assert [chunk.id for chunk in read(text)] == [
        "conv-oauth-impl-2025-12-15-phase3",
        "conv-oauth-impl-2025-12-15-phase1",
        "conv-oauth-impl-2025-12-15-phase3#2",
    ]


def test_a_phase_is_one_chunk_with_all_that_is_known() -> None:
    path = f"{FOLDER}/oauth-impl-2025-12-15.md"

    assert read(log(1, 3))[1] == Chunk(
        id="conv-oauth-impl-2025-12-15-phase3",
        kind=Kind.KNOWLEDGE,
        name="Verification",
        content="## Phase 3: Verification\nText of 3.",
        qualified_name="OAuth.Verification",
        path=path,
        lines=Lines(8, 9),
        language="markdown",
        created_at=datetime(2025, 12, 15, tzinfo=UTC),
        metadata={
            "source": "conversation",
            "source_file": path,
            "phase_number": 3,
            "phase_name": "Verification",
            "conversation_date": "2025-12-15",
            "query": "implement oauth",
            "topic": "OAuth",
        },
    )


def test_a_log_without_phases_is_one_chunk_named_by_its_file() -> None:
    """Seed 000, 6.5: topic and date come from the name."""
    (chunk,) = read("We talked.\n\n# Then more\n\nThe end.\n", "auth-oauth-impl-2025-12-15.md")

    assert (chunk.id, chunk.name) == ("conv-auth-oauth-impl-2025-12-15", "auth-oauth-impl")
    assert (chunk.content, chunk.lines) == ("We talked.\n\n# Then more\n\nThe end.", (1, 5))
    assert chunk.created_at == datetime(2025, 12, 15, tzinfo=UTC)
    assert (chunk.metadata["topic"], chunk.metadata["phase_number"]) == ("auth-oauth-impl", None)


def test_a_short_header_joins_the_first_phase_and_a_long_one_stands_alone() -> None:
    (short,) = read("# Conversation: A\n\nBefore.\n\n## Phase 1: One\nText")
    before, first = read("# Conversation: A\n\n" + "word " * 250 + "\n\n## Phase 1: One\nText")

    assert (short.lines, "Before." in short.content) == ((1, 6), True)
    assert (before.id, before.name) == ("conv-oauth-impl-2025-12-15", "A")
    assert (first.id, first.content) == (
        "conv-oauth-impl-2025-12-15-phase1",
        "## Phase 1: One\nText",
    )


def test_what_is_left_of_a_very_long_beginning_stays_out_of_the_first_phase() -> None:
    paragraphs = "\n\n".join(["word " * 100] * 32)  # 16,062 characters: a chunk and a little
    chunks = read(f"{paragraphs}\n\n## Phase 1: One\nText")

    assert [chunk.id.removeprefix("conv-oauth-impl-2025-12-15") for chunk in chunks] == [
        "", "#2", "-phase1",
    ]  # fmt: skip
    assert chunks[-1].content == "## Phase 1: One\nText"


@pytest.mark.parametrize(
    ("heading", "number", "name"),
    [
        ("## Phase 2: Retrieval ##", 2, "Retrieval"),
        ("   ##  Phase 2 :  Retrieval  ", 2, "Retrieval"),
        ("## phase 2 - Retrieval", 2, "Retrieval"),
        ("## Phase 02: Use C#", 2, "Use C#"),
        ("## Phase 2: Retrieval\r", 2, "Retrieval"),
        ("## Phase 10: Beyond", 10, "Beyond"),
    ],
)
def test_headings_are_those_of_markdown(heading: str, number: int, name: str) -> None:
    first, second = read(f"## Phase 1: One\n{heading}\ntext")

    assert (first.content, second.content) == ("## Phase 1: One", f"{heading}\ntext")
    assert (second.metadata["phase_number"], second.metadata["phase_name"]) == (number, name)


@pytest.mark.parametrize("heading", ["## Phase 2", "## Phase 2:", "## Phase 2: ##"])
def test_a_phase_without_a_name_is_called_by_the_topic(heading: str) -> None:
    (chunk,) = read(f"# Conversation: OAuth\n{heading}\ntext")

    assert (chunk.name, chunk.qualified_name) == ("OAuth", "OAuth")
    assert (chunk.metadata["phase_number"], chunk.metadata["phase_name"]) == (2, None)


@pytest.mark.parametrize(
    ("start", "end"),
    [("```", "```"), ("~~~ md", "~~~"), ("````", "`````"), ("```\n~~~", "~~~\n```")],
)
def test_a_phase_inside_a_code_block_is_code(start: str, end: str) -> None:
    code = f"{start}\n## Phase 2: Two\n{end}"

    assert phases(read(f"## Phase 1: One\n{code}\n## Phase 3: Three\n")) == [1, 3]
    assert phases(read(f"## Phase 1: One\n{start}\n## Phase 2: Two\n")) == [1]  # never closed
    assert phases(read("## Phase 1: One\n```x``` y\n## Phase 2: Two\n")) == [1, 2]  # a sentence


def test_windows_line_ends_and_a_byte_order_mark_change_nothing() -> None:
    chunks = read("\ufeff" + log(1, 2).replace("\n", "\r\n"))
    plain = read(log(1, 2))

    assert [c.content.replace("\r", "") for c in chunks] == [c.content for c in plain]
    assert [c.metadata for c in chunks] == [c.metadata for c in plain]
    assert [(c.id, c.name, c.lines) for c in chunks] == [(c.id, c.name, c.lines) for c in plain]
