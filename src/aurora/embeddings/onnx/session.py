"""An ONNX graph opened by onnxruntime.

One thread works at one text: on two cores, two texts at a time gave 258 short or 27.9 long ones a
second (20 and 200 tokens); one after the other, with two threads each, gave 150 and 26.1. It also
means that a vector never depends on how many cores there are.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from aurora.embeddings.onnx.packages import load_package
from aurora.errors import EmbeddingError

_ERRORS_ONLY = 3
_EXACT_PRODUCTS = "session.x64quantprecision"


class Port(Protocol):
    """What goes into a graph, or comes out of it."""

    @property
    def name(self) -> str: ...


class Session(Protocol):
    """As much of onnxruntime's session as we use; the package has no types."""

    def get_inputs(self) -> Sequence[Port]: ...

    def get_outputs(self) -> Sequence[Port]: ...

    def run(
        self, outputs: Sequence[str], inputs: Mapping[str, NDArray[np.int64]]
    ) -> Sequence[NDArray[np.float32]]: ...


def open_session(graph: Path, cpuinfo: Path = Path("/proc/cpuinfo")) -> Session:
    """Raises `EmbeddingError` where the package is missing or the file is not a graph."""
    runtime = load_package("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = _ERRORS_ONLY
    if products_overflow(platform.machine(), cpuinfo):
        options.add_session_config_entry(_EXACT_PRODUCTS, "1")
    try:
        session: Session = runtime.InferenceSession(
            str(graph), options, providers=["CPUExecutionProvider"]
        )
    except Exception as exc:  # the runtime's errors have no base of their own
        raise EmbeddingError(
            f"The model {graph} cannot be opened: {exc}",
            hint=f"get it again with `aur models pull {graph.parent.name}`",
        ) from exc
    return session


def products_overflow(machine: str, cpuinfo: Path) -> bool:
    """Whether sums of two 8-bit products would be cut off at 16 bits, as on x86 without VNNI.

    The runtime then has a slower way that is exact. It would take it on every x86 if told to, so
    that is left out where the processor is known to need it not.
    """
    if machine.lower() not in {"x86_64", "amd64", "x86", "i386", "i686"}:
        return False
    try:
        flags = cpuinfo.read_text(encoding="utf-8", errors="replace")
    except OSError:  # not Linux
        return True
    return not any(flag in flags for flag in ("avx512_vnni", "avx_vnni", "amx_int8"))
