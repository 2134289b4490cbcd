"""`dataclass`, `field`, `replace` and `NamedTuple` as usual, for classes that every start makes.

`dataclasses` compiles six functions for a frozen class and imports `inspect`: that was a quarter of
a start. Here only `__init__` is compiled, when it is first called, and all classes share the other
methods. Classes have slots and inherit no fields. `typing.NamedTuple` compiles the annotation of
each field, which nobody looks at. Type checkers see the usual ones, and so do the functions of
`dataclasses`.
"""

from __future__ import annotations

from collections import namedtuple
from functools import partial
from operator import attrgetter

TYPE_CHECKING = False  # importing typing takes 4 ms
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from dataclasses import dataclass, field, replace
    from typing import Any, NamedTuple, NoReturn

__all__ = ["NamedTuple", "dataclass", "field", "replace"]


class _Field:
    """A default that is made anew for each instance."""

    def __init__(self, *, default_factory: Callable[[], object]) -> None:
        self.make = default_factory


class _Twin:
    """The same class as `dataclasses` makes it, for what is asked about the class itself."""

    def __init__(self, members: Mapping[str, Any], defaults: Mapping[str, object]) -> None:
        self._annotations = members.get("__annotations__", {})
        self._module, self._defaults = members["__module__"], defaults

    def make(self, name: str) -> Any:
        import dataclasses  # noqa: PLC0415 - for few: it imports `inspect`

        defaults = {
            name: dataclasses.field(default_factory=default.make)
            if isinstance(default, _Field)
            else default
            for name, default in self._defaults.items()
        }
        members = {"__annotations__": self._annotations, "__module__": self._module, **defaults}
        return dataclasses.dataclass(type(name, (), members))


class _Fields(_Twin):
    def __get__(self, instance: object, kind: type) -> object:
        fields = self.make(kind.__name__).__dataclass_fields__
        kind.__dataclass_fields__ = fields  # type: ignore[attr-defined]
        return fields


class _Signature(_Twin):
    def __get__(self, instance: object, kind: type) -> object:
        import inspect  # noqa: PLC0415 - as above

        return inspect.signature(self.make(kind.__name__))


def _dataclass(
    *,
    slots: bool,
    frozen: bool = False,
    repr: bool = True,  # noqa: A002
) -> Callable[[type], type]:
    if not slots:
        raise TypeError("a class without slots is made by `dataclasses`")
    return partial(_make_class, frozen=frozen, shows=repr)


def _make_class(kind: type, *, frozen: bool, shows: bool) -> type:
    members = dict(vars(kind))
    annotations: dict[str, str] = members.get("__annotations__", {})
    names = tuple([name for name in annotations if not annotations[name].startswith("ClassVar")])
    defaults = {name: members.pop(name) for name in names if name in members}
    checks = "__post_init__" in members

    def first_init(self: object, *values: object, **named: object) -> None:
        setattr(made, "__init__", _compile_init(made, names, defaults, checks=checks))  # noqa: B010
        made.__init__(self, *values, **named)  # type: ignore[misc]

    own = {"__init__": first_init, "__eq__": _eq, **({"__repr__": _repr} if shows else {})}
    for key, value in (own | (_FROZEN if frozen else {"__hash__": None})).items():
        members.setdefault(key, value)
    for key in ("__dict__", "__weakref__"):
        members.pop(key, None)
    known = {
        "__dataclass_fields__": _Fields(members, defaults),
        "__signature__": _Signature(members, defaults),
    }
    members |= {"__slots__": names, "__match_args__": names, **known}
    members["__values__"] = attrgetter(*names or ["__class__"])
    made: type = type(kind)(kind.__name__, kind.__bases__, members)
    return made


def _compile_init(
    kind: type, names: tuple[str, ...], defaults: Mapping[str, object], *, checks: bool
) -> object:
    scope: dict[str, object] = {f"default_{name}": value for name, value in defaults.items()}
    scope |= {f"set_{name}": vars(kind)[name].__set__ for name in names}
    arguments = [f"{name}=default_{name}" if name in defaults else name for name in names]
    lines = [
        f"set_{name}(self, default_{name}.make() if {name} is default_{name} else {name})"
        if isinstance(defaults.get(name), _Field)
        else f"set_{name}(self, {name})"
        for name in names
    ]
    lines += ["self.__post_init__()"] if checks else []
    code = f"def __init__({', '.join(['self', *arguments])}):\n  " + "\n  ".join(lines or ["pass"])
    exec(code, scope)  # noqa: S102 - of the names of fields, as `dataclasses` does
    return scope["__init__"]


def _replace(value: Any, /, **changes: object) -> object:
    return type(value)(**{name: getattr(value, name) for name in value.__match_args__} | changes)


def _eq(self: Any, other: Any) -> Any:
    is_same = type(self) is type(other)
    return self.__values__(self) == other.__values__(other) if is_same else NotImplemented


def _hash(self: Any) -> int:
    return hash(self.__values__(self))


def _repr(self: Any) -> str:
    shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__match_args__)
    return f"{type(self).__qualname__}({shown})"


def _refuse(_: object, name: str, *_value: object) -> NoReturn:
    from dataclasses import FrozenInstanceError  # noqa: PLC0415 - as above

    raise FrozenInstanceError(f"cannot change field {name!r}")


def _set_state(self: Any, state: tuple[object, Mapping[str, object]]) -> None:
    """For copies: a frozen value takes no other changes."""
    for name, value in state[1].items():
        object.__setattr__(self, name, value)


_FROZEN = {
    "__hash__": _hash,
    "__setattr__": _refuse,
    "__delattr__": _refuse,
    "__setstate__": _set_state,
}

_namedtuple: Any = namedtuple  # type checkers want to know its names


class _NamedTupleType(type):
    def __new__(cls, name: str, bases: tuple[type, ...], members: dict[str, Any]) -> type:
        if not bases:
            return super().__new__(cls, name, bases, members)
        names = members.get("__annotations__", {})
        defaults = [members.pop(name) for name in names if name in members]
        made: type = _namedtuple(name, names, defaults=defaults, module=members["__module__"])
        for key, value in members.items():
            setattr(made, key, value)
        return made


class _NamedTuple(metaclass=_NamedTupleType):
    pass


if not TYPE_CHECKING:
    NamedTuple = _NamedTuple
    dataclass, field, replace = _dataclass, _Field, _replace
