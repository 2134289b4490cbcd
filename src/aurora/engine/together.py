"""Work that many ask for at once, and that is the same for all of them."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Together:
    """Does it once for all who asked before it began. If it fails, who waited does it again."""

    def __init__(self) -> None:
        self._working, self._counting = threading.Lock(), threading.Lock()
        self._asked = self._done = 0

    def do(self, work: Callable[[], None]) -> None:
        with self._counting:
            self._asked += 1
            mine = self._asked
        with self._working:
            if self._done >= mine:
                return
            begun_with = self._asked
            work()
            self._done = begun_with
