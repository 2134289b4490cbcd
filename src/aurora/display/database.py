"""How a database is, line by line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from aurora.display.cells import cell_len, pad
from aurora.display.summary import human_size
from aurora.text import printable
from aurora.types import Json

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
