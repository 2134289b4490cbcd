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
    │   ├── NoVectorsError      no chunk has a vector yet
    │   └── RefusedError        an endpoint refuses these texts; it may accept fewer or shorter
    ├── ClusterError            other machines cannot take part; this process does the work
    ├── LlmError                a language model gives no usable answer; a search goes on without
    ├── ChunkNotFoundError      no chunk, or more than one, has this id
    ├── IndexFileError          a derived index file is damaged or foreign; it is rebuilt
    │   └── IndexVersionError   another version made it; it is rebuilt
    └── StoreError              the database cannot be used
        ├── NoMemoryError       nothing is indexed here yet
        ├── StoreFormatError    the file is foreign, damaged, or newer than this program
        │   └── ForeignSchemaError  it has triggers, views, indexes or tables of other programs
        ├── StoreBusyError      another process holds the write lock for too long
        ├── StoreUnreachableError   the server cannot be reached, or cut a transaction off
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


class ConfigError(AuroraError): ...


class UnsafeFolderError(ConfigError): ...


class SourceError(AuroraError): ...


class GitError(SourceError):
    """Git is missing, refuses the repository, or fails. The message is git's own."""


class NoRepositoryError(GitError): ...


class GitLimitError(GitError): ...


class GitStartError(SourceError):
    """The system cannot start git: too few files, memory or processes.

    Not a `GitError`, which callers may take for "there is no repository".
    """


class WatchError(SourceError): ...


class LabelError(AuroraError): ...


class TransferError(AuroraError): ...


class QueryError(AuroraError): ...


class EmbeddingError(AuroraError): ...


class NoVectorsError(EmbeddingError): ...


class RefusedError(EmbeddingError): ...


class ClusterError(AuroraError): ...


class LlmError(AuroraError): ...


class ChunkNotFoundError(AuroraError): ...


class IndexFileError(AuroraError): ...


class IndexVersionError(IndexFileError): ...


class StoreError(AuroraError): ...


class NoMemoryError(StoreError): ...


class StoreFormatError(StoreError): ...


class ForeignSchemaError(StoreFormatError): ...


class StoreBusyError(StoreError): ...


class StoreUnreachableError(StoreError): ...


class EmbedderMismatchError(StoreError): ...
