"""Settings: what can be set, where a value came from, and who may set it."""

from aurora.config.load import LoadedSettings, SettingsFiles
from aurora.config.places import Places
from aurora.config.schema import Settings

__all__ = ["LoadedSettings", "Places", "Settings", "SettingsFiles"]
