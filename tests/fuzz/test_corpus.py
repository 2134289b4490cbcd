"""Every input that is kept is replayed: seeds, and all that failed once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.corpus import kept
from tests.fuzz.targets import TARGETS, load

# Faults that are known and not mended yet, by the inputs that show each. One that is mended fails
# here: its line goes, and its input stays.
KNOWN: dict[str, str] = {}


def _case(target: str, path: Path) -> object:
    name = f"{target}/{path.name}"
    marks = [pytest.mark.xfail(strict=True, reason=KNOWN[name])] if name in KNOWN else []
    return pytest.param(target, path, id=name, marks=marks)


@pytest.mark.parametrize(
    ("target", "path"), [_case(target, path) for target in TARGETS for path in kept(target)]
)
def test_a_kept_input_shows_no_fault(target: str, path: Path) -> None:
    load(target)(path.read_bytes())


def test_every_target_has_seeds_and_every_known_fault_its_input() -> None:
    names = {f"{target}/{path.name}" for target in TARGETS for path in kept(target)}

    assert {name.partition("/")[0] for name in names} == set(TARGETS)
    assert names >= KNOWN.keys()
