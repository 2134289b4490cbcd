"""What the metadata of a chunk say of the session that it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from aurora.lazy_patterns import lazy_pattern
from aurora.quick_classes import NamedTuple

SESSION = "session"  # the value of `metadata.source`
TALK = (SESSION, "conversation")  # the values of chunks that are talk
AGENT_MEMORY = "agent-memory"  # the document type of the files in which agents remember
_SHORT = 20  # characters of an id that is no UUID: other ids begin with a word and the time
_SHORT_UUID = {"7": 13}  # a UUID of version 7 begins with its time, to the millisecond
_UUID = lazy_pattern(r"[0-9a-f]{8}-[0-9a-f]{4}-([0-9a-f])[0-9a-f]{3}-[0-9a-f-]{17}")


class SessionFacts(NamedTuple):
    """The session of a chunk. What the transcript does not tell is empty.

    `form` is what the chunk has of an exchange: `exchange`, `summary`, `decision`, `command` or
    `fix`. `project` is the folder where the session began; `files` and `edited` are relative to it.
    """

    agent: str
    id: str
    title: str = ""
    form: str = ""
    time: datetime | None = None
    project: str = ""
    branch: str = ""
    commit: str = ""
    model: str = ""
    exchange: str = ""
    parent: str = ""  # the session that started this one
    edited: tuple[str, ...] = ()
    files: tuple[str, ...] = ()

    @property
    def short_id(self) -> str:
        """The beginning of the id, which commands take as well."""
        uuid = _UUID.fullmatch(self.id)
        return self.id[: _SHORT_UUID.get(uuid[1], 8) if uuid else _SHORT]


def read_session_facts(metadata: Mapping[str, object]) -> SessionFacts | None:
    """The session that metadata name; None for a chunk of anything else."""
    if metadata.get("source") != SESSION:
        return None

    def text(key: str) -> str:
        value = metadata.get(key)
        return value if isinstance(value, str) else ""

    def texts(key: str) -> tuple[str, ...]:
        value = metadata.get(key)
        return tuple(map(str, value)) if isinstance(value, list) else ()

    return SessionFacts(
        agent=text("agent"),
        id=text("session"),
        title=text("title"),
        form=text("form"),
        time=_read_time(text("time")),
        project=text("project"),
        branch=text("branch"),
        commit=text("commit"),
        model=text("model"),
        exchange=text("exchange"),
        parent=text("parent"),
        edited=texts("edited"),
        files=texts("files"),
    )


def _read_time(written: str) -> datetime | None:
    try:
        at = datetime.fromisoformat(written)
    except ValueError:
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)
