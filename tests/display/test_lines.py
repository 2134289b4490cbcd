"""The default view: rows to act on, in one line or two, with the text that matches."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rich.cells import cell_len

from aurora.display.lines import WIDE, render_lines, render_nothing
from aurora.display.table import Look, Paint
from aurora.types import Kind, Lines, SearchResult, Symbol
from tests.builders import NOW, make_chunk
from tests.display.answers import LESSON, LOG, SAID, SEED, make_answer, make_result, touched

CODE = "def read(path):\n    with open(path) as file:\n        return file.read()"
READ = make_result(
    make_chunk(CODE, "src/read.py", "read", lines=Lines(10, 12)),
    terms=("open",), history=touched(2, 3),
)  # fmt: skip
CLASS = make_result(
    make_chunk(
        "class Reader:\n    size = 1\n    def read(self): ...", "src/read.py", "Reader",
        kind=Kind.CLASS, lines=Lines(20, 80),
    ),
    terms=("reader",),
)  # fmt: skip


def shown(result: SearchResult, look: Look | None = None) -> list[str]:
    return render_lines([result], look or Look(NOW)).split("\n")


def test_a_row_has_place_name_kind_confidence_and_the_matching_line() -> None:
    assert shown(READ) == [
        "src/read.py:10  read  function  0.86  2 commits  2 days ago",
        "  11:     with open(path) as file:",
    ]


def test_without_the_past_there_are_no_commits() -> None:
    assert shown(READ, Look(NOW, past=False))[0] == "src/read.py:10  read  function  0.86"


def test_a_row_that_stands_for_several_says_how_many() -> None:
    head = shown(replace(READ, more=2), Look(NOW, past=False))[0]
    assert head == "src/read.py:10  read  function  0.86  +2 more"


def test_an_exchange_that_stands_for_several_says_that_they_are_earlier() -> None:
    talk = replace(
        READ, more=4, chunk=replace(READ.chunk, metadata={"source": "session", "form": "exchange"})
    )
    assert shown(talk, Look(NOW, past=False))[0].endswith("  +4 earlier")


def test_a_symbol_has_its_own_name_kind_and_line() -> None:
    symbol = Symbol("file", "variable", Lines(11, 11))
    assert shown(replace(READ, symbol=symbol), Look(NOW, past=False)) == [
        "src/read.py:11  file  variable  0.86",
        "  11:     with open(path) as file:",
    ]


def test_a_method_is_named_with_its_class() -> None:
    chunk = make_chunk(CODE, "a.py", "read", qualified_name="Reader.read", kind=Kind.METHOD)
    assert shown(make_result(chunk))[0] == "a.py:1  Reader.read  method  0.86"


def test_documents_and_logs_have_no_line() -> None:
    assert shown(LESSON)[0] == "lesson-1  Auth Flow  reasoning  0.62  2025-12-20"
    assert shown(LOG)[0] == "oauth-impl.md  OAuth Setup  knowledge  0.65  2025-12-15"


def test_a_session_has_its_agent_id_and_title_and_how_to_open_it() -> None:
    lines = shown(SAID)
    assert lines[0] == "codex 5e551011  Herons  exchange  0.70  2026-11-15"
    assert lines[1:] == ["  > Asked: Why do herons wade?", "  open: aur sessions show 5e551011"]


def test_an_outline_says_so_and_how_to_get_the_whole() -> None:
    look = Look(NOW, path=lambda path: f"../{path}")
    assert shown(CLASS, look) == [
        "../src/read.py:20  Reader  class  0.86",
        "  20: class Reader:",
        "  outline; for the whole: aur mem get ../src/read.py:Reader",
    ]
    assert len(shown(replace(CLASS, symbol=Symbol("size", "field", Lines(21, 21))))) == 2


def test_a_piece_of_an_outline_names_the_id_of_the_whole() -> None:
    chunk = replace(CLASS.chunk, id="src/read.py:Reader@3", metadata={"part": 3, "parts": 4})
    last = shown(replace(CLASS, chunk=chunk))[-1]
    assert last == "  outline; for the whole: aur mem get src/read.py:Reader"


def test_a_shell_takes_the_id_of_an_outline() -> None:
    chunk = replace(CLASS.chunk, path="it's/a b.py", id="it's/a b.py:Reader")
    last = shown(replace(CLASS, chunk=chunk))[-1]
    assert last.endswith("aur mem get 'it'\\''s/a b.py:Reader'")


@pytest.mark.parametrize(
    ("width", "lines"), [(None, 1), (80, 2), (WIDE - 1, 2), (WIDE, 1), (160, 1)]
)
def test_below_110_columns_a_row_takes_two_lines(width: int | None, lines: int) -> None:
    """Instead of cut columns: nothing of a row is lost."""
    head = shown(READ, Look(NOW, width))[:-1]
    assert len(head) == lines
    assert "  ".join(map(str.strip, head)) == shown(READ)[0]
    assert head[0].startswith("src/read.py:10")


def test_a_row_that_does_not_fit_takes_two_lines() -> None:
    chunk = replace(READ.chunk, qualified_name="x" * WIDE)
    assert shown(replace(READ, chunk=chunk), Look(NOW, WIDE))[0] == "src/read.py:10"


def test_a_path_is_never_cut_and_a_line_of_text_is() -> None:
    path = "deep/" * 30 + "a.py"
    chunk = make_chunk("password = 1" + " + 1" * 99, path)
    place, _, text = shown(make_result(chunk, terms=("password",)), Look(NOW, 80))
    assert place == f"{path}:1"
    assert (cell_len(text), text[-1]) == (80, "…")


def test_with_a_context_results_are_apart() -> None:
    assert (
        render_lines([READ, READ], Look(NOW, past=False, context=1)).split("\n\n")
        == [
            "src/read.py:10  read  function  0.86\n"
            "  10- def read(path):\n"
            "  11:     with open(path) as file:\n"
            "  12-         return file.read()"
        ]
        * 2
    )


def test_the_place_links_to_its_line_and_colours_take_no_room() -> None:
    paint = Paint(colour=True, link=lambda chunk, line: f"at:{chunk.path}:{line}")
    symbol = Symbol("file", "variable", Lines(11, 11))
    head = shown(replace(READ, symbol=symbol), Look(NOW, WIDE, past=False, paint=paint))[0]
    assert head == (
        "\033]8;;at:src/read.py:11\033\\\033[35msrc/read.py:11\033[0m\033]8;;\033\\  "
        "\033[1;36mfile\033[0m  variable  0.86"
    )


def test_nothing_relevant_offers_names_and_the_best_weak_row() -> None:
    weak = replace(READ, score=0.123)
    answer = replace(make_answer(), results=(), nearest=("reader",), weak=weak)
    lines = render_nothing(answer, Look(NOW, path=lambda path: f"../{path}")).split("\n")
    assert lines[0] == "No relevant results found"
    assert lines[3] == "  - did you mean reader?"
    assert lines[-1] == "The best weak match: ../src/read.py:10 read (0.12)"
    assert "weak" not in render_nothing(replace(answer, weak=None), Look(NOW))


def test_text_from_files_cannot_move_the_cursor() -> None:
    chunk = replace(SEED.chunk, path="a\033[2J.py", qualified_name="b\nc")
    symbol = Symbol("d\033]e", "x\033y", Lines(45, 45))
    for result in (replace(SEED, chunk=chunk), replace(SEED, chunk=chunk, symbol=symbol)):
        text = render_lines([result], Look(NOW))
        assert "\033" not in text
        assert text.count("\n") == 1
