"""Everything that can go wrong in the world, as one tree. Mistakes of a programmer stay ValueError.

    AuroraError
    ├── ConfigError             a settings file or variable says something impossible
    │   └── UnsafeFolderError   a memory's folder or a file in it is a link, or another user's
    ├── SourceError             a path that cannot be read or is not there
    │   ├── GitError            git is missing, refuses the repository, or failed midway
    │   │   ├── NoRepositoryError   there is no git repository at a folder
    │   │   └── GitLimitError       a question takes git too long, or too much memory
    │   ├── GitStartError       the git program is there, but the system cannot start it
    │   └── WatchError          files cannot be watched: no package for it, or too many folders
    ├── LabelError              a document's namespace, type or metadata cannot be kept
    ├── TransferError           an export cannot be written, or what is to be imported is none
    ├── QueryError              a query that asks for nothing
    ├── EmbeddingError          a question or the memory has no vectors to compare
    │   └── RefusedError        an endpoint does not want these texts
    ├── SpreadingError          other processes or machines cannot do a part of the work
    ├── LlmError                a language model cannot be asked, or answers nonsense
    ├── ChunkNotFoundError      no chunk, or more than one, answers to an id
    ├── IndexFileError          a derived index file is damaged or foreign; it is rebuilt
    │   └── IndexVersionError   it was made by another version; it is rebuilt
    └── StoreError              the database cannot be used
        ├── NoMemoryError       nothing was indexed here yet
        ├── StoreFormatError    the file is not ours, damaged, or newer than this program
        │   └── ForeignSchemaError  it has triggers, views or tables that Aurora never makes
        ├── StoreBusyError      another process holds the write lock for too long
        ├── StoreAwayError      the database server cannot be reached, or went away midway
        └── EmbedderMismatchError   vectors of two models would be mixed

A message names the value that is wrong; the hint names the next step.
"""

from __future__ import annotations


class AuroraError(Exception):
    """Base of all errors meant for people."""

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
    """A settings file or variable says something impossible."""


class UnsafeFolderError(ConfigError):
    """A memory's folder, or a file in it, is a link, or belongs to another user."""


class SourceError(AuroraError):
    """A path cannot be read or is not there."""


class GitError(SourceError):
    """Git is missing, refuses the repository, or failed midway. The message is git's own."""


class NoRepositoryError(GitError):
    """There is no git repository at a folder."""


class GitLimitError(GitError):
    """A question takes git longer, or more memory, than it may have. A coarser one may not."""


class GitStartError(SourceError):
    """The git program is there, but the system cannot start it: no files, memory, processes.

    It is no `GitError`: a missing answer must not pass for "there is no repository".
    """


class WatchError(SourceError):
    """Files cannot be watched: the package is missing, or the system's limit is reached."""


class LabelError(AuroraError):
    """A document's namespace, type or metadata cannot be kept as they are."""


class TransferError(AuroraError):
    """An export cannot be written; or what is to be imported is none, cut off, or damaged."""


class QueryError(AuroraError):
    """The query asks for nothing."""


class EmbeddingError(AuroraError):
    """Meaning cannot be compared: no vectors, no model, or a model that failed."""


class RefusedError(EmbeddingError):
    """These texts are not wanted; fewer or shorter ones, perhaps."""


class ClusterError(AuroraError):
    """Other processes or machines cannot do a part of the work; it is left to this one."""


class LlmError(AuroraError):
    """A language model cannot be asked, or answers nonsense. A search goes on without it."""


class ChunkNotFoundError(AuroraError):
    """No chunk, or more than one, answers to an id."""


class IndexFileError(AuroraError):
    """A derived index file is damaged, truncated, or of another format."""


class IndexVersionError(IndexFileError):
    """A derived index file is whole, but another version of the program made it."""


class StoreError(AuroraError):
    """The database cannot be used."""


class NoMemoryError(StoreError):
    """Nothing was indexed here yet."""


class StoreFormatError(StoreError):
    """The file is not ours, damaged, or written by a newer program."""


class ForeignSchemaError(StoreFormatError):
    """The file has triggers, views, indexes or tables that Aurora never makes."""


class StoreBusyError(StoreError):
    """Another process held the write lock for too long."""


class StoreUnreachableError(StoreError):
    """The database server cannot be reached, or went away. What was under way was not kept."""


class EmbedderMismatchError(StoreError):
    """Vectors of two models would be mixed in one memory."""
