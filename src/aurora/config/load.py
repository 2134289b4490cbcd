"""Loads settings by layer: flag, then environment, project file, user file, default.

All problems of all layers are collected, and one error names them. `SettingsFiles` notices edits,
so that a change takes effect on the next search.

A clone may bring a project file. Until the user approves it, it may not choose models, endpoints or
links, send text to other machines, lead a path out of the memory's folder, or take much time or
memory. Approval is stored by content: an edited file needs approval again.
"""

from __future__ import annotations

import json
import re
import reprlib
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path

from aurora.config.places import Places, shown
from aurora.config.schema import (
    ALIASES,
    CATALOGUE,
    Alias,
    Guard,
    Setting,
    Settings,
    build_settings,
    nearest_keys,
    rest_of,
)
from aurora.config.yaml import YamlError, parse_yaml
from aurora.errors import ConfigError
from aurora.files import make_folder, read_file, replacing, require_own
from aurora.lazy_patterns import lazy_pattern
from aurora.quick_classes import NamedTuple, dataclass, field
from aurora.text import printable

LARGEST = 1 << 20  # bytes of a settings file
_APPROVED, _LARGEST_LIST = "approved.json", 16 << 20  # of the user: digests of approved files
_BRIEF = reprlib.Repr()
_BRIEF.maxlevel, _BRIEF.maxstring = 2, 80
_VERSION = "version"
_WEIGHTS = ("search.hybrid.stage2_weights", "search.hybrid.weights")
_SECTIONS = {
    key[:at] for key in (*CATALOGUE, *ALIASES) for at, letter in enumerate(key) if letter == "."
}

_LOGIN = lazy_pattern(r"(?<=://)[^/@\s]+(?=@)")
_PARAMETER = lazy_pattern(r"([?&#;][^=&#;\s]*=)[^&#;\s]+")
_PASSWORD = lazy_pattern(r"(://[^/@:\s]*):.*@")  # up to the last @: a password may contain one
_PASSWORD_PARAMETER = lazy_pattern(r"([?&](?:ssl)?password=)[^&]+", re.IGNORECASE)
_MASK = "***"
NOT_SHOWN = "a value that is not shown, because it may hold a password"


# Values for people


def as_typed(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def without_password(text: str) -> str:
    """Mask the password in an address."""
    return _PASSWORD_PARAMETER.sub(rf"\g<1>{_MASK}", _PASSWORD.sub(rf"\g<1>:{_MASK}@", text))


def without_secrets(text: str) -> str:
    """Mask the login and the parameters of an address, which may be keys."""
    return _PARAMETER.sub(rf"\g<1>{_MASK}", _LOGIN.sub(_MASK, text))


def _got(value: object) -> str:
    """A short form of a value, however far its YAML aliases expand."""
    try:
        brief = str(value) if isinstance(value, float | date) else _BRIEF.repr(value)
        return without_secrets(brief)
    except ValueError:  # an integer of more digits than Python prints
        return "a very large number"


# The user's approval of a project's settings file


def is_approved(home: Path, file: Path, content: bytes) -> bool:
    """True when the user approved exactly this content of this file."""
    return _read_approved(home).get(str(file.resolve())) == _digest(content)


def approve(home: Path, file: Path, content: bytes | None = None) -> None:
    """Store that the user trusts the file with this content, or its current content."""
    approved = _read_approved(home)
    try:
        trusted = read_file(file, most=LARGEST) if content is None else content
        approved[str(file.resolve())] = _digest(trusted)
        make_folder(home)
        with replacing(home / _APPROVED, durable=True) as out:
            out.write((json.dumps(approved, indent=2) + "\n").encode())
    except OSError as exc:
        raise ConfigError(f"Cannot approve {file}: {exc}") from exc


def _read_approved(home: Path) -> dict[str, str]:
    file = home / _APPROVED
    try:
        approved = json.loads(read_file(file, most=_LARGEST_LIST, follow=True))
        if not isinstance(approved, dict):
            raise ValueError("it does not hold files with their digests")  # noqa: TRY004, TRY301
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError) as exc:
        raise ConfigError(
            f"Cannot read the list of approved projects {file}: {exc}",
            hint="delete the file and approve your projects again with `aur config approve`",
        ) from exc
    return approved


def _digest(content: bytes) -> str:
    import hashlib  # noqa: PLC0415 - few projects have a settings file

    return hashlib.sha256(content).hexdigest()


def refused(setting: Setting, value: object, *, file: Path) -> str:
    """The reason why an unapproved project file may not set this value; empty if it may."""
    if setting.guard is Guard.CHOICE:
        return "a project file may not choose models, servers, endpoints or links"
    # By value: a project may choose the reranker that runs on this machine.
    if setting.guard is Guard.AWAY and value in (True, "llm"):
        return "a project file may not have text sent away"
    if setting.guard is Guard.SAFETY and value is False:
        return "a project file may not switch a protection off"
    if setting.guard is Guard.OUTSIDE:
        try:
            target = (file.parent / Path(str(value)).expanduser()).resolve()
        except (OSError, RuntimeError, ValueError):  # a loop of links, an unknown home, not a path
            target = None
        if target is None or not target.is_relative_to(file.parent.resolve()):
            return f"a project file may not lead out of {file.parent.name}"
    most = setting.unapproved_most
    if most is not None and isinstance(value, int | float) and value > most:
        return f"a project file may not set more than {most:g}"
    return ""


def needing_approval(places: Places, file: Path, content: bytes) -> dict[str, object]:
    """Return the settings of a project file that apply only after the user's approval."""
    origin = shown(file)
    try:
        tree = parse_yaml(content)
    except YamlError as exc:
        raise ConfigError(f"Invalid config in {origin}: {exc}") from exc
    guarded: dict[str, object] = {}
    for key, value in _Loader(places).flatten(tree, origin):
        if refused(CATALOGUE[key], value, file=file):
            try:
                guarded[key] = CATALOGUE[key].parse(value)
            except ValueError as exc:
                raise ConfigError(
                    f"Invalid config in {origin}: {key}: {exc} (got {_got(value)})"
                ) from exc
    return guarded


# Loading


class LoadedSettings(NamedTuple):
    """Checked settings, the origin of each value that is not a default, and warnings."""

    settings: Settings
    origins: Mapping[str, str] = {}
    warnings: tuple[str, ...] = ()

    @property
    def fusion(self) -> str:
        """The fusion of a search. Setting a weight that only `weighted` uses selects it."""
        has_alpha = "search.weighted.semantic" in self.origins
        is_chosen = "search.fusion" in self.origins
        return "weighted" if has_alpha and not is_chosen else self.settings.search.fusion

    def unused_weights(self, fusion: str) -> str:
        """A warning about weights that are set and that this fusion does not use, or nothing."""
        if fusion == "staged":
            return ""
        keys = {key.rpartition(".")[0]: origin for key, origin in self.origins.items()}
        unused = [f"{key} ({keys[key]})" for key in _WEIGHTS if key in keys]
        then = f"The fusion {fusion} does not use them: set `search.fusion` to staged"
        return f"No effect: {', '.join(unused)}. {then}, or remove them" if unused else ""


@dataclass(slots=True)
class SettingsFiles:
    """The layers of one place. `current()` loads again when a file changed."""

    places: Places
    environ: Mapping[str, str] = field(default_factory=dict)
    flags: Mapping[str, object] = field(default_factory=dict)
    _stamp: object = None
    _loaded: LoadedSettings | None = None

    def elsewhere(self, places: Places) -> SettingsFiles:
        """The settings of the same user and command in other places."""
        return SettingsFiles(places, self.environ, self.flags)

    def current(self) -> LoadedSettings:
        own = (self.places.user_config, self.places.home / _APPROVED)
        stamp = (*map(_content, own), _content(self.places.project_config, follow=False))
        if self._loaded is None or stamp != self._stamp:
            self._loaded, self._stamp = _Loader(self.places).load(self.environ, self.flags), stamp
        return self._loaded


def _content(file: Path | None, *, follow: bool = True) -> bytes | None:
    """The bytes of a settings file: as cheap as its date, and sure to change with an edit."""
    try:
        return read_file(file, most=LARGEST, follow=follow) if file else None
    except OSError:
        return None


class _Loader:
    """One pass over all layers, lowest first, that collects values, problems and warnings."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self.values: dict[str, object] = {}
        self.origins: dict[str, str] = {}
        self.problems: dict[str, list[str]] = {}
        self.rejected: set[str] = set()
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
            blocks = (
                f"Invalid config in {origin}:\n" + "\n".join(f"  - {text}" for text in texts)
                for origin, texts in self.problems.items()
            )
            raise ConfigError(
                "\n".join(blocks), hint="correct the value, or remove it to use the default"
            )
        return LoadedSettings(build_settings(self.values), self.origins, tuple(self.warnings))

    def _read_file(self, file: Path, *, of_project: bool = False) -> None:
        origin = shown(file)
        try:
            content = read_file(file, most=LARGEST, follow=not of_project)
            tree = parse_yaml(content)
        except (FileNotFoundError, NotADirectoryError):
            return
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
        """Yield the settings of a nested file by dotted key."""
        if not isinstance(tree, Mapping):
            if tree is not None:  # an empty section is fine
                where = f"{prefix[:-1]}: " if prefix else ""
                self._problem(origin, f"{where}Must hold settings (got {_got(tree)})")
            return
        for name, value in tree.items():
            key = f"{prefix}{name}"
            dotted = "." in str(name)  # files nest: `aur config set` would not find a dotted key
            if key in CATALOGUE and not dotted:
                yield key, value
            elif (alias := ALIASES.get(key.removeprefix("search."))) is not None:
                yield alias.key, alias.value(value)
            elif key in _SECTIONS and not dotted:
                yield from self.flatten(value, origin, f"{key}.")
            else:
                self._ignore(key, origin, is_inside=bool(prefix))
        self._check_shares(tree, origin)

    def _ignore(self, key: str, origin: str, *, is_inside: bool) -> None:
        """Warn about a name that is none of ours. The file of seed 000 has a version."""
        if key == _VERSION:
            return
        tops = [*(section for section in _SECTIONS if "." not in section), *ALIASES]
        near = nearest_keys(key, [*_SECTIONS, *CATALOGUE] if is_inside else tops)
        near += [known for known in CATALOGUE if known.endswith(f".{key}")]
        then = f", did you mean {near[0]}?" if near and near[0] != key else ""
        self.warnings.append(
            printable(f"Ignored {key} in {origin}: there is no such setting{then}")
        )

    def _check_shares(self, tree: Mapping[object, object], origin: str) -> None:
        """Both say how much meaning counts."""
        if not {"vector_weight", "keyword_weight"} <= tree.keys():
            return
        vector, words = tree["vector_weight"], rest_of(tree["keyword_weight"])
        if not (isinstance(vector, int | float) and isinstance(words, int | float)):
            return
        if abs(vector - words) > 1e-6:
            self._problem(origin, "vector_weight and keyword_weight: Must sum to 1.0")

    def _read_environment(self, environ: Mapping[str, str]) -> None:
        variables = {
            f"AURORA_{name.upper().replace('.', '_')}": alias for name, alias in ALIASES.items()
        }
        variables |= {setting.variable: Alias(setting.key) for setting in CATALOGUE.values()}
        typed: dict[object, object] = {}
        for variable, alias in variables.items():
            raw = environ.get(variable)
            if not raw:
                continue  # an empty variable counts as unset
            try:
                value = CATALOGUE[alias.key].read(raw)
            except YamlError:
                value = raw
            self._take(alias.key, alias.value(value), origin=f"the environment ({variable})")
            typed[variable.removeprefix("AURORA_").lower()] = value
        self._check_shares(typed, "the environment")

    def _take(self, key: str, value: object, *, origin: str) -> None:
        try:
            self.values[key] = CATALOGUE[key].parse(value)
        except ValueError as exc:
            got = NOT_SHOWN if CATALOGUE[key].may_hold_password else _got(value)
            self._problem(origin, f"{key}: {exc} (got {got})")
            self.rejected.add(key)
        else:
            self.origins.pop(key, None)  # so that the last origin is of the strongest layer
            self.origins[key] = origin

    def _check_weights(self, section: str) -> None:
        """Check the sum of the weights of a section, unless one of them is invalid."""
        keys = [key for key in CATALOGUE if key.startswith(f"{section}.")]
        weights = [self.values.get(key, CATALOGUE[key].default) for key in keys]
        total = sum(value for value in weights if isinstance(value, float))
        origin = next((self.origins[key] for key in reversed(self.origins) if key in keys), None)
        if origin is not None and self.rejected.isdisjoint(keys) and abs(total - 1.0) > 1e-6:
            self._problem(origin, f"{section}: Must sum to 1.0 (got {round(total, 9)})")

    def _problem(self, origin: str, text: str) -> None:
        self.problems.setdefault(origin, []).append(text)
