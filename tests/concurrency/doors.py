"""The three ways into a memory, behind one face: the engine, the command line and the agents' door.

What a door refuses is a `Refused` with the words that a person would read.
"""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, Protocol

from anyio.from_thread import BlockingPortal
from mcp import Client
from mcp.types import CallToolResult

from aurora import Memory
from aurora.engine.admin import copy_between
from aurora.engine.location import SqliteLocation
from aurora.errors import AuroraError, ChunkNotFoundError
from tests.cli.conftest import Shell
from tests.concurrency.files import edit_files
from tests.mcp.conftest import text_of

Chore = Callable[[], object]


class Refused(Exception):  # noqa: N818 - it is an answer
    """A door said no, in these words."""


class Door(Protocol):
    """Writes are acknowledged by returning; reads tell what is there now."""

    sections: int  # of a document, each of which this door reads
    can_replace: bool  # whether a document of the same name takes the place of the one before

    @property
    def chores(self) -> Mapping[str, Chore]:
        """What else is done here, by name: nothing is to be seen of it."""

    def keep(self, name: str, text: str) -> str: ...

    def learn(self, text: str) -> str: ...

    def forget(self, id_: str) -> None: ...

    def read(self, id_: str) -> str | None: ...

    def find(self, word: str) -> list[str]: ...


class Engine:
    """`Memory`, shared by the threads of one process."""

    sections, can_replace = 3, True

    def __init__(self, memory: Memory, scratch: Path) -> None:
        self._memory, self._scratch = memory, scratch
        self._root = memory.places.project or scratch

    @property
    def chores(self) -> Mapping[str, Chore]:
        memory = self._memory
        return {
            "index": refusing(self._index),
            "reembed": refusing(memory.admin.reembed),
            "rebuild": refusing(memory.admin.rebuild_bm25),
            "copy": refusing(self._copy),
            "stats": refusing(memory.stats),
            "export": refusing(lambda: memory.export(io.BytesIO())),
            "audit": refusing(self._audit),
        }

    def keep(self, name: str, text: str) -> str:
        path = self._root / f"{name}.md"
        return refusing(lambda: self._memory.add(text, path=path, namespace="soak").id)()

    def learn(self, text: str) -> str:
        return refusing(lambda: self._memory.learn(text).id)()

    def forget(self, id_: str) -> None:
        refusing(lambda: self._memory.forget(self._memory.admin.find_to_forget(id_)))()

    def read(self, id_: str) -> str | None:
        try:
            pieces = self._memory.admin.pieces(self._memory.get(id_))
        except ChunkNotFoundError:
            return None
        except AuroraError as exc:
            raise Refused(str(exc)) from exc
        return "\n".join(piece.content for piece in pieces)

    def find(self, word: str) -> list[str]:
        found = refusing(lambda: self._memory.search(word, mode="keyword"))()
        return [result.chunk_id for result in found.results]

    def _index(self) -> None:
        edit_files(self._root)
        report = self._memory.index(self._root, git=False)
        assert not report.errors, report.errors

    def _copy(self) -> None:
        with tempfile.TemporaryDirectory(dir=self._scratch) as folder:
            copied = copy_between(
                self._memory.admin.location, SqliteLocation(Path(folder) / "memory.db")
            )
        assert copied.source.chunks == copied.target.chunks

    def _audit(self) -> None:
        """At any moment every document is whole, and of one version."""
        with self._memory.admin.store.snapshot() as still:
            chunks = still.chunks.get_chunks(still.chunks.find_in_namespace("soak"))
        documents: dict[str, list[str]] = {}
        for chunk in chunks:
            documents.setdefault(chunk.id.partition("@")[0], []).append(chunk.content.split()[-1])
        for id_, words in documents.items():
            assert len(set(words)) == 1, f"{id_} is of several versions: {words}"
            assert len(words) in (1, 3), f"{id_} is not whole: {words}"


class CommandLine:
    """The real `aur`, a process for every call."""

    sections, can_replace = 1, True

    def __init__(self, shell: Shell, scratch: Path) -> None:
        self._shell, self._scratch = shell, scratch
        self._turn = count()

    @property
    def chores(self) -> Mapping[str, Chore]:
        return {
            "index": lambda: self._aur("mem", "index", ".", "--no-git"),
            "reembed": lambda: self._aur("mem", "reembed"),
            "rebuild": lambda: self._aur("mem", "rebuild-bm25"),
            "copy": self._copy,
            "stats": lambda: self._aur("mem", "stats"),
            "export": lambda: self._aur("mem", "export"),
            "settings": self._set,
        }

    def keep(self, name: str, text: str) -> str:
        file = self._scratch / f"{name}.md"
        file.write_text(text, encoding="utf-8")
        return self._aur("mem", "add", str(file), "--namespace", "soak").split()[-1]

    def learn(self, text: str) -> str:
        return self._aur("mem", "learn", text).strip()

    def forget(self, id_: str) -> None:
        self._aur("mem", "forget", "--yes", id_)

    def read(self, id_: str) -> str | None:
        try:
            return self._aur("mem", "get", id_)
        except Refused as exc:
            if "There is no chunk" in str(exc):
                return None
            raise

    def find(self, word: str) -> list[str]:
        told = json.loads(self._aur("mem", "search", word, "--mode", "keyword", "--json"))
        return [result["id"] for result in told["results"]]

    def _copy(self) -> None:
        with tempfile.TemporaryDirectory(dir=self._scratch) as folder:
            self._aur("mem", "copy", "--to", f"{folder}/memory.db")

    def _set(self) -> None:
        """Settings that others notice with their next call: a ranking, and who embeds."""
        turn = next(self._turn)
        self._aur("config", "set", "search.fusion", ("rrf", "auto")[turn % 2])
        self._aur("config", "set", "embedding.model", ("shallow", "deep")[turn % 2])

    def _aur(self, *words: str) -> str:
        done = self._shell.run(*words)
        assert "Traceback" not in done.stderr, done.stderr
        if done.returncode:
            raise Refused(f"{' '.join(words[:2])}: {done.stderr}")
        return done.stdout


class Agent:
    """A client of one `aur mcp --http`."""

    sections, can_replace = 3, False

    def __init__(self, portal: BlockingPortal, client: Client) -> None:
        self._portal, self._client = portal, client

    @property
    def chores(self) -> Mapping[str, Chore]:
        return {
            "index": lambda: self._ask("aurora_index", git=False),
            "stats": lambda: self._ask("aurora_status"),
        }

    def keep(self, name: str, text: str) -> str:  # noqa: ARG002 - its text is its name
        return str(self._ask("aurora_ingest", content=text, namespace="soak")["id"])

    def learn(self, text: str) -> str:
        return str(self._ask("aurora_learn", text=text)["id"])

    def forget(self, id_: str) -> None:
        self._ask("aurora_forget", what=id_, several=True)

    def read(self, id_: str) -> str | None:
        try:
            return str(self._ask("aurora_retrieve", id=id_, detail="full")["content"])
        except Refused as exc:
            if "There is no chunk" in str(exc):
                return None
            raise

    def find(self, word: str) -> list[str]:
        answer = self._ask("aurora_search", query=word, detail="full")
        return [found["id"] for found in answer["documents"]]

    def _ask(self, tool: str, **arguments: object) -> dict[str, Any]:
        result = self._portal.call(self._client.call_tool, tool, arguments)
        assert isinstance(result, CallToolResult)
        if result.is_error:
            raise Refused(text_of(result))
        assert result.structured_content is not None
        return result.structured_content


def refusing(work: Callable[[], Any]) -> Callable[[], Any]:
    """The same work, whose own errors are refusals."""

    def tried() -> Any:  # whatever the work gives
        with translated():
            return work()

    return tried


@contextmanager
def translated() -> Iterator[None]:
    try:
        yield
    except AuroraError as exc:
        raise Refused(str(exc)) from exc
