"""`aur mem search`: find chunks by words, and narrow down where they may be.

How an answer is printed: as a table, with its scores, with its lines, as JSON, as file names.

What only a first search meets: no memory yet, and a table that may be new.

Addresses that a terminal opens when a path is clicked.
"""

from __future__ import annotations

import logging
import math
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import click

from aurora.cli.completion import complete_kinds, complete_languages, complete_namespaces
from aurora.cli.session import end_in_part, open_memory, tell
from aurora.cli.terminal import has_colour, has_links, is_terminal, print_json, print_text, width_of
from aurora.config.places import Places, shown
from aurora.display.records import Source
from aurora.display.table import Paint, is_stale
from aurora.engine import Memory
from aurora.engine.location import shown_name
from aurora.errors import AuroraError
from aurora.retrieval.config import FUSIONS
from aurora.retrieval.query import read_criteria
from aurora.text import printable
from aurora.types import DEFAULT_LIMIT, Chunk, Criteria, Mode, Note, Rerank, SearchResults

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Shape:
    """What was asked for. Without anything it is the table of FR-5.1."""

    legacy: bool = False
    show_scores: bool = False
    git: bool = True
    as_json: bool = False
    files: bool = False
    context: int | None = None

    @property
    def is_table(self) -> bool:
        return not (self.as_json or self.files)

    @property
    def past(self) -> bool:
        return self.git and not self.legacy


def print_answer(
    answer: SearchResults, source: Source, shape: Shape, *, now: datetime, links: str
) -> None:
    """The answer on stdout, and where it is data only what is data."""
    if shape.as_json:
        from aurora.display.records import search_record

        print_json(search_record(answer, source, now=now, context=shape.context, past=shape.git))
    elif not answer.results:
        from aurora.display.table import render_nothing

        click.echo(render_nothing(answer), err=shape.files)
    elif shape.files:
        for path in _files(answer, source):
            # Bytes, or click would take away from a name what looks like a colour.
            click.echo(printable(path) if is_terminal(sys.stdout) else path.encode())
    else:
        paint = _paint(source, links)
        print_text(_rendered(answer, shape, now=now, paint=paint))


def _rendered(answer: SearchResults, shape: Shape, *, now: datetime, paint: Paint) -> str:
    # Each look is imported when it is asked for: most searches print a table.
    width = width_of(sys.stdout, os.environ)
    if shape.show_scores and shape.legacy:
        from aurora.display.boxes import render_legacy_scores

        return render_legacy_scores(
            answer, now=now, width=width, context=shape.context, paint=paint
        )
    if shape.show_scores:
        from aurora.display.boxes import render_boxes

        return render_boxes(
            answer, now=now, width=width, past=shape.past, context=shape.context, paint=paint
        )
    if shape.context is not None:
        from aurora.display.boxes import render_blocks

        return render_blocks(answer, now=now, context=shape.context, past=shape.past, paint=paint)
    from aurora.display.table import render_table

    return render_table(answer.results, now=now, width=width, past=shape.past, paint=paint)


def _paint(source: Source, links: str) -> Paint:
    """Colour and links as far as stdout has them and the settings want them."""
    colour = has_colour(sys.stdout, os.environ)
    chosen = links != "never" and is_terminal(sys.stdout)
    if not (has_links(sys.stdout, os.environ) if links == "auto" else chosen):
        return Paint(colour)

    return Paint(colour, make_link("" if links == "auto" else links, source.root))


def _files(answer: SearchResults, source: Source) -> list[str]:
    """The files of the results, each once, the best first, as they are named from here."""
    paths = dict.fromkeys(result.chunk.path for result in answer.results if result.chunk.path)
    return [_from_here(path, source.root) for path in paths]


def _from_here(path: str, root: Path | None) -> str:
    """Stored paths start at the project's root, wherever in it one is."""
    if root is None or root == Path.cwd() or Path(path).is_absolute():
        return path
    return os.path.relpath(root / path)


# Seed 000, 7.5, to the letter.
_NOTICE = (
    "Note: Search output format has changed. Use --legacy for old format.\n"
    "See CHANGELOG.md for details. (This message won't show again)"
)


def open_searchable() -> Memory:
    """The memory of the working directory; where there is none, a person is asked to make one."""
    memory = open_memory()
    if memory.exists or not (is_terminal(sys.stdin) and is_terminal(sys.stderr)):
        return memory  # a script is told how, by the search itself
    from aurora.cli.index import index_into, places_for_index

    click.echo(f"There is no memory yet at {shown_name(memory.name)}", err=True)
    if not click.confirm(f"Index {shown(Path.cwd())} now?", default=True, err=True):
        return memory
    memory.close()
    memory = open_memory(places_for_index())
    index_into(memory, [Path()], talk=True)
    return memory


def tell_of_the_format(places: Places) -> None:
    """The notice of seed 000, 7.5, once: what cannot be remembered as told is not told."""
    from aurora.config.edit import set_value

    try:
        set_value(places.user_config, "ui.shown_search_format_notice", "true")
    except AuroraError as exc:
        logger.info("the notice about the format cannot be kept: %s", exc.message)
    else:
        for line in _NOTICE.splitlines():
            tell(Note(line))


def _pairs(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    pairs = [value.partition("=") for value in values]
    if wrong := [key for key, equals, _ in pairs if not key or not equals]:
        raise click.BadParameter(f"{wrong[0]!r} is no KEY=VALUE", ctx, param)
    return {key: value for key, _, value in pairs}


def _number(ctx: click.Context, param: click.Parameter, value: float | None) -> float | None:
    if value is not None and math.isnan(value):
        raise click.BadParameter("nan is no number", ctx, param)
    return value


class _Search(click.Command):
    """Who types `session -cookie` means a word to leave out: a shell makes an option of it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as exc:
            if exc.option_name.startswith("--"):
                raise
            told = f"{exc.message} Words to leave out go inside quotes: 'session -cookie'."
            raise click.NoSuchOption(exc.option_name, told, ctx=ctx) from exc


@click.command(
    cls=_Search,
    epilog="""\b
Examples:
  aur mem search "parse the config file"
  aur mem search getUserData --limit 3
  aur mem search 用户认证
  aur mem search "retry" --type function,method --path "src/**"
  aur mem search 'type:class since:7d "request context" -test'
  aur mem search "session cookie" --show-scores
  aur mem search "session cookie" --context 2
  aur mem search "session cookie" --json | jq -r '.results[].id'
  vim $(aur mem search -l "session cookie")
\b
What is printed:
  File            | Type     | Name              | Lines | Score | Commits | Last Modified
  auth_manager.py | function | authenticate_user | 45-67 | 0.856 | 23      | 2 days ago
  oauth-impl.md   | know     | OAuth Setup       | -     | 0.654 | -       | 2025-12-15""",
)
@click.argument("query", nargs=-1, required=True)
@click.option(
    "--limit", "-n", type=click.IntRange(min=1), default=DEFAULT_LIMIT, show_default=True,
    help="How many results to show.",
)  # fmt: skip
@click.option(
    "--mode", type=click.Choice(list(Mode), case_sensitive=False),
    help="By what to find: words, meaning, or everything.",
)  # fmt: skip
@click.option(
    "--fusion", type=click.Choice(list(FUSIONS), case_sensitive=False),
    help="How to combine the signals.",
)  # fmt: skip
@click.option(
    "--rerank", type=click.Choice(list(Rerank), case_sensitive=False),
    help="Look at the first 20 again: `local` with a model of the extra `onnx`; `llm` with the one "
    "of llm.endpoint, which is sent the query and a part of each.",
)  # fmt: skip
@click.option(
    "--expand/--no-expand", default=None,
    help="Search for related words, too: the model of llm.endpoint names them, and is sent the "
    "query.",
)  # fmt: skip
@click.option(
    "--type", "types", multiple=True, metavar="TYPE[,TYPE]", shell_complete=complete_kinds,
    help="Only these: function, method, class, code, reasoning, knowledge.",
)  # fmt: skip
@click.option(
    "--path",
    "paths",
    multiple=True,
    metavar="GLOB",
    help="Only files that match, as in .gitignore.",
)
@click.option(
    "--language", "languages", multiple=True, metavar="NAME", help="Only this language.",
    shell_complete=complete_languages,
)  # fmt: skip
@click.option("--name", "names", multiple=True, metavar="GLOB", help="Only chunks named so.")
@click.option(
    "--namespace", "namespaces", multiple=True, metavar="NAME", help="Only documents there.",
    shell_complete=complete_namespaces,
)  # fmt: skip
@click.option(
    "--document-type", "document_types", multiple=True, metavar="TYPE", help="Only such documents."
)
@click.option(
    "--meta",
    "metadata",
    multiple=True,
    metavar="KEY=VALUE",
    callback=_pairs,
    help="Only with this metadata.",
)
@click.option("--since", metavar="DATE", help="Only what changed since: 2026-01-31, 7d, 3mo.")
@click.option(
    "--min-score", type=click.FloatRange(0.0, 1.0), callback=_number,
    help="Leave out what matches less than this.",
)  # fmt: skip
@click.option("--show-scores", is_flag=True, help="Show what each score is made of, and why.")
@click.option(
    "--context", "-C", type=click.IntRange(min=0), metavar="N",
    help="Show the line that matches best, with N lines around it.",
)  # fmt: skip
@click.option(
    "--files-with-matches", "-l", "files", is_flag=True, help="Print only the names of files."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
@click.option(
    "--legacy/--no-legacy", default=None, help="Leave out the columns Commits and Last Modified."
)
@click.option("--no-git", is_flag=True, help="Leave out what git knows: commits and changes.")
@click.option("--exit-code", is_flag=True, help="Exit with 1 when nothing is found.")
def search(
    query: tuple[str, ...],
    *,
    limit: int,
    mode: str | None,
    fusion: str | None,
    rerank: str | None,
    expand: bool | None,
    min_score: float | None,
    legacy: bool | None,
    no_git: bool,
    show_scores: bool,
    as_json: bool,
    files: bool,
    context: int | None,
    exit_code: bool,
    **filters: object,
) -> None:
    """Find the chunks that fit a query of plain words, the best first.

    Inside the query, "exact phrase", -word and type: path: lang: name: since: narrow down, too.

    Exits with 0 whether something was found or not, and with 2 when the search failed.
    """
    if files and (as_json or show_scores or context is not None):
        raise click.UsageError("--files-with-matches prints names and nothing beside them.")
    now = datetime.now(UTC)
    criteria: Criteria = read_criteria(now=now, **filters)  # type: ignore[arg-type]
    with open_searchable() as memory:
        answer = memory.search(
            " ".join(query),
            limit=limit,
            mode=mode,
            fusion=fusion,
            criteria=criteria,
            min_score=min_score,
            rerank=rerank,
            expand=expand,
        )
        source = Source(memory.name, memory.admin.root, memory.admin.indexed_at)
        ui = memory.settings.ui
    if legacy is None:
        legacy = ui.default_search_format == "legacy"
    shape = Shape(legacy, show_scores, not no_git, as_json, files, context)
    if answer.results and shape.is_table and not (legacy or ui.shown_search_format_notice):
        tell_of_the_format(memory.places)
    print_answer(answer, source, shape, now=now, links=ui.links)
    if shape.is_table and shape.past and is_stale(answer.results, now):
        tell(Note("(metadata may be stale) read git again with `aur mem index`", warning=True))
    if exit_code and not answer.results:
        end_in_part()


_FILE = "file://{host}{path}#{line}"  # kitty goes to the line, others at least to the file


def make_link(pattern: str, root: Path | None) -> Callable[[Chunk, int], str]:
    """Chunk and line → address, by a pattern such as `vscode://file{path}:{line}`."""
    from platform import node
    from urllib.parse import quote

    host = "" if sys.platform == "win32" else quote(node())  # Windows takes it for a share
    base = root or Path.cwd()

    def link(chunk: Chunk, line: int) -> str:
        path = quote((base / chunk.path).as_posix())
        absolute = path if path.startswith("/") else f"/{path}"  # C:/x on Windows
        address = (pattern or _FILE).replace("{host}", host).replace("{line}", str(line))
        return address.replace("{path}", absolute)

    return link
