"""Work side by side, and the switch of OpenBLAS, which is left as it was."""

from __future__ import annotations

import threading

import pytest

from aurora.embeddings import compute as threads
from aurora.embeddings.compute import find_blas_switch, map_threads, one_blas_thread
from tests.threads import together


@pytest.mark.parametrize("count", [1, 2, 9])
def test_every_item_is_worked_at_once(count: int) -> None:
    done: list[int] = []
    map_threads(done.append, range(50), count)
    assert sorted(done) == list(range(50))


def test_so_many_threads_work_at_the_same_time() -> None:
    met = threading.Barrier(3)
    map_threads(lambda _: met.wait(timeout=60), range(3), 3)


def test_an_error_of_one_is_told() -> None:
    with pytest.raises(ZeroDivisionError):
        map_threads(lambda item: 1 // item, [1, 0, 1], 2)


def test_the_switch_is_back_when_the_last_one_lets_go() -> None:
    switch = find_blas_switch()
    if switch is None:
        pytest.skip("numpy is not built with an OpenBLAS that can be found")
    tell, put = switch
    before = tell()
    put(2)
    try:
        seen = set[int]()

        def hold() -> None:
            for _ in range(100):
                with one_blas_thread() as alone:
                    assert alone
                    seen.add(tell())

        together(4, hold)
        assert (seen, tell()) == ({1}, 2)
        with pytest.raises(ValueError, match="midway"), one_blas_thread():
            raise ValueError("midway")
        assert tell() == 2
    finally:
        put(before)


def test_without_a_switch_nothing_is_promised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_BLAS_NAMES", ("there_is_no_{}",))
    monkeypatch.setattr(threads, "find_blas_switch", find_blas_switch.__wrapped__)
    with one_blas_thread() as alone:
        assert not alone
