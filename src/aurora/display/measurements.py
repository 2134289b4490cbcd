"""The numbers of `aur eval` and `aur eval --self`: tables for people, records for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from aurora.display.table import PLAIN, Paint, aligned, cell_len, pad
from aurora.report_types import METRICS, Compared, Measured, MeasuredNames, MeasuredSet
from aurora.text import pluralize, printable
from aurora.types import Json

_GAP = "  "
_COMPARED = ("by nDCG@10", "difference", "95 % interval", "p", "wins-ties-losses")
_TIMES = ("p50 ms", "p95 ms", "unanswered")
_DROPPED = ("R@5", "p95 ms", "R@1", "R@100", "MRR@10")  # on a narrow terminal, in this order
_NAMES = ("", "asked", "P@1", "MRR@10", "p50 ms", "p95 ms")
_SHOWN = 5  # missed names


def render_measured(
    measured: MeasuredSet,
    *,
    width: int | None = None,
    categories: bool = False,
    paint: Paint = PLAIN,
) -> str:
    """A heading, the table of all questions, a table for each category, and the comparison."""
    groups = f" in {pluralize(measured.groups, 'group')}" if measured.groups > 1 else ""
    vectors = f"vectors of {printable(measured.embedder)}" if measured.embedder else "no vectors"
    heading = (
        f"{printable(measured.name)}: {measured.questions:,} questions, "
        f"{measured.documents:,} documents{groups}, {vectors}"
    )
    lines = [paint.head(heading), *_table(measured.systems, width, paint)]
    for name, systems in measured.categories.items() if categories else ():
        count = pluralize(systems[0].questions, "question")
        lines += ["", paint.head(f"{printable(name)}: {count}"), *_table(systems, width, paint)]
    if measured.compared:
        lines += ["", *_comparison(measured.compared, paint)]
    return "\n".join(lines)


def _table(systems: Sequence[Measured], width: int | None, paint: Paint) -> list[str]:
    """Two lines for each system: the means, and below them the bounds of the intervals."""
    columns = ["", *METRICS, *_TIMES]
    rows = [row for system in systems for row in _rows(system)]
    widths = {name: max(cell_len(name), *(cell_len(row[name]) for row in rows)) for name in columns}
    for name in _DROPPED:
        if width is not None and sum(widths.values()) + len(_GAP) * (len(widths) - 1) > width:
            del widths[name]
    lines = [_GAP.join(pad(row[name], widths[name]) for name in widths).rstrip() for row in rows]
    head = _GAP.join(pad(name, cells) for name, cells in widths.items()).rstrip()
    return [
        paint.faint(head),
        *(paint.faint(line) if at % 2 else line for at, line in enumerate(lines)),
    ]


def _rows(measured: Measured) -> tuple[dict[str, str], dict[str, str]]:
    means = {name: f"{score.mean:.3f}" for name, score in measured.scores.items()}
    bounds = {
        name: "-".join(f"{bound:.3f}".removeprefix("0") for bound in (score.low, score.high))
        for name, score in measured.scores.items()
    }
    p50, p95 = f"{measured.p50_milliseconds:.1f}", f"{measured.p95_milliseconds:.1f}"
    times = dict(zip(_TIMES, (p50, p95, f"{measured.unanswered:,}"), strict=True))
    return {"": measured.system, **means, **times}, {"": "", **bounds, **dict.fromkeys(_TIMES, "")}


def _comparison(compared: Sequence[Compared], paint: Paint) -> list[str]:
    rows = [
        (
            f"{pair.system} against {pair.against}",
            f"{pair.difference.mean:+.3f}",
            f"{pair.difference.low:+.3f} to {pair.difference.high:+.3f}",
            f"{pair.p_value:.4f}",
            f"{pair.wins}-{pair.ties}-{pair.losses}",
        )
        for pair in compared
    ]
    head, *lines = aligned([_COMPARED, *rows])
    return [paint.faint(head), *lines]


def measured_record(measured: MeasuredSet) -> dict[str, Json]:
    """The same numbers for `--json`."""
    return {
        "name": measured.name,
        "questions": measured.questions,
        "documents": measured.documents,
        "groups": measured.groups,
        "embedder": measured.embedder,
        "systems": [_system_record(system) for system in measured.systems],
        "categories": {
            name: [_system_record(system) for system in systems]
            for name, systems in measured.categories.items()
        },
        "comparisons": [
            {**asdict(pair), "difference": pair.difference._asdict()} for pair in measured.compared
        ],
        "warnings": list(measured.warnings),
    }


def _system_record(measured: Measured) -> dict[str, Json]:
    return {
        "system": measured.system,
        "questions": measured.questions,
        "metrics": {name: score._asdict() for name, score in measured.scores.items()},
        "milliseconds": {"p50": measured.p50_milliseconds, "p95": measured.p95_milliseconds},
        "unanswered": measured.unanswered,
    }


def render_names(measured: MeasuredNames, *, paint: Paint = PLAIN) -> str:
    """A table with a row for each form of a name, and some of the names that are not first."""
    heading = (
        f"{printable(measured.where)}: {measured.chunks:,} chunks, {measured.unique:,} names that "
        f"one definition has, {measured.names:,} searched for"
    )
    rows = [
        (
            form.form,
            f"{form.asked:,}",
            f"{form.first:.1%}",
            f"{form.mrr:.3f}",
            f"{form.p50_milliseconds:.1f}",
            f"{form.p95_milliseconds:.1f}",
        )
        for form in measured.forms
    ]
    head, *lines = aligned([_NAMES, *rows])
    return "\n".join([paint.head(heading), paint.faint(head), *lines, *_missed(measured)])


def _missed(measured: MeasuredNames) -> list[str]:
    """The bare names whose definition does not come first."""
    bare = [missed for missed in measured.missed if missed.form == measured.forms[0].form]
    if not bare:
        return []
    lines = ["", f"{len(bare)} not first, of those searched for by name:"]
    lines += [
        f"  {printable(missed.query)}: {printable(missed.definition)} is "
        f"{f'at {missed.place}' if missed.place else 'not among ten'}, "
        f"{printable(missed.first) or 'nothing'} first"
        for missed in bare[:_SHOWN]
    ]
    return lines + ([f"  … {len(bare) - _SHOWN} more: --json has all"] if bare[_SHOWN:] else [])


def names_record(measured: MeasuredNames) -> dict[str, Json]:
    return {
        "version": 1,
        "where": measured.where,
        "chunks": measured.chunks,
        "unique": measured.unique,
        "names": measured.names,
        "forms": {
            form.form: {
                "asked": form.asked,
                "p_at_1": form.first,
                "mrr_at_10": form.mrr,
                "milliseconds": {"p50": form.p50_milliseconds, "p95": form.p95_milliseconds},
            }
            for form in measured.forms
        },
        "missed": [dict(missed._asdict()) for missed in measured.missed],
    }
