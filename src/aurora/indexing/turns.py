"""One who indexes at a time: a second one waits, and says so.

A run that outlives its database server: what was kept stays, and the rest is done again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TypeVar

from aurora.errors import StoreBusyError, StoreUnreachableError
from aurora.stores.base import Store
from aurora.types import Listener, Note, ignore_events

_PATIENCE = 900.0  # seconds: longer than the first index of anything that fits one machine
_PAUSE = 0.1


@contextmanager
def write_turn(
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


T = TypeVar("T")

PAUSES = (1.0, 2.0, 4.0, 8.0, 16.0)  # seconds before each further try: a restart, or a new primary


def retry_on_disconnect(run: Callable[[], T], *, listen: Listener) -> T:
    """What the run gives; begun again where the server went away. It goes on from what is kept."""
    for pause in PAUSES:
        try:
            return run()
        except StoreUnreachableError as exc:
            listen(Note(f"{exc.message}. Going on in {pause:g} s...", warning=True))
        time.sleep(pause)
    return run()
