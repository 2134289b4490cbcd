"""Reports of commands: recall, stats, an index run, `aur doctor`, `aur db status`, `aur models`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from textwrap import shorten
from typing import Any

from aurora.display.table import PLAIN, Paint, aligned, cell_len, pad, relative_time
from aurora.report_types import Finding, Level, ModelEntry
from aurora.text import pluralize, printable
from aurora.types import Json, Kind, Moment, Recall

# --- aur mem stats ---

BLOCKS = "▏▎▍▌▋▊▉█"  # one eighth of a cell to a whole cell
HASHES = "#"  # for an encoding without blocks
_LONGEST, _SHORTEST = 30, 4  # cells of a bar
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
    """Facts, the namespaces if any has a name, and the chunks by kind, with bars.

    Bars are cut to the terminal's width, facts are not.
    """
    kinds = {f"{_GAP}{kind}": chunks[kind] for kind in Kind if kind in chunks}
    tables = {"Chunks": (sum(chunks.values()), kinds)}
    if namespaces and any(namespaces):
        tables = {"Namespaces": (len(namespaces), _largest(namespaces)), **tables}
    names = [*facts, *(name for title, (_, counts) in tables.items() for name in (title, *counts))]
    column = max(map(cell_len, names))
    lines = [f"{pad(name, column)}{_GAP}{value}" for name, value in facts.items()]
    for title, (total, counts) in tables.items():
        lines += _table(title, total, counts, column, width=width, blocks=blocks)
    return "\n".join(lines)


# --- aur recall ---

_TOKENS, _TITLE = 5, 80  # cells of a number of tokens, and of a title


def render_recall(recalled: Recall) -> str:
    """The lines that an agent gets, each after its tokens, and then what was left out."""
    lines = [f"{item.tokens:>{_TOKENS}}  {item.line}" for item in recalled.items]
    total = f"{recalled.tokens:>{_TOKENS}}  of {pluralize(recalled.budget, 'token')}"
    lines.append(total if lines else "Nothing is recalled")
    if recalled.situation.moment is Moment.PROMPT:  # those of a start are told at once
        lines += [printable(note.text) for note in recalled.notes]
    if recalled.left_out:
        lines += ["", "Left out:"]
        lines += [
            f"  {printable(shorten(row.title or row.id, _TITLE, placeholder=' …'))}: {row.reason}"
            for row in recalled.left_out
        ]
    return "\n".join(lines)


def embedder_words(name: str, *, dimension: int, embedded: int, chunks: int) -> str:
    """The model of the vectors and how many chunks have one; without vectors, `name` is empty."""
    if not name:
        return "none: search goes by words and use"
    counted = f"{embedded:,} of {chunks:,} chunks have a vector"
    return f"{printable(name)} ({dimension:,} dimensions), {counted}"


def moment_words(at: datetime | None, now: datetime) -> str:
    """A moment as an age with its date, or `never`."""
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
    """A bar for a count, relative to the largest; every count above 0 is visible."""
    if room < _SHORTEST or not count:
        return ""
    steps = max(round(room * len(blocks) * count / most), 1)
    whole, part = divmod(steps, len(blocks))
    return blocks[-1] * whole + (blocks[part - 1] if part else "")


def _largest(namespaces: Mapping[str, int]) -> dict[str, int]:
    ordered = sorted(namespaces.items(), key=lambda item: (-item[1], item[0]))
    shown = {
        f"{_GAP}{printable(name) or _UNNAMED}": count for name, count in ordered[:_MOST_NAMESPACES]
    }
    if rest := ordered[_MOST_NAMESPACES:]:
        shown[f"{_GAP}… and {len(rest):,} more"] = sum(count for _, count in rest)
    return shown


# --- aur mem index and watch ---

_CODE = (Kind.FUNCTION, Kind.METHOD, Kind.CLASS, Kind.CODE)


def render_index_summary(
    *, files: int, chunks: Mapping[Kind, int], warnings: int, errors: int, index: str
) -> str:
    """The summary of an index run; `index` is the line of `render_index_line`."""
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
    """The line about the keyword index; `saved_to` is empty if it could not be written."""
    where = f"saved to {saved_to}" if saved_to else "not saved"
    return f"BM25 index: Built ({pluralize(chunks, 'chunk')} indexed, {where})"


def human_size(count: int) -> str:
    """Bytes with a unit, such as `1.5 MiB`."""
    size = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if round(size, 1) < 1024 or unit == "GiB":
            break
        size /= 1024
    return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"


# --- aur doctor ---

_MARKS = {Level.OK: "ok", Level.NOTE: "note", Level.WARN: "warn", Level.FAIL: "FAIL"}
_COLOURS = {Level.OK: "32", Level.NOTE: "36", Level.WARN: "33", Level.FAIL: "1;31"}
_WIDTH = max(map(len, _MARKS.values()))
_INDENT = " " * (_WIDTH + 4)


def render_findings(
    findings: Sequence[Finding], titles: Mapping[str, str], *, paint: Paint = PLAIN
) -> str:
    """A block for each area, in the order of the titles, and a summary."""
    blocks = []
    for area, title in titles.items():
        lines = [_lines(finding, paint) for finding in findings if finding.area == area]
        if lines:
            blocks.append("\n".join([title, *lines]))
    return "\n\n".join([*blocks, _outcome(findings)])


def findings_record(findings: Sequence[Finding]) -> dict[str, Json]:
    """The same for `--json`."""
    return {
        "ok": not any(finding.level is Level.FAIL for finding in findings),
        "findings": [asdict(finding) for finding in findings],
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


# --- aur db status ---


def render_database(
    address: str,
    hosts: Sequence[Mapping[str, Json]],
    facts: Mapping[str, Any],  # JSON, by the names that `--json` has
    unknown: Mapping[str, str],  # name → why it is unknown
) -> str:
    lines = {"Memory": address}
    lines |= {f"  {host['host']}": _host(host) for host in hosts}
    lines |= dict(_facts(facts, unknown))
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
    return f"standby, behind by {' and '.join(filter(None, lag)) or 'an unknown amount'}"


def _facts(facts: Mapping[str, Any], unknown: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for label, name, write in _LINES:
        if name in facts:
            yield label, write(facts)
            if name in ("tables", "indexes"):
                yield from ((f"  {part}", human_size(size)) for part, size in facts[name].items())
        elif name in unknown:
            yield label, f"unknown: {unknown[name]}"


def _schema(facts: Mapping[str, Any]) -> str:
    version, newest = facts["schema_version"], facts["newest_schema"]
    if not version:
        return "no memory yet"
    if version != newest:
        return f"{version}, while this Aurora writes {newest}"
    stale = "" if facts.get("words_are_current") else "; words of another Aurora: `aur db migrate`"
    return f"{version}, the newest{stale}"


def _connections(facts: Mapping[str, Any]) -> str:
    counts = facts["connections"]
    return f"{counts['used']:,} of {counts['most']:,}, {counts['ours']:,} of Aurora"


def _checksums(facts: Mapping[str, Any]) -> str:
    if facts["checksums"] == "on":
        return "with checksums"
    return "without checksums: damage on its disk goes unnoticed"


_LINES: tuple[tuple[str, str, Callable[[Mapping[str, Any]], str]], ...] = (
    ("Server", "server", lambda facts: f"PostgreSQL {facts['server']}"),
    ("Connection", "encrypted",
     lambda facts: "encrypted (TLS)" if facts["encrypted"] else "not encrypted"),
    ("Pages", "checksums", _checksums),
    ("pgvector", "pgvector", lambda facts: str(facts["pgvector"] or "not there")),
    ("pg_trgm", "pg_trgm",
     lambda facts: str(facts["pg_trgm"] or "not there: parts of words are slow")),
    ("Schema", "schema_version", _schema),
    ("Chunks", "chunks", lambda facts: f"{facts['chunks']:,}"),
    ("Vectors", "vectors", lambda facts: f"{facts['vectors']:,}"),
    ("  compared", "compared", lambda facts: str(facts["compared"])),
    ("Partitions", "partitions", lambda facts: str(facts["partitions"] or "none")),
    ("Connections", "connections", _connections),
    ("Tables", "tables", lambda facts: human_size(sum(facts["tables"].values()))),
    ("Indexes", "indexes", lambda facts: human_size(sum(facts["indexes"].values()))),
)  # fmt: skip

# --- aur models list ---

_TITLES = ("Name", "State", "Dimension", "Window", "Size", "Licence", "Source")


def render_models(entries: Sequence[ModelEntry]) -> str:
    """A line for each model. Nothing is cut: the source, the longest cell, is last."""
    return "\n".join(aligned([_TITLES, *map(_cells, entries)]))


def models_record(entries: Sequence[ModelEntry], folder: str) -> dict[str, Json]:
    """The same for `--json`; `bytes` is 0 for a model that is not installed."""
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
    """Bytes in MB or kB."""
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
    return tuple(printable(cell) or "-" for cell in cells)
