"""The packages of the extra `onnx`, imported when something needs them."""

from __future__ import annotations

import os
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from aurora.errors import EmbeddingError

INSTALL = "pip install 'aurora-memory[onnx]'"
# onnxruntime (seen in 1.31) has telemetry, and that is on unless this is set before its import.
_SILENCE = ("ORT_DISABLE_TELEMETRY", "1")


def load_package(name: str) -> ModuleType:
    os.putenv(*_SILENCE)  # for the library alone: it asks the C library
    try:
        return import_module(name)
    except ImportError as exc:
        raise _missing(name, f": {exc}" if find_spec(name) else "") from exc


def check_packages(*names: str) -> None:
    """Raises `EmbeddingError` for one that is not installed; imports none."""
    for name in names:
        if find_spec(name) is None:
            raise _missing(name)


def _missing(name: str, why: str = "") -> EmbeddingError:
    state = "cannot be loaded" if why else "is not installed"
    return EmbeddingError(f"The package {name} {state}{why}", hint=f"get it with `{INSTALL}`")
