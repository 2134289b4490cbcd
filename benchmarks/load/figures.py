"""Numbers that a run is told by: percentiles of times, and whether a curve is flat."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from load.crowd import Took

Row = dict[str, float]


def milliseconds(seconds: Sequence[float]) -> Row:
    ordered = sorted(seconds)
    row: Row = {"calls": len(ordered)}
    for name, share in (("p50", 0.50), ("p95", 0.95), ("p99", 0.99)):
        row[name] = round(1e3 * ordered[min(int(len(ordered) * share), len(ordered) - 1)], 1)
    return row


def by_tool(calls: Iterable[Took]) -> dict[str, Row]:
    return _by((call.tool, call.seconds) for call in calls)


def by_kind(calls: Iterable[Took]) -> dict[str, Row]:
    return _by((call.kind, call.seconds) for call in calls)


def _by(pairs: Iterable[tuple[str, float]]) -> dict[str, Row]:
    groups: dict[str, list[float]] = defaultdict(list)
    for name, seconds in pairs:
        groups[name].append(seconds)
        groups["all"].append(seconds)
    return {name: milliseconds(groups[name]) for name in sorted(groups, key=_all_last)}


def _all_last(name: str) -> tuple[bool, str]:
    return name == "all", name


def trend(values: Sequence[float], *, seconds: float) -> Row:
    """Of samples over a run: the second quarter, where everything is loaded, beside the last."""
    quarter = max(len(values) // 4, 1)
    second, last = values[quarter : 2 * quarter] or values, values[-quarter:]
    half = values[len(values) // 4 :]
    slope = 0.0
    if len(half) > 1:
        every = seconds / len(values)
        slope = 60 * statistics.linear_regression([every * n for n in range(len(half))], half)[0]
    return {
        "second_quarter": round(statistics.median(second), 1),
        "last_quarter": round(statistics.median(last), 1),
        "most": round(max(values), 1),
        "per_minute": round(slope, 2),
    }


def show(title: str, rows: Mapping[str, Row]) -> None:
    print(title)
    for name, row in rows.items():
        calls, p50, p95, p99 = row.values()
        print(
            f"  {name:<18}{calls:>7,} calls  p50 {p50:>8} ms  p95 {p95:>8} ms  p99 {p99:>8} ms",
            flush=True,
        )
