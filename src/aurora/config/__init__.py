"""Settings: their schema, their layers, and what a project may set."""

from aurora.config.load import LoadedSettings, SettingsFiles
from aurora.config.places import Places
from aurora.config.schema import Settings

__all__ = ["LoadedSettings", "Places", "Settings", "SettingsFiles"]
