"""Notes are cut at their headings, and dated by their path."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from aurora.types import Chunk, Kind, Lines
from tests.builders import parse


def sections(text: str, path: str = "a.md") -> list[tuple[str, tuple[int, int] | None]]:
    return [(chunk.qualified_name, chunk.lines) for chunk in parse(text, path)]


def test_a_section_is_its_heading_and_the_text_below() -> None:
    text = (
        "# Guide\n\nHello.\n\n## Install\n\nRun it.\n\n### Linux\n\nEasy.\n\n## Use\n\nJust do.\n"
    )

    assert parse(text, "docs/guide.md")[1] == Chunk(
        id="docs/guide.md:Guide > Install",
        kind=Kind.KNOWLEDGE,
        name="Install",
        content="## Install\n\nRun it.",
        qualified_name="Guide > Install",
        path="docs/guide.md",
        lines=Lines(5, 7),
        language="markdown",
        metadata={"source": "note"},
    )
    assert sections(text) == [
        ("Guide", (1, 3)),
        ("Guide > Install", (5, 7)),
        ("Guide > Install > Linux", (9, 11)),
        ("Guide > Use", (13, 15)),
    ]


def test_text_before_the_first_heading_is_named_after_the_file() -> None:
    first, second = parse("Hello.\n\n# One\n\nText.\n", "notes/today.md")

    assert (first.id, first.name, first.qualified_name) == ("notes/today.md:text", "today.md", "")
    assert (first.content, second.content) == ("Hello.", "# One\n\nText.")


@pytest.mark.parametrize(
    ("heading", "name"),
    [
        ("Login { #login }", "Login"),
        ("Login {#login .wide}", "Login"),
        ("Use {braces}", "Use {braces}"),
        ('A <a id="null"></a> `null` and <T>', "A `null` and <T>"),
        ("[Login](login.md#top) and [out](b.md)", "Login and out"),
        ("Pet [![Build](https://a/b.svg)](https://c/d) ![x](y.png)", "Pet"),
        ("![Logo](logo.png)", "![Logo](logo.png)"),
        ("a[i](x) { }", "ai { }"),
    ],
)
def test_a_name_is_the_heading_as_it_is_read(heading: str, name: str) -> None:
    for text in (f"# {heading}\n\ntext\n", f"{heading}\n====\n\ntext\n"):
        (section,) = parse(text, "notes.md")
        assert (section.name, heading in section.content) == (name, True)


def test_a_heading_with_nothing_but_deeper_ones_below_stands_in_the_next_chunk() -> None:
    assert [
        (c.name, c.content) for c in parse("# A\n\n## B\n### C\ntext\n## D\n## E\n", "a.md")
    ] == [
        ("C", "# A\n\n## B\n### C\ntext"),
        ("D", "## D"),
        ("E", "## E"),
    ]


@pytest.mark.parametrize(
    ("line", "name"),
    [
        pytest.param("# One", "One", id="first-level"),
        pytest.param("###### Six", "Six", id="sixth-level"),
        pytest.param("   #  Indented\t", "Indented", id="indented"),
        pytest.param("## Closed ##", "Closed", id="closed"),
        pytest.param("## C#", "C#", id="sharp"),
        pytest.param("# One\r", "One", id="windows"),
        pytest.param("Title\n=====", "Title", id="underlined"),
        pytest.param("Title\r\n---\r", "Title", id="underlined-windows"),
        pytest.param("# " + "long " * 100, ("long " * 40).rstrip(), id="cut"),
    ],
)
def test_what_is_a_heading(line: str, name: str) -> None:
    first, second = parse(f"Before.\n\n{line}\nafter", "a.md")

    assert (first.name, second.name) == ("a.md", name)
    assert f"{first.content}\n\n{second.content}" == f"Before.\n\n{line}\nafter"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("#hashtag", id="no-space"),
        pytest.param("####### Seven", id="seven"),
        pytest.param("    # code", id="indented-code"),
        pytest.param("\\# escaped", id="escaped"),
        pytest.param("```sh\n# comment\n```", id="fence"),
        pytest.param("~~~~\n~~~\n# comment\n```\n~~~~", id="tildes"),
        pytest.param("```\n# never closed", id="open-fence"),
        pytest.param("<!--\n# hidden\n-->", id="comment"),
        pytest.param("<pre>\n# shell\n</PRE>", id="pre"),
        pytest.param("two lines\nof text\n---", id="rule-below-a-paragraph"),
        pytest.param("- item\n---", id="rule-below-a-list"),
        pytest.param("> quote\n===", id="below-a-quote"),
        pytest.param("| a |\n---", id="below-a-table"),
        pytest.param("words\n\n---\n\nwords", id="rule"),
        pytest.param("***\n---\n- - -\n---", id="rule-below-a-rule"),
        pytest.param("title: x\ndate: 2025-12-15", id="fields-without-front-matter"),
    ],
)
def test_what_is_no_heading(text: str) -> None:
    (chunk,) = parse(f"{text}\nafter", "a.md")

    assert (chunk.name, chunk.created_at) == ("a.md", None)
    assert chunk.content == f"{text}\nafter"


@pytest.mark.parametrize(
    "block", ["```\n# x\n```", "<!-- one line -->", "<!--\n# x\n-->", "<style>\n# x\n</style>"]
)
def test_a_heading_after_a_closed_block_counts(block: str) -> None:
    assert [chunk.name for chunk in parse(f"{block}\n# After\n", "a.md")] == ["a.md", "After"]


def test_a_title_may_stand_right_below_a_rule() -> None:
    assert [chunk.content for chunk in parse("---\nTitle\n===\ntext", "a.md")] == [
        "---",
        "Title\n===\ntext",
    ]


def test_headings_of_one_name_are_numbered() -> None:
    text = "# A\nx\n# A\nx\n# A#2\nx\n# text\nx\n"

    assert [chunk.id for chunk in parse(f"first\n{text}", "a.md")] == [
        "a.md:text", "a.md:A", "a.md:A#2", "a.md:A#2#2", "a.md:text#2",
    ]  # fmt: skip
    assert [chunk.id for chunk in parse("# A#2\nx\n# A\nx\n# A\nx", "a.md")] == [
        "a.md:A#2", "a.md:A", "a.md:A#3",
    ]  # fmt: skip


@pytest.mark.parametrize("empty", ["#", "# ", "# ##"])
def test_an_empty_heading_is_no_name(empty: str) -> None:
    assert [(c.id, c.name) for c in parse(f"{empty}\ntext\n## B\ntext", "a.md")] == [
        ("a.md:text", "a.md"),
        ("a.md:B", "B"),
    ]


def test_a_long_section_is_cut_between_paragraphs() -> None:
    paragraph = "\n".join(["a line of the text"] * 20)
    chunks = parse("# Long\n\n" + "\n\n".join([paragraph] * 30) + "\n\n# Next\n\nx", "a.md")

    assert [chunk.id for chunk in chunks[:2]] == ["a.md:Long", "a.md:Long@2"]
    assert chunks[-1].content == "# Next\n\nx"
    for chunk in chunks[:-1]:
        assert 2000 < len(chunk.content) <= 4000 or chunk is chunks[-2]
        assert chunk.content.endswith(paragraph)


@pytest.mark.parametrize(
    ("path", "date"),
    [
        pytest.param("memory/2025-12-15.md", "2025-12-15", id="memory-file"),
        pytest.param("2025-12-15-standup.txt", "2025-12-15", id="prefix"),
        pytest.param("journal/2025-12-15/talk.rst", "2025-12-15", id="folder"),
        pytest.param("2020-01-01/2025-12-15.md", "2025-12-15", id="name-before-folder"),
        pytest.param("2025-12-15/a-2025-99-99.md", "2025-12-15", id="no-such-day"),
        pytest.param("a-12025-12-155.md", None, id="longer-number"),
        pytest.param("MEMORY.md", None, id="memory"),
        pytest.param("2025-12-15/MEMORY.md", None, id="memory-in-a-dated-folder"),
        pytest.param("notes.md", None, id="undated"),
    ],
)
def test_a_date_in_the_path_dates_every_chunk(path: str, date: str | None) -> None:
    expected = datetime.fromisoformat(date).replace(tzinfo=UTC) if date else None
    chunks = parse("Word.\n\n# A\n\nText.\n\nB\n=\n\nText.\n", path)

    assert {chunk.created_at for chunk in chunks} == {expected}


def test_front_matter_gives_title_date_and_tags_and_is_found_as_text() -> None:
    matter = "---\ntitle: \"On Login\"\ndate: 2025-12-15T10:00:00\ntags: [auth, 'web']\n---\n"
    first, second = parse(f"{matter}Hello.\n\n# One\nText.\n", "a.md")

    assert (first.id, first.name, first.qualified_name) == ("a.md:text", "On Login", "On Login")
    assert first.content == f"{matter}Hello."
    assert second.created_at == datetime(2025, 12, 15, tzinfo=UTC)
    assert second.metadata == {"source": "note", "title": "On Login", "tags": ["auth", "web"]}


@pytest.mark.parametrize(
    ("lines", "tags"),
    [
        ("tags:\n  - auth\n- web", ["auth", "web"]),
        ("tags: auth, web", ["auth", "web"]),
        ("tags: []", None),
        ("tags:\nother:\n  - auth", None),
        ("tags: !!python/object:os.system [x]", ["!!python/object:os.system [x"]),
    ],
)
def test_tags_are_plain_words_in_any_of_the_usual_ways(lines: str, tags: list[str] | None) -> None:
    (chunk,) = parse(f"---\n{lines}\n---\n# A\nText", "a.md")

    assert chunk.metadata.get("tags") == tags


@pytest.mark.parametrize(
    "text",
    [
        "---\ntitle: x\n\nnever closed\n",
        "---\n\nwords between rules\n\n---\n",
        "\n---\ntitle: x\n...\n",
        "---",
    ],
)
def test_rules_are_no_front_matter(text: str) -> None:
    (chunk,) = parse(text, "a.md")

    assert (chunk.content, chunk.metadata) == (text.strip("\n"), {"source": "note"})


def test_a_rule_at_the_top_is_text_of_its_own() -> None:
    assert len(parse("---\nwords\nand more\n---\n# A\ntext", "a.md")) == 2
    assert len(parse("---\nwords: 1\n---\n# A\ntext", "a.md")) == 1  # front matter


def test_what_each_chunk_has_of_its_front_matter_is_bounded() -> None:
    tags = ", ".join([*(f"t{n}" for n in range(49)), "x" * 1000, "one more"])
    chunk, *_ = parse(f"---\ntitle: {'word ' * 1000}\ntags: [{tags}]\n---\ntext", "a.md")
    assert chunk.name == ("word " * 40).rstrip()
    assert chunk.metadata["tags"] == [*(f"t{n}" for n in range(49)), "x" * 100]


def test_the_path_dates_before_the_front_matter() -> None:
    (chunk,) = parse("---\ndate: 2020-01-01\n---\nText", "2025-12-15.md")

    assert chunk.created_at == datetime(2025, 12, 15, tzinfo=UTC)


def test_a_byte_order_mark_hides_no_heading() -> None:
    (chunk,) = parse("\ufeff# One\n", "a.md")

    assert (chunk.name, chunk.content) == ("One", "# One")
