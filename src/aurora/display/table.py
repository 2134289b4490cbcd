"""Search results as a table (`COLUMNS` defines it), and the text tools of all displays.

On a narrow terminal, paths lose their beginning and names their end, then columns are dropped. In a
pipe nothing is cut. Widths are in terminal cells, so CJK columns stay aligned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from aurora.quick_classes import dataclass, replace
from aurora.session_facts import SESSION
from aurora.text import pluralize, printable
from aurora.types import Chunk, ChunkHistory, Kind, SearchResult, Tracking

# --- Text in terminal cells: a wide letter takes two cells, an accent none ---


def cell_len(text: str) -> int:
    """Cells that a text takes. Plain ASCII needs no table of widths, whose import takes time."""
    if _is_plain(text):
        return len(text)
    from rich import cells  # noqa: PLC0415

    return cells.cell_len(text)


def cut(text: str, width: int) -> str:
    """The beginning of a text that is longer than a width."""
    if _is_plain(text):
        return text[: max(width, 0)]
    from rich import cells  # noqa: PLC0415

    return cells.set_cell_size(text, width)


def _is_plain(text: str) -> bool:
    return text.isascii() and text.isprintable()


def pad(text: str, width: int) -> str:
    """The text, filled with spaces up to a width."""
    return text + " " * max(width - cell_len(text), 0)


def keep_start(text: str, width: int) -> str:
    """The text, cut at its end to a width; `…` marks the cut."""
    if cell_len(text) <= width:
        return text
    return cut(text, width - 1).rstrip() + "…"


def keep_end(text: str, width: int) -> str:
    """The text, cut at its beginning to a width: a path keeps its file's name."""
    if cell_len(text) <= width:
        return text
    while cell_len(text) > width - 1:
        text = text[1:]
    return "…" + text


def wrap(text: str, width: int) -> list[str]:
    """Lines of at most a width, broken between words; a longer word is cut."""
    lines: list[str] = []
    for word in text.split():
        if lines and cell_len(lines[-1]) + 1 + cell_len(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(keep_start(word, width))
    return lines or [""]


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """A line for each row, with columns as wide as their cells and two spaces between them."""
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(pad, row, widths)).rstrip() for row in rows]


# --- Colour and links. Escape sequences by hand: a library takes longer than a search ---

_LINK = "\033]8;;{url}\033\\{text}\033]8;;\033\\"  # OSC 8


@dataclass(frozen=True, slots=True)
class Paint:
    """Marks text with colours, and with links if `link` gives the address of a chunk's line."""

    colour: bool = False
    link: Callable[[Chunk, int], str] | None = None

    def head(self, text: str) -> str:
        return self.styled("1", text)

    def faint(self, text: str) -> str:
        return self.styled("2", text)

    def name(self, text: str) -> str:
        return self.styled("1;36", text)

    def path(self, text: str) -> str:
        return self.styled("35", text)  # as grep does

    def match(self, text: str) -> str:
        return self.styled("1;31", text)  # as grep does

    def place(self, text: str, result: SearchResult) -> str:
        """A text that links to the first line of a result in its file."""
        if self.link is None or not result.chunk.path:
            return text
        first = result.lines.start if result.lines else 1
        return _LINK.format(url=self.link(result.chunk, first), text=text)

    def styled(self, code: str, text: str) -> str:
        """Mark a text with the code of an SGR sequence."""
        return f"\033[{code}m{text}\033[0m" if self.colour and text.strip() else text


PLAIN = Paint()


@dataclass(frozen=True, slots=True)
class Look:
    """How results are shown to a person."""

    now: datetime
    width: int | None = None  # cells of a line; None in a pipe
    past: bool = True  # with what git knows
    context: int | None = None  # lines around the best match; None: as the view has it
    paint: Paint = PLAIN
    path: Callable[[str], str] = str  # a stored path as it is shown
    memory: str = ""  # the name of the memory where the user is; others are named


# --- The cells of a result ---

STALE_AFTER = timedelta(days=7)
_ABBREVIATIONS = {Kind.REASONING: "reas", Kind.KNOWLEDGE: "know"}
_UNITS = (
    ("year", 365 * 86400), ("month", 30 * 86400), ("week", 7 * 86400), ("day", 86400),
    ("hour", 3600), ("minute", 60),
)  # fmt: skip


def file_cell(result: SearchResult, look: Look) -> str:
    """The file, or the agent and the short id of a session, or the id of what has neither."""
    chunk = result.chunk
    if session := chunk.session:
        return printable(f"{session.agent} {session.short_id}")
    return printable(look.path(chunk.path) if chunk.path else chunk.id)


def kind_cell(result: SearchResult) -> str:
    if result.symbol:
        return printable(result.symbol.kind)
    if session := result.chunk.session:
        return printable(session.form or SESSION)
    return _ABBREVIATIONS.get(result.chunk.kind, str(result.chunk.kind))


def name_cell(result: SearchResult) -> str:
    """The symbol, or the id after its path: FILE:NAME of a row is what `aur mem get` takes.

    A document, whose id has no path, is shown with its name and its origin, a session by its title.
    """
    chunk = result.chunk
    if result.symbol:
        return printable(result.symbol.name)
    if session := chunk.session:
        return printable(session.title or chunk.name)
    name = chunk.id.removeprefix(f"{chunk.path}:")
    if name == chunk.id:
        name, origin = chunk.qualified_name or chunk.name, str(chunk.metadata.get("origin", ""))
        name = origin if origin.endswith(name) else f"{name} ({origin})" if origin else name
    return printable(name)


def session_command(result: SearchResult) -> str:
    """The command that shows the session of a result; empty for a result of anything else."""
    session = result.chunk.session
    return printable(f"aur sessions show {session.short_id}") if session else ""


def lines_cell(result: SearchResult) -> str:
    lines = result.lines
    return f"{lines.start}-{lines.end}" if lines else "-"


def score_cell(result: SearchResult) -> str:
    return f"{result.score:.3f}"


def commits_cell(result: SearchResult) -> str:
    """How many commits touched the lines of code; `-` for prose."""
    history = result.history
    if is_prose(result) or history is None:
        return "-"
    return _not_tracked(history) or str(len(history.commits))


def modified_cell(result: SearchResult, now: datetime) -> str:
    """How long ago code was changed; the date of prose."""
    history = result.history
    if is_prose(result):
        date = result.chunk.created_at or (history.last_modified if history else None)
        return f"{date:%Y-%m-%d}" if date else "-"
    if history is None:
        return "-"
    if history.last_modified is None:
        return _not_tracked(history) or "- (uncommitted)"
    return relative_time(now - history.last_modified)


def commits_of(result: SearchResult) -> str:
    """`23 commits`, or nothing."""
    count = len(result.history.commits) if result.history else 0
    return pluralize(count, "commit") if count else ""


def is_prose(result: SearchResult) -> bool:
    """Prose has a date of its own instead of commits."""
    return result.chunk.kind in (Kind.REASONING, Kind.KNOWLEDGE)


def is_stale(results: Iterable[SearchResult], now: datetime) -> bool:
    """Whether the git history of some result was read too long ago."""
    read = (result.history.read_at for result in results if result.history)
    return any(at is not None and now - at > STALE_AFTER for at in read)


def relative_time(age: timedelta) -> str:
    """An age in words, such as `2 days ago`; a time in the future is `just now`."""
    seconds = age.total_seconds()
    for unit, length in _UNITS:
        count = int(seconds // length)
        if count >= 1:
            return f"{pluralize(count, unit)} ago"
    return "just now"


def _not_tracked(history: ChunkHistory) -> str:
    return "" if history.tracking is Tracking.TRACKED else f"- ({history.tracking})"


# --- The table ---


@dataclass(frozen=True, slots=True)
class Column:
    """One column of the table. On a narrow terminal, higher `dropped` columns go first."""

    header: str
    cell: Callable[[SearchResult, Look], str]
    dropped: int = 0  # 0: never
    from_git: bool = False  # left out by --no-git and --legacy; its cells shrink to the header
    is_long: bool = False  # its cells shrink to `_READABLE`, and as a last resort to `_NARROWEST`
    cut: Callable[[str, int], str] = keep_start
    mark: Callable[[Paint, str, SearchResult], str] = lambda _paint, text, _result: text


COLUMNS = (
    Column(
        "File", file_cell, is_long=True, cut=keep_end,
        mark=lambda paint, text, result: paint.place(text, result),
    ),
    Column("Type", lambda result, _: kind_cell(result), dropped=2),
    Column(
        "Name", lambda result, _: name_cell(result), is_long=True,
        mark=lambda paint, text, _: paint.name(text),
    ),
    Column("Lines", lambda result, _: lines_cell(result), dropped=1),
    Column("Score", lambda result, _: score_cell(result)),
    Column("Commits", lambda result, _: commits_cell(result), dropped=3, from_git=True),
    Column(
        "Last Modified", lambda result, look: modified_cell(result, look.now), dropped=3,
        from_git=True,
    ),
)  # fmt: skip
_SEPARATOR = " | "
_READABLE, _NARROWEST = 16, 10  # cells


def render_table(results: Sequence[SearchResult], look: Look) -> str:
    """The head, the rule below it, and a line for each result."""
    columns, paint = [column for column in COLUMNS if look.past or not column.from_git], look.paint
    cells = {column: [column.cell(result, look) for result in results] for column in columns}
    widths = _fit({c: max(map(cell_len, (c.header, *cells[c]))) for c in columns}, look.width)
    head = _SEPARATOR.join(pad(column.header, room) for column, room in widths.items())
    lines = [paint.head(head.rstrip()), paint.faint("-+-".join("-" * n for n in widths.values()))]
    for at, result in enumerate(results):
        row = []
        for column, room in widths.items():
            text = column.cut(cells[column][at], room)
            # Only the text is marked, so that no link or colour covers the spaces behind it.
            row.append(column.mark(paint, text, result) + " " * (room - cell_len(text)))
        lines.append(_SEPARATOR.join(row).rstrip())
    return "\n".join(lines)


def table_width(results: Sequence[SearchResult], look: Look) -> int:
    """Cells of the widest row when nothing is cut."""
    return max(
        map(cell_len, render_table(results, replace(look, width=None, paint=PLAIN)).split("\n"))
    )


def _fit(wanted: Mapping[Column, int], width: int | None) -> dict[Column, int]:
    """The columns that fit, with their widths: shrunk, and if that is not enough, dropped."""
    for dropped in sorted({column.dropped for column in wanted}, reverse=True):
        widths = _shrink({c: room for c, room in wanted.items() if c.dropped <= dropped}, width)
        if width is None or _total(widths) <= width:
            break
    return widths


def _shrink(widths: dict[Column, int], width: int | None) -> dict[Column, int]:
    """Take cells from the columns that can be cut, each time from the widest."""
    long = [column for column in widths if column.is_long]
    for least in (
        dict.fromkeys(long, _READABLE),
        {column: len(column.header) for column in widths if column.from_git},
        dict.fromkeys(long, _NARROWEST),
    ):
        while width is not None and _total(widths) > width:
            wide = [column for column in least if widths[column] > least[column]]
            if not wide:
                break
            widths[max(wide, key=widths.__getitem__)] -= 1
    return widths


def _total(widths: Mapping[Column, int]) -> int:
    return sum(widths.values()) + len(_SEPARATOR) * (len(widths) - 1)
