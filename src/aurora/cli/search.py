"""`aur mem search`: the command, and printing its results in every format."""

from __future__ import annotations

import logging
import math
import os
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from aurora.cli.completers import (
    complete_agents,
    complete_branches,
    complete_kinds,
    complete_languages,
    complete_namespaces,
    complete_sessions,
    complete_sources,
)
from aurora.cli.paths import seen_from, shown_place
from aurora.cli.session import end_in_part, open_memory, set_setting, tell
from aurora.cli.terminal import has_colour, has_links, is_terminal, print_json, print_text, width_of
from aurora.config.places import Places, shown
from aurora.display.lines import WIDE, render_lines, render_nothing
from aurora.display.links import make_link
from aurora.display.records import Source, search_record
from aurora.display.table import Look, Paint, is_stale, render_table, table_width
from aurora.errors import AuroraError
from aurora.retrieval.config import FUSIONS
from aurora.retrieval.lookup import relative_path
from aurora.retrieval.query import read_criteria, rooted_glob
from aurora.text import printable
from aurora.types import Mode, Note, Rerank, SearchResults

if TYPE_CHECKING:
    from aurora.engine import Memory

logger = logging.getLogger(__name__)

F = TypeVar("F", bound=Callable[..., Any])

# Requirement: these exact words.
_NOTICE = (
    "Note: Search output format has changed. Use --legacy for old format.",
    "See CHANGELOG.md for details. (This message won't show again)",
)
_SEARCH = (  # of `Memory.search`
    "limit", "mode", "fusion", "min_score", "rerank", "expand", "workspace", "memories",
)  # fmt: skip
_FILTERS = (  # of `read_criteria`
    "types", "paths", "languages", "names", "namespaces", "document_types", "metadata", "since",
    "until", "sources", "agents", "sessions", "branches",
)  # fmt: skip


def _pairs(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    pairs = [value.partition("=") for value in values]
    if wrong := [key for key, equals, _ in pairs if not key or not equals]:
        raise click.BadParameter(f"{wrong[0]!r} is not KEY=VALUE", ctx, param)
    return {key: value for key, _, value in pairs}


def _number(ctx: click.Context, param: click.Parameter, value: float | None) -> float | None:
    if value is not None and math.isnan(value):
        raise click.BadParameter("must be a number", ctx, param)
    return value


def _filter(flag: str, name: str, metavar: str, **more: Any) -> Callable[[F], F]:
    """An option that leaves out results, and may be repeated."""
    return click.option(flag, name, multiple=True, metavar=metavar, **more)


class _Search(click.Command):
    """Explains `session -cookie` without quotes, which the shell passes as an option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as exc:
            if exc.option_name.startswith("--"):
                raise
            message = f"{exc.message} Words to leave out go inside quotes: 'session -cookie'."
            raise click.NoSuchOption(exc.option_name, message, ctx=ctx) from exc


@click.command(
    cls=_Search,
    epilog="""\b
Examples:
  aur mem search "parse the config file"
  aur mem search getUserData --limit 3
  aur mem search 用户认证
  aur mem search "retry" --type function,method --path "src/**"
  aur mem search 'type:class since:7d "request context" -test'
  aur mem search "why gift cards" --source session --since 1mo
  aur mem search "session cookie" --show-scores
  aur mem search "session cookie" --context 2
  aur mem search "session cookie" --json | jq -r '.results[].id'
  vim $(aur mem search -l "session cookie")
\b
What is printed:
  auth_manager.py:45  authenticate_user  function  0.86  23 commits  2 days ago
    45: def authenticate_user(name, password):
\b
With --table:
  File            | Type     | Name              | Lines | Score | Commits | Last Modified
  auth_manager.py | function | authenticate_user | 45-67 | 0.856 | 23      | 2 days ago
  oauth-impl.md   | know     | OAuth Setup       | -     | 0.654 | -       | 2025-12-15""",
)
@click.argument("query", nargs=-1, required=True)
@click.option(
    "--limit", "-n", type=click.IntRange(min=1),
    help="How many results to show; by default 10, or `search.limit`.",
)  # fmt: skip
@click.option(
    "--mode", type=click.Choice(list(Mode), case_sensitive=False),
    help="What to search by: words, meaning, or everything.",
)  # fmt: skip
@click.option(
    "--fusion", type=click.Choice(list(FUSIONS), case_sensitive=False),
    help="How to combine the signals.",
)  # fmt: skip
@click.option(
    "--rerank", type=click.Choice(list(Rerank), case_sensitive=False),
    help="Rerank the first 20: `local` with a model of the extra `onnx`, `llm` with the model of "
    "llm.endpoint, which receives the query and a part of each result.",
)  # fmt: skip
@click.option(
    "--expand/--no-expand", default=None,
    help="Also search for related words, which the model of llm.endpoint adds. It receives the "
    "query.",
)  # fmt: skip
@_filter(
    "--type", "types", "TYPE[,TYPE]", shell_complete=complete_kinds,
    help="Only these: function, method, class, code, reasoning, knowledge.",
)  # fmt: skip
@_filter(
    "--path", "paths", "GLOB",
    help="Only files that match, as in .gitignore; . and ./… start at the working directory.",
)  # fmt: skip
@_filter(
    "--language", "languages", "NAME", help="Only this language.", shell_complete=complete_languages
)
@_filter("--name", "names", "GLOB", help="Only chunks with such a name.")
@_filter(
    "--namespace", "namespaces", "NAME", help="Only documents of this namespace.",
    shell_complete=complete_namespaces,
)  # fmt: skip
@_filter("--document-type", "document_types", "TYPE", help="Only documents of this type.")
@_filter("--meta", "metadata", "KEY=VALUE", help="Only with this metadata.", callback=_pairs)
@click.option("--since", metavar="DATE", help="Only what changed since: 2026-01-31, 7d, 3mo.")
@click.option("--until", metavar="DATE", help="Only what did not change after: 2026-01-31, 7d.")
@_filter(
    "--source", "sources", "SOURCE[,SOURCE]", shell_complete=complete_sources,
    help="Only from here: code, note, document, lesson, conversation, session.",
)  # fmt: skip
@_filter(
    "--agent", "agents", "AGENT", shell_complete=complete_agents,
    help="Only sessions with this agent, such as claude-code or codex.",
)  # fmt: skip
@_filter(
    "--session", "sessions", "ID", shell_complete=complete_sessions,
    help="Only this session: its id, or how that begins.",
)  # fmt: skip
@_filter(
    "--branch", "branches", "NAME", shell_complete=complete_branches,
    help="Only sessions on this branch.",
)  # fmt: skip
@click.option(
    "--min-score", type=click.FloatRange(0.0, 1.0), callback=_number,
    help="Leave out results with a lower score.",
)  # fmt: skip
@click.option(
    "--workspace", is_flag=True, help="Also ask the repositories of `aur workspace list`."
)
@click.option(
    "--memory", "memories", multiple=True, metavar="NAME",
    help="Ask only this memory: project, personal, or one of the workspace; may be repeated.",
)  # fmt: skip
@click.option("--show-scores", is_flag=True, help="Show the parts of each score, with reasons.")
@click.option(
    "--context", "-C", type=click.IntRange(min=0), metavar="N",
    help="Show the best matching line with N lines around it.",
)  # fmt: skip
@click.option(
    "--files-with-matches", "-l", "files", is_flag=True, help="Print only the names of files."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
@click.option(
    "--table/--no-table", default=None,
    help="Print the results as a table, or as lines with their text; see ui.view.",
)  # fmt: skip
@click.option(
    "--legacy/--no-legacy", default=None,
    help="Print a table without the columns Commits and Last Modified.",
)  # fmt: skip
@click.option("--no-git", is_flag=True, help="Leave out what git knows: commits and dates.")
@click.option("--exit-code", is_flag=True, help="Exit with 1 when nothing is found.")
def search(query: tuple[str, ...], **options: Any) -> None:  # Any: as click parses them
    """Find the chunks that fit a query of plain words, the best first.

    A query may also contain filters: "exact phrase", -word, type: path: lang: name: since: until:
    source: agent: session: branch: meta.KEY:

    Exits with 0 whether something was found or not, and with 2 when the search failed.
    """
    as_json, files, context = options["as_json"], options["files"], options["context"]
    if files and (as_json or options["show_scores"] or options["table"] or context is not None):
        raise click.UsageError("--files-with-matches prints only names: leave out other formats.")
    now, git = datetime.now(UTC), not options["no_git"]
    with _open_searchable() as memory:
        here = seen_from(memory.root)
        options["paths"] = [rooted_glob(glob, here) for glob in options["paths"]]
        criteria = read_criteria(now=now, **{name: options[name] for name in _FILTERS})
        chosen = {name: options[name] for name in _SEARCH}
        answer = memory.search(" ".join(query), criteria=criteria, here=here, **chosen)
        root, label, ui = memory.root, memory.label, memory.settings.ui
        indexed_at = memory.indexed_at if memory.exists else None
    if as_json:
        source = Source(memory.name, root, indexed_at)
        print_json(search_record(answer, source, now=now, context=context, past=git))
    elif files and answer.results:
        _print_files(answer, here)
    else:
        legacy = options["legacy"]
        if legacy is None:
            legacy = ui.default_search_format == "legacy"
        if answer.results and not (legacy or ui.shown_search_format_notice):
            _print_notice(memory.places)
        width, past = width_of(sys.stdout, os.environ), git and not legacy
        paint = _paint(root, ui.links)
        look = Look(now, width, past, context, paint, partial(relative_path, here=here), label)
        if not answer.results:
            text = render_nothing(answer, look)
        elif options["show_scores"]:
            text = _render_scores(answer, look, legacy=legacy)
        elif _wants_table(answer, look, ui.view, options["table"], legacy=legacy):
            text = render_table(answer.results, look)
        else:
            text = render_lines(answer.results, look)
        print_text(text, err=files)
        if past and is_stale(answer.results, now):
            tell(Note("(metadata may be stale) read git again with `aur mem index`", warning=True))
    if options["exit_code"] and not answer.results:
        end_in_part()


def _open_searchable() -> Memory:
    """The memory of the working directory. Where there is none, offer a person to index first."""
    memory = open_memory()
    if memory.layers() or not (is_terminal(sys.stdin) and is_terminal(sys.stderr)):
        return memory  # without a terminal, the search itself reports the missing memory
    from aurora.cli.improving import start_improving
    from aurora.cli.index import index_into, places_for_index

    click.echo(f"There is no memory yet at {shown_place(memory.name, memory.root)}", err=True)
    if not click.confirm(f"Index {shown(Path.cwd())} now?", default=True, err=True):
        return memory
    memory.close()
    memory = open_memory(places_for_index())
    index_into(memory, [Path()], quick=True, talk=True)
    start_improving(memory)
    return memory


def _print_notice(places: Places) -> None:
    """Print the notice about the new format once, if the settings can remember it.

    A user without a settings file has not used an earlier version: those wrote one.
    """
    if not places.user_config.exists():
        return
    try:
        set_setting(places.user_config, "ui.shown_search_format_notice", "true")
    except AuroraError as exc:
        logger.info("the notice about the format cannot be remembered: %s", exc.message)
    else:
        for line in _NOTICE:
            tell(Note(line))


def _render_scores(answer: SearchResults, look: Look, *, legacy: bool) -> str:
    from aurora.display.boxes import render_boxes, render_legacy_scores

    return render_legacy_scores(answer, look) if legacy else render_boxes(answer, look)


def _wants_table(
    answer: SearchResults, look: Look, view: str, flag: bool | None, *, legacy: bool
) -> bool:
    """Whether to print a table: by the flag at any width, by the setting where it fits."""
    if flag is not None or look.context is not None:
        return bool(flag)
    if legacy or view != "table":
        return legacy
    fits = look.width is None or table_width(answer.results, look) <= look.width
    return fits or (look.width or 0) >= WIDE


def _print_files(answer: SearchResults, here: str) -> None:
    """Print each file once, the best first."""
    for path in dict.fromkeys(result.chunk.path for result in answer.results if result.chunk.path):
        name = relative_path(path, here)
        # Bytes: from a str, click removes what looks like a colour.
        click.echo(printable(name) if is_terminal(sys.stdout) else name.encode())


def _paint(root: Path | None, links: str) -> Paint:
    """Colours and links, as stdout can show them and the setting `ui.links` wants them."""
    colour = has_colour(sys.stdout, os.environ)
    if links == "auto":
        has_link, pattern = has_links(sys.stdout, os.environ), ""
    else:
        has_link, pattern = links != "never" and is_terminal(sys.stdout), links
    return Paint(colour, make_link(pattern, root)) if has_link else Paint(colour)
