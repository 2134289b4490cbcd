"""Where a value comes from: flag, then environment, project file, user file, default.

Every problem of every layer is collected before one error names them all (seed 000, FR-9.3). What
was read is compared with the files, so that a change takes effect on the next search (FR-9.5).

Names of settings that other documents use (seed 002), read as the ones there are.

They stand at the top of a file, or in its `search` section, and as `AURORA_…` in the environment.

Values of settings as people read and type them.
"""

from __future__ import annotations

import re
import reprlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import NamedTuple

from aurora.config.places import Places, shown
from aurora.config.schema import CATALOGUE, Settings, build_settings
from aurora.config.trust import is_approved, refused
from aurora.config.yaml import YamlError, parse_yaml
from aurora.errors import ConfigError
from aurora.files import read_file, require_own
from aurora.text import printable


class Alias(NamedTuple):
    """The setting that is meant; `values` turns those that are written otherwise."""

    key: str
    values: Mapping[object, object] = {}

    def value(self, raw: object) -> object:
        hashable = isinstance(raw, bool | str)
        return self.values.get(raw, raw) if hashable else raw


ALIASES: Mapping[str, Alias] = {
    "enable_hybrid_search": Alias("search.mode", {True: "hybrid", False: "semantic"}),
    "hybrid_search_alpha": Alias("search.weighted.semantic"),
    "bm25_k1": Alias("search.bm25.k1"),
    "bm25_b": Alias("search.bm25.b"),
}


def alias_of(key: str) -> Alias | None:
    return ALIASES.get(key.removeprefix("search."))


_LOGIN = re.compile(r"(?<=://)[^/@\s]+(?=@)")
_PARAMETER = re.compile(r"([?&#;][^=&#;\s]*=)[^&#;\s]+")
_PASSWORD = re.compile(r"(://[^/@:\s]*):.*@")  # up to the last @: one may be in the password
_KEY = re.compile(r"([?&](?:ssl)?password=)[^&]+", re.IGNORECASE)
_MASK = "***"
NOT_SHOWN = "a value that is not shown, because it may hold a password"


def value_of(settings: Settings, key: str) -> object:
    """The value of a dotted key."""
    value: object = settings
    for part in key.split("."):
        value = getattr(value, part)
    return value


def as_typed(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def without_password(text: str) -> str:
    """An address without the password that a person may have written into it."""
    return _KEY.sub(rf"\g<1>{_MASK}", _PASSWORD.sub(rf"\g<1>:{_MASK}@", text))


def without_secrets(text: str) -> str:
    """A value for others to see: the login and the parameters of an address may be keys."""
    return _PARAMETER.sub(rf"\g<1>{_MASK}", _LOGIN.sub(_MASK, text))


LARGEST = 1 << 20  # bytes of a settings file
_BRIEF = reprlib.Repr()
_BRIEF.maxlevel, _BRIEF.maxstring = 2, 80
_WEIGHTS = ("search.hybrid.stage2_weights", "search.hybrid.weights")
_SECTIONS = {key[:at] for key in CATALOGUE for at, letter in enumerate(key) if letter == "."}


class LoadedSettings(NamedTuple):
    """Checked settings, the origin of each value that is not a default, and what was ignored."""

    settings: Settings
    origins: Mapping[str, str] = {}
    warnings: tuple[str, ...] = ()


@dataclass(slots=True)
class SettingsFiles:
    """The layers of one place. `current()` reads again only what changed since the last call."""

    places: Places
    environ: Mapping[str, str] = field(default_factory=dict)
    flags: Mapping[str, object] = field(default_factory=dict)
    _stamp: object = None
    _loaded: LoadedSettings | None = None

    def current(self) -> LoadedSettings:
        own = (self.places.user_config, self.places.home / "approved.json")
        stamp = (*map(_content, own), _content(self.places.project_config, follow=False))
        if self._loaded is None or stamp != self._stamp:
            self._loaded, self._stamp = _Reading(self.places).load(self.environ, self.flags), stamp
        return self._loaded


def needing_approval(places: Places, file: Path, content: bytes) -> dict[str, object]:
    """The settings of a project's file that count only once the user approves it."""
    reading, origin = _Reading(places), shown(file)
    try:
        tree = parse_yaml(content)
    except YamlError as exc:
        raise ConfigError(f"Invalid config in {origin}: {exc}") from exc
    chosen: dict[str, object] = {}
    for key, value in reading.flatten(tree, origin):
        if refused(CATALOGUE[key], value, file=file):
            try:
                chosen[key] = CATALOGUE[key].parse(value)
            except ValueError as exc:
                raise ConfigError(
                    f"Invalid config in {origin}: {key}: {exc} (got {_got(value)})"
                ) from exc
    return chosen


class _Reading:
    """One pass over all layers, lowest first, collecting values, problems and warnings."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self.values: dict[str, object] = {}
        self.origins: dict[str, str] = {}
        self.problems: dict[str, list[str]] = {}
        self.warnings: list[str] = []

    def load(self, environ: Mapping[str, str], flags: Mapping[str, object]) -> LoadedSettings:
        self._read_file(self.places.user_config)
        if self.places.project_config is not None:
            require_own(self.places.project_config.parent)
            self._read_file(self.places.project_config, of_project=True)
        self.warnings += [
            f"Ignored {folder}: it belongs to another user" for folder in self.places.foreign
        ]
        self._read_environment(environ)
        for key, value in flags.items():
            self._take(key, value, origin="the command line (-c)")
        for section in _WEIGHTS:
            self._check_weights(section)
        if self.problems:
            raise ConfigError(
                _describe(self.problems), hint="correct the value, or remove it to use the default"
            )
        return LoadedSettings(build_settings(self.values), self.origins, tuple(self.warnings))

    def _read_file(self, file: Path, *, of_project: bool = False) -> None:
        origin = shown(file)
        try:
            content = read_file(file, most=LARGEST, follow=not of_project)
            tree = parse_yaml(content)
        except (FileNotFoundError, NotADirectoryError):
            return  # FR-9.4: defaults, no error
        except OSError as exc:
            self._problem(origin, f"cannot be read ({exc.strerror}): check who owns it")
            return
        except YamlError as exc:
            self._problem(origin, str(exc))
            return
        trusted = not of_project or is_approved(self.places.home, file, content)
        for key, value in self.flatten(tree, origin):
            reason = "" if trusted else refused(CATALOGUE[key], value, file=file)
            if reason:
                self.warnings.append(
                    f"Ignored {key} in {origin}: {reason} until you run `aur config approve`"
                )
            else:
                self._take(key, value, origin=origin)

    def flatten(self, tree: object, origin: str, prefix: str = "") -> Iterator[tuple[str, object]]:
        if not isinstance(tree, Mapping):
            if tree is not None:  # an empty section says nothing
                where = f"{prefix[:-1]}: " if prefix else ""
                self._problem(origin, f"{where}Must hold settings (got {_got(tree)})")
            return
        for name, value in tree.items():
            key = f"{prefix}{name}"
            dotted = "." in str(name)  # the file nests; `aur config set` would not find this one
            if key in CATALOGUE and not dotted:
                yield key, value
            elif (alias := alias_of(key)) is not None:
                yield alias.key, alias.value(value)
            elif key in _SECTIONS and not dotted:
                yield from self.flatten(value, origin, f"{key}.")
            elif prefix or key in CATALOGUE:
                # A name at the top may be another tool's section; one inside ours is a typo.
                told = f"Ignored {key} in {origin}: there is no such setting"
                self.warnings.append(printable(told))

    def _read_environment(self, environ: Mapping[str, str]) -> None:
        for name, alias in ALIASES.items():
            self._read_variable(environ, f"AURORA_{name.upper()}", alias)
        for setting in CATALOGUE.values():
            self._read_variable(environ, setting.variable, Alias(setting.key))

    def _read_variable(self, environ: Mapping[str, str], variable: str, alias: Alias) -> None:
        raw = environ.get(variable)
        if not raw:
            return  # an empty variable is none, as with AURORA_HOME
        try:
            value = CATALOGUE[alias.key].read(raw)
        except YamlError:
            value = raw
        self._take(alias.key, alias.value(value), origin=f"the environment ({variable})")

    def _take(self, key: str, value: object, *, origin: str) -> None:
        try:
            self.values[key] = CATALOGUE[key].parse(value)
        except ValueError as exc:
            got = NOT_SHOWN if CATALOGUE[key].may_hold_password else _got(value)
            self._problem(origin, f"{key}: {exc} (got {got})")
        else:
            self.origins.pop(key, None)  # so that the last origin is of the strongest layer
            self.origins[key] = origin

    def _check_weights(self, section: str) -> None:
        """The weights of a section are judged together, once each is a weight at all."""
        keys = [key for key in CATALOGUE if key.startswith(f"{section}.")]
        given = [self.values.get(key, CATALOGUE[key].default) for key in keys]
        total = sum(value for value in given if isinstance(value, float))
        origin = next((self.origins[key] for key in reversed(self.origins) if key in keys), None)
        if origin is not None and not self._rejected(keys) and abs(total - 1.0) > 1e-6:
            self._problem(origin, f"{section}: Must sum to 1.0 (got {round(total, 9)})")

    def _rejected(self, keys: list[str]) -> bool:
        texts = [text for texts in self.problems.values() for text in texts]
        return any(text.startswith(f"{key}:") for key in keys for text in texts)

    def _problem(self, origin: str, text: str) -> None:
        self.problems.setdefault(origin, []).append(text)


def _describe(problems: Mapping[str, list[str]]) -> str:
    """All problems at once, a block for each origin, worded as in FR-9.3."""
    return "\n".join(
        f"Invalid config in {origin}:\n" + "\n".join(f"  - {text}" for text in texts)
        for origin, texts in problems.items()
    )


def _got(value: object) -> str:
    """A value in a few words, however much an alias of aliases unfolds to."""
    try:
        shown = str(value) if isinstance(value, float | date) else _BRIEF.repr(value)
        return without_secrets(shown)
    except ValueError:  # an integer of more digits than Python prints
        return "a very large number"


def _content(file: Path | None, *, follow: bool = True) -> bytes | None:
    """These files are small: reading them costs what a stamp costs, and misses no edit."""
    try:
        return read_file(file, most=LARGEST, follow=follow) if file else None
    except OSError:
        return None
