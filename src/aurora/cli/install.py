"""`aur install` and `aur uninstall`: Aurora in the agents of this machine, and out of them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import click

from aurora.cli.own_command import own_command
from aurora.cli.session import end_in_part, find_places, tell
from aurora.cli.terminal import is_terminal, print_text
from aurora.config.places import shown
from aurora.errors import AuroraError, ConfigError
from aurora.install.clients import Scope
from aurora.install.installed_check import part_names, titles
from aurora.install.known_agents import AGENTS, PARTS, Person, additions_for
from aurora.install.manifest import Record, load, locked
from aurora.install.plan import (
    Change,
    Plan,
    Problem,
    Wanted,
    carry_out,
    plan_install,
    plan_uninstall,
)
from aurora.install.proof import prove
from aurora.sources.git import find_root
from aurora.text import pluralize, printable
from aurora.types import Note

_AGENTS = click.argument("agents", nargs=-1, type=click.Choice(list(AGENTS)), metavar="[AGENT]...")
_DRY_RUN = click.option(
    "--dry-run", is_flag=True, help="Print the changes as a diff; write nothing."
)
_YES = click.option("--yes", "-y", is_flag=True, help="Do not ask before writing.")


@click.command(
    epilog=f"""\b
Examples:
  aur install                       all agents of this machine, for you
  aur install claude-code codex     only these
  aur install --project             for everybody who works on this project
  aur install --dry-run             show what would be written
\b
Agents: {", ".join(AGENTS)}.
Each gets what it supports: the MCP entry, hooks, a skill, and a short marked block in its
CLAUDE.md, AGENTS.md or GEMINI.md. `aur uninstall` takes all of it out again."""
)
@_AGENTS
@click.option("--user", "scope", flag_value="user", default="user",
              help="For you, in all projects. The default.")  # fmt: skip
@click.option("--project", "scope", flag_value="project", help="For all users of this project.")
@_DRY_RUN
@_YES
@click.option("--no-hooks", is_flag=True, help="Leave the hooks out.")
@click.option("--no-block", is_flag=True, help="Leave CLAUDE.md, AGENTS.md and GEMINI.md alone.")
def install(
    agents: tuple[str, ...], *, scope: str, dry_run: bool, yes: bool, no_hooks: bool, no_block: bool
) -> None:
    """Connect the agents of this machine with Aurora."""
    home, person, where = find_places().home, _person(), Scope(scope)
    command = own_command(where, "--user")
    parts = set(PARTS) - {"hooks" if no_hooks else "", "block" if no_block else ""}
    chosen = agents or _found(person)
    wanted = _wanted(chosen, person, where, command, parts)

    def plan() -> Plan:
        known, project = load(home), person.project
        return plan_install(wanted, known, agents=set(chosen), scope=where, project=project)

    changes, has_problems = _run(plan, home, yes=yes, dry_run=dry_run, verb="Wrote")
    if not dry_run:
        for name in dict.fromkeys(name for change in changes for name in change.agents):
            tell(Note(f"Next, {AGENTS[name].title}: {AGENTS[name].next_step}."))
        has_problems |= not _prove((*command, "mcp"), person)
    if has_problems:
        end_in_part()


def _found(person: Person) -> tuple[str, ...]:
    found = tuple(name for name, agent in AGENTS.items() if person.has(agent))
    if not found:
        raise ConfigError(
            "No agent was found on this machine",
            hint=f"name one, such as `aur install claude-code`; known are {', '.join(AGENTS)}",
        )
    return found


def _wanted(
    agents: Iterable[str], person: Person, where: Scope, command: tuple[str, ...], parts: set[str]
) -> list[Wanted]:
    wanted = []
    for name in agents:
        additions = additions_for(name, person, where, command, parts)
        if not additions:
            other = Scope.USER if where is Scope.PROJECT else Scope.PROJECT
            tell(Note(f"{AGENTS[name].title} reads nothing for --{where}: try --{other}."))
        wanted += additions
    return wanted


@click.command(
    epilog="""\b
Examples:
  aur uninstall                     all that `aur install` wrote, for you and in all projects
  aur uninstall cursor --project    only of this agent, and only in this project
\b
A file that nobody changed since is as it was before, byte for byte. From others only our parts
are taken out."""
)
@_AGENTS
@click.option("--user", "scope", flag_value="user", help="Only from your own files.")
@click.option("--project", "scope", flag_value="project", help="Only from this project.")
@_DRY_RUN
@_YES
def uninstall(agents: tuple[str, ...], *, scope: str | None, dry_run: bool, yes: bool) -> None:
    """Take out of the files of agents what `aur install` wrote."""
    home, project = find_places().home, str(_person().project)

    def is_chosen(record: Record) -> bool:
        return scope is None or record.project == (project if scope == "project" else "")

    _, has_problems = _run(
        lambda: plan_uninstall(load(home), is_chosen, set(agents)),
        home, yes=yes, dry_run=dry_run, verb="Took Aurora out of",
    )  # fmt: skip
    if has_problems:
        end_in_part()


def _person() -> Person:
    try:
        home = Path.home()
    except RuntimeError as exc:
        raise ConfigError("There is no home directory", hint="set HOME to yours") from exc
    here = Path.cwd()
    root = find_places().root or find_root(here)
    is_inside = root is not None and here.resolve().is_relative_to(root.resolve())
    return Person(home, os.environ, root if root is not None and is_inside else here)


def _run(
    make_plan: Callable[[], Plan], home: Path, *, yes: bool, dry_run: bool, verb: str
) -> tuple[list[Change], bool]:
    """Show the plan, ask, and carry it out. Returns what changed, and whether problems are left."""
    plan = make_plan()
    _tell_problems(plan.problems)
    if not plan.changes:
        tell(Note("There is nothing to change."))
    if dry_run:
        for change in plan.changes:
            lines = change.diff().split("\n")
            print_text("\n".join(printable(line, keep="\t") for line in lines))
        return [], bool(plan.problems)
    if plan.changes:
        _tell_changes(plan.changes)
        if not yes and is_terminal(sys.stdin) and not click.confirm("Go on?", err=True):
            tell(Note("Nothing was changed."))
            end_in_part()
    with locked(home):  # another run may have ended meanwhile
        known, told = load(home), len(plan.problems)
        plan = make_plan()
        changes = carry_out(plan, home, known)
    _tell_problems(plan.problems[told:])
    if changes:
        tell(Note(f"{verb} {pluralize(len(changes), 'file')}."))
    return changes, bool(plan.problems)


def _tell_changes(changes: Sequence[Change]) -> None:
    for change in changes:
        what = " and ".join(part_names(change.record)) or "nothing of ours"
        how = ""
        if change.after is None:
            how = ", which goes"
        elif change.state.mode is None:
            how = ", which is new"
        elif change.edited:
            how = ", which others changed since: only our part goes"
        tell(Note(f"{titles(change.agents)}: {what} in {shown(change.file)}{how}"))


def _tell_problems(problems: Iterable[Problem]) -> None:
    for problem in problems:
        tell(Note(f"Left alone: {problem.message}\n  hint: {problem.hint}", warning=True))


def _prove(server: tuple[str, ...], person: Person) -> bool:
    """Start the server as the agents will, and show what it finds in this project."""
    try:
        proof = prove(server, person.project, person.environ)
    except AuroraError as exc:
        tell(Note(f"{exc.message}\n  hint: {exc.hint}", warning=True))
        return False
    tell(Note(f"Started {' '.join(server)}: it answers, with {proof.tools} tools."))
    if proof.trouble:
        tell(Note(proof.trouble.replace("\n\n", "\n  "), warning=True))
    elif not proof.rows:
        tell(Note("It found nothing of this project yet: read it with `aur index`."))
    for row in proof.rows:
        print_text(printable(f"{row.question}  →  {row.place}  {row.name}"))
    return True
