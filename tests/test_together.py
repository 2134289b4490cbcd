"""Work that many ask for at once is done once for those who waited, and never too early."""

from __future__ import annotations

import threading
import time

import pytest

from aurora.concurrency import CoalescedCall


def test_who_asks_while_it_is_done_shares_the_next_time() -> None:
    together, runs = CoalescedCall(), list[int]()
    begun, go_on = threading.Event(), threading.Event()

    def slow() -> None:
        runs.append(len(runs))
        begun.set()
        assert go_on.wait(30)

    threads = [threading.Thread(target=together.do, args=(slow,)) for _ in range(8)]
    threads[0].start()
    assert begun.wait(30)
    for thread in threads[1:]:
        thread.start()
    while together._calls < len(threads):
        time.sleep(0.001)
    assert runs == [0]  # what these asked for came after its beginning: it does not count for them
    go_on.set()
    for thread in threads:
        thread.join()
    assert runs == [0, 1]


def test_one_after_the_other_each_has_it_done() -> None:
    together, runs = CoalescedCall(), list[str]()
    for word in ("first", "second"):
        together.do(lambda word=word: runs.append(word))  # type: ignore[misc]
    assert runs == ["first", "second"]


def test_what_failed_is_not_done() -> None:
    together, runs = CoalescedCall(), list[str]()
    with pytest.raises(ZeroDivisionError):
        together.do(lambda: 1 / 0)  # type: ignore[arg-type, return-value]
    together.do(lambda: runs.append("again"))
    assert runs == ["again"]
