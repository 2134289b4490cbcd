"""What runs the layers: numpy, or for many windows onnxruntime, where that is there and quicker.

The vectors of the two are not equal, but their cosine is above .999.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from aurora.embeddings.onnx.processors import usable_processors
from aurora.embeddings.own.layers import Layers
from aurora.embeddings.own.weights import GRAPH, Floats, Tensors

if TYPE_CHECKING:
    from aurora.embeddings.own.graph import Graph

Run = Callable[[Floats, Sequence[int]], Floats]  # rows of windows of these lengths → their rows

_MANY = 16  # windows; for fewer, loading the package takes longer than it saves


class Runtime:
    """A `Run` by the files of a folder; either way is opened when first needed.

    `by_graph` says whether many windows are onnxruntime's; else the processors decide.
    """

    def __init__(
        self, tensors: Tensors, folder: Path, *, threads: int = 0, by_graph: bool | None = None
    ) -> None:
        self._tensors = tensors
        self._folder = folder
        self._threads = threads or usable_processors()
        self._by_graph = by_graph

    def __call__(self, rows: Floats, lengths: Sequence[int]) -> Floats:
        if len(lengths) >= _MANY and self._graph is not None:
            found = self._graph(rows, lengths)
            if found is not None:
                return found
        return self._layers(rows, lengths)

    @cached_property
    def _layers(self) -> Layers:
        return Layers(self._tensors, threads=self._threads)

    @cached_property
    def _graph(self) -> Graph | None:
        from aurora.embeddings.own.graph import Graph, is_worth_it  # noqa: PLC0415 - seldom needed

        wanted = is_worth_it() if self._by_graph is None else self._by_graph
        return Graph(self._folder / GRAPH, threads=self._threads) if wanted else None
