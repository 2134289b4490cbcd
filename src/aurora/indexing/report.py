"""What one run of indexing did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from aurora.indexing.embedding import Embedded


@dataclass(frozen=True, slots=True)
class IndexReport:
    """Counts of files, and everything that was not as it should be.

    `failed` files could not be read or parsed, and `errors` name the paths that could not be
    walked at all: the memory is whole, but not all that was asked for is in it.
    """

    scanned: int
    parsed: int
    unchanged: int
    removed: int
    skipped: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    failed: int = 0
    errors: tuple[str, ...] = ()
    logs: int = 0  # conversation logs that are there
    histories: int = 0  # chunks of which git told something new
    embedded: Embedded = field(default_factory=Embedded)

    @property
    def is_partial(self) -> bool:
        return bool(self.failed or self.errors or self.embedded.failed)
