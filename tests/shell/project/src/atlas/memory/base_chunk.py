"""The unit that is stored and found."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class BaseChunk:
    """A piece of a file, a conversation or a lesson."""

    path: str
    name: str
    content: str
    metadata: dict = field(default_factory=dict)

    @property
    def chunk_id(self):
        """The same for the same place, however often it is read."""
        return f"{self.path}:{self.name}"

    def words(self):
        return self.content.lower().split()
