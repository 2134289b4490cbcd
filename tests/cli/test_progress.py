"""The line that shows progress, on a real terminal, with a clock that the test turns.

Each program below says events as the engine does; its time goes on by a sixteenth of a second with
every event, so that a reader can predict every drawing.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.builders import write_tree
from tests.cli.screen import Screen, Terminal

pytestmark = pytest.mark.one_store("about bars")


BEGIN = """
import fcntl, logging, os, signal, struct, sys, termios
from aurora.cli.session import EventPrinter
from aurora.types import Note, Progress

logging.getLogger("aurora").addHandler(logging.NullHandler())  # as `aur` begins
now = 0.0
tell = EventPrinter(lambda: now)

def work(task, first, last, total):
    global now
    for done in range(first, last + 1):
        now += 1 / 16
        tell(Progress(task, done, total))

"""


def play(program: str, folder: Path, *, columns: int = 80, **variables: str) -> tuple[Screen, str]:
    """What a person saw, and every letter of it."""
    terminal = Terminal(
        [sys.executable, "-c", BEGIN + program], cwd=folder, env=variables, columns=columns
    )
    assert terminal.wait() == 0, terminal.written
    screen = Screen(columns)
    screen.feed(terminal.written)
    return screen, terminal.written


def bars(screen: Screen) -> list[str]:
    return [row for row in screen.seen if row]


def words(bar: str) -> str:
    """A line without its bar."""
    return re.sub(" *[━╸╺]+ *", "  ", bar)


def test_a_long_task_is_drawn_now_and_then_and_leaves_nothing(tmp_path: Path) -> None:
    """First after 0.3 s, then not before 0.1 s have gone by: with every second event here."""
    screen, _ = play("work('Indexing', 1, 100, 100); print('done')", tmp_path)
    assert [words(bar).split()[1] for bar in bars(screen)] == [
        f"{done}/100" for done in range(6, 100, 2)
    ]
    assert words(bars(screen)[0]) == "Indexing  6/100  16/s  0:05 left"
    assert words(bars(screen)[-1]) == "Indexing  98/100  16/s  0:00 left"
    assert screen.rows == ["done", ""]


def test_a_short_task_is_not_drawn(tmp_path: Path) -> None:
    _, written = play("work('Indexing', 1, 5, 5)\nprint('done')", tmp_path)
    assert written == "done\r\n"


def test_tasks_follow_each_other_and_each_has_its_own_rate(tmp_path: Path) -> None:
    """The second does not know its total, and ends when the third begins."""
    screen, _ = play(
        "work('Indexing', 1, 20, 20)\n"
        "work('Reading git history', 1001, 1010, 0)\n"
        "work('Embedding', 1, 7, 9)\n"
        "tell.finish(); print('done')",
        tmp_path,
    )
    assert [words(bar) for bar in bars(screen)[-4:]] == [
        "Reading git history  1,006  16/s",
        "Reading git history  1,008  16/s",
        "Reading git history  1,010  16/s",
        "Embedding  6/9  16/s  0:00 left",
    ]
    assert screen.rows == ["done", ""]


def test_a_task_done_again_begins_again(tmp_path: Path) -> None:
    """As when two folders are indexed: neither the rate nor the patience is left from before."""
    screen, _ = play("work('Indexing', 1, 8, 8); now += 60; work('Indexing', 1, 8, 8)", tmp_path)
    assert [words(bar) for bar in bars(screen)] == ["Indexing  6/8  16/s  0:00 left"] * 2


def test_the_rate_is_that_of_the_last_ten_seconds(tmp_path: Path) -> None:
    program = "work('Indexing', 1, 400, 9000); now += 100; work('Indexing', 4000, 4240, 9000)"
    screen, _ = play(f"{program}; tell.finish()", tmp_path)
    assert words(bars(screen)[-1]) == "Indexing  4,240/9,000  16/s  4:57 left"


def test_progress_of_a_rebuild_goes_away_before_the_answer(tmp_path: Path) -> None:
    """FR-8.2: told every thousand chunks."""
    functions = "".join(f"def f{number}():\n    pass\n\n\n" for number in range(2500))
    write_tree(tmp_path, {"many.py": functions})
    program = """
from pathlib import Path
from aurora import Memory
from aurora.config import Places

def listen(event):
    global now
    now += 1
    tell(event)

places = Places.find(Path.cwd(), {'AURORA_HOME': str(Path.cwd() / 'home')})
with Memory(places) as memory:
    memory.index(Path('many.py'))
    memory.admin.index_path.unlink()
with Memory(places, listen=listen) as memory:
    print(memory.search('f1234').results[0].chunk.name)
"""
    screen, _ = play(program, tmp_path)
    assert list(map(words, bars(screen))) == [
        "Building BM25 index  2,000/2,500  1,000/s  0:00 left"
    ]
    assert screen.rows == ["f1234", ""]


def test_notes_stand_above_the_bar(tmp_path: Path) -> None:
    screen, _ = play(
        "work('Indexing', 1, 10, 100)\n"
        "tell(Note('a.py has syntax errors', warning=True))\n"
        "tell(Note('用户.py is empty'))\n"
        "work('Indexing', 11, 20, 100)\n"
        "tell(Note('One more'))\n"
        "work('Indexing', 21, 100, 100)",
        tmp_path,
    )
    assert screen.rows == ["Warning: a.py has syntax errors", "用户.py is empty", "One more", ""]
    assert words(bars(screen)[-1]).startswith("Indexing  98/100")


@pytest.mark.parametrize("columns", [1, 2, 5, 10, 20, 33, 40, 80, 200])
def test_no_bar_is_wider_than_the_terminal(tmp_path: Path, columns: int) -> None:
    """A line that wraps would stay: only its last row is written over."""
    screen, _ = play("work('Building BM25 index', 1, 30, 30)", tmp_path, columns=columns)
    assert len(bars(screen)) == 12
    assert screen.rows == [""]


def test_a_terminal_that_becomes_narrower_gets_a_shorter_bar(tmp_path: Path) -> None:
    screen, _ = play(
        "work('Indexing', 1, 10, 100)\n"
        "fcntl.ioctl(2, termios.TIOCSWINSZ, struct.pack('HHHH', 24, 20, 0, 0))\n"
        "work('Indexing', 11, 100, 100)",
        tmp_path,
    )
    assert [len(bar) for bar in bars(screen)[:3]] == [76, 76, 76]
    assert bars(screen)[3:] == [f"Indexing   {done}/100" for done in range(12, 100, 2)]


def test_without_colours_the_bar_is_still_there(tmp_path: Path) -> None:
    screen, written = play("work('Indexing', 1, 100, 100)", tmp_path, NO_COLOR="1")
    assert set(re.findall("\033.[^A-Za-z]*[A-Za-z]", written)) == {"\033[0K"}
    assert re.search("Indexing  ━{19,20}╸? +50/100  16/s  0:03 left", "\n".join(bars(screen)))
    coloured = play("work('Indexing', 1, 100, 100)", tmp_path)[1]
    assert "\033[36m━" in coloured


@pytest.mark.parametrize("kind", ["dumb", "DUMB", "unknown"])
def test_a_terminal_that_cannot_move_its_cursor_gets_words_only(tmp_path: Path, kind: str) -> None:
    program = "work('Indexing', 1, 50, 100); tell(Note('x')); work('Indexing', 51, 100, 100)"
    assert play(program, tmp_path, TERM=kind)[1] == "x\r\n"


def test_where_the_screen_knows_no_line_letters_the_bar_is_of_hyphens(tmp_path: Path) -> None:
    screen, _ = play("work('Indexing', 1, 100, 100)", tmp_path, PYTHONIOENCODING="ascii")
    assert re.match("Indexing  -{20} -+   50/100", bars(screen)[22])


def test_without_stderr_nothing_is_drawn(tmp_path: Path) -> None:
    """As with `2>&-`: Python then has none."""
    _, written = play("sys.stderr = None; work('Indexing', 1, 100, 100); print('ok')", tmp_path)
    assert written == "ok\r\n"


def test_work_goes_on_when_the_terminal_is_gone(tmp_path: Path) -> None:
    program = """
signal.signal(signal.SIGHUP, signal.SIG_IGN)
work('Indexing', 1, 20, 100)
try:
    os.read(0, 1)  # waits until the window is closed
except OSError:
    pass
work('Indexing', 21, 100, 100)
tell.finish()
open('finished', 'w').close()
os._exit(0)
"""
    terminal = Terminal([sys.executable, "-c", BEGIN + program], cwd=tmp_path, env={})
    terminal.read(until=lambda written: "20/100" in written)
    assert terminal.close() == 0
    assert (tmp_path / "finished").exists()


def test_a_command_that_fails_has_taken_its_bar_away(tmp_path: Path) -> None:
    """With the real clock: the command says how far it is until its bar must be there."""
    program = """
import time, click
from aurora.cli.session import open_memory, tell

@click.command()
@click.pass_context
def search(context):
    context.meta['aurora.flags'] = ()
    open_memory()
    end = time.monotonic() + 0.6
    while time.monotonic() < end:
        tell(Progress('Building BM25 index', 1000, 2500))
    raise click.ClickException('The disk is full')

try:
    search.main([])
except SystemExit as exit:
    print(exit.code)
"""
    screen, _ = play(program, tmp_path, AURORA_HOME=str(tmp_path))
    assert bars(screen)
    assert screen.rows == ["Error: The disk is full", "1", ""]


@pytest.mark.parametrize("when", range(8, 400, 23))
def test_an_interrupt_at_any_moment_of_a_drawing_leaves_a_clean_line(
    tmp_path: Path, when: int
) -> None:
    """It comes with one of the calls that a drawing makes, wherever that is."""
    program = f"""
work('Indexing', 1, 20, 100)
left = {when}

def interrupt(frame, event, argument):
    global left
    left -= event == 'call'
    if left == 0:
        sys.setprofile(None)
        raise KeyboardInterrupt

sys.setprofile(interrupt)
try:
    work('Indexing', 21, 30, 100)
except KeyboardInterrupt:
    tell.finish()
    print('stopped')
"""
    screen, _ = play(program, tmp_path)
    assert screen.rows == ["stopped", ""]
