"""`aur doctor` lists the processes that use a memory, by what the system tells of them."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from aurora.config import Places
from aurora.engine.processes import find_running, is_aurora
from aurora.platforms import Process, list_processes
from tests.builders import write_tree

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows processes")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write_tree(tmp_path / "shop", {".aurora/memory.db": "", "src/app.py": ""})


def commands(project: Path, *processes: Process) -> list[str]:
    environ = {"AURORA_HOME": str(project.parent / "home")}
    places = Places.find(project, environ)
    return [each.command for each in find_running(processes, places, environ)]


def process(line: str, cwd: Path, *files: Path) -> Process:
    return Process(7, tuple(line.split()), cwd, 0.0, frozenset(files))


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("/usr/bin/aur mcp --read-only", "aur mcp"),
        ("aurora.exe -c mcp.idle_minutes=5 mcp", "aur mcp"),
        ("python3 -P -m aurora.mcp.workers", "aur mcp workers"),
        ("/venv/bin/python3.12 /venv/bin/aur mem watch src --no-git", "aur mem watch"),
        ("python -P -m aurora search cookie", "aur search"),
        ("aur mcp --memory ../api --http", "aur mcp"),
        ("aur", "aur"),
    ],
)
def test_a_command_is_shown_without_what_was_asked(project: Path, line: str, command: str) -> None:
    assert commands(project, process(line, project / "src")) == [command]


@pytest.mark.parametrize("line", ["vim aur", "python -m pytest", "git log", "aurum mcp"])
def test_another_program_is_not_ours(project: Path, line: str) -> None:
    assert commands(project, process(line, project, project / ".aurora" / "memory.db")) == []


def test_a_server_from_elsewhere_counts_by_its_folder_or_its_open_files(project: Path) -> None:
    elsewhere = project.parent
    database = project / ".aurora" / "memory.db"
    assert commands(project, process("aur mcp", elsewhere)) == []
    assert commands(project, process("aur mcp --memory shop", elsewhere)) == ["aur mcp"]
    assert commands(project, process("aur mcp --memory=shop/src", elsewhere)) == ["aur mcp"]
    assert commands(project, process("aur recall", elsewhere, database)) == ["aur recall"]


@on_linux
def test_the_system_tells_of_a_process_of_ours(tmp_path: Path) -> None:
    with (tmp_path / "open").open("w") as file:
        child = subprocess.Popen(
            [sys.executable, "-c", "input()", f"a {tmp_path}"],
            cwd=tmp_path,
            stdin=subprocess.PIPE,
            stdout=file,
        )
        with child:
            while not (found := [*list_processes(lambda words: words[-1] == f"a {tmp_path}")]):
                time.sleep(0.01)  # the system shows the words a moment after the start
            child.communicate(b"\n")
    [seen] = found
    assert seen.number == child.pid
    assert seen.words[-3:] == ("-c", "input()", f"a {tmp_path}")
    assert seen.cwd == tmp_path
    assert tmp_path / "open" in seen.open_files
    assert abs(seen.since - (tmp_path / "open").stat().st_ctime) < 60


def test_without_proc_there_are_none(tmp_path: Path) -> None:
    assert list(list_processes(is_aurora, tmp_path / "proc")) == []
