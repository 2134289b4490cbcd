"""Index runs take turns, and continue after a disconnect from the database server."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TypeVar

from aurora.errors import StoreBusyError, StoreUnreachableError
from aurora.stores.base import Store, Work
from aurora.types import Event, Listener, Note, Progress, ignore_events

T = TypeVar("T")

PAUSES = (1.0, 2.0, 4.0, 8.0, 16.0)  # seconds before each retry: a restart, or a new primary
PATIENCE = 900.0  # seconds: longer than the first index of anything that fits one machine
_PAUSE = 0.1


@contextmanager
def write_turn(
    store: Store,
    work: Work = Work.INDEX,
    *,
    listen: Listener = ignore_events,
    patience: float = PATIENCE,
) -> Iterator[Callable[[Progress], None]]:
    """Be the only index run of a store. Waits up to `patience` seconds for another run.

    Yields a function that shows all readers of the store how far the run is.
    """
    with ExitStack() as turn:
        waited = 0.0
        while True:
            try:
                tell = turn.enter_context(store.alone(work))
                break
            except StoreBusyError as exc:
                if waited >= patience:
                    raise
                if not waited:
                    listen(Note(f"{exc.message}. Waiting for it to finish..."))
                time.sleep(_PAUSE)
                waited += _PAUSE
        yield tell


def show_progress(tell: Callable[[Progress], None], listen: Listener) -> Listener:
    """A listener that also shows the progress to all readers of the store, a few times a second."""
    shown = 0.0

    def hear(event: Event) -> None:
        nonlocal shown
        if isinstance(event, Progress):
            is_last = event.done == event.total
            if is_last or time.monotonic() - shown >= _PAUSE:
                tell(event)
                shown = time.monotonic()
        listen(event)

    return hear


def retry_on_disconnect(run: Callable[[], T], *, listen: Listener) -> T:
    """Run again after a disconnect: a run continues from what the store holds."""
    for pause in PAUSES:
        try:
            return run()
        except StoreUnreachableError as exc:
            listen(Note(f"{exc.message}. Going on in {pause:g} s...", warning=True))
        time.sleep(pause)
    return run()
