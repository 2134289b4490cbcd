"""A run that outlives its database server: what was kept stays, and the rest is done again."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from aurora.errors import StoreAwayError
from aurora.types import Listener, Note

T = TypeVar("T")

PAUSES = (1.0, 2.0, 4.0, 8.0, 16.0)  # seconds before each further try: a restart, or a new primary


def insist(run: Callable[[], T], *, listen: Listener) -> T:
    """What the run gives; begun again where the server went away. It goes on from what is kept."""
    for pause in PAUSES:
        try:
            return run()
        except StoreAwayError as exc:
            listen(Note(f"{exc.message}. Going on in {pause:g} s...", warning=True))
        time.sleep(pause)
    return run()
