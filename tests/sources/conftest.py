"""Every test here runs git without the user's own settings."""

from tests.sources.repository import own_git

__all__ = ["own_git"]
