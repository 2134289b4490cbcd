"""What a person at a terminal sees, through a real pseudo-terminal."""

from __future__ import annotations

import re
import subprocess

import pytest
from rich.cells import cell_len

from tests.builders import write_tree
from tests.cli.conftest import AUR, NOTICE_SHOWN, Shell
from tests.cli.screen import Screen, Terminal

pytestmark = pytest.mark.one_store("about terminals")


CTRL_C = "\x03"
FILES, FUNCTIONS = 300, 12  # enough that a bar appears on any machine


def start(shell: Shell, *words: str, columns: int = 80) -> Terminal:
    home = {"AURORA_HOME": str(shell.home), **NOTICE_SHOWN, **shell.environ}
    return Terminal([AUR, *words], cwd=shell.cwd, env=home, columns=columns)


def on_terminal(shell: Shell, *words: str, columns: int = 80) -> Screen:
    """What a person sees of a command that works, on a terminal of that width."""
    terminal = start(shell, *words, columns=columns)
    assert terminal.wait() == 0, terminal.written
    screen = Screen(columns)
    screen.feed(terminal.written)
    return screen


@pytest.fixture
def large(shell: Shell) -> Shell:
    """A project that takes a second or two to index."""
    text = "".join(f"def password_{n}(user):\n    return user.salt\n\n\n" for n in range(FUNCTIONS))
    write_tree(shell.cwd, {f"module_{n:03}.py": text for n in range(FILES)})
    return shell


def test_progress_is_one_line_that_goes_away(large: Shell) -> None:
    screen = on_terminal(large, "mem", "index", "--wait")
    bars = [row for row in screen.seen if row]
    assert re.fullmatch(r"Indexing  [━╸╺]+ +\d+/304  [\d,.]+/s  0:\d\d left", bars[0])
    assert "Indexing complete!" in screen.rows
    assert "better vectors of aurora/deep follow" in screen.rows[0]
    assert screen.rows[1].startswith("Warning: No conversation logs found")
    assert not [row for row in screen.rows if "━" in row]


def test_ctrl_c_leaves_a_clean_line_and_says_what_is_kept(large: Shell) -> None:
    """The terminal itself writes `^C`, behind the bar."""
    terminal = start(large, "mem", "index")
    terminal.read(until=lambda written: "left" in written)
    terminal.press(CTRL_C)
    assert terminal.wait() == 130
    screen = Screen()
    screen.feed(terminal.written)
    assert screen.rows == [
        "",
        "Interrupted. What was stored so far is kept; `aur mem index` continues.",
        "",
    ]
    assert "Files scanned: 304" in large.ok("mem", "index")
    assert re.search(r"Chunks +3,607\n", large.ok("mem", "stats"))


def test_ctrl_c_elsewhere_promises_nothing(large: Shell) -> None:
    large.ok("mem", "index")
    terminal = start(large, "mem", "rebuild-bm25")
    terminal.read(until=lambda written: "Rebuilding" in written)
    terminal.press(CTRL_C)
    assert terminal.wait() == 130
    assert terminal.written.endswith("\r\nInterrupted.\r\n")


def test_the_bar_is_gone_before_an_error_is_printed(large: Shell) -> None:
    """No file may grow beyond what the first of the modules take."""
    large.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    limited = ("bash", "-c", f"ulimit -f 3000 && exec {AUR} mem index")
    home = {"AURORA_HOME": str(large.home), **large.environ}
    terminal = Terminal(limited, cwd=large.cwd, env=home, columns=500)
    assert terminal.wait() == 2
    screen = Screen(500)
    screen.feed(terminal.written)
    assert "━" in "".join(screen.seen)
    assert screen.rows[0].startswith("Error: ")


def test_in_a_pipe_there_is_no_progress_and_nothing_to_draw_it_is_loaded(large: Shell) -> None:
    done = subprocess.run(
        ["python", "-X", "importtime", AUR, "mem", "index"],
        cwd=large.cwd,
        env={"PATH": f"{AUR.parent}:/usr/bin:/bin", "AURORA_HOME": str(large.home)},
        capture_output=True,
        text=True,
        check=True,
    )
    talk = [line for line in done.stderr.splitlines() if not line.startswith("import time:")]
    assert [line.partition(" in ")[0] for line in talk] == [
        "Everything can be found now; the better vectors of aurora/deep follow",
        "Warning: No conversation logs found",
    ]
    assert done.stdout.startswith("Indexing complete!")
    assert "tree_sitter" in done.stderr
    assert "rich.console" not in done.stderr


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_a_table_fits_the_terminal(indexed: Shell, columns: int) -> None:
    deep = "/".join(["a_long_folder_name"] * 6)
    write_tree(indexed.cwd, {f"{deep}/用户管理.py": f"def {'password_' * 12}x():\n    pass\n"})
    indexed.ok("mem", "index")
    rows = on_terminal(indexed, "mem", "search", "password", "--table", columns=columns).rows
    assert max(map(cell_len, rows)) <= columns
    separators = 6 if columns > 60 else 4
    assert all(row.count(" | ") == separators for row in rows if row and not row.startswith("-"))
    assert any("…" in row and "理.py" in row for row in rows)


def test_every_box_fits_the_terminal(indexed: Shell) -> None:
    """Seed 000, 6.3: as wide as the terminal, at most 120 cells."""
    for columns, width in [(60, 60), (100, 100), (160, 120)]:
        screen = on_terminal(indexed, "mem", "search", "password", "--show-scores", columns=columns)
        assert {cell_len(row) for row in screen.rows if row} == {width}


QUESTION = "Index {} now? [Y/n]: "


@pytest.mark.parametrize("key", ["\n", "y\n"])
def test_a_search_without_a_memory_offers_to_make_one(shell: Shell, key: str) -> None:
    terminal = start(shell, "mem", "search", "authenticate_user", columns=200)
    terminal.read(lambda seen: QUESTION.format(shell.cwd) in seen)
    terminal.press(key)
    assert terminal.wait() == 0
    assert "There is no memory yet at" in terminal.written
    assert "Indexing complete!" in terminal.written
    assert re.search(r"auth_manager\.py:11\S*  \S*authenticate_user\S*  function", terminal.written)
    assert (shell.cwd / ".aurora" / "memory.db").exists()


def test_the_offer_can_be_declined(shell: Shell) -> None:
    terminal = start(shell, "mem", "search", "password", columns=200)
    terminal.read(lambda seen: "[Y/n]" in seen)
    terminal.press("n\n")
    assert terminal.wait() == 2
    assert "hint: make one with `aur mem index .`" in terminal.written
    assert not (shell.cwd / ".aurora").exists()


def test_no_answer_to_the_offer_makes_nothing(shell: Shell) -> None:
    """Ctrl-D. Ctrl-C is the same for click, but Python may miss it while it begins to read."""
    terminal = start(shell, "mem", "search", "password", columns=200)
    terminal.read(lambda seen: "[Y/n]" in seen)
    terminal.press("\x04")
    assert terminal.wait() == 130
    assert not (shell.cwd / ".aurora").exists()


def test_a_terminal_that_is_known_gets_links_and_colour(indexed: Shell) -> None:
    indexed.environ["TERM_PROGRAM"] = "WezTerm"
    terminal = start(indexed, "mem", "search", "authenticate_user", columns=120)
    assert terminal.wait() == 0
    path = (indexed.cwd / "auth_manager.py").as_posix()
    assert f"{path}#11\033\\\033[35mauth_manager.py:11\033[0m\033]8;;\033\\" in terminal.written
    assert "\033[1;36mauthenticate_user\033[0m" in terminal.written


def test_no_color_leaves_no_escape(indexed: Shell) -> None:
    indexed.environ["NO_COLOR"] = "1"
    for look in ([], ["--show-scores"], ["-C", "2"], ["--json"]):
        terminal = start(indexed, "mem", "search", "authenticate_user", *look)
        assert terminal.wait() == 0
        assert "\033" not in terminal.written


def test_links_of_ones_own_go_to_every_terminal_and_to_no_pipe(indexed: Shell) -> None:
    indexed.ok("config", "set", "ui.links", "vscode://file{path}:{line}")
    terminal = start(indexed, "mem", "search", "authenticate_user")
    assert terminal.wait() == 0
    assert "\033]8;;vscode://file/" in terminal.written
    assert "vscode" not in indexed.ok("mem", "search", "authenticate_user")


def test_json_for_a_person_is_in_lines(indexed: Shell) -> None:
    screen = on_terminal(indexed, "mem", "search", "authenticate_user", "--json")
    assert screen.rows[:3] == ["{", '  "version": 1,', '  "query": "authenticate_user",']


def test_a_document_is_typed_until_control_d(indexed: Shell) -> None:
    terminal = start(indexed, "mem", "add", "-")
    terminal.read(lambda seen: "Reading the text from the terminal: end it with Ctrl-D" in seen)
    terminal.press("call the dentist\n\x04")
    assert terminal.wait() == 0
    assert "doc-call-the-dentist-" in terminal.written
    assert "call the dentist" in indexed.ok("mem", "search", "dentist")


def test_who_does_not_want_to_forget_is_told_that_nothing_was(indexed: Shell) -> None:
    terminal = start(indexed, "mem", "forget", "settings.py")
    terminal.read(lambda text: "[y/N]" in text)
    assert "Forget 1 chunk for good?" in terminal.written
    terminal.press("n\n")
    assert terminal.wait() == 1
    assert terminal.written.splitlines()[-1] == "Nothing was forgotten."
    assert "TIMEOUT" in indexed.ok("mem", "get", "settings.py:module")
