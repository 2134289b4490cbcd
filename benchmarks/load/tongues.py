"""What agents do, and how each server wants to be told it.

A `Deed` is what is meant. A `Tongue` says it to one server and reads what that answers: Aurora's
tools, or those of mcp-memory-service, which has no tool that reads one memory by its name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from mcp.types import CallToolResult

Call = tuple[str, dict[str, object]]


class Kind(StrEnum):
    """What is meant by a call."""

    SEARCH = "search"
    CODE = "search code"
    READ = "read"
    KEEP = "keep"
    LEARN = "learn"
    FORGET = "forget"
    STATUS = "status"
    INDEX = "index"


@dataclass(frozen=True, slots=True)
class Deed:
    """One thing to do; `words` are asked for or kept, `id` is read or forgotten."""

    kind: Kind
    words: str = ""
    mode: str = "hybrid"
    id: str = ""


class Tongue(Protocol):
    """How one server is told what is meant, and what its answers mean."""

    def call(self, deed: Deed) -> Call: ...

    def failed(self, result: CallToolResult) -> bool: ...

    def found(self, result: CallToolResult) -> Sequence[str]:
        """Ids that a search answered with."""

    def kept(self, result: CallToolResult) -> str:
        """The id of what was kept."""

    def look(self, id_: str, text: str) -> Call:
        """Asks for something that was kept, so that `holds` can tell."""

    def holds(self, result: CallToolResult, id_: str, text: str) -> bool: ...


class Aurora:
    """The tools of `aur mcp`."""

    def call(self, deed: Deed) -> Call:
        calls: Mapping[Kind, Call] = {
            Kind.SEARCH: (
                "aurora_search",
                {"query": deed.words, "use_hybrid": deed.mode == "hybrid", "detail": "full"},
            ),
            Kind.CODE: (
                "search_code",
                {"query": deed.words, "search_mode": deed.mode, "limit": 5, "detail": "full"},
            ),
            Kind.READ: ("aurora_retrieve", {"id": deed.id, "detail": "full"}),
            Kind.KEEP: ("aurora_ingest", {"content": deed.words, "namespace": "load"}),
            Kind.LEARN: ("aurora_learn", {"text": deed.words}),
            Kind.FORGET: ("aurora_forget", {"what": deed.id}),
            Kind.STATUS: ("aurora_status", {}),
            Kind.INDEX: ("aurora_index", {"git": False}),
        }
        return calls[deed.kind]

    def failed(self, result: CallToolResult) -> bool:
        return result.is_error or result.structured_content is None

    def found(self, result: CallToolResult) -> Sequence[str]:
        assert result.structured_content is not None
        return [document["id"] for document in result.structured_content["documents"]]

    def kept(self, result: CallToolResult) -> str:
        assert result.structured_content is not None
        return str(result.structured_content["id"])

    def look(self, id_: str, text: str) -> Call:  # noqa: ARG002 - the id says all
        return "aurora_retrieve", {"id": id_, "detail": "full"}

    def holds(self, result: CallToolResult, id_: str, text: str) -> bool:  # noqa: ARG002
        there = result.structured_content
        return not result.is_error and there is not None and there["content"] == text


class MemoryService:
    """The tools of mcp-memory-service. Its errors are often answers that begin with the word."""

    def call(self, deed: Deed) -> Call:
        calls: Mapping[Kind, Call] = {
            Kind.SEARCH: (
                "memory_search",
                {"query": deed.words, "mode": deed.mode, "limit": 10},
            ),
            # Without a conversation it refuses what means about the same as something it has.
            Kind.KEEP: ("memory_store", {"content": deed.words, "conversation_id": "load"}),
            Kind.FORGET: ("memory_delete", {"content_hash": deed.id}),
            Kind.STATUS: ("memory_health", {}),
        }
        return calls[deed.kind]

    def failed(self, result: CallToolResult) -> bool:
        return result.is_error or words_of(result).startswith(("Error", "Failed"))

    def found(self, result: CallToolResult) -> Sequence[str]:
        return re.findall(r"Hash: ([0-9a-f]{64})", words_of(result))

    def kept(self, result: CallToolResult) -> str:
        told = re.search(r"hash: ([0-9a-f]{64})", words_of(result))
        assert told is not None, words_of(result)
        return told[1]

    def look(self, id_: str, text: str) -> Call:  # noqa: ARG002 - it has no tool for an id
        return "memory_search", {"query": text, "mode": "exact", "limit": 10}

    def holds(self, result: CallToolResult, id_: str, text: str) -> bool:
        return text in words_of(result) and id_ in self.found(result)


def words_of(result: CallToolResult) -> str:
    return "\n".join(part.text for part in result.content if hasattr(part, "text"))
