"""Settings: the first line is a key and what is typed for it, the rest a settings file. A file
loads or is told to be wrong; a value that was set reads back, and all else stays."""

from __future__ import annotations

from aurora.config import Places, SettingsFiles
from aurora.config.edit import set_value
from aurora.config.load import without_password, without_secrets
from aurora.config.schema import CATALOGUE, Settings, value_of
from aurora.config.yaml import (
    NotPlainError,
    YamlError,
    _parse_with_library,
    parse_plain,
    parse_yaml,
)
from aurora.errors import ConfigError
from tests.fuzz.inputs import head_and_rest, require_told, scratch, scratch_file

_KEYS = sorted(CATALOGUE)


def check(data: bytes) -> None:
    head, rest = head_and_rest(data)
    key, _, typed = head.partition(" ")
    key = key if key in CATALOGUE else _KEYS[len(head) % len(_KEYS)]
    _check_values(typed)
    _check_yaml(rest)
    loaded = _load(rest, flags={key: typed})
    _check_edit(key, typed, rest, loads=loaded is not None)


def _check_values(typed: str) -> None:
    for hidden in (without_secrets(typed), without_password(typed)):
        assert (hidden == typed) or "***" in hidden
    assert without_secrets("https://user:secret@host/" + typed.strip()).count("secret@") <= (
        typed.count("secret@")
    )


def _check_yaml(content: bytes) -> None:
    try:
        value = parse_yaml(content)
    except YamlError as exc:
        require_told(exc)
        return
    try:
        plain = parse_plain(content.decode("utf-8-sig"))
    except NotPlainError:
        return
    assert repr(plain) == repr(value) == repr(_parse_with_library(content.decode("utf-8-sig")))


def _load(content: bytes, flags: dict[str, object]) -> Settings | None:
    scratch_file("home/config.yml", content)
    for given in (flags, {}):
        files = SettingsFiles(Places(scratch("home")), {}, given)
        try:
            loaded = files.current()
        except ConfigError as exc:
            require_told(exc)
            loaded = None
    return loaded.settings if loaded else None


def _check_edit(key: str, typed: str, content: bytes, *, loads: bool) -> None:
    file = scratch_file("edited.yml", content)
    try:
        value = set_value(file, key, typed)
    except ConfigError as exc:
        assert file.read_bytes() == content
        require_told(exc)
        return
    edited = file.read_bytes()
    tree = whole = parse_yaml(edited)
    for name in key.split("."):
        assert isinstance(tree, dict)
        tree = tree[name]
    assert tree == value
    assert set_value(file, key, typed) == value
    assert repr(parse_yaml(file.read_bytes())) == repr(whole)  # set again, nothing changes
    scratch_file("home/config.yml", edited)
    if loads and not key.startswith(("search.hybrid.stage2_weights", "search.hybrid.weights")):
        settings = SettingsFiles(Places(scratch("home")), {}, {}).current().settings
        assert value_of(settings, key) == value
