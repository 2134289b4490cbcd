"""Configuration in layers: defaults, the user's file, the project's file, the environment."""

import os
from pathlib import Path

import yaml

from atlas.config.defaults import DEFAULTS
from atlas.errors.exceptions import ConfigError


class ConfigManager:
    """Answers for one setting at a time; the highest layer that has it wins."""

    def __init__(self, layers):
        self.layers = layers

    def get(self, key):
        for layer in self.layers:
            if key in layer:
                return layer[key]
        raise ConfigError(key)


def load_config(project, environ=os.environ):
    """All layers, the highest first."""
    home = Path(environ.get("ATLAS_HOME", Path.home() / ".atlas"))
    files = [Path(project) / "atlas.yml", home / "config.yml"]
    return ConfigManager([read_environment(environ), *map(read_file, files), DEFAULTS])


def read_file(path):
    """Settings of a YAML file with dotted keys; nothing where there is no file."""
    return yaml.safe_load(path.read_text(encoding="utf-8")) if path.exists() else {}


def read_environment(environ):
    prefix = "ATLAS_"
    return {
        name.removeprefix(prefix).lower().replace("__", "."): value
        for name, value in environ.items()
        if name.startswith(prefix)
    }
