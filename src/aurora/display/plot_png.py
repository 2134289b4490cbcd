"""The picture of `plot` as PNG, drawn by matplotlib."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from importlib import import_module

from aurora.display.plot import X_LABEL, Y_LABEL, colour_of, fill_of, make_panel, systems_of
from aurora.errors import ConfigError
from aurora.types import MeasuredSet

_ACROSS = 3
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
