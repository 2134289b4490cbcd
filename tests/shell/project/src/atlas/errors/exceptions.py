"""Everything that can go wrong, as one tree."""


class AtlasError(Exception):
    """Base of all errors that a person can do something about."""

    hint = ""


class ConfigError(AtlasError):
    """A setting that is missing or impossible."""

    hint = "see docs/configuration.md for the settings there are"


class AuthenticationError(AtlasError):
    """Name or password is wrong, or the account is locked."""


class PhaseFailed(AtlasError):
    """A phase of a query ended without an answer."""

    def __init__(self, phase, query):
        super().__init__(f"{phase} failed for {query!r}")
