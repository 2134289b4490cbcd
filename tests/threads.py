"""Threads that start together."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def together(count: int, work: Callable[[], T]) -> list[T]:
    """What each of so many threads got; one that failed is missing."""
    start, got = threading.Barrier(count), list[T]()

    def run() -> None:
        start.wait()
        got.append(work())

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return got
