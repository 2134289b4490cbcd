"""Every language with a grammar: what a small file of it gives, and that nothing breaks it."""

from __future__ import annotations

import sys
from pathlib import PurePosixPath

import pytest

from aurora.parsers import registry
from aurora.parsers.languages import GRAMMARS
from tests.builders import parse
from tests.parsers.samples import SAMPLES

Row = tuple[str, str, str]


def rows(path: str, text: str) -> list[Row]:
    """Kind, qualified name and lines of each chunk, in the order of the file."""
    chunks = sorted(parse(text, path), key=lambda chunk: chunk.lines or (0, 0))
    return [
        (str(chunk.kind), chunk.qualified_name or chunk.name, f"{chunk.lines[0]}-{chunk.lines[1]}")
        for chunk in chunks
        if chunk.lines is not None
    ]


@pytest.mark.parametrize("path", SAMPLES)
def test_definitions_of_a_language(path: str) -> None:
    sample = SAMPLES[path]
    assert rows(path, sample.text) == sample.rows


@pytest.mark.parametrize("path", SAMPLES)
def test_comment_and_signature_belong_to_the_definition(path: str) -> None:
    """Every sample documents one definition with a comment that says so."""
    sample = SAMPLES[path]
    chunk = next(c for c in parse(sample.text, path) if c.qualified_name == sample.documented)
    assert "documented" in chunk.content
    assert str(chunk.metadata["signature"]).startswith(sample.signature)
    assert chunk.language == GRAMMARS[PurePosixPath(path).suffix].language


@pytest.mark.parametrize("path", SAMPLES)
def test_every_truncation_of_a_file_is_survived(path: str) -> None:
    """Half a file is what an editor saves: what parses is there, all of the text is somewhere."""
    text = SAMPLES[path].text
    for end in range(0, len(text), 7):
        chunks = parse(text[:end], path)
        assert len({chunk.id for chunk in chunks}) == len(chunks)
        last = text[:end].count("\n") + 1
        for chunk in chunks:
            assert chunk.lines is not None
            assert 1 <= chunk.lines.start <= chunk.lines.end <= last


def test_every_suffix_has_a_grammar_that_loads() -> None:
    for suffix, grammar in GRAMMARS.items():
        assert parse("x", f"file{suffix}")[0].language == grammar.language


def test_every_grammar_has_a_sample() -> None:
    shown = {GRAMMARS[PurePosixPath(path).suffix].language for path in SAMPLES}
    assert shown == {grammar.language for grammar in GRAMMARS.values()} - {"python"}


def test_without_its_grammar_a_language_is_cut_by_lines(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    registry._parser_for_suffix.cache_clear()
    monkeypatch.setitem(sys.modules, "tree_sitter_go", None)
    chunks = parse(SAMPLES["a.go"].text, "a.go")
    registry._parser_for_suffix.cache_clear()
    assert [(chunk.kind, chunk.language) for chunk in chunks] == [("code", "go")]
    assert "no grammar for go" in caplog.text


def test_a_guarded_header_is_not_one_chunk() -> None:
    """An include guard holds the whole file: its contents are cut as a module's are."""
    functions = "\n".join(f"int f{n}(void) {{ return {n}; }}\nint g{n};" for n in range(30))
    chunks = parse(f"#ifndef A_H\n#define A_H\n{functions}\n#endif\n", "a.h")
    assert sum(chunk.kind == "function" for chunk in chunks) == 30
    assert max(chunk.content.count("\n") for chunk in chunks) <= 60
    assert not any("return" in chunk.content for chunk in chunks if chunk.kind == "code")
