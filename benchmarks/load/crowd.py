"""Clients of one server: what their calls took, what went wrong, and what they wrote.

Every client forgets only what it has kept itself, and reads that or code, which nobody forgets. So
each call has a right answer, whatever the others do: any error is one.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import anyio
from load.tongues import Call, Deed, Kind, Tongue, words_of
from mcp import Client
from mcp.types import CallToolResult

QUESTIONS = (
    "read the next header line", "parse an email address", "lock with a time-out", "HTTPConnection",
    "how is a date formatted", "open a zip file", "send_message", "walk a directory tree",
    "escape html characters", "read_until", "compile a regular expression", "event loop",
)  # fmt: skip
WORDS = ("queue", "gateway", "migration", "token", "retry", "cache", "schema", "rollback")
MODES = {
    Kind.SEARCH: ("hybrid", "hybrid", "semantic"),
    Kind.CODE: ("hybrid", "keyword", "semantic"),
}
MOST_OWN = 10  # that a client has in the memory at a time
MOST_ERRORS = 50  # a server that is gone is not asked for ever

# An agent mostly looks around, reads some, and writes now and then; what it kept it forgets again,
# so that the memory stays as large as it was.
EVERYTHING = {
    Kind.SEARCH: 36, Kind.CODE: 22, Kind.READ: 18, Kind.KEEP: 9, Kind.LEARN: 4, Kind.FORGET: 8,
    Kind.STATUS: 2.8, Kind.INDEX: 0.2,
}  # fmt: skip


class Took(NamedTuple):
    """One call: what was meant, by which tool, and for how many seconds."""

    kind: Kind
    tool: str
    seconds: float


@dataclass
class Crowd:
    """`lots` says how often each kind of deed is done, in relation to the others."""

    url: str
    tongue: Tongue
    lots: Mapping[Kind, float] = field(default_factory=lambda: EVERYTHING)
    client: Callable[[str], Any] = Client  # or another that has its `call_tool`
    seed: int = 7
    calls: list[Took] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    kept: dict[str, str] = field(default_factory=dict)  # id → text
    forgotten: dict[str, str] = field(default_factory=dict)

    async def come(self, clients: int, numbers: Iterator[int]) -> None:
        """So many clients, who share these calls."""
        async with anyio.create_task_group() as group:
            for which in range(clients):
                chance = random.Random(f"{self.seed} {which}")  # noqa: S311 - not for secrets
                group.start_soon(self._stay, _Agent(chance), numbers)

    async def _stay(self, agent: _Agent, numbers: Iterator[int]) -> None:
        for number in numbers:
            try:
                async with self.client(self.url) as client:
                    await self._act(client, agent, number)
                    for later in numbers:
                        await self._act(client, agent, later)
            except Exception as exc:  # whatever it is, it is what a client would have met
                self._fail(f"{exc!r}")

    async def _act(self, client: Any, agent: _Agent, number: int) -> None:
        deed = agent.draw(self.lots, number)
        tool, arguments = self.tongue.call(deed)
        if deed.kind is Kind.FORGET:  # from here on nobody knows, until it is answered
            text = self.kept.pop(deed.id)
        began = time.perf_counter()
        result = await self._ask(client, (tool, arguments))
        self.calls.append(Took(deed.kind, tool, time.perf_counter() - began))
        if self.tongue.failed(result):
            self._fail(f"{tool} {arguments}: {words_of(result)[:300]}")
        elif deed.kind in (Kind.KEEP, Kind.LEARN):
            id_ = self.tongue.kept(result)
            self.kept[id_] = deed.words
            agent.own.append(id_)
        elif deed.kind is Kind.FORGET:
            self.forgotten[deed.id] = text
        elif deed.kind is Kind.CODE:
            agent.seen = self.tongue.found(result) or agent.seen

    def _fail(self, what: str) -> None:
        self.errors.append(what)
        if len(self.errors) > MOST_ERRORS:
            raise RuntimeError(f"Too many errors; the last: {what}")

    async def count_lost(self) -> int:
        """Writes that were answered and are not there as they were, or are there again."""
        wrong = 0
        async with self.client(self.url) as client:
            for expected, ids in ((True, self.kept), (False, self.forgotten)):
                for id_, text in ids.items():
                    result = await self._ask(client, self.tongue.look(id_, text))
                    wrong += self.tongue.holds(result, id_, text) is not expected
        return wrong

    @staticmethod
    async def _ask(client: Any, call: Call) -> CallToolResult:
        result: CallToolResult = await client.call_tool(*call)
        return result


@dataclass
class _Agent:
    """One client: its lots, what it has kept, and the code that it has just seen."""

    chance: random.Random
    own: list[str] = field(default_factory=list)
    seen: Sequence[str] = ()

    def draw(self, lots: Mapping[Kind, float], number: int) -> Deed:
        kind = self.chance.choices(list(lots), list(lots.values()))[0]
        if kind in (Kind.KEEP, Kind.LEARN) and len(self.own) >= MOST_OWN:
            kind = Kind.FORGET
        if kind is Kind.FORGET and not self.own:
            kind = Kind.KEEP
        if kind is Kind.READ and not (self.own or self.seen):
            kind = Kind.CODE
        if kind in MODES:
            return Deed(kind, self.chance.choice(QUESTIONS), self.chance.choice(MODES[kind]))
        if kind is Kind.READ:
            return Deed(kind, id=self.chance.choice([*self.own[-5:], *self.seen]))
        if kind is Kind.FORGET:
            return Deed(kind, id=self.own.pop(self.chance.randrange(len(self.own))))
        about = " ".join(self.chance.sample(WORDS, 4))
        return Deed(kind, f"Number {number} of this run: {about}")


def numbers_for(seconds: float, first: int = 0) -> Iterator[int]:
    """Numbers for new documents, until the time is over."""
    until, number = time.monotonic() + seconds, first
    while time.monotonic() < until:
        yield number
        number += 1
