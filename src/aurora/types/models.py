"""What is told of embedding models: those known by name, and those on this machine."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class ModelState(StrEnum):
    """How far a model is from being used."""

    INSTALLED = "installed"
    DAMAGED = "damaged"  # there is a folder, and no whole model in it
    AT_HAND = "at hand"  # an installed package carries it
    KNOWN = "known"


class ModelEntry(NamedTuple):
    """One line of `aur models list`. What is not known is 0 or empty."""

    name: str
    state: ModelState
    dimension: int = 0
    window: int = 0
    size: int = 0  # bytes on disk
    source: str = ""  # where it came from, or would
    licence: str = ""
