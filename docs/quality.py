"""Writes docs/search-quality.md: the results of `aur` for the twenty queries of seed 000.

`make docs` runs this script.

python docs/quality.py                  write the page
python docs/quality.py --check WORLD    fail when `aur` prints other results; WORLD is a folder
                                        made by tests/shell/build_project.sh
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
SHOWN = 5  # rows in each table
COLUMNS = 5  # without commits and age, which change over time
TOLERANCE = 0.01  # scores change a little every day with activation

_SEARCH = 'source "$0/world.sh" "$1"; cd "$1/project"; shift; aur mem search "$@"'
_GOAL = 18  # seed 000, 8.1: at least 90 % of twenty
_PREFACE = """\
`docs/quality.py` writes this page, and a test fails when `aur` prints other results. The queries
are those of seed 000, appendix D. The project is that of the shell tests (`tests/shell`): 48 files
with 26 commits, seven conversations, seven lessons. All settings are defaults.

A query passes when the first five results contain what the seed expects: the definition first if
the query is a name, every kind of memory if the query asks for several. The seed's own shell tests
check less, and all twenty pass. The tables omit commits and age, which change over time, and show
the home folder as `~`.
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
    number, query = int(script.stem.split("_")[1]), _query(script)
    question, answer = QUESTIONS[number], search(shlex.split(query), world)
    met = question.is_met(answer, read_rows(answer))
    if met != question.passes:
        sys.exit(
            f"query {number} {'passes' if met else 'fails'} now: update it in docs/questions.py"
        )
    heading = [f"## {_SECTIONS[number]}", ""] if number in _SECTIONS else []
    return "\n".join([*heading, *_lines(f"{number}. `{query}`", question, shown(answer))])


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


def _query(script: Path) -> str:
    """The arguments of `aur mem search` in a shell test."""
    match = re.search(r"aur mem search (.+?)(?: 2>&1)?\)", script.read_text(encoding="utf-8"))
    assert match is not None, script
    return match[1]


def _environment(**variables: str) -> dict[str, str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {"PATH": path, "LANG": "C.UTF-8", **variables}


def search(words: list[str], world: Path) -> str:
    """The output of `aur`, or its error, with `~` for the home folder."""
    command = ["bash", "-c", _SEARCH, SHELL, world, *words]
    done = subprocess.run(
        command, env=_environment(), capture_output=True, encoding="utf-8", check=False
    )
    return (done.stdout or done.stderr).replace(str(world / "home"), "~")


def read_rows(answer: str) -> list[Row]:
    """The first rows of a table, without its head."""
    return [_cells(line) for line in answer.splitlines()[2 : 2 + SHOWN] if " | " in line]


def _cells(line: str) -> Row:
    return tuple(cell.strip() for cell in line.split(" | ")[:COLUMNS])


def shown(answer: str) -> str:
    """The table with fewer rows and columns; other output unchanged."""
    if not (rows := read_rows(answer)):
        return answer.strip()
    rows = [_cells(answer.splitlines()[0]), *rows]
    widths = [max(len(row[column]) for row in rows) for column in range(COLUMNS)]
    lines = [
        " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    return "\n".join([lines[0], "-+-".join("-" * width for width in widths), *lines[1:]])


def differences(written: str, current: str) -> list[str]:
    """Lines that differ, except for small changes of a score."""
    old, new = written.splitlines(), current.splitlines()
    if len(old) == len(new):
        return [
            f"+ {after}"
            for before, after in zip(old, new, strict=True)
            if not _alike(before, after)
        ]
    bare = [[_SCORE.sub("", line) for line in lines] for lines in (old, new)]
    return [line for line in difflib.ndiff(*bare) if line[0] in "+-"]


def _alike(left: str, right: str) -> bool:
    if _SCORE.sub("", left) != _SCORE.sub("", right):
        return False
    before, after = _SCORE.search(left), _SCORE.search(right)
    return not before or not after or abs(float(before[1]) - float(after[1])) <= TOLERANCE


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--check"]:
        changes = differences(PAGE.read_text(encoding="utf-8"), page(Path(arguments[1])))
        if changes:
            print("docs/search-quality.md is out of date: check the changes, then run make docs")
            print(*changes, sep="\n")
        return bool(changes)
    with tempfile.TemporaryDirectory() as folder:
        world = Path(folder).resolve()
        env = _environment(AURORA_SHELL_PROJECT=str(world))
        subprocess.run(["bash", SHELL / "build_project.sh", world], env=env, check=True)
        subprocess.run(["bash", SHELL / "run_all.sh"], env=env, check=True)
        PAGE.write_text(page(world), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
