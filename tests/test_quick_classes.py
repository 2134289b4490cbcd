"""Quick dataclasses do what those of the standard library do."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import typing
from collections.abc import Callable, Mapping
from typing import ClassVar

import pytest

from aurora import quick_classes


@quick_classes.dataclass(frozen=True, slots=True)
class Quick:
    """A point."""

    kind: ClassVar[str] = "kind"

    x: int
    y: int = 2
    more: Mapping[str, int] = quick_classes.field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.x < 0:
            raise ValueError(f"x must not be negative: {self.x}")


@quick_classes.dataclass(slots=True)
class Changing:
    names: list[str] = quick_classes.field(default_factory=list)


Usual = dataclasses.make_dataclass(
    "Quick",
    [("x", int), ("y", int, 2), ("more", dict, dataclasses.field(default_factory=dict))],
    frozen=True,
)


def test_values_compare_hash_and_print_as_usual() -> None:
    assert Quick(1) == Quick(1, 2, {}) != Quick(2)
    assert Quick(1) != Usual(1)
    assert repr(Quick(1)) == repr(Usual(1))
    assert {Quick(1, 2, ()): 3}[Quick(1, 2, ())] == 3  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="unhashable"):
        hash(Changing())


def test_every_instance_has_its_own_default() -> None:
    one, other = Changing(), Changing()
    one.names.append("a")
    assert (one.names, other.names) == (["a"], [])


@pytest.mark.parametrize(
    "change",
    [lambda value: setattr(value, "x", 3), lambda value: delattr(value, "x")],
    ids=["set", "delete"],
)
def test_a_frozen_value_is_not_changed(change: Callable[[Quick], None]) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError, match="'x'"):
        change(Quick(1))


def test_wrong_arguments_and_values_are_refused() -> None:
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        Quick()  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="negative: -1"):
        quick_classes.replace(Quick(1), x=-1)
    assert not hasattr(Quick(1), "__dict__")


@pytest.mark.parametrize("replace", [quick_classes.replace, dataclasses.replace])
def test_a_copy_has_the_changes(replace: Callable[..., Quick]) -> None:
    assert replace(Quick(1, 5), x=4) == Quick(4, 5)


def test_the_standard_library_knows_the_classes() -> None:
    assert dataclasses.asdict(Quick(1)) == {"x": 1, "y": 2, "more": {}}
    assert [field.name for field in dataclasses.fields(Quick)] == ["x", "y", "more"]
    match Quick(1, 5):
        case Quick(x, y):
            assert (x, y) == (1, 5)


def test_a_class_shows_its_arguments() -> None:
    shown = "(names: list[str] = <factory>) -> None"
    assert str(inspect.signature(Changing)).replace("'", "") == shown


def test_copies_are_equal() -> None:
    value = Quick(1, 5, {"a": 1})
    assert copy.copy(value) == copy.deepcopy(value) == value
    assert pickle.loads(pickle.dumps(value)) == value  # noqa: S301 - our own


class Place(quick_classes.NamedTuple):
    """A line of a file."""

    path: str
    line: int = 1

    @property
    def shown(self) -> str:
        return f"{self.path}:{self.line}"


def test_a_named_tuple_is_as_usual() -> None:
    place = Place("a.py")
    assert place == ("a.py", 1)
    assert (place._replace(line=3).shown, place._asdict()) == (
        "a.py:3",
        {"path": "a.py", "line": 1},
    )
    assert (repr(place), Place.__doc__) == ("Place(path='a.py', line=1)", "A line of a file.")
    assert typing.get_type_hints(Place) == {"path": str, "line": int}
    assert pickle.loads(pickle.dumps(place)) == place  # noqa: S301 - our own
    with pytest.raises(AttributeError):
        place.line = 2  # type: ignore[misc]
