"""Turns what was said and done in a session into chunks: pure functions of values.

An exchange gives a chunk of what was asked and answered, and small ones for what people look for
later and what gets lost in a long text: decisions, commands with their outcome, and errors with the
change that mended them. Nothing leaves here with a secret in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import PurePosixPath

from aurora.lazy_patterns import lazy_pattern
from aurora.parsers.plain import Cutter
from aurora.quick_classes import replace
from aurora.redaction import Redactor
from aurora.session_facts import SESSION
from aurora.sources.sessions.base import Exchange, Session, ToolKind, ToolUse
from aurora.text import printable
from aurora.types import Chunk, Json, Kind

_OF_RECORDS = ("source", "agent", "session", "exchange", "time")  # ids and times: no text
_LONGEST = 4000  # characters of a piece: an answer has about 1,000
_NAME = 80  # characters
_OUTCOME = 1200  # characters of an outcome beside its command
_CHANGE = 1500  # characters of the changes that mended an error
MENDED_BY, PASSED_AFTER = "Mended by:", "Passed after:"  # before edits; before commands
_MOST_FILES = 50
_MOST_DECISIONS = 8  # sentences of one exchange
_SENTENCE = range(15, 400)  # characters of a sentence that may tell a decision
# Programs that only show something: their outcome is of that moment.

_LOOKS = """
    ls cat bat head tail less more pwd cd echo printf grep rg ag find fd tree wc stat file which
    type whoami date env printenv sort uniq cut awk jq diff true sleep ps df du""".split()  # noqa: SIM905
_LOOKS_OF_GIT = ("status", "diff", "log", "show", "branch", "blame", "remote", "rev-parse")
_GIT_OPTIONS = lazy_pattern(r"^(?:(?:-[Cc] \S+|-\S+) )+")
_STEPS = lazy_pattern(r"\|\||&&|[;|\n]")
_ASSIGNMENT = lazy_pattern(r"\w+=\S*")
_SENTENCES = lazy_pattern(r"(?<=[.!?])\s+|\n+")
_FENCE = lazy_pattern(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
_DECISION = lazy_pattern(
    r"\b(?:decid(?:e|ed|ing)|decision|chose|chosen|agreed|settled on|opted for|go(?:ing)? with"
    r"|went with|instead of|rather than|(?:do not|don't|never|always|must(?: not)?) (?!know\b)\w+"
    r"|switch(?:ed|ing)? to|prefer(?:red)?|the reason (?:is|was)|trade-?off|from now on"
    r"|(?:we|let's|let us)(?: will|'ll)? (?:use|keep|drop|avoid))\b",
    re.IGNORECASE,
)


def exchange_chunks(session: Session, exchange: Exchange, redactor: Redactor) -> list[Chunk]:
    """The chunks of an exchange. Their ids are made of the ids of its records."""
    exchange, title = _redacted(exchange, redactor), redactor.text(session.title)
    metadata = _metadata(replace(session, title=title), exchange)
    told = {name: metadata[name] for name in metadata if name not in _OF_RECORDS}
    metadata |= redactor.mapping(told)
    base = Chunk(
        id=f"{SESSION}:{exchange.id}",
        kind=Kind.KNOWLEDGE,
        name=_first_line(exchange.asked) or title or "Session",
        content="",
        qualified_name=title if exchange.seq <= 1 else "",  # in all, it makes them alike
        language="markdown",
        created_at=exchange.time or session.ended,
        metadata=metadata,
    )
    chunks = [*_conversation(base, exchange), *_decisions(base, exchange),
             *_commands(base, exchange), *_fixes(base, exchange)]  # fmt: skip
    return [chunk for chunk in chunks if chunk.content.strip()]


def _redacted(exchange: Exchange, redactor: Redactor) -> Exchange:
    tools = (
        replace(use, input=redactor.text(use.input), outcome=redactor.text(use.outcome))
        for use in exchange.tools
    )
    return replace(
        exchange,
        asked=redactor.text(exchange.asked),
        answered=redactor.text(exchange.answered),
        thinking=redactor.text(exchange.thinking),
        tools=tuple(tools),
    )


def _metadata(session: Session, exchange: Exchange) -> dict[str, Json]:
    facts: dict[str, Json] = {
        "agent": exchange.agent,
        "session": exchange.session,
        "title": session.title,
        "exchange": exchange.id,
        "seq": exchange.seq,
        "model": exchange.model,
        "project": session.project,
        "branch": exchange.branch,
        "commit": exchange.commit,
        "parent": session.parent,
        "time": exchange.time.isoformat() if exchange.time else "",
        "edited": [*relative_files(exchange.edited, session, exchange)],
        "files": [*relative_files(exchange.files, session, exchange)],
    }
    known: dict[str, Json] = {name: value for name, value in facts.items() if value}
    return {"source": SESSION, **known}


def relative_files(files: Sequence[str], session: Session, exchange: Exchange) -> list[str]:
    """The files of a project as its memory names them; others as the agent spelled them."""
    folders = [folder.rstrip("/") for folder in (session.project, exchange.cwd) if folder]
    names = (_relative(file, folders) for file in files)
    return list(islice(dict.fromkeys(names), _MOST_FILES))


def _relative(file: str, folders: Sequence[str]) -> str:
    for folder in folders:
        if file.startswith(f"{folder}/"):
            return file[len(folder) + 1 :]
    if len(folders) == 2 and not PurePosixPath(file).is_absolute():
        whole = f"{folders[1]}/{file.removeprefix('./')}"  # from the folder of that moment
        return whole.removeprefix(f"{folders[0]}/")
    return file.removeprefix("./")


def _first_line(text: str) -> str:
    line = next(filter(None, map(str.strip, text.splitlines())), "")
    return printable(line[:_NAME])


# What was asked and answered


def _conversation(base: Chunk, exchange: Exchange) -> Iterator[Chunk]:
    files = base.metadata.get("edited")
    parts = [
        f"Asked: {exchange.asked}" if exchange.asked else "",
        f"Answered: {exchange.answered}" if exchange.answered else "",
        f"Thought: {exchange.thinking}" if exchange.thinking else "",
        f"Edited: {', '.join(map(str, files))}" if isinstance(files, list) else "",
    ]
    text = "\n\n".join(filter(None, parts))
    form = "summary" if exchange.is_summary else "exchange"
    for part, content in enumerate(_pieces(text), start=1):
        yield _part(base, form, "" if part == 1 else f"@{part}", content)


def _pieces(text: str) -> Iterator[str]:
    if len(text) < _LONGEST:  # nearly all, and quicker than line by line
        yield text.strip("\n")
    else:
        yield from (window.content for window in Cutter(longest=_LONGEST).cut(text.split("\n")))


def _part(base: Chunk, form: str, suffix: str, content: str, **facts: Json) -> Chunk:
    """A chunk of the exchange: `form` says what it has of it."""
    metadata = {**base.metadata, "form": form, **facts}
    return replace(base, id=f"{base.id}{suffix}", content=content, metadata=metadata)


# Decisions


def _decisions(base: Chunk, exchange: Exchange) -> Iterator[Chunk]:
    """The sentences that tell a decision, under the question that they belong to."""
    telling = dict.fromkeys(_decisions_in(f"{exchange.asked}\n{exchange.answered}"))
    if telling and not exchange.is_summary:
        lines = [f"- {sentence}" for sentence in islice(telling, _MOST_DECISIONS)]
        question = _first_line(exchange.asked)
        yield _part(base, "decision", ":decisions", "\n".join([question, *lines]).strip())


def tells_decision(text: str) -> bool:
    """Whether a sentence of a text tells a decision."""
    return any(_decisions_in(text))


def _decisions_in(text: str) -> Iterator[str]:
    for sentence in map(str.strip, _SENTENCES.split(_FENCE.sub("", text))):
        if len(sentence) in _SENTENCE and _DECISION.search(sentence):
            yield sentence.lstrip("-*#> ")


# Commands, and what mended those that failed


def _commands(base: Chunk, exchange: Exchange) -> Iterator[Chunk]:
    """Each command that does something, once, with its last outcome."""
    uses: dict[str, ToolUse] = {}
    for use in exchange.tools:
        if use.kind is ToolKind.COMMAND and use.input and not only_looks(use.input):
            first = uses.get(use.input, use)
            uses[use.input] = replace(use, id=first.id)
    for use in uses.values():
        chunk = _part(
            base, "command", f":command:{use.id}", _command_text(use, _OUTCOME), **_status(use)
        )
        yield replace(chunk, name=_first_line(use.input))


def only_looks(command: str) -> bool:
    """True for a command line whose programs only show what is there."""
    return all(_is_look(step.split()) for step in _STEPS.split(command) if step.strip())


def _is_look(words: list[str]) -> bool:
    while words and _ASSIGNMENT.fullmatch(words[0]):
        words = words[1:]
    if not words or any(word.startswith(">") for word in words):
        return not words
    program = words[0].rpartition("/")[2]
    if program == "git":
        line = " ".join(words[1:])
        return next(iter(_GIT_OPTIONS.sub("", line).split()), "") in _LOOKS_OF_GIT
    return program in _LOOKS or (program == "sed" and "-n" in words)


def _command_text(use: ToolUse, most: int) -> str:
    outcome = use.outcome.strip()
    if len(outcome) > most:
        outcome = f"{outcome[: most // 3]}\n[…]\n{outcome[-most * 2 // 3 :]}"
    status = f"exit status {use.exit_status}" if use.exit_status else ""
    if use.failed and not status:
        status = "failed"
    return "\n".join(filter(None, (f"$ {use.input}", outcome, status)))


def _status(use: ToolUse) -> dict[str, Json]:
    status: dict[str, Json] = {"failed": use.failed}
    return status if use.exit_status is None else status | {"exit_status": use.exit_status}


def _fixes(base: Chunk, exchange: Exchange) -> Iterator[Chunk]:
    """Each failed command that passed later, with the edits between, or else with the commands."""
    for at, use in enumerate(exchange.tools):
        if use.kind is ToolKind.COMMAND and use.failed and not only_looks(use.input):
            steps = _steps_until_passed(use, exchange.tools[at + 1 :])
            edits = [step.input for step in steps if step.kind is ToolKind.EDIT]
            changes = "\n\n".join(edits or [f"$ {step.input}" for step in steps])[:_CHANGE]
            if changes:
                how = MENDED_BY if edits else PASSED_AFTER
                text = f"{_command_text(use, _OUTCOME)}\n\n{how}\n{changes}"
                chunk = _part(base, "fix", f":fix:{use.id}", text)
                yield replace(chunk, name=_error_of(use) or _first_line(use.input))


def _steps_until_passed(failed: ToolUse, later: Sequence[ToolUse]) -> list[ToolUse]:
    """The edits and commands after a command failed and before it passed; none if it failed again,
    or never passed. Commands that only show something, or failed, are left out."""
    steps: list[ToolUse] = []
    for use in later:
        if use.kind is ToolKind.COMMAND and use.input == failed.input:
            return [] if use.failed else steps
        is_step = use.kind is ToolKind.EDIT or (
            use.kind is ToolKind.COMMAND and not only_looks(use.input)
        )
        if is_step and not use.failed:
            steps.append(use)
    return []


_ERROR = lazy_pattern(r"\b\w*(?:Error|Exception)\b|\b(?:error|fatal|panic(?:ked)?|FAILED)\b")


def _error_of(use: ToolUse) -> str:
    lines = (line.strip() for line in use.outcome.splitlines())
    return next((_first_line(line) for line in lines if _ERROR.search(line)), "")
