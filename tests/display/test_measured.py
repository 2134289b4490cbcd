"""What an evaluation found out, as tables and as a picture."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from aurora.display.measurements import render_measured, render_self_check
from aurora.display.plot import make_panel, render_svg
from aurora.report_types import (
    METRICS,
    Bin,
    Check,
    Compared,
    Estimate,
    Measured,
    MeasuredKind,
    MeasuredSet,
    Missed,
    SelfCheck,
)


def measured(system: str, mean: float, milliseconds: float) -> Measured:
    scores = dict.fromkeys(METRICS, Estimate(mean, mean - 0.0321, mean + 0.05))
    return Measured(system, 500, scores, milliseconds, 2 * milliseconds, 3)


SYSTEMS = (measured("keyword", 0.375, 2.46), measured("hybrid/rrf", 0.95, 12.5))
FOUND = MeasuredSet(
    "cosqa", 6267, 2, 500, "static/x", SYSTEMS, {"how": (SYSTEMS[0],)},
    (Compared("keyword", "hybrid/rrf", Estimate(-0.07, -0.1, 0.01), 0.0312, 10, 480, 10),),
)  # fmt: skip


def test_a_table_has_means_and_their_bounds() -> None:
    assert render_measured(FOUND).splitlines() == [
        "cosqa: 500 questions, 6,267 documents in 2 groups, vectors of static/x",
        "            nDCG@10     MRR@10      R@1         R@5         R@10        R@100"
        "       p50 ms  p95 ms  unanswered",
        "keyword     0.375       0.375       0.375       0.375       0.375       0.375"
        "       2.5     4.9     3",
        "            .343-.425   .343-.425   .343-.425   .343-.425   .343-.425   .343-.425",
        "hybrid/rrf  0.950       0.950       0.950       0.950       0.950       0.950"
        "       12.5    25.0    3",
        "            .918-1.000  .918-1.000  .918-1.000  .918-1.000  .918-1.000  .918-1.000",
        "",
        "by nDCG@10                  difference  95 % interval     p       wins-ties-losses",
        "keyword against hybrid/rrf  -0.070      -0.100 to +0.010  0.0312  10-480-10",
    ]


def test_categories_are_shown_if_wanted() -> None:
    lines = render_measured(FOUND, categories=True).splitlines()
    assert lines[7] == "how: 500 questions"
    assert lines[9].startswith("keyword     0.375") or lines[9].startswith("keyword  0.375")


@pytest.mark.parametrize("width", [100, 80, 60, 40])
def test_a_narrow_terminal_gets_fewer_columns(width: int) -> None:
    lines = render_measured(FOUND, width=width).splitlines()[1:6]
    assert "nDCG@10" in lines[0]
    assert max(map(len, lines)) <= max(width, 60)


def test_a_picture_is_a_picture_of_every_system() -> None:
    picture = ET.fromstring(render_svg([FOUND, FOUND]))  # noqa: S314 - our own
    titles = [one.text for one in picture.iter("{http://www.w3.org/2000/svg}title")]
    assert titles == [
        "keyword: 0.375 (0.343 to 0.425), 2.5 ms",
        "hybrid/rrf: 0.950 (0.918 to 1.000), 12.5 ms",
    ] * 2  # fmt: skip
    texts = [one.text for one in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert texts.count("cosqa") == 2
    assert texts[-2:] == ["keyword", "hybrid/rrf"]


@pytest.mark.parametrize(
    ("time", "mean"), [(0.0, 0.5), (1.0, 0.05), (10.0, 0.95), (99.0, 0.5), (1e5, 0.5)]
)
def test_every_point_is_between_the_axes(time: float, mean: float) -> None:
    panel = make_panel(MeasuredSet("x", 1, 1, 1, "", (measured("s", mean, time),)))
    (_, at, _, low, high) = panel.points[0]
    assert panel.x_ticks[0] < at < panel.x_ticks[-1]
    assert panel.y_ticks[0] <= low < high <= panel.y_ticks[-1]
    assert 2 <= len(panel.y_ticks) <= 9


def test_a_name_cannot_break_the_picture() -> None:
    odd = MeasuredSet("<b>&\x1b", 1, 1, 1, "", SYSTEMS)
    assert "&lt;b&gt;&amp;" in render_svg([odd])
    ET.fromstring(render_svg([odd]))  # noqa: S314


def test_a_self_check_with_what_failed() -> None:
    check = SelfCheck(
        "~/shop",
        1200,
        60,
        (
            MeasuredKind("definition", 38, 0.75, 0.9, 2.0, 4.04),
            MeasuredKind("commit", 2, 1, 1, 2, 4),
        ),
        refused=0.05,
        foreign=20,
        false_answers=0.5,
        calibration_error=0.25,
        overconfidence=0.2,
        bins=(Bin(0.4, 0.5, 0.43, 0.1, 3), Bin(0.9, 1.0, 0.95, 1.0, 57)),
        checks=(
            Check("definition first", 0.75, 0.9, True),
            Check("false answers", 0.2, 0.25, False),
            Check("overconfidence", 0.2, 0.15, False),
        ),
        missed=(
            Missed("definition", "heron", "a.py:3", 4, "b.py:heron_x", 0.61),
            Missed("definition", "stork", "a.py:9", 0, "", 0.0),
            Missed("foreign", "how\x1b tall", "", 0, "a.py:f", 0.3),
        ),
        notes=("no symbol questions: there are none",),
    )
    assert render_self_check(check).splitlines() == [
        "~/shop: 1,200 chunks, 60 questions",
        "            asked  first   in five  p50 ms  p95 ms",
        "definition  38     75.0%   90.0%    2.0     4.0",
        "commit      2      100.0%  100.0%   2.0     4.0",
        "no symbol questions: there are none",
        "",
        "answerable questions refused: 5.0%",
        "false answers: 50.0% of 20 questions of another project",
        "calibration error: 0.250, of which scores too high 0.200",
        "",
        "score       mean  right  rows",
        "0.4 to 0.5  0.43  0.10   3",
        "0.9 to 1.0  0.95  1.00   57",
        "",
        "failed: definition first 0.750, must be at least 0.9",
        "failed: overconfidence 0.200, must be at most 0.15",
        "",
        "3 wrong first rows:",
        "  definition 'heron': a.py:3 is at 4, b.py:heron_x 0.610 is first",
        "  definition 'stork': a.py:9 is not in the first five, nothing is first",
        "  foreign 'how� tall': nothing answers it, a.py:f 0.300 is first",
    ]


def test_a_self_check_without_faults_is_short() -> None:
    kinds = (MeasuredKind("definition", 1, 1, 1, 2, 4),)
    check = SelfCheck("here", 1, 1, kinds, 0, 0, 0, 0, 0, (), ())
    assert render_self_check(check).splitlines()[-2:] == [
        "false answers: 0.0% of 0 questions of another project",
        "calibration error: 0.000, of which scores too high 0.000",
    ]
