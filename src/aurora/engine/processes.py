"""The running Aurora processes that use a memory, for `aur doctor`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from pathlib import PurePath
from typing import NamedTuple

from aurora.config import Places
from aurora.platforms import Process

_NAMES = {"aur", "aurora"}
_GROUPS = {"config", "db", "mcp", "mem", "models", "sessions", "workspace"}
_WITH_VALUE = {"-c", "--memory"}
_FIRST = 6  # words: an interpreter, some options of it, and the script


class RunningCommand(NamedTuple):
    """An `aur` that runs: its process, and the words of its command without arguments."""

    process: Process
    command: str


def find_running(
    processes: Iterable[Process], places: Places, environ: Mapping[str, str]
) -> Iterator[RunningCommand]:
    """Those that have a file of the memory open, or were started to serve it.

    A server opens its memory at the first call, so its folders count, too.
    """
    memory = places.memory_folder.resolve()
    for process in processes:
        words = _own_words(process.words)
        if words is None:
            continue
        folders = [process.cwd, *(process.cwd / each for each in _values(words, "--memory"))]
        has_open = any(file.is_relative_to(memory) for file in process.open_files)
        if has_open or any(
            Places.find(folder, environ).memory_folder.resolve() == memory for folder in folders
        ):
            yield RunningCommand(process, _command(words))


def is_aurora(words: tuple[str, ...]) -> bool:
    """Whether a command line starts an `aur`."""
    return _own_words(words) is not None


def _own_words(words: tuple[str, ...]) -> tuple[str, ...] | None:
    """What follows `aur`, or `python -m aurora`, or the names in `python -m aurora.mcp.workers`;
    None for another program."""
    is_python = PurePath(words[0]).name.startswith("python")
    for at, word in enumerate(words[:_FIRST] if is_python else words[:1]):
        package, *modules = word.split(".")
        if package == "aurora" and words[at - 1] == "-m":
            return (*modules, *words[at + 1 :])
        if PurePath(word).stem in _NAMES:
            return words[at + 1 :]
    return None


def _command(words: tuple[str, ...]) -> str:
    """`aur mem watch`, without arguments and options: they may hold what a person asked."""
    plain = []
    previous = ""
    for word in words:
        if not word.startswith("-") and previous not in _WITH_VALUE:
            plain.append(word)
        previous = word
    return " ".join(["aur", *plain[: 2 if plain and plain[0] in _GROUPS else 1]])


def _values(words: tuple[str, ...], option: str) -> Iterator[str]:
    yield from (value for name, value in pairwise(words) if name == option)
    yield from (word.partition("=")[2] for word in words if word.startswith(f"{option}="))
