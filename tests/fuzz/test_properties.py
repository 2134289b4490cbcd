"""The properties of every target on inputs made of the kept ones, as `python -m tests.fuzz` has
them made of what it learns."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.corpus import fault_of, kept, known_faults
from tests.fuzz.targets import TARGETS, load
from tests.properties import examples

_PIECES = (
    *(bytes([sign]) for sign in b"\0\n\r\t\"'{}[]():;,.#-=<>*&!|%@`\\/~^$_ 019aZ\x80\xc3\xff"),
    *(text.encode() for text in ("é", "用户", "\u2028", "\ufeff", "ß", "\u0301", "null")),
    *(text.encode() for text in ("-1", "1e999", "9" * 30, "[" * 50, "true", "\\ud800", "\r\n\r\n")),
)


@st.composite
def damaged(draw: st.DrawFn, seeds: list[bytes]) -> bytes:
    """A seed in which a few places were replaced: by a sign, by anything, or by a part of it."""
    data = draw(st.sampled_from(seeds))
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(data)))
        end = min(start + draw(st.integers(0, 20)), len(data))
        other = draw(st.sampled_from(seeds))
        at = draw(st.integers(0, len(other)))
        put = draw(
            st.sampled_from(_PIECES)
            | st.binary(max_size=8)
            | st.just(other[at : at + 40])
            | st.just(data[start:end] * 20)
        )
        data = data[:start] + put + data[end:]
    return data


@pytest.mark.parametrize("target", TARGETS)
def test_its_properties_hold_of_damaged_inputs(target: str) -> None:
    check = load(target)
    known = known_faults(target, check)  # told by the inputs that show them

    @settings(max_examples=examples(200), deadline=None, derandomize=True, database=None)
    @given(damaged([path.read_bytes() for path in kept(target)]))
    def holds(data: bytes) -> None:
        try:
            check(data)
        except Exception as exc:
            if fault_of(exc) not in known:
                raise

    holds()
