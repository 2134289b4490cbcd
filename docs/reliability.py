"""Draws docs/concepts/reliability.svg: the share of right first results by their confidence.

python docs/reliability.py benchmarks/results/calibration-<commit>.json
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

SIZE, LEFT, BOTTOM = 300, 60, 330
SERIES = (
    ("repositories", "code: 16 repositories", "#0072B2"),
    ("sets", "prose and code: 8 labelled sets", "#D55E00"),
)
FEWEST = 8  # questions in a bin that is drawn


def draw(measured: dict) -> Iterator[str]:
    yield (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 390 420" width="390" height="420" '
        'font-family="Helvetica, Arial, sans-serif" font-size="12" fill="#333">'
    )
    yield '<rect width="390" height="420" fill="white"/>'
    for tick in range(0, 11, 2):
        at = tick / 10
        yield f'<path d="M{x(at)} {y(0)}V{y(1)}M{x(0)} {y(at)}H{x(1)}" stroke="#ddd"/>'
        yield f'<text x="{x(at)}" y="{y(0) + 16}" text-anchor="middle">{at:g}</text>'
        yield f'<text x="{x(0) - 8}" y="{y(at) + 4}" text-anchor="end">{at:g}</text>'
    yield f'<path d="M{x(0)} {y(0)}L{x(1)} {y(1)}" stroke="#999" stroke-dasharray="4 4"/>'
    yield f'<text x="{x(0.5)}" y="{y(0) + 34}" text-anchor="middle">confidence shown</text>'
    turned = f'text-anchor="middle" transform="rotate(-90 16 {y(0.5)})"'
    yield f'<text x="16" y="{y(0.5)}" {turned}>share of right first results</text>'
    for number, (part, title, colour) in enumerate(SERIES):
        bins = [each for each in measured[part]["reliability"] if each[2] >= FEWEST]
        line = "L".join(f"{x(mean)} {y(share)}" for mean, share, _ in bins)
        yield f'<path d="M{line}" fill="none" stroke="{colour}" stroke-width="2"/>'
        for mean, share, count in bins:
            note = f"<title>{count} questions</title>"
            yield f'<circle cx="{x(mean)}" cy="{y(share)}" r="4" fill="{colour}">{note}</circle>'
        top = y(0) + 56 + 18 * number
        yield f'<circle cx="{x(0) + 5}" cy="{top - 4}" r="4" fill="{colour}"/>'
        yield f'<text x="{x(0) + 16}" y="{top}">{title}</text>'
    yield "</svg>"


def x(share: float) -> float:
    return round(LEFT + SIZE * share, 1)


def y(share: float) -> float:
    return round(BOTTOM - SIZE * share, 1)


if __name__ == "__main__":
    results = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    target = Path(__file__).parent / "concepts" / "reliability.svg"
    target.write_text("\n".join(draw(results["hybrid"])) + "\n", encoding="utf-8")
