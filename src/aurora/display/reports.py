"""What a memory holds: facts, then counts with a small chart beside them.

What a run of indexing did, in the words of seed 000, FR-11.

The findings of an examination: a screen with a mark before every line.

How a database is, line by line.

Embedding models, a line each: for people as columns, for programs as records.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from aurora.display.table import PLAIN, Paint, aligned, pad, relative_time
from aurora.text import pluralize, printable
from aurora.types import Finding, Json, Kind, Level, ModelEntry

BLOCKS = "▏▎▍▌▋▊▉█"  # an eighth of a cell, two eighths, … a whole one
HASHES = "#"  # for a terminal that has no blocks
_LONGEST, _SHORTEST = 30, 4  # cells: a longer bar says nothing more, a shorter one nothing
_GAP = "  "
_MOST_NAMESPACES = 10
_UNNAMED = "(unnamed)"


def render_stats(
    facts: Mapping[str, str],
    chunks: Mapping[Kind, int],
    namespaces: Mapping[str, int] | None = None,
    *,
    width: int | None = None,
    blocks: str = BLOCKS,
) -> str:
    """Facts about a memory, its namespaces if any has a name, and its chunks by kind.

    Charts are at most as wide as the terminal allows; facts are not cut.
    """
    tables = {"Chunks": (sum(chunks.values()), _kinds(chunks))}
    if namespaces and any(namespaces):
        tables = {"Namespaces": (len(namespaces), _largest(namespaces)), **tables}
    names = [*facts, *(name for title, (_, counts) in tables.items() for name in (title, *counts))]
    column = max(map(cell_len, names))
    lines = [f"{pad(name, column)}{_GAP}{value}" for name, value in facts.items()]
    for title, (total, counts) in tables.items():
        lines += _table(title, total, counts, column, width=width, blocks=blocks)
    return "\n".join(lines)


def embedder_words(name: str, *, dimension: int, embedded: int, chunks: int) -> str:
    """Who made the vectors, and of how many chunks; the name is empty when nobody did."""
    if not name:
        return "none: search goes by words and use"
    counted = f"{embedded:,} of {chunks:,} chunks have a vector"
    return f"{printable(name)} ({dimension:,} dimensions), {counted}"


def moment_words(at: datetime | None, now: datetime) -> str:
    """A moment as people say it, and its date for those who want to know."""
    return f"{relative_time(now - at)} ({at:%Y-%m-%d %H:%M})" if at else "never"


def _table(
    title: str,
    total: int,
    counts: Mapping[str, int],
    column: int,
    *,
    width: int | None,
    blocks: str,
) -> list[str]:
    numbers = max(len(f"{count:,}") for count in (total, *counts.values()))
    room = _LONGEST if width is None else width - column - numbers - 2 * len(_GAP)
    most = max(counts.values(), default=0)
    lines = [f"{pad(title, column)}{_GAP}{total:>{numbers},}"]
    for name, count in counts.items():
        bar = _bar(count, most, min(room, _LONGEST), blocks)
        row = f"{pad(name, column)}{_GAP}{count:>{numbers},}{_GAP}{bar}"
        lines.append(row.rstrip())
    return lines


def _bar(count: int, most: int, room: int, blocks: str) -> str:
    """As long as its share of the longest; whatever is there at all can be seen."""
    if room < _SHORTEST or not count:
        return ""
    steps = max(round(room * len(blocks) * count / most), 1)
    whole, part = divmod(steps, len(blocks))
    return blocks[-1] * whole + (blocks[part - 1] if part else "")


def _kinds(chunks: Mapping[Kind, int]) -> dict[str, int]:
    return {f"{_GAP}{kind}": chunks[kind] for kind in Kind if kind in chunks}


def _largest(namespaces: Mapping[str, int]) -> dict[str, int]:
    ordered = sorted(namespaces.items(), key=lambda item: (-item[1], item[0]))
    shown = {
        f"{_GAP}{printable(name) or _UNNAMED}": count for name, count in ordered[:_MOST_NAMESPACES]
    }
    if rest := ordered[_MOST_NAMESPACES:]:
        shown[f"{_GAP}… and {len(rest):,} more"] = sum(count for _, count in rest)
    return shown


_CODE = (Kind.FUNCTION, Kind.METHOD, Kind.CLASS, Kind.CODE)


def render_index_summary(
    *, files: int, chunks: Mapping[Kind, int], warnings: int, errors: int, index: str
) -> str:
    """The summary of FR-11.1 with the index line of FR-11.5."""
    code = sum(chunks.get(kind, 0) for kind in _CODE)
    return "\n".join([
        "Indexing complete!",
        "",
        "Summary:",
        f"  Files scanned: {files}",
        f"  Code chunks: {code}",
        f"  Reasoning chunks: {chunks.get(Kind.REASONING, 0)}",
        f"  Knowledge chunks: {chunks.get(Kind.KNOWLEDGE, 0)}",
        f"  Total chunks: {sum(chunks.values())}",
        "",
        f"  Errors: {errors}",
        f"  Warnings: {warnings}",
        "",
        index,
    ])  # fmt: skip


def render_index_line(chunks: int, saved_to: str) -> str:
    """The line of FR-11.5; `saved_to` is empty when the index could not be written."""
    where = f"saved to {saved_to}" if saved_to else "not saved"
    return f"BM25 index: Built ({pluralize(chunks, 'chunk')} indexed, {where})"


def render_refresh(
    at: datetime, *, read: int, removed: int, left_out: int, histories: int, seconds: float
) -> str:
    """One run of a watch in one line."""
    counts = f"read {read}, removed {removed}, left out {left_out}, histories {histories}"
    return f"{at:%Y-%m-%d %H:%M:%S}  {counts}, {seconds:.2f} s"


def human_size(count: int) -> str:
    """Bytes as a person would say it."""
    size = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if round(size, 1) < 1024 or unit == "GiB":
            break
        size /= 1024
    return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"


# Understood without colour; a failure is seen at once in any list.
_MARKS = {Level.OK: "ok", Level.NOTE: "note", Level.WARN: "warn", Level.FAIL: "FAIL"}
_COLOURS = {Level.OK: "32", Level.NOTE: "36", Level.WARN: "33", Level.FAIL: "1;31"}
_WIDTH = max(map(len, _MARKS.values()))
_INDENT = " " * (_WIDTH + 4)


def render_findings(
    findings: Sequence[Finding], titles: Mapping[str, str], *, paint: Paint = PLAIN
) -> str:
    """A block for each area, in the order of the titles, and how it all came out."""
    blocks = []
    for area, title in titles.items():
        lines = [_lines(finding, paint) for finding in findings if finding.area == area]
        if lines:
            blocks.append("\n".join([title, *lines]))
    return "\n\n".join([*blocks, _outcome(findings)])


def findings_record(findings: Sequence[Finding]) -> dict[str, Json]:
    """The same for programs."""
    return {
        "ok": not any(finding.level is Level.FAIL for finding in findings),
        "findings": [
            {
                "level": str(finding.level),
                "area": finding.area,
                "text": finding.text,
                "hint": finding.hint,
            }
            for finding in findings
        ],
    }


def _lines(finding: Finding, paint: Paint) -> str:
    mark = paint.styled(_COLOURS[finding.level], f"{_MARKS[finding.level]:<{_WIDTH}}")
    hint = [f"hint: {finding.hint}"] if finding.hint else []
    first, *rest = map(printable, [*finding.text.split("\n"), *hint])
    return "\n".join([f"  {mark}  {first}", *(f"{_INDENT}{line}" for line in rest)])


def _outcome(findings: Sequence[Finding]) -> str:
    counts = Counter(finding.level for finding in findings)
    failed, warnings = counts[Level.FAIL], counts[Level.WARN]
    also = f", {pluralize(warnings, 'warning')}" if warnings else ""
    if failed:
        return f"{pluralize(failed, 'check')} failed{also}."
    return f"Nothing failed{also}." if also else "All is well."


_UNTOLD = "cannot be told"


def render_database(
    address: str,
    hosts: Sequence[Mapping[str, Json]],
    told: Mapping[str, Any],  # JSON, by the names that `--json` has
    untold: Mapping[str, str],
) -> str:
    lines = {"Memory": address}
    lines |= {f"  {host['host']}": _host(host) for host in hosts}
    lines |= dict(_facts({name: f"{_UNTOLD}: {why}" for name, why in untold.items()}, told))
    column = max(map(cell_len, lines))
    return "\n".join(f"{pad(name, column)}  {printable(text)}" for name, text in lines.items())


def _host(host: Mapping[str, Any]) -> str:
    if host["role"] == "unknown":
        return str(host["trouble"])
    if host["role"] == "primary":
        return "primary"
    seconds, size = host.get("lag_seconds"), host.get("lag_bytes")
    lag = [
        f"{size:,} bytes" if size is not None else "",
        f"{seconds:,.1f} s" if seconds is not None else "",
    ]
    return f"standby, behind by {' and '.join(filter(None, lag)) or 'nobody knows how much'}"


def _facts(untold: Mapping[str, str], told: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for label, name, write in _LINES:
        if name in told:
            yield label, write(told)
        elif name in untold:
            yield label, untold[name]
    for label, name in (("Tables", "tables"), ("Indexes", "indexes")):
        if name in told:
            sizes: Mapping[str, int] = told[name]
            yield label, human_size(sum(sizes.values()))
            for part, size in sizes.items():
                yield f"  {part}", human_size(size)
        elif name in untold:
            yield label, untold[name]


def _schema(told: Mapping[str, Any]) -> str:
    version, newest = told["schema_version"], told["newest_schema"]
    if not version:
        return "no memory yet"
    if version != newest:
        return f"{version}, while this Aurora writes {newest}"
    stale = "" if told.get("words_are_current") else "; words of another Aurora: `aur db migrate`"
    return f"{version}, the newest{stale}"


def _connections(told: Mapping[str, Any]) -> str:
    counts = told["connections"]
    return f"{counts['used']:,} of {counts['most']:,}, {counts['ours']:,} of Aurora"


_LINES = (
    ("Server", "server", lambda told: f"PostgreSQL {told['server']}"),
    (
        "Connection",
        "encrypted",
        lambda told: "encrypted (TLS)" if told["encrypted"] else "not encrypted",
    ),
    (
        "Pages",
        "checksums",
        lambda told: (
            "with checksums"
            if told["checksums"] == "on"
            else "without checksums: damage on its disk goes unnoticed"
        ),
    ),
    ("pgvector", "pgvector", lambda told: str(told["pgvector"] or "not there")),
    ("Schema", "schema_version", _schema),
    ("Chunks", "chunks", lambda told: f"{told['chunks']:,}"),
    ("Vectors", "vectors", lambda told: f"{told['vectors']:,}"),
    ("  compared", "compared", lambda told: str(told["compared"])),
    ("Partitions", "partitions", lambda told: str(told["partitions"] or "none")),
    ("Connections", "connections", _connections),
)


_TITLES = ("Name", "State", "Dimension", "Window", "Size", "Licence", "Source")
_UNKNOWN = "-"


def render_models(entries: Sequence[ModelEntry]) -> str:
    """Columns as wide as what is in them. Nothing is cut: the source, the longest, is last."""
    rows = [_TITLES, *map(_cells, entries)]
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        _GAP.join(pad(cell, width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def models_record(entries: Sequence[ModelEntry], folder: str) -> dict[str, Json]:
    """The same for programs; `bytes` is 0 for what is not installed."""
    return {
        "folder": folder,
        "models": [
            {
                "name": entry.name,
                "state": str(entry.state),
                "dimension": entry.dimension,
                "window": entry.window,
                "bytes": entry.size,
                "licence": entry.licence,
                "source": entry.source,
            }
            for entry in entries
        ],
    }


def megabytes(size: int) -> str:
    """Bytes as people say them."""
    return f"{size / 1e6:,.0f} MB" if size >= 1e6 else f"{size / 1e3:,.0f} kB"


def _cells(entry: ModelEntry) -> tuple[str, ...]:
    cells = (
        entry.name,
        str(entry.state),
        f"{entry.dimension:,}" if entry.dimension else "",
        f"{entry.window:,}" if entry.window else "",
        megabytes(entry.size) if entry.size else "",
        entry.licence,
        entry.source,
    )
    return tuple(printable(cell) or _UNKNOWN for cell in cells)
