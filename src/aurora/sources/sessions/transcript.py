"""Collects the records of one session into exchanges.

A reader says what each record means: a question, a piece of an answer, a call, an outcome. All that
must survive a pause is in `state`, so that reading can go on later from any question.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from aurora.sources.sessions.base import (
    Exchange,
    Options,
    Reading,
    Session,
    ToolKind,
    ToolUse,
)
from aurora.sources.sessions.json_values import clean, parsed
from aurora.sources.sessions.tool_uses import (
    MAX_FAILURE,
    MAX_INPUT,
    MAX_OUTCOME,
    MAX_TEXT,
    cut,
    exit_status,
    tool_files,
    tool_input,
    tool_kind,
)
from aurora.types import Json

MOST_CALLS = 100  # of one exchange, before it goes on in another part
_TITLE = 120  # characters of a title
_BARE_COMMAND = re.compile(r"/[\w:-]{1,80}|")
_FACTS = ("title", "project", "branch", "commit", "model", "parent")


def digest(*parts: str) -> str:
    """A short id for records that have none of their own."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:16]


@dataclass(slots=True)
class OpenExchange:
    """The exchange that is being read."""

    id: str
    session: str
    asked: str
    time: datetime | None
    model: str
    branch: str
    commit: str
    cwd: str
    seq: int
    answers: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    tools: dict[str, ToolUse] = field(default_factory=dict)
    waiting: set[str] = field(default_factory=set)  # calls without an outcome
    is_summary: bool = False
    part_of: str = ""  # the id of the first part
    calls: int = 0  # in the parts before

    def next_part(self, call: str, time: datetime | None, seq: int) -> OpenExchange:
        """The same question, before the next call."""
        part_of = self.part_of or self.id
        return replace(
            self,
            id=f"{part_of}/{call}",
            time=time or self.time,
            seq=seq,
            answers=[],
            thoughts=[],
            tools={},
            waiting=set(),
            part_of=part_of,
            calls=self.calls + len(self.tools),
        )

    @property
    def is_empty(self) -> bool:
        return not (self.answers or self.tools)


class Transcript:
    """The session that is being read. Exchanges are taken out of it as they are finished."""

    def __init__(
        self,
        reading: Reading,
        agent: str,
        path: Path,
        options: Options,
        *,
        state: dict[str, str] | None = None,
        start: int = 0,
    ) -> None:
        self.reading, self.agent, self.path, self.options = reading, agent, path, options
        self.start = start  # the byte where this reading begins
        self.state = state if state is not None else {}
        self.opened = False  # an exchange began since this was last set
        self._open: OpenExchange | None = None
        self._finished: list[Exchange] = []

    @property
    def id(self) -> str:
        return self.state.get("id", "")

    @property
    def current(self) -> OpenExchange | None:
        """The exchange that is being read, if any."""
        return self._open

    def note(self, **facts: str) -> None:
        """Set what is told. The first folder is the session's project."""
        self.state.update({name: value for name, value in facts.items() if value})
        if facts.get("cwd"):
            self.state.setdefault("project", facts["cwd"])

    def note_title(self, text: str, rank: int) -> None:
        """Set the title, unless a better one is known. A later one of the same rank replaces it."""
        line = next(filter(None, map(str.strip, text.splitlines())), "")[:_TITLE]
        if line and rank >= int(self.state.get("title_rank", "0")):
            title = self.options.redactor.text(line)  # an offset holds it, too
            self.state.update(title=title, title_rank=str(rank))

    def note_commit(self, commit: str) -> None:
        """Set the commit that the agent just made."""
        self.note(commit=commit)
        if self._open is not None:
            self._open.commit = commit

    def note_time(self, time: datetime | None) -> None:
        """Widen the time of the session."""
        if time is not None:
            moment = time.isoformat()
            self.state["started"] = min(self.state.get("started", moment), moment)
            self.state["ended"] = max(self.state.get("ended", moment), moment)

    def ask(self, id_: str, text: str, time: datetime | None) -> None:
        """Begin an exchange with a question."""
        self.note_title(text, rank=0 if self.state.get("title") else 1)
        self._begin(id_, cut(text.strip(), MAX_TEXT, self.options.redactor), time)

    def summarise(self, id_: str, text: str, time: datetime | None) -> None:
        """Add the agent's own summary of the conversation so far."""
        if text.strip():
            self._begin(id_, "", time)
            self._say(text)
            if self._open:
                self._open.is_summary = True
            self._close()

    def answer(self, id_: str, text: str, time: datetime | None, *, repeats: bool = False) -> None:
        """Add a piece of the answer. With `repeats`, not one that is there already."""
        if not text.strip():
            return
        current = self._continue(id_, time)
        if not (repeats and cut(text.strip(), MAX_TEXT, self.options.redactor) in current.answers):
            self._say(text)

    def think(self, id_: str, text: str, time: datetime | None) -> None:
        """Add a thought, if thoughts are wanted."""
        if self.options.thinking and text.strip():
            thought = cut(text.strip(), MAX_TEXT, self.options.redactor)
            self._continue(id_, time).thoughts.append(thought)

    def call(self, id_: str, name: str, arguments: Json, time: datetime | None) -> None:
        """Add the call of a tool. Its outcome comes later, under the same id."""
        current = self._continue(id_, time)
        id_ = id_ or f"call {current.calls + len(current.tools) + 1}"
        if len(current.tools) >= MOST_CALLS * (5 if current.waiting else 1):
            self._finish(current)
            current = self._open = current.next_part(id_, time, self._count())
        kind, arguments = tool_kind(name), parsed(arguments)
        current.tools[id_] = ToolUse(
            id=id_,
            name=name,
            kind=kind,
            input=cut(tool_input(kind, arguments), MAX_INPUT, self.options.redactor),
            files=tool_files(kind, name, arguments),
        )
        current.waiting.add(id_)

    def result(
        self,
        id_: str,
        outcome: str,
        *,
        failed: bool = False,
        status: int | None = None,
        files: Iterable[str] = (),
    ) -> None:
        """Add the outcome of a call. A later one, with more detail, is joined to it."""
        use = self._open.tools.get(id_) if self._open else None
        if self._open is None or use is None:
            self.reading.skip("an outcome without its call")
            return
        if status is None and use.kind is ToolKind.COMMAND:
            status = exit_status(outcome)
        status = use.exit_status if status is None else status
        failed = failed or use.failed or bool(status)
        most = MAX_FAILURE if failed else MAX_OUTCOME[use.kind]
        self._open.waiting.discard(id_)
        self._open.tools[id_] = replace(
            use,
            outcome=cut(outcome, most, self.options.redactor) or use.outcome,
            failed=failed,
            exit_status=status,
            files=tuple(dict.fromkeys((*use.files, *map(clean, files)))),
        )

    def take(self) -> list[Exchange]:
        """Take the exchanges that are finished."""
        finished, self._finished = self._finished, []
        return finished

    def rest(self) -> list[Exchange]:
        """Take all exchanges, also the one that may still grow."""
        self._close()
        return self.take()

    def session(self) -> Session:
        """The session as it is known so far."""
        facts = {name: self.state.get(name, "") for name in _FACTS}
        started, ended = map(self.state.get, ("started", "ended"))
        return Session(
            agent=self.agent,
            id=self.id,
            path=self.path,
            started=datetime.fromisoformat(started) if started else None,
            ended=datetime.fromisoformat(ended) if ended else None,
            **facts,
        )

    def _begin(self, id_: str, asked: str, time: datetime | None) -> None:
        self._close()
        self.opened = True
        model, branch, commit, cwd = (
            self.state.get(name, "") for name in ("model", "branch", "commit", "cwd")
        )
        id_ = id_ or digest(self.id, asked, time.isoformat() if time else "")
        seq = self._count()
        self._open = OpenExchange(id_, self.id, asked, time, model, branch, commit, cwd, seq)
        self.reading.sessions[self.id] = self.session()

    def _count(self) -> int:
        """The number of the next exchange. An offset holds it, so that it goes on."""
        seq = int(self.state.get("seq", "0")) + 1
        self.state["seq"] = str(seq)
        return seq

    def _continue(self, id_: str, time: datetime | None) -> OpenExchange:
        """The exchange that is being read. A file may begin in the middle of one."""
        if self._open is None:
            self._begin(id_, "", time)
        assert self._open is not None  # noqa: S101 - for the type checker
        if model := self.state.get("model"):
            self._open.model = model
        self._open.time = self._open.time or time
        return self._open

    def _say(self, text: str) -> None:
        if self._open is not None:
            self._open.answers.append(cut(text.strip(), MAX_TEXT, self.options.redactor))

    def _close(self) -> None:
        if self._open is not None:
            self._finish(self._open)
            self._open = None

    def _finish(self, exchange: OpenExchange) -> None:
        if exchange.is_empty and _BARE_COMMAND.fullmatch(exchange.asked):
            return  # such as /clear
        answered = cut("\n\n".join(exchange.answers), MAX_TEXT, self.options.redactor)
        self._finished.append(
            Exchange(
                id=f"{self.agent}:{exchange.id}",
                agent=self.agent,
                session=exchange.session,
                asked=exchange.asked,
                answered=answered,
                time=exchange.time,
                model=exchange.model,
                tools=tuple(exchange.tools.values()),
                branch=exchange.branch,
                commit=exchange.commit,
                cwd=exchange.cwd,
                thinking="\n\n".join(exchange.thoughts),
                is_summary=exchange.is_summary,
                seq=exchange.seq,
            )
        )
