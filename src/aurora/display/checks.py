"""The findings of an examination: a screen with a mark before every line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from aurora.text import printable
from aurora.types import Finding, Json, Level

# Understood without colour; a failure is seen at once in any list.
_MARKS = {Level.OK: "ok", Level.NOTE: "note", Level.WARN: "warn", Level.FAIL: "FAIL"}
_COLOURS = {Level.OK: "32", Level.NOTE: "36", Level.WARN: "33", Level.FAIL: "1;31"}
_WIDTH = max(map(len, _MARKS.values()))
_INDENT = " " * (_WIDTH + 4)


def render_findings(
    findings: Sequence[Finding], titles: Mapping[str, str], *, colour: bool = False
) -> str:
    """A block for each area, in the order of the titles, and how it all came out."""
    blocks = []
    for area, title in titles.items():
        lines = [_lines(finding, colour) for finding in findings if finding.area == area]
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


def _lines(finding: Finding, colour: bool) -> str:
    mark = f"{_MARKS[finding.level]:<{_WIDTH}}"
    if colour:
        mark = f"\033[{_COLOURS[finding.level]}m{mark}\033[0m"
    hint = [f"hint: {finding.hint}"] if finding.hint else []
    first, *rest = map(printable, [*finding.text.split("\n"), *hint])
    return "\n".join([f"  {mark}  {first}", *(f"{_INDENT}{line}" for line in rest)])


def _outcome(findings: Sequence[Finding]) -> str:
    counts = Counter(finding.level for finding in findings)
    failed, warnings = counts[Level.FAIL], counts[Level.WARN]
    if failed:
        checks = "check" if failed == 1 else "checks"
        also = f", {_counted(warnings)}" if warnings else ""
        return f"{failed} {checks} failed{also}."
    return f"Nothing failed, {_counted(warnings)}." if warnings else "All is well."


def _counted(warnings: int) -> str:
    return "1 warning" if warnings == 1 else f"{warnings} warnings"
