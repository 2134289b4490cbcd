"""Where `aur` begins. Who asks for help reads what was written down, and waits for no import.

Click alone takes three times as long to import as Python takes to start. So `make docs` writes the
help of every command, as click words it for 80 columns, to `help.txt`. Whatever is not just that
(a narrow terminal, a stream that cannot show it, a shell that asks for completions) is left to
click.
"""

from __future__ import annotations

import gc
import os
import sys

TYPE_CHECKING = False  # as type checkers know it; importing typing takes 4 ms
if TYPE_CHECKING:
    from typing import NoReturn, TextIO

_WRITTEN = os.path.join(os.path.dirname(__file__), "help.txt")  # noqa: PTH118, PTH120 - 8 ms, too
_COLUMNS = 80  # click writes no wider, however wide the terminal
_INTERRUPTED = 130  # as in `aurora.cli.main`
_BESIDE = "aurora"  # the name of such a thread, in `aurora.concurrency`
_OBJECTS = 50_000  # until Python looks for garbage: a start makes fewer, and they are here to stay


def main() -> NoReturn:
    """Answer from what is written down, or import what it takes."""
    words = sys.argv[1:]
    told = bool(words) and words[-1].startswith("-")  # without help or version: a usage error
    text = _written(words) if told or len(words) < 2 else ""
    if text and _show(text, sys.stdout if told else sys.stderr):
        sys.exit(0 if told else 2)
    gc.set_threshold(_OBJECTS)
    try:
        from aurora.cli.main import main as run
    except KeyboardInterrupt:  # as `run` ends then, but there is none yet
        print("Interrupted.", file=sys.stderr)  # noqa: T201
        sys.exit(_INTERRUPTED)

    try:
        run()
    except SystemExit as exc:
        _leave(exc.code)
        raise
    finally:
        gc.freeze()  # the process ends: nobody needs to look through all that is left


def _leave(status: object) -> None:
    """End at once where a thread is at work that nobody waits for: Python takes itself apart
    under it, and may crash. All has been said by then."""
    threading, logging = sys.modules.get("threading"), sys.modules.get("logging")
    if threading is None or not any(one.name == _BESIDE for one in threading.enumerate()):
        return
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        return  # Python will say so
    if logging is not None:
        logging.shutdown()
    os._exit(status if isinstance(status, int) else 0)


def _written(words: list[str]) -> str:
    """The answer to exactly these words. A part of the file begins with what it is an answer to."""
    try:
        with open(_WRITTEN, encoding="utf-8") as file:  # noqa: PTH123
            parts = file.read().split("\f")
    except (OSError, ValueError):
        return ""
    for part in parts:
        asked, _, text = part.partition("\n")
        if ["aur", *words] in [one.split() for one in asked.split(" | ")]:
            return text
    return ""


def _show(text: str, stream: TextIO | None) -> bool:
    """False when click would write something else, or when writing fails: click says why."""
    if stream is None or stream.encoding.lower() != "utf-8":
        return False
    if _columns() < _COLUMNS or "_AUR_COMPLETE" in os.environ:
        return False
    left = text.encode()
    try:
        while left:  # past the stream's buffer, which would try again when the program ends
            left = left[os.write(stream.fileno(), left) :]
    except BrokenPipeError:
        return True  # a reader that has seen enough
    except OSError:
        return False
    return True


def _columns() -> int:
    """As `shutil.get_terminal_size` tells, whose import takes 10 ms."""
    try:
        columns = int(os.environ["COLUMNS"])
    except (KeyError, ValueError):
        columns = 0
    if columns > 0 or sys.__stdout__ is None:
        return columns or _COLUMNS
    try:
        return os.get_terminal_size(sys.__stdout__.fileno()).columns
    except (ValueError, OSError):  # no terminal: as wide as it likes
        return _COLUMNS
