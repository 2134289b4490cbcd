"""What a stream can show, by what the environment says of it; and where links lead."""

from __future__ import annotations

import io
import os
import pty
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import pytest

from aurora.cli.search import make_link
from aurora.cli.terminal import has_colour, has_links, width_of
from aurora.config.schema import link_pattern
from tests.builders import make_chunk

pytestmark = pytest.mark.one_store("about terminals and what they can show")


@pytest.fixture
def terminal() -> Iterator[TextIO]:
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w") as stream:
        yield stream
    os.close(ours)


PIPE = io.StringIO()


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, True),
        ({"NO_COLOR": "1"}, False),
        ({"NO_COLOR": ""}, True),  # no-color.org: when not empty
        ({"TERM": "dumb"}, False),
        ({"FORCE_COLOR": "1", "TERM": "dumb"}, True),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
        ({"FORCE_COLOR": "0"}, False),
    ],
)
def test_colour_on_a_terminal(terminal: TextIO, environ: dict[str, str], *, expected: bool) -> None:
    assert has_colour(terminal, environ) is expected


def test_no_colour_in_a_pipe_unless_forced() -> None:
    assert not has_colour(PIPE, {"TERM": "xterm-256color"})
    assert has_colour(PIPE, {"FORCE_COLOR": "1"})
    assert not has_colour(None, {})


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"TERM": "xterm-256color"}, False),  # nobody knows which that is
        ({"TERM_PROGRAM": "iTerm.app"}, True),
        ({"TERM_PROGRAM": "vscode"}, True),
        ({"TERM_PROGRAM": "Apple_Terminal"}, False),
        ({"TERM": "xterm-kitty"}, True),
        ({"WT_SESSION": "x"}, True),
        ({"VTE_VERSION": "6003"}, True),
        ({"VTE_VERSION": "4900"}, False),
        ({"VTE_VERSION": "new"}, False),
        ({"TERM_PROGRAM": "vscode", "TERM": "dumb"}, False),
        ({"TERM_PROGRAM": "vscode", "FORCE_HYPERLINK": "0"}, False),
        ({"FORCE_HYPERLINK": "1"}, True),
    ],
)
def test_links_where_the_terminal_is_known_to_have_them(
    terminal: TextIO, environ: dict[str, str], *, expected: bool
) -> None:
    assert has_links(terminal, environ) is expected
    assert has_links(PIPE, environ) is (environ.get("FORCE_HYPERLINK") == "1")


@pytest.mark.parametrize(
    ("environ", "expected"), [({"COLUMNS": "72"}, 72), ({"COLUMNS": "0"}, 55), ({}, 55)]
)
def test_the_width_is_the_terminals_unless_columns_says_otherwise(
    terminal: TextIO, environ: dict[str, str], expected: int
) -> None:
    import fcntl
    import struct
    import termios

    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 55, 0, 0))
    assert width_of(terminal, environ) == expected
    assert width_of(PIPE, environ) is None
    assert width_of(None, environ) is None


def test_a_terminal_that_does_not_know_its_width_cuts_nothing(terminal: TextIO) -> None:
    assert width_of(terminal, {}) is None


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("vscode://file{path}:{line}", "src/a.py", "vscode://file/p/src/a.py:7"),
        ("x:{path}", "with space#&.py", "x:/p/with%20space%23%26.py"),
        ("x:{path}", "认证.py", "x:/p/%E8%AE%A4%E8%AF%81.py"),
        ("x:{path}", "/elsewhere/log.md", "x:/elsewhere/log.md"),
        ("x:{path}", "a\033]8;;evil\033\\.py", "x:/p/a%1B%5D8%3B%3Bevil%1B%5C.py"),
        ("x:{path}", "{line}.py", "x:/p/%7Bline%7D.py"),
    ],
)
def test_a_link_leads_to_the_file_and_line(pattern: str, path: str, expected: str) -> None:
    """A file's name is never taken for a part of the address."""
    assert make_link(pattern, Path("/p"))(make_chunk(path=path), 7) == expected


def test_without_a_pattern_it_is_a_file_on_this_host() -> None:
    address = make_link("", Path("/p"))(make_chunk(path="a.py"), 7)
    assert address.startswith("file://")
    assert address.endswith("/p/a.py#7")


@pytest.mark.parametrize("value", ["auto", "never", "vscode://file{path}:{line}"])
def test_what_links_may_be(value: str) -> None:
    assert link_pattern(value) == value


@pytest.mark.parametrize("value", ["", "always", "vscode://file", "x:{path}\033[2J", 1, None])
def test_what_links_may_not_be(value: object) -> None:
    with pytest.raises(ValueError, match="Must be"):
        link_pattern(value)
