"""Search results as lines: `path:line`, name, kind and confidence, then the matching text.

A row takes one line, or two where one would not fit: below `WIDE` cells, and for long names. Paths
are never cut, so that terminals and editors can open them; lines of text are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from aurora.display.snippet import Line, matching_lines, render_snippet, snippet
from aurora.display.table import (
    Look,
    Paint,
    cell_len,
    commits_of,
    file_cell,
    is_prose,
    modified_cell,
    name_cell,
    session_command,
)
from aurora.text import printable
from aurora.types import SearchResult, SearchResults

WIDE = 110  # cells: in fewer, each row takes two lines
_MOST_LINES = 3  # of text, unless a context is wanted
_BETWEEN = "  "


def render_lines(results: Sequence[SearchResult], look: Look) -> str:
    """The rows and their text; with a context, an empty line stands between two results."""
    separator = "\n\n" if look.context else "\n"
    return separator.join("\n".join(_row(result, look)) for result in results)


def place_of(result: SearchResult, look: Look) -> str:
    """`path:line`; the path alone where no line is known. Without a path, agent and short id of a
    session, or the id."""
    path, lines = result.chunk.path, result.lines
    if not path:
        return file_cell(result, look)
    return printable(look.path(path)) + (f":{lines.start}" if lines else "")


def title_of(result: SearchResult) -> str:
    """The symbol, or the name of the chunk with the classes or headings around it."""
    chunk = result.chunk
    if result.symbol or not chunk.path:
        return name_cell(result)
    return printable(chunk.qualified_name or chunk.name)


def outline_words(result: SearchResult, look: Look) -> str:
    """How to get the whole of an outline; empty for a result that is shown as it is."""
    chunk = result.chunk
    if result.symbol or not chunk.is_outline:
        return ""
    whole_id = chunk.id.removesuffix(f"@{chunk.metadata.get('part')}")  # of a piece
    id_ = look.path(chunk.path) + whole_id.removeprefix(chunk.path)
    return f"outline; for the whole: aur mem get {printable(_quoted(id_))}"


def _row(result: SearchResult, look: Look) -> Iterator[str]:
    yield from _head(result, look)
    yield from render_snippet(_text(result, look), look.paint, look.width)
    if words := outline_words(result, look):
        yield f"  {look.paint.faint(words)}"
    if command := session_command(result):
        yield f"  {look.paint.faint(f'open: {command}')}"
    if result.remarks:
        yield f"  {look.paint.faint(printable('; '.join(result.remarks)))}"


def _head(result: SearchResult, look: Look) -> Iterator[str]:
    paint, place = look.paint, place_of(result, look)
    shown_place = paint.place(paint.path(place), result)
    facts, past = _facts(result, look), _past(result, look)
    width = cell_len(_BETWEEN.join([place, *facts, *past]))
    if look.width is None or (look.width >= WIDE and width <= look.width):
        yield _BETWEEN.join([shown_place, *_marked(facts, past, paint)])
        return
    yield shown_place
    fits = cell_len(_BETWEEN.join(["", *facts, *past])) <= look.width
    yield _BETWEEN.join(["", *_marked(facts, past if fits else [], paint)])


def _marked(facts: Sequence[str], past: Sequence[str], paint: Paint) -> list[str]:
    return [paint.name(facts[0]), *facts[1:], *map(paint.faint, past)]


def _facts(result: SearchResult, look: Look) -> list[str]:
    """Name, kind and confidence, how many rows the result stands for, and another memory's name."""
    session = result.chunk.session
    kind = result.symbol.kind if result.symbol else str(result.chunk.kind)
    kind = session.form or kind if session else kind
    earlier = "earlier" if session and session.form == "exchange" else "more"
    more = [f"+{result.more} {earlier}"] if result.more else []
    other = [f"[{printable(result.memory)}]"] if result.memory != look.memory else []
    return [title_of(result), printable(kind), f"{result.score:.2f}", *more, *other]


def _past(result: SearchResult, look: Look) -> list[str]:
    """Commits and age as far as they are known: `untracked`, not `- (untracked)`."""
    if not look.past:
        return []
    facts = ["" if is_prose(result) else commits_of(result), modified_cell(result, look.now)]
    return [known for fact in facts if (known := fact.strip("-() "))]


def _text(result: SearchResult, look: Look) -> list[Line]:
    if look.context is None:
        return matching_lines(result, most=_MOST_LINES)
    chunk, terms = result.chunk, result.terms
    return snippet(chunk, terms, context=look.context, symbol=result.symbol)


def _quoted(id_: str) -> str:
    """An id as a shell takes it: that of a heading has spaces."""
    is_plain = all(letter.isalnum() or letter in "_-./:@#+,=%" for letter in id_)
    return id_ if is_plain else "'" + id_.replace("'", "'\\''") + "'"


_SUGGESTIONS = (
    "use fewer or other words: every word counts, none is required",
    "check that the files are indexed: aur mem stats",
    "read new files first: aur mem index .",
)


def render_nothing(answer: SearchResults, look: Look) -> str:
    """What to do when nothing relevant was found, and the best of the rest."""
    suggestions = list(_SUGGESTIONS)
    if answer.filtered:
        suggestions.insert(0, "ask for more: without a filter, or with a wider one")
    if answer.nearest:
        suggestions.insert(0, f"did you mean {', '.join(answer.nearest)}?")
    lines = "\n".join(f"  - {suggestion}" for suggestion in suggestions)
    text = f"No relevant results found\n\nSuggestions:\n{lines}"
    return f"{text}\n\n{_weak_words(answer.weak, look)}" if answer.weak else text


def _weak_words(weak: SearchResult, look: Look) -> str:
    place = look.paint.place(place_of(weak, look), weak)
    return f"The best weak match: {place} {title_of(weak)} ({weak.score:.2f})"
