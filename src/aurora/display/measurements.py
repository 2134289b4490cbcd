"""What an evaluation found out: tables for people, records for programs.

How well names are found: a table for people, a record for programs.
"""

from __future__ import annotations

from collections.abc import Sequence

from aurora.display.table import PLAIN, Paint, aligned, pad
from aurora.text import pluralize, printable
from aurora.types import METRICS, Compared, Estimate, Json, Measured, MeasuredNames, MeasuredSet

_GAP = "  "
_COMPARED = ("by nDCG@10", "difference", "95 % interval", "p", "wins-ties-losses")
_TIMES = ("p50 ms", "p95 ms", "unanswered")
_SPARED = ("R@5", "p95 ms", "R@1", "R@100", "MRR@10")  # on a narrow terminal, one after the other


def render_measured(
    found: MeasuredSet,
    *,
    width: int | None = None,
    categories: bool = False,
    paint: Paint = PLAIN,
) -> str:
    """A heading, a table of all questions, and one for each category if wanted."""
    lines = [paint.head(_heading(found)), *_table(found.systems, width, paint)]
    for name, systems in found.categories.items() if categories else ():
        asked = pluralize(systems[0].questions, "question")
        lines += ["", paint.head(f"{printable(name)}: {asked}"), *_table(systems, width, paint)]
    if found.compared:
        lines += ["", *_comparison(found.compared, paint)]
    return "\n".join(lines)


def _heading(found: MeasuredSet) -> str:
    groups = f" in {pluralize(found.groups, 'group')}" if found.groups > 1 else ""
    by = f", vectors of {found.embedder}" if found.embedder else ", no vectors"
    return (
        f"{printable(found.name)}: {found.questions:,} questions, "
        f"{found.documents:,} documents{groups}{printable(by)}"
    )


def _table(systems: Sequence[Measured], width: int | None, paint: Paint) -> list[str]:
    """Two lines a system: the means, and below each the bounds of its interval."""
    columns = ["", *METRICS, *_TIMES]
    rows = [row for one in systems for row in _rows(one)]
    widths = {name: max(cell_len(name), *(cell_len(row[name]) for row in rows)) for name in columns}
    for name in _SPARED:
        if width is not None and sum(widths.values()) + len(_GAP) * (len(widths) - 1) > width:
            del widths[name]
    lines = [_GAP.join(pad(row[name], widths[name]) for name in widths).rstrip() for row in rows]
    head = _GAP.join(pad(name, cells) for name, cells in widths.items()).rstrip()
    return [
        paint.faint(head),
        *(paint.faint(line) if at % 2 else line for at, line in enumerate(lines)),
    ]


def _rows(one: Measured) -> tuple[dict[str, str], dict[str, str]]:
    means = {name: f"{score.mean:.3f}" for name, score in one.scores.items()}
    bounds = {name: _bounds(score) for name, score in one.scores.items()}
    times = (
        f"{one.p50_milliseconds:.1f}",
        f"{one.p95_milliseconds:.1f}",
        f"{one.unanswered:,}",
    )
    return (
        {"": one.system, **means, **dict(zip(_TIMES, times, strict=True))},
        {"": "", **bounds, **dict.fromkeys(_TIMES, "")},
    )


def _bounds(score: Estimate) -> str:
    return "-".join(f"{bound:.3f}".removeprefix("0") for bound in score[1:])


def _comparison(compared: Sequence[Compared], paint: Paint) -> list[str]:
    rows = [_COMPARED]
    rows += [
        (
            f"{one.system} against {one.against}",
            f"{one.difference.mean:+.3f}",
            f"{one.difference.low:+.3f} to {one.difference.high:+.3f}",
            f"{one.p_value:.4f}",
            f"{one.wins}-{one.ties}-{one.losses}",
        )
        for one in compared
    ]
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    lines = [
        _GAP.join(pad(cell, cells) for cell, cells in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    return [paint.faint(lines[0]), *lines[1:]]


def measured_record(found: MeasuredSet) -> dict[str, Json]:
    """All of it, for programs."""
    return {
        "name": found.name,
        "questions": found.questions,
        "documents": found.documents,
        "groups": found.groups,
        "embedder": found.embedder,
        "systems": [_system_record(one) for one in found.systems],
        "categories": {
            name: [_system_record(one) for one in systems]
            for name, systems in found.categories.items()
        },
        "comparisons": [_compared_record(one) for one in found.compared],
        "warnings": list(found.warnings),
    }


def _system_record(one: Measured) -> dict[str, Json]:
    return {
        "system": one.system,
        "questions": one.questions,
        "metrics": {name: _estimate_record(score) for name, score in one.scores.items()},
        "milliseconds": {"p50": one.p50_milliseconds, "p95": one.p95_milliseconds},
        "unanswered": one.unanswered,
    }


def _compared_record(one: Compared) -> dict[str, Json]:
    return {
        "system": one.system,
        "against": one.against,
        "difference": _estimate_record(one.difference),
        "p_value": one.p_value,
        "wins": one.wins,
        "ties": one.ties,
        "losses": one.losses,
    }


def _estimate_record(score: Estimate) -> dict[str, Json]:
    return {"mean": score.mean, "low": score.low, "high": score.high}


_HEAD = ("", "asked", "P@1", "MRR@10", "p50 ms", "p95 ms")
_SHOWN = 5  # of those that are not first


def render_names(found: MeasuredNames, *, paint: Paint = PLAIN) -> str:
    heading = (
        f"{printable(found.where)}: {found.chunks:,} chunks, {found.unique:,} names that one "
        f"definition has, {found.names:,} asked for"
    )
    rows = [_HEAD] + [
        (
            one.form,
            f"{one.asked:,}",
            f"{one.first:.1%}",
            f"{one.mrr:.3f}",
            f"{one.p50_milliseconds:.1f}",
            f"{one.p95_milliseconds:.1f}",
        )
        for one in found.forms
    ]
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    lines = [
        _GAP.join(pad(cell, cells) for cell, cells in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    return "\n".join([paint.head(heading), paint.faint(lines[0]), *lines[1:], *_missed(found)])


def _missed(found: MeasuredNames) -> list[str]:
    """The names, as they are written, that something else comes before."""
    bare = [one for one in found.missed if one.form == found.forms[0].form]
    if not bare:
        return []
    lines = ["", f"{len(bare)} not first, of those asked for by name:"]
    lines += [
        f"  {printable(one.query)}: {printable(one.definition)} is "
        f"{f'at {one.place}' if one.place else 'not among ten'}, "
        f"{printable(one.first) or 'nothing'} first"
        for one in bare[:_SHOWN]
    ]
    return lines + ([f"  … {len(bare) - _SHOWN} more: --json has all"] if bare[_SHOWN:] else [])


def names_record(found: MeasuredNames) -> dict[str, Json]:
    return {
        "version": 1,
        "where": found.where,
        "chunks": found.chunks,
        "unique": found.unique,
        "names": found.names,
        "forms": {
            one.form: {
                "asked": one.asked,
                "p_at_1": one.first,
                "mrr_at_10": one.mrr,
                "milliseconds": {"p50": one.p50_milliseconds, "p95": one.p95_milliseconds},
            }
            for one in found.forms
        },
        "missed": [dict(one._asdict()) for one in found.missed],
    }
