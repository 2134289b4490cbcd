"""What is fuzzed. Each module has `check`: it takes any bytes, reads them as its part of the
program would, and asserts what must hold of the outcome. Errors that are documented are outcomes;
any other is a fault.

Inputs are plain text where they can be, so that kept ones can be read: what has several parts
begins with a line for the small one.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TypeAlias

Check: TypeAlias = Callable[[bytes], None]

TARGETS = (
    "words",
    "query",
    "parsers",
    "index_file",
    "settings",
    "tools",
    "imports",
    "sets",
    "clients",
    "tensors",
    "git",
    "answers",
    "transcripts",
)


def load(name: str) -> Check:
    check: Check = import_module(f"{__name__}.{name}").check
    return check
