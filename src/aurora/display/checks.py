"""The findings of an examination: a screen with a mark before every line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from aurora.display.paint import PLAIN, Paint
from aurora.text import many, printable
from aurora.types import Finding, Json, Level

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
    also = f", {many(warnings, 'warning')}" if warnings else ""
    if failed:
        return f"{many(failed, 'check')} failed{also}."
    return f"Nothing failed{also}." if also else "All is well."
