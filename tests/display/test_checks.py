"""Findings as a screen: marks before every line, hints below, the outcome last."""

from __future__ import annotations

import pytest

from aurora.display.reports import findings_record, render_findings
from aurora.display.table import Paint
from aurora.report_types import Finding, Level

TITLES = {"program": "Program", "memory": "Memory"}
FINE = Finding(Level.OK, "program", "Python 3.11")
LACKING = Finding(Level.NOTE, "program", "watchfiles: missing", "pip install it")
OPEN = Finding(Level.WARN, "memory", "others can read it", "chmod 700 .")
BROKEN = Finding(Level.FAIL, "memory", "memory.db is damaged:\npage 3\npage 4", "move it away")


def test_a_block_for_each_area_with_marks_hints_and_the_outcome() -> None:
    assert render_findings([BROKEN, FINE, LACKING, OPEN], TITLES) == (
        "Program\n"
        "  ok    Python 3.11\n"
        "  note  watchfiles: missing\n"
        "        hint: pip install it\n"
        "\n"
        "Memory\n"
        "  FAIL  memory.db is damaged:\n"
        "        page 3\n"
        "        page 4\n"
        "        hint: move it away\n"
        "  warn  others can read it\n"
        "        hint: chmod 700 .\n"
        "\n"
        "1 check failed, 1 warning."
    )


@pytest.mark.parametrize(
    ("findings", "outcome"),
    [
        ([], "All is well."),
        ([FINE, LACKING], "All is well."),
        ([FINE, OPEN], "Nothing failed, 1 warning."),
        ([OPEN, OPEN], "Nothing failed, 2 warnings."),
        ([BROKEN], "1 check failed."),
        ([BROKEN, BROKEN, OPEN, OPEN], "2 checks failed, 2 warnings."),
    ],
)
def test_the_outcome_in_one_line(findings: list[Finding], outcome: str) -> None:
    assert render_findings(findings, TITLES).splitlines()[-1] == outcome


def test_colour_is_only_on_the_mark() -> None:
    plain, coloured = (
        render_findings([OPEN], TITLES, paint=Paint(colour)) for colour in (False, True)
    )
    assert "\033" not in plain
    assert coloured.splitlines()[1] == "  \033[33mwarn\033[0m  others can read it"


def test_what_a_strangers_file_says_does_not_reach_the_terminal() -> None:
    evil = Finding(Level.OK, "memory", "a\033[2Jb", "c\rd")
    assert "\033" not in render_findings([evil], TITLES)
    assert "\r" not in render_findings([evil], TITLES)


def test_programs_get_every_field_and_whether_all_is_well() -> None:
    assert findings_record([OPEN]) == {
        "ok": True,
        "findings": [
            {"level": "warn", "area": "memory", "text": "others can read it", "hint": "chmod 700 ."}
        ],
    }
    assert findings_record([OPEN, BROKEN])["ok"] is False
