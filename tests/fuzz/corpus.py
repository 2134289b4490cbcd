"""The inputs that are kept: seeds, and every one that failed once, by target and name."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from pathlib import Path

from tests.fuzz.targets import Check

FOLDER = Path(__file__).parent / "corpus"
_OURS = ("/aurora/", "/tests/fuzz/targets/")


def kept(target: str) -> Iterator[Path]:
    """The files of a target, in order."""
    return (path for path in sorted((FOLDER / target).glob("*")) if path.is_file())


def fault_of(exc: BaseException) -> str:
    """What went wrong, and in which function: one fault, whatever input shows it."""
    frames = traceback.extract_tb(exc.__traceback__)
    places = [frame for frame in frames if any(ours in frame.filename for ours in _OURS)]
    last = (places or frames)[-1]
    return f"{type(exc).__name__} in {Path(last.filename).stem}.{last.name}"


def fault_in(check: Check, data: bytes) -> str:
    """The fault that an input shows; nothing where all is well."""
    try:
        check(data)
    except Exception as exc:  # whatever it is, it is a finding
        return fault_of(exc)
    return ""


def known_faults(target: str, check: Check) -> set[str]:
    """Those that kept inputs show: they need not be found again."""
    return {fault for path in kept(target) if (fault := fault_in(check, path.read_bytes()))}
