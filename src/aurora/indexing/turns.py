"""One who indexes at a time: a second one waits, and says so."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from aurora.errors import StoreBusyError
from aurora.stores.base import Store
from aurora.types import Listener, Note, ignore_events

_PATIENCE = 900.0  # seconds: longer than the first index of anything that fits one machine
_PAUSE = 0.1


@contextmanager
def take_turn(
    store: Store, *, listen: Listener = ignore_events, patience: float = _PATIENCE
) -> Iterator[None]:
    """Be the one who indexes; wait while another is, up to `patience` seconds."""
    with ExitStack() as turn:
        waited = 0.0
        while True:
            try:
                turn.enter_context(store.alone())
                break
            except StoreBusyError as exc:
                if waited >= patience:
                    raise
                if not waited:
                    listen(Note(f"{exc.message}. Waiting for it to finish..."))
                time.sleep(_PAUSE)
                waited += _PAUSE
        yield
