"""The plot of growth.py: a panel for each thing that is measured, both axes logarithmic."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

PANELS = (
    ("p50_ms", "search, p50, ms"),
    ("p95_ms", "search, p95, ms"),
    ("index_s", "index without embedding, s"),
    ("update_s", "update of one file, s"),
    ("memory_mb", "memory of a search, MB"),
    ("disk_mb", "disk, MB"),
)
# The palette of Okabe and Ito, which colour-blind people can tell apart.
_COLOURS = ("#0072B2", "#56B4E9", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#000000")
_LABELS = {
    "words and meaning": "Aurora, words and meaning",
    "words": "Aurora, words",
    "PostgreSQL": "Aurora on a server, client",
}
_WIDTH, _HEIGHT, _ACROSS = 320, 250, 3  # of a panel, and panels side by side
_LEFT, _RIGHT, _TOP, _BOTTOM = 50, 36, 30, 30
Line = Sequence[tuple[int, float]]


def draw(result: Mapping[str, Any]) -> str:
    """The whole SVG file."""
    names = list(result["engines"])
    width, rows = _ACROSS * _WIDTH, -(-len(PANELS) // _ACROSS)
    height = rows * _HEIGHT + 50
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" font-family="Helvetica, Arial, sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for number, (key, title) in enumerate(PANELS):
        x, y = number % _ACROSS * _WIDTH, number // _ACROSS * _HEIGHT
        lines = [line_of(result["engines"][name], key) for name in names]
        bare = [[], []]
        if key == "p50_ms":
            reading = result["reading_ms"].items()
            bare = [[(int(n), each[k]) for n, each in reading] for k in ("vectors", "codes")]
        parts += [f'<g transform="translate({x} {y})">', *panel(title, lines, bare), "</g>"]
    for number, name in enumerate([*names, "reading all vectors, and their codes"]):
        x, y = _LEFT + number % 4 * 220, rows * _HEIGHT + 16 + number // 4 * 20
        colour = _COLOURS[number] if number < len(names) else "#999"
        parts.append(f'<path d="M{x} {y - 4}h18" {stroke(colour, number == len(names))}/>')
        parts.append(text(x + 24, y, _LABELS.get(name, name)))
    return "\n".join([*parts, "</svg>", ""])


def line_of(engine: Mapping[str, Any], key: str) -> Line:
    return [(int(size), each[key]) for size, each in engine.items() if each.get(key)]


def panel(title: str, lines: Sequence[Line], bare: Sequence[Line]) -> Iterator[str]:
    points = [point for line in (*lines, *bare) for point in line]
    yield text(_LEFT, _TOP - 12, title, 'font-weight="bold"')
    if not points:
        return
    sizes, values = zip(*points, strict=True)
    left, right = math.log10(min(sizes)), math.log10(max(sizes))
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))

    def at_x(size: float) -> float:
        share = (math.log10(size) - left) / ((right - left) or 1)
        return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)

    def at_y(value: float) -> float:
        share = (math.log10(value) - low) / ((high - low) or 1)
        return _HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM)

    for power in range(low, high + 1):
        y = at_y(10.0**power)
        yield f'<path d="M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}" stroke="#ddd"/>'
        yield text(_LEFT - 6, y + 4, f"{10.0**power:g}", 'text-anchor="end"')
    for size in sorted(set(sizes)):
        yield text(at_x(size), _HEIGHT - _BOTTOM + 16, f"{size:,}", 'text-anchor="middle"')
    series = [*zip(lines, _COLOURS, strict=False), *((line, "#999") for line in bare)]
    for line, colour in series:
        if line:
            path = "L".join(f"{at_x(size):.1f} {at_y(value):.1f}" for size, value in line)
            yield f'<path d="M{path}" fill="none" {stroke(colour, line in bare)}/>'
        for size, value in line:
            note = f"<title>{size:,} chunks: {value:g}</title>"
            x, y = at_x(size), at_y(value)
            yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}">{note}</circle>'


def stroke(colour: str, is_dashed: bool) -> str:
    return f'stroke="{colour}" stroke-width="2"' + ' stroke-dasharray="4 4"' * is_dashed


def text(x: float, y: float, words: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="#333" {more}>{words}</text>'
