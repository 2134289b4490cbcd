"""`aur sessions`: find, import, list, show and forget the sessions of agents."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from aurora.cli.completers import complete_files, completer, starting
from aurora.cli.improving import WAIT, leaves_work, start_improving
from aurora.cli.index import finishing
from aurora.cli.session import confirm, end_in_part, open_memory, tell
from aurora.cli.terminal import print_json, print_stored, print_text
from aurora.display.session_tables import (
    exchange_record,
    render_scan,
    render_session,
    render_sessions,
    render_skipped,
    scan_record,
    session_record,
)
from aurora.engine.agent_sessions import EXPORTS, SessionsReport
from aurora.errors import QueryError
from aurora.retrieval.query import parse_since
from aurora.sources.sessions.readers import agent_names
from aurora.text import pluralize
from aurora.types import Json, Note

_AS_JSON = "Print one JSON object, for programs."
_KEPT = "What was stored so far is kept; `aur sessions import` continues."
_ALL = "all"
_SHOWN_WARNINGS, _SHOWN = 10, 10

_complete_agents = completer(lambda _, typed: starting(agent_names(), typed))


def _agent_option(*, multiple: bool) -> Callable[[Any], Any]:
    return click.option(
        "--agent", "agents", multiple=True, metavar="AGENT", shell_complete=_complete_agents,
        help="An agent such as claude-code; may be repeated." if multiple else "Only this agent.",
    )  # fmt: skip


@click.command(
    epilog="""\b
Examples:
  aur sessions scan
  aur sessions scan --agent codex --json"""
)
@_agent_option(multiple=True)
@click.option("--json", "as_json", is_flag=True, help=_AS_JSON)
def scan(agents: tuple[str, ...], *, as_json: bool) -> None:
    """Show which agents have transcripts on this machine: how many, how large, and of which time.

    Nothing is stored.
    """
    with open_memory() as memory:
        found = memory.sessions.scan(agents)
    if as_json:
        print_json(scan_record(found))
        return
    present = [each for each in found if each.transcripts]
    for problem in (problem for each in found for problem in each.problems):
        tell(Note(problem, warning=True))
    if not present:
        tell(Note("No agent has transcripts here"))
        return
    print_text(render_scan(present))
    if not all(each.is_imported for each in present):
        tell(Note("Next: aur sessions import"))


@click.command(
    "import",
    epilog="""\b
Examples:
  aur sessions import                          all sessions of all agents
  aur sessions import --agent codex --since 3mo
  aur sessions import --project .              only those that began in this folder
  aur sessions import ~/Downloads/claude.zip   an export of claude.ai or ChatGPT
\b
Words find them first, vectors follow. Later runs, and every `aur mem index`, read only what was
added. Secrets are redacted before anything is stored. No server gets sessions.""",
)
@click.argument("files", nargs=-1, type=click.Path(path_type=Path), shell_complete=complete_files)
@_agent_option(multiple=True)
@click.option("--since", metavar="DATE", help="Leave out older ones: 2026-01-31, 7d, 3mo.")
@click.option(
    "--project", "projects", multiple=True, metavar="FOLDER",
    help="Only sessions that began in this folder; may be repeated. By default, all.",
)  # fmt: skip
@click.option("--quick", is_flag=True, help="Leave better vectors to the next run.")
@WAIT
@click.option("--json", "as_json", is_flag=True, help=_AS_JSON)
def import_(
    files: tuple[Path, ...],
    agents: tuple[str, ...],
    since: str | None,
    projects: tuple[str, ...],
    *,
    quick: bool,
    wait: bool | None,
    as_json: bool,
) -> None:
    """Keep the sessions of agents in your own memory, also after the agents delete their files.

    Without options: all sessions of all agents on this machine. Exits with 1 when a file could not
    be read.
    """
    folders = [] if _ALL in projects else [Path(project).expanduser() for project in projects]
    if files and (since or folders):
        raise click.UsageError("Files are read whole: leave out --since and --project.")
    if not (files or agents or since or folders or as_json):
        tell(Note("Importing all sessions of all agents (`aur sessions scan` lists them)"))
    with open_memory() as memory, finishing(_KEPT):
        if files:
            reports = [
                memory.sessions.import_file(file, agent=agents[0] if agents else EXPORTS)
                for file in files
            ]
        else:
            moment = _read_since(since) if since else None
            later = not quick and leaves_work(wait=wait)
            reports = [
                memory.sessions.import_(
                    agents, since=moment, projects=folders, quick=quick or later
                )
            ]
            if later:
                start_improving(memory)
    report = SessionsReport.total(reports)
    _print_report(report, as_json=as_json)
    if report.is_partial:
        end_in_part()


def _read_since(text: str) -> datetime:
    moment = parse_since(text, now=datetime.now(UTC).astimezone())
    if moment is None:
        raise QueryError(
            f"Cannot read {text!r} as a date", hint="write 2026-01-31, or an age such as 7d or 3mo"
        )
    return moment


def _print_report(report: SessionsReport, *, as_json: bool) -> None:
    for text in report.warnings[:_SHOWN_WARNINGS]:
        tell(Note(text, warning=True))
    if (more := len(report.warnings) - _SHOWN_WARNINGS) > 0:
        tell(Note(f"{more} more warnings"))
    if as_json:
        skipped: dict[str, Json] = {**report.skipped}
        print_json({
            "agents": [*report.agents], "sessions": report.sessions,
            "exchanges": report.exchanges, "memories": report.memories, "read": report.read,
            "unchanged": report.unchanged, "failed": report.failed, "skipped": skipped,
            "warnings": [*report.warnings],
        })  # fmt: skip
        return
    if report.skipped:
        tell(Note(render_skipped(report.skipped)))
    read, sessions = pluralize(report.read, "transcript"), pluralize(report.sessions, "session")
    click.echo(
        f"Read {read} ({report.unchanged:,} unchanged): "
        f"{pluralize(report.exchanges, 'new exchange')} of {sessions}"
    )
    if report.memories:
        click.echo(f"Read {pluralize(report.memories, 'memory file')} of agents")


@click.command(
    "list",
    epilog="""\b
Examples:
  aur sessions list
  aur sessions list --agent claude-code --project .
  aur sessions list --limit 0 --json | jq -r '.sessions[].title'""",
)
@_agent_option(multiple=False)
@click.option("--project", metavar="FOLDER", help="Only sessions that began in this folder.")
@click.option(
    "--limit", type=click.IntRange(min=0), default=30, show_default=True,
    help="How many, newest first; 0 for all.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help=_AS_JSON)
def list_(agents: tuple[str, ...], project: str | None, limit: int, *, as_json: bool) -> None:
    """List the stored sessions, newest first: id, end, agent, number of exchanges, title."""
    folder = Path(project).expanduser() if project else None
    with open_memory() as memory:
        known = memory.sessions.list(project=folder)
    entries = [entry for entry in known if not agents or entry.agent in agents]
    shown = entries[:limit] if limit else entries
    if as_json:
        print_json({"sessions": [session_record(entry) for entry in shown]})
        return
    if not entries:
        tell(Note("No session is stored: `aur sessions import`"))
        return
    print_text(render_sessions(shown, known, datetime.now(UTC).astimezone()))
    if len(shown) < len(entries):
        tell(Note(f"… and {pluralize(len(entries) - len(shown), 'older session')} (--limit 0)"))


@click.command(
    epilog="""\b
Examples:
  aur sessions show 3f2b8c1e
  aur sessions show 3f2b8c1e | less"""
)
@click.argument("session", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help=_AS_JSON)
def show(session: str, *, as_json: bool) -> None:
    """Print a session exchange by exchange, with the command that resumes it.

    The beginning of the id is enough.
    """
    with open_memory() as memory:
        entry, exchanges = memory.sessions.show(session)
    if as_json:
        talk: list[Json] = [exchange_record(exchange) for exchange in exchanges]
        print_json({**session_record(entry), "talk": talk})
    else:
        print_stored(render_session(entry, exchanges))


@click.command(
    epilog="""\b
Examples:
  aur sessions forget 3f2b8c1e        one session, with its sub-agents
  aur sessions forget codex           all sessions of an agent
  aur sessions forget ~/code/client   all sessions that began in a folder
\b
They are not imported again. The files of the agent stay where they are."""
)
@click.argument("what")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
def forget(what: str, *, yes: bool) -> None:
    """Remove sessions for good: one by its id, those of an agent, or of a project's folder."""
    with open_memory() as memory:
        meant = memory.sessions.meant(what)
        if not yes:
            now = datetime.now(UTC).astimezone()
            print_text(render_sessions(meant[:_SHOWN], meant, now), err=True)
            if more := meant[_SHOWN:]:
                print_text(f"… and {pluralize(len(more), 'more session')}", err=True)
            count = pluralize(len(meant), "session")
            error = QueryError(f"This would forget {count}", hint="confirm with --yes")
            confirm(f"Forget {count} for good?", error=error, refused="Nothing was forgotten.")
        click.echo(f"Forgot {pluralize(memory.sessions.forget(what), 'session')}")
