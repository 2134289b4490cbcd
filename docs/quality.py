"""Writes docs/search-quality.md: what `aur` finds for the twenty queries of seed 000.

`make docs` runs it.

python docs/quality.py                  write
python docs/quality.py --check WORLD    fail when `aur` finds something else; WORLD is a folder
                                        that tests/shell/build_project.sh has filled
"""

from __future__ import annotations

import difflib
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from questions import QUESTIONS, Question, Row

DOCS = Path(__file__).parent
PAGE = DOCS / "search-quality.md"
SHELL = DOCS.parent / "tests" / "shell"
SHOWN = 5  # rows of a table
COLUMNS = 5  # those that do not change with time: no age, and no commits beside it
TOLERANCE = 0.01  # of a score: activation fades a little every day

_SEARCH = 'source "$0/world.sh" "$1"; cd "$1/project"; shift; aur mem search "$@"'
_GOAL = 18  # seed 000, 8.1: at least 90 % of twenty
_PREFACE = """\
Written by `docs/quality.py`; a test fails when `aur` finds something else. The queries are those of
seed 000, appendix D, asked of the project that the shell tests search (`tests/shell`): 48 files
with 26 commits, seven conversations, seven lessons. The model is the default,
one of Aurora's own, beside words, names and use.

A query passes when what the seed expects is among the first five: the definition first where it
names one, every kind of memory where it wants several. Its shell tests ask for less, and all twenty
of them pass. Commits and age are left out of the tables, because an age changes, and the home is
written as `~`.
"""
_SCORE = re.compile(r" \| (\d\.\d{3})$")
_SECTIONS = {1: "Exact names", 6: "Concepts", 11: "Types", 16: "Edge cases"}


def page(world: Path) -> str:
    sections = [_section(script, world) for script in sorted(SHELL.glob("test_*.sh"))]
    passed = sum("\n**Pass.**" in section for section in sections)
    goal = f"The goal is {_GOAL} (seed 000, 8.1: 90 %): {'met' if passed >= _GOAL else 'missed'}."
    title = f"# Search quality\n\n**{passed} of {len(sections)} pass.** {goal}\n"
    return "\n".join([title, _PREFACE, *sections])


def _section(script: Path, world: Path) -> str:
    number, asked = int(script.stem.split("_")[1]), _asked(script)
    question, answer = QUESTIONS[number], search(shlex.split(asked), world)
    met = question.is_met(answer, read_rows(answer))
    if met != question.passes:
        sys.exit(
            f"query {number} {'passes' if met else 'fails'} now: judge it in docs/questions.py"
        )
    heading = [f"## {_SECTIONS[number]}", ""] if number in _SECTIONS else []
    return "\n".join([*heading, *_lines(f"{number}. `{asked}`", question, shown(answer))])


def _lines(title: str, question: Question, answer: str) -> list[str]:
    verdict = "Pass" if question.passes else "Fail"
    return [
        f"### {title}",
        "",
        f"Expected: {question.expected}.",
        "",
        *("```text", answer, "```", ""),
        f"**{verdict}.** {question.why}",
        "",
    ]


def _asked(script: Path) -> str:
    """What a shell test asks for, as it is typed."""
    asked = re.search(r"aur mem search (.+?)(?: 2>&1)?\)", script.read_text(encoding="utf-8"))
    assert asked is not None, script
    return asked[1]


def _environment(**variables: str) -> dict[str, str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {"PATH": path, "LANG": "C.UTF-8", **variables}


def search(words: list[str], world: Path) -> str:
    """What `aur` prints, with a home like everybody's; an error where there is no answer."""
    command = ["bash", "-c", _SEARCH, SHELL, world, *words]
    done = subprocess.run(
        command, env=_environment(), capture_output=True, encoding="utf-8", check=False
    )
    return (done.stdout or done.stderr).replace(str(world / "home"), "~")


def read_rows(answer: str) -> list[Row]:
    """The first rows below the head of a table."""
    return [_cells(line) for line in answer.splitlines()[2 : 2 + SHOWN] if " | " in line]


def _cells(line: str) -> Row:
    return tuple(cell.strip() for cell in line.split(" | ")[:COLUMNS])


def shown(answer: str) -> str:
    """The table with fewer rows and columns; anything else as it is."""
    if not (rows := read_rows(answer)):
        return answer.strip()
    rows = [_cells(answer.splitlines()[0]), *rows]
    widths = [max(len(row[column]) for row in rows) for column in range(COLUMNS)]
    lines = [
        " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    return "\n".join([lines[0], "-+-".join("-" * width for width in widths), *lines[1:]])


def differences(written: str, found: str) -> list[str]:
    """Lines that are not as written, but for scores that have faded."""
    old, new = written.splitlines(), found.splitlines()
    if len(old) == len(new):
        return [
            f"+ {there}" for here, there in zip(old, new, strict=True) if not _alike(here, there)
        ]
    bare = [[_SCORE.sub("", line) for line in lines] for lines in (old, new)]
    return [line for line in difflib.ndiff(*bare) if line[0] in "+-"]


def _alike(left: str, right: str) -> bool:
    if _SCORE.sub("", left) != _SCORE.sub("", right):
        return False
    one, other = _SCORE.search(left), _SCORE.search(right)
    return not one or not other or abs(float(one[1]) - float(other[1])) <= TOLERANCE


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--check"]:
        told = differences(PAGE.read_text(encoding="utf-8"), page(Path(arguments[1])))
        if told:
            print("docs/search-quality.md is out of date: read this, then run make docs")
            print(*told, sep="\n")
        return bool(told)
    with tempfile.TemporaryDirectory() as folder:
        world = Path(folder).resolve()
        env = _environment(AURORA_SHELL_PROJECT=str(world))
        subprocess.run(["bash", SHELL / "build_project.sh", world], env=env, check=True)
        subprocess.run(["bash", SHELL / "run_all.sh"], env=env, check=True)
        PAGE.write_text(page(world), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
