"""The layers by onnxruntime, where that is installed: it counts in 8 bits what numpy does in 32.

Which is worth it where processors have instructions for that. On an x86 without them numpy gave
20,000 pieces a second and thread, and the graph 6,000 to 14,000.
"""

from __future__ import annotations

import logging
import platform
from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib.util import find_spec
from itertools import accumulate
from pathlib import Path
from typing import Protocol, cast

import numpy as np

from aurora.embeddings.aurora.model import side_by_side
from aurora.embeddings.aurora.weights import WIDTH, Floats
from aurora.embeddings.onnx.session import open_session, products_overflow
from aurora.errors import EmbeddingError

logger = logging.getLogger(__name__)


_BATCH = 8  # windows padded to the longest of them: enough for short ones, and little is padded


def is_worth_it() -> bool:
    """Whether the processors multiply 8 bits quickly."""
    return not products_overflow(platform.machine(), Path("/proc/cpuinfo"))


class _Session(Protocol):
    def run(self, outputs: Sequence[str], inputs: Mapping[str, Floats]) -> Sequence[Floats]: ...


class Graph:
    """A file of the two layers. Without the package, or if it fails, there is nothing to be had."""

    def __init__(self, path: Path, *, threads: int) -> None:
        self._path = path
        self._threads = threads

    def __call__(self, rows: Floats, lengths: Sequence[int]) -> Floats | None:
        """Of windows of these lengths, a row a piece; the rows that are given stay as they are."""
        if self._session is None:
            return None
        try:
            return self._run(self._session, rows, lengths)
        except Exception as exc:  # the runtime's errors have no base of their own
            logger.warning("%s fails, so numpy does its work: %s", self._path, exc)
            self._session = None
            return None

    @cached_property
    def _session(self) -> _Session | None:
        if find_spec("onnxruntime") is None:
            return None
        try:
            return cast("_Session", open_session(self._path))
        except EmbeddingError as exc:
            logger.warning("numpy does the work of onnxruntime: %s", exc.message)
            return None

    def _run(self, session: _Session, rows: Floats, lengths: Sequence[int]) -> Floats:
        starts = list(accumulate(lengths, initial=0))
        order = sorted(range(len(lengths)), key=lengths.__getitem__)
        found = np.empty_like(rows)

        def work(at: int) -> None:
            some = order[at : at + _BATCH]
            given = np.zeros((len(some), lengths[some[-1]], WIDTH), np.float32)
            mask = np.zeros(given.shape[:2], np.float32)
            for place, window in enumerate(some):
                given[place, : lengths[window]] = rows[starts[window] : starts[window + 1]]
                mask[place, : lengths[window]] = 1
            (out,) = session.run(["out"], {"h": given, "mask": mask})
            for place, window in enumerate(some):
                found[starts[window] : starts[window + 1]] = out[place, : lengths[window]]

        side_by_side(work, range(0, len(order), _BATCH), self._threads)
        return found
