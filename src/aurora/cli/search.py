"""`aur mem search`: find chunks by words, and narrow down where they may be."""

from __future__ import annotations

import math
import sys
from datetime import UTC, datetime

import click

from aurora.cli.session import open_memory, tell
from aurora.cli.terminal import is_terminal
from aurora.display.past import is_stale
from aurora.display.table import render_table
from aurora.retrieval.config import FUSIONS
from aurora.retrieval.criteria import read_criteria
from aurora.types import DEFAULT_LIMIT, Criteria, Mode, Note, SearchResults


def _pairs(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    pairs = [value.partition("=") for value in values]
    if wrong := [key for key, equals, _ in pairs if not key or not equals]:
        raise click.BadParameter(f"{wrong[0]!r} is no KEY=VALUE", ctx, param)
    return {key: value for key, _, value in pairs}


def _number(ctx: click.Context, param: click.Parameter, value: float | None) -> float | None:
    if value is not None and math.isnan(value):
        raise click.BadParameter("nan is no number", ctx, param)
    return value


@click.command(
    epilog="""\b
Examples:
  aur mem search "parse the config file"
  aur mem search getUserData --limit 3
  aur mem search 用户认证
  aur mem search "retry" --type function,method --path "src/**"
  aur mem search 'type:class since:7d "request context" -test'"""
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
    "--type", "types", multiple=True, metavar="TYPE[,TYPE]",
    help="Only these: function, method, class, code, reasoning, knowledge.",
)  # fmt: skip
@click.option("--path", "paths", multiple=True, metavar="GLOB", help="Only files that match.")
@click.option("--language", "languages", multiple=True, metavar="NAME", help="Only this language.")
@click.option("--name", "names", multiple=True, metavar="GLOB", help="Only chunks named so.")
@click.option(
    "--namespace", "namespaces", multiple=True, metavar="NAME", help="Only documents there."
)
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
def search(
    query: tuple[str, ...],
    limit: int,
    mode: str | None,
    fusion: str | None,
    min_score: float | None,
    **filters: object,
) -> None:
    """Find the chunks that fit a query of plain words, the best first.

    Inside the query, "exact phrase", -word and type: path: lang: name: since: narrow down, too.
    """
    now = datetime.now(UTC)
    criteria: Criteria = read_criteria(now=now, **filters)  # type: ignore[arg-type]
    with open_memory() as memory:
        answer = memory.search(
            " ".join(query),
            limit=limit,
            mode=mode,
            fusion=fusion,
            criteria=criteria,
            min_score=min_score,
        )
    if answer.results:
        click.echo(render_table(answer.results, now=now, width=_terminal_width()))
        if is_stale(answer.results, now):
            tell(Note("(metadata may be stale) read git again with `aur mem index`", warning=True))
    else:
        click.echo(_nothing(answer))


def _nothing(answer: SearchResults) -> str:
    """What to say, and what to do about it."""
    suggestions = [
        "use fewer or other words: every word counts, none is required",
        "check that the files are indexed: aur mem stats",
        "read new files first: aur mem index .",
    ]
    if answer.filtered:
        suggestions.insert(0, "ask for more: without a filter, or with a wider one")
    if answer.nearest:
        suggestions.insert(0, f"did you mean {', '.join(answer.nearest)}?")
    lines = "\n".join(f"  - {suggestion}" for suggestion in suggestions)
    return f"No relevant results found\n\nSuggestions:\n{lines}"


def _terminal_width() -> int | None:
    """How wide a table may be: as the terminal is; in a pipe nothing is cut."""
    if not is_terminal(sys.stdout):
        return None
    import shutil

    return shutil.get_terminal_size().columns
