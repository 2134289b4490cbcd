"""Names of indexed files are somebody else's words: to complete one must not run it.

A key writes the shell's line into a file. The same shell then reads that line as a script, with a
function in the place of `aur` that tells what it was given.
"""

from __future__ import annotations

import os
import subprocess
from itertools import product
from pathlib import Path

import pytest

from aurora.cli.completion import Bash, read_line
from tests.builders import write_tree
from tests.cli.conftest import Shell
from tests.cli.forking import relaying
from tests.cli.screen import Terminal
from tests.cli.test_completion import INTERACTIVE, SETUP, need

pytestmark = pytest.mark.one_store("completes words, wherever a memory is")

# Each begins with another letter, which is what is typed.
NAMES = [
    "A$(touch PWNED)", "B`touch PWNED`", "C';touch PWNED;'", 'D";touch PWNED;"', "E!touch",
    "F;touch PWNED;", "G\\$(touch PWNED)", "H\\';touch PWNED;'", 'I\\";touch PWNED;"',
    "J\ntouch PWNED\n", "K\\", "L=$(touch PWNED)",
]  # fmt: skip
MORE_NAMES = [
    "A&&touch PWNED;", "A|touch PWNED;", "A<(touch PWNED)", "A$'\\';touch PWNED;'", "A)touch PWNED",
    "A\\`touch PWNED\\`", "A}", "A:$(touch PWNED)", "A@`touch PWNED`", "A #;touch PWNED", "A*$[1]",
    "A$((a[$(touch PWNED)]))", "A!!", "A!$", "A^touch^PWNED", "A~$(touch PWNED)", "A'b'", 'A"b"',
    "A\\\\$(touch PWNED)", "A\\!touch", "A{b,c}", "A?", "A[b]", "A\tb", "A b", "A'$(touch PWNED)'",
    "A${x:-$(touch PWNED)}", "A'\"$(touch PWNED)\"'",
]  # fmt: skip
QUOTES = ["", '"', "'", "$'", '$"']
INSIDE_CODE = ['"$(', "`", '"${x:-']

DUMP = {
    "bash": "_dump() {{ printf %s \"$READLINE_LINE\" >{file}; READLINE_LINE=; echo dum'p'ed; }}\n"
    "bind -x '\"\\C-t\":_dump'",
    "zsh": "_dump() {{ print -rn -- \"$BUFFER\" >{file}; BUFFER=; print dum'p'ed }}\n"
    "zle -N _dump; bindkey '^T' _dump",
    "fish": "function _dump; commandline >{file}; commandline ''; echo dum'p'ed; end\n"
    "bind \\ct _dump",
}
GIVEN = {
    "bash": 'set -o history -o histexpand\ntouch once\naur() {{ printf %s "$3" >{file}; }}\n',
    "zsh": 'aur() {{ print -rn -- "$3" >{file} }}\n',
    "fish": "function aur; printf %s $argv[3] >{file}; end\n",
}


def chunk_id(name: str) -> str:
    return f"{name}.py:found"


def given_by(shell: str, line: str, folder: Path) -> str | None:
    """What `aur mem get` is given when a shell runs the line; None if it is not run."""
    given = folder / "given"
    given.unlink(missing_ok=True)
    script = GIVEN[shell].format(file=given) + line + "\n"
    subprocess.run(
        [shell], cwd=folder, input=script, text=True, capture_output=True, check=False, timeout=60,
    )  # fmt: skip
    if not given.exists():
        return None
    text = given.read_text(encoding="utf-8")
    # The backslash before `!` keeps zsh from expanding it, and goes only at a terminal.
    return text.replace("\\!", "!") if shell == "zsh" else text


@pytest.mark.parametrize("quote", [*QUOTES, *INSIDE_CODE])
def test_bash_reads_what_is_offered_as_the_name_itself(tmp_path: Path, quote: str) -> None:
    typed = read_line(f"aur mem get {quote}A")
    shell = Bash(None, {}, "aur", "_AUR_COMPLETE")  # type: ignore[arg-type]
    for name in [*NAMES, *MORE_NAMES]:
        written = shell.written(chunk_id(name), typed) if name.isprintable() else None
        if written is not None:
            line = f"aur mem get {quote}{written}{quote[-1:]}"
            assert given_by("bash", line, tmp_path) == chunk_id(name), line
        else:
            assert quote or not name.isprintable()  # without quotes, any name can be written
    assert {file.name for file in tmp_path.iterdir()} <= {"given", "once"}


@pytest.mark.long
@pytest.mark.parametrize("name", INTERACTIVE)
def test_no_shell_runs_what_a_file_is_called(shell: Shell, tmp_path: Path, name: str) -> None:
    need(name)
    write_tree(shell.cwd, {f"{each}.py": "def found():\n    pass\n" for each in NAMES})
    shell.ok("init")
    shell.ok("mem", "index")
    before, (line, played) = set(shell.cwd.iterdir()), (tmp_path / "line", tmp_path / "played")
    played.mkdir()
    path = {"PATH": f"{relaying()}:{os.environ['PATH']}", "LANG": "C.UTF-8"}
    terminal = Terminal(INTERACTIVE[name], cwd=shell.cwd, env=shell.environment | path)
    terminal.press(f'{SETUP[name]}\n{DUMP[name].format(file=line)}\necho rea"dy"\n')
    terminal.read(until=lambda written: "ready" in written)
    completed = set()
    others = [*product(QUOTES[2:], NAMES[:4]), *product(INSIDE_CODE, NAMES[:1])]
    for quote, each in [*product(QUOTES[:2], NAMES), *others]:
        typed = f"aur mem get {quote}{each[0]}"
        start = len(terminal.written)
        terminal.press(f"{typed}\t\x14")
        terminal.read(until=lambda written, start=start: "dumped" in written[start:])
        offered = line.read_text(encoding="utf-8").rstrip("\n")
        given = given_by(name, offered, played)
        if offered != typed and given is not None:
            completed.add(f"{quote}{each[0]}")
            assert given == chunk_id(each), offered
    terminal.close()
    assert set(shell.cwd.iterdir()) == before
    assert {file.name for file in played.iterdir()} <= {"given", "once"}
    assert {"A", "B", "C", "D", '"A', '"B', "'A", "'B"} <= completed
