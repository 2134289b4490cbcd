"""How well names are found: a table for people, a record for programs."""

from __future__ import annotations

from aurora.display.cells import cell_len, pad
from aurora.display.paint import PLAIN, Paint
from aurora.text import printable
from aurora.types import Json, MeasuredNames

_GAP = "  "
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
