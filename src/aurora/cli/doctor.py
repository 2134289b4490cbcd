"""`aur doctor`: checks of the program, the memory and the settings."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from aurora.cli.session import end_in_part, find_places, open_memory, settings_files, tell
from aurora.cli.terminal import has_colour, is_terminal, print_json, print_text
from aurora.config import Places, Settings, SettingsFiles
from aurora.config.places import shown
from aurora.display.reports import findings_record, render_findings
from aurora.display.table import Paint
from aurora.engine import Memory
from aurora.engine.health import (
    examine_memory,
    examine_parts,
    examine_program,
    examine_settings,
)
from aurora.engine.opening import FixedSettings
from aurora.engine.stranded import move_stranded, move_worktree, repository_of
from aurora.errors import AuroraError, ConfigError
from aurora.install.installed_check import examine_agents
from aurora.report_types import Finding, Level
from aurora.text import pluralize
from aurora.types import Note

_TITLES = {
    "program": "Program",
    "parts": "Parts it can use",
    "memory": "Memory",
    "agents": "Agents",
    "settings": "Settings",
}


@click.command(
    epilog="""\b
Examples:
  aur doctor
  aur doctor --quick         without reading the whole memory
  aur doctor --fix           also moves documents to the project they belong to
  aur doctor --json | jq '.findings[] | select(.level == "fail")'
\b
Each line starts with ok, note (information), warn (works, but needs attention) or FAIL.
As JSON: {"ok": …, "findings": [{"level": "ok|note|warn|fail", "area": "program|parts|memory|
agents|settings", "text": …, "hint": …}]}."""
)
@click.option("--quick", is_flag=True, help="Do not read the whole database and its indexes.")
@click.option(
    "--fix", is_flag=True, help="Move what earlier versions kept elsewhere to the project's memory."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, for programs.")
def doctor(*, quick: bool, fix: bool, as_json: bool) -> None:
    """Check the program, its parts, the memory and the settings.

    Changes nothing without --fix. Exits with 1 when a check failed.
    """
    if fix:
        with open_memory() as memory:
            repository = repository_of(memory)
            if repository is not None:
                moved = pluralize(move_worktree(memory), "chunk")
                what = f"{moved} of lessons and documents"
                tell(Note(f"Moved to the memory of {shown(repository)}: {what}"))
            for document in [] if repository else move_stranded(memory):
                tell(Note(f"Moved to the memory of the project: {document.title}"))
    findings = list(_examine(quick=quick))
    if as_json:
        print_json(findings_record(findings))
    else:
        paint = Paint(has_colour(sys.stdout, os.environ))
        print_text(render_findings(findings, _TITLES, paint=paint))
    if any(finding.level is Level.FAIL for finding in findings):
        end_in_part()


def _examine(*, quick: bool) -> Iterator[Finding]:
    try:
        places = find_places()
    except AuroraError as exc:  # no working directory, or no home
        yield from _examine_program()
        yield Finding(Level.FAIL, "memory", exc.message, exc.hint)
        return
    yield from examine(places, settings_files(places), quick=quick)


def _examine_program() -> Iterator[Finding]:
    yield from examine_program()
    encoding = getattr(sys.stdout, "encoding", "none")  # a closed stream is None
    yield _encodings(encoding, sys.getfilesystemencoding())
    yield from examine_parts()


def examine(places: Places, files: SettingsFiles, *, quick: bool) -> Iterator[Finding]:
    """All checks of the working directory."""
    yield from _examine_program()
    usable: SettingsFiles = files
    try:
        files.current()
    except ConfigError:  # `examine_settings` reports it
        usable = FixedSettings(places, Settings())
    with Memory(places, usable, folder=Path.cwd()) as memory:
        yield from examine_memory(memory, quick=quick, listen=tell)
    yield from examine_agents(places.home, os.environ)
    yield from examine_settings(files)


def _encodings(stdout: str, names: str) -> Finding:
    where = f"terminal {os.environ.get('TERM') or 'unknown'}, " if is_terminal(sys.stdout) else ""
    text = f"Letters: {where}output {stdout}, file names {names}"
    if {stdout.lower().replace("-", ""), names.lower().replace("-", "")} == {"utf8"}:
        return Finding(Level.OK, "program", text)
    hint = "names and texts in other scripts cannot be shown: set LANG=C.UTF-8, or PYTHONUTF8=1"
    return Finding(Level.WARN, "program", text, hint)
