"""The tools of fuzzing themselves."""

from __future__ import annotations

from tests.fuzz.corpus import fault_in
from tests.fuzz.shrinking import shrunk


def test_a_failing_input_is_made_as_short_as_it_goes() -> None:
    def fails(data: bytes) -> bool:
        return b"[" in data and b"]" in data

    assert shrunk(b"some [text] that is long" * 50, fails) in (b"[]", b"][")


def test_a_fault_is_named_by_its_error_and_the_function_it_is_in() -> None:
    from tests.fuzz.targets.sets import check

    assert fault_in(check, b"") == ""
    assert fault_in(lambda data: [][len(data)], b"") == "IndexError in test_fuzzing.<lambda>"
