"""Quality against time as a picture: a panel for each set, a point for each system.

The picture is laid out once, as numbers, and written as SVG by hand; `plot_png` draws the same with
matplotlib.

The picture of `plot` as PNG, drawn by matplotlib.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import NamedTuple
from xml.sax.saxutils import escape

from aurora.errors import ConfigError
from aurora.text import printable
from aurora.types import MeasuredSet

# Okabe and Ito: eight that people of any eyesight can tell apart, on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999933")
Y_LABEL, X_LABEL = "nDCG@10, with its 95 % interval", "median search, ms"

_WIDTH, _HEIGHT = 380, 300  # of a panel
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 18, 34, 46  # from its edge to its axes
_ACROSS = 3  # panels side by side
_LINE = 20  # of the legend
_LETTER = 7.2  # pixels of one, on the average


class Panel(NamedTuple):
    """One set: where its axes begin and end, and the points between them."""

    title: str
    points: Sequence[tuple[str, float, float, float, float]]  # system, ms, mean, low, high
    x_ticks: Sequence[float]  # the first and the last are the ends; the axis is logarithmic
    y_ticks: Sequence[float]


def make_panel(found: MeasuredSet) -> Panel:
    points = [
        (one.system, max(one.p50_milliseconds, 0.01), *one.scores["nDCG@10"])
        for one in found.systems
    ]
    times = [point[1] for point in points]
    bounds = [bound for point in points for bound in point[3:]]
    return Panel(
        printable(found.name),
        points,
        _times(min(times), max(times)),
        _shares(min(bounds), max(bounds)),
    )


def colour_of(system: str, systems: Sequence[str]) -> str:
    return COLOURS[systems.index(system) % len(COLOURS)]


def fill_of(system: str, systems: Sequence[str]) -> str:
    """Where there are more than colours, the others are hollow."""
    is_hollow = systems.index(system) // len(COLOURS) % 2
    return "white" if is_hollow else colour_of(system, systems)


def systems_of(panels: Sequence[Panel]) -> list[str]:
    """In the order of the legend."""
    return list(dict.fromkeys(point[0] for panel in panels for point in panel.points))


def _times(low: float, high: float) -> list[float]:
    """1, 2 and 5 of each power of ten, around the points."""
    steps = [
        digit * 10.0**power
        for power in range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1)
        for digit in (1, 2, 5)
    ]
    first = max(at for at, step in enumerate(steps) if step < low)
    last = min((at for at, step in enumerate(steps) if step > high), default=len(steps) - 1)
    return steps[first : last + 1]


def _shares(low: float, high: float) -> list[float]:
    """Five to nine round numbers around the points."""
    step = next((one for one in (0.01, 0.02, 0.05, 0.1) if (high - low) / one <= 6), 0.2)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [round(at * step, 2) for at in range(first, max(last, first + 1) + 1)]


def render_svg(sets: Sequence[MeasuredSet]) -> str:
    """The picture, by itself: no style sheet, no font, no script."""
    panels = [make_panel(found) for found in sets]
    systems = systems_of(panels)
    across = min(len(panels), _ACROSS)
    width, rows = across * _WIDTH, math.ceil(len(panels) / _ACROSS)
    legend = list(_legend(systems, width, top=rows * _HEIGHT))
    height = rows * _HEIGHT + _LINE * (1 + max((line for line, _ in legend), default=0)) + 10
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" font-family="Helvetica, Arial, sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for number, panel in enumerate(panels):
        x, y = number % _ACROSS * _WIDTH, number // _ACROSS * _HEIGHT
        parts += [f'<g transform="translate({x} {y})">', *_panel(panel, systems), "</g>"]
    return "\n".join([*parts, *(part for _, part in legend), "</svg>", ""])


def _panel(panel: Panel, systems: Sequence[str]) -> Iterator[str]:
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
    yield _text((_LEFT + right) / 2, bottom + 34, X_LABEL, more='text-anchor="middle"')
    turned = f'text-anchor="middle" transform="rotate(-90 16 {middle:.1f})"'
    yield _text(16, middle, Y_LABEL, more=turned)
    for system, time, mean, low, high in panel.points:
        colour, fill, x = colour_of(system, systems), fill_of(system, systems), at_x(time)
        told = escape(f"{system}: {mean:.3f} ({low:.3f} to {high:.3f}), {time:.1f} ms")
        yield f'<g stroke="{colour}" stroke-width="2"><title>{told}</title>'
        yield f'<path d="M{x:.1f} {at_y(low):.1f}V{at_y(high):.1f}" stroke-opacity="0.6"/>'
        yield f'<circle cx="{x:.1f}" cy="{at_y(mean):.1f}" r="5" fill="{fill}"/></g>'


def _legend(systems: Sequence[str], width: int, *, top: int) -> Iterator[tuple[int, str]]:
    """Its parts, each with the line that it stands on."""
    line, x = 0, float(_LEFT)
    for system in systems:
        needed = 24 + _LETTER * len(system)
        if x > _LEFT and x + needed > width:
            line, x = line + 1, float(_LEFT)
        y = top + 14 + line * _LINE
        colour = colour_of(system, systems)
        fill = fill_of(system, systems)
        ring = f'fill="{fill}" stroke="{colour}" stroke-width="2"'
        yield line, f'<circle cx="{x + 5:.1f}" cy="{y - 4}" r="4" {ring}/>'
        yield line, _text(x + 15, y, system)
        x += needed


def _text(x: float, y: float, text: str, *, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="#333" {more}>{escape(text)}</text>'


def _rule(x: float, y: float, to_x: float, to_y: float) -> str:
    return f'<path d="M{x:.1f} {y:.1f}L{to_x:.1f} {to_y:.1f}" stroke="#ddd"/>'


_INCHES = (4.0, 3.2)  # of a panel


def require_matplotlib() -> None:
    """Say what is missing before anybody has waited for the numbers."""
    try:
        import_module("matplotlib.figure")
    except ImportError as exc:
        raise ConfigError(
            "A PNG needs matplotlib, which is not installed",
            hint="pip install 'aurora-memory[plot]', or name a file that ends in .svg",
        ) from exc


def render_png(sets: Sequence[MeasuredSet]) -> bytes:
    require_matplotlib()
    figures, ticker = import_module("matplotlib.figure"), import_module("matplotlib.ticker")
    panels = [make_panel(found) for found in sets]
    systems = systems_of(panels)
    across, rows = min(len(panels), _ACROSS), math.ceil(len(panels) / _ACROSS)
    figure = figures.Figure((across * _INCHES[0], rows * _INCHES[1] + 0.5), layout="constrained")
    for number, panel in enumerate(panels, start=1):
        axes = figure.add_subplot(rows, across, number)
        for system, time, mean, low, high in panel.points:
            bounds = [[mean - low], [high - mean]]
            colour, fill = colour_of(system, systems), fill_of(system, systems)
            axes.errorbar([time], [mean], bounds, fmt="o", color=colour, mfc=fill, label=system)
        axes.set(xscale="log", title=panel.title, xlabel=X_LABEL, ylabel=Y_LABEL)
        axes.set_xlim(panel.x_ticks[0], panel.x_ticks[-1])
        axes.set_ylim(panel.y_ticks[0], panel.y_ticks[-1])
        axes.xaxis.set_major_locator(ticker.FixedLocator(list(panel.x_ticks)))
        axes.xaxis.set_minor_locator(ticker.NullLocator())
        axes.xaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
        axes.grid(color="#dddddd")
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(len(labels), 4))
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=150)
    return stream.getvalue()
