"""The numbers of `aur eval` and `aur eval --self`: tables for people, records for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from aurora.display.table import PLAIN, Paint, aligned, cell_len, pad
from aurora.report_types import METRICS, Bin, Compared, Measured, MeasuredSet, SelfCheck
from aurora.text import pluralize, printable
from aurora.types import Json

_GAP = "  "
_COMPARED = ("by nDCG@10", "difference", "95 % interval", "p", "wins-ties-losses")
_TIMES = ("p50 ms", "p95 ms", "unanswered")
_DROPPED = ("R@5", "p95 ms", "R@1", "R@100", "MRR@10")  # on a narrow terminal, in this order
_KINDS = ("", "asked", "first", "in five", "p50 ms", "p95 ms")
_BINS = ("score", "mean", "right", "rows")
_SHOWN = 10  # wrong first rows


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


def render_self_check(check: SelfCheck, *, paint: Paint = PLAIN) -> str:
    """A table with a row for each kind of question, the scores, what failed, and some misses."""
    heading = (
        f"{printable(check.where)}: {check.chunks:,} chunks, "
        f"{pluralize(check.questions, 'question')}"
    )
    rows = [
        (
            kind.kind,
            f"{kind.asked:,}",
            f"{kind.first:.1%}",
            f"{kind.in_five:.1%}",
            f"{kind.p50_milliseconds:.1f}",
            f"{kind.p95_milliseconds:.1f}",
        )
        for kind in check.kinds
    ]
    head, *lines = aligned([_KINDS, *rows])
    return "\n".join(
        [
            *(paint.head(heading), paint.faint(head), *lines, *check.notes, ""),
            f"answerable questions refused: {check.refused:.1%}",
            f"false answers: {check.false_answers:.1%} of {check.foreign} questions of another "
            "project",
            f"calibration error: {check.calibration_error:.3f}, of which scores too high "
            f"{check.overconfidence:.3f}",
            *_calibration(check.bins, paint),
            *_failed(check),
            *_missed(check),
        ]
    )


def _calibration(bins: Sequence[Bin], paint: Paint) -> list[str]:
    rows = [
        (
            f"{group.low:.1f} to {group.high:.1f}",
            f"{group.score:.2f}",
            f"{group.right:.2f}",
            f"{group.rows:,}",
        )
        for group in bins
    ]
    head, *lines = aligned([_BINS, *rows])
    return ["", paint.faint(head), *lines] if rows else []


def _failed(check: SelfCheck) -> list[str]:
    failed = [one for one in check.checks if not one.is_passed]
    lines = [
        f"failed: {one.what} {one.value:.3f}, must be at {'least' if one.is_least else 'most'} "
        f"{one.limit:g}"
        for one in failed
    ]
    return ["", *lines] if lines else []


def _missed(check: SelfCheck) -> list[str]:
    """Some of the questions whose first row is wrong."""
    if not check.missed:
        return []
    lines = ["", f"{pluralize(len(check.missed), 'wrong first row')}:"]
    for missed in check.missed[:_SHOWN]:
        place = f"at {missed.place}" if missed.place else "not in the first five"
        right = f"{printable(missed.right)} is {place}" if missed.right else "nothing answers it"
        first = f"{printable(missed.first)} {missed.score:.3f}" if missed.first else "nothing"
        lines.append(f"  {missed.kind} {printable(missed.query)!r}: {right}, {first} is first")
    more = len(check.missed) - _SHOWN
    return lines + ([f"  … {more} more: --json has all"] if more > 0 else [])


def self_check_record(check: SelfCheck) -> dict[str, Json]:
    return {
        "version": 1,
        "where": check.where,
        "ok": check.is_passed,
        "chunks": check.chunks,
        "questions": check.questions,
        "kinds": {
            kind.kind: {
                "asked": kind.asked,
                "first": kind.first,
                "in_five": kind.in_five,
                "milliseconds": {"p50": kind.p50_milliseconds, "p95": kind.p95_milliseconds},
            }
            for kind in check.kinds
        },
        "refused": check.refused,
        "foreign": check.foreign,
        "false_answers": check.false_answers,
        "calibration_error": check.calibration_error,
        "overconfidence": check.overconfidence,
        "bins": [dict(group._asdict()) for group in check.bins],
        "checks": [{**one._asdict(), "is_passed": one.is_passed} for one in check.checks],
        "missed": [dict(missed._asdict()) for missed in check.missed],
        "notes": list(check.notes),
    }
