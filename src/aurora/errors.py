"""All errors for people, as one tree. Mistakes of a programmer stay `ValueError` or `TypeError`.

    AuroraError
    ├── ConfigError             a settings file or variable has an invalid value
    │   └── UnsafeFolderError   a memory's folder or file is a link, or belongs to another user
    ├── SourceError             a path does not exist or cannot be read
    │   ├── GitError            git is missing, refuses the repository, or fails
    │   │   ├── NoRepositoryError   a folder is in no git repository
    │   │   └── GitLimitError       a git call takes too much time, memory or output
    │   ├── GitStartError       the system cannot start git
    │   └── WatchError          files cannot be watched: package missing, or too many folders
    ├── LabelError              a document's namespace, type or metadata is invalid
    ├── TransferError           an export cannot be written, or an import cannot be read
    ├── QueryError              a query without words
    ├── EmbeddingError          no vectors, no model, or a model that fails
    │   └── RefusedError        an endpoint refuses these texts
    ├── ClusterError            other processes or machines cannot take part in the work
    ├── LlmError                a language model cannot be reached, or gives no usable answer
    ├── ChunkNotFoundError      no chunk, or more than one, has this id
    ├── IndexFileError          a derived index file is damaged or foreign; it is rebuilt
    │   └── IndexVersionError   another version made it; it is rebuilt
    └── StoreError              the database cannot be used
        ├── NoMemoryError       nothing is indexed here yet
        ├── StoreFormatError    the file is foreign, damaged, or newer than this program
        │   └── ForeignSchemaError  it has triggers, views, indexes or tables of other programs
        ├── StoreBusyError      another process holds the write lock for too long
        ├── StoreUnreachableError   the database server cannot be reached, or disconnected
        └── EmbedderMismatchError   vectors of two models would be mixed

A message names the wrong value; the hint names the next step.
"""

from __future__ import annotations


class AuroraError(Exception):
    """Base of all errors for people."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n\nhint: {self.hint}" if self.hint else self.message

    @property
    def in_one_line(self) -> str:
        return f"{self.message}: {self.hint}" if self.hint else self.message


class ConfigError(AuroraError):
    """A settings file or variable has an invalid value."""


class UnsafeFolderError(ConfigError):
    """A memory's folder, or a file in it, is a link, or belongs to another user."""


class SourceError(AuroraError):
    """A path does not exist or cannot be read."""


class GitError(SourceError):
    """Git is missing, refuses the repository, or fails. The message is git's own."""


class NoRepositoryError(GitError):
    """A folder is in no git repository."""


class GitLimitError(GitError):
    """A git call exceeds its limits on time, memory or output."""


class GitStartError(SourceError):
    """The system cannot start git: too few files, memory or processes.

    Not a `GitError`, which callers may take for "there is no repository".
    """


class WatchError(SourceError):
    """Files cannot be watched: the package is missing, or a system limit is reached."""


class LabelError(AuroraError):
    """A document's namespace, type or metadata is invalid."""


class TransferError(AuroraError):
    """An export cannot be written, or an import is not an export, cut off or damaged."""


class QueryError(AuroraError):
    """A query has no words."""


class EmbeddingError(AuroraError):
    """Meaning cannot be compared: no vectors, no model, or a model that fails."""


class RefusedError(EmbeddingError):
    """An endpoint refuses these texts; it may accept fewer or shorter ones."""


class ClusterError(AuroraError):
    """Other processes or machines cannot take part; this process does the work."""


class LlmError(AuroraError):
    """A language model gives no usable answer. A search continues without it."""


class ChunkNotFoundError(AuroraError):
    """No chunk, or more than one, has this id."""


class IndexFileError(AuroraError):
    """A derived index file is damaged, truncated, or of another format."""


class IndexVersionError(IndexFileError):
    """Another version of the program made this derived index file."""


class StoreError(AuroraError):
    """The database cannot be used."""


class NoMemoryError(StoreError):
    """Nothing is indexed here yet."""


class StoreFormatError(StoreError):
    """The file is foreign, damaged, or written by a newer program."""


class ForeignSchemaError(StoreFormatError):
    """The file has triggers, views, indexes or tables that Aurora does not create."""


class StoreBusyError(StoreError):
    """Another process holds the write lock for too long."""


class StoreUnreachableError(StoreError):
    """The database server cannot be reached, or disconnected. Open transactions are lost."""


class EmbedderMismatchError(StoreError):
    """Vectors of two models would be mixed in one memory."""
