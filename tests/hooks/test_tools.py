"""Before an edit or a command, and after a failed one: what is known about that file or command."""

from __future__ import annotations

import json

from aurora.hooks.agents import FORMS
from aurora.types import Moment
from tests.hooks.conftest import LESSON, Shop, text_of
from tests.hooks.events import COMMAND, ERROR, FILE, Sent, all_events

ABOUT_COMMAND = "Run pytest -n 2: with pytest -n 8 the workers run out of memory"
LESSONS = (LESSON, ABOUT_COMMAND)
AGENTS_TOLD_BEFORE = {"claude-code", "codex"}  # the others read a file before they edit it


def told(shop: Shop) -> dict[tuple[str, str], set[str]]:
    """The lessons that each agent is told, by moment."""
    with shop.memory() as memory:
        memory.learn(ABOUT_COMMAND)
    lessons: dict[tuple[str, str], set[str]] = {}
    for number, sent in enumerate(all_events(shop.folder)):
        output = shop.answer(in_session(sent, str(number)))
        moment = shop.log()[-1].moment
        if output and moment not in (Moment.START, Moment.PROMPT):
            known = {each for each in LESSONS if each in text_of(output)}
            lessons.setdefault((moment, sent.agent), set()).update(known)
    return lessons


def in_session(sent: Sent, session: str) -> Sent:
    """The event in a session of its own, in which nothing was given."""
    payload = {**sent.payload}
    for key in ("session_id", "sessionId", "conversation_id"):
        if key in payload:
            payload[key] = session
    if "input" in payload:
        payload["input"] = {**payload["input"], "sessionID": session}  # type: ignore[dict-item]
    return sent._replace(payload=payload)


def test_lessons_come_with_their_file_and_their_command(shop: Shop) -> None:
    lessons = told(shop)
    for agent in FORMS:
        assert lessons["edit", agent] == {LESSON}
        assert lessons["failure", agent] == {ABOUT_COMMAND}
    before = {agent: known for (moment, agent), known in lessons.items() if moment == "command"}
    assert before == {agent: {ABOUT_COMMAND} for agent in AGENTS_TOLD_BEFORE}


def test_other_files_and_commands_are_silent(shop: Shop) -> None:
    events = ("PreToolUse", "PostToolUse", "AfterTool", "postToolUse", "tool.execute.after")
    for sent in all_events(shop.folder):
        if sent.event in events:
            text = json.dumps(sent.payload).replace(FILE, "settings.py")
            text = text.replace(COMMAND, "git status").replace(ERROR, "fatal: not a repository")
            assert shop.answer(sent._replace(payload=json.loads(text))) == ""
