"""An indexed project, as the command line's tests have it."""

from tests.cli.conftest import indexed, once_indexed, once_indexed_on_server, shell

__all__ = ["indexed", "once_indexed", "once_indexed_on_server", "shell"]
