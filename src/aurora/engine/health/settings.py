"""The settings: which files there are, what they say, and what of it is not heard."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from aurora.config import LoadedSettings, Settings, SettingsFiles
from aurora.config.places import shown
from aurora.config.schema import CATALOGUE
from aurora.config.values import as_typed, value_of, without_password, without_secrets
from aurora.engine.health.checking import Check, carry_out
from aurora.errors import ConfigError
from aurora.types import Finding, Level

AREA = "settings"
_GO_ON = "until then other commands refuse, and the memory is checked with the defaults"


class OnlyDefaults(SettingsFiles):
    """Settings as if nobody had set anything: for a memory whose settings cannot be read."""

    __slots__ = ()

    def current(self) -> LoadedSettings:
        return LoadedSettings(Settings())


def examine_settings(files: SettingsFiles) -> Iterator[Finding]:
    return carry_out(CHECKS, files, area=AREA)


def _files(files: SettingsFiles) -> Iterator[Finding]:
    places = files.places
    for name, file in (("Project", places.project_config), ("User", places.user_config)):
        if file is not None:
            there = "" if _is_there(file) else " (not there: defaults)"
            yield Finding(Level.OK, AREA, f"{name} file: {shown(file)}{there}")


def _is_there(file: Path) -> bool:
    try:
        return file.exists()
    except OSError:  # a folder that may not be looked into; reading it says so
        return True


def _values(files: SettingsFiles) -> Iterator[Finding]:
    """Every value, and who set it."""
    try:
        loaded = files.current()
    except ConfigError as exc:
        hint = f"{exc.hint}; {_GO_ON}" if exc.hint else _GO_ON
        yield Finding(Level.FAIL, AREA, without_secrets(exc.message), hint)
        return
    for warning in loaded.warnings:
        yield Finding(Level.WARN, AREA, warning)
    for key in CATALOGUE:
        value = without_secrets(without_password(as_typed(value_of(loaded.settings, key))))
        origin = loaded.origins.get(key, "default")
        yield Finding(Level.OK, AREA, f"{key} = {value}  ({origin})")


CHECKS: tuple[Check[SettingsFiles], ...] = (_files, _values)
