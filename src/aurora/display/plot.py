"""The plot of `aur eval --plot`: quality against time as SVG, a panel for each set."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape

from aurora.report_types import MeasuredSet
from aurora.text import printable

# The palette of Okabe and Ito, which colour-blind people can tell apart.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999933")
_Y_LABEL, _X_LABEL = "nDCG@10, with its 95 % interval", "median search, ms"

_WIDTH, _HEIGHT = 380, 300  # of a panel
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 18, 34, 46  # from its edge to its axes
_ACROSS = 3  # panels side by side
_LINE = 20  # of the legend
_LETTER = 7.2  # average width in pixels


class Panel(NamedTuple):
    """The points and the axes of one set."""

    title: str
    points: Sequence[tuple[str, float, float, float, float]]  # system, ms, mean, low, high
    x_ticks: Sequence[float]  # the first and the last end the axis, which is logarithmic
    y_ticks: Sequence[float]


def make_panel(measured: MeasuredSet) -> Panel:
    points = [
        (system.system, max(system.p50_milliseconds, 0.01), *system.scores["nDCG@10"])
        for system in measured.systems
    ]
    times = [point[1] for point in points]
    bounds = [bound for point in points for bound in point[3:]]
    return Panel(
        printable(measured.name),
        points,
        _times(min(times), max(times)),
        _shares(min(bounds), max(bounds)),
    )


def _times(low: float, high: float) -> list[float]:
    """Ticks at 1, 2 and 5 of each power of ten, around the points."""
    steps = [
        digit * 10.0**power
        for power in range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1)
        for digit in (1, 2, 5)
    ]
    first = max(at for at, step in enumerate(steps) if step < low)
    last = min((at for at, step in enumerate(steps) if step > high), default=len(steps) - 1)
    return steps[first : last + 1]


def _shares(low: float, high: float) -> list[float]:
    """Five to nine ticks at round numbers, around the points."""
    step = next((step for step in (0.01, 0.02, 0.05, 0.1) if (high - low) / step <= 6), 0.2)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [round(at * step, 2) for at in range(first, max(last, first + 1) + 1)]


def render_svg(sets: Sequence[MeasuredSet]) -> str:
    """The whole SVG file. It needs no style sheet, no font and no script."""
    panels = [make_panel(measured) for measured in sets]
    systems = list(dict.fromkeys(point[0] for panel in panels for point in panel.points))
    marks = {system: _mark(number) for number, system in enumerate(systems)}
    across = min(len(panels), _ACROSS)
    width, rows = across * _WIDTH, math.ceil(len(panels) / _ACROSS)
    legend = list(_legend(marks, width, top=rows * _HEIGHT))
    height = rows * _HEIGHT + _LINE * (1 + max((line for line, _ in legend), default=0)) + 10
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" font-family="Helvetica, Arial, sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for number, panel in enumerate(panels):
        x, y = number % _ACROSS * _WIDTH, number // _ACROSS * _HEIGHT
        parts += [f'<g transform="translate({x} {y})">', *_panel(panel, marks), "</g>"]
    return "\n".join([*parts, *(part for _, part in legend), "</svg>", ""])


def _mark(number: int) -> tuple[str, str]:
    """Stroke and fill of a system's points; systems beyond the palette are hollow."""
    colour = _COLOURS[number % len(_COLOURS)]
    return colour, "white" if number // len(_COLOURS) % 2 else colour


def _panel(panel: Panel, marks: Mapping[str, tuple[str, str]]) -> Iterator[str]:
    right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    (x_low, *_, x_high), (y_low, *_, y_high) = panel.x_ticks, panel.y_ticks

    def at_x(value: float) -> float:
        share = math.log(value / x_low) / math.log(x_high / x_low)
        return _LEFT + share * (right - _LEFT)

    def at_y(value: float) -> float:
        return bottom - (value - y_low) / (y_high - y_low) * (bottom - _TOP)

    yield _text(_LEFT, _TOP - 14, panel.title, more='font-size="14" font-weight="bold"')
    for tick in panel.y_ticks:
        yield _rule(_LEFT, at_y(tick), right, at_y(tick))
        yield _text(_LEFT - 8, at_y(tick) + 4, f"{tick:.2f}", more='text-anchor="end"')
    for tick in panel.x_ticks:
        yield _rule(at_x(tick), _TOP, at_x(tick), bottom)
        yield _text(at_x(tick), bottom + 16, f"{tick:g}", more='text-anchor="middle"')
    middle = (_TOP + bottom) / 2
    yield _text((_LEFT + right) / 2, bottom + 34, _X_LABEL, more='text-anchor="middle"')
    turned = f'text-anchor="middle" transform="rotate(-90 16 {middle:.1f})"'
    yield _text(16, middle, _Y_LABEL, more=turned)
    for system, time, mean, low, high in panel.points:
        (colour, fill), x = marks[system], at_x(time)
        title = escape(f"{system}: {mean:.3f} ({low:.3f} to {high:.3f}), {time:.1f} ms")
        yield f'<g stroke="{colour}" stroke-width="2"><title>{title}</title>'
        yield f'<path d="M{x:.1f} {at_y(low):.1f}V{at_y(high):.1f}" stroke-opacity="0.6"/>'
        yield f'<circle cx="{x:.1f}" cy="{at_y(mean):.1f}" r="5" fill="{fill}"/></g>'


def _legend(
    marks: Mapping[str, tuple[str, str]], width: int, *, top: int
) -> Iterator[tuple[int, str]]:
    """The elements of the legend, each with its line number."""
    line, x = 0, float(_LEFT)
    for system, (colour, fill) in marks.items():
        needed = 24 + _LETTER * len(system)
        if x > _LEFT and x + needed > width:
            line, x = line + 1, float(_LEFT)
        y = top + 14 + line * _LINE
        ring = f'fill="{fill}" stroke="{colour}" stroke-width="2"'
        yield line, f'<circle cx="{x + 5:.1f}" cy="{y - 4}" r="4" {ring}/>'
        yield line, _text(x + 15, y, system)
        x += needed


def _text(x: float, y: float, text: str, *, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="#333" {more}>{escape(text)}</text>'


def _rule(x: float, y: float, to_x: float, to_y: float) -> str:
    return f'<path d="M{x:.1f} {y:.1f}L{to_x:.1f} {to_y:.1f}" stroke="#ddd"/>'
