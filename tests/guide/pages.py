"""Runs the commands of a guide as a reader would, one after the other in one shell.

A command stands behind `$ ` in a `console` block; what it prints, on both streams, stands below it.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import NamedTuple

_BLOCK = re.compile(r"(?<=```console\n).*?(?=```)", re.DOTALL)
_MARK = "\x1e"  # between what two commands print
_AGE = re.compile(r"\b(\d+ (year|month|week|day|hour|minute)s? ago|just now)")
_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d")
_SIZE = re.compile(r"\d[\d.]* (?:[KM]i)?B\b")
_SCORE = re.compile(r"\b\d\.\d{2,3}\b")  # use fades, and the score with it; the order is compared
_SPACES = re.compile(r" {2,}|-{2,}")  # columns are as wide as what stands in them


class Step(NamedTuple):
    """A command, and what it is said to print."""

    command: str
    printed: str


def read_steps(page: str) -> list[Step]:
    found = []
    for block in _BLOCK.findall(page):
        for part in ("\n" + block).split("\n$ ")[1:]:
            command, _, printed = part.partition("\n")
            found.append(Step(command, printed.rstrip("\n")))
    return found


def run_steps(commands: list[str], *, cwd: Path, env: dict[str, str]) -> list[str]:
    """What each of them prints. The first that fails ends the run with an error."""
    lines = [f"printf '{_MARK}'\n{command} || exit $?" for command in commands]
    done = subprocess.run(
        ["bash", "-c", "exec 2>&1\n" + "\n".join(lines)],
        cwd=cwd, env=env, capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    printed = [part.rstrip("\n") for part in done.stdout.split(_MARK)[1:]]
    assert done.returncode == 0, f"{commands[len(printed) - 1]}\n{printed[-1]}"
    return printed


def filled_in(page: str, printed: list[str]) -> str:
    """The page with what its commands print now."""
    answers = iter(printed)

    def block(match: re.Match[str]) -> str:
        steps = read_steps(f"```console\n{match[0]}```")
        told = [
            f"$ {step.command}\n{answer}".rstrip() for step in steps for answer in [next(answers)]
        ]
        return "\n".join(told) + "\n"

    return _BLOCK.sub(block, page)


def without_time(printed: str) -> str:
    """A text in which everything is gone that is another one tomorrow, or on another machine."""
    gone = {_AGE: "AGO", _TIME: "TIME", _SIZE: "SIZE", _SCORE: "SCORE", _SPACES: " "}
    for pattern, word in gone.items():
        printed = pattern.sub(word, printed)
    return "\n".join(line.rstrip() for line in printed.splitlines())
